// SPDX-License-Identifier: Apache-2.0
// model/mesh.hpp: nodes and linear elements: tetrahedra in space, triangles in the plane.
// Built here (boxes, cylinders, balls), or read from a file. A mesh is checked once, when it
// becomes part of a model: check_mesh() names the first bad element.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

struct Mesh {
  int dim = 3;  ///< 3: tetrahedra, 2: triangles with z = 0
  std::vector<Vec3> nodes;
  /// Corners, positively oriented (det(x1−x0, x2−x0, x3−x0) > 0; triangles counter-clockwise).
  /// The fourth place of a triangle is −1.
  std::vector<std::array<Index, 4>> elements;

  Index node_count() const { return static_cast<Index>(nodes.size()); }
  Index element_count() const { return static_cast<Index>(elements.size()); }
};

/// [0, x] × [0, y] × [0, z] in nx × ny × nz cells of six tetrahedra each, mirrored from cell to
/// cell so that no direction is preferred. A beam is a long box.
Mesh box_mesh(const Vec3& size, Index nx, Index ny, Index nz);
/// Axis along x from 0 to `length`, n cells across the diameter (even), m along the axis.
Mesh cylinder_mesh(double radius, double length, Index n, Index m);
/// Ball about the origin, n cells across the diameter (even).
Mesh ball_mesh(double radius, Index n);
/// [0, x] × [0, y] in nx × ny cells of two triangles each.
Mesh rectangle_mesh(double x, double y, Index nx, Index ny);
/// Disc about the origin, n cells across the diameter (even).
Mesh disc_mesh(double radius, Index n);

/// Volume, in the plane area, of one element; negative: inverted [m³, m²].
double element_volume(const Mesh& mesh, Index element);
/// Shape of one element: 1 for the regular one, 0 for a flat one.
double element_quality(const Mesh& mesh, Index element);
/// Elements below this quality are refused as slivers.
inline constexpr double kSliverQuality = 1e-3;

/// Throws Error(where, …) unless there are elements, every corner exists and is finite, none is
/// inverted or a sliver, and every node is used.
void check_mesh(const Mesh& mesh, std::string_view where);

/// Faces of one element only, oriented outward: triangles in space, sides (third place −1) in the
/// plane; sorted by element and local face.
std::vector<std::array<Index, 3>> surface_faces(const Mesh& mesh);

/// The nodes that `chosen` accepts, ascending.
template <class Predicate>
std::vector<Index> nodes_where(const Mesh& mesh, Predicate&& chosen) {
  std::vector<Index> list;
  for (Index i = 0; i < mesh.node_count(); ++i)
    if (chosen(mesh.nodes[static_cast<std::size_t>(i)])) list.push_back(i);
  return list;
}

}  // namespace orthant
