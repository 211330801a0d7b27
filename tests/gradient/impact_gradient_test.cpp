// SPDX-License-Identifier: Apache-2.0
// Located impacts: the time of impact is a variable.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace orthant
