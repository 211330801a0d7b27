// SPDX-License-Identifier: Apache-2.0
// Steps made by a team have the bits of steps made alone: rods in a periodic box, kicked by heat,
// without overlap; contacts and islands are shared out.
#include <gtest/gtest.h>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "support/thread_team.hpp"

namespace orthant {
namespace {

/// 2 side³ rods on a lattice of cells of this edge.
struct Rods {
  int side;
  double cell = 1.15;
  int steps = 6;
  int heap = 0;  // so many of the first lie in each other
};

Model model_of(const Rods& rods) {
  const int side = rods.side;
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (int i = 0; i < 2 * side * side * side; ++i) {
    BodySpec body;
    body.name = "r" + std::to_string(i);
    body.position = rods.cell * Vec3(2 * (i % side), i / side % (2 * side), i / side / side / 2);
    if (i < rods.heap) body.position = Vec3(0, 0.02 * i, 0);
    body.shapes.push_back({.shape = Shape::capsule(0.5, 0.5), .material = "smooth"});
    body.drag = 1;
    body.length = 2;
    builder.add_body(body);
  }
  return builder.build();
}

StepReport run(const Model& model, const Rods& rods, State& x, WarmStart& warm) {
  StepSettings s;
  s.h = 1e-3;
  s.constraints = ConstraintScheme::Relcp;
  s.overlap_tolerance = 2e-5;
  s.solver.tolerance = 1e-7;
  s.periodic.active = {true, true, true};
  s.periodic.hi = rods.cell * Vec3(2 * rods.side, 2 * rods.side, rods.side);
  s.drag_ratio = 2;
  s.thermal_energy = 1;
  StepWorkspace work;
  StepReport report;
  for (int i = 0; i < rods.steps; ++i)
    report = step(model, model.default_parameters(), s, {}, x, warm, work);
  return report;
}

/// `together`: members exchange rows in every iteration.
void expect_same_bits(const Rods& rods, bool parted, bool together = false) {
  const Model model = model_of(rods);
  State alone = model.rest_state();
  WarmStart pushed;
  const StepReport expected = run(model, rods, alone, pushed);
  ASSERT_EQ(expected.outcome, Outcome::Converged);
  ASSERT_GT(expected.recursions, 0);
  for (const int size : {2, 3}) {
    testing::ThreadTeam all(size, false);
    all.run([&](int) {
      State x = model.rest_state();
      WarmStart warm;
      const StepReport report = run(model, rods, x, warm);
      EXPECT_TRUE(x.q == alone.q && x.v == alone.v) << size;
      ASSERT_EQ(warm.contacts.size(), pushed.contacts.size());
      for (std::size_t c = 0; c < warm.contacts.size(); ++c) {
        EXPECT_EQ(warm.contacts[c].key, pushed.contacts[c].key);
        EXPECT_EQ(warm.contacts[c].impulse_W, pushed.contacts[c].impulse_W);
      }
      EXPECT_EQ(report.contacts, expected.contacts);
      EXPECT_EQ(report.constraints, expected.constraints);
      EXPECT_EQ(report.iterations, expected.iterations);
      EXPECT_EQ(report.residual, expected.residual);
      EXPECT_EQ(report.deepest, expected.deepest);
      EXPECT_EQ(team()->parted, parted ? team()->steps : 0);
      EXPECT_LT(team()->imbalance, 0.1);
      // Velocities go to all once per step, and after every solve that throws a body far.
      const double own = static_cast<double>(model.dynamic_count()) / size;
      if (rods.heap > 0) {
        EXPECT_GT(static_cast<double>(team()->state_bytes), 4 * 48 * own * rods.steps);
      }
    });
    EXPECT_GT(all.gathered(), 0);
    if (together) {
      EXPECT_GT(all.exchanges(), expected.iterations);
    }
  }
}

TEST(StepTeam, RodsInAPeriodicBox) { expect_same_bits({.side = 6}, false); }
TEST(StepTeam, ManyRodsAreSharedOut) { expect_same_bits({.side = 13}, true); }
/// Most of them touch, and those that push are one island, which is solved together.
TEST(StepTeam, ManyRodsThatAreOneIsland) {
  expect_same_bits({.side = 11, .cell = 1.003, .steps = 1}, true, true);
}

/// Solves throw some of them farther than was foreseen when the parts were cut.
TEST(StepTeam, ManyRodsOfWhichSomeAreThrown) {
  expect_same_bits({.side = 13, .steps = 1, .heap = 8}, true);
}

}  // namespace
}  // namespace orthant
