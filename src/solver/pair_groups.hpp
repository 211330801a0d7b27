// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.hpp: rows by pair of velocity blocks, and the block of scaled N of each pair.
#pragma once

#include <utility>
#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"

namespace orthant::internal {

inline constexpr std::size_t kGroupGrain = 512;  // groups that a thread takes at a time

struct PairGroup {
  Index begin = 0;  ///< in `order`
  std::int32_t size = 0;
  std::int64_t matrix = 0;  ///< size x size values
};

/// Pairs of more than kMaxBlock rows are cut: those of sub-spheres, not of recursions.
struct PairGroups {
  /// `row_scale`: on both sides of N. H has blocks and no row is longer than two of them.
  void build(const CanonicalProblem& p, const VecX& row_scale);

  std::vector<Index> order;  ///< rows, pair by pair
  std::vector<PairGroup> groups;
  std::vector<double> matrices;
  std::vector<Index> blocks;  ///< groups of more than one row
  VecX lone;                  ///< inverse of its matrix for a row alone in its group, else 0

 private:
  void fill_matrix(const CanonicalProblem& p, const VecX& row_scale, const PairGroup& group,
                   const VelocitySolver& inverse);

  std::vector<std::pair<std::int64_t, Index>> keys_;
  std::vector<Index> row_block_;
};

}  // namespace orthant::internal
