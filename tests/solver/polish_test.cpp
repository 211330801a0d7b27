// SPDX-License-Identifier: Apache-2.0
// solver/polish_test.cpp: from 1e-4 to rounding, every law.
#include "solver/polish.hpp"

#include <gtest/gtest.h>

#include "orthant/problem/special_cases.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::KnownProblem;
using testing::SplitMix;

MethodResult run(const CanonicalProblem& p, Solution& x, double tolerance) {
  PolishWorkspace work;
  MethodLimits limits;
  limits.tolerance = tolerance;
  return polish(p, scale_of(p), {}, limits, work, x);
}

void perturb(SplitMix& rng, double size, VecX& x) {
  for (Index i = 0; i < x.size(); ++i) x[i] *= 1 + size * rng.normal();
}

/// The drawn answer with relative noise must come back to rounding in a few factorisations.
void expect_polished(const KnownProblem& known, SplitMix& rng, double noise = 1e-4) {
  Solution x = known.answer;
  perturb(rng, noise, x.v);
  perturb(rng, noise, x.gamma);
  perturb(rng, noise, x.lambda);
  const double before = judge(known.problem, x).value;
  if (known.answer.lambda.isZero(0)) return;  // noise on nothing
  ASSERT_GT(before, 1e-3 * noise);            // the noise is seen
  const MethodResult r = run(known.problem, x, 1e-12);
  EXPECT_EQ(r.outcome, Outcome::Converged) << "residual " << r.residual << " from " << before;
  EXPECT_LE(judge(known.problem, x).value, 1e-12);
  EXPECT_LE(r.iterations, 10);  // twice the Newton steps of one guess
}

TEST(Polish, EveryLaw) {
  for (const Law& law :
       {Law::free(2), Law::orthant(1), Law::orthant(3), Law::box(-0.5, 0.3), Law::soc(2, 0.5),
        Law::soc(3, 0.7), Law::coulomb(2, 0.5), Law::coulomb(3, 0.7), Law::coulomb(3, 0),
        Law::rolling_soc(3, 0.6, 0.2), Law::rolling_soc(5, 0.6, 0.2), Law::rolling(3, 0.6, 0.2),
        Law::rolling(5, 0.6, 0.2)}) {
    SCOPED_TRACE(std::string(name_of(law.kind)) + " " + std::to_string(law.dim));
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SplitMix rng(seed);
      expect_polished(random_local(rng, std::vector<Law>(5, law), 40), rng);
    }
  }
}

TEST(Polish, VelocitiesJointsAndMassRatios) {
  for (const int dim : {2, 3, 5}) {
    for (const double ratio : {1.0, 1e6, 1e12}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(::testing::Message() << "dim " << dim << ", ratio " << ratio << ", " << seed);
        SplitMix rng(seed);
        expect_polished(random_contacts(rng, {.bodies = 6,
                                              .contacts = 6,
                                              .dim = dim,
                                              .mass_ratio = ratio,
                                              .joints = dim == 5 ? 0 : 2}),
                        rng);
      }
    }
  }
}

TEST(Polish, RedundantContacts) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SplitMix rng(seed);
    expect_polished(random_contacts(rng, {.bodies = 3, .contacts = 15}), rng, 1e-6);
  }
}

TEST(Polish, LargeEnoughForTheSparseFactorisation) {
  SplitMix rng(3);
  expect_polished(random_contacts(rng, {.bodies = 30, .contacts = 40}), rng, 1e-5);
}

TEST(Polish, NeverMakesAnAnswerWorse) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SplitMix rng(seed);
    const KnownProblem known = random_contacts(rng, {.bodies = 4, .contacts = 12});
    Solution x = known.answer;
    perturb(rng, 3, x.lambda);
    perturb(rng, 3, x.v);
    const double before = judge(known.problem, x).value;
    const MethodResult r = run(known.problem, x, 1e-12);
    EXPECT_LE(judge(known.problem, x).value, before);
    EXPECT_DOUBLE_EQ(judge(known.problem, x).value, r.residual);
  }
}

TEST(Polish, UsedWorkspaceGivesTheSameBits) {
  SplitMix rng(4);
  const KnownProblem first = random_contacts(rng, {.bodies = 3, .contacts = 7});
  const KnownProblem other = random_contacts(rng, {.bodies = 20, .contacts = 30, .joints = 3});
  Solution a = first.answer, c = other.answer;
  perturb(rng, 1e-4, a.lambda);
  perturb(rng, 1e-4, c.lambda);
  Solution b = a;
  PolishWorkspace work;
  const MethodLimits limits{.tolerance = 1e-13};
  const ProblemScale scale = scale_of(first.problem);
  (void)polish(first.problem, scale, {}, limits, work, a);
  (void)polish(other.problem, scale_of(other.problem), {}, limits, work, c);
  (void)polish(first.problem, scale, {}, limits, work, b);
  EXPECT_EQ(a.lambda, b.lambda);
  EXPECT_EQ(a.v, b.v);
}

}  // namespace
}  // namespace orthant
