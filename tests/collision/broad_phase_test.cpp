// SPDX-License-Identifier: Apache-2.0
// Broad phase against all pairs tested one by one.
#include "orthant/collision/broad_phase.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/base/parallel.hpp"
#include "support/no_alloc.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

struct Boxes {
  std::vector<Bounds> boxes;
  std::vector<unsigned char> moves;
};

Boxes random_boxes(std::uint64_t seed, int count, double smallest, double largest, double spread) {
  SplitMix random(seed);
  Boxes out;
  for (int i = 0; i < count; ++i) {
    Vec3 centre, half;
    for (int d = 0; d < 3; ++d) {
      centre[d] = random.uniform(-spread, spread);
      half[d] = 0.5 * random.log_uniform(smallest, largest);
    }
    out.boxes.push_back({centre - half, centre + half});
    out.moves.push_back(random.chance(0.9));
  }
  return out;
}

std::vector<IndexPair> all_pairs(const Boxes& in) {
  std::vector<IndexPair> pairs;
  const Index n = static_cast<Index>(in.boxes.size());
  for (Index i = 0; i < n; ++i)
    for (Index j = i + 1; j < n; ++j)
      if ((in.moves[i] || in.moves[j]) && overlap(in.boxes[i], in.boxes[j]))
        pairs.push_back({i, j});
  return pairs;
}

TEST(BroadPhase, FindsWhatAllPairsFind) {
  BroadPhase broad_phase;
  std::vector<IndexPair> pairs;
  std::size_t total = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    // One size, a decade, and a factor of a million between the smallest and the largest.
    const double ratio = seed % 3 == 0 ? 1.0 : seed % 3 == 1 ? 10.0 : 1e6;
    const Boxes in = random_boxes(seed, seed % 2 == 0 ? 300 : 7, 3.0 / ratio, 3.0, 8.0);
    broad_phase.find_pairs(in.boxes, in.moves, pairs);
    EXPECT_EQ(pairs, all_pairs(in)) << "seed " << seed;
    total += pairs.size();
  }
  EXPECT_GT(total, 10000u);
}

TEST(BroadPhase, LeavesOutPairsOfWhichTheBallsAreApart) {
  BroadPhase broad_phase;
  std::vector<IndexPair> pairs;
  std::size_t left_out = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Boxes in = random_boxes(seed, 300, 0.3, 3.0, 5.0);
    std::vector<Ball> balls;
    for (std::size_t i = 0; i < in.boxes.size(); ++i) {  // every fifth box is asked for as a whole
      const Bounds& box = in.boxes[i];
      balls.push_back({0.5 * (box.lo + box.hi), i % 5 == 0 ? std::numeric_limits<double>::infinity()
                                                           : 0.5 * (box.hi - box.lo).maxCoeff()});
    }
    std::vector<IndexPair> expected = all_pairs(in);
    const std::size_t all = expected.size();
    std::erase_if(expected, [&](const IndexPair& p) {
      const Ball &a = balls[p.first], &b = balls[p.second];
      return (a.centre - b.centre).norm() > std::sqrt(1.0001) * (a.radius + b.radius);
    });
    left_out += all - expected.size();
    broad_phase.find_pairs(in.boxes, in.moves, pairs, balls);
    EXPECT_EQ(pairs, expected) << "seed " << seed;
  }
  EXPECT_GT(left_out, 100u);
}

TEST(BroadPhase, BoxesThatShareABorderOverlap) {
  // A row of cells that touch exactly, far from the origin: rounding must not lose a neighbour.
  Boxes in;
  for (int i = 0; i < 200; ++i) {
    const double x = 1e6 + 0.1 * i;
    in.boxes.push_back({Vec3(x, 0, 0), Vec3(1e6 + 0.1 * (i + 1), 0.1, 0.1)});
    in.moves.push_back(1);
  }
  BroadPhase broad_phase;
  std::vector<IndexPair> pairs;
  broad_phase.find_pairs(in.boxes, in.moves, pairs);
  EXPECT_EQ(pairs, all_pairs(in));
  EXPECT_GE(pairs.size(), 199u);
}

TEST(BroadPhase, PointsAndNothing) {
  BroadPhase broad_phase;
  std::vector<IndexPair> pairs{{1, 2}};
  broad_phase.find_pairs({}, {}, pairs);
  EXPECT_TRUE(pairs.empty());
  Boxes in;
  for (int i = 0; i < 40; ++i) {
    in.boxes.push_back({Vec3(i / 2, 0, 0), Vec3(i / 2, 0, 0)});
    in.moves.push_back(1);
  }
  broad_phase.find_pairs(in.boxes, in.moves, pairs);
  EXPECT_EQ(pairs, all_pairs(in));
  EXPECT_EQ(pairs.size(), 20u);
}

TEST(BroadPhase, SameBitsForAnyNumberOfThreadsAndNoMemory) {
  const Boxes in = random_boxes(5, 3000, 0.1, 3.0, 15.0);
  const Boxes other = random_boxes(6, 100, 0.1, 3.0, 15.0);
  std::vector<IndexPair> one, two;
  BroadPhase fresh, used;
  fresh.find_pairs(in.boxes, in.moves, one);
  used.find_pairs(other.boxes, other.moves, two);
  set_thread_count(2);
  used.find_pairs(in.boxes, in.moves, two);
  set_thread_count(1);
  EXPECT_EQ(one, two);
}

TEST(BroadPhase, DoesNotAllocateWhenWarm) {
  const Boxes in = random_boxes(5, 1000, 0.1, 3.0, 15.0);
  std::vector<IndexPair> pairs;
  BroadPhase broad_phase;
  broad_phase.find_pairs(in.boxes, in.moves, pairs);
  const testing::NoAlloc guard;
  broad_phase.find_pairs(in.boxes, in.moves, pairs);
}

TEST(BroadPhase, WorkGrowsWithTheNumberOfBoxes) {
  // Same density, a floor under all: the number of pairs a box must not grow.
  BroadPhase broad_phase;
  std::vector<IndexPair> pairs;
  double per_box[2];
  int k = 0;
  for (const int side : {10, 30}) {
    Boxes in;
    for (int i = 0; i < side * side * side; ++i) {
      const Vec3 at(i % side, i / side % side, i / (side * side));
      in.boxes.push_back({at.array() - 0.51, at.array() + 0.51});
      in.moves.push_back(1);
    }
    in.boxes.push_back({Vec3(-1e3, -1e3, -2), Vec3(1e3, 1e3, -0.5)});
    in.moves.push_back(0);
    broad_phase.find_pairs(in.boxes, in.moves, pairs);
    per_box[k++] = static_cast<double>(pairs.size()) / static_cast<double>(in.boxes.size());
  }
  EXPECT_LT(per_box[1], 1.3 * per_box[0]);
  EXPECT_LT(per_box[1], 13.1);  // 26 neighbours, each pair once, and the floor
}

}  // namespace
}  // namespace orthant
