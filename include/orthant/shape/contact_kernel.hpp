// SPDX-License-Identifier: Apache-2.0
// shape/contact_kernel.hpp: (active features, parameters, poses) => gap, normal, witness points.
//   gap = n.(p_A - p_B) < 0 in overlap,  n unit from B to A,  p on each surface, world frame
// A search (shape/contacts.hpp) finds *which* features touch; these formulas say where and how far.
// They are the converged optimality conditions of the search with the active features held, so in
// dual arithmetic they give the exact derivative of gap, normal and points, no iteration inside.
#pragma once

#include <cstdint>

#include "orthant/math/pose_kernel.hpp"
#include "orthant/shape/shape_kernel.hpp"

namespace orthant {

/// What touches what. "First" is A, or B where `swapped`; formulas give n from second to first.
enum class FeatureKind : std::uint8_t {
  VertexVertex,   // n along the difference
  VertexEdge,     // first's vertex, second's edge: n along the difference
  EdgeEdge,       // n = sign (e_first x e_second)
  VertexFace,     // first's vertex over second's face: n = the face normal
  ClippedEdge,    // first's edge above an edge of second's face `face`: n = that face's normal
  ClippedVertex,  // second's vertex, of its face `face`, under first's face: n = second's face
                  // normal
};

struct ContactFeature {
  FeatureKind kind = FeatureKind::VertexVertex;
  bool swapped = false;
  std::int8_t sign = 1;     // of the cross product, EdgeEdge only
  std::int16_t first = 0;   // vertex, edge or face of the first shape's core
  std::int16_t second = 0;  // vertex, edge or face of the second's
  std::int16_t face = 0;    // reference face of the second, clipped kinds only
};

/// Stable name of the two features, the same whichever face was the reference: for contact keys and
/// warm starts. 28 bits: (type and index on A, type and index on B).
inline std::uint32_t feature_id(const ContactFeature& f) {
  enum : std::uint32_t { kVertex = 0, kEdge = 1, kFace = 2 };
  std::uint32_t first = kVertex, second = kVertex;
  switch (f.kind) {
    case FeatureKind::VertexVertex:
      break;
    case FeatureKind::VertexEdge:
      second = kEdge;
      break;
    case FeatureKind::EdgeEdge:
    case FeatureKind::ClippedEdge:
      first = second = kEdge;
      break;
    case FeatureKind::VertexFace:
      second = kFace;
      break;
    case FeatureKind::ClippedVertex:
      first = kFace;
      break;
  }
  const std::uint32_t one = first << 12 | static_cast<std::uint32_t>(f.first);
  const std::uint32_t two = second << 12 | static_cast<std::uint32_t>(f.second);
  return f.swapped ? two << 14 | one : one << 14 | two;
}

template <class T>
struct ContactPointT {
  T gap{0};          // [m], negative = overlap
  Vec3T<T> normal;   // unit, from B to A
  Vec3T<T> point_a;  // on A's surface [m, world]
  Vec3T<T> point_b;  // on B's surface; point_a - point_b = gap normal
  ContactFeature feature;
  std::uint32_t id = 0;  // feature_id(feature)
};
using ContactPoint = ContactPointT<double>;

/// A unit vector perpendicular to the unit vector n, and n x it; deterministic, defined everywhere.
/// Not continuous on the sphere (none is): Coulomb's law is isotropic, so no result depends on it.
template <class T>
void contact_tangents(const Vec3T<T>& n, Vec3T<T>& t1, Vec3T<T>& t2) {
  const T sign = value_of(n[2]) < 0 ? T(-1) : T(1);
  const T a = T(-1) / (sign + n[2]);
  const T b = n[0] * n[1] * a;
  t1 = Vec3T<T>(T(1) + sign * n[0] * n[0] * a, sign * b, -sign * n[0]);
  t2 = Vec3T<T>(b, sign + n[1] * n[1] * a, -n[1]);
}

/// The planar tangent: n turned by +90 degrees.
template <class T>
Vec3T<T> planar_tangent(const Vec3T<T>& n) {
  return Vec3T<T>(-n[1], n[0], T(0));
}

namespace internal {

/// One body's part of a contact, all in one frame: a vertex p0, an edge p0 p1, or a face through
/// p0.
template <class T>
struct PrimitiveT {
  Vec3T<T> p0, p1;
  Vec3T<T> normal;
};

/// Core result: gap and normal from second to first, witness points on the cores.
template <class T>
struct CoreContactT {
  T gap;
  Vec3T<T> normal, first, second;
};

/// d / |d| and |d|; where d vanishes the fallback, a unit vector perpendicular to the line that
/// carries the second feature (`along`), or the fixed direction "up" where there is no line.
template <class T>
T direction(const Vec3T<T>& d, const Vec3T<T>* along, int dim, Vec3T<T>& n) {
  using std::sqrt;
  const T square = d.squaredNorm();
  const double noise = along == nullptr ? 1e-200 : 1e-28 * value_of(along->squaredNorm());
  if (value_of(square) > noise) {
    const T length = sqrt(square);
    n = d / length;
    return length;
  }
  n = Vec3T<T>(T(0), T(0), T(0));
  n[dim - 1] = T(1);
  if (along != nullptr) {
    const T length = sqrt(along->squaredNorm());
    Vec3T<T> other;
    contact_tangents(Vec3T<T>(*along / length), other, n);
  }
  return T(0);
}

/// The formulas. `reference` is the face of the clipped kinds.
template <class T>
CoreContactT<T> core_contact(FeatureKind kind, int sign, int dim, const PrimitiveT<T>& first,
                             const PrimitiveT<T>& second, const PrimitiveT<T>& reference) {
  using std::sqrt;
  CoreContactT<T> c;
  switch (kind) {
    case FeatureKind::VertexVertex: {
      c.first = first.p0;
      c.second = second.p0;
      c.gap = direction<T>(c.first - c.second, nullptr, dim, c.normal);
      break;
    }
    case FeatureKind::VertexEdge: {
      const Vec3T<T> e = second.p1 - second.p0;
      c.first = first.p0;
      c.second = second.p0 + e * ((c.first - second.p0).dot(e) / e.squaredNorm());
      c.gap = direction<T>(c.first - c.second, &e, dim, c.normal);
      break;
    }
    case FeatureKind::EdgeEdge: {
      const Vec3T<T> e = first.p1 - first.p0, g = second.p1 - second.p0;
      Vec3T<T> m = e.cross(g) * T(sign);
      m -= e *
           (m.dot(e) / e.squaredNorm());  // zero but for rounding, which near-parallel edges show
      const T square = m.squaredNorm();
      const Vec3T<T> d = second.p0 - first.p0;
      c.normal = m / sqrt(square);
      // p0 + s e - (q0 + t g) = gap n  =>  s = det(d, g, m)/|m|^2, t = det(d, e, m)/|m|^2
      c.first = first.p0 + e * (d.cross(g).dot(m) * T(sign) / square);
      c.second = second.p0 + g * (d.cross(e).dot(m) * T(sign) / square);
      c.gap =
          c.normal.dot(c.first - c.second);  // not n.d: an error of n along e would count in full
      break;
    }
    case FeatureKind::VertexFace: {
      c.normal = second.normal;
      c.first = first.p0;
      c.gap = c.normal.dot(c.first - second.p0);
      c.second = c.first - c.normal * c.gap;
      break;
    }
    case FeatureKind::ClippedEdge: {
      c.normal = reference.normal;
      const Vec3T<T> side = (second.p1 - second.p0).cross(c.normal);
      const Vec3T<T> e = first.p1 - first.p0;
      c.first = first.p0 + e * (side.dot(second.p0 - first.p0) / side.dot(e));
      c.gap = c.normal.dot(c.first - reference.p0);
      c.second = c.first - c.normal * c.gap;
      break;
    }
    case FeatureKind::ClippedVertex: {
      c.normal = reference.normal;
      c.second = second.p0;
      c.gap = first.normal.dot(first.p0 - c.second) / first.normal.dot(c.normal);
      c.first = c.second + c.normal * c.gap;
      break;
    }
  }
  return c;
}

template <class T>
PrimitiveT<T> vertex_primitive(const ShapeView<T>& s, const PoseT<T>& X, Index i) {
  const Vec3T<T> p = transform(X, core_vertex(s, i));
  return {p, p, p};
}

template <class T>
PrimitiveT<T> edge_primitive(const ShapeView<T>& s, const PoseT<T>& X, Index i) {
  const HullEdge& e = s.topology->edges[i];
  const Vec3T<T> p = transform(X, core_vertex(s, e.v0));
  return {p, transform(X, core_vertex(s, e.v1)), p};
}

template <class T>
PrimitiveT<T> face_primitive(const ShapeView<T>& s, const PoseT<T>& X, Index i) {
  const PlaneT<T> plane = core_face(s, i);
  const Vec3T<T> p = transform(X, plane.point);
  return {p, p, rotate(X.p, plane.normal)};
}

}  // namespace internal

/// Gap, normal and witness points with the features of `f` held.
template <class T>
ContactPointT<T> evaluate_contact(const ContactFeature& f, const ShapeView<T>& a,
                                  const PoseT<T>& X_WA, const ShapeView<T>& b,
                                  const PoseT<T>& X_WB) {
  using internal::PrimitiveT;
  // Seen from A's origin: a pair far from the world's origin keeps its digits.
  const PoseT<T> X_A{Vec3T<T>(T(0), T(0), T(0)), X_WA.p};
  const PoseT<T> X_B{X_WB.x - X_WA.x, X_WB.p};
  const ShapeView<T>& s1 = f.swapped ? b : a;
  const ShapeView<T>& s2 = f.swapped ? a : b;
  const PoseT<T>& X1 = f.swapped ? X_B : X_A;
  const PoseT<T>& X2 = f.swapped ? X_A : X_B;

  PrimitiveT<T> first, second, reference;
  switch (f.kind) {
    case FeatureKind::VertexVertex:
      first = internal::vertex_primitive(s1, X1, f.first);
      second = internal::vertex_primitive(s2, X2, f.second);
      break;
    case FeatureKind::VertexEdge:
      first = internal::vertex_primitive(s1, X1, f.first);
      second = internal::edge_primitive(s2, X2, f.second);
      break;
    case FeatureKind::VertexFace:
      first = internal::vertex_primitive(s1, X1, f.first);
      second = internal::face_primitive(s2, X2, f.second);
      break;
    case FeatureKind::EdgeEdge:
      first = internal::edge_primitive(s1, X1, f.first);
      second = internal::edge_primitive(s2, X2, f.second);
      break;
    case FeatureKind::ClippedEdge:
      first = internal::edge_primitive(s1, X1, f.first);
      second = internal::edge_primitive(s2, X2, f.second);
      reference = internal::face_primitive(s2, X2, f.face);
      break;
    case FeatureKind::ClippedVertex:
      first = internal::face_primitive(s1, X1, f.first);
      second = internal::vertex_primitive(s2, X2, f.second);
      reference = internal::face_primitive(s2, X2, f.face);
      break;
  }
  const internal::CoreContactT<T> c =
      internal::core_contact(f.kind, f.sign, a.dim, first, second, reference);

  const T ra = core_radius(a), rb = core_radius(b);
  ContactPointT<T> out;
  out.normal = f.swapped ? Vec3T<T>(-c.normal) : c.normal;
  out.gap = c.gap - ra - rb;
  out.point_a = X_WA.x + (f.swapped ? c.second : c.first) - out.normal * ra;
  out.point_b = X_WA.x + (f.swapped ? c.first : c.second) + out.normal * rb;
  out.feature = f;
  out.id = feature_id(f);
  return out;
}

}  // namespace orthant
