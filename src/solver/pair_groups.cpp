// SPDX-License-Identifier: Apache-2.0
// solver/pair_groups.cpp: (problem, row scales) => pairs and their blocks of N. See the header.
#include "solver/pair_groups.hpp"

#include <algorithm>

#include "orthant/base/parallel.hpp"
#include "solver/small_block.hpp"

namespace orthant::internal {
namespace {

constexpr double kRegularise = 1e-10;  // of the diagonal

}  // namespace

/// Rows by pair of velocity blocks, and the scaled block of N of each.
void PairGroups::build(const CanonicalProblem& p, const VecX& row_scale) {
  const Index count = p.block_count();
  keys_.clear();
  for (Index c = 0; c < count; ++c) {
    const auto entries = p.D.entries(c);
    const std::int64_t a = entries.empty() ? -1 : entries[0].block;
    const std::int64_t b = entries.size() < 2 ? -1 : entries[1].block;
    const std::int64_t key = (std::min(a, b) + 1) << 32 | (std::max(a, b) + 1);
    for (Index i = 0; i < p.D.dim(c); ++i) keys_.emplace_back(key, p.D.row_begin(c) + i);
  }
  row_block_.resize(static_cast<std::size_t>(p.row_count()));
  for (Index c = 0; c < count; ++c)
    for (Index i = 0; i < p.D.dim(c); ++i)
      row_block_[static_cast<std::size_t>(p.D.row_begin(c) + i)] = c;
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
  VelocitySolver inverse;
  (void)inverse.factorize(p.H);
  parallel_for(groups.size(), kGroupGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) fill_matrix(p, row_scale, groups[k], inverse);
  });
  lone = VecX::Zero(p.row_count());
  blocks.clear();
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const PairGroup& group = groups[k];
    if (group.size == 1)
      lone[order[group.begin]] = 1 / matrices[static_cast<std::size_t>(group.matrix)];
    else
      blocks.push_back(static_cast<Index>(k));
  }
}

void PairGroups::fill_matrix(const CanonicalProblem& p, const VecX& row_scale,
                             const PairGroup& group, const VelocitySolver& inverse) {
  const int m = group.size;
  double* G = matrices.data() + group.matrix;
  for (int j = 0; j < m; ++j) {
    const Index row = order[group.begin + j];
    const Index block = row_block_[static_cast<std::size_t>(row)];
    const double* a = p.D.values(block);
    const Index dim = p.D.dim(block), r = row - p.D.row_begin(block);
    for (const BlockRows::Entry& entry : p.D.entries(block)) {
      double y[kMaxVelocityBlock];
      for (Index c = 0; c < entry.width; ++c) y[c] = a[r * entry.width + c] * row_scale[row];
      inverse.solve_block(entry.block, y);
      a += static_cast<std::ptrdiff_t>(dim) * entry.width;
      for (int i = 0; i < m; ++i) {
        const Index other = order[group.begin + i];
        const Index other_block = row_block_[static_cast<std::size_t>(other)];
        const double* values = p.D.values(other_block);
        const Index other_dim = p.D.dim(other_block), s = other - p.D.row_begin(other_block);
        for (const BlockRows::Entry& e : p.D.entries(other_block)) {
          if (e.block == entry.block) {
            double sum = 0;
            for (Index c = 0; c < e.width; ++c) sum += values[s * e.width + c] * y[c];
            G[i * m + j] += sum * row_scale[other];
          }
          values += static_cast<std::ptrdiff_t>(other_dim) * e.width;
        }
      }
    }
  }
  for (int i = 0; i < m; ++i) {
    G[i * m + i] *= 1 + kRegularise;
    if (!(G[i * m + i] > 0)) G[i * m + i] = 1;  // a row without mass behind it
    for (int j = 0; j < i; ++j) G[i * m + j] = G[j * m + i] = 0.5 * (G[i * m + j] + G[j * m + i]);
  }
}

}  // namespace orthant::internal
