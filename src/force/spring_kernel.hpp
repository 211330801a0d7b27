// SPDX-License-Identifier: Apache-2.0
// force/spring_kernel.hpp: spring and damper between two points => force on A, stiffness to H.
//   at d           F = -(k (|d| - rest) + c n.d') n,   d = p_A - p_B,   n = d/|d|
//   from d by e    F = -k (|d| - rest + n.e') n - K (1 - n n') (e' - e) - c n n.d'
//                  n = (2d + e)/(|d| + |d + e|),   K = k (|d + e| - rest)/(|d| + |d + e|)
// In a step of the inertial law the points are expected to move by e, with the velocities they
// have, and move by e'. n.e is |d + e| - |d|, so the work along n is what the spring stores however
// far it swings; of the stiffness across n there is only what e' differs from e. K is negative in a
// spring pushed together: clipped to 0, or H might lose its sign. The overdamped law has no
// velocities to go by: n = d/|d| and K = k (1 - rest/|d|).
// The turn of the lever arms (geometric stiffness) is left out of H: it has no sign.
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

/// Where a spring is looked at.
template <class T>
struct SpringPlaceT {
  Vec3T<T> n;    ///< along it; shorter than 1 where it turns
  T stretch{0};  ///< |d| - rest
  T across{0};   ///< stiffness across n [N/m]
};

/// `e`: how far A's point is expected to move, relative to B's; null: it is looked at where it is.
template <class T>
SpringPlaceT<T> spring_place(const SpringT<T>& s, const Vec3T<T>& d, const Vec3T<T>* e = nullptr) {
  SpringPlaceT<T> at;
  T length = spring_direction(d, at.n), ahead = length, total = length;
  if (e != nullptr) {
    Vec3T<T> there;
    ahead = spring_direction(Vec3T<T>(d + *e), there);
    total = length + ahead;
    if (value_of(total) > 0) at.n = (d + d + *e) / total;
  }
  at.stretch = length - s.rest;
  // Where the points meet, a spring of rest length 0 is the same in every direction.
  at.across = value_of(total) > 0    ? max_of(T(0), s.stiffness * (ahead - s.rest) / total)
              : value_of(s.rest) > 0 ? T(0)
                                     : s.stiffness;
  return at;
}

/// Force on A at its point; B gets the opposite. `rate`: velocity of A's point minus B's.
template <class T>
Vec3T<T> spring_force(const SpringT<T>& s, const SpringPlaceT<T>& at, const Vec3T<T>& rate) {
  return at.n * -(s.stiffness * at.stretch + s.damping * at.n.dot(rate));
}

/// along n n' + across (1 - n n').
template <class T>
Mat3T<T> spring_matrix(const Vec3T<T>& n, const T& along, const T& across) {
  Mat3T<T> S;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      S(i, j) = n[i] * n[j] * (along - across) + (i == j ? across : T(0));
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
