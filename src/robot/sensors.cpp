// SPDX-License-Identifier: Apache-2.0
// robot/sensors.cpp: the record of a step => joints, frames, inertial units.
// Rows of λ after those of the contacts are the joints', in the order of constraint/joint_rows.hpp:
// lower limit, upper limit, motor with a block, dry friction.
#include "orthant/robot/sensors.hpp"

#include <algorithm>
#include <cmath>

#include "model/joint_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/step/simulation.hpp"

namespace orthant {
namespace {

/// Solves that moved the bodies for a time: of rounds that follow each other the last is the
/// answer.
std::vector<const SolveRecord*> intervals(const StepRecord& record) {
  if (record.solves.empty())
    throw Error("record", "is empty: pass it to step() before asking what sensors read");
  std::vector<const SolveRecord*> moves;
  for (const SolveRecord& solve : record.solves)
    if (solve.kind != SolveKind::Projection && solve.kind != SolveKind::Impact)
      moves.push_back(&solve);
  std::vector<const SolveRecord*> out;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool replaced = i + 1 < moves.size() && (moves[i + 1]->kind == SolveKind::Recursion ||
                                                   moves[i]->kind == SolveKind::Newton);
    if (!replaced) out.push_back(moves[i]);
  }
  return out;
}

double duration_of(const StepRecord& record) {
  double sum = 0;
  for (const SolveRecord* solve : intervals(record)) sum += solve->duration;
  return sum;
}

PlacedT<double> placed_body(const Model& model, const State& x, BodyId id) {
  if (id == kWorld) return {};
  return placed(model.body(id).planar, x.q.data() + model.body(id).q_begin);
}

double actuator_effort(const Model& model, const Parameters& parameters, const VecX& u,
                       JointId joint) {
  double sum = 0;
  for (std::size_t i = 0; i < model.actuators().size() && u.size() > 0; ++i) {
    const Actuator& a = model.actuators()[i];
    if (a.kind != ActuatorKind::Joint || a.joint != joint) continue;
    double effort = parameters[a.parameter_begin] *
                    std::clamp(u[static_cast<Eigen::Index>(i)], a.lower, a.upper);
    if (a.max_force != kNone)
      effort = std::clamp(effort, -parameters[a.max_force], parameters[a.max_force]);
    sum += effort;
  }
  return sum;
}

}  // namespace

std::vector<JointReading> read_joints(const Model& model, const Parameters& parameters,
                                      const StepRecord& record) {
  std::vector<JointReading> out(model.joints().size());
  const double h = duration_of(record);
  for (const SolveRecord* solve : intervals(record)) {
    const Solution& s = solve->solution;
    Eigen::Index row = s.lambda.size() - joint_block_count(model);
    if (s.lambda.size() == 0 && joint_block_count(model) > 0) continue;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Joint& joint = model.joints()[i];
      JointReading& r = out[i];
      if (joint.lower != kNone) r.limit += s.lambda[row++] / h;
      if (joint.upper != kNone) r.limit -= s.lambda[row++] / h;
      if (joint.motor.kind != MotorKind::None && joint.motor.has_block())
        r.motor += s.lambda[row++] / h;
      else if (joint.motor_row != kNone && joint.motor_row < s.gamma.size())
        r.motor += s.gamma[joint.motor_row] / h;
      if (joint.dry_friction != kNone) r.friction += s.lambda[row++] / h;
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Joint& joint = model.joints()[i];
    out[i].actuator = actuator_effort(model, parameters, record.u, static_cast<JointId>(i));
    if (!joint.has_coordinate()) continue;
    const State& x = record.after;
    const auto f =
        joint_frames(joint.planar, placed_body(model, x, joint.a), placed_body(model, x, joint.b),
                     parameters.values.data() + joint.parameter_begin);
    out[i].position = joint_coordinate(joint, f);
    const JointRow row = joint_coordinate_row(joint.kind, joint.planar, f);
    const auto side = [&](BodyId id, const Vec3& lin, const Vec3& ang) {
      if (id == kWorld) return 0.0;
      return lin.dot(velocity_of(model, x, id)) + ang.dot(angular_velocity_of(model, x, id));
    };
    out[i].velocity =
        side(joint.a, row.linear_a, row.angular_a) + side(joint.b, row.linear_b, row.angular_b);
  }
  return out;
}

FrameReading read_frame(const Model& model, const State& state, const FrameRef& frame) {
  FrameReading r;
  if (frame.body == kWorld) return {frame.X_BF, Vec3::Zero(), Vec3::Zero()};
  const Pose X = pose_of(model, state, frame.body);
  r.pose = compose(X, frame.X_BF);
  r.angular_velocity = angular_velocity_of(model, state, frame.body);
  r.velocity = velocity_of(model, state, frame.body) + r.angular_velocity.cross(r.pose.x - X.x);
  return r;
}

ImuReading read_imu(const Model& model, const Parameters& parameters, const StepRecord& record,
                    const FrameRef& frame) {
  const double h = duration_of(record);
  const FrameReading before = read_frame(model, record.before, frame),
                     after = read_frame(model, record.after, frame);
  const double* g = parameters.values.data() + model.gravity();
  const Quat back = conjugate(after.pose.p);
  const Vec3 a = (after.velocity - before.velocity) / h - Vec3(g[0], g[1], g[2]);
  return {rotate(back, a), rotate(back, after.angular_velocity)};
}

TouchReading read_touch(const std::vector<ContactReading>& contacts, std::string_view shape,
                        double duration) {
  TouchReading r;
  for (const ContactReading& c : contacts) {
    if (c.shape_a != shape && c.shape_b != shape) continue;
    r.force += (c.shape_a == shape ? 1 : -1) * c.impulse / duration;
    if (c.state == ContactState::Separate) continue;
    ++r.contacts;
    r.sliding = r.sliding || c.state == ContactState::Slide;
  }
  return r;
}

}  // namespace orthant
