// SPDX-License-Identifier: Apache-2.0
// Located impacts: found when rotation alone closes a gap, without gain of energy, and none where
// a contact is a spring.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

constexpr double kG = 9.81;

BodySpec floor_body(bool planar) {
  return {
      .name = "floor",
      .motion = Motion::Fixed,
      .planar = planar,
      .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(), .material = "m"}}};
}

struct World {
  World(const Model& m, const StepSettings& s)
      : model(m), parameters(m.default_parameters()), settings(s), x(m.rest_state()) {}
  StepReport step(StepRecord* record = nullptr) {
    return orthant::step(model, parameters, settings, {}, x, warm, work, record);
  }
  double energy() const {
    return kinetic_energy(model, parameters, x.q, x.v) +
           potential_energy(model, parameters, x.q, x.t);
  }
  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  WarmStart warm;
  StepWorkspace work;
};

/// Torque −c ω, implicit in the step.
class Brake : public ForceCallback {
 public:
  void add_force(const Model&, const Parameters&, const VecX&, const VecX& v, double,
                 VecX& f) const override {
    f.segment<3>(3) -= kBrake * v.segment<3>(3);
  }
  bool derivatives(const Model&, const Parameters&, const VecX&, const VecX&, double,
                   std::span<double>, std::span<double> f_v) const override {
    for (std::size_t i = 3; i < 6; ++i) f_v[7 * i] = -kBrake;
    return true;
  }

 private:
  static constexpr double kBrake = 0.5;
};

// A body that leaves the floor moves as one far from it, whatever brakes its spin.
TEST(Impacts, ABodyThatLeavesFliesAsFarAway) {
  State end[2];
  for (const bool near : {false, true}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.3});
    b.add_body(floor_body(false));
    b.add_body({.name = "brick",
                .position = {0, 0, near ? 0.3 : 50},
                .velocity = {0, 0, 4},
                .angular_velocity = {3, 5, -4},
                .shapes = {{.shape = Shape::box(0.1, 0.2, 0.3), .material = "m"}}});
    b.add_force(CallbackSpec{
        .name = "brake", .body = "brick", .callback = std::make_shared<const Brake>()});
    World world(b.build(), {.h = 0.02, .impact_events = true});
    EXPECT_EQ(world.step().contacts > 0, near);
    end[near] = world.x;
  }
  EXPECT_LT((end[1].v - end[0].v).norm(), 1e-12 * end[0].v.norm());
  EXPECT_LT((end[1].q.tail(4) - end[0].q.tail(4)).norm(), 1e-12);
}

// A rod that only turns reaches the floor within the step: L cos θ ω h = 20 mm, the gap is 8.4 mm.
TEST(Impacts, RotationClosesAGap) {
  constexpr double radius = 0.05, half = 0.12, angle = 0.3, gap = 0.0084;
  ModelBuilder b;
  b.set_gravity({0, -kG, 0});
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.8});
  b.add_body(floor_body(true));
  b.add_body({.name = "rod",
              .motion = Motion::Planar,
              .position = {0, radius + half * std::sin(angle) + gap, 0},
              .angle = angle,
              .angular_velocity = {0, 0, 35},
              .shapes = {{.shape = Shape::stadium(radius, half), .material = "m"}}});
  World world(b.build(), {.h = 0.005, .impact_events = true});
  const double before = world.energy();
  const StepReport report = world.step();
  EXPECT_EQ(report.contacts, 1);
  EXPECT_EQ(report.events, 1);
  EXPECT_LE(report.deepest, 1e-9);
  EXPECT_LE(world.energy(), before + 1e-9);
}

/// Largest energy that an impact of a random rod or box with friction gains, relative to what there
/// was.
double gain_of_impact(unsigned seed, RestitutionLaw law) {
  std::mt19937_64 random(seed);
  const auto pick = [&](double a, double b) {
    return a + (b - a) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  const bool planar = seed % 2 == 0;
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "m", .friction = pick(0.05, 1.5), .restitution = pick(0.7, 1)});
  b.add_body(floor_body(planar));
  BodySpec body{.name = "body", .motion = planar ? Motion::Planar : Motion::Spatial};
  if (planar) {
    body.position = {0, 0.4, 0};
    body.angle = pick(-3, 3);
    body.velocity = {pick(-8, 8), pick(-8, -4), 0};
    body.angular_velocity = {0, 0, pick(-20, 20)};
    body.shapes = {{.shape = Shape::stadium(pick(0.02, 0.05), pick(0.1, 0.2)), .material = "m"}};
  } else {
    body.position = {0, 0, 0.4};
    body.orientation = exp_rotation(Vec3(pick(-2, 2), pick(-2, 2), pick(-2, 2)));
    body.velocity = {pick(-8, 8), pick(-8, 8), pick(-8, -4)};
    body.angular_velocity = {pick(-20, 20), pick(-20, 20), pick(-20, 20)};
    body.shapes = {
        {.shape = Shape::box(pick(0.05, 0.2), pick(0.05, 0.2), pick(0.05, 0.2)), .material = "m"}};
  }
  b.add_body(body);
  World world(b.build(), {.h = 0.1, .impact_events = true, .restitution_law = law});
  StepRecord record;
  const StepReport report = world.step(&record);
  EXPECT_GE(report.events, 1) << seed;
  EXPECT_EQ(report.outcome, Outcome::Converged) << seed;
  double gain = -1;
  for (const SolveRecord& solve : record.solves) {
    if (solve.kind != SolveKind::Impact) continue;
    const auto energy = [&](const VecX& v) {
      return kinetic_energy(world.model, world.parameters, solve.q, v);
    };
    gain = std::max(gain, energy(solve.solution.v) / energy(solve.v) - 1);
  }
  return gain;
}

TEST(Impacts, FrictionNeverGainsEnergy) {
  int gained = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    EXPECT_LE(gain_of_impact(seed, RestitutionLaw::EnergyBounded), 1e-9) << seed;
    gained += gain_of_impact(seed, RestitutionLaw::Newton) > 1e-6;
  }
  EXPECT_GE(gained, 5);  // so there is something to bound
}

/// A rod just above the floor that comes down along it, at one of sixty tilts.
BodySpec rod_that_lands(int i) {
  const double angle = -1.5 + 0.05 * i, half = 0.2;
  return {.name = "rod",
          .motion = Motion::Planar,
          .position = {0, 0.02 + half * std::abs(std::sin(angle)) + 1e-4, 0},
          .angle = angle,
          .velocity = {-2, -2, 0},
          .angular_velocity = {0, 0, i % 2 == 0 ? 4.0 : -4.0},
          .shapes = {{.shape = Shape::stadium(0.02, half), .material = "m"}}};
}

// What is left of a step that has had its impacts is taken without restitution, by which friction
// might gain energy.
TEST(Impacts, AStepThatRunsOutOfThemGainsNoEnergy) {
  for (int i = 0; i < 60; ++i) {
    ModelBuilder b;
    b.set_gravity({0, -kG, 0});
    b.add_material({.name = "m", .friction = 0.8, .restitution = 1});
    b.add_body(floor_body(true));
    b.add_body(rod_that_lands(i));
    World world(b.build(), {.h = 0.005, .impact_events = true, .max_events = 0});
    const double before = world.energy();
    const StepReport report = world.step();
    EXPECT_TRUE(report.events_exhausted);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(world.energy(), before * (1 + 1e-9)) << i;
  }
}

// A spring that holds what falls on it has no impacts, however often its contact approaches.
TEST(Impacts, CompliantContactsHaveNone) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.5, .compliance = 1e-5});
  b.add_body(floor_body(false));
  b.add_body({.name = "ball",
              .position = {0, 0, 0.3},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  World world(b.build(), {.impact_events = true});
  const double before = world.energy();
  for (int i = 0; i < 300; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.events, 0);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(world.energy(), before + 1e-9);
  }
  EXPECT_NEAR(world.x.v.norm(), 0, 1e-6);
}

// With friction Newton's law gains energy (Kane's paradox); a spring has no law of impact, so a
// soft contact that bounces without events does not bounce with them.
TEST(Impacts, CompliantContactsGainNoEnergy) {
  for (int i = 0; i < 60; ++i) {
    ModelBuilder b;
    b.set_gravity({0, -kG, 0});
    b.add_material({.name = "m", .friction = 0.8, .restitution = 1, .compliance = 1e-8});
    b.add_body(floor_body(true));
    b.add_body(rod_that_lands(i));
    World world(b.build(), {.h = 0.005, .impact_events = true});
    const double before = world.energy();
    EXPECT_EQ(world.step().outcome, Outcome::Converged);
    EXPECT_LE(world.energy(), before * (1 + 1e-9)) << i;
  }
}

// An overlap is pushed out at the rate βΦ/h of a step, however short an impact elsewhere makes the
// interval: here 1e-6 of the step.
TEST(Impacts, BaumgarteHasTheRateOfAWholeStep) {
  constexpr double h = 0.01, overlap = 1e-3, speed = 3;
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "m", .friction = 0});
  b.add_body(floor_body(false));
  b.add_body({.name = "deep",
              .position = {0, 0, 0.1 - overlap},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  b.add_body({.name = "other",
              .position = {1, 0, 0.1 + 1e-6 * h * speed},
              .velocity = {0, 0, -speed},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  World world(b.build(),
              {.h = h, .stabilisation = Stabilisation::Baumgarte, .impact_events = true});
  const StepReport report = world.step();
  EXPECT_EQ(report.events, 1);
  EXPECT_NEAR(world.x.v[2], world.settings.baumgarte * overlap / h, 1e-9);
}

// The sliding speed of a pyramid is no impulse: a ball that flies past a surface keeps the
// parabola.
TEST(Impacts, PyramidDoesNotBrakeWhatFliesPast) {
  for (const bool planar : {true, false}) {
    ModelBuilder b;
    if (planar) b.set_gravity({0, -kG, 0});
    b.add_material({.name = "m", .friction = 0.5});
    b.add_body(floor_body(planar));
    b.add_body(
        {.name = "ball",
         .motion = planar ? Motion::Planar : Motion::Spatial,
         .position = planar ? Vec3(0, 0.105, 0) : Vec3(0, 0, 0.105),
         .velocity = planar ? Vec3(3, 0.1, 0) : Vec3(3, 1, 0.1),
         .shapes = {{.shape = planar ? Shape::disc(0.1) : Shape::sphere(0.1), .material = "m"}}});
    World world(b.build(), {.friction = FrictionModel::Pyramid});
    const Index up = world.model.bodies()[1].q_begin + (planar ? 1 : 2);
    double time = 0;
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(world.step().contacts, 1);
      time += world.settings.h;
      EXPECT_NEAR(world.x.q[up], 0.105 + 0.1 * time - 0.5 * kG * time * time, 1e-12);
    }
  }
}

// Where nothing touches, a body has the spin of its free turn, and where something does that spin
// turned back with the body. It flies only where that closes no contact: one that does not push
// parts, whatever the spin.
TEST(Impacts, WhatPartsStaysApart) {
  int open = 0;
  for (const double side : {-0.1, 0.1})
    for (int i = 0; i < 500; ++i) {
      const double rate = -0.2 + 1e-3 * i;  // at which the gap opens, before any force
      const Vec3 spin(12, 10, 8), lever(side, 0, -0.1);
      ModelBuilder b;
      b.add_material({.name = "m", .friction = 0});
      b.add_body(floor_body(false));
      b.add_body({.name = "body",
                  .position = {0, 0, 0.1 - 1e-9},
                  .velocity = {0, 0, rate - spin.cross(lever).z()},
                  .angular_velocity = spin,
                  .shapes = {{.shape = Shape::sphere(0.1),
                              .offset = {.x = {side, 0, 0}, .p = {}},
                              .material = "m"}},
                  .mass = 1,
                  .inertia = Mat3(Vec3(0.02, 0.006, 0.017).asDiagonal()),
                  .center_of_mass = Vec3::Zero()});
      World world(b.build(), {.impact_events = true});
      world.settings.restitution_threshold = 1;
      StepRecord record;
      (void)world.step(&record);
      for (const SolveRecord& solve : record.solves) {
        if (solve.kind != SolveKind::Step || solve.contacts.contacts.empty()) continue;
        if (solve.solution.lambda[0] > 0) continue;
        ++open;
        EXPECT_GE(solve.solution.w[0], -1e-12) << rate;
      }
    }
  EXPECT_GE(open, 100);
}

// Two balls that stick together in the air after an impact fly, whatever rounding says of the rate
// at which their gap opens.
TEST(Impacts, BodiesThatMoveTogetherFly) {
  for (int i = 0; i < 100; ++i) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.3});
    const double across = 0.003 * i - 0.15;
    b.add_body({.name = "low",
                .motion = Motion::Planar,
                .position = {0, 1, 0},
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
    b.add_body({.name = "high",
                .motion = Motion::Planar,
                .position = {across, 1 + std::sqrt(0.04 - across * across) + 0.003, 0},
                .velocity = {0, -2, 0},
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
    World world(b.build(), {.impact_events = true});
    StepRecord record;
    (void)world.step(&record);
    ASSERT_EQ(record.solves.back().kind, SolveKind::Step);
    for (const unsigned char touched : record.solves.back().touched) EXPECT_EQ(touched, 0) << i;
  }
}

}  // namespace
}  // namespace orthant
