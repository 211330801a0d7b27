// SPDX-License-Identifier: Apache-2.0
// optimise/optimise.cpp: rounds of the augmented Lagrangian around a method.
#include "orthant/optimise/optimise.hpp"

#include <cmath>

#include "optimise/methods.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

namespace internal {

bool Round::spent(TrajectoryStop& stop) const {
  if (result.iterations >= options.max_iterations) {
    stop = TrajectoryStop::IterationLimit;
    return true;
  }
  if (options.time_limit > 0 && timer.seconds() >= options.time_limit) {
    stop = TrajectoryStop::TimeLimit;
    return true;
  }
  return false;
}

bool Round::keep(const Motion& m, double step, double damping) {
  ++result.iterations;
  result.history.push_back({m.cost.cost, m.cost.violation, m.largest_defect(), step, damping});
  return !options.progress || options.progress(result.iterations, result.history.back());
}

namespace {

/// Names what is wrong with a guess that has no cost.
void refuse_guess(const TrajectoryProblem& p, const StageCosts& costs, const Motion& m) {
  std::vector<StageExpansion> stages;
  if (m.q.allFinite() && m.v.allFinite()) {
    costs.evaluate(m.q, m.v, m.u, m.parameters.values, &stages);
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (!std::isfinite(stages[i].value))
        throw Error("cost", "is not finite at the first guess: stage " + std::to_string(i) +
                                " of " + std::to_string(p.steps) + " costs " +
                                to_text(stages[i].value));
  }
  if (m.q.allFinite() && m.v.allFinite())
    throw Error("path", "a function that is bounded is not finite at the first guess");
  throw Error("guess", "its motion is not finite");
}

void refuse_bad_gradient(const StageCosts& costs, const Motion& m) {
  std::vector<StageExpansion> stages;
  costs.evaluate(m.q, m.v, m.u, m.parameters.values, &stages);
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (!stages[i].gradient.allFinite() || !stages[i].hessian.allFinite())
      throw Error("cost", "its derivative is not finite at stage " + std::to_string(i));
}

void check(const TrajectoryProblem& p, const TrajectoryOptions& o) {
  validate(p);
  if (o.max_iterations < 0)
    throw Error("max_iterations", "must be >= 0, got " + std::to_string(o.max_iterations));
  if (!(o.tolerance >= 0)) throw Error("tolerance", "must be >= 0, got " + to_text(o.tolerance));
  if (!(o.feasibility > 0))
    throw Error("feasibility", "must be > 0, got " + to_text(o.feasibility));
  if (!(o.time_limit >= 0)) throw Error("time_limit", "must be >= 0, got " + to_text(o.time_limit));
  if (!(o.probe > 0)) throw Error("probe", "must be > 0, got " + to_text(o.probe));
  if (o.loss_aware && o.method != ShootingMethod::Lbfgs)
    throw Error("loss_aware", "goes with the method lbfgs alone");
  if (o.method == ShootingMethod::MultipleShooting && p.settings.thermal_energy > 0)
    throw Error("method", "multiple shooting cannot restart a motion with random kicks");
}

}  // namespace
}  // namespace internal

std::string_view name_of(TrajectoryStop stop) {
  switch (stop) {
    case TrajectoryStop::Converged:
      return "converged";
    case TrajectoryStop::NoDescent:
      return "no descent";
    case TrajectoryStop::IterationLimit:
      return "iteration limit";
    case TrajectoryStop::TimeLimit:
      return "time limit";
    case TrajectoryStop::Interrupted:
      return "interrupted";
    case TrajectoryStop::NotFeasible:
      break;
  }
  return "not feasible";
}

std::string_view name_of(ShootingMethod method) {
  switch (method) {
    case ShootingMethod::Lbfgs:
      return "lbfgs";
    case ShootingMethod::GaussNewton:
      return "gauss_newton";
    case ShootingMethod::Ilqr:
      return "ilqr";
    case ShootingMethod::MultipleShooting:
      break;
  }
  return "multiple_shooting";
}

TrajectoryResult optimise(const TrajectoryProblem& p, const TrajectoryOptions& options) {
  internal::check(p, options);
  const Timer timer;
  TrajectoryResult result;
  internal::StageCosts costs(p);
  internal::Motion motion = internal::first_guess(p);
  const bool nodes = options.method == ShootingMethod::MultipleShooting;
  if (nodes && p.q_guess.size() != 0) {
    motion.q = p.q_guess;
    motion.v = p.v_guess;
    internal::step_from_nodes(p, costs, motion);
  } else {
    internal::roll(p, costs, {}, motion);
    if (nodes && motion.finite) internal::step_from_nodes(p, costs, motion);
  }
  if (!motion.finite) internal::refuse_guess(p, costs, motion);
  internal::refuse_bad_gradient(costs, motion);
  result.evaluations = 1;
  result.history.push_back(
      {motion.cost.cost, motion.cost.violation, motion.largest_defect(), 0, 0});

  internal::Round round{p, options, costs, timer, result};
  for (int k = 0;; ++k) {
    result.stop = options.method == ShootingMethod::Lbfgs ? internal::lbfgs_round(round, motion)
                                                          : internal::riccati_round(round, motion);
    const bool may_go_on =
        result.stop == TrajectoryStop::Converged || result.stop == TrajectoryStop::NoDescent;
    if (!may_go_on || motion.cost.violation <= options.feasibility) break;
    if (k + 1 >= options.max_rounds) {
      result.stop = TrajectoryStop::NotFeasible;
      break;
    }
    costs.next_round(motion.q, motion.v, motion.u, motion.cost.violation);
    motion.cost = costs.evaluate(motion.q, motion.v, motion.u, motion.parameters.values, nullptr);
  }
  result.defect = motion.largest_defect();
  if (nodes) {  // what is handed out is a motion, not a set of nodes
    internal::roll(p, costs, {}, motion);
    if (result.stop == TrajectoryStop::Converged && result.defect > options.feasibility)
      result.stop = TrajectoryStop::NotFeasible;
  }
  result.start = std::move(motion.start);
  result.parameters = std::move(motion.parameters);
  result.controls = std::move(motion.u);
  result.q = std::move(motion.q);
  result.v = std::move(motion.v);
  result.cost = motion.cost.cost;
  result.violation = motion.cost.violation;
  result.failed_steps = motion.failed_steps;
  return result;
}

TrajectoryGradient trajectory_gradient(const TrajectoryProblem& p,
                                       const TrajectoryOptions& options) {
  TrajectoryOptions own = options;
  own.method = ShootingMethod::Lbfgs;
  internal::check(p, own);
  const internal::StageCosts costs(p);
  internal::Motion motion = internal::first_guess(p);
  internal::roll(p, costs, {}, motion);
  if (!motion.finite) internal::refuse_guess(p, costs, motion);
  TrajectoryGradient g = internal::gradient_of(p, own, costs, motion);
  g.cost = motion.cost.cost;
  return g;
}

}  // namespace orthant
