// SPDX-License-Identifier: Apache-2.0
// constraint/joint_rows.cpp: joints, limits, motors, dry friction => C, e and Box or Orthant
// blocks.
//   e = beta Psi/h + (Psi(q, t+h) - Psi(q, t))/h + C_kin v_kin
// Only a Position motor depends on time. The row of a joint that follows another is that of its
// coordinate minus ratio times that of the leader's: up to four bodies, each once. A block is one
// row along the joint's coordinate s: lower limit s - lo >= 0, upper limit hi - s >= 0, motor and
// friction |force| <= max.
#include "orthant/constraint/joint_rows.hpp"

#include <algorithm>
#include <cmath>

#include "model/joint_kernel.hpp"
#include "orthant/base/assert.hpp"

namespace orthant {

namespace {

struct View {
  const Model& model;
  const double* parameters;
  const VecX& q;

  PlacedT<double> place(BodyId id) const {
    if (id == kWorld) return {};
    const Body& body = model.body(id);
    return placed(body.planar, q.data() + body.q_begin);
  }
  JointFramesT<double> frames(const Joint& j) const {
    return joint_frames(j.planar, place(j.a), place(j.b), parameters + j.parameter_begin);
  }
};

bool is_dynamic(const Model& model, BodyId id) {
  return id != kWorld && model.body(id).is_dynamic();
}

/// (linear, angular) cut to the velocities of a body, times `sign`.
void write(const Body& body, const Vec3& linear, const Vec3& angular, double sign, double* out) {
  if (body.planar) {
    out[0] = sign * linear[0], out[1] = sign * linear[1], out[2] = sign * angular[2];
    return;
  }
  for (int i = 0; i < 3; ++i) {
    out[i] = sign * linear[i];
    out[3 + i] = sign * angular[i];
  }
}

/// Velocity a row sees from a body that moves as prescribed.
double prescribed(const Model& model, BodyId id, const Vec3& linear, const Vec3& angular,
                  const VecX& v) {
  if (id == kWorld) return 0;
  const Body& body = model.body(id);
  if (body.motion != Motion::Kinematic) return 0;
  double row[6];
  write(body, linear, angular, 1, row);
  double sum = 0;
  for (Index i = 0; i < body.v_size; ++i) sum += row[i] * v[body.v_begin + i];
  return sum;
}
double prescribed(const Model& model, const Joint& j, const JointRow& row, const VecX& v) {
  return prescribed(model, j.a, row.linear_a, row.angular_a, v) +
         prescribed(model, j.b, row.linear_b, row.angular_b, v);
}

/// Writes line `line` of the last row block, whose entries are body A's and body B's, as far as
/// they are dynamic. `sign` turns a row around (upper limits).
void write_line(const Model& model, const Joint& j, const JointRow& row, Index line, double sign,
                double* values, Index dim) {
  double* next = values;
  if (is_dynamic(model, j.a)) {
    const Body& body = model.body(j.a);
    write(body, row.linear_a, row.angular_a, sign, next + line * body.v_size);
    next += dim * body.v_size;
  }
  if (is_dynamic(model, j.b)) {
    const Body& body = model.body(j.b);
    write(body, row.linear_b, row.angular_b, sign, next + line * body.v_size);
  }
}

/// Opens a row block over the two bodies; columns ascend so that equal patterns are equal.
void open_block(const Model& model, const Joint& j, Index dim, BlockRows& rows) {
  rows.begin_row(dim);
  for (const BodyId id : {j.a, j.b}) {
    if (!is_dynamic(model, id)) continue;
    const Body& body = model.body(id);
    rows.add(body.dynamic, body.v_begin, body.v_size);
  }
}

void append_line(const Model& model, const Joint& j, const JointRow& row, double sign,
                 BlockRows& rows) {
  open_block(model, j, 1, rows);
  write_line(model, j, row, 0, sign, rows.values(rows.row_block_count() - 1), 1);
}

/// The same coordinate row seen from the bodies of two joints, `factor` on that of the second;
/// a body of both gets one block.
void append_pair(const Model& model, const Joint& j, const JointRow& row, const Joint& other,
                 const JointRow& other_row, double factor, BlockRows& rows) {
  rows.begin_row(1);
  const Index line = rows.row_block_count() - 1;
  const auto put = [&](BodyId id, const Vec3& linear, const Vec3& angular, double sign) {
    if (!is_dynamic(model, id)) return;
    const Body& body = model.body(id);
    double part[6];
    write(body, linear, angular, sign, part);
    double* to = rows.values(line);
    bool found = false;
    for (const BlockRows::Entry& entry : rows.entries(line)) {
      if (entry.block == body.dynamic) {
        found = true;
        break;
      }
      to += entry.width;
    }
    if (!found) to = rows.add(body.dynamic, body.v_begin, body.v_size);
    for (Index i = 0; i < body.v_size; ++i) to[i] += part[i];
  };
  put(j.a, row.linear_a, row.angular_a, 1);
  put(j.b, row.linear_b, row.angular_b, 1);
  put(other.a, other_row.linear_a, other_row.angular_a, factor);
  put(other.b, other_row.linear_b, other_row.angular_b, factor);
}

/// A joint that follows another, as it is now.
struct Following {
  const Joint& leader;
  double ratio, psi;
  JointRow row, leader_row;

  Following(const View& view, const Joint& j)
      : leader(view.model.joint(j.follow.leader)), ratio(view.parameters[j.follow.ratio]) {
    const JointFramesT<double> f = view.frames(j), g = view.frames(leader);
    psi = follow_residual(j, f, leader, g, ratio, view.parameters[j.follow.offset]);
    row = joint_coordinate_row(j.kind, j.planar, f);
    leader_row = joint_coordinate_row(leader.kind, leader.planar, g);
  }
  /// Rate that bodies which move as prescribed bring.
  double moved(const Model& model, const Joint& j, const VecX& v) const {
    return prescribed(model, j, row, v) - ratio * prescribed(model, leader, leader_row, v);
  }
};

double joint_length(const View& view, const Joint& j) {
  return j.length == kNone ? 0 : view.parameters[j.length];
}

/// C of all joints, motors and couplings; value(joint, row number within it, row, frames) gives e.
/// each_joint(joint, frames) is called for every joint, in their order, for its rows of D.
template <class Value, class MotorValue, class FollowValue, class EachJoint>
void append_bilateral(const View& view, CanonicalProblem& problem, Value&& value,
                      MotorValue&& motor_value, FollowValue&& follow_value,
                      EachJoint&& each_joint) {
  const Model& model = view.model;
  problem.e.resize(model.bilateral_count());
  for (const Joint& j : model.joints()) {
    const JointFramesT<double> f = view.frames(j);
    each_joint(j, f);
    if (j.row_count == 0) continue;
    open_block(model, j, j.row_count, problem.C);
    double* values = problem.C.values(problem.C.row_block_count() - 1);
    for (Index i = 0; i < j.row_count; ++i) {
      const JointRow row = joint_row(j.kind, j.planar, i, f);
      write_line(model, j, row, i, 1, values, j.row_count);
      problem.e[j.row_begin + i] = value(j, i, row, f);
    }
  }
  for (const Joint& j : model.joints()) {
    if (j.motor_row == kNone) continue;
    const JointFramesT<double> f = view.frames(j);
    const JointRow row = joint_coordinate_row(j.kind, j.planar, f);
    append_line(model, j, row, 1, problem.C);
    problem.e[j.motor_row] = motor_value(j, row, f);
  }
  for (const Joint& j : model.joints()) {
    if (j.follow.row == kNone) continue;
    const Following x(view, j);
    append_pair(model, j, x.row, x.leader, x.leader_row, -x.ratio, problem.C);
    problem.e[j.follow.row] = follow_value(j, x);
  }
}

/// What a control adds to the target or the speed of a servo.
double control(const Model& model, const double* parameters, Index actuator, const VecX* u) {
  if (actuator == kNone || u == nullptr || u->size() == 0) return 0;
  const Actuator& a = model.actuators()[static_cast<std::size_t>(actuator)];
  return parameters[a.parameter_begin] * std::clamp((*u)[actuator], a.lower, a.upper);
}

/// A Position motor's part of e that time brings; a Velocity motor's whole e.
double drive(const Joint& j, const double* parameters, double t, double h) {
  const double now = motor_target(j.motor, parameters, t);
  if (j.motor.kind == MotorKind::Velocity)
    return -0.5 * (now + motor_target(j.motor, parameters, t + h));
  return -(motor_target(j.motor, parameters, t + h) - now) / h;
}

}  // namespace

Index joint_limit_count(const Model& model) {
  Index count = 0;
  for (const Joint& j : model.joints()) count += (j.lower != kNone) + (j.upper != kNone);
  return count;
}

Index joint_block_count(const Model& model) {
  Index count = joint_limit_count(model);
  for (const Joint& j : model.joints()) count += j.motor.has_block() + (j.dry_friction != kNone);
  return count;
}

void append_joint_rows(const Model& model, const Parameters& parameters, const VecX& q,
                       const VecX& v, double t, double h, double beta, CanonicalProblem& problem,
                       Index b_begin, const VecX* u, std::vector<JointSoftness>* softness) {
  ORTHANT_ASSERT(h > 0 && problem.b.size() >= b_begin + joint_block_count(model));
  const View view{model, parameters.values.data(), q};
  const double* x = view.parameters;
  Index b = b_begin;
  const auto append_blocks = [&](const Joint& j, const JointFramesT<double>& f) {
    const bool motor = j.motor.has_block(), friction = j.dry_friction != kNone;
    if (j.lower == kNone && j.upper == kNone && !motor && !friction) return;
    const JointRow row = joint_coordinate_row(j.kind, j.planar, f);
    const double s = joint_coordinate(j, f), moved = prescribed(model, j, row, v);
    const auto append = [&](const Law& law, double sign, double offset) {
      problem.laws.push_back(law);
      append_line(model, j, row, sign, problem.D);
      problem.b[b++] = offset + sign * moved;
    };
    // A limit already passed is stabilised as joints are; the projection may own it (beta = 0).
    const auto gap_rate = [&](double gap) { return gap >= 0 ? gap / h : beta * gap / h; };
    if (j.lower != kNone) append(Law::orthant(), 1, gap_rate(s - x[j.lower]));
    if (j.upper != kNone) append(Law::orthant(), -1, gap_rate(x[j.upper] - s));
    if (j.motor.kind == MotorKind::Servo) {
      const Index block = problem.block_count();
      const double k = x[j.motor.stiffness], c = x[j.motor.damping], sum = h * k + c;
      const double speed =
          motor_speed(j.motor, x, t + h) + control(model, x, j.motor.speed_control, u);
      const double error = nearest_turn(
          j, motor_residual(j, f, x, t + h) - control(model, x, j.motor.target_control, u));
      const double limit = j.motor.max_force == kNone ? 0 : x[j.motor.max_force] * h;
      append(j.motor.max_force == kNone ? Law::free() : Law::box(-limit, limit), 1,
             (k * error - c * speed) / sum);
      if (softness != nullptr) softness->push_back({block, 1 / (h * sum)});
    } else if (motor) {
      // A limited servo is no constraint to be projected: it always steers to the end of the step.
      const double impulse = x[j.motor.max_force] * h;
      const double wanted = j.motor.kind == MotorKind::Position ? motor_residual(j, f, x, t + h) / h
                                                                : drive(j, x, t, h);
      append(Law::box(-impulse, impulse), 1, wanted);
    }
    if (friction) {
      const double impulse = x[j.dry_friction] * h;
      append(Law::box(-impulse, impulse), 1, 0);
    }
  };
  append_bilateral(
      view, problem,
      [&](const Joint& j, Index i, const JointRow& row, const JointFramesT<double>& f) {
        const double psi = joint_residual(j.kind, j.planar, i, f, joint_length(view, j));
        return beta * psi / h + prescribed(model, j, row, v);
      },
      [&](const Joint& j, const JointRow& row, const JointFramesT<double>& f) {
        double e = drive(j, x, t, h) + prescribed(model, j, row, v);
        if (j.motor.kind == MotorKind::Position) e += beta * motor_residual(j, f, x, t) / h;
        return e;
      },
      [&](const Joint& j, const Following& f) { return beta * f.psi / h + f.moved(model, j, v); },
      append_blocks);
  ORTHANT_ASSERT(b == b_begin + joint_block_count(model));
}

void append_joint_position_rows(const Model& model, const Parameters& parameters, const VecX& q,
                                double t, CanonicalProblem& problem, Index b_begin) {
  ORTHANT_ASSERT(problem.b.size() >= b_begin + joint_limit_count(model));
  const View view{model, parameters.values.data(), q};
  const double* x = view.parameters;
  Index b = b_begin;
  const auto append_limits = [&](const Joint& j, const JointFramesT<double>& f) {
    if (j.lower == kNone && j.upper == kNone) return;
    const JointRow row = joint_coordinate_row(j.kind, j.planar, f);
    const double s = joint_coordinate(j, f);
    for (const auto& [limit, sign] : {std::pair{j.lower, 1.0}, {j.upper, -1.0}}) {
      if (limit == kNone) continue;
      problem.laws.push_back(Law::orthant());
      append_line(model, j, row, sign, problem.D);
      problem.b[b++] = sign * (s - x[limit]);
    }
  };
  append_bilateral(
      view, problem,
      [&](const Joint& j, Index i, const JointRow&, const JointFramesT<double>& f) {
        return joint_residual(j.kind, j.planar, i, f, joint_length(view, j));
      },
      [&](const Joint& j, const JointRow&, const JointFramesT<double>& f) {
        return j.motor.kind == MotorKind::Position ? motor_residual(j, f, x, t) : 0.0;
      },
      [](const Joint&, const Following& f) { return f.psi; }, append_limits);
}

void joint_error(const Model& model, const Parameters& parameters, const VecX& q, double t,
                 VecX& psi) {
  const View view{model, parameters.values.data(), q};
  psi.resize(model.bilateral_count());
  for (const Joint& j : model.joints()) {
    if (j.follow.row != kNone) psi[j.follow.row] = Following(view, j).psi;
    if (j.row_count == 0 && j.motor_row == kNone) continue;
    const JointFramesT<double> f = view.frames(j);
    for (Index i = 0; i < j.row_count; ++i)
      psi[j.row_begin + i] = joint_residual(j.kind, j.planar, i, f, joint_length(view, j));
    if (j.motor_row != kNone)
      psi[j.motor_row] =
          j.motor.kind == MotorKind::Position ? motor_residual(j, f, view.parameters, t) : 0.0;
  }
}

double largest_joint_error(const Model& model, const Parameters& parameters, const VecX& q,
                           double t) {
  const View view{model, parameters.values.data(), q};
  double largest = 0;
  for (const Joint& j : model.joints()) {
    if (j.follow.row != kNone) largest = std::max(largest, std::abs(Following(view, j).psi));
    const JointFramesT<double> f = view.frames(j);
    for (Index i = 0; i < j.row_count; ++i)
      largest = std::max(largest,
                         std::abs(joint_residual(j.kind, j.planar, i, f, joint_length(view, j))));
    if (j.motor_row != kNone && j.motor.kind == MotorKind::Position)
      largest = std::max(largest, std::abs(motor_residual(j, f, view.parameters, t)));
    if (j.lower == kNone && j.upper == kNone) continue;
    const double s = joint_coordinate(j, f);
    if (j.lower != kNone) largest = std::max(largest, view.parameters[j.lower] - s);
    if (j.upper != kNone) largest = std::max(largest, s - view.parameters[j.upper]);
  }
  return largest;
}

void joint_rate(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                double t, VecX& rate) {
  const View view{model, parameters.values.data(), q};
  rate.resize(model.bilateral_count());
  for (const Joint& j : model.joints()) {
    if (j.follow.row != kNone) rate[j.follow.row] = Following(view, j).moved(model, j, v);
    if (j.row_count == 0 && j.motor_row == kNone) continue;
    const JointFramesT<double> f = view.frames(j);
    for (Index i = 0; i < j.row_count; ++i)
      rate[j.row_begin + i] = prescribed(model, j, joint_row(j.kind, j.planar, i, f), v);
    if (j.motor_row != kNone) {
      const JointRow row = joint_coordinate_row(j.kind, j.planar, f);
      rate[j.motor_row] = prescribed(model, j, row, v) - motor_speed(j.motor, view.parameters, t);
    }
  }
}

double joint_coordinate(const Model& model, const Parameters& parameters, const VecX& q,
                        JointId joint) {
  const Joint& j = model.joint(joint);
  const View view{model, parameters.values.data(), q};
  return joint_coordinate(j, view.frames(j));
}

}  // namespace orthant
