// SPDX-License-Identifier: Apache-2.0
// Joints with limits and contacts: the first method that the automatic choice takes solves them,
// its answer is that of methods that share no line with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

/// A trunk on eight casters, a mast hinged on it: gaps of the casters that agree to `noise` [m].
CanonicalProblem casters(SplitMix& rng, double noise) {
  constexpr double kStep = 0.005;
  CanonicalProblem p;
  p.k = VecX::Zero(12);
  const double masses[2] = {50, 20};
  for (int i = 0; i < 2; ++i) {
    double* H = p.H.add_block(6);
    for (int r = 0; r < 6; ++r) H[7 * r] = masses[i] * (r < 3 ? 1 : 0.02 + 0.01 * r);
    p.k[6 * i + 2] = -9.81 * kStep * masses[i];
    p.k[6 * i] = 0.1 * masses[i] * rng.normal();  // it slides
    p.k[6 * i + 4] = 0.02 * rng.normal();
  }
  // The mast turns about x at a point 0.3 m above the trunk and as much below the mast's middle.
  p.C.begin_row(5);
  p.C.add(0, 0, 6);
  p.C.add(1, 6, 6);
  double *trunk = p.C.values(0), *mast = trunk + 30;
  for (int r = 0; r < 3; ++r) trunk[6 * r + r] = 1, mast[6 * r + r] = -1;
  trunk[4] = mast[4] = 0.3, trunk[9] = mast[9] = -0.3;  // ω × (0, 0, ±0.3)
  trunk[6 * 3 + 4] = trunk[6 * 4 + 5] = 1, mast[6 * 3 + 4] = mast[6 * 4 + 5] = -1;
  p.e = VecX::Zero(5);
  std::vector<double> b;
  for (int c = 0; c < 8; ++c) {
    const double x = 0.3 * std::cos(0.8 * c), y = 0.2 * std::sin(0.8 * c), z = -0.2;
    p.laws.push_back(Law::coulomb(3, 0.5));
    p.D.begin_row(3);
    const double rows[18] = {0, 0, 1, y, -x, 0, 1, 0, 0, 0, z, -y, 0, 1, 0, -z, 0, x};
    std::copy(rows, rows + 18, p.D.add(0, 0, 6));
    const double gap = 1e-6 * (2 + x + 3 * y) + noise * rng.normal();
    b.insert(b.end(), {gap / kStep, 0, 0});
  }
  p.b = VecX::Map(b.data(), static_cast<Index>(b.size()));
  return p;
}

TEST(ProximalNewton, ContactsWhoseGapsDoNotQuiteAgree) {
  SplitMix rng(11);
  int most = 0;
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const CanonicalProblem p = casters(rng, seed % 3 == 0 ? 1e-11 : seed % 3 == 1 ? 1e-12 : 1e-13);
    Solution x;
    const SolveReport report = solve(p, kTight, x);
    EXPECT_TRUE(solved_at_once(report)) << describe(report.residual, p);
    most = std::max(most, report.iterations);
  }
  EXPECT_LT(most, 200);  // factorisations, twenty in the mean
}

/// The trunk sticks on its casters and tilts until all touch. Their gaps agree, their tangents do
/// not: a caster that is higher by its gap moves sideways by what the others do not, 1e-9 m/s. With
/// a servo, which has a softness of its own, between trunk and mast.
CanonicalProblem tilted_casters(SplitMix& rng, bool servo) {
  CanonicalProblem p = casters(rng, 0);
  p.k[0] = 0.5 * rng.normal(), p.k[4] = 0.02 * rng.normal();
  const double tilt = rng.log_uniform(0.3, 30);
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    double* rows = p.D.values(c);
    p.b[3 * c] *= tilt;
    const double gap = 0.005 * p.b[3 * c];
    rows[10] += gap, rows[15] -= gap;
  }
  if (!servo) return p;
  for (Index c = 0; c < p.D.row_block_count(); ++c) p.F.begin_row(3);
  p.laws.push_back(Law::box(-5, 5));
  p.D.begin_row(1);
  p.D.add(0, 0, 6)[3] = 1;
  p.D.add(1, 6, 6)[3] = -1;
  p.F.begin_row(1);
  *p.F.add(p.D.row_block_count() - 1, p.D.rows() - 1, 1) = rng.log_uniform(1e-2, 1e2);
  p.b.conservativeResize(p.b.size() + 1);
  p.b[p.b.size() - 1] = rng.normal();
  return p;
}

TEST(ProximalNewton, ContactsWhoseTangentsDoNotQuiteAgree) {
  SplitMix rng(13);
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const CanonicalProblem p = tilted_casters(rng, seed % 2 == 0);
    Solution x;
    const SolveReport report = solve(p, {.tolerance = 1e-12}, x);
    EXPECT_TRUE(solved_at_once(report)) << describe(report.residual, p);
  }
}

TEST(FreeMotion, GivesTheBitsOfASolveThatFactorisesItself) {
  SplitMix rng(12);
  SolveWorkspace work;
  SolveReport report;
  for (int seed = 0; seed < 6; ++seed) {
    const CanonicalProblem p = linkage(rng, {.links = 6, .contacts = seed});
    Solution x = zero_solution(p), y = x;
    VelocitySolver inverse;
    VecX v_free;
    ASSERT_TRUE(inverse.factorize(p.H));
    inverse.solve(p.k, v_free);
    solve(p, kTight, work, x, report);
    const double residual = report.residual.value;
    solve(p, {inverse, v_free}, kTight, work, y, report);
    EXPECT_EQ(x.v, y.v);
    EXPECT_EQ(x.lambda, y.lambda);
    EXPECT_EQ(report.residual.value, residual);
  }
}

}  // namespace
}  // namespace orthant
