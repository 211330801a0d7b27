// SPDX-License-Identifier: Apache-2.0
// solver/velocity_space.cpp: scaled rows by velocity block, answers in and out, block sweeps. See
// the header.
#include "solver/velocity_space.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "solver/one_contact_kernel.hpp"
#include "solver/small_dense.hpp"

namespace orthant::internal {
bool VelocitySpace::fits(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || p.velocity_count() == 0) return false;
  if (p.D.empty() && p.C.empty()) return false;
  for (Index c = 0; c < p.F.row_block_count(); ++c) {
    for (const BlockRows::Entry& entry : p.F.entries(c)) {
      if (entry.block != c || (p.laws[c].is_separable() && p.laws[c].dim > 1)) return false;
    }
  }
  return true;
}

/// Block c of A, still unscaled: J and H⁻¹Jᵀ, entry by entry.
void VelocitySpace::add_rows(const BlockRows& A, Index c, const Law& law, Index at) {
  const bool split = law.is_separable();
  const int parts = split ? law.dim : 1, dim = split ? 1 : law.dim;
  for (int part = 0; part < parts; ++part) {
    ScaledBlock block{at + part, static_cast<Index>(W_.size()), law};
    block.law.dim = Law::narrow(dim);
    blocks_.push_back(block);
    W_.resize(W_.size() + static_cast<std::size_t>(dim * dim), 0.0);
    double* W = W_.data() + block.diagonal;
    const double* a = A.empty() ? nullptr : A.values(c);
    for (const BlockRows::Entry& entry :
         A.empty() ? std::span<const BlockRows::Entry>{} : A.entries(c)) {
      const Index width = entry.width;
      entries_.push_back({entry.column, width, J_.size()});
      const double* from = a + part * width;
      J_.insert(J_.end(), from, from + dim * width);
      K_.insert(K_.end(), from, from + dim * width);
      const double* J = J_.data() + entries_.back().at;
      double* K = K_.data() + entries_.back().at;
      for (int r = 0; r < dim; ++r) inverse_.solve_block(entry.block, K + r * width);
      for (int r = 0; r < dim; ++r) add_product(K, dim, width, J + r * width, W + r * dim);
      a += static_cast<std::ptrdiff_t>(law.dim) * width;
    }
    entry_begin_.push_back(entries_.size());
  }
}

/// Brings every block to unit diagonal and the right-hand side to size one.
void VelocitySpace::find_scales(const CanonicalProblem& p, const ProblemScale& scale) {
  const Index bilateral = p.bilateral_count();
  for (ScaledBlock& block : blocks_) {
    Law& law = block.law;
    const double* W = W_.data() + block.diagonal;
    double* s = row_scale_.data() + block.at;
    const double tau = block.at < bilateral ? 1.0 : scale.tau[block.at - bilateral];
    scale_rows(law, W, &tau, s);
  }
  b_.resize(row_scale_.size());
  b_.head(bilateral) = p.e;
  b_.tail(p.row_count()) = p.b;
  double squares = 0;  // of S (J v_free + b), J not scaled yet
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    double q[kMaxLawDim];
    for (int i = 0; i < block.law.dim; ++i) q[i] = b_[block.at + i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, block.law.dim, e->width, scale.v_free.data() + e->column, q);
    for (int i = 0; i < block.law.dim; ++i) {
      const double scaled = row_scale_[block.at + i] * q[i];
      squares += scaled * scaled;
    }
  }
  force_ = std::sqrt(squares / std::max<Index>(static_cast<Index>(b_.size()), 1));
  if (!(force_ > 0) || !std::isfinite(force_)) force_ = 1;
  b_ = b_.cwiseProduct(row_scale_) / force_;
  v_free_ = scale.v_free / force_;
}

void VelocitySpace::build(const CanonicalProblem& p, const ProblemScale& scale) {
  const Index bilateral = p.bilateral_count();
  const bool invertible = inverse_.factorize(p.H);
  ORTHANT_ASSERT(invertible);
  blocks_.clear();
  entries_.clear();
  J_.clear();
  K_.clear();
  W_.clear();
  entry_begin_.assign(1, 0);
  row_scale_.setOnes(bilateral + p.row_count());
  for (Index i = 0; i < p.C.row_block_count(); ++i)
    add_rows(p.C, i, Law::free(static_cast<int>(p.C.dim(i))), p.C.row_begin(i));
  Index at = bilateral;
  for (Index c = 0; c < p.block_count(); ++c) {
    add_rows(p.D, c, p.laws[c], at);
    at += p.laws[c].dim;
  }
  F_.assign(W_.size(), 0.0);
  compliant_ = !p.F.empty();
  if (compliant_) {
    for (const ScaledBlock& block : blocks_) {
      if (block.at < bilateral) continue;
      // A block of separable rows has no F of more than one row (fits()): counting rows will do.
      const auto offsets = p.F.row_offsets();
      const auto c = std::upper_bound(offsets.begin(), offsets.end(), block.at - bilateral) -
                     offsets.begin() - 1;
      const double* f = p.F.find(static_cast<Index>(c), static_cast<Index>(c));
      for (int i = 0; f != nullptr && i < block.law.dim * block.law.dim; ++i) {
        F_[block.diagonal + i] = f[i];
        W_[block.diagonal + i] += f[i];
      }
    }
  }
  find_scales(p, scale);
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    ScaledBlock& block = blocks_[c];
    const int dim = block.law.dim;
    const double* s = row_scale_.data() + block.at;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e) {
      for (int r = 0; r < dim; ++r) {
        for (Index j = 0; j < e->width; ++j) {
          J_[e->at + r * e->width + j] *= s[r];
          K_[e->at + r * e->width + j] *= s[r];
        }
      }
    }
    for (int r = 0; r < dim; ++r) {
      for (int j = 0; j < dim; ++j) {
        F_[block.diagonal + r * dim + j] *= s[r] * s[j];
        W_[block.diagonal + r * dim + j] *= s[r] * s[j];
      }
    }
    if (block.law.kind == LawKind::Box) {
      block.law.lo /= force_ * s[0];
      block.law.hi /= force_ * s[0];
    }
  }
}

void VelocitySpace::scale_impulses(const Solution& from, VecX& x) const {
  x.resize(row_scale_.size());
  x << from.gamma, from.lambda;
  x = x.cwiseQuotient(row_scale_) / force_;
}

void VelocitySpace::unscale(const VecX& x, const VecX& v, Solution& to) const {
  const Index n = static_cast<Index>(to.gamma.size()), rows = static_cast<Index>(x.size()) - n;
  to.gamma = force_ * row_scale_.head(n).cwiseProduct(x.head(n));
  to.lambda = force_ * row_scale_.tail(rows).cwiseProduct(x.tail(rows));
  to.v = force_ * v;
}

void VelocitySpace::free_motion(const VecX& x, VecX& v) const {
  v = v_free_;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const double* xc = x.data() + blocks_[c].at;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(K_.data() + e->at, blocks_[c].law.dim, e->width, xc, v.data() + e->column);
  }
}

void VelocitySpace::sweep(VecX& x, VecX& v) const {
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    const int dim = block.law.dim;
    double* xc = x.data() + block.at;
    const double* W = W_.data() + block.diagonal;
    double q[kMaxLawDim], r[kMaxLawDim];
    for (int i = 0; i < dim; ++i) q[i] = b_[block.at + i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, dim, e->width, v.data() + e->column, q);
    if (compliant_) add_product(F_.data() + block.diagonal, dim, dim, xc, q);
    for (int i = 0; i < dim; ++i) {
      r[i] = xc[i];
      for (int j = 0; j < dim; ++j) q[i] -= W[i * dim + j] * xc[j];
    }
    (void)solve_one_block(block.law, W, q, r);
    bool moved = false;
    for (int i = 0; i < dim; ++i) {
      if (!std::isfinite(r[i])) r[i] = 0;
      const double change = r[i] - xc[i];
      xc[i] = r[i];
      r[i] = change;
      moved = moved || change != 0;
    }
    if (!moved) continue;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(K_.data() + e->at, dim, e->width, r, v.data() + e->column);
  }
}

}  // namespace orthant::internal
