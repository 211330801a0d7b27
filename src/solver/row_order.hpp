// SPDX-License-Identifier: Apache-2.0
// solver/row_order.hpp: rows between velocity blocks => an order in which those of one pair follow
// each other and those of neighbours are near: a range of it touches few blocks of other ranges.
#pragma once

#include <utility>
#include <vector>

#include "orthant/problem/problem.hpp"

namespace orthant::internal {

/// Velocity blocks breadth first from an outermost one on; pairs by the first of their blocks.
class RowOrder {
 public:
  void build(const CanonicalProblem& p);

  std::vector<Index> blocks;  ///< row blocks of D

 private:
  void spread(const CanonicalProblem& p, Index start);
  Index partner(const CanonicalProblem& p, Index row_block, Index block) const;

  std::vector<Index> begin_, rows_at_;  // row blocks of each velocity block
  std::vector<Index> place_, queue_;    // of velocity blocks
  std::vector<std::pair<Index, Index>> near_;
};

}  // namespace orthant::internal
