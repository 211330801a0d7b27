// SPDX-License-Identifier: Apache-2.0
// Orthant rows by conjugate gradients on pair blocks and by the interior point in velocity form:
// against Lemke on small problems, copies of rows and nearly parallel rows (what the recursion
// makes), an unsolvable problem, variants of rounding, and the same bits for any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/parallel.hpp"
#include "orthant/solver/interior_point.hpp"
#include "orthant/solver/solve.hpp"
#include "solver/pair_blocks.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

/// Bodies in a ring and random chords, each pair with `copies` rows that differ by `spread`.
CanonicalProblem packing(int bodies, int pairs, int copies, double spread, std::uint64_t seed) {
  SplitMix random(seed);
  CanonicalProblem p;
  for (int b = 0; b < bodies; ++b) {
    double* H = p.H.add_block(6);
    const double mass = random.uniform(0.5, 2);
    for (int i = 0; i < 6; ++i) H[i * 6 + i] = i < 3 ? mass : 0.4 * mass;
  }
  p.k.resize(6 * bodies);
  for (Index i = 0; i < p.k.size(); ++i) p.k[i] = random.uniform(-1, 1);
  std::vector<double> b;
  for (int c = 0; c < pairs; ++c) {
    const int one = c % bodies;
    int two = c < bodies ? (c + 1) % bodies : random.index(bodies);
    if (two == one) two = (one + 2) % bodies;
    double row[12];
    for (double& x : row) x = random.uniform(-1, 1);
    const double gap = random.uniform(-0.3, 0.3);
    for (int k = 0; k < copies; ++k) {
      p.laws.push_back(Law::orthant(1));
      p.D.begin_row(1);
      for (int side = 0; side < 2; ++side) {
        const int body = side == 0 ? one : two;
        double* values = p.D.add(body, 6 * body, 6);
        for (int i = 0; i < 6; ++i)
          values[i] = row[6 * side + i] + (k == 0 ? 0.0 : spread * random.uniform(-1, 1));
      }
      b.push_back(gap);
    }
  }
  p.b = Eigen::Map<const VecX>(b.data(), static_cast<Index>(b.size()));
  p.e.resize(0);
  return p;
}

SolveReport run(const CanonicalProblem& p, Method method, double tolerance, Solution& x) {
  return solve(p, {.method = method, .tolerance = tolerance}, x);
}

TEST(PairBlocks, SameMotionAsLemke) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    for (const double spread : {0.0, 1e-12, 1e-6, 1e-3, 0.3}) {
      const CanonicalProblem p = packing(8, 14, 3, spread, seed);
      Solution x, truth;
      const SolveReport reference = run(p, Method::Lemke, 1e-10, truth);
      const SolveReport report = run(p, Method::PairBlocks, 1e-10, x);
      ASSERT_EQ(reference.outcome, Outcome::Converged) << seed << " " << spread;
      EXPECT_EQ(report.outcome, Outcome::Converged) << seed << " " << spread;
      EXPECT_LT((x.v - truth.v).norm(), 1e-6 * (1 + truth.v.norm())) << seed << " " << spread;
    }
  }
}

TEST(PairBlocks, RowsOfOneBodyBesideRowsOfTwo) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CanonicalProblem p = packing(8, 12, 1, 0, seed);
    SplitMix random(seed + 100);
    p.b.conservativeResize(p.b.size() + 6);
    for (int c = 0; c < 6; ++c) {
      p.laws.push_back(Law::orthant(1));
      p.D.begin_row(1);
      double* values = p.D.add(c, 6 * c, 6);
      for (int i = 0; i < 6; ++i) values[i] = random.uniform(-1, 1);
      p.b[12 + c] = random.uniform(-0.3, 0.3);
    }
    Solution x, truth;
    ASSERT_EQ(run(p, Method::Lemke, 1e-10, truth).outcome, Outcome::Converged) << seed;
    EXPECT_EQ(run(p, Method::PairBlocks, 1e-10, x).outcome, Outcome::Converged) << seed;
    EXPECT_LT((x.v - truth.v).norm(), 1e-6 * (1 + truth.v.norm())) << seed;
  }
}

TEST(PairBlocks, CopiesOfRowsCostLittle) {
  // Two nearly equal rows per pair: plain projected gradients fail within 20000 iterations.
  const CanonicalProblem one = packing(200, 500, 1, 0, 3), two = packing(200, 500, 2, 1e-7, 3);
  Solution x, y;
  const SolveReport single = run(one, Method::PairBlocks, 1e-9, x);
  const SolveReport twice = run(two, Method::PairBlocks, 1e-9, y);
  EXPECT_EQ(single.outcome, Outcome::Converged);
  EXPECT_EQ(twice.outcome, Outcome::Converged);
  EXPECT_LE(twice.iterations, 3 * single.iterations);
  const CanonicalProblem five = packing(200, 500, 5, 1e-7, 3);
  const SolveReport many = run(five, Method::PairBlocks, 1e-9, y);
  EXPECT_EQ(many.outcome, Outcome::Converged);
  EXPECT_LE(many.iterations, 2000);
}

/// The order in which rows are added changes only rounding; which of them are released and when
/// must not hang on it. (With a release at a thirtieth of the active gradient some orders took five
/// times the products of others on 65,000 rods.)
TEST(PairBlocks, IterationsDoNotHangOnRounding) {
  const CanonicalProblem p = packing(900, 2700, 2, 1e-4, 13);
  int least = 1 << 30, most = 0;
  for (int variant = 0; variant < 6; ++variant) {
    CanonicalProblem q = p;
    SplitMix random(static_cast<std::uint64_t>(variant));
    for (Index i = 0; i < q.b.size(); ++i) q.b[i] *= 1 + 1e-15 * random.uniform(-1, 1);
    Solution x = zero_solution(q);
    PairBlocksWorkspace work;
    const MethodResult r =
        solve_pair_blocks(q, scale_of(q), {.judge_every = 1}, {.tolerance = 1e-9}, work, x);
    EXPECT_EQ(r.outcome, Outcome::Converged) << variant;
    least = std::min(least, r.iterations);
    most = std::max(most, r.iterations);
  }
  EXPECT_LE(2 * most, 3 * least) << least << " to " << most;
}

constexpr InteriorPointSettings kVelocityForm{.form = InteriorPointForm::Velocity};

TEST(InteriorPointInVelocities, SameMotionAsConjugateGradientsAndTheSaddleForm) {
  for (const double spread : {0.0, 1e-6, 1e-3}) {
    const CanonicalProblem p = packing(60, 150, 2, spread, 5);
    const ProblemScale scale = scale_of(p);
    Solution x = zero_solution(p), velocity = x, saddle = x;
    PairBlocksWorkspace blocks;
    InteriorPointWorkspace work;
    const MethodLimits limits{.tolerance = 1e-9};
    EXPECT_EQ(solve_pair_blocks(p, scale, {}, limits, blocks, x).outcome, Outcome::Converged);
    EXPECT_EQ(solve_interior_point(p, scale, kVelocityForm, limits, work, velocity).outcome,
              Outcome::Converged)
        << spread;
    EXPECT_EQ(solve_interior_point(p, scale, {}, limits, work, saddle).outcome, Outcome::Converged);
    EXPECT_LT((velocity.v - x.v).norm(), 1e-6 * (1 + x.v.norm())) << spread;
    EXPECT_LT((velocity.v - saddle.v).norm(), 1e-6 * (1 + x.v.norm())) << spread;
  }
}

TEST(InteriorPointInVelocities, KeepsNoMemoryButTheOrder) {
  const CanonicalProblem p = packing(80, 200, 2, 1e-3, 11), other = packing(70, 150, 1, 0, 4);
  const ProblemScale scale = scale_of(p), other_scale = scale_of(other);
  InteriorPointWorkspace fresh, used;
  Solution a = zero_solution(p), b = zero_solution(p), c = zero_solution(other);
  (void)solve_interior_point(other, other_scale, kVelocityForm, {.tolerance = 1e-9}, used, c);
  (void)solve_interior_point(p, scale, kVelocityForm, {.tolerance = 1e-9}, fresh, a);
  for (int round = 0; round < 2; ++round) {  // another graph before it, then its own
    b = zero_solution(p);
    (void)solve_interior_point(p, scale, kVelocityForm, {.tolerance = 1e-9}, used, b);
    EXPECT_TRUE(a.lambda == b.lambda && a.v == b.v);
  }
}

/// Planar bodies on a grid, drawn to its middle, a row or two a pair: a packing under pressure.
CanonicalProblem planar_packing(int side, double squeeze) {
  SplitMix random(17);
  CanonicalProblem p;
  const int bodies = side * side;
  p.k.resize(3 * bodies);
  for (int b = 0; b < bodies; ++b) {
    double* H = p.H.add_block(3);
    for (int i = 0; i < 3; ++i) H[i * 3 + i] = i < 2 ? 1 : 0.3;
    const int row = b / side;
    p.k.segment<3>(3 * b) << -(b % side - 0.5 * side), -(row - 0.5 * side),
        random.uniform(-0.5, 0.5);
  }
  std::vector<double> gaps;
  const auto touch = [&](int one, int two, double x, double y) {
    for (int k = 0; k < 2; ++k) {
      const double turn = random.uniform(-0.3, 0.3), lever = random.uniform(-0.5, 0.5);
      const double nx = x * std::cos(turn) - y * std::sin(turn);
      const double ny = y * std::cos(turn) + x * std::sin(turn);
      p.laws.push_back(Law::orthant(1));
      p.D.begin_row(1);
      for (const int sign : {-1, 1}) {
        const int body = sign < 0 ? one : two;
        double* values = p.D.add(body, 3 * body, 3);
        values[0] = sign * nx;
        values[1] = sign * ny;
        values[2] = lever;
      }
      gaps.push_back(random.uniform(0, 0.1) - squeeze * random.uniform(0, 1));
    }
  };
  for (int b = 0; b < bodies; ++b) {
    if (b % side + 1 < side) touch(b, b + 1, 1, 0);
    if (b + side < bodies) touch(b, b + side, 0, 1);
  }
  p.b = Eigen::Map<const VecX>(gaps.data(), static_cast<Index>(gaps.size()));
  p.e.resize(0);
  return p;
}

TEST(InteriorPointInVelocities, TakesFewFactorisationsAtAnySize) {
  int least = 1000, most = 0;
  for (const int side : {10, 30, 90}) {
    const CanonicalProblem p = planar_packing(side, 0.2);
    Solution x = zero_solution(p);
    InteriorPointWorkspace work;
    const MethodResult r =
        solve_interior_point(p, scale_of(p), kVelocityForm, {.tolerance = 1e-9}, work, x);
    EXPECT_EQ(r.outcome, Outcome::Converged) << side;
    least = std::min(least, r.iterations);
    most = std::max(most, r.iterations);
  }
  EXPECT_LE(most, 20);
  EXPECT_LE(most, least + 8);
}

TEST(PairBlocks, AStartThatIsNearTakesFewFactorisations) {
  const CanonicalProblem last = planar_packing(30, 0.2), now = planar_packing(30, 0.2002);
  const SolveSettings settings{.method = Method::PairBlocks, .tolerance = 1e-9};
  SolveWorkspace work;
  Solution x = zero_solution(last), cold = zero_solution(now);
  ASSERT_EQ(solve(last, settings, work, x).outcome, Outcome::Converged);
  const SolveReport from_last = solve(now, settings, work, x);
  const SolveReport from_zero = solve(now, settings, work, cold);
  EXPECT_EQ(from_last.outcome, Outcome::Converged);
  EXPECT_LT(2 * from_last.iterations, from_zero.iterations);
  EXPECT_LT((x.v - cold.v).norm(), 1e-7 * cold.v.norm());
}

TEST(PairBlocks, UnsolvableEndsInBoundedWork) {
  // One body squeezed from both sides: no answer.
  CanonicalProblem p;
  double* H = p.H.add_block(6);
  for (int i = 0; i < 6; ++i) H[i * 6 + i] = 1;
  p.k = VecX::Zero(6);
  for (const double sign : {1.0, -1.0}) {
    p.laws.push_back(Law::orthant(1));
    p.D.begin_row(1);
    p.D.add(0, 0, 6)[0] = sign;
  }
  p.b = VecX::Constant(2, -1.0);
  p.e.resize(0);
  Solution x;
  const SolveReport report = solve(p, {.method = Method::PairBlocks, .max_iterations = 500}, x);
  EXPECT_NE(report.outcome, Outcome::Converged);
  EXPECT_TRUE(x.v.allFinite());
  InteriorPointWorkspace work;
  x = zero_solution(p);
  const MethodResult path = solve_interior_point(p, scale_of(p), kVelocityForm, {}, work, x);
  EXPECT_NE(path.outcome, Outcome::Converged);
  EXPECT_LE(path.iterations, 100);
  EXPECT_TRUE(x.v.allFinite());
}

TEST(PairBlocks, SameBitsForAnyThreads) {
  const CanonicalProblem p = packing(900, 2500, 2, 1e-4, 7);
  VecX reference;
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    Solution x;
    (void)run(p, Method::PairBlocks, 1e-8, x);
    if (threads == 1) reference = x.lambda;
    EXPECT_TRUE(x.lambda == reference);
  }
  set_thread_count(1);
}

TEST(PairBlocks, RefusesWhatItCannotDo) {
  CanonicalProblem p = packing(4, 5, 1, 0, 1);
  p.laws[0] = Law::free(1);
  EXPECT_NE(why_not_applicable(Method::PairBlocks, p), "");
}

}  // namespace
}  // namespace orthant
