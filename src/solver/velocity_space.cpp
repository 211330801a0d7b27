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
  return couples_no_blocks(p.F);
}

/// F and W of each block, still unscaled.
void VelocitySpace::find_squares(const CanonicalProblem& p) {
  const Index joints = p.C.row_block_count();
  Index size = 0;
  for (ScaledBlock& block : blocks_) {
    block.diagonal = size;
    size += block.law.dim * block.law.dim;
  }
  F_.assign(static_cast<std::size_t>(size), 0.0);
  for (Index c = 0; c < p.F.row_block_count(); ++c) {
    const ScaledBlock& block = blocks_[static_cast<std::size_t>(joints + c)];
    const double* f = p.F.find(c, c);
    if (f != nullptr) std::copy_n(f, block.law.dim * block.law.dim, F_.data() + block.diagonal);
  }
  W_ = F_;
  K_ = J_;
  for (Index c = 0; c < J_.row_block_count(); ++c) {
    const Index dim = J_.dim(c);
    double* W = W_.data() + blocks_[static_cast<std::size_t>(c)].diagonal;
    const double* J = J_.values(c);
    double* K = K_.values(c);
    for (const BlockRows::Entry& e : J_.entries(c)) {
      for (Index r = 0; r < dim; ++r) inverse_.solve_block(e.block, K + r * e.width);
      for (Index r = 0; r < dim; ++r) add_product(K, dim, e.width, J + r * e.width, W + r * dim);
      J += dim * e.width;
      K += dim * e.width;
    }
  }
}

/// Brings every block to unit diagonal and the right-hand side to size one.
void VelocitySpace::find_scales(const CanonicalProblem& p, const ProblemScale& scale) {
  const Index bilateral = p.bilateral_count();
  constexpr double kJoint[kMaxLawDim] = {1, 1, 1, 1, 1, 1};
  row_scale_.resize(J_.rows());
  for (ScaledBlock& block : blocks_)
    scale_rows(block.law, W_.data() + block.diagonal,
               block.at < bilateral ? kJoint : scale.tau.data() + block.at - bilateral,
               row_scale_.data() + block.at);
  J_.multiply(scale.v_free, b_);
  b_.head(bilateral) += p.e;
  b_.tail(p.row_count()) += p.b;
  const auto rows = static_cast<double>(std::max<Index>(J_.rows(), 1));
  force_ = b_.cwiseProduct(row_scale_).norm() / std::sqrt(rows);
  if (!(force_ > 0) || !std::isfinite(force_)) force_ = 1;
  b_.head(bilateral) = p.e;
  b_.tail(p.row_count()) = p.b;
  b_ = b_.cwiseProduct(row_scale_) / force_;
  v_free_ = scale.v_free / force_;
}

void VelocitySpace::build(const CanonicalProblem& p, const ProblemScale& scale) {
  const bool invertible = inverse_.factorize(p.H);
  ORTHANT_ASSERT(invertible);
  blocks_.clear();
  J_.clear();
  const auto add_rows = [&](const BlockRows& A, Index c, const Law& law) {
    blocks_.push_back({J_.rows(), 0, law});
    J_.begin_row(law.dim);
    if (A.empty()) return;
    const double* a = A.values(c);
    for (const BlockRows::Entry& e : A.entries(c)) {
      const Index size = law.dim * e.width;
      std::copy_n(a, size, J_.add(e.block, e.column, e.width));
      a += size;
    }
  };
  for (Index i = 0; i < p.C.row_block_count(); ++i) add_rows(p.C, i, Law::free(p.C.dim(i)));
  for (Index c = 0; c < p.block_count(); ++c) add_rows(p.D, c, p.laws[c]);
  find_squares(p);
  find_scales(p, scale);
  compliant_ = !p.F.empty();
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    ScaledBlock& block = blocks_[c];
    const int dim = block.law.dim;
    const double* s = row_scale_.data() + block.at;
    for (BlockRows* A : {&J_, &K_}) {
      double* a = A->values(static_cast<Index>(c));
      for (const BlockRows::Entry& e : A->entries(static_cast<Index>(c)))
        for (int r = 0; r < dim; ++r)
          for (Index j = 0; j < e.width; ++j) *a++ *= s[r];
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
  K_.multiply_transpose_add(1, x, v);
}

void VelocitySpace::sweep(VecX& x, VecX& v) const {
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    const int dim = block.law.dim;
    double* xc = x.data() + block.at;
    const double* W = W_.data() + block.diagonal;
    double q[kMaxLawDim], r[kMaxLawDim];
    for (int i = 0; i < dim; ++i) q[i] = b_[block.at + i];
    const auto entries = J_.entries(static_cast<Index>(c));
    const double* J = J_.values(static_cast<Index>(c));
    for (const BlockRows::Entry& e : entries) {
      add_product(J, dim, e.width, v.data() + e.column, q);
      J += dim * e.width;
    }
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
    const double* K = K_.values(static_cast<Index>(c));
    for (const BlockRows::Entry& e : entries) {
      add_transposed(K, dim, e.width, r, v.data() + e.column);
      K += dim * e.width;
    }
  }
}

}  // namespace orthant::internal
