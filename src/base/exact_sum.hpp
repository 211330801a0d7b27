// SPDX-License-Identifier: Apache-2.0
// base/exact_sum.hpp: the sum of doubles without rounding, whatever their order and grouping.
// A fixed-point number of 2176 bits in limbs of 32 bits, each in 64: the limbs of two sums add up
// to the limbs of the sum of all, which one integer reduction over ranks does. Rounded once, at the
// end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace orthant {

class ExactSum {
 public:
  /// 2^-1074 … 2^1023, the 53 bits of a number and 32 of growth: up to 2^31 numbers.
  static constexpr std::size_t kLimbs = 68;

  void add(double x);
  void add(const ExactSum& other);
  /// The sum, rounded to nearest; infinite or not a number where one was added.
  double value() const;

  /// 544 bytes; the last limb counts what is not finite.
  std::array<std::int64_t, kLimbs>& limbs() { return limbs_; }

 private:
  std::array<std::int64_t, kLimbs> limbs_ = {};
};

}  // namespace orthant
