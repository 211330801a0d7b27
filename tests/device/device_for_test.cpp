// SPDX-License-Identifier: Apache-2.0
// Sums in a fixed order, and the functions whose bits a device must reproduce.
#include "device/device_for.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include "device/scalar_kernel.hpp"

#include "support/splitmix.hpp"

namespace orthant::device {
namespace {

TEST(DeviceFor, CoversEveryIndexOnce) {
  std::vector<int> hits(1001, 0);
  set_thread_count(2);
  device_for(hits.size(), [&](std::size_t i) { ++hits[i]; });
  set_thread_count(1);
  for (const int h : hits) EXPECT_EQ(h, 1);
}

TEST(DeviceFor, SumHasTheSameBitsForAnyNumberOfThreads) {
  testing::SplitMix rng(3);
  std::vector<double> x(10'001);
  for (double& v : x) v = rng.normal() * std::exp(10 * rng.normal());
  const auto sum = [&] { return device_sum(x.size(), [&](std::size_t i) { return x[i]; }); };
  const double one = sum();
  set_thread_count(2);
  const double two = sum();
  set_thread_count(1);
  EXPECT_EQ(one, two);
  long double exact = 0;
  for (const double v : x) exact += v;
  long double size = 0;
  for (const double v : x) size += std::abs(v);
  EXPECT_NEAR(one, static_cast<double>(exact), 1e-15 * static_cast<double>(size));
  EXPECT_EQ(device_sum(0, [](std::size_t) { return 1.0; }), 0);
}

TEST(DeviceScalar, FunctionsAreGoodToRounding) {
  testing::SplitMix rng(4);
  for (int i = 0; i < 20'000; ++i) {
    const double x = 20 * rng.normal(), y = rng.normal(), z = rng.normal();
    EXPECT_NEAR(sine(x), std::sin(x), 4e-16 + 4e-16 * std::abs(x) / 20);
    EXPECT_NEAR(cosine(x), std::cos(x), 4e-16 + 4e-16 * std::abs(x) / 20);
    EXPECT_NEAR(arc_tangent2(y, z), std::atan2(y, z), 2e-15);
  }
  EXPECT_EQ(arc_tangent2(0, 1), 0);
  EXPECT_NEAR(arc_tangent2(0, -1), std::numbers::pi, 1e-15);
  EXPECT_NEAR(arc_tangent2(-1, 0), -std::numbers::pi / 2, 1e-15);
}

TEST(DeviceScalar, DualsAreDerivatives) {
  using D = DualN<2>;
  D x(0.3), y(0.8);
  x.d[0] = 1;
  y.d[1] = 1;
  const D f = sine(x * y) / root(x + y) + arc_tangent2(x, y);
  const auto value = [](double a, double b) {
    return std::sin(a * b) / std::sqrt(a + b) + std::atan2(a, b);
  };
  const double e = 1e-6;
  EXPECT_NEAR(f.v, value(0.3, 0.8), 1e-15);
  EXPECT_NEAR(f.d[0], (value(0.3 + e, 0.8) - value(0.3 - e, 0.8)) / (2 * e), 1e-9);
  EXPECT_NEAR(f.d[1], (value(0.3, 0.8 + e) - value(0.3, 0.8 - e)) / (2 * e), 1e-9);
}

}  // namespace
}  // namespace orthant::device
