// SPDX-License-Identifier: Apache-2.0
// shape/shape_kernel.hpp: (kind, flat parameters, topology) => vertices, edges, faces, radius.
// Every shape is a core (point, segment, box, hull, half-space; ellipsoid, circle, …) inflated by a
// radius, so distance = core distance - radii, and one set of feature formulas serves all
// polytopes. Parameters are a flat array in T, topology is constant: a model stores all parameters
// in one vector, and a dual T differentiates by radius, half lengths and vertices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"
#include "orthant/shape/triangle_mesh.hpp"

namespace ORTHANT_EXPORT orthant {

/// Parameters by kind, in order (planar shapes leave out what has z):
///   Sphere     radius
///   Capsule    radius, half_length                 segment along x of the shape frame
///   Box        half_x, half_y, half_z
///   Hull       vertex/0.x, vertex/0.y, vertex/0.z, vertex/1.x, ...; a rounded one then radius
///   HalfSpace  none                                the matter is below: outward normal +z (planar:
///   +y)
///   Ellipsoid  semi_x, semi_y, semi_z
///   SuperEllipsoid  semi_x, semi_y, semi_z, e1, e2   see super_kernel.hpp; in space only
///   Cylinder   radius, half_length                 axis along x; in space only
///   Cone       radius, half_length                 base at -half_length, tip at +half_length on x
///   Torus      major, minor                        ring about z of the shape frame; in space only
///   Mesh       scale_x, scale_y, scale_z           factors on the corners of a triangle mesh
enum class ShapeKind : std::uint8_t {
  Sphere,
  Capsule,
  Box,
  Hull,
  HalfSpace,
  Ellipsoid,
  SuperEllipsoid,
  Cylinder,
  Cone,
  Torus,
  Mesh
};

/// Curved beyond an inflated polytope: its contacts come from shape/smooth.
inline constexpr bool is_smooth(ShapeKind kind) {
  return kind >= ShapeKind::Ellipsoid && kind <= ShapeKind::Torus;
}
/// A body of revolution about x with flat ends.
inline constexpr bool is_turned(ShapeKind kind) {
  return kind == ShapeKind::Cylinder || kind == ShapeKind::Cone;
}
/// Without bounds to its matter: no mass, no width. Its body is fixed or kinematic.
inline constexpr bool is_ground(ShapeKind kind) {
  return kind == ShapeKind::HalfSpace || kind == ShapeKind::Mesh;
}

/// An edge runs from v0 to v1; f0 is the face that walks it forwards, f1 the other (-1: no faces).
struct HullEdge {
  Index v0, v1, f0, f1;
};

/// Which vertices make edges and faces; the coordinates are parameters. Faces are walked counter-
/// clockwise seen from outside. In the plane a face is a side (two vertices) and there are no
/// edges.
struct HullTopology {
  Index vertex_count = 0;
  std::vector<Index> face_start;   // face f owns [face_start[f], face_start[f + 1])
  std::vector<Index> face_vertex;  // its vertices, in order
  std::vector<Index> face_edge;    // edge from that vertex to the next of the face
  std::vector<HullEdge> edges;
  bool rounded = false;  // a hull with one more parameter, the radius of its edges
  std::shared_ptr<const TriangleMesh> mesh;  // of a Mesh

  Index face_count() const {
    return face_start.empty() ? 0 : static_cast<Index>(face_start.size()) - 1;
  }
  Index edge_count() const { return static_cast<Index>(edges.size()); }
};

/// More vertices are refused when a hull is built: queries keep a hull's points on the stack.
inline constexpr int kMaxHullVertices = 255;
inline constexpr int kMaxHullFaces = 2 * kMaxHullVertices - 4;
inline constexpr int kMaxHullEdges = 3 * kMaxHullVertices - 6;

/// Points held on the rim of a cylinder or cone: vertices 8 i + k of end i, a cone's tip is 8.
inline constexpr int kRimPoints = 8;

/// A shape to a kernel: what it is, its numbers in T, its constant topology (never null). dim is 2
/// for the planar section z = 0, 3 in space.
template <class T>
struct ShapeView {
  ShapeKind kind = ShapeKind::Sphere;
  int dim = 3;
  const T* p = nullptr;
  const HullTopology* topology = nullptr;
};

/// Radius by which the core is inflated [m].
template <class T>
T core_radius(const ShapeView<T>& s) {
  if (s.kind == ShapeKind::Torus) return s.p[1];
  if (s.kind == ShapeKind::Hull && s.topology->rounded)
    return s.p[s.topology->vertex_count * s.dim];
  return s.kind == ShapeKind::Sphere || s.kind == ShapeKind::Capsule ? s.p[0] : T(0);
}

/// Core vertex i in the shape frame. Box: bit k of i chooses the + side of axis k.
template <class T>
Vec3T<T> core_vertex(const ShapeView<T>& s, Index i) {
  switch (s.kind) {
    case ShapeKind::Capsule:
      return Vec3T<T>(i == 0 ? -s.p[1] : s.p[1], T(0), T(0));
    case ShapeKind::Box:
      return Vec3T<T>((i & 1) ? s.p[0] : -s.p[0], (i & 2) ? s.p[1] : -s.p[1],
                      s.dim == 2 ? T(0) : ((i & 4) ? s.p[2] : -s.p[2]));
    case ShapeKind::Hull: {
      const T* v = s.p + i * s.dim;
      return Vec3T<T>(v[0], v[1], s.dim == 2 ? T(0) : v[2]);
    }
    case ShapeKind::Cylinder:
    case ShapeKind::Cone: {
      if (s.kind == ShapeKind::Cone && i == kRimPoints) return Vec3T<T>(s.p[1], T(0), T(0));
      constexpr double d = 0.70710678118654752440;
      constexpr std::array<double, kRimPoints> kCosine = {1, d, 0, -d, -1, -d, 0, d};
      const auto k = static_cast<std::size_t>(i % kRimPoints);
      return Vec3T<T>(i < kRimPoints ? -s.p[1] : s.p[1], s.p[0] * T(kCosine[k]),
                      s.p[0] * T(kCosine[(k + 6) % kRimPoints]));
    }
    case ShapeKind::Sphere:
    case ShapeKind::HalfSpace:
    case ShapeKind::Ellipsoid:
    case ShapeKind::SuperEllipsoid:
    case ShapeKind::Torus:
    case ShapeKind::Mesh:
      break;
  }
  return Vec3T<T>(T(0), T(0), T(0));
}

template <class T>
struct PlaneT {
  Vec3T<T> normal;  // unit, outward
  Vec3T<T> point;   // any point of the face
};

/// Outward plane of core face f in the shape frame. Box: f = 2 axis + (1 on the + side). A hull
/// face takes Newell's normal and the mean vertex, so every vertex of the face has its share in the
/// derivative.
template <class T>
PlaneT<T> core_face(const ShapeView<T>& s, Index f) {
  using std::sqrt;
  PlaneT<T> plane{Vec3T<T>(T(0), T(0), T(0)), Vec3T<T>(T(0), T(0), T(0))};
  if (s.kind == ShapeKind::HalfSpace) {
    plane.normal[s.dim - 1] = T(1);
    return plane;
  }
  if (is_turned(s.kind)) {  // its flat ends: -x, +x
    plane.normal[0] = T(f == 0 ? -1 : 1);
    plane.point[0] = f == 0 ? -s.p[1] : s.p[1];
    return plane;
  }
  if (s.kind == ShapeKind::Box) {
    const int axis = f >> 1;
    plane.normal[axis] = T((f & 1) ? 1 : -1);
    plane.point[axis] = (f & 1) ? s.p[axis] : -s.p[axis];
    return plane;
  }
  const HullTopology& h = *s.topology;
  const Index begin = h.face_start[f], end = h.face_start[f + 1];
  if (s.dim == 2) {  // a side, walked counter-clockwise: outside is to the right
    const Vec3T<T> a = core_vertex(s, h.face_vertex[begin]);
    const Vec3T<T> b = core_vertex(s, h.face_vertex[begin + 1]);
    plane.normal = Vec3T<T>(b[1] - a[1], a[0] - b[0], T(0));
    plane.point = a;
  } else {
    const Vec3T<T> origin = core_vertex(s, h.face_vertex[begin]);
    Vec3T<T> previous = core_vertex(s, h.face_vertex[begin + 1]) - origin;
    Vec3T<T> sum = previous;
    for (Index k = begin + 2; k < end; ++k) {
      const Vec3T<T> next = core_vertex(s, h.face_vertex[k]) - origin;
      plane.normal += previous.cross(next);
      sum += next;
      previous = next;
    }
    plane.point = origin + sum * T(1.0 / (end - begin));
  }
  const T length = sqrt(plane.normal.squaredNorm());
  plane.normal = plane.normal / length;
  return plane;
}

}  // namespace orthant
