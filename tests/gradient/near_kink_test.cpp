// SPDX-License-Identifier: Apache-2.0
// Kinks beside the state: the number is that of the side the state is on, and inputs that a
// difference of steps would carry across are named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradient/right_difference.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

struct World {
  Model model;
  StepSettings settings = {};
  Index steps = 1;
};

constexpr double kGravity = 10, kFriction = 0.5, kStep = 0.01, kRadius = 0.1;

/// A disc over a floor, with a velocity along it.
World disc_over_floor(double gap, double velocity) {
  ModelBuilder b;
  b.set_gravity({0, -kGravity, 0});
  b.add_material({.name = "m", .friction = kFriction});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  b.add_body({.name = "disc",
              .motion = Motion::Planar,
              .position = {0, kRadius + gap, 0},
              .velocity = {velocity, 0, 0},
              .shapes = {{.shape = Shape::disc(kRadius), .material = "m"}}});
  World w{b.build()};
  w.settings.h = kStep;
  w.settings.solver.tolerance = 1e-12;
  return w;
}

RolloutGradient gradient_of_speed(const World& w) {
  const RolloutTape tape = record(w, w.model.default_parameters());
  return rollout_gradient(tape, at_end(tape, VecX::Zero(3), VecX::Unit(3, 0)));
}

bool is_near(const RolloutGradient& g, InputKind kind, Index place) {
  return std::ranges::binary_search(g.certificate.open,
                                    OpenInput{kind, place, 0, OpenReason::Near});
}

// It rolls with 2/3 of its velocity u where m u/3 <= μ m g h, and slides with u − μ g h beyond.
TEST(NearKink, OfADiscThatIsAboutToSlide) {
  const double border = 3 * kFriction * kGravity * kStep;
  for (const double away : {-1e-3, -1e-4, -1e-7, -1e-8, 1e-8, 1e-7, 1e-4, 1e-3}) {
    const World w = disc_over_floor(0, border + away);
    const RolloutGradient g = gradient_of_speed(w);
    const Index mu = w.model.parameter_table().find("material/m.friction");
    EXPECT_NEAR(g.v[0], away < 0 ? 2.0 / 3 : 1, 1e-9) << away;
    EXPECT_NEAR(g.parameters[mu], away < 0 ? 0 : -kGravity * kStep, 1e-9) << away;
    const bool near = std::abs(away) < 1e-6;  // of the size of a velocity, by steps to 1e-12
    EXPECT_EQ(is_near(g, InputKind::Velocity, 0), near) << away;
    if (std::abs(away) != 1e-7) {  // μ = ½ has to change by away/3 g h
      EXPECT_EQ(is_near(g, InputKind::Parameter, mu), near) << away;
    }
    EXPECT_EQ(g.certificate.floating, 0) << away;
  }
}

// v⁺ = −Φ/h above the floor, 0 within it.
TEST(NearKink, OfAGapThatIsAlmostClosed) {
  for (const double gap : {-1e-5, -5e-9, 5e-9, 1e-5}) {
    const World w = disc_over_floor(gap, 0);
    const RolloutTape tape = record(w, w.model.default_parameters());
    const RolloutGradient g = rollout_gradient(tape, at_end(tape, VecX::Zero(3), VecX::Unit(3, 1)));
    EXPECT_NEAR(g.q[1], gap > 0 ? -1 / kStep : 0, 1e-6) << gap;
    EXPECT_EQ(is_near(g, InputKind::Configuration, 1), std::abs(gap) < 1e-6) << gap;
    EXPECT_FALSE(is_near(g, InputKind::Configuration, 0)) << gap;
  }
}

}  // namespace
}  // namespace orthant
