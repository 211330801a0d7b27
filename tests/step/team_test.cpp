// SPDX-License-Identifier: Apache-2.0
// Steps made by a team have the bits of steps made alone: rods in a periodic box, kicked by heat,
// without overlap; contacts and islands are shared out.
#include <gtest/gtest.h>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "support/thread_team.hpp"

namespace orthant {
namespace {

constexpr int kSide = 6;
constexpr double kCell = 1.15;

Model rods() {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (int i = 0; i < 2 * kSide * kSide * kSide; ++i) {
    BodySpec body;
    body.name = "r" + std::to_string(i);
    body.position = kCell * Vec3(2 * (i % kSide), i / kSide % (2 * kSide), i / kSide / kSide / 2);
    body.shapes.push_back({.shape = Shape::capsule(0.5, 0.5), .material = "smooth"});
    body.drag = 1;
    body.length = 2;
    builder.add_body(body);
  }
  return builder.build();
}

StepReport run(const Model& model, State& x) {
  StepSettings s;
  s.h = 1e-3;
  s.constraints = ConstraintScheme::Relcp;
  s.overlap_tolerance = 2e-5;
  s.solver.tolerance = 1e-7;
  s.periodic.active = {true, true, true};
  s.periodic.hi = kCell * Vec3(2 * kSide, 2 * kSide, kSide);
  s.drag_ratio = 2;
  s.thermal_energy = 1;
  WarmStart warm;
  StepWorkspace work;
  StepReport report;
  for (int i = 0; i < 6; ++i)
    report = step(model, model.default_parameters(), s, {}, x, warm, work);
  return report;
}

TEST(StepTeam, RodsInAPeriodicBox) {
  const Model model = rods();
  State alone = model.rest_state();
  const StepReport expected = run(model, alone);
  ASSERT_EQ(expected.outcome, Outcome::Converged);
  ASSERT_GT(expected.recursions, 0);
  for (const int size : {2, 3}) {
    testing::ThreadTeam team(size, false);
    team.run([&](int) {
      State x = model.rest_state();
      const StepReport report = run(model, x);
      EXPECT_TRUE(x.q == alone.q && x.v == alone.v) << size;
      EXPECT_EQ(report.constraints, expected.constraints);
      EXPECT_EQ(report.iterations, expected.iterations);
    });
    EXPECT_GT(team.gathered(), 0);
  }
}

}  // namespace
}  // namespace orthant
