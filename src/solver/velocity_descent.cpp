// SPDX-License-Identifier: Apache-2.0
// solver/velocity_descent.cpp: rigid pile => answer, by sweeps and Newton steps in turn.
//
//   sweep a few times                       which contacts push, stick, slide: all but a few in 1e3
//   (X + Y (W + α I)) d = −R of that set    the forces of the whole pile at once
//   x ← x + t d, two sweeps, t by |R|       the sweeps settle what the step has turned over
//
// A guess with a few wrong contacts has no solution: their forces go to infinity as α → 0. α is
// therefore kept near |R| and follows the step lengths. |R| may rise for a while: forces drift
// along nearly null directions of W until one more contact opens or slides.
#include <algorithm>
#include <array>
#include <cmath>

#include "solver/velocity_methods.hpp"

namespace orthant::internal {
namespace {

constexpr int kSweeps = 20;           // between two Newton steps
constexpr int kManySweeps = 500;      // where they get nowhere
constexpr int kAfterSweeps = 2;       // before a step is measured
constexpr int kPatience = 4;          // steps without progress, then α rises
constexpr std::size_t kMemory = 3;    // sizes of R that a step is measured against
constexpr double kRise = 1.5;         // how far above them it may end
constexpr double kShorter = 0.4;      // from one trial step to the next
constexpr double kShortest = 1e-3;    // trial step
constexpr double kMaxProximal = 0.1;  // W has unit diagonal
constexpr double kMinProximal = 1e-10;
constexpr int kPolishes = 4;
constexpr int kPolishSteps = 8;
constexpr double kPolishProximal = 1e-8;
constexpr double kQuick = 0.1;  // a step that leaves less of |R| needs no sweeps

class Run {
 public:
  Run(const CanonicalProblem& p, const ProblemScale& scale, const VelocityDescentSettings& settings,
      const MethodLimits& limits, VelocitySpace& space, VelocityDescentWorkspace& w, Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        space_(space),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x) {}

  MethodResult run();

 private:
  void sweep(VecX& x, VecX& v, int count);
  double size_of(const VecX& x, const VecX& v);
  void judge();
  bool newton_direction(double alpha);
  double line_search(double allowed, double& size);
  bool polish();

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const VelocityDescentSettings& settings_;
  VelocitySpace& space_;
  VelocityDescentWorkspace& w_;
  BestAnswer best_;
};

void Run::sweep(VecX& x, VecX& v, int count) {
  for (int i = 0; i < count; ++i) (void)space_.sweep(0, nullptr, x, v);
  best_.work += count * space_.sweep_work();
}

/// |R| of the projection residual; leaves y.
double Run::size_of(const VecX& x, const VecX& v) {
  space_.relative(v, x, w_.y);
  double sum = 0;
  for (const ScaledBlock& block : space_.blocks()) {
    double R[kMaxLawDim];
    projection_residual(block.law, x.data() + block.at, w_.y.data() + block.at, 1.0, R);
    for (int i = 0; i < block.law.dim; ++i) sum += R[i] * R[i];
  }
  best_.work += space_.product_work();
  return std::sqrt(sum);
}

void Run::judge() {
  space_.unscale_impulses(w_.x, w_.candidate);
  space_.unscale_velocities(w_.v, w_.candidate);
  best_.work += 2 * space_.product_work();
  (void)best_.consider(w_.candidate);
}

/// The step of the set that (x, y) is in, y as size_of() left it; false when there is none.
bool Run::newton_direction(double alpha) {
  const auto& blocks = space_.blocks();
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Law& law = blocks[c].law;
    const Index at = blocks[c].at;
    const double *x = w_.x.data() + at, *y = w_.y.data() + at;
    BlockJacobian J;
    set_residual(law, block_set(law, x, y), x, y, w_.R.data() + at, J);
    space_.set_block(static_cast<Index>(c), J, alpha);
  }
  ++best_.iterations;
  best_.work += space_.factor_work();
  if (!space_.factorize()) return false;
  space_.solve(nullptr, w_.R, w_.dv, w_.dx);
  best_.work += 2 * space_.product_work();
  return w_.dx.allFinite();
}

/// Tries t = 1, 0.4, … and at last 0, each with a few sweeps; takes the first whose |R| is at most
/// `allowed`, else the one with the least. Leaves it in x, v; returns t.
double Run::line_search(double allowed, double& size) {
  double best = 0;
  size = HUGE_VAL;
  for (double t = 1;; t = t > kShortest ? kShorter * t : 0) {
    w_.trial_x = w_.x + t * w_.dx;
    space_.free_motion(w_.trial_x, w_.trial_v);
    sweep(w_.trial_x, w_.trial_v, kAfterSweeps);
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

/// Full steps on the set of the best answer, no line search: near the end a contact that hardly
/// slides has to turn, and |R| rises far above the little that is left before it falls. True when
/// the answer is much better; x goes on from there.
bool Run::polish() {
  PolishSettings settings;
  settings.max_iterations = kPolishSteps;
  settings.max_lost = 3;
  settings.proximal = kPolishProximal;
  MethodLimits limits = best_.rest();
  limits.max_iterations = 0;
  const MethodResult r =
      polish_velocities(p_, scale_, settings, limits, space_, w_.polish, best_.answer());
  const bool better = r.residual < 0.5 * best_.residual();
  best_.improved(r);
  if (better) space_.scale_impulses(best_.answer(), w_.x);
  return better;
}

MethodResult Run::run() {
  space_.scale_impulses(best_.answer(), w_.x);
  space_.free_motion(w_.x, w_.v);
  w_.R.resize(space_.rows());
  w_.next_x = w_.x;
  w_.next_v = w_.v;
  w_.candidate.gamma = best_.answer().gamma;
  judge();
  if (!best_.done()) sweep(w_.x, w_.v, settings_.first_sweeps);
  std::array<double, kMemory> memory{};
  const double rows = std::sqrt(static_cast<double>(std::max<Index>(space_.rows(), 1)));
  double weight = 1, least = HUGE_VAL;
  for (int idle = 0, near_ends = 0; !best_.done();) {
    space_.free_motion(w_.x, w_.v);
    const double before = size_of(w_.x, w_.v);
    judge();
    if (best_.done() || !std::isfinite(before)) break;
    memory[static_cast<std::size_t>(best_.iterations) % kMemory] = before;
    const double allowed = kRise * *std::max_element(memory.begin(), memory.end());
    const double alpha = std::clamp(weight * before / rows, kMinProximal, kMaxProximal);
    if (!newton_direction(alpha)) {
      weight *= 10;
      continue;
    }
    double after = 0;
    const double t = line_search(allowed, after);
    if (after < 0.8 * least) {
      least = after;
      idle = 0;
    } else {
      ++idle;
    }
    if (t >= 0.5) {
      weight = std::max(0.3 * weight, 1e-6);
    } else if (t < 0.01) {
      weight = std::min(3 * weight, 1e3);
    }
    if (idle >= kPatience) {
      if (best_.residual() < settings_.polish_below) {
        if (polish()) continue;
        if (++near_ends >= kPolishes && best_.residual() < settings_.give_up_below) break;
      }
      weight = std::min(30 * weight, 1e3);
      least *= 1.5;
      idle = 0;
      sweep(w_.x, w_.v, kManySweeps);
    }
    if (after > kQuick * before) sweep(w_.x, w_.v, kSweeps);
  }
  return best_.result();
}

}  // namespace

MethodResult descend_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                                const VelocityDescentSettings& settings, const MethodLimits& limits,
                                VelocitySpace& space, VelocityDescentWorkspace& work, Solution& x) {
  return Run(p, scale, settings, limits, space, work, x).run();
}

}  // namespace orthant::internal
