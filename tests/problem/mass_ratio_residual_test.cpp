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

}  // namespace
}  // namespace orthant
