// SPDX-License-Identifier: Apache-2.0
// shape/hull.hpp: points => vertices and topology of their convex hull.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "orthant/shape/shape_kernel.hpp"

namespace orthant::internal {

struct HullResult {
  std::vector<double> parameters;  // vertex coordinates, 3 (planar: 2) each
  std::shared_ptr<const HullTopology> topology;
};

/// Vertices keep the order of the input; throws Error for degenerate sets.
HullResult convex_hull_3d(std::span<const Vec3> points, std::string_view name);

/// Vertices counter-clockwise, starting at the leftmost (lowest of these).
HullResult convex_hull_2d(std::span<const Vec2> points, std::string_view name);

/// Fills edges and face_edge from the faces. False when the faces do not close.
bool connect_faces(HullTopology& h);

/// The fixed topology of the kinds that are not hulls.
std::shared_ptr<const HullTopology> fixed_topology(ShapeKind kind, int dim);

}  // namespace orthant::internal
