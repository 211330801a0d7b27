// SPDX-License-Identifier: Apache-2.0
// GradientMode::Smoothed: closed form in one dimension, differences of the central path, its limit.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/solver/solve.hpp"

namespace orthant {
namespace {

SolutionGradientSettings smoothed(double kappa) {
  SolutionGradientSettings s;
  s.mode = GradientMode::Smoothed;
  s.kappa = kappa;
  return s;
}

/// A mass of 2 over a floor: m v = k + λ, 0 <= λ ⊥ v + b >= 0.
CanonicalProblem falling_mass(double k, double b) {
  CanonicalProblem p;
  *p.H.add_block(1) = 2;
  p.k = VecX::Constant(1, k);
  p.laws = {Law::orthant()};
  p.D.begin_row(1);
  *p.D.add(0, 0, 1) = 1;
  p.b = VecX::Constant(1, b);
  return p;
}

Solution solved(const CanonicalProblem& p) {
  Solution x;
  (void)solve(p, {.tolerance = 1e-13}, x);
  return x;
}

TEST(SmoothedGradient, OneDimensionHasAClosedForm) {
  const double kappa = 1e-2, m = 2;
  for (const double k : {-3.0, -0.2, 0.0, 0.2, 3.0}) {
    const CanonicalProblem p = falling_mass(k, 0);
    SolutionGradient gradient(p, scale_of(p), solved(p), smoothed(kappa));
    // m v² − k v = κ
    const double v = (k + std::sqrt(k * k + 4 * m * kappa)) / (2 * m);
    EXPECT_NEAR(gradient.answer().v[0], v, 1e-9);
    EXPECT_NEAR(gradient.answer().lambda[0] * gradient.answer().w[0], kappa, 1e-9);
    Solution by;
    by.v = VecX::Ones(1);
    EXPECT_NEAR(gradient.pull_back(by).k[0], 1 / (m + kappa / (v * v)), 1e-8);
    EXPECT_EQ(gradient.certificate().kappa, kappa);
  }
}

/// One contact in space with friction, sliding or sticking by its push.
CanonicalProblem contact(double push, bool exact, double mu) {
  CanonicalProblem p;
  double* H = p.H.add_block(3);
  H[0] = H[4] = H[8] = 1.5;
  H[1] = H[3] = 0.2;
  p.k = Vec3(-1, push, 0.1);  // normal first
  p.laws = {exact ? Law::coulomb(3, mu) : Law::soc(3, mu)};
  p.D.begin_row(3);
  Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(p.D.add(0, 0, 3)).setIdentity();
  p.b = Vec3(0.01, 0, 0);
  return p;
}

TEST(SmoothedGradient, ConesAgreeWithDifferencesOfThePath) {
  for (const bool exact : {false, true}) {
    for (const double push : {0.1, 0.4, 0.9, -0.6}) {
      const double kappa = 1e-3, eps = 1e-6;
      const auto velocity = [&](const CanonicalProblem& p) {
        SolutionGradient at(p, scale_of(p), solved(p), smoothed(kappa));
        EXPECT_LE(at.certificate().central_error, 1e-9);
        return Vec3(at.answer().v);
      };
      const CanonicalProblem p = contact(push, exact, 0.5);
      SolutionGradient gradient(p, scale_of(p), solved(p), smoothed(kappa));
      for (int row = 0; row < 3; ++row) {
        Solution by;
        by.v = VecX::Unit(3, row);
        const ProblemDerivative d = gradient.pull_back(by);
        for (int i = 0; i < 3; ++i) {
          CanonicalProblem plus = p, minus = p;
          plus.k[i] += eps;
          minus.k[i] -= eps;
          EXPECT_NEAR(d.k[i], (velocity(plus)[row] - velocity(minus)[row]) / (2 * eps), 1e-6);
        }
        const Vec3 by_mu = (velocity(contact(push, exact, 0.5 + eps)) -
                            velocity(contact(push, exact, 0.5 - eps))) /
                           (2 * eps);
        EXPECT_NEAR(d.mu[0], by_mu[row], 1e-6);
      }
    }
  }
}

TEST(SmoothedGradient, TendsToTheExactOne) {
  const CanonicalProblem p = contact(0.9, true, 0.5);
  const Solution x = solved(p);
  SolutionGradient exact(p, scale_of(p), x);
  Solution by;
  by.v = Vec3(1, 2, 3);
  const VecX limit = exact.pull_back(by).k;
  double last = 1;
  for (const double kappa : {1e-4, 1e-6, 1e-8}) {
    SolutionGradient near(p, scale_of(p), x, smoothed(kappa));
    const double error = (near.pull_back(by).k - limit).norm();
    EXPECT_LT(error, 0.5 * last);
    last = error;
  }
  EXPECT_LT(last, 1e-3);
}

// A ball at rest above the floor feels nothing of it; smoothed, it does before it touches. A block
// that sticks feels a push.
TEST(SmoothedGradient, OfAStepShowsWhatIsAboutToHappen) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}},
              .mass = 1});
  b.add_joint({.name = "upright", .kind = JointKind::LockRotation, .a = "ball"});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "ball", .force = {1, 0, 0}});
  const Model model = b.build();
  const RolloutTape tape = record_rollout(model, model.default_parameters(), {}, model.rest_state(),
                                          MatX::Constant(1, 3, 2.0), 3);
  const RolloutCotangent loss = at_end(tape, VecX::Unit(3, 0), {});
  EXPECT_NEAR(rollout_gradient(tape, loss).u(0, 0), 0, 1e-12);
  StepGradientSettings with;
  with.solution = smoothed(1e-4);
  const RolloutGradient g = rollout_gradient(tape, loss, with);
  EXPECT_GT(g.u(0, 0), 0);
  EXPECT_LT(g.u(0, 0), 3e-4);  // less than without friction: 3 h²
  EXPECT_FALSE(g.certificate.exact);
}

TEST(SmoothedGradient, RefusesWhatItCannotDo) {
  const CanonicalProblem p = falling_mass(1, 0);
  EXPECT_THROW(SolutionGradient(p, scale_of(p), solved(p), smoothed(0)), Error);
}

}  // namespace
}  // namespace orthant
