// SPDX-License-Identifier: Apache-2.0
// gradient/velocity_system.cpp: the derivative's linear system with impulses eliminated.
#include "gradient/velocity_system.hpp"

#include <Eigen/LU>
#include <algorithm>

namespace orthant::internal {
namespace {

using Small =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, kMaxLawDim, kMaxLawDim>;
using Wide =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, kMaxLawDim, kMaxLawDim>;
constexpr int kStride = kMaxLawDim * kMaxLawDim;

/// Values of the block (i, j) of S, which is there.
double* block_at(BlockRows& S, Index i, Index j) {
  double* at = S.values(i);
  for (const BlockRows::Entry& entry : S.entries(i)) {
    if (entry.block == j) return at;
    at += static_cast<std::ptrdiff_t>(S.dim(i)) * entry.width;
  }
  return nullptr;
}

/// Pattern: bodies that share a row block of C or D.
void add_pattern(const BlockRows& rows, std::vector<std::uint64_t>& pattern) {
  for (Index c = 0; c < rows.row_block_count(); ++c)
    for (const BlockRows::Entry& a : rows.entries(c))
      for (const BlockRows::Entry& b : rows.entries(c))
        pattern.push_back(static_cast<std::uint64_t>(a.block) << 32U |
                          static_cast<std::uint64_t>(b.block));
}

}  // namespace

bool VelocitySystem::fits(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || !p.F.empty() || p.velocity_count() == 0)
    return false;
  for (Index i = 0; i < p.H.block_count(); ++i)
    if (p.H.block_size(i) > kMaxLawDim) return false;
  return true;
}

void VelocitySystem::set(const CanonicalProblem& p, const VecX& velocity_scale,
                         const VecX& bilateral_scale, double epsilon) {
  p_ = &p;
  offset_ = block_offsets(p);
  scale_ = velocity_scale;
  bilateral_ = bilateral_scale;
  epsilon_ = epsilon;
  forward_.ready = backward_.ready = false;
  inverse_.resize(laws_.size() * kStride);
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const int n = p.laws[c].dim;
    Small M = Eigen::Map<const Small>(laws_[c].M, n, n);
    M.diagonal().array() += epsilon;
    Eigen::Map<Small>(inverse_.data() + c * kStride, n, n) = M.inverse();
  }
}

void VelocitySystem::build(bool transposed) {
  const CanonicalProblem& p = *p_;
  BlockRows& S = S_;
  const Index bodies = p.H.block_count();
  pattern_.clear();
  for (Index i = 0; i < bodies; ++i)
    pattern_.push_back(static_cast<std::uint64_t>(i) << 32U | static_cast<std::uint64_t>(i));
  add_pattern(p.C, pattern_);
  add_pattern(p.D, pattern_);
  std::sort(pattern_.begin(), pattern_.end());
  pattern_.erase(std::unique(pattern_.begin(), pattern_.end()), pattern_.end());
  S.clear();
  Index row = -1;
  for (const std::uint64_t place : pattern_) {
    const auto i = static_cast<Index>(place >> 32U);
    const auto j = static_cast<Index>(place & 0xffffffffU);
    if (i != row) S.begin_row(p.H.block_size(i));
    row = i;
    S.add(j, p.H.block_begin(j), p.H.block_size(j));
  }
  for (Index i = 0; i < bodies; ++i) {
    const Index n = p.H.block_size(i), at = p.H.block_begin(i);
    double* to = block_at(S, i, i);
    for (Index r = 0; r < n; ++r)
      for (Index c = 0; c < n; ++c) {
        const double h = transposed ? p.H.block(i)[c * n + r] : p.H.block(i)[r * n + c];
        to[r * n + c] += scale_[at + r] * h * scale_[at + c];
      }
  }
  // Rows A of one block give S += Aᵀ middle A, scaled; middle as for the transposed system.
  const auto add_rows = [&](const BlockRows& rows, Index c, const Small& middle) {
    const Index dim = rows.dim(c);
    const double* left = rows.values(c);
    for (const BlockRows::Entry& a : rows.entries(c)) {
      const Eigen::Map<const Wide> A(left, dim, a.width);
      const Wide half = scale_.segment(a.column, a.width).asDiagonal() * A.transpose() * middle;
      const double* right = rows.values(c);
      for (const BlockRows::Entry& b : rows.entries(c)) {
        const Eigen::Map<const Wide> B(right, dim, b.width);
        Eigen::Map<Wide>(block_at(S, a.block, b.block), a.width, b.width) +=
            half * B * scale_.segment(b.column, b.width).asDiagonal();
        right += static_cast<std::ptrdiff_t>(dim) * b.width;
      }
      left += static_cast<std::ptrdiff_t>(dim) * a.width;
    }
  };
  for (std::size_t c = 0; c < laws_.size() && !p.D.empty(); ++c) {
    const int n = p.laws[c].dim;
    const Eigen::Map<const Small> inverse(inverse_.data() + c * kStride, n, n);
    const Eigen::Map<const Small> PG(laws_[c].PG, n, n);
    const Eigen::Map<const VecX> root(laws_[c].root_tau, n);
    Small middle = root.asDiagonal() * inverse * (root.asDiagonal() * PG);
    if (transposed) middle.transposeInPlace();
    if (middle.cwiseAbs().maxCoeff() > 0) add_rows(p.D, static_cast<Index>(c), middle);
  }
  for (Index c = 0; c < p.C.row_block_count(); ++c) {
    const auto scale = bilateral_.segment(p.C.row_begin(c), p.C.dim(c));
    const Small middle = Small(scale.cwiseProduct(scale).asDiagonal()) / epsilon_;
    add_rows(p.C, c, middle);
  }
}

void VelocitySystem::rows_times(Index c, const VecX& x, double* y) const {
  const Index dim = p_->D.dim(c);
  const double* a = p_->D.values(c);
  std::fill(y, y + dim, 0.0);
  for (const BlockRows::Entry& entry : p_->D.entries(c))
    for (Index r = 0; r < dim; ++r)
      for (Index k = 0; k < entry.width; ++k)
        y[r] += *a++ * scale_[entry.column + k] * x[entry.column + k];
}

void VelocitySystem::transpose_add(Index c, const double* x, VecX& y) const {
  const Index dim = p_->D.dim(c);
  const double* a = p_->D.values(c);
  for (const BlockRows::Entry& entry : p_->D.entries(c))
    for (Index r = 0; r < dim; ++r)
      for (Index k = 0; k < entry.width; ++k)
        y[entry.column + k] += *a++ * scale_[entry.column + k] * x[r];
}

bool VelocitySystem::solve(const VecX& b, bool transposed, VecX& x) {
  const CanonicalProblem& p = *p_;
  Factor& factor = transposed ? backward_ : forward_;
  if (!factor.ready) {
    build(transposed);
    factor.lu.analyze(S_);
    factor.good = factor.lu.factorize(S_);
    factor.ready = true;
  }
  if (!factor.good) return false;
  const Index nv = p.velocity_count(), nc = p.bilateral_count(), nl = p.row_count();
  const double sign = transposed ? -1 : 1;
  right_ = b.head(nv);
  VecX& eliminated = eliminated_;  // M⁻¹ r_λ, or M⁻ᵀ r_λ
  eliminated.resize(nl);
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const int n = p.laws[c].dim;
    const Eigen::Map<const Small> inverse(inverse_.data() + c * kStride, n, n);
    const Eigen::Map<const Small> PG(laws_[c].PG, n, n);
    const Eigen::Map<const VecX> root(laws_[c].root_tau, n);
    const auto r = b.segment(nv + nc + offset_[c], n);
    Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMaxLawDim, 1> push;
    if (transposed) {
      eliminated.segment(offset_[c], n) = inverse.transpose() * r;
      push = -(PG.transpose() * root.cwiseProduct(eliminated.segment(offset_[c], n)));
    } else {
      eliminated.segment(offset_[c], n) = inverse * r;
      push = root.cwiseProduct(eliminated.segment(offset_[c], n));
    }
    if (!p.D.empty()) transpose_add(static_cast<Index>(c), push.data(), right_);
  }
  if (nc > 0) {
    joints_ = b.segment(nv, nc).cwiseProduct(bilateral_) / epsilon_;
    spread_.setZero(nv);
    p.C.multiply_transpose_add(sign, joints_, spread_);
    right_ += scale_.cwiseProduct(spread_);
  }
  factor.lu.solve(right_, v_);

  x.resize(nv + nc + nl);
  x.head(nv) = v_;
  if (nc > 0) {
    rate_.setZero(nc);
    scaled_v_ = scale_.cwiseProduct(v_);
    p.C.multiply_add(sign, scaled_v_, rate_);
    x.segment(nv, nc) = (b.segment(nv, nc) - bilateral_.cwiseProduct(rate_)) / epsilon_;
  }
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const int n = p.laws[c].dim;
    double w[kMaxLawDim] = {};
    if (!p.D.empty()) rows_times(static_cast<Index>(c), v_, w);
    const Eigen::Map<const Small> inverse(inverse_.data() + c * kStride, n, n);
    const Eigen::Map<const Small> PG(laws_[c].PG, n, n);
    const Eigen::Map<const VecX> root(laws_[c].root_tau, n);
    const Eigen::Map<const VecX> y(w, n);
    auto out = x.segment(nv + nc + offset_[c], n);
    if (transposed) {
      out = eliminated.segment(offset_[c], n) + inverse.transpose() * root.cwiseProduct(y);
    } else {
      out = eliminated.segment(offset_[c], n) - inverse * root.cwiseProduct(PG * y);
    }
  }
  return v_.allFinite();
}

}  // namespace orthant::internal
