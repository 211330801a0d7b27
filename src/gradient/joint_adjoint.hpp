// SPDX-License-Identifier: Apache-2.0
// gradient/joint_adjoint.hpp: the rows of a joint (bilateral_element() without a motor) and what
// acts along its coordinate (coordinate_element()), pulled back by hand.
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

inline void joint_part_adjoint(JointPart part, int k, bool planar, const JointPlace& place,
                               const JointRowWeights& w, JointFramesAdjoint& by) {
  const JointFramesT<double>& x = place.frames;
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
      if (planar) {
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

/// A hinge in space: s = 2 atan2(z, w) of p = p_B⁻¹ p_A and its row R_B g,
///   g = ((w y + z x)/n, (z y − w x)/n, 1),  n = w² + z²
inline void hinge_coordinate_adjoint(const JointPlace& place, const JointRowWeights& w,
                                     JointFramesAdjoint& by) {
  const Quat p = relative_turn(place.frames);
  const Vec3 vec(p.x, p.y, p.z), turn = w.angular_difference();
  const double n = p.w * p.w + p.z * p.z;
  const double gx = (p.w * p.y + p.z * p.x) / n, gy = (p.z * p.y - p.w * p.x) / n;
  const Vec3 g = place.R_b * Vec3(gx, gy, 1), by_g = place.R_b.transpose() * turn;
  const double a = by_g[0] / n, b = by_g[1] / n, back = 2 * (gx * a + gy * b);
  const double by_w = a * p.y - b * p.x - back * p.w;
  const Vec3 by_vec(a * p.z - b * p.w, a * p.w + b * p.z, a * p.x + b * p.y - back * p.z);
  // By the turn u of A against B in B's axes: δw = −½ u·vec, δvec = ½ (w u + u × vec).
  const Vec3 world = place.R_b * (0.5 * (p.w * by_vec + vec.cross(by_vec) - by_w * vec)) + w.f * g;
  by.turn_a += world;
  by.turn_b += g.cross(turn) - world;
}

/// The row of the coordinate, and the coordinate itself in the place of Ψ.
inline void coordinate_row_adjoint(const Joint& j, const JointPlace& place,
                                   const JointRowWeights& w, JointFramesAdjoint& by) {
  if (j.kind == JointKind::Prismatic)
    return joint_part_adjoint(JointPart::Slide, 0, j.planar, place, w, by);
  if (j.kind == JointKind::Distance)
    return joint_part_adjoint(JointPart::Length, 0, j.planar, place, w, by);
  if (j.planar) return joint_part_adjoint(JointPart::Turn, 2, true, place, w, by);
  hinge_coordinate_adjoint(place, w, by);
}

/// Both frames of a joint, what its rows multiply, and the way back to the inputs.
class JointAdjoint {
 public:
  JointAdjoint(Pull& r, const Joint& j, JointUse use)
      : r_(r),
        bodies_{j.a == kWorld ? nullptr : &r.x.model.body(j.a),
                j.b == kWorld ? nullptr : &r.x.model.body(j.b)},
        A_(r, bodies_[0], j.planar, j.parameter_begin, Vec3::Zero()),
        B_(r, bodies_[1], j.planar, j.parameter_begin + frame_size(j.planar), Vec3::Zero()) {
    JointFramesT<double>& f = place.frames;
    f.r_a = A_.pose_W().x - A_.body_pose_W().x;
    f.r_b = B_.pose_W().x - B_.body_pose_W().x;
    f.d = A_.pose_W().x - B_.pose_W().x;
    f.p_a = A_.pose_W().p;
    f.p_b = B_.pose_W().p;
    place.R_a = matrix_of(f.p_a);
    place.R_b = matrix_of(f.p_b);
    const double* values = r.x.parameters.values.data();
    if (j.planar)
      f.angle = values[j.parameter_begin + 2] - values[j.parameter_begin + frame_size(true) + 2];
    for (int k = 0; k < 2; ++k) {
      if (bodies_[k] == nullptr) continue;
      const Body& body = *bodies_[k];
      weight[k] = weights_on(r, body);
      if (use != JointUse::Position || body.is_dynamic()) end[k] = end_twist(r, body);
      if (j.planar) f.angle += (k == 0 ? 1 : -1) * r.x.record.q[body.q_begin + 2];
      prescribed_[k] = use != JointUse::Position && !body.is_dynamic();
    }
  }

  JointPlace place;
  Twist end[2], weight[2];  ///< velocities at the end, weights on the balances, of A and of B
  JointFramesAdjoint by;

  Twist before(int k) const {
    return bodies_[k] == nullptr ? Twist{} : twist_in(*bodies_[k], r_.x.record.v);
  }
  /// Velocities of kinematic bodies are inputs: `share` is the weight of a row.s rate at the end.
  bool prescribed() const { return prescribed_[0] || prescribed_[1]; }
  void add_prescribed(const JointRow& row, double share) { add_rate(row, share, prescribed_); }
  /// The same of a rate before the solve, which all bodies have.
  void add_before(const JointRow& row, double share) {
    const bool all[2] = {bodies_[0] != nullptr, bodies_[1] != nullptr};
    add_rate(row, share, all);
  }
  void finish() {
    A_.by_x = by.r_a + by.d;
    A_.by_turn = by.turn_a;
    B_.by_x = by.r_b - by.d;
    B_.by_turn = by.turn_b;
    A_.finish();
    B_.finish();
    if (bodies_[0] != nullptr) add_twist(*bodies_[0], -by.r_a, Vec3::Zero(), r_.inputs().q);
    if (bodies_[1] != nullptr) add_twist(*bodies_[1], -by.r_b, Vec3::Zero(), r_.inputs().q);
  }

 private:
  void add_rate(const JointRow& row, double share, const bool (&on)[2]) {
    if (on[0]) add_twist(*bodies_[0], share * row.linear_a, share * row.angular_a, r_.inputs().v);
    if (on[1]) add_twist(*bodies_[1], share * row.linear_b, share * row.angular_b, r_.inputs().v);
  }

  Pull& r_;
  const Body* bodies_[2];
  FrameAdjoint A_, B_;
  bool prescribed_[2] = {false, false};
};

inline void bilateral_adjoint(Pull& r, const Joint& j, JointUse use, double beta) {
  if (j.motor_row != kNone) return bilateral_element(r, j, use, beta);
  if (j.row_count == 0) return;
  JointAdjoint x(r, j, use);
  const double factor = use == JointUse::Position ? 1 : beta > 0 ? beta / r.x.record.duration : 0;
  for (Index i = 0; i < j.row_count; ++i) {
    const double y = r.weights().equations.bilateral[j.row_begin + i];
    const double gamma = r.x.answer.gamma[j.row_begin + i];
    const auto [part, k] = joint_part(j.kind, j.planar, i);
    joint_part_adjoint(part, k, j.planar, x.place, {x.end, x.weight, y, gamma, y * factor}, x.by);
    if (x.prescribed()) x.add_prescribed(joint_row<double>(j.kind, j.planar, i, x.place.frames), y);
  }
  if (j.length != kNone && r.x.with_parameters) r.inputs().parameters[j.length] += x.by.length;
  x.finish();
}

/// coordinate_element(): scalars on the tape, with the coordinate and its rates as inputs of their
/// own; what these and the impulse along the row are made of by hand.
inline Index coordinate_adjoint(Pull& r, const Joint& j, JointUse use, Index row, Index block,
                                double beta) {
  using T = taping::Traced;
  if (!has_coordinate_rows(j, use)) return 0;
  JointAdjoint x(r, j, use);
  const JointFramesT<double>& f = x.place.frames;
  const JointRow along = joint_coordinate_row<double>(j.kind, j.planar, f);
  const auto rate = [&](const Twist& a, const Twist& b) {
    return row_rate<double>(along, a.linear, a.angular, b.linear, b.angular);
  };
  const Twist before[2] = {x.before(0), x.before(1)};
  double by_s = 0, by_rate = 0, by_before = 0;
  const CoordinateT<T> at{r.local(joint_coordinate<double>(j, f), &by_s),
                          r.local(rate(x.end[0], x.end[1]), &by_rate),
                          r.local(rate(before[0], before[1]), &by_before)};
  T force(0);
  const Index count = coordinate_rows(r, j, use, at, row, block, beta, force);
  r.seed(force, rate(x.weight[0], x.weight[1]));
  r.finish();
  Twist all[2];  // what the row is multiplied with
  for (int k = 0; k < 2; ++k) {
    all[k].linear = by_rate * x.end[k].linear + by_before * before[k].linear;
    all[k].angular = by_rate * x.end[k].angular + by_before * before[k].angular;
  }
  coordinate_row_adjoint(j, x.place, {all, x.weight, 1, force.v, by_s}, x.by);
  if (x.prescribed()) x.add_prescribed(along, by_rate);
  if (by_before != 0) x.add_before(along, by_before);
  x.finish();
  return count;
}

}  // namespace orthant::internal
