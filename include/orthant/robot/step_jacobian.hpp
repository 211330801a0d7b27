// SPDX-License-Identifier: Apache-2.0
// robot/step_jacobian.hpp: the derivative of a step in joint coordinates.
//   d(q⁺, u⁺) = A d(q, u) + B dc      q, u of the Articulation, c the controls
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/robot/articulation.hpp"

namespace ORTHANT_EXPORT orthant {

/// A is 2 u_size() square: changes of q as speeds have them (Articulation::integrate). `before`,
/// `after`: the states of the step that `gradient` differentiates. Other bodies are held; where
/// joints close loops, changes have to keep them closed.
StepJacobian step_jacobian(const Articulation& tree, const Parameters& parameters,
                           const State& before, const State& after, StepGradient& gradient);

}  // namespace orthant
