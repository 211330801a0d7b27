// SPDX-License-Identifier: Apache-2.0
// Rigid problems solved in velocities: against the same method on the reduced matrix, which shares
// no line of its linear algebra, and from the answer of a problem that differs a little.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "support/problem_bank.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::ContactProblemSpec;
using testing::random_contacts;
using testing::SplitMix;

/// More bodies than contacts can bind: velocities and impulses are unique.
CanonicalProblem loose(SplitMix& rng, int dim, bool exact, int joints) {
  return random_contacts(rng, {.bodies = 12,
                               .contacts = 8,
                               .dim = dim,
                               .mu_max = 0.5,
                               .mass_ratio = 100,
                               .exact = exact,
                               .joints = joints})
      .problem;
}

/// A compliance inside each block.
void soften(CanonicalProblem& p) {
  p.F.clear();
  for (Index c = 0; c < p.block_count(); ++c) {
    const Index dim = p.laws[static_cast<std::size_t>(c)].dim;
    p.F.begin_row(dim);
    double* f = p.F.add(c, block_offsets(p)[static_cast<std::size_t>(c)], dim);
    for (Index i = 0; i < dim; ++i) f[i * dim + i] = 0.1 * static_cast<double>(i + 1);
  }
}

void expect_same_by_body_and_by_contact(const CanonicalProblem& p, Method method) {
  const SolveSettings settings{.method = method, .tolerance = 1e-12, .max_iterations = 20000};
  Solution by_body, by_contact, expanded;
  const SolveReport first = solve(p, settings, by_body);
  const CanonicalProblem local = reduce(p);
  const SolveReport second = solve(local, settings, by_contact);
  ASSERT_EQ(first.outcome, Outcome::Converged) << describe(first.residual, p);
  ASSERT_EQ(second.outcome, Outcome::Converged) << describe(second.residual, local);
  expand(p, by_contact, expanded);
  EXPECT_LE((by_body.v - expanded.v).norm(), 1e-9 * (1 + expanded.v.norm()));
  EXPECT_LE((by_body.lambda - expanded.lambda).norm(), 1e-8 * (1 + expanded.lambda.norm()));
  EXPECT_LE((by_body.gamma - expanded.gamma).norm(), 1e-8 * (1 + expanded.gamma.norm()));
}

TEST(VelocitySpace, SweepsGiveWhatSweepsOverTheMatrixGive) {
  SplitMix rng(11);
  for (const int dim : {2, 3, 5}) {
    for (const bool exact : {true, false}) {
      SCOPED_TRACE(dim * 10 + exact);
      CanonicalProblem p = loose(rng, dim, exact, 0);
      expect_same_by_body_and_by_contact(p, Method::GaussSeidel);
      soften(p);
      expect_same_by_body_and_by_contact(p, Method::GaussSeidel);
    }
  }
}

TEST(VelocitySpace, NewtonGivesWhatNewtonOnTheMatrixGives) {
  SplitMix rng(12);
  for (const int dim : {2, 3, 5}) {
    for (const int joints : {0, 2}) {
      SCOPED_TRACE(dim * 10 + joints);
      CanonicalProblem p = loose(rng, dim, true, joints);
      expect_same_by_body_and_by_contact(p, Method::NonsmoothNewton);
      soften(p);
      expect_same_by_body_and_by_contact(p, Method::NonsmoothNewton);
    }
  }
}

TEST(VelocitySpace, AnAcceptedStartIsReturnedAsItIs) {
  SplitMix rng(13);
  const CanonicalProblem p = loose(rng, 3, true, 1);
  SolveWorkspace work;
  Solution x = zero_solution(p);
  (void)solve(p, {.tolerance = 1e-10}, work, x);
  const Solution start = x;
  const SolveReport again = solve(p, {.tolerance = 1e-10}, work, x);
  EXPECT_EQ(again.iterations, 0);
  EXPECT_EQ(again.outcome, Outcome::Converged);
  EXPECT_EQ(x.lambda, start.lambda);
  EXPECT_EQ(x.v, start.v);
}

TEST(VelocitySpace, AnswersAreFinishedToRounding) {
  SplitMix rng(14);
  for (int i = 0; i < 20; ++i) {
    const CanonicalProblem p = loose(rng, 3, true, i % 3);
    Solution x;
    const SolveReport report = solve(p, {.tolerance = 1e-6}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(judge(p, x).value, 1e-13) << i;
  }
}

/// Many more contact rows than velocities: impulses are not unique, velocities may not be either.
TEST(VelocitySpace, AStartOfASimilarProblemSavesIterationsAndNeverCosts) {
  SplitMix rng(15);
  int warm_iterations = 0, cold_iterations = 0;
  for (int i = 0; i < 20; ++i) {
    CanonicalProblem p = random_contacts(rng, {.bodies = 6, .contacts = 14, .mu_max = 0.4}).problem;
    SolveWorkspace work;
    Solution x = zero_solution(p);
    ASSERT_EQ(solve(p, {.tolerance = 1e-10}, work, x).outcome, Outcome::Converged);
    for (double& b : p.b) b += 1e-5 * rng.normal();
    Solution cold = zero_solution(p);
    const SolveReport from_start = solve(p, {.tolerance = 1e-10}, work, x);
    const SolveReport from_zero = solve(p, {.tolerance = 1e-10}, work, cold);
    EXPECT_EQ(from_start.outcome, Outcome::Converged) << i;
    EXPECT_EQ(from_zero.outcome, Outcome::Converged) << i;
    warm_iterations += from_start.iterations;
    cold_iterations += from_zero.iterations;
  }
  EXPECT_LT(warm_iterations, cold_iterations / 4);
}

/// A light ball under a heavy one, at rest: impulses are the weights above, velocities zero.
TEST(VelocitySpace, ALightBodyCarriesAnyLoad) {
  for (const double ratio : {1e4, 1e8, 1e10, 1e12}) {
    SCOPED_TRACE(ratio);
    CanonicalProblem p;
    const double light = 1 / std::sqrt(ratio), heavy = std::sqrt(ratio), gh = 0.0981;
    p.H.add_block(1)[0] = light;
    p.H.add_block(1)[0] = heavy;
    p.k.resize(2);
    p.k << -gh * light, -gh * heavy;
    p.laws = {Law::orthant(), Law::orthant()};
    p.D.begin_row(1);
    p.D.add(0, 0, 1)[0] = 1;
    p.D.begin_row(1);
    p.D.add(0, 0, 1)[0] = -1;
    p.D.add(1, 1, 1)[0] = 1;
    p.b = VecX::Zero(2);
    Solution x;
    const SolveReport report = solve(p, {.tolerance = 1e-8}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << describe(report.residual, p);
    EXPECT_NEAR(x.lambda[1], gh * heavy, 1e-9 * gh * heavy);
    EXPECT_NEAR(x.v[0], 0, 1e-8 * gh);
    EXPECT_NEAR(x.v[1], 0, 1e-8 * gh);
  }
}

/// A plate of unit mass over a grid of points: rows z + y ω_x − x ω_y + b >= 0.
CanonicalProblem plate(int side, SplitMix& rng) {
  CanonicalProblem p;
  double* mass = p.H.add_block(6);
  for (int i = 0; i < 6; ++i) mass[i * 7] = 1;
  p.k = VecX::Zero(6);
  p.k[2] = -1;
  const Index rows = static_cast<Index>(side) * side;
  p.laws.assign(static_cast<std::size_t>(rows), Law::orthant());
  p.b.resize(rows);
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      p.D.begin_row(1);
      double* d = p.D.add(0, 0, 6);
      d[2] = 1;
      d[3] = 2.0 * j / (side - 1) - 1;
      d[4] = 1 - 2.0 * i / (side - 1);
      p.b[i * side + j] = 1e-6 * rng.uniform(-1, 1);
    }
  }
  return p;
}

TEST(VelocitySpace, APlateOnThousandsOfPointsRestsOnAFew) {
  SplitMix rng(17);
  const CanonicalProblem p = plate(60, rng);
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-12}, x);
  EXPECT_EQ(report.outcome, Outcome::Converged) << describe(report.residual, p);
  EXPECT_NEAR(x.lambda.sum(), 1, 1e-5);  // its weight, but for the speed it gets
  EXPECT_EQ(report.attempts.size(), 1U);
  EXPECT_LT(report.iterations, 100);
}

/// Methods that would form a matrix of 1e7 entries and factorise it are left out.
TEST(VelocitySpace, APlateBetweenTwoFloorsThatAreTooNearEndsSoon) {
  SplitMix rng(18);
  CanonicalProblem p = plate(60, rng);
  for (Index i = 0; i < p.row_count(); i += 2) {
    double* d = p.D.values(i);
    for (int k = 0; k < 6; ++k) d[k] = -d[k];
    p.b[i] = -1;
  }
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-10}, x);
  EXPECT_NE(report.outcome, Outcome::Converged);
  EXPECT_TRUE(x.v.allFinite() && x.lambda.allFinite());
  double work = 0;
  for (const Attempt& attempt : report.attempts) work += attempt.work;
  EXPECT_LT(work, 2e9);  // a few seconds at most; 1.1e9 today
}

TEST(VelocitySpace, WorkspacesKeepNoMemoryOfOtherProblems) {
  SplitMix rng(16);
  const CanonicalProblem a = loose(rng, 3, true, 1), b = loose(rng, 2, true, 0);
  SolveWorkspace used, fresh;
  Solution x = zero_solution(b), y = zero_solution(a), z = zero_solution(a);
  (void)solve(b, {}, used, x);
  (void)solve(a, {}, used, y);
  (void)solve(a, {}, fresh, z);
  EXPECT_EQ(y.lambda, z.lambda);
  EXPECT_EQ(y.v, z.v);
  EXPECT_EQ(y.gamma, z.gamma);
}

}  // namespace
}  // namespace orthant
