// SPDX-License-Identifier: Apache-2.0
// shape/polytope.hpp: (shape, pose) => its core in one common frame; what the searches work on.
// The frame has world axes and its origin at A: pairs far from the world's origin keep their
// digits.
#pragma once

#include <algorithm>

#include "orthant/shape/contact_kernel.hpp"

namespace orthant::internal {

using Primitive = PrimitiveT<double>;
using CoreContact = CoreContactT<double>;

/// A core with its points where they are. Arrays belong to a PolytopeStorage on the stack.
struct Polytope {
  const HullTopology* topology = nullptr;
  int dim = 3;
  Index vertex_count = 0, face_count = 0, edge_count = 0;
  const Vec3* vertex = nullptr;
  const Vec3* normal = nullptr;      // of faces, outward
  const Vec3* face_point = nullptr;  // a point of each face
  double radius = 0;                 // largest distance of a vertex from the pose's origin
};

struct BoxStorage {
  Vec3 vertex[8], normal[6], face_point[6];
};
struct HullStorage {
  Vec3 vertex[kMaxHullVertices], normal[kMaxHullFaces], face_point[kMaxHullFaces];
};

/// Places the core of `s` at rotation R, origin x. With normal == nullptr only the vertices.
void place(const ShapeView<double>& s, const Mat3& R, const Vec3& x, Vec3* vertex, Vec3* normal,
           Vec3* face_point, Polytope& out);

/// Smallest n.v over the vertices, and which (first of equals).
inline double lowest(const Polytope& P, const Vec3& n, Index& arg) {
  double best = n.dot(P.vertex[0]);
  arg = 0;
  for (Index i = 1; i < P.vertex_count; ++i) {
    const double d = n.dot(P.vertex[i]);
    if (d < best) {
      best = d;
      arg = i;
    }
  }
  return best;
}
inline double highest(const Polytope& P, const Vec3& n, Index& arg) { return -lowest(P, -n, arg); }

/// min_A n.a - max_B n.b: a lower bound of the signed distance for any unit n.
inline double separation(const Polytope& A, const Polytope& B, const Vec3& n) {
  Index i, j;
  return lowest(A, n, i) - highest(B, n, j);
}

/// The length that rounding errors of a pair are measured by.
inline double scale_of(const Polytope& A, const Polytope& B) {
  return std::max(A.radius + B.radius, (A.vertex[0] - B.vertex[0]).norm());
}

inline Primitive vertex_of(const Polytope& P, Index i) {
  return {P.vertex[i], P.vertex[i], P.vertex[i]};
}
inline Primitive edge_of(const Polytope& P, Index i) {
  const HullEdge& e = P.topology->edges[i];
  return {P.vertex[e.v0], P.vertex[e.v1], P.vertex[e.v0]};
}
inline Primitive face_of(const Polytope& P, Index i) {
  return {P.face_point[i], P.face_point[i], P.normal[i]};
}

/// The same contact with A and B exchanged.
void exchange_sides(ContactPoint& c);

/// Core gap, normal from B to A and core points, in the frame of the polytopes: point_a and point_b
/// not yet moved to the surfaces.
void evaluate_core(const ContactFeature& f, const Polytope& A, const Polytope& B,
                   ContactPoint& out);

/// The best separating axis over the faces of both and the pairs of edges: the exact answer for
/// overlapping polytopes, a lower bound of the distance for separated ones.
struct Axis {
  enum Kind { kFaceA, kFaceB, kEdges } kind = kFaceA;
  double separation = 0;
  Vec3 normal;           // from B to A
  Index a = -1, b = -1;  // face of A or B and the vertex below it; or the two edges
  int sign = 1;          // of e_a x e_b
};

/// Any pair in which at least one has faces. `scale` is a length: ties are broken at 1e-12 of it.
Axis best_axis(const Polytope& A, const Polytope& B, double scale);
Axis best_face_axis(const Polytope& A, const Polytope& B, double scale);

/// Two boxes in space: columns of R their axes, half their half extents, at the distance x = B - A.
/// Returns false as soon as an axis separates by more than margin.
bool best_axis_boxes(const Mat3& R_A, const double* half_a, const Mat3& R_B, const double* half_b,
                     const Vec3& x, double margin, double scale, Axis& out);

const HullTopology& box_topology();

/// Edge number of the box edge along `axis` whose other coordinates have the + sides of `bits`.
Index box_edge(int axis, int bits);

/// Exact nearest features of separated polytopes by GJK, starting from direction n. False when they
/// touch or overlap (to 1e-14 of scale).
bool nearest_features(const Polytope& A, const Polytope& B, const Vec3& n, double scale,
                      ContactPoint& out);

/// Contact points of two polytopes (at least one with faces) with core gap < margin; core points,
/// polytope frame. With exact_only just the nearest.
int polytope_contacts(const Polytope& A, const Polytope& B, double margin, bool exact_only,
                      ContactPoint* out);
/// The same when the best axis is known already.
int axis_contacts(const Polytope& A, const Polytope& B, const Axis& axis, double margin,
                  bool exact_only, double scale, ContactPoint* out);

/// Capsule against capsule in space (any two edges 0): nearest points and, when nearly parallel,
/// the ends of the common stretch.
int segment_contacts(const Polytope& A, const Polytope& B, double margin, bool exact_only,
                     ContactPoint* out);

/// Extra points where the edges ea, eb of A and B run side by side; out[0] holds the nearest.
int add_line_points(const Polytope& A, const Polytope& B, Index ea, Index eb, double margin,
                    double scale, ContactPoint* out);

/// Points of polytope shape A over face 0 of hull B, with its normal, whether or not that is the
/// nearest way apart: at most 4, with radii, in the world.
int front_contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                   const Pose& X_WB, double margin, ContactPoint* out);

/// All vertices of A below margin over face 0 of the plane (normal, point), spread to 4 (2).
int plane_contacts(const Polytope& A, const Vec3& normal, const Vec3& point, double margin,
                   bool exact_only, ContactPoint* out);

}  // namespace orthant::internal
