// SPDX-License-Identifier: Apache-2.0
// shape/super_kernel.hpp: (semi-axes, exponents, normal) => point of a super-ellipsoid; its volume.
//   (|x/a|^(2/e2) + |y/b|^(2/e2))^(e2/e1) + |z/c|^(2/e1) = 1,   e1, e2 in [kLeastExponent, 1]
// The support function is the dual norm, in closed form: q = 2/(2 - e), w = (a n_x, b n_y, c n_z),
//   r = |(w_x, w_y)|_q2,  h(n) = |(r, w_z)|_q1,  and the point with the normal n is its gradient.
// e = 1 is an ellipsoid, e -> 0 a box. Where w_i = 0 the surface is flat for e < 1: the point moves
// like |w_i|^(e/(2-e)) there. That power is a line below kFlat, so that derivatives stay finite.
#pragma once

#include <cmath>
#include <numbers>

#include "orthant/base/export.hpp"
#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

/// Squarer shapes are refused: their points turn with the normal faster than doubles resolve.
inline constexpr double kLeastExponent = 0.4;

namespace internal {

inline constexpr double kFlat = 1e-12;  // share of h below which a power is a line

/// |x|^p sign(x) for |x| <= 1, 0 < p <= 1.
template <class U, class P>
U flat_power(const U& x, const P& p) {
  using std::exp;
  using std::log;
  const double size = std::fabs(value_of(x));
  if (size < kFlat) return x * U(exp((p - P(1)) * P(std::log(kFlat))));
  const U y = exp(log(value_of(x) < 0 ? U(-x) : x) * U(p));
  return value_of(x) < 0 ? U(-y) : y;
}

/// (x^q + y^q)^(1/q) for x, y >= 0, not both 0.
template <class U, class P>
U power_norm(const U& x, const U& y, const P& q) {
  using std::exp;
  using std::log;
  const bool first = value_of(x) >= value_of(y);
  const U &large = first ? x : y, &small = first ? y : x;
  const U ratio = small / large;
  if (value_of(ratio) < 1e-200) return large;
  return large * exp(log(U(1) + exp(log(ratio) * U(q))) / U(q));
}

template <class U>
U magnitude(const U& x) {
  return value_of(x) < 0 ? U(-x) : x;
}

/// The point with the outward normal m, in the axes of the shape; p: its parameters.
template <class T, class U>
Vec3T<U> super_point(const T* p, const Vec3T<U>& m) {
  const T y1 = p[3] / (T(2) - p[3]), y2 = p[4] / (T(2) - p[4]);  // q - 1
  const U w[3] = {m[0] * U(p[0]), m[1] * U(p[1]), m[2] * U(p[2])};
  const U u = magnitude(w[0]), v = magnitude(w[1]), z = magnitude(w[2]);
  Vec3T<U> x(U(0), U(0), U(0));
  if (value_of(u) == 0 && value_of(v) == 0) {
    // The pole: no direction across it; its two derivatives are those along the axes.
    x[0] = flat_power(U(w[0] / z), y1) * U(p[0]);
    x[1] = flat_power(U(w[1] / z), y1) * U(p[1]);
    x[2] = U(value_of(w[2]) < 0 ? T(-p[2]) : p[2]);
    return x;
  }
  const U r = power_norm(u, v, T(y2 + T(1)));
  const U h = power_norm(r, z, T(y1 + T(1)));
  const U across = flat_power(U(r / h), y1);
  x[0] = across * flat_power(U(w[0] / r), y2) * U(p[0]);
  x[1] = across * flat_power(U(w[1] / r), y2) * U(p[1]);
  x[2] = flat_power(U(w[2] / h), y1) * U(p[2]);
  return x;
}

/// log Gamma(x) for x > 0: Stirling's series eight up, and down again by Gamma(x + 1) = x Gamma(x).
template <class T>
T log_gamma(T x) {
  using std::log;
  T product(1);
  for (int k = 0; k < 8; ++k) {
    product *= x;
    x += T(1);
  }
  const T i = T(1) / x, i2 = i * i;
  const T series =
      i * (T(1.0 / 12) -
           i2 * (T(1.0 / 360) -
                 i2 * (T(1.0 / 1260) -
                       i2 * (T(1.0 / 1680) - i2 * (T(1.0 / 1188) - i2 * T(691.0 / 360360))))));
  return (x - T(0.5)) * log(x) - x + T(0.5 * std::log(2 * std::numbers::pi)) + series -
         log(product);
}

template <class T>
T beta_function(const T& x, const T& y) {
  using std::exp;
  return exp(log_gamma(x) + log_gamma(y) - log_gamma(T(x + y)));
}

}  // namespace internal
}  // namespace orthant
