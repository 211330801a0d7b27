// SPDX-License-Identifier: Apache-2.0
// force/rpy_wave.cpp: W(r) = 1/(2π²) ∫ Ŵ(k) k² [(j0 − j1/x) I + j2 r̂r̂ᵀ] dk,  x = k r.
// The integrand is even, entire and falls like a Gaussian: the trapezoidal rule converges faster
// than any power, and a few hundred points give all digits.
#include "force/rpy_wave.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace orthant::internal {
namespace {

constexpr double kTail = 6.7;  // e^{−x²} below rounding
// Width of the intervals of tables: of W times ξ, of M − W times ξ and over the distance at contact
// (M has a pole at 0).
constexpr double kWaveWidth = 0.4, kNearWidth = 0.1;

double sinc(double x) { return std::abs(x) < 1e-4 ? 1 - x * x / 6 : std::sin(x) / x; }

/// j0 − j1/x and j2.
RpyPair angular(double x) {
  const double s = x * x;
  if (x < 0.5) {
    const double j0 = 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110))));
    const double j1 = (1 - s / 10 * (1 - s / 28 * (1 - s / 54 * (1 - s / 88 * (1 - s / 130))))) / 3;
    const double j2 = s / 15 * (1 - s / 14 * (1 - s / 36 * (1 - s / 66 * (1 - s / 104))));
    return {j0 - j1, j2};
  }
  const double sine = std::sin(x), cosine = std::cos(x);
  const double j1 = (sine - x * cosine) / (s * x);
  return {sine / x - j1, 3 * j1 - sine / x};
}

RpyPair by_quadrature(double r, double xi, double a, double b) {
  const double step = 2 * std::numbers::pi / (r + a + b + 2 * kTail / xi);
  const double last = 2 * xi * (kTail + 0.5);
  RpyPair sum{0.5 * (2.0 / 3), 0};  // k = 0, half a weight
  for (int i = 1; i * step < last; ++i) {
    const double k = i * step, weight = wave_amplitude(k, xi, a, b) * k * k;
    const RpyPair j = angular(k * r);
    sum.identity += weight * j.identity;
    sum.along += weight * j.along;
  }
  const double scale = step / (2 * std::numbers::pi * std::numbers::pi);
  return {scale * sum.identity, scale * sum.along};
}

}  // namespace

double wave_amplitude(double k, double xi, double radius_a, double radius_b) {
  const double kappa = k * k / (4 * xi * xi);
  return sinc(k * radius_a) * sinc(k * radius_b) * (1 + kappa) * std::exp(-kappa) / (k * k);
}

template <int kTerms>
RpyTable<kTerms>::RpyTable(double begin, double end, double width,
                           const std::function<RpyPair(double)>& function)
    : begin_(begin) {
  const double intervals = std::max(1.0, std::ceil((end - begin) / width));
  scale_ = intervals / (end - begin);
  // One more: a distance that rounding puts at the end.
  coefficients_.reserve(kTerms * (static_cast<std::size_t>(intervals) + 1));
  // Interpolation in Chebyshev points, turned into powers of t in [−1, 1]: at this width the
  // powers lose no digits that matter.
  for (int n = 0; n <= static_cast<int>(intervals); ++n) {
    Eigen::Array2d value[kTerms], power[kTerms];
    for (int i = 0; i < kTerms; ++i) {
      const double t = std::cos(std::numbers::pi * (i + 0.5) / kTerms);
      const RpyPair w = function(begin + (n + 0.5 * (1 + t)) / scale_);
      value[i] = {w.identity, w.along};
      power[i].setZero();
    }
    double before[kTerms] = {1}, now[kTerms] = {0, 1};  // T_0 and T_1 in powers
    for (int m = 0; m < kTerms; ++m) {
      Eigen::Array2d chebyshev = Eigen::Array2d::Zero();
      for (int i = 0; i < kTerms; ++i)
        chebyshev += value[i] * std::cos(std::numbers::pi * m * (i + 0.5) / kTerms);
      chebyshev *= (m == 0 ? 1.0 : 2.0) / kTerms;
      for (int i = 0; i <= m; ++i) power[i] += chebyshev * before[i];
      double next[kTerms] = {};
      for (int i = 0; i < kTerms; ++i) {
        if (i > 0) next[i] = 2 * now[i - 1];
        next[i] -= before[i];
      }
      std::copy(now, now + kTerms, before);
      std::copy(next, next + kTerms, now);
    }
    coefficients_.insert(coefficients_.end(), std::rbegin(power), std::rend(power));
  }
}

WaveKernel::WaveKernel(double xi, double radius_a, double radius_b)
    : a_(radius_a),
      b_(radius_b),
      end_(radius_a + radius_b + kTail / xi),
      table_(0, end_, kWaveWidth / xi, [&](double r) { return by_quadrature(r, xi, a_, b_); }) {}

RpyPair WaveKernel::at(double r) const { return r >= end_ ? rpy_pair(r, a_, b_) : table_.at(r); }

NearKernel::NearKernel(double xi, double radius_a, double radius_b, double cut, bool exact)
    : a_(radius_a),
      b_(radius_b),
      formula_up_to_(exact ? std::numeric_limits<double>::infinity() : std::pow(a_ + b_, 2)),
      wave_(xi, radius_a, radius_b),
      table_(a_ + b_, std::max(cut, 1.1 * (a_ + b_)), kNearWidth * std::min(1 / xi, a_ + b_),
             [&](double r) { return by_formula(r * r); }) {}

RpyPair NearKernel::by_formula(double square) const {
  const double r = std::sqrt(square);
  const RpyPair m = rpy_pair(r, a_, b_), w = wave_.at(r);
  return {m.identity - w.identity, square > 0 ? (m.along - w.along) / square : 0};
}

}  // namespace orthant::internal
