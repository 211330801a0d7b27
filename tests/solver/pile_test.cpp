// SPDX-License-Identifier: Apache-2.0
// Piles with exact friction: a jammed lattice, on which sweeps alone go round in circles and Newton
// steps alone lose their way.
#include <gtest/gtest.h>

#include "orthant/problem/residual.hpp"
#include "orthant/solver/solve.hpp"
#include "support/no_alloc.hpp"
#include "support/packing.hpp"

namespace orthant {
namespace {

TEST(Pile, JammedLatticesConverge) {
  for (const int spheres : {60, 100, 140}) {
    SCOPED_TRACE(spheres);
    const CanonicalProblem p = testing::sphere_packing(spheres, 0.5, true);
    Solution x;
    const SolveReport report = solve(p, {.tolerance = 1e-10}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << describe(report.residual, p);
    EXPECT_LE(judge(p, x).value, 1e-10);
    // Sweeps and Newton steps do it: nothing after them in the chain has run.
    for (const Attempt& attempt : report.attempts)
      EXPECT_NE(attempt.method, Method::InteriorPoint) << "after " << report.iterations;
  }
}

TEST(Pile, FromTheAnswerOfALighterPileConverges) {
  const CanonicalProblem p = testing::sphere_packing(80, 0.5, true);
  CanonicalProblem lighter = p;
  lighter.k *= 0.9;
  SolveWorkspace work;
  Solution x = zero_solution(p);
  ASSERT_EQ(solve(lighter, {.tolerance = 1e-10}, work, x).outcome, Outcome::Converged);
  const SolveReport report = solve(p, {.tolerance = 1e-10}, work, x);
  EXPECT_EQ(report.outcome, Outcome::Converged) << describe(report.residual, p);
}

TEST(Pile, FromTheAnswerOfAPileAHairLighterNeedsNoInteriorPoint) {
  for (const double mu : {0.3, 0.5, 0.8}) {
    SCOPED_TRACE(mu);
    const CanonicalProblem p = testing::sphere_packing(80, mu, true);
    CanonicalProblem lighter = p;
    lighter.k *= 0.9999;
    SolveWorkspace work;
    Solution x = zero_solution(p);
    ASSERT_EQ(solve(lighter, {.tolerance = 1e-10}, work, x).outcome, Outcome::Converged);
    EXPECT_GT(judge(p, x).value, 1e-6);
    const SolveReport report = solve(p, {.tolerance = 1e-10}, work, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << describe(report.residual, p);
    for (const Attempt& attempt : report.attempts)
      EXPECT_NE(attempt.method, Method::InteriorPoint) << "after " << report.iterations;
  }
}

TEST(Pile, AskedForRoughlyTakesSweepsAlone) {
  // From the answer of a pile 1 % lighter: at 1e-3 no factorisation is worth its time, at 1e-10 the
  // sets of that answer are tried first.
  const CanonicalProblem p = testing::sphere_packing(80, 0.5, true);
  ASSERT_GT(p.block_count(), 100);
  CanonicalProblem lighter = p;
  lighter.k *= 0.99;
  Solution start = zero_solution(p);
  SolveWorkspace work;
  ASSERT_EQ(solve(lighter, {.tolerance = 1e-10}, work, start).outcome, Outcome::Converged);
  for (const double tolerance : {1e-3, 1e-10}) {
    SCOPED_TRACE(tolerance);
    ASSERT_GT(judge(p, start).value, tolerance);
    Solution x = start;
    const SolveReport report = solve(p, {.tolerance = tolerance}, work, x);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(judge(p, x).value, tolerance);
    ASSERT_FALSE(report.attempts.empty());
    EXPECT_EQ(report.attempts.front().method,
              tolerance == 1e-3 ? Method::GaussSeidel : Method::Polish);
    if (tolerance == 1e-3) {
      EXPECT_EQ(report.attempts.size(), 1u);
    }
  }
}

TEST(Pile, ALargeOneEndsWhenItsWorkIsUsedUp) {
  // Too little for any answer: the best one comes back, with the name of what ended it.
  const CanonicalProblem p = testing::sphere_packing(100, 0.5, true);
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-10, .work_limit = 1e6}, x);
  EXPECT_EQ(report.outcome, Outcome::WorkLimit);
  EXPECT_LT(report.residual.value, 0.1);
  EXPECT_EQ(report.residual.value, judge(p, x).value);
}

TEST(Pile, DoesNotAllocateOnceWarm) {
  const CanonicalProblem p = testing::sphere_packing(60, 0.5, true);
  SolveWorkspace work;
  SolveReport report;
  Solution x = zero_solution(p);
  const SolveSettings settings{.tolerance = 1e-10, .use_warm_start = false};
  solve(p, settings, work, x, report);
  const testing::NoAlloc guard;
  solve(p, settings, work, x, report);
}

}  // namespace
}  // namespace orthant
