// SPDX-License-Identifier: Apache-2.0
// force/spring_kernel.hpp: spring and damper between two points => force on A, stiffness to H.
//   F = -(k (|d| - rest) + c n.d') n,   d = p_A - p_B,   n = d/|d|
//   -dF/dd = k n n' + k (1 - rest/|d|) (1 - n n'),   -dF/dd' = c n n'
// The second term is negative in a spring pushed together: clipped to 0, or H might lose its sign.
// The turn of the lever arms (geometric stiffness) is left out of H: it has no sign either.
#pragma once

#include <cmath>

#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"

namespace orthant {

template <class T>
struct SpringT {
  T stiffness{0}, damping{0}, rest{0};
};

/// n and |d|; n = 0 where the points meet, so that the force of a spring without direction is 0.
template <class T>
T spring_direction(const Vec3T<T>& d, Vec3T<T>& n) {
  using std::sqrt;
  const T square = d.squaredNorm();
  if (!(value_of(square) > 1e-200)) {
    n = Vec3T<T>(T(0), T(0), T(0));
    return T(0);
  }
  const T length = sqrt(square);
  n = d / length;
  return length;
}

/// Force on A at its point; B gets the opposite. `rate`: velocity of A's point minus B's.
template <class T>
Vec3T<T> spring_force(const SpringT<T>& s, const Vec3T<T>& d, const Vec3T<T>& rate) {
  Vec3T<T> n;
  const T length = spring_direction(d, n);
  return n * -(s.stiffness * (length - s.rest) + s.damping * n.dot(rate));
}

/// h^2 K + h C, symmetric positive semidefinite: what the spring adds to H in the points'
/// coordinates.
template <class T>
Mat3T<T> spring_implicit(const SpringT<T>& s, const Vec3T<T>& d, const T& h) {
  Vec3T<T> n;
  const T length = spring_direction(d, n);
  const T zero(0);
  // Where the points meet, a spring of rest length 0 is the same in every direction.
  const T across = value_of(length) > 0   ? max_of(zero, s.stiffness * (T(1) - s.rest / length))
                   : value_of(s.rest) > 0 ? zero
                                          : s.stiffness;
  const T along = s.stiffness * h * h + s.damping * h - across * h * h;
  Mat3T<T> S;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      S(i, j) = n[i] * n[j] * along + (i == j ? across * h * h : zero);
      S(j, i) = S(i, j);
    }
  return S;
}

/// Energy stored [J].
template <class T>
T spring_energy(const SpringT<T>& s, const Vec3T<T>& d) {
  using std::sqrt;
  const T stretch = sqrt(d.squaredNorm()) - s.rest;
  return s.stiffness * stretch * stretch * T(0.5);
}

}  // namespace orthant
