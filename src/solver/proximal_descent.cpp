// SPDX-License-Identifier: Apache-2.0
// solver/proximal_descent.cpp: the globalisation of proximal Newton.
//
// Where the sets do not settle, one proximal step around the impulses x̄, the shift
// of exact friction held fixed, is a convex problem in v on the joints' manifold:
//
//   min ½|v − v_free|²_H + α/2 |Π(x̄ − y(v)/α)|²   subject to  C v + e = 0
//
// Newton with an exact line search converges from anywhere. From its x⁺ = Π(x̄ − y/α) proximal steps
// by the exact law follow: x⁺ = x̄ − R(x̄, y(v)) is explicit in v, Newton with a line search on the
// balance finds v. Sets are guessed again on the way. Where contacts are redundant and their gaps
// do not quite agree (a box on its faces, wheels and casters), the impulses drift from step to step
// by what is left of y over α until those that must open are zero: α is chosen by that drift.
#include <algorithm>
#include <cmath>
#include <limits>

#include "math/law_kernel.hpp"
#include "solver/projection_residual.hpp"
#include "solver/proximal_newton_run.hpp"

namespace orthant::internal {
namespace {

constexpr double kFlat = 0.1;      // slope at the end of a step that is long enough
constexpr int kLineSearch = 12;    // slopes looked at in one line search
constexpr double kFirmer = 1e-3;   // compliance of the sets tried after one
constexpr double kFirmest = 1e-8;  // and the least: below, redundant rows are all rounding
constexpr int kPatience = 10;      // proximal steps without progress
constexpr double kExact = 1e-2;    // error of a proximal step beside the way it goes
constexpr int kQuick = 3;          // its Newton steps, where it was easy
constexpr double kSoftest = 1;     // compliance beyond which it is no step
constexpr int kTrials = 6;         // lengths of a Newton step
constexpr double kShorter = 0.4;
constexpr int kEasy = 10;                // Newton steps of a proximal step that may be stiffer
constexpr double kStiffer = 0.2;         // compliance of the next one
constexpr double kSofter = 5;            // the same after one that did not end
constexpr double kDrift = 0.1;           // of the impulses in a step, that its compliance is for
constexpr double kNear = 1e-6;           // compliance of a step that may arrive
constexpr double kArrived = 2e-3;        // drift of a step that has found its sets
constexpr double kBalance = 1e-10;       // error of a step that the sets tried after it undo
constexpr double kLeastDescent = 1e-11;  // compliance below which the sets are no clearer
constexpr double kClose = 1e-5;          // Newton step of a proximal step that has arrived

}  // namespace

/// d · (H (v − v_free) − Dᵀλ⁺(v)), the derivative of the proximal step's function along d. Leaves
/// x⁺ in x and the gradient in r_v.
double ProximalRun::slope(const VecX& v, const VecX& d) {
  w_.y = p_.b;
  p_.D.multiply_add(1, v, w_.y);
  w_.y = (w_.y + w_.shift).cwiseProduct(w_.scale);
  w_.x = w_.centre - w_.y / descent_;
  Index at = 0;
  for (const Law& law : w_.laws) {
    project(law.convex(), w_.x.data() + at, w_.x.data() + at);
    at += law.dim;
  }
  p_.H.multiply(v, w_.r_v);
  w_.r_v -= p_.k;
  w_.impulse = w_.scale.cwiseProduct(w_.x);
  p_.D.multiply_transpose_add(-1, w_.impulse, w_.r_v);
  return w_.r_v.dot(d);
}

/// The nearest velocities that the joints allow.
bool ProximalRun::find_manifold() {
  std::fill(w_.middle.begin(), w_.middle.end(), 0.0);
  if (!factorize()) return false;
  w_.r_c = p_.e;
  p_.C.multiply_add(1, w_.v, w_.r_c);
  w_.right.setZero(p_.velocity_count() + p_.bilateral_count());
  w_.right.tail(p_.bilateral_count()) = -w_.r_c;
  system_->solve(w_.right, w_.step);
  w_.v += w_.step.head(p_.velocity_count());
  return w_.v.allFinite();
}

/// x̄ and the shift of the proximal step that begins at v and x.
void ProximalRun::begin_descent() {
  w_.shift.setZero(p_.row_count());
  w_.impulse = p_.b;
  p_.D.multiply_add(1, w_.v, w_.impulse);
  w_.centre = w_.x;
  Index at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim) {
    w_.shift[at] = shift_of(p_.laws[c], w_.impulse.data() + at);
    project(w_.laws[c].convex(), w_.centre.data() + at, w_.centre.data() + at);
  }
}

/// One Newton step of the proximal step; false when it is done.
bool ProximalRun::descent_step() {
  const Index n = p_.velocity_count(), m = p_.bilateral_count();
  w_.trial.setZero(n);
  (void)slope(w_.v, w_.trial);
  Index at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim) {
    const Law law = w_.laws[c].convex();
    double z[kMaxLawDim];
    for (int k = 0; k < law.dim; ++k) z[k] = w_.centre[at + k] - w_.y[at + k] / descent_;
    const ProjectionDerivative d = projection_derivative(law, z);
    double* middle = w_.middle.data() + w_.offset[c];
    const double* s = w_.scale.data() + at;
    for (int r = 0; r < law.dim; ++r)
      for (int k = 0; k < law.dim; ++k)
        middle[r * law.dim + k] = s[r] * d.P[r * law.dim + k] / descent_ * s[k];
  }
  if (!factorize()) return false;
  w_.r_c = p_.e;
  p_.C.multiply_add(1, w_.v, w_.r_c);
  w_.right.resize(n + m);
  w_.trial = -w_.r_v;
  p_.C.multiply_transpose_add(1, w_.gamma, w_.trial);
  w_.right.head(n) = w_.trial;
  w_.right.tail(m) = -w_.r_c;
  system_->solve(w_.right, w_.step);
  w_.trial = w_.step.head(n);
  if (!w_.trial.allFinite()) return false;
  w_.gamma += w_.step.tail(m);
  const double way = w_.trial.cwiseQuotient(w_.speed).norm();
  const double t = line_search(w_.r_v.dot(w_.trial));
  w_.v += t * w_.trial;
  return t > 0 && way > kClose * w_.v.cwiseQuotient(w_.speed).norm();
}

/// Where the function of the proximal step is least along `trial`, roughly; `start` is its slope at
/// 0. The slope does not fall along the way, so that its zero is bracketed.
double ProximalRun::line_search(double start) {
  if (!(start < 0)) return 0;
  const double flat = kFlat * -start;
  double low = 0, high = 1, low_slope = start;
  w_.along = w_.v + w_.trial;
  double high_slope = slope(w_.along, w_.trial);
  if (high_slope <= flat) return 1;
  double t = 1;
  for (int k = 0; k < kLineSearch; ++k) {
    const double secant = low - low_slope * (high - low) / (high_slope - low_slope);
    const double border = 0.1 * (high - low);
    t = std::clamp(secant, low + border, high - border);
    w_.along = w_.v + t * w_.trial;
    const double now = slope(w_.along, w_.trial);
    if (std::abs(now) <= flat) break;
    (now < 0 ? low : high) = t;
    (now < 0 ? low_slope : high_slope) = now;
  }
  return t;
}

/// |H v − k − Cᵀγ − Dᵀλ⁺(v)| and |C v + e| together, x⁺ = x − R(x̄, y(v)) by the exact law with
/// compliance α; leaves x⁺ in x, and the weights of the system when asked.
double ProximalRun::imbalance(bool matrix) {
  relative(w_.v);
  Index at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim) {
    const Law& law = w_.laws[c];
    const double *centre = w_.centre.data() + at, *s = w_.scale.data() + at;
    double R[kMaxLawDim];
    if (matrix) {
      BlockJacobian J;
      projection_residual(law, centre, w_.y.data() + at, 1 / descent_, R, J);
      double* middle = w_.middle.data() + w_.offset[c];
      for (int i = 0; i < law.dim; ++i)
        for (int k = 0; k < law.dim; ++k)
          middle[i * law.dim + k] = s[i] * J.Y[i * law.dim + k] * s[k];
    } else {
      projection_residual(law, centre, w_.y.data() + at, 1 / descent_, R);
    }
    for (int i = 0; i < law.dim; ++i) w_.x[at + i] = centre[i] - R[i];
  }
  residuals();
  return std::sqrt(w_.r_v.cwiseProduct(w_.speed).squaredNorm() + joint_errors());
}

/// One Newton step on the imbalance, the first of the lengths 1, 0.4, … that leaves less of `size`.
bool ProximalRun::exact_step(double& size) {
  (void)imbalance(true);
  if (!factorize()) return false;
  const Index n = p_.velocity_count(), m = p_.bilateral_count();
  w_.right.resize(n + m);
  w_.right.head(n) = -w_.r_v;
  w_.right.tail(m) = -w_.r_c;
  system_->solve(w_.right, w_.step);
  if (!w_.step.allFinite()) return false;
  w_.trial = w_.v;
  w_.along = w_.gamma;
  double t = 1;
  for (int k = 0; k < kTrials; ++k, t *= kShorter) {
    w_.v = w_.trial + t * w_.step.head(n);
    w_.gamma = w_.along + t * w_.step.tail(m);
    const double now = imbalance(false);
    if (!(now <= (1 - 1e-2 * t) * size)) continue;
    size = now;
    return true;
  }
  w_.v = w_.trial;
  w_.gamma = w_.along;
  return false;
}

void ProximalRun::remember() {
  w_.start_v = w_.v;
  w_.start_gamma = w_.gamma;
  w_.start_x = w_.x;
}
void ProximalRun::go_back() {
  w_.v = w_.start_v;
  w_.gamma = w_.start_gamma;
  w_.x = w_.start_x;
}

/// Proximal steps of the exact law from a point that is near; true when the answer is accepted.
bool ProximalRun::approach() {
  double mark = best_.residual(), tried = std::numeric_limits<double>::infinity();
  for (int idle = 0; idle < kPatience && !best_.done();) {
    remember();
    w_.centre = w_.x;
    int steps = 0;
    double size = imbalance(false);
    bool good = true;
    for (;;) {
      w_.dx = w_.x - w_.centre;
      if (size <= kExact * descent_ * w_.dx.norm() + kBalance * size_) break;
      good = steps < settings_.max_exact_steps && !best_.done() && std::isfinite(size) &&
             exact_step(size);
      if (!good) break;
      ++steps;
    }
    const double drift = w_.dx.norm() / w_.x.norm();
    if (good) {
      judge();
      if (best_.converged()) return true;
      remember();
      const bool arrived = drift < kArrived && descent_ < kNear;
      if (arrived || (steps <= kQuick && best_.residual() < tried)) {
        tried = 0.1 * best_.residual();
        if (settle(2, std::max(kFirmer * descent_, kFirmest))) return true;
        go_back();
      }
      if (drift < kDrift)
        descent_ = std::max((drift < 0.1 * kDrift ? 0.5 : 1) * kStiffer * descent_, kLeastDescent);
    } else {
      go_back();
      descent_ *= kSofter;
      if (descent_ > kSoftest) return false;
    }
    const bool moves = good && drift > 0.1 * kDrift;
    idle = moves || best_.residual() < 0.5 * mark ? 0 : idle + 1;
    mark = std::min(mark, best_.residual());
  }
  return false;
}

/// Proximal steps of the convex problem from the start, each followed by those of the exact law.
void ProximalRun::descend() {
  if (!find_manifold()) return;
  double mark = best_.residual(), compliance = descent_;
  for (int i = 0, idle = 0; i < settings_.max_descents && idle < kPatience && !best_.done(); ++i) {
    descent_ = compliance;
    begin_descent();
    int steps = 0;
    while (steps < settings_.max_descent_steps && !best_.done() && descent_step()) ++steps;
    w_.trial.setZero(p_.velocity_count());
    (void)slope(w_.v, w_.trial);
    judge();
    if (best_.done()) return;
    w_.best_v = w_.v;
    w_.best_gamma = w_.gamma;
    w_.best_x = w_.x;
    if (approach() || best_.done()) return;
    w_.v = w_.best_v;
    w_.gamma = w_.best_gamma;
    w_.x = w_.best_x;
    idle = best_.residual() < 0.5 * mark ? 0 : idle + 1;
    if (idle == 0) mark = best_.residual();
    if (steps <= kEasy) compliance = std::max(kStiffer * compliance, kLeastDescent);
    if (steps == settings_.max_descent_steps) compliance *= kSofter;
  }
}

}  // namespace orthant::internal
