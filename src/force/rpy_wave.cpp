// SPDX-License-Identifier: Apache-2.0
// force/rpy_wave.cpp: W(r) = 1/(2π²) ∫ Ŵ(k) k² [(j0 − j1/x) I + j2 r̂r̂ᵀ] dk,  x = k r.
// The integrand is even, entire and falls like a Gaussian: the trapezoidal rule converges faster
// than any power, and a few hundred points give all digits.
#include "force/rpy_wave.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace orthant::internal {
namespace {

constexpr double kTail = 6.7;  // e^{−x²} below rounding

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

WaveKernel::WaveKernel(double xi, double radius_a, double radius_b)
    : a_(radius_a), b_(radius_b), width_(0.4 / xi), end_(radius_a + radius_b + kTail / xi) {
  const auto intervals = static_cast<std::size_t>(std::ceil(end_ / width_));
  coefficients_.resize(2 * kTerms * intervals);
  // Interpolation in Chebyshev points, turned into powers of t in [−1, 1]: at this width the
  // powers lose no digits that matter.
  double value[2][kTerms], chebyshev[kTerms];
  for (std::size_t n = 0; n < intervals; ++n) {
    for (int i = 0; i < kTerms; ++i) {
      const double t = std::cos(std::numbers::pi * (i + 0.5) / kTerms);
      const RpyPair w =
          by_quadrature((static_cast<double>(n) + 0.5 * (1 + t)) * width_, xi, a_, b_);
      value[0][i] = w.identity;
      value[1][i] = w.along;
    }
    for (int which = 0; which < 2; ++which) {
      for (int m = 0; m < kTerms; ++m) {
        chebyshev[m] = 0;
        for (int i = 0; i < kTerms; ++i)
          chebyshev[m] += value[which][i] * std::cos(std::numbers::pi * m * (i + 0.5) / kTerms);
        chebyshev[m] *= (m == 0 ? 1.0 : 2.0) / kTerms;
      }
      double* power = coefficients_.data() + (2 * n + static_cast<std::size_t>(which)) * kTerms;
      double before[kTerms] = {1}, now[kTerms] = {0, 1};  // T_0 and T_1 in powers
      for (int m = 0; m < kTerms; ++m) {
        for (int i = 0; i <= m; ++i) power[i] += chebyshev[m] * before[i];
        double next[kTerms] = {};
        for (int i = 0; i < kTerms; ++i) {
          if (i > 0) next[i] = 2 * now[i - 1];
          next[i] -= before[i];
        }
        std::copy(now, now + kTerms, before);
        std::copy(next, next + kTerms, now);
      }
    }
  }
}

RpyPair WaveKernel::at(double r) const {
  if (r >= end_) return rpy_pair(r, a_, b_);
  const double place = r / width_;
  const double n = std::floor(place), t = 2 * (place - n) - 1;
  const double* c = coefficients_.data() + 2 * kTerms * static_cast<std::size_t>(n);
  double identity = c[kTerms - 1], along = c[2 * kTerms - 1];
  for (int i = kTerms - 2; i >= 0; --i) {
    identity = identity * t + c[i];
    along = along * t + c[kTerms + i];
  }
  return {identity, along};
}

}  // namespace orthant::internal
