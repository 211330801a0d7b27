// SPDX-License-Identifier: Apache-2.0
// The interior point alone, without the automatic choice around it: known answers, every law,
// random problems built from a complementary pair, real files.
#include "orthant/solver/interior_point.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "orthant/problem/special_cases.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/packing.hpp"
#include "support/random_problems.hpp"
#include "support/sample_files.hpp"

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
  std::set<int> unsolved;
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
    if (a.residual.value > 1e-8) unsolved.insert(trial);
    EXPECT_FALSE(a.result.outcome == Outcome::Converged && a.residual.value > 1e-8);
  }
  EXPECT_EQ(unsolved, std::set<int>{});
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
  const std::string folder = testing::source_dir() + "/tests/data/fclib/";
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

/// A pile on one axis: body j carries all above it. One velocity per body, contact j below body j.
CanonicalProblem stack(const std::vector<double>& mass, double impulse_per_mass) {
  CanonicalProblem p;
  const Index n = static_cast<Index>(mass.size());
  p.k.resize(n);
  for (Index i = 0; i < n; ++i) {
    p.H.add_block(1)[0] = mass[static_cast<std::size_t>(i)];
    p.k[i] = -impulse_per_mass * mass[static_cast<std::size_t>(i)];
    p.laws.push_back(Law::orthant());
    p.D.begin_row(1);
    p.D.add(i, i, 1)[0] = 1;
    if (i > 0) p.D.add(i - 1, i - 1, 1)[0] = -1;
  }
  p.b = VecX::Zero(n);
  return p;
}

TEST(InteriorPoint, HeavyOnLightStackStaysAtRest) {
  // The j-th of 20 bodies from below weighs 10^j: eliminating velocities first would lose a digit a
  // body. λ_j is the weight above.
  std::vector<double> mass;
  for (int j = 1; j <= 20; ++j) mass.push_back(std::pow(10.0, j));
  const double impulse = 9.81 * 0.05;
  const CanonicalProblem p = stack(mass, impulse);
  const Answer a = run(p, 1e-10);
  EXPECT_LE(a.residual.value, 1e-10);
  EXPECT_LE(a.x.v.cwiseAbs().maxCoeff(), 1e-8);
  double above = 0;
  for (int j = 19; j >= 0; --j) {
    above += impulse * mass[static_cast<std::size_t>(j)];
    EXPECT_NEAR(a.x.lambda[j] / above, 1, 1e-8) << j;
  }
}

TEST(InteriorPoint, TallAndHeavyStacksTakeFewIterations) {
  for (const double mass : {1e-6, 100.0, 1e6, 1e12}) {
    for (const std::size_t height : {5, 30, 100}) {
      const Answer a = run(stack(std::vector<double>(height, mass), 0.49));
      EXPECT_LE(a.residual.value, 1e-8);
      EXPECT_LE(a.result.iterations, height <= 30 ? 12 : 20) << mass << ' ' << height;
    }
  }
}

/// Frictionless lattices of spheres, and the same with every load changed by up to 0.6 %.
TEST(InteriorPoint, IterationsHardlyGrowWithTheSizeAndStartsHelp) {
  for (const int spheres : {60, 140, 280, 560}) {
    SCOPED_TRACE(spheres);
    CanonicalProblem p = testing::sphere_packing(spheres, 0, false);
    InteriorPointWorkspace work;
    const auto iterations = [&](bool warm, Solution x, Solution* answer = nullptr) {
      const MethodResult r = solve_interior_point(
          p, scale_of(p), {.warm_start = warm, .crossover = true}, {.tolerance = 1e-10}, work, x);
      EXPECT_EQ(r.outcome, Outcome::Converged);
      EXPECT_LE(judge(p, x).value, 1e-10);
      if (answer != nullptr) *answer = x;
      return r.iterations;
    };
    Solution last;
    EXPECT_LE(iterations(false, zero_solution(p), &last), 13);
    for (Index i = 0; i < p.k.size(); ++i) p.k[i] *= 1 + 1e-3 * ((i * 7919) % 13 - 6);
    Solution velocities = zero_solution(p);
    velocities.v = last.v;
    const int cold = iterations(false, zero_solution(p)), partial = iterations(true, velocities);
    EXPECT_LE(cold, 13);
    EXPECT_LE(partial, cold);
    EXPECT_LE(iterations(true, last), 3);
  }
}

/// Bodies on the floor that touch the wall beside them without a load: λ and w of those rows are
/// both zero. On the path they go down as √κ, with Mehrotra's corrector by 3/8 per iteration: 1e-10
/// alone would take twenty and more.
TEST(InteriorPoint, RowsThatTouchWithoutPushingTakeFewIterations) {
  for (const int bodies : {5, 50, 500}) {
    CanonicalProblem p;
    p.k = VecX::Zero(2 * bodies);
    for (int i = 0; i < bodies; ++i) {
      double* H = p.H.add_block(2);
      H[0] = H[3] = 1;
      p.k[2 * i] = -1 - 0.3 * (i % 5);
      for (int row = 0; row < 3; ++row) {  // floor, wall, and a slope between them
        p.laws.push_back(Law::orthant());
        p.D.begin_row(1);
        double* d = p.D.add(i, 2 * i, 2);
        d[0] = row == 0 ? 1 : row == 1 ? 0 : 0.6;
        d[1] = row == 0 ? 0 : row == 1 ? 1 : 0.8;
      }
    }
    p.b = VecX::Zero(3 * bodies);
    const Answer a = run(p, 1e-10);
    EXPECT_LE(a.residual.value, 1e-10) << bodies;
    EXPECT_LE(a.result.iterations, 16) << bodies;
  }
}

/// A pile at rest whose loads spread over nine decades, as those of contacts that hardly push do:
/// the path has to pass each of them unless the sets are known before.
TEST(InteriorPoint, LoadsOfManySizesTakeFewIterations) {
  for (const int spheres : {60, 140, 280}) {
    CanonicalProblem p = testing::sphere_packing(spheres, 0, true);
    p.b.setZero();
    for (Index i = 0; i < spheres; ++i)
      p.k.segment(3 * i, 3) *= std::pow(10.0, -static_cast<double>(i * 7919 % 9));
    for (const InteriorPointForm form : {InteriorPointForm::Saddle, InteriorPointForm::Velocity}) {
      const Answer a = run(p, 1e-10, {.form = form});
      EXPECT_LE(a.residual.value, 1e-10) << spheres;
      EXPECT_LE(a.result.iterations, 12) << spheres;
    }
  }
}

/// The same with friction: beside the boundary of a cone its matrix has eigenvalues over all digits
/// there are. With their products rounded together these end at 1e-9 after 15 to 50 iterations.
TEST(InteriorPoint, FrictionConesKeepTheirDigits) {
  for (const double mu : {0.3, 0.5, 0.8})
    for (const int spheres : {50, 150, 300})
      for (const bool loads : {false, true}) {
        SCOPED_TRACE(std::to_string(mu) + " " + std::to_string(spheres) + (loads ? " loads" : ""));
        CanonicalProblem p = testing::sphere_packing(spheres, mu, false);
        for (Index i = 0; loads && i < spheres; ++i)
          p.k.segment(6 * i, 6) *= std::pow(10.0, -static_cast<double>(i * 7919 % 9));
        if (loads) p.b.setZero();
        const Answer a = run(p, 1e-10, {.form = InteriorPointForm::Velocity, .restarts = 0});
        EXPECT_EQ(a.result.outcome, Outcome::Converged);
        EXPECT_LE(a.residual.value, 1e-10);
        EXPECT_LE(a.result.iterations, 20);
      }
}

TEST(InteriorPoint, LoadsThatVanishByOtherPowersKeepThePath) {
  // A pile at rest, every gap zero. Some spheres carry weight, some a millionth of it and some
  // none: moved along its path at once the point would leave it.
  CanonicalProblem p = testing::sphere_packing(100, 0, true);
  p.b.setZero();
  for (Index i = 0; i < 100; ++i) p.k.segment(3 * i, 3) *= i % 7 == 0 ? 1 : i % 3 == 0 ? 0 : 1e-6;
  const Answer a = run(p, 1e-10);
  EXPECT_EQ(a.result.outcome, Outcome::Converged);
  EXPECT_LE(a.residual.value, 1e-10);
}

/// The exit of published counts: what it promises holds of the answer, iterations are flat in the
/// number of spheres, and friction cones take at most half as many again.
TEST(InteriorPoint, ThePublishedExitTakesFewStepsAtAnySize) {
  for (const int spheres : {60, 280, 1000}) {
    SCOPED_TRACE(spheres);
    const auto iterations = [&](double mu) {
      const CanonicalProblem p = testing::sphere_packing(spheres, mu, false);
      InteriorPointWorkspace work;
      Solution x = zero_solution(p);
      const MethodResult r = solve_interior_point(
          p, scale_of(p), {.exit_gap = 1e-9, .exit_error = 1e-10}, {.tolerance = 1e-10}, work, x);
      EXPECT_EQ(r.outcome, Outcome::Converged);
      VecX balance, w = p.b;
      p.H.multiply(x.v, balance);
      balance -= p.k;
      p.D.multiply_transpose_add(-1, x.lambda, balance);
      p.D.multiply_add(1, x.v, w);
      EXPECT_LT(balance.norm() / static_cast<double>(balance.size()), 1e-10);
      EXPECT_LT(std::abs(x.lambda.dot(w)) / p.block_count(), 2e-9);
      EXPECT_GT(w.dot(w), 0);
      return r.iterations;
    };
    const int smooth = iterations(0), rough = iterations(0.5);
    EXPECT_LE(smooth, 10);
    EXPECT_LE(rough, 15);
  }
}

/// Starts and step rules of the thesis lead to the same motion; each of them takes another path.
TEST(InteriorPoint, OptionsOfTheThesisLeadToTheSameAnswer) {
  const InteriorPointSettings plain = {.correctors = 0};
  const auto with = [&](auto&& change) {
    InteriorPointSettings s = plain;
    change(s);
    return s;
  };
  const InteriorPointSettings options[] = {
      with([](auto& s) { s.predicted_start = true; }),
      with([](auto& s) { s.predictor_only = true; }),
      with([](auto& s) { s.adaptive_boundary = true; }),
      with([](auto& s) { s.separate_steps = true; }),
      with([](auto& s) { s.predicted_start = s.adaptive_boundary = s.separate_steps = true; })};
  for (const double mu : {0.0, 0.5}) {
    const CanonicalProblem p = testing::sphere_packing(60, mu, false);
    const Answer own = run(p, 1e-8, plain);
    ASSERT_LE(own.residual.value, 1e-8);
    for (std::size_t i = 0; i < std::size(options); ++i) {
      if (options[i].predictor_only && mu > 0) continue;  // nothing keeps it off the cones' sides
      SCOPED_TRACE(::testing::Message() << "friction " << mu << ", option " << i);
      const Answer a = run(p, 1e-8, options[i]);
      EXPECT_EQ(a.result.outcome, Outcome::Converged);
      EXPECT_LE((a.x.v - own.x.v).norm(), 1e-6 * (1 + own.x.v.norm()));
      EXPECT_NE(a.x.lambda, own.x.lambda);
    }
  }
  // A row between two bounds has no room for a start inside both: the plain start is taken.
  const VecX q = VecX::Constant(1, -2.0);
  EXPECT_NEAR(run(single(Law::box(-0.1, 0.1), q), 1e-8, options[0]).x.lambda[0], 0.1, 1e-7);
}

TEST(InteriorPoint, VelocitiesAndReducedFormGiveTheSameMotion) {
  SplitMix rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    const KnownProblem known = testing::random_contacts(
        rng, {.bodies = 5, .contacts = 9, .exact = false});  // convex: v is unique
    const Answer full = run(known.problem), local = run(reduce(known.problem));
    ASSERT_LE(full.residual.value, 1e-8);
    ASSERT_LE(local.residual.value, 1e-7);
    Solution expanded;
    expand(known.problem, local.x, expanded);
    EXPECT_LE((full.x.v - expanded.v).norm(), 1e-6 * (1 + expanded.v.norm()));
    EXPECT_LE((full.x.v - known.answer.v).norm(), 1e-6 * (1 + known.answer.v.norm()));
  }
}

TEST(InteriorPoint, RandomContactsWithMassRatios) {
  SplitMix rng(17);
  for (const double ratio : {1.0, 1e4, 1e8, 1e12}) {
    int solved = 0, close = 0;
    for (int trial = 0; trial < 40; ++trial) {
      const KnownProblem known = testing::random_contacts(
          rng, {.bodies = 6, .contacts = 12, .mass_ratio = ratio, .exact = trial % 2 == 0});
      const Answer a = run(known.problem);
      solved += a.residual.value <= 1e-8;
      close += a.residual.value <= 1e-6;
      EXPECT_FALSE(a.result.outcome == Outcome::Converged && a.residual.value > 1e-8);
    }
    // Light contacts among heavy ones are left to the polish that follows.
    EXPECT_GE(solved, ratio <= 1e4 ? 36 : 16) << ratio;
    EXPECT_GE(close, ratio <= 1e8 ? 38 : 28) << ratio;
  }
}

/// Two bodies with one velocity each, held together by `rows`, each v_0 − v_1 + e = 0.
CanonicalProblem pair_held(const std::vector<double>& e) {
  CanonicalProblem p;
  for (int i = 0; i < 2; ++i) p.H.add_block(1)[0] = 1 + i;
  p.k = Vec2(1, 4);
  for (std::size_t i = 0; i < e.size(); ++i) {
    p.C.begin_row(1);
    p.C.add(0, 0, 1)[0] = 1;
    p.C.add(1, 1, 1)[0] = -1;
  }
  p.e = Eigen::Map<const VecX>(e.data(), static_cast<Index>(e.size()));
  p.b.resize(0);
  return p;
}

TEST(InteriorPoint, WithoutContactsOneLinearSolveIsTheAnswer) {
  const Answer a = run(pair_held({0.0}), 1e-10);
  EXPECT_EQ(a.result.outcome, Outcome::Converged);
  EXPECT_LE(a.result.iterations, 2);
  EXPECT_NEAR(a.x.v[0], 5.0 / 3, 1e-10);
  EXPECT_NEAR(a.x.v[1], 5.0 / 3, 1e-10);
}

TEST(InteriorPoint, RedundantJointsAreHarmlessAndContradictoryOnesInfeasible) {
  const Answer twice = run(pair_held({0.5, 0.5, 0.5}), 1e-10);
  EXPECT_EQ(twice.result.outcome, Outcome::Converged);
  EXPECT_NEAR(twice.x.v[1] - twice.x.v[0], 0.5, 1e-9);
  const Answer never = run(pair_held({0.5, -0.5}), 1e-10);
  EXPECT_EQ(never.result.outcome, Outcome::Infeasible);
}

TEST(InteriorPoint, AnEmptyProblemIsSolved) {
  CanonicalProblem p;
  p.k.resize(0);
  p.e.resize(0);
  p.b.resize(0);
  EXPECT_EQ(run(p).result.outcome, Outcome::Converged);
}

}  // namespace
}  // namespace orthant
