// SPDX-License-Identifier: Apache-2.0
// force/free_rotation_kernel.hpp: (inertia, orientation, omega, h) => turn and omega after h, no
// torque. Implicit midpoint in the body frame: J (W+ - W) = -h' W_m x J W_m, W_m = (W + W+)/2,
// keeps energy and |J W| for every h', being quadratic; with the turn exp(h W_m) it keeps the
// angular momentum in the world, too, if h' = 2 tan(h|W_m|/2)/|W_m| (Cayley's map of h' W_m is the
// exponential of h W_m). So both invariants are exact and a spin about a principal axis turns by
// exactly h omega.
#pragma once

#include <cmath>

#include "orthant/math/dual.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant {

/// Body-frame inertia from its six numbers xx, yy, zz, xy, xz, yz.
template <class T>
Mat3T<T> inertia_matrix(const T* i) {
  Mat3T<T> I;
  I << i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2];
  return I;
}

/// The same inertia about every axis.
inline bool is_isotropic(const Mat3& I) {
  return I(0, 0) == I(1, 1) && I(1, 1) == I(2, 2) && I(0, 1) == 0 && I(0, 2) == 0 && I(1, 2) == 0;
}

/// R I R': inertia in world axes, symmetric to the last bit.
template <class T>
Mat3T<T> world_inertia(const QuatT<T>& p, const Mat3T<T>& I) {
  const Mat3T<T> R = matrix_of(p);
  const Mat3T<T> RI = R * I;
  Mat3T<T> W;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      T s = RI(i, 0) * R(j, 0);
      s += RI(i, 1) * R(j, 1);
      s += RI(i, 2) * R(j, 2);
      W(i, j) = s;
      W(j, i) = s;
    }
  return W;
}

/// A x = y by Cramer's rule: small, branch-free, good to rounding for the well-conditioned A here.
template <class T>
Vec3T<T> solve3(const Mat3T<T>& A, const Vec3T<T>& y) {
  const Vec3T<T> a = A.col(0), b = A.col(1), c = A.col(2);
  const Vec3T<T> bc = b.cross(c);
  const T inverse = T(1) / a.dot(bc);
  return Vec3T<T>(y.dot(bc) * inverse, a.dot(y.cross(c)) * inverse, a.dot(b.cross(y)) * inverse);
}

template <class T>
struct FreeRotationT {
  Vec3T<T> turn;   ///< rotation vector, world axes: p+ = p boxplus turn [rad]
  Vec3T<T> omega;  ///< after h, world axes [rad/s]
};

namespace internal {

/// tan(x)/x and its derivative by y = x^2. Beyond x = 1.2 (never for x <= 1 at the start of a
/// sub-step and sane bodies) a straight line, so that Newton cannot step over the pole.
template <class T>
void tangent_ratio(const T& y, T& value, T& slope) {
  using std::sqrt;
  if (value_of(y) < 1e-3) {
    value = T(1) + y * (T(1.0 / 3) + y * (T(2.0 / 15) + y * (T(17.0 / 315) + y * T(62.0 / 2835))));
    slope = T(1.0 / 3) + y * (T(4.0 / 15) + y * (T(51.0 / 315) + y * T(248.0 / 2835)));
    return;
  }
  const double limit = 1.44;
  const T at = value_of(y) < limit ? y : T(limit);
  using std::cos;
  using std::sin;
  const T x = sqrt(at);
  const T c = cos(x);
  value = sin(x) / (c * x);
  slope = (T(1) / (c * c) - value) / (T(2) * at);
  if (value_of(y) >= limit) value += slope * (y - at);
}

/// Midpoint angular velocity of one sub-step, body axes: J W - P + (h'/2) W x J W = 0 by Newton.
template <class T>
Vec3T<T> midpoint_omega(const Mat3T<T>& J, const Vec3T<T>& P, const Vec3T<T>& start, const T& h) {
  Vec3T<T> W = start;
  const T half = h * T(0.5);
  const double scale = std::sqrt(value_of(P.squaredNorm()));
  int extra = 2;  // after the value has settled: the last bits, and the derivative of a dual number
  for (int i = 0; i < 30 && extra > 0; ++i) {
    const Vec3T<T> JW = J * W;
    T ratio, slope;
    tangent_ratio<T>(W.squaredNorm() * (h * h * T(0.25)), ratio, slope);
    const Vec3T<T> gyro = W.cross(JW);
    const Vec3T<T> F = JW - P + gyro * (ratio * half);
    if (std::sqrt(value_of(F.squaredNorm())) <= 1e-10 * scale) --extra;
    Mat3T<T> A = J + (cross_matrix(W) * J - cross_matrix(JW)) * (ratio * half);
    A += gyro * W.transpose() * (slope * h * half * half);
    W -= solve3<T>(A, F);
  }
  return W;
}

}  // namespace internal

template <class T>
FreeRotationT<T> free_rotation(const Mat3T<T>& J, const QuatT<T>& p, const Vec3T<T>& omega,
                               const T& h) {
  const Vec3T<T> L = rotate(p, Vec3T<T>(J * rotate(conjugate(p), omega)));
  // Sub-steps of at most 2 rad keep the tangent far from its pole.
  const double angle = value_of(h) * std::sqrt(value_of(omega.squaredNorm()));
  const int count = angle < 2 ? 1 : static_cast<int>(std::fmin(angle / 2, 1e6)) + 1;
  const T part = h / T(count);
  FreeRotationT<T> r;
  QuatT<T> now = p;
  r.omega = omega;
  for (int i = 0; i < count; ++i) {
    const QuatT<T> back = conjugate(now);
    const Vec3T<T> W = internal::midpoint_omega<T>(J, rotate(back, L), rotate(back, r.omega), part);
    r.turn = rotate(now, W) * part;
    now = boxplus(now, r.turn);
    r.omega = rotate(now, solve3<T>(J, rotate(conjugate(now), L)));
  }
  if (count > 1) r.turn = boxminus(now, p);
  return r;
}

}  // namespace orthant
