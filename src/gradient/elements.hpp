// SPDX-License-Identifier: Apache-2.0
// gradient/elements.hpp: the equations of one solve, object by object, in any reader's scalar.
//   R_balance = k − H v⁺ + Cᵀγ + Dᵀλ,   R_bilateral = C v⁺ + e,   R_blocks = D v⁺ + F λ + b
// with (v⁺, γ, λ) held at the answer. The sums over a model are what assemble_*() fills a problem
// with; here each object adds its own share through the same kernels.
#pragma once

#include <numbers>

#include "force/balance_kernel.hpp"
#include "force/held_spin.hpp"
#include "gradient/reader.hpp"
#include "model/material_kernel.hpp"
#include "orthant/constraint/assemble.hpp"
#include "orthant/constraint/contact_kernel.hpp"

namespace orthant::internal {

template <class R>
using ScalarOf = typename R::T;

/// Adds `sign` times a wrench to the balance of a body, if it has one.
template <class R>
void put_wrench(R& r, BodyId id, const WrenchT<ScalarOf<R>>& w, double sign) {
  using T = ScalarOf<R>;
  if (id == kWorld || !r.x.model.body(id).is_dynamic()) return;
  const Body& body = r.x.model.body(id);
  T out[6] = {T(0), T(0), T(0), T(0), T(0), T(0)};
  add_wrench(body.planar, w, T(sign), out);
  for (Index i = 0; i < body.v_size; ++i) r.balance(body.v_begin + i, out[i]);
}

// --- bodies -------------------------------------------------------------------------------------

/// Without forces (an impact, a correction): M (v − v⁺), or −M δ where there is no v.
template <class R>
void mass_element(R& r, BodyId id, bool with_velocity) {
  using T = ScalarOf<R>;
  const Body& body = r.x.model.body(id);
  T v[6], end[6], inertia[6];
  r.end_velocity(id, end);
  if (with_velocity) {
    r.velocity(id, v);
  } else {
    for (T& entry : v) entry = T(0);
  }
  WrenchT<T> w;
  if (r.x.model.law() == LawOfMotion::Overdamped) {
    w = overdamped_balance<T>(body.planar, r.parameter(body.drag), r.parameter(body.length), end,
                              T(1));
    put_wrench(r, id, w, -1);
    return;
  }
  const T mass = r.parameter(body.mass);
  r.parameters(body.inertia, body.planar ? 1 : 6, inertia);
  w.force = (linear_part(body.planar, v) - linear_part(body.planar, end)) * mass;
  const Vec3T<T> change = angular_part(body.planar, v) - angular_part(body.planar, end);
  if (body.planar) {
    w.torque = change * inertia[0];
  } else {
    w.torque = world_inertia<T>(r.place(id).pose.p, inertia_matrix<T>(inertia)) * change;
  }
  put_wrench(r, id, w, 1);
}

inline Vec3 values_of(const Vec3T<taping::Traced>& x) { return {x[0].v, x[1].v, x[2].v}; }
template <int N>
Vec3 values_of(const Vec3T<Dual<N>>& x) {
  return {x[0].v, x[1].v, x[2].v};
}

/// free_rotation() by its converged conditions: the midpoint is found in double, and one step of
/// Newton with the matrix held carries the derivative. Turns of two radians and more take the
/// kernel with its sub-steps.
template <class T>
FreeRotationT<T> free_rotation_once(const Mat3T<T>& J, const QuatT<T>& p, const Vec3T<T>& omega,
                                    const T& h) {
  const double length = value_of(h);
  if (length * values_of(omega).norm() >= 2) return free_rotation<T>(J, p, omega, h);
  Mat3 J0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) J0(i, j) = value_of(J(i, j));
  const Vec3T<T> spin = rotate(conjugate(p), omega);  // body axes
  const Vec3T<T> P = J * spin;
  const Vec3 W0 = midpoint_omega<double>(J0, values_of(P), values_of(spin), length);
  const Vec3T<T> W{T(W0[0]), T(W0[1]), T(W0[2])};
  const Vec3T<T> JW = J * W;
  T ratio, slope;
  tangent_ratio<T>(h * h * T(0.25 * W0.squaredNorm()), ratio, slope);
  const Vec3T<T> F = JW - P + W.cross(JW) * (ratio * h * T(0.5));

  const double r0 = value_of(ratio), s0 = value_of(slope), half = 0.5 * length;
  const Vec3 JW0 = J0 * W0, gyro = W0.cross(JW0);
  Mat3 A = J0 + (cross_matrix(W0) * J0 - cross_matrix(JW0)) * (r0 * half);
  A += gyro * W0.transpose() * (s0 * length * half * half);
  const Mat3 inverse = A.inverse();
  Vec3T<T> middle;
  for (int i = 0; i < 3; ++i)
    middle[i] =
        T(W0[i]) - (F[0] * T(inverse(i, 0)) + F[1] * T(inverse(i, 1)) + F[2] * T(inverse(i, 2)));
  FreeRotationT<T> r;
  r.turn = rotate(p, middle) * h;
  r.omega = rotate(boxplus(p, r.turn), Vec3T<T>(middle * T(2) - spin));
  return r;
}

/// M (v* − v⁺) + h m g of a step, and where it flies: the tangent of its flight.
template <class R>
void body_element(R& r, BodyId id, bool flies) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  const Body& body = model.body(id);
  const T h = r.duration();
  T end[6], g[3];
  r.end_velocity(id, end);
  r.parameters(model.gravity(), 3, g);
  const T mass = r.parameter(body.mass);
  WrenchT<T> weight;
  weight.force = Vec3T<T>(g[0], g[1], body.planar ? T(0) : g[2]) * (mass * h);
  put_wrench(r, id, weight, 1);
  if (model.law() == LawOfMotion::Overdamped) {
    const T drag = r.parameter(body.drag), length = r.parameter(body.length);
    put_wrench(r, id, overdamped_balance<T>(body.planar, drag, length, end, h), -1);
    if (r.x.medium == nullptr) return;
    double kick[6] = {};
    brownian_kick(*r.x.medium, body.uid, body.v_size, kick);
    put_wrench(
        r, id,
        medium_balance<T>(*r.x.medium, body.planar, r.place(id).pose.p, drag, length, end, kick, h),
        -1);
    return;
  }
  T v[6], inertia[6];
  r.velocity(id, v);
  r.parameters(body.inertia, body.planar ? 1 : 6, inertia);
  const Vec3T<T> now = linear_part(body.planar, v), next = linear_part(body.planar, end);
  const Vec3T<T> spin = angular_part(body.planar, v), spin_next = angular_part(body.planar, end);
  WrenchT<T> w;
  w.force = (now - next) * mass;
  Vec3T<T> coast = spin, turn = spin * h;
  if (body.planar) {
    w.torque = (coast - spin_next) * inertia[0];
  } else {
    const Mat3T<T> J = inertia_matrix<T>(inertia);
    const QuatT<T> p = r.place(id).pose.p;
    // Gyroscopic terms are quadratic in the spin: a body that does not turn has none.
    if (value_of(spin.squaredNorm()) > 0) {
      const FreeRotationT<T> free = free_rotation_once<T>(J, p, spin, h);
      coast = holds_spins(r.x.record) && !flies ? held_spin<T>(free) : free.omega;
      turn = free.turn;
    }
    w.torque = world_inertia<T>(p, J) * Vec3T<T>(coast - spin_next);
  }
  put_wrench(r, id, w, 1);
  if (!flies) return;
  const Vec3T<T> shift = (now + next) * (h * T(0.5));
  turn += (spin_next - coast) * (h * T(0.5));
  for (int i = 0; i < (body.planar ? 2 : 3); ++i) r.delta(body.v_begin + i, shift[i]);
  if (body.planar) {
    r.delta(body.v_begin + 2, turn[2]);
  } else {
    for (int i = 0; i < 3; ++i) r.delta(body.v_begin + 3 + i, turn[i]);
  }
}

// --- forces -------------------------------------------------------------------------------------

/// As table_value(), reading only the two entries it needs.
template <class R>
ScalarOf<R> table_at(R& r, const TimeTable& table, double t) {
  using T = ScalarOf<R>;
  if (table.empty()) return T(0);
  const std::size_t n = table.times.size();
  if (t <= table.times.front()) return r.parameter(table.value_begin);
  if (t >= table.times.back()) return r.parameter(table.value_begin + static_cast<Index>(n) - 1);
  std::size_t i = 1;
  while (table.times[i] < t) ++i;
  const double s = (t - table.times[i - 1]) / (table.times[i] - table.times[i - 1]);
  const Index at = table.value_begin + static_cast<Index>(i);
  return r.parameter(at - 1) * T(1 - s) + r.parameter(at) * T(s);
}

/// As table_slope().
template <class R>
ScalarOf<R> slope_at(R& r, const TimeTable& table, double t) {
  using T = ScalarOf<R>;
  if (table.empty() || t < table.times.front() || t >= table.times.back()) return T(0);
  std::size_t i = 1;
  while (table.times[i] <= t) ++i;
  const Index at = table.value_begin + static_cast<Index>(i);
  return (r.parameter(at) - r.parameter(at - 1)) / T(table.times[i] - table.times[i - 1]);
}

template <class R>
TwistT<ScalarOf<R>> twist_of(R& r, BodyId id, bool planar, bool end) {
  ScalarOf<R> v[6];
  end ? r.end_velocity(id, v) : r.velocity(id, v);
  return {linear_part(planar, v), angular_part(planar, v)};
}

/// Length of a spring less its length at rest, where the step expects its ends.
template <class R>
ScalarOf<R> spring_stretch(R& r, const Force& spring) {
  using T = ScalarOf<R>;
  using std::sqrt;
  const bool planar = r.x.model.body(spring.a != kWorld ? spring.a : spring.b).planar;
  const int n = planar ? 2 : 3;
  T x[9];
  r.parameters(spring.parameter_begin, 2 * n + 3, x);
  const bool inertial = r.x.model.law() == LawOfMotion::Inertial;
  const auto end = [&](BodyId id, const T* point) {
    const PoseT<T> pose = r.place(id).pose;
    Vec3T<T> lever = rotate(pose.p, linear_part(planar, point));
    if (!inertial) return Vec3T<T>(pose.x + lever);
    const TwistT<T> v = twist_of(r, id, planar, false);
    lever = rotate(exp_rotation(Vec3T<T>(v.angular * r.duration())), lever);
    return Vec3T<T>(pose.x + v.linear * r.duration() + lever);
  };
  const Vec3T<T> d = end(spring.a, x) - end(spring.b, x + n);
  return sqrt(d.squaredNorm()) - x[2 * n + 2];
}

template <class R>
void force_element(R& r, const Force& force, double t) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  const T h = r.duration();
  T x[9];
  if (force.kind == ForceKind::Spring) {
    const BodyId some = force.a != kWorld ? force.a : force.b;
    const bool planar = model.body(some).planar;
    r.parameters(force.parameter_begin, planar ? 7 : 9, x);
    const TwistT<T> next[2] = {twist_of(r, force.a, planar, true),
                               twist_of(r, force.b, planar, true)};
    const TwistT<T> now[2] = {twist_of(r, force.a, planar, false),
                              twist_of(r, force.b, planar, false)};
    const bool inertial = model.law() == LawOfMotion::Inertial;
    const PairWrenchT<T> w = spring_balance<T>(
        planar, x, r.place(force.a).pose, r.place(force.b).pose, next, inertial ? now : nullptr, h);
    put_wrench(r, force.a, w.a, -1);
    put_wrench(r, force.b, w.b, -1);
    return;
  }
  const Body& body = model.body(force.a);
  const QuatT<T> p = r.place(force.a).pose.p;
  const T factor = force.table.empty() ? T(1) : table_at(r, force.table, t);
  WrenchT<T> w;
  if (force.kind == ForceKind::Body) {
    r.parameters(force.parameter_begin, body.planar ? 3 : 6, x);
    w = body_force<T>(body.planar, force.body_axes, p, x);
  } else {
    r.parameters(force.parameter_begin, body.planar ? 4 : 6, x);
    w = point_force<T>(body.planar, force.body_axes, p, x);
  }
  w.force = w.force * (factor * h);
  w.torque = w.torque * (factor * h);
  put_wrench(r, force.a, w, 1);
}

template <class R>
JointFramesT<ScalarOf<R>> frames_of(R& r, const Joint& joint) {
  using T = ScalarOf<R>;
  T x[14];
  r.parameters(joint.parameter_begin, 2 * frame_size(joint.planar), x);
  return joint_frames<T>(joint.planar, r.place(joint.a), r.place(joint.b), x);
}

/// Twists of both bodies of a joint at the end of the solve.
template <class T>
struct PairTwist {
  Vec3T<T> v_a, w_a, v_b, w_b;
};
template <class R>
PairTwist<ScalarOf<R>> end_twists(R& r, const Joint& joint) {
  using T = ScalarOf<R>;
  T a[6], b[6];
  r.end_velocity(joint.a, a);
  r.end_velocity(joint.b, b);
  return {linear_part(joint.planar, a), angular_part(joint.planar, a), linear_part(joint.planar, b),
          angular_part(joint.planar, b)};
}
/// The same before it.
template <class R>
PairTwist<ScalarOf<R>> begin_twists(R& r, const Joint& joint) {
  using T = ScalarOf<R>;
  T a[6], b[6];
  r.velocity(joint.a, a);
  r.velocity(joint.b, b);
  return {linear_part(joint.planar, a), angular_part(joint.planar, a), linear_part(joint.planar, b),
          angular_part(joint.planar, b)};
}
template <class T>
T rate_of(const JointRowT<T>& row, const PairTwist<T>& x) {
  return row_rate<T>(row, x.v_a, x.w_a, x.v_b, x.w_b);
}

template <class R>
void put_pair(R& r, const Joint& joint, const PairWrenchT<ScalarOf<R>>& w, double sign) {
  put_wrench(r, joint.a, w.a, sign);
  put_wrench(r, joint.b, w.b, sign);
}

/// Inertia of a joint's coordinate at an impact: A (rate before − rate after), as a mass.
template <class R>
void armature_element(R& r, const Joint& joint) {
  using T = ScalarOf<R>;
  const JointRowT<T> row = joint_coordinate_row<T>(joint.kind, joint.planar, frames_of(r, joint));
  const T push = r.parameter(joint.armature) *
                 (rate_of(row, begin_twists(r, joint)) - rate_of(row, end_twists(r, joint)));
  put_pair(r, joint, along_row<T>(row, push), 1);
}

/// A control, held at the ends of its range.
template <class R>
ScalarOf<R> cut_control(R& r, const Actuator& actuator, Index i) {
  using T = ScalarOf<R>;
  const double u = r.x.control(i);
  if (u < actuator.lower || u > actuator.upper)
    return T(std::clamp(u, actuator.lower, actuator.upper));
  return r.control(i);
}

template <class R>
void actuator_element(R& r, const Actuator& actuator, Index i) {
  using T = ScalarOf<R>;
  T x[6];
  if (actuator.kind == ActuatorKind::Body) {
    const T impulse = r.control(i) * r.duration();
    const Body& body = r.x.model.body(actuator.body);
    r.parameters(actuator.parameter_begin, body.planar ? 3 : 6, x);
    WrenchT<T> w = body_force<T>(body.planar, actuator.body_axes, r.place(actuator.body).pose.p, x);
    w.force = w.force * impulse;
    w.torque = w.torque * impulse;
    put_wrench(r, actuator.body, w, 1);
    return;
  }
  if (actuator.kind != ActuatorKind::Joint) return;  // with the rows of the joint
  const Joint& joint = r.x.model.joint(actuator.joint);
  const JointRowT<T> row = joint_coordinate_row<T>(joint.kind, joint.planar, frames_of(r, joint));
  T force = r.parameter(actuator.parameter_begin) * cut_control(r, actuator, i);
  if (actuator.max_force != kNone) {
    const T limit = r.parameter(actuator.max_force);
    if (value_of(force) > value_of(limit)) force = limit;
    if (value_of(force) < -value_of(limit)) force = -limit;
  }
  put_pair(r, joint, along_row<T>(row, force * r.duration()), 1);
}

// --- contacts -----------------------------------------------------------------------------------

/// Gap, normal, points with the recorded features held.
template <class R>
ContactPointT<ScalarOf<R>> evaluate(R& r, const Contact& contact, const PoseT<ScalarOf<R>>& X_WA,
                                    const PoseT<ScalarOf<R>>& X_WB) {
  using T = ScalarOf<R>;
  thread_local std::vector<T> buffer;
  const auto shape = [&](ShapeId id) -> const ShapeInstance& { return r.x.model.shape(id); };
  const ShapeInstance &a = shape(contact.shape_a), &b = shape(contact.shape_b);
  const Index n_a = a.shape.parameter_count(), n_b = b.shape.parameter_count();
  buffer.assign(static_cast<std::size_t>(n_a + n_b), T(0));
  r.parameters(a.parameter_begin, n_a, buffer.data());
  r.parameters(b.parameter_begin, n_b, buffer.data() + n_a);
  T offset[7];
  const auto placed_shape = [&](const ShapeInstance& s, const PoseT<T>& X_WB_) {
    const bool planar = s.planar();
    r.parameters(s.offset_begin, frame_size(planar), offset);
    return compose<T>(X_WB_, frame_pose<T>(planar, offset));
  };
  const PoseT<T> X_A = placed_shape(a, X_WA), X_B = placed_shape(b, X_WB);
  return evaluate_contact<T>(contact.feature, a.shape.view(buffer.data()), X_A,
                             b.shape.view(buffer.data() + n_a), X_B);
}

/// A contact of a solve: what its rows are built from, in T.
template <class T>
struct ContactGeometry {
  ContactPointT<T> point;
  Vec3T<T> r_a, r_b;  // levers to the common point
  Vec3T<T> v_a, w_a, v_b, w_b;

  Vec3T<T> relative() const { return v_a + w_a.cross(r_a) - v_b - w_b.cross(r_b); }
};

template <class R>
ContactGeometry<ScalarOf<R>> geometry_of(R& r, const Contact& contact) {
  using T = ScalarOf<R>;
  const PoseT<T> X_WA = r.place(contact.body_a).pose;
  PoseT<T> X_WB = r.place(contact.body_b).pose;
  for (int i = 0; i < 3; ++i) X_WB.x[i] += T(contact.shift[i]);  // its periodic image
  ContactGeometry<T> c;
  c.point = evaluate(r, contact, X_WA, X_WB);
  const Vec3T<T> middle = (c.point.point_a + c.point.point_b) * T(0.5);
  c.r_a = middle - X_WA.x;
  c.r_b = middle - X_WB.x;
  return c;
}

template <class R>
void read_twists(R& r, const Contact& contact, bool end, ContactGeometry<ScalarOf<R>>& c) {
  using T = ScalarOf<R>;
  const bool planar = r.x.model.shape(contact.shape_a).planar();
  T a[6], b[6];
  if (end) {
    r.end_velocity(contact.body_a, a);
    r.end_velocity(contact.body_b, b);
  } else {
    r.velocity(contact.body_a, a);
    r.velocity(contact.body_b, b);
  }
  c.v_a = linear_part(planar, a);
  c.w_a = angular_part(planar, a);
  c.v_b = linear_part(planar, b);
  c.w_b = angular_part(planar, b);
}

/// contact_material(), reading only the parameters of the two surfaces.
template <class R>
ContactMaterialT<ScalarOf<R>> material_of(R& r, MaterialId a, MaterialId b) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  const Material &A = model.material(a), &B = model.material(b);
  const CombineRule rule = std::max(A.combine, B.combine);
  const MaterialPair none;
  const MaterialPair* pair = find_material_pair(model, a, b);
  const MaterialPair& p = pair != nullptr ? *pair : none;
  const auto pick = [&](Index given, Index i, Index j) -> T {
    if (given != kNone) return r.parameter(given);
    return i == j ? r.parameter(i) : combine<T>(rule, r.parameter(i), r.parameter(j));
  };
  ContactMaterialT<T> c;
  c.friction = pick(p.friction, A.friction, B.friction);
  c.restitution = pick(p.restitution, A.restitution, B.restitution);
  c.rolling_friction = pick(p.rolling_friction, A.rolling_friction, B.rolling_friction);
  c.compliance = p.compliance != kNone ? r.parameter(p.compliance)
                                       : r.parameter(A.compliance) + r.parameter(B.compliance);
  return c;
}

/// Dᵀλ on both bodies.
template <class R>
void put_impulse(R& r, const Contact& contact, const ContactGeometry<ScalarOf<R>>& c,
                 const Vec3T<ScalarOf<R>>& force, const Vec3T<ScalarOf<R>>& torque) {
  using T = ScalarOf<R>;
  WrenchT<T> w;
  w.force = force;
  w.torque = c.r_a.cross(force) + torque;
  put_wrench(r, contact.body_a, w, 1);
  w.torque = c.r_b.cross(force) + torque;
  put_wrench(r, contact.body_b, w, -1);
}

/// A soft contact whose normal row is of both ends of the interval (constraint/soft_rows.hpp):
/// contact_element() leaves it out.
inline bool is_bent(SolveKind kind, BiasBranch branch) {
  return kind == SolveKind::Step && branch == BiasBranch::Trial;
}

/// Its normal row at the end where `r` stands, which has a share of it. D_n (v⁺ − v') is 0,
/// whatever moves D_n.
template <class R>
void bent_element(R& r, const Contact& contact, const ContactBlock& block, double share,
                  bool at_end) {
  using T = ScalarOf<R>;
  const ContactGeometry<T> c = geometry_of(r, contact);
  if (at_end) r.block_row(block.row, c.point.gap / r.duration());
  const Vec3T<T> zero(T(0), T(0), T(0));
  put_impulse(r, contact, c, Vec3T<T>(c.point.normal * T(share * r.x.answer.lambda[block.row])),
              zero);
}

/// The frame of the forward, whose tangents turn with the normal the shortest way. Made anew it
/// might be another one: where a normal is level, by the rounding of its height.
template <class T>
void turned_frame(const ContactBlock& block, const Vec3T<T>& n, Vec3T<T>* frame) {
  frame[0] = n;
  for (int i = 1; i < 3; ++i) {
    const Vec3T<T> f(T(block.frame[i][0]), T(block.frame[i][1]), T(block.frame[i][2]));
    frame[i] = f - n * f.dot(n);
  }
}

template <class R>
void contact_element(R& r, const Contact& contact, Index number, const ContactBlock& block,
                     FrictionModel friction, double beta) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  const bool planar = model.shape(contact.shape_a).planar();
  const double* lambda = r.x.answer.lambda.data() + block.row;
  ContactGeometry<T> c = geometry_of(r, contact);
  r.gap(number, c.point.gap);
  Vec3T<T> frame[3];
  const bool pyramid = friction == FrictionModel::Pyramid && block.material.friction > 0;
  if (pyramid) {  // its sides stand in the frame, whose spin counts
    contact_frame<T>(planar, c.point.normal, frame);
  } else {
    turned_frame<T>(block, c.point.normal, frame);
  }

  // Material: μ, ε, rolling, compliance from the parameters of both surfaces.
  const MaterialId ma = model.shape(contact.shape_a).material;
  const MaterialId mb = model.shape(contact.shape_b).material;
  const ContactMaterialT<T> material = material_of(r, ma, mb);

  NormalBiasT<T> bias;
  bias.h = r.duration();
  bias.beta = beta;
  const bool bent = is_bent(r.x.record.kind, block.branch);
  if (!bent && (block.branch == BiasBranch::Restitution || block.branch == BiasBranch::Trial)) {
    read_twists(r, contact, false, c);
    bias.approach = c.point.normal.dot(c.relative());
    bias.restitution = material.restitution * r.restitution_scale();
  }
  read_twists(r, contact, true, c);
  const Vec3T<T> relative = c.relative();
  T w_n =
      bent ? T(0) : c.point.normal.dot(relative) + normal_bias<T>(block.branch, c.point.gap, bias);
  if (block.material.compliance > 0) w_n += material.compliance * T(lambda[0]) / (bias.h * bias.h);
  r.block_row(block.row, w_n);

  Vec3T<T> force = frame[0] * T(lambda[0]), torque(T(0), T(0), T(0));
  const int tangents = planar ? 1 : 2;
  if (pyramid) {
    const int m = static_cast<int>(block.dim) - 2;
    for (int i = 0; i < m; ++i) {
      const double angle = 2 * std::numbers::pi * i / m;
      const Vec3T<T> d =
          planar ? Vec3T<T>(frame[1] * T(i == 0 ? 1.0 : -1.0))
                 : Vec3T<T>(frame[1] * T(std::cos(angle)) + frame[2] * T(std::sin(angle)));
      r.block_row(block.row + 1 + i, d.dot(relative));
      force += d * T(lambda[1 + i]);
    }
    r.block_row(block.row + 1 + m, material.friction * T(lambda[0]));
  } else if (block.dim > 1) {
    for (int i = 1; i <= tangents; ++i) {
      r.block_row(block.row + i, frame[i].dot(relative));
      force += frame[i] * T(lambda[i]);
    }
    r.mu(block.block, material.friction);
    if (block.dim > 1 + tangents) {
      const Vec3T<T> spin = c.w_a - c.w_b;
      for (int i = 1; i <= tangents; ++i) {
        const Vec3T<T>& axis = planar ? frame[2] : frame[i];
        r.block_row(block.row + tangents + i, axis.dot(spin));
        torque += axis * T(lambda[tangents + i]);
      }
      r.mu_r(block.block, material.rolling_friction);
    }
  }
  r.impulse(number, force);
  if (bent) force -= frame[0] * T(lambda[0]);
  put_impulse(r, contact, c, force, torque);
}

/// Row of a correction of positions: D δ + Φ.
template <class R>
void position_contact_element(R& r, const Contact& contact, Index number,
                              const ContactBlock& block) {
  using T = ScalarOf<R>;
  ContactGeometry<T> c = geometry_of(r, contact);
  r.gap(number, c.point.gap);
  // Kinematic bodies do not take part: their velocity is no displacement.
  const bool planar = r.x.model.shape(contact.shape_a).planar();
  const auto shift = [&](BodyId id, Vec3T<T>& linear, Vec3T<T>& angular) {
    T d[6] = {T(0), T(0), T(0), T(0), T(0), T(0)};
    if (r.x.model.body(id).is_dynamic()) r.end_velocity(id, d);
    linear = linear_part(planar, d);
    angular = angular_part(planar, d);
  };
  shift(contact.body_a, c.v_a, c.w_a);
  shift(contact.body_b, c.v_b, c.w_b);
  T w = c.point.normal.dot(c.relative());
  if (block.branch != BiasBranch::Clipped) w += c.point.gap;
  r.block_row(block.row, w);
  const Vec3T<T> zero(T(0), T(0), T(0));
  const Vec3T<T> impulse = c.point.normal * T(r.x.answer.lambda[block.row]);
  r.impulse(number, impulse);
  put_impulse(r, contact, c, impulse, zero);
}

// --- joints -------------------------------------------------------------------------------------

/// Where a motor wants the coordinate, as motor_target().
template <class R>
ScalarOf<R> target_at(R& r, const Motor& motor, double t) {
  using T = ScalarOf<R>;
  const T drive = table_at(r, motor.table, t);
  if (motor.kind == MotorKind::Velocity) return r.parameter(motor.velocity) + drive;
  return r.parameter(motor.target) + r.parameter(motor.velocity) * T(t) + drive;
}

/// As the part of e that time brings (constraint/joint_rows.cpp); the interval is held.
template <class R>
ScalarOf<R> drive_of(R& r, const Joint& j, double t, double h) {
  using T = ScalarOf<R>;
  const T now = target_at(r, j.motor, t), then = target_at(r, j.motor, t + h);
  if (j.motor.kind == MotorKind::Velocity) return -(now + then) * T(0.5);
  return (now - then) / T(h);
}

/// Coordinate minus target; a hinge in space takes the nearest turn, which has no derivative.
template <class R>
ScalarOf<R> motor_error(R& r, const Joint& j, const ScalarOf<R>& s, double t) {
  return s - target_at(r, j.motor, t);
}

/// F λ + b of a servo (constraint/joint_rows.cpp), at the end of the interval.
template <class R>
ScalarOf<R> servo_offset(R& r, const Joint& j, const ScalarOf<R>& s, double t, const ScalarOf<R>& h,
                         double lambda) {
  using T = ScalarOf<R>;
  const auto control = [&](Index i) {
    if (i == kNone) return T(0);
    const Actuator& a = r.x.model.actuators()[static_cast<std::size_t>(i)];
    return r.parameter(a.parameter_begin) * cut_control(r, a, i);
  };
  const T k = r.parameter(j.motor.stiffness), c = r.parameter(j.motor.damping), sum = h * k + c;
  const T speed = r.parameter(j.motor.velocity) + slope_at(r, j.motor.table, t) +
                  control(j.motor.speed_control);
  const T error = nearest_turn<T>(j, motor_error(r, j, s, t) - control(j.motor.target_control));
  return (k * error - c * speed) / sum + T(lambda) / (h * sum);
}

enum class JointUse : std::uint8_t { Step, Impact, Position };

/// What the rows of a joint multiply; a correction moves dynamic bodies only.
template <class R>
PairTwist<ScalarOf<R>> twists_of(R& r, const Joint& j, JointUse use) {
  using T = ScalarOf<R>;
  PairTwist<T> x = end_twists(r, j);
  if (use != JointUse::Position) return x;
  const auto rest = [&](BodyId id, Vec3T<T>& linear, Vec3T<T>& angular) {
    if (id != kWorld && r.x.model.body(id).is_dynamic()) return;
    linear = angular = Vec3T<T>(T(0), T(0), T(0));
  };
  rest(j.a, x.v_a, x.w_a);
  rest(j.b, x.v_b, x.w_b);
  return x;
}

/// The row that couples a joint to its leader.
template <class R>
void follow_element(R& r, const Joint& j, JointUse use, double beta) {
  using T = ScalarOf<R>;
  const Joint& leader = r.x.model.joint(j.follow.leader);
  const JointFramesT<T> f = frames_of(r, j), g = frames_of(r, leader);
  const JointRowT<T> row = joint_coordinate_row<T>(j.kind, j.planar, f),
                     other = joint_coordinate_row<T>(leader.kind, leader.planar, g);
  const T ratio = r.parameter(j.follow.ratio);
  T value = rate_of(row, twists_of(r, j, use)) - ratio * rate_of(other, twists_of(r, leader, use));
  if (use == JointUse::Position || beta > 0) {
    const T psi = follow_residual<T>(j, f, leader, g, ratio, r.parameter(j.follow.offset));
    value += use == JointUse::Position ? psi : psi * T(beta / r.x.record.duration);
  }
  r.bilateral(j.follow.row, value);
  const T gamma(r.x.answer.gamma[j.follow.row]);
  put_pair(r, j, along_row<T>(row, gamma), 1);
  put_pair(r, leader, along_row<T>(other, -ratio * gamma), 1);
}

/// Bilateral rows of a joint and of its motor, in a step, at an impact, in a correction.
template <class R>
void bilateral_element(R& r, const Joint& j, JointUse use, double beta) {
  using T = ScalarOf<R>;
  if (j.row_count == 0 && j.motor_row == kNone) return;
  const JointFramesT<T> f = frames_of(r, j);
  const PairTwist<T> x = twists_of(r, j, use);
  const VecX& gamma = r.x.answer.gamma;
  const double t = r.x.record.t, h = r.x.record.duration;
  for (Index i = 0; i < j.row_count; ++i) {
    const JointRowT<T> row = joint_row<T>(j.kind, j.planar, i, f);
    T value = rate_of(row, x);
    if (use == JointUse::Position || beta > 0) {
      const T psi = joint_residual<T>(j.kind, j.planar, i, f,
                                      j.length == kNone ? T(0) : r.parameter(j.length));
      value += use == JointUse::Position ? psi : psi * T(beta / r.x.record.duration);
    }
    r.bilateral(j.row_begin + i, value);
    put_pair(r, j, along_row<T>(row, T(gamma[j.row_begin + i])), 1);
  }
  if (j.motor_row == kNone) return;
  const JointRowT<T> row = joint_coordinate_row<T>(j.kind, j.planar, f);
  T value = rate_of(row, x);
  const bool position = j.motor.kind == MotorKind::Position;
  if (use == JointUse::Step) {
    value += drive_of(r, j, t, h);
    if (position && beta > 0)
      value += motor_error(r, j, joint_coordinate<T>(j, f), t) * T(beta / h);
  } else if (use == JointUse::Impact) {
    value -= r.parameter(j.motor.velocity);
    if (position) {
      value -= slope_at(r, j.motor.table, t);
    } else {
      value -= table_at(r, j.motor.table, t);
    }
  } else if (position) {
    value += motor_error(r, j, joint_coordinate<T>(j, f), t);
  }
  r.bilateral(j.motor_row, value);
  put_pair(r, j, along_row<T>(row, T(gamma[j.motor_row])), 1);
}

/// The coordinate of a joint and its rates at the end of the solve and before it.
template <class T>
struct CoordinateT {
  T s, rate, before;
};

/// All that acts along a joint's coordinate, as far as it is scalar: spring, damper and armature;
/// limits, limited motor and dry friction, one row each from `row` (block `block`) on, of which it
/// returns how many. A correction of positions has limits only. `force`: the impulse along the
/// coordinate.
template <class R>
Index coordinate_rows(R& r, const Joint& j, JointUse use, const CoordinateT<ScalarOf<R>>& x,
                      Index row, Index block, double beta, ScalarOf<R>& force) {
  using T = ScalarOf<R>;
  const bool step = use == JointUse::Step;
  const T h = step ? r.duration() : T(1);
  if (step && j.has_spring()) {
    const T stiffness = j.stiffness != kNone ? r.parameter(j.stiffness) : T(0);
    const T damping = j.damping != kNone ? r.parameter(j.damping) : T(0);
    const T stretch = j.stiffness == kNone ? T(0) : x.s - r.parameter(j.rest);
    force -= joint_spring_balance<T>(stiffness, damping, stretch, x.rate, h);
    if (j.armature != kNone) force += r.parameter(j.armature) * (x.before - x.rate);
  }
  const VecX& lambda = r.x.answer.lambda;
  Index count = 0;
  const auto put = [&](double sign, const T& offset) {
    r.block_row(row + count, x.rate * T(sign) + offset);
    force += T(sign * lambda[row + count]);
    ++count;
  };
  const auto limit = [&](double sign, Index at) {
    const T gap = (x.s - r.parameter(at)) * T(sign);
    put(sign, step && value_of(gap) < 0 ? gap * T(beta / value_of(h)) : gap / h);
  };
  if (j.lower != kNone) limit(1, j.lower);
  if (j.upper != kNone) limit(-1, j.upper);
  if (!step) return count;
  const double t = r.x.record.t, dt = r.x.record.duration;
  const auto bounds = [&](Index most) {
    const T impulse = r.parameter(most) * h;
    r.lo(block + count, -impulse);
    r.hi(block + count, impulse);
  };
  if (j.motor.has_block() && j.motor.kind == MotorKind::Servo) {
    if (j.motor.max_force != kNone) bounds(j.motor.max_force);
    put(1, servo_offset(r, j, x.s, t + dt, h, lambda[row + count]));
  } else if (j.motor.has_block()) {
    bounds(j.motor.max_force);
    put(1, j.motor.kind == MotorKind::Position ? motor_error(r, j, x.s, t + dt) / h
                                               : drive_of(r, j, t, dt));
  }
  if (j.dry_friction != kNone) {
    bounds(j.dry_friction);
    put(1, T(0));
  }
  return count;
}

/// Something acts along the coordinate.
inline bool has_coordinate_rows(const Joint& j, JointUse use) {
  if (j.lower != kNone || j.upper != kNone) return true;
  return use == JointUse::Step &&
         (j.has_spring() || j.motor.has_block() || j.dry_friction != kNone);
}

template <class R>
Index coordinate_element(R& r, const Joint& j, JointUse use, Index row, Index block, double beta) {
  using T = ScalarOf<R>;
  if (!has_coordinate_rows(j, use)) return 0;
  const JointFramesT<T> f = frames_of(r, j);
  const JointRowT<T> along = joint_coordinate_row<T>(j.kind, j.planar, f);
  CoordinateT<T> x{joint_coordinate<T>(j, f), rate_of(along, twists_of(r, j, use)), T(0)};
  if (use == JointUse::Step && j.armature != kNone) x.before = rate_of(along, begin_twists(r, j));
  T force(0);
  const Index count = coordinate_rows(r, j, use, x, row, block, beta, force);
  put_pair(r, j, along_row<T>(along, force), 1);
  return count;
}

}  // namespace orthant::internal
