// SPDX-License-Identifier: Apache-2.0
// support/support_test.cpp: the guards of the tests can fail, and the generator is the published
// one.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "support/no_alloc.hpp"
#include "support/splitmix.hpp"

namespace orthant::testing {
namespace {

// The optimiser may drop an allocation that nobody sees.
template <class T>
void keep(T* pointer) {
  asm volatile("" : : "g"(pointer) : "memory");
}

TEST(NoAlloc, IsSilentWithoutAllocation) {
  std::vector<double> values(100, 1.0);
  const NoAlloc guard;
  for (double& value : values) value *= 2;
  keep(values.data());
  EXPECT_EQ(guard.count(), 0u);
}

TEST(NoAlloc, FailsOnOperatorNew) {
  EXPECT_NONFATAL_FAILURE(
      {
        const NoAlloc guard;
        const auto value = std::make_unique<double>(1.0);
        keep(value.get());
      },
      "1 allocations of 8 bytes");
}

TEST(NoAlloc, FailsOnVectorGrowth) {
  std::vector<int> values(4);
  EXPECT_NONFATAL_FAILURE(
      {
        const NoAlloc guard;
        values.push_back(1);
        keep(values.data());
      },
      "allocations");
}

TEST(NoAlloc, FailsOnEigenWhichCallsMalloc) {
  Eigen::VectorXd values;
  EXPECT_NONFATAL_FAILURE(
      {
        const NoAlloc guard;
        values.resize(32);
        keep(values.data());
      },
      "1 allocations");
}

TEST(NoAlloc, SeesOtherThreads) {
  // Starting a thread allocates as well, so it starts before the guard and works inside it.
  std::atomic<int> stage{0};
  const auto enter = [&stage](int next) {
    stage = next;
    stage.notify_all();
  };
  std::thread worker([&] {
    enter(1);
    stage.wait(1);
    void* memory = std::malloc(64);
    keep(memory);
    std::free(memory);
    enter(3);
  });
  stage.wait(0);
  EXPECT_NONFATAL_FAILURE(
      {
        const NoAlloc guard;
        enter(2);
        stage.wait(2);
      },
      "1 allocations of 64 bytes");
  worker.join();
}

TEST(NoAlloc, CountsFromItsOwnStartWhenNested) {
  EXPECT_NONFATAL_FAILURE(
      {
        const NoAlloc outer;
        const auto value = std::make_unique<double>(1.0);
        keep(value.get());
        const NoAlloc inner;
        EXPECT_EQ(inner.count(), 0u);
      },
      "1 allocations");
}

TEST(SplitMix, IsThePublishedGenerator) {
  // Reference values of the authors' C code, seed 1234567.
  SplitMix random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
  EXPECT_EQ(random.next(), 4593380528125082431u);
  EXPECT_EQ(random.next(), 16408922859458223821u);
}

TEST(SplitMix, HasTheMomentsItPromises) {
  SplitMix random(42);
  const int count = 100000;
  double mean = 0;
  double normal_mean = 0;
  double normal_square = 0;
  for (int i = 0; i < count; ++i) {
    const double u = random.uniform(-1, 3);
    ASSERT_TRUE(-1 <= u && u < 3);
    const int k = random.index(7);
    ASSERT_TRUE(0 <= k && k < 7);
    const double x = random.normal();
    mean += u / count;
    normal_mean += x / count;
    normal_square += x * x / count;
  }
  // Five standard deviations of the mean of `count` samples.
  EXPECT_NEAR(mean, 1.0, 5 * (4 / std::sqrt(12.0)) / std::sqrt(count));
  EXPECT_NEAR(normal_mean, 0.0, 5 / std::sqrt(count));
  EXPECT_NEAR(normal_square, 1.0, 5 * std::sqrt(2.0 / count));
}

}  // namespace
}  // namespace orthant::testing
