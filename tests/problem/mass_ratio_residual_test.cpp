// SPDX-License-Identifier: Apache-2.0
// A heavy ball on a light one: the judge must not let the light one fly off.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/problem/residual.hpp"
#include "orthant/solver/solve.hpp"

namespace orthant {
namespace {

/// Floor, ball of mass `light`, ball of mass `heavy` on it; one vertical velocity each, h g =
/// 0.0981.
CanonicalProblem two_balls(double light, double heavy) {
  CanonicalProblem p;
  *p.H.add_block(1) = light;
  *p.H.add_block(1) = heavy;
  p.k.resize(2);
  p.k << -0.0981 * light, -0.0981 * heavy;
  p.laws = {Law::orthant(), Law::orthant()};
  p.D.begin_row(1);
  *p.D.add(0, 0, 1) = 1;
  p.D.begin_row(1);
  *p.D.add(0, 0, 1) = -1;
  *p.D.add(1, 1, 1) = 1;
  p.b = VecX::Zero(2);
  return p;
}

TEST(MassRatio, AnAnswerThatFliesOffIsDenied) {
  const double light = 1e-4, heavy = 1e4, speed = 3.4;
  const CanonicalProblem p = two_balls(light, heavy);
  Solution x = zero_solution(p);
  // Balance holds, the balls keep together, and both leave the floor although it pushes.
  x.v << speed, speed;
  x.lambda[1] = heavy * (speed + 0.0981);
  x.lambda[0] = x.lambda[1] + light * (speed + 0.0981);
  EXPECT_GT(judge(p, x).value, 1e-2);
  // The right answer passes.
  x.v.setZero();
  x.lambda << 0.0981 * (light + heavy), 0.0981 * heavy;
  EXPECT_LT(judge(p, x).value, 1e-14);
}

TEST(MassRatio, BothBallsStandUpToARatioOf1e8) {
  for (const double ratio : {1.0, 1e4, 1e8}) {
    const CanonicalProblem p = two_balls(1 / std::sqrt(ratio), std::sqrt(ratio));
    Solution x;
    const SolveReport report = solve(p, {.tolerance = 1e-9}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << ratio << ": " << report.residual.value;
    EXPECT_LT(x.v.cwiseAbs().maxCoeff(), 1e-8) << ratio;
  }
}

/// Balls on one axis over a floor, the j-th of 10^j kg; contact j is below ball j.
CanonicalProblem stack(Index balls) {
  CanonicalProblem p;
  p.k.resize(balls);
  double mass = 1;
  for (Index j = 0; j < balls; ++j, mass *= 10) {
    *p.H.add_block(1) = mass;
    p.k[j] = -0.49 * mass;
    p.laws.push_back(Law::orthant());
    p.D.begin_row(1);
    *p.D.add(j, j, 1) = 1;
    if (j > 0) *p.D.add(j - 1, j - 1, 1) = -1;
  }
  p.b = VecX::Zero(balls);
  return p;
}

TEST(MassRatio, AStackThatFallsThroughTheFloorIsDenied) {
  // Every impulse is huge beside the ball below it and nothing beside those above: all balls fall
  // freely, and the floor sees a billionth of an error in λ.
  const CanonicalProblem p = stack(20);
  for (const double sign : {-1.0, 1.0}) {  // into the floor, and off it
    Solution x = zero_solution(p);
    x.v.setConstant(sign * 0.49);
    double light = 0;
    for (Index j = 0; j < 20; ++j) {
      x.lambda[j] = 1e9 - light * (sign + 1) * 0.49;
      light += *p.H.block(j);
    }
    EXPECT_GT(judge(p, x).complementarity, 1e-5) << sign;
  }
  Solution x = zero_solution(p);
  double above = 0;
  for (Index j = 19; j >= 0; --j) x.lambda[j] = above -= p.k[j];
  EXPECT_LT(judge(p, x).value, 1e-10);
}

/// A body of 1 kg between two planes that press on it with `load` along n; its weight is across.
CanonicalProblem pressed(const Vec3& n, double load, bool guide) {
  CanonicalProblem p;
  double* H = p.H.add_block(3);
  H[0] = H[4] = H[8] = 1;
  p.k = -0.0981 * Vec3::UnitZ();
  for (const double side : {1.0, -1.0}) {
    p.laws.push_back(Law::orthant());
    p.D.begin_row(1);
    Vec3::Map(p.D.add(0, 0, 3)) = side * n;
    if (side > 0) continue;
    *p.H.add_block(1) = load;  // the plane that presses
    p.k.conservativeResize(4);
    p.k[3] = -load;
    *p.D.add(1, 3, 1) = 1;
  }
  p.b = VecX::Zero(2);
  if (guide) {
    p.C.begin_row(1);
    Vec3::Map(p.C.add(0, 0, 3)) = Vec3::UnitY();
    p.e = VecX::Zero(1);
  }
  return p;
}

TEST(MassRatio, ALoadDoesNotExcuseASpeedAcrossIt) {
  for (const Vec3& n : {Vec3(1, 0, 0), Vec3(0.6, 0.8, 0)}) {
    for (const double load : {1e6, 1e12, 1e18}) {
      SCOPED_TRACE(load);
      const CanonicalProblem p = pressed(n, load, false);
      Solution x = zero_solution(p);
      x.lambda.setConstant(load);
      x.v[2] = -0.0981;
      EXPECT_LT(judge(p, x).value, 1e-10);
      x.v[2] = 4;  // nothing pushes it up
      EXPECT_GT(judge(p, x).balance, 1e-5);
    }
  }
}

TEST(MassRatio, ALoadDoesNotExcuseAJointAcrossIt) {
  const CanonicalProblem p = pressed(Vec3(1, 0, 0), 1e18, true);
  Solution x = zero_solution(p);
  x.lambda.setConstant(1e18);
  x.v[2] = -0.0981;
  EXPECT_LT(judge(p, x).value, 1e-10);
  x.v[1] = 4;
  EXPECT_GT(judge(p, x).bilateral, 1e-5);
}

}  // namespace
}  // namespace orthant
