// SPDX-License-Identifier: Apache-2.0
// solver/velocity_equations.cpp: (problem, sets) => errors, matrix, Newton step. See the header.
#include "solver/velocity_equations.hpp"

#include <algorithm>
#include <cmath>

#include "math/each_value.hpp"
#include "solver/small_dense.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-15;            // of the equations beside their terms
constexpr double kJointProximal = 1e-10;       // δ beside a row's own mobility, at most
constexpr double kLeastJointProximal = 1e-13;  // redundant joints keep their pivots
constexpr double kFirmJoints = 1e-2;      // of α: softer joints would give way before contacts do
constexpr double kLeastProximal = 1e-16;  // H is lost beside Dᵀ s T⁻¹Y s D

}  // namespace

bool VelocityEquations::fits(const CanonicalProblem& p) {
  if (p.velocity_count() == 0 || !VelocitySystem::fits(p.H, p.C)) return false;
  if (p.D.empty() && p.row_count() > 0) return false;
  return couples_no_blocks(p.F);
}

void VelocityEquations::build(const CanonicalProblem& p, const ProblemScale& scale) {
  p_ = &p;
  laws_ = p.laws;
  scale_ = scale.tau.cwiseSqrt();
  at_.clear();
  square_.clear();
  Index at = 0, squares = 0;
  for (Law& law : laws_) {
    at_.push_back(at);
    square_.push_back(squares);
    if (law.kind == LawKind::Box) {
      law.lo /= scale_[at];
      law.hi /= scale_[at];
    }
    at += law.dim;
    squares += law.dim * law.dim;
  }
  inverse_.resize(static_cast<std::size_t>(squares));
  weights_.resize(static_cast<std::size_t>(squares));
  R.resize(at);
  speed_ = scale.weight.cwiseSqrt().cwiseInverse();
  mobility_.setZero(p.bilateral_count());
  each_value(p.C, [&](Index r, Index c, double a) {
    const double moved = a * speed_[c];
    mobility_[r] += moved * moved;
  });
  // A row of zeros decides nothing.
  for (double& m : mobility_) m = m > 0 ? m : 1 / kJointProximal;
  set_proximal(kJointProximal / kFirmJoints);
  // Velocities and positions have two patterns in turn: each keeps its own.
  if (system_->knows(p.H, p.C, p.D)) return;
  system_ = system_ == systems_ ? systems_ + 1 : systems_;
  system_->analyze(p.H, p.C, p.D);
}

void VelocityEquations::set_proximal(double alpha) {
  alpha_ = alpha;
  delta_ = std::clamp(kFirmJoints * alpha, kLeastJointProximal, kJointProximal) * mobility_;
}

void VelocityEquations::load(const Solution& from) {
  v = from.v;
  gamma = from.gamma;
  x = from.lambda.cwiseQuotient(scale_);
  find_relative();
}

void VelocityEquations::store(Solution& to) const {
  to.v = v;
  to.gamma = gamma;
  to.lambda = scale_.cwiseProduct(x);
}

void VelocityEquations::find_relative() {
  y = p_->b;
  if (!p_->D.empty()) p_->D.multiply_add(1, v, y);
  if (!p_->F.empty()) {
    impulse_ = scale_.cwiseProduct(x);
    p_->F.multiply_add(1, impulse_, y);
  }
  y = y.cwiseProduct(scale_);
}

void VelocityEquations::find_residuals() {
  p_->H.multiply(v, r_v);
  size_ = r_v.cwiseProduct(speed_).norm() + x.norm();
  r_v -= p_->k;
  p_->C.multiply_transpose_add(-1, gamma, r_v);
  if (!p_->D.empty()) {
    impulse_ = scale_.cwiseProduct(x);
    p_->D.multiply_transpose_add(-1, impulse_, r_v);
  }
  r_c = p_->e;
  p_->C.multiply_add(1, v, r_c);
}

double VelocityEquations::product_work() const {
  return 4.0 * static_cast<double>(p_->C.all_values().size() + p_->D.all_values().size());
}

double VelocityEquations::joint_error() const {
  double sum = 0;
  for (Index i = 0; i < r_c.size(); ++i) sum += r_c[i] * r_c[i] / mobility_[i];
  return sum;
}

double VelocityEquations::natural_error() const {
  double sum = 0;
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    double error[kMaxLawDim];
    projection_residual(laws_[c], x.data() + at_[c], y.data() + at_[c], 1, error);
    for (int i = 0; i < laws_[c].dim; ++i) sum += error[i] * error[i];
  }
  return std::sqrt(sum);
}

double VelocityEquations::rounding() const { return kRounding * size_; }
double VelocityEquations::least_proximal() const { return kLeastProximal; }

/// What errors() does for one block, for the limits and servos of joints.
void VelocityEquations::entry_errors(std::size_t c, EntrySet set, bool matrix) {
  const Law& law = laws_[c];
  const Index at = at_[c];
  const auto block = static_cast<Index>(c);
  double &inverse = inverse_[static_cast<std::size_t>(square_[c])],
         &weight = weights_[static_cast<std::size_t>(square_[c])];
  if (set != EntrySet::Inside) {
    const bool at_zero = law.kind != LawKind::Box;
    R[at] = x[at] - (at_zero ? 0 : set == EntrySet::AtLower ? law.lo : law.hi);
    if (matrix) inverse = 1, weight = 0;
    return;
  }
  R[at] = y[at];
  if (!matrix) return;
  const double* F = p_->F.empty() ? nullptr : p_->F.find(block, block);
  const double s = scale_[at], T = alpha_ + (F != nullptr ? s * F[0] * s : 0);
  inverse = std::abs(T) > 1e-300 ? 1 / T : 0;  // 0: it stays where it is
  weight = s * inverse * s;
}

double VelocityEquations::errors(const std::vector<BlockSet>& sets, bool matrix) {
  find_residuals();
  find_relative();
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const Index at = at_[c];
    const int n = laws_[c].dim;
    if (n == 1 && laws_[c].is_separable()) {
      entry_errors(c, sets[c].entry[0], matrix);
      continue;
    }
    BlockJacobian J;
    set_residual(laws_[c], sets[c], x.data() + at, y.data() + at, R.data() + at,
                 matrix ? &J : nullptr);
    if (!matrix) continue;
    double *inverse = inverse_.data() + square_[c], *weight = weights_.data() + square_[c];
    const double* s = scale_.data() + at;
    const auto block = static_cast<Index>(c);
    const double* F = p_->F.empty() ? nullptr : p_->F.find(block, block);
    for (int r = 0; r < n; ++r)
      for (int k = 0; k < n; ++k) {
        double sum = J.X[r * n + k] + alpha_ * J.Y[r * n + k];
        for (int m = 0; F != nullptr && m < n; ++m)
          sum += J.Y[r * n + m] * s[m] * F[m * n + k] * s[k];
        inverse[r * n + k] = sum;
      }
    if (!invert(inverse, n)) std::fill(inverse, inverse + n * n, 0.0);  // it stays where it is
    for (int r = 0; r < n; ++r)
      for (int k = 0; k < n; ++k) {
        double sum = 0;
        for (int m = 0; m < n; ++m) sum += inverse[r * n + m] * J.Y[m * n + k];
        weight[r * n + k] = s[r] * sum * s[k];
      }
  }
  return std::sqrt(balance_error() + R.squaredNorm() + joint_error());
}

bool VelocityEquations::factorize() {
  const std::span<const double> delta(delta_.data(), static_cast<std::size_t>(delta_.size()));
  return system_->factorize(p_->H, p_->C, delta, p_->D, weights_);
}

bool VelocityEquations::solve(const VecX& r, const VecX& s) {
  right_.resize(r.size() + s.size());
  right_.head(r.size()) = r;
  right_.tail(s.size()) = s;
  system_->solve(right_, solved_);
  dv_ = solved_.head(r.size());
  return solved_.allFinite();
}

bool VelocityEquations::step() {
  // dx = −T⁻¹ R, were the velocities to stay.
  dx_.setZero(x.size());
  for (std::size_t c = 0; c < laws_.size(); ++c)
    add_product(inverse_.data() + square_[c], laws_[c].dim, laws_[c].dim, R.data() + at_[c],
                dx_.data() + at_[c]);
  force_ = -r_v;
  if (!p_->D.empty()) {
    impulse_ = scale_.cwiseProduct(dx_);
    p_->D.multiply_transpose_add(-1, impulse_, force_);
  }
  r_c = -r_c;
  if (!solve(force_, r_c)) return false;
  v += dv_;
  gamma += dgamma();
  x -= dx_;
  if (p_->D.empty()) return true;
  p_->D.multiply(dv_, impulse_);
  dx_.setZero();
  for (std::size_t c = 0; c < laws_.size(); ++c)
    add_product(weights_.data() + square_[c], laws_[c].dim, laws_[c].dim, impulse_.data() + at_[c],
                dx_.data() + at_[c]);
  x -= dx_.cwiseQuotient(scale_);
  return x.allFinite();
}

}  // namespace orthant::internal
