// SPDX-License-Identifier: Apache-2.0
// Sums that do not depend on order, threads of a scope, and the meter of loops.
#include "orthant/base/parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "base/exact_sum.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/thread_scope.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

double exact(const std::vector<double>& values) {
  ExactSum sum;
  for (const double x : values) sum.add(x);
  return sum.value();
}

TEST(ExactSum, RoundsOnceWhateverTheOrder) {
  testing::SplitMix random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> values;
    for (int i = 0; i < 200; ++i)
      values.push_back(
          std::ldexp(2 * random.uniform() - 1, static_cast<int>(120 * random.uniform()) - 60));
    const double first = exact(values);
    long double wide = 0;  // 64 bits of 120: good to 1e-3 of the last bit of the largest
    for (const double x : values) wide += x;
    EXPECT_NEAR(first, static_cast<double>(wide), 1e-15 * std::ldexp(1.0, 60));
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(exact(values), first);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(exact(values), first);
    ExactSum left, right;  // as two ranks would
    for (std::size_t i = 0; i < values.size(); ++i) (i % 3 == 0 ? left : right).add(values[i]);
    left.add(right);
    EXPECT_EQ(left.value(), first);
  }
}

TEST(ExactSum, KnowsTheHardCases) {
  EXPECT_EQ(exact({}), 0);
  EXPECT_EQ(exact({1e300, 1, -1e300}), 1);
  EXPECT_EQ(exact({1, 1e-300, -1}), 1e-300);
  EXPECT_EQ(exact({-5.5, 2.25}), -3.25);
  const double tiny = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(exact({tiny, tiny, tiny}), 3 * tiny);
  // Half a last bit, and a little more than half.
  EXPECT_EQ(exact({1, 0x1p-53}), 1);
  EXPECT_EQ(exact({1, 0x1p-53, tiny}), 1 + 0x1p-52);
  EXPECT_EQ(exact({1, 0x1p-53, -tiny}), 1);
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(exact({most, -most, most}), most);
  EXPECT_EQ(exact({most, most}), std::numeric_limits<double>::infinity());
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exact({1, infinity}), infinity);
  EXPECT_EQ(exact({-infinity, 1}), -infinity);
  EXPECT_TRUE(std::isnan(exact({infinity, -infinity})));
  EXPECT_TRUE(std::isnan(exact({1, std::nan("")})));
  for (const double x : {0.1, -0.1, 1.0 / 3, 1e-310, 4e200}) EXPECT_EQ(exact({x}), x);
}

TEST(ThreadScope, IsOfItsThreadAndOfTheChunksItStarts) {
  set_thread_count(1);
  {
    const ThreadScope three(3);
    EXPECT_EQ(thread_count(), 3);
    std::thread other([] { EXPECT_EQ(thread_count(), 1); });
    other.join();
    std::atomic<int> wrong{0};
    parallel_for(64, 1, [&](std::size_t, std::size_t) { wrong += thread_count() != 3; });
    EXPECT_EQ(wrong, 0);
    const ThreadScope one(1);
    EXPECT_EQ(thread_count(), 1);
  }
  EXPECT_EQ(thread_count(), 1);
  EXPECT_THROW(ThreadScope(-1), Error);
}

TEST(ParallelMeter, TellsWhatThreadsWouldBeWorth) {
  const auto work = [](int amount) {
    volatile double x = 1;
    for (int i = 0; i < amount; ++i) x = x * 1.0000001;
  };
  ParallelMeter meter;
  EXPECT_THROW(ParallelMeter(), Error);
  work(2'000'000);  // serial: as long as the eight chunks together
  parallel_for(8, 1, [&](std::size_t, std::size_t) { work(250'000); });
  const ParallelMeter::Result r = meter.read();
  EXPECT_EQ(r.loops, 1);
  ASSERT_EQ(r.path.size(), 7u);
  EXPECT_NEAR(r.path[0], r.seconds, 1e-3 * r.seconds);
  EXPECT_NEAR(r.parallel / r.seconds, 0.5, 0.2);
  // Halves: 1/2 + 1/2n, and no better than one chunk.
  EXPECT_NEAR(r.path[1] / r.seconds, 0.75, 0.1);
  EXPECT_NEAR(r.path[3] / r.seconds, 0.5625, 0.12);
  EXPECT_NEAR(r.path[6], r.path[3], 1e-6);
  EXPECT_EQ(meter.read().loops, 0);
}

}  // namespace
}  // namespace orthant
