// SPDX-License-Identifier: Apache-2.0
// optimise/motion.cpp: rollouts with feedback, steps from nodes.
#include "optimise/motion.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {

Motion first_guess(const TrajectoryProblem& p) {
  const Model& model = *p.model;
  Motion m;
  m.start = p.start;
  m.parameters = p.parameters;
  m.u = p.controls.size() != 0 ? p.controls : MatX(MatX::Zero(model.control_count(), p.steps));
  // What a rollout that fails never reaches is no number.
  m.q.setConstant(model.q_size(), p.steps + 1, std::numeric_limits<double>::quiet_NaN());
  m.v.setConstant(model.v_size(), p.steps + 1, std::numeric_limits<double>::quiet_NaN());
  m.records.resize(static_cast<std::size_t>(p.steps));
  return m;
}

double clip_control(const TrajectoryProblem& p, Index control, Index step, double u) {
  if (p.u_lower.size() == 0) return u;
  return std::clamp(u, p.u_lower(control, step), p.u_upper(control, step));
}

void move_start(const TrajectoryProblem& p, const Motion& from, const VecX& change, Motion& to) {
  to.start = from.start;
  to.parameters = from.parameters;
  Index at = 0;
  for (const InitialVariable& x : p.initial) {
    double& number = x.velocity ? to.start.v[x.place] : to.start.q[x.place];
    number = std::clamp(number + change[at++], x.lower, x.upper);
  }
  for (const ParameterVariable& x : p.varied) {
    double& number = to.parameters.values[x.place];
    number = std::clamp(number + change[at++], x.lower, x.upper);
  }
}

State node_state(const TrajectoryProblem& p, const Motion& m, Index i) {
  State x = m.start;
  x.q = m.q.col(i);
  x.v = m.v.col(i);
  x.t = m.start.t + i * p.settings.h;
  x.step = m.start.step + i;
  return x;
}

namespace {

void sum_up(const StageCosts& costs, Motion& m) {
  if (!m.finite) return;
  m.cost = costs.evaluate(m.q, m.v, m.u, m.parameters.values, nullptr);
  m.finite = std::isfinite(m.cost.augmented);
}

}  // namespace

void roll(const TrajectoryProblem& p, const StageCosts& costs, const Feedback& feedback, Motion& m,
          const MatX& gaps) {
  const Index n = p.model->v_size();
  VecX back;
  StepWorkspace workspace;
  WarmStart warm;
  State x = m.start;
  m.defect = gaps;
  m.failed_steps = 0;
  m.finite = true;
  m.q.col(0) = x.q;
  m.v.col(0) = x.v;
  for (Index i = 0; i < p.steps && m.finite; ++i) {
    if (feedback) feedback(i, x, m.u);
    m.finite = m.u.col(i).allFinite();
    if (!m.finite) break;
    const StepReport report = step(*p.model, m.parameters, p.settings, m.u.col(i), x, warm,
                                   workspace, &m.records[static_cast<std::size_t>(i)]);
    m.failed_steps += report.outcome != Outcome::Converged;
    m.finite = report.outcome != Outcome::NotFinite && x.q.allFinite() && x.v.allFinite();
    if (gaps.size() != 0) {
      boxplus(*p.model, x.q, -gaps.col(i).head(n), back);
      x.q = back;
      x.v -= gaps.col(i).tail(n);
    }
    m.q.col(i + 1) = x.q;
    m.v.col(i + 1) = x.v;
  }
  sum_up(costs, m);
}

void step_from_nodes(const TrajectoryProblem& p, const StageCosts& costs, Motion& m) {
  const Index n = p.model->v_size();
  m.q.col(0) = m.start.q;
  m.v.col(0) = m.start.v;
  m.defect.resize(2 * n, p.steps);
  std::atomic<std::int64_t> failed{0};
  std::atomic<bool> finite{true};
  parallel_for(static_cast<std::size_t>(p.steps), 4, [&](std::size_t begin, std::size_t end) {
    StepWorkspace workspace;
    VecX difference;
    for (std::size_t k = begin; k < end; ++k) {
      const auto i = static_cast<Index>(k);
      State x = node_state(p, m, i);
      WarmStart warm;
      const StepReport report =
          step(*p.model, m.parameters, p.settings, m.u.col(i), x, warm, workspace, &m.records[k]);
      if (report.outcome != Outcome::Converged) ++failed;
      if (report.outcome == Outcome::NotFinite || !x.q.allFinite() || !x.v.allFinite()) {
        finite = false;
        continue;
      }
      boxminus(*p.model, x.q, m.q.col(i + 1), difference);
      m.defect.col(i).head(n) = difference;
      m.defect.col(i).tail(n) = x.v - m.v.col(i + 1);
    }
  });
  m.failed_steps = failed;
  m.finite = finite && m.q.allFinite() && m.v.allFinite();
  sum_up(costs, m);
}

}  // namespace orthant::internal
