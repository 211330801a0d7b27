// SPDX-License-Identifier: Apache-2.0
// support/splitmix.hpp: seed => the same numbers on every machine and standard library.
// SplitMix64 (Steele, Lea, Flood 2014); std:: distributions differ between libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace orthant::testing {

class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  /// Evenly spread over the decades of [lo, hi], both positive.
  double log_uniform(double lo, double hi) { return std::exp(uniform(std::log(lo), std::log(hi))); }

  /// One of 0 … count − 1.
  int index(int count) { return static_cast<int>(uniform() * count); }

  bool chance(double probability) { return uniform() < probability; }

  /// Mean 0, variance 1 (Box–Muller, one of the pair).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace orthant::testing
