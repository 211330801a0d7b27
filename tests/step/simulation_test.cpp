// SPDX-License-Identifier: Apache-2.0
// Simulation: the same bits as step() by hand, and what it says of bodies and contacts.
#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "orthant/orthant.hpp"
#include "orthant/step/step_fields.hpp"

namespace orthant {
namespace {

World drop() {
  World world;
  world.add_material({.name = "rubber", .friction = 0.9});
  world.add_floor("rubber");
  world.add_box("cube", {0.5, 0.4, 0.3}, {.position = {0, 0, 0.35}, .velocity = {1, 0, 0}});
  world.add_sphere("ball", 0.1, {.position = {2, 0, 0.1}, .density = 500, .material = "rubber"});
  return world;
}

TEST(Simulation, IsStepWithItsArgumentsKept) {
  const Model model = drop().build();
  const StepSettings settings{.h = 0.02};
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  for (int i = 0; i < 40; ++i)
    (void)step(model, model.default_parameters(), settings, {}, state, warm, workspace);
  Simulation sim(model, settings);
  for (const int round : {0, 1}) {
    const RolloutReport first = sim.run(30),
                        second = sim.run(100, [](std::int64_t i, auto&, auto&) { return i < 9; });
    EXPECT_EQ(first.steps, 30);
    EXPECT_EQ(second.steps, 10);
    EXPECT_EQ(sim.state().q, state.q) << round;
    EXPECT_EQ(sim.state().v, state.v) << round;
    EXPECT_EQ(sim.time(), state.t);
    sim.reset();
    EXPECT_EQ(sim.time(), 0);
    EXPECT_TRUE(sim.contacts().empty());
  }
}

TEST(Simulation, SaysWhereBodiesAreAndWhatPressesOnThem) {
  Simulation sim(drop().build());
  const BodyId cube = sim.body("cube"), ball = sim.body("ball");
  EXPECT_EQ(sim.velocity(cube), Vec3(1, 0, 0));
  EXPECT_EQ(sim.position(ball), Vec3(2, 0, 0.1));
  (void)sim.run(200);
  EXPECT_NEAR(sim.position(cube).z(), 0.3, 1e-8);
  EXPECT_NEAR(sim.velocity(cube).norm(), 0, 1e-8);
  EXPECT_EQ(sim.velocity(sim.body("floor")), Vec3(0, 0, 0));
  double on_cube = 0, on_ball = 0;
  for (const ContactForce& c : sim.contacts()) {
    EXPECT_EQ(c.a, "floor");
    EXPECT_NEAR(c.normal.z(), -1, 1e-12);  // from B, above, to A
    EXPECT_NEAR(c.point.z(), 0, 1e-8);
    (c.b == "cube" ? on_cube : on_ball) -= c.force.z();
  }
  EXPECT_NEAR(on_cube, 1000 * 8 * 0.5 * 0.4 * 0.3 * 9.81, 1e-4);
  EXPECT_NEAR(on_ball, sim.parameters().get("body/ball.mass") * 9.81, 1e-6);
}

TEST(Simulation, PlanarBodiesTurnAboutZ) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_body({.name = "disc",
                    .motion = Motion::Planar,
                    .position = Vec3(1, 2, 0),
                    .velocity = Vec3(3, 0, 0),
                    .angular_velocity = Vec3(0, 0, 2),
                    .shapes = {{.shape = Shape::disc(0.1)}}});
  Simulation sim(builder.build(), {.h = 0.01});
  (void)sim.run(10);
  const BodyId disc = sim.body("disc");
  EXPECT_NEAR(sim.position(disc).x(), 1.3, 1e-12);
  EXPECT_NEAR(2 * std::atan2(sim.pose(disc).p.z, sim.pose(disc).p.w), 0.2, 1e-12);
  EXPECT_EQ(sim.angular_velocity(disc), Vec3(0, 0, 2));
  EXPECT_THROW((void)sim.body("disk"), Error);
}

// The bounds are those of the one list of fields: what a scene file accepts, a step accepts.
TEST(StepSettings, EveryNumberIsHeldToTheBoundsOfItsField) {
  const Model model = drop().build();
  int checked = 0;
  visit_settings(std::type_identity<StepSettings>{},
                 [&](const char* name, auto member, const char*, const SettingRule& rule) {
                   using T = std::decay_t<decltype(StepSettings{}.*member)>;
                   if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
                     const auto refused = [&](double value) {
                       StepSettings settings;
                       settings.*member = static_cast<T>(value);
                       try {
                         (void)Simulation(model, settings).step();
                         return false;
                       } catch (const Error& error) {
                         return error.where() == std::string("step settings.") + name;
                       }
                     };
                     EXPECT_EQ(refused(0), rule.positive || rule.lo > 0) << name;
                     EXPECT_TRUE(!std::isfinite(rule.lo) || refused(rule.lo - 1)) << name;
                     EXPECT_TRUE(!std::isfinite(rule.hi) || refused(rule.hi + 1)) << name;
                     EXPECT_TRUE(!std::is_floating_point_v<T> || refused(INFINITY)) << name;
                     ++checked;
                   }
                 });
  EXPECT_GE(checked, 18);
  EXPECT_THROW((void)Simulation(model, {.sub_spheres = 129}).step(), Error);
  EXPECT_THROW((void)Simulation(model, {.pyramid_directions = 5}).step(), Error);
}

// The worst outcome of several is the largest: reports depend on this order.
TEST(Simulation, OutcomesAreOrderedBySeverity) {
  EXPECT_LT(Outcome::Converged, Outcome::IterationLimit);
  EXPECT_LT(Outcome::IterationLimit, Outcome::WorkLimit);
  EXPECT_LT(Outcome::WorkLimit, Outcome::Stalled);
  EXPECT_LT(Outcome::Stalled, Outcome::RayTermination);
  EXPECT_LT(Outcome::RayTermination, Outcome::Infeasible);
  EXPECT_LT(Outcome::Infeasible, Outcome::NotFinite);
}

}  // namespace
}  // namespace orthant
