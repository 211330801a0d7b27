// SPDX-License-Identifier: Apache-2.0
// The interior point alone, without the automatic choice around it: known answers, every law,
// random problems built from a complementary pair, real files.
#include "orthant/solver/interior_point.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "orthant/problem/special_cases.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::KnownProblem;
using testing::SplitMix;

struct Answer {
  MethodResult result;
  Solution x;
  Residual residual;
};

Answer run(const CanonicalProblem& p, double tolerance = 1e-8,
           const InteriorPointSettings& settings = {}) {
  validate(p);
  Answer a;
  a.x = zero_solution(p);
  InteriorPointWorkspace work;
  MethodLimits limits;
  limits.tolerance = tolerance;
  a.result = solve_interior_point(p, scale_of(p), settings, limits, work, a.x);
  a.residual = judge(p, a.x);
  return a;
}

/// One law on a single block with W = I.
CanonicalProblem single(const Law& law, const VecX& q) {
  CanonicalProblem p;
  p.laws = {law};
  p.F.begin_row(law.dim);
  double* f = p.F.add(0, 0, law.dim);
  for (int i = 0; i < law.dim; ++i) f[i * law.dim + i] = 1;
  p.b = q;
  return p;
}

TEST(InteriorPoint, OrthantBoxFreeAndZeroHaveClosedForms) {
  EXPECT_NEAR(run(single(Law::orthant(), VecX::Constant(1, -2.0))).x.lambda[0], 2, 1e-7);
  EXPECT_NEAR(run(single(Law::orthant(), VecX::Constant(1, 3.0))).x.lambda[0], 0, 1e-7);
  EXPECT_NEAR(run(single(Law::box(-1, 0.5), VecX::Constant(1, -2.0))).x.lambda[0], 0.5, 1e-7);
  EXPECT_NEAR(run(single(Law::box(-1, 0.5), VecX::Constant(1, 2.0))).x.lambda[0], -1, 1e-7);
  EXPECT_NEAR(run(single(Law::box(-1, 0.5), VecX::Constant(1, 0.3))).x.lambda[0], -0.3, 1e-7);
  EXPECT_NEAR(
      run(single(Law::box(-std::numeric_limits<double>::infinity(), 0.5), VecX::Constant(1, 7)))
          .x.lambda[0],
      -7, 1e-7);
  EXPECT_EQ(run(single(Law::box(0.25, 0.25), VecX::Constant(1, 2.0))).x.lambda[0], 0.25);
  EXPECT_NEAR(run(single(Law::free(2), VecX::Constant(2, -4.0))).x.lambda[1], 4, 1e-12);
  EXPECT_EQ(run(single(Law::zero(), VecX::Constant(1, -4.0))).x.lambda[0], 0);
}

TEST(InteriorPoint, OneContactSticksSlidesAndOpens) {
  // W = I: sticks when the free force lies in the cone, else slides with λ_n = −q_n.
  const Answer stick = run(single(Law::coulomb(3, 0.5), Vec3(-1, 0.3, 0.2)));
  EXPECT_NEAR((stick.x.lambda - Vec3(1, -0.3, -0.2)).norm(), 0, 1e-7);
  const Answer slide = run(single(Law::coulomb(3, 0.5), Vec3(-1, 3, 4)));
  EXPECT_NEAR((slide.x.lambda - Vec3(1, -0.3, -0.4)).norm(), 0, 1e-7);
  EXPECT_NEAR(slide.x.w[0], 0, 1e-7);
  const Answer open = run(single(Law::coulomb(3, 0.5), Vec3(1, 3, 4)));
  EXPECT_NEAR(open.x.lambda.norm(), 0, 1e-7);
  // The convex relaxation opens while it slides: w_n = μ|w_t|.
  const Answer convex = run(single(Law::soc(3, 0.5), Vec3(-1, 3, 4)));
  EXPECT_NEAR(convex.x.w[0], 0.5 * convex.x.w.tail(2).norm(), 1e-7);
  // Without friction the tangents carry nothing.
  const Answer smooth = run(single(Law::coulomb(3, 0), Vec3(-1, 3, 4)));
  EXPECT_NEAR((smooth.x.lambda - Vec3(1, 0, 0)).norm(), 0, 1e-7);
}

TEST(InteriorPoint, PlanarContactAgreesWithItsSpatialTwin) {
  const Answer planar = run(single(Law::coulomb(2, 0.3), Vec2(-2, 5)), 1e-10);
  const Answer spatial = run(single(Law::coulomb(3, 0.3), Vec3(-2, 5, 0)), 1e-10);
  EXPECT_NEAR((planar.x.lambda - spatial.x.lambda.head(2)).norm(), 0, 1e-9);
}

TEST(InteriorPoint, RollingTorqueIsBoundedByTheNormalForce) {
  VecX q(5);
  q << -1, 0.1, 0, 2, 0;
  const Answer a = run(single(Law::rolling(5, 0.5, 0.2), q));
  EXPECT_LE(a.residual.value, 1e-8);
  EXPECT_NEAR(a.x.lambda[0], 1, 1e-7);
  EXPECT_NEAR(a.x.lambda[1], -0.1, 1e-7);
  EXPECT_NEAR(a.x.lambda[3], -0.2, 1e-7);
}

TEST(InteriorPoint, RandomLocalProblemsOfEveryLaw) {
  SplitMix rng(7);
  int solved = 0, tried = 0;
  for (int trial = 0; trial < 120; ++trial) {
    std::vector<Law> laws;
    for (int i = 0; i < 6; ++i) {
      switch (rng.index(8)) {
        case 0:
          laws.push_back(Law::orthant(2));
          break;
        case 1:
          laws.push_back(Law::box(-rng.uniform(), rng.uniform()));
          break;
        case 2:
          laws.push_back(Law::free(1));
          break;
        case 3:
          laws.push_back(Law::zero(1));
          break;
        case 4:
          laws.push_back(Law::soc(3, rng.uniform(0, 1.5)));
          break;
        case 5:
          laws.push_back(Law::coulomb(2, rng.uniform(0, 1.5)));
          break;
        case 6:
          laws.push_back(Law::rolling_soc(5, rng.uniform(), 0.3 * rng.uniform()));
          break;
        default:
          laws.push_back(Law::coulomb(3, rng.uniform(0, 1)));
          break;
      }
    }
    const KnownProblem known = testing::random_local(rng, laws, 12);
    const Answer a = run(known.problem);
    ++tried;
    solved += a.residual.value <= 1e-8;
    EXPECT_FALSE(a.result.outcome == Outcome::Converged && a.residual.value > 1e-8);
  }
  // Exact friction with an arbitrary W is not monotone: the path may end before its goal.
  EXPECT_GE(solved, tried * 95 / 100) << solved << " of " << tried;
}

TEST(InteriorPoint, UnsymmetricMatricesAreSolvedAsGiven) {
  SplitMix rng(11);
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<Law> laws(5, Law::coulomb(3, 0.4));
    const KnownProblem known = testing::random_local(rng, laws, 15, 0.02);
    const Answer a = run(known.problem);
    EXPECT_LE(a.residual.value, 1e-8) << trial;
  }
}

TEST(InteriorPoint, RealFilesToTheEndOrCloseEnoughToPolish) {
  const std::string folder = std::string(ORTHANT_SOURCE_DIR) + "/tests/data/fclib/";
  for (const char* name :
       {"BoxesStack1-i100000-32.hdf5.dat", "NESpheres_10_1.dat", "OneObject-i1028-138.hdf5.dat",
        "rockfall_14_25792.dat", "GFC3D_TwoRods1-condensed.dat", "Rover3865.dat"}) {
    const CanonicalProblem p = to_problem(read_problem(folder + name));
    const Answer a = run(p);
    EXPECT_LE(a.residual.value, 1e-6) << name;
    EXPECT_LE(a.result.iterations, 40) << name;
  }
}

TEST(InteriorPoint, UnitsDoNotMatter) {
  SplitMix rng(5);
  const KnownProblem known = testing::random_contacts(rng, {.bodies = 6, .contacts = 10});
  const CanonicalProblem base = reduce(known.problem);
  const Answer reference = run(base);
  ASSERT_LE(reference.residual.value, 1e-8);
  for (const double mass : {1e-6, 1e6}) {
    for (const double length : {1e-6, 1e6}) {
      CanonicalProblem p = base;
      for (double& f : p.F.all_values()) f /= mass;
      p.b *= length;
      const Answer a = run(p);
      EXPECT_LE(a.residual.value, 1e-8);
      EXPECT_NEAR(a.result.iterations, reference.result.iterations,
                  0.2 * reference.result.iterations);
      EXPECT_LE((a.x.lambda / (mass * length) - reference.x.lambda).norm(),
                1e-5 * reference.x.lambda.norm());
    }
  }
}

TEST(InteriorPoint, SameArgumentsSameBits) {
  SplitMix rng(5);
  const KnownProblem known = testing::random_contacts(rng, {.bodies = 6, .contacts = 10});
  const CanonicalProblem p = reduce(known.problem);
  const ProblemScale scale = scale_of(p);
  InteriorPointWorkspace work;
  Solution first = zero_solution(p), second = zero_solution(p), other;
  (void)solve_interior_point(p, scale, {}, {}, work, first);
  const CanonicalProblem q = single(Law::coulomb(3, 0.5), Vec3(-1, 3, 4));
  other = zero_solution(q);
  (void)solve_interior_point(q, scale_of(q), {}, {}, work, other);  // a workspace has no memory
  (void)solve_interior_point(p, scale, {}, {}, work, second);
  EXPECT_EQ(first.lambda, second.lambda);
}

}  // namespace
}  // namespace orthant
