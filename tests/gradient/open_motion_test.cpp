// SPDX-License-Identifier: Apache-2.0
// A box that turns on four sliding corners: exact Coulomb friction leaves its motion open. The
// derivative is that of the answer found, and says so.
#include <gtest/gtest.h>

#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"

namespace orthant {
namespace {

/// Rows (n, t, t) at those of the four corners of a box that are asked for.
CanonicalProblem turning_box(const std::vector<int>& corners) {
  CanonicalProblem p;
  double* H = p.H.add_block(6);
  for (int i = 0; i < 6; ++i) H[i * 6 + i] = i < 3 ? 2.0 : 0.8;
  p.k.resize(6);
  p.k << 2.5, 0.4, -1, 0.1, -0.05, 1.5;  // slides, is pressed down, turns
  for (const int c : corners) {
    const Vec3 r(c < 2 ? -1 : 1, c % 2 == 0 ? -1 : 1, -1);
    p.laws.push_back(Law::coulomb(3, 0.5));
    p.D.begin_row(3);
    double* d = p.D.add(0, 0, 6);
    const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
    for (int i = 0; i < 3; ++i) {
      const Vec3 arm = r.cross(axes[i]);
      for (int k = 0; k < 3; ++k) d[i * 6 + k] = axes[i][k], d[i * 6 + 3 + k] = arm[k];
    }
  }
  p.b = VecX::Zero(3 * static_cast<Index>(corners.size()));
  return p;
}

/// The answer with three corners, as one of all four.
Solution without(int corner, const VecX* k = nullptr) {
  std::vector<int> corners;
  for (int c = 0; c < 4; ++c)
    if (c != corner) corners.push_back(c);
  CanonicalProblem three = turning_box(corners);
  if (k != nullptr) three.k = *k;
  Solution x = zero_solution(three);
  EXPECT_EQ(solve(three, {.tolerance = 1e-13}, x).outcome, Outcome::Converged);
  Solution all = zero_solution(turning_box({0, 1, 2, 3}));
  all.v = x.v;
  for (std::size_t i = 0; i < 3; ++i)
    all.lambda.segment<3>(3 * corners[i]) = x.lambda.segment<3>(3 * static_cast<Index>(i));
  return all;
}

TEST(OpenMotion, DerivativeIsThatOfTheAnswerFound) {
  const CanonicalProblem p = turning_box({0, 1, 2, 3});
  const ProblemScale scale = scale_of(p);
  // Two answers to one problem, and two motions: the load lies in two of the four triangles that
  // three corners make, on one side of each diagonal.
  const Solution a = without(0), one = without(1), two = without(2);
  const Solution& b = judge(p, scale, one).value < 1e-12 ? one : two;
  ASSERT_LT(judge(p, scale, a).value, 1e-12);
  ASSERT_LT(judge(p, scale, b).value, 1e-12);
  ASSERT_GT((a.v - b.v).norm(), 1e-3);
  SolutionGradient gradient(p, scale, a);
  Solution by = zero_solution(p);
  by.v << 1, -1, 0.5, 2, 0.3, -0.7;
  const ProblemDerivative back = gradient.pull_back(by);
  EXPECT_EQ(gradient.certificate().released, 1);
  EXPECT_EQ(gradient.certificate().floating, 3);
  EXPECT_LT(gradient.certificate().solve_error, 1e-9);
  ProblemDerivative change = zero_derivative(p);
  change.k << 0.3, -0.2, 0.1, 0.2, 0.1, -0.4;
  const double h = 1e-5;
  const VecX plus = p.k + h * change.k, minus = p.k - h * change.k;
  const VecX difference = (without(0, &plus).v - without(0, &minus).v) / (2 * h);
  EXPECT_NEAR(back.k.dot(change.k), by.v.dot(difference), 1e-6);
  // Forwards, too, without having been asked backwards before.
  SolutionGradient forward(p, scale, a);
  EXPECT_LT((forward.push_forward(change).v - difference).norm(), 1e-6 * difference.norm());
  EXPECT_EQ(forward.certificate().released, 1);
}

/// A tilted cube thrown onto the floor: it lands on all four corners in its sixth step and slides.
TEST(OpenMotion, LandingCubeThroughItsSixthStep) {
  ModelBuilder b;
  b.add_body(
      {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  b.add_body({.name = "cube",
              .position = {0, 0, 0.53},
              .velocity = {1, 0.3, -1.5},
              .angular_velocity = {0.3, -0.2, 0.4},
              .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5)}}});
  const Model model = b.build();
  State start = model.rest_state();
  const Eigen::Vector4d turn(0.995, 0.06, 0.05, 0.06);
  start.q.segment<4>(model.bodies()[1].q_begin + 3) = turn / turn.norm();
  StepSettings settings;
  settings.solver.tolerance = 1e-13;
  const Parameters parameters = model.default_parameters();
  const auto end = [&](const VecX& v) {
    State x = start;
    x.v = v;
    WarmStart warm;
    StepWorkspace work;
    for (int i = 0; i < 6; ++i) (void)step(model, parameters, settings, {}, x, warm, work);
    return x;
  };
  const RolloutTape tape = record_rollout(model, parameters, settings, start, {}, 6);
  VecX by(6);
  by << 0.4, -1.1, 0.7, 0.9, -0.3, 1.3;
  const RolloutGradient g = rollout_gradient(tape, at_end(tape, {}, by));
  EXPECT_FALSE(g.certificate.exact);
  EXPECT_NE(g.certificate.reason.find("step 5"), std::string::npos) << g.certificate.reason;
  EXPECT_NE(g.certificate.reason.find("answer found"), std::string::npos) << g.certificate.reason;
  const double h = 1e-6;
  for (Index i = 0; i < 6; ++i) {
    const VecX d = h * VecX::Unit(6, i);
    const double difference = by.dot(end(start.v + d).v - end(start.v - d).v) / (2 * h);
    EXPECT_NEAR(g.v[i], difference, 1e-5 * (1 + std::abs(difference))) << i;
  }
}

/// A ball thrown into a corner reaches both walls at once.
TEST(OpenMotion, SimultaneousLocatedImpactsAreNamed) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0, .restitution = 0.5});
  b.set_gravity(Vec3::Zero());
  BodySpec walls{.name = "walls", .motion = Motion::Fixed, .planar = true};
  walls.shapes = {{.shape = Shape::half_plane(), .material = "m"},
                  {.shape = Shape::half_plane(), .material = "m"}};
  walls.shapes[1].offset.p = exp_rotation(Vec3(0, 0, -std::acos(0.0)));
  b.add_body(walls);
  const auto with = [&](double x) {
    ModelBuilder c = b;
    c.add_body({.name = "ball",
                .motion = Motion::Planar,
                .position = {x, 0.15, 0},
                .velocity = {-10, -10, 0},
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
    return c.build();
  };
  for (const bool both : {true, false}) {
    const Model model = with(both ? 0.15 : 0.17);
    StepSettings settings;
    settings.impact_events = true;
    const RolloutTape tape =
        record_rollout(model, model.default_parameters(), settings, model.rest_state(), {}, 1);
    const RolloutGradient g = rollout_gradient(tape, at_end(tape, VecX::Unit(3, 0), {}));
    EXPECT_EQ(g.certificate.exact, !both) << g.certificate.reason;
    EXPECT_EQ(g.certificate.reason.find("several contacts") != std::string::npos, both);
  }
}

}  // namespace
}  // namespace orthant
