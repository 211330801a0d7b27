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

#include "solver/best_answer.hpp"
#include "solver/interior_point/cone_set.hpp"
#include "solver/interior_point/kkt_system.hpp"
#include "solver/polish_run.hpp"

namespace orthant {

using interior_point::ConeSet;
using interior_point::KktSystem;
using interior_point::SecondOrder;

struct InteriorPointWorkspace::Impl {
  ConeSet cones;
  KktSystem system;
  VecX u, du, last_u, last_du, r, rhs, snapped;
  Solution trial, polished;
  JudgeWorkspace judge;
  bool velocity_form = false, equations_ready = false;
  VelocitySolver inverse;  // velocity form: of H
  VecX impulse;
  internal::VelocityEquations equations;  // built when the first guess asks for them
  PolishWorkspace polish;
};

InteriorPointWorkspace::InteriorPointWorkspace() : impl_(std::make_unique<Impl>()) {}
InteriorPointWorkspace::~InteriorPointWorkspace() = default;
InteriorPointWorkspace::InteriorPointWorkspace(InteriorPointWorkspace&&) noexcept = default;
InteriorPointWorkspace& InteriorPointWorkspace::operator=(InteriorPointWorkspace&&) noexcept =
    default;

namespace {

constexpr double kRounding = 1e-15;
constexpr double kFar = std::numeric_limits<double>::infinity();

class Iteration {
 public:
  Iteration(const CanonicalProblem& problem, const ProblemScale& scale,
            const InteriorPointSettings& settings, const MethodLimits& limits,
            InteriorPointWorkspace::Impl& work, Solution& x)
      : problem_(problem),
        scale_(scale),
        settings_(settings),
        w_(work),
        best_(Method::InteriorPoint, problem, scale, limits, settings.max_iterations, work.judge,
              x),
        at_(work.system.velocities() + work.system.bilateral()) {}

  MethodResult run() {
    const Solution& given = best_.answer();
    bool full = false;
    if (settings_.warm_start) {
      if (best_.begin() <= best_.tolerance()) return best_.result();
      full = !given.lambda.isZero(0.0) || !given.gamma.isZero(0.0);
      if (full && settings_.exit_gap == 0 && cross_over()) return best_.result();
    }
    if (!settings_.predicted_start && start_near(given, full)) {
      near_ = true;
      const Outcome outcome = follow_path();
      near_ = false;
      if (outcome == Outcome::Converged || outcome == Outcome::WorkLimit)
        return best_.result(outcome);
    }
    const double starts[] = {1.0, 0.1, 10.0};
    Outcome outcome = Outcome::NotFinite;
    for (int attempt = 0; attempt <= std::clamp(settings_.restarts, 0, 2); ++attempt) {
      start(starts[attempt]);
      if (settings_.predicted_start) start_after_predictor();
      outcome = follow_path();
      // Only an exact law has other paths to offer, and only when this one ended early.
      const bool ended_early = w_.system.is_exact() && !(lowest_gap_ < 1e-10);
      if (outcome != Outcome::Stalled || !ended_early) break;
    }
    return best_.result(outcome);
  }

 private:
  void start(double impulse);
  void start_after_predictor();
  bool start_near(const Solution& given, bool impulses);
  bool cross_over();
  Outcome follow_path();
  void find_errors();
  void measure();
  void consider(const VecX& u, double merit);
  /// With exact friction on large islands more solves per factor cost more than they save: a planar
  /// flow of 7002 contacts took as many steps with correctors and 1.4 times the time, and twice the
  /// time with closing.
  bool further_solves_pay() const {
    return !w_.system.is_exact() || w_.system.size() <= settings_.crossover_size;
  }
  bool close();
  bool left_at_exit();
  void solve();
  void keep_direction() {
    w_.last_du = w_.du;
    w_.cones.keep_target();
  }
  void restore_direction() {
    w_.du.swap(w_.last_du);
    w_.cones.restore_target();
    w_.cones.compute_step(w_.du.data() + at_);
  }
  double direction(double target, SecondOrder term, double rest);
  double lengthen(double target, double longest);
  double choose_step();

  const CanonicalProblem& problem_;
  const ProblemScale& scale_;
  const InteriorPointSettings& settings_;
  InteriorPointWorkspace::Impl& w_;
  internal::BestAnswer best_;
  const Index at_;              // first row of λ in u
  double gap_ = 0, error_ = 0;  // κ and |r|
  double eta_ = 1;              // part of the way to the boundary of this step
  double lowest_gap_ = kFar;
  double best_merit_ = kFar;
  bool near_ = false;  // on the path that began near
};

/// Starts from the answer given, of a cold start from rest: a cone that its velocities keep apart
/// starts idle, any other one with the impulse of a far start. Impulses given are used where there
/// are friction cones; those of half-lines differ too much from one step to the next where contacts
/// are redundant. False where a cone has no room, or where a law is exact: its path is found from
/// afar or not at all.
bool Iteration::start_near(const Solution& given, bool impulses) {
  if (w_.system.is_exact()) return false;
  w_.system.scale(given, w_.u);
  if (!settings_.warm_start) w_.u.setZero();
  double* lambda = w_.u.data() + at_;
  impulses = impulses && !w_.cones.only_half_lines();
  if (!impulses) std::fill(lambda, lambda + w_.system.rows(), 0.0);
  w_.system.residual(w_.u, w_.r);
  const double* velocity = w_.r.data() + at_;
  if (!impulses) {
    w_.system.start(1, lambda);
    for (std::size_t i = 0; i < w_.cones.size(); ++i) {
      const interior_point::Cone& k = w_.cones[i];
      if (k.a == 0 && velocity[k.row] > settings_.apart) lambda[k.row] = 0;
    }
  }
  best_merit_ = lowest_gap_ = kFar;
  return w_.cones.start_near(settings_.near_gap, velocity, lambda);
}

/// Guesses the sets of the start and solves their equations. True where that is the end.
bool Iteration::cross_over() {
  if (!settings_.crossover) return false;
  if (w_.system.size() > settings_.crossover_size && !w_.velocity_form) return false;
  w_.polished = best_.answer();
  MethodLimits limits = best_.rest();
  limits.max_iterations = settings_.crossover_steps;
  limits.trace = nullptr;
  PolishSettings sets;
  if (w_.cones.only_half_lines()) sets.max_lost = 1, sets.impatient = true;
  if (w_.velocity_form && !w_.equations_ready) w_.equations.build(problem_, scale_);
  w_.equations_ready = w_.velocity_form;
  const MethodResult result =
      w_.velocity_form ? internal::polish_velocities(problem_, scale_, sets, limits, w_.equations,
                                                     w_.polish, w_.polished)
                       : polish(problem_, scale_, sets, limits, w_.polish, w_.polished);
  best_.adopt(result, w_.polished);
  best_.record();
  return best_.converged();
}

/// u = 0 but for the entries behind the cones' axes, y on the axes too: a centred point.
void Iteration::start(double impulse) {
  w_.system.begin_path();
  w_.u.setZero(w_.system.size());
  double* lambda = w_.u.data() + at_;
  w_.system.start(impulse, lambda);
  w_.cones.start(lambda, 1);
  best_merit_ = lowest_gap_ = kFar;
}

/// λ = max(1, |λ + Δλ|), y = max(1, |y + Δy|) with the predictor of a start: the thesis, 4.5; cones
/// are shifted along their axes (4.14.4). Where a cone has no room for that the start stays.
void Iteration::start_after_predictor() {
  measure();
  if (w_.cones.size() == 0 || !w_.cones.compute_scaling() || !w_.system.factorize()) return;
  best_.work += w_.system.factor_work();
  ++best_.iterations;
  (void)direction(0, SecondOrder::None, 1);
  w_.last_u = w_.u;
  const ConeSet before = w_.cones;
  if (w_.cones.start_after_step(1, w_.du.data() + at_, w_.u.data() + at_)) return;
  w_.u = w_.last_u;
  w_.cones = before;
}

/// κ and |r| of the point.
void Iteration::find_errors() {
  KktSystem& system = w_.system;
  system.residual(w_.u, w_.r);
  w_.cones.subtract_velocity(w_.r.data() + at_);
  gap_ = w_.cones.gap();
  lowest_gap_ = std::min(lowest_gap_, gap_);
  error_ = w_.r.size() > 0 ? w_.r.cwiseAbs().maxCoeff() : 0.0;
}

/// The same, and the judge's word on it.
void Iteration::measure() {
  find_errors();
  const double merit = gap_ + error_;
  // Velocity form is for speed: far from the end of the path the judge, which costs a fifth of a
  // step, can only say no.
  if (merit > settings_.judge_below && w_.system.is_eliminated()) return;
  consider(w_.u, merit);
  // A contact that neither pushes nor moves has nothing to be measured against: any impulse left in
  // it reads as an error of its own size until it is gone.
  if (gap_ < settings_.snap_gap && !best_.converged() && !w_.cones.only_half_lines()) {
    w_.snapped = w_.u;
    w_.cones.snap(w_.snapped.data() + at_);
    consider(w_.snapped, merit);
  }
  best_.record();
}

/// Towards the end of the path: from the step at hand, taken whole, to the answer of the sets that
/// it shows, with the factor at hand. Where contacts touch and hardly push the path is long, and
/// their sets are known long before its end. The defect shrinks with each solve; where it does not,
/// the sets are not the right ones yet. True where the judge accepts.
bool Iteration::close() {
  if (settings_.exit_gap > 0 || gap_ + error_ > settings_.closing_gap || !further_solves_pay())
    return false;
  keep_direction();
  ConeSet::Left last{kFar, kFar};
  for (int k = 0; k < settings_.closing_solves; ++k) {
    w_.rhs = -w_.r;
    const ConeSet::Left left = w_.cones.close(w_.rhs.data() + at_);
    const double rate = left.scaled / last.scaled, enough = settings_.closed * best_.tolerance();
    if (!(rate < 1)) break;
    last = left;
    // Done, or not to be done at this rate.
    if (left.plain * std::pow(rate, settings_.closing_solves - k) > enough || left.plain < enough)
      break;
    solve();
  }
  if (last.plain < best_.tolerance()) {
    w_.snapped = w_.u + w_.du;
    w_.cones.snap_step(w_.snapped.data() + at_);
    consider(w_.snapped, gap_ + error_);
    if (best_.converged()) best_.record();
  }
  restore_direction();
  return best_.converged();
}

/// The exit of published iteration counts, where it is asked for: the point itself is the answer,
/// whatever the judge prefers.
bool Iteration::left_at_exit() {
  if (!(w_.system.gap_in_units(gap_) < settings_.exit_gap &&
        w_.system.error_in_units(w_.r) < settings_.exit_error))
    return false;
  w_.system.unscale(w_.u, w_.trial);
  best_.keep(w_.trial, best_.judge_unrecorded(w_.trial));
  return true;
}

/// Keeps the point when it is the best so far. Light contacts among heavy ones read wrong until κ
/// is far below their own products, so a point nearer to the end of the path wins unless the judge
/// finds it twice as bad.
void Iteration::consider(const VecX& u, double merit) {
  w_.system.unscale(u, w_.trial);
  // The factor of the velocity form has lost the balance of blocks that nothing pushes beside that
  // of the others: their motion is taken from the impulses.
  if (w_.system.is_eliminated()) {
    w_.impulse = problem_.k;
    problem_.C.multiply_transpose_add(1, w_.trial.gamma, w_.impulse);
    problem_.D.multiply_transpose_add(1, w_.trial.lambda, w_.impulse);
    w_.inverse.solve(w_.impulse, w_.trial.v);
  }
  const double value = best_.judge_unrecorded(w_.trial);
  if (value < best_.residual() || (merit < best_merit_ && value < 2 * best_.residual())) {
    best_merit_ = merit;
    best_.keep(w_.trial, value);
  }
}

/// The step of the right-hand side at hand.
void Iteration::solve() {
  // Not so loose that the rest would be taken for lost digits.
  const double refined = w_.system.is_eliminated() ? std::clamp(settings_.refined * gap_, kRounding,
                                                                0.1 * settings_.lost_digits)
                                                   : kRounding;
  w_.system.solve(w_.rhs, settings_.refinement_steps, refined, w_.du);
  w_.cones.compute_step(w_.du.data() + at_);
  best_.work += w_.system.solve_work();
}

/// Newton direction to x∘y = target e with the residual brought to (1 − rest) of what it is;
/// returns the longest step along it.
double Iteration::direction(double target, SecondOrder term, double rest) {
  w_.rhs = -rest * w_.r;
  w_.cones.aim(target, term, w_.rhs.data() + at_);
  solve();
  return w_.cones.longest_step();
}

/// Gondzio's correctors: further right-hand sides of the same factor, as long as they make the step
/// longer. Products far from the target are what shortens it.
double Iteration::lengthen(double target, double longest) {
  if (!further_solves_pay()) return longest;
  for (int k = 0; k < settings_.correctors && longest < settings_.long_enough; ++k) {
    const double further = std::min(1.0, settings_.longer * longest + 0.1);
    keep_direction();
    w_.rhs = -w_.r;
    w_.cones.correct(target, further, settings_.spread, w_.rhs.data() + at_);
    solve();
    const double next = w_.cones.longest_step();
    if (next < longest) restore_direction();
    if (next < longest + settings_.worth_it) return std::max(longest, next);
    longest = next;
  }
  return longest;
}

/// Leaves the direction in du and the cones, returns the step length; negative when the matrix
/// cannot be factorised.
double Iteration::choose_step() {
  const auto length = [&](double longest) { return std::min(1.0, eta_ * longest); };
  if (!w_.system.factorize()) return -1;
  best_.work += w_.system.factor_work();
  const double affine = std::min(1.0, direction(0, SecondOrder::None, 1));
  if (w_.cones.size() == 0) return affine;  // linear: the first direction is the answer
  eta_ = settings_.to_boundary;
  if (settings_.adaptive_boundary) {
    const auto count = static_cast<double>(w_.cones.size());
    eta_ = std::min(eta_, 0.9 + 0.1 * std::exp(-w_.system.gap_in_units(gap_) * count));
  }
  if (settings_.predictor_only) return length(w_.cones.longest_step());
  // Of the residual 1 − affine is left, of the barrier no less should be.
  const double ratio = std::max(1 - affine, w_.cones.gap_after(affine) / gap_);
  const double sigma = std::min(1.0, ratio * ratio * ratio);
  double longest = direction(
      sigma * gap_,
      near_ && affine > settings_.short_step ? SecondOrder::Powers : SecondOrder::Product, 1);
  longest = lengthen(sigma * gap_, longest);
  double alpha = length(longest);
  if (alpha >= settings_.short_step) return alpha;

  const double keep = settings_.centring;
  alpha = length(direction(keep * gap_, SecondOrder::None, 1 - keep));
  if (alpha >= settings_.stuck_step || !w_.system.is_exact()) return alpha;

  w_.cones.set_shift_weight(settings_.held_shift);
  const bool done = w_.system.factorize();
  best_.work += w_.system.factor_work();
  alpha = done ? length(direction(settings_.held_centring * gap_, SecondOrder::None, 1)) : -1;
  w_.cones.set_shift_weight(1);
  return alpha;
}

Outcome Iteration::follow_path() {
  double mark = kFar;
  for (int since = 0;; ++since) {
    measure();
    if (best_.converged() || left_at_exit()) return Outcome::Converged;
    if (!std::isfinite(gap_ + error_)) return Outcome::Stalled;
    if (best_.iterations >= best_.max_iterations()) return Outcome::IterationLimit;
    if (best_.exhausted()) return Outcome::WorkLimit;
    if (gap_ < settings_.smallest_gap && w_.cones.size() > 0) return Outcome::Stalled;
    if (gap_ + error_ < settings_.progress * mark) mark = gap_ + error_, since = 0;
    if (since > settings_.patience) return Outcome::Stalled;
    if (!w_.cones.compute_scaling()) return Outcome::Stalled;
    const double alpha = choose_step();
    ++best_.iterations;
    if (!(alpha > 0) || !w_.du.allFinite()) return Outcome::Stalled;
    if (alpha >= settings_.short_step && close()) return Outcome::Converged;
    if (near_ && alpha < settings_.near_step && error_ > kRounding) return Outcome::Stalled;
    ConeSet::Lengths steps{alpha, alpha};
    if (settings_.separate_steps && !w_.system.is_exact() && !w_.system.is_eliminated()) {
      const ConeSet::Lengths longest = w_.cones.longest_steps();
      steps = {std::min(1.0, eta_ * longest.x), std::min(1.0, eta_ * longest.y)};
    }
    const Index velocities = w_.system.velocities();
    w_.u.head(velocities) += steps.y * w_.du.head(velocities);
    w_.u.tail(w_.u.size() - velocities) += steps.x * w_.du.tail(w_.u.size() - velocities);
    w_.cones.advance(steps);
  }
}

}  // namespace

MethodResult solve_interior_point(const CanonicalProblem& problem, const ProblemScale& scale,
                                  const InteriorPointSettings& settings, const MethodLimits& limits,
                                  InteriorPointWorkspace& work, Solution& x) {
  InteriorPointWorkspace::Impl& w = work.impl();
  w.system.build(problem, w.cones, settings);
  if (w.system.is_eliminated() && !w.inverse.factorize(problem.H)) return {};
  w.velocity_form = (w.system.is_eliminated() || w.system.size() > settings.crossover_size) &&
                    internal::VelocityEquations::fits(problem);
  w.equations_ready = false;
  MethodResult result = Iteration(problem, scale, settings, limits, w, x).run();
  if (result.outcome == Outcome::Stalled &&
      bilateral_rows_contradict(problem, scale.v_free, w.polish))
    result.outcome = Outcome::Infeasible;
  return result;
}

}  // namespace orthant
