// SPDX-License-Identifier: Apache-2.0
// Many rows per pair of bodies, few of which push: solve() works on those, solve_pair_blocks() on
// all.
#include <gtest/gtest.h>

#include "orthant/solver/solve.hpp"
#include "solver/pair_blocks.hpp"
#include "solver/working_set.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

constexpr int kBodies = 150, kPairs = 400;

/// Each pair has `rows` rows in directions that fan out; one gap in `deep` may close.
CanonicalProblem rough_bodies(int rows, int deep, std::uint64_t seed) {
  SplitMix random(seed);
  CanonicalProblem p;
  for (int b = 0; b < kBodies; ++b) {
    double* H = p.H.add_block(6);
    for (int i = 0; i < 6; ++i) H[i * 6 + i] = i < 3 ? 1 : 0.4;
  }
  p.k.resize(6 * kBodies);
  for (Index i = 0; i < p.k.size(); ++i) p.k[i] = random.uniform(-1, 1);
  std::vector<double> gaps;
  for (int c = 0; c < kPairs; ++c) {
    const int one = c % kBodies, two = (one + 1 + random.index(kBodies - 1)) % kBodies;
    double row[12];
    for (double& x : row) x = random.uniform(-1, 1);
    for (int k = 0; k < rows; ++k) {
      p.laws.push_back(Law::orthant(1));
      p.D.begin_row(1);
      for (int side = 0; side < 2; ++side) {
        const int body = side == 0 ? one : two;
        double* values = p.D.add(body, 6 * body, 6);
        for (int i = 0; i < 6; ++i) values[i] = row[6 * side + i] + 0.1 * random.uniform(-1, 1);
      }
      gaps.push_back(k % deep == 0 ? random.uniform(-0.3, 0.3) : random.uniform(0.5, 4));
    }
  }
  p.b = Eigen::Map<const VecX>(gaps.data(), static_cast<Index>(gaps.size()));
  p.e.resize(0);
  return p;
}

SolveReport run(const CanonicalProblem& p, double tolerance, Solution& x, double work_limit = 0) {
  SolveWorkspace work;
  return solve(p, {.method = Method::PairBlocks, .tolerance = tolerance, .work_limit = work_limit},
               work, x);
}

TEST(WorkingSet, SameMotionAsAllRowsForLessWork) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const CanonicalProblem p = rough_bodies(16, 8, seed);
    Solution few, all = zero_solution(p);
    PairBlocksWorkspace blocks;
    const MethodResult plain =
        solve_pair_blocks(p, scale_of(p), {}, {.tolerance = 1e-10}, blocks, all);
    ASSERT_EQ(plain.outcome, Outcome::Converged);
    ASSERT_EQ(run(p, 1e-10, few, 0.5 * plain.work).outcome, Outcome::Converged) << seed;
    EXPECT_LE(judge(p, few).value, 1e-10);
    EXPECT_LT((few.v - all.v).norm(), 1e-7 * (1 + all.v.norm())) << seed;
  }
}

/// `count` copies that have nothing to do with one another.
CanonicalProblem side_by_side(const CanonicalProblem& one, int count) {
  CanonicalProblem p;
  p.k.resize(count * one.k.size());
  p.b.resize(count * one.b.size());
  p.e.resize(0);
  for (int copy = 0; copy < count; ++copy) {
    const Index blocks = one.H.block_count(), at = copy * one.k.size();
    for (Index b = 0; b < blocks; ++b) {
      double* H = p.H.add_block(6);
      for (int i = 0; i < 6; ++i) H[i * 6 + i] = i < 3 ? 1 : 0.4;
    }
    p.k.segment(at, one.k.size()) = one.k;
    p.b.segment(copy * one.b.size(), one.b.size()) = one.b;
    for (Index i = 0; i < one.D.row_block_count(); ++i) {
      p.laws.push_back(Law::orthant(1));
      p.D.begin_row(1);
      const double* values = one.D.values(i);
      for (const BlockRows::Entry& e : one.D.entries(i)) {
        std::copy_n(values, e.width, p.D.add(copy * blocks + e.block, at + e.column, e.width));
        values += e.width;
      }
    }
  }
  return p;
}

MethodResult run_set(const CanonicalProblem& p, const MethodLimits& limits,
                     const PairBlocksSettings& settings = {}) {
  internal::WorkingSetWorkspace work;
  Solution x = zero_solution(p);
  return internal::solve_working_set(p, scale_of(p), settings, limits, work, x);
}

TEST(WorkingSet, IslandsShareTheWorkThatIsLeft) {
  const CanonicalProblem p = side_by_side(rough_bodies(16, 8, 9), 12);
  const double whole = run_set(p, {.tolerance = 1e-10}, {.max_rounds = 1}).work;
  const MethodResult r =
      run_set(p, {.tolerance = 1e-10, .work_limit = 0.3 * whole}, {.max_rounds = 1});
  EXPECT_EQ(r.outcome, Outcome::WorkLimit);
  EXPECT_LT(r.work, 0.6 * whole);
}

TEST(WorkingSet, TheLimitOfIterationsIsOneOfEachIsland) {
  const CanonicalProblem p = side_by_side(rough_bodies(16, 8, 9), 12);
  // One round leaves rows out that then overlap: no island has come to its limit.
  const MethodLimits limits{.tolerance = 1e-10};
  const MethodResult free = run_set(p, limits, {.max_rounds = 1});
  ASSERT_EQ(free.outcome, Outcome::Stalled);
  MethodLimits half = limits, two = limits;
  half.max_iterations = free.iterations / 2;
  two.max_iterations = 2;
  EXPECT_EQ(run_set(p, half, {.max_rounds = 1}).outcome, Outcome::Stalled);
  EXPECT_EQ(run_set(p, two, {.max_rounds = 1}).outcome, Outcome::IterationLimit);
}

TEST(WorkingSet, StartsFromWhatItIsGiven) {
  const CanonicalProblem p = rough_bodies(16, 8, 5);
  Solution x;
  const SolveReport cold = run(p, 1e-9, x);
  Solution near = x;
  EXPECT_EQ(run(p, 1e-8, near).iterations, 0);
  near.lambda *= 1.001;
  const SolveReport warm = run(p, 1e-9, near);
  EXPECT_EQ(warm.outcome, Outcome::Converged);
  EXPECT_LT(warm.iterations, cold.iterations);
}

TEST(WorkingSet, NothingThatPushes) {
  CanonicalProblem p = rough_bodies(16, 8, 6);
  p.b.setConstant(100);
  Solution x;
  EXPECT_EQ(run(p, 1e-9, x).outcome, Outcome::Converged);
  EXPECT_EQ(x.lambda.maxCoeff(), 0);
}

TEST(WorkingSet, WhereMostRowsOverlapAllAreTaken) {
  const CanonicalProblem p = rough_bodies(6, 1, 7);
  Solution x;
  EXPECT_EQ(run(p, 1e-9, x).outcome, Outcome::Converged);
  VecX w = p.b;
  p.D.multiply_add(1, scale_of(p).v_free, w);
  EXPECT_GT(3 * (w.array() < 0).count(), w.size());  // that it is such a problem
}

TEST(WorkingSet, RowsThatContradictEndInBoundedWork) {
  CanonicalProblem p = rough_bodies(16, 8, 8);
  // Both directions of one row must open by more than nothing: no motion does that.
  const double* a = p.D.values(0);
  double* b = p.D.values(1);
  for (int i = 0; i < 12; ++i) b[i] = -a[i];
  p.b[0] = p.b[1] = -1;
  Solution x;
  EXPECT_NE(run(p, 1e-9, x).outcome, Outcome::Converged);
  EXPECT_TRUE(x.v.allFinite() && x.lambda.allFinite());
}

}  // namespace
}  // namespace orthant
