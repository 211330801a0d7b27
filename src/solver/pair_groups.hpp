// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.hpp: rows in the order of row_order.hpp => those of each pair of velocity
// blocks, the block of scaled N of each pair, and parts of whole pairs that work is cut by.
#pragma once

#include <vector>

#include "solver/delassus_operator.hpp"

namespace orthant::internal {

struct PairGroup {
  Index begin = 0;  ///< its first row
  std::int32_t size = 0;
  std::int64_t matrix = 0;  ///< size x size values
};

/// A range of rows, of groups and of `blocks`: to the beginnings of the next part.
struct RowPart {
  Index row = 0, group = 0, block = 0;
};

/// Pairs of more than kMaxBlock rows are cut: those of sub-spheres, not of recursions.
struct PairGroups {
  static constexpr Index kPartRows = 2048;  ///< of a part, and what its last pair has beyond

  /// `regularise`: what is added to each diagonal, beside it.
  void build(const DelassusOperator& N, double regularise);
  std::size_t part_count() const { return parts.size() - 1; }

  std::vector<PairGroup> groups;
  std::vector<double> matrices;
  std::vector<Index> blocks;   ///< groups of more than one row
  VecX lone;                   ///< inverse of its matrix for a row alone in its group, else 0
  std::vector<RowPart> parts;  ///< and the end of all

 private:
  void fill_matrix(const DelassusOperator& N, const PairGroup& group, double regularise);
};

}  // namespace orthant::internal
