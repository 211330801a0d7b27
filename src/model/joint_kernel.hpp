// SPDX-License-Identifier: Apache-2.0
// model/joint_kernel.hpp: (two bodies' places, joint parameters, t) => Psi, its rows, the
// coordinate.
//   d = p_A - p_B        p_A = x_A + R_A a, p_B = x_B + R_B b the anchors, world
//   rows = dPsi by the tangents (dx, dtheta) of A and B, both world axes, exact also where Psi != 0
// Anchors: Psi = d. Directions: Psi = z_A . x_B, z_A . y_B. Full turns: Psi = 2 vec(p_B^-1 p_A),
// which is the rotation vector to second order and has a bilinear derivative. It lives in this room
// because joint springs (force) and joint rows (constraint) both need it.
#pragma once

#include <cmath>
#include <numbers>

#include "orthant/model/model.hpp"

namespace orthant {

/// Where a body is; theta is the planar angle, not wrapped. The world is PlacedT{}.
template <class T>
struct PlacedT {
  PoseT<T> pose;
  T theta{0};
};

/// `q`: the body's own numbers (3 or 7).
template <class T>
PlacedT<T> placed(bool planar, const T* q) {
  if (planar) return {planar_pose(q[0], q[1], q[2]), q[2]};
  return {{Vec3T<T>(q[0], q[1], q[2]), {q[3], q[4], q[5], q[6]}}, T(0)};
}

/// Derivative of one scalar by the tangents of the two bodies. A planar body takes x, y of the
/// linear and z of the angular part.
template <class T>
struct JointRowT {
  Vec3T<T> linear_a, angular_a, linear_b, angular_b;
};
using JointRow = JointRowT<double>;

/// Both joint frames in the world.
template <class T>
struct JointFramesT {
  Vec3T<T> r_a, r_b;  ///< anchors from the centres of mass
  Vec3T<T> d;         ///< anchor A minus anchor B
  QuatT<T> p_a, p_b;  ///< orientations
  T angle{0};         ///< planar: turn of frame A against frame B, not wrapped
};

/// Numbers a frame takes in the parameters.
inline constexpr Index frame_size(bool planar) { return planar ? 3 : 7; }

/// `parameters`: the joint's own, from Joint::parameter_begin.
template <class T>
JointFramesT<T> joint_frames(bool planar, const PlacedT<T>& a, const PlacedT<T>& b,
                             const T* parameters) {
  const T* second = parameters + frame_size(planar);
  const PoseT<T> X_AJ = frame_pose(planar, parameters), X_BJ = frame_pose(planar, second);
  JointFramesT<T> f;
  f.r_a = rotate(a.pose.p, X_AJ.x);
  f.r_b = rotate(b.pose.p, X_BJ.x);
  f.d = (a.pose.x - b.pose.x) + (f.r_a - f.r_b);
  f.p_a = multiply(a.pose.p, X_AJ.p);
  f.p_b = multiply(b.pose.p, X_BJ.p);
  if (planar) f.angle = a.theta + parameters[2] - b.theta - second[2];
  return f;
}

namespace internal {

template <class T>
Vec3T<T> unit_axis(int k) {
  Vec3T<T> e(T(0), T(0), T(0));
  e[k] = T(1);
  return e;
}

/// Axis k of a frame with orientation p: column k of its matrix.
template <class T>
Vec3T<T> turned_axis(const QuatT<T>& p, int k) {
  const T u[3] = {p.x, p.y, p.z};
  const int i = (k + 1) % 3, j = (k + 2) % 3;
  Vec3T<T> axis;
  axis[k] = T(1) - T(2) * (u[i] * u[i] + u[j] * u[j]);
  axis[i] = T(2) * (u[k] * u[i] + p.w * u[j]);
  axis[j] = T(2) * (u[k] * u[j] - p.w * u[i]);
  return axis;
}

/// Row of n . d with n a direction fixed in the world.
template <class T>
JointRowT<T> point_row(const JointFramesT<T>& f, const Vec3T<T>& n) {
  return {n, f.r_a.cross(n), -n, -f.r_b.cross(n)};
}

/// Row of n . d with n fixed in frame B: the turn of n moves B's lever arm to anchor A.
template <class T>
JointRowT<T> slide_row(const JointFramesT<T>& f, const Vec3T<T>& n) {
  return {n, f.r_a.cross(n), -n, -Vec3T<T>(f.r_b + f.d).cross(n)};
}

/// Row of a quantity that sees only the relative turn, with gradient g.
template <class T>
JointRowT<T> turn_row(const Vec3T<T>& g) {
  const Vec3T<T> zero(T(0), T(0), T(0));
  return {zero, g, zero, -g};
}

/// p_B^-1 p_A with scalar part >= 0.
template <class T>
QuatT<T> relative_turn(const JointFramesT<T>& f) {
  QuatT<T> r = multiply(conjugate(f.p_b), f.p_a);
  if (value_of(r.w) < 0) r = {-r.w, -r.x, -r.y, -r.z};
  return r;
}

/// Component k of 2 vec(p_B^-1 p_A), and its row: with u the turn in frame B, d = w u + u x vec.
template <class T>
T turn_value(const JointFramesT<T>& f, bool planar, int k) {
  if (planar) return f.angle;
  const QuatT<T> r = relative_turn(f);
  return T(2) * (k == 0 ? r.x : k == 1 ? r.y : r.z);
}
template <class T>
JointRowT<T> turn_row(const JointFramesT<T>& f, bool planar, int k) {
  if (planar) return turn_row(unit_axis<T>(2));
  const QuatT<T> r = relative_turn(f);
  const Vec3T<T> e = unit_axis<T>(k), vec(r.x, r.y, r.z);
  return turn_row(rotate(f.p_b, Vec3T<T>(r.w * e + vec.cross(e))));
}

/// z_A . (axis k of B): 0 where A's axis of turn is B's.
template <class T>
T tilt_value(const JointFramesT<T>& f, int k) {
  return turned_axis(f.p_a, 2).dot(turned_axis(f.p_b, k));
}
template <class T>
JointRowT<T> tilt_row(const JointFramesT<T>& f, int k) {
  const Vec3T<T> z = turned_axis(f.p_a, 2), x = turned_axis(f.p_b, k);
  return turn_row(Vec3T<T>(z.cross(x)));
}

/// What row i of a joint holds: which function, and along which axis.
enum class JointPart : std::uint8_t { Point, Slide, Turn, Tilt, Length };
struct JointPartAxis {
  JointPart part;
  int axis;
};
inline JointPartAxis joint_part(JointKind kind, bool planar, Index i) {
  const int n = static_cast<int>(i);
  switch (kind) {
    case JointKind::Weld:
      if (planar)
        return n < 2 ? JointPartAxis{JointPart::Point, n} : JointPartAxis{JointPart::Turn, 2};
      return n < 3 ? JointPartAxis{JointPart::Point, n} : JointPartAxis{JointPart::Turn, n - 3};
    case JointKind::Revolute:
      return n < 3 ? JointPartAxis{JointPart::Point, n} : JointPartAxis{JointPart::Tilt, n - 3};
    case JointKind::Prismatic:
      if (planar)
        return n < 1 ? JointPartAxis{JointPart::Slide, 1} : JointPartAxis{JointPart::Turn, 2};
      return n < 2 ? JointPartAxis{JointPart::Slide, n + 1} : JointPartAxis{JointPart::Turn, n - 2};
    case JointKind::Ball:
      return {JointPart::Point, n};
    case JointKind::Distance:
      return {JointPart::Length, 0};
    case JointKind::Planar:
      return n < 1 ? JointPartAxis{JointPart::Slide, 2} : JointPartAxis{JointPart::Tilt, n - 1};
    case JointKind::LockX:
      return {JointPart::Point, 0};
    case JointKind::LockY:
      return {JointPart::Point, 1};
    case JointKind::LockZ:
      return {JointPart::Point, 2};
    case JointKind::LockRotation:
      break;
  }
  return {JointPart::Turn, planar ? 2 : n};
}

/// d / |d|; where the anchors meet, the fixed direction x: a rod of length 0 has no direction.
template <class T>
Vec3T<T> direction_of(const Vec3T<T>& d) {
  using std::sqrt;
  const T square = d.squaredNorm();
  if (!(value_of(square) > 1e-200)) return unit_axis<T>(0);
  return d / sqrt(square);
}

}  // namespace internal

/// Entry i of Psi of the joint itself. `length`: of a Distance, otherwise unused.
template <class T>
T joint_residual(JointKind kind, bool planar, Index i, const JointFramesT<T>& f, const T& length) {
  using std::sqrt;
  const auto [part, k] = internal::joint_part(kind, planar, i);
  switch (part) {
    case internal::JointPart::Point:
      return f.d[k];
    case internal::JointPart::Slide:
      return internal::turned_axis(f.p_b, k).dot(f.d);
    case internal::JointPart::Turn:
      return internal::turn_value(f, planar, k);
    case internal::JointPart::Tilt:
      return internal::tilt_value(f, k);
    case internal::JointPart::Length:
      break;
  }
  return sqrt(f.d.squaredNorm()) - length;
}

/// Row i: the derivative of joint_residual() by the tangents of A and B.
template <class T>
JointRowT<T> joint_row(JointKind kind, bool planar, Index i, const JointFramesT<T>& f) {
  const auto [part, k] = internal::joint_part(kind, planar, i);
  switch (part) {
    case internal::JointPart::Point:
      return internal::point_row(f, internal::unit_axis<T>(k));
    case internal::JointPart::Slide:
      return internal::slide_row(f, internal::turned_axis(f.p_b, k));
    case internal::JointPart::Turn:
      return internal::turn_row(f, planar, k);
    case internal::JointPart::Tilt:
      return internal::tilt_row(f, k);
    case internal::JointPart::Length:
      break;
  }
  return internal::point_row(f, internal::direction_of(f.d));
}

/// The coordinate of a Revolute (angle about z of B; in space in (-pi, pi]), Prismatic (path along
/// x of B) or Distance (length); A relative to B.
template <class T>
T joint_coordinate(JointKind kind, bool planar, const JointFramesT<T>& f) {
  using std::atan2;
  using std::sqrt;
  if (kind == JointKind::Prismatic) return internal::turned_axis(f.p_b, 0).dot(f.d);
  if (kind == JointKind::Distance) return sqrt(f.d.squaredNorm());
  if (planar) return f.angle;
  const QuatT<T> r = internal::relative_turn(f);
  return T(2) * atan2(r.z, r.w);
}

/// The same of a joint: a hinge in space turns within half a turn of its middle.
template <class T>
T joint_coordinate(const Joint& joint, const JointFramesT<T>& f) {
  const T s = joint_coordinate(joint.kind, joint.planar, f);
  if (joint.middle == 0) return s;
  const double turn = 2 * std::numbers::pi;
  return s + T(turn * std::round((joint.middle - value_of(s)) / turn));
}

template <class T>
JointRowT<T> joint_coordinate_row(JointKind kind, bool planar, const JointFramesT<T>& f) {
  if (kind == JointKind::Prismatic) return internal::slide_row(f, internal::turned_axis(f.p_b, 0));
  if (kind == JointKind::Distance) return internal::point_row(f, internal::direction_of(f.d));
  if (planar) return internal::turn_row(internal::unit_axis<T>(2));
  // d 2 atan2(z, w) with (dw, dvec) = (-u.vec, w u + u x vec)/2; (0, 0, 1) where the axes agree.
  const QuatT<T> r = internal::relative_turn(f);
  const T n = r.w * r.w + r.z * r.z;
  const Vec3T<T> g((r.w * r.y + r.z * r.x) / n, (r.z * r.y - r.w * r.x) / n, T(1));
  return internal::turn_row(rotate(f.p_b, g));
}

/// Value of a table at time t; `parameters` is the whole vector.
template <class T>
T table_value(const TimeTable& table, const T* parameters, double t) {
  if (table.empty()) return T(0);
  const T* y = parameters + table.value_begin;
  const std::size_t n = table.times.size();
  if (t <= table.times.front()) return y[0];
  if (t >= table.times.back()) return y[n - 1];
  std::size_t i = 1;
  while (table.times[i] < t) ++i;
  const double s = (t - table.times[i - 1]) / (table.times[i] - table.times[i - 1]);
  return y[i - 1] * T(1 - s) + y[i] * T(s);
}

/// Its slope by time; at a corner the one of the piece that begins there.
template <class T>
T table_slope(const TimeTable& table, const T* parameters, double t) {
  if (table.empty() || t < table.times.front() || t >= table.times.back()) return T(0);
  const T* y = parameters + table.value_begin;
  std::size_t i = 1;
  while (table.times[i] <= t) ++i;
  return (y[i] - y[i - 1]) / T(table.times[i] - table.times[i - 1]);
}

/// Where a motor wants the coordinate at time t (Position), or how fast (Velocity).
template <class T>
T motor_target(const Motor& motor, const T* parameters, double t) {
  const T drive = table_value(motor.table, parameters, t);
  if (motor.kind == MotorKind::Velocity) return parameters[motor.velocity] + drive;
  return parameters[motor.target] + parameters[motor.velocity] * T(t) + drive;
}

/// How fast a motor wants the coordinate to change at time t, either kind.
template <class T>
T motor_speed(const Motor& motor, const T* parameters, double t) {
  if (motor.kind == MotorKind::Velocity) return motor_target(motor, parameters, t);
  return parameters[motor.velocity] + table_slope(motor.table, parameters, t);
}

/// A difference of coordinates of the joint; for a hinge in space the nearest turn, unless its
/// limits tell the turns apart.
template <class T>
T nearest_turn(const Joint& joint, const T& x) {
  if (joint.kind != JointKind::Revolute || joint.planar) return x;
  if (joint.lower != kNone && joint.upper != kNone) return x;
  const double turn = 2 * std::numbers::pi;
  return x - T(turn * std::round(value_of(x) / turn));
}

/// Psi of a Position motor: coordinate minus target.
template <class T>
T motor_residual(const Joint& joint, const JointFramesT<T>& f, const T* parameters, double t) {
  return nearest_turn<T>(joint,
                         joint_coordinate(joint, f) - motor_target(joint.motor, parameters, t));
}

/// Psi of a joint that follows another: f and g are the frames of the two.
template <class T>
T follow_residual(const Joint& joint, const JointFramesT<T>& f, const Joint& leader,
                  const JointFramesT<T>& g, const T& ratio, const T& offset) {
  return nearest_turn<T>(joint,
                         joint_coordinate(joint, f) - ratio * joint_coordinate(leader, g) - offset);
}

}  // namespace orthant
