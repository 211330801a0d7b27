// SPDX-License-Identifier: Apache-2.0
// gradient/joint_adjoint.hpp: bilateral_element() without a motor, pulled back by hand.
//   L = Σ_i s_i·row_i + f_i Ψ_i:  what each kind of row asks of levers, anchors and turns
// The formulas are those of model/joint_kernel.hpp, where the rows are. Private to the room.
#pragma once

#include "gradient/adjoints.hpp"

namespace orthant::internal {

/// What the rows of a joint are made of, the frames as matrices.
struct JointPlace {
  JointFramesT<double> frames;
  Mat3 R_a, R_b;
};

/// Derivatives by it.
struct JointFramesAdjoint {
  Vec3 r_a = Vec3::Zero(), r_b = Vec3::Zero(), d = Vec3::Zero();
  Vec3 turn_a = Vec3::Zero(), turn_b = Vec3::Zero();  // of the two frames
  double length = 0;
};

/// What one row is weighted with: its two halves by y times the twists of the bodies and γ times
/// the weights on their balances, its entry of Ψ by f.
struct JointRowWeights {
  const Twist *twist, *weight;  // of A and of B
  double y, gamma, f;

  Vec3 angular(int k) const { return y * twist[k].angular + gamma * weight[k].angular; }
  Vec3 linear_difference() const {
    return y * (twist[0].linear - twist[1].linear) + gamma * (weight[0].linear - weight[1].linear);
  }
  Vec3 angular_difference() const { return angular(0) - angular(1); }
};

inline void joint_row_adjoint(const Joint& j, Index i, const JointPlace& place,
                              const JointRowWeights& w, JointFramesAdjoint& by) {
  const JointFramesT<double>& x = place.frames;
  const auto [part, k] = joint_part(j.kind, j.planar, i);
  const auto along = [&](const Vec3& n) {  // a row along n through both anchors
    by.r_a += n.cross(w.angular(0));
    by.r_b -= n.cross(w.angular(1));
  };
  switch (part) {
    case JointPart::Point: {  // along an axis of the world
      const int k1 = k == 2 ? 0 : k + 1, k2 = k == 0 ? 2 : k - 1;
      const Vec3 a = w.angular(0), b = w.angular(1);
      by.r_a[k1] -= a[k2];
      by.r_a[k2] += a[k1];
      by.r_b[k1] += b[k2];
      by.r_b[k2] -= b[k1];
      by.d[k] += w.f;
      return;
    }
    case JointPart::Length: {
      by.length -= w.f;
      const double length = x.d.norm();
      if (!(x.d.squaredNorm() > 1e-200))  // has no direction: that of the kernel is held
        return along(Vec3::UnitX());
      const Vec3 n = x.d / length;
      const Vec3 by_n =
          w.linear_difference() + w.angular(0).cross(x.r_a) - w.angular(1).cross(x.r_b);
      along(n);
      by.d += (by_n - n.dot(by_n) * n) / length + w.f * n;
      return;
    }
    case JointPart::Slide: {  // n fixed in B, whose lever reaches to anchor A
      const Vec3 n = place.R_b.col(k), b = w.angular(1);
      const Vec3 by_n = w.linear_difference() + w.angular(0).cross(x.r_a) -
                        b.cross(Vec3(x.r_b + x.d)) + w.f * x.d;
      along(n);
      by.d += w.f * n - n.cross(b);
      by.turn_b += n.cross(by_n);
      return;
    }
    case JointPart::Tilt: {  // z × x and z·x, z of A and x of B
      const Vec3 z = place.R_a.col(2), axis = place.R_b.col(k), turn = w.angular_difference();
      by.turn_a += z.cross(Vec3(axis.cross(turn) + w.f * axis));
      by.turn_b += axis.cross(Vec3(turn.cross(z) + w.f * z));
      return;
    }
    case JointPart::Turn: {
      if (j.planar) {
        by.turn_a[2] += w.f;
        by.turn_b[2] -= w.f;
        return;
      }
      // g = R_B m, m = r e + vec × e, Ψ = 2 vec·e; by the turn u of A against B in B's axes:
      // δr = −½ u·vec, δvec = ½ (r u + u × vec).
      const Quat p = relative_turn(x);
      const Vec3 e = Vec3::Unit(k), vec(p.x, p.y, p.z), turn = w.angular_difference();
      const Vec3 by_m = place.R_b.transpose() * turn, by_vec = e.cross(by_m) + 2 * w.f * e;
      const Vec3 by_u = 0.5 * (p.w * by_vec + vec.cross(by_vec) - by_m[k] * vec);
      const Vec3 world = place.R_b * by_u, g = place.R_b * (p.w * e + vec.cross(e));
      by.turn_a += world;
      by.turn_b += g.cross(turn) - world;
      return;
    }
  }
}

inline void bilateral_adjoint(Pull& r, const Joint& j, JointUse use, double beta) {
  if (j.motor_row != kNone) return bilateral_element(r, j, use, beta);
  if (j.row_count == 0) return;
  const Model& model = r.x.model;
  const double* values = r.x.parameters.values.data();
  const Body* bodies[2] = {j.a == kWorld ? nullptr : &model.body(j.a),
                           j.b == kWorld ? nullptr : &model.body(j.b)};
  const Index second = j.parameter_begin + frame_size(j.planar);
  FrameAdjoint A(r, bodies[0], j.planar, j.parameter_begin, Vec3::Zero());
  FrameAdjoint B(r, bodies[1], j.planar, second, Vec3::Zero());
  JointPlace place;
  JointFramesT<double>& f = place.frames;
  f.r_a = A.pose_W().x - A.body_pose_W().x;
  f.r_b = B.pose_W().x - B.body_pose_W().x;
  f.d = A.pose_W().x - B.pose_W().x;
  f.p_a = A.pose_W().p;
  f.p_b = B.pose_W().p;
  place.R_a = matrix_of(f.p_a);
  place.R_b = matrix_of(f.p_b);
  Twist twist[2], weight[2];
  bool prescribed = false;  // velocities of kinematic bodies are inputs
  if (j.planar) f.angle = values[j.parameter_begin + 2] - values[second + 2];
  for (int k = 0; k < 2; ++k) {
    if (bodies[k] == nullptr) continue;
    const Body& body = *bodies[k];
    weight[k] = weights_on(r, body);
    if (use != JointUse::Position || body.is_dynamic()) twist[k] = end_twist(r, body);
    if (j.planar) f.angle += (k == 0 ? 1 : -1) * r.x.record.q[body.q_begin + 2];
    prescribed = prescribed || (use != JointUse::Position && !body.is_dynamic());
  }
  const double factor = use == JointUse::Position ? 1 : beta > 0 ? beta / r.x.record.duration : 0;
  JointFramesAdjoint by;
  for (Index i = 0; i < j.row_count; ++i) {
    const double y = r.weights().equations.bilateral[j.row_begin + i];
    const double gamma = r.x.answer.gamma[j.row_begin + i];
    joint_row_adjoint(j, i, place, {twist, weight, y, gamma, y * factor}, by);
    if (prescribed) {
      const JointRow row = joint_row<double>(j.kind, j.planar, i, f);
      if (bodies[0] != nullptr && !bodies[0]->is_dynamic())
        add_twist(*bodies[0], y * row.linear_a, y * row.angular_a, r.inputs().v);
      if (bodies[1] != nullptr && !bodies[1]->is_dynamic())
        add_twist(*bodies[1], y * row.linear_b, y * row.angular_b, r.inputs().v);
    }
  }
  if (j.length != kNone && r.x.with_parameters) r.inputs().parameters[j.length] += by.length;
  A.by_x = by.r_a + by.d;
  A.by_turn = by.turn_a;
  B.by_x = by.r_b - by.d;
  B.by_turn = by.turn_b;
  A.finish();
  B.finish();
  if (bodies[0] != nullptr) add_twist(*bodies[0], -by.r_a, Vec3::Zero(), r.inputs().q);
  if (bodies[1] != nullptr) add_twist(*bodies[1], -by.r_b, Vec3::Zero(), r.inputs().q);
}

}  // namespace orthant::internal
