// SPDX-License-Identifier: Apache-2.0
// The same bits for one and two threads, for two runs, and for a run that is resumed.
#include <gtest/gtest.h>

#include "orthant/base/parallel.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

Model falling_heap(int count) {
  SplitMix random(9);
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = 0.4, .restitution = 0.3});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  for (int i = 0; i < count; ++i) {
    const double size = random.uniform(0.05, 0.1);
    const Vec3 at(0.25 * (i % 3), 0.25 * (i / 3 % 3), 0.15 + 0.25 * (i / 9));
    const Shape shape = i % 3 == 0   ? Shape::sphere(size)
                        : i % 3 == 1 ? Shape::box(size, size, 0.5 * size)
                                     : Shape::capsule(0.5 * size, 0.5 * size);
    builder.add_body({.name = "body" + std::to_string(i),
                      .position = at + 0.02 * Vec3(random.normal(), random.normal(), 0),
                      .orientation = exp_rotation(Vec3(0, 0, random.uniform(0, 1))),
                      .shapes = {{.shape = shape, .material = "m"}}});
  }
  builder.add_joint({.kind = JointKind::Ball, .a = "body0", .b = "body1"});
  return builder.build();
}

struct Trajectory {
  State state;
  WarmStart warm;
};

Trajectory run(const Model& model, const StepSettings& settings, int steps, int threads,
               Trajectory from) {
  set_thread_count(threads);
  StepWorkspace work;
  const Parameters parameters = model.default_parameters();
  for (int i = 0; i < steps; ++i)
    (void)step(model, parameters, settings, {}, from.state, from.warm, work);
  set_thread_count(1);
  return from;
}

class Determinism : public ::testing::TestWithParam<StepSettings> {};

TEST_P(Determinism, SameBits) {
  const Model model = falling_heap(27);
  const Trajectory start{model.rest_state(), {}};
  const Trajectory one = run(model, GetParam(), 40, 1, start);
  const Trajectory two = run(model, GetParam(), 40, 2, start);
  const Trajectory half = run(model, GetParam(), 25, 2, start);
  const Trajectory resumed = run(model, GetParam(), 15, 1, half);
  EXPECT_EQ(one.state.q, two.state.q);
  EXPECT_EQ(one.state.v, two.state.v);
  EXPECT_EQ(one.state.q, resumed.state.q);
  EXPECT_EQ(one.state.v, resumed.state.v);
  EXPECT_NE(one.state.q, start.state.q);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Determinism,
    ::testing::Values(StepSettings{}, StepSettings{.friction = FrictionModel::Cone},
                      StepSettings{.impact_events = true}, StepSettings{.max_halvings = 3},
                      StepSettings{.integrator = Integrator::Rattle, .substep = 5e-3}),
    [](const auto& test) { return "settings" + std::to_string(test.index); });

}  // namespace
}  // namespace orthant
