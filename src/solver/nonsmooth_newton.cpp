// SPDX-License-Identifier: Apache-2.0
// solver/nonsmooth_newton.cpp: local problem => answer, by proximal nonsmooth Newton.
//
//   outer   c ← x,  y_α = W x + q + α (x − c),   solve R(x, y_α) = 0 roughly,   α ← smaller
//   inner   (X + Y (W + α I)) d = −R,            line search on |R|
//
// in the variables of scaled_local.hpp with R, X, Y of projection_residual.hpp. The proximal term
// is what carries a hyperstatic pile along: forces drift through nearly null directions of W until
// some contact opens or slides, a move of |y|/α a step that no line search on the plain residual
// would ever allow. Hence a failed step goes back to its centre, so that the drift is not lost.
#include "solver/nonsmooth_newton.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "solver/best_answer.hpp"
#include "solver/newton_system.hpp"

namespace orthant {
namespace {

using internal::BlockJacobian;
using internal::ScaledBlock;

constexpr int kMemory = 8;  // steps the line search looks back

/// On sensitive piles the way the forces drift depends on ρ and on the start, and none is best for
/// all: runs after the first, from zero or from the best answer so far.
struct Restart {
  double rho;
  bool from_zero;
};
constexpr Restart kRestarts[] = {{30, true},  {30, false}, {100, false}, {10, false},
                                 {100, true}, {10, true},  {1, true},    {30, false}};

/// The last sizes of the residual; the line search asks for less than the largest.
class History {
 public:
  explicit History(double first) { sizes_.fill(first); }
  void push(double size) { sizes_[next_++ % kMemory] = size; }
  double largest() const { return *std::max_element(sizes_.begin(), sizes_.end()); }

 private:
  std::array<double, kMemory> sizes_;
  std::size_t next_ = 0;
};

}  // namespace

struct NonsmoothNewtonWork {
  internal::NewtonSystem system;
  VecX x, y, centre, R, d, Wd, trial_x, trial_y, back;
  Solution candidate;
  JudgeWorkspace judge;
};

namespace {

class Run {
 public:
  Run(const CanonicalProblem& p, const ProblemScale& scale, const NonsmoothNewtonSettings& settings,
      const MethodLimits& limits, NonsmoothNewtonWork& w, Solution& x)
      : settings_(settings),
        system_(w.system),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x) {}

  MethodResult run();

 private:
  bool stop() const { return best_.work >= settings_.max_work || best_.done(); }
  void move_to(const VecX& x);
  void judge();
  double residual(const VecX& x, const VecX& y) const;
  bool newton_direction();
  bool line_search(const History& history, double& size);
  bool watchdog(const History& history, double& size);
  bool inner();
  void sweep(int count);
  void proximal(double rho);

  const NonsmoothNewtonSettings& settings_;
  internal::NewtonSystem& system_;
  NonsmoothNewtonWork& w_;
  internal::BestAnswer best_;
  int inner_count_ = 0;
  double rho_ = 1, alpha_ = 0;
};

void Run::move_to(const VecX& x) {
  if (&x != &w_.x) w_.x = x;
  system_.evaluate(w_.x, w_.y);
}

/// Judges the current x; keeps it when it is the best so far.
void Run::judge() {
  system_.unscale(w_.x, w_.candidate);
  (void)best_.consider(w_.candidate);
  best_.work += 3 * system_.product_work();
}

/// |R| of the regularised problem at x, y = W x + q.
double Run::residual(const VecX& x, const VecX& y) const {
  double sum = 0;
  for (const ScaledBlock& b : system_.blocks()) {
    double y_alpha[kMaxLawDim], R[kMaxLawDim];
    for (int i = 0; i < b.law.dim; ++i)
      y_alpha[i] = y[b.at + i] + alpha_ * (x[b.at + i] - w_.centre[b.at + i]);
    internal::projection_residual(b.law, x.data() + b.at, y_alpha, rho_, R);
    for (int i = 0; i < b.law.dim; ++i) sum += R[i] * R[i];
  }
  return std::sqrt(sum);
}

/// d = −(X + Y (W + α I))⁻¹ R at (x, y); false when the matrix is singular.
bool Run::newton_direction() {
  const auto& blocks = system_.blocks();
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const ScaledBlock& b = blocks[c];
    double y_alpha[kMaxLawDim];
    for (int i = 0; i < b.law.dim; ++i)
      y_alpha[i] = w_.y[b.at + i] + alpha_ * (w_.x[b.at + i] - w_.centre[b.at + i]);
    BlockJacobian D;
    internal::projection_residual(b.law, w_.x.data() + b.at, y_alpha, rho_, w_.R.data() + b.at, D);
    system_.set_block(static_cast<Index>(c), D, alpha_);
  }
  ++best_.iterations;
  ++inner_count_;
  w_.R = -w_.R;
  return system_.solve(w_.R, w_.d, best_.work);
}

/// Halves the step along d until |R| falls below the largest of the last few (not the last one:
/// a change of the active set may have to climb first).
bool Run::line_search(const History& history, double& size) {
  system_.product(w_.d, w_.Wd);
  const double reference = history.largest();
  for (double t = 1; t > 0.02; t *= 0.5) {
    w_.trial_x = w_.x + t * w_.d;
    w_.trial_y = w_.y + t * w_.Wd;
    const double now = residual(w_.trial_x, w_.trial_y);
    if (now <= (1 - 1e-4 * t) * reference) {
      w_.x.swap(w_.trial_x);
      w_.y.swap(w_.trial_y);
      size = now;
      return true;
    }
  }
  return false;
}

/// Full steps for a while, in the hope that the active set settles; back where it does not.
bool Run::watchdog(const History& history, double& size) {
  const double reference = 0.9 * history.largest();
  w_.back = w_.x;
  for (int k = 0; k < settings_.watchdog_steps; ++k) {
    w_.x += w_.d;
    move_to(w_.x);
    size = residual(w_.x, w_.y);
    if (size <= reference) return true;
    if (!newton_direction()) break;
  }
  move_to(w_.back);
  return false;
}

/// Newton on the regularised problem until it is solved to a part of its start.
bool Run::inner() {
  inner_count_ = 0;
  double size = residual(w_.x, w_.y);
  const double target = settings_.inner_reduction * size;
  History history(size);
  for (int count = 0; count < settings_.inner_iterations; ++count) {
    if (!newton_direction()) return false;
    if (!line_search(history, size) && !watchdog(history, size)) return false;
    history.push(size);
    judge();
    if (size <= target || stop()) return true;
  }
  return false;
}

/// Block Gauss–Seidel on the regularised problem: gets past wrong guesses of open, stick, slide.
void Run::sweep(int count) {
  for (int k = 0; k < count; ++k) {
    best_.work += system_.product_work();
    if (system_.sweep(alpha_, w_.centre, w_.x) <= 1e-12) break;
  }
  move_to(w_.x);
}

/// The outer loop from the current x. Ends converged, at a limit, or stalled.
void Run::proximal(double rho) {
  rho_ = rho;
  alpha_ = settings_.alpha_start;
  double change = settings_.first_change, last = best_.residual();
  int failures = 0, stalled = 0;
  while (!stop() && stalled <= settings_.patience && failures <= 4) {
    w_.centre = w_.x;
    bool done = inner();
    if (!done && !stop()) {
      sweep(settings_.sweeps);
      judge();
      done = !stop() && inner();
    }
    if (stop()) return;
    bool drifts = false;
    if (done) {
      failures = 0;
      drifts = (w_.x - w_.centre).norm() > settings_.drift * w_.x.norm();
      if (inner_count_ <= settings_.quick_inner)
        alpha_ = std::max(alpha_ / change, settings_.alpha_min);
    } else {
      ++failures;
      move_to(w_.centre);
      alpha_ = std::min(alpha_ * change, settings_.alpha_max);
      change = settings_.later_change;
    }
    if (best_.residual() < 0.5 * last) {
      last = best_.residual();
      stalled = 0;
    } else {
      stalled += drifts ? 1 : 10;
    }
  }
}

MethodResult Run::run() {
  w_.R.resize(system_.rows());
  system_.scale(best_.answer(), w_.back);
  move_to(w_.back);
  w_.centre = w_.x;
  w_.candidate.v = best_.answer().v;
  w_.candidate.gamma = best_.answer().gamma;
  w_.candidate.lambda = best_.answer().lambda;  // a start that is the answer leaves with its bits
  (void)best_.consider(w_.candidate);
  if (!stop()) proximal(settings_.rho);
  for (const Restart& restart : kRestarts) {
    if (!settings_.restarts || stop()) break;
    if (restart.from_zero) {
      w_.back.setZero();
    } else {
      system_.scale(best_.answer(), w_.back);
    }
    move_to(w_.back);
    proximal(restart.rho);
  }
  return best_.result();
}

}  // namespace

MethodResult solve_nonsmooth_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                    const NonsmoothNewtonSettings& settings,
                                    const MethodLimits& limits, NonsmoothNewtonWorkspace& work,
                                    Solution& x) {
  ORTHANT_ASSERT(p.is_local());
  work.get().system.build(p, scale);
  return Run(p, scale, settings, limits, work.get(), x).run();
}

}  // namespace orthant
