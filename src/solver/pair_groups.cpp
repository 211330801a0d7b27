// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.cpp: rows => pairs of velocity blocks and their blocks of N. See the header.
#include "solver/pair_groups.hpp"

#include <algorithm>

#include "orthant/base/parallel.hpp"
#include "solver/lanes.hpp"
#include "solver/small_block.hpp"

namespace orthant::internal {
void PairGroups::build(const ScaledRows& rows, const VelocitySolver& inverse, double regularise) {
  keys_.clear();
  for (Index i = 0; i < rows.count(); ++i) {
    const auto entries = rows.entries(i);
    const std::int64_t a = entries.empty() ? -1 : entries[0].block;
    const std::int64_t b = entries.size() < 2 ? -1 : entries[1].block;
    keys_.emplace_back((std::min(a, b) + 1) << 32 | (std::max(a, b) + 1), i);
  }
  std::sort(keys_.begin(), keys_.end());
  order.resize(keys_.size());
  groups.clear();
  std::int64_t values = 0;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    order[i] = keys_[i].second;
    const bool same =
        i > 0 && keys_[i].first == keys_[i - 1].first && groups.back().size < kMaxBlock;
    if (!same) groups.push_back({static_cast<Index>(i), 0, 0});
    ++groups.back().size;
  }
  for (PairGroup& group : groups) {
    group.matrix = values;
    values += static_cast<std::int64_t>(group.size) * group.size;
  }
  matrices.assign(static_cast<std::size_t>(values), 0.0);
  parallel_for(groups.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) fill_matrix(rows, groups[k], inverse, regularise);
  });
  lone = VecX::Zero(rows.count());
  blocks.clear();
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const PairGroup& group = groups[k];
    if (group.size == 1)
      lone[order[group.begin]] = 1 / matrices[static_cast<std::size_t>(group.matrix)];
    else
      blocks.push_back(static_cast<Index>(k));
  }
}

void PairGroups::fill_matrix(const ScaledRows& rows, const PairGroup& group,
                             const VelocitySolver& inverse, double regularise) {
  const int m = group.size;
  double* G = matrices.data() + group.matrix;
  for (int j = 0; j < m; ++j) {
    for (const ScaledRows::Entry& own : rows.entries(order[group.begin + j])) {
      double y[kMaxVelocityBlock];
      std::copy_n(rows.value(own), own.width, y);
      inverse.solve_block(own.block, y);
      for (int i = 0; i < m; ++i)
        for (const ScaledRows::Entry& other : rows.entries(order[group.begin + i]))
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
