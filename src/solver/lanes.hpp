// SPDX-License-Identifier: Apache-2.0
// solver/lanes.hpp: two doubles side by side, in every instruction set the engine is built for.
#pragma once

#include <cstddef>
#include <cstring>

namespace orthant {

/// Rows, groups or velocity blocks that a thread takes at a time.
inline constexpr std::size_t kGrain = 512;

using Lanes = double __attribute__((vector_size(16)));

/// The doubles at p; where there is only one, zero beside it.
[[gnu::always_inline]] inline Lanes load_lanes(const double* p, bool both = true) {
  Lanes v = {};
  if (both)
    std::memcpy(&v, p, sizeof(Lanes));
  else
    v[0] = *p;
  return v;
}
[[gnu::always_inline]] inline void store_lanes(double* p, Lanes v, bool both = true) {
  if (both)
    std::memcpy(p, &v, sizeof(Lanes));
  else
    *p = v[0];
}
[[gnu::always_inline]] inline Lanes least(Lanes a, Lanes b) { return a < b ? a : b; }

}  // namespace orthant
