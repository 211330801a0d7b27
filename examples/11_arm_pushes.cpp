// SPDX-License-Identifier: Apache-2.0
// 11_arm_pushes: an arm of two links pushes a block along a line. Inverse kinematics gives the
// joint targets, servos of at most 30 N m follow them, and the block yields to the contact.
//
// Prints: the block moved 0.17 m
#include <algorithm>
#include <cstdio>

#include "orthant/orthant.hpp"
#include "orthant/robot/articulation.hpp"

namespace {

using namespace orthant;

Model build() {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.3});
  const auto shape = [](Shape s) { return ShapeSpec{.shape = std::move(s), .material = "wood"}; };
  b.add_body({.name = "floor", .motion = Motion::Fixed, .shapes = {shape(Shape::half_space())}});
  b.add_body({.name = "block",
              .position = Vec3(0.5, 0.15, 0.05),
              .shapes = {shape(Shape::box(0.08, 0.05, 0.05))},
              .mass = 1.0});
  for (const auto& [name, x] : {std::pair{"upper", 0.2}, {"lower", 0.6}})
    b.add_body({.name = name,
                .position = Vec3(x, 0, 0.06),
                .shapes = {shape(Shape::capsule(0.03, 0.17))},
                .mass = 1.0});
  const MotorSpec servo{.kind = MotorKind::Servo, .max_force = 30, .stiffness = 400, .damping = 20};
  b.add_joint({.name = "shoulder",
               .kind = JointKind::Revolute,
               .a = "upper",
               .anchor = Vec3(0, 0, 0.06),
               .motor = servo});
  b.add_joint({.name = "elbow",
               .kind = JointKind::Revolute,
               .a = "lower",
               .b = "upper",
               .anchor = Vec3(0.4, 0, 0.06),
               .lower = -2.5,
               .upper = 0.0,
               .motor = servo});
  b.add_frame({.name = "tip", .body = "lower", .pose = {Vec3(0.17, 0, 0), {}}});
  for (const char* joint : {"shoulder", "elbow"})
    b.add_actuator(ServoActuatorSpec{.name = joint, .joint = joint});
  return b.build();
}

}  // namespace

int main() {
  Simulation sim(build(), {.h = 0.01});
  const Articulation arm(sim.model(), "upper");
  arm.set_positions(sim.parameters(), {{{"shoulder", 0.6}, {"elbow", -1.4}}}, sim.state());
  VecX q = arm.positions(sim.parameters(), sim.state());
  const BodyId block = sim.body("block");
  const double start = sim.position(block)[1];
  for (int i = 0; i < 220; ++i) {
    const FrameTarget tip{.frame = "tip",
                          .position = Vec3(0.5, -0.05 + 0.32 * std::min(1.0, i / 159.0), 0.06)};
    if (!arm.inverse_kinematics(sim.parameters(), sim.state(), {&tip, 1}, q).reached) return 1;
    if (sim.step(q).outcome != Outcome::Converged) return 1;
  }
  std::printf("the block moved %.2f m\n", sim.position(block)[1] - start);
}
