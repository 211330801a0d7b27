// SPDX-License-Identifier: Apache-2.0
// Soft contacts with impact events: they push with the gap at the end of the step, and what turns
// on them gains no energy.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/energy.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

struct World {
  World(const Model& m, const StepSettings& s)
      : model(m), parameters(m.default_parameters()), settings(s), x(m.rest_state()) {}
  StepReport step(StepRecord* record = nullptr) {
    return orthant::step(model, parameters, settings, {}, x, warm, work, record);
  }
  double energy() const { return energy_of(model, parameters, settings, x).total(); }
  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  WarmStart warm;
  StepWorkspace work;
};

StepSettings events(double h) {
  StepSettings settings;
  settings.h = h;
  settings.impact_events = true;
  settings.solver.tolerance = 1e-12;
  return settings;
}

ModelBuilder soft_floor(bool planar, double friction, double compliance) {
  ModelBuilder b;
  if (planar) b.set_gravity({0, -9.81, 0});
  b.add_material({.name = "m", .friction = friction, .compliance = compliance});
  b.add_body(
      {.name = "floor",
       .motion = Motion::Fixed,
       .planar = planar,
       .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(), .material = "m"}}});
  return b;
}

// An ellipse over y = 0 has the gap y − √(a² sin²θ + b² cos²θ), which bends as it turns.
TEST(SoftContact, PushesWithTheGapAtTheEndOfTheStep) {
  const double a = 0.2, b = 0.1, compliance = 3e-7;  // of either surface
  for (const double spin : {-8.0, -3.0, 3.0, 8.0}) {
    ModelBuilder builder = soft_floor(true, 0.4, compliance);
    builder.add_body({.name = "ellipse",
                      .motion = Motion::Planar,
                      .position = {0, 0.12, 0},
                      .angle = 0.3,
                      .velocity = {1, -1, 0},
                      .angular_velocity = {0, 0, spin},
                      .shapes = {{.shape = Shape::ellipse(a, b), .material = "m"}}});
    World world(builder.build(), events(0.01));
    int pushes = 0;
    for (int i = 0; i < 10; ++i) {
      StepRecord record;
      ASSERT_EQ(world.step(&record).outcome, Outcome::Converged);
      const double* q = world.x.q.data() + world.model.body(BodyId{1}).q_begin;
      const double gap = q[1] - std::hypot(a * std::sin(q[2]), b * std::cos(q[2]));
      const VecX& lambda = record.solves.back().solution.lambda;
      if (lambda.size() == 0 || lambda[0] == 0) continue;
      ++pushes;
      EXPECT_NEAR(lambda[0], -world.settings.h * gap / (2 * compliance), 1e-8 * lambda[0]) << spin;
    }
    EXPECT_GE(pushes, 2) << spin;
  }
}

/// Largest share of its kinetic energy that a random body on a soft floor gains in a step. What is
/// gained at most is of third order in h.
double gain_of(unsigned seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  const bool planar = seed % 2 == 0;
  ModelBuilder b = soft_floor(planar, pick(0, 1), std::pow(10, pick(-8, -5)));
  BodySpec body{.name = "body", .motion = planar ? Motion::Planar : Motion::Spatial};
  const auto size = [&] { return pick(0.05, 0.2); };
  if (planar) {
    body.position = {0, 0.22, 0};
    body.angle = pick(-3, 3);
    body.velocity = {pick(-4, 4), pick(-4, -1), 0};
    body.angular_velocity = {0, 0, pick(-8, 8)};
    const Shape shape =
        seed % 4 == 0 ? Shape::ellipse(size(), size()) : Shape::rectangle(size(), size());
    body.shapes = {{.shape = shape, .material = "m"}};
  } else {
    body.position = {0, 0, 0.36};
    body.orientation = exp_rotation(Vec3(pick(-2, 2), pick(-2, 2), pick(-2, 2)));
    body.velocity = {pick(-4, 4), pick(-4, 4), pick(-4, -1)};
    body.angular_velocity = {pick(-5, 5), pick(-5, 5), pick(-5, 5)};
    const Shape shape = seed % 4 == 1 ? Shape::ellipsoid(size(), size(), size())
                                      : Shape::box(size(), size(), size());
    body.shapes = {{.shape = shape, .material = "m"}};
  }
  b.add_body(body);
  World world(b.build(), events(0.005));
  const double mass = world.parameters.values[world.model.body(BodyId{1}).mass];
  const Energy start = energy_of(world.model, world.parameters, world.settings, world.x);
  double gain = 0, before = start.total(), kinetic = start.kinetic;
  for (int i = 0; i < 80; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.outcome, Outcome::Converged) << seed << " step " << i;
    const double after = report.kinetic + report.potential;
    // Slow bodies: relative to a speed of 3 cm/s, as in the campaign over random scenes.
    gain = std::max(gain, (after - before) / std::max({kinetic, report.kinetic, 0.5e-3 * mass}));
    before = after;
    kinetic = report.kinetic;
  }
  return gain;
}

TEST(SoftContact, WhatTurnsOnOneGainsNoEnergy) {
  for (unsigned seed = 0; seed < 200; ++seed) EXPECT_LE(gain_of(seed), 1e-6) << seed;
}

}  // namespace
}  // namespace orthant
