// SPDX-License-Identifier: Apache-2.0
// math/velocity_solver.hpp: x = H⁻¹ y for every form of H, factorised once.
#pragma once

#include <memory>
#include <vector>

#include "orthant/base/assert.hpp"
#include "orthant/base/export.hpp"
#include "orthant/math/factorisation.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace ORTHANT_EXPORT orthant {

class VelocitySolver {
 public:
  /// Factorises H; keeps a reference to it only when it is an operator. Returns false when a
  /// block or the sparse matrix is singular.
  bool factorize(const VelocityMatrix& H);
  void solve(const VecX& y, VecX& x) const;
  /// x = H⁻ᵀ y
  void solve_transpose(const VecX& y, VecX& x) const;

  /// One velocity block in place; only for block-diagonal H.
  void solve_block(Index i, double* x) const;
  void solve_block_transpose(Index i, double* x) const;
  /// Multiply-adds of one solve.
  double solve_work() const;
  bool is_block_diagonal() const { return kind_ == VelocityMatrix::Kind::BlockDiagonal; }

 private:
  bool factorize_positive(const SparseMatrix& H);

  VelocityMatrix::Kind kind_ = VelocityMatrix::Kind::BlockDiagonal;
  std::vector<Index> offset_{0};
  std::vector<std::int64_t> value_begin_{0};
  std::vector<double> inverse_;  // explicit inverses of the blocks, row-major
  // Sparse: LDLᵀ where symmetric positive definite, else LU (files may be unsymmetric). The last
  // pattern is kept so that the same one is not analysed again; the bits do not depend on that.
  bool positive_ = false;
  bool analysed_ = false;
  SparseLdlt ldlt_;
  SparseLu lu_;
  std::vector<Index> outer_, inner_;
  std::vector<signed char> signs_;
  VelocityMatrix operator_;
};

}  // namespace orthant
