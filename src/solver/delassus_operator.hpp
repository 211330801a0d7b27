// SPDX-License-Identifier: Apache-2.0
// solver/delassus_operator.hpp: orthant rows between at most two small velocity blocks each =>
// products with N = J H⁻¹ Jᵀ, never formed.
//
//   J = S D,   r = S (D v_free + b),   S² = τ, the judge's step:   N has a unit diagonal,   λ = S x
//
// Rows are in the order of row_order.hpp and padded to two velocity blocks of six, so that every
// loop has one form. They are kept twice: by row for J u and by velocity block, already multiplied
// with H⁻¹, for u = H⁻¹ Jᵀ x. Both loops then stream through memory, and each result is written by
// one thread: same bits for any number of threads.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"
#include "solver/row_order.hpp"

namespace orthant::internal {

/// Some of the rows, and all velocity blocks that they touch.
struct RowRange {
  Index begin = 0, end = 0;
  std::span<const Index> blocks;
};

class DelassusOperator {
 public:
  static constexpr Index kWidth = 6;  ///< of a velocity block, at most

  static bool fits(const CanonicalProblem& p);
  /// Returns false when H is singular.
  bool build(const CanonicalProblem& p, const ProblemScale& scale);

  Index rows() const { return static_cast<Index>(row_of_.size()); }
  Index row_of(Index i) const { return row_of_[i]; }  ///< in the problem
  /// The velocity blocks that row i touches; those it lacks are -1.
  std::array<Index, 2> blocks_of(Index i) const { return pairs_[i]; }
  const VecX& scale() const { return scale_; }        ///< S
  const VecX& constant() const { return constant_; }  ///< r: the gradient at λ = 0
  /// Entry (i, j) of N.
  double entry(Index i, Index j) const;

  /// y = N x. Leaves H⁻¹ Jᵀ x as the motion.
  void multiply(const VecX& x, VecX& y);
  /// Some rows of y alone; reads x of all rows that touch their blocks.
  void multiply(const VecX& x, VecX& y, const RowRange& range);
  /// Ascending.
  std::span<const Index> rows_at(Index block) const {
    return {row_at_.data() + begin_[block],
            static_cast<std::size_t>(begin_[block + 1] - begin_[block])};
  }
  /// v += the velocity caused by the impulses of the last multiply().
  void add_motion(VecX& v) const;
  /// Multiply-adds of one product.
  double work() const { return 2.0 * kWidth * static_cast<double>(row_at_.size()); }

 private:
  RowOrder order_;
  VelocitySolver inverse_;
  std::vector<Index> offset_, all_blocks_;
  std::vector<Index> row_of_;
  VecX scale_, constant_;
  // By row: its velocity blocks and 12 values; zeros for a block that it lacks.
  std::vector<std::array<Index, 2>> pairs_;
  std::vector<double> J_;
  // By velocity block: its rows, and for each of them 6 values of H⁻¹ Jᵀ.
  std::vector<std::int64_t> begin_;
  std::vector<Index> row_at_;
  std::vector<double> K_;
  std::vector<double> motion_;  // 6 numbers per velocity block
};

}  // namespace orthant::internal
