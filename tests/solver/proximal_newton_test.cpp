// SPDX-License-Identifier: Apache-2.0
// Joints with limits and contacts: the automatic choice takes proximal Newton, its answer is that
// of methods that share no line with it, and its work is linear in the links.
#include "solver/proximal_newton.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/solver/solve.hpp"
#include "support/linkage.hpp"
#include "support/no_alloc.hpp"

namespace orthant {
namespace {

using internal::ProximalNewtonWorkspace;
using internal::solve_proximal_newton;
using testing::linkage;
using testing::LinkageSpec;
using testing::SplitMix;

MethodResult run(const CanonicalProblem& p, Solution& x, double tolerance = 1e-10) {
  x = zero_solution(p);
  ProximalNewtonWorkspace work;
  return solve_proximal_newton(p, scale_of(p), {}, {.tolerance = tolerance}, work, x);
}

void expect_same(const CanonicalProblem& p, Method other) {
  Solution x, y;
  const MethodResult result = run(p, x);
  ASSERT_EQ(result.outcome, Outcome::Converged) << result.residual;
  const SolveReport report = solve(p, {.method = other, .tolerance = 1e-10}, y);
  ASSERT_EQ(report.outcome, Outcome::Converged) << describe(report.residual, p);
  EXPECT_LE((x.v - y.v).norm(), 1e-7 * (1 + y.v.norm()));
}

TEST(ProximalNewton, LimitsAgreeWithLemke) {
  SplitMix rng(1);
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    expect_same(linkage(rng, {.links = 8,
                              .branches = 1 + seed % 3,
                              .planar = seed % 2 == 0,
                              .fixed = seed % 4 < 2,
                              .at_limit = 0.8}),
                Method::Lemke);
  }
}

TEST(ProximalNewton, ContactsAgreeWithTheInteriorPoint) {
  SplitMix rng(2);
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    expect_same(linkage(rng, {.links = 10,
                              .branches = 1 + seed % 3,
                              .planar = seed % 2 == 0,
                              .contacts = 4,
                              .exact = false}),
                Method::InteriorPoint);
  }
}

TEST(ProximalNewton, ExactFrictionIsSolvedTo1e10) {
  SplitMix rng(3);
  int failed = 0;
  for (int seed = 0; seed < 100; ++seed) {
    const CanonicalProblem p = linkage(rng, {.links = 12,
                                             .branches = 1 + seed % 3,
                                             .planar = seed % 2 == 0,
                                             .fixed = seed % 5 == 0,
                                             .contacts = 6});
    Solution x;
    const MethodResult result = run(p, x);
    failed += result.outcome != Outcome::Converged;
    if (result.outcome == Outcome::Converged) EXPECT_LE(judge(p, x).value, 1e-10);
  }
  EXPECT_EQ(failed, 0);
}

TEST(ProximalNewton, RedundantLoopsAreHarmless) {
  SplitMix rng(4);
  for (int seed = 0; seed < 10; ++seed) {
    // The last hinge twice: every row of it is redundant.
    CanonicalProblem p = linkage(rng, {.links = 9, .planar = seed % 2 == 0, .contacts = 2});
    const Index last = p.C.row_block_count() - 1, dim = p.C.dim(last);
    const std::vector<double> values(p.C.values(last),
                                     p.C.values(last) + p.C.all_values().size() -
                                         (p.C.values(last) - p.C.all_values().data()));
    const std::vector<BlockRows::Entry> entries(p.C.entries(last).begin(),
                                                p.C.entries(last).end());
    p.C.begin_row(dim);
    const double* from = values.data();
    for (const BlockRows::Entry& entry : entries) {
      std::copy_n(from, dim * entry.width, p.C.add(entry.block, entry.column, entry.width));
      from += dim * entry.width;
    }
    p.e.conservativeResize(p.e.size() + dim);
    p.e.tail(dim).setZero();
    Solution x;
    EXPECT_EQ(run(p, x).outcome, Outcome::Converged) << seed;
  }
}

TEST(ProximalNewton, AutomaticTakesIt) {
  SplitMix rng(5);
  const CanonicalProblem p = linkage(rng, {.links = 20, .contacts = 4});
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-10}, x);
  EXPECT_EQ(report.outcome, Outcome::Converged);
  EXPECT_EQ(report.method, Method::NonsmoothNewton);
  EXPECT_EQ(report.attempts.size(), 1U);
}

/// Counted work, not time: the same on every machine.
TEST(ProximalNewton, WorkIsLinearInTheLinks) {
  for (const bool planar : {false, true})
    for (const int branches : {1, 3}) {
      double per_link[2] = {};
      for (const int k : {0, 1}) {
        SplitMix rng(6);
        const int links = k == 0 ? 30 : 1000;
        const CanonicalProblem p = linkage(
            rng,
            {.links = links, .branches = branches, .planar = planar, .at_limit = 0.02, .contacts = 6});
        Solution x;
        const MethodResult result = run(p, x);
        ASSERT_EQ(result.outcome, Outcome::Converged) << links << ' ' << result.residual;
        per_link[k] = result.work / result.iterations / links;
      }
      EXPECT_LE(per_link[1], 1.3 * per_link[0]) << branches << planar;
    }
}

TEST(ProximalNewton, WarmStartNeedsOneFactor) {
  SplitMix rng(7);
  CanonicalProblem p = linkage(rng, {.links = 20, .contacts = 6});
  Solution x;
  ASSERT_EQ(run(p, x).outcome, Outcome::Converged);
  p.k *= 1 + 1e-6;
  ProximalNewtonWorkspace work;
  const MethodResult again =
      solve_proximal_newton(p, scale_of(p), {}, {.tolerance = 1e-10}, work, x);
  EXPECT_EQ(again.outcome, Outcome::Converged);
  EXPECT_LE(again.iterations, 2);
}

TEST(ProximalNewton, DoesNotAllocateTheSecondTime) {
  SplitMix rng(8);
  const CanonicalProblem p = linkage(rng, {.links = 20, .branches = 2, .contacts = 4});
  const ProblemScale scale = scale_of(p);
  ProximalNewtonWorkspace work;
  Solution x = zero_solution(p);
  const Solution start = x;
  for (int i = 0; i < 2; ++i) {  // two systems take turns
    x = start;
    (void)solve_proximal_newton(p, scale, {}, {.tolerance = 1e-10}, work, x);
  }
  x = start;
  testing::NoAlloc guard;
  (void)solve_proximal_newton(p, scale, {}, {.tolerance = 1e-10}, work, x);
}

}  // namespace
}  // namespace orthant
