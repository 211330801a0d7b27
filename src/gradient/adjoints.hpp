// SPDX-License-Identifier: Apache-2.0
// gradient/adjoints.hpp: the elements of gradient/elements.hpp that every step is full of, pulled
// back by hand: here twists, frames and bodies, beside it contacts and joints.
//   L = α·(F, r_a × F + τ) − β·(F, r_b × F + τ) + Σ y_i f_i·(v_a + ω_a × r_a − v_b − ω_b × r_b) + …
// An operation on the tape costs ten times one in double, and vectors need none.
#pragma once

#include "gradient/elements.hpp"

namespace orthant::internal {

/// Adds a derivative by a twist or tangent (linear, angular) to a vector laid out as State::v.
inline void add_twist(const Body& body, const Vec3& linear, const Vec3& angular, VecX& out) {
  if (body.v_begin == kNone) return;
  double* to = out.data() + body.v_begin;
  if (body.planar) {
    to[0] += linear[0];
    to[1] += linear[1];
    to[2] += angular[2];
    return;
  }
  for (int i = 0; i < 3; ++i) to[i] += linear[i], to[3 + i] += angular[i];
}

/// Linear and angular part of a body's numbers in a vector laid out as State::v; zero without.
struct Twist {
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};
inline Twist twist_in(const Body& body, const VecX& from) {
  double x[6] = {};
  for (Index i = 0; i < body.v_size; ++i) x[i] = from[body.v_begin + i];
  return {linear_part(body.planar, x), angular_part(body.planar, x)};
}

/// Weights on the balance of a body; zero where it has none.
inline Twist weights_on(const Pull& r, const Body& body) {
  return body.is_dynamic() ? twist_in(body, r.weights().equations.balance) : Twist{};
}
/// Velocities at the end of a solve; those of kinematic bodies are prescribed.
inline Twist end_twist(const Pull& r, const Body& body) {
  return twist_in(body, body.is_dynamic() ? r.x.answer.v : r.x.record.v);
}

/// A frame of a body (of a shape, of a joint) and the derivative by its place, which goes to the
/// body and to the parameters that put it there.
class FrameAdjoint {
 public:
  using T = taping::Traced;

  /// `body`: nullptr for the world. `offset`: where its parameters begin.
  FrameAdjoint(Pull& r, const Body* body, bool planar, Index offset, const Vec3& shift)
      : r_(r), body_(body), planar_(planar), offset_(offset) {
    if (body != nullptr) X_B_ = body_pose<double>(*body, r.x.record.q.data());
    X_B_.x += shift;
    R_B_ = matrix_of(X_B_.p);
    const Pose X_BF = frame_pose<double>(planar, r.x.parameters.values.data() + offset);
    X_F_.x = X_B_.x + R_B_ * X_BF.x;
    X_F_.p = multiply(X_B_.p, X_BF.p);
  }
  const Pose& body_pose_W() const { return X_B_; }
  const Pose& pose_W() const { return X_F_; }

  Vec3 by_x = Vec3::Zero();     ///< by its origin
  Vec3 by_turn = Vec3::Zero();  ///< by its turn about the origin
  /// A derivative by a point fixed in it, `lever` from its origin.
  void add_point(const Vec3& lever, const Vec3& by) {
    by_x += by;
    by_turn += lever.cross(by);
  }

  /// Where it is, with its tangents as inputs of the tape: p ⊞ θ = p + ½ (0, θ) p + O(θ²).
  PoseT<T> on_tape(bool turns) {
    PoseT<T> X = pose_cast<T>(X_F_);
    if (!varies()) return X;
    for (int i = 0; i < (planar_ ? 2 : 3); ++i) X.x[i] = r_.local(X_F_.x[i], by_x.data() + i);
    if (!turns) return X;
    T turn[3] = {T(0), T(0), T(0)};
    for (int i = planar_ ? 2 : 0; i < 3; ++i) turn[i] = r_.local(0, by_turn.data() + i);
    const Quat& p = X_F_.p;
    const auto sum = [&](double at, double s0, double s1, double s2) {
      return T(at) + turn[0] * T(0.5 * s0) + turn[1] * T(0.5 * s1) + turn[2] * T(0.5 * s2);
    };
    X.p = {sum(p.w, -p.x, -p.y, -p.z), sum(p.x, p.w, p.z, -p.y), sum(p.y, -p.z, p.w, p.x),
           sum(p.z, p.y, -p.x, p.w)};
    return X;
  }

  /// Adds all to the inputs: x_F = x + R o, so δx_F = δx + δθ × R o + R δo.
  void finish() const {
    if (!varies()) return;
    const Vec3 lever = X_F_.x - X_B_.x;
    if (body_ != nullptr) add_twist(*body_, by_x, by_turn + lever.cross(by_x), r_.inputs().q);
    if (!r_.x.with_parameters) return;
    const Vec3 by_offset = R_B_.transpose() * by_x;
    double* to = r_.inputs().parameters.data() + offset_;
    if (planar_) {
      to[0] += by_offset[0];
      to[1] += by_offset[1];
      to[2] += by_turn[2];
      return;
    }
    for (int i = 0; i < 3; ++i) to[i] += by_offset[i];
    // Turn of the frame in the body by its quaternion u: 2 Im(δu ū)/|u|².
    const double* u = r_.x.parameters.values.data() + offset_ + 3;
    const Vec3 t = R_B_.transpose() * by_turn, axis(u[1], u[2], u[3]);
    const double factor = 2 / (u[0] * u[0] + axis.squaredNorm());
    to[3] -= factor * t.dot(axis);
    const Vec3 by_axis = factor * (u[0] * t - axis.cross(t));
    for (int i = 0; i < 3; ++i) to[4 + i] += by_axis[i];
  }

 private:
  bool varies() const {
    return (body_ != nullptr && body_->v_begin != kNone) || r_.x.with_parameters;
  }

  Pull& r_;
  const Body* body_;
  bool planar_;
  Index offset_;
  Pose X_B_, X_F_;
  Mat3 R_B_;
};

/// A derivative by the matrix of inertia_matrix(), to its six numbers.
inline void add_inertia(const Mat3& by_J, double* to) {
  for (int i = 0; i < 3; ++i) to[i] += by_J(i, i);
  to[3] += by_J(0, 1) + by_J(1, 0);
  to[4] += by_J(0, 2) + by_J(2, 0);
  to[5] += by_J(1, 2) + by_J(2, 1);
}

/// body_element(): M (v* − v⁺) + h m g with weights α, a; and the flight with weights d. Gyroscopic
/// terms by the conditions of their midpoint W: F = J W − J s + κ W × J W = 0, s the spin in body
/// axes, κ = ½ h tan(x)/x. A held spin is that before the turn: E = 1.
inline void body_adjoint(Pull& r, BodyId id, bool flies) {
  constexpr double kOneTurn = 2;  // [rad] beyond it the kernel takes sub-steps
  const Model& model = r.x.model;
  const Body& body = model.body(id);
  const double h = r.x.record.duration;
  const Twist now = twist_in(body, r.x.record.v), next = twist_in(body, r.x.answer.v);
  if (model.law() == LawOfMotion::Overdamped || h * now.angular.norm() >= kOneTurn)
    return body_element(r, id, flies);
  const bool held = !body.planar && holds_spins(r.x.record) && !flies;
  const double* values = r.x.parameters.values.data();
  const Twist weight = twist_in(body, r.weights().equations.balance);
  const Twist d = flies ? twist_in(body, r.weights().delta) : Twist{};
  const double mass = values[body.mass];
  Vec3 g(values[model.gravity()], values[model.gravity() + 1], values[model.gravity() + 2]);
  if (body.planar) g[2] = 0;
  SolveInputs& in = r.inputs();
  const Vec3 change = now.linear - next.linear + h * g;
  in.duration += mass * weight.linear.dot(g) + 0.5 * d.linear.dot(now.linear + next.linear);
  const Vec3 by_linear = mass * weight.linear + 0.5 * h * d.linear;
  if (r.x.with_parameters) {
    in.parameters[body.mass] += weight.linear.dot(change);
    for (int i = 0; i < (body.planar ? 2 : 3); ++i)
      in.parameters[model.gravity() + i] += h * mass * weight.linear[i];
  }
  const Vec3& a = weight.angular;
  if (body.planar) {
    const Vec3 by_spin = values[body.inertia] * a + 0.5 * h * d.angular;
    in.duration += 0.5 * d.angular.dot(now.angular + next.angular);
    if (r.x.with_parameters) in.parameters[body.inertia] += a.dot(now.angular - next.angular);
    add_twist(body, by_linear, by_spin, in.v);
    return;
  }
  const Mat3 R = matrix_of(body_pose<double>(body, r.x.record.q.data()).p),
             J = inertia_matrix<double>(values + body.inertia);
  const bool turns = now.angular.squaredNorm() > 0;
  Vec3 coast = now.angular, turn = Vec3::Zero(), W = Vec3::Zero(), rate = W;
  const Vec3 s = R.transpose() * now.angular;
  Vec3 leaving = s;  // spin before the turn, world axes
  Mat3 E = Mat3::Identity();
  const bool ball = is_isotropic(J);  // has no gyroscopic terms: its midpoint is its spin
  if (turns) {
    W = ball ? s : midpoint_omega<double>(J, J * s, s, h);
    rate = R * W;
    if (!held) turn = h * rate;
    E = matrix_of(exp_rotation(turn));
    leaving = R * (2 * W - s);
    coast = E * leaving;
  }
  const Vec3 c = coast - next.angular;
  const Vec3 a_B = R.transpose() * a, c_B = R.transpose() * c;  // body axes
  const Vec3 Ia = R * (J * a_B), Ic = R * (J * c_B);
  const Vec3 by_coast = Ia - 0.5 * h * d.angular;
  Vec3 by_turn = d.angular, by_theta = Ic.cross(a) - c.cross(Ia), by_spin;
  Mat3 by_J = a_B * c_B.transpose();
  in.duration += 0.5 * d.angular.dot(next.angular - coast);
  if (!turns) {
    by_spin = by_coast + h * d.angular;
  } else {
    if (!held) by_turn += left_jacobian(turn).transpose() * coast.cross(by_coast);
    const Vec3 back = E.transpose() * by_coast, z = R.transpose() * back;
    by_theta += leaving.cross(back) + turn.cross(by_turn);
    in.duration += by_turn.dot(rate);
    const Vec3 by_W = 2 * z + h * (R.transpose() * by_turn);
    double ratio = 0, slope = 0;
    tangent_ratio<double>(0.25 * h * h * W.squaredNorm(), ratio, slope);
    const double half = 0.5 * h, kappa = ratio * half;
    Vec3 y = by_W / J(0, 0);
    if (!ball) {
      const Vec3 JW = J * W, gyro = W.cross(JW);
      Mat3 A = J + (cross_matrix(W) * J - cross_matrix(JW)) * kappa;
      A += gyro * W.transpose() * (slope * h * half * half);
      y = solve3<double>(A.transpose(), by_W);
      in.duration -= (0.5 * ratio + slope * half * half * W.squaredNorm()) * gyro.dot(y);
    }
    by_J -= y * (W - s).transpose() + kappa * y.cross(W) * W.transpose();
    const Vec3 by_s = R * (J * y - z);
    by_spin = by_s;
    by_theta -= now.angular.cross(by_s);
  }
  add_twist(body, by_linear, by_spin, in.v);
  add_twist(body, Vec3::Zero(), by_theta, in.q);
  if (r.x.with_parameters) add_inertia(by_J, in.parameters.data() + body.inertia);
}

/// mass_element(): M (v − v⁺), or −M δ where there is no v.
inline void mass_adjoint(Pull& r, BodyId id, bool with_velocity) {
  const Body& body = r.x.model.body(id);
  if (r.x.model.law() == LawOfMotion::Overdamped) return mass_element(r, id, with_velocity);
  const double* values = r.x.parameters.values.data();
  const Twist weight = twist_in(body, r.weights().equations.balance);
  const Twist end = twist_in(body, r.x.answer.v);
  const Twist now = with_velocity ? twist_in(body, r.x.record.v) : Twist{};
  const Vec3 change = now.linear - end.linear, c = now.angular - end.angular, &a = weight.angular;
  SolveInputs& in = r.inputs();
  Vec3 by_spin;
  if (r.x.with_parameters) in.parameters[body.mass] += weight.linear.dot(change);
  if (body.planar) {
    by_spin = values[body.inertia] * a;
    if (r.x.with_parameters) in.parameters[body.inertia] += a.dot(c);
  } else {
    const Mat3 R = matrix_of(body_pose<double>(body, r.x.record.q.data()).p);
    const Mat3 J = inertia_matrix<double>(values + body.inertia);
    const Vec3 a_B = R.transpose() * a, c_B = R.transpose() * c;  // body axes
    const Vec3 Ic = R * (J * c_B);
    by_spin = R * (J * a_B);
    add_twist(body, Vec3::Zero(), Ic.cross(a) - c.cross(by_spin), in.q);
    if (r.x.with_parameters)
      add_inertia(a_B * c_B.transpose(), in.parameters.data() + body.inertia);
  }
  if (with_velocity) add_twist(body, values[body.mass] * weight.linear, by_spin, in.v);
}

}  // namespace orthant::internal
