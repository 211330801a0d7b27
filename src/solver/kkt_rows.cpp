// SPDX-License-Identifier: Apache-2.0
// solver/kkt_rows.cpp: (problem, scale) => scaled matrix of (v, γ, λ). See kkt_rows.hpp.
#include "solver/kkt_rows.hpp"

#include <algorithm>
#include <cmath>

#include "math/each_value.hpp"
#include "orthant/base/assert.hpp"

namespace orthant::internal {

/// Both appearances of constraint rows A: A itself and −Aᵀ in the balance. Transposed as it is
/// filled: (column, row).
void KktRows::add_rows_of(const BlockRows& A, Index first_row) {
  each_value(A, [&](Index r, Index column, double a) {
    const Index row = first_row + r;
    const double value = scale_[row] * a * scale_[column];
    triplets_.emplace_back(column, row, value);
    triplets_.emplace_back(row, column, -value);
  });
}

void KktRows::build(const CanonicalProblem& p, const ProblemScale& scale, double epsilon) {
  ORTHANT_ASSERT(p.H.kind() != VelocityMatrix::Kind::Operator);
  nv_ = p.velocity_count();
  nc_ = p.bilateral_count();
  epsilon_ = epsilon;
  const Index first = nv_ + nc_, n = first + p.row_count();
  offset_.resize(p.laws.size() + 1);
  offset_[0] = 0;
  for (std::size_t i = 0; i < p.laws.size(); ++i) offset_[i + 1] = offset_[i] + p.laws[i].dim;

  scale_.setOnes(n);
  triplets_.clear();
  VecX diagonal, moved = VecX::Zero(nc_);
  diagonal_of(p.H, diagonal);
  add_mobility(p.C, diagonal.data(), moved.data());
  for (Index i = 0; i < nv_; ++i)
    if (diagonal[i] > 0) scale_[i] = 1 / std::sqrt(diagonal[i]);
  for (Index i = 0; i < nc_; ++i)
    if (moved[i] > 0) scale_[nv_ + i] = 1 / std::sqrt(moved[i]);
  for (Index i = 0; i < p.row_count(); ++i) scale_[first + i] = std::sqrt(scale.tau[i]);

  each_value(p.H, [&](Index r, Index c, double value) {
    triplets_.emplace_back(c, r, scale_[r] * value * scale_[c]);
  });
  add_rows_of(p.C, nv_);
  for (Index i = 0; i < nc_; ++i) triplets_.emplace_back(nv_ + i, nv_ + i, epsilon_);
  if (!p.D.empty()) add_rows_of(p.D, first);
  for (Index c = 0; c < p.block_count(); ++c) {
    const Index dim = p.laws[static_cast<std::size_t>(c)].dim,
                at = offset_[static_cast<std::size_t>(c)];
    // Rows of one block mix through Y: each has the columns of all of them.
    for (Index r = at; r < at + dim; ++r)
      for (Index j = at; j < at + dim; ++j) triplets_.emplace_back(first + j, first + r, 0.0);
  }
  each_value(p.F, [&](Index r, Index c, double a) {
    triplets_.emplace_back(first + c, first + r, scale_[first + r] * a * scale_[first + c]);
  });
  matrix_.resize(n, n);
  matrix_.setFromTriplets(triplets_.begin(), triplets_.end());
  matrix_.makeCompressed();
  plain_.assign(matrix_.valuePtr(), matrix_.valuePtr() + matrix_.nonZeros());
}

/// Place of (row, column); the entries of one block follow it.
double* KktRows::row_entry(Index row, Index column) {
  const Index* inner = matrix_.innerIndexPtr();
  const Index* begin = inner + matrix_.outerIndexPtr()[row];
  const Index* end = inner + matrix_.outerIndexPtr()[row + 1];
  const Index* at = std::lower_bound(begin, end, column);
  ORTHANT_ASSERT(at != end && *at == column);
  return matrix_.valuePtr() + (at - inner);
}

void KktRows::set_epsilon(double epsilon) {
  epsilon_ = epsilon;
  for (Index i = nv_; i < nv_ + nc_; ++i) *row_entry(i, i) = epsilon;
}

void KktRows::set_block(const CanonicalProblem& p, Index c, const BlockJacobian& J) {
  const auto dim = static_cast<Index>(p.laws[static_cast<std::size_t>(c)].dim);
  const Index first = first_impulse() + offset_[static_cast<std::size_t>(c)];
  const Index begin = matrix_.outerIndexPtr()[first];
  const Index width = matrix_.outerIndexPtr()[first + 1] - begin;
  for (Index r = 0; r < dim; ++r) {
    double* out = matrix_.valuePtr() + begin + r * width;
    std::fill(out, out + width, 0.0);
    for (Index k = 0; k < dim; ++k) {
      const double y = J.Y[r * dim + k];
      const double* row = plain_.data() + begin + k * width;
      for (Index j = 0; y != 0 && j < width; ++j) out[j] += y * row[j];
    }
    double* own = row_entry(first + r, first);
    for (Index j = 0; j < dim; ++j) own[j] += J.X[r * dim + j] + epsilon_ * J.Y[r * dim + j];
  }
}

void KktRows::equation_errors(const CanonicalProblem& p, const Solution& x, VecX& r) {
  r.resize(rows());
  if (nv_ > 0) {
    p.H.multiply(x.v, force_);
    force_ -= p.k;
    p.C.multiply_transpose_add(-1, x.gamma, force_);
    if (!p.D.empty()) p.D.multiply_transpose_add(-1, x.lambda, force_);
    r.head(nv_) = scale_.head(nv_).cwiseProduct(force_);
  }
  if (nc_ > 0) {
    speed_ = p.e;
    p.C.multiply_add(1, x.v, speed_);
    r.segment(nv_, nc_) = scale_.segment(nv_, nc_).cwiseProduct(speed_);
  }
}

}  // namespace orthant::internal
