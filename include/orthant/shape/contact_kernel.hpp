// SPDX-License-Identifier: Apache-2.0
// shape/contact_kernel.hpp: (active features, parameters, poses) => gap, normal, witness points.
//   gap = n.(p_A - p_B) < 0 in overlap,  n unit from B to A,  p on each surface, world frame
// A search (shape/contacts.hpp) finds *which* features touch; these formulas say where and how far.
// They are the converged optimality conditions of the search with the active features held, so in
// dual arithmetic they give the exact derivative of gap, normal and points, no iteration inside.
#pragma once

#include <cstdint>

#include "orthant/base/export.hpp"
#include "orthant/math/pose_kernel.hpp"
#include "orthant/shape/shape_kernel.hpp"
#include "orthant/shape/smooth_kernel.hpp"

namespace ORTHANT_EXPORT orthant {

/// What touches what. "First" is A, or B where `swapped`; formulas give n from second to first.
enum class FeatureKind : std::uint8_t {
  VertexVertex,   // n along the difference
  VertexEdge,     // first's vertex, second's edge: n along the difference
  EdgeEdge,       // n = sign (e_first x e_second)
  VertexFace,     // first's vertex over second's face: n = the face normal
  ClippedEdge,    // first's edge above an edge of second's face `face`: n = that face's normal
  ClippedVertex,  // second's vertex, of its face `face`, under first's face: n = second's face
                  // normal
  Smooth,         // a curved part on either side; `first` and `second` are smooth_code()s of A, B
  SubSpheres,     // sphere `first` of A and `second` of B, of `face` spheres per body
};

struct ContactFeature {
  FeatureKind kind = FeatureKind::VertexVertex;
  bool swapped = false;
  std::int8_t sign = 1;                // of the cross product, EdgeEdge only
  std::int16_t first = 0;              // vertex, edge or face of the first shape's core
  std::int16_t second = 0;             // vertex, edge or face of the second's
  std::int16_t face = 0;               // reference face of the second, clipped kinds only
  std::int32_t element = -1;           // triangle of a mesh, whose features are those of a hull
  double start_normal[3] = {0, 0, 0};  // Smooth only: where evaluate_contact() starts, world axes
  double start_place[2] = {0, 0};      // Smooth only: place on the edge or circle of A, of B
};

/// A part of a core in a Smooth feature. The index of a circle tells contacts on it apart; on a
/// cylinder its lowest bit is the end.
inline std::int16_t smooth_code(internal::PartKind kind, Index index) {
  return static_cast<std::int16_t>(static_cast<Index>(kind) << 12 | index);
}

/// Stable name of the two features, the same whichever face was the reference: for contact keys and
/// warm starts. 28 bits: (type and index on A, type and index on B).
inline std::uint32_t feature_id(const ContactFeature& f) {
  if (f.element >= 0) {  // scattered: triangles have more names than fit beside the features
    ContactFeature local = f;
    local.element = -1;
    return feature_id(local) * 0x9e3779b1u ^ static_cast<std::uint32_t>(f.element) * 0x85ebca6bu;
  }
  if (f.kind == FeatureKind::Smooth || f.kind == FeatureKind::SubSpheres) {
    const std::uint32_t one = static_cast<std::uint32_t>(f.first) & 0x7fff;
    const std::uint32_t two = static_cast<std::uint32_t>(f.second) & 0x7fff;
    const bool smooth = f.kind == FeatureKind::Smooth;
    return 1u << 30 | (smooth ? 1u << 31 : 0u) | (one << 15 | two);
  }
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
    case FeatureKind::Smooth:
    case FeatureKind::SubSpheres:
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
    case FeatureKind::Smooth:
    case FeatureKind::SubSpheres:
      c = {T(0), first.p0, first.p0, second.p0};  // have their own formulas
      break;
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

/// R diag(a^2) R' of an ellipsoid: its support function is sqrt(n.E n).
template <class T>
Mat3T<T> ellipsoid_matrix(const ShapeView<T>& s, const QuatT<T>& p) {
  const Mat3T<T> R = matrix_of(p);
  Mat3T<T> E;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j) {
      T sum(0);
      for (int k = 0; k < s.dim; ++k) sum += R(i, k) * R(j, k) * (s.p[k] * s.p[k]);
      E(i, j) = E(j, i) = sum;
    }
  return E;
}

/// Radius around a part: a cylinder's side is its axis, inflated; its ends and rims are sharp.
template <class T>
T part_radius(const ShapeView<T>& s, std::int16_t code) {
  if (s.kind == ShapeKind::Cylinder && static_cast<PartKind>(code >> 12) == PartKind::Edge)
    return s.p[0];
  return core_radius(s);
}

/// Axis and rims of a cylinder, side and rim of a cone.
template <class T>
void set_turned_part(const ShapeView<T>& s, const PoseT<T>& X, Index index, SmoothPartT<T>& part) {
  using std::sqrt;
  const T r = s.p[0], h = s.p[1];
  if (part.kind == PartKind::Edge) {
    part.u = rotate(X.p, Vec3T<T>(h * T(2), T(0), T(0)));
    part.x = X.x - part.u * T(0.5);
  } else if (part.kind == PartKind::Circle) {
    part.x = transform(X, Vec3T<T>((index & 1) ? h : -h, T(0), T(0)));
    part.u = rotate(X.p, Vec3T<T>(T(0), r, T(0)));
    part.v = rotate(X.p, Vec3T<T>(T(0), T(0), r));
  } else {
    part.x = transform(X, Vec3T<T>(h, T(0), T(0)));
    part.u = rotate(X.p, Vec3T<T>(T(1), T(0), T(0)));
    part.sine = r / sqrt(r * r + h * h * T(4));
  }
}

template <class T>
SmoothPartT<T> smooth_part(const ShapeView<T>& s, const PoseT<T>& X, std::int16_t code) {
  const Vec3T<T> zero(T(0), T(0), T(0));
  SmoothPartT<T> part{static_cast<PartKind>(code >> 12), X.x, zero, zero, {}};
  const Index index = code & 0xfff;
  if (is_turned(s.kind) && place_count(part.kind) == 1) {
    set_turned_part(s, X, index, part);
    return part;
  }
  switch (part.kind) {
    case PartKind::Vertex:
      part.x = vertex_primitive(s, X, index).p0;
      break;
    case PartKind::Edge: {
      const PrimitiveT<T> edge = edge_primitive(s, X, index);
      part.x = edge.p0;
      part.u = edge.p1 - edge.p0;
      break;
    }
    case PartKind::Face: {
      const PrimitiveT<T> face = face_primitive(s, X, index);
      part.x = face.p0;
      part.u = face.normal;
      break;
    }
    case PartKind::Ellipsoid:
      part.shape = ellipsoid_matrix(s, X.p);
      break;
    case PartKind::Circle:
      part.u = rotate(X.p, Vec3T<T>(s.p[0], T(0), T(0)));
      part.v = rotate(X.p, Vec3T<T>(T(0), s.p[0], T(0)));
      break;
    case PartKind::SuperEllipsoid:
      part.shape = matrix_of(X.p);
      part.u = Vec3T<T>(s.p[0], s.p[1], s.p[2]);
      part.v = Vec3T<T>(s.p[3], s.p[4], T(0));
      break;
    case PartKind::ConeSide:
      break;  // answered above
  }
  return part;
}

/// Sphere i of n along the longest axis of an ellipsoid or capsule, around the ring of a torus:
/// its centre in the shape frame and its radius, inscribed.
template <class T>
void sub_sphere(const ShapeView<T>& s, int i, int n, Vec3T<T>& centre, T& radius) {
  using std::sqrt;
  centre = Vec3T<T>(T(0), T(0), T(0));
  radius = core_radius(s);
  const double place = n > 1 ? 2.0 * i / (n - 1) - 1 : 0.0;
  if (s.kind == ShapeKind::Capsule) {
    centre[0] = s.p[1] * T(place);
  } else if (s.kind == ShapeKind::Torus) {
    const double angle = 2 * 3.14159265358979323846 * i / n;
    centre[0] = s.p[0] * T(std::cos(angle));
    centre[1] = s.p[0] * T(std::sin(angle));
  } else if (s.kind == ShapeKind::Ellipsoid) {
    int axis = 0;
    for (int k = 1; k < s.dim; ++k)
      if (value_of(s.p[k]) > value_of(s.p[axis])) axis = k;
    T b = axis == 0 ? s.p[1] : s.p[0];
    for (int k = 0; k < s.dim; ++k)
      if (k != axis) b = min_of(b, s.p[k]);
    const T a = s.p[axis];
    // centres on |x| <= (a^2 - b^2)/a, radius b sqrt(1 - x^2/(a^2 - b^2))
    const T square = a * a - b * b;
    centre[axis] = square / a * T(place);
    radius = value_of(square) > 0 ? b * sqrt(T(1) - centre[axis] * centre[axis] / square) : b;
  }
}

template <class T>
ContactPointT<T> evaluate_sub_spheres(const ContactFeature& f, const ShapeView<T>& a,
                                      const PoseT<T>& X_WA, const ShapeView<T>& b,
                                      const PoseT<T>& X_WB) {
  Vec3T<T> p, q;
  T r, s;
  sub_sphere(a, f.first, f.face, p, r);
  sub_sphere(b, f.second, f.face, q, s);
  p = transform(X_WA, p);
  q = transform(X_WB, q);
  ContactPointT<T> out;
  out.gap = direction<T>(p - q, nullptr, a.dim, out.normal) - r - s;
  out.point_a = p - out.normal * r;
  out.point_b = q + out.normal * s;
  out.feature = f;
  out.id = feature_id(f);
  return out;
}

/// One triangle of a mesh as a hull without thickness: face 0 its front, edge k from corner k.
inline const HullTopology& triangle_topology() {
  static const HullTopology topology = [] {
    HullTopology h;
    h.vertex_count = 3;
    h.face_start = {0, 3, 6};
    h.face_vertex = {0, 1, 2, 0, 2, 1};
    h.face_edge = {0, 1, 2, 2, 1, 0};
    h.edges = {{0, 1, 0, 1}, {1, 2, 0, 1}, {2, 0, 0, 1}};
    return h;
  }();
  return topology;
}

template <class T>
class MeshTriangle {
 public:
  MeshTriangle(const ShapeView<T>& mesh, Index triangle) {
    const TriangleMesh& m = *mesh.topology->mesh;
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t d = 0; d < 3; ++d)
        corners_[3 * c + d] = mesh.p[d] * T(m.corners[m.triangles[triangle][c]][d]);
  }
  ShapeView<T> view() const { return {ShapeKind::Hull, 3, corners_.data(), &triangle_topology()}; }

 private:
  std::array<T, 9> corners_;
};

}  // namespace internal

/// Gap, normal and witness points with the features of `f` held.
template <class T>
ContactPointT<T> evaluate_contact(const ContactFeature& f, const ShapeView<T>& a,
                                  const PoseT<T>& X_WA, const ShapeView<T>& b,
                                  const PoseT<T>& X_WB) {
  using internal::PrimitiveT;
  if (f.element >= 0) {
    const bool on_a = a.kind == ShapeKind::Mesh;
    const internal::MeshTriangle<T> triangle(on_a ? a : b, f.element);
    ContactFeature local = f;
    local.element = -1;
    ContactPointT<T> out =
        evaluate_contact(local, on_a ? triangle.view() : a, X_WA, on_a ? b : triangle.view(), X_WB);
    out.feature = f;
    out.id = feature_id(f);
    return out;
  }
  if (f.kind == FeatureKind::SubSpheres) return internal::evaluate_sub_spheres(f, a, X_WA, b, X_WB);
  // Seen from A's origin: a pair far from the world's origin keeps its digits.
  const PoseT<T> X_A{Vec3T<T>(T(0), T(0), T(0)), X_WA.p};
  const PoseT<T> X_B{X_WB.x - X_WA.x, X_WB.p};
  T ra = core_radius(a), rb = core_radius(b);
  ContactPointT<T> out;
  out.feature = f;
  out.id = feature_id(f);
  if (f.kind == FeatureKind::Smooth) {
    ra = internal::part_radius(a, f.first);
    rb = internal::part_radius(b, f.second);
    const internal::SmoothContactT<T> c = internal::smooth_contact(
        internal::smooth_part(a, X_A, f.first), internal::smooth_part(b, X_B, f.second), a.dim,
        f.start_normal, f.start_place);
    out.normal = c.normal;
    out.gap = c.gap - ra - rb;
    out.point_a = X_WA.x + c.first - out.normal * ra;
    out.point_b = X_WA.x + c.second + out.normal * rb;
    return out;
  }
  const ShapeView<T>& s1 = f.swapped ? b : a;
  const ShapeView<T>& s2 = f.swapped ? a : b;
  const PoseT<T>& X1 = f.swapped ? X_B : X_A;
  const PoseT<T>& X2 = f.swapped ? X_A : X_B;

  const Vec3T<T> zero(T(0), T(0), T(0));
  PrimitiveT<T> first{zero, zero, zero}, second = first, reference = first;
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
    case FeatureKind::Smooth:
    case FeatureKind::SubSpheres:
      break;  // answered above
  }
  const internal::CoreContactT<T> c =
      internal::core_contact(f.kind, f.sign, a.dim, first, second, reference);

  out.normal = f.swapped ? Vec3T<T>(-c.normal) : c.normal;
  out.gap = c.gap - ra - rb;
  out.point_a = X_WA.x + (f.swapped ? c.second : c.first) - out.normal * ra;
  out.point_b = X_WA.x + (f.swapped ? c.first : c.second) + out.normal * rb;
  return out;
}

}  // namespace orthant
