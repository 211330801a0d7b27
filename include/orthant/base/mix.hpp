// SPDX-License-Identifier: Apache-2.0
// base/mix.hpp: numbers that look random and depend on nothing but their arguments.
#pragma once

#include <cstdint>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;  ///< of 2^64, odd

/// The last step of splitmix64: every bit of z changes about half of the result's.
constexpr std::uint64_t mix_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace orthant
