// SPDX-License-Identifier: Apache-2.0
// shape/sat.cpp: two polytopes => the axis n with the largest separation among the facet normals of
// the Minkowski difference (faces of A, faces of B, crossings of an edge of A with an edge of B).
// Edge pairs that make no facet are skipped by the Gauss map: only crossing arcs count. Of equal
// axes faces win (a manifold is worth more than a crossing), A's before B's; among edge pairs the
// best wins without bias, since only of the best do the lines meet within the edges.
#include <array>
#include <cmath>

#include "shape/hull.hpp"
#include "shape/polytope.hpp"

namespace orthant::internal {
namespace {

constexpr double kTie = 1e-12;            // of the scale: axes closer than this are equal
constexpr double kParallelSine2 = 1e-20;  // edges below this squared sine have no cross product

/// A ball inside a polytope. With it most facets are seen to be worse than the best one so far:
/// along d, pointing away from a point p of P, Q begins no later than d.(centre - p) - radius.
struct InnerBall {
  Vec3 centre = Vec3::Zero();
  double radius = 0;
};

InnerBall inner_ball(const Polytope& P) {
  InnerBall ball;
  for (Index i = 0; i < P.vertex_count; ++i) ball.centre += P.vertex[i];
  ball.centre /= P.vertex_count;
  for (Index f = 0; f < P.face_count; ++f) {
    const double depth = P.normal[f].dot(P.face_point[f] - ball.centre);
    if (f == 0 || depth < ball.radius) ball.radius = depth;
  }
  return ball;
}

void try_face(const Polytope& P, const Polytope& Q, Index f, bool on_a, double tie, Axis& best) {
  Index vertex;
  const double s = lowest(Q, P.normal[f], vertex) - P.normal[f].dot(P.face_point[f]);
  if (best.a >= 0 && s <= best.separation + tie) return;
  best.kind = on_a ? Axis::kFaceA : Axis::kFaceB;
  best.separation = s;
  best.normal = on_a ? Vec3(-P.normal[f]) : P.normal[f];
  best.a = on_a ? f : vertex;
  best.b = on_a ? vertex : f;
}

void try_faces(const Polytope& P, const Polytope& Q, const InnerBall& ball, bool on_a, double tie,
               Axis& best) {
  Index first = -1;  // the face that looks most towards Q: a good bound to begin with
  double first_bound = 0;
  for (Index f = 0; f < P.face_count; ++f) {
    const double bound = P.normal[f].dot(ball.centre - P.face_point[f]);
    if (first >= 0 && bound <= first_bound) continue;
    first = f;
    first_bound = bound;
  }
  if (first >= 0) try_face(P, Q, first, on_a, tie, best);
  for (Index f = 0; f < P.face_count; ++f) {
    const double bound = P.normal[f].dot(ball.centre - P.face_point[f]) - ball.radius;
    if (f != first && bound > best.separation) try_face(P, Q, f, on_a, tie, best);
  }
}

/// Edges of P that can carry a better axis than `separation`; returns their number.
int promising_edges(const Polytope& P, const InnerBall& other, double separation, Index* out) {
  int count = 0;
  for (Index i = 0; i < P.edge_count; ++i) {
    const HullEdge& e = P.topology->edges[i];
    if (e.f0 >= 0) {
      const Vec3 &n0 = P.normal[e.f0], &n1 = P.normal[e.f1];
      const Vec3 w = other.centre - P.vertex[e.v0];
      const double most = std::max(n0.dot(w), n1.dot(w));
      // On the arc from n0 to n1 d.w is at most `most`, raised by the arc's bulge where positive.
      const double bulge = std::sqrt(std::max(0.5 * (1 + n0.dot(n1)), 1e-12));
      if ((most > 0 ? most / bulge : most) - other.radius < separation) continue;
    }
    out[count++] = i;
  }
  return count;
}

/// A triangle alone, or its like: two faces back to back. Its edges turn half a circle, and which
/// half the two normals do not say.
bool is_flat(const Polytope& P, const HullEdge& e) {
  return e.f0 >= 0 && P.normal[e.f0].dot(P.normal[e.f1]) < -1 + 1e-12;
}

/// Do the Gauss arcs of edge a of A and of edge b of -B cross? `e`, `g` the edge vectors.
bool arcs_cross(const Polytope& A, const HullEdge& a, const Vec3& e, const Polytope& B,
                const HullEdge& b, const Vec3& g) {
  double m0 = 0, n1 = 0;
  if (b.f0 >= 0) {
    m0 = B.normal[b.f0].dot(e);
    if (m0 * B.normal[b.f1].dot(e) >= 0) return false;
  }
  if (a.f0 >= 0) {
    n1 = A.normal[a.f1].dot(g);
    if (n1 * A.normal[a.f0].dot(g) >= 0) return false;
  }
  // Both with faces: the arcs must lie on the same hemisphere. A bare segment's arc is all round.
  return a.f0 < 0 || b.f0 < 0 || m0 * n1 < 0;
}

void try_edges(const Polytope& A, const InnerBall& ball_a, const Polytope& B,
               const InnerBall& ball_b, double tie, Axis& best) {
  Index edges_a[kMaxHullEdges], edges_b[kMaxHullEdges];
  const int count_a = promising_edges(A, ball_b, best.separation, edges_a);
  const int count_b = promising_edges(B, ball_a, best.separation, edges_b);
  for (int ia = 0; ia < count_a; ++ia) {
    const Index i = edges_a[ia];
    const HullEdge& a = A.topology->edges[i];
    const Vec3 p = A.vertex[a.v0], e = A.vertex[a.v1] - p;
    const double e2 = e.squaredNorm();
    for (int ib = 0; ib < count_b; ++ib) {
      const Index j = edges_b[ib];
      const HullEdge& b = B.topology->edges[j];
      const Vec3 q = B.vertex[b.v0], g = B.vertex[b.v1] - q;
      const bool flat = is_flat(A, a) || is_flat(B, b);
      if (!flat && !arcs_cross(A, a, e, B, b, g)) continue;
      const Vec3 m = e.cross(g);
      const double m2 = m.squaredNorm();
      if (m2 <= kParallelSine2 * e2 * g.squaredNorm()) continue;
      Vec3 n = m / std::sqrt(m2);
      if (flat) {  // both ways, and what they separate in truth
        for (const int way : {1, -1}) {
          const Vec3 d = way * n;
          const double s = separation(A, B, d);
          // The lines of these two edges must be what bounds the bodies along d.
          if (std::abs(d.dot(p - q) - s) > tie) continue;
          if (s <= best.separation + (best.kind == Axis::kEdges ? 0 : tie)) continue;
          best = {Axis::kEdges, s, d, i, j, way};
        }
        continue;
      }
      const double side = b.f0 >= 0 ? n.dot(B.normal[b.f0] + B.normal[b.f1])
                                    : -n.dot(A.normal[a.f0] + A.normal[a.f1]);
      const int sign = side < 0 ? -1 : 1;
      n *= sign;
      double s = n.dot(p - q);
      if (s <= best.separation + (best.kind == Axis::kEdges ? 0 : tie)) continue;
      // The cross product of nearly parallel edges is too rough to trust the two edges alone.
      if (m2 <= 1e-12 * e2 * g.squaredNorm()) {
        s = separation(A, B, n);
        if (s <= best.separation + (best.kind == Axis::kEdges ? 0 : tie)) continue;
      }
      best = {Axis::kEdges, s, n, i, j, sign};
    }
  }
}

}  // namespace

Axis best_face_axis(const Polytope& A, const Polytope& B, double scale) {
  Axis best;
  try_faces(A, B, inner_ball(B), true, kTie * scale, best);
  try_faces(B, A, inner_ball(A), false, kTie * scale, best);
  return best;
}

Axis best_axis(const Polytope& A, const Polytope& B, double scale) {
  Axis best;
  const InnerBall ball_a = inner_ball(A), ball_b = inner_ball(B);
  try_faces(A, B, ball_b, true, kTie * scale, best);
  try_faces(B, A, ball_a, false, kTie * scale, best);
  if (A.edge_count > 0 && B.edge_count > 0) try_edges(A, ball_a, B, ball_b, kTie * scale, best);
  return best;
}

const HullTopology& box_topology() {
  static const std::shared_ptr<const HullTopology> box = fixed_topology(ShapeKind::Box, 3);
  return *box;
}

Index box_edge(int axis, int bits) {
  static const auto table = [] {
    std::array<Index, 24> t{};
    const HullTopology& box = box_topology();
    for (Index i = 0; i < box.edge_count(); ++i) {
      const HullEdge& e = box.edges[i];
      const int along = e.v0 ^ e.v1;  // the one bit in which the ends differ
      const int k = along == 1 ? 0 : along == 2 ? 1 : 2;
      t[8 * k + (e.v0 & e.v1)] = i;
    }
    return t;
  }();
  return table[8 * axis + bits];
}

bool best_axis_boxes(const Mat3& R_A, const double* half_a, const Mat3& R_B, const double* half_b,
                     const Vec3& x, double margin, double scale, Axis& best) {
  const double tie = kTie * scale;
  const Mat3 C = R_A.transpose() * R_B;
  const Mat3 S = C.cwiseAbs();
  const Vec3 t = R_A.transpose() * x;
  const Vec3 u = R_B.transpose() * x;
  best.a = -1;
  for (int i = 0; i < 3; ++i) {
    const double s = std::abs(t[i]) - half_a[i] - half_b[0] * S(i, 0) - half_b[1] * S(i, 1) -
                     half_b[2] * S(i, 2);
    if (s > margin) return false;
    if (best.a >= 0 && s <= best.separation + tie) continue;
    best.kind = Axis::kFaceA;
    best.separation = s;
    best.a = 2 * i + (t[i] < 0 ? 0 : 1);
  }
  for (int j = 0; j < 3; ++j) {
    const double s = std::abs(u[j]) - half_b[j] - half_a[0] * S(0, j) - half_a[1] * S(1, j) -
                     half_a[2] * S(2, j);
    if (s > margin) return false;
    if (s <= best.separation + tie) continue;
    best.kind = Axis::kFaceB;
    best.separation = s;
    best.b = 2 * j + (u[j] < 0 ? 1 : 0);
  }
  int edge_i = 0, edge_j = 0;
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      // a_i x b_j in A's axes is (0, -C(i2, j), C(i1, j)) rotated to i, i1, i2
      const double l2 = C(i1, j) * C(i1, j) + C(i2, j) * C(i2, j);
      if (l2 <= kParallelSine2) continue;
      const double reach = half_a[i1] * S(i2, j) + half_a[i2] * S(i1, j) + half_b[j1] * S(i, j2) +
                           half_b[j2] * S(i, j1);
      const double s = (std::abs(t[i2] * C(i1, j) - t[i1] * C(i2, j)) - reach) / std::sqrt(l2);
      if (s > margin) return false;
      if (s <= best.separation + (best.kind == Axis::kEdges ? 0 : tie)) continue;
      best.kind = Axis::kEdges;
      best.separation = s;
      edge_i = i;
      edge_j = j;
    }
  }
  if (best.kind == Axis::kFaceA) {
    best.normal = R_A.col(best.a >> 1) * ((best.a & 1) ? -1.0 : 1.0);
  } else if (best.kind == Axis::kFaceB) {
    best.normal = R_B.col(best.b >> 1) * ((best.b & 1) ? 1.0 : -1.0);
  } else {
    Vec3 n = R_A.col(edge_i).cross(R_B.col(edge_j));
    best.sign = n.dot(x) > 0 ? -1 : 1;  // n from B to A
    n *= best.sign / n.norm();
    best.normal = n;
    int bits_a = 0, bits_b = 0;  // the edges nearest to each other: A's along -n, B's along n
    for (int k = 0; k < 3; ++k) {
      if (k != edge_i && n.dot(R_A.col(k)) < 0) bits_a |= 1 << k;
      if (k != edge_j && n.dot(R_B.col(k)) > 0) bits_b |= 1 << k;
    }
    best.a = box_edge(edge_i, bits_a);
    best.b = box_edge(edge_j, bits_b);
    // The stored edges run either way along their axes; the sign belongs to them.
    const HullTopology& box = box_topology();
    if ((box.edges[best.a].v0 >> edge_i & 1) != (box.edges[best.b].v0 >> edge_j & 1))
      best.sign = -best.sign;
  }
  return true;
}

}  // namespace orthant::internal
