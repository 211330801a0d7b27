// SPDX-License-Identifier: Apache-2.0
// solver/velocity_descent.cpp: sweeps and Newton steps in turn. See the header.
#include "solver/velocity_descent.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "solver/best_answer.hpp"

namespace orthant::internal {
namespace {

class Descent {
 public:
  Descent(const CanonicalProblem& p, const ProblemScale& scale,
          const VelocityDescentSettings& settings, const MethodLimits& limits,
          const VelocitySpace& space, VelocityEquations& equations, VelocityDescentWorkspace& w,
          Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        space_(space),
        e_(equations),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x) {}

  MethodResult run();

 private:
  void sweep(VecX& x, VecX& v, int count) {
    for (int i = 0; i < count; ++i) space_.sweep(x, v);
    best_.work += count * space_.sweep_work();
  }
  double size_of(const VecX& x, const VecX& v);
  bool newton_direction(double alpha);
  double line_search(double allowed, double& size);

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const VelocityDescentSettings& settings_;
  const VelocitySpace& space_;
  VelocityEquations& e_;
  VelocityDescentWorkspace& w_;
  BestAnswer best_;
};

/// |R| of the natural map; the equations and the candidate are at the point then.
double Descent::size_of(const VecX& x, const VecX& v) {
  space_.unscale(x, v, w_.candidate);
  e_.load(w_.candidate);
  best_.work += e_.product_work();
  return e_.natural_error();
}

/// dx of the set that the equations are in; false when there is none.
bool Descent::newton_direction(double alpha) {
  w_.sets.resize(e_.block_count());
  for (std::size_t c = 0; c < w_.sets.size(); ++c) w_.sets[c] = e_.set_of(c);
  e_.set_proximal(alpha);
  (void)e_.errors(w_.sets, true);
  ++best_.iterations;
  best_.work += e_.factor_work() + 2 * e_.product_work();
  if (!e_.factorize() || !e_.step()) return false;
  e_.store(w_.candidate);
  space_.scale_impulses(w_.candidate, w_.dx);
  w_.dx -= w_.x;
  return true;
}

/// Tries t = 1, 0.4, … and at last 0, each with a few sweeps; takes the first whose |R| is at most
/// `allowed`, else the one with the least. Leaves it in x, v; returns t.
double Descent::line_search(double allowed, double& size) {
  double best = 0;
  size = HUGE_VAL;
  for (double t = 1;; t = t > settings_.shortest ? settings_.shorter * t : 0) {
    w_.trial_x = w_.x + t * w_.dx;
    space_.free_motion(w_.trial_x, w_.trial_v);
    sweep(w_.trial_x, w_.trial_v, settings_.after_sweeps);
    const double now = size_of(w_.trial_x, w_.trial_v);
    if (now < size || now < allowed) {
      size = now;
      best = t;
      w_.next_x.swap(w_.trial_x);
      w_.next_v.swap(w_.trial_v);
    }
    if (now < allowed || t == 0) break;
  }
  w_.x.swap(w_.next_x);
  w_.v.swap(w_.next_v);
  return best;
}

MethodResult Descent::run() {
  w_.candidate.gamma = best_.answer().gamma;
  space_.scale_impulses(best_.answer(), w_.x);
  (void)best_.consider(best_.answer());
  w_.next_x = w_.x;
  space_.free_motion(w_.x, w_.v);
  w_.next_v = w_.v;
  if (!best_.done()) sweep(w_.x, w_.v, settings_.first_sweeps);
  std::array<double, 3> memory{};
  const double rows = std::sqrt(static_cast<double>(std::max<Index>(p_.row_count(), 1)));
  double weight = 1, least = HUGE_VAL;
  for (int idle = 0, near_ends = 0; !best_.done();) {
    space_.free_motion(w_.x, w_.v);
    const double before = size_of(w_.x, w_.v);
    (void)best_.consider(w_.candidate);
    if (best_.done() || !std::isfinite(before)) break;
    memory[static_cast<std::size_t>(best_.iterations) % memory.size()] = before;
    const double allowed = settings_.rise * *std::max_element(memory.begin(), memory.end());
    const double alpha =
        std::clamp(weight * before / rows, settings_.least_proximal, settings_.most_proximal);
    if (!newton_direction(alpha)) {
      weight *= 10;
      continue;
    }
    double after = 0;
    const double t = line_search(allowed, after);
    idle = after < 0.8 * least ? 0 : idle + 1;
    if (idle == 0) least = after;
    if (t >= 0.5) weight = std::max(0.3 * weight, 1e-6);
    if (t < 0.01) weight = std::min(3 * weight, 1e3);
    if (idle >= settings_.patience) {
      if (best_.residual() < settings_.give_up_below && ++near_ends >= settings_.near_ends) break;
      weight = std::min(30 * weight, 1e3);
      least *= 1.5;
      idle = 0;
      sweep(w_.x, w_.v, settings_.many_sweeps);
    }
    if (after > 0.1 * before) sweep(w_.x, w_.v, settings_.sweeps);
  }
  return best_.result();
}

}  // namespace

MethodResult descend_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                                const VelocityDescentSettings& settings, const MethodLimits& limits,
                                const VelocitySpace& space, VelocityEquations& equations,
                                VelocityDescentWorkspace& work, Solution& x) {
  return Descent(p, scale, settings, limits, space, equations, work, x).run();
}

}  // namespace orthant::internal
