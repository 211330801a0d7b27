// SPDX-License-Identifier: Apache-2.0
// collision/broad_phase.cpp: boxes along the axes => pairs that overlap, in canonical order.
// A box of extent e lies, by its centre, in one cell of edge s >= e of its level. Every box of a
// level with edge s that overlaps it has its centre within s/2 of it: at most 3 cells a direction.
// Levels with few boxes are tested one by one: a floor among 10^5 grains costs one comparison a
// grain, not 27 look-ups.
#include "orthant/collision/broad_phase.hpp"
#include "orthant/base/mix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant {
namespace {

constexpr Index kFewBoxes = 12;      // a level this small is searched without its grid
constexpr std::size_t kGrain = 256;  // boxes a chunk
constexpr int kSmallestExponent = -1000;

double extent(const Bounds& box) {
  return std::max({box.hi[0] - box.lo[0], box.hi[1] - box.lo[1], box.hi[2] - box.lo[2]});
}

int exponent_of(double e) { return e > 0 ? std::ilogb(e) + 1 : kSmallestExponent; }

/// Cell number of a coordinate. Clamped: all that is 2^30 cells away shares the last one, which
/// costs time there and nothing else.
std::int32_t cell_number(double x, double size) {
  constexpr double kLimit = 1 << 30;
  return static_cast<std::int32_t>(std::clamp(std::floor(x / size), -kLimit, kLimit));
}

std::uint64_t hash_of(std::int32_t level, const std::array<std::int32_t, 3>& at) {
  const auto u = [](std::int32_t x) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(x));
  };
  return mix_bits((u(at[0]) | (u(at[1]) << 32)) +
                  0x9e3779b97f4a7c15U * (u(at[2]) | (u(level) << 32)));
}

}  // namespace

void BroadPhase::sort_into_levels(std::span<const Bounds> boxes) {
  const Index n = static_cast<Index>(boxes.size());
  levels_.clear();
  level_of_.resize(n);
  for (Index i = 0; i < n; ++i) {
    const double e = extent(boxes[i]);
    const int exponent = exponent_of(e);
    // Few levels (a factor of 1000 in size is ten), so a linear search wins.
    auto level = std::find_if(levels_.begin(), levels_.end(),
                              [&](const Level& l) { return l.exponent >= exponent; });
    if (level == levels_.end() || level->exponent != exponent)
      level = levels_.insert(level, Level{.exponent = exponent});
    level->size = std::max(level->size, e);
    ++level->count;
  }
  Index begin = 0;
  for (Level& level : levels_) {
    level.begin = begin;
    begin += level.count;
    level.count = 0;
    if (!(level.size > 0)) level.size = 1;  // points: any edge will do
  }
  by_level_.resize(n);
  for (Index i = 0; i < n; ++i) {
    const int exponent = exponent_of(extent(boxes[i]));
    std::int32_t l = 0;
    while (levels_[l].exponent != exponent) ++l;
    level_of_[i] = l;
    by_level_[levels_[l].begin + levels_[l].count++] = i;
  }
}

void BroadPhase::sort_into_cells(std::span<const Bounds> boxes) {
  const Index n = static_cast<Index>(boxes.size());
  const std::size_t capacity = std::bit_ceil(static_cast<std::size_t>(std::max<Index>(2 * n, 16)));
  cells_.assign(capacity, Cell{});
  cell_of_.assign(n, -1);
  by_cell_.resize(n);
  for (Index i = 0; i < n; ++i) {
    const std::int32_t l = level_of_[i];
    if (levels_[l].count <= kFewBoxes) continue;
    const Vec3 centre = 0.5 * (boxes[i].lo + boxes[i].hi);
    const std::array<std::int32_t, 3> at = {cell_number(centre[0], levels_[l].size),
                                            cell_number(centre[1], levels_[l].size),
                                            cell_number(centre[2], levels_[l].size)};
    std::size_t slot = hash_of(l, at) & (capacity - 1);
    while (cells_[slot].level >= 0 && !(cells_[slot].level == l && cells_[slot].at == at))
      slot = (slot + 1) & (capacity - 1);
    cells_[slot].level = l;
    cells_[slot].at = at;
    ++cells_[slot].count;
    cell_of_[i] = static_cast<Index>(slot);
  }
  // Room for the boxes of each cell in the order of first use, then the boxes in ascending order.
  Index begin = 0;
  for (Index i = 0; i < n; ++i) {
    if (cell_of_[i] < 0) continue;
    Cell& cell = cells_[cell_of_[i]];
    if (cell.count > 0) {
      cell.begin = begin;
      begin += cell.count;
      cell.count = -cell.count;
    }
  }
  for (Index i = 0; i < n; ++i) {
    if (cell_of_[i] < 0) continue;
    Cell& cell = cells_[cell_of_[i]];
    if (cell.count < 0) cell.count = 0;
    by_cell_[cell.begin + cell.count++] = i;
  }
}

Index BroadPhase::find_cell(std::int32_t level, const std::array<std::int32_t, 3>& at) const {
  const std::size_t mask = cells_.size() - 1;
  std::size_t slot = hash_of(level, at) & mask;
  while (cells_[slot].level >= 0) {
    if (cells_[slot].level == level && cells_[slot].at == at) return static_cast<Index>(slot);
    slot = (slot + 1) & mask;
  }
  return -1;
}

void BroadPhase::partners_of(Index i, std::span<const Bounds> boxes,
                             std::span<const unsigned char> moves,
                             std::vector<IndexPair>& found) const {
  const Bounds& box = boxes[i];
  const auto test = [&](Index j, bool same_level) {
    // Within a level boxes that move look for each other: one of them reports. The others do not
    // look there.
    if (same_level ? (moves[j] ? j <= i : false) : !moves[i] && !moves[j]) return;
    if (overlap(box, boxes[j])) found.push_back({std::min(i, j), std::max(i, j)});
  };
  for (std::int32_t l = level_of_[i]; l < static_cast<std::int32_t>(levels_.size()); ++l) {
    const Level& level = levels_[l];
    const bool same = l == level_of_[i];
    if (!moves[i] && (same || begin_of_[l] == 0)) continue;
    if (level.count <= kFewBoxes) {
      for (Index k = 0; k < level.count; ++k) test(by_level_[level.begin + k], same);
      continue;
    }
    std::array<std::int32_t, 3> first, last;
    // A hair more than s/2: rounding must not lose a box whose centre is just on the border.
    const double reach = level.size * (0.5 + 1e-9);
    for (int d = 0; d < 3; ++d) {
      first[d] = cell_number(box.lo[d] - reach, level.size);
      last[d] = cell_number(box.hi[d] + reach, level.size);
    }
    for (std::int32_t x = first[0]; x <= last[0]; ++x)
      for (std::int32_t y = first[1]; y <= last[1]; ++y)
        for (std::int32_t z = first[2]; z <= last[2]; ++z) {
          const Index slot = find_cell(l, {x, y, z});
          if (slot < 0) continue;
          const Cell& cell = cells_[slot];
          for (Index k = 0; k < cell.count; ++k) test(by_cell_[cell.begin + k], same);
        }
  }
}

void BroadPhase::merge_sorted(Index count, std::vector<IndexPair>& pairs) {
  begin_of_.assign(count + 1, 0);
  std::size_t total = 0;
  for (const auto& chunk : found_) {
    total += chunk.size();
    for (const IndexPair& pair : chunk) ++begin_of_[pair.first + 1];
  }
  for (Index i = 0; i < count; ++i) begin_of_[i + 1] += begin_of_[i];
  pairs.resize(total);
  for (const auto& chunk : found_)
    for (const IndexPair& pair : chunk) pairs[begin_of_[pair.first]++] = pair;
  // begin_of_[i] is now the end of i's pairs.
  Index begin = 0;
  for (Index i = 0; i < count; ++i) {
    std::sort(pairs.begin() + begin, pairs.begin() + begin_of_[i]);
    begin = begin_of_[i];
  }
}

void BroadPhase::find_pairs(std::span<const Bounds> boxes, std::span<const unsigned char> moves,
                            std::vector<IndexPair>& pairs) {
  ORTHANT_ASSERT(boxes.size() == moves.size());
  sort_into_levels(boxes);
  sort_into_cells(boxes);
  // Until the pairs are merged begin_of_ holds how many boxes of each level move.
  begin_of_.assign(levels_.size(), 0);
  for (std::size_t i = 0; i < boxes.size(); ++i) begin_of_[level_of_[i]] += moves[i] != 0;
  const std::size_t chunks = chunk_count(boxes.size(), kGrain);
  if (found_.size() < chunks) found_.resize(chunks);
  for (auto& chunk : found_) chunk.clear();
  parallel_for_chunks(boxes.size(), kGrain,
                      [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                        for (std::size_t i = begin; i < end; ++i)
                          partners_of(static_cast<Index>(i), boxes, moves, found_[chunk]);
                      });
  merge_sorted(static_cast<Index>(boxes.size()), pairs);
}

}  // namespace orthant
