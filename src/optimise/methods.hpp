// SPDX-License-Identifier: Apache-2.0
// optimise/methods.hpp: one round of a method on the augmented cost, from `motion` on.
#pragma once

#include "optimise/motion.hpp"
#include "orthant/base/timer.hpp"

namespace orthant::internal {

/// What a round may still spend, and what it leaves.
struct Round {
  const TrajectoryProblem& problem;
  const TrajectoryOptions& options;
  const StageCosts& costs;
  const Timer& timer;
  TrajectoryResult& result;  ///< history, iterations, evaluations

  bool spent(TrajectoryStop& stop) const;
  /// Keeps an accepted iterate; false: asked to stop.
  bool keep(const Motion& motion, double step, double damping);
};

TrajectoryStop riccati_round(Round& round, Motion& motion);
TrajectoryStop lbfgs_round(Round& round, Motion& motion);

/// Cost and derivative of a rollout that was made.
TrajectoryGradient gradient_of(const TrajectoryProblem& problem, const TrajectoryOptions& options,
                               const StageCosts& costs, const Motion& motion);

}  // namespace orthant::internal
