// SPDX-License-Identifier: Apache-2.0
// Servos, effort limits, armature, planar joints and joint coordinates that start elsewhere, each
// against its closed form.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

struct World {
  explicit World(const ModelBuilder& b, double h = 0.01)
      : model(b.build()), parameters(model.default_parameters()), x(model.rest_state()) {
    settings.h = h;
  }
  StepReport step(const VecX& u = {}) {
    return orthant::step(model, parameters, settings, u, x, warm, work);
  }
  double coordinate(const char* joint) const {
    return joint_coordinate(model, parameters, x.q, model.find_joint(joint));
  }
  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  WarmStart warm;
  StepWorkspace work;
};

BodySpec wheel(double mass = 2, double inertia = 0.5) {
  return {.name = "wheel",
          .mass = mass,
          .inertia = Mat3(inertia * Mat3::Identity()),
          .center_of_mass = Vec3::Zero()};
}

// Implicit Euler of I s'' = k (target - s) - c s':
//   s'+ = (I s' + h k (target - s)) / (I + h c + h^2 k)
TEST(Servo, IsImplicitPdUntilTheLimitCutsIt) {
  const double I = 0.5, k = 40, c = 1.5, target = 0.7, h = 0.01;
  for (const double limit : {1e9, 3.0, 0.0}) {
    ModelBuilder b;
    b.set_gravity(Vec3::Zero());
    b.add_body(wheel(2, I));
    b.add_joint({.name = "axle",
                 .kind = JointKind::Revolute,
                 .a = "wheel",
                 .motor = {.kind = MotorKind::Servo,
                           .target = target,
                           .max_force = limit,
                           .stiffness = k,
                           .damping = c}});
    World w(b, h);
    double s = 0, rate = 0;
    for (int n = 0; n < 60; ++n) {
      EXPECT_EQ(w.step().outcome, Outcome::Converged);
      const double free = (I * rate + h * k * (target - s)) / (I + h * c + h * h * k);
      const double impulse = I * (free - rate);
      rate += std::clamp(impulse, -h * limit, h * limit) / I;
      s += h * rate;
      ASSERT_NEAR(w.coordinate("axle"), s, 1e-9) << n << " " << limit;
      ASSERT_NEAR(w.x.v[5], rate, 1e-9);
    }
    if (limit == 3.0) {
      EXPECT_GT(s, 0.3);
    }
  }
}

TEST(Servo, WithoutLimitAndByControls) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(wheel());
  b.add_joint({.name = "axle",
               .kind = JointKind::Revolute,
               .a = "wheel",
               .motor = {.kind = MotorKind::Servo, .stiffness = 50, .damping = 20}});
  b.add_actuator(ServoActuatorSpec{.name = "to", .joint = "axle", .upper = 1.0});
  World w(b);
  for (int n = 0; n < 600; ++n) (void)w.step(VecX::Constant(1, 5.0));  // cut at 1
  EXPECT_NEAR(w.coordinate("axle"), 1.0, 1e-6);

  ModelBuilder speed;
  speed.set_gravity(Vec3::Zero());
  speed.add_body(wheel());
  speed.add_joint({.name = "axle",
                   .kind = JointKind::Revolute,
                   .a = "wheel",
                   .motor = {.kind = MotorKind::Servo, .max_force = 5, .damping = 4}});
  speed.add_actuator(ServoActuatorSpec{.name = "spin", .joint = "axle", .speed = true, .gear = 2});
  World v(speed);
  for (int n = 0; n < 400; ++n) (void)v.step(VecX::Constant(1, 1.5));
  EXPECT_NEAR(v.x.v[5], 3.0, 1e-6);  // and many turns on
}

// A load that the limit cannot hold sinks with (m g - limit)/m; one that it can stays, held by
// exactly its weight.
TEST(Servo, LimitHoldsInsideTheContactProblem) {
  const double m = 2, g = 9.81, h = 0.01;
  for (const double limit : {15.0, 25.0}) {
    ModelBuilder b;
    b.add_body(wheel(m));
    b.add_joint(
        {.name = "lift",
         .kind = JointKind::Prismatic,
         .a = "wheel",
         .axis = {0, 0, 1},
         .motor = {
             .kind = MotorKind::Servo, .max_force = limit, .stiffness = 1e6, .damping = 1e4}});
    World w(b, h);
    for (int n = 0; n < 100; ++n) EXPECT_EQ(w.step().outcome, Outcome::Converged);
    if (limit > m * g) {
      EXPECT_NEAR(w.coordinate("lift"), -m * g / 1e6, 1e-8);
      EXPECT_NEAR(w.x.v[2], 0, 1e-8);
    } else {
      EXPECT_NEAR(w.x.v[2], -(g - limit / m) * 100 * h, 1e-8);
    }
  }
}

TEST(Servo, ForceOfAnActuatorIsCut) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(wheel(2, 0.5));
  b.add_joint({.name = "axle", .kind = JointKind::Revolute, .a = "wheel"});
  b.add_actuator(JointActuatorSpec{.name = "push", .joint = "axle", .gear = 3, .max_force = 2.0});
  World w(b);
  (void)w.step(VecX::Constant(1, -10.0));
  EXPECT_NEAR(w.x.v[5], -2.0 * 0.01 / 0.5, 1e-12);
}

// Atwood with a geared rotor: the armature adds to the inertia of the coordinate and has energy.
TEST(Armature, AddsToTheInertiaOfTheCoordinate) {
  const double m = 2, A = 3, g = 9.81, h = 0.01;
  ModelBuilder b;
  b.add_body(wheel(m));
  b.add_joint({.name = "rail",
               .kind = JointKind::Prismatic,
               .a = "wheel",
               .axis = {0, 0, 1},
               .armature = A});
  World w(b, h);
  for (int n = 0; n < 50; ++n) (void)w.step();
  const double speed = m * g / (m + A) * 50 * h;
  EXPECT_NEAR(w.x.v[2], -speed, 1e-9);
  EXPECT_NEAR(kinetic_energy(w.model, w.parameters, w.x.q, w.x.v), 0.5 * (m + A) * speed * speed,
              1e-8);
}

// Between two bodies that are free otherwise: reaction on both.
TEST(Armature, ActsBetweenTwoBodies) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  const auto disc = [&](const char* name, double inertia, double spin) {
    b.add_body({.name = name,
                .angular_velocity = {0, 0, spin},
                .mass = 1.0,
                .inertia = Mat3(inertia * Mat3::Identity()),
                .center_of_mass = Vec3::Zero()});
  };
  disc("a", 0.2, 0);
  disc("b", 0.3, 0);
  b.add_joint({.name = "axle", .kind = JointKind::Revolute, .a = "a", .b = "b", .armature = 0.5});
  b.add_actuator(BodyActuatorSpec{.name = "torque", .body = "a", .torque = {0, 0, 1}});
  World w(b);
  for (int n = 0; n < 10; ++n) (void)w.step(VecX::Constant(1, 1.0));
  // (Ia + A) a - A b = t,  (Ib + A) b - A a = 0
  const double det = 0.7 * 0.8 - 0.25, t = 0.1;
  EXPECT_NEAR(w.x.v[5], 0.8 / det * t, 1e-9);
  EXPECT_NEAR(w.x.v[11], 0.5 / det * t, 1e-9);
}

TEST(Joint, StartSetsTheCoordinateAsBuilt) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body(wheel());
  b.add_joint({.name = "axle",
               .kind = JointKind::Revolute,
               .a = "wheel",
               .axis = {0, 1, 0},
               .start = -2.0,
               .lower = -2.5,
               .upper = -0.5});
  b.add_actuator(JointActuatorSpec{.name = "push", .joint = "axle"});
  World w(b);
  EXPECT_NEAR(w.coordinate("axle"), -2.0, 1e-15);
  for (int n = 0; n < 300; ++n) (void)w.step(VecX::Constant(1, 1.0));
  EXPECT_NEAR(w.coordinate("axle"), -0.5, 1e-8);

  ModelBuilder slide;
  slide.set_gravity(Vec3::Zero());
  slide.add_body(wheel());
  slide.add_joint({.name = "rail",
                   .kind = JointKind::Prismatic,
                   .a = "wheel",
                   .axis = {1, 2, 2},
                   .start = 0.3});
  EXPECT_NEAR(World(slide).coordinate("rail"), 0.3, 1e-15);
}

// A range beyond half a turn: the angle is told by its middle, both limits hold.
TEST(Joint, LimitsBeyondHalfATurn) {
  for (const double push : {1.0, -1.0}) {
    ModelBuilder b;
    b.set_gravity(Vec3::Zero());
    b.add_body(wheel());
    b.add_joint({.name = "axle",
                 .kind = JointKind::Revolute,
                 .a = "wheel",
                 .start = 3.0,
                 .lower = 0.5,
                 .upper = 5.5});
    b.add_actuator(JointActuatorSpec{.name = "push", .joint = "axle"});
    World w(b);
    for (int n = 0; n < 400; ++n)
      EXPECT_EQ(w.step(VecX::Constant(1, push)).outcome, Outcome::Converged);
    EXPECT_NEAR(w.coordinate("axle"), push > 0 ? 5.5 : 0.5, 1e-8);
  }
  ModelBuilder b;
  b.add_body(wheel());
  b.add_joint({.name = "axle",
               .kind = JointKind::Revolute,
               .a = "wheel",
               .lower = -std::numbers::pi,
               .upper = std::numbers::pi});
  EXPECT_THROW((void)b.build(), Error);
}

// Slides across the axis and turns about it, and nothing else.
TEST(Joint, PlanarMovesInItsPlane) {
  ModelBuilder b;
  b.set_gravity(Vec3(1, 2, -3));
  BodySpec body = wheel();
  body.angular_velocity = {0, 1, 0};
  b.add_body(body);
  b.add_joint({.name = "plane", .kind = JointKind::Planar, .a = "wheel", .axis = {0, 1, 0}});
  World w(b);
  for (int n = 0; n < 100; ++n) EXPECT_EQ(w.step().outcome, Outcome::Converged);
  EXPECT_NEAR(w.x.v[0], 1, 1e-9);
  EXPECT_NEAR(w.x.v[1], 0, 1e-9);
  EXPECT_NEAR(w.x.v[2], -3, 1e-9);
  EXPECT_NEAR(w.x.v[4], 1, 1e-9);
  EXPECT_LT(std::abs(w.x.v[3]) + std::abs(w.x.v[5]), 1e-9);
  EXPECT_LT(std::abs(w.x.q[1]), 1e-9);
}

TEST(Model, ExclusionsAndFramesByName) {
  ModelBuilder b;
  for (const char* name : {"one", "two"})
    b.add_body({.name = name, .shapes = {{.shape = Shape::sphere(0.1)}}});
  EXPECT_FALSE(b.build().excluded(ShapeId{0}, ShapeId{1}));
  b.exclude("two", "one");
  b.add_frame({"tip", "two", {Vec3(0.1, 0, 0), {}}});
  const Model m = b.build();
  EXPECT_TRUE(m.excluded(ShapeId{0}, ShapeId{1}));
  EXPECT_EQ(m.frames()[static_cast<std::size_t>(m.find_frame("tip"))].body, m.find_body("two"));
  b.exclude("one", "three");
  EXPECT_THROW((void)b.build(), Error);
}

}  // namespace
}  // namespace orthant
