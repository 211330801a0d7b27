// SPDX-License-Identifier: Apache-2.0
// Corrections of positions that have no solution.
#include <gtest/gtest.h>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

// A four-bar loop with hinges in space has three rows more than it needs. One anchor moved by 1e-5
// across the plane contradicts the others: the step says so, and does not try for long.
TEST(Projection, JointsThatContradictEachOther) {
  constexpr double kLength = 0.5;
  ModelBuilder b;
  b.set_gravity({0, -9.81, 0});
  const auto bar = [&](const char* name, const Vec3& at, const Vec3& half) {
    b.add_body({.name = name,
                .position = at,
                .shapes = {{.shape = Shape::box(half[0], half[1], half[2])}}});
  };
  bar("a", {0, kLength / 2, 0}, {0.02, kLength / 2, 0.02});
  bar("b", {kLength / 2, kLength, 0}, {kLength / 2, 0.02, 0.02});
  bar("c", {kLength, kLength / 2, 0}, {0.02, kLength / 2, 0.02});
  const auto hinge = [&](const char* name, const char* first, const char* second, const Vec3& at) {
    b.add_joint({.name = name, .kind = JointKind::Revolute, .a = first, .b = second, .anchor = at});
  };
  hinge("base", "a", "world", {0, 0, 0});
  hinge("left", "a", "b", {0, kLength, 0});
  hinge("right", "b", "c", {kLength, kLength, 0});
  hinge("end", "c", "world", {kLength, 0, 0});
  const Model model = b.build();
  Parameters parameters = model.default_parameters();
  parameters.values[model.parameter_table().find("joint/end.b.z")] += 1e-5;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  int solves = 0;
  for (int i = 0; i < 20; ++i) {
    const StepReport report = step(model, parameters, {}, {}, x, warm, work);
    solves += report.solves;
    EXPECT_GT(report.joint_error, 1e-6);
    EXPECT_LT(report.joint_error, 2e-5);
  }
  EXPECT_LE(solves, 100);  // one of velocities per step, and rounds that get nowhere: nine before
}

}  // namespace
}  // namespace orthant
