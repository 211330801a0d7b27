// SPDX-License-Identifier: Apache-2.0
// Everything a step reads, part by part: shapes, joints, motors, springs, materials, options.
#include <gtest/gtest.h>

#include "orthant/gradient/checker.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/shape/contacts.hpp"

namespace orthant {
namespace {

StepSettings tight() {
  StepSettings s;
  s.solver.tolerance = 1e-12;
  s.projection_tolerance = 1e-12;  // what is left shows in the differences, not in the gradient
  return s;
}

GradientCheck expect_exact(const Model& model, const StepSettings& settings, Index steps,
                           double share = 0.95, const MatX& controls = {}) {
  GradientChecker checker(model, model.default_parameters(), settings, model.rest_state(), steps,
                          controls);
  checker.control_stride = 1;
  GradientCheck check = checker.run();
  EXPECT_LE(check.worst, 1e-6) << check.table();
  EXPECT_GE(check.share(), share) << check.table();
  EXPECT_TRUE(check.certificate.exact) << check.certificate.reason;
  return check;
}

const GradientCheckRow& row_of(const GradientCheck& check, const std::string& name) {
  for (const GradientCheckRow& row : check.rows)
    if (row.name == name) return row;
  throw std::runtime_error("no row " + name);
}

BodySpec floor_body(const char* material = "m") {
  return {.name = "floor",
          .motion = Motion::Fixed,
          .shapes = {{.shape = Shape::half_space(), .material = material}}};
}

TEST(PartsGradient, HullVerticesWhileItTumbles) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4, .restitution = 0.2});
  b.add_body(floor_body());
  const Vec3 points[] = {{0.2, 0, 0}, {-0.1, 0.15, 0}, {-0.1, -0.15, 0.02}, {0, 0, 0.25}};
  b.add_body({.name = "rock",
              .position = {0, 0, 0.12},
              .orientation = exp_rotation(Vec3(0.4, 0.2, 0)),
              .velocity = {0.3, 0.1, -0.4},
              .angular_velocity = {0.5, 1, 0.3},
              .shapes = {{.shape = Shape::hull(points), .material = "m"}}});
  const GradientCheck check = expect_exact(b.build(), tight(), 30);
  EXPECT_EQ(row_of(check, "shape/rock.vertex/0.z").status, CheckStatus::Compared);
}

TEST(PartsGradient, CapsulesOnEachOther) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3});
  b.add_body({.name = "base",
              .motion = Motion::Fixed,
              .orientation = exp_rotation(Vec3(0, 0.1, 0.2)),
              .shapes = {{.shape = Shape::capsule(0.1, 1), .material = "m"}}});
  b.add_body({.name = "rod",
              .position = {0, 0.02, 0.202},
              .orientation = exp_rotation(Vec3(0, 0.05, 1.5)),
              .velocity = {0.4, 0, 0},
              .shapes = {{.shape = Shape::capsule(0.1, 0.3), .material = "m"}}});
  expect_exact(b.build(), tight(), 10, 0.8);
}

TEST(PartsGradient, MassesCollideWithFrictionAndRestitution) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.6});
  b.add_material(
      {.name = "n", .friction = 0.2, .restitution = 0.4, .combine = CombineRule::Geometric});
  b.set_gravity(Vec3::Zero());
  b.add_body({.name = "one",
              .velocity = {1, 0.2, 0},
              .angular_velocity = {0, 1, 2},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  b.add_body({.name = "two",
              .position = {0.25, 0.05, 0.03},
              .orientation = exp_rotation(Vec3(0.3, 0.2, 0.5)),
              .shapes = {{.shape = Shape::box(0.1, 0.2, 0.15), .material = "n"}}});
  expect_exact(b.build(), tight(), 10);
}

TEST(PartsGradient, RollingFrictionAndCompliance) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5, .rolling_friction = 0.004, .compliance = 1e-5});
  b.add_body(floor_body());
  b.add_body({.name = "ball",
              .position = {0, 0, 0.0999},
              .velocity = {1, 0.2, 0},
              .angular_velocity = {0.5, 3, 0.2},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  expect_exact(b.build(), tight(), 15, 0.9);
}

TEST(PartsGradient, ArmWithMotorsSpringsLimitsAndDryFriction) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4});
  const auto link = [&](const char* name, double x) {
    b.add_body({.name = name,
                .position = {x, 0, 1},
                .orientation = exp_rotation(Vec3(0.1, 0, 0)),
                .shapes = {{.shape = Shape::box(0.2, 0.03, 0.04), .material = "m"}}});
  };
  link("a", 0.2);
  link("b", 0.6);
  link("c", 1.0);
  b.add_body({.name = "slide",
              .position = {1.3, 0, 1},
              .shapes = {{.shape = Shape::sphere(0.05), .material = "m"}}});
  b.add_joint({.name = "hip",
               .kind = JointKind::Revolute,
               .a = "a",
               .anchor = {0, 0, 1},
               .axis = {0, 1, 0.1},
               .motor = {.kind = MotorKind::Velocity, .velocity = 0.7, .max_force = 3.0}});
  b.add_joint({.name = "knee",
               .kind = JointKind::Revolute,
               .a = "b",
               .b = "a",
               .anchor = {0.4, 0, 1},
               .axis = {0, 1, 0},
               .stiffness = 5,
               .damping = 0.2,
               .rest = 0.3,
               .dry_friction = 0.05});
  b.add_joint(
      {.name = "wrist", .kind = JointKind::Ball, .a = "c", .b = "b", .anchor = {0.8, 0, 1}});
  b.add_joint({.name = "rail",
               .kind = JointKind::Prismatic,
               .a = "slide",
               .b = "c",
               .anchor = {1.3, 0, 1},
               .axis = {1, 0, 0},
               .upper = 0.001});
  b.add_force(SpringSpec{.name = "rope",
                         .a = "c",
                         .point_a = {0.1, 0.02, 0},
                         .point_b = {1, 0.5, 1.5},
                         .stiffness = 40,
                         .damping = 1,
                         .rest = 0.4});
  b.add_force(PointForceSpec{
      .name = "wind", .body = "b", .point = {0.05, 0, 0.01}, .force = {0.2, 0.5, 0}});
  b.add_actuator(JointActuatorSpec{.name = "drive", .joint = "knee", .gear = 2});
  b.add_actuator(BodyActuatorSpec{
      .name = "jet", .body = "c", .force = {0, 0.3, 1}, .torque = {0.01, 0, 0}, .body_axes = true});
  expect_exact(b.build(), tight(), 8, 0.95, MatX::Constant(2, 8, 0.5));
}

// One servo that is cut, one that is not, one without limit, all with controls; armatures, a planar
// joint, a start.
TEST(PartsGradient, ServosArmaturesAndAPlanarJoint) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4});
  const auto link = [&](const char* name, double x) {
    b.add_body({.name = name,
                .position = {x, 0, 1},
                .orientation = exp_rotation(Vec3(0.1, 0, 0)),
                .shapes = {{.shape = Shape::box(0.2, 0.03, 0.04), .material = "m"}}});
  };
  link("a", 0.2);
  link("b", 0.6);
  link("c", 1.0);
  b.add_joint({.name = "base", .kind = JointKind::Planar, .a = "a", .axis = {0.1, 1, 0}});
  const auto hinge = [&](const char* name, const char* a, const char* c, double x,
                         std::optional<double> limit) {
    b.add_joint({.name = name,
                 .kind = JointKind::Revolute,
                 .a = a,
                 .b = c,
                 .anchor = {x, 0, 1},
                 .axis = {0, 1, 0.2},
                 .start = 0.4,
                 .armature = 0.02,
                 .motor = {.kind = MotorKind::Servo,
                           .target = 0.5,
                           .velocity = 0.2,
                           .max_force = limit,
                           .stiffness = 30,
                           .damping = 0.5}});
  };
  hinge("cut", "b", "a", 0.4, 0.05);
  hinge("held", "c", "b", 0.8, 50.0);
  b.add_actuator(ServoActuatorSpec{.name = "to", .joint = "held", .gear = 0.7});
  b.add_actuator(ServoActuatorSpec{.name = "spin", .joint = "held", .speed = true});
  b.add_actuator(JointActuatorSpec{.name = "push", .joint = "held", .gear = 2, .max_force = 0.6});
  const GradientCheck check = expect_exact(b.build(), tight(), 6, 0.9, MatX::Constant(3, 6, 0.5));
  for (const char* name :
       {"joint/held.motor.stiffness", "joint/held.motor.damping", "joint/held.motor.target",
        "joint/cut.motor.max_force", "joint/held.armature", "actuator/to.gear"})
    EXPECT_EQ(row_of(check, name).status, CheckStatus::Compared) << name;
}

TEST(PartsGradient, WeldPinSliderAndRodInThePlane) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4});
  const auto bar = [&](const char* name, double x, double angle) {
    b.add_body({.name = name,
                .motion = Motion::Planar,
                .position = {x, 0, 0},
                .angle = angle,
                .shapes = {{.shape = Shape::rectangle(0.2, 0.03), .material = "m"}}});
  };
  bar("a", 0.2, 0);
  bar("b", 0.6, 0.1);
  bar("c", 1.0, 0);
  bar("d", 1.4, 0.3);
  b.add_joint({.name = "pin",
               .kind = JointKind::Revolute,
               .a = "a",
               .motor = {.kind = MotorKind::Position,
                         .target = 0,
                         .velocity = 1,
                         .times = {0, 0.1, 0.2},
                         .values = {0, 0.02, 0.05}}});
  b.add_joint({.name = "weld", .kind = JointKind::Weld, .a = "b", .b = "a", .anchor = {0.4, 0, 0}});
  b.add_joint({.name = "slider",
               .kind = JointKind::Prismatic,
               .a = "c",
               .b = "b",
               .anchor = {0.8, 0, 0},
               .axis = {1, 0.2, 0}});
  b.add_joint({.name = "rod", .kind = JointKind::Distance, .a = "d", .b = "c", .length = 0.4});
  expect_exact(b.build(), tight(), 10);
}

// Fingers that close on a block (prismatic, shared parent) and a rack that turns a wheel; the
// block is struck, so the couplings hold at impacts and in corrections, too.
TEST(PartsGradient, JointsThatFollowOthers) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.2});
  b.add_body(
      {.name = "palm", .position = {0, 0, 1}, .shapes = {{.shape = Shape::box(0.2, 0.1, 0.1)}}});
  const auto finger = [&](const char* name, double x) {
    b.add_body({.name = name,
                .position = {x, 0, 1.3},
                .orientation = exp_rotation(Vec3(0.02 * x, 0, 0.1)),
                .velocity = {-2 * x, 0, 0},
                .shapes = {{.shape = Shape::sphere(0.05), .material = "m"}}});
  };
  finger("left", -0.2);
  finger("right", 0.2);
  b.add_body({.name = "wheel",
              .position = {0, 0.5, 1},
              .orientation = exp_rotation(Vec3(0.3, 0.1, 0)),
              .shapes = {{.shape = Shape::sphere(0.1), .mask = 0}}});
  b.add_body({.name = "block",
              .position = {0.01, 0.01, 1.3},
              .velocity = {0.3, 0, 0},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  b.add_joint({.name = "base",
               .kind = JointKind::Revolute,
               .a = "palm",
               .anchor = {0, 0, 1},
               .axis = {0, 1, 0}});
  b.add_joint({.name = "first",
               .kind = JointKind::Prismatic,
               .a = "left",
               .b = "palm",
               .anchor = {-0.2, 0, 1.3},
               .axis = {1, 0, 0.05},
               .stiffness = 30,
               .rest = 0.1});
  b.add_joint({.name = "second",
               .kind = JointKind::Prismatic,
               .a = "right",
               .b = "palm",
               .anchor = {0.2, 0, 1.3},
               .axis = {1, 0, 0},
               .follow = {.joint = "first", .ratio = -1.1, .offset = 0.002}});
  b.add_joint({.name = "axle",
               .kind = JointKind::Revolute,
               .a = "wheel",
               .b = "palm",
               .anchor = {0, 0.5, 1},
               .axis = {0.1, 1, 0},
               .follow = {.joint = "first", .ratio = 3}});
  const GradientCheck check = expect_exact(b.build(), tight(), 8, 0.9);
  for (const char* name : {"joint/second.follow.ratio", "joint/second.follow.offset",
                           "joint/axle.follow.ratio", "joint/axle.follow.offset"})
    EXPECT_EQ(row_of(check, name).status, CheckStatus::Compared) << name;
}

TEST(PartsGradient, EllipsoidsRollAndTouch) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.3});
  b.add_body(floor_body());
  b.add_body({.name = "egg",
              .position = {0, 0, 0.121},
              .orientation = exp_rotation(Vec3(0.3, 0.2, 0.1)),
              .velocity = {0.5, 0.1, -0.3},
              .angular_velocity = {0.5, 1, 0.3},
              .shapes = {{.shape = Shape::ellipsoid(0.2, 0.15, 0.1), .material = "m"}}});
  b.add_body({.name = "stone",
              .motion = Motion::Fixed,
              .position = {0.36, 0.02, 0.1},
              .orientation = exp_rotation(Vec3(0, 0.4, 0.2)),
              .shapes = {{.shape = Shape::ellipsoid(0.1, 0.2, 0.15), .material = "m"}}});
  const GradientCheck check = expect_exact(b.build(), tight(), 12, 0.8);
  EXPECT_GT(std::abs(row_of(check, "shape/egg.semi_x").gradient), 0);
}

TEST(PartsGradient, SuperEllipsoidsRollAndTouch) {
  const Shape die = Shape::super_ellipsoid(0.2, 0.15, 0.1, 0.8, 0.7),
              stone = Shape::super_ellipsoid(0.1, 0.2, 0.15, 0.6, 0.9);
  // Two hundredths apart, the die two thousandths above the floor.
  Pose X{{0, 0, 0.3}, exp_rotation(Vec3(0.3, 0.2, 0.1))};
  X.x[2] -= distance(die, X, Shape::half_space(), Pose{}).gap - 0.002;
  Pose Y{{0.5, 0.02, 0.1}, exp_rotation(Vec3(0, 0.4, 0.2))};
  for (int i = 0; i < 20; ++i) Y.x[0] -= distance(die, X, stone, Y).gap - 0.02;
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.3});
  b.add_body(floor_body());
  b.add_body({.name = "die",
              .position = X.x,
              .orientation = X.p,
              .velocity = {0.5, 0.1, -0.3},
              .angular_velocity = {0.5, 1, 0.3},
              .shapes = {{.shape = die, .material = "m"}}});
  b.add_body({.name = "stone",
              .motion = Motion::Fixed,
              .position = Y.x,
              .orientation = Y.p,
              .shapes = {{.shape = stone, .material = "m"}}});
  const GradientCheck check = expect_exact(b.build(), tight(), 12, 0.8);
  for (const char* name : {"shape/die.semi_x", "shape/die.e1", "shape/die.e2", "shape/stone.e1"})
    EXPECT_GT(std::abs(row_of(check, name).gradient), 0) << name;
}

TEST(PartsGradient, SpinningBodiesKeepTheirGyroscopicTerms) {
  ModelBuilder b;
  b.add_material({.name = "m"});
  b.add_body({.name = "t",
              .orientation = exp_rotation(Vec3(0.3, -0.2, 0.5)),
              .velocity = {1, 0, 2},
              .angular_velocity = {3, 5, -4},
              .shapes = {{.shape = Shape::box(0.1, 0.2, 0.4), .material = "m"}}});
  b.add_body({.name = "ball",
              .position = {3, 0, 0},
              .angular_velocity = {3, 5, -4},
              .shapes = {{.shape = Shape::sphere(0.3), .material = "m"}}});
  expect_exact(b.build(), tight(), 20);
}

TEST(PartsGradient, ConveyorOfAKinematicBody) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4});
  b.add_body({.name = "belt",
              .motion = Motion::Kinematic,
              .velocity = {0.5, 0.1, 0.2},
              .angular_velocity = {0, 0, 0.3},
              .shapes = {{.shape = Shape::box(2, 2, 0.1), .material = "m"}}});
  b.add_body({.name = "ball",
              .position = {0.3, 0, 0.2002},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  // On a belt that rises and turns, tilts and a ball off its centre make the gap dig in or lift
  // off.
  expect_exact(b.build(), tight(), 10, 0.8);
}

TEST(PartsGradient, EveryFrictionModelStabilisationAndLaw) {
  for (const FrictionModel friction :
       {FrictionModel::Coulomb, FrictionModel::Cone, FrictionModel::Pyramid}) {
    for (const Stabilisation stabilisation :
         {Stabilisation::Projection, Stabilisation::Baumgarte, Stabilisation::None}) {
      ModelBuilder b;
      b.add_material({.name = "m", .friction = 0.3});
      b.add_body(floor_body());
      b.add_body({.name = "ball",
                  .position = {0, 0, 0.0995},
                  .velocity = {1, 0.3, 0},
                  .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
      StepSettings settings = tight();
      settings.friction = friction;
      settings.stabilisation = stabilisation;
      expect_exact(b.build(), settings, 3, 0.8);
    }
  }
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3});
  b.set_law(LawOfMotion::Overdamped);
  b.add_body(floor_body());
  b.add_body({.name = "rod",
              .position = {0, 0, 0.3},
              .orientation = exp_rotation(Vec3(0.2, 0.6, 0)),
              .shapes = {{.shape = Shape::capsule(0.1, 0.3), .material = "m"}}});
  StepSettings settings = tight();
  settings.h = 1e-3;
  expect_exact(b.build(), settings, 10, 0.8);
}

}  // namespace
}  // namespace orthant
