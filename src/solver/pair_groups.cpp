// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.cpp: rows => pairs of velocity blocks and their blocks of N. See the header.
#include "solver/pair_groups.hpp"

#include <algorithm>

#include "orthant/base/parallel.hpp"
#include "solver/lanes.hpp"
#include "solver/small_block.hpp"

namespace orthant::internal {
namespace {

std::pair<Index, Index> pair_of(const ScaledRows& rows, Index i) {
  const auto entries = rows.entries(i);
  const Index a = entries.empty() ? -1 : entries[0].block;
  const Index b = entries.size() < 2 ? -1 : entries[1].block;
  return std::minmax(a, b);
}

}  // namespace

void PairGroups::build(const ScaledRows& rows, const VelocitySolver& inverse, double regularise) {
  groups.clear();
  blocks.clear();
  parts.assign(1, {});
  std::int64_t values = 0;
  for (Index i = 0; i < rows.count();) {
    if (i - parts.back().row >= kPartRows)
      parts.push_back({i, static_cast<Index>(groups.size()), static_cast<Index>(blocks.size())});
    const auto pair = pair_of(rows, i);
    std::int32_t size = 1;
    while (size < kMaxBlock && i + size < rows.count() && pair_of(rows, i + size) == pair) ++size;
    if (size > 1) blocks.push_back(static_cast<Index>(groups.size()));
    groups.push_back({i, size, values});
    values += static_cast<std::int64_t>(size) * size;
    i += size;
  }
  parts.push_back(
      {rows.count(), static_cast<Index>(groups.size()), static_cast<Index>(blocks.size())});
  matrices.assign(static_cast<std::size_t>(values), 0.0);
  parallel_for(groups.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) fill_matrix(rows, groups[k], inverse, regularise);
  });
  lone = VecX::Zero(rows.count());
  for (const PairGroup& group : groups)
    if (group.size == 1) lone[group.begin] = 1 / matrices[static_cast<std::size_t>(group.matrix)];
}

void PairGroups::fill_matrix(const ScaledRows& rows, const PairGroup& group,
                             const VelocitySolver& inverse, double regularise) {
  const int m = group.size;
  double* G = matrices.data() + group.matrix;
  for (int j = 0; j < m; ++j) {
    for (const ScaledRows::Entry& own : rows.entries(group.begin + j)) {
      double y[kMaxVelocityBlock];
      std::copy_n(rows.value(own), own.width, y);
      inverse.solve_block(own.block, y);
      for (int i = 0; i < m; ++i)
        for (const ScaledRows::Entry& other : rows.entries(group.begin + i))
          if (other.block == own.block)
            G[i * m + j] += row_product(rows.value(other), y, own.width);
    }
  }
  for (int i = 0; i < m; ++i) {
    G[i * m + i] *= 1 + regularise;
    if (!(G[i * m + i] > 0)) G[i * m + i] = 1;  // a row without mass behind it
    for (int j = 0; j < i; ++j) G[i * m + j] = G[j * m + i] = 0.5 * (G[i * m + j] + G[j * m + i]);
  }
}

}  // namespace orthant::internal
