// SPDX-License-Identifier: Apache-2.0
// 12_hand: a hand of two fingers closes on a ball, lifts it and holds it. One finger follows the
// other as in a gripper; its servo is cut at 8 N, and friction carries the ball.
//
// Prints: the ball hangs 0.10 m above the floor, slip below 1e-8 m
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "orthant/orthant.hpp"

namespace {

using namespace orthant;

Model build() {
  ModelBuilder b;
  b.add_material({.name = "skin", .friction = 0.7});
  const auto shape = [](Shape s) { return ShapeSpec{.shape = std::move(s), .material = "skin"}; };
  b.add_body({.name = "floor", .motion = Motion::Fixed, .shapes = {shape(Shape::half_space())}});
  b.add_body({.name = "ball",
              .position = Vec3(0, 0, 0.04),
              .shapes = {shape(Shape::sphere(0.04))},
              .mass = 0.2});
  b.add_body({.name = "palm",
              .position = Vec3(0, 0, 0.16),
              .shapes = {shape(Shape::box(0.08, 0.03, 0.01))},
              .mass = 0.5});
  for (const auto& [name, x] : {std::pair{"left", -0.065}, {"right", 0.065}})
    b.add_body({.name = name,
                .position = Vec3(x, 0, 0.08),
                .shapes = {shape(Shape::box(0.01, 0.02, 0.06))},
                .mass = 0.1});
  b.add_joint({.name = "wrist",
               .kind = JointKind::Prismatic,
               .a = "palm",
               .axis = Vec3::UnitZ(),
               .motor = {.kind = MotorKind::Servo, .stiffness = 4000, .damping = 200}});
  b.add_joint(
      {.name = "grip",
       .kind = JointKind::Prismatic,
       .a = "left",
       .b = "palm",
       .axis = Vec3::UnitX(),
       .lower = 0.0,
       .upper = 0.05,
       .motor = {.kind = MotorKind::Servo, .max_force = 8, .stiffness = 2000, .damping = 40}});
  b.add_joint({.name = "mirror",
               .kind = JointKind::Prismatic,
               .a = "right",
               .b = "palm",
               .axis = Vec3::UnitX(),
               .follow = {.joint = "grip", .ratio = -1}});
  for (const char* joint : {"wrist", "grip"})
    b.add_actuator(ServoActuatorSpec{.name = joint, .joint = joint});
  return b.build();
}

}  // namespace

int main() {
  Simulation sim(build(), {.h = 0.005});
  const BodyId ball = sim.body("ball"), palm = sim.body("palm");
  const auto below = [&] { return sim.position(palm)[2] - sim.position(ball)[2]; };
  double held = 0;
  for (int i = 0; i < 700; ++i) {  // close in half a second, lift in another half, hold
    if (i == 300) held = below();
    const Vec3 targets(0.1 * std::clamp((i - 100) / 100.0, 0.0, 1.0),
                       0.04 * std::min(i / 100.0, 1.0), 0);
    if (sim.step(targets.head<2>()).outcome != Outcome::Converged) return 1;
  }
  const double slip = std::abs(below() - held);
  std::printf("the ball hangs %.2f m above the floor, slip %s 1e-8 m (%.1e)\n",
              sim.position(ball)[2] - 0.04, slip < 1e-8 ? "below" : "above", slip);
}
