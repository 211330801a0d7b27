// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.cpp: rows => pairs of velocity blocks and their blocks of N. See the header.
#include "solver/pair_groups.hpp"

#include <algorithm>

#include "orthant/base/parallel.hpp"
#include "solver/lanes.hpp"
#include "solver/small_block.hpp"

namespace orthant::internal {
namespace {

std::pair<Index, Index> pair_of(const DelassusOperator& N, Index i) {
  const auto [a, b] = N.blocks_of(i);
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace

void PairGroups::build(const DelassusOperator& N, double regularise) {
  groups.clear();
  blocks.clear();
  parts.assign(1, {});
  std::int64_t values = 0;
  for (Index i = 0; i < N.rows();) {
    if (i - parts.back().row >= kPartRows)
      parts.push_back({i, static_cast<Index>(groups.size()), static_cast<Index>(blocks.size())});
    const auto pair = pair_of(N, i);
    std::int32_t size = 1;
    while (size < kMaxBlock && i + size < N.rows() && pair_of(N, i + size) == pair) ++size;
    if (size > 1) blocks.push_back(static_cast<Index>(groups.size()));
    groups.push_back({i, size, values});
    values += static_cast<std::int64_t>(size) * size;
    i += size;
  }
  parts.push_back({N.rows(), static_cast<Index>(groups.size()), static_cast<Index>(blocks.size())});
  matrices.assign(static_cast<std::size_t>(values), 0.0);
  parallel_for(groups.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) fill_matrix(N, groups[k], regularise);
  });
  lone = VecX::Zero(N.rows());
  for (const PairGroup& group : groups)
    if (group.size == 1) lone[group.begin] = 1 / matrices[static_cast<std::size_t>(group.matrix)];
}

void PairGroups::fill_matrix(const DelassusOperator& N, const PairGroup& group, double regularise) {
  const int m = group.size;
  double* G = matrices.data() + group.matrix;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) G[i * m + j] = N.entry(group.begin + i, group.begin + j);
  for (int i = 0; i < m; ++i) {
    G[i * m + i] *= 1 + regularise;
    if (!(G[i * m + i] > 0)) G[i * m + i] = 1;  // a row without mass behind it
    for (int j = 0; j < i; ++j) G[i * m + j] = G[j * m + i] = 0.5 * (G[i * m + j] + G[j * m + i]);
  }
}

}  // namespace orthant::internal
