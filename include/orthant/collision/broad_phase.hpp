// SPDX-License-Identifier: Apache-2.0
// collision/broad_phase.hpp: boxes along the axes => pairs that overlap, in canonical order.
// A hierarchical grid: a box lies in one cell of the level of its size, and looks for partners in
// its own level and the coarser ones. Linear in the number of boxes for any mixture of sizes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"
#include "orthant/shape/shape.hpp"

namespace ORTHANT_EXPORT orthant {

inline bool overlap(const Bounds& a, const Bounds& b) {
  return a.lo[0] <= b.hi[0] && b.lo[0] <= a.hi[0] && a.lo[1] <= b.hi[1] && b.lo[1] <= a.hi[1] &&
         a.lo[2] <= b.hi[2] && b.lo[2] <= a.hi[2];
}

/// Holds all of a box that matters; infinite: the whole box does.
struct Ball {
  Vec3 centre = Vec3::Zero();
  double radius = std::numeric_limits<double>::infinity();
};

inline bool overlap(const Ball& a, const Ball& b) {
  const double reach = a.radius + b.radius;
  return !((b.centre - a.centre).squaredNorm() > 1.0001 * reach * reach);  // rounding is within
}

struct IndexPair {
  Index first = 0, second = 0;                   ///< first < second
  std::array<std::int8_t, 3> image = {0, 0, 0};  ///< periods added to the second
  auto operator<=>(const IndexPair&) const = default;
};

class BroadPhase {
 public:
  /// All pairs of overlapping boxes of which at least one is marked in `moves`, sorted. Boxes must
  /// be finite. `balls`: by box, or empty; pairs of which they do not overlap are left out. Same
  /// bits for any number of threads.
  void find_pairs(std::span<const Bounds> boxes, std::span<const unsigned char> moves,
                  std::vector<IndexPair>& pairs, std::span<const Ball> balls = {});

 private:
  struct Cell {
    std::array<std::int32_t, 3> at = {0, 0, 0};
    std::int32_t level = -1;  // place in levels_, -1: free slot
    Index begin = 0, count = 0;
  };
  struct Level {
    int exponent = 0;  // boxes with 2^(exponent-1) < extent <= 2^exponent
    double size = 0;   // largest extent in it: the edge of its cells
    Index count = 0;
    Index begin = 0;  // of its boxes in by_level_
    // Where its boxes lie close together the cells are a plain array, z fastest; else hashed.
    bool dense = false;
    std::array<std::int32_t, 3> lo = {0, 0, 0}, cells = {0, 0, 0};
    Index first_cell = 0;  // in starts_
  };

  void sort_into_levels(std::span<const Bounds> boxes);
  void sort_into_cells(std::span<const Bounds> boxes);
  void sort_densely(Level& level, Index& begin);
  Index find_cell(std::int32_t level, const std::array<std::int32_t, 3>& at) const;
  void partners_of(Index i, std::span<const Bounds> boxes, std::span<const unsigned char> moves,
                   std::span<const Ball> balls, std::vector<IndexPair>& found) const;
  void merge_sorted(Index count, std::vector<IndexPair>& pairs);

  std::vector<Level> levels_;                    // by size, ascending
  std::vector<std::int32_t> level_of_;           // box -> place in levels_
  std::vector<Index> by_level_;                  // boxes, level by level
  std::vector<Cell> cells_;                      // open addressing, a power of two
  std::vector<std::array<std::int32_t, 3>> at_;  // box -> its cell's numbers
  std::vector<Index> starts_;  // of the boxes of each cell of a dense level in by_cell_
  std::vector<Index> cell_of_, by_cell_;
  std::vector<std::vector<IndexPair>> found_;  // by chunk
  std::vector<Index> begin_of_;
};

}  // namespace orthant
