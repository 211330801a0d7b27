// SPDX-License-Identifier: Apache-2.0
// shape/ellipsoid.cpp: ellipsoid against ellipsoid and against polytopes => signed separation.
//   f(n) = min_A n.a - max_B n.b,   gap = max f over the unit sphere
// Two ellipsoids: Newton on the sphere, matrix P (H_A + H_B) P + f 1, H the radii of curvature.
// Eroding A and B by their smallest radii of curvature rho leaves convex bodies, so a maximum with
// f > -(rho_A + rho_B) is the only one there: a single start is proved right unless the overlap is
// deep, and only then others are tried. A polytope: the maximum lies in the normal cone of a
// vertex, an edge or a face, and each gives its candidates in closed form, deep overlap included.
#include <cmath>
#include <limits>

#include "shape/climb.hpp"
#include "shape/smooth.hpp"

namespace orthant::internal {
namespace {

/// Two ellipsoids seen from A: d = x_A - x_B.
struct EllipsoidPair {
  static constexpr bool kFlatSpots = false;
  Mat3 A, B;
  Vec3 d;
  int dim;

  double value(const Vec3& n) const {
    return n.dot(d) - std::sqrt(n.dot(A * n)) - std::sqrt(n.dot(B * n));
  }
  void tangents(const Vec3& n, Vec3& t1, Vec3& t2) const {
    if (dim == 2)
      t1 = planar_tangent(n);
    else
      contact_tangents(n, t1, t2);
  }
  ClimbState state(const Vec3& n, const Vec3& t1, const Vec3& t2) const {
    ClimbState s;
    const Vec3 a = A * n, b = B * n;
    const double aa = n.dot(a), bb = n.dot(b);
    const double ia = 1 / std::sqrt(aa), ib = 1 / std::sqrt(bb);
    const Vec3 g = d - a * ia - b * ib;
    s.f = n.dot(g);
    const Vec3 w1 = A * t1 * ia + B * t1 * ib, w2 = A * t2 * ia + B * t2 * ib;
    const double ca = ia / aa, cb = ib / bb;
    const double a1 = t1.dot(a), a2 = t2.dot(a), b1 = t1.dot(b), b2 = t2.dot(b);
    s.k11 = t1.dot(w1) - a1 * a1 * ca - b1 * b1 * cb + s.f;
    s.k12 = t1.dot(w2) - a1 * a2 * ca - b1 * b2 * cb;
    s.k22 = dim == 2 ? 1 : t2.dot(w2) - a2 * a2 * ca - b2 * b2 * cb + s.f;
    s.r1 = t1.dot(g);
    s.r2 = t2.dot(g);
    s.scale = 1 / ia + 1 / ib;
    return s;
  }
};

/// Smallest radius of curvature of an ellipsoid: a_min^2 / a_max.
double smallest_radius(const ShapeView<double>& s) {
  double lo = s.p[0], hi = s.p[0];
  for (int i = 1; i < s.dim; ++i) {
    lo = std::min(lo, s.p[i]);
    hi = std::max(hi, s.p[i]);
  }
  return lo * lo / hi;
}

Vec3 first_direction(const SmoothQuery& q) {
  if (q.hint != nullptr && q.hint->squaredNorm() > 0) return *q.hint;
  const double square = q.x.squaredNorm();
  if (square > 0) return -q.x / std::sqrt(square);
  Vec3 n = Vec3::Zero();
  n[q.a.dim - 1] = 1;
  return n;
}

/// A polytope against an ellipsoid: keeps the best normal offered.
class BestNormal {
 public:
  BestNormal(const Polytope& A, const Mat3& E, const Vec3& x) : A_(A), E_(E), x_(x) {}

  /// f(n) is a lower bound of the gap for every n, so the largest offer is the answer.
  void offer(const Vec3& n, std::int16_t code) {
    Index vertex;
    const double f = lowest(A_, n, vertex) - n.dot(x_) - std::sqrt(n.dot(E_ * n));
    if (!(f > gap)) return;
    gap = f;
    normal = n;
    code_a = code;
  }

  double gap = -std::numeric_limits<double>::infinity();
  Vec3 normal;
  std::int16_t code_a = 0;

 private:
  const Polytope& A_;
  const Mat3& E_;
  const Vec3& x_;
};

void finish(const SmoothQuery& q, const Mat3& E, double gap, const Vec3& n, std::int16_t code,
            double place, ContactPoint* out) {
  const Vec3 b = q.x + E * n / std::sqrt(n.dot(E * n));
  set_smooth(out[0], code, smooth_code(PartKind::Ellipsoid, 0), gap, n, b + gap * n, b, place, 0);
}

template <class Storage>
int placed_ellipsoid(const SmoothQuery& q, const Mat3& E, ContactPoint* out) {
  Storage storage;
  Polytope A;
  place(q.a, matrix_of(q.X_WA.p), Vec3::Zero(), storage.vertex, storage.normal, storage.face_point,
        A);
  const Vec3 n0 = first_direction(q);
  Index unused;
  if (lowest(A, n0, unused) - n0.dot(q.x) - std::sqrt(n0.dot(E * n0)) >= q.margin) return 0;

  const Mat3 R = matrix_of(q.X_WB.p);
  const int dim = q.a.dim;
  const Vec3 towards = R.transpose() * -q.x;
  BestNormal best(A, E, q.x);
  for (Index f = 0; f < A.face_count; ++f) best.offer(-A.normal[f], smooth_code(PartKind::Face, f));
  Vec3 found[2];
  for (Index i = 0; i < A.vertex_count; ++i) {
    const int count =
        nearest_normals(q.b.p, dim, R.transpose() * (A.vertex[i] - q.x), towards, found);
    for (int k = 0; k < count; ++k) best.offer(R * found[k], smooth_code(PartKind::Vertex, i));
  }
  for (Index i = 0; dim == 3 && i < A.edge_count; ++i) {
    // Seen along the edge: a point and an ellipse, by the eigenvectors of its 2 x 2 matrix.
    const Primitive edge = edge_of(A, i);
    const Vec3 e = (edge.p1 - edge.p0).normalized();
    Vec3 u, w;
    contact_tangents(e, u, w);
    const double p = u.dot(E * u), r = w.dot(E * w), m = u.dot(E * w);
    const double angle = 0.5 * std::atan2(2 * m, p - r);
    const Vec3 axis1 = std::cos(angle) * u + std::sin(angle) * w, axis2 = e.cross(axis1);
    const double semi[2] = {std::sqrt(axis1.dot(E * axis1)), std::sqrt(axis2.dot(E * axis2))};
    const Vec3 at = edge.p0 - q.x;
    const int count = nearest_normals(semi, 2, Vec3(axis1.dot(at), axis2.dot(at), 0),
                                      Vec3(-axis1.dot(q.x), -axis2.dot(q.x), 0), found);
    for (int k = 0; k < count; ++k)
      best.offer(axis1 * found[k][0] + axis2 * found[k][1], smooth_code(PartKind::Edge, i));
  }
  if (!(best.gap < q.margin)) return 0;
  double place = 0;
  if (best.code_a >> 12 == static_cast<int>(PartKind::Edge)) {
    const Primitive edge = edge_of(A, best.code_a & 0xfff);
    const Vec3 g = edge.p1 - edge.p0;
    const Vec3 b = q.x + E * best.normal / std::sqrt(best.normal.dot(E * best.normal));
    place = (b - edge.p0).dot(g) / g.squaredNorm();
  }
  finish(q, E, best.gap, best.normal, best.code_a, place, out);
  return 1;
}

}  // namespace

int polytope_ellipsoid(const SmoothQuery& q, ContactPoint* out) {
  const Mat3 E = ellipsoid_matrix(q.b, q.X_WB.p);
  if (q.a.kind == ShapeKind::HalfSpace) {
    const Vec3 n = -rotate(q.X_WA.p, core_face(q.a, 0).normal);
    const double gap = -n.dot(q.x) - std::sqrt(n.dot(E * n));
    if (!(gap < q.margin)) return 0;
    finish(q, E, gap, n, smooth_code(PartKind::Face, 0), 0, out);
    return 1;
  }
  return q.a.kind == ShapeKind::Hull ? placed_ellipsoid<HullStorage>(q, E, out)
                                     : placed_ellipsoid<BoxStorage>(q, E, out);
}

int ellipsoid_ellipsoid(const SmoothQuery& q, ContactPoint* out) {
  const Mat3 R_A = matrix_of(q.X_WA.p), R_B = matrix_of(q.X_WB.p);
  const int dim = q.a.dim;
  EllipsoidPair pair{Mat3::Zero(), Mat3::Zero(), -q.x, dim};
  for (int k = 0; k < dim; ++k) {
    const Vec3 a = R_A.col(k) * q.a.p[k], b = R_B.col(k) * q.b.p[k];
    pair.A += a * a.transpose();
    pair.B += b * b.transpose();
  }
  Vec3 n = first_direction(q);
  if (pair.value(n) >= q.margin) return 0;  // every f(n) is a lower bound
  double gap = climb(pair, n);
  if (!(gap > -(smallest_radius(q.a) + smallest_radius(q.b)) * (1 - 1e-9))) {
    for (int k = 0; k < 4 * dim; ++k) {
      Vec3 start = (k & 2) ? R_B.col(k / 4) : R_A.col(k / 4);
      if (k & 1) start = -start;
      const double f = climb(pair, start);
      if (f > gap) {
        gap = f;
        n = start;
      }
    }
  }
  if (!(gap < q.margin)) return 0;
  const Vec3 a = -(pair.A * n) / std::sqrt(n.dot(pair.A * n));
  set_smooth(out[0], smooth_code(PartKind::Ellipsoid, 0), smooth_code(PartKind::Ellipsoid, 0), gap,
             n, a, a - gap * n, 0, 0);
  return 1;
}

int smooth_contacts(const SmoothQuery& q, ContactPoint* out) {
  if (q.b.kind == ShapeKind::Torus) return any_torus(q, out);
  if (is_turned(q.b.kind)) return any_turned(q, out);
  if (q.b.kind == ShapeKind::SuperEllipsoid) return any_super(q, out);
  return q.a.kind == ShapeKind::Ellipsoid ? ellipsoid_ellipsoid(q, out)
                                          : polytope_ellipsoid(q, out);
}

}  // namespace orthant::internal
