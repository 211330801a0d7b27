// SPDX-License-Identifier: Apache-2.0
// 13_biped_stairs: a biped of twelve servos climbs three stairs, as slowly as statics wants it:
// pelvis over the standing foot, then the other foot up and forward. Inverse kinematics turns
// places of pelvis and soles into joint targets; legs and contacts do the rest.
//
// Prints: it stands on the third stair: yes
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "orthant/orthant.hpp"
#include "orthant/robot/articulation.hpp"

namespace {

using namespace orthant;

constexpr double kRise = 0.08, kDepth = 0.28;
constexpr int kStairs = 3;
constexpr double kSide = 0.09, kThigh = 0.35, kShin = 0.35, kAnkle = 0.08;  // ankle: above the sole
constexpr double kHip = kAnkle + kShin + kThigh, kCrouch = 0.12;  // straight; lowered by bent knees
const std::string kLegs[] = {"left", "right"};

Model build() {
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = 0.8});
  const auto shape = [](Shape s, const Vec3& at) {
    return ShapeSpec{.shape = std::move(s), .offset = {at, {}}, .material = "rubber"};
  };
  std::vector<ShapeSpec> stairs = {shape(Shape::half_space(), Vec3::Zero())};
  for (int i = 1; i <= kStairs; ++i) {  // from its edge on, every stair reaches below the next ones
    const double x = 0.5 * kDepth * (kStairs + 2 - i), z = 0.5 * kRise * i;
    stairs.push_back(shape(Shape::box(x, 0.5, z), Vec3(kDepth * (i - 0.5) + x, 0, z)));
  }
  b.add_body({.name = "stairs", .motion = Motion::Fixed, .shapes = stairs});
  b.add_body({.name = "pelvis",
              .position = Vec3(0, 0, kHip),
              .shapes = {shape(Shape::box(0.08, 0.12, 0.06), Vec3::Zero())},
              .mass = 20.0});
  b.add_frame({.name = "hips", .body = "pelvis"});
  for (const std::string& leg : kLegs) {
    const double y = leg == "left" ? kSide : -kSide;
    const auto part = [&](const std::string& name, double z, double mass) {
      b.add_body({.name = leg + name,
                  .position = Vec3(0, y, z),
                  .mass = mass,
                  .inertia = Mat3(5e-3 * Mat3::Identity())});
    };
    part("_yaw", kHip, 0.5);
    part("_roll", kHip, 0.5);
    part("_thigh", kHip - 0.5 * kThigh, 2);
    part("_shin", kAnkle + 0.5 * kShin, 1);
    part("_ankle", kAnkle, 0.3);
    b.add_body({.name = leg + "_foot",
                .position = Vec3(0, y, 0),
                .shapes = {shape(Shape::box(0.1, 0.05, 0.015), Vec3(0.01, 0, 0.015))},
                .mass = 0.5});
    b.add_frame({.name = leg + "_sole", .body = leg + "_foot"});
    const auto hinge = [&](const std::string& name, const std::string& body,
                           const std::string& parent, double z, const Vec3& axis) {
      b.add_joint(
          {.name = leg + name,
           .kind = JointKind::Revolute,
           .a = leg + body,
           .b = parent,
           .anchor = Vec3(0, y, z),
           .axis = axis,
           .motor = {
               .kind = MotorKind::Servo, .max_force = 200, .stiffness = 4000, .damping = 100}});
      b.add_actuator(ServoActuatorSpec{.name = leg + name, .joint = leg + name});
    };
    hinge("_hip_yaw", "_yaw", "pelvis", kHip, Vec3::UnitZ());
    hinge("_hip_roll", "_roll", leg + "_yaw", kHip, Vec3::UnitX());
    hinge("_hip_pitch", "_thigh", leg + "_roll", kHip, Vec3::UnitY());
    hinge("_knee", "_shin", leg + "_thigh", kAnkle + kShin, Vec3::UnitY());
    hinge("_ankle_pitch", "_ankle", leg + "_shin", kAnkle, Vec3::UnitY());
    hinge("_ankle_roll", "_foot", leg + "_ankle", kAnkle, Vec3::UnitX());
  }
  return b.build();
}

class Walk {
 public:
  Walk() {
    for (const std::string& leg : kLegs) {  // knees bend forwards
      at(leg + "_hip_pitch") = -0.4;
      at(leg + "_knee") = 0.8;
      at(leg + "_ankle_pitch") = -0.4;
    }
    find_posture();
    robot_.write(sim_.parameters(), q_, VecX::Zero(robot_.u_size()), sim_.state());
  }

  Vec3 pelvis() const { return sim_.position(sim_.body("pelvis")); }
  const Vec3& sole(int leg) const { return soles_[leg]; }
  /// The pelvis above a sole.
  Vec3 over(int leg) const {
    return Vec3(soles_[leg][0] + 0.01, soles_[leg][1],
                std::min(soles_[0][2], soles_[1][2]) + kHip - kCrouch);
  }

  /// Pelvis or a sole along a straight line, slow at both ends.
  void move_pelvis(int steps, const Vec3& to) { move(steps, pelvis_, to); }
  void move_sole(int steps, int leg, const Vec3& to) { move(steps, soles_[leg], to); }

 private:
  double& at(const std::string& joint) {
    return q_[robot_.joints()[static_cast<std::size_t>(robot_.find(joint))].q_begin];
  }
  void find_posture() {
    const FrameTarget targets[] = {{.frame = "hips", .position = pelvis_, .orientation = Quat{}},
                                   {"left_sole", soles_[0], Quat{}},
                                   {"right_sole", soles_[1], Quat{}}};
    if (robot_.inverse_kinematics(sim_.parameters(), sim_.state(), targets, q_).reached) return;
    std::printf("out of reach\n");
    std::exit(1);
  }
  void move(int steps, Vec3& what, const Vec3& to) {
    const Vec3 from = what;
    for (int i = 1; i <= steps; ++i) {
      const double s = static_cast<double>(i) / steps;
      what = from + s * s * (3 - 2 * s) * (to - from);
      find_posture();
      VecX targets(12);
      Index k = 0;
      for (const Actuator& actuator : sim_.model().actuators()) targets[k++] = at(actuator.name);
      if (sim_.step(targets).outcome != Outcome::Converged) std::exit(1);
    }
  }

  Simulation sim_{build(), {.h = 0.005}};
  Articulation robot_{sim_.model(), "pelvis"};
  VecX q_ = robot_.positions(sim_.parameters(), sim_.state());
  Vec3 pelvis_{0, 0, kHip - kCrouch}, soles_[2] = {{0, kSide, 0}, {0, -kSide, 0}};
};

}  // namespace

int main() {
  Walk walk;
  for (int i = 1; i <= kStairs; ++i)
    for (const int leg : {0, 1}) {
      walk.move_pelvis(240, walk.over(1 - leg));
      const Vec3 from = walk.sole(leg), goal(kDepth * i, from[1], kRise * i), above(0, 0, 0.03);
      walk.move_sole(80, leg, Vec3(from[0] - 0.02, from[1], goal[2] + 0.03));
      walk.move_sole(100, leg, goal + above);
      walk.move_sole(80, leg, goal);
    }
  const Vec3 goal(kDepth * kStairs, 0, kRise * kStairs + kHip - kCrouch);
  walk.move_pelvis(200, goal);
  const Vec3 pelvis = walk.pelvis();
  std::printf("pelvis at %.2f m, %.2f m above stair %d\n", pelvis[0], pelvis[2] - kRise * kStairs,
              kStairs);
  const bool stands = std::abs(pelvis[0] - goal[0]) < 0.05 && pelvis[2] > goal[2] - 0.02;
  std::printf("it stands on the third stair: %s\n", stands ? "yes" : "no");
}
