// SPDX-License-Identifier: Apache-2.0
// solver/velocity_proximal.cpp: (rigid pile, near answer) => answer, by proximal steps in
// velocities.
//
//   x⁺(v) = P(x − σ (J v + b)),   Ĥ (v − v_free) = Jᵀ x⁺(v),   x ← x⁺,   σ grows
//
// P is the projection of the residual (projection_residual.hpp), so each step solves the law itself
// with a compliance 1/σ around the last x. x⁺ is explicit in v: Newton has the velocities as its
// only unknowns and needs no unique forces. In a pile at rest these are hyperstatic; a step moves
// them by σ times what is still wrong, which takes sweeps σ rounds.
#include <algorithm>
#include <cmath>

#include "solver/velocity_methods.hpp"

namespace orthant::internal {
namespace {

constexpr double kGrow = 5;          // of σ after a step that was easy
constexpr double kShrink = 0.2;      // after one that failed
constexpr double kLeast = 1;         // σ: W has unit diagonal, less is not worth a factorisation
constexpr double kMost = 1e10;       // σ: beyond, rounding of v decides
constexpr int kNewtonSteps = 20;     // of one proximal step
constexpr int kEasy = 4;             // Newton steps of an easy one
constexpr int kHard = 8;             // and of one after which σ is halved
constexpr double kExact = 1e-2;      // error of a step beside the way it goes
constexpr double kRounding = 1e-14;  // of the balance beside the forces
constexpr int kTrials = 6;           // lengths of a Newton step
constexpr double kShorter = 0.4;
constexpr int kSmoothings = 3;     // of one proximal step, where Newton finds no length
constexpr int kSmoothSweeps = 20;  // each: they settle contacts between two sets
constexpr int kPatience = 8;       // proximal steps, failed ones included, without progress

class Run {
 public:
  Run(const CanonicalProblem& p, const ProblemScale& scale,
      const VelocityProximalSettings& settings, const MethodLimits& limits, VelocitySpace& space,
      VelocityProximalWorkspace& w, Solution& x)
      : settings_(settings),
        space_(space),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x) {}

  MethodResult run();

 private:
  double imbalance(const VecX& v, bool matrix);
  bool newton_step(double& size);
  void smooth();
  bool proximal_step();
  void judge();

  const VelocityProximalSettings& settings_;
  VelocitySpace& space_;
  VelocityProximalWorkspace& w_;
  BestAnswer best_;
  double sigma_ = settings_.sigma;
  int newton_steps_ = 0, smoothings_ = 0;  // of the proximal step at hand
};

/// |Ĥ (v − v_free) − Jᵀ x⁺(v)|; leaves x⁺ in `next`, the difference in r, and the matrix when
/// asked.
double Run::imbalance(const VecX& v, bool matrix) {
  space_.relative(v, w_.x, w_.y);
  const auto& blocks = space_.blocks();
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const Law& law = blocks[c].law;
    const Index at = blocks[c].at;
    const double *x = w_.x.data() + at, *y = w_.y.data() + at;
    double R[kMaxLawDim];
    if (matrix) {
      BlockJacobian J;
      projection_residual(law, x, y, sigma_, R, J);
      // dx⁺ = −Y dy: the step in x is what R says, no equation of its own.
      std::fill(J.X, J.X + law.dim * law.dim, 0.0);
      for (int i = 0; i < law.dim; ++i) J.X[i * law.dim + i] = 1;
      space_.set_block(static_cast<Index>(c), J, 0);
    } else {
      projection_residual(law, x, y, sigma_, R);
    }
    for (int i = 0; i < law.dim; ++i) w_.next[at + i] = x[i] - R[i];
  }
  space_.balance(v, w_.next, w_.r);
  best_.work += 2 * space_.product_work();
  return w_.r.norm();
}

/// One Newton step from v, the first of the lengths 1, 0.4, … that leaves less of `size`.
bool Run::newton_step(double& size) {
  (void)imbalance(w_.v, true);
  ++best_.iterations;
  ++newton_steps_;
  best_.work += space_.factor_work();
  if (!space_.factorize()) return false;
  space_.solve(&w_.r, w_.zero, w_.dv, w_.dx);
  best_.work += 2 * space_.product_work();
  if (!w_.dv.allFinite()) return false;
  double t = 1;
  for (int trial = 0; trial < kTrials; ++trial, t *= kShorter) {
    w_.trial = w_.v + t * w_.dv;
    const double now = imbalance(w_.trial, false);
    if (!(now <= (1 - 1e-2 * t) * size)) continue;
    w_.v.swap(w_.trial);
    size = now;
    return true;
  }
  return false;
}

/// Sweeps on the problem of the proximal step, from x⁺(v).
void Run::smooth() {
  (void)imbalance(w_.v, false);
  space_.free_motion(w_.next, w_.v);
  for (int i = 0; i < kSmoothSweeps; ++i) (void)space_.sweep(1 / sigma_, &w_.x, w_.next, w_.v);
  best_.work += kSmoothSweeps * space_.sweep_work();
  ++smoothings_;
}

/// Finds v and x⁺ of one step; false when it has no answer in reach.
bool Run::proximal_step() {
  newton_steps_ = smoothings_ = 0;
  double size = imbalance(w_.v, false);
  for (;;) {
    w_.dx = w_.next - w_.x;
    if (size <= kExact * w_.dx.norm() / sigma_ + kRounding * w_.next.norm()) return true;
    if (!std::isfinite(size) || newton_steps_ >= kNewtonSteps || best_.done()) return false;
    if (newton_step(size)) continue;
    if (smoothings_ >= kSmoothings) return false;
    smooth();
    size = imbalance(w_.v, false);
  }
}

void Run::judge() {
  space_.free_motion(w_.x, w_.trial);
  space_.unscale_impulses(w_.x, w_.candidate);
  space_.unscale_velocities(w_.trial, w_.candidate);
  best_.work += 2 * space_.product_work();
  (void)best_.consider(w_.candidate);
}

MethodResult Run::run() {
  space_.scale_impulses(best_.answer(), w_.x);
  space_.free_motion(w_.x, w_.v);
  w_.next = w_.x;
  w_.zero.setZero(space_.rows());
  w_.candidate.gamma = best_.answer().gamma;
  judge();
  double mark = best_.residual();
  for (int idle = 0; !best_.done() && idle < kPatience && sigma_ >= kLeast;) {
    if (best_.residual() > settings_.start_below) break;
    w_.start = w_.v;
    if (proximal_step()) {
      w_.x.swap(w_.next);
      judge();
      const bool easy = newton_steps_ <= kEasy && smoothings_ == 0;
      sigma_ = easy                    ? std::min(kGrow * sigma_, kMost)
               : newton_steps_ > kHard ? 0.5 * sigma_
                                       : sigma_;
    } else {
      w_.v = w_.start;
      sigma_ *= kShrink;
    }
    idle = best_.residual() < 0.5 * mark ? 0 : idle + 1;
    if (idle == 0) mark = best_.residual();
  }
  return best_.result();
}

}  // namespace

MethodResult proximal_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                                 const VelocityProximalSettings& settings,
                                 const MethodLimits& limits, VelocitySpace& space,
                                 VelocityProximalWorkspace& work, Solution& x) {
  return Run(p, scale, settings, limits, space, work, x).run();
}

}  // namespace orthant::internal
