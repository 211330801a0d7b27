// SPDX-License-Identifier: Apache-2.0
// model/build_joints.cpp: joint specs => frames on both bodies, rows, features of the coordinate.
// Both frames are cut from one frame in the world at the initial configuration, so a joint as built
// has no error; that of A is moved on by `start`, which the coordinate then has (a Distance: its
// length).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/build.hpp"
#include "model/rules.hpp"

namespace orthant {

using internal::need_finite;
using internal::need_not_negative;

namespace {

/// The shortest turn from unit vector `from` to `to`, which is not its opposite.
Quat shortest_turn(const Vec3& from, const Vec3& to) {
  const Vec3 u = from.cross(to);
  return normalized(Quat{1 + from.dot(to), u[0], u[1], u[2]});
}

/// An orientation whose axis `k` points along the unit vector `axis`. Near the opposite of that
/// axis the shortest turn is lost in rounding: half a turn about the next axis, and from there.
Quat turn_to(int k, const Vec3& axis) {
  constexpr double kOpposite = 1e-6;
  Vec3 from = Vec3::Zero();
  from[k] = 1;
  if (from.dot(axis) > -1 + kOpposite) return shortest_turn(from, axis);
  Vec3 side = Vec3::Zero();
  side[(k + 1) % 3] = 1;
  return multiply(shortest_turn(-from, axis), Quat{0, side[0], side[1], side[2]});
}

Index rows_of(JointKind kind, bool planar) {
  switch (kind) {
    case JointKind::Weld:
      return planar ? 3 : 6;
    case JointKind::Revolute:
    case JointKind::Prismatic:
      return planar ? 2 : 5;
    case JointKind::Ball:
      return planar ? 2 : 3;
    case JointKind::Planar:
      return 3;
    case JointKind::LockRotation:
      return planar ? 1 : 3;
    case JointKind::Distance:
    case JointKind::LockX:
    case JointKind::LockY:
    case JointKind::LockZ:
      break;
  }
  return 1;
}

}  // namespace

void ModelBuilder::Build::joints() {
  for (std::size_t n = 0; n < specs.joints.size(); ++n) {
    const JointSpec& s = specs.joints[n];
    Joint j = joint(s, s.name.empty() ? "joint" + std::to_string(n) : s.name);
    j.row_begin = m.bilateral_count_;
    m.bilateral_count_ += j.row_count;
    if (!s.collide && j.a != kWorld && j.b != kWorld) m.joined_.push_back(std::minmax(j.a, j.b));
    m.joints_.push_back(std::move(j));
  }
  for (Joint& j : m.joints_)
    if (j.motor.kind != MotorKind::None && !j.motor.has_block()) j.motor_row = m.bilateral_count_++;
}

void ModelBuilder::Build::exclusions() {
  for (const auto& [a, b] : specs.exclusions) {
    const std::string where = say("exclusion", a + "+" + b);
    const BodyId x = find(a, where), y = find(b, where);
    if (x == kWorld || y == kWorld || x == y)
      throw Error(where, "an exclusion needs two different bodies");
    m.joined_.push_back(std::minmax(x, y));
  }
  std::sort(m.joined_.begin(), m.joined_.end());
  m.joined_.erase(std::unique(m.joined_.begin(), m.joined_.end()), m.joined_.end());
}

void ModelBuilder::Build::frames() {
  for (const FrameSpec& s : specs.frames) {
    const std::string where = say("frame", s.name);
    if (s.name.empty()) throw Error(where, "a frame needs a name");
    need_finite(where, "position", s.pose.x);
    const BodyId body = find(s.body, where);
    m.frames_.push_back({s.name, body, {body_point(body, s.pose.x), normalized(s.pose.p)}});
  }
}

void ModelBuilder::Build::followers() {
  for (std::size_t n = 0; n < specs.joints.size(); ++n)
    if (!specs.joints[n].follow.joint.empty())
      follow(specs.joints[n], m.joints_[n], say("joint", m.joints_[n].name));
  for (const Joint& j : m.joints_) {
    const Joint* at = &j;
    for (std::size_t n = 0; at->follow.row != kNone && n < m.joints_.size(); ++n)
      at = &m.joint(at->follow.leader);
    if (at->follow.row != kNone)
      throw Error(say("joint", j.name), "the joints that follow each other go round in a circle");
  }
}

void ModelBuilder::Build::follow(const JointSpec& s, Joint& j, const std::string& where) {
  const FollowSpec& spec = s.follow;
  try {
    j.follow.leader = m.find_joint(spec.joint);
  } catch (const Error& error) {
    throw Error(where, error.what());
  }
  const Joint& leader = m.joint(j.follow.leader);
  const Joint* both[] = {&j, &leader};
  for (const Joint* one : both)
    if (!one->has_coordinate())
      throw Error(where,
                  "a joint and the one it follows need one coordinate each (Revolute, "
                  "Prismatic or Distance), '" +
                      one->name + "' has none");
  need_finite(where, "follow.ratio", spec.ratio);
  need_finite(where, "follow.offset", spec.offset);
  const auto turns = [](const Joint& x) { return x.kind == JointKind::Revolute && !x.planar; };
  const bool bounded = leader.lower != kNone && leader.upper != kNone;
  const bool whole = turns(j) && std::round(spec.ratio) == spec.ratio;
  if (turns(leader) && !bounded && !whole)
    throw Error(where,
                "follows the hinge '" + leader.name +
                    "', whose angle is known up to full "
                    "turns: give that one both limits, or let a hinge follow it with a whole "
                    "ratio, got " +
                    to_text(spec.ratio));
  const std::string object = "joint/" + j.name;
  const bool angle = j.kind == JointKind::Revolute, by_angle = leader.kind == JointKind::Revolute;
  const char* unit = angle == by_angle ? "" : angle ? "rad/m" : "m/rad";
  j.follow.ratio = table->add(object, "follow.ratio", spec.ratio, unit);
  j.follow.offset = table->add(object, "follow.offset", spec.offset, angle ? "rad" : "m");
  j.follow.row = m.bilateral_count_++;
}

Joint ModelBuilder::Build::joint(const JointSpec& s, std::string name) {
  const std::string where = say("joint", name);
  Joint j;
  j.name = std::move(name);
  j.kind = s.kind;
  j.a = find(s.a, where);
  j.b = find(s.b, where);
  if (j.a == j.b) throw Error(where, "a joint needs two different bodies, got '" + s.a + "' twice");
  if (!is_dynamic(j.a) && !is_dynamic(j.b))
    throw Error(where, "a joint needs a dynamic body, got '" + s.a + "' and '" + s.b +
                           "', neither of which is");
  j.planar = m.body(j.a != kWorld ? j.a : j.b).planar;
  if (j.a != kWorld && j.b != kWorld && m.body(j.a).planar != m.body(j.b).planar)
    throw Error(where, "a joint cannot join a planar and a spatial body, got '" + s.a + "' and '" +
                           s.b + "'");
  if (j.planar && (s.kind == JointKind::LockZ || s.kind == JointKind::Planar))
    throw Error(where, "LockZ and Planar need spatial bodies: planar ones have no z");
  joint_frames(s, j, where);
  joint_coordinate(s, j, where);
  // A Distance with limits, a spring, a motor or a leader is a rope, a strut or a jack, no rod.
  const bool rod = j.lower == kNone && j.upper == kNone && j.stiffness == kNone &&
                   j.damping == kNone && j.motor.kind == MotorKind::None && s.follow.joint.empty();
  j.row_count = s.kind == JointKind::Distance && !rod ? 0 : rows_of(s.kind, j.planar);
  // A rod keeps its length: nothing moves that friction could resist, and a row of its own would
  // only contradict the rod's where that corrects the length.
  if (s.kind == JointKind::Distance && rod) j.dry_friction = kNone;
  return j;
}

void ModelBuilder::Build::joint_frames(const JointSpec& s, Joint& j, const std::string& where) {
  need_finite(where, "anchor", s.anchor);
  need_finite(where, "axis", s.axis);
  if (s.anchor_a) need_finite(where, "anchor_a", *s.anchor_a);
  if (s.anchor_b) need_finite(where, "anchor_b", *s.anchor_b);
  need_finite(where, "start", s.start);
  const bool slides = s.kind == JointKind::Prismatic, turns = s.kind == JointKind::Revolute;
  if (s.start != 0 && !slides && !turns)
    throw Error(where, "only Revolute and Prismatic joints have a start, got " + to_text(s.start));
  Quat turn;
  Vec3 along = Vec3::Zero();
  if (slides || turns || s.kind == JointKind::Planar) {
    const double norm = s.axis.norm();
    if (!(norm > 0)) internal::refuse(where, "|axis|", "> 0", norm);
    const Vec3 axis = s.axis / norm;
    if (j.planar && s.kind == JointKind::Prismatic && axis[2] != 0)
      internal::refuse(where, "the axis z of a planar slider", "0 (it lies in the plane)",
                       s.axis[2]);
    if (j.planar && s.kind == JointKind::Revolute && (axis[0] != 0 || axis[1] != 0))
      throw Error(where, "a planar pin turns about z: its axis must be (0, 0, 1), got (" +
                             to_text(s.axis[0]) + ", " + to_text(s.axis[1]) + ", " +
                             to_text(s.axis[2]) + ")");
    if (j.planar && s.kind == JointKind::Prismatic) {
      turn = planar_pose(0.0, 0.0, std::atan2(axis[1], axis[0])).p;
    } else if (!j.planar) {
      turn = turn_to(slides ? 0 : 2, axis);
    }
    along = axis;
  }

  const Pose X_WA = pose(j.a), X_WB = pose(j.b);
  Vec3 world_a = s.anchor, world_b = s.anchor;
  if (s.kind == JointKind::Distance) {
    world_a = j.a == kWorld ? s.anchor : X_WA.x;
    world_b = j.b == kWorld ? s.anchor : X_WB.x;
    if (s.anchor_a) world_a = transform(X_WA, body_point(j.a, *s.anchor_a));
    if (s.anchor_b) world_b = transform(X_WB, body_point(j.b, *s.anchor_b));
  } else {
    if (s.anchor_a) world_a = world_b = transform(X_WA, body_point(j.a, *s.anchor_a));
    if (s.anchor_b) world_b = transform(X_WB, body_point(j.b, *s.anchor_b));
    if (s.anchor_b && !s.anchor_a) world_a = world_b;
  }
  if (j.planar && (world_a[2] != 0 || world_b[2] != 0))
    internal::refuse(where, "the anchor z of a planar joint", "0",
                     world_a[2] != 0 ? world_a[2] : world_b[2]);
  Quat turn_a = turn;
  if (slides && s.start != 0) world_b -= s.start * along;
  if (turns && s.start != 0) turn_a = multiply(turn, exp_rotation(Vec3(0, 0, s.start)));
  const std::string object = "joint/" + j.name;
  j.parameter_begin = frame(object, "a", j.planar, compose(inverse(X_WA), Pose{world_a, turn_a}));
  frame(object, "b", j.planar, compose(inverse(X_WB), Pose{world_b, turn}));

  if (s.kind == JointKind::Distance) {
    const double length = s.length.value_or((world_a - world_b).norm());
    internal::need_positive(where, "length", length);
    j.length = table->add(object, "length", length, "m");
  } else if (s.length) {
    throw Error(where, "only a Distance joint has a length, got " + to_text(*s.length));
  }
}

void ModelBuilder::Build::joint_coordinate(const JointSpec& s, Joint& j, const std::string& where) {
  const std::string object = "joint/" + j.name;
  const bool angle = j.kind == JointKind::Revolute;
  const std::string unit = angle ? "rad" : "m", force = angle ? "N m" : "N";
  const bool any = s.lower || s.upper || s.stiffness != 0 || s.damping != 0 ||
                   s.dry_friction != 0 || s.armature != 0 || s.motor.kind != MotorKind::None;
  if (any && !j.has_coordinate())
    throw Error(
        where,
        "limits, motors, springs, dry friction and armature need a joint with one coordinate: "
        "Revolute, Prismatic or Distance");
  const bool both = s.lower && s.upper && std::isfinite(*s.lower) && std::isfinite(*s.upper);
  for (const auto& limit : {s.lower, s.upper}) {
    if (!limit || std::isinf(*limit)) continue;
    need_finite(where, "a limit", *limit);
    // The angle of two frames in space is known up to full turns only.
    if (angle && !j.planar && !both && std::abs(*limit) >= std::numbers::pi)
      internal::refuse(where, "the only limit of a spatial hinge", "inside (-pi, pi)", *limit);
  }
  if (angle && !j.planar && both) {
    if (*s.upper - *s.lower >= 2 * std::numbers::pi)
      internal::refuse(where, "the range of a spatial hinge", "less than a turn, 2 pi",
                       *s.upper - *s.lower);
    // (-pi, pi) holds most ranges; for others the angle is told by their middle.
    if (*s.lower <= -std::numbers::pi || *s.upper >= std::numbers::pi)
      j.middle = 0.5 * (*s.lower + *s.upper);
  }
  if (s.lower && s.upper && !(*s.lower <= *s.upper))
    internal::refuse(where, "the lower limit", "at most the upper one, " + to_text(*s.upper),
                     *s.lower);
  if (s.lower && std::isfinite(*s.lower)) j.lower = table->add(object, "lower", *s.lower, unit);
  if (s.upper && std::isfinite(*s.upper)) j.upper = table->add(object, "upper", *s.upper, unit);

  need_not_negative(where, "stiffness", s.stiffness);
  need_not_negative(where, "damping", s.damping);
  need_not_negative(where, "dry_friction", s.dry_friction);
  need_not_negative(where, "armature", s.armature);
  need_finite(where, "rest", s.rest);
  if (s.stiffness > 0) {
    j.stiffness = table->add(object, "stiffness", s.stiffness, angle ? "N m/rad" : "N/m");
    const bool as_built = j.kind == JointKind::Distance && s.rest == 0;
    j.rest = table->add(object, "rest", as_built ? table->initial(j.length) : s.rest, unit);
  }
  if (s.damping > 0)
    j.damping = table->add(object, "damping", s.damping, angle ? "N m s/rad" : "N s/m");
  if (s.dry_friction > 0)
    j.dry_friction = table->add(object, "dry_friction", s.dry_friction, force);

  if (s.armature > 0) {
    if (m.law() == LawOfMotion::Overdamped)
      throw Error(where, "the overdamped law knows no inertia, so no armature");
    j.armature = table->add(object, "armature", s.armature, angle ? "kg m^2" : "kg");
  }

  const MotorSpec& motor = s.motor;
  if (motor.kind == MotorKind::None) {
    if (!motor.times.empty() || motor.max_force)
      throw Error(where, "a motor with a table or a force limit needs a kind, got MotorKind::None");
    return;
  }
  need_finite(where, "motor.target", motor.target);
  need_finite(where, "motor.velocity", motor.velocity);
  j.motor.kind = motor.kind;
  if (motor.kind != MotorKind::Servo && (motor.stiffness != 0 || motor.damping != 0))
    throw Error(where, "only a servo has a stiffness and a damping");
  if (motor.kind == MotorKind::Servo) {
    need_not_negative(where, "motor.stiffness", motor.stiffness);
    need_not_negative(where, "motor.damping", motor.damping);
    if (!(motor.stiffness + motor.damping > 0))
      throw Error(where, "a servo needs a stiffness or a damping > 0");
    j.motor.stiffness =
        table->add(object, "motor.stiffness", motor.stiffness, angle ? "N m/rad" : "N/m");
    j.motor.damping =
        table->add(object, "motor.damping", motor.damping, angle ? "N m s/rad" : "N s/m");
  }
  if (motor.kind != MotorKind::Velocity)
    j.motor.target = table->add(object, "motor.target", motor.target, unit);
  j.motor.velocity = table->add(object, "motor.velocity", motor.velocity, unit + "/s");
  if (motor.max_force) {
    need_not_negative(where, "motor.max_force", *motor.max_force);
    j.motor.max_force = table->add(object, "motor.max_force", *motor.max_force, force);
  }
  j.motor.table = time_table(object, "motor.table", motor.times, motor.values,
                             motor.kind == MotorKind::Velocity ? unit + "/s" : unit, where);
}

}  // namespace orthant
