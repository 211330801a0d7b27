// SPDX-License-Identifier: Apache-2.0
// math/dual.hpp: forward-mode dual numbers, f(x + eps dx) = f(x) + eps f'(x) dx.
// Kernels (*_kernel.hpp) are templates on the scalar; instantiated with Dual<N> they return their
// derivative by N inputs at once. No heap, plain arrays; works inside fixed-size Eigen matrices.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <compare>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

template <int N>
struct Dual {
  double v = 0;      // value
  double d[N] = {};  // derivative by each input

  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: a constant is a dual number with zero derivative
  static Dual variable(double value, int i) {
    Dual x(value);
    x.d[i] = 1;
    return x;
  }

  /// The chain rule for one argument: value f, derivative df = f'(v).
  Dual chain(double f, double df) const {
    Dual r(f);
    for (int i = 0; i < N; ++i) r.d[i] = df * d[i];
    return r;
  }

  Dual& operator+=(const Dual& b) {
    v += b.v;
    for (int i = 0; i < N; ++i) d[i] += b.d[i];
    return *this;
  }
  Dual& operator-=(const Dual& b) {
    v -= b.v;
    for (int i = 0; i < N; ++i) d[i] -= b.d[i];
    return *this;
  }
  Dual& operator*=(const Dual& b) {
    for (int i = 0; i < N; ++i) d[i] = d[i] * b.v + v * b.d[i];
    v *= b.v;
    return *this;
  }
  Dual& operator/=(const Dual& b) {
    const double inverse = 1 / b.v;
    v *= inverse;
    for (int i = 0; i < N; ++i) d[i] = (d[i] - v * b.d[i]) * inverse;
    return *this;
  }

  friend Dual operator+(Dual a, const Dual& b) { return a += b; }
  friend Dual operator-(Dual a, const Dual& b) { return a -= b; }
  friend Dual operator*(Dual a, const Dual& b) { return a *= b; }
  friend Dual operator/(Dual a, const Dual& b) { return a /= b; }
  friend Dual operator-(const Dual& a) { return a.chain(-a.v, -1); }
  friend Dual operator+(const Dual& a) { return a; }

  // Order and equality look at the value: a branch is taken as the value takes it.
  friend bool operator==(const Dual& a, const Dual& b) { return a.v == b.v; }
  friend std::partial_ordering operator<=>(const Dual& a, const Dual& b) { return a.v <=> b.v; }

  friend Dual sqrt(const Dual& a) {
    // sqrt has no derivative at 0; 0 is the choice that keeps norms of zero vectors finite.
    const double r = std::sqrt(a.v);
    return a.chain(r, r > 0 ? 0.5 / r : 0.0);
  }
  friend Dual abs(const Dual& a) { return a.v < 0 ? -a : a; }
  friend Dual sin(const Dual& a) { return a.chain(std::sin(a.v), std::cos(a.v)); }
  friend Dual cos(const Dual& a) { return a.chain(std::cos(a.v), -std::sin(a.v)); }
  friend Dual exp(const Dual& a) {
    const double e = std::exp(a.v);
    return a.chain(e, e);
  }
  friend Dual log(const Dual& a) { return a.chain(std::log(a.v), 1 / a.v); }
  friend Dual acos(const Dual& a) { return a.chain(std::acos(a.v), -1 / std::sqrt(1 - a.v * a.v)); }
  friend Dual asin(const Dual& a) { return a.chain(std::asin(a.v), 1 / std::sqrt(1 - a.v * a.v)); }
  friend Dual atan2(const Dual& y, const Dual& x) {
    const double n = 1 / (x.v * x.v + y.v * y.v);
    Dual r(std::atan2(y.v, x.v));
    for (int i = 0; i < N; ++i) r.d[i] = (x.v * y.d[i] - y.v * x.d[i]) * n;
    return r;
  }
  friend Dual pow(const Dual& a, double p) {
    return a.chain(std::pow(a.v, p), p * std::pow(a.v, p - 1));
  }
  friend bool isfinite(const Dual& a) {
    bool finite = std::isfinite(a.v);
    for (int i = 0; i < N; ++i) finite = finite && std::isfinite(a.d[i]);
    return finite;
  }
};

/// The value of a scalar of either kind; for branches and tolerances inside kernels.
inline double value_of(double x) { return x; }
template <int N>
double value_of(const Dual<N>& x) {
  return x.v;
}

template <class T>
T max_of(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T>
T min_of(const T& a, const T& b) {
  return b < a ? b : a;
}

}  // namespace orthant

/// @cond Eigen's own hooks, not part of the interface
template <int N>
struct Eigen::NumTraits<orthant::Dual<N>> : Eigen::NumTraits<double> {
  using Real = orthant::Dual<N>;
  using NonInteger = orthant::Dual<N>;
  using Nested = orthant::Dual<N>;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = N + 1,
    AddCost = N + 1,
    MulCost = 3 * N + 1
  };
};

template <int N, class Op>
struct Eigen::ScalarBinaryOpTraits<orthant::Dual<N>, double, Op> {
  using ReturnType = orthant::Dual<N>;
};
template <int N, class Op>
struct Eigen::ScalarBinaryOpTraits<double, orthant::Dual<N>, Op> {
  using ReturnType = orthant::Dual<N>;
};
/// @endcond
