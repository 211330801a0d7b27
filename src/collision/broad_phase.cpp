// SPDX-License-Identifier: Apache-2.0
// collision/broad_phase.cpp: boxes along the axes => pairs that overlap, in canonical order.
// A box of extent e lies, by its centre, in one cell of edge s >= e of its level. Every box of a
// level with edge s that overlaps it has its centre within s/2 of it: at most 3 cells per
// direction. Levels with few boxes are tested one by one: a floor among 10^5 grains costs one
// comparison a grain, not 27 look-ups.
#include "orthant/collision/broad_phase.hpp"
#include "orthant/base/mix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/refill.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant {
namespace {

constexpr Index kFewBoxes = 12;      // a level this small is searched without its grid
constexpr std::size_t kGrain = 256;  // boxes a chunk
constexpr int kSmallestExponent = -2000;
constexpr double kHair = 1e-6;
constexpr double kCellsABox = 8;  // cells a level may have as an array: beyond, a hash

double extent(const Bounds& box) {
  return std::max({box.hi[0] - box.lo[0], box.hi[1] - box.lo[1], box.hi[2] - box.lo[2]});
}

/// From the bits: numbers too small to be normal share one.
std::int32_t exponent_of(double e) {
  return e > 0 ? static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(e) >> 52) - 1022
               : kSmallestExponent;
}

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
  parallel_for(boxes.size(), kGrain, [&](std::size_t begin_of, std::size_t end) {
    for (std::size_t i = begin_of; i < end; ++i) level_of_[i] = exponent_of(extent(boxes[i]));
  });
  for (Index i = 0; i < n; ++i) {
    const double e = extent(boxes[i]);
    const std::int32_t exponent = level_of_[i];
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
    // A hair more than the largest: rounding must not put neighbours two cells apart.
    level.size = level.size > 0 ? (1 + kHair) * level.size : 1;  // points: any edge will do
  }
  by_level_.resize(n);
  for (Index i = 0; i < n; ++i) {
    std::int32_t l = 0;
    while (levels_[l].exponent != level_of_[i]) ++l;
    level_of_[i] = l;
    by_level_[levels_[l].begin + levels_[l].count++] = i;
  }
}

/// Counting sort of a level's boxes by cell, each cell in ascending order.
void BroadPhase::sort_densely(Level& level, Index& begin) {
  level.first_cell = static_cast<Index>(starts_.size());
  const auto volume = static_cast<std::size_t>(level.cells[0]) * level.cells[1] * level.cells[2];
  starts_.resize(starts_.size() + volume + 1, 0);
  Index* starts = starts_.data() + level.first_cell;
  const auto cell_of = [&](Index i) {
    const auto& at = at_[i];
    return (static_cast<std::size_t>(at[0] - level.lo[0]) * level.cells[1] +
            (at[1] - level.lo[1])) *
               level.cells[2] +
           (at[2] - level.lo[2]);
  };
  for (Index k = 0; k < level.count; ++k) ++starts[cell_of(by_level_[level.begin + k]) + 1];
  starts[0] = begin;
  for (std::size_t c = 0; c < volume; ++c) starts[c + 1] += starts[c];
  for (Index k = 0; k < level.count; ++k) {
    const Index i = by_level_[level.begin + k];
    by_cell_[starts[cell_of(i)]++] = i;
  }
  // Each start has become the end of its cell: one place back.
  for (std::size_t c = volume; c > 0; --c) starts[c] = starts[c - 1];
  starts[0] = begin;
  begin += level.count;
}

void BroadPhase::sort_into_cells(std::span<const Bounds> boxes) {
  const Index n = static_cast<Index>(boxes.size());
  cell_of_.assign(n, -1);
  at_.resize(n);
  by_cell_.resize(n);
  starts_.clear();
  Index begin = 0, hashed = 0;
  for (Level& level : levels_) {
    if (level.count <= kFewBoxes) continue;
    std::array<std::int32_t, 3> lo, hi;
    lo.fill(std::numeric_limits<std::int32_t>::max());
    hi.fill(std::numeric_limits<std::int32_t>::min());
    parallel_for(static_cast<std::size_t>(level.count), kGrain,
                 [&](std::size_t first, std::size_t last) {
                   for (std::size_t k = first; k < last; ++k) {
                     const Index i = by_level_[static_cast<std::size_t>(level.begin) + k];
                     const Vec3 centre = 0.5 * (boxes[i].lo + boxes[i].hi);
                     for (int d = 0; d < 3; ++d) at_[i][d] = cell_number(centre[d], level.size);
                   }
                 });
    for (Index k = 0; k < level.count; ++k) {
      const Index i = by_level_[level.begin + k];
      for (int d = 0; d < 3; ++d) {
        lo[d] = std::min(lo[d], at_[i][d]);
        hi[d] = std::max(hi[d], at_[i][d]);
      }
    }
    double volume = 1;
    for (int d = 0; d < 3; ++d) volume *= static_cast<double>(hi[d]) - lo[d] + 1;
    level.dense = volume <= kCellsABox * static_cast<double>(level.count);
    if (!level.dense) {
      hashed += level.count;
      continue;
    }
    level.lo = lo;
    for (int d = 0; d < 3; ++d) level.cells[d] = hi[d] - lo[d] + 1;
    sort_densely(level, begin);
  }
  const std::size_t capacity =
      std::bit_ceil(static_cast<std::size_t>(std::max<Index>(2 * hashed, 16)));
  cells_.assign(capacity, Cell{});
  if (hashed == 0) return;
  const auto is_hashed = [&](Index i) {
    const Level& level = levels_[level_of_[i]];
    return level.count > kFewBoxes && !level.dense;
  };
  for (Index i = 0; i < n; ++i) {
    if (!is_hashed(i)) continue;
    const std::int32_t l = level_of_[i];
    const std::array<std::int32_t, 3>& at = at_[i];
    std::size_t slot = hash_of(l, at) & (capacity - 1);
    while (cells_[slot].level >= 0 && !(cells_[slot].level == l && cells_[slot].at == at))
      slot = (slot + 1) & (capacity - 1);
    cells_[slot].level = l;
    cells_[slot].at = at;
    ++cells_[slot].count;
    cell_of_[i] = static_cast<Index>(slot);
  }
  // Room for the boxes of each cell in the order of first use, then the boxes in ascending order.
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
                             std::span<const unsigned char> moves, std::span<const Ball> balls,
                             std::vector<IndexPair>& found) const {
  const Bounds& box = boxes[i];
  const auto add_if_near = [&](Index j) {
    if (overlap(box, boxes[j]) && (balls.empty() || overlap(balls[i], balls[j])))
      found.push_back({std::min(i, j), std::max(i, j)});
  };
  const auto test = [&](Index j, bool same_level) {
    // Within a level boxes that move look for each other: one of them reports. The others do not
    // look there.
    if (same_level ? (moves[j] ? j <= i : false) : !moves[i] && !moves[j]) return;
    add_if_near(j);
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
    const double reach = level.size * (0.5 + kHair);
    for (int d = 0; d < 3; ++d) {  // in its own level centres are at most an edge apart
      first[d] = same ? at_[i][d] - 1 : cell_number(box.lo[d] - reach, level.size);
      last[d] = same ? at_[i][d] + 1 : cell_number(box.hi[d] + reach, level.size);
    }
    if (level.dense) {
      for (int d = 0; d < 3; ++d) {
        first[d] = std::max(first[d] - level.lo[d], 0);
        last[d] = std::min(last[d] - level.lo[d], level.cells[d] - 1);
      }
      if (first[2] > last[2]) continue;
      // Where all of a level move each pair is looked at once: from the cell that comes first, and
      // within a cell from the smaller box.
      const bool once = same && begin_of_[l] == level.count;
      const std::array<std::int32_t, 3> own = {at_[i][0] - level.lo[0], at_[i][1] - level.lo[1],
                                               at_[i][2] - level.lo[2]};
      for (std::int32_t x = once ? own[0] : first[0]; x <= last[0]; ++x)
        for (std::int32_t y = once && x == own[0] ? own[1] : first[1]; y <= last[1]; ++y) {
          const auto row = static_cast<std::size_t>(level.first_cell) +
                           (static_cast<std::size_t>(x) * level.cells[1] + y) * level.cells[2];
          const bool home = once && x == own[0] && y == own[1];
          const Index end = starts_[row + last[2] + 1];
          Index k = starts_[row + (home ? own[2] : first[2])];
          if (home)
            while (k < end && by_cell_[k] != i) ++k;
          if (!once) {
            for (; k < end; ++k) test(by_cell_[k], same);
            continue;
          }
          for (k += home; k < end; ++k) add_if_near(by_cell_[k]);
        }
      continue;
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
  make_room(pairs, total);
  pairs.resize(total);
  for (const auto& chunk : found_)
    for (const IndexPair& pair : chunk) pairs[begin_of_[pair.first]++] = pair;
  // begin_of_[i] is now the end of i's pairs.
  parallel_for(static_cast<std::size_t>(count), kGrain, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      std::sort(pairs.begin() + (i > 0 ? begin_of_[i - 1] : 0), pairs.begin() + begin_of_[i]);
  });
}

void BroadPhase::find_pairs(std::span<const Bounds> boxes, std::span<const unsigned char> moves,
                            std::vector<IndexPair>& pairs, std::span<const Ball> balls) {
  ORTHANT_ASSERT(boxes.size() == moves.size() && (balls.empty() || balls.size() == boxes.size()));
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
                          partners_of(static_cast<Index>(i), boxes, moves, balls, found_[chunk]);
                      });
  merge_sorted(static_cast<Index>(boxes.size()), pairs);
}

}  // namespace orthant
