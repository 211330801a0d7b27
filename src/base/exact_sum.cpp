// SPDX-License-Identifier: Apache-2.0
// base/exact_sum.cpp: limbs of 32 bits; carries are made at the end.
#include "base/exact_sum.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace orthant {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kLow = 0xffffffff;
constexpr int kNumbers = ExactSum::kLimbs - 1;  // limbs of the number itself
// What is not finite, counted in the last limb.
constexpr std::int64_t kPlus = 1, kMinus = std::int64_t{1} << 20, kNan = std::int64_t{1} << 40;

}  // namespace

void ExactSum::add(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
  if (field == 0x7ff) {
    limbs_[kNumbers] += mantissa != 0 ? kNan : x > 0 ? kPlus : kMinus;
    return;
  }
  if (field != 0) mantissa |= std::uint64_t{1} << 52;
  const int shift = field != 0 ? field - 1 : 0;  // x = mantissa 2^(shift - 1074)
  const Wide wide = static_cast<Wide>(mantissa) << (shift & 31);
  const std::int64_t sign = x < 0 ? -1 : 1;
  std::int64_t* limb = limbs_.data() + (shift >> 5);
  limb[0] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(wide) & kLow);
  limb[1] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 32) & kLow);
  limb[2] += sign * static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 64));
}

void ExactSum::add(const ExactSum& other) {
  for (std::size_t i = 0; i < kLimbs; ++i) limbs_[i] += other.limbs_[i];
}

double ExactSum::value() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::int64_t odd = limbs_[kNumbers];
  if (odd >= kNan || (odd % kMinus != 0 && odd / kMinus != 0))
    return std::numeric_limits<double>::quiet_NaN();
  if (odd != 0) return odd < kMinus ? kInfinity : -kInfinity;
  // Carries: limbs in [0, 2^32), the sign in what is carried out of the last.
  std::array<std::uint64_t, kLimbs> digit = {};
  const auto carry_through = [&](std::int64_t sign) {
    std::int64_t carry = 0;
    for (int i = 0; i < kNumbers; ++i) {
      const std::int64_t sum = sign * limbs_[static_cast<std::size_t>(i)] + carry;
      digit[static_cast<std::size_t>(i)] = static_cast<std::uint64_t>(sum) & kLow;
      carry = sum >> 32;
    }
    return carry;
  };
  double sign = 1;
  if (carry_through(1) < 0) {
    carry_through(-1);
    sign = -1;
  }
  int top = kNumbers - 1;
  while (top > 0 && digit[static_cast<std::size_t>(top)] == 0) --top;
  if (top < 2) top = 2;
  const auto at = [&](int i) { return digit[static_cast<std::size_t>(i)]; };
  Wide head = static_cast<Wide>(at(top)) << 64 | static_cast<Wide>(at(top - 1)) << 32 | at(top - 2);
  bool rest = false;
  for (int i = 0; i < top - 2; ++i) rest = rest || at(i) != 0;
  // The last bit of a head of 65 bits and more only breaks ties.
  if (rest) head |= 1;
  return sign * std::ldexp(static_cast<double>(head), 32 * (top - 2) - 1074);
}

}  // namespace orthant
