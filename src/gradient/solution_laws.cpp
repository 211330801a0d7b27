// SPDX-License-Identifier: Apache-2.0
// gradient/solution_laws.cpp: (laws, answer) => an element of the generalised Jacobian, block by
// block. Smoothed: the answer is first moved to the point of the central path that belongs to it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradient/solution_impl.hpp"
#include "math/law_kernel.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

using internal::BlockDerivative;
using internal::cone_block;
using internal::separable_block;
using internal::smoothed_block;

void SolutionGradient::Impl::differentiate_laws(const ProblemScale& scale) {
  tau = scale.tau;
  v_free = scale.v_free;
  certificate.states.resize(static_cast<std::size_t>(nl));
  certificate.element = settings.kink;
  blocks.resize(p->laws.size());
  if (settings.blocks.size() > blocks.size())
    throw Error("solution gradient settings.blocks",
                "the problem has " + std::to_string(blocks.size()) + " blocks, got " +
                    std::to_string(settings.blocks.size()));
  for (std::size_t c = 0; c < blocks.size(); ++c) differentiate_law(c, settings.kink);
  settle_immobile();
  settle_pyramids();
  settle_redundant();
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    certificate.margin = std::min(certificate.margin, blocks[c].margin);
    for (int r = 0; r < p->laws[c].dim; ++r) {
      certificate.states[static_cast<std::size_t>(offset[c] + r)] = blocks[c].state[r];
      certificate.floating += blocks[c].state[r] == ContactState::Floating ? 1 : 0;
    }
  }
}

SolutionGradient::Impl::Terms SolutionGradient::Impl::terms_of(std::size_t c) const {
  const Law& law = p->laws[c];
  const Index at = offset[c];
  Terms out;
  auto& [z, size, w, total] = out;
  for (int r = 0; r < law.dim; ++r) w[r] = x.w[at + r];
  w[0] += shift_of(law, x.w.data() + at);
  for (int r = 0; r < law.dim; ++r) {
    z[r] = x.lambda[at + r] - tau[at + r] * w[r];
    size[r] = std::abs(x.lambda[at + r]) + tau[at + r] * (std::abs(w[r]) + std::abs(p->b[at + r]));
    if (!p->D.empty()) {  // the terms w is made of: a difference of large ones is not known
                          // better
      const double* d = p->D.values(static_cast<Index>(c));
      for (const auto& entry : p->D.entries(static_cast<Index>(c))) {
        for (Index j = 0; j < entry.width; ++j) {
          size[r] += tau[at + r] * std::abs(d[r * entry.width + j]) *
                     (std::abs(x.v[entry.column + j]) + std::abs(v_free[entry.column + j]));
        }
        d += static_cast<std::ptrdiff_t>(law.dim) * entry.width;
      }
    }
    total += size[r] * size[r];
  }
  total = std::sqrt(total);
  return out;
}

void SolutionGradient::Impl::differentiate_law(std::size_t c, KinkChoice kink) {
  const Law& law = p->laws[c];
  const Index at = offset[c];
  const auto [z, size, w, total] = terms_of(c);
  BlockDerivative& out = blocks[c];
  out = {};
  if (c < settings.blocks.size()) kink = settings.blocks[c];
  const double share = internal::closed_share(kink, c);
  if (law.is_separable()) {
    separable_block(law, z, size, settings, share, out);
  } else {
    cone_block(law, z, x.w.data() + at, tau[at], total, settings, share, out);
  }
  double impulse = 0, moving = 0;
  for (int r = 0; r < law.dim; ++r) {
    impulse += x.lambda[at + r] * x.lambda[at + r];
    moving += tau[at + r] * tau[at + r] * x.w[at + r] * x.w[at + r];
  }
  const double nothing = settings.floating_tolerance * total;
  out.closed = moving <= nothing * nothing;
  out.unloaded = out.state[0] == ContactState::Floating && settings.mode == GradientMode::Exact &&
                 impulse <= nothing * nothing;
  out.idle = out.unloaded && kink == KinkChoice::Clamp;
}

double SolutionGradient::Impl::smooth_laws(VecX& residual) {
  // Everything the path asks for, and how far from it x is, in scaled units.
  residual.setZero(nv + nc + nl);
  VecX balance;
  p->H.multiply(x.v, balance);
  balance -= p->k;
  if (nc > 0) p->C.multiply_transpose_add(-1, x.gamma, balance);
  if (!p->D.empty()) p->D.multiply_transpose_add(-1, x.lambda, balance);
  residual.head(nv) = balance;
  VecX joints = p->e;
  if (nc > 0) p->C.multiply_add(1, x.v, joints);
  residual.segment(nv, nc) = joints;
  x.w = p->b;
  if (!p->D.empty()) p->D.multiply_add(1, x.v, x.w);
  if (!p->F.empty()) p->F.multiply_add(1, x.lambda, x.w);
  double size = 0, error = 0;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Index at = offset[c];
    blocks[c].by_mu_r[0] = 0;
    smoothed_block(p->laws[c], x.lambda.data() + at, x.w.data() + at, tau[at], settings.kappa,
                   blocks[c], residual.data() + nv + nc + at);
    for (int r = 0; r < p->laws[c].dim; ++r) {
      size = std::max(size, std::abs(x.lambda[at + r]) + tau[at + r] * std::abs(x.w[at + r]));
      error = std::max(error, std::abs(residual[nv + nc + at + r]));
    }
  }
  double momentum = 0;
  for (Index i = 0; i < nv; ++i) momentum = std::max(momentum, std::abs(p->k[i]));
  if (nv > 0) error = std::max(error, balance.cwiseAbs().maxCoeff());
  return error / (size + momentum + std::numeric_limits<double>::min());
}

void SolutionGradient::Impl::follow_path() {
  constexpr int kMaxSteps = 60, kMaxHalvings = 30;
  constexpr double kOnPath = 1e-10;
  for (const Law& law : p->laws)
    if (law.has_rolling())
      throw Error("solution gradient", "GradientMode::Smoothed has no rolling friction");
  if (!(settings.kappa > 0) || !std::isfinite(settings.kappa))
    throw Error("solution gradient settings.kappa",
                "must be finite and > 0, got " + to_text(settings.kappa));
  certificate.kappa = settings.kappa;
  VecX residual, step, trial_residual;
  double error = smooth_laws(residual);
  for (int k = 0; k < kMaxSteps && error > kOnPath; ++k) {
    assemble();
    solve(VecX(-residual), false, step);
    const Solution from = x;
    double length = 1, next = error;
    for (int i = 0; i < kMaxHalvings; ++i, length *= 0.5) {
      x.v = from.v + length * step.head(nv);
      x.gamma = from.gamma + length * step.segment(nv, nc);
      x.lambda = from.lambda + length * step.tail(nl);
      next = smooth_laws(trial_residual);
      if (next < (1 - 0.1 * length) * error) break;
    }
    if (!(next < error)) {
      x = from;
      (void)smooth_laws(residual);
      break;
    }
    error = next;
    residual.swap(trial_residual);
  }
  certificate.central_error = error;
}

}  // namespace orthant
