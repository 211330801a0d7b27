// SPDX-License-Identifier: Apache-2.0
// shape/manifold.cpp: two placed cores => up to 4 contact points with their features.
// A face contact is the overlap of two convex polygons seen along the reference normal. Its corners
// are vertices of the incident face inside the reference face, vertices of the reference face
// inside the incident one, and crossings of their edges: found as such (not by successive
// clipping), so every corner knows its two features, which name it and let it be differentiated.
#include <cmath>
#include <limits>

#include "shape/polytope.hpp"
#include "shape/spread.hpp"

namespace orthant::internal {
namespace {

constexpr double kInside = 1e-12;  // of the scale: how far outside a face still counts as over it
constexpr double kRim = 1e-8;      // the same where the nearest point is lost at the rim otherwise
constexpr double kSame = 1e-6;     // of the scale: contact points closer than this are one
constexpr double kCertified = 1e-12;  // of the scale: point gap minus axis separation that is exact
constexpr double kTilt = 0.05;  // sine up to which faces beside an edge contact get points too
constexpr int kMaxClip = 4 * kMaxHullVertices + 1;

struct Planar {
  double u, v;
};

ContactFeature feature(FeatureKind kind, bool swapped, Index first, Index second, Index face = 0) {
  ContactFeature f;
  f.kind = kind;
  f.swapped = swapped;
  f.first = static_cast<std::int16_t>(first);
  f.second = static_cast<std::int16_t>(second);
  f.face = static_cast<std::int16_t>(face);
  return f;
}

/// A polygon (face), segment or point of one body with the numbers of its corners and sides.
struct Patch {
  const Index* vertex = nullptr;
  const Index* edge = nullptr;  // edge k joins vertex k and k + 1; null in the plane
  Index count = 0;
  Index face = -1;
};

Patch face_patch(const Polytope& P, Index f) {
  const HullTopology& h = *P.topology;
  const Index begin = h.face_start[f];
  return {h.face_vertex.data() + begin, h.face_edge.empty() ? nullptr : h.face_edge.data() + begin,
          h.face_start[f + 1] - begin, f};
}

/// What Q shows to a plane with normal n from below: the face turned to it most among those at its
/// lowest vertex, or the whole core where it has no faces.
Patch incident_patch(const Polytope& Q, const Vec3& n, Index lowest_vertex) {
  static constexpr Index kNumbers[2] = {0, 1};
  if (Q.face_count == 0) return {kNumbers, kNumbers, Q.vertex_count, -1};
  Index best = -1;
  double best_dot = 2;
  for (Index f = 0; f < Q.face_count; ++f) {
    const double d = n.dot(Q.normal[f]);
    if (d >= best_dot - 1e-12) continue;
    const Patch p = face_patch(Q, f);
    bool holds = false;
    for (Index k = 0; k < p.count; ++k) holds = holds || p.vertex[k] == lowest_vertex;
    if (!holds) continue;
    best_dot = d;
    best = f;
  }
  return face_patch(Q, best);
}

double cross(const Planar& a, const Planar& b, const Planar& p) {
  return (b.u - a.u) * (p.v - a.v) - (b.v - a.v) * (p.u - a.u);
}

/// Is p to the left of every side, to within `slack` [m]? turn = -1 for a clockwise polygon.
bool inside(const Planar* polygon, Index count, double turn, const Planar& p, double slack) {
  for (Index k = 0; k < count; ++k) {
    const Planar& a = polygon[k];
    const Planar& b = polygon[k + 1 < count ? k + 1 : 0];
    const double length2 = (b.u - a.u) * (b.u - a.u) + (b.v - a.v) * (b.v - a.v);
    const double c = turn * cross(a, b, p);
    if (c < 0 && c * c > slack * slack * length2) return false;
  }
  return true;
}

/// The pair with the reference face on P; P is A when swapped, B otherwise (n from second to first,
/// the reference is the second).
struct FacePair {
  const Polytope& P;
  const Polytope& Q;
  bool swapped;
  Index face;
};

/// Candidates of a face contact with gap < margin, at most `slack` outside the faces. Returns their
/// number, coordinates on the plane.
int clip_faces(const FacePair& pair, double margin, double slack, ClipPoint* out) {
  const Polytope &P = pair.P, &Q = pair.Q;
  const Vec3 n = P.normal[pair.face], origin = P.face_point[pair.face];
  Index deepest;
  lowest(Q, n, deepest);
  const Patch ref = face_patch(P, pair.face);
  const Patch inc = incident_patch(Q, n, deepest);
  Vec3 t1, t2;
  if (P.dim == 2) {
    t1 = planar_tangent(n);
    t2 = Vec3::Zero();
  } else {
    contact_tangents(n, t1, t2);
  }

  Planar r[kMaxHullVertices], q[kMaxHullVertices];
  double height[kMaxHullVertices];
  for (Index k = 0; k < ref.count; ++k) {
    const Vec3 d = P.vertex[ref.vertex[k]] - origin;
    r[k] = {t1.dot(d), t2.dot(d)};
  }
  for (Index k = 0; k < inc.count; ++k) {
    const Vec3 d = Q.vertex[inc.vertex[k]] - origin;
    q[k] = {t1.dot(d), t2.dot(d)};
    height[k] = n.dot(d);
  }

  int count = 0;
  if (P.dim == 2) {  // a side: the interval of t1 between its two vertices
    const double lo = std::min(r[0].u, r[1].u) - slack, hi = std::max(r[0].u, r[1].u) + slack;
    for (Index k = 0; k < inc.count; ++k)
      if (q[k].u >= lo && q[k].u <= hi && height[k] < margin)
        out[count++] =
            clip_point(q[k].u, 0, height[k],
                       feature(FeatureKind::VertexFace, pair.swapped, inc.vertex[k], pair.face));
    if (inc.face < 0) return count;
    const double width = q[1].u - q[0].u;
    if (std::abs(width) <= slack) return count;
    for (Index k = 0; k < 2; ++k) {
      const double t = (r[k].u - q[0].u) / width;
      const double gap = height[0] + t * (height[1] - height[0]);
      if (t >= 0 && t <= 1 && gap < margin)
        out[count++] = clip_point(
            r[k].u, 0, gap,
            feature(FeatureKind::ClippedVertex, pair.swapped, inc.face, ref.vertex[k], pair.face));
    }
    return count;
  }

  for (Index k = 0; k < inc.count; ++k)
    if (height[k] < margin && inside(r, ref.count, 1, q[k], slack))
      out[count++] =
          clip_point(q[k].u, q[k].v, height[k],
                     feature(FeatureKind::VertexFace, pair.swapped, inc.vertex[k], pair.face));
  if (inc.face >= 0) {
    const Vec3 m = Q.normal[inc.face];
    const double facing = m.dot(n);
    if (std::abs(facing) > 1e-3) {
      for (Index k = 0; k < ref.count; ++k) {
        const Vec3 p = P.vertex[ref.vertex[k]];
        const double gap = m.dot(Q.face_point[inc.face] - p) / facing;
        if (gap < margin && inside(q, inc.count, -1, r[k], slack))
          out[count++] = clip_point(r[k].u, r[k].v, gap,
                                    feature(FeatureKind::ClippedVertex, pair.swapped, inc.face,
                                            ref.vertex[k], pair.face));
      }
    }
  }
  double slack_of[kMaxHullVertices];  // along a side of the reference
  for (Index j = 0; j < ref.count; ++j) {
    const Index j1 = j + 1 < ref.count ? j + 1 : 0;
    const double gu = r[j1].u - r[j].u, gv = r[j1].v - r[j].v;
    slack_of[j] = slack / std::sqrt(gu * gu + gv * gv);
  }
  const Index sides = inc.count > 2 ? inc.count : inc.count - 1;
  for (Index i = 0; i < sides; ++i) {
    const Index i1 = i + 1 < inc.count ? i + 1 : 0;
    const double eu = q[i1].u - q[i].u, ev = q[i1].v - q[i].v;
    const double e2 = eu * eu + ev * ev;
    const double rise = height[i1] - height[i];
    if (e2 <= 1e-6 * rise * rise) continue;  // seen end on: its ends count
    for (Index j = 0; j < ref.count; ++j) {
      const Index j1 = j + 1 < ref.count ? j + 1 : 0;
      const double gu = r[j1].u - r[j].u, gv = r[j1].v - r[j].v;
      const double c = eu * gv - ev * gu, g2 = gu * gu + gv * gv;
      if (c * c <= 1e-14 * e2 * g2) continue;  // parallel: their ends count
      const double du = r[j].u - q[i].u, dv = r[j].v - q[i].v;
      const double s = (du * gv - dv * gu) / c;
      if (s < -kInside || s > 1 + kInside) continue;
      // A segment through a corner must not slip between its two sides.
      const double t = (du * ev - dv * eu) / c;
      if (t < -slack_of[j] || t > 1 + slack_of[j]) continue;
      const double gap = height[i] + s * rise;
      if (gap < margin && count < kMaxClip)
        out[count++] = clip_point(
            q[i].u + s * eu, q[i].v + s * ev, gap,
            feature(FeatureKind::ClippedEdge, pair.swapped, inc.edge[i], ref.edge[j], pair.face));
    }
  }
  return count;
}

int emit(const Polytope& A, const Polytope& B, const ClipPoint* clip, const int* chosen, int n,
         ContactPoint* out) {
  for (int k = 0; k < n; ++k) evaluate_core(clip[chosen[k]].feature(), A, B, out[k]);
  return n;
}

/// The face of P that looks most along n.
Index most_aligned(const Polytope& P, const Vec3& n, double& dot) {
  Index best = -1;
  dot = -2;
  for (Index f = 0; f < P.face_count; ++f) {
    const double d = n.dot(P.normal[f]);
    if (d > dot + 1e-12) {
      dot = d;
      best = f;
    }
  }
  return best;
}

/// The edge of P at vertex v most parallel to direction d; -1 unless within kTilt.
Index parallel_edge(const Polytope& P, Index v, const Vec3& d) {
  Index best = -1;
  double best_sine2 = kTilt * kTilt;
  for (Index e = 0; e < P.edge_count; ++e) {
    const HullEdge& edge = P.topology->edges[e];
    if (edge.v0 != v && edge.v1 != v) continue;
    const Vec3 g = P.vertex[edge.v1] - P.vertex[edge.v0];
    const double sine2 = g.cross(d).squaredNorm() / (g.squaredNorm() * d.squaredNorm());
    if (sine2 < best_sine2) {
      best_sine2 = sine2;
      best = e;
    }
  }
  return best;
}

/// out[0] is the exact nearest point, not of a face. Adds points of nearly flush faces, or of
/// nearly parallel edges.
int add_points(const Polytope& A, const Polytope& B, double margin, double scale,
               ContactPoint* out) {
  const ContactFeature f = out[0].feature;
  double dot_a, dot_b;
  const Index face_a = most_aligned(A, -out[0].normal, dot_a);
  const Index face_b = most_aligned(B, out[0].normal, dot_b);
  const double flush = 1 - 0.5 * kTilt * kTilt;
  if (dot_a >= flush || dot_b >= flush) {
    const bool on_a = dot_a >= dot_b - 1e-9;
    const FacePair pair = on_a ? FacePair{A, B, true, face_a} : FacePair{B, A, false, face_b};
    ClipPoint clip[kMaxClip + 1];
    const int count = clip_faces(pair, margin, kInside * scale, clip + 1);
    // The nearest point joins in the coordinates of the reference plane.
    const Vec3 n = pair.P.normal[pair.face];
    Vec3 t1, t2;
    contact_tangents(n, t1, t2);
    const Vec3 p = (on_a ? out[0].point_b : out[0].point_a) - pair.P.face_point[pair.face];
    clip[0] = clip_point(t1.dot(p), t2.dot(p), out[0].gap, f);
    const std::uint32_t id = feature_id(f);  // the same two edges seen along the face: one contact
    int kept = 1;
    for (int i = 1; i <= count; ++i)
      if (feature_id(clip[i].feature()) != id) clip[kept++] = clip[i];
    int chosen[4];
    const int n_points = choose_spread(clip, kept, 0, 4, kSame * scale, chosen);
    return emit(A, B, clip, chosen, n_points, out);
  }
  if (f.kind == FeatureKind::EdgeEdge)
    return add_line_points(A, B, f.first, f.second, margin, scale, out);
  if (f.kind == FeatureKind::VertexEdge) {
    const Polytope& P = f.swapped ? B : A;
    const Polytope& Q = f.swapped ? A : B;
    const Primitive e = edge_of(Q, f.second);
    const Index other = parallel_edge(P, f.first, e.p1 - e.p0);
    if (other >= 0)
      return f.swapped ? add_line_points(A, B, f.second, other, margin, scale, out)
                       : add_line_points(A, B, other, f.second, margin, scale, out);
  }
  return 1;
}

/// How far p on the line of an edge is past its ends, relative to its length; negative within.
double past_ends(const Primitive& e, const Vec3& p) {
  const Vec3 d = e.p1 - e.p0;
  const double t = (p - e.p0).dot(d) / d.squaredNorm();
  return std::max(-t, t - 1);
}

/// Nearest features of separated cores by GJK, with the axis as first direction; -1 when GJK finds
/// them touching (within rounding of it, the axis is as good).
int separated_contacts(const Polytope& A, const Polytope& B, const Vec3& n, double margin,
                       bool exact_only, double scale, ContactPoint* out) {
  if (!nearest_features(A, B, n, scale, out[0])) return -1;
  if (!(out[0].gap < margin)) return 0;
  if (exact_only || A.dim == 2 || out[0].feature.kind == FeatureKind::VertexFace) return 1;
  return add_points(A, B, margin, scale, out);
}

}  // namespace

int axis_contacts(const Polytope& A, const Polytope& B, const Axis& axis, double margin,
                  bool exact_only, double scale, ContactPoint* out) {
  if (!(axis.separation < margin)) return 0;
  if (axis.kind == Axis::kEdges) {
    ContactFeature f = feature(FeatureKind::EdgeEdge, false, axis.a, axis.b);
    f.sign = static_cast<std::int8_t>(axis.sign);
    evaluate_core(f, A, B, out[0]);
    // Exact when the two lines meet within both edges, which in overlap they do. Only edges so
    // nearly parallel that rounding moves the crossing fail there; the best face is then as good.
    const Primitive a = edge_of(A, f.first), b = edge_of(B, f.second);
    const double past = std::max(past_ends(a, out[0].point_a), past_ends(b, out[0].point_b));
    if (axis.separation > 0 && past > kInside) {
      const int n = separated_contacts(A, B, axis.normal, margin, exact_only, scale, out);
      if (n >= 0) return n;
      evaluate_core(f, A, B, out[0]);
    }
    if (past > 1e-7)
      return axis_contacts(A, B, best_face_axis(A, B, scale), margin, exact_only, scale, out);
    return exact_only ? 1 : add_points(A, B, margin, scale, out);
  }

  const bool on_a = axis.kind == Axis::kFaceA;
  const FacePair pair = on_a ? FacePair{A, B, true, axis.a} : FacePair{B, A, false, axis.b};
  ClipPoint clip[kMaxClip];
  int count = clip_faces(pair, margin, kInside * scale, clip);
  const auto deepest = [&] {
    double gap = std::numeric_limits<double>::infinity();
    for (int i = 0; i < count; ++i) gap = std::min(gap, clip[i].gap);
    return gap;
  };
  if (!(deepest() <= axis.separation + kCertified * scale)) {
    // At 0 too: collinear segments in the plane have no axis along themselves.
    if (axis.separation > -kCertified * scale) {
      const int n = separated_contacts(A, B, axis.normal, margin, exact_only, scale, out);
      if (n >= 0) return n;
    }
    // Touching at the rim of the face, which rounding has moved: look a little wider.
    count = clip_faces(pair, margin, kRim * scale, clip);
    if (!(deepest() <= axis.separation + kRim * scale)) {
      Index vertex;
      lowest(pair.Q, pair.P.normal[pair.face], vertex);
      evaluate_core(feature(FeatureKind::VertexFace, pair.swapped, vertex, pair.face), A, B,
                    out[0]);
      return 1;
    }
  }
  int chosen[4];
  const int most = exact_only ? 1 : (A.dim == 2 ? 2 : 4);
  const int n = choose_spread(clip, count, -1, most, kSame * scale, chosen);
  return emit(A, B, clip, chosen, n, out);
}

int polytope_contacts(const Polytope& A, const Polytope& B, double margin, bool exact_only,
                      ContactPoint* out) {
  const double scale = scale_of(A, B);
  // Large hulls: edges against edges is the expensive part, so GJK first and SAT only on touching.
  if (static_cast<long>(A.edge_count) * B.edge_count > 400) {
    const Vec3 start = A.vertex[0] - B.vertex[0];
    const bool apart = nearest_features(A, B, start, scale, out[0]);
    if (apart && !(out[0].gap < margin)) return 0;
    if (apart && out[0].gap > 1e-6 * scale) {
      if (exact_only) return 1;
      if (out[0].feature.kind != FeatureKind::VertexFace)
        return add_points(A, B, margin, scale, out);
      Axis axis;
      const ContactFeature f = out[0].feature;
      axis.kind = f.swapped ? Axis::kFaceA : Axis::kFaceB;
      axis.separation = out[0].gap;
      axis.normal = out[0].normal;
      axis.a = f.swapped ? f.second : f.first;
      axis.b = f.swapped ? f.first : f.second;
      return axis_contacts(A, B, axis, margin, exact_only, scale, out);
    }
  }
  return axis_contacts(A, B, best_axis(A, B, scale), margin, exact_only, scale, out);
}

int add_line_points(const Polytope& A, const Polytope& B, Index ea, Index eb, double margin,
                    double scale, ContactPoint* out) {
  const Primitive a = edge_of(A, ea), b = edge_of(B, eb);
  const Vec3 e = a.p1 - a.p0, g = b.p1 - b.p0;
  const double e2 = e.squaredNorm(), g2 = g.squaredNorm();
  if (e.cross(g).squaredNorm() > kTilt * kTilt * e2 * g2) return 1;
  ContactPoint found[5];
  ClipPoint line[5];
  found[0] = out[0];
  int count = 1;
  const auto offer = [&](bool swapped, Index vertex, const Vec3& p, Index edge, const Primitive& on,
                         const Vec3& d, double d2) {
    const double t = (p - on.p0).dot(d) / d2;
    if (t < 0 || t > 1) return;
    evaluate_core(feature(FeatureKind::VertexEdge, swapped, vertex, edge), A, B, found[count]);
    // The same side of both edges: the normal of an end must not turn away from the nearest one's.
    if (found[count].gap < margin && found[count].normal.dot(out[0].normal) > 0.9) ++count;
  };
  const HullEdge& ta = A.topology->edges[ea];
  const HullEdge& tb = B.topology->edges[eb];
  offer(false, ta.v0, a.p0, eb, b, g, g2);
  offer(false, ta.v1, a.p1, eb, b, g, g2);
  offer(true, tb.v0, b.p0, ea, a, e, e2);
  offer(true, tb.v1, b.p1, ea, a, e, e2);
  for (int k = 0; k < count; ++k)
    line[k] =
        clip_point(e.dot(found[k].point_a) / std::sqrt(e2), 0, found[k].gap, found[k].feature);
  // Nearest first, then the far end; a third where the nearest lies between the ends.
  int chosen[3] = {0, -1, -1};
  int n = choose_spread(line, count, 0, 2, kSame * scale, chosen);
  if (n == 2) {
    const double side = line[chosen[1]].u - line[0].u;
    double reach = kSame * scale;
    for (int k = 1; k < count; ++k) {
      const double back = side > 0 ? line[0].u - line[k].u : line[k].u - line[0].u;
      if (back > reach) {
        reach = back;
        chosen[2] = k;
        n = 3;
      }
    }
  }
  for (int k = 0; k < n; ++k) out[k] = found[chosen[k]];
  return n;
}

int segment_contacts(const Polytope& A, const Polytope& B, double margin, bool exact_only,
                     ContactPoint* out) {
  const double scale = scale_of(A, B);
  const Primitive a = edge_of(A, 0), b = edge_of(B, 0);
  const Vec3 e = a.p1 - a.p0, g = b.p1 - b.p0, d = b.p0 - a.p0, m = e.cross(g);
  const double e2 = e.squaredNorm(), g2 = g.squaredNorm(), m2 = m.squaredNorm();
  ContactFeature best = feature(FeatureKind::VertexVertex, false, 0, 0);
  const double s = d.cross(g).dot(m), t = d.cross(e).dot(m);
  if (m2 > 1e-16 * e2 * g2 && s > 0 && s < m2 && t > 0 && t < m2) {
    best = feature(FeatureKind::EdgeEdge, false, 0, 0);
    best.sign = m.dot(d) > 0 ? -1 : 1;
  } else {
    // An end is nearest: each end of one against the other segment. An end is optimal when its own
    // segment does not lead nearer; the distances alone tell ends apart only to sqrt(rounding).
    double best2 = -1;
    bool best_optimal = false;
    const auto offer = [&](bool swapped, Index end, const Primitive& own, const Primitive& on) {
      const Vec3 p = end == 0 ? own.p0 : own.p1;
      const Vec3 inward = end == 0 ? Vec3(own.p1 - own.p0) : Vec3(own.p0 - own.p1);
      const Vec3 along = on.p1 - on.p0;
      const double u = (p - on.p0).dot(along), along2 = along.squaredNorm();
      const bool interior = u >= -1e-14 * along2 && u <= (1 + 1e-14) * along2;
      const Vec3 q = interior ? Vec3(on.p0 + along * (u / along2)) : (u > 0 ? on.p1 : on.p0);
      const double q2 = (p - q).squaredNorm();
      const bool optimal = (p - q).dot(inward) >= 0;
      if (best2 >= 0 && (optimal == best_optimal ? q2 >= best2 : best_optimal)) return;
      best2 = q2;
      best_optimal = optimal;
      if (interior)
        best = feature(FeatureKind::VertexEdge, swapped, end, 0);
      else if (swapped)
        best = feature(FeatureKind::VertexVertex, false, u > 0 ? 1 : 0, end);
      else
        best = feature(FeatureKind::VertexVertex, false, end, u > 0 ? 1 : 0);
    };
    offer(false, 0, a, b);
    offer(false, 1, a, b);
    offer(true, 0, b, a);
    offer(true, 1, b, a);
  }
  evaluate_core(best, A, B, out[0]);
  if (!(out[0].gap < margin)) return 0;
  return exact_only ? 1 : add_line_points(A, B, 0, 0, margin, scale, out);
}

int plane_contacts(const Polytope& A, const Vec3& normal, const Vec3& point, double margin,
                   bool exact_only, ContactPoint* out) {
  Vec3 t1 = planar_tangent(normal), t2 = Vec3::Zero();
  if (A.dim == 3) contact_tangents(normal, t1, t2);
  ClipPoint clip[kMaxHullVertices];
  int count = 0;
  for (Index i = 0; i < A.vertex_count; ++i) {
    const Vec3 d = A.vertex[i] - point;
    const double gap = normal.dot(d);
    if (gap < margin)
      clip[count++] =
          clip_point(t1.dot(d), t2.dot(d), gap, feature(FeatureKind::VertexFace, false, i, 0));
  }
  int chosen[4];
  const int most = exact_only ? 1 : (A.dim == 2 ? 2 : 4);
  const int n = choose_spread(clip, count, -1, most, kSame * A.radius, chosen);
  for (int k = 0; k < n; ++k) {
    const ClipPoint& c = clip[chosen[k]];
    out[k].gap = c.gap;
    out[k].normal = normal;
    out[k].point_a = A.vertex[c.first];
    out[k].point_b = out[k].point_a - normal * c.gap;
    out[k].feature = c.feature();
  }
  return n;
}

int front_contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                   const Pose& X_WB, double margin, ContactPoint* out) {
  HullStorage sa;
  BoxStorage sb;
  Polytope A, B;
  place(a, matrix_of(X_WA.p), Vec3::Zero(), sa.vertex, sa.normal, sa.face_point, A);
  place(b, matrix_of(X_WB.p), X_WB.x - X_WA.x, sb.vertex, sb.normal, sb.face_point, B);
  const double r = core_radius(a), scale = scale_of(A, B);
  ClipPoint clip[kMaxClip];
  const int count = clip_faces({B, A, false, 0}, margin + r, 1e-9 * scale, clip);
  int chosen[4];
  const int n = choose_spread(clip, count, -1, 4, kSame * scale, chosen);
  emit(A, B, clip, chosen, n, out);
  for (int k = 0; k < n; ++k) {
    out[k].gap -= r;
    out[k].point_a += X_WA.x - out[k].normal * r;
    out[k].point_b += X_WA.x;
    out[k].id = feature_id(out[k].feature);
  }
  return n;
}

}  // namespace orthant::internal
