// SPDX-License-Identifier: Apache-2.0
// step/rollout.cpp: many steps, the worst of what they report.
#include "step/rollout.hpp"

#include <algorithm>

namespace orthant {

RolloutReport internal::run_steps(const Model& model, const Parameters& parameters,
                                  const StepSettings& settings, State& state, WarmStart& warm,
                                  StepWorkspace& workspace, std::int64_t steps,
                                  const RolloutCallback& callback) {
  RolloutReport total;
  const VecX no_control;
  for (std::int64_t i = 0; i < steps; ++i) {
    const StepReport report = step(model, parameters, settings, no_control, state, warm, workspace);
    ++total.steps;
    total.failed_steps += report.outcome != Outcome::Converged;
    total.outcome = std::max(total.outcome, report.outcome);
    total.residual = std::max(total.residual, report.residual);
    total.deepest = std::max(total.deepest, report.deepest);
    total.joint_error = std::max(total.joint_error, report.joint_error);
    if (callback && !callback(i, state, report)) break;
  }
  return total;
}

RolloutReport rollout(const Model& model, const Parameters& parameters,
                      const StepSettings& settings, State& state, std::int64_t steps,
                      const RolloutCallback& callback) {
  WarmStart warm;
  StepWorkspace workspace;
  return internal::run_steps(model, parameters, settings, state, warm, workspace, steps, callback);
}

}  // namespace orthant
