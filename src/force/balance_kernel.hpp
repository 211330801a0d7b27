// SPDX-License-Identifier: Apache-2.0
// force/balance_kernel.hpp: each object's share of the residual H v+ - k, in any scalar.
//   body      M (v+ - v*) - h f                    overdamped: h Mob^-1 v+ - h f
//   spring    J'[(h^2 K + h C) J v+ - h^2 K_ahead J v + h F_spring]   J v+ with the velocities of
//   prescribed bodies in
// The sum over a model is what assemble_dynamics() fills H and k with; in dual numbers it is the
// derivative a gradient needs, by q, v, u, parameters and the length h of the step.
#pragma once

#include "force/free_rotation_kernel.hpp"
#include "force/spring_kernel.hpp"
#include "model/joint_kernel.hpp"

namespace orthant {

/// Force at the centre of mass and torque, world axes.
template <class T>
struct WrenchT {
  Vec3T<T> force = Vec3T<T>(T(0), T(0), T(0));
  Vec3T<T> torque = Vec3T<T>(T(0), T(0), T(0));
};

/// Adds to a body's generalised force: planar (fx, fy, torque about z), spatial (force, torque).
template <class T>
void add_wrench(bool planar, const WrenchT<T>& w, const T& factor, T* out) {
  if (planar) {
    out[0] += factor * w.force[0];
    out[1] += factor * w.force[1];
    out[2] += factor * w.torque[2];
    return;
  }
  for (int i = 0; i < 3; ++i) {
    out[i] += factor * w.force[i];
    out[3 + i] += factor * w.torque[i];
  }
}

/// Linear and angular velocity from a body's own velocity numbers.
template <class T>
Vec3T<T> linear_part(bool planar, const T* v) {
  return Vec3T<T>(v[0], v[1], planar ? T(0) : v[2]);
}
template <class T>
Vec3T<T> angular_part(bool planar, const T* v) {
  if (planar) return Vec3T<T>(T(0), T(0), v[2]);
  return Vec3T<T>(v[3], v[4], v[5]);
}

/// ForceKind::Body and ActuatorKind::Body: `x` as stored, (force, torque).
template <class T>
WrenchT<T> body_force(bool planar, bool body_axes, const QuatT<T>& p, const T* x) {
  WrenchT<T> w;
  w.force = linear_part(planar, x);
  w.torque = angular_part(planar, x);
  if (body_axes) {
    w.force = rotate(p, w.force);
    w.torque = rotate(p, w.torque);
  }
  return w;
}

/// ForceKind::Point: `x` as stored, (point, force).
template <class T>
WrenchT<T> point_force(bool planar, bool body_axes, const QuatT<T>& p, const T* x) {
  const int n = planar ? 2 : 3;
  const Vec3T<T> point = linear_part(planar, x);
  WrenchT<T> w;
  w.force = linear_part(planar, x + n);
  if (body_axes) w.force = rotate(p, w.force);
  w.torque = rotate(p, point).cross(w.force);
  return w;
}

/// M (v+ - v*): `inertia` as stored (1 or 6 numbers), v and v_next the body's own.
template <class T>
WrenchT<T> inertial_balance(bool planar, const T& mass, const T* inertia, const QuatT<T>& p,
                            const T* v, const T* v_next, const T& h) {
  WrenchT<T> w;
  w.force = (linear_part(planar, v_next) - linear_part(planar, v)) * mass;
  const Vec3T<T> next = angular_part(planar, v_next), now = angular_part(planar, v);
  if (planar) {
    w.torque = (next - now) * inertia[0];
    return w;
  }
  const Mat3T<T> J = inertia_matrix(inertia);
  const Vec3T<T> coast = free_rotation<T>(J, p, now, h).omega;
  w.torque = world_inertia(p, J) * Vec3T<T>(next - coast);
  return w;
}

/// h Mob^-1 v+ of the overdamped law.
template <class T>
WrenchT<T> overdamped_balance(bool planar, const T& drag, const T& length, const T* v_next,
                              const T& h) {
  WrenchT<T> w;
  w.force = linear_part(planar, v_next) * (h * drag * length);
  w.torque = angular_part(planar, v_next) * (h * drag * length * length * length * T(1.0 / 12));
  return w;
}

/// Shares of the two bodies in a spring between points.
template <class T>
struct PairWrenchT {
  WrenchT<T> a, b;
};

/// Linear and angular velocity.
template <class T>
struct TwistT {
  Vec3T<T> linear, angular;
};

/// Of a point with the lever r (world axes) that turns by h omega: omega x it, times h, is how far
/// the turn takes the point.
template <class T>
Vec3T<T> mean_lever(const Vec3T<T>& r, const Vec3T<T>& omega, const T& h) {
  return left_jacobian(Vec3T<T>(omega * h)) * r;
}

/// ForceKind::Spring: `x` as stored (point_a, point_b, stiffness, damping, rest); velocities of
/// both bodies after the step and, unless null (overdamped), before: {A, B}. Those of a prescribed
/// body are its own, of the world 0.
template <class T>
PairWrenchT<T> spring_balance(bool planar, const T* x, const PoseT<T>& X_WA, const PoseT<T>& X_WB,
                              const TwistT<T>* next, const TwistT<T>* now, const T& h) {
  const int n = planar ? 2 : 3;
  const SpringT<T> spring{x[2 * n], x[2 * n + 1], x[2 * n + 2]};
  Vec3T<T> r_a = rotate(X_WA.p, linear_part(planar, x));
  Vec3T<T> r_b = rotate(X_WB.p, linear_part(planar, x + n));
  const Vec3T<T> d = (X_WA.x - X_WB.x) + (r_a - r_b);
  const auto rate_of = [&](const TwistT<T>* v) {
    return Vec3T<T>(v[0].linear + v[0].angular.cross(r_a) - v[1].linear - v[1].angular.cross(r_b));
  };
  SpringPlaceT<T> at;
  Vec3T<T> rate(T(0), T(0), T(0));
  if (now != nullptr) {
    r_a = mean_lever<T>(r_a, now[0].angular, h);
    r_b = mean_lever<T>(r_b, now[1].angular, h);
    rate = rate_of(now);
    const Vec3T<T> e = rate * h;
    at = spring_place(spring, d, &e);
  } else {
    at = spring_place(spring, d);
  }
  const T along = spring.stiffness * h * h + spring.damping * h, across = at.across * h * h;
  const Vec3T<T> push = spring_matrix(at.n, along, across) * rate_of(next) -
                        spring_matrix(at.n, T(0), across) * rate +
                        at.n * (spring.stiffness * at.stretch * h);
  PairWrenchT<T> w;
  w.a.force = push;
  w.a.torque = r_a.cross(push);
  w.b.force = -push;
  w.b.torque = -r_b.cross(push);
  return w;
}

/// A scalar along a joint's coordinate as a wrench on each body.
template <class T>
PairWrenchT<T> along_row(const JointRowT<T>& row, const T& push) {
  PairWrenchT<T> w;
  w.a.force = row.linear_a * push;
  w.a.torque = row.angular_a * push;
  w.b.force = row.linear_b * push;
  w.b.torque = row.angular_b * push;
  return w;
}

/// Rate of a joint's coordinate.
template <class T>
T row_rate(const JointRowT<T>& row, const Vec3T<T>& v_a, const Vec3T<T>& w_a, const Vec3T<T>& v_b,
           const Vec3T<T>& w_b) {
  return row.linear_a.dot(v_a) + row.angular_a.dot(w_a) + row.linear_b.dot(v_b) +
         row.angular_b.dot(w_b);
}

/// Spring and damper along a joint's coordinate: (h^2 k + h c) rate+ + h k stretch.
template <class T>
T joint_spring_balance(const T& stiffness, const T& damping, const T& stretch, const T& rate_next,
                       const T& h) {
  return (h * h * stiffness + h * damping) * rate_next + h * stiffness * stretch;
}

}  // namespace orthant
