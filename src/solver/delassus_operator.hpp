// SPDX-License-Identifier: Apache-2.0
// solver/delassus_operator.hpp: rows J (scaled_rows.hpp) and H in blocks => products with
// N = J H⁻¹ Jᵀ, never formed. Rows are kept twice: by row for J u and by velocity block, already
// multiplied with H⁻¹, for u = H⁻¹ Jᵀ x. Both loops then stream through memory, and each result is
// written by one thread: same bits for any number of threads. Rows are in the order of
// row_order.hpp.
#pragma once

#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "solver/row_order.hpp"
#include "solver/scaled_rows.hpp"

namespace orthant::internal {

/// Some of the rows, and all velocity blocks that they touch.
struct RowRange {
  Index begin = 0, end = 0;
  std::span<const Index> blocks;
};

class DelassusOperator {
 public:
  /// Returns false when H is singular.
  bool build(const CanonicalProblem& p, const ProblemScale& scale);

  const ScaledRows& rows() const { return rows_; }
  const VelocitySolver& inverse() const { return inverse_; }

  /// y = N x. Leaves H⁻¹ Jᵀ x in motion().
  void multiply(const VecX& x, VecX& y);
  /// Some rows of y alone; reads x of all rows that touch their blocks.
  void multiply(const VecX& x, VecX& y, const RowRange& range);
  /// Ascending.
  std::span<const Index> rows_at(Index block) const {
    return {row_of_.data() + entry_begin_[block],
            static_cast<std::size_t>(entry_begin_[block + 1] - entry_begin_[block])};
  }
  /// Velocity caused by the impulses of the last multiply().
  const VecX& motion() const { return motion_; }
  /// Multiply-adds of one product.
  double work() const { return 2.0 * static_cast<double>(rows_.value_count()); }

 private:
  void find_pairs();
  void gather(const VecX& x, std::span<const Index> blocks);
  void gather_pairs(const VecX& x, std::span<const Index> blocks);
  void scatter(VecX& y, Index begin, Index end) const;
  void scatter_pairs(VecX& y, Index begin, Index end) const;

  RowOrder order_;
  ScaledRows rows_;
  VelocitySolver inverse_;
  VecX motion_;
  // By velocity block: its rows, and for each of them the values of H⁻¹ Jᵀ.
  std::vector<Index> offset_, row_of_, all_blocks_;
  std::vector<std::int64_t> entry_begin_, value_begin_;
  std::vector<double> K_;
  // Where every row has one or two free rigid bodies: 12 values per row and the columns of the two,
  // the second all zeros where there is none. Empty otherwise.
  std::vector<double> pair_values_;
  std::vector<Index> pair_columns_;
};

}  // namespace orthant::internal
