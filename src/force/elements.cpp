// SPDX-License-Identifier: Apache-2.0
// force/elements.cpp: (model, parameters, q, v, u, t) => each force, through the kernels.
#include "force/elements.hpp"

#include "force/balance_kernel.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {

namespace {

constexpr std::size_t kBodyGrain = 1024;

bool moves(const Model& model, BodyId id) { return id != kWorld && model.body(id).v_size > 0; }
bool is_planar(const Model& model, BodyId id) { return id != kWorld && model.body(id).planar; }

/// One row of an element on one body: (linear, angular) cut to the body's velocities.
void set_row(ElementRows& J, Index row, bool planar, const Vec3& linear, const Vec3& angular) {
  if (planar) {
    J(row, 0) = linear[0], J(row, 1) = linear[1], J(row, 2) = angular[2];
    return;
  }
  for (int i = 0; i < 3; ++i) {
    J(row, i) = linear[i];
    J(row, 3 + i) = angular[i];
  }
}

Index columns(const Model& model, BodyId id) {
  return moves(model, id) ? model.body(id).v_size : 0;
}

void add_gravity(const Model& model, const Parameters& parameters, VecX& f) {
  const double* g = parameters.values.data() + model.gravity();
  const std::span<const BodyId> bodies = model.dynamic_bodies();
  parallel_for(bodies.size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (const BodyId id : bodies.subspan(begin, end - begin)) {
      const Body& body = model.body(id);
      const double mass = parameters[body.mass];
      for (int i = 0; i < (body.planar ? 2 : 3); ++i) f[body.v_begin + i] += mass * g[i];
    }
  });
}

void add_one(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
             double t, const Force& force, VecX& f) {
  if (force.kind == ForceKind::Spring) return;
  if (force.kind == ForceKind::Callback) {
    force.callback->add_force(model, parameters, q, v, t, f);
    return;
  }
  const Body& body = model.body(force.a);
  const Quat p = body_pose(body, q.data()).p;
  const double* x = parameters.values.data() + force.parameter_begin;
  const double factor =
      force.table.empty() ? 1 : table_value(force.table, parameters.values.data(), t);
  const WrenchT<double> push = force.kind == ForceKind::Body
                                   ? body_force(body.planar, force.body_axes, p, x)
                                   : point_force(body.planar, force.body_axes, p, x);
  add_wrench(body.planar, push, factor, f.data() + body.v_begin);
}

JointFramesT<double> frames_of(const Model& model, const Parameters& parameters, const VecX& q,
                               const Joint& joint) {
  return joint_frames(joint.planar, place_of(model, joint.a, q), place_of(model, joint.b, q),
                      parameters.values.data() + joint.parameter_begin);
}

void add_actuator(const Model& model, const Parameters& parameters, const VecX& q,
                  const Actuator& actuator, double u, VecX& f) {
  const double* x = parameters.values.data() + actuator.parameter_begin;
  if (actuator.kind == ActuatorKind::Body) {
    const Body& body = model.body(actuator.body);
    const Quat p = body_pose(body, q.data()).p;
    add_wrench(body.planar, body_force(body.planar, actuator.body_axes, p, x), u,
               f.data() + body.v_begin);
    return;
  }
  if (actuator.kind != ActuatorKind::Joint) return;  // moves a servo: constraint/joint_rows.cpp
  const Joint& joint = model.joint(actuator.joint);
  const JointRow row =
      joint_coordinate_row(joint.kind, joint.planar, frames_of(model, parameters, q, joint));
  double force = x[0] * std::clamp(u, actuator.lower, actuator.upper);
  if (actuator.max_force != kNone) {
    const double limit = parameters[actuator.max_force];
    force = std::clamp(force, -limit, limit);
  }
  const PairWrenchT<double> push = along_row(row, force);
  for (const auto& [id, w] : {std::pair{joint.a, push.a}, {joint.b, push.b}}) {
    if (id == kWorld || !model.body(id).is_dynamic()) continue;
    const Body& body = model.body(id);
    add_wrench(body.planar, w, 1.0, f.data() + body.v_begin);
  }
}

}  // namespace

PlacedT<double> place_of(const Model& model, BodyId id, const VecX& q) {
  if (id == kWorld) return {};
  const Body& body = model.body(id);
  return placed(body.planar, q.data() + body.q_begin);
}

Eigen::Map<const VecX> velocity_of(const Model& model, BodyId id, const VecX& v) {
  if (!moves(model, id)) return {nullptr, 0};
  const Body& body = model.body(id);
  return {v.data() + body.v_begin, body.v_size};
}

SpringElement point_spring(const Model& model, const Parameters& parameters, const VecX& q,
                           const VecX& v, double h, const Force& force) {
  const bool planar = is_planar(model, force.a) || is_planar(model, force.b);
  const int n = planar ? 2 : 3;
  const double* x = parameters.values.data() + force.parameter_begin;
  const auto point = [&](const double* y) { return Vec3(y[0], y[1], planar ? 0 : y[2]); };
  const SpringT<double> spring{x[2 * n], x[2 * n + 1], x[2 * n + 2]};
  const Pose X_WA = place_of(model, force.a, q).pose, X_WB = place_of(model, force.b, q).pose;
  Vec3 r_a = rotate(X_WA.p, point(x)), r_b = rotate(X_WB.p, point(x + n));
  const Vec3 d = (X_WA.x - X_WB.x) + (r_a - r_b);

  if (h > 0) {
    const auto spin = [&](BodyId id) {
      return moves(model, id) ? angular_part(planar, velocity_of(model, id, v).data())
                              : Vec3(Vec3::Zero());
    };
    r_a = mean_lever<double>(r_a, spin(force.a), h);
    r_b = mean_lever<double>(r_b, spin(force.b), h);
  }
  SpringElement e;
  e.a = force.a;
  e.b = force.b;
  e.J_a.resize(3, columns(model, e.a));
  e.J_b.resize(3, columns(model, e.b));
  for (int i = 0; i < 3; ++i) {
    const Vec3 axis = unit_axis<double>(i);
    if (e.J_a.cols() > 0) set_row(e.J_a, i, planar, axis, r_a.cross(axis));
    if (e.J_b.cols() > 0) set_row(e.J_b, i, planar, -axis, -r_b.cross(axis));
  }
  Vec3 rate = Vec3::Zero();
  const bool still = v.size() == 0;
  if (!still && e.J_a.cols() > 0) rate += e.J_a * velocity_of(model, e.a, v);
  if (!still && e.J_b.cols() > 0) rate += e.J_b * velocity_of(model, e.b, v);
  const Vec3 way = h * rate;
  const SpringPlaceT<double> at = spring_place(spring, d, h > 0 ? &way : nullptr);
  e.force = spring_force(spring, at, rate);
  e.stiffness = spring_matrix(at.n, spring.stiffness, at.across);
  e.damping = spring_matrix(at.n, spring.damping, 0.0);
  e.ahead = spring_matrix(at.n, 0.0, h > 0 ? at.across : 0.0);
  e.inertia = ElementMatrix::Zero(3, 3);
  e.energy = spring_energy(spring, d);
  return e;
}

SpringElement joint_spring(const Model& model, const Parameters& parameters, const VecX& q,
                           const VecX& v, const Joint& joint) {
  const JointFramesT<double> f = frames_of(model, parameters, q, joint);
  const JointRow row = joint_coordinate_row(joint.kind, joint.planar, f);
  const double k = joint.stiffness != kNone ? parameters[joint.stiffness] : 0;
  const double c = joint.damping != kNone ? parameters[joint.damping] : 0;
  const double stretch =
      joint.stiffness == kNone ? 0 : joint_coordinate(joint, f) - parameters[joint.rest];
  SpringElement e;
  e.a = joint.a;
  e.b = joint.b;
  e.J_a.resize(1, columns(model, e.a));
  e.J_b.resize(1, columns(model, e.b));
  double rate = 0;
  const bool still = v.size() == 0;
  if (e.J_a.cols() > 0) {
    set_row(e.J_a, 0, joint.planar, row.linear_a, row.angular_a);
    if (!still) rate += e.J_a.row(0).dot(velocity_of(model, e.a, v));
  }
  if (e.J_b.cols() > 0) {
    set_row(e.J_b, 0, joint.planar, row.linear_b, row.angular_b);
    if (!still) rate += e.J_b.row(0).dot(velocity_of(model, e.b, v));
  }
  e.force.resize(1);
  e.force[0] = -(k * stretch + c * rate);
  e.stiffness.resize(1, 1);
  e.stiffness(0, 0) = k;
  e.damping.resize(1, 1);
  e.damping(0, 0) = c;
  e.ahead = ElementMatrix::Zero(1, 1);
  e.inertia =
      ElementMatrix::Constant(1, 1, joint.armature != kNone ? parameters[joint.armature] : 0.0);
  e.energy = 0.5 * k * stretch * stretch;
  return e;
}

double joint_speed(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                   const Joint& joint) {
  const SpringElement e = joint_spring(model, parameters, q, v, joint);
  double rate = 0;
  if (e.J_a.cols() > 0) rate += e.J_a.row(0).dot(velocity_of(model, e.a, v));
  if (e.J_b.cols() > 0) rate += e.J_b.row(0).dot(velocity_of(model, e.b, v));
  return rate;
}

void add_explicit(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                  double t, const VecX& u, VecX& f) {
  ORTHANT_ASSERT(u.size() == 0 || u.size() == model.control_count());
  add_gravity(model, parameters, f);
  for (const Force& force : model.forces()) add_one(model, parameters, q, v, t, force, f);
  if (u.size() == 0) return;
  for (Index i = 0; i < model.control_count(); ++i)
    add_actuator(model, parameters, q, model.actuators()[i], u[i], f);
}

}  // namespace orthant::internal
