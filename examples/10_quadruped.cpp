// SPDX-License-Identifier: Apache-2.0
// 10_quadruped: a quadruped that lies on the floor stands up. Eight servos of at most 40 N m go
// from folded legs to the posture the model was built in; joint coordinates are a view of its
// bodies.
//
// Prints: it stands, no effort above 40 N m
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "orthant/orthant.hpp"
#include "orthant/robot/sensors.hpp"

namespace {

using namespace orthant;

constexpr double kFoot = 0.02, kHip = 0.32, kLimit = 40;

Model build() {
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = 0.8});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "rubber"}}});
  b.add_body({.name = "trunk",
              .position = Vec3(0, 0, kHip),
              .shapes = {{.shape = Shape::box(0.25, 0.1, 0.05), .material = "rubber"}},
              .mass = 9.0});
  const Mat3 I = 2e-3 * Mat3::Identity();
  for (const char* name : {"FL", "FR", "RL", "RR"}) {
    const std::string leg = name;
    const double x = leg[0] == 'F' ? 0.2 : -0.2, y = leg[1] == 'L' ? 0.12 : -0.12;
    const Vec3 hip(x, y, kHip), knee(x - 0.1, y, kHip - 0.15), foot(x, y, kFoot);
    b.add_body({.name = leg + "_thigh", .position = 0.5 * (hip + knee), .mass = 1.0, .inertia = I});
    b.add_body({.name = leg + "_shin",
                .position = 0.5 * (knee + foot),
                .shapes = {{.shape = Shape::sphere(kFoot),
                            .offset = {0.5 * (foot - knee), {}},
                            .material = "rubber"}},
                .mass = 0.3,
                .inertia = Mat3(0.3 * I),
                .center_of_mass = Vec3(Vec3::Zero())});
    const auto servo = [&](const std::string& joint, const std::string& a, const std::string& to,
                           const Vec3& anchor) {
      b.add_joint(
          {.name = joint,
           .kind = JointKind::Revolute,
           .a = a,
           .b = to,
           .anchor = anchor,
           .axis = Vec3::UnitY(),
           .motor = {
               .kind = MotorKind::Servo, .max_force = kLimit, .stiffness = 300, .damping = 10}});
      b.add_actuator(ServoActuatorSpec{.name = joint, .joint = joint});
    };
    servo(leg + "_hip", leg + "_thigh", "trunk", hip);
    servo(leg + "_knee", leg + "_shin", leg + "_thigh", knee);
  }
  return b.build();
}

}  // namespace

int main() {
  const Model model = build();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation robot(model, "trunk");

  // Folded, and let down to where the trunk lies on the floor.
  VecX folded(8), q = robot.positions(p, x);
  for (int leg = 0; leg < 4; ++leg) folded.segment<2>(2 * leg) << 0.6, -1.0;
  q.tail(8) = folded;
  q[2] = 0.2;
  robot.write(p, q, VecX::Zero(robot.u_size()), x);

  StepSettings settings;
  settings.h = 0.005;
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  double effort = 0;
  for (int i = 0; i < 600; ++i) {
    const VecX target = std::max(0.0, 1 - i / 300.0) * folded;
    if (step(model, p, settings, target, x, warm, work, &record).outcome != Outcome::Converged)
      return 1;
    for (const JointReading& r : read_joints(model, p, record))
      effort = std::max(effort, std::abs(r.motor));
  }
  const double height = robot.positions(p, x)[2];
  std::printf("trunk at %.3f m\n", height);
  std::printf("%s, %s effort above 40 N m\n", height > 0.27 ? "it stands" : "it lies",
              effort <= kLimit * (1 + 1e-12) ? "no" : "an");
}
