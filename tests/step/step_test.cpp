// SPDX-License-Identifier: Apache-2.0
// step(): its rules, options and refusals. The closed forms are in tests/validation.
#include "orthant/step/step.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/energy.hpp"
#include "support/no_alloc.hpp"

namespace orthant {
namespace {

constexpr double kG = 9.81;

BodySpec floor_body(const std::string& material = "") {
  return {.name = "floor",
          .motion = Motion::Fixed,
          .shapes = {{.shape = Shape::half_space(), .material = material}}};
}

BodySpec ball(const std::string& name, const Vec3& at, double radius,
              const std::string& material = "") {
  return {.name = name,
          .position = at,
          .shapes = {{.shape = Shape::sphere(radius), .material = material}}};
}

Model one_ball(double height, double restitution = 0, double friction = 0.5) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = friction, .restitution = restitution});
  builder.add_body(floor_body("m"));
  builder.add_body(ball("ball", Vec3(0, 0, 0.1 + height), 0.1, "m"));
  return builder.build();
}

struct World {
  explicit World(const Model& m, const StepSettings& s = {})
      : model(m), parameters(m.default_parameters()), settings(s), x(m.rest_state()) {}
  StepReport step(StepRecord* record = nullptr) {
    return orthant::step(model, parameters, settings, {}, x, warm, work, record);
  }
  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  WarmStart warm;
  StepWorkspace work;
};

// Two flywheels in gear, driven by a constant torque: alpha = torque / (I1 + ratio^2 I2), whole
// turns included. A weight on a rack turns a wheel: a = g m / (m + ratio^2 I).
TEST(Step, GearsAndRacksFollowInClosedForm) {
  const Mat3 I1 = Vec3(1, 1, 0.5).asDiagonal(), I2 = Vec3(1, 1, 0.3).asDiagonal();
  for (const bool planar : {false, true}) {
    ModelBuilder b;
    b.set_gravity(planar ? Vec3(0, -kG, 0) : Vec3(0, 0, -kG));
    const auto body = [&](const char* name, double x, const Mat3& inertia) {
      b.add_body({.name = name,
                  .motion = planar ? Motion::Planar : Motion::Spatial,
                  .position = Vec3(x, 0, 0),
                  .mass = 2.0,
                  .inertia = inertia,
                  .center_of_mass = Vec3::Zero()});
    };
    body("one", 0, I1);
    body("two", 1, I2);
    body("drum", 2, I1);
    body("weight", 3, I2);
    const auto hinge = [](const char* name, const char* a, double x) {
      return JointSpec{.name = name, .kind = JointKind::Revolute, .a = a, .anchor = Vec3(x, 0, 0)};
    };
    const double ratio = -2, radius = 0.4;
    JointSpec second = hinge("second", "two", 1), wheel = hinge("wheel", "drum", 2);
    second.follow = {.joint = "first", .ratio = ratio};
    wheel.follow = {.joint = "rack", .ratio = 1 / radius, .offset = 0};
    b.add_joint(second);  // before its leader: order is of no matter
    b.add_joint(hinge("first", "one", 0));
    b.add_joint(wheel);
    b.add_joint({.name = "rack",
                 .kind = JointKind::Prismatic,
                 .a = "weight",
                 .anchor = Vec3(3, 0, 0),
                 .axis = planar ? Vec3(0, -1, 0) : Vec3(0, 0, -1)});
    b.add_force(BodyForceSpec{.name = "push", .body = "one", .torque = Vec3(0, 0, 3)});
    World w(b.build());
    const int steps = 300;
    for (int i = 0; i < steps; ++i) {
      const StepReport report = w.step();
      ASSERT_EQ(report.outcome, Outcome::Converged);
      ASSERT_LT(report.joint_error, 1e-9);
    }
    const double t = steps * w.settings.h, spin = t * 3 / (0.5 + ratio * ratio * 0.3);
    const double fall = t * kG * 2 / (2 + 0.5 / (radius * radius));
    const auto velocity = [&](const char* name, Index planar_part, Index spatial_part) {
      const Body& body_ = w.model.body(w.model.find_body(name));
      return w.x.v[body_.v_begin + (planar ? planar_part : spatial_part)];
    };
    EXPECT_NEAR(velocity("one", 2, 5), spin, 1e-9 * spin);
    EXPECT_NEAR(velocity("two", 2, 5), ratio * spin, 1e-9 * spin);
    EXPECT_NEAR(velocity("weight", 1, 2), -fall, 1e-9 * fall);
    EXPECT_NEAR(velocity("drum", 2, 5), fall / radius, 1e-9 * fall);
    EXPECT_GT(spin * t / 2, 2 * std::acos(-1.0));  // more than a turn
  }
}

// A robot that falls with its fingers at their stops: the rows of these limits see no motion at
// all, the answer is zero, and rounding must not count as an error.
TEST(Step, LimitsAtTheirStopsWithoutMotionConverge) {
  ModelBuilder b;
  const auto box = [&](const char* name, const Vec3& at, const Vec3& half) {
    b.add_body({.name = name,
                .position = at,
                .shapes = {{.shape = Shape::box(half[0], half[1], half[2])}}});
  };
  box("base", {0, 0, 1}, {0.3, 0.2, 0.2});
  box("head", {0, 0, 1.4}, {0.1, 0.1, 0.1});
  box("pole", {0.4, 0, 1.1}, {0.2, 0.02, 0.02});
  box("left", {0.7, 0.05, 1.1}, {0.1, 0.02, 0.03});
  box("right", {0.7, -0.05, 1.1}, {0.1, 0.02, 0.03});
  b.add_joint({.name = "neck",
               .kind = JointKind::Revolute,
               .a = "head",
               .b = "base",
               .anchor = {0, 0, 1.3}});
  b.add_joint({.name = "arm",
               .kind = JointKind::Prismatic,
               .a = "pole",
               .b = "base",
               .anchor = {0.2, 0, 1.1},
               .axis = {1, 0, 0},
               .lower = -0.38,
               .upper = 0});
  for (const double side : {1.0, -1.0})
    b.add_joint({.kind = JointKind::Revolute,
                 .a = side > 0 ? "left" : "right",
                 .b = "pole",
                 .anchor = {0.6, 0.05 * side, 1.1},
                 .axis = {0, 0, side},
                 .lower = 0,
                 .upper = 0.548});
  StepSettings settings;
  settings.h = 0.005;
  World w(b.build(), settings);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(w.step().outcome, Outcome::Converged) << i;
}

TEST(Step, RefusesBadInputByName) {
  const Model model = one_ball(1);
  const auto message = [&](auto&& spoil) -> std::string {
    World w(model);
    spoil(w);
    try {
      (void)w.step();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([](World& w) { w.settings.h = 0; }).find("h"), std::string::npos);
  EXPECT_NE(message([](World& w) { w.settings.h = -0.01; }).find("-0.01"), std::string::npos);
  EXPECT_NE(message([](World& w) { w.settings.h = NAN; }), "");
  EXPECT_NE(message([](World& w) { w.x.q[0] = NAN; }), "");
  EXPECT_NE(message([](World& w) { w.x.v[0] = INFINITY; }), "");
  EXPECT_NE(message([](World& w) { w.x.v.resize(3); }), "");
  EXPECT_NE(message([](World& w) { w.parameters.values[0] = NAN; }), "");
  EXPECT_NE(message([](World& w) { w.parameters.values.conservativeResize(2); }), "");
  EXPECT_EQ(message([](World&) {}), "");
}

TEST(Step, IsAFunctionOfItsArguments) {
  const Model model = one_ball(0.001, 0.3);
  World fresh(model), again(model), used(one_ball(0.5));
  for (int i = 0; i < 20; ++i) (void)used.step();
  for (int i = 0; i < 30; ++i) {
    (void)fresh.step();
    (void)step(model, again.parameters, again.settings, {}, again.x, again.warm, used.work);
    ASSERT_EQ(fresh.x.q, again.x.q);
    ASSERT_EQ(fresh.x.v, again.x.v);
  }
}

TEST(Step, NoBounceInMidAir) {
  // A ball above the floor, within the margin, too slow to arrive in this step.
  World w(one_ball(0.005, 1.0));
  w.x.v[2] = -0.3;
  (void)w.step();
  EXPECT_NEAR(w.x.v[2], -0.3 - 0.01 * kG, 1e-12);
}

TEST(Step, BouncesWithRestitutionWhereTheGapCloses) {
  World w(one_ball(0.005, 0.5));
  w.x.v[2] = -2;
  EXPECT_EQ(w.step().outcome, Outcome::Converged);
  EXPECT_NEAR(w.x.v[2], 1.0, 1e-10);
}

TEST(Step, SlowImpactsDoNotBounce) {
  World w(one_ball(0, 1.0));
  w.x.v[2] = -0.1;  // below 2 g h
  (void)w.step();
  EXPECT_NEAR(w.x.v[2], 0, 1e-10);
}

// Balls that do not touch each other.
Model many_balls(int count, double height) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = 0.5});
  builder.add_body(floor_body("m"));
  for (int i = 0; i < count; ++i)
    builder.add_body(ball("ball" + std::to_string(i), Vec3(i, 0, 0.1 + height), 0.1, "m"));
  return builder.build();
}

TEST(Step, InAPileAGapWithinTheDeadBandIsNoneAtRest) {
  // 1e-4 of the radius of 0.1: 5e-6 m at rest are none, 5e-5 m are a gap that closes, and so are
  // 5e-6 m where the ball moves by 1e-4 m per step.
  World band(many_balls(100, 5e-6)), gap(many_balls(100, 5e-5)), few(many_balls(99, 5e-6));
  World moving(many_balls(100, 5e-6)), unprojected(many_balls(100, 5e-6));
  for (Index i = 0; i < 100; ++i) moving.x.v[6 * i + 2] = -0.01;
  unprojected.settings.stabilisation = Stabilisation::None;
  for (World* w : {&band, &gap, &few, &moving, &unprojected}) (void)w->step();
  EXPECT_NEAR(band.x.v[2], 0, 1e-14);
  EXPECT_NEAR(gap.x.v[2], -5e-3, 1e-14);
  EXPECT_NEAR(few.x.v[2], -5e-4, 1e-14);
  EXPECT_NEAR(moving.x.v[2], -5e-4, 1e-14);
  EXPECT_NEAR(unprojected.x.v[2], -5e-4, 1e-14);
}

TEST(Step, MaxEventsIsReported) {
  // Two walls closer than a ball's flight: more impacts in a step than allowed.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "m", .friction = 0, .restitution = 1});
  builder.add_body(floor_body("m"));
  builder.add_body({.name = "ceiling",
                    .motion = Motion::Fixed,
                    .position = Vec3(0, 0, 0.3),
                    .orientation = {0, 1, 0, 0},
                    .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  builder.add_body(ball("ball", Vec3(0, 0, 0.15), 0.1, "m"));
  const Model model = builder.build();
  World w(model, {.impact_events = true, .max_events = 5});
  w.x.v[2] = 100;
  const StepReport report = w.step();
  EXPECT_EQ(report.events, 5);
  EXPECT_TRUE(report.events_exhausted);
  EXPECT_LE(report.deepest, 1e-9);
  // With enough events the path is a folded line: 1 m there and back in a slot of 0.1 m.
  World all(model, {.impact_events = true});
  all.x.v[2] = 100;
  const StepReport good = all.step();
  EXPECT_EQ(good.events, 10);
  EXPECT_FALSE(good.events_exhausted);
  EXPECT_NEAR(all.x.q[model.body(model.find_body("ball")).q_begin + 2], 0.15, 1e-9);
  EXPECT_NEAR(all.x.v[2], 100, 1e-9);
}

TEST(Step, DeepAndCoincidentOverlapsAreResolved) {
  ModelBuilder builder;
  builder.add_body(floor_body());
  builder.add_body(ball("sunk", Vec3(0, 0, -0.05), 0.1));
  builder.add_body(ball("one", Vec3(1, 0, 0.5), 0.1));
  builder.add_body(ball("same", Vec3(1, 0, 0.5), 0.1));
  for (const char* name : {"box", "same_box"}) {
    builder.add_body({.name = name,
                      .position = Vec3(2, 0, 0.1),
                      .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1)}}});
  }
  World w(builder.build());
  StepReport report;
  for (int i = 0; i < 3; ++i) {
    report = w.step();
    ASSERT_TRUE(w.x.q.allFinite() && w.x.v.allFinite());
  }
  EXPECT_LE(report.deepest, 1e-9);
}

TEST(Step, BaumgarteAndNoneLeaveTheProjectionOut) {
  const Model model = one_ball(-0.01);
  World none(model, {.stabilisation = Stabilisation::None});
  World pushed(model, {.stabilisation = Stabilisation::Baumgarte, .baumgarte = 0.2});
  World projected(model);
  EXPECT_NEAR(none.step().deepest, 0.01, 1e-10);
  EXPECT_NEAR(pushed.step().deepest, 0.008, 1e-10);
  EXPECT_LE(projected.step().deepest, 1e-10);
  EXPECT_NEAR(projected.x.v.norm(), 0, 1e-10);  // positions change, velocities do not
}

TEST(Step, ComplianceIsASpring) {
  // At rest the weight m g presses the surface in by c m g. Two soft bodies add up: half each.
  const double c = 1e-5, mass = 2;
  ModelBuilder builder;
  builder.add_material({.name = "soft", .friction = 0, .compliance = 0.5 * c});
  builder.add_body(floor_body("soft"));
  BodySpec spec = ball("ball", Vec3(0, 0, 0.1), 0.1, "soft");
  spec.mass = mass;
  builder.add_body(spec);
  World w(builder.build());
  StepReport report;
  for (int i = 0; i < 400; ++i) report = w.step();
  EXPECT_NEAR(report.deepest, c * mass * kG, 1e-9);
}

TEST(Step, SoftContactsKeepWhatPressesThemIn) {
  // Pressed in by d the surface holds d²/2c; what lies on it takes that along, and no more.
  const double c = 1e-5, mass = 2, d = 1e-2;
  for (const bool events : {false, true}) {
    ModelBuilder builder;
    builder.add_material({.name = "soft", .friction = 0.3, .compliance = 0.5 * c});
    builder.add_body(floor_body("soft"));
    BodySpec spec = ball("ball", Vec3(0, 0, 0.1 - d), 0.1, "soft");
    spec.mass = mass;
    spec.velocity = Vec3(1, 0, 0);
    builder.add_body(spec);
    World w(builder.build(), {.h = 1e-4, .impact_events = events});
    double last = energy_of(w.model, w.parameters, w.settings, w.x).total();
    EXPECT_NEAR(last, 0.5 * d * d / c + 0.5 * mass + mass * kG * (0.1 - d), 1e-12);
    double fastest = 0;
    for (int i = 0; i < 2000; ++i) {
      const StepReport report = w.step();
      EXPECT_LE(report.kinetic + report.potential, last * (1 + 1e-12)) << events << i;
      last = report.kinetic + report.potential;
      fastest = std::max(fastest, report.kinetic);
    }
    EXPECT_GT(fastest, 3);  // it is thrown up
  }
}

TEST(Step, FrictionModelsAgreeInThePlaneAndTheConeOpens) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = 0.4});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .planar = true,
                    .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  builder.add_body({.name = "block",
                    .motion = Motion::Planar,
                    .position = Vec3(0, 0.1, 0),
                    .velocity = Vec3(1, 0, 0),
                    .shapes = {{.shape = Shape::rectangle(0.3, 0.1), .material = "m"}}});
  const Model model = builder.build();
  World exact(model), pyramid(model, {.friction = FrictionModel::Pyramid}),
      cone(model, {.friction = FrictionModel::Cone});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(exact.step().outcome, Outcome::Converged);
    EXPECT_EQ(pyramid.step().outcome, Outcome::Converged);
    EXPECT_EQ(cone.step().outcome, Outcome::Converged);
  }
  EXPECT_NEAR(exact.x.v[0], 1 - 0.4 * kG * 0.1, 1e-8);
  EXPECT_NEAR((exact.x.v - pyramid.x.v).norm(), 0, 1e-8);
  EXPECT_GT(cone.x.q[model.body(model.find_body("block")).q_begin + 1], 0.1 + 1e-3);
}

TEST(Step, AConveyorCarriesABlock) {
  ModelBuilder builder;
  builder.add_body({.name = "belt",
                    .motion = Motion::Kinematic,
                    .velocity = Vec3(0.5, 0, 0),
                    .shapes = {{.shape = Shape::box(5, 5, 0.1)}}});
  builder.add_body({.name = "block",
                    .position = Vec3(0, 0, 0.2),
                    .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1)}}});
  World w(builder.build());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(w.step().outcome, Outcome::Converged);
  EXPECT_NEAR(w.x.v[w.model.body(w.model.find_body("block")).v_begin], 0.5, 1e-9);
}

TEST(Step, HalvingFollowsAFaceThatTurns) {
  // A plank turns into a ball by 0.2 rad: its face arrives at tan 0.2 where its row says 0.2.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "m", .friction = 0});
  builder.add_body({.name = "plank",
                    .motion = Motion::Kinematic,
                    .angular_velocity = Vec3(0, -20, 0),
                    .shapes = {{.shape = Shape::box(2, 0.5, 0.1), .material = "m"}}});
  builder.add_body(ball("ball", Vec3(1, 0, 0.2), 0.1, "m"));
  const Model model = builder.build();
  World plain(model, {.stabilisation = Stabilisation::None});
  World halved(model, {.stabilisation = Stabilisation::None, .max_halvings = 30});
  const double before = plain.step().deepest;
  const StepReport report = halved.step();
  EXPECT_GT(before, 1e-3);
  EXPECT_LT(report.deepest, 0.2 * before);
  EXPECT_GT(report.solves, 1);
  EXPECT_DOUBLE_EQ(halved.x.t, 0.01);
}

TEST(Step, AnObliqueImpactKeepsMomentumAndAngularMomentum) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_body(ball("a", Vec3(-0.3, 0.05, 0), 0.1));
  builder.add_body(ball("b", Vec3(0, 0, 0), 0.1));
  const Model model = builder.build();
  using Vec6 = Eigen::Matrix<double, 6, 1>;
  for (const bool events : {false, true}) {
    World w(model, {.impact_events = events});
    w.x.v[0] = 3;
    const auto momentum = [&] {
      VelocityMatrix M;
      assemble_mass(model, w.parameters, w.x.q, M);
      VecX p;
      M.multiply(w.x.v, p);
      Vec6 total = Vec6::Zero();
      for (const Body& body : model.bodies()) {
        const Vec3 at = w.x.q.segment<3>(body.q_begin), linear = p.segment<3>(body.v_begin);
        total.head<3>() += linear;
        total.tail<3>() += at.cross(linear) + p.segment<3>(body.v_begin + 3);
      }
      return total;
    };
    const Vec6 before = momentum();
    for (int i = 0; i < 10; ++i) (void)w.step();
    EXPECT_GT(std::abs(w.x.v[6]), 0.1);  // they did meet
    EXPECT_NEAR((momentum() - before).head<3>().norm(), 0, 1e-9 * before.norm());
    // Both levers go to one point, so an impulse across an open gap is no couple.
    EXPECT_NEAR((momentum() - before).tail<3>().norm(), 0, 1e-9 * before.norm());
  }
}

TEST(Step, TheRecordTellsTheSolves) {
  World w(one_ball(0.005, 0.5), {.impact_events = true});
  w.x.v[2] = -2;
  StepRecord record;
  (void)w.step(&record);
  ASSERT_GE(record.solves.size(), 3u);
  EXPECT_EQ(record.before.v[2], -2);
  EXPECT_EQ(record.after.q, w.x.q);
  double covered = 0;
  int impacts = 0;
  for (const SolveRecord& solve : record.solves) {
    impacts += solve.kind == SolveKind::Impact;
    if (solve.kind == SolveKind::Step) covered += solve.duration;
  }
  EXPECT_EQ(impacts, 1);
  EXPECT_NEAR(covered, w.settings.h, 1e-15);
}

TEST(Step, WarmStartKeepsImpulsesByKey) {
  World w(one_ball(0));
  (void)w.step();
  ASSERT_EQ(w.warm.contacts.size(), 1u);
  const double mass = w.parameters.get("body/ball.mass");
  EXPECT_NEAR(std::abs(w.warm.contacts[0].impulse_W.z()), mass * kG * 0.01, 1e-9);
  EXPECT_EQ(w.step().iterations, 0);  // the judge accepts the last impulses as they are
}

/// Boxes with flush faces: rounding names a corner now by one pair of features, now by another.
TEST(Step, WarmStartFindsContactsUnderOtherFeatures) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = 0.6});
  builder.add_body(floor_body("m"));
  const ShapeSpec cube{.shape = Shape::box(0.5, 0.5, 0.5), .material = "m"};
  builder.add_body({.name = "left", .position = Vec3(-0.55, 0, 0.5), .shapes = {cube}});
  builder.add_body({.name = "right", .position = Vec3(0.55, 0, 0.5), .shapes = {cube}});
  builder.add_body({.name = "top", .position = Vec3(0, 0, 1.5), .shapes = {cube}});
  World w(builder.build());
  for (int i = 0; i < 20; ++i) (void)w.step();
  ASSERT_EQ(w.warm.contacts.size(), 16u);
  const StepReport as_it_is = w.step();
  EXPECT_EQ(as_it_is.iterations, 0);
  // The same impulses at the same places, under features that no contact has.
  for (std::size_t i = 0; i < w.warm.contacts.size(); ++i)
    w.warm.contacts[i].key.feature = 1000000 + static_cast<std::uint32_t>(i);
  EXPECT_EQ(w.step().iterations, 0);
  // At other places they would fit badly: the corners of one face do not carry the same load.
  WarmStart none;
  std::swap(w.warm, none);
  EXPECT_GT(w.step().iterations, 0);
}

TEST(Step, TimeIsNotTheSumOfItsParts) {
  World w(one_ball(1), {.integrator = Integrator::Rattle});
  (void)w.step();
  EXPECT_EQ(w.x.t, 0.01);
  EXPECT_EQ(w.x.step, 1);
}

/// Each of these leads the step in a way of its own. Two of them are refused, by the names of all.
TEST(Step, WaysToStepExcludeEachOther) {
  using Change = void (*)(StepSettings&);
  const Change ways[] = {[](StepSettings& s) { s.constraints = ConstraintScheme::Relcp; },
                         [](StepSettings& s) { s.integrator = Integrator::Rattle; },
                         [](StepSettings& s) { s.impact_events = true; },
                         [](StepSettings& s) { s.max_halvings = 3; }};
  for (const Change first : ways)
    for (const Change second : ways) {
      StepSettings settings;
      first(settings);
      second(settings);
      World w(one_ball(1), settings);
      if (first == second) {
        EXPECT_EQ(w.step().outcome, Outcome::Converged);
        continue;
      }
      try {
        (void)w.step();
        ADD_FAILURE() << "two ways to step were taken";
      } catch (const Error& error) {
        for (const char* name : {"constraints", "integrator", "impact_events", "max_halvings"})
          EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
      }
    }
}

TEST(Rollout, StopsWhenTold) {
  const Model model = one_ball(1);
  State state = model.rest_state();
  const RolloutReport report =
      rollout(model, model.default_parameters(), {}, state, 100,
              [](std::int64_t i, const State&, const StepReport&) { return i < 9; });
  EXPECT_EQ(report.steps, 10);
  EXPECT_EQ(report.outcome, Outcome::Converged);
  EXPECT_NEAR(state.t, 0.1, 1e-15);
}

/// Spheres of one size on a square lattice, every second layer in the hollows of the one below.
Model pyramid_of_balls(int side) {
  const double r = 0.1;
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = 0.5});
  builder.add_body(floor_body("m"));
  for (int layer = 0; layer < side; ++layer) {
    const int n = side - layer;
    for (int i = 0; i < n * n; ++i) {
      const Vec3 at(2 * r * (i % n + 0.5 * layer), 2 * r * (i / n + 0.5 * layer),
                    r + layer * std::sqrt(2.0) * r);
      builder.add_body(ball("b" + std::to_string(100 * layer + i), at, r, "m"));
    }
  }
  return builder.build();
}

TEST(Step, DoesNotAllocateOnceWarm) {
  for (const bool pile : {true, false}) {
    SCOPED_TRACE(pile ? "balls piled up" : "a ball rolls");
    World w(pile ? pyramid_of_balls(4) : one_ball(0));
    if (!pile) w.x.v[0] = 1;
    for (int i = 0; i < 10; ++i) ASSERT_EQ(w.step().outcome, Outcome::Converged);
    const testing::NoAlloc guard;
    for (int i = 0; i < 3; ++i) (void)w.step();
  }
}

}  // namespace
}  // namespace orthant
