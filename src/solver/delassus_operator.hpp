// SPDX-License-Identifier: Apache-2.0
// solver/delassus_operator.hpp: (problem, row scales S) => products with S N S, never formed.
// Bilateral rows come first, then the blocks. Rows are kept twice, scaled: by row for w = D u and
// by body, already multiplied with H⁻¹, for u = H⁻¹Dᵀλ. Both loops then stream through memory, and
// each result is written by one thread: same bits for any number of threads.
#pragma once

#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant {

class DelassusOperator {
 public:
  /// Returns false when H is singular.
  bool build(const CanonicalProblem& p, const ProblemScale& scale);

  Index rows() const { return rows_; }
  Index bilateral_rows() const { return bilateral_; }
  /// √τ of each row: λ = S λ̂, ŵ = S w.
  const VecX& row_scale() const { return scale_; }
  /// S (rows of [C;D] v_free + [e;b]): the gradient at λ = 0.
  const VecX& constant() const { return constant_; }

  /// y = S N S x. Leaves H⁻¹[C;D]ᵀ S x in motion().
  void multiply(const VecX& x, VecX& y);
  /// Velocity caused by the impulses of the last multiply().
  const VecX& motion() const { return motion_; }
  /// Multiply-adds of one product.
  double work() const { return work_; }

 private:
  void find_pairs();
  void gather(const VecX& x);
  void gather_pairs(const VecX& x);
  void scatter(const VecX& x, VecX& y) const;
  void scatter_pairs(VecX& y) const;

  struct Side {   // one entry of the row store, or of the body store
    Index other;  // column of the velocity block, or first row of the row block
    Index size;   // its width, or its number of rows
  };
  Index rows_ = 0, bilateral_ = 0, row_blocks_ = 0, space_ = 0;
  VecX scale_, constant_, motion_, impulse_;
  std::vector<Index> row_offset_, body_offset_;
  std::vector<std::int64_t> row_entry_, row_value_, body_entry_, body_value_;
  std::vector<Side> row_side_, body_side_;
  std::vector<double> row_values_, body_values_;  // dim x width; width x dim
  // Where every row is single and has one or two free rigid bodies: 12 values per row and the
  // columns of the two, the second all zeros where there is none. Empty otherwise.
  std::vector<double> pair_values_;
  std::vector<Index> pair_columns_;
  BlockRows F_;  // scaled, shifted behind the bilateral rows
  bool block_diagonal_ = true, has_velocity_ = false;
  VelocitySolver inverse_;
  double work_ = 0;
};

}  // namespace orthant
