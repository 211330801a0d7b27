// SPDX-License-Identifier: Apache-2.0
// Corrections of positions: the round that was not needed, and the share that one round undoes.
#include <gtest/gtest.h>

#include "orthant/gradient/checker.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

struct OneStep {
  explicit OneStep(const Model& m, const StepSettings& s = {})
      : model(m), parameters(m.default_parameters()), settings(s), x(m.rest_state()) {
    WarmStart warm;
    StepWorkspace work;
    report = step(model, parameters, settings, {}, x, warm, work, &record);
  }
  StepGradient gradient() const { return {model, parameters, settings, record}; }

  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  StepRecord record;
  StepReport report;
};

// A pendulum that hangs still: nothing to correct, and yet it goes where its anchor goes.
TEST(ProjectionGradient, HangingPendulumFollowsItsAnchor) {
  ModelBuilder b;
  b.set_gravity({0, -9.81, 0});
  b.add_body({.name = "bob",
              .motion = Motion::Planar,
              .position = {0, -0.5, 0},
              .shapes = {{.shape = Shape::disc(0.1)}}});
  b.add_joint({.name = "pin", .kind = JointKind::Revolute, .a = "bob", .anchor = {0, 0, 0}});
  const OneStep one(b.build());
  StepGradient gradient = one.gradient();
  EXPECT_TRUE(gradient.certificate().exact) << gradient.certificate().reason;
  EXPECT_EQ(gradient.certificate().floating, 0);
  StateCotangent by{VecX::Unit(3, 1), {}};
  const StepCotangent g = gradient.pull_back(by);
  EXPECT_NEAR(g.parameters[one.model.parameter_table().find("joint/pin.b.y")], 1, 1e-9);
  EXPECT_NEAR(g.parameters[one.model.parameter_table().find("joint/pin.a.y")], -1, 1e-9);
  EXPECT_NEAR(g.q[1], 0, 1e-9);  // a change that breaks the joint is undone
  StepTangent up;
  up.parameters =
      VecX::Unit(one.parameters.values.size(), one.model.parameter_table().find("joint/pin.b.y"));
  EXPECT_NEAR(gradient.push_forward(up).q[1], 1, 1e-9);
}

// The same on a base whose motion is given, all directions at once: the base takes the link along.
TEST(ProjectionGradient, LinkFollowsItsBaseInManyDirections) {
  ModelBuilder b;
  b.set_gravity({0, -9.81, 0});
  b.add_body({.name = "base",
              .motion = Motion::Kinematic,
              .planar = true,
              .shapes = {{.shape = Shape::disc(0.1)}}});
  b.add_body({.name = "bob",
              .motion = Motion::Planar,
              .position = {0, -0.5, 0},
              .shapes = {{.shape = Shape::disc(0.1)}}});
  b.add_joint(
      {.name = "pin", .kind = JointKind::Revolute, .a = "bob", .b = "base", .anchor = {0, 0, 0}});
  const OneStep one(b.build());
  ASSERT_TRUE(one.record.solves.back().idle);
  const Index n = one.model.v_size();
  ASSERT_GT(n, one.model.dynamic_v_size());
  StepGradient gradient = one.gradient();
  StepChanges changes{MatX(n, 2 * n), MatX(n, 2 * n), {}};
  changes.q << MatX::Identity(n, n), MatX::Zero(n, n);
  changes.v << MatX::Zero(n, n), MatX::Identity(n, n);
  const StepChanges all = gradient.push_forward(changes);
  for (Index i = 0; i < 2 * n; ++i) {
    const StateTangent single = gradient.push_forward({changes.q.col(i), changes.v.col(i), {}, {}});
    EXPECT_LT((all.q.col(i) - single.q).norm(), 1e-9) << i;
    EXPECT_LT((all.v.col(i) - single.v).norm(), 1e-9) << i;
  }
  const Index base = one.model.body(one.model.find_body("base")).v_begin;
  const Index bob = one.model.body(one.model.find_body("bob")).v_begin;
  EXPECT_NEAR(all.q(bob + 1, base + 1), 1, 1e-9);
}

TEST(ProjectionGradient, SliderOnItsRail) {
  ModelBuilder b;
  b.set_gravity({0, -9.81, 0});
  b.add_body({.name = "cart",
              .motion = Motion::Planar,
              .velocity = {1, 0, 0},
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1)}}});
  b.add_joint({.name = "rail", .kind = JointKind::Prismatic, .a = "cart", .axis = {1, 0, 0}});
  const OneStep one(b.build());
  StepGradient gradient = one.gradient();
  EXPECT_TRUE(gradient.certificate().exact);
  const StepCotangent g = gradient.pull_back({VecX::Unit(3, 1), {}});
  EXPECT_NEAR(g.parameters[one.model.parameter_table().find("joint/rail.b.y")], 1, 1e-9);
  EXPECT_NEAR(g.q[1], 0, 1e-9);
}

/// A rod that begins deep inside a box, and a small disc far away.
Model deep_rod(double far_radius) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_body({.name = "block",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::rectangle(1, 0.5)}}});
  b.add_body({.name = "rod",
              .motion = Motion::Planar,
              .position = {0.1, 0.47, 0},
              .angle = 0.6,
              .shapes = {{.shape = Shape::stadium(0.09, 0.25)}}});
  b.add_body({.name = "far",
              .motion = Motion::Planar,
              .position = {50, 0, 0},
              .shapes = {{.shape = Shape::disc(far_radius)}}});
  return b.build();
}

TEST(ProjectionGradient, ShareOfARoundDependsOnTheContactAlone) {
  const OneStep near(deep_rod(1)), other(deep_rod(0.01));
  EXPECT_EQ(near.x.q.head(6), other.x.q.head(6));
}

TEST(ProjectionGradient, ClippedRoundsAgainstDifferences) {
  const Model model = deep_rod(0.01);
  StepSettings settings;
  settings.solver.tolerance = 1e-13;
  const OneStep one(model, settings);
  bool clipped = false;
  for (const SolveRecord& solve : one.record.solves)
    for (const BiasBranch branch : solve.branches)
      clipped = clipped || branch == BiasBranch::Clipped;
  EXPECT_TRUE(clipped);
  GradientChecker checker(model, model.default_parameters(), settings, model.rest_state(), 1);
  checker.check_v = false;
  checker.parameters_checked = {model.parameter_table().find("shape/rod.radius"),
                                model.parameter_table().find("shape/rod.half_length")};
  const GradientCheck check = checker.run();
  EXPECT_LE(check.worst, 1e-6) << check.table();
  EXPECT_GE(check.compared, 2) << check.table();
}

// A soft contact has no row in a correction of positions, which the joint asks for.
TEST(ProjectionGradient, SoftContactOfAJointedBody) {
  ModelBuilder b;
  b.add_material({.name = "soft", .friction = 0.5, .compliance = 1e-5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "soft"}}});
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0, 0.099, 0},
              .velocity = {0, -0.5, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "soft"}}});
  b.add_joint({.name = "rail", .kind = JointKind::Prismatic, .a = "ball", .axis = {0.3, 1, 0}});
  StepSettings settings;
  settings.solver.tolerance = 1e-13;
  const OneStep one(b.build(), settings);
  const SolveRecord& correction = one.record.solves.back();
  ASSERT_EQ(correction.kind, SolveKind::Projection);
  ASSERT_EQ(correction.contacts.contacts.size(), 1u);
  ASSERT_EQ(correction.solution.lambda.size(), 0);
  EXPECT_EQ(one.gradient().certificate().floating, 0);
  const GradientCheck check =
      GradientChecker(one.model, one.parameters, settings, one.model.rest_state(), 1).run();
  EXPECT_LE(check.worst, 1e-6) << check.table();
  EXPECT_GE(check.compared, 6) << check.table();
}

}  // namespace
}  // namespace orthant
