// SPDX-License-Identifier: Apache-2.0
// io/scene/mjcf_parts.cpp: actuators, equalities, contacts, tendons and keyframes of MJCF.
// An actuator acts through its gear g on a joint: with l = g q its force is
//   gain u + b0 + b1 l + b2 l',   on the joint g times that.
// With b1 < 0 or b2 < 0 that is a servo of stiffness -g^2 b1 and damping -g^2 b2.
#include <algorithm>
#include <cmath>

#include "io/scene/mjcf.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {

RobotJoint* MjcfReader::find_joint(const std::string& name) {
  for (RobotLink& link : robot_.links)
    if (link.parent != kNone && link.joint.name == name && link.joint.has_coordinate())
      return &link.joint;
  return nullptr;
}

Index MjcfReader::find_link(const Element& e, const char* attribute) {
  const std::string name = xml_.text_or(e, attribute, "world");
  const auto found = links_.find(name);
  if (found != links_.end()) return found->second;
  xml_.problem(e, "there is no body '" + name + "'");
  return 0;
}

/// What resists the joint in the posture of the file where all others are held: its armature and
/// all that hangs on it.
double MjcfReader::inertia_along(const RobotJoint& joint) const {
  const std::vector<RobotLink>& links = robot_.links;
  std::vector<Pose> X(links.size());  // in the link of the joint
  std::vector<unsigned char> below(links.size(), 0);
  double sum = joint.armature;
  for (std::size_t i = 0; i < links.size(); ++i) {  // parents come first
    const RobotLink& link = links[i];
    if (link.parent == kNone) continue;
    const auto p = static_cast<std::size_t>(link.parent);
    if (&link.joint == &joint) {
      below[i] = 1;
    } else if (below[p]) {
      RobotJoint usual = link.joint;
      usual.start = usual.usual;
      X[i] = compose(X[p], link_in_parent(usual));
      below[i] = 1;
    }
    if (!below[i]) continue;
    if (joint.motion == RobotMotion::Slide) {
      sum += link.mass;
      continue;
    }
    const Vec3 axis = rotate(conjugate(X[i].p), joint.axis);
    const Vec3 arm = (transform(X[i], link.center) - joint.anchor).cross(joint.axis);
    sum += axis.dot(link.inertia * axis) + link.mass * arm.squaredNorm();
  }
  return sum;
}

void MjcfReader::read_actuators(const Element& e) {
  std::size_t number = 0;
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::size_t before = robot_.actuators.size();
    read_actuator(*c);
    if (number < key_control_.size() && robot_.actuators.size() > before)
      robot_.actuators.back().control = key_control_[number];
    ++number;
  }
}

void MjcfReader::read_actuator(const Element& e) {
  const std::string tag = e.Name();
  static const std::set<std::string> known = {"motor", "position", "velocity", "general", "damper"};
  if (!known.contains(tag)) return xml_.ignore("<" + tag + "> in <actuator>");
  for (const char* by : {"tendon", "site", "slidersite", "cranksite", "body", "jointinparent"})
    if (e.Attribute(by) != nullptr)
      return xml_.ignore("actuators that act through '" + std::string(by) + "'");
  const std::string joint_name = xml_.text(e, "joint");
  RobotJoint* joint = find_joint(joint_name);
  if (joint == nullptr) {
    if (joint_names_.contains(joint_name))
      xml_.ignore("actuators of ball and free joints");
    else if (!joint_name.empty())
      xml_.problem(e, "there is no hinge or slide '" + joint_name + "' to drive");
    return;
  }
  RobotActuator a;
  a.line = e.GetLineNum();
  a.joint = joint_name;
  a.name = unique(actuator_names_, e, "actuator", joint_name + "_" + tag);
  const auto limited = [&](const char* flag, const char* range) {
    const std::string word = xml_.text_or(e, flag, "auto");
    return word == "true" ||
           (word == "auto" && compiler_.auto_limits && e.Attribute(range) != nullptr);
  };
  const std::vector<double> gears = xml_.numbers(e, "gear", 1, 6);
  const double g = gears.empty() ? 1 : gears[0];
  if (limited("ctrllimited", "ctrlrange")) {
    const std::vector<double> x = xml_.numbers(e, "ctrlrange", 2, 2);
    if (x.size() == 2 && x[0] <= x[1])
      a.lower = x[0], a.upper = x[1];
    else if (x.size() == 2)
      xml_.problem(e, "'ctrlrange' of '" + a.name + "' is reversed");
  }
  const double inherit = xml_.number_or(e, "inheritrange", 0);
  if (inherit > 0 && tag == "position" && joint->lower && joint->upper) {
    const double middle = 0.5 * (*joint->lower + *joint->upper),
                 half = 0.5 * inherit * (*joint->upper - *joint->lower);
    a.lower = middle - half, a.upper = middle + half;
  }
  if (limited("forcelimited", "forcerange")) {
    const std::vector<double> x = xml_.numbers(e, "forcerange", 2, 2);
    if (x.size() == 2) a.max_force = std::abs(g) * std::max(std::abs(x[0]), std::abs(x[1]));
    if (x.size() == 2 && x[0] != -x[1])
      xml_.note("'forcerange' of '" + a.name + "' is not symmetric: its larger end holds");
  }
  if (joint->effort) a.max_force = std::min(a.max_force.value_or(*joint->effort), *joint->effort);
  xml_.ignore_unknown(e,
                      "name class joint gear ctrllimited ctrlrange forcelimited forcerange kp kv "
                      "gaintype gainprm biastype biasprm dyntype dynprm group user dampratio "
                      "inheritrange",
                      "");
  double gain = 1, b0 = 0, b1 = 0, b2 = 0;
  if (tag == "position") {
    gain = xml_.number_or(e, "kp", 1);
    b1 = -gain;
    b2 = -xml_.number_or(e, "kv", 0);
    const double ratio = xml_.number_or(e, "dampratio", 0);
    // Of critical damping, with the inertia that the joint feels in the posture of the file.
    if (ratio > 0) b2 = -2 * ratio * std::sqrt(gain * inertia_along(*joint)) / std::abs(g);
  } else if (tag == "velocity") {
    gain = xml_.number_or(e, "kv", 1);
    b2 = -gain;
  } else if (tag == "damper") {
    return xml_.ignore("<damper> in <actuator>");
  } else if (tag == "general") {
    if (xml_.text_or(e, "dyntype", "none") != "none")
      xml_.ignore("'dyntype' of actuators: they act at once");
    const std::vector<double> gp = xml_.numbers(e, "gainprm", 1, 10),
                              bp = xml_.numbers(e, "biasprm", 1, 10);
    if (xml_.text_or(e, "gaintype", "fixed") != "fixed")
      return xml_.ignore("actuators whose gain is not fixed");
    if (!gp.empty()) gain = gp[0];
    const std::string bias = xml_.text_or(e, "biastype", "none");
    if (bias != "none" && bias != "affine")
      return xml_.ignore("actuators whose bias is not affine");
    if (bias == "affine") {
      b0 = !bp.empty() ? bp[0] : 0;
      b1 = bp.size() > 1 ? bp[1] : 0;
      b2 = bp.size() > 2 ? bp[2] : 0;
    }
  }
  if (b1 > 0 || b2 > 0 || !(std::abs(g) > 0)) {
    xml_.problem(e, "actuator '" + a.name +
                        "' must have a gear other than 0 and feed back against the motion");
    return;
  }
  if (b1 == 0 && b2 == 0) {
    a.gear = g * gain;
    if (b0 != 0) {  // an actuator of its own, whose control can only be 1
      RobotActuator constant = a;
      constant.name = unique_name(actuator_names_, a.name + "_bias");
      constant.gear = g * b0;
      constant.control = 1;
      constant.lower = constant.upper = 1;
      robot_.actuators.push_back(std::move(constant));
    }
    robot_.actuators.push_back(std::move(a));
    return;
  }
  add_servo(*joint, a.name, e, -g * g * b1, -g * g * b2, gain, b0, g, a);
}

/// k, c: stiffness and damping by the joint's coordinate.
void MjcfReader::add_servo(RobotJoint& joint, const std::string& name, const Element& e, double k,
                           double c, double gain, double bias, double gear,
                           const RobotActuator& limits) {
  const bool speed = k == 0;
  MotorSpec& motor = joint.motor;
  RobotActuator a = limits;
  a.max_force = {};
  a.type = speed ? ActuatorWord::Speed : ActuatorWord::Target;
  // force on the joint = g (gain u + b0) - k q - c q', so target (gain u + b0) g / k
  a.gear = gain * gear / (speed ? c : k);
  if (motor.kind == MotorKind::None) {
    motor.kind = MotorKind::Servo;
    motor.stiffness = k;
    motor.damping = c;
    motor.max_force = limits.max_force;
    motor.target = speed ? 0 : bias * gear / k;
    motor.velocity = speed ? bias * gear / c : 0;
    robot_.actuators.push_back(std::move(a));
    return;
  }
  // A position and a velocity servo on one joint are one servo with two controls.
  const bool same = std::any_of(robot_.actuators.begin(), robot_.actuators.end(),
                                [&](const RobotActuator& other) {
                                  return other.joint == joint.name && other.type == a.type;
                                });
  if (same || (speed ? c : k) == 0) {
    xml_.problem(e, "actuator '" + name + "': joint '" + joint.name + "' has such a servo already");
    return;
  }
  const double sum = motor.damping + c;
  for (RobotActuator& other : robot_.actuators)
    if (other.joint == joint.name && other.type == ActuatorWord::Speed && sum > 0)
      other.gear *= motor.damping / sum;
  if (speed) a.gear *= c / sum;
  motor.damping = sum;
  motor.stiffness += k;
  if (limits.max_force && motor.max_force)
    motor.max_force = *motor.max_force + *limits.max_force;
  else
    motor.max_force = {};
  robot_.actuators.push_back(std::move(a));
}

void MjcfReader::couple(const Element& e, RobotJoint* one, RobotJoint* other, double a0,
                        double a1) {
  if (other == nullptr) {
    if (one->motor.kind != MotorKind::None) return xml_.ignore("equalities of driven joints");
    one->motor.kind = MotorKind::Position;
    one->motor.target = one->usual + a0;
    return;
  }
  if (!one->leader.empty()) {
    xml_.problem(e, "joint '" + one->name + "' follows two others");
    return;
  }
  one->leader = other->name;
  one->ratio = a1;
  one->offset = one->usual + a0 - a1 * other->usual;
}

void MjcfReader::read_equalities(const Element& e) {
  std::size_t number = 0;
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::string tag = c->Name();
    ++number;
    if (!xml_.flag(*c, "active", true)) {
      xml_.ignore("equalities that are not active");
      continue;
    }
    if (tag == "connect" || tag == "weld") {
      if (c->Attribute("site1") != nullptr || c->Attribute("relpose") != nullptr ||
          c->Attribute("body1") == nullptr) {
        xml_.ignore("equalities by 'site1' or 'relpose'");
        continue;
      }
      RobotLoop loop;
      loop.name = xml_.text_or(*c, "name", tag + std::to_string(number));
      loop.kind = tag == "weld" ? JointKind::Weld : JointKind::Ball;
      loop.a = find_link(*c, "body1");
      loop.b = find_link(*c, "body2");
      loop.anchor = xml_.vector(*c, "anchor", Vec3::Zero());
      loop.line = c->GetLineNum();
      robot_.loops.push_back(std::move(loop));
    } else if (tag == "joint" || tag == "tendon") {
      std::vector<double> p = xml_.numbers(*c, "polycoef", 1, 5);
      if (p.empty()) p = {0, 1};
      p.resize(5, 0.0);
      if (p[2] != 0 || p[3] != 0 || p[4] != 0) {
        xml_.ignore("equalities that are not linear");
        continue;
      }
      if (tag == "tendon") {
        const auto tendon = tendons_.find(xml_.text_or(*c, "tendon1", ""));
        if (tendon == tendons_.end() || c->Attribute("tendon2") != nullptr ||
            tendon->second.size() != 2) {
          xml_.ignore("equalities of tendons other than a fixed one of two joints");
          continue;
        }
        // c1 q1 + c2 q2 stays what it is at the start
        const auto& [x, y] = std::pair(tendon->second[0], tendon->second[1]);
        couple(*c, find_joint(x.first), find_joint(y.first), p[0] / x.second, -y.second / x.second);
        continue;
      }
      RobotJoint* one = find_joint(xml_.text(*c, "joint1"));
      const std::string second = xml_.text_or(*c, "joint2", "");
      RobotJoint* other = second.empty() ? nullptr : find_joint(second);
      if (one == nullptr || (other == nullptr && !second.empty()))
        xml_.problem(*c, "there is no hinge or slide '" +
                             (one == nullptr ? xml_.text_or(*c, "joint1", "") : second) + "'");
      else
        couple(*c, one, other, p[0], p[1]);
    } else {
      xml_.ignore("<" + tag + "> in <equality>");
    }
  }
}

void MjcfReader::read_contacts(const Element& e) {
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::string tag = c->Name();
    if (tag == "exclude") {
      const Index a = find_link(*c, "body1"), b = find_link(*c, "body2");
      robot_.apart.emplace_back(robot_.links[static_cast<std::size_t>(a)].name,
                                robot_.links[static_cast<std::size_t>(b)].name);
    } else if (tag == "pair") {
      for (const char* geom : {"geom1", "geom2"})
        if (!geom_names_.contains(xml_.text(*c, geom)))
          xml_.problem(*c, "there is no geom '" + xml_.text_or(*c, geom, "") + "'");
      if (c->Attribute("friction") != nullptr || c->Attribute("condim") != nullptr)
        xml_.ignore("friction of <pair>: that of the two geoms holds");
    } else {
      xml_.ignore("<" + tag + "> in <contact>");
    }
  }
}

void MjcfReader::read_tendons(const Element& e) {
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::string tag = c->Name();
    if (tag != "fixed") {
      xml_.ignore("<" + tag + "> in <tendon>");
      continue;
    }
    auto& tendon = tendons_[xml_.text_or(*c, "name", "")];
    for (const Element* j = c->FirstChildElement("joint"); j != nullptr;
         j = j->NextSiblingElement("joint")) {
      const std::string name = xml_.text(*j, "joint");
      const double coef = xml_.number_or(*j, "coef", 1);
      if (find_joint(name) == nullptr)
        xml_.problem(*j, "there is no hinge or slide '" + name + "'");
      else if (coef != 0)
        tendon.emplace_back(name, coef);
    }
    for (const char* acts : {"range", "stiffness", "damping", "frictionloss"})
      if (c->Attribute(acts) != nullptr)
        xml_.ignore("'" + std::string(acts) + "' of fixed tendons");
  }
}

void MjcfReader::read_keyframes(const Element& e) {
  if (options_.state.empty()) return;
  for (const Element* c = e.FirstChildElement("key"); c != nullptr;
       c = c->NextSiblingElement("key")) {
    if (xml_.text_or(*c, "name", "") != options_.state) continue;
    const std::vector<double> q = xml_.numbers(*c, "qpos", 1, 1'000'000);
    key_control_ = xml_.numbers(*c, "ctrl", 1, 1'000'000);
    if (q.size() != joint_order_.size()) {
      xml_.problem(*c, "'qpos' must have " + std::to_string(joint_order_.size()) +
                           " numbers, found " + std::to_string(q.size()));
      return;
    }
    for (std::size_t i = 0; i < q.size(); ++i)
      if (!joint_order_[i].empty()) posture_.emplace_back(joint_order_[i], q[i]);
    // The poses of free bodies: seven numbers each, in the order of the file.
    std::size_t at = 0;
    for (RobotLink& link : robot_.links) {
      const RobotMotion m = link.joint.motion;
      if (link.parent == kNone || m == RobotMotion::Fixed) continue;
      if (m == RobotMotion::Free) {
        Eigen::Vector4d turn(q[at + 3], q[at + 4], q[at + 5], q[at + 6]);
        if (!(turn.norm() > 1e-9)) turn = Eigen::Vector4d(1, 0, 0, 0);
        link.joint.X_PL = {Vec3(q[at], q[at + 1], q[at + 2]),
                           normalized(Quat{turn[0], turn[1], turn[2], turn[3]})};
      } else if (m == RobotMotion::Ball || m == RobotMotion::Planar)
        xml_.ignore("the turns of ball and planar joints in <key>");
      at += m == RobotMotion::Free     ? 7
            : m == RobotMotion::Ball   ? 4
            : m == RobotMotion::Planar ? 3
                                       : 1;
    }
    if (c->Attribute("qvel") != nullptr) xml_.ignore("'qvel' of <key>");
  }
}

}  // namespace orthant::io
