// SPDX-License-Identifier: Apache-2.0
// solver/outcomes_test.cpp: closed forms of single blocks, contradictions, warm starts by name.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/solver/interior_point.hpp"
#include "orthant/solver/solve.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

/// `count` bodies of three velocities, each on a floor of its own.
CanonicalProblem scattered(SplitMix& rng, int count, const Law& law) {
  CanonicalProblem p;
  std::vector<double> b;
  for (int i = 0; i < count; ++i) {
    double* H = p.H.add_block(3);
    for (int r = 0; r < 3; ++r) H[4 * r] = rng.log_uniform(1e-3, 1e3);
    p.laws.push_back(law);
    p.D.begin_row(law.dim);
    double* d = p.D.add(i, 3 * i, 3);
    for (int j = 0; j < 3 * law.dim; ++j) d[j] = rng.normal();
    for (int r = 0; r < law.dim; ++r) b.push_back(rng.normal());
  }
  p.k = VecX(3 * count);
  for (double& k : p.k) k = rng.normal();
  p.b = Eigen::Map<VecX>(b.data(), static_cast<Index>(b.size()));
  return p;
}

TEST(Outcomes, RowsThatTouchNothingHaveAnOutcome) {
  // D = 0 and no F: w = b whatever the impulse.
  for (const double b : {-1.0, 1.0}) {
    CanonicalProblem p;
    p.H.add_block(1)[0] = 1;
    p.k = VecX::Zero(1);
    p.D.begin_row(1);
    p.laws.push_back(Law::orthant(1));
    p.b = VecX::Constant(1, b);
    Solution x;
    EXPECT_EQ(solve(p, {}, x).outcome, b > 0 ? Outcome::Converged : Outcome::Infeasible);
  }
}

TEST(Outcomes, BlocksThatAreAloneNeedNoMethod) {
  SplitMix rng(3);
  for (const Law& law : {Law::orthant(), Law::coulomb(2, 0.4), Law::coulomb(3, 0.7),
                         Law::soc(3, 0.5), Law::box(-0.1, 0.2)}) {
    const CanonicalProblem p = scattered(rng, 20, law);
    Solution x, other;
    const SolveReport report = solve(p, {.tolerance = 1e-12}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << name_of(law.kind);
    EXPECT_EQ(report.island_count, 20);
    EXPECT_TRUE(report.attempts.empty()) << name_of(law.kind);
    // The same by a method.
    const SolveSettings by_name{.method = Method::NonsmoothNewton, .tolerance = 1e-12};
    ASSERT_EQ(solve(p, by_name, other).outcome, Outcome::Converged) << name_of(law.kind);
    EXPECT_LE((x.v - other.v).norm(), 1e-9 * other.v.norm()) << name_of(law.kind);
    EXPECT_LE((x.lambda - other.lambda).norm(), 1e-9 * (1 + other.lambda.norm()));
  }
}

TEST(Outcomes, ContradictoryJointsAreInfeasibleWhateverTouches) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SplitMix rng(seed);
    const bool friction = seed % 2 == 0;
    CanonicalProblem p =
        random_contacts(rng,
                        {.bodies = 4, .contacts = 3, .mu_max = friction ? 1.0 : 0.0, .joints = 2})
            .problem;
    // The first joint once more, asking for another speed.
    const auto entries = p.C.entries(0);
    const Index dim = p.C.dim(0);
    BlockRows C = p.C;
    C.begin_row(dim);
    std::size_t at = 0;
    for (const auto& entry : entries) {
      const std::size_t size = static_cast<std::size_t>(dim) * entry.width;
      std::copy_n(p.C.values(0) + at, size, C.add(entry.block, entry.column, entry.width));
      at += size;
    }
    p.C = C;
    const VecX e = p.e;
    p.e.resize(e.size() + dim);
    p.e << e, e.head(dim).array() + 1.0;
    Solution x;
    const SolveReport report = solve(p, {}, x);
    EXPECT_EQ(report.outcome, Outcome::Infeasible) << seed << ": " << name_of(report.outcome);
    ASSERT_TRUE(x.v.allFinite() && x.lambda.allFinite() && x.gamma.allFinite());
    const double free = scale_of(p).v_free.norm();
    EXPECT_LE(x.v.norm(), 1e6 * (free + p.b.norm() + p.e.norm())) << seed;
  }
}

TEST(Outcomes, AContactBetweenTwoWallsThatCloseIsNotRunAwayFrom) {
  // One body, pushed from both sides: w_1 = v − 1, w_2 = −v − 1.
  CanonicalProblem p;
  p.H.add_block(1)[0] = 2;
  p.k = VecX::Zero(1);
  for (const double side : {1.0, -1.0}) {
    p.laws.push_back(Law::orthant());
    p.D.begin_row(1);
    p.D.add(0, 0, 1)[0] = side;
  }
  p.b = VecX::Constant(2, -1);
  Solution x;
  EXPECT_NE(solve(p, {}, x).outcome, Outcome::Converged);
  EXPECT_LE(std::abs(x.v[0]), 1e6);
}

TEST(Outcomes, TheInteriorPointTakesAStartItIsGiven) {
  int cold = 0, partial = 0, full = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SplitMix rng(seed);
    CanonicalProblem p =
        random_contacts(rng, {.bodies = 6, .contacts = 10, .mu_max = 0, .exact = false}).problem;
    InteriorPointWorkspace work;
    const MethodLimits limits{.tolerance = 1e-10};
    const ProblemScale scale = scale_of(p);
    Solution x = zero_solution(p);
    MethodResult r = solve_interior_point(p, scale, {.crossover = true}, limits, work, x);
    ASSERT_EQ(r.outcome, Outcome::Converged) << seed;
    const Solution answer = x;
    r = solve_interior_point(p, scale, {.warm_start = true}, limits, work, x);
    EXPECT_EQ(r.outcome, Outcome::Converged);
    EXPECT_EQ(r.iterations, 0);
    // The next problem is a little different.
    for (double& k : p.k) k *= 1 + 1e-3 * rng.normal();
    const ProblemScale next = scale_of(p);
    const auto from = [&](const Solution& start, bool warm, int& sum) {
      Solution y = start;
      const MethodResult result =
          solve_interior_point(p, next, {.warm_start = warm, .crossover = true}, limits, work, y);
      EXPECT_EQ(result.outcome, Outcome::Converged) << seed;
      EXPECT_LE(judge(p, y).value, 1e-10) << seed;
      sum += result.iterations;
    };
    from(zero_solution(p), false, cold);
    Solution velocities = zero_solution(p);
    velocities.v = answer.v;
    from(velocities, true, partial);
    from(answer, true, full);
  }
  EXPECT_LE(partial, cold);
  EXPECT_LT(full, cold / 2);
}

}  // namespace
}  // namespace orthant
