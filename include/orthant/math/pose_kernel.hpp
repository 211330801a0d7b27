// SPDX-License-Identifier: Apache-2.0
// math/pose_kernel.hpp: rigid poses X_AB = (position, orientation) of frame B in frame A.
//   r_A = x + R(p) r_B,   X_AC = X_AB X_BC
// Monogram names: X_WB maps points of B to the world W. A planar pose has x = (x, y, 0) and turns
// about z only, so one type serves both worlds.
#pragma once

#include <cmath>

#include "orthant/base/export.hpp"
#include "orthant/math/rotation_kernel.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

template <class T>
struct PoseT {
  Vec3T<T> x = Vec3T<T>(T(0), T(0), T(0));  // origin of B in A [m]
  QuatT<T> p;                               // orientation of B in A, unit
};
using Pose = PoseT<double>;

/// X_AB r_B: a point of B in A.
template <class T>
Vec3T<T> transform(const PoseT<T>& X, const Vec3T<T>& r) {
  return X.x + rotate(X.p, r);
}

/// X_AB^-1 r_A: a point of A in B.
template <class T>
Vec3T<T> inverse_transform(const PoseT<T>& X, const Vec3T<T>& r) {
  return rotate(conjugate(X.p), Vec3T<T>(r - X.x));
}

/// X_AC = X_AB X_BC.
template <class T>
PoseT<T> compose(const PoseT<T>& X_AB, const PoseT<T>& X_BC) {
  return {transform(X_AB, X_BC.x), multiply(X_AB.p, X_BC.p)};
}

/// X_BA of X_AB.
template <class T>
PoseT<T> inverse(const PoseT<T>& X) {
  const QuatT<T> p = conjugate(X.p);
  return {rotate(p, Vec3T<T>(-X.x)), p};
}

/// The pose of a planar body (x, y, theta): in the plane z = 0, turned about z.
template <class T>
PoseT<T> planar_pose(const T& x, const T& y, const T& theta) {
  using std::cos;
  using std::sin;
  const T half = theta * T(0.5);
  return {Vec3T<T>(x, y, T(0)), QuatT<T>{cos(half), T(0), T(0), sin(half)}};
}

/// The same numbers as another scalar, e.g. a double pose as constants in dual arithmetic.
template <class T, class S>
PoseT<T> pose_cast(const PoseT<S>& X) {
  return {Vec3T<T>(T(X.x[0]), T(X.x[1]), T(X.x[2])), {T(X.p.w), T(X.p.x), T(X.p.y), T(X.p.z)}};
}

}  // namespace orthant
