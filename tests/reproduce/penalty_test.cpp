// SPDX-License-Identifier: Apache-2.0
// The penalty baseline: it must be right where its step is short enough, or it proves nothing.
#include "reproduce/penalty.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/step/step.hpp"

namespace orthant::reproduce {
namespace {

/// A beam on two rollers that meet its faces between the nodes.
Model beam(bool hard) {
  ModelBuilder builder;
  for (const double x : {0.23, 0.77})
    builder.add_body({.name = x < 0.5 ? "left" : "right",
                      .motion = Motion::Fixed,
                      .position = Vec3(x, 0.1, -0.03),
                      .orientation = {std::sqrt(0.5), 0, 0, std::sqrt(0.5)},  // along y
                      .shapes = {{.shape = Shape::capsule(0.03, 0.2)}}});
  builder.add_flexible({.name = "beam",
                        .mesh = box_mesh(Vec3(1, 0.2, 0.1), 10, 2, 2),
                        .young = 2e5,
                        .damping_mass = 8,
                        .damping_stiffness = 0.01,
                        .contact = hard});
  if (!hard) add_penalty_loads(builder, builder.build().flexible_parts()[0]);
  return builder.build();
}

TEST(Penalty, SpringsBetweenNodesBearTheWeight) {
  const Model model = beam(false);
  const double stiffness = 2e4, dashpot = 5;
  Penalty penalty(beam(true), model, model.find_body("left"), stiffness, dashpot);
  Parameters loads = model.default_parameters();
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  const StepSettings settings{.h = 0.002};
  double energy = 0, before = 0, last_change = 0;
  for (int i = 0; i < 1500; ++i) {
    penalty.push(state, loads);
    const StepReport report = step(model, loads, settings, {}, state, warm, workspace);
    ASSERT_EQ(report.outcome, Outcome::Converged);
    before = energy;
    energy = report.kinetic + report.potential + penalty.energy(state, loads);
    last_change = std::abs(energy - before);
  }
  const double weight = 1000 * 0.02 * 9.81;  // by symmetry half of it on either side
  EXPECT_NEAR(penalty.force()[2], -0.5 * weight, 1e-3 * weight);
  EXPECT_LT(state.v.cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_LT(last_change, 1e-6 * std::abs(energy));
  // At rest the springs' overlaps carry it: at least weight / (contacts k), at most all on one.
  EXPECT_GT(penalty.deepest(), weight / (40 * stiffness));
  EXPECT_LT(penalty.deepest(), weight / stiffness);
}

}  // namespace
}  // namespace orthant::reproduce
