// SPDX-License-Identifier: Apache-2.0
// solver/row_order.cpp: breadth first over the graph of velocity blocks, twice: what comes last
// from anywhere is outermost, and layers from there on are narrow.
#include "solver/row_order.hpp"

#include <algorithm>

namespace orthant::internal {

void RowOrder::spread(const CanonicalProblem& p, Index start) {
  const auto reach = [&](Index block) {
    if (place_[block] >= 0) return;
    place_[block] = static_cast<Index>(queue_.size());
    queue_.push_back(block);
  };
  std::size_t next = queue_.size();
  for (reach(start); next < queue_.size(); ++next) {
    const Index block = queue_[next];
    for (Index k = begin_[block]; k < begin_[block + 1]; ++k)
      for (const BlockRows::Entry& entry : p.D.entries(rows_at_[k])) reach(entry.block);
  }
}

/// Place of the other block that a row of `block` touches, -1 where there is none; -2 where it
/// comes first.
Index RowOrder::partner(const CanonicalProblem& p, Index row_block, Index block) const {
  Index other = -1;
  for (const BlockRows::Entry& entry : p.D.entries(row_block))
    if (entry.block != block) other = place_[entry.block];
  return other < 0 || other > place_[block] ? other : -2;
}

void RowOrder::build(const CanonicalProblem& p) {
  const Index count = p.H.block_count(), rows = p.D.row_block_count();
  begin_.assign(static_cast<std::size_t>(count) + 2, 0);
  for (Index c = 0; c < rows; ++c)
    for (const BlockRows::Entry& entry : p.D.entries(c)) ++begin_[entry.block + 2];
  for (std::size_t b = 2; b < begin_.size(); ++b) begin_[b] += begin_[b - 1];
  rows_at_.resize(static_cast<std::size_t>(begin_.back()));
  for (Index c = 0; c < rows; ++c)
    for (const BlockRows::Entry& entry : p.D.entries(c)) rows_at_[begin_[entry.block + 1]++] = c;

  place_.assign(static_cast<std::size_t>(count), -1);
  queue_.clear();
  for (Index b = 0; b < count; ++b) {
    if (place_[b] >= 0 || begin_[b] == begin_[b + 1]) continue;
    const std::size_t first = queue_.size();
    spread(p, b);
    const Index outermost = queue_.back();
    for (std::size_t k = first; k < queue_.size(); ++k) place_[queue_[k]] = -1;
    queue_.resize(first);
    spread(p, outermost);
  }
  blocks.clear();
  for (const Index block : queue_) {
    near_.clear();
    for (Index k = begin_[block]; k < begin_[block + 1]; ++k) {
      const Index other = partner(p, rows_at_[k], block);
      if (other >= -1) near_.emplace_back(other, rows_at_[k]);
    }
    std::sort(near_.begin(), near_.end());
    for (const auto& [other, row] : near_) blocks.push_back(row);
  }
  for (Index c = 0; c < rows; ++c)
    if (p.D.entries(c).empty()) blocks.push_back(c);
}

}  // namespace orthant::internal
