// SPDX-License-Identifier: Apache-2.0
// One problem solved by a team: the answer and the report of every member are, bit for bit, those
// of a process alone, for one large island (iterations made together) and for many small ones (each
// solved by one member); with fast sums the answer is as good.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/solver/solve.hpp"
#include "solver/pair_blocks.hpp"
#include "solver/row_order.hpp"
#include "support/splitmix.hpp"
#include "support/thread_team.hpp"

namespace orthant {
namespace {

using testing::SplitMix;
using testing::ThreadTeam;

/// `count` packings side by side on cubic lattices of side³ bodies, drawn to their middles: rows
/// between neighbours, every fourth twice, a share of them wide open. Bodies are numbered at
/// random.
CanonicalProblem packings(int count, int side, std::uint64_t seed, double open = 0) {
  SplitMix random(seed);
  const int own = side * side * side, bodies = count * own;
  std::vector<int> name(static_cast<std::size_t>(bodies));
  for (int b = 0; b < bodies; ++b) name[static_cast<std::size_t>(b)] = b;
  for (int b = bodies - 1; b > 0; --b)
    std::swap(name[static_cast<std::size_t>(b)],
              name[static_cast<std::size_t>(random.index(b + 1))]);
  CanonicalProblem p;
  p.k = VecX::Zero(6 * bodies);
  for (int b = 0; b < bodies; ++b) {
    double* H = p.H.add_block(6);
    for (int i = 0; i < 6; ++i) H[i * 6 + i] = i < 3 ? 1 : 0.4;
  }
  std::vector<double> gaps;
  for (int b = 0; b < bodies; ++b) {
    const int at[3] = {b % own % side, b % own / side % side, b % own / side / side};
    const int me = name[static_cast<std::size_t>(b)];
    for (int d = 0; d < 3; ++d) p.k[6 * me + d] = -(at[d] - 0.5 * (side - 1));
    int step = 1;
    for (int d = 0; d < 3; ++d, step *= side) {
      if (at[d] + 1 == side) continue;
      const int other = name[static_cast<std::size_t>(b + step)];
      const bool far = open > 0 && random.uniform(0, 1) < open;
      for (int twice = 0; twice < ((b + d) % 4 == 0 ? 2 : 1); ++twice) {
        p.laws.push_back(Law::orthant(1));
        p.D.begin_row(1);
        for (const int sign : {-1, 1}) {
          const int body = sign < 0 ? me : other;
          double* values = p.D.add(body, 6 * body, 6);
          values[d] = sign;
          for (int i = 0; i < 6; ++i) values[i] += 0.2 * random.uniform(-1, 1);
        }
        gaps.push_back(far ? 20 : random.uniform(-0.1, 0.3));
      }
    }
  }
  p.b = Eigen::Map<const VecX>(gaps.data(), static_cast<Index>(gaps.size()));
  p.e.resize(0);
  return p;
}

void expect_same_on_any_team(const CanonicalProblem& p, bool exchanges) {
  Solution alone;
  const SolveReport expected = solve(p, {.tolerance = 1e-7}, alone);
  ASSERT_EQ(expected.outcome, Outcome::Converged);
  ASSERT_GT(expected.iterations, 20);
  for (const int size : {1, 2, 3, 4}) {
    ThreadTeam team(size, false);
    std::vector<Solution> found(static_cast<std::size_t>(size));
    std::vector<SolveReport> reports(found.size());
    team.run([&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      reports[r] = solve(p, {.tolerance = 1e-7}, found[r]);
    });
    for (std::size_t r = 0; r < found.size(); ++r) {
      EXPECT_TRUE(found[r].v == alone.v && found[r].lambda == alone.lambda) << size << " " << r;
      EXPECT_EQ(reports[r].iterations, expected.iterations);
      EXPECT_EQ(reports[r].method, expected.method);
      EXPECT_EQ(reports[r].residual.value, expected.residual.value);
      ASSERT_EQ(reports[r].attempts.size(), expected.attempts.size());
      for (std::size_t a = 0; a < expected.attempts.size(); ++a)
        EXPECT_EQ(reports[r].attempts[a].work, expected.attempts[a].work);
    }
    EXPECT_EQ(team.exchanges() > 0, exchanges && size > 1) << size;
  }
}

TEST(SolveTeam, OneLargeIsland) { expect_same_on_any_team(packings(1, 12, 3), true); }
TEST(SolveTeam, ManySmallIslands) { expect_same_on_any_team(packings(9, 4, 4), false); }

/// Of one large island few rows push, in islands of their own: members have those.
TEST(SolveTeam, FewRowsOfALargeIsland) {
  const CanonicalProblem p = packings(1, 12, 8, 0.85);
  ASSERT_GE(p.row_count(), kTogetherRows);
  expect_same_on_any_team(p, false);
}

TEST(SolveTeam, AWarmStartIsThatOfAProcessAlone) {
  const CanonicalProblem p = packings(1, 12, 5);
  Solution start;
  ASSERT_EQ(solve(p, {.tolerance = 1e-3}, start).outcome, Outcome::Converged);
  SolveWorkspace work;
  Solution alone = start;
  (void)solve(p, {.tolerance = 1e-7}, work, alone);
  ThreadTeam team(3, false);
  team.run([&](int) {
    SolveWorkspace own;
    Solution x = start;
    (void)solve(p, {.tolerance = 1e-7}, own, x);
    EXPECT_TRUE(x.lambda == alone.lambda);
  });
}

TEST(SolveTeam, FastSumsAreAsGoodAndSendLess) {
  const CanonicalProblem p = packings(1, 16, 6);
  Solution alone;
  ASSERT_EQ(solve(p, {.tolerance = 1e-8}, alone).outcome, Outcome::Converged);
  std::int64_t bytes[2] = {};
  for (const bool fast : {false, true}) {
    ThreadTeam team(2, fast);
    Solution found[2];
    team.run([&](int rank) {
      EXPECT_EQ(solve(p, {.tolerance = 1e-8}, found[rank]).outcome, Outcome::Converged);
    });
    EXPECT_TRUE(found[0].v == found[1].v);
    EXPECT_EQ(found[0].v == alone.v, !fast);
    EXPECT_LT((found[0].v - alone.v).norm(), 1e-6 * alone.v.norm());
    EXPECT_LE(judge(p, found[0]).value, 1e-8);
    bytes[fast ? 1 : 0] = team.gathered();
  }
  EXPECT_LT(bytes[1], bytes[0]);
}

TEST(SolveTeam, ClocksAreRefused) {
  const CanonicalProblem p = packings(1, 2, 1);
  ThreadTeam team(2, false);
  team.run([&](int) {
    Solution x;
    EXPECT_THROW((void)solve(p, {.time_limit = 1}, x), Error);
  });
}

/// A range of rows shares few bodies with the others although bodies are numbered at random.
TEST(RowOrder, NeighboursAreNear) {
  const int side = 16;
  const CanonicalProblem p = packings(1, side, 7);
  internal::RowOrder order;
  order.build(p);
  ASSERT_EQ(static_cast<Index>(order.blocks.size()), p.D.row_block_count());
  std::vector<int> seen(order.blocks.size(), 0);
  for (const Index c : order.blocks) ++seen[static_cast<std::size_t>(c)];
  for (const int n : seen) EXPECT_EQ(n, 1);
  std::vector<int> halves(static_cast<std::size_t>(p.H.block_count()), 0);
  for (std::size_t k = 0; k < order.blocks.size(); ++k)
    for (const BlockRows::Entry& entry : p.D.entries(order.blocks[k]))
      halves[static_cast<std::size_t>(entry.block)] |= 2 * k < order.blocks.size() ? 1 : 2;
  const auto both = std::count(halves.begin(), halves.end(), 3);
  EXPECT_LT(both, 3 * side * side);  // the middle layer from a corner to the opposite one, twice
}

}  // namespace
}  // namespace orthant
