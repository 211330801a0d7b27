// SPDX-License-Identifier: Apache-2.0
// solver/nonsmooth_newton.cpp: local problem => answer, by proximal nonsmooth Newton.
//
//   outer   c ← x,  y_α = W x + q + α (x − c),   solve R(x, y_α) = 0 roughly,   α ← smaller
//   inner   (X + Y (W + α I)) d = −R,            line search on |R|
//
// in the variables of scaled_local.hpp with R, X, Y of active_set.hpp. The proximal term
// is what carries a hyperstatic pile along: forces drift through nearly null directions of W until
// some contact opens or slides, a move of |y|/α a step that no line search on the plain residual
// would ever allow. Hence a failed step goes back to its centre, so that the drift is not lost.
#include "solver/nonsmooth_newton.hpp"

#include <algorithm>
#include <cmath>

#include "math/block_lu.hpp"
#include "orthant/base/assert.hpp"
#include "solver/active_set.hpp"
#include "solver/best_answer.hpp"
#include "solver/one_contact_kernel.hpp"
#include "solver/scaled_local.hpp"

namespace orthant {

using internal::BlockJacobian;
using internal::ScaledBlock;

struct NonsmoothNewtonWork {
  internal::ScaledLocal scaled;
  BlockRows jacobian;  // the pattern of W
  BlockLu lu;
  VecX error, correction;
  std::vector<double> sizes;  // of the residual in the last steps: the line search asks for less
                              // than the largest
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
        scaled_(w.scaled),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x) {}

  MethodResult run();

 private:
  bool stop() const { return best_.work >= settings_.max_work || best_.done(); }
  void move_to(const VecX& x);
  void judge();
  double residual(const VecX& x, const VecX& y) const;
  double product_work() const { return static_cast<double>(scaled_.nonzeros()); }
  void set_block(Index c, const BlockJacobian& D);
  bool solve();
  double sweep();
  bool newton_direction();
  double largest() const { return *std::max_element(w_.sizes.begin(), w_.sizes.end()); }
  bool line_search(double& size);
  bool watchdog(double& size);
  bool inner();
  void sweep(int count);
  void proximal(double rho);

  const NonsmoothNewtonSettings& settings_;
  const internal::ScaledLocal& scaled_;
  NonsmoothNewtonWork& w_;
  internal::BestAnswer best_;
  int inner_count_ = 0;
  double rho_ = 1, alpha_ = 0;
};

void Run::move_to(const VecX& x) {
  if (&x != &w_.x) w_.x = x;
  scaled_.W.multiply(w_.x, w_.y);
  w_.y += scaled_.q;
}

/// Judges the current x; keeps it when it is the best so far.
void Run::judge() {
  scaled_.unscale_impulse(w_.x, w_.candidate.lambda);
  (void)best_.consider(w_.candidate);
  best_.work += 3 * product_work();
}

/// |R| of the regularised problem at x, y = W x + q.
double Run::residual(const VecX& x, const VecX& y) const {
  double sum = 0;
  for (const ScaledBlock& b : scaled_.blocks) {
    double y_alpha[kMaxLawDim], R[kMaxLawDim];
    for (int i = 0; i < b.law.dim; ++i)
      y_alpha[i] = y[b.at + i] + alpha_ * (x[b.at + i] - w_.centre[b.at + i]);
    internal::projection_residual(b.law, x.data() + b.at, y_alpha, rho_, R);
    for (int i = 0; i < b.law.dim; ++i) sum += R[i] * R[i];
  }
  return std::sqrt(sum);
}

/// Rows of block c of X + Y (W + α I).
void Run::set_block(Index c, const BlockJacobian& D) {
  const ScaledBlock& b = scaled_.blocks[static_cast<std::size_t>(c)];
  const int dim = b.law.dim;
  double* J = w_.jacobian.values(c);
  double* own = J + b.diagonal;
  const double* W = scaled_.W.values(c);
  for (const auto& entry : scaled_.W.entries(c)) {
    const Index width = entry.width;
    for (int i = 0; i < dim; ++i) {
      double* row = J + i * width;
      std::fill(row, row + width, 0.0);
      for (int k = 0; k < dim; ++k) {
        const double f = D.Y[i * dim + k];
        if (f == 0) continue;
        for (Index j = 0; j < width; ++j) row[j] += f * W[k * width + j];
      }
    }
    J += static_cast<std::ptrdiff_t>(dim) * width;
    W += static_cast<std::ptrdiff_t>(dim) * width;
  }
  for (int i = 0; i < dim * dim; ++i) own[i] += D.X[i] + alpha_ * D.Y[i];
}

/// d with (X + Y (W + α I)) d = R. The factorisation does not pivot between blocks: what is left of
/// the equations is looked at, and corrected once.
bool Run::solve() {
  const VecX& R = w_.R;
  VecX& d = w_.d;
  best_.work += w_.lu.flops();
  if (!w_.lu.factorize(w_.jacobian)) return false;
  w_.lu.solve(R, d);
  const double size = R.norm();
  for (int round = 0; round < 2; ++round) {
    w_.error = R;
    w_.jacobian.multiply_add(-1, d, w_.error);
    const double left = w_.error.norm();
    if (left <= settings_.good_solve * size) return true;
    if (!(left <= 0.1 * size)) break;
    w_.lu.solve(w_.error, w_.correction);
    d += w_.correction;
  }
  return false;
}

/// d = −(X + Y (W + α I))⁻¹ R at (x, y); false when the matrix is singular.
bool Run::newton_direction() {
  const auto& blocks = scaled_.blocks;
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const ScaledBlock& b = blocks[c];
    double y_alpha[kMaxLawDim];
    for (int i = 0; i < b.law.dim; ++i)
      y_alpha[i] = w_.y[b.at + i] + alpha_ * (w_.x[b.at + i] - w_.centre[b.at + i]);
    BlockJacobian D;
    internal::projection_residual(b.law, w_.x.data() + b.at, y_alpha, rho_, w_.R.data() + b.at, &D);
    set_block(static_cast<Index>(c), D);
  }
  ++best_.iterations;
  ++inner_count_;
  w_.R = -w_.R;
  return solve();
}

/// Halves the step along d until |R| falls below the largest of the last few (not the last one:
/// a change of the active set may have to climb first).
bool Run::line_search(double& size) {
  scaled_.W.multiply(w_.d, w_.Wd);
  const double reference = largest();
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
bool Run::watchdog(double& size) {
  const double reference = 0.9 * largest();
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
  w_.sizes.assign(static_cast<std::size_t>(std::max(1, settings_.memory)), size);
  for (int count = 0; count < settings_.inner_iterations; ++count) {
    if (!newton_direction()) return false;
    if (!line_search(size) && !watchdog(size)) return false;
    w_.sizes[static_cast<std::size_t>(count) % w_.sizes.size()] = size;
    judge();
    if (size <= target || stop()) return true;
  }
  return false;
}

/// One sweep of exact block solves of the regularised problem; the largest change.
double Run::sweep() {
  VecX& x = w_.x;
  double change = 0;
  for (Index c = 0; c < scaled_.W.row_block_count(); ++c) {
    const ScaledBlock& b = scaled_.blocks[static_cast<std::size_t>(c)];
    const int dim = b.law.dim;
    double A[kMaxLawDim * kMaxLawDim], q[kMaxLawDim], own[kMaxLawDim];
    scaled_.W.multiply_row(c, x.data(), q);
    const double* W = scaled_.W.values(c) + b.diagonal;
    std::copy(W, W + dim * dim, A);
    for (int i = 0; i < dim; ++i) {
      own[i] = x[b.at + i];
      q[i] += scaled_.q[b.at + i] - alpha_ * w_.centre[b.at + i];
      for (int j = 0; j < dim; ++j) q[i] -= A[i * dim + j] * x[b.at + j];
      A[i * dim + i] += alpha_;
    }
    (void)solve_one_block(b.law, A, q, own);
    for (int i = 0; i < dim; ++i) {
      if (!std::isfinite(own[i])) own[i] = 0;
      change = std::max(change, std::abs(own[i] - x[b.at + i]));
      x[b.at + i] = own[i];
    }
  }
  return change;
}

/// Block Gauss–Seidel on the regularised problem: gets past wrong guesses of open, stick, slide.
void Run::sweep(int count) {
  for (int k = 0; k < count; ++k) {
    best_.work += product_work();
    if (sweep() <= 1e-12) break;
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
  w_.R.resize(scaled_.rows());
  scaled_.scale_impulse(best_.answer().lambda, w_.back);
  move_to(w_.back);
  w_.centre = w_.x;
  w_.candidate.v = best_.answer().v;
  w_.candidate.gamma = best_.answer().gamma;
  w_.candidate.lambda = best_.answer().lambda;  // a start that is the answer leaves with its bits
  (void)best_.consider(w_.candidate);
  if (!stop()) proximal(settings_.rho);
  const int most = static_cast<int>(settings_.restart.size());
  const int restarts = std::clamp(settings_.restarts, 0, most);
  for (int i = 0; i < restarts && !stop(); ++i) {
    const NonsmoothNewtonSettings::Restart& restart =
        settings_.restart[static_cast<std::size_t>(i)];
    if (restart.from_zero) {
      w_.back.setZero();
    } else {
      scaled_.scale_impulse(best_.answer().lambda, w_.back);
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
  NonsmoothNewtonWork& w = work.get();
  w.scaled.build(p, scale);
  w.jacobian = w.scaled.W;
  w.lu.analyze(w.jacobian);
  return Run(p, scale, settings, limits, w, x).run();
}

}  // namespace orthant
