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
#include "orthant/solver/nonsmooth_newton.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "orthant/math/block_lu.hpp"
#include "orthant/math/factorisation.hpp"
#include "orthant/solver/one_contact_kernel.hpp"
#include "solver/projection_residual.hpp"
#include "solver/scaled_local.hpp"

namespace orthant {
namespace {

using internal::BlockJacobian;
using internal::ScaledBlock;

constexpr Index kDenseLimit = 60;    // rows up to which a dense factorisation is faster
constexpr int kMemory = 8;           // steps the line search looks back
constexpr int kQuickInner = 6;       // inner steps up to which α may shrink
constexpr double kGoodSolve = 1e-7;  // relative error of a Newton direction that will do
constexpr double kFirstChange = 10;  // of α, until the first failure
constexpr double kLaterChange = 3;   // and after it
constexpr double kDrift = 1e-3;      // relative move of the centre that still counts as progress
constexpr double kHonest = 1e-3;     // scaled velocity error above which no force excuses it
constexpr int kPatience = 120;       // outer steps without a better residual; one at rest counts 10

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

struct NonsmoothNewtonWorkspace::Impl {
  internal::ScaledLocal scaled;
  BlockRows jacobian;  // the pattern of W
  BlockLu block_lu;
  // Where pivoting inside blocks is not enough.
  bool analyzed = false;
  SparseMatrix matrix;  // transposed: column r holds row r
  SparseLu sparse_lu;
  MatX dense;
  Eigen::PartialPivLU<MatX> dense_lu;
  VecX x, y, centre, R, d, Wd, trial_x, trial_y, back, error, correction;
  Solution candidate;
  JudgeWorkspace judge;
};

NonsmoothNewtonWorkspace::NonsmoothNewtonWorkspace() : impl_(std::make_unique<Impl>()) {}
NonsmoothNewtonWorkspace::~NonsmoothNewtonWorkspace() = default;
NonsmoothNewtonWorkspace::NonsmoothNewtonWorkspace(NonsmoothNewtonWorkspace&&) noexcept = default;
NonsmoothNewtonWorkspace& NonsmoothNewtonWorkspace::operator=(NonsmoothNewtonWorkspace&&) noexcept =
    default;

namespace {

class Run {
 public:
  Run(const CanonicalProblem& p, const ProblemScale& scale, const NonsmoothNewtonSettings& settings,
      const MethodLimits& limits, NonsmoothNewtonWorkspace::Impl& w, Solution& best)
      : p_(p),
        scale_(scale),
        settings_(settings),
        limits_(limits),
        w_(w),
        best_(best),
        max_iterations_(limits.iterations_or(settings.max_iterations)) {}

  MethodResult run();

 private:
  bool stop() const {
    return result_.residual <= limits_.tolerance || result_.iterations >= max_iterations_ ||
           result_.work >= settings_.max_work || limits_.exhausted(result_.work);
  }
  void prepare();
  void move_to(const VecX& x);
  void judge();
  void judge_candidate();
  double plain_residual();
  double residual(const VecX& x, const VecX& y) const;
  void assemble();
  bool newton_direction();
  bool pivoted_direction();
  bool line_search(const History& history, double& size);
  bool watchdog(const History& history, double& size);
  bool inner();
  void sweep(int count);
  void proximal(double rho);

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const NonsmoothNewtonSettings& settings_;
  const MethodLimits& limits_;
  NonsmoothNewtonWorkspace::Impl& w_;
  Solution& best_;
  const int max_iterations_;
  MethodResult result_;
  int inner_count_ = 0;
  double rho_ = 1, alpha_ = 0;
};

void Run::prepare() {
  auto& s = w_.scaled;
  s.build(p_, scale_);
  w_.R.resize(s.rows());
  w_.candidate.v = best_.v;
  w_.candidate.gamma = best_.gamma;
  w_.jacobian = s.W;
  w_.block_lu.analyze(w_.jacobian);
  w_.analyzed = false;
}

void Run::move_to(const VecX& x) {
  if (&x != &w_.x) w_.x = x;
  w_.scaled.W.multiply(w_.x, w_.y);
  w_.y += w_.scaled.q;
}

/// Judges the current x; keeps it when it is the best so far.
void Run::judge() {
  w_.scaled.unscale_impulse(w_.x, w_.candidate.lambda);
  judge_candidate();
}

void Run::judge_candidate() {
  const double value = judge_quick(p_, scale_, w_.candidate, w_.judge).value;
  result_.work += 3.0 * static_cast<double>(w_.scaled.nonzeros());
  limits_.record(Method::NonsmoothNewton, result_.iterations, value);
  // Where nothing solves the problem (walls that squeeze a body) forces grow without bound, and an
  // error that is small beside them is still a wrong velocity.
  if (value <= limits_.tolerance && plain_residual() > kHonest) return;
  if (value < result_.residual) {
    result_.residual = value;
    best_.lambda = w_.candidate.lambda;
    best_.w = w_.judge.w;
  }
}

/// |R| of the regularised problem at x, y = W x + q.
double Run::residual(const VecX& x, const VecX& y) const {
  double sum = 0;
  for (const ScaledBlock& b : w_.scaled.blocks) {
    double y_alpha[kMaxLawDim], R[kMaxLawDim];
    for (int i = 0; i < b.law.dim; ++i)
      y_alpha[i] = y[b.at + i] + alpha_ * (x[b.at + i] - w_.centre[b.at + i]);
    internal::projection_residual(b.law, x.data() + b.at, y_alpha, rho_, R);
    for (int i = 0; i < b.law.dim; ++i) sum += R[i] * R[i];
  }
  return std::sqrt(sum);
}

/// Largest entry of R without the proximal term and with unit step; q has size one.
double Run::plain_residual() {
  double largest = 0;
  for (const ScaledBlock& b : w_.scaled.blocks) {
    double R[kMaxLawDim];
    internal::projection_residual(b.law, w_.x.data() + b.at, w_.y.data() + b.at, 1.0, R);
    for (int i = 0; i < b.law.dim; ++i) largest = std::max(largest, std::abs(R[i]));
  }
  return largest;
}

/// The Newton matrix X + Y (W + α I) and R at (x, y).
void Run::assemble() {
  auto& s = w_.scaled;
  for (Index c = 0; c < p_.block_count(); ++c) {
    const ScaledBlock& b = s.blocks[static_cast<std::size_t>(c)];
    const int dim = b.law.dim;
    double y_alpha[kMaxLawDim];
    for (int i = 0; i < dim; ++i)
      y_alpha[i] = w_.y[b.at + i] + alpha_ * (w_.x[b.at + i] - w_.centre[b.at + i]);
    BlockJacobian D;
    internal::projection_residual(b.law, w_.x.data() + b.at, y_alpha, rho_, w_.R.data() + b.at, D);
    double* J = w_.jacobian.values(c);
    double* own = J + b.diagonal;
    const double* W = s.W.values(c);
    for (const auto& entry : s.W.entries(c)) {
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
}

/// d = −J⁻¹ R; false when J is singular.
bool Run::newton_direction() {
  assemble();
  ++result_.iterations;
  ++inner_count_;
  w_.R = -w_.R;
  result_.work += w_.block_lu.flops();
  if (!w_.block_lu.factorize(w_.jacobian)) return pivoted_direction();
  w_.block_lu.solve(w_.R, w_.d);
  // No pivoting between blocks: look at what is left, correct it once, else pivot.
  const double size = w_.R.norm();
  for (int round = 0; round < 2; ++round) {
    w_.error = w_.R;
    w_.jacobian.multiply_add(-1, w_.d, w_.error);
    const double left = w_.error.norm();
    if (left <= kGoodSolve * size) return true;
    if (!(left <= 0.1 * size)) break;
    w_.block_lu.solve(w_.error, w_.correction);
    w_.d += w_.correction;
  }
  return pivoted_direction();
}

bool Run::pivoted_direction() {
  const BlockRows& J = w_.jacobian;
  const Index n = J.rows();
  if (n <= kDenseLimit) {
    w_.dense.setZero(n, n);
    for (Index c = 0; c < J.row_block_count(); ++c) {
      const double* values = J.values(c);
      for (const auto& entry : J.entries(c)) {
        for (Index r = 0; r < J.dim(c); ++r) {
          for (Index j = 0; j < entry.width; ++j)
            w_.dense(J.row_begin(c) + r, entry.column + j) = values[r * entry.width + j];
        }
        values += static_cast<std::ptrdiff_t>(J.dim(c)) * entry.width;
      }
    }
    w_.dense_lu.compute(w_.dense);
    w_.d = w_.dense_lu.solve(w_.R);
    result_.work += static_cast<double>(n) * n * n / 3;
    return w_.d.allFinite();
  }
  w_.matrix.resize(n, n);
  w_.matrix.resizeNonZeros(w_.scaled.nonzeros());
  Index at = 0;
  for (Index c = 0; c < J.row_block_count(); ++c) {
    for (Index r = 0; r < J.dim(c); ++r) {
      w_.matrix.outerIndexPtr()[J.row_begin(c) + r] = at;
      const double* values = J.values(c);
      for (const auto& entry : J.entries(c)) {
        for (Index j = 0; j < entry.width; ++j, ++at) {
          w_.matrix.innerIndexPtr()[at] = entry.column + j;
          w_.matrix.valuePtr()[at] = values[r * entry.width + j];
        }
        values += static_cast<std::ptrdiff_t>(J.dim(c)) * entry.width;
      }
    }
  }
  w_.matrix.outerIndexPtr()[n] = at;
  if (!w_.analyzed) w_.sparse_lu.analyze(w_.matrix);
  w_.analyzed = true;
  if (!w_.sparse_lu.factorize(w_.matrix)) return false;
  w_.sparse_lu.solve_transpose(w_.R, w_.d);
  result_.work += w_.sparse_lu.flops();
  return w_.d.allFinite();
}

/// Halves the step along d until |R| falls below the largest of the last few (not the last one:
/// a change of the active set may have to climb first).
bool Run::line_search(const History& history, double& size) {
  w_.scaled.W.multiply(w_.d, w_.Wd);
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
  auto& s = w_.scaled;
  for (int k = 0; k < count; ++k) {
    double change = 0;
    for (Index c = 0; c < p_.block_count(); ++c) {
      const ScaledBlock& b = s.blocks[static_cast<std::size_t>(c)];
      const int dim = b.law.dim;
      double A[kMaxLawDim * kMaxLawDim], q[kMaxLawDim], x[kMaxLawDim];
      s.W.multiply_row(c, w_.x.data(), q);
      std::copy(s.W.values(c) + b.diagonal, s.W.values(c) + b.diagonal + dim * dim, A);
      for (int i = 0; i < dim; ++i) {
        x[i] = w_.x[b.at + i];
        q[i] += s.q[b.at + i] - alpha_ * w_.centre[b.at + i];
        for (int j = 0; j < dim; ++j) q[i] -= A[i * dim + j] * w_.x[b.at + j];
        A[i * dim + i] += alpha_;
      }
      (void)solve_one_block(b.law, A, q, x);
      for (int i = 0; i < dim; ++i) {
        if (!std::isfinite(x[i])) x[i] = 0;
        change = std::max(change, std::abs(x[i] - w_.x[b.at + i]));
        w_.x[b.at + i] = x[i];
      }
    }
    result_.work += static_cast<double>(s.nonzeros());
    if (change <= 1e-12) break;
  }
  move_to(w_.x);
}

/// The outer loop from the current x. Ends converged, at a limit, or stalled.
void Run::proximal(double rho) {
  rho_ = rho;
  alpha_ = settings_.alpha_start;
  double change = kFirstChange, last = result_.residual;
  int failures = 0, stalled = 0;
  while (!stop() && stalled <= kPatience && failures <= 4) {
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
      drifts = (w_.x - w_.centre).norm() > kDrift * w_.x.norm();
      if (inner_count_ <= kQuickInner) alpha_ = std::max(alpha_ / change, settings_.alpha_min);
    } else {
      ++failures;
      move_to(w_.centre);
      alpha_ = std::min(alpha_ * change, settings_.alpha_max);
      change = kLaterChange;
    }
    if (result_.residual < 0.5 * last) {
      last = result_.residual;
      stalled = 0;
    } else {
      stalled += drifts ? 1 : 10;
    }
  }
}

MethodResult Run::run() {
  prepare();
  w_.scaled.scale_impulse(best_.lambda, w_.back);
  move_to(w_.back);
  w_.centre = w_.x;
  w_.candidate.lambda = best_.lambda;  // a start that is the answer leaves with its bits
  judge_candidate();
  if (!stop()) proximal(settings_.rho);
  for (const Restart& restart : kRestarts) {
    if (!settings_.restarts || stop()) break;
    if (restart.from_zero) {
      w_.back.setZero();
    } else {
      w_.scaled.scale_impulse(best_.lambda, w_.back);
    }
    move_to(w_.back);
    proximal(restart.rho);
  }
  result_.outcome = result_.residual <= limits_.tolerance   ? Outcome::Converged
                    : limits_.exhausted(result_.work)       ? Outcome::WorkLimit
                    : result_.iterations >= max_iterations_ ? Outcome::IterationLimit
                    : std::isfinite(result_.residual)       ? Outcome::Stalled
                                                            : Outcome::NotFinite;
  return result_;
}

}  // namespace

MethodResult solve_nonsmooth_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                    const NonsmoothNewtonSettings& settings,
                                    const MethodLimits& limits, NonsmoothNewtonWorkspace& work,
                                    Solution& x) {
  ORTHANT_ASSERT(p.is_local());
  return Run(p, scale, settings, limits, work.impl(), x).run();
}

}  // namespace orthant
