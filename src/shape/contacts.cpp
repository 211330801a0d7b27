// SPDX-License-Identifier: Apache-2.0
// shape/contacts.cpp: (shape, pose) twice => contact points. Chooses the method of a pair: closed
// forms where the cores are points, segments, one box or a plane, else axes (SAT) and GJK.
// All work is done on the cores, seen from A; radii and A's position are added at the end.
#include "orthant/shape/contacts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "orthant/base/assert.hpp"
#include "shape/mesh_contacts.hpp"
#include "shape/polytope.hpp"
#include "shape/smooth.hpp"

namespace orthant {
namespace {

using internal::CoreContact;
using internal::Polytope;
using internal::Primitive;

ContactFeature feature(FeatureKind kind, bool swapped, Index first, Index second) {
  ContactFeature f;
  f.kind = kind;
  f.swapped = swapped;
  f.first = static_cast<std::int16_t>(first);
  f.second = static_cast<std::int16_t>(second);
  return f;
}

/// Core result in A's frame, without radii.
void set(ContactPoint& out, const ContactFeature& f, double gap, const Vec3& n, const Vec3& a,
         const Vec3& b) {
  out.gap = gap;
  out.normal = n;
  out.point_a = a;
  out.point_b = b;
  out.feature = f;
}

int sphere_sphere(int dim, const Vec3& x, double margin, ContactPoint* out) {
  Vec3 n;
  const double gap = internal::direction<double>(-x, nullptr, dim, n);
  if (!(gap < margin)) return 0;
  set(out[0], feature(FeatureKind::VertexVertex, false, 0, 0), gap, n, Vec3::Zero(), x);
  return 1;
}

/// A's centre is the origin, B's segment runs from x - e to x + e.
int sphere_capsule(int dim, const Vec3& x, const Vec3& e, double margin, ContactPoint* out) {
  const double e2 = e.squaredNorm(), t = -x.dot(e);
  Vec3 n;
  if (std::abs(t) > e2) {
    const Vec3 q = t > 0 ? Vec3(x + e) : Vec3(x - e);
    const double gap = internal::direction<double>(-q, nullptr, dim, n);
    if (!(gap < margin)) return 0;
    set(out[0], feature(FeatureKind::VertexVertex, false, 0, t > 0 ? 1 : 0), gap, n, Vec3::Zero(),
        q);
    return 1;
  }
  if (dim == 2) {  // the two sides of the segment are faces: -y, +y of its frame
    n = planar_tangent(e) / std::sqrt(e2);
    const double height = -n.dot(x);
    const bool above = height >= 0;
    if (!above) n = -n;
    const double gap = std::abs(height);
    if (!(gap < margin)) return 0;
    set(out[0], feature(FeatureKind::VertexFace, false, 0, above ? 1 : 0), gap, n, Vec3::Zero(),
        -n * gap);
    return 1;
  }
  const Vec3 q = x + e * (t / e2);
  const Vec3 along = 2 * e;
  const double gap = internal::direction<double>(-q, &along, dim, n);
  if (!(gap < margin)) return 0;
  set(out[0], feature(FeatureKind::VertexEdge, false, 0, 0), gap, n, Vec3::Zero(), q);
  return 1;
}

/// A's centre is the origin, the box at x with axes R. The region of the centre names the feature.
int sphere_box(int dim, const Vec3& x, const Mat3& R, const double* half, double margin,
               ContactPoint* out) {
  double q[3] = {0, 0, 0}, over[3];
  int outside = 0, bits = 0, inner = -1, deepest = 0;
  for (int k = 0; k < dim; ++k) {
    q[k] = -R.col(k).dot(x);
    over[k] = std::abs(q[k]) - half[k];
    if (over[k] > margin) return 0;
    if (q[k] > 0) bits |= 1 << k;
    if (over[k] > 0)
      ++outside;
    else
      inner = k;
    if (over[k] > over[deepest]) deepest = k;
  }
  if (outside <= 1) {  // over a face, or inside: the nearest face
    const int k = deepest;
    const bool plus = bits >> k & 1;
    const Vec3 n = plus ? Vec3(R.col(k)) : Vec3(-R.col(k));
    const double gap = n.dot(-(x + n * half[k]));
    if (!(gap < margin)) return 0;
    set(out[0], feature(FeatureKind::VertexFace, false, 0, 2 * k + plus), gap, n, Vec3::Zero(),
        -n * gap);
    return 1;
  }
  Vec3 d = Vec3::Zero();  // from the box to the centre
  for (int k = 0; k < dim; ++k)
    if (over[k] > 0) d += R.col(k) * (bits >> k & 1 ? over[k] : -over[k]);
  const double gap = d.norm();
  if (!(gap < margin)) return 0;
  const bool edge = outside < dim;
  set(out[0],
      edge ? feature(FeatureKind::VertexEdge, false, 0,
                     internal::box_edge(inner, bits & ~(1 << inner)))
           : feature(FeatureKind::VertexVertex, false, 0, bits),
      gap, d / gap, Vec3::Zero(), -d);
  return 1;
}

struct Query {
  const ShapeView<double>& a;
  const ShapeView<double>& b;
  const Pose& X_WA;
  const Pose& X_WB;
  Vec3 x;         // B's origin seen from A, world axes
  double margin;  // of the cores
  bool exact_only;
};

/// Squared distance of the segments from -e to e and from x - g to x + g, by the nearest points of
/// their lines, held within the segments one after the other.
double segment_distance2(const Vec3& e, const Vec3& x, const Vec3& g) {
  const double e2 = e.squaredNorm(), g2 = g.squaredNorm(), eg = e.dot(g);
  const double ex = e.dot(x), gx = g.dot(x), det = e2 * g2 - eg * eg;
  const auto within = [](double s) { return std::clamp(s, -1.0, 1.0); };
  double s = det > 0 ? within((ex * g2 - eg * gx) / det) : 0;
  const double t = within((eg * s - gx) / g2);
  s = within((eg * t + ex) / e2);
  return (s * e - x - t * g).squaredNorm();
}

/// Capsules in space: most pairs whose boxes meet are too far apart, and are told by one formula.
int capsule_capsule(const Query& q, ContactPoint* out) {
  const Vec3 e = rotate(q.X_WA.p, Vec3(q.a.p[1], 0, 0)), g = rotate(q.X_WB.p, Vec3(q.b.p[1], 0, 0));
  constexpr double kHair = 1e-9;  // rounding must not lose a pair
  if (q.margin > 0 && segment_distance2(e, q.x, g) > (1 + kHair) * q.margin * q.margin) return 0;
  const Vec3 ends_a[2] = {-e, e}, ends_b[2] = {q.x - g, q.x + g};
  Polytope A{.topology = q.a.topology, .vertex_count = 2, .edge_count = 1, .vertex = ends_a};
  Polytope B{.topology = q.b.topology, .vertex_count = 2, .edge_count = 1, .vertex = ends_b};
  A.radius = std::abs(q.a.p[1]);
  B.radius = std::abs(q.b.p[1]);
  return internal::segment_contacts(A, B, q.margin, q.exact_only, out);
}

int box_box(const Query& q, ContactPoint* out) {
  const Mat3 R_A = matrix_of(q.X_WA.p), R_B = matrix_of(q.X_WB.p);
  const Vec3 ha(q.a.p[0], q.a.p[1], q.a.p[2]), hb(q.b.p[0], q.b.p[1], q.b.p[2]);
  const double scale = std::max(ha.norm() + hb.norm(), q.x.norm());
  internal::Axis axis;
  if (!internal::best_axis_boxes(R_A, q.a.p, R_B, q.b.p, q.x, q.margin, scale, axis)) return 0;
  internal::BoxStorage sa, sb;
  Polytope A, B;
  internal::place(q.a, R_A, Vec3::Zero(), sa.vertex, sa.normal, sa.face_point, A);
  internal::place(q.b, R_B, q.x, sb.vertex, sb.normal, sb.face_point, B);
  return internal::axis_contacts(A, B, axis, q.margin, q.exact_only, scale, out);
}

/// Radius of the ball about the origin that holds the core.
double core_ball(const ShapeView<double>& s) {
  double square = 0;
  for (Index i = 0; i < s.topology->vertex_count; ++i)
    square = std::max(square, core_vertex(s, i).squaredNorm());
  return std::sqrt(square);
}

/// Hulls whose balls are apart: to place their faces is what takes time.
bool hulls_apart(const Query& q) {
  return q.b.kind != ShapeKind::HalfSpace &&
         q.x.norm() > core_ball(q.a) + core_ball(q.b) + std::max(q.margin, 0.0);
}

/// Cores in their storage; small ones leave the large arrays to hulls.
template <class StorageA, class StorageB>
int placed(const Query& q, ContactPoint* out) {
  StorageA sa;
  StorageB sb;
  Polytope A, B;
  const bool plane_below = q.b.kind == ShapeKind::HalfSpace;
  internal::place(q.a, matrix_of(q.X_WA.p), Vec3::Zero(), sa.vertex,
                  plane_below ? nullptr : sa.normal, sa.face_point, A);
  if (plane_below) {
    const PlaneT<double> plane = core_face(q.b, 0);
    return internal::plane_contacts(A, rotate(q.X_WB.p, plane.normal), q.x, q.margin, q.exact_only,
                                    out);
  }
  internal::place(q.b, matrix_of(q.X_WB.p), q.x, sb.vertex, sb.normal, sb.face_point, B);
  if (A.face_count == 0 && B.face_count == 0)
    return internal::segment_contacts(A, B, q.margin, q.exact_only, out);
  return internal::polytope_contacts(A, B, q.margin, q.exact_only, out);
}

/// Cores, with a.kind <= b.kind.
int core_contacts(const Query& q, ContactPoint* out) {
  using internal::BoxStorage;
  using internal::HullStorage;
  const int dim = q.a.dim;
  if (q.a.kind == ShapeKind::Sphere) {
    switch (q.b.kind) {
      case ShapeKind::Sphere:
        return sphere_sphere(dim, q.x, q.margin, out);
      case ShapeKind::Capsule:
        return sphere_capsule(dim, q.x, rotate(q.X_WB.p, Vec3(q.b.p[1], 0, 0)), q.margin, out);
      case ShapeKind::Box:
        return sphere_box(dim, q.x, matrix_of(q.X_WB.p), q.b.p, q.margin, out);
      case ShapeKind::HalfSpace: {
        const Vec3 n = rotate(q.X_WB.p, core_face(q.b, 0).normal);
        const double gap = -n.dot(q.x);
        if (!(gap < q.margin)) return 0;
        set(out[0], feature(FeatureKind::VertexFace, false, 0, 0), gap, n, Vec3::Zero(), -n * gap);
        return 1;
      }
      default:
        break;
    }
  }
  if (q.a.kind == ShapeKind::HalfSpace) return 0;
  if (dim == 3 && q.a.kind == ShapeKind::Capsule && q.b.kind == ShapeKind::Capsule)
    return capsule_capsule(q, out);
  if (dim == 3 && q.a.kind == ShapeKind::Box && q.b.kind == ShapeKind::Box) return box_box(q, out);
  const bool small_a = q.a.kind != ShapeKind::Hull, small_b = q.b.kind != ShapeKind::Hull;
  if (small_a && small_b) return placed<BoxStorage, BoxStorage>(q, out);
  if (hulls_apart(q)) return 0;
  if (small_a) return placed<BoxStorage, HullStorage>(q, out);
  if (small_b) return placed<HullStorage, BoxStorage>(q, out);
  return placed<HullStorage, HullStorage>(q, out);
}

/// The nearest of the points on a mesh B.
int on_mesh(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
            const Pose& X_WB, double margin, ContactPoint* out) {
  thread_local std::vector<ContactPoint> found;
  found.clear();
  mesh_contacts(a, X_WA, b, X_WB, margin, found);
  std::stable_sort(found.begin(), found.end(),
                   [](const ContactPoint& x, const ContactPoint& y) { return x.gap < y.gap; });
  const int n = static_cast<int>(std::min<std::size_t>(found.size(), kMaxContacts));
  std::copy(found.begin(), found.begin() + n, out);
  return n;
}

int find(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b, const Pose& X_WB,
         double margin, bool exact_only, const Vec3* hint, ContactPoint* out) {
  ORTHANT_ASSERT(a.dim == b.dim);
  if (a.kind > b.kind) {  // each pair is written once; the answer is turned round
    const Vec3 turned = hint != nullptr ? Vec3(-*hint) : Vec3(Vec3::Zero());
    const int n =
        find(b, X_WB, a, X_WA, margin, exact_only, hint != nullptr ? &turned : nullptr, out);
    for (int k = 0; k < n; ++k) internal::exchange_sides(out[k]);
    return n;
  }
  if (b.kind == ShapeKind::Mesh) return on_mesh(a, X_WA, b, X_WB, margin, out);
  const double ra = core_radius(a), rb = core_radius(b);
  const Vec3 x = X_WB.x - X_WA.x;
  const int n = is_smooth(b.kind)
                    ? internal::smooth_contacts(
                          {a, b, X_WA, X_WB, x, margin + ra + rb, hint, exact_only}, out)
                    : core_contacts({a, b, X_WA, X_WB, x, margin + ra + rb, exact_only}, out);
  for (int k = 0; k < n; ++k) {
    ContactPoint& c = out[k];
    c.gap -= ra + rb;
    c.point_a += X_WA.x - c.normal * ra;
    c.point_b += X_WA.x + c.normal * rb;
    c.id = feature_id(c.feature);
  }
  return n;
}

}  // namespace

void internal::exchange_sides(ContactPoint& c) {
  ContactFeature& f = c.feature;
  c.normal = -c.normal;
  std::swap(c.point_a, c.point_b);
  if (f.kind == FeatureKind::Smooth) {
    std::swap(f.first, f.second);
    std::swap(f.start_place[0], f.start_place[1]);
    for (double& n : f.start_normal) n = -n;
  } else {
    f.swapped = !f.swapped;
  }
  c.id = feature_id(f);
}

int contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
             const Pose& X_WB, double margin, ContactPoint* out) {
  return find(a, X_WA, b, X_WB, margin, false, nullptr, out);
}

int deepest_contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                     const Pose& X_WB, double margin, const Vec3* hint, ContactPoint* out) {
  return find(a, X_WA, b, X_WB, margin, true, hint, out);
}

ContactPoint distance(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                      const Pose& X_WB) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ContactPoint out[kMaxContacts];
  if (find(a, X_WA, b, X_WB, kInfinity, true, nullptr, out) > 0) return out[0];
  ContactPoint none;
  none.gap = kInfinity;
  none.normal = none.point_a = none.point_b = Vec3::Zero();
  return none;
}

}  // namespace orthant
