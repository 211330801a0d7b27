// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/lorentz.hpp: the few numbers of one half-line or Lorentz cone. Points
// come with `slack`, their distance p_0 − |p_1| to the boundary. Formulas: docs/interior_point.md.
#pragma once

#include <cmath>
#include <limits>

#include "solver/interior_point/cone_set.hpp"

namespace orthant::interior_point {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline double tail_dot(const double* p, const double* q, int n) {
  double s = 0;
  for (int i = 1; i < n; ++i) s += p[i] * q[i];
  return s;
}

inline double tail_norm(const double* p, int n) {
  return n == 1 ? 0.0 : n == 2 ? std::abs(p[1]) : std::sqrt(tail_dot(p, p, n));
}

/// p_0² − |p_1|² from the distance to the boundary.
inline double determinant(const double* p, double slack, int n) {
  return slack * (slack + 2 * tail_norm(p, n));
}

/// |p_1 + α d_1| − |p_1| without cancellation.
inline double growth(const double* p, const double* d, double alpha, int n) {
  if (n == 1) return 0;
  double along = 0, across = 0, begin = 0, end = 0;
  for (int i = 1; i < n; ++i) {
    const double moved = p[i] + alpha * d[i];
    along += p[i] * d[i];
    across += d[i] * d[i];
    begin += p[i] * p[i];
    end += moved * moved;
  }
  const double sum = std::sqrt(begin) + std::sqrt(end);
  return sum > 0 ? alpha * (2 * along + alpha * across) / sum : 0.0;
}

/// out = W p, W = [[a_0, a_1ᵀ], [a_1, I + a_1 a_1ᵀ/(1 + a_0)]]; sign −1: W⁻¹ = J W J.
inline void rotate(const double* a, double sign, const double* p, int n, double* out) {
  const double along = tail_dot(a, p, n), p0 = p[0];
  const double f = sign * p0 + along / (1 + a[0]);
  out[0] = a[0] * p0 + sign * along;
  for (int i = 1; i < n; ++i) out[i] = p[i] + f * a[i];
}

/// Longest α with p + α d in the cone: p is turned onto the axis, where the limit is a difference
/// of two numbers (Domahidi, Chu, Boyd 2013).
inline double longest(const double* p, double slack, const double* d, int n) {
  if (n == 1) return d[0] < 0 ? -slack / d[0] : kInfinity;
  const double root = std::sqrt(determinant(p, slack, n));
  double bar[kMaxCone] = {};
  for (int i = 0; i < n; ++i) bar[i] = p[i] / root;
  const double along = bar[0] * d[0] - tail_dot(bar, d, n);
  const double f = (along + d[0]) / (bar[0] + 1);
  double across = 0;
  for (int i = 1; i < n; ++i) {
    const double r = d[i] - f * bar[i];
    across += r * r;
  }
  const double limit = std::sqrt(across) - along;
  return limit > 0 ? root / limit : kInfinity;
}

/// What x and y of a cone are to lose together: along each eigenvector of x − y the smaller of the
/// two, across it what keeps them from being parallel. Returns |x − Π(x − y)|.
inline double distance_to_law(const double* x, const double* y, int n, double* lose) {
  double z[kMaxCone], t[kMaxCone] = {0, 1}, squares = 0;
  for (int j = 0; j < n; ++j) z[j] = x[j] - y[j];
  const double tail = tail_norm(z, n);
  for (int j = 1; tail > 0 && j < n; ++j) t[j] = z[j] / tail;
  const double along_x = tail_dot(t, x, n), along_y = tail_dot(t, y, n);
  const bool plus = z[0] + tail > 0, minus = z[0] - tail > 0;  // x is the larger one
  const double first = plus ? y[0] + along_y : x[0] + along_x,
               second = minus ? y[0] - along_y : x[0] - along_x;
  lose[0] = (first + second) / 2;
  squares += lose[0] * lose[0];
  for (int j = 1; j < n; ++j) {
    const double part = (first - second) / 2 * t[j], across = x[j] - along_x * t[j];
    squares += (part + across) * (part + across);
    lose[j] = part + (plus != minus ? 2 : 1) * across;
  }
  return std::sqrt(squares);
}

}  // namespace orthant::interior_point
