// SPDX-License-Identifier: Apache-2.0
// base/axis.cpp: a range of numbers => an axis with round ticks.
#include "orthant/base/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace orthant {
namespace {

constexpr double kRounding = 1e-12;  // of the largest value: a smaller range is rounding
constexpr double kLargest = 1e300;   // so that the range itself is finite

}  // namespace

Axis::Axis(double low, double high, double margin)
    : lo(std::clamp(low, -kLargest, kLargest)), hi(std::clamp(high, -kLargest, kLargest)) {
  const double largest = std::max(std::abs(lo), std::abs(hi));
  if (!(hi - lo > kRounding * largest)) {
    const double pad = 0.5 * std::max(largest, 1.0);
    lo -= pad;
    hi += pad;
  } else {
    const double pad = margin * (hi - lo);
    lo -= pad;
    hi += pad;
  }
  const double rough = (hi - lo) / 6, power = std::pow(10, std::floor(std::log10(rough)));
  step = power * (rough > 5 * power ? 10 : rough > 2 * power ? 5 : rough > power ? 2 : 1);
}

std::vector<double> Axis::ticks() const {
  // Multiples of the step are counted by integers: adding a step to a value may leave it unchanged.
  std::vector<double> out;
  const double first = std::ceil(lo / step - 1e-9);
  const int count = static_cast<int>(std::floor(hi / step + 1e-9) - first) + 1;
  for (int i = 0; i < count; ++i) out.push_back((first + i) * step + 0.0);  // -0 + 0 is 0
  return out;
}

std::string Axis::text(double tick) const {
  const double largest = std::max(std::abs(lo), std::abs(hi));
  const int digits = static_cast<int>(std::ceil(std::log10(largest / step))) + 1;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.*g", std::clamp(digits, 6, 17), tick);
  return buffer;
}

}  // namespace orthant
