// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.hpp: rows by pair of velocity blocks, and the block of scaled N of each pair.
#pragma once

#include <utility>
#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "solver/scaled_rows.hpp"

namespace orthant::internal {

struct PairGroup {
  Index begin = 0;  ///< in `order`
  std::int32_t size = 0;
  std::int64_t matrix = 0;  ///< size x size values
};

/// Pairs of more than kMaxBlock rows are cut: those of sub-spheres, not of recursions.
struct PairGroups {
  /// `regularise`: what is added to each diagonal, beside it.
  void build(const ScaledRows& rows, const VelocitySolver& inverse, double regularise);

  std::vector<Index> order;  ///< rows, pair by pair
  std::vector<PairGroup> groups;
  std::vector<double> matrices;
  std::vector<Index> blocks;  ///< groups of more than one row
  VecX lone;                  ///< inverse of its matrix for a row alone in its group, else 0

 private:
  void fill_matrix(const ScaledRows& rows, const PairGroup& group, const VelocitySolver& inverse,
                   double regularise);

  std::vector<std::pair<std::int64_t, Index>> keys_;
};

}  // namespace orthant::internal
