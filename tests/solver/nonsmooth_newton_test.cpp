// SPDX-License-Identifier: Apache-2.0
// solver/nonsmooth_newton_test.cpp: every law, singular and unsymmetric matrices, hard piles.
#include "solver/nonsmooth_newton.hpp"

#include <gtest/gtest.h>

#include "orthant/problem/special_cases.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::KnownProblem;
using testing::SplitMix;

MethodResult run(const CanonicalProblem& p, Solution& x, double tolerance = 1e-10,
                 const NonsmoothNewtonSettings& settings = {}) {
  NonsmoothNewtonWorkspace work;
  MethodLimits limits;
  limits.tolerance = tolerance;
  return solve_nonsmooth_newton(p, scale_of(p), settings, limits, work, x);
}

/// Ten problems of one law: the judge must accept the drawn answer and the one found.
void expect_solved(const Law& law, int blocks, int rank, double skew = 0) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SplitMix rng(seed);
    const KnownProblem known =
        random_local(rng, std::vector<Law>(static_cast<std::size_t>(blocks), law), rank, skew);
    ASSERT_LE(judge(known.problem, known.answer).value, 1e-12);
    Solution x = zero_solution(known.problem);
    const MethodResult r = run(known.problem, x);
    EXPECT_EQ(r.outcome, Outcome::Converged) << "seed " << seed << ", residual " << r.residual;
    EXPECT_LE(judge(known.problem, x).value, 1e-10) << "seed " << seed;
  }
}

TEST(NonsmoothNewton, SolvesEveryLaw) {
  for (const Law& law :
       {Law::zero(2), Law::free(2), Law::orthant(1), Law::orthant(3), Law::box(-0.5, 0.3),
        Law::soc(2, 0.5), Law::soc(3, 0.7), Law::coulomb(2, 0.5), Law::coulomb(3, 0.7),
        Law::coulomb(3, 0), Law::rolling_soc(3, 0.6, 0.2), Law::rolling_soc(5, 0.6, 0.2),
        Law::rolling(3, 0.6, 0.2), Law::rolling(5, 0.6, 0.2)}) {
    SCOPED_TRACE(std::string(name_of(law.kind)) + " " + std::to_string(law.dim));
    expect_solved(law, 6, 40);
  }
}

TEST(NonsmoothNewton, SolvesRankDeficientMatrices) {
  // Free is left out: contradictory equations have no solution near a singular matrix.
  for (const Law& law : {Law::orthant(1), Law::box(-0.5, 0.3), Law::soc(3, 0.7),
                         Law::coulomb(2, 0.5), Law::coulomb(3, 0.7), Law::rolling(5, 0.6, 0.2)}) {
    SCOPED_TRACE(std::string(name_of(law.kind)) + " " + std::to_string(law.dim));
    expect_solved(law, 10, 4 * law.dim);
  }
}

TEST(NonsmoothNewton, SolvesUnsymmetricMatricesAsGiven) {
  expect_solved(Law::coulomb(3, 0.7), 6, 40, 0.02);
  expect_solved(Law::orthant(1), 10, 40, 0.2);
}

TEST(NonsmoothNewton, SparseAndDenseFactorisationAgree) {
  // 25 contacts: 75 rows, above the dense limit.
  expect_solved(Law::coulomb(3, 0.4), 25, 150);
}

TEST(NonsmoothNewton, OneContactInClosedForm) {
  // W = I: slides with r = (1, −μ, 0) since the free velocity (−1, 2, 0) lies outside the cone.
  const SparseMatrix W = MatX::Identity(3, 3).sparseView();
  FrictionData data;
  data.mu = {0.5};
  const CanonicalProblem p = make_local_friction(W, Vec3(-1, 2, 0), data);
  Solution x = zero_solution(p);
  EXPECT_EQ(run(p, x, 1e-14).outcome, Outcome::Converged);
  EXPECT_NEAR(x.lambda[0], 1, 1e-13);
  EXPECT_NEAR(x.lambda[1], -0.5, 1e-13);
  EXPECT_NEAR(x.lambda[2], 0, 1e-13);
  EXPECT_NEAR(x.w[1], 1.5, 1e-13);
}

TEST(NonsmoothNewton, StartsFromTheAnswerWithoutASingleStep) {
  SplitMix rng(5);
  const KnownProblem known = random_local(rng, std::vector<Law>(8, Law::coulomb(3, 0.6)), 50);
  Solution x = known.answer;
  const MethodResult r = run(known.problem, x);
  EXPECT_EQ(r.outcome, Outcome::Converged);
  EXPECT_EQ(r.iterations, 0);
  EXPECT_EQ(x.lambda, known.answer.lambda);
}

TEST(NonsmoothNewton, KeepsItsLimits) {
  SplitMix rng(6);
  const KnownProblem known = random_local(rng, std::vector<Law>(20, Law::coulomb(3, 0.6)), 30);
  NonsmoothNewtonWorkspace work;
  MethodLimits limits;
  limits.max_iterations = 2;
  Solution x = zero_solution(known.problem);
  const ProblemScale scale = scale_of(known.problem);
  const MethodResult r = solve_nonsmooth_newton(known.problem, scale, {}, limits, work, x);
  EXPECT_EQ(r.outcome, Outcome::IterationLimit);
  EXPECT_LE(r.iterations, 2 + NonsmoothNewtonSettings{}.watchdog_steps);
  limits.max_iterations = 0;
  limits.work_limit = 1;
  EXPECT_EQ(solve_nonsmooth_newton(known.problem, scale, {}, limits, work, x).outcome,
            Outcome::WorkLimit);
}

TEST(NonsmoothNewton, ContradictionIsAnOutcome) {
  // 0·λ + 1 = 0 has no solution: it must end, finite, and not claim success.
  const CanonicalProblem p = make_mlcp(MatX::Zero(1, 1).sparseView(), VecX::Ones(1), 1);
  Solution x = zero_solution(p);
  const MethodResult r = run(p, x);
  EXPECT_NE(r.outcome, Outcome::Converged);
  EXPECT_TRUE(x.lambda.allFinite());
}

TEST(NonsmoothNewton, TakesSettingsOutOfTheirRangeAsTheNearest) {
  const CanonicalProblem p = make_mlcp(MatX::Zero(1, 1).sparseView(), VecX::Ones(1), 1);
  const auto iterations = [&](int memory, int restarts) {
    Solution x = zero_solution(p);
    return run(p, x, 1e-10, {.memory = memory, .restarts = restarts}).iterations;
  };
  EXPECT_EQ(iterations(0, 20), iterations(1, 8));
  EXPECT_EQ(iterations(-3, -1), iterations(1, 0));
}

TEST(NonsmoothNewton, UsedWorkspaceGivesTheSameBits) {
  SplitMix rng(7);
  const KnownProblem first = random_local(rng, std::vector<Law>(9, Law::coulomb(3, 0.6)), 12);
  const KnownProblem other = random_local(rng, std::vector<Law>(30, Law::rolling(5, 0.6, 0.1)), 90);
  NonsmoothNewtonWorkspace work;
  const MethodLimits limits;
  Solution a = zero_solution(first.problem), b = a, c = zero_solution(other.problem);
  const ProblemScale scale = scale_of(first.problem);
  (void)solve_nonsmooth_newton(first.problem, scale, {}, limits, work, a);
  (void)solve_nonsmooth_newton(other.problem, scale_of(other.problem), {}, limits, work, c);
  (void)solve_nonsmooth_newton(first.problem, scale, {}, limits, work, b);
  EXPECT_EQ(a.lambda, b.lambda);
}

TEST(NonsmoothNewton, HyperstaticPile) {
  // Many more contacts than the bodies have velocities.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SplitMix rng(seed);
    const KnownProblem known = random_contacts(rng, {.bodies = 8, .contacts = 40});
    const CanonicalProblem local = reduce(known.problem);
    Solution x = zero_solution(local);
    EXPECT_EQ(run(local, x, 1e-8).outcome, Outcome::Converged) << "seed " << seed;
  }
}

}  // namespace
}  // namespace orthant
