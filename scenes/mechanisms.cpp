// SPDX-License-Identifier: Apache-2.0
// scenes/mechanisms.cpp: bodies held by joints.
#include "scenes/common.hpp"

namespace orthant::scenes {

namespace {

/// A shape for mass only: it touches nothing.
ShapeSpec ghost(Shape shape) { return {.shape = std::move(shape), .group = 0, .mask = 0}; }

}  // namespace

Scene chain(int links) {
  const double length = 0.2;
  ModelBuilder b;
  for (int i = 0; i < links; ++i) {
    const std::string name = "link" + std::to_string(i);
    b.add_body({.name = name,
                .position = Vec3(length * (i + 0.5), 0, 0),
                .shapes = {ghost(Shape::box(0.5 * length, 0.025, 0.025))}});
    b.add_joint({.name = "joint" + std::to_string(i),
                 .kind = JointKind::Ball,
                 .a = name,
                 .b = i == 0 ? "world" : "link" + std::to_string(i - 1),
                 .anchor = Vec3(length * i, 0, 0)});
  }
  return finish(b, "A chain on ball joints, released horizontally.", 1000);
}

Scene pendulum(double angle_deg) {
  const double half = 0.5, angle = angle_deg * kDegree;
  ModelBuilder b;
  b.add_body({.name = "rod",
              .motion = Motion::Planar,
              .position = Vec3(half * std::sin(angle), -half * std::cos(angle), 0),
              .angle = angle,
              .shapes = {ghost(Shape::rectangle(0.01, half))}});
  b.add_joint({.name = "pivot", .kind = JointKind::Pin, .a = "rod"});
  return finish(b, "A rod swings on a pin.", 1000, {.integrator = Integrator::Rattle});
}

Scene slider_crank(double speed) {
  const double crank = 0.2, rod = 0.6;
  ModelBuilder b;
  b.add_body({.name = "crank",
              .motion = Motion::Planar,
              .position = Vec3(0.5 * crank, 0, 0),
              .shapes = {ghost(Shape::rectangle(0.5 * crank, 0.02))}});
  b.add_body({.name = "rod",
              .motion = Motion::Planar,
              .position = Vec3(crank + 0.5 * rod, 0, 0),
              .shapes = {ghost(Shape::rectangle(0.5 * rod, 0.02))}});
  b.add_body({.name = "piston",
              .motion = Motion::Planar,
              .position = Vec3(crank + rod, 0, 0),
              .shapes = {ghost(Shape::rectangle(0.05, 0.05))}});
  b.add_joint({.name = "shaft",
               .kind = JointKind::Pin,
               .a = "crank",
               .motor = {.kind = MotorKind::Position, .velocity = speed}});
  b.add_joint({.name = "big_end",
               .kind = JointKind::Pin,
               .a = "rod",
               .b = "crank",
               .anchor = Vec3(crank, 0, 0)});
  b.add_joint({.name = "small_end",
               .kind = JointKind::Pin,
               .a = "piston",
               .b = "rod",
               .anchor = Vec3(crank + rod, 0, 0)});
  b.add_joint({.name = "cylinder",
               .kind = JointKind::Slider,
               .a = "piston",
               .anchor = Vec3(crank + rod, 0, 0),
               .axis = Vec3::UnitX()});
  return finish(b, "A crank driven at constant speed moves a piston.", 500, {.h = 0.002});
}

Scene four_bar(double speed) {
  // Parallel hinges about y: the loop has one freedom although 3 * 6 - 4 * 5 = -2. Every one of the
  // three redundant rows must be borne.
  const Vec3 pin[] = {Vec3(0, 0, 0), Vec3(0, 0, 0.4), Vec3(1, 0, 0.7), Vec3(1, 0, 0)};
  const char* const name[] = {"crank", "coupler", "rocker"};
  ModelBuilder b;
  for (int i = 0; i < 3; ++i) {
    const Vec3 along = pin[i + 1] - pin[i];
    const double angle = std::atan2(along[0], along[2]);
    b.add_body({.name = name[i],
                .position = 0.5 * (pin[i] + pin[i + 1]),
                .orientation = exp_rotation(Vec3(0, angle, 0)),
                .shapes = {ghost(Shape::box(0.02, 0.02, 0.5 * along.norm()))}});
  }
  for (int i = 0; i < 4; ++i) {
    JointSpec hinge{.name = "hinge" + std::to_string(i),
                    .kind = JointKind::Revolute,
                    .a = i < 3 ? name[i] : "rocker",
                    .b = i == 0 || i == 3 ? "world" : name[i - 1],
                    .anchor = pin[i],
                    .axis = Vec3::UnitY()};
    if (i == 0) hinge.motor = {.kind = MotorKind::Velocity, .velocity = speed};
    b.add_joint(hinge);
  }
  return finish(b, "A closed loop of four parallel hinges in space, driven: redundant rows.", 500);
}

Scene spinning_t() {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(
      {.name = "handle",
       .angular_velocity = Vec3(0.01, 10, 0),
       .shapes = {{.shape = Shape::box(0.2, 0.025, 0.025)},
                  {.shape = Shape::box(0.025, 0.05, 0.025), .offset = {Vec3(0, 0.075, 0), {}}}}});
  return finish(b, "A T-handle spun about its unstable axis tumbles and keeps its energy.", 2000);
}

}  // namespace orthant::scenes
