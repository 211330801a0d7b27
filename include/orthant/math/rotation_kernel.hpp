// SPDX-License-Identifier: Apache-2.0
// math/rotation_kernel.hpp: unit quaternions (w, x, y, z), world-frame rotation vectors, boxplus.
// Orientation is updated on the left: p+ = exp(theta/2) p, theta a world-frame rotation vector
// (docs/notation.md, State). Series near zero angle keep values and dual derivatives exact there.
#pragma once

#include <Eigen/Geometry>
#include <cmath>

#include "orthant/base/export.hpp"
#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

/// Unit quaternion, scalar first. Our own and not Eigen's: that stores the scalar last and we
/// read and write flat arrays (w, x, y, z).
template <class T>
struct QuatT {
  T w{1}, x{0}, y{0}, z{0};
};
using Quat = QuatT<double>;

template <class T>
QuatT<T> multiply(const QuatT<T>& a, const QuatT<T>& b) {
  return {
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

template <class T>
QuatT<T> conjugate(const QuatT<T>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}

template <class T>
QuatT<T> normalized(const QuatT<T>& q) {
  using std::sqrt;
  const T s = T(1) / sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  return {q.w * s, q.x * s, q.y * s, q.z * s};
}

template <class T>
Mat3T<T> matrix_of(const QuatT<T>& q) {
  const T xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
  const T xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
  const T wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
  const T one(1), two(2);
  Mat3T<T> R;
  R << one - two * (yy + zz), two * (xy - wz), two * (xz + wy), two * (xy + wz),
      one - two * (xx + zz), two * (yz - wx), two * (xz - wy), two * (yz + wx),
      one - two * (xx + yy);
  return R;
}

template <class T>
Vec3T<T> rotate(const QuatT<T>& q, const Vec3T<T>& a) {
  const Vec3T<T> u(q.x, q.y, q.z);
  const Vec3T<T> t = T(2) * u.cross(a);
  return a + q.w * t + u.cross(t);
}

/// Quaternion of the rotation vector theta [rad].
template <class T>
QuatT<T> exp_rotation(const Vec3T<T>& theta) {
  using std::cos;
  using std::sin;
  using std::sqrt;
  const T s = theta.squaredNorm();
  T c, k;  // cos(|theta|/2), sin(|theta|/2)/|theta|
  if (value_of(s) < 1e-4) {
    c = T(1) - s * (T(1.0 / 8) - s * (T(1.0 / 384) - s * T(1.0 / 46080)));
    k = T(0.5) - s * (T(1.0 / 48) - s * (T(1.0 / 3840) - s * T(1.0 / 645120)));
  } else {
    const T a = sqrt(s);
    c = cos(a * T(0.5));
    k = sin(a * T(0.5)) / a;
  }
  return {c, k * theta[0], k * theta[1], k * theta[2]};
}

/// Rotation vector of a unit quaternion, length in [0, pi].
template <class T>
Vec3T<T> log_rotation(const QuatT<T>& q) {
  using std::atan2;
  using std::sqrt;
  const T sign = value_of(q.w) < 0 ? T(-1) : T(1);
  const Vec3T<T> u = Vec3T<T>(q.x, q.y, q.z) * sign;
  const T w = q.w * sign;
  const T s = u.squaredNorm();
  if (value_of(s) < 1e-10) {
    // 2 atan(n/w)/n with n^2 = s small
    const T r = s / (w * w);
    return u * (T(2) / w * (T(1) - r * (T(1.0 / 3) - r * T(0.2))));
  }
  const T n = sqrt(s);
  return u * (T(2) * atan2(n, w) / n);
}

/// p boxplus theta: the orientation p turned by the world-frame rotation vector theta.
/// Renormalised, so |p| = 1 holds to rounding over any number of steps.
template <class T>
QuatT<T> boxplus(const QuatT<T>& p, const Vec3T<T>& theta) {
  return normalized(multiply(exp_rotation(theta), p));
}

/// a boxminus b: the world-frame rotation vector with b boxplus theta = a.
template <class T>
Vec3T<T> boxminus(const QuatT<T>& a, const QuatT<T>& b) {
  return log_rotation(multiply(a, conjugate(b)));
}

template <class T>
Mat3T<T> cross_matrix(const Vec3T<T>& a) {
  Mat3T<T> A;
  A << T(0), -a[2], a[1], a[2], T(0), -a[0], -a[1], a[0], T(0);
  return A;
}

/// Left Jacobian of SO(3): (p boxplus (theta + d)) = (p boxplus theta) boxplus (J d) to first
/// order. It maps a change of the rotation vector to the tangent (world-frame) change of the
/// result.
template <class T>
Mat3T<T> left_jacobian(const Vec3T<T>& theta) {
  using std::cos;
  using std::sin;
  using std::sqrt;
  const T s = theta.squaredNorm();
  T a, b;  // (1 - cos t)/t^2, (t - sin t)/t^3
  if (value_of(s) < 1e-4) {
    a = T(0.5) - s * (T(1.0 / 24) - s * T(1.0 / 720));
    b = T(1.0 / 6) - s * (T(1.0 / 120) - s * T(1.0 / 5040));
  } else {
    const T t = sqrt(s);
    a = (T(1) - cos(t)) / s;
    b = (t - sin(t)) / (s * t);
  }
  const Mat3T<T> A = cross_matrix(theta);
  return Mat3T<T>::Identity() + a * A + b * (A * A);
}

}  // namespace orthant
