// SPDX-License-Identifier: Apache-2.0
// step/impact_gain.hpp: (an impact and its answer) => the energy it gains,
//   T⁺ − T⁻ + λᵀb_given + γᵀe,
// less the work of bodies and motors whose motion is given. An impact with Newton's law and
// friction may gain some; its restitution is then scaled so that this is 0.
#pragma once

#include <span>

#include "orthant/constraint/contact_rows.hpp"
#include "orthant/problem/problem.hpp"

namespace orthant::internal {

/// Energy gained in an impact, and what it is small or large beside [J].
struct EnergyGain {
  double value = 0, scale = 0;
};

/// `v`: before the impact, of the dynamic bodies first.
inline EnergyGain energy_gain(const CanonicalProblem& p, std::span<const ContactBlock> blocks,
                              const VecX& v, const Solution& x) {
  const auto before = v.head(x.v.size());
  VecX momentum(x.v.size());
  p.H.multiply(x.v - before, momentum);
  EnergyGain gain;
  gain.value = 0.5 * momentum.dot(x.v + before) + x.gamma.dot(p.e);
  gain.scale = 0.5 * momentum.cwiseAbs().dot(x.v.cwiseAbs() + before.cwiseAbs());
  for (const ContactBlock& block : blocks)
    for (Index i = 0; i < block.dim; ++i)
      gain.value += x.lambda[block.row + i] * (p.b[block.row + i] - (i == 0 ? block.bias : 0));
  return gain;
}

}  // namespace orthant::internal
