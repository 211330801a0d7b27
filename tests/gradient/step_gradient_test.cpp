// SPDX-License-Identifier: Apache-2.0
// Derivatives of one step and of short rollouts against central differences.
#include "orthant/gradient/step.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

Model ball_on_floor(double height, double restitution = 0) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = 0.3, .restitution = restitution});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  builder.add_body({.name = "ball",
                    .position = {0, 0, 0.1 + height},
                    .velocity = {1, 0.3, 0},
                    .angular_velocity = {0.1, -0.2, 0.3},
                    .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  return builder.build();
}

/// Loss g·(q ⊟ q₀, v) after `steps`, from perturbed arguments.
struct Problem {
  const Model& model;
  StepSettings settings;
  Index steps;
  VecX by_q, by_v;
  VecX q_ref;

  double loss(const Parameters& parameters, const State& from) const {
    State x = from;
    WarmStart warm;
    StepWorkspace work;
    for (Index i = 0; i < steps; ++i) (void)step(model, parameters, settings, {}, x, warm, work);
    VecX d;
    boxminus(model, x.q, q_ref, d);
    return by_q.dot(d) + by_v.dot(x.v);
  }
};

void compare(const Model& model, StepSettings settings, Index steps, double bound) {
  settings.solver.tolerance = 1e-13;
  const Parameters parameters = model.default_parameters();
  const State start = model.rest_state();
  const RolloutTape tape = record_rollout(model, parameters, settings, start, {}, steps);
  const Index n = model.v_size();
  Problem problem{model, settings, steps, VecX(n), VecX(n), tape.final_state.q};
  for (Index i = 0; i < n; ++i) {
    problem.by_q[i] = std::sin(1.0 + 2 * i);
    problem.by_v[i] = std::cos(0.5 + i);
  }
  const RolloutGradient g = rollout_gradient(tape, at_end(tape, problem.by_q, problem.by_v));
  const double eps = 1e-6;
  const auto check = [&](const std::string& what, double ours, double plus, double minus) {
    const double difference = (plus - minus) / (2 * eps);
    EXPECT_NEAR(ours, difference, bound * (1 + std::abs(difference))) << what;
  };
  for (Index i = 0; i < n; ++i) {
    State plus = start, minus = start;
    VecX d = VecX::Zero(n);
    d[i] = eps;
    boxplus(model, start.q, d, plus.q);
    boxplus(model, start.q, -d, minus.q);
    check("q" + std::to_string(i), g.q[i], problem.loss(parameters, plus),
          problem.loss(parameters, minus));
    plus = minus = start;
    plus.v[i] += eps;
    minus.v[i] -= eps;
    check("v" + std::to_string(i), g.v[i], problem.loss(parameters, plus),
          problem.loss(parameters, minus));
  }
  for (Index i = 0; i < model.parameter_table().size(); ++i) {
    Parameters plus = parameters, minus = parameters;
    plus.values[i] += eps;
    minus.values[i] -= eps;
    const std::string name = model.parameter_table().name(i);
    // At a border of their own range: rolling friction and compliance are zero here.
    if (parameters.values[i] == 0 && name.find("material/") == 0) continue;
    // A ball moved off its centre digs in or lifts off while it turns: one-sided beyond one step.
    if (steps > 1 && name.find("ball.offset") != std::string::npos) continue;
    check(name, g.parameters[i], problem.loss(plus, start), problem.loss(minus, start));
  }
  // Forward mode gives the same numbers.
  StepTangent change{.parameters = VecX::Ones(model.parameter_table().size())};
  const RolloutTangent t = rollout_tangent(tape, change);
  EXPECT_NEAR(problem.by_q.dot(t.q.col(steps)) + problem.by_v.dot(t.v.col(steps)),
              g.parameters.sum(), 1e-9 * (1 + g.parameters.cwiseAbs().sum()));
}

TEST(StepGradient, BallInFlight) { compare(ball_on_floor(1), {}, 1, 1e-6); }
TEST(StepGradient, BallThatLandsAndSlides) { compare(ball_on_floor(1e-3), {}, 3, 1e-6); }
TEST(StepGradient, BallThatBounces) { compare(ball_on_floor(1e-4, 0.5), {}, 2, 1e-6); }

}  // namespace
}  // namespace orthant
