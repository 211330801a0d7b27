// SPDX-License-Identifier: Apache-2.0
// solver/proximal_newton.cpp: sets of the start, then proximal steps. See the header.
#include "solver/proximal_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/law_kernel.hpp"
#include "solver/polish_run.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-14;  // of a balance beside the impulses

class ProximalRun {
 public:
  ProximalRun(const CanonicalProblem& p, const ProblemScale& scale,
              const ProximalNewtonSettings& settings, const MethodLimits& limits,
              VelocityEquations& e, ProximalNewtonWorkspace& w, Solution& x)
      : p_(p),
        settings_(settings),
        e_(e),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x),
        alpha_(settings.descent) {}

  MethodResult run() {
    e_.load(best_.answer());
    w_.candidate.gamma = best_.answer().gamma;
    keep(w_.start);
    // Sets guessed from afar put blocks that need not carry at zero: with joints that is rare.
    const bool guess = !p_.C.empty() || !p_.F.empty() || best_.begin() < settings_.guess_below;
    if ((guess && settle(settings_.max_guesses, settings_.proximal)) || best_.done() ||
        p_.D.empty())
      return best_.result();
    go_to(w_.start);
    if (best_.residual() < settings_.near) {
      keep(w_.best);
      if (approach() || best_.done()) return best_.result();
      go_to(w_.best);
      alpha_ = settings_.descent;
    }
    descend();
    // The way is sensitive to where it begins and to the first compliance.
    double compliance = settings_.descent;
    for (int i = 0; i < settings_.restarts && !best_.done(); ++i) {
      e_.x.setZero();
      e_.gamma.setZero();
      alpha_ = compliance *= (i % 2 == 0 ? 10 : 0.03);
      if (!approach() && !best_.done()) descend();
    }
    return best_.result();
  }

 private:
  using Point = ProximalNewtonWorkspace::Point;
  void keep(Point& to) const {
    to.v = e_.v;
    to.gamma = e_.gamma;
    to.x = e_.x;
  }
  void go_to(const Point& from) {
    e_.v = from.v;
    e_.gamma = from.gamma;
    e_.x = from.x;
  }
  void judge() {
    e_.store(w_.candidate);
    (void)best_.consider(w_.candidate);
  }
  bool factorize() {
    ++best_.iterations;
    best_.work += e_.factor_work();
    e_.set_proximal(alpha_);
    return e_.factorize();
  }

  bool settle(int guesses, double alpha);
  void find_steps(bool exact);
  double slope(const VecX& v, const VecX& direction);
  bool find_manifold();
  void begin_descent();
  bool descent_step();
  double line_search(double start);
  double imbalance(bool matrix);
  bool exact_step(double& size);
  bool approach();
  void descend();

  const CanonicalProblem& p_;
  const ProximalNewtonSettings& settings_;
  VelocityEquations& e_;
  ProximalNewtonWorkspace& w_;
  BestAnswer best_;
  double alpha_;  // compliance of the proximal step at hand
};

/// Guesses sets from the point at hand and solves their equations; true when the answer is
/// accepted.
bool ProximalRun::settle(int guesses, double alpha) {
  e_.find_relative();
  const PolishSettings settings{.max_guesses = guesses, .proximal = alpha};
  PolishRun(e_, settings, best_, w_.sets, w_.next_sets, w_.candidate).run();
  return best_.converged();
}

/// ρ of each row: 1/α, and with its own F, 1/(α + F), so that what x⁺ moves by itself is part of
/// the step. Rows that are projected together have one ρ: of the exact law the normal one is apart.
void ProximalRun::find_steps(bool exact) {
  w_.rho.setConstant(p_.row_count(), 1 / alpha_);
  for (Index c = 0; c < p_.F.row_block_count(); ++c) {
    const double* F = p_.F.find(c, c);
    if (F == nullptr) continue;
    const Law& law = p_.laws[c];
    const double* s = e_.scale().data() + e_.at(c);
    double soft[kMaxLawDim] = {};
    for (int r = 0; r < law.dim; ++r)
      for (int k = 0; k < law.dim; ++k) soft[r] += std::abs(s[r] * *F++ * s[k]);
    if (!law.is_separable()) {
      double* first = soft + (exact && law.is_exact() ? 1 : 0);
      std::fill(first, soft + law.dim, *std::max_element(first, soft + law.dim));
    }
    for (int r = 0; r < law.dim; ++r) w_.rho[e_.at(c) + r] = 1 / (alpha_ + soft[r]);
  }
}

/// d · (H (v − v_free) − Dᵀλ⁺(v)), the derivative of the convex step's function along d. Leaves x⁺
/// in x and the gradient.
double ProximalRun::slope(const VecX& v, const VecX& d) {
  w_.relative = p_.b;
  p_.D.multiply_add(1, v, w_.relative);
  e_.y = (w_.relative + w_.shift).cwiseProduct(e_.scale());
  e_.x = w_.centre - w_.rho.cwiseProduct(e_.y);
  for (std::size_t c = 0; c < e_.block_count(); ++c)
    project(e_.laws()[c].convex(), e_.x.data() + e_.at(c), e_.x.data() + e_.at(c));
  p_.H.multiply(v, w_.gradient);
  w_.gradient -= p_.k;
  w_.impulse = e_.scale().cwiseProduct(e_.x);
  p_.D.multiply_transpose_add(-1, w_.impulse, w_.gradient);
  best_.work += e_.product_work();
  return w_.gradient.dot(d);
}

/// The nearest velocities that the joints allow.
bool ProximalRun::find_manifold() {
  e_.clear_weights();
  if (!factorize()) return false;
  e_.find_residuals();
  w_.gradient.setZero(p_.velocity_count());
  e_.r_c = -e_.r_c;
  if (!e_.solve(w_.gradient, e_.r_c)) return false;
  e_.v += e_.dv();
  return true;
}

/// x̄ and the shift of the convex step that begins at v and x.
void ProximalRun::begin_descent() {
  find_steps(false);
  w_.shift.setZero(p_.row_count());
  e_.find_relative();
  w_.relative = e_.y.cwiseQuotient(e_.scale());
  w_.centre = e_.x;
  for (std::size_t c = 0; c < e_.block_count(); ++c) {
    const Index at = e_.at(c);
    w_.shift[at] = shift_of(p_.laws[c], w_.relative.data() + at);
    project(e_.laws()[c].convex(), w_.centre.data() + at, w_.centre.data() + at);
  }
  if (p_.F.empty()) return;
  w_.impulse = e_.scale().cwiseProduct(w_.centre);
  p_.F.multiply_add(1, w_.impulse, w_.shift);
}

/// One Newton step of the convex step; false when it is done.
bool ProximalRun::descent_step() {
  w_.trial.setZero(p_.velocity_count());
  (void)slope(e_.v, w_.trial);
  for (std::size_t c = 0; c < e_.block_count(); ++c) {
    const Law law = e_.laws()[c].convex();
    const Index at = e_.at(c);
    double z[kMaxLawDim];
    const double* rho = w_.rho.data() + at;
    for (int k = 0; k < law.dim; ++k) z[k] = w_.centre[at + k] - rho[k] * e_.y[at + k];
    const ProjectionDerivative d = projection_derivative(law, z);
    double* weight = e_.weight(c);
    const double* s = e_.scale().data() + at;
    for (int r = 0; r < law.dim; ++r)
      for (int k = 0; k < law.dim; ++k)
        weight[r * law.dim + k] = s[r] * d.P[r * law.dim + k] * rho[k] * s[k];
  }
  e_.r_c = -p_.e;
  p_.C.multiply_add(-1, e_.v, e_.r_c);
  w_.along = -w_.gradient;
  p_.C.multiply_transpose_add(1, e_.gamma, w_.along);
  const double left = std::sqrt(w_.along.cwiseProduct(e_.speed()).squaredNorm() + e_.joint_error());
  if (left <= kRounding * e_.x.norm()) return false;
  if (!factorize() || !e_.solve(w_.along, e_.r_c)) return false;
  w_.trial = e_.dv();
  e_.gamma += e_.dgamma();
  const double way = w_.trial.cwiseQuotient(e_.speed()).norm();
  const double t = line_search(w_.gradient.dot(w_.trial));
  e_.v += t * w_.trial;
  return t > 0 && way > settings_.arrived * e_.v.cwiseQuotient(e_.speed()).norm();
}

/// Where the function of the convex step is least along `trial`, roughly; `start` is its slope at
/// 0. The slope does not fall along the way, so that its zero is bracketed.
double ProximalRun::line_search(double start) {
  if (!(start < 0)) return 0;
  const double flat = settings_.flat * -start;
  double low = 0, high = 1, low_slope = start;
  w_.along = e_.v + w_.trial;
  double high_slope = slope(w_.along, w_.trial);
  if (high_slope <= flat) return 1;
  double t = 1;
  for (int k = 0; k < 2 * settings_.trials; ++k) {
    const double secant = low - low_slope * (high - low) / (high_slope - low_slope);
    const double border = 0.1 * (high - low);
    t = std::clamp(secant, low + border, high - border);
    w_.along = e_.v + t * w_.trial;
    const double now = slope(w_.along, w_.trial);
    if (std::abs(now) <= flat) break;
    (now < 0 ? low : high) = t;
    (now < 0 ? low_slope : high_slope) = now;
  }
  return t;
}

/// |H v − k − Cᵀγ − Dᵀλ⁺(v)| and |C v + e| together, x⁺ = x̄ − R(x̄, y(v)) by the exact law; leaves
/// x⁺ in x, and the weights of the system when asked. x⁺ has the rounding of y over α, so that y is
/// followed by its changes from the start of the proximal step on, which are small: the rounding of
/// where it began is the same all along.
double ProximalRun::imbalance(bool matrix) {
  e_.v = w_.start.v + w_.moved;
  w_.relative.setZero(p_.row_count());
  p_.D.multiply_add(1, w_.moved, w_.relative);
  e_.y = w_.began + w_.relative.cwiseProduct(e_.scale());
  for (std::size_t c = 0; c < e_.block_count(); ++c) {
    const Law& law = e_.laws()[c];
    const Index at = e_.at(c);
    const double *centre = w_.centre.data() + at, *s = e_.scale().data() + at;
    const double* rho = w_.rho.data() + at;
    double R[kMaxLawDim], step[kMaxLawDim];
    BlockJacobian J;
    for (int k = 0; k < law.dim; ++k) step[k] = rho[k] * e_.y[at + k];
    projection_residual(law, centre, step, 1, R, matrix ? &J : nullptr);
    double* weight = e_.weight(c);
    for (int i = 0; matrix && i < law.dim; ++i)
      for (int k = 0; k < law.dim; ++k)
        weight[i * law.dim + k] = s[i] * J.Y[i * law.dim + k] * rho[k] * s[k];
    for (int i = 0; i < law.dim; ++i) e_.x[at + i] = centre[i] - R[i];
  }
  e_.find_residuals();
  best_.work += e_.product_work();
  return std::sqrt(e_.balance_error() + e_.joint_error());
}

/// One Newton step on the imbalance, the first of the lengths 1, 0.4, … that leaves less of `size`.
bool ProximalRun::exact_step(double& size) {
  (void)imbalance(true);
  if (!factorize()) return false;
  w_.gradient = -e_.r_v;
  e_.r_c = -e_.r_c;
  if (!e_.solve(w_.gradient, e_.r_c)) return false;
  w_.trial = w_.moved;
  w_.along = e_.gamma;
  double t = 1;
  for (int k = 0; k < settings_.trials; ++k, t *= settings_.shorter) {
    w_.moved = w_.trial + t * e_.dv();
    e_.gamma = w_.along + t * e_.dgamma();
    const double now = imbalance(false);
    if (!(now <= (1 - 1e-2 * t) * size)) continue;
    size = now;
    return true;
  }
  w_.moved = w_.trial;
  e_.gamma = w_.along;
  (void)imbalance(false);
  return false;
}

/// Proximal steps of the exact law from a point that is near; true when the answer is accepted.
bool ProximalRun::approach() {
  double mark = best_.residual(), tried = std::numeric_limits<double>::infinity();
  for (int idle = 0, n = 0;
       n < settings_.max_proximal_steps && idle < settings_.patience && !best_.done(); ++n) {
    keep(w_.start);
    find_steps(true);
    w_.centre = e_.x;
    e_.find_relative();
    w_.began = e_.y;
    w_.moved.setZero(p_.velocity_count());
    int steps = 0;
    double size = imbalance(false);
    bool good = true;
    for (;; ++steps) {
      const double way = (e_.x - w_.centre).norm();
      if (size <= settings_.exact * alpha_ * way + settings_.balance * e_.rounding()) break;
      good = steps < settings_.max_exact_steps && !best_.done() && std::isfinite(size) &&
             exact_step(size);
      if (!good) break;
    }
    const double drift = (e_.x - w_.centre).norm() / e_.x.norm();
    if (good) {
      judge();
      if (best_.converged()) {
        // Balanced no better than asked for: to rounding, as the answers of sets are.
        while (size > e_.rounding() && exact_step(size)) {
        }
        judge();
        return true;
      }
      keep(w_.start);
      const bool arrived = drift < settings_.settled && alpha_ < settings_.clear;
      if (arrived || (steps <= settings_.quick && best_.residual() < tried)) {
        tried = 0.1 * best_.residual();
        if (settle(2, std::max(settings_.firmer * alpha_, settings_.firmest))) return true;
        go_to(w_.start);
        if (!p_.C.empty() && best_.residual() < settings_.walk_below && !best_.done() &&
            walk_sets(e_, settings_.proximal, settings_.max_walk, best_, w_.walk))
          return true;
        go_to(w_.start);
      }
      if (drift < settings_.drift)
        alpha_ = std::max((drift < 0.1 * settings_.drift ? 0.5 : 1) * settings_.stiffer * alpha_,
                          settings_.stiffest);
    } else {
      go_to(w_.start);
      alpha_ *= settings_.softer;
      if (alpha_ > settings_.softest) return false;
    }
    const bool moves = good && drift > 0.1 * settings_.drift;
    idle = moves || best_.residual() < 0.5 * mark ? 0 : idle + 1;
    mark = std::min(mark, best_.residual());
  }
  return false;
}

/// Convex proximal steps from the start, each followed by those of the exact law.
void ProximalRun::descend() {
  if (settings_.max_descents == 0 || (!p_.C.empty() && !find_manifold())) return;
  double mark = best_.residual(), compliance = alpha_;
  for (int i = 0, idle = 0;
       i < settings_.max_descents && idle < settings_.patience && !best_.done(); ++i) {
    alpha_ = compliance;
    begin_descent();
    int steps = 0;
    while (steps < settings_.max_descent_steps && !best_.done() && descent_step()) ++steps;
    w_.trial.setZero(p_.velocity_count());
    (void)slope(e_.v, w_.trial);
    judge();
    if (best_.done()) return;
    keep(w_.best);
    if (approach() || best_.done()) return;
    go_to(w_.best);
    idle = best_.residual() < 0.5 * mark ? 0 : idle + 1;
    if (idle == 0) mark = best_.residual();
    if (2 * steps <= settings_.max_descent_steps)
      compliance = std::max(settings_.stiffer * compliance, settings_.stiffest);
    if (steps == settings_.max_descent_steps) compliance *= settings_.softer;
  }
}

}  // namespace

MethodResult solve_proximal_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                   const ProximalNewtonSettings& settings,
                                   const MethodLimits& limits, VelocityEquations& equations,
                                   ProximalNewtonWorkspace& work, Solution& x) {
  return ProximalRun(p, scale, settings, limits, equations, work, x).run();
}

}  // namespace orthant::internal
