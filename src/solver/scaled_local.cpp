// SPDX-License-Identifier: Apache-2.0
// solver/scaled_local.cpp: (local problem, scale) => scaled problem. See scaled_local.hpp.
#include "solver/scaled_local.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"

namespace orthant::internal {
namespace {

/// 1/√(mean |diagonal|) over rows [first, first + count) of block c; the judge's step where the
/// diagonal vanishes.
double part_scale(const double* f, Index dim, Index first, Index count, double tau) {
  double sum = 0;
  for (Index r = first; f && r < first + count; ++r) sum += std::abs(f[r * dim + r]);
  return sum > 0 ? std::sqrt(count / sum) : std::sqrt(tau);
}

}  // namespace

void scale_rows(Law& law, const double* W, const double* tau, double* scale) {
  if (law.is_separable()) {
    for (Index r = 0; r < law.dim; ++r) scale[r] = part_scale(W, law.dim, r, 1, tau[r]);
    return;
  }
  const Index nt = law.tangent_dim(), nr = law.rolling_dim();
  scale[0] = part_scale(W, law.dim, 0, 1, tau[0]);
  const double st = part_scale(W, law.dim, 1, nt, tau[0]);
  std::fill(scale + 1, scale + 1 + nt, st);
  law.mu *= scale[0] / st;
  if (nr > 0) {
    const double sr = part_scale(W, law.dim, 1 + nt, nr, tau[0]);
    std::fill(scale + 1 + nt, scale + 1 + nt + nr, sr);
    law.mu_r *= scale[0] / sr;
  }
}

void ScaledLocal::build(const CanonicalProblem& p, const ProblemScale& scale) {
  ORTHANT_ASSERT(p.is_local());
  const Index n = p.row_count(), block_count = p.block_count();
  row_scale.resize(n);
  blocks.resize(static_cast<std::size_t>(block_count));
  Index at = 0;
  for (Index c = 0; c < block_count; ++c) {
    ScaledBlock& block = blocks[c];
    block = {at, 0, p.laws[c]};
    const double* f = p.F.empty() ? nullptr : p.F.find(c, c);
    scale_rows(block.law, f, scale.tau.data() + at, row_scale.data() + at);
    at += block.law.dim;
  }

  q = row_scale.cwiseProduct(p.b);
  force = q.size() > 0 ? q.norm() / std::sqrt(static_cast<double>(q.size())) : 1.0;
  if (!(force > 0) || !std::isfinite(force)) force = 1;
  q /= force;
  for (ScaledBlock& block : blocks) {
    if (block.law.kind != LawKind::Box) continue;
    block.law.lo /= force * row_scale[block.at];
    block.law.hi /= force * row_scale[block.at];
  }

  W.clear();
  slot_.assign(static_cast<std::size_t>(block_count), -1);
  for (Index c = 0; c < block_count; ++c) {
    ScaledBlock& block = blocks[c];
    const Index dim = block.law.dim;
    const auto entries = p.F.empty() ? std::span<const BlockRows::Entry>{} : p.F.entries(c);
    W.begin_row(dim);
    std::ptrdiff_t size = 0;
    const auto place = [&](Index other, Index column, Index width) {
      if (slot_[other] >= 0) return;
      slot_[other] = size;
      W.add(other, column, width);
      size += static_cast<std::ptrdiff_t>(dim) * width;
    };
    for (const auto& entry : entries) place(entry.block, entry.column, entry.width);
    place(c, block.at, dim);
    block.diagonal = static_cast<Index>(slot_[c]);
    double* values = W.values(c);
    const double* f = entries.empty() ? nullptr : p.F.values(c);
    for (const auto& entry : entries) {
      double* out = values + slot_[entry.block];
      for (Index r = 0; r < dim; ++r) {
        for (Index j = 0; j < entry.width; ++j) {
          out[r * entry.width + j] +=
              row_scale[block.at + r] * f[r * entry.width + j] * row_scale[entry.column + j];
        }
      }
      f += static_cast<std::ptrdiff_t>(dim) * entry.width;
    }
    for (const auto& entry : entries) slot_[entry.block] = -1;
    slot_[c] = -1;
  }
}

void ScaledLocal::scale_impulse(const VecX& lambda, VecX& x) const {
  x = lambda.cwiseQuotient(row_scale) / force;
}

void ScaledLocal::unscale_impulse(const VecX& x, VecX& lambda) const {
  lambda = force * row_scale.cwiseProduct(x);
}

}  // namespace orthant::internal
