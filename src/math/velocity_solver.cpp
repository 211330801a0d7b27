// SPDX-License-Identifier: Apache-2.0
// math/velocity_solver.cpp: x = H⁻¹ y.
// Blocks have at most six rows: their explicit inverse is as accurate as a factor after the block
// is scaled to unit diagonal, and a product vectorises where a triangular solve does not.
#include "orthant/math/velocity_solver.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "math/tree_cholesky.hpp"

namespace orthant {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
// Sizes known to be small: on the stack, so that a step with warm memory does not allocate.
using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor,
                                  kMaxVelocityBlock, kMaxVelocityBlock>;
using SmallVector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kMaxVelocityBlock, 1>;

constexpr double kSafePivot = 1e-6;  // of a unit diagonal: below, the pivoting LU decides

/// LDLᵀ of a symmetric block scaled to unit diagonal, then its inverse column by column. False
/// where the block is not symmetric or not clearly positive: nothing has been written then.
template <class Size>
bool invert_positive(const double* a, Size n, double* inverse) {
  double scale[kMaxVelocityBlock], L[kMaxVelocityBlock][kMaxVelocityBlock];
  double D[kMaxVelocityBlock], inverse_D[kMaxVelocityBlock];
  for (Index r = 0; r < n; ++r) {
    if (!(a[r * n + r] > 0)) return false;
    scale[r] = 1 / std::sqrt(a[r * n + r]);
    for (Index c = 0; c < r; ++c)
      if (a[r * n + c] != a[c * n + r]) return false;
  }
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      double s = i == j ? 1.0 : scale[i] * a[i * n + j] * scale[j];
      for (Index k = 0; k < j; ++k) s -= L[i][k] * L[j][k] * D[k];
      if (i != j) {
        L[i][j] = s * inverse_D[j];
      } else {
        if (!(s > kSafePivot) || !std::isfinite(s)) return false;
        D[i] = s;
        inverse_D[i] = 1 / s;
      }
    }
  }
  for (Index c = 0; c < n; ++c) {
    double x[kMaxVelocityBlock];
    for (Index i = 0; i < n; ++i) {
      x[i] = i == c ? 1.0 : 0.0;
      for (Index k = c; k < i; ++k) x[i] -= L[i][k] * x[k];
    }
    for (Index i = n - 1; i >= 0; --i) {
      x[i] *= inverse_D[i];
      for (Index k = i + 1; k < n; ++k) x[i] -= L[k][i] * x[k];
    }
    for (Index i = 0; i <= c; ++i)  // symmetric to the last bit
      inverse[i * n + c] = inverse[c * n + i] = scale[i] * x[i] * scale[c];
  }
  return true;
}

/// A rigid body's mass: a linear and an angular half that nothing couples.
bool invert_body(const double* a, double* inverse) {
  for (Index r = 0; r < 3; ++r)
    for (Index c = 3; c < 6; ++c)
      if (a[r * 6 + c] != 0 || a[c * 6 + r] != 0) return false;
  double half[2][9];
  for (Index part = 0; part < 2; ++part) {
    double own[9];
    const Index at = 21 * part;
    for (Index r = 0; r < 3; ++r)
      for (Index c = 0; c < 3; ++c) own[r * 3 + c] = a[at + r * 6 + c];
    if (!invert_positive(own, std::integral_constant<Index, 3>(), half[part])) return false;
  }
  for (Index part = 0; part < 2; ++part)
    for (Index r = 0; r < 3; ++r)
      for (Index c = 0; c < 3; ++c) {
        inverse[21 * part + r * 6 + c] = half[part][r * 3 + c];
        inverse[18 - 15 * part + r * 6 + c] = 0;
      }
  return true;
}

bool invert_block(const double* a, Index n, double* inverse) {
  bool diagonal = true;
  for (Index r = 0; r < n; ++r) {
    for (Index c = 0; c < n; ++c) diagonal = diagonal && (r == c || a[r * n + c] == 0.0);
  }
  if (diagonal) {
    for (Index r = 0; r < n; ++r) {
      const double d = a[r * n + r];
      if (d == 0.0 || !std::isfinite(d)) return false;
      inverse[r * n + r] = 1 / d;
    }
    return true;
  }
  ORTHANT_ASSERT(n <= kMaxVelocityBlock);
  if (n == 6 && invert_body(a, inverse)) return true;
  // Linear and angular entries differ in units and size; unit diagonal makes the pivots comparable.
  if (n == 6 ? invert_positive(a, std::integral_constant<Index, 6>(), inverse)
             : invert_positive(a, n, inverse))
    return true;
  SmallVector scale(n);
  for (Index r = 0; r < n; ++r) {
    const double d = std::abs(a[r * n + r]);
    scale[r] = d > 0 ? 1 / std::sqrt(d) : 1.0;
  }
  const Eigen::Map<const RowMajor> A(a, n, n);
  const SmallMatrix scaled = scale.asDiagonal() * A * scale.asDiagonal();
  const Eigen::FullPivLU<SmallMatrix> lu(scaled);
  if (!lu.isInvertible() || !scaled.allFinite()) return false;
  const SmallMatrix scaled_inverse = lu.inverse();
  Eigen::Map<RowMajor>(inverse, n, n) = scale.asDiagonal() * scaled_inverse * scale.asDiagonal();
  return true;
}

}  // namespace

VelocitySolver::VelocitySolver() = default;
VelocitySolver::~VelocitySolver() = default;
VelocitySolver::VelocitySolver(VelocitySolver&&) noexcept = default;
VelocitySolver& VelocitySolver::operator=(VelocitySolver&&) noexcept = default;

/// L Lᵀ in tree order or LDLᵀ; false where H is not symmetric or a pivot is not positive.
bool VelocitySolver::factorize_positive(const VelocityMatrix& matrix) {
  if (!matrix.is_symmetric()) return false;
  const SparseMatrix& H = matrix.sparse_matrix();
  const auto same = [&](const std::vector<Index>& last, const Index* now, Index count) {
    return last.size() == static_cast<std::size_t>(count) &&
           std::equal(last.begin(), last.end(), now);
  };
  const Index n = static_cast<Index>(H.cols()), entries = static_cast<Index>(H.nonZeros());
  if (!analysed_ || blocks_ != offset_ || !same(outer_, H.outerIndexPtr(), n + 1) ||
      !same(inner_, H.innerIndexPtr(), entries)) {
    if (!tree_) tree_ = std::make_unique<TreeCholesky>();
    forest_ = tree_->analyze(matrix);
    ldlt_analysed_ = false;
    blocks_ = offset_;
    outer_.assign(H.outerIndexPtr(), H.outerIndexPtr() + n + 1);
    inner_.assign(H.innerIndexPtr(), H.innerIndexPtr() + entries);
    signs_.assign(static_cast<std::size_t>(n), 1);
    analysed_ = true;
  }
  form_ = Form::Tree;
  if (forest_) return tree_->factorize(matrix);
  if (!ldlt_analysed_) ldlt_.analyze(H);
  ldlt_analysed_ = true;
  form_ = Form::Positive;
  return ldlt_.factorize(H, signs_) && ldlt_.replaced_pivots() == 0;
}

double VelocitySolver::solve_work() const {
  if (kind_ != VelocityMatrix::Kind::Sparse) return static_cast<double>(inverse_.size());
  if (form_ == Form::Tree) return tree_->solve_work();
  return 2.0 * static_cast<double>(form_ == Form::Positive ? ldlt_.nonzeros() : lu_.nonzeros());
}

bool VelocitySolver::factorize(const VelocityMatrix& H) {
  kind_ = H.kind();
  offset_.assign(H.offsets().begin(), H.offsets().end());
  if (kind_ == VelocityMatrix::Kind::Operator) {
    operator_ = H;
    return true;
  }
  if (kind_ == VelocityMatrix::Kind::Sparse) {
    if (factorize_positive(H)) return true;
    form_ = Form::General;
    lu_.analyze(H.sparse_matrix());
    return lu_.factorize(H.sparse_matrix());
  }
  const Index blocks = H.block_count();
  value_begin_.resize(blocks + 1);
  value_begin_[0] = 0;
  for (Index i = 0; i < blocks; ++i) {
    value_begin_[i + 1] =
        value_begin_[i] + static_cast<std::int64_t>(H.block_size(i)) * H.block_size(i);
  }
  inverse_.assign(static_cast<std::size_t>(value_begin_[blocks]), 0.0);
  for (Index i = 0; i < blocks; ++i) {
    if (!invert_block(H.block(i), H.block_size(i), inverse_.data() + value_begin_[i])) return false;
  }
  return true;
}

namespace {

/// x = A x, or Aᵀ x, for one small row-major block.
template <bool Transposed, class Size>
void multiply_in_place(const double* a, Size n, double* x) {
  double y[kMaxVelocityBlock];
  ORTHANT_ASSERT(n <= kMaxVelocityBlock);
  for (Index r = 0; r < n; ++r) {
    double s = 0;
    for (Index c = 0; c < n; ++c) s += (Transposed ? a[c * n + r] : a[r * n + c]) * x[c];
    y[r] = s;
  }
  for (Index r = 0; r < n; ++r) x[r] = y[r];
}

}  // namespace

void VelocitySolver::solve_block(Index i, double* x) const {
  const Index n = offset_[i + 1] - offset_[i];
  const double* a = inverse_.data() + value_begin_[i];
  if (n == 6) return multiply_in_place<false>(a, std::integral_constant<Index, 6>(), x);
  multiply_in_place<false>(a, n, x);
}

void VelocitySolver::solve_block_transpose(Index i, double* x) const {
  multiply_in_place<true>(inverse_.data() + value_begin_[i], offset_[i + 1] - offset_[i], x);
}

void VelocitySolver::solve(const VecX& y, VecX& x) const {
  if (kind_ == VelocityMatrix::Kind::Operator) return operator_.op().solve(y, x);
  if (kind_ == VelocityMatrix::Kind::Sparse && form_ != Form::Tree)
    return form_ == Form::Positive ? ldlt_.solve(y, x) : lu_.solve(y, x);
  if (&x != &y) x = y;
  if (kind_ == VelocityMatrix::Kind::Sparse) return tree_->solve(x);
  for (Index i = 0; i + 1 < static_cast<Index>(offset_.size()); ++i)
    solve_block(i, x.data() + offset_[i]);
}

void VelocitySolver::solve_transpose(const VecX& y, VecX& x) const {
  if (kind_ == VelocityMatrix::Kind::Operator) return operator_.op().solve(y, x);
  if (kind_ == VelocityMatrix::Kind::Sparse && form_ != Form::Tree)
    return form_ == Form::Positive ? ldlt_.solve(y, x) : lu_.solve_transpose(y, x);
  if (&x != &y) x = y;
  if (kind_ == VelocityMatrix::Kind::Sparse) return tree_->solve(x);
  for (Index i = 0; i + 1 < static_cast<Index>(offset_.size()); ++i) {
    solve_block_transpose(i, x.data() + offset_[i]);
  }
}

double VelocitySolver::inverse_square(VecX& y, VecX& scratch) const {
  if (kind_ == VelocityMatrix::Kind::Sparse && form_ == Form::Tree) return tree_->inverse_square(y);
  solve(y, scratch);
  return y.dot(scratch);
}

}  // namespace orthant
