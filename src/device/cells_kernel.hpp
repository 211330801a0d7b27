// SPDX-License-Identifier: Apache-2.0
// device/cells_kernel.hpp: what worlds of very many bodies share, on the host and on a device:
// coordinates => cells of a grid, and searches in sorted keys.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "device/hd.hpp"

namespace orthant::device {

constexpr std::uint64_t kAxisBits = 20, kAxisMask = (1u << kAxisBits) - 1;

/// Memory of a back end, grown where needed, released by its owner.
template <class T>
struct Buffer {
  T* data = nullptr;
  std::size_t capacity = 0;
};

ORTHANT_HD inline double larger(double a, double b) { return a > b ? a : b; }
/// Not NaN and not infinite: its difference with itself is zero.
ORTHANT_HD inline bool finite(const double* x, int count) {
  for (int i = 0; i < count; ++i)
    if (!(x[i] - x[i] == 0)) return false;
  return true;
}

ORTHANT_HD inline std::uint64_t axis_cell(double x, double edge) {
  const double c = ::floor(x / edge) + (1 << (kAxisBits - 1));
  if (!(c > 0)) return 0;
  return c < static_cast<double>(kAxisMask) ? static_cast<std::uint64_t>(c) : kAxisMask;
}
/// First place in [0, count) whose key is not below `key`.
ORTHANT_HD inline int lower_bound(const std::uint64_t* keys, int count, std::uint64_t key) {
  int begin = 0;
  while (count > 0) {
    const int half = count / 2;
    if (keys[begin + half] < key) {
      begin += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return begin;
}

/// Where the entries of each group begin in sorted keys, the group in the bits from `shift` on.
struct BeginGroup {
  const std::uint64_t* keys;
  int count, shift;
  int* begin;
  ORTHANT_HD void operator()(std::size_t i) const {
    begin[i] = lower_bound(keys, count, static_cast<std::uint64_t>(i) << shift);
  }
};

}  // namespace orthant::device
