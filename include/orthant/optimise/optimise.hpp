// SPDX-License-Identifier: Apache-2.0
// optimise/optimise.hpp: (problem, settings) => controls, start and parameters of least cost.
//   Lbfgs             single shooting, one rollout and one reverse walk per evaluation
//   GaussNewton       single shooting, the whole Gauss–Newton step by one Riccati sweep
//   Ilqr              the same sweep; its feedback is kept in the new rollout
//   MultipleShooting  states are unknowns too; defects x_{i+1} ⊟ step(x_i, u_i) go to zero
// Step Jacobians are exact (gradient/step.hpp). Bounds of controls, start and parameters hold at
// every iterate; bounds of states and of functions of them by an augmented Lagrangian around any of
// the four. Trial motions and step Jacobians are evaluated in threads with the same bits for any
// number of them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/optimise/problem.hpp"

namespace ORTHANT_EXPORT orthant {

enum class ShootingMethod : std::uint8_t { Lbfgs, GaussNewton, Ilqr, MultipleShooting };

/// One accepted iteration.
struct TrajectoryIteration {
  double cost = 0;       ///< without multipliers
  double violation = 0;  ///< of the bounds of states and of the path, largest
  double defect = 0;     ///< MultipleShooting: largest
  double step = 0;       ///< length taken, 1: the full one
  double damping = 0;
};
/// Called after each iteration; false stops with the best found.
using TrajectoryProgress = std::function<bool(int iteration, const TrajectoryIteration& now)>;

struct TrajectoryOptions {
  ShootingMethod method = ShootingMethod::Ilqr;
  int max_iterations = 100;
  double tolerance = 1e-8;    ///< promised decrease over the cost that ends the search [-]
  double feasibility = 1e-6;  ///< largest defect and violation of bounds of states [m, rad, m/s]
  int max_rounds = 12;        ///< of the augmented Lagrangian
  double time_limit = 0;      ///< [s] of the wall clock; 0: none
  int memory = 20;            ///< Lbfgs: pairs kept
  StepGradientSettings gradient = {};
  /// Lbfgs: at contacts on a border, take the element along which the loss really falls, found by
  /// stepping (loss_aware_gradient()).
  bool loss_aware = false;
  double probe = 1e-3;  ///< loss_aware: size of the change tried, relative to the numbers [-]
  TrajectoryProgress progress = {};
};

enum class TrajectoryStop : std::uint8_t {
  Converged,
  NoDescent,  ///< no shorter step lowers the cost: a kink, or the precision is spent
  IterationLimit,
  TimeLimit,
  Interrupted,
  NotFeasible,  ///< bounds of states or defects were not met
};
std::string_view name_of(TrajectoryStop stop);
std::string_view name_of(ShootingMethod method);

struct TrajectoryResult {
  State start;
  Parameters parameters;
  MatX controls;
  MatX q, v;  ///< of the rollout with these, steps + 1 columns
  double cost = 0, violation = 0, defect = 0;
  std::vector<TrajectoryIteration> history;  ///< the first is the guess
  int iterations = 0;
  int evaluations = 0;            ///< motions or sets of steps
  std::int64_t failed_steps = 0;  ///< of the final motion, whose solves missed their tolerance
  TrajectoryStop stop = TrajectoryStop::IterationLimit;
};

/// Throws Error for a bad problem (validate()) and a cost that is not finite at the guess.
TrajectoryResult optimise(const TrajectoryProblem& problem, const TrajectoryOptions& options = {});

/// Cost and derivative at the guess, for optimisers of one's own: by the initial variables, the
/// parameters varied, all controls (step by step).
struct TrajectoryGradient {
  double cost = 0;
  VecX initial, parameters;
  MatX controls;
  RolloutCertificate certificate;
};
TrajectoryGradient trajectory_gradient(const TrajectoryProblem& problem,
                                       const TrajectoryOptions& options = {});

/// rollout_gradient() with the element at kinks chosen by the loss, step by step and contact by
/// contact: that along whose steepest descent the loss falls most when the step is really taken.
/// First Clamp, Separate or Average for all contacts of the step, then each contact on a border in
/// turn (the first 24). Needs the records of all steps.
RolloutGradient loss_aware_gradient(const RolloutTape& tape, const RolloutCotangent& loss,
                                    const StepGradientSettings& gradient = {}, double probe = 1e-3);

}  // namespace orthant
