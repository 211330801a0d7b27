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

class TreeCholesky;

class VelocitySolver {
 public:
  VelocitySolver();
  ~VelocitySolver();
  VelocitySolver(VelocitySolver&&) noexcept;
  VelocitySolver& operator=(VelocitySolver&&) noexcept;

  /// Factorises H; keeps a reference to it only when it is an operator. Returns false when a
  /// block or the sparse matrix is singular.
  bool factorize(const VelocityMatrix& H);
  void solve(const VecX& y, VecX& x) const;
  /// x = H⁻ᵀ y
  void solve_transpose(const VecX& y, VecX& x) const;

  /// y·H⁻¹y; overwrites y. `scratch`: of the size of y, where needed.
  double inverse_square(VecX& y, VecX& scratch) const;

  /// One velocity block in place; only for block-diagonal H.
  void solve_block(Index i, double* x) const;
  void solve_block_transpose(Index i, double* x) const;
  /// Multiply-adds of one solve.
  double solve_work() const;
  bool is_block_diagonal() const { return kind_ == VelocityMatrix::Kind::BlockDiagonal; }

 private:
  bool factorize_positive(const VelocityMatrix& H);

  VelocityMatrix::Kind kind_ = VelocityMatrix::Kind::BlockDiagonal;
  std::vector<Index> offset_{0};
  std::vector<std::int64_t> value_begin_{0};
  std::vector<double> inverse_;  // explicit inverses of the blocks, row-major
  // Sparse: in tree order where symmetric positive definite and coupled as a forest, LDLᵀ where
  // just positive definite, else LU (files may be unsymmetric). The last pattern is kept so that
  // the same one is not analysed again; the bits do not depend on that.
  enum class Form : unsigned char { Tree, Positive, General };
  Form form_ = Form::General;
  bool analysed_ = false, forest_ = false, ldlt_analysed_ = false;
  std::unique_ptr<TreeCholesky> tree_;
  SparseLdlt ldlt_;
  SparseLu lu_;
  std::vector<Index> blocks_, outer_, inner_;  // the pattern analysed
  std::vector<signed char> signs_;
  VelocityMatrix operator_;
};

}  // namespace orthant
