// SPDX-License-Identifier: Apache-2.0
// step/energy.hpp: the energy of a state, as reports of steps tell it.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

struct Energy {
  double kinetic = 0;    ///< [J]
  double potential = 0;  ///< of forces, flexible parts and soft contacts that are pressed in [J]
  double total() const { return kinetic + potential; }
};
/// What a StepReport tells after a step, of any state.
Energy energy_of(const Model& model, const Parameters& parameters, const StepSettings& settings,
                 const State& state);

}  // namespace orthant
