// SPDX-License-Identifier: Apache-2.0
// Located impacts: the time of impact is a variable.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "orthant/gradient/checker.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

/// Two equal elastic balls on a line; the left one runs into the other.
Model two_balls(double gap, double speed, bool planar) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0, .restitution = 1});
  b.set_gravity(Vec3::Zero());
  const auto ball = [&](const char* name, double x, double v) {
    BodySpec spec{.name = name,
                  .motion = planar ? Motion::Planar : Motion::Spatial,
                  .position = {x, 0, 0},
                  .velocity = {v, 0, 0}};
    spec.shapes = {{.shape = planar ? Shape::disc(0.1) : Shape::sphere(0.1), .material = "m"}};
    return spec;
  };
  b.add_body(ball("left", 0, speed));
  b.add_body(ball("right", 0.2 + gap, 0));
  return b.build();
}

struct Ratio {
  double h;
  int steps;
};

// They exchange velocities, so the struck ball ends at x1 + v1 T + 2 r: gradient (1, 0, T, 0).
TEST(ImpactGradient, StruckBallForAnyRatioOfTimes) {
  for (const bool planar : {true, false}) {
    for (const Ratio& ratio : {Ratio{1, 1}, Ratio{0.1, 10}, Ratio{0.01, 100}, Ratio{0.3, 3},
                               Ratio{0.125, 8}, Ratio{0.07, 14}, Ratio{0.25, 4}, Ratio{2, 1}}) {
      for (const double gap : {0.5, 0.317, 0.25}) {
        const Model model = two_balls(gap, 1, planar);
        StepSettings settings;
        settings.h = ratio.h;
        settings.impact_events = true;
        settings.solver.tolerance = 1e-12;
        const double T = ratio.h * ratio.steps;
        const RolloutTape tape = record_rollout(model, model.default_parameters(), settings,
                                                model.rest_state(), {}, ratio.steps);
        const Index right = model.bodies()[1].v_begin;
        EXPECT_NEAR(tape.final_state.q[model.bodies()[1].q_begin], T + 0.2, 1e-8);
        const RolloutGradient g = rollout_gradient(
            tape, at_end(tape, VecX::Unit(model.v_size(), right), VecX::Zero(model.v_size())));
        const std::string at = "h = " + std::to_string(ratio.h) + ", gap " + std::to_string(gap);
        EXPECT_NEAR(g.q[0], 1, 1e-6) << at;
        EXPECT_NEAR(g.q[right], 0, 1e-6) << at;
        EXPECT_NEAR(g.v[0], T, 1e-6) << at;
        EXPECT_NEAR(g.v[right], 0, 1e-6) << at;
        EXPECT_NEAR(g.parameters[model.parameter_table().find("shape/left.radius")], 1, 1e-6) << at;
      }
    }
  }
}

TEST(ImpactGradient, BouncingBallsAgainstDifferences) {
  for (const bool planar : {true, false}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.2, .restitution = 0.7});
    b.add_body({.name = "floor",
                .motion = Motion::Fixed,
                .planar = planar,
                .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(),
                            .material = "m"}}});
    b.add_body(
        {.name = "ball",
         .motion = planar ? Motion::Planar : Motion::Spatial,
         .position = planar ? Vec3(0, 0.35, 0) : Vec3(0, 0, 0.35),
         .velocity = planar ? Vec3(0.7, 0.2, 0) : Vec3(0.7, 0.3, 0.2),
         .angular_velocity = planar ? Vec3(0, 0, 1.5) : Vec3(0.3, 0.2, 1.5),
         .shapes = {{.shape = planar ? Shape::disc(0.1) : Shape::sphere(0.1), .material = "m"}}});
    const Model model = b.build();
    StepSettings settings;
    settings.h = 0.02;
    settings.impact_events = true;
    settings.solver.tolerance = 1e-12;
    const GradientChecker checker(model, model.default_parameters(), settings, model.rest_state(),
                                  40);
    const GradientCheck check = checker.run();
    EXPECT_LE(check.worst, 1e-6) << check.table();
    EXPECT_GE(check.share(), 0.9) << check.table();
    EXPECT_GE(check.certificate.impacts, 2);
  }
}

TEST(ImpactGradient, BoxThatBouncesOnItsCorner) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  b.add_body({.name = "box",
              .position = {0, 0, 0.35},
              .orientation = exp_rotation(Vec3(0.5, 0.3, 0.1)),
              .velocity = {0.5, 0.2, -0.5},
              .angular_velocity = {1, 0.5, -0.7},
              .shapes = {{.shape = Shape::box(0.1, 0.13, 0.16), .material = "m"}}});
  const Model model = b.build();
  StepSettings settings;
  settings.impact_events = true;
  settings.solver.tolerance = 1e-12;
  const GradientChecker checker(model, model.default_parameters(), settings, model.rest_state(),
                                25);
  const GradientCheck check = checker.run();
  EXPECT_LE(check.worst, 1e-6) << check.table();
  EXPECT_GE(check.share(), 0.95) << check.table();
  EXPECT_GE(check.certificate.impacts, 1);
}

TEST(ImpactGradient, ForwardModeAgreesWithReverseMode) {
  const Model model = two_balls(0.317, 1, false);
  StepSettings settings;
  settings.h = 0.1;
  settings.impact_events = true;
  const RolloutTape tape =
      record_rollout(model, model.default_parameters(), settings, model.rest_state(), {}, 10);
  StepTangent change;
  change.v = VecX::Unit(model.v_size(), 0);
  const RolloutTangent t = rollout_tangent(tape, change);
  EXPECT_NEAR(t.q(model.bodies()[1].v_begin, 10), 1.0, 1e-9);
}

/// Balls in a row above the floor, all at one height and speed.
Model dropped_balls(int count) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0, .restitution = 0.7});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  for (int i = 0; i < count; ++i)
    b.add_body({.position = {0.5 * i, 0, 0.12},
                .velocity = {0.1, 0, -1},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  return b.build();
}

// Impacts of different bodies at one time do not know of each other: each ball bounces at
// τ = (v + s)/g, s² = v² + 2 g z, leaves with ε s, and all it does follows from its own z and v.
TEST(ImpactGradient, BallsThatLandTogetherHaveTimesOfTheirOwn) {
  constexpr double g = 9.81, h = 0.05, e = 0.7, z = 0.02, v = -1;
  const double s = std::sqrt(v * v + 2 * g * z), tau = (v + s) / g, left = h - tau;
  MatX expected(2, 2);                                                        // of (z, v) by (z, v)
  const double by_z[2] = {g / s, 1 / s}, by_v[2] = {v / s, (1 + v / s) / g};  // ds, dτ
  expected << e * by_z[0] * left - (e * s - g * left) * by_z[1],
      e * by_v[0] * left - (e * s - g * left) * by_v[1], e * by_z[0] + g * by_z[1],
      e * by_v[0] + g * by_v[1];
  const Model model = dropped_balls(3);
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.h = h;
  settings.impact_events = true;
  settings.solver.tolerance = 1e-12;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  (void)step(model, parameters, settings, {}, x, warm, work, &record);
  StepGradient gradient(model, parameters, settings, record);
  EXPECT_TRUE(gradient.certificate().exact) << gradient.certificate().reason;
  EXPECT_EQ(gradient.certificate().impacts, 3);
  const MatX A = gradient.jacobian().A;
  const Index n = model.v_size();
  for (Index i = 0; i < 3; ++i) {
    for (Index k = 0; k < 3; ++k) {
      MatX block(2, 2);
      const Index to = 6 * i + 2, from = 6 * k + 2;
      block << A(to, from), A(to, n + from), A(n + to, from), A(n + to, n + from);
      const MatX wanted = i == k ? expected : MatX::Zero(2, 2);
      EXPECT_LE((block - wanted).cwiseAbs().maxCoeff(), 1e-6) << i << " by " << k;
    }
    // Forwards the same.
    StepTangent d;
    d.q = VecX::Unit(n, 6 * i + 2);
    EXPECT_NEAR(gradient.push_forward(d).q[6 * i + 2], expected(0, 0), 1e-6);
  }
}

// A ball that meets two walls in their corner: which one first decides, and the certificate says
// so.
TEST(ImpactGradient, ImpactsOfOneBodyAtOneTimeAreCertifiedInexact) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "m", .friction = 0.2, .restitution = 0.7});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  b.add_body({.name = "wall",
              .motion = Motion::Fixed,
              .orientation = exp_rotation(Vec3(0, 0.5 * std::numbers::pi, 0)),
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  b.add_body({.name = "ball",
              .position = {0.12, 0, 0.12},
              .velocity = {-1, 0, -1},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.h = 0.05;
  settings.impact_events = true;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  const StepReport report = step(model, parameters, settings, {}, x, warm, work, &record);
  EXPECT_EQ(report.events, 2);
  const StepGradient gradient(model, parameters, settings, record);
  EXPECT_FALSE(gradient.certificate().exact);
  EXPECT_NE(gradient.certificate().reason.find("at one time"), std::string::npos);
}

}  // namespace
}  // namespace orthant
