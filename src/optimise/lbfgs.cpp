// SPDX-License-Identifier: Apache-2.0
// optimise/lbfgs.cpp: single shooting from gradients alone: projected L-BFGS.
// Numbers at a bound that the gradient pushes outwards are held; the two-loop recursion works on
// the others, and a step is cut to the bounds. Unknowns are scaled by the width of their bounds.
#include <algorithm>
#include <cmath>
#include <deque>

#include "optimise/methods.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/gradient/rollout.hpp"

namespace orthant::internal {

namespace {

constexpr double kArmijo = 1e-4;
constexpr int kLengths = 20;

/// The unknowns as one vector: initial variables, parameters, controls step by step.
struct Unknowns {
  VecX x, lower, upper, scale;
};

Unknowns unknowns_of(const TrajectoryProblem& p, const Motion& m) {
  const auto nu = static_cast<Index>(p.vary_controls ? m.u.size() : 0);
  const auto n = static_cast<Index>(p.initial.size() + p.varied.size()) + nu;
  Unknowns out{VecX(n), VecX(n), VecX(n), VecX(n)};
  Index at = 0;
  const auto put = [&](double x, double lower, double upper) {
    out.x[at] = x;
    out.lower[at] = lower;
    out.upper[at] = upper;
    const double width = upper - lower;
    out.scale[at++] = std::isfinite(width) && width > 0 ? width : std::max(1.0, std::abs(x));
  };
  for (const InitialVariable& v : p.initial)
    put(v.velocity ? m.start.v[v.place] : m.start.q[v.place], v.lower, v.upper);
  for (const ParameterVariable& v : p.varied) put(m.parameters.values[v.place], v.lower, v.upper);
  for (Index i = 0; i < nu; ++i)
    put(m.u.data()[i], p.u_lower.size() != 0 ? p.u_lower.data()[i] : -kNoBound,
        p.u_upper.size() != 0 ? p.u_upper.data()[i] : kNoBound);
  return out;
}

void set_unknowns(const TrajectoryProblem& p, const VecX& x, Motion& m) {
  Index at = 0;
  for (const InitialVariable& v : p.initial)
    (v.velocity ? m.start.v[v.place] : m.start.q[v.place]) = x[at++];
  for (const ParameterVariable& v : p.varied) m.parameters.values[v.place] = x[at++];
  if (p.vary_controls) std::copy(x.data() + at, x.data() + x.size(), m.u.data());
}

VecX gradient_vector(const TrajectoryProblem& p, const TrajectoryGradient& g) {
  const auto nu = static_cast<Index>(p.vary_controls ? g.controls.size() : 0);
  VecX out(g.initial.size() + g.parameters.size() + nu);
  out << g.initial, g.parameters, Eigen::Map<const VecX>(g.controls.data(), nu);
  return out;
}

struct Pair {
  VecX s, y;
  double rho;
};

/// −(inverse Hessian) g by the two-loop recursion, on the free numbers.
VecX direction_of(const std::deque<Pair>& pairs, const VecX& g, const std::vector<bool>& free,
                  const VecX& scale) {
  VecX d = -g;
  const auto mask = [&](VecX& x) {
    for (Index i = 0; i < x.size(); ++i)
      if (!free[static_cast<std::size_t>(i)]) x[i] = 0;
  };
  mask(d);
  std::vector<double> alpha(pairs.size());
  for (std::size_t k = pairs.size(); k-- > 0;) {
    alpha[k] = pairs[k].rho * pairs[k].s.dot(d);
    d -= alpha[k] * pairs[k].y;
  }
  if (pairs.empty()) {  // a first step of a tenth of the scale at most
    const double pull = g.cwiseProduct(scale).cwiseAbs().maxCoeff();
    d = d.cwiseProduct(scale.cwiseAbs2()) * (0.1 / std::max(pull, 1e-300));
  } else {
    d *= pairs.back().s.dot(pairs.back().y) / pairs.back().y.squaredNorm();
  }
  for (std::size_t k = 0; k < pairs.size(); ++k)
    d += (alpha[k] - pairs[k].rho * pairs[k].y.dot(d)) * pairs[k].s;
  mask(d);
  return d;
}

}  // namespace

TrajectoryGradient gradient_of(const TrajectoryProblem& p, const TrajectoryOptions& options,
                               const StageCosts& costs, const Motion& m) {
  const Model& model = *p.model;
  const Index n = model.v_size(), nu = model.control_count();
  std::vector<StageExpansion> stages;
  const CostSum sum = costs.evaluate(m.q, m.v, m.u, m.parameters.values, &stages);
  RolloutTape tape;
  tape.model = p.model;
  tape.parameters = m.parameters;
  tape.settings = p.settings;
  tape.controls = m.u;
  tape.steps = p.steps;
  tape.records = m.records;
  tape.q = m.q;
  tape.v = m.v;
  RolloutCotangent loss;
  loss.q.resize(n, p.steps + 1);
  loss.v.resize(n, p.steps + 1);
  for (Index i = 0; i <= p.steps; ++i) {
    loss.q.col(i) = stages[static_cast<std::size_t>(i)].gradient.head(n);
    loss.v.col(i) = stages[static_cast<std::size_t>(i)].gradient.segment(n, n);
  }
  StepGradientSettings settings = options.gradient;
  settings.by_parameters = !p.varied.empty();
  settings.allow_unconverged = true;
  const RolloutGradient g = options.loss_aware
                                ? loss_aware_gradient(tape, loss, settings, options.probe)
                                : rollout_gradient(tape, loss, settings);
  TrajectoryGradient out;
  out.cost = sum.augmented;
  out.certificate = g.certificate;
  out.initial.resize(static_cast<Index>(p.initial.size()));
  out.parameters.resize(static_cast<Index>(p.varied.size()));
  const std::vector<QNumber> numbers = q_numbers(model);
  for (std::size_t i = 0; i < p.initial.size(); ++i) {
    const InitialVariable& x = p.initial[i];
    out.initial[static_cast<Index>(i)] =
        x.velocity ? g.v[x.place] : g.q[numbers[static_cast<std::size_t>(x.place)].v];
  }
  VecX slope, curvature;
  costs.parameter_terms(m.parameters.values, slope, curvature);
  for (std::size_t i = 0; i < p.varied.size(); ++i)
    out.parameters[static_cast<Index>(i)] =
        slope[static_cast<Index>(i)] + g.parameters[p.varied[i].place];
  out.controls = MatX::Zero(nu, p.steps);
  if (g.u.size() != 0) out.controls = g.u;
  for (Index i = 0; i < p.steps; ++i)
    out.controls.col(i) += stages[static_cast<std::size_t>(i)].gradient.tail(nu);
  return out;
}

TrajectoryStop lbfgs_round(Round& round, Motion& motion) {
  const TrajectoryProblem& p = round.problem;
  const TrajectoryOptions& options = round.options;
  Unknowns now = unknowns_of(p, motion);
  VecX g = gradient_vector(p, gradient_of(p, options, round.costs, motion));
  std::deque<Pair> pairs;
  const double first = std::abs(motion.cost.augmented);
  const auto batch = static_cast<std::size_t>(std::clamp(thread_count(), 1, 4));
  TrajectoryStop stop = TrajectoryStop::IterationLimit;
  while (!round.spent(stop)) {
    const auto n = static_cast<Index>(g.size());
    std::vector<bool> free(static_cast<std::size_t>(n));
    double promise = 0;
    for (Index i = 0; i < n; ++i) {
      free[static_cast<std::size_t>(i)] =
          !((now.x[i] <= now.lower[i] && g[i] > 0) || (now.x[i] >= now.upper[i] && g[i] < 0) ||
            now.lower[i] == now.upper[i]);
      if (free[static_cast<std::size_t>(i)])
        promise = std::max(promise, std::abs(g[i]) * now.scale[i]);
    }
    if (promise <= options.tolerance * (std::abs(motion.cost.augmented) + 1e-6 * first))
      return TrajectoryStop::Converged;
    VecX d = direction_of(pairs, g, free, now.scale);
    if (!(g.dot(d) < 0)) {
      pairs.clear();
      d = direction_of(pairs, g, free, now.scale);
    }
    Motion next;
    VecX x_next;
    bool moved = false;
    double length = 1;
    for (int tries = 0; tries < kLengths && !moved; tries += static_cast<int>(batch)) {
      std::vector<Motion> tried(
          std::min<std::size_t>(batch, static_cast<std::size_t>(kLengths - tries)));
      std::vector<VecX> places(tried.size());
      parallel_for(tried.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          const double l = std::ldexp(1.0, -(tries + static_cast<int>(k)));
          places[k] = (now.x + l * d).cwiseMax(now.lower).cwiseMin(now.upper);
          tried[k] = motion;
          set_unknowns(p, places[k], tried[k]);
          roll(p, round.costs, {}, tried[k]);
        }
      });
      for (std::size_t k = 0; k < tried.size() && !moved; ++k) {
        ++round.result.evaluations;
        length = std::ldexp(1.0, -(tries + static_cast<int>(k)));
        const double bound = motion.cost.augmented + kArmijo * g.dot(places[k] - now.x);
        moved = tried[k].finite && tried[k].cost.augmented < motion.cost.augmented &&
                tried[k].cost.augmented <= bound;
        if (!moved) continue;
        next = std::move(tried[k]);
        x_next = places[k];
      }
    }
    if (!moved) {
      if (pairs.empty()) return TrajectoryStop::NoDescent;
      pairs.clear();  // curvature from the other side of a kink misleads: once more without
      continue;
    }
    const VecX g_next = gradient_vector(p, gradient_of(p, options, round.costs, next));
    const VecX s = x_next - now.x, y = g_next - g;
    const double sy = s.dot(y);
    if (sy > 1e-10 * s.norm() * y.norm()) {
      pairs.push_back({s, y, 1 / sy});
      if (pairs.size() > static_cast<std::size_t>(std::max(options.memory, 1))) pairs.pop_front();
    }
    const double drop = motion.cost.augmented - next.cost.augmented;
    motion = std::move(next);
    now.x = x_next;
    g = g_next;
    if (!round.keep(motion, length, 0)) return TrajectoryStop::Interrupted;
    if (drop <= options.tolerance * (std::abs(motion.cost.augmented) + 1e-6 * first))
      return TrajectoryStop::Converged;
  }
  return stop;
}

}  // namespace orthant::internal
