// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/interior_point.cpp: canonical problem => answer by Mehrotra's
// predictor–corrector with Nesterov–Todd scaling. Method: docs/interior_point.md.
//
// Exact friction is not monotone: the Newton matrix may be singular on the way and the step then
// shrinks to nothing. Two safeguards, tried in this order when the step is short: a plain centring
// step that shrinks residual and barrier together; the same with De Saxcé's shift held fixed, whose
// matrix is that of a convex problem.
#include "orthant/solver/interior_point.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/solver/polish.hpp"
#include "solver/interior_point/cone_set.hpp"
#include "solver/interior_point/kkt_system.hpp"

namespace orthant {

using interior_point::ConeSet;
using interior_point::KktSystem;

struct InteriorPointWorkspace::Impl {
  ConeSet cones;
  KktSystem system;
  VecX u, du, r, rhs, snapped;
  Solution trial, polished;
  std::vector<char> pushing, pushed;  // the sets at this point and the one before
  JudgeWorkspace judge;
  PolishWorkspace polish;
};

InteriorPointWorkspace::InteriorPointWorkspace() : impl_(std::make_unique<Impl>()) {}
InteriorPointWorkspace::~InteriorPointWorkspace() = default;
InteriorPointWorkspace::InteriorPointWorkspace(InteriorPointWorkspace&&) noexcept = default;
InteriorPointWorkspace& InteriorPointWorkspace::operator=(InteriorPointWorkspace&&) noexcept =
    default;

namespace {

/// From this κ on (scaled, data of size 1) the point with the idle cones at their bounds is judged
/// too.
constexpr double kSnapGap = 1e-4;
/// Below this κ products of neighbours are rounding noise.
constexpr double kSmallestGap = 1e-30;
/// κ of a warm start.
constexpr double kPartialGap = 1e-3;
/// κ + |r| at which the sets are guessed, again each time it is a hundredth, with so many
/// factorisations.
constexpr double kCrossover = 1e-3;
constexpr int kWarmCrossoverSteps = 12;
constexpr double kNextCrossover = 1e-2;
constexpr Index kCrossoverSize = 5000;  // unknowns: its factor pivots
constexpr int kCrossoverSteps = 10;
/// Speed (scaled, data of size 1) at which a contact is taken as open.
constexpr double kApart = 1e-2;
/// A warm path is given up after so many steps, or a first step below this length.
constexpr int kWarmSteps = 14;
constexpr double kWarmStep = 0.1;
/// A run that has not lowered κ + |r| by this factor within so many steps is stuck.
constexpr double kProgress = 0.7;
constexpr int kPatience = 12;

class Iteration {
 public:
  Iteration(const CanonicalProblem& problem, const ProblemScale& scale,
            const InteriorPointSettings& settings, const MethodLimits& limits,
            InteriorPointWorkspace::Impl& work, Solution& best)
      : problem_(problem),
        scale_(scale),
        settings_(settings),
        limits_(limits),
        w_(work),
        best_(best),
        at_(work.system.velocities() + work.system.bilateral()) {}

  MethodResult run() {
    if (settings_.warm_start && start_from_answer()) {
      if (result_.residual <= limits_.tolerance) {
        result_.outcome = Outcome::Converged;
        return result_;
      }
      if (full_start_ && cross_over(kWarmCrossoverSteps)) return result_;
      warm_ = true;
      result_.outcome = follow_path();
      warm_ = false;
      if (result_.outcome == Outcome::Converged || result_.outcome == Outcome::WorkLimit)
        return result_;
    }
    const double starts[] = {1.0, 0.1, 10.0};
    for (int attempt = 0; attempt <= std::clamp(settings_.restarts, 0, 2); ++attempt) {
      start(starts[attempt]);
      result_.outcome = follow_path();
      // Only an exact law has other paths to offer, and only when this one ended early.
      const bool ended_early = w_.system.is_exact() && !(lowest_gap_ < 1e-10);
      if (result_.outcome != Outcome::Stalled || !ended_early) break;
    }
    return result_;
  }

 private:
  void start(double impulse);
  bool start_from_answer();
  bool cross_over(int steps);
  Outcome follow_path();
  void measure();
  void consider(const VecX& u, double merit);
  double direction(double target, double second_order, double rest);
  double choose_step();

  const CanonicalProblem& problem_;
  const ProblemScale& scale_;
  const InteriorPointSettings& settings_;
  const MethodLimits& limits_;
  InteriorPointWorkspace::Impl& w_;
  Solution& best_;
  const Index at_;  // first row of λ in u
  MethodResult result_;
  double gap_ = 0, error_ = 0;  // κ and |r|
  double lowest_gap_ = std::numeric_limits<double>::infinity();
  double best_merit_ = std::numeric_limits<double>::infinity();
  bool warm_ = false;  // on the path that began near the answer given
  bool full_start_ = false;
  double next_crossover_ = 0;  // κ at which the sets are guessed next
};

/// Starts near the answer that came in; false where it is no help. With velocities alone a contact
/// that they keep apart starts idle, any other one with the impulse of a cold start.
bool Iteration::start_from_answer() {
  const bool full = !best_.lambda.isZero(0.0) || !best_.gamma.isZero(0.0);
  full_start_ = full;
  result_.residual = judge_quick(problem_, scale_, best_, w_.judge).value;
  limits_.record(Method::InteriorPoint, 0, result_.residual);
  if (result_.residual <= limits_.tolerance) return true;
  w_.system.scale(best_, w_.u);
  w_.system.residual(w_.u, w_.r);
  double* lambda = w_.u.data() + at_;
  const double* velocity = w_.r.data() + at_;
  // Impulses that are nearly right put the path in a corner; where they do not lead home at once
  // the velocities tell more.
  w_.system.start(1, lambda);
  for (std::size_t i = 0; i < w_.cones.size(); ++i) {
    const interior_point::Cone& k = w_.cones[i];
    if (k.a == 0 && velocity[k.row] > kApart) lambda[k.row] = 0;
  }
  if (!w_.cones.start_near(kPartialGap, velocity, lambda)) return false;
  best_merit_ = lowest_gap_ = std::numeric_limits<double>::infinity();
  return true;
}

/// Guesses the sets of the best answer and solves their equations. True where that is the end.
bool Iteration::cross_over(int steps) {
  if (!settings_.crossover || w_.system.size() > kCrossoverSize) return false;
  w_.polished.v = best_.v;
  w_.polished.gamma = best_.gamma;
  w_.polished.lambda = best_.lambda;
  MethodLimits limits = limits_;
  limits.max_iterations = steps;
  limits.trace = nullptr;
  const MethodResult polished = polish(problem_, scale_, {}, limits, w_.polish, w_.polished);
  result_.iterations += polished.iterations;
  result_.work += polished.work;
  if (polished.residual < result_.residual) {
    result_.residual = polished.residual;
    best_.v = w_.polished.v;
    best_.gamma = w_.polished.gamma;
    best_.lambda = w_.polished.lambda;
    best_.w = w_.polished.w;
    limits_.record(Method::InteriorPoint, result_.iterations, result_.residual);
  }
  if (result_.residual > limits_.tolerance) return false;
  result_.outcome = Outcome::Converged;
  return true;
}

/// u = 0 but for the entries behind the cones' axes, y on the axes too: a centred point.
void Iteration::start(double impulse) {
  w_.u.setZero(w_.system.size());
  double* lambda = w_.u.data() + at_;
  w_.system.start(impulse, lambda);
  w_.cones.start(lambda, 1);
  best_merit_ = lowest_gap_ = std::numeric_limits<double>::infinity();
}

/// Residual of the point, κ, and the judge's word on it.
void Iteration::measure() {
  KktSystem& system = w_.system;
  system.residual(w_.u, w_.r);
  w_.cones.subtract_velocity(w_.r.data() + at_);
  gap_ = w_.cones.gap();
  lowest_gap_ = std::min(lowest_gap_, gap_);
  error_ = w_.r.size() > 0 ? w_.r.cwiseAbs().maxCoeff() : 0.0;
  const double merit = gap_ + error_;
  consider(w_.u, merit);
  // A contact that neither pushes nor moves has nothing to be measured against: any impulse left in
  // it reads as an error of its own size until it is gone.
  if (gap_ < kSnapGap && result_.residual > limits_.tolerance) {
    w_.snapped = w_.u;
    w_.cones.snap(w_.snapped.data() + at_);
    consider(w_.snapped, merit);
  }
  limits_.record(Method::InteriorPoint, result_.iterations, result_.residual);
}

/// Keeps the point when it is the best so far. Light contacts among heavy ones read wrong until κ
/// is far below their own products, so a point nearer to the end of the path wins unless the judge
/// finds it twice as bad.
void Iteration::consider(const VecX& u, double merit) {
  w_.system.unscale(u, w_.trial);
  const double residual = judge_quick(problem_, scale_, w_.trial, w_.judge).value;
  if (residual < result_.residual || (merit < best_merit_ && residual < 2 * result_.residual)) {
    result_.residual = residual;
    best_merit_ = merit;
    best_.v = w_.trial.v;
    best_.gamma = w_.trial.gamma;
    best_.lambda = w_.trial.lambda;
    best_.w = w_.judge.w;
  }
}

/// Newton direction to x∘y = target e with the residual brought to (1 − rest) of what it is;
/// returns the longest step along it.
double Iteration::direction(double target, double second_order, double rest) {
  w_.rhs = -rest * w_.r;
  w_.cones.aim(target, second_order, w_.rhs.data() + at_);
  w_.system.solve(w_.rhs, settings_.refinement_steps, w_.du);
  w_.cones.compute_step(w_.du.data() + at_);
  result_.work += w_.system.solve_work();
  return w_.cones.longest_step();
}

/// Leaves the direction in du and the cones, returns the step length; negative when the matrix
/// cannot be factorised.
double Iteration::choose_step() {
  const double eta = settings_.to_boundary;
  const auto length = [&](double longest) { return std::min(1.0, eta * longest); };
  if (!w_.system.factorize(w_.cones)) return -1;
  result_.work += w_.system.factor_work();
  const double affine = std::min(1.0, direction(0, 0, 1));
  if (w_.cones.size() == 0) return affine;  // linear: the first direction is the answer
  const double ratio = std::max(0.0, w_.cones.gap_after(affine)) / gap_;
  const double sigma = std::min(1.0, ratio * ratio * ratio);
  double alpha = length(direction(sigma * gap_, 1, 1));
  if (alpha >= settings_.short_step) return alpha;

  const double keep = settings_.centring;
  alpha = length(direction(keep * gap_, 0, 1 - keep));
  if (alpha >= settings_.stuck_step || !w_.system.is_exact()) return alpha;

  w_.cones.set_shift_weight(settings_.held_shift);
  const bool done = w_.system.factorize(w_.cones);
  result_.work += w_.system.factor_work();
  alpha = done ? length(direction(settings_.held_centring * gap_, 0, 1)) : -1;
  w_.cones.set_shift_weight(1);
  return alpha;
}

Outcome Iteration::follow_path() {
  const int budget = limits_.iterations_or(settings_.max_iterations);
  next_crossover_ = kCrossover;
  w_.pushing.clear();
  double mark = std::numeric_limits<double>::infinity();
  for (int since = 0;; ++since) {
    measure();
    if (result_.residual <= limits_.tolerance) return Outcome::Converged;
    w_.pushed.swap(w_.pushing);
    w_.cones.pushing(w_.pushing);
    if (gap_ + error_ < next_crossover_ && w_.pushing == w_.pushed) {
      next_crossover_ = kNextCrossover * (gap_ + error_);
      if (cross_over(kCrossoverSteps)) return Outcome::Converged;
    }
    if (!std::isfinite(gap_ + error_)) return Outcome::Stalled;
    if (result_.iterations >= budget) return Outcome::IterationLimit;
    if (limits_.exhausted(result_.work)) return Outcome::WorkLimit;
    if (gap_ < kSmallestGap && w_.cones.size() > 0) return Outcome::Stalled;
    if (gap_ + error_ < kProgress * mark) mark = gap_ + error_, since = 0;
    if (since > kPatience) return Outcome::Stalled;
    if (!w_.cones.compute_scaling()) return Outcome::Stalled;
    const double alpha = choose_step();
    ++result_.iterations;
    if (!(alpha > 0) || !w_.du.allFinite()) return Outcome::Stalled;
    if (warm_ && (alpha < kWarmStep || result_.iterations >= kWarmSteps)) return Outcome::Stalled;
    w_.u += alpha * w_.du;
    w_.cones.advance(alpha);
  }
}

/// Do the bilateral rows contradict each other? Solves them alone, which is linear.
bool bilateral_rows_contradict(const CanonicalProblem& problem) {
  CanonicalProblem alone;
  alone.H = problem.H;
  alone.k = problem.k;
  alone.C = problem.C;
  alone.e = problem.e;
  InteriorPointWorkspace work;
  work.impl().system.build(alone, work.impl().cones);
  Solution x = zero_solution(alone);
  const MethodLimits limits{.tolerance = 1e-9};
  return Iteration(alone, scale_of(alone), {.restarts = 0}, limits, work.impl(), x).run().residual >
         1e-6;
}

}  // namespace

MethodResult solve_interior_point(const CanonicalProblem& problem, const ProblemScale& scale,
                                  const InteriorPointSettings& settings, const MethodLimits& limits,
                                  InteriorPointWorkspace& work, Solution& x) {
  InteriorPointWorkspace::Impl& w = work.impl();
  w.system.build(problem, w.cones);
  MethodResult result = Iteration(problem, scale, settings, limits, w, x).run();
  if (result.outcome == Outcome::Stalled && problem.bilateral_count() > 0 &&
      bilateral_rows_contradict(problem)) {
    result.outcome = Outcome::Infeasible;
  }
  return result;
}

}  // namespace orthant
