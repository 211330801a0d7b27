// SPDX-License-Identifier: Apache-2.0
// solver/kkt_rows.hpp: canonical problem => the matrix of (v, γ, λ) with replaceable λ rows.
//
//   [ H  −Cᵀ      −Dᵀ      ]
//   [ C   ε I       0      ]      X, Y: block by block, from the set each block is in
//   [ YD   0   Y(F + εI) + X ]
//
// in scaled variables (H and the effective masses have unit diagonal), so that partial pivoting
// compares like with like whatever the masses. ε centred at the last answer keeps the matrix
// regular where contacts or joints are redundant. Kept by rows: a sparse LU is given the transpose.
#pragma once

#include <vector>

#include "orthant/math/factorisation.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"
#include "solver/active_set.hpp"

namespace orthant::internal {

class KktRows {
 public:
  /// Pattern, scales and the rows that do not change. H must not be an operator.
  void build(const CanonicalProblem& p, const ProblemScale& scale, double epsilon);
  /// Rows of block c.
  void set_block(const CanonicalProblem& p, Index c, const BlockJacobian& J);
  /// Scaled errors of the balance and of the bilateral rows: the first rows of the residual.
  void equation_errors(const CanonicalProblem& p, const Solution& x, VecX& r);

  double epsilon() const { return epsilon_; }
  /// From the next set_block() of every block on.
  void set_epsilon(double epsilon);

  Index rows() const { return static_cast<Index>(scale_.size()); }
  Index first_impulse() const { return nv_ + nc_; }
  /// (v, γ, λ) = scale times unknown.
  const VecX& scale() const { return scale_; }
  /// Column r holds row r.
  const SparseMatrix& transposed() const { return matrix_; }

 private:
  double* row_entry(Index row, Index column);
  void add_rows_of(const BlockRows& A, Index first_row);

  Index nv_ = 0, nc_ = 0;
  double epsilon_ = 0;
  VecX scale_, force_, speed_;
  SparseMatrix matrix_;
  std::vector<double> plain_;  // of the matrix with X = 0, Y = 1, ε = 0 in the rows of λ
  std::vector<Index> offset_;
  std::vector<Eigen::Triplet<double, Index>> triplets_;
};

}  // namespace orthant::internal
