// SPDX-License-Identifier: Apache-2.0
// solver/velocity_polish.cpp: (rigid problem, approximate answer) => answer of the guessed set.
//
// One factorisation a guess, in body space; the matrix changes only where a sliding direction does,
// so each factorisation serves a few steps (they also refine away the rounding of 1/ε). From the
// answer of the last time step one or two guesses do.
#include <algorithm>
#include <cmath>

#include "solver/velocity_methods.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-15;  // of scaled equations: nothing is left to gain
constexpr double kLost = 0.1;        // the judge's residual of a guess that leads nowhere
constexpr double kLeastProximal = 1e-16;
constexpr double kSlow = 0.1;  // a step with an old factor that gains less asks for a new one

class Run {
 public:
  Run(const CanonicalProblem& p, const ProblemScale& scale, const PolishSettings& settings,
      const MethodLimits& limits, VelocitySpace& space, VelocityPolishWorkspace& w, Solution& best)
      : p_(p),
        scale_(scale),
        settings_(settings),
        limits_(limits),
        space_(space),
        w_(w),
        best_(best),
        max_iterations_(limits.iterations_or(settings.max_iterations)) {}

  MethodResult run();

 private:
  bool stop() const { return has_ended(result_, limits_, max_iterations_); }
  void guess(std::vector<BlockSet>& sets) const;
  double errors(bool matrix);
  bool newton();
  double judge();

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PolishSettings& settings_;
  const MethodLimits& limits_;
  VelocitySpace& space_;
  VelocityPolishWorkspace& w_;
  Solution& best_;
  const int max_iterations_;
  MethodResult result_;
  double proximal_ = settings_.proximal;
};

void Run::guess(std::vector<BlockSet>& sets) const {
  const auto& blocks = space_.blocks();
  for (std::size_t c = 0; c < blocks.size(); ++c)
    sets[c] = block_set(blocks[c].law, w_.x.data() + blocks[c].at, w_.y.data() + blocks[c].at);
}

/// Size of the errors of the guessed equations; with their derivatives when asked for.
double Run::errors(bool matrix) {
  space_.balance(w_.v, w_.x, w_.r);
  space_.relative(w_.v, w_.x, w_.y);
  const auto& blocks = space_.blocks();
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    BlockJacobian J;
    const Index at = blocks[c].at;
    set_residual(blocks[c].law, w_.sets[c], w_.x.data() + at, w_.y.data() + at, w_.R.data() + at,
                 J);
    if (matrix) space_.set_block(static_cast<Index>(c), J, proximal_);
  }
  result_.work += 2 * space_.product_work();
  return std::sqrt(w_.r.squaredNorm() + w_.R.squaredNorm());
}

/// Steps with the present guess until its equations hold to rounding or do not get better.
bool Run::newton() {
  double size = errors(true);
  for (bool fresh = true;;) {
    if (fresh) {
      ++result_.iterations;
      result_.work += space_.factor_work();
      if (!space_.factorize()) return false;
    }
    space_.solve(&w_.r, w_.R, w_.dv, w_.dx);
    result_.work += 2 * space_.product_work();
    if (!w_.dv.allFinite() || !w_.dx.allFinite()) return false;
    w_.v += w_.dv;
    w_.x += w_.dx;
    const double now = errors(false);
    if (!(now < 0.5 * size)) return std::isfinite(now);
    if (now <= kRounding * (1 + w_.x.norm())) return true;
    const bool slow = now > kSlow * size && !fresh;
    if (slow && (stop() || result_.iterations >= max_iterations_)) return true;
    size = slow ? errors(true) : now;
    fresh = slow;
  }
}

double Run::judge() {
  space_.unscale_impulses(w_.x, w_.candidate);
  space_.unscale_velocities(w_.v, w_.candidate);
  const double value = judge_quick(p_, scale_, w_.candidate, w_.judge).value;
  result_.work += 2 * space_.product_work();
  limits_.record(Method::Polish, result_.iterations, value);
  if (value < result_.residual) {
    result_.residual = value;
    best_.v = w_.candidate.v;
    best_.gamma = w_.candidate.gamma;
    best_.lambda = w_.candidate.lambda;
    best_.w = w_.judge.w;
  }
  return value;
}

MethodResult Run::run() {
  result_.residual = judge_quick(p_, scale_, best_, w_.judge).value;
  limits_.record(Method::Polish, 0, result_.residual);
  if (!stop() && std::isfinite(result_.residual)) {
    w_.candidate.gamma = best_.gamma;
    space_.scale_impulses(best_, w_.x);
    space_.scale_velocities(best_, w_.v);
    space_.relative(w_.v, w_.x, w_.y);
    w_.R.resize(space_.rows());
    w_.sets.resize(space_.blocks().size());
    w_.next_sets.resize(space_.blocks().size());
    guess(w_.sets);
    for (int lost = 0; !stop() && lost < settings_.max_lost;) {
      const bool usable = newton();
      const double value = judge();
      if (!usable || stop()) break;
      lost = value > kLost ? lost + 1 : 0;
      guess(w_.next_sets);
      if (w_.next_sets == w_.sets) {
        // A guess that stays and does not solve: ε is not small beside the least eigenvalue, which
        // is the inverse of the mass ratio where a light body carries a heavy one.
        if (proximal_ <= kLeastProximal) break;
        proximal_ = std::max(1e-3 * proximal_, kLeastProximal);
      }
      w_.sets.swap(w_.next_sets);
    }
  }
  result_.outcome = result_.residual <= limits_.tolerance ? Outcome::Converged
                    : limits_.exhausted(result_.work)     ? Outcome::WorkLimit
                    : std::isfinite(result_.residual)     ? Outcome::Stalled
                                                          : Outcome::NotFinite;
  return result_;
}

}  // namespace

MethodResult polish_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                               const PolishSettings& settings, const MethodLimits& limits,
                               VelocitySpace& space, VelocityPolishWorkspace& work, Solution& x) {
  return Run(p, scale, settings, limits, space, work, x).run();
}

}  // namespace orthant::internal
