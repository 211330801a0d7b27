// SPDX-License-Identifier: Apache-2.0
// shape/super_ellipsoid.cpp: any convex A against super-ellipsoid B => signed separation.
//   f(n) = min_A n.a - max_B n.b = n.(a(-n) - b(n)),   gap = max f over the unit sphere
// A climb finds a local maximum. What it finds is proved to be the gap in one of two ways:
//   * gap > -(rho_A + rho_B): eroded by its smallest radius of curvature rho each body is convex
//     still, and of separated convex bodies f has one maximum. For |.|_q, q <= 2, half the square
//     of the norm is (q - 1)-strongly convex, hence rho >= (q1 - 1)(q2 - 1) a_min^2 / R.
//   * deeper: extended to all of space f is concave, so with G = a(-m) - b(m)
//       f(n) <= G.n  for every n,
//     and the sphere is searched by triangles until none can hold more than the best by kProved.
// A polytope's maximum lies in the normal cone of a vertex, an edge or a face; each is climbed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "orthant/shape/shape.hpp"
#include "shape/climb.hpp"
#include "shape/polytope.hpp"
#include "shape/smooth.hpp"

namespace orthant::internal {
namespace {

using Part = SmoothPartT<double>;

constexpr double kProved = 1e-6;  // of the size of the pair
constexpr int kMaxCells = 20000;  // concentric bodies alike all around would ask for ever
constexpr double kSame = 1e-12;   // of the size

/// Two parts: A a vertex, an edge, an ellipsoid or a super-ellipsoid; B curved.
struct PartPair {
  static constexpr bool kFlatSpots = true;
  const Part& A;
  const Part& B;
  double scale;
  int dim = 3;               // 2: A is an edge, n stays across it
  Vec3 edge = Vec3::Zero();  // its direction

  template <class U>
  Vec3T<U> difference(const Vec3T<U>& n) const {
    return part_point<double, U>(A, -1, n, U(0)) - part_point<double, U>(B, 1, n, U(0));
  }
  double value(const Vec3& n) const { return n.dot(difference<double>(n)); }
  void tangents(const Vec3& n, Vec3& t1, Vec3& t2) const {
    if (dim == 2)
      t1 = edge.cross(n);
    else
      contact_tangents(n, t1, t2);
  }
  ClimbState state(const Vec3& n, const Vec3& t1, const Vec3& t2) const {
    using D = Dual<2>;
    Vec3T<D> m = n.cast<D>();
    for (int i = 0; i < 3; ++i) {
      m[i].d[0] = t1[i];
      m[i].d[1] = t2[i];
    }
    const Vec3T<D> g = difference<D>(m);
    ClimbState s;
    for (int i = 0; i < 3; ++i) {
      s.f += n[i] * g[i].v;
      s.r1 += t1[i] * g[i].v;
      s.r2 += t2[i] * g[i].v;
      s.k11 -= t1[i] * g[i].d[0];
      s.k12 -= t1[i] * g[i].d[1];
      s.k22 -= t2[i] * g[i].d[1];
    }
    s.k11 += s.f;
    s.k22 = dim == 2 ? 1 : s.k22 + s.f;
    s.scale = scale;
    return s;
  }
};

/// A lower bound of the smallest radius of curvature: 0 for corners.
double smallest_radius(const ShapeView<double>& s) {
  if (s.kind != ShapeKind::Ellipsoid && s.kind != ShapeKind::SuperEllipsoid) return 0;
  const double lo = std::min({s.p[0], s.p[1], s.p[2]});
  if (s.kind == ShapeKind::Ellipsoid) return lo * lo / std::max({s.p[0], s.p[1], s.p[2]});
  return s.p[3] / (2 - s.p[3]) * (s.p[4] / (2 - s.p[4])) * lo * lo / bounding_radius(s);
}

/// Searches the whole sphere for a better normal than n, which has the value f. `value` returns
/// a(-m) - b(m), `improve` climbs from a normal to a local maximum.
template <class Difference, class Improve>
void search_sphere(const Difference& difference, const Improve& improve, double scale, Vec3& n,
                   double& f) {
  struct Cell {
    Vec3 a, b, c;
  };
  thread_local std::vector<Cell> cells;
  cells.clear();
  for (int k = 0; k < 8; ++k)
    cells.push_back(
        {Vec3((k & 1) ? 1 : -1, 0, 0), Vec3(0, (k & 2) ? 1 : -1, 0), Vec3(0, 0, (k & 4) ? 1 : -1)});
  for (std::size_t next = 0; next < cells.size() && next < kMaxCells; ++next) {
    const Cell cell = cells[next];
    Vec3 m = (cell.a + cell.b + cell.c).normalized();
    const double cosine = std::min({m.dot(cell.a), m.dot(cell.b), m.dot(cell.c)});
    const Vec3 G = difference(m);
    const double value = m.dot(G), length = G.norm();
    // The largest G.n within the angle of the corners from m.
    const double most =
        value >= length * cosine
            ? length
            : value * cosine + std::sqrt(std::max(0.0, length * length - value * value)) *
                                   std::sqrt(std::max(0.0, 1 - cosine * cosine));
    if (most <= f + kProved * scale) continue;
    if (value > f + kSame * scale) {
      const double top = improve(m);
      if (top > f) {
        f = top;
        n = m;
      }
    }
    const Vec3 ab = (cell.a + cell.b).normalized(), bc = (cell.b + cell.c).normalized(),
               ca = (cell.c + cell.a).normalized();
    cells.push_back({cell.a, ab, ca});
    cells.push_back({ab, cell.b, bc});
    cells.push_back({ca, bc, cell.c});
    cells.push_back({ab, bc, ca});
  }
}

Vec3 first_direction(const SmoothQuery& q) {
  if (q.hint != nullptr && q.hint->squaredNorm() > 0) return *q.hint;
  const double square = q.x.squaredNorm();
  return square > 0 ? Vec3(-q.x / std::sqrt(square)) : Vec3(Vec3::UnitZ());
}

/// Points of the two parts at the normal n; the one of B is better known where B is not flat.
void finish(const SmoothQuery& q, const Part& a, const Part& b, std::int16_t code_a,
            const Vec3& edge_start, const Vec3& edge, const Vec3& n, ContactPoint* out) {
  double places[2] = {0, 0};
  if (a.kind == PartKind::Edge)
    places[0] =
        (part_point<double, double>(b, 1, n, 0) - edge_start).dot(edge) / edge.squaredNorm();
  const SmoothContactT<double> c = smooth_contact(a, b, q.a.dim, n.data(), places);
  set_smooth(out[0], code_a, smooth_code(PartKind::SuperEllipsoid, 0), c.gap, c.normal, c.first,
             c.second, c.s[0], c.s[1]);
}

int curved(const SmoothQuery& q, const Part& B, double scale, ContactPoint* out) {
  const std::int16_t code = smooth_code(
      q.a.kind == ShapeKind::Ellipsoid ? PartKind::Ellipsoid : PartKind::SuperEllipsoid, 0);
  const Part A = smooth_part(q.a, Pose{Vec3::Zero(), q.X_WA.p}, code);
  const PartPair pair{A, B, scale};
  Vec3 n = first_direction(q);
  if (pair.value(n) >= q.margin) return 0;  // every f(n) is a lower bound
  double gap = climb(pair, n);
  if (!(gap > -(smallest_radius(q.a) + smallest_radius(q.b)) * (1 - 1e-9)))
    search_sphere([&](const Vec3& m) { return pair.difference<double>(m); },
                  [&](Vec3& m) { return climb(pair, m); }, scale, n, gap);
  if (!(gap < q.margin)) return 0;
  finish(q, A, B, code, Vec3::Zero(), Vec3::Zero(), n, out);
  return 1;
}

/// A polytope core against B: the best normal of all its parts.
class PolytopeSearch {
 public:
  PolytopeSearch(const Polytope& A, const Part& B, double scale) : A_(A), B_(B), scale_(scale) {}

  double separation(const Vec3& n) const {
    Index i;
    return lowest(A_, n, i) - n.dot(part_point<double, double>(B_, 1, n, 0));
  }
  Vec3 difference(const Vec3& n) const {
    Index i;
    (void)lowest(A_, n, i);
    return A_.vertex[i] - part_point<double, double>(B_, 1, n, 0);
  }

  /// The best of what can be climbed to from n, which is moved there.
  double improve(Vec3& n) {
    best_ = -std::numeric_limits<double>::infinity();
    Index i;
    (void)lowest(A_, n, i);
    const Vec3 start = n;
    if (!vertex(i, start)) {
      for (Index f = 0; f < A_.face_count; ++f)
        offer(-A_.normal[f], smooth_code(PartKind::Face, f));
      for (Index k = 0; k < A_.vertex_count; ++k) vertex(k, start);
      for (Index k = 0; k < A_.edge_count; ++k) edge(k, start);
    }
    n = normal_;
    return best_;
  }
  std::int16_t code() const { return code_; }

  /// Is the point of A that belongs to n within A? With the gap above -rho that proves it.
  bool proved(const Vec3& n, double gap) const {
    const Vec3 p = part_point<double, double>(B_, 1, n, 0) + gap * n;
    const double slack = 1e-6 * scale_;
    for (Index f = 0; f < A_.face_count; ++f)
      if (A_.normal[f].dot(p - A_.face_point[f]) > slack) return false;
    if (A_.face_count > 0) return true;
    if (A_.vertex_count == 1) return (p - A_.vertex[0]).norm() <= slack;
    const Vec3 e = A_.vertex[1] - A_.vertex[0];
    const double s = std::clamp((p - A_.vertex[0]).dot(e) / e.squaredNorm(), 0.0, 1.0);
    return (p - A_.vertex[0] - s * e).norm() <= slack;
  }

 private:
  void offer(const Vec3& n, std::int16_t code) {
    const double f = separation(n);
    if (!(f > best_)) return;
    best_ = f;
    normal_ = n;
    code_ = code;
  }
  /// True where the vertex is the lowest at its own maximum.
  bool vertex(Index i, Vec3 n) {
    Part part;
    part.kind = PartKind::Vertex;
    part.x = A_.vertex[i];
    const double own = climb(PartPair{part, B_, scale_}, n);
    offer(n, smooth_code(PartKind::Vertex, i));
    return separation(n) >= own - kSame * scale_;
  }
  void edge(Index k, Vec3 n) {
    const Primitive e = edge_of(A_, k);
    Part part;
    part.kind = PartKind::Edge;
    part.x = e.p0;
    part.u = e.p1 - e.p0;
    const Vec3 along = part.u.normalized();
    n -= n.dot(along) * along;
    if (!(n.squaredNorm() > 1e-6)) {
      Vec3 other;
      contact_tangents(along, n, other);
    }
    n.normalize();
    climb(PartPair{part, B_, scale_, 2, along}, n);
    offer(n, smooth_code(PartKind::Edge, k));
  }

  const Polytope& A_;
  const Part& B_;
  const double scale_;
  double best_ = 0;
  Vec3 normal_ = Vec3::Zero();
  std::int16_t code_ = 0;
};

template <class Storage>
int polytope(const SmoothQuery& q, const Part& B, double scale, ContactPoint* out) {
  Storage storage;
  Polytope A;
  place(q.a, matrix_of(q.X_WA.p), Vec3::Zero(), storage.vertex, storage.normal, storage.face_point,
        A);
  PolytopeSearch search(A, B, scale);
  Vec3 n = first_direction(q);
  if (search.separation(n) >= q.margin) return 0;
  double gap = search.improve(n);
  std::int16_t code = search.code();
  if (!(gap > -smallest_radius(q.b) * (1 - 1e-9)) || !search.proved(n, gap))
    search_sphere([&](const Vec3& m) { return search.difference(m); },
                  [&](Vec3& m) {
                    const double f = search.improve(m);
                    if (f > gap) code = search.code();
                    return f;
                  },
                  scale, n, gap);
  if (!(gap < q.margin)) return 0;
  const Part part = smooth_part(q.a, Pose{Vec3::Zero(), q.X_WA.p}, code);
  finish(q, part, B, code, part.x, part.u, n, out);
  return 1;
}

}  // namespace

int any_super(const SmoothQuery& q, ContactPoint* out) {
  const std::int16_t code = smooth_code(PartKind::SuperEllipsoid, 0);
  Part B = smooth_part(q.b, q.X_WB, code);
  B.x = q.x;
  if (q.a.kind == ShapeKind::HalfSpace) {
    const Vec3 n = -rotate(q.X_WA.p, core_face(q.a, 0).normal);
    const Vec3 b = part_point<double, double>(B, 1, n, 0);
    const double gap = -n.dot(b);
    if (!(gap < q.margin)) return 0;
    set_smooth(out[0], smooth_code(PartKind::Face, 0), code, gap, n, b + gap * n, b, 0, 0);
    return 1;
  }
  const double scale = std::max(bounding_radius(q.a) + bounding_radius(q.b), q.x.norm());
  if (is_smooth(q.a.kind)) return curved(q, B, scale, out);
  return q.a.kind == ShapeKind::Hull ? polytope<HullStorage>(q, B, scale, out)
                                     : polytope<BoxStorage>(q, B, scale, out);
}

}  // namespace orthant::internal
