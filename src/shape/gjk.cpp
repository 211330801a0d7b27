// SPDX-License-Identifier: Apache-2.0
// shape/gjk.cpp: separated polytopes => exact nearest features (Gilbert, Johnson, Keerthi 1988; the
// nearest point of a simplex by its Voronoi regions).
// GJK only has to find the right vertices: distance and normal come from the closed formula of the
// feature, and are accepted by duality: |p_A - p_B| >= distance >= min_A n.a - max_B n.b. Where the
// two sides do not meet (near-degenerate simplices) all feature pairs are tried.
#include <cmath>

#include "shape/polytope.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxIterations = 64;
constexpr double kCertificate = 1e-12;  // of the scale: primal minus dual that counts as met

/// Points of the Minkowski difference A - B and the vertices they come from.
struct Simplex {
  Vec3 w[4];
  Index a[4], b[4];
  int count = 0;
};

/// Nearest point to the origin of the segment (i, j); reduces `keep` to the vertices it needs.
Vec3 nearest_segment(const Simplex& s, int i, int j, int* keep, int& count) {
  const Vec3 e = s.w[j] - s.w[i];
  const double t = -s.w[i].dot(e), e2 = e.squaredNorm();
  keep[0] = i;
  count = 1;
  if (t <= 0) return s.w[i];
  if (t >= e2) {
    keep[0] = j;
    return s.w[j];
  }
  keep[1] = j;
  count = 2;
  return s.w[i] + e * (t / e2);
}

Vec3 nearest_triangle(const Simplex& s, int i, int j, int k, int* keep, int& count) {
  const Vec3 &a = s.w[i], &b = s.w[j], &c = s.w[k];
  const Vec3 ab = b - a, ac = c - a, m = ab.cross(ac);
  const double m2 = m.squaredNorm();
  // Barycentric signs with respect to the three sides; a sliver falls through to its sides.
  const double u = b.cross(c).dot(m), v = c.cross(a).dot(m), w = a.cross(b).dot(m);
  if (m2 > 0 && u > 0 && v > 0 && w > 0) {
    keep[0] = i;
    keep[1] = j;
    keep[2] = k;
    count = 3;
    return m * (a.dot(m) / m2);
  }
  Vec3 best = Vec3::Zero();
  double best2 = -1;
  const int sides[3][2] = {{i, j}, {j, k}, {k, i}};
  for (const auto& side : sides) {
    int local[3], n = 0;
    const Vec3 p = nearest_segment(s, side[0], side[1], local, n);
    const double p2 = p.squaredNorm();
    if (best2 >= 0 && p2 >= best2) continue;
    best2 = p2;
    best = p;
    count = n;
    for (int q = 0; q < n; ++q) keep[q] = local[q];
  }
  return best;
}

/// Nearest point of a tetrahedron; count = 4 when it holds the origin.
Vec3 nearest_tetrahedron(const Simplex& s, int* keep, int& count) {
  static constexpr int kFaces[4][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}, {1, 3, 2, 0}};
  Vec3 best = Vec3::Zero();
  double best2 = -1;
  bool inside = true;
  for (const auto& f : kFaces) {
    const Vec3 m = (s.w[f[1]] - s.w[f[0]]).cross(s.w[f[2]] - s.w[f[0]]);
    const double other = m.dot(s.w[f[3]] - s.w[f[0]]), origin = -m.dot(s.w[f[0]]);
    if (other != 0 && other * origin > 0) continue;  // the origin is on the inner side
    inside = false;
    int local[3], n = 0;
    const Vec3 p = nearest_triangle(s, f[0], f[1], f[2], local, n);
    const double p2 = p.squaredNorm();
    if (best2 >= 0 && p2 >= best2) continue;
    best2 = p2;
    best = p;
    count = n;
    for (int q = 0; q < n; ++q) keep[q] = local[q];
  }
  if (inside) count = 4;
  return best;
}

/// Runs GJK; false when the origin is reached.
bool minimise(const Polytope& A, const Polytope& B, double scale, Simplex& s, Vec3& v) {
  const double touch = 1e-14 * scale;
  double v2 = v.squaredNorm();
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    Index ia, ib;
    lowest(A, v, ia);
    highest(B, v, ib);
    const Vec3 w = A.vertex[ia] - B.vertex[ib];
    bool known = s.count > 0 && v2 - v.dot(w) <= 1e-15 * v2;
    for (int k = 0; k < s.count; ++k) known = known || (s.a[k] == ia && s.b[k] == ib);
    if (known) return true;
    Simplex grown = s;
    grown.w[grown.count] = w;
    grown.a[grown.count] = ia;
    grown.b[grown.count++] = ib;
    int keep[4] = {0, 1, 2, 3}, count = 1;
    Vec3 next = grown.w[0];
    if (grown.count == 2) next = nearest_segment(grown, 0, 1, keep, count);
    if (grown.count == 3) next = nearest_triangle(grown, 0, 1, 2, keep, count);
    if (grown.count == 4) next = nearest_tetrahedron(grown, keep, count);
    if (count == 4) return false;
    const double next2 = next.squaredNorm();
    if (next2 <= touch * touch) return false;
    if (s.count > 0 && next2 >= v2) return true;  // rounding: no further progress
    Simplex reduced;
    for (int k = 0; k < count; ++k) {
      reduced.w[k] = grown.w[keep[k]];
      reduced.a[k] = grown.a[keep[k]];
      reduced.b[k] = grown.b[keep[k]];
    }
    reduced.count = count;
    s = reduced;
    v = next;
    v2 = next2;
  }
  return true;
}

int distinct(const Index* all, int count, Index* out) {
  int n = 0;
  for (int i = 0; i < count; ++i) {
    bool seen = false;
    for (int k = 0; k < n; ++k) seen = seen || out[k] == all[i];
    if (!seen) out[n++] = all[i];
  }
  return n;
}

Index edge_between(const Polytope& P, Index u, Index v) {
  for (Index e = 0; e < P.edge_count; ++e) {
    const HullEdge& edge = P.topology->edges[e];
    if ((edge.v0 == u && edge.v1 == v) || (edge.v0 == v && edge.v1 == u)) return e;
  }
  return -1;
}

/// Keeps the candidate with the smallest distance among those whose points lie on the features.
class Nearest {
 public:
  Nearest(const Polytope& A, const Polytope& B, double scale, ContactPoint& out)
      : A_(A), B_(B), scale_(scale), out_(out) {}

  bool certified() const { return found_ && out_.gap - dual_ <= kCertificate * scale_; }
  bool found() const { return found_; }

  void vertices(Index a, Index b) { offer(feature(FeatureKind::VertexVertex, false, a, b)); }

  /// vertex i of P against edge e of Q; P is B when swapped
  void vertex_edge(Index i, Index e, bool swapped) {
    const Vec3 p = (swapped ? B_ : A_).vertex[i];
    const Primitive q = edge_of(swapped ? A_ : B_, e);
    const Vec3 g = q.p1 - q.p0;
    const double t = (p - q.p0).dot(g);
    if (t >= 0 && t <= g.squaredNorm()) offer(feature(FeatureKind::VertexEdge, swapped, i, e));
  }

  void vertex_face(Index i, Index f, bool swapped) {
    const Polytope& Q = swapped ? A_ : B_;
    const Vec3 p = (swapped ? B_ : A_).vertex[i];
    if (!(Q.normal[f].dot(p - Q.face_point[f]) > 0)) return;
    const HullTopology& h = *Q.topology;
    const Index begin = h.face_start[f], end = h.face_start[f + 1];
    for (Index k = begin; k < end; ++k) {
      const Vec3 a = Q.vertex[h.face_vertex[k]];
      const Vec3 b = Q.vertex[h.face_vertex[k + 1 < end ? k + 1 : begin]];
      if (Q.dim == 2 && k > begin) break;
      if (Q.dim == 2) {
        const double t = (p - a).dot(b - a);
        if (t < 0 || t > (b - a).squaredNorm()) return;
      } else if ((b - a).cross(p - a).dot(Q.normal[f]) < 0) {
        return;
      }
    }
    offer(feature(FeatureKind::VertexFace, swapped, i, f));
  }

  void edges(Index ea, Index eb) {
    const Primitive a = edge_of(A_, ea), b = edge_of(B_, eb);
    const Vec3 e = a.p1 - a.p0, g = b.p1 - b.p0, m = e.cross(g), d = b.p0 - a.p0;
    const double m2 = m.squaredNorm();
    if (m2 <= 1e-16 * e.squaredNorm() * g.squaredNorm()) return;
    const double s = d.cross(g).dot(m) / m2, t = d.cross(e).dot(m) / m2;
    if (s < 0 || s > 1 || t < 0 || t > 1) return;
    ContactFeature f = feature(FeatureKind::EdgeEdge, false, ea, eb);
    f.sign = m.dot(d) > 0 ? -1 : 1;
    offer(f);
  }

 private:
  static ContactFeature feature(FeatureKind kind, bool swapped, Index first, Index second) {
    ContactFeature f;
    f.kind = kind;
    f.swapped = swapped;
    f.first = static_cast<std::int16_t>(first);
    f.second = static_cast<std::int16_t>(second);
    return f;
  }

  void offer(const ContactFeature& f) {
    ContactPoint c;
    evaluate_core(f, A_, B_, c);
    const double tie = 1e-15 * scale_;
    if (found_ && !(c.gap < out_.gap + tie)) return;
    const double dual = separation(A_, B_, c.normal);
    // A point just past the end of an edge is as near as the end; the better normal decides.
    if (found_ && c.gap > out_.gap - tie && !(dual > dual_)) return;
    out_ = c;
    found_ = true;
    dual_ = dual;
  }

  const Polytope& A_;
  const Polytope& B_;
  const double scale_;
  ContactPoint& out_;
  double dual_ = 0;
  bool found_ = false;
};

/// Every pair of features. Slow and sure: the nearest pair of points is on one of them.
void try_all(const Polytope& A, const Polytope& B, Nearest& nearest) {
  for (Index i = 0; i < A.vertex_count; ++i) {
    for (Index j = 0; j < B.vertex_count; ++j) nearest.vertices(i, j);
    for (Index j = 0; j < B.edge_count; ++j) nearest.vertex_edge(i, j, false);
    for (Index j = 0; j < B.face_count; ++j) nearest.vertex_face(i, j, false);
  }
  for (Index j = 0; j < B.vertex_count; ++j) {
    for (Index i = 0; i < A.edge_count; ++i) nearest.vertex_edge(j, i, true);
    for (Index i = 0; i < A.face_count; ++i) nearest.vertex_face(j, i, true);
  }
  for (Index i = 0; i < A.edge_count; ++i)
    for (Index j = 0; j < B.edge_count; ++j) nearest.edges(i, j);
}

/// Faces of P whose normal is along -n (to 1e-6), against every vertex in `others` of Q.
void try_aligned_faces(const Polytope& P, const Vec3& n, const Index* others, int count,
                       bool swapped, Nearest& nearest) {
  for (Index f = 0; f < P.face_count; ++f)
    if (P.normal[f].dot(n) > 1 - 1e-9)
      for (int k = 0; k < count; ++k) nearest.vertex_face(others[k], f, swapped);
}

}  // namespace

bool nearest_features(const Polytope& A, const Polytope& B, const Vec3& n, double scale,
                      ContactPoint& out) {
  Simplex s;
  Vec3 v = n;
  if (!minimise(A, B, scale, s, v)) return false;
  Index a[4], b[4];
  const int na = distinct(s.a, s.count, a), nb = distinct(s.b, s.count, b);
  const Vec3 along = v.normalized();

  Nearest nearest(A, B, scale, out);
  for (int i = 0; i < na; ++i)
    for (int j = 0; j < nb; ++j) nearest.vertices(a[i], b[j]);
  if (nearest.certified()) return true;
  try_aligned_faces(B, along, a, na, false, nearest);
  try_aligned_faces(A, -along, b, nb, true, nearest);
  if (nearest.certified()) return true;
  for (int i = 0; i < na; ++i) {
    for (int j = i + 1; j < na; ++j) {
      const Index ea = edge_between(A, a[i], a[j]);
      if (ea < 0) continue;
      for (int k = 0; k < nb; ++k) nearest.vertex_edge(b[k], ea, true);
      for (int k = 0; k < nb; ++k)
        for (int l = k + 1; l < nb; ++l) {
          const Index eb = edge_between(B, b[k], b[l]);
          if (eb >= 0) nearest.edges(ea, eb);
        }
    }
  }
  for (int k = 0; k < nb; ++k)
    for (int l = k + 1; l < nb; ++l) {
      const Index eb = edge_between(B, b[k], b[l]);
      if (eb < 0) continue;
      for (int i = 0; i < na; ++i) nearest.vertex_edge(a[i], eb, false);
    }
  if (!nearest.certified()) try_all(A, B, nearest);
  return nearest.found();
}

}  // namespace orthant::internal
