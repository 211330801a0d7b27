// SPDX-License-Identifier: Apache-2.0
// Joints with limits and contacts: the first method that the automatic choice takes solves them,
// its answer is that of methods that share no line with it.
#include <gtest/gtest.h>

#include <algorithm>

#include "orthant/solver/solve.hpp"
#include "support/linkage.hpp"
#include "support/no_alloc.hpp"

namespace orthant {
namespace {

using testing::linkage;
using testing::LinkageSpec;
using testing::SplitMix;

constexpr SolveSettings kTight{.tolerance = 1e-10};

/// Solved, and by the first method.
bool solved_at_once(const SolveReport& report) {
  return report.outcome == Outcome::Converged && report.attempts.size() == 1 &&
         report.method == Method::NonsmoothNewton && report.residual.value <= 1e-10;
}

void expect_same(const CanonicalProblem& p, Method other) {
  Solution x, y;
  EXPECT_TRUE(solved_at_once(solve(p, kTight, x)));
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

TEST(ProximalNewton, ExactFriction) {
  SplitMix rng(3);
  constexpr int kHard[] = {35, 74, 88};  // random impacts that are left to the rest of the chain
  for (int seed = 0; seed < 100; ++seed) {
    const CanonicalProblem p = linkage(rng, {.links = 12,
                                             .branches = 1 + seed % 3,
                                             .planar = seed % 2 == 0,
                                             .fixed = seed % 5 == 0,
                                             .contacts = 6});
    Solution x;
    const SolveReport report = solve(p, kTight, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << seed;
    EXPECT_TRUE(solved_at_once(report) || std::ranges::count(kHard, seed) > 0) << seed;
  }
}

TEST(ProximalNewton, RedundantLoopsAreHarmless) {
  SplitMix rng(4);
  for (int seed = 0; seed < 10; ++seed) {
    // The last hinge twice: every row of it is redundant.
    CanonicalProblem p = linkage(rng, {.links = 9, .planar = seed % 2 == 0, .contacts = 2});
    const Index last = p.C.row_block_count() - 1, dim = p.C.dim(last);
    const std::vector<double> values(
        p.C.values(last),
        p.C.values(last) + p.C.all_values().size() - (p.C.values(last) - p.C.all_values().data()));
    const std::vector<BlockRows::Entry> entries(p.C.entries(last).begin(), p.C.entries(last).end());
    p.C.begin_row(dim);
    const double* from = values.data();
    for (const BlockRows::Entry& entry : entries) {
      std::copy_n(from, dim * entry.width, p.C.add(entry.block, entry.column, entry.width));
      from += dim * entry.width;
    }
    p.e.conservativeResize(p.e.size() + dim);
    p.e.tail(dim).setZero();
    Solution x;
    EXPECT_TRUE(solved_at_once(solve(p, kTight, x))) << seed;
  }
}

/// A thousand links take about as many factorisations as thirty: the contacts decide. Each is
/// linear in the links (VelocitySystem.WorkIsLinearInTheLinks).
TEST(ProximalNewton, FactorisationsDoNotGrowWithTheLinks) {
  for (const bool planar : {false, true})
    for (const int branches : {1, 2})
      for (const int links : {30, 1000}) {
        SplitMix rng(6);
        const CanonicalProblem p = linkage(rng, {.links = links,
                                                 .branches = branches,
                                                 .planar = planar,
                                                 .at_limit = 0.02,
                                                 .contacts = 6});
        Solution x;
        const SolveReport report = solve(p, kTight, x);
        EXPECT_TRUE(solved_at_once(report)) << links << ' ' << branches << planar;
        EXPECT_LE(report.iterations, 15) << links << ' ' << branches << planar;
      }
}

TEST(ProximalNewton, WarmStartNeedsOneFactor) {
  SplitMix rng(7);
  CanonicalProblem p = linkage(rng, {.links = 20, .contacts = 6});
  Solution x;
  ASSERT_TRUE(solved_at_once(solve(p, kTight, x)));
  p.k *= 1 + 1e-6;
  SolveWorkspace work;
  const SolveReport again = solve(p, kTight, work, x);
  EXPECT_TRUE(solved_at_once(again));
  EXPECT_LE(again.iterations, 2);
}

TEST(ProximalNewton, DoesNotAllocateOnceWarm) {
  SplitMix rng(8);
  const CanonicalProblem p = linkage(rng, {.links = 20, .branches = 2, .contacts = 4});
  SolveWorkspace work;
  SolveReport report;
  const Solution start = zero_solution(p);
  Solution x = start;
  for (int i = 0; i < 3; ++i) {  // two systems take turns
    x = start;
    solve(p, kTight, work, x, report);
  }
  x = start;
  testing::NoAlloc guard;
  solve(p, kTight, work, x, report);
}

}  // namespace
}  // namespace orthant
