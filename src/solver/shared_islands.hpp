// SPDX-License-Identifier: Apache-2.0
// solver/shared_islands.hpp: islands that one member of a team each solves.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/team.hpp"
#include "orthant/math/types.hpp"

namespace orthant::internal {

/// solve(i, out) for the islands of this member => what all members put out, in the order of the
/// islands. `rows(i)`: how large one is; 0: it is nobody's. Members have islands in a row whose
/// work, as their sizes say, is a fair share; within solve() each is alone.
template <class Rows, class Solve>
std::vector<std::byte> solve_shared(Team& team, Index count, Rows&& rows, Solve&& solve) {
  const auto weight = [&](Index i) {
    const auto n = static_cast<double>(rows(i));
    return n * std::sqrt(n);
  };
  double all = 0, sum = 0;
  for (Index i = 0; i < count; ++i) all += weight(i);
  std::vector<std::byte> out;
  const TeamScope alone(nullptr);
  for (Index i = 0; i < count; ++i) {
    const double own = weight(i), middle = sum + 0.5 * own;
    sum += own;
    if (!(own > 0)) continue;  // where nobody has rows, there are no shares
    const auto rank = std::min(static_cast<int>(team.size() * (middle / all)), team.size() - 1);
    if (rank == team.rank()) solve(i, out);
  }
  return team.gather(out);
}

}  // namespace orthant::internal
