// SPDX-License-Identifier: Apache-2.0
// optimise/riccati_methods.cpp: Gauss–Newton, iLQR and multiple shooting.
// One sweep gives k, K and the change of the start. What differs is the way forward:
//   GaussNewton       δu along the linear steps, then a rollout
//   Ilqr              a rollout with δu = α k + K (x ⊟ x_old)
//   MultipleShooting  as iLQR; a step of length α leaves the share 1 − α of every defect, so that
//                     bodies stay on their joints (C. Mastalli and others, Crocoddyl, 2020)
#include <algorithm>
#include <cmath>

#include "optimise/methods.hpp"
#include "optimise/riccati.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {

namespace {

constexpr double kArmijo = 1e-4;
constexpr int kLengths = 12;  // 1, ½, … 2⁻¹¹

/// The step along the linearised motion: δu of every step.
struct LinearStep {
  MatX du;           // control_count x steps
  double slope = 0;  // of the augmented cost along it
};

LinearStep linear_step(const Round& round, const Motion& m, const RiccatiSweep& sweep,
                       const LinearMotion& linear, const std::vector<StageExpansion>& stages) {
  const TrajectoryProblem& p = round.problem;
  const Index nu = p.model->control_count();
  const auto np = static_cast<Index>(p.varied.size());
  LinearStep out;
  out.du = MatX::Zero(nu, p.steps);
  VecX z = sweep.start;
  VecX slope, curvature;
  round.costs.parameter_terms(m.parameters.values, slope, curvature);
  if (np > 0) out.slope += slope.dot(sweep.start.tail(np));
  for (Index i = 0; i < p.steps; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Index nx = static_cast<Index>(z.size()) - np;
    if (p.vary_controls && nu > 0) {
      VecX du = sweep.k[k] + sweep.K[k] * z;
      if (p.u_lower.size() != 0)
        du = du.cwiseMax(p.u_lower.col(i) - m.u.col(i)).cwiseMin(p.u_upper.col(i) - m.u.col(i));
      out.du.col(i) = du;
    }
    out.slope += stages[k].gradient.head(nx).dot(z.head(nx)) +
                 stages[k].gradient.tail(nu).dot(out.du.col(i));
    const StepLinear& step = linear.steps[k];
    VecX next(step.A.rows() + np);
    next << step.A * z.head(nx) + step.B * out.du.col(i) + step.P * z.tail(np), z.tail(np);
    if (!linear.defect.empty()) next.head(step.A.rows()) += linear.defect[k];
    z = std::move(next);
  }
  const Index end = static_cast<Index>(z.size()) - np;
  out.slope += stages[static_cast<std::size_t>(p.steps)].gradient.head(end).dot(z.head(end));
  return out;
}

/// A cost that is to fall must fall by a share of what was promised; one that has to rise because
/// defects close may rise by twice that.
bool accepted(const Motion& now, const Motion& then, double length, double slope) {
  if (!then.finite) return false;
  const double change = then.cost.augmented - now.cost.augmented;
  if (slope < 0) return change < 0 && change <= kArmijo * length * slope;
  return now.largest_defect() > 0 && change <= 2 * length * slope;
}

/// A trial of length α from `from`.
Motion trial(const Round& round, const Motion& from, const RiccatiSweep& sweep,
             const LinearMotion& linear, const LinearStep& along, double length) {
  const TrajectoryProblem& p = round.problem;
  const Index n = p.model->v_size(), nu = p.model->control_count();
  Motion m;
  m.u = from.u;
  m.q.resize(from.q.rows(), from.q.cols());
  m.v.resize(from.v.rows(), from.v.cols());
  m.records.resize(from.records.size());
  move_start(p, from, length * sweep.start, m);
  const ShootingMethod method = round.options.method;
  if (method != ShootingMethod::GaussNewton) {
    const VecX dp = length * sweep.start.tail(static_cast<Index>(p.varied.size()));
    VecX dx(2 * n), dq;
    roll(
        p, round.costs,
        [&](Index i, const State& x, MatX& u) {
          const auto k = static_cast<std::size_t>(i);
          boxminus(*p.model, x.q, from.q.col(i), dq);
          dx << dq, x.v - from.v.col(i);
          const VecX du =
              length * sweep.k[k] +
              sweep.K[k].leftCols(linear.basis[k].cols()) * (linear.basis[k].transpose() * dx) +
              sweep.K[k].rightCols(dp.size()) * dp;
          for (Index c = 0; c < nu; ++c) u(c, i) = clip_control(p, c, i, from.u(c, i) + du[c]);
        },
        m, from.defect.size() == 0 ? MatX() : MatX((1 - length) * from.defect));
    return m;
  }
  for (Index i = 0; i < p.steps; ++i)
    for (Index c = 0; c < nu; ++c)
      m.u(c, i) = clip_control(p, c, i, from.u(c, i) + length * along.du(c, i));
  roll(p, round.costs, {}, m);
  return m;
}

/// The longest length that is accepted. Several are tried at once where there are
/// threads; the choice is that of trying them one after the other.
bool search(Round& round, const Motion& from, const RiccatiSweep& sweep, const LinearMotion& linear,
            const LinearStep& along, double slope, Motion& next, double& length) {
  const auto batch = static_cast<std::size_t>(std::clamp(thread_count(), 1, 4));
  for (int first = 0; first < kLengths; first += static_cast<int>(batch)) {
    std::vector<Motion> tried(
        std::min<std::size_t>(batch, static_cast<std::size_t>(kLengths - first)));
    parallel_for(tried.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k)
        tried[k] = trial(round, from, sweep, linear, along,
                         std::ldexp(1.0, -(first + static_cast<int>(k))));
    });
    for (std::size_t k = 0; k < tried.size(); ++k) {
      ++round.result.evaluations;
      length = std::ldexp(1.0, -(first + static_cast<int>(k)));
      if (!accepted(from, tried[k], length, slope)) continue;
      next = std::move(tried[k]);
      return true;
    }
  }
  return false;
}

}  // namespace

TrajectoryStop riccati_round(Round& round, Motion& motion) {
  const TrajectoryProblem& p = round.problem;
  const TrajectoryOptions& options = round.options;
  const bool nodes = options.method == ShootingMethod::MultipleShooting;
  LinearMotion linear;
  std::vector<StageExpansion> stages;
  double damping = 1e-6;
  const double first = std::abs(motion.cost.augmented);
  TrajectoryStop stop = TrajectoryStop::IterationLimit;
  while (!round.spent(stop)) {
    linearise(p, motion, options.gradient, linear);
    round.costs.evaluate(motion.q, motion.v, motion.u, motion.parameters.values, &stages);
    const std::vector<StageExpansion> reduced = in_coordinates(linear, stages);
    bool moved = false, converged = false;
    double length = 0;
    for (; damping < 1e10 && !moved && !converged; damping = std::max(1e-5, damping * 10)) {
      const RiccatiSweep sweep = riccati(p, round.costs, motion, linear, reduced, damping);
      if (!sweep.ok) continue;
      const LinearStep along = linear_step(round, motion, sweep, linear, reduced);
      const double slope = nodes ? along.slope : -sweep.promised;
      converged =
          std::abs(slope) <= options.tolerance * (std::abs(motion.cost.augmented) + 1e-6 * first) &&
          motion.largest_defect() <= options.feasibility;
      if (converged) break;
      Motion next;
      moved = search(round, motion, sweep, linear, along, slope, next, length);
      if (moved) motion = std::move(next);
      if (moved) break;
      if (TrajectoryStop reason; round.spent(reason)) return reason;
    }
    if (converged) return TrajectoryStop::Converged;
    if (!moved) return TrajectoryStop::NoDescent;
    if (!round.keep(motion, length, damping)) return TrajectoryStop::Interrupted;
    if (length >= 0.5) damping = std::max(1e-9, damping * 0.1);
  }
  return stop;
}

}  // namespace orthant::internal
