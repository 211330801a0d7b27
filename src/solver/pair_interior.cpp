// SPDX-License-Identifier: Apache-2.0
// solver/pair_interior.cpp: (H, J, r) => points along the path x_i w_i = μ. See pair_interior.hpp.
#include "solver/pair_interior.hpp"

#include <algorithm>
#include <cmath>

namespace orthant::internal {
namespace {

constexpr double kLeastStep = 1e-6;  // below, rounding decides

/// The part of d, at most all, that keeps x positive.
double longest(const VecX& x, const VecX& d) {
  double t = 1;
  for (Index i = 0; i < x.size(); ++i)
    if (d[i] < 0) t = std::min(t, -x[i] / d[i]);
  return t;
}

}  // namespace

void PairInterior::start(const CanonicalProblem& p, const ScaledRows& rows, VelocitySystem& system,
                         double impulse, const InteriorPointSettings& settings) {
  settings_ = settings;
  const VecX& r = rows.constant();
  p_ = &p;
  rows_ = &rows;
  system_ = &system;
  scale_ = -r.minCoeff();
  u_.setZero(p.H.rows());
  w_ = r.cwiseMax(scale_);
  x_.setConstant(r.size(), impulse * scale_);
  mu_ = x_.dot(w_) / static_cast<double>(r.size()) / (scale_ * scale_);
}

/// (du, dx, dw) for  H(u + du) = Jᵀ(x + dx),  w + dw = J(u + du) + r,  x w + x dw + w dx = target.
void PairInterior::find_direction() {
  push_ = (target_ - x_.cwiseProduct(miss_)).cwiseQuotient(w_);
  right_ = -Hu_;
  rows_->add_transposed(push_, right_);
  system_->solve(right_, du_);
  rows_->multiply(du_, dw_);
  dw_ += miss_;
  dx_ = (target_ - x_.cwiseProduct(dw_)).cwiseQuotient(w_) - x_;
  work_ += system_->solve_flops();
}

double PairInterior::longest_step() const { return std::min(longest(x_, dx_), longest(w_, dw_)); }

/// Correctors for the aim at hand, as long as they make the step longer.
void PairInterior::centre(double aim) {
  double t = longest_step();
  const double low = aim / settings_.spread, high = aim * settings_.spread;
  for (int k = 0; k < settings_.correctors && t < settings_.long_enough; ++k) {
    const double further = std::min(1.0, settings_.longer * t + 0.1);
    for (Index i = 0; i < x_.size(); ++i) {
      const double product = (x_[i] + further * dx_[i]) * (w_[i] + further * dw_[i]);
      if (product < low)
        target_[i] += low - product;
      else if (product > high)
        target_[i] += std::max(high - product, -high);
    }
    last_du_.swap(du_);
    last_dx_.swap(dx_);
    last_dw_.swap(dw_);
    find_direction();
    const double next = longest_step();
    if (next < t) {
      last_du_.swap(du_);
      last_dx_.swap(dx_);
      last_dw_.swap(dw_);
    }
    if (next < t + settings_.worth_it) return;
    t = next;
  }
}

bool PairInterior::advance() {
  const auto n = static_cast<double>(x_.size());
  work_ = system_->flops();
  rows_->multiply(u_, miss_);
  miss_ += rows_->constant() - w_;
  p_->H.multiply(u_, Hu_);
  weight_ = x_.cwiseQuotient(w_);
  rows_->weigh(p_->D, weight_, squares_);
  if (!weight_.allFinite() || !system_->factorize(p_->H, p_->C, {}, p_->D, squares_)) return false;
  target_.setZero(x_.size());
  find_direction();
  const double mean = x_.dot(w_) / n, t = longest_step();
  const double after = (x_ + t * dx_).dot(w_ + t * dw_) / n;
  const double ratio = after / mean, aim = ratio * ratio * ratio * mean;
  target_ = -dx_.cwiseProduct(dw_);
  target_.array() += aim;
  find_direction();
  centre(aim);
  double step = longest_step();
  if (!(step > kLeastStep) || !du_.allFinite()) return false;
  if (step < 1) step *= std::max(settings_.to_boundary, 1 - mu_);
  u_ += step * du_;
  x_ += step * dx_;
  w_ += step * dw_;
  mu_ = x_.dot(w_) / n / (scale_ * scale_);
  return x_.minCoeff() > 0 && w_.minCoeff() > 0;
}

}  // namespace orthant::internal
