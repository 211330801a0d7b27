// SPDX-License-Identifier: Apache-2.0
// shape/turned_manifold.cpp: the points that hold a flat end, a side line, a face => up to 4.
// Seen along the normal each body shows a patch: a polygon, a disc, a segment or a point. Corners
// of the overlap are points of one inside the other and crossings of their outlines, each a pair of
// parts that Newton evaluates. A disc has no corners: eight points held on its rim stand for them
// beside the deepest one, so that what stands flat keeps its points from step to step.
#include <array>
#include <numbers>

#include "shape/spread.hpp"
#include "shape/turned.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxCandidates = 160;
constexpr double kSame = 1e-6;   // of the scale: points closer than this are one
constexpr double kLevel = 1e-8;  // of the scale: a deepest point no deeper than this is noise

struct Planar {
  double u = 0, v = 0;
};
Planar operator-(const Planar& a, const Planar& b) { return {a.u - b.u, a.v - b.v}; }
double cross(const Planar& a, const Planar& b) { return a.u * b.v - a.v * b.u; }
double dot(const Planar& a, const Planar& b) { return a.u * b.u + a.v * b.v; }

/// What a body shows along its outward direction.
struct Patch {
  struct Point {
    Planar at;
    std::int16_t code = 0;
    double place = 0;
  };
  struct Line {
    Planar from, to;
    std::int16_t code = 0;
  };
  std::array<Point, kMaxCandidates> points;
  std::array<Line, kMaxCandidates> lines;
  int point_count = 0, line_count = 0;
  std::int16_t face = -1;  // code of its flat face; -1: a segment or a point
  bool disc = false;
  Planar centre;
  double radius = 0;
  int end = 0;

  bool is_segment() const { return face < 0 && line_count == 1; }
};

class Viewer {
 public:
  Viewer(const PlacedPair& pair, const Vec3& n) : pair_(pair), n_(n) {
    contact_tangents(n, t1_, t2_);
  }
  Planar flat(const Vec3& x) const { return {t1_.dot(x), t2_.dot(x)}; }

  Patch patch(const PlacedCore& core, const Vec3& m) const {
    Patch p;
    if (core.is_turned())
      turned(core, m, p);
    else if (!core.is_rounded())
      polytope(core, m, p);
    return p;
  }

 private:
  void add(Patch& p, const Vec3& x, std::int16_t code, double place = 0) const {
    if (p.point_count < kMaxCandidates) p.points[p.point_count++] = {flat(x), code, place};
  }
  void join(Patch& p, const Vec3& a, const Vec3& b, std::int16_t code) const {
    if (p.line_count < kMaxCandidates) p.lines[p.line_count++] = {flat(a), flat(b), code};
  }

  void turned(const PlacedCore& core, const Vec3& m, Patch& p) const {
    const double along = m.dot(core.axis), flush = 1 - 0.5 * kFlush * kFlush;
    const bool cylinder = core.kind() == ShapeKind::Cylinder;
    if (-along >= flush || (cylinder && along >= flush)) {
      p.end = along > 0 ? 1 : 0;
      p.disc = true;
      p.face = smooth_code(PartKind::Face, p.end);
      p.centre = flat(core.end(along > 0));
      p.radius = core.r;
      for (int k = 0; k < kRimPoints; ++k) {
        const Index i = p.end * kRimPoints + k;
        add(p, transform(core.X, core_vertex(*core.shape, i)), smooth_code(PartKind::Vertex, i));
      }
      return;
    }
    if (std::abs(along - core.sine) > kFlush) return;
    Vec3 ends[2];
    for (const int i : {0, 1}) {
      if (i == 1 && !cylinder) {
        ends[1] = core.end(true);
        add(p, ends[1], smooth_code(PartKind::Vertex, kRimPoints));
        break;
      }
      const std::int16_t code = smooth_code(PartKind::Circle, i);
      const double place = place_near(core, code, m, core.X.x);
      const SmoothPartT<double> rim = smooth_part(*core.shape, core.X, code);
      ends[i] = part_point(rim, 1, m, place);
      add(p, ends[i], code, place);
    }
    join(p, ends[0], ends[1], smooth_code(cylinder ? PartKind::Edge : PartKind::ConeSide, 0));
  }

  void polytope(const PlacedCore& core, const Vec3& m, Patch& p) const {
    const Polytope& P = core.polytope;
    const HullTopology& h = *P.topology;
    Index face = -1;
    double most = 1 - 0.5 * kFlush * kFlush;
    for (Index f = 0; f < P.face_count; ++f)
      if (m.dot(P.normal[f]) > most + (face < 0 ? 0 : 1e-12)) {
        most = m.dot(P.normal[f]);
        face = f;
      }
    if (face >= 0) {
      p.face = smooth_code(PartKind::Face, face);
      const Index begin = h.face_start[face], end = h.face_start[face + 1];
      for (Index k = begin; k < end; ++k) {
        const Index v = h.face_vertex[k], w = h.face_vertex[k + 1 < end ? k + 1 : begin];
        add(p, P.vertex[v], smooth_code(PartKind::Vertex, v));
        join(p, P.vertex[v], P.vertex[w], smooth_code(PartKind::Edge, h.face_edge[k]));
      }
      return;
    }
    Index top, edge = -1;
    highest(P, m, top);
    double least = kFlush;
    for (Index e = 0; e < P.edge_count; ++e) {
      const HullEdge& g = h.edges[e];
      if (g.v0 != top && g.v1 != top) continue;
      const double tilt = std::abs((P.vertex[g.v1] - P.vertex[g.v0]).normalized().dot(m));
      if (tilt < least) {
        least = tilt;
        edge = e;
      }
    }
    if (edge < 0) return;
    const HullEdge& g = h.edges[edge];
    for (const Index v : {g.v0, g.v1}) add(p, P.vertex[v], smooth_code(PartKind::Vertex, v));
    join(p, P.vertex[g.v0], P.vertex[g.v1], smooth_code(PartKind::Edge, edge));
  }

  const PlacedPair& pair_;
  const Vec3 n_;
  Vec3 t1_, t2_;
};

/// Is the point over the face of the patch, to within `slack`?
bool covers(const Patch& p, const Planar& x, double slack) {
  if (p.face < 0) return false;
  if (p.disc) {
    const Planar d = x - p.centre;
    return dot(d, d) <= (p.radius + slack) * (p.radius + slack);
  }
  double area = 0;
  for (int k = 0; k < p.line_count; ++k) area += cross(p.lines[k].from, p.lines[k].to);
  const double turn = area < 0 ? -1 : 1;
  for (int k = 0; k < p.line_count; ++k) {
    const Planar e = p.lines[k].to - p.lines[k].from;
    const double c = turn * cross(e, x - p.lines[k].from);
    if (c < 0 && c * c > slack * slack * dot(e, e)) return false;
  }
  return true;
}

/// The candidates of a pair, evaluated.
class Corners {
 public:
  Corners(const PlacedPair& pair, const ContactPoint& nearest)
      : pair_(pair), n_(nearest.normal), viewer_(pair, nearest.normal) {
    found_[count_++] = nearest;
  }

  void offer(std::int16_t a, double place_a, std::int16_t b, double place_b) {
    ContactPoint& c = found_[count_];
    if (count_ + 1 >= kMaxCandidates || !evaluate_parts(pair_, a, b, n_, place_a, place_b, c))
      return;
    // None is nearer than the nearest: what seems so is where the parts are not the bodies'
    // borders.
    if (c.gap < pair_.q.margin && c.gap > found_[0].gap - 1e-8 * pair_.scale &&
        c.normal.dot(n_) > 1 - 2 * kFlush * kFlush)
      ++count_;
  }

  void find() {
    const Patch A = viewer_.patch(pair_.A, -n_), B = viewer_.patch(pair_.B, n_);
    const double slack = 1e-9 * pair_.scale;
    const auto on_rim = [](std::int16_t code, const Patch& p) {
      return p.disc && static_cast<PartKind>(code >> 12) == PartKind::Circle;
    };
    rests_on_rim = on_rim(found_[0].feature.first, A) || on_rim(found_[0].feature.second, B);
    for (int i = 0; i < A.point_count; ++i)
      if (covers(B, A.points[i].at, slack)) offer(A.points[i].code, A.points[i].place, B.face, 0);
    for (int i = 0; i < B.point_count; ++i)
      if (covers(A, B.points[i].at, slack)) offer(A.face, 0, B.points[i].code, B.points[i].place);
    for (int i = 0; i < A.line_count; ++i)
      for (int j = 0; j < B.line_count; ++j) lines(A.lines[i], A.points, B.lines[j], B.points);
    if (B.disc)
      for (int i = 0; i < A.line_count; ++i) line_disc(A.lines[i], B, pair_.B, true);
    if (A.disc)
      for (int i = 0; i < B.line_count; ++i) line_disc(B.lines[i], A, pair_.A, false);
    if (A.disc && B.disc) discs(A, B);
  }

  bool rests_on_rim = false;  // the nearest point is on the rim of an end that lies flat

  int choose(ContactPoint* out) {
    double least = found_[0].gap;
    for (int i = 1; i < count_; ++i) least = std::min(least, found_[i].gap);
    // The deepest point of what lies flat moves about with rounding: the held ones stand for it.
    int begin = 0;
    for (int i = 1; (rests_on_rim || side_by_side_) && i < count_ && begin == 0; ++i)
      if (found_[i].gap <= found_[0].gap + kLevel * pair_.scale) begin = 1;
    ClipPoint clip[kMaxCandidates];
    for (int i = begin; i < count_; ++i) {
      const Planar at = viewer_.flat(found_[i].point_b);
      ContactFeature number;
      number.first = static_cast<std::int16_t>(i);
      // Gaps that are equal but for rounding go to the first.
      const double gap = found_[i].gap <= least + kLevel * pair_.scale ? least : found_[i].gap;
      clip[i - begin] = clip_point(at.u, at.v, gap, number);
    }
    int chosen[4];
    const int n = choose_spread(clip, count_ - begin, -1, 4, kSame * pair_.scale, chosen);
    for (int k = 0; k < n; ++k) out[k] = found_[clip[chosen[k]].first];
    return n;
  }

 private:
  using Points = std::array<Patch::Point, kMaxCandidates>;

  void lines(const Patch::Line& a, const Points& ends_a, const Patch::Line& b,
             const Points& ends_b) {
    const Planar e = a.to - a.from, g = b.to - b.from, d = b.from - a.from;
    const double c = cross(e, g), e2 = dot(e, e), g2 = dot(g, g);
    if (!(e2 > 0) || !(g2 > 0)) return;
    if (c * c > kFlush * kFlush * e2 * g2) {
      const double s = cross(d, g) / c, t = cross(d, e) / c;
      if (s >= 0 && s <= 1 && t >= 0 && t <= 1)
        offer(a.code, place_on(pair_.A, a.code, s), b.code, place_on(pair_.B, b.code, t));
      return;
    }
    // Side by side: ends of the one beside the other. The nearest point is anywhere between them.
    const int before = count_;
    for (int i = 0; i < 2; ++i) {
      if (same(ends_a[i].at, a) && beside(ends_a[i].at, b))
        offer(ends_a[i].code, ends_a[i].place, b.code,
              place_on(pair_.B, b.code, along(ends_a[i].at, b)));
      if (same(ends_b[i].at, b) && beside(ends_b[i].at, a))
        offer(a.code, place_on(pair_.A, a.code, along(ends_b[i].at, a)), ends_b[i].code,
              ends_b[i].place);
    }
    side_by_side_ = side_by_side_ || count_ - before >= 2;
  }
  /// Lines of polytope faces have their ends elsewhere in the list: those are corners already.
  static bool same(const Planar& x, const Patch::Line& l) {
    const Planar p = x - l.from, q = x - l.to;
    return dot(p, p) == 0 || dot(q, q) == 0;
  }
  static double along(const Planar& x, const Patch::Line& l) {
    const Planar e = l.to - l.from;
    return dot(x - l.from, e) / dot(e, e);
  }
  bool beside(const Planar& x, const Patch::Line& l) const {
    const double s = along(x, l);
    if (s < 0 || s > 1) return false;
    const Planar e = l.to - l.from;
    const double away = std::abs(cross(e, x - l.from)) / std::sqrt(dot(e, e));
    return away <= kFlush * pair_.scale;
  }
  /// A cone's line starts at its tip and is measured in its own way.
  static double place_on(const PlacedCore& core, std::int16_t code, double t) {
    if (static_cast<PartKind>(code >> 12) != PartKind::ConeSide) return t;
    return (1 - t) * 2 * core.h / (core.cosine * core.cosine);
  }

  void line_disc(const Patch::Line& l, const Patch& disc, const PlacedCore& core, bool disc_is_b) {
    const Planar e = l.to - l.from, d = l.from - disc.centre;
    const double a = dot(e, e), b = dot(d, e), c = dot(d, d) - disc.radius * disc.radius;
    const double root = b * b - a * c;
    if (!(root > 1e-12 * a * disc.radius * disc.radius)) return;
    for (const int k : {0, 1}) {
      const double s = (-b + (k == 0 ? -1 : 1) * std::sqrt(root)) / a;
      if (s < 0 || s > 1) continue;
      const std::int16_t rim = smooth_code(PartKind::Circle, disc.end + 2 * (k + 1));
      const double place = angle_of(core, disc, {l.from.u + s * e.u, l.from.v + s * e.v});
      if (disc_is_b)
        offer(l.code, place_on(pair_.A, l.code, s), rim, place);
      else
        offer(rim, place, l.code, place_on(pair_.B, l.code, s));
    }
  }

  void discs(const Patch& A, const Patch& B) {
    const Planar d = B.centre - A.centre;
    const double length = std::sqrt(dot(d, d));
    if (!(length > 1e-9 * pair_.scale)) return;
    const double x = (length * length + A.radius * A.radius - B.radius * B.radius) / (2 * length);
    const double y2 = A.radius * A.radius - x * x;
    if (!(y2 > 1e-12 * A.radius * A.radius)) return;
    const Planar e{d.u / length, d.v / length};
    for (const int k : {0, 1}) {
      const double y = (k == 0 ? -1 : 1) * std::sqrt(y2);
      const Planar p{A.centre.u + x * e.u - y * e.v, A.centre.v + x * e.v + y * e.u};
      offer(smooth_code(PartKind::Circle, A.end + 2 * (k + 1)), angle_of(pair_.A, A, p),
            smooth_code(PartKind::Circle, B.end + 2 * (k + 1)), angle_of(pair_.B, B, p));
    }
  }

  double angle_of(const PlacedCore& core, const Patch& disc, const Planar& p) const {
    const SmoothPartT<double> rim =
        smooth_part(*core.shape, core.X, smooth_code(PartKind::Circle, disc.end));
    const Planar d = p - disc.centre;
    return std::atan2(dot(d, viewer_.flat(rim.v)), dot(d, viewer_.flat(rim.u)));
  }

  const PlacedPair& pair_;
  const Vec3 n_;
  const Viewer viewer_;
  std::array<ContactPoint, kMaxCandidates> found_;
  int count_ = 0;
  bool side_by_side_ = false;
};

}  // namespace

int add_flush_points(const PlacedPair& pair, ContactPoint* out) {
  Corners corners(pair, out[0]);
  corners.find();
  return corners.choose(out);
}

int turned_on_plane(const PlacedPair& pair, bool exact_only, ContactPoint* out) {
  const PlacedCore& B = pair.B;
  const Vec3 n = -rotate(pair.q.X_WA.p, core_face(pair.q.a, 0).normal);
  const std::int16_t plane = smooth_code(PartKind::Face, 0), deepest = B.extreme(n);
  evaluate_parts(pair, plane, deepest, n, 0, place_near(B, deepest, n, B.X.x), out[0]);
  if (!(out[0].gap < pair.q.margin)) return 0;
  if (exact_only) return 1;
  Corners corners(pair, out[0]);
  const bool cylinder = B.kind() == ShapeKind::Cylinder;
  for (const int i : {0, 1}) {  // the lowest points of both ends
    const std::int16_t code = i == 1 && !cylinder ? smooth_code(PartKind::Vertex, kRimPoints)
                                                  : smooth_code(PartKind::Circle, i);
    if (code != deepest) corners.offer(plane, 0, code, place_near(B, code, n, B.X.x));
  }
  const double along = n.dot(B.axis);
  corners.rests_on_rim = 1 - std::abs(along) <= 0.5 * kFlush * kFlush && (cylinder || along < 0);
  if (corners.rests_on_rim)
    for (int k = 0; k < kRimPoints; ++k)
      corners.offer(plane, 0, smooth_code(PartKind::Vertex, (along > 0 ? kRimPoints : 0) + k), 0);
  return corners.choose(out);
}

}  // namespace orthant::internal
