// SPDX-License-Identifier: Apache-2.0
// io/scene/robot_scene.cpp: links of a robot => bodies, joints, frames and exclusions of a scene.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "io/scene/robot.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

class RobotWriter {
 public:
  RobotWriter(const Robot& robot, const RobotDescription& options, std::size_t number,
              XmlReader& xml, SceneDescription& scene)
      : robot_(robot), options_(options), xml_(xml), scene_(scene) {
    file_ = std::make_shared<const std::string>(xml.path());
    // A bit of the collision groups for each robot; the first is everybody's default.
    bit_ = 1 + static_cast<int>(number % 31);
  }

  void write() {
    place();
    name_bodies();
    for (std::size_t i = 0; i < robot_.links.size(); ++i) add_body(i);
    for (std::size_t i = 0; i < robot_.links.size(); ++i)
      if (robot_.links[i].parent != kNone) add_joint(i);
    for (const RobotLoop& loop : robot_.loops) add_loop(loop);
    for (const RobotActuator& actuator : robot_.actuators) add_actuator(actuator);
    for (const ServoDescription& servo : options_.servos) add_servos(servo);
    // A body's origin is its centre of mass: the link's own frame goes by the link's name.
    for (std::size_t i = 0; i < robot_.links.size(); ++i)
      add_frame({robot_.links[i].name, static_cast<Index>(i), {}});
    for (const RobotFrame& f : robot_.frames) add_frame(f);
    exclude();
  }

 private:
  Where where(int line) const { return {file_, line, 0}; }
  std::string full(const std::string& name) const { return options_.prefix + name; }

  void place() {
    X_WL_.resize(robot_.links.size());
    const Pose X_WR{options_.position,
                    orientation_of(options_.orientation, options_.rotation, options_.where)};
    for (std::size_t i = 0; i < X_WL_.size(); ++i) {
      const RobotLink& link = robot_.links[i];
      X_WL_[i] = link.parent == kNone ? compose(X_WR, link.joint.X_PL)
                                      : compose(X_WL_[static_cast<std::size_t>(link.parent)],
                                                link_in_parent(link.joint));
    }
    if (!options_.stand) return;
    const double up = options_.position[2] - lowest();
    if (!std::isfinite(up)) return;  // no shapes
    for (Pose& X : X_WL_) X.x[2] += up;
  }

  double lowest() const {
    double z = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < X_WL_.size(); ++i)
      for (const ShapeDescription& s : robot_.links[i].shapes) {
        const Shape shape = make_shape(s, robot_.links[i].name);
        const Pose X = compose(X_WL_[i], Pose{s.position, s.orientation.value_or(Quat{})});
        z = std::min(z, bounds(shape, X).lo[2]);
      }
    return z;
  }

  /// A root that is the world has a body where it has shapes, and then another name than the
  /// world's own.
  void name_bodies() {
    for (std::size_t i = 0; i < robot_.links.size(); ++i) {
      const RobotLink& link = robot_.links[i];
      std::string name = full(link.name);
      if (link.world && link.shapes.empty()) {
        name = "world";
      } else if (name == "world") {
        name = full("worldbody");
        for (const RobotFrame& f : robot_.frames)
          if (f.link == static_cast<Index>(i) && !robot_.world_touches) {
            name = full(f.name);
            break;
          }
      }
      names_.push_back(std::move(name));
    }
  }

  void add_body(std::size_t i) {
    const RobotLink& link = robot_.links[i];
    if (names_[i] == "world") return;
    BodyDescription body;
    body.where = where(link.line);
    body.name = names_[i];
    body.position = X_WL_[i].x;
    body.orientation = X_WL_[i].p;
    body.shapes = link.shapes;
    body.visuals = link.visuals;
    body.colour = link.colour;
    if (!options_.self_collision && !robot_.own_groups)
      for (ShapeDescription& shape : body.shapes) {
        shape.group = std::int64_t{1} << bit_;
        shape.mask = 0xffffffff & ~shape.group;
      }
    if (link.world) {
      body.motion = MotionWord::Fixed;
    } else {
      body.mass = link.mass;
      body.center_of_mass = link.center;
      body.inertia = link.inertia;
    }
    scene_.bodies.push_back(std::move(body));
  }

  void add_joint(std::size_t i) {
    const RobotLink& link = robot_.links[i];
    const RobotJoint& j = link.joint;
    if (j.motion == RobotMotion::Free) return;
    JointDescription joint;
    joint.where = where(j.line);
    joint.name = full(j.name);
    joint.a = names_[i];
    const auto parent = static_cast<std::size_t>(link.parent);
    joint.b = robot_.world_touches && robot_.links[parent].world ? "world" : names_[parent];
    joint.anchor = transform(X_WL_[i], j.anchor);
    if (j.motion != RobotMotion::Fixed) joint.axis = rotate(X_WL_[i].p, j.axis);
    switch (j.motion) {
      case RobotMotion::Fixed:
        joint.kind = JointKind::Weld;
        break;
      case RobotMotion::Hinge:
        joint.kind = JointKind::Revolute;
        break;
      case RobotMotion::Slide:
        joint.kind = JointKind::Prismatic;
        break;
      case RobotMotion::Planar:
        joint.kind = JointKind::Planar;
        break;
      case RobotMotion::Ball:
      case RobotMotion::Free:
        joint.kind = JointKind::Ball;
        break;
    }
    if (j.has_coordinate()) {
      joint.start = j.start;
      add_limits(j, joint);
      joint.stiffness = j.stiffness;
      joint.rest = j.rest;
      joint.damping = j.damping;
      joint.dry_friction = j.dry_friction;
      joint.armature = j.armature;
      joint.motor = j.motor;
      if (!j.leader.empty()) follow(j, joint);
    }
    place_of_[j.name] = scene_.joints.size();
    scene_.joints.push_back(std::move(joint));
  }

  void add_loop(const RobotLoop& loop) {
    const auto a = static_cast<std::size_t>(loop.a), b = static_cast<std::size_t>(loop.b);
    if (a == b || (robot_.links[a].world && robot_.links[b].world)) {
      xml_.note("'" + loop.name + "' holds a body to itself");
      return;
    }
    JointDescription joint;
    joint.where = where(loop.line);
    joint.name = full(loop.name);
    joint.kind = loop.kind;
    joint.a = names_[a];
    joint.b = names_[b];
    joint.anchor = transform(X_WL_[a], loop.anchor);
    joint.collide = true;
    scene_.joints.push_back(std::move(joint));
  }

  void add_actuator(const RobotActuator& x) {
    if (!place_of_.contains(x.joint)) {
      xml_.note("actuator '" + x.name + "' moves nothing");
      return;
    }
    ActuatorDescription a;
    a.type = x.type;
    a.name = full(x.name);
    a.joint = full(x.joint);
    a.gear = x.gear;
    a.control = x.control;
    a.max_force = x.max_force;
    a.lower = x.lower;
    a.upper = x.upper;
    a.where = where(x.line);
    scene_.actuators.push_back(std::move(a));
  }

  /// Servos of the joints named, or of all that have a coordinate of their own.
  void add_servos(const ServoDescription& servo) {
    for (const std::string& name : servo.joints) {
      const RobotJoint* j = find(name);
      if (j == nullptr || !j->has_coordinate())
        throw Error(servo.where.text(), "the robot has no joint '" + name + "' with a coordinate");
    }
    for (const RobotLink& link : robot_.links) {
      const RobotJoint& j = link.joint;
      if (link.parent == kNone || !j.has_coordinate()) continue;
      const bool named =
          std::find(servo.joints.begin(), servo.joints.end(), j.name) != servo.joints.end();
      if (servo.joints.empty() ? !j.leader.empty() : !named) continue;
      JointDescription& joint = scene_.joints[place_of_.at(j.name)];
      joint.motor = {.kind = MotorKind::Servo,
                     .target = servo.control || servo.stiffness == 0 ? 0 : j.start,
                     .max_force = servo.max_force ? servo.max_force : j.effort,
                     .stiffness = servo.stiffness,
                     .damping = servo.damping};
      if (servo.armature) joint.armature = *servo.armature;
      std::erase_if(scene_.actuators, [&](const ActuatorDescription& a) {  // of another servo
        return a.joint == joint.name && a.type != ActuatorWord::Joint;
      });
      if (!servo.control) continue;
      ActuatorDescription a;
      const bool speed = servo.stiffness == 0;
      a.type = speed ? ActuatorWord::Speed : ActuatorWord::Target;
      a.name = a.joint = joint.name;
      a.control = speed ? 0 : j.start;
      a.where = servo.where;
      scene_.actuators.push_back(std::move(a));
    }
  }

  void add_limits(const RobotJoint& j, JointDescription& joint) {
    const double turn = 2 * std::numbers::pi;
    if (j.motion == RobotMotion::Hinge && j.lower && j.upper && *j.upper - *j.lower >= turn) {
      xml_.ignore("limits of hinges a full turn or more apart (turns are not counted)");
      return;
    }
    if (implied(j)) return;
    joint.lower = j.lower;
    joint.upper = j.upper;
  }

  const RobotJoint* find(const std::string& name) const {
    for (const RobotLink& link : robot_.links)
      if (link.parent != kNone && link.joint.name == name) return &link.joint;
    return nullptr;
  }

  /// A follower's limits that its leader's imply: rows that would only repeat others.
  bool implied(const RobotJoint& j) const {
    const RobotJoint* leader = j.leader.empty() ? nullptr : find(j.leader);
    if (leader == nullptr || !leader->lower || !leader->upper || !j.lower || !j.upper) return false;
    for (const RobotLink& link : robot_.links)
      if (link.joint.leader == j.name) return false;
    for (const double x : {*leader->lower, *leader->upper}) {
      const double y = j.ratio * x + j.offset, slack = 1e-9 * (1 + std::abs(y));
      if (y < *j.lower - slack || y > *j.upper + slack) return false;
    }
    return true;
  }

  void follow(const RobotJoint& j, JointDescription& joint) {
    const RobotJoint* leader = find(j.leader);
    if (leader == nullptr) return;
    const bool whole = j.motion == RobotMotion::Hinge && std::round(j.ratio) == j.ratio;
    const bool bounded =
        leader->lower && leader->upper && *leader->upper - *leader->lower < 2 * std::numbers::pi;
    if (leader->motion == RobotMotion::Hinge && !bounded && !whole) {
      xml_.ignore(
          "<mimic> of a hinge without limits in a ratio that is not whole (the joint moves by "
          "itself)");
      return;
    }
    joint.follow = {full(j.leader), j.ratio, j.offset};
  }

  void add_frame(const RobotFrame& f) {
    const auto i = static_cast<std::size_t>(f.link);
    if (robot_.links[i].world && full(f.name) == names_[i]) return;
    if (!frame_names_.insert(full(f.name)).second) return;
    FrameDescription frame;
    frame.where = where(0);
    frame.name = full(f.name);
    frame.body = names_[i];
    const Pose X = names_[i] == "world" ? compose(X_WL_[i], f.X_LF) : f.X_LF;
    frame.position = X.x;
    frame.orientation = X.p;
    scene_.frames.push_back(std::move(frame));
  }

  /// Pairs of links by name, as pairs of the bodies they are part of, and neighbours across links
  /// that only join.
  void exclude() {
    if (!options_.self_collision && !robot_.own_groups) return;
    std::map<std::string, std::size_t> link_of;
    for (std::size_t i = 0; i < robot_.links.size(); ++i) link_of[robot_.links[i].name] = i;
    for (const RobotFrame& f : robot_.frames)
      link_of.emplace(f.name, static_cast<std::size_t>(f.link));
    std::set<std::pair<std::string, std::string>> pairs;
    for (const auto& [a, b] : robot_.apart) {
      const auto x = link_of.find(a), y = link_of.find(b);
      if (x == link_of.end() || y == link_of.end()) {
        xml_.ignore("pairs of links that do not touch, one of them unknown");
        continue;
      }
      const std::string &p = names_[x->second], &q = names_[y->second];
      if (p != q && p != "world" && q != "world") pairs.insert(std::minmax(p, q));
    }
    for (std::size_t i = 0; i < robot_.links.size(); ++i) {
      Index p = robot_.links[i].parent;
      if (p == kNone || !robot_.links[static_cast<std::size_t>(p)].carrier) continue;
      while (p != kNone && robot_.links[static_cast<std::size_t>(p)].carrier)
        p = robot_.links[static_cast<std::size_t>(p)].parent;
      if (p != kNone && !robot_.links[static_cast<std::size_t>(p)].world)
        pairs.insert(std::minmax(names_[i], names_[static_cast<std::size_t>(p)]));
    }
    for (const auto& [a, b] : pairs) scene_.exclusions.push_back({a, b, where(0)});
  }

  const Robot& robot_;
  const RobotDescription& options_;
  XmlReader& xml_;
  SceneDescription& scene_;
  std::shared_ptr<const std::string> file_;
  int bit_ = 1;
  std::vector<Pose> X_WL_;
  std::vector<std::string> names_;  ///< of the bodies, by link
  std::set<std::string> frame_names_;
  std::map<std::string, std::size_t> place_of_;  ///< of the joints in the scene
};

}  // namespace

void add_robot(Robot robot, const std::vector<std::pair<std::string, double>>& posture,
               const RobotDescription& options, std::size_t number, XmlReader& xml,
               ReadContext& context, SceneDescription& scene) {
  sort_links(robot, xml);
  xml.throw_problems();
  find_starts(robot, posture, xml);
  xml.throw_problems();
  fold_links(robot, options, xml);
  xml.throw_problems();
  RobotWriter(robot, options, number, xml, scene).write();
  for (std::string& note : xml.notes()) context.notes.push_back(std::move(note));
}

}  // namespace orthant::io
