// SPDX-License-Identifier: Apache-2.0
// shape/triangle_mesh.hpp: triangles of a surface that does not move, with their neighbours and a
// tree of boxes. The matter is behind the faces; corners are walked counter-clockwise from outside.
#pragma once

#include <array>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

struct TriangleMesh {
  struct Box {
    Vec3 lo, hi;
  };
  /// Of the tree: leaves hold `count` > 0 triangles of `order` from `first`, others their left
  /// child, which the right one follows.
  struct Node {
    Box box;
    Index first = 0, count = 0;
  };

  std::vector<Vec3> corners;
  std::vector<std::array<Index, 3>> triangles;
  /// By triangle and side k (corner k to k + 1): the corner across it; -1 at a border.
  std::vector<std::array<Index, 3>> across;
  std::vector<Index> ring_start, ring;  // corners joined to corner i: ring[ring_start[i] ...]
  std::vector<Node> nodes;              // the root first
  std::vector<Index> order;
};

}  // namespace orthant
