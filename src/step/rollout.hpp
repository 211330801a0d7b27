// SPDX-License-Identifier: Apache-2.0
// step/rollout.hpp: many steps that go on from a state and its warm start.
#pragma once

#include "orthant/step/step.hpp"

namespace orthant::internal {

/// What rollout() and Simulation::run() share: the worst of what `steps` steps report.
RolloutReport run_steps(const Model& model, const Parameters& parameters,
                        const StepSettings& settings, State& state, WarmStart& warm,
                        StepWorkspace& workspace, std::int64_t steps,
                        const RolloutCallback& callback);

}  // namespace orthant::internal
