// SPDX-License-Identifier: Apache-2.0
// shape/turned.cpp: cylinder or cone B against any convex A => signed separation.
//   gap = max over unit n of f(n) = min_A n.a - max_B n.b,  n from B to A
// Every f(n) is a lower bound of the gap, so the largest offer is the answer. Against a polytope
// the maximum lies where a vertex, an edge or a face of it meets an end, a rim, the side or the tip
// of B, and each of these gives its normals in closed form, in overlap as well. Rim against rim and
// rim or cone against an ellipsoid have no such form: the best offer is climbed from, then Newton
// on the two parts finishes; of separated bodies f has one maximum, of deeply overlapping ones
// several starts are tried.
#include "shape/turned.hpp"

#include <array>
#include <limits>
#include <numbers>

#include "orthant/shape/shape.hpp"

namespace orthant::internal {
namespace {

constexpr int kStarts = 256;             // directions tried of curved pairs that overlap deeply
constexpr int kMaxClimb = 300;           // steps of one climb
constexpr double kNear = 0.2, kAll = 2;  // sines about a direction: parts whose contacts are tried
constexpr double kTrusted = 1e-9;  // of the scale: parts whose gap is f(n) to this are the contact

/// The best offer.
class Best {
 public:
  explicit Best(const PlacedPair& pair) : pair_(pair) {}

  /// n along `direction`, from B to A; the contact of these two parts, were it the nearest.
  void offer(const Vec3& direction, std::int16_t code_a, std::int16_t code_b) {
    const double length = direction.norm();
    if (!(length > 1e-12 * pair_.scale)) return;
    const Vec3 n = direction / length;
    const double f = pair_.separation(n);
    if (f < gap - 1e-12 * pair_.scale) return;
    if (f > gap + 1e-12 * pair_.scale) {
      count_ = 0;
      gap = f;
      normal = n;
    }
    if (count_ < kMaxTies) ties_[count_++] = {n, code_a, code_b};
  }

  /// The contact of the best offer. Parallel edges share their normals: of the pairs of parts with
  /// the same separation the one whose points are that far apart. The first, so that rounding does
  /// not choose. False where no pair of parts is: then the best offer is no maximum of f.
  bool evaluate(ContactPoint& out) const {
    for (int i = 0; i < count_; ++i) {
      const Tie& t = ties_[i];
      const Vec3 on_b = reference(pair_.B, t.b, t.n), on_a = reference(pair_.A, t.a, -t.n);
      if (evaluate_parts(pair_, t.a, t.b, t.n, place_near(pair_.A, t.a, -t.n, on_b),
                         place_near(pair_.B, t.b, t.n, on_a), out) &&
          std::abs(out.gap - gap) <= kTrusted * pair_.scale)
        return true;
    }
    // Deep inside Newton may leave the parts: what they make of it near the normal, so that the
    // contact is still that of its feature.
    const std::int16_t a = pair_.A.extreme(-normal), b = pair_.B.extreme(normal);
    (void)evaluate_parts(pair_, a, b, normal, place_near(pair_.A, a, -normal, pair_.B.X.x),
                         place_near(pair_.B, b, normal, pair_.A.X.x), out);
    return false;
  }

  double gap = -std::numeric_limits<double>::infinity();
  Vec3 normal = Vec3::Zero();

 private:
  static constexpr int kMaxTies = 24;
  struct Tie {
    Vec3 n;
    std::int16_t a = 0, b = 0;
  };

  /// A point of the part with the outward normal m, of a line its start.
  static Vec3 reference(const PlacedCore& core, std::int16_t code, const Vec3& m) {
    const SmoothPartT<double> part = smooth_part(*core.shape, core.X, code);
    if (part.kind == PartKind::Edge || part.kind == PartKind::ConeSide) return part.x;
    return part_point(part, 1, m, place_near(core, code, m, core.X.x));
  }

  const PlacedPair& pair_;
  std::array<Tie, kMaxTies> ties_;
  int count_ = 0;
};

/// A turned body T against vertices and lines of the other one. `sign` is +1 where T is B: normals
/// from T outwards are then those from B to A.
class TurnedAgainst {
 public:
  TurnedAgainst(const PlacedPair& pair, bool turned_is_b, Best& best)
      : pair_(pair), T_(turned_is_b ? pair.B : pair.A), is_b_(turned_is_b), best_(best) {}

  void ends() {
    const PlacedCore& other = is_b_ ? pair_.A : pair_.B;
    const int count = T_.kind() == ShapeKind::Cylinder ? 2 : 1;
    for (int i = 0; i < count; ++i) {
      const Vec3 m = i == 0 ? Vec3(-T_.axis) : T_.axis;
      give(m, smooth_code(PartKind::Face, i), other.extreme(-m));
    }
  }

  void vertex(const Vec3& v, std::int16_t code) {
    const Vec3 d = v - T_.X.x;
    Vec3 radial = d - d.dot(T_.axis) * T_.axis;
    const double length = radial.norm();
    if (length > 1e-12 * T_.r)
      radial /= length;
    else
      contact_tangents(T_.axis, radial, unused_);
    side(radial, code);
    const int rims = T_.kind() == ShapeKind::Cylinder ? 2 : 1;
    for (int i = 0; i < rims; ++i)
      give(v - (T_.end(i == 1) + T_.r * radial), smooth_code(PartKind::Circle, i), code);
    if (T_.kind() == ShapeKind::Cone)
      give(v - T_.end(true), smooth_code(PartKind::Vertex, kRimPoints), code);
  }

  /// The line through p along the unit vector e.
  void line(const Vec3& p, const Vec3& e, std::int16_t code) {
    const Vec3 across = e.cross(T_.axis);
    const double sine = across.norm();
    if (T_.kind() == ShapeKind::Cylinder) {
      if (sine > 1e-10) {
        give(across, smooth_code(PartKind::Edge, 0), code);
        give(-across, smooth_code(PartKind::Edge, 0), code);
      } else {
        const Vec3 d = p - T_.X.x;
        give(d - d.dot(T_.axis) * T_.axis, smooth_code(PartKind::Edge, 0), code);
      }
    } else {
      // n.e = 0, n.axis = sine of the side
      const Vec3 up = T_.axis - T_.axis.dot(e) * e;
      const double share = T_.sine / sine;
      if (sine > 1e-10 && share < 1)
        for (const double s : {-1.0, 1.0})
          give(up * (share / sine) + across * (s * std::sqrt(1 - share * share) / sine),
               smooth_code(PartKind::ConeSide, 0), code);
      const Vec3 d = p - T_.end(true);
      give(d - d.dot(e) * e, smooth_code(PartKind::Vertex, kRimPoints), code);
    }
    const int rims = T_.kind() == ShapeKind::Cylinder ? 2 : 1;
    for (int i = 0; i < rims; ++i) line_rim(p, e, across, sine, i, code);
  }

 private:
  void give(const Vec3& outward, std::int16_t turned, std::int16_t other) {
    if (is_b_)
      best_.offer(outward, other, turned);
    else
      best_.offer(-outward, turned, other);
  }
  void side(const Vec3& radial, std::int16_t code) {
    if (T_.kind() == ShapeKind::Cylinder)
      give(radial, smooth_code(PartKind::Edge, 0), code);
    else
      give(T_.cosine * radial + T_.sine * T_.axis, smooth_code(PartKind::ConeSide, 0), code);
  }

  /// Seen along the line the rim is an ellipse and the line a point.
  void line_rim(const Vec3& p, const Vec3& e, const Vec3& across, double sine, int rim,
                std::int16_t code) {
    Vec3 u, w;
    if (sine > 1e-10) {
      u = across / sine;
      w = e.cross(u);
    } else {
      contact_tangents(e, u, w);
    }
    const Vec3 d = p - T_.end(rim == 1);
    const double y[2] = {u.dot(d), w.dot(d)}, flat = T_.r * std::abs(T_.axis.dot(e));
    const std::int16_t circle = smooth_code(PartKind::Circle, rim);
    if (flat < 1e-9 * T_.r) {  // edge on: its two ends
      for (const double s : {-1.0, 1.0}) give(u * (y[0] - s * T_.r) + w * y[1], circle, code);
      return;
    }
    const double semi[2] = {T_.r, flat};
    Vec3 found[2];
    const int count = nearest_normals(semi, 2, Vec3(y[0], y[1], 0), Vec3(y[0], y[1], 0), found);
    for (int k = 0; k < count; ++k) give(u * found[k][0] + w * found[k][1], circle, code);
  }

  const PlacedPair& pair_;
  const PlacedCore& T_;
  const bool is_b_;
  Best& best_;
  Vec3 unused_;
};

/// Parts of a curved core whose normals are within `near` (a sine) of m; returns how many.
int parts_near(const PlacedCore& core, const Vec3& m, double near, std::int16_t* code) {
  if (core.is_rounded()) {
    code[0] = core.rounded_code();
    return 1;
  }
  const double along = m.dot(core.axis);
  int count = 0;
  if (core.kind() == ShapeKind::Cylinder) {
    code[count++] = smooth_code(PartKind::Circle, along > 0 ? 1 : 0);
    if (std::abs(along) < near) code[count++] = smooth_code(PartKind::Edge, 0);
    return count;
  }
  if (along < core.sine + near) code[count++] = smooth_code(PartKind::Circle, 0);
  if (along > core.sine - near) code[count++] = smooth_code(PartKind::Vertex, kRimPoints);
  if (std::abs(along - core.sine) < near) code[count++] = smooth_code(PartKind::ConeSide, 0);
  return count;
}

/// Uphill by trying eight ways around, the pattern turned every time.
double climb(const PlacedPair& pair, Vec3& n) {
  double value = pair.separation(n), step = 0.25, turn = 0;
  int failed = 0;
  for (int k = 0; k < kMaxClimb && step > 1e-6; ++k, turn += 2.4) {
    Vec3 t1, t2, best = n;
    contact_tangents(n, t1, t2);
    double best_value = value;
    for (int i = 0; i < 8; ++i) {
      const double a = turn + i * (std::numbers::pi / 4);
      const Vec3 m = (n + step * (std::cos(a) * t1 + std::sin(a) * t2)).normalized();
      const double f = pair.separation(m);
      if (f > best_value) {
        best_value = f;
        best = m;
      }
    }
    if (best_value > value) {
      n = best;
      value = best_value;
      failed = 0;
    } else if (++failed == 3) {  // on a ridge few directions lead up
      step *= 0.5;
      failed = 0;
    }
  }
  return value;
}

/// Newton on every pair of parts near n; offers what it finds.
void polish(const PlacedPair& pair, const Vec3& n, double near, Best& best) {
  std::int16_t a[3], b[3];
  const int na = parts_near(pair.A, -n, near, a), nb = parts_near(pair.B, n, near, b);
  for (int i = 0; i < na; ++i)
    for (int j = 0; j < nb; ++j) {
      ContactPoint c;
      if (!evaluate_parts(pair, a[i], b[j], n, place_near(pair.A, a[i], -n, pair.B.X.x),
                          place_near(pair.B, b[j], n, pair.A.X.x), c))
        continue;
      if (std::abs(c.gap - pair.separation(c.normal)) <= kTrusted * pair.scale)
        best.offer(c.normal, a[i], b[j]);
    }
}

void search_curved(const PlacedPair& pair, Best& best) {
  for (int round = 0; round < 3; ++round) {  // a climb stops on ridges; Newton goes along them
    const double before = best.gap;
    Vec3 n = best.normal;
    climb(pair, n);
    polish(pair, n, kNear, best);
    best.offer(n, pair.A.extreme(-n), pair.B.extreme(n));
    if (!(best.gap > before + 1e-12 * pair.scale)) break;
  }
  const double width = std::min(smallest_width(pair.q.a), smallest_width(pair.q.b));
  ContactPoint unused;
  const bool proved = best.evaluate(unused);
  if (best.gap > -0.05 * width && proved) return;
  // In deep overlap f has several maxima: the best of directions all around (Fibonacci's spiral).
  std::array<std::pair<double, Vec3>, 12> starts;
  starts.fill({-std::numeric_limits<double>::infinity(), Vec3::UnitX()});
  for (int i = 0; i < kStarts; ++i) {
    const double z = 1 - (2 * i + 1.0) / kStarts, r = std::sqrt(1 - z * z),
                 a = 2.399963229728653 * i;
    const Vec3 n(r * std::cos(a), r * std::sin(a), z);
    const double f = pair.separation(n);
    bool beaten = false;  // by a neighbour
    for (auto& s : starts) {
      if (s.second.dot(n) < 0.93 || s.first == -std::numeric_limits<double>::infinity()) continue;
      if (s.first >= f)
        beaten = true;
      else
        s.first = -std::numeric_limits<double>::infinity();
    }
    if (beaten) continue;
    auto* worst = &starts[0];
    for (auto& s : starts)
      if (s.first < worst->first) worst = &s;
    if (f > worst->first) *worst = {f, n};
  }
  for (auto& [f, n] : starts) {
    if (f == -std::numeric_limits<double>::infinity()) continue;
    climb(pair, n);
    polish(pair, n, proved ? kNear : kAll, best);
    best.offer(n, pair.A.extreme(-n), pair.B.extreme(n));
  }
}

void set_core(const ShapeView<double>& s, const Quat& p, const Vec3& x, PlacedCore& core) {
  core.shape = &s;
  core.X = {x, p};
  if (s.kind == ShapeKind::Ellipsoid) core.E = ellipsoid_matrix(s, p);
  if (s.kind == ShapeKind::SuperEllipsoid) core.E = matrix_of(p);
  if (!is_turned(s.kind)) return;
  core.axis = rotate(p, Vec3(1, 0, 0));
  core.r = s.p[0];
  core.h = s.p[1];
  if (s.kind == ShapeKind::Cone) {
    const double slope = std::hypot(core.r, 2 * core.h);
    core.sine = core.r / slope;
    core.cosine = 2 * core.h / slope;
  }
}

int finish(const PlacedPair& pair, const Best& best, ContactPoint* out) {
  if (!(best.gap < pair.q.margin)) return 0;
  best.evaluate(out[0]);
  return pair.q.exact_only ? 1 : add_flush_points(pair, out);
}

template <class Storage>
int with_polytope(PlacedPair& pair, ContactPoint* out) {
  Storage storage;
  const SmoothQuery& q = pair.q;
  Polytope& P = pair.A.polytope;
  place(q.a, matrix_of(q.X_WA.p), Vec3::Zero(), storage.vertex, storage.normal, storage.face_point,
        P);
  pair.scale = std::max(P.radius + bounding_radius(q.b), q.x.norm());
  const double square = q.x.squaredNorm();
  if (square > 0 && pair.separation(-q.x / std::sqrt(square)) >= q.margin) return 0;
  Best best(pair);
  TurnedAgainst turned(pair, true, best);
  for (Index f = 0; f < P.face_count; ++f)
    best.offer(-P.normal[f], smooth_code(PartKind::Face, f), pair.B.extreme(-P.normal[f]));
  turned.ends();
  for (Index i = 0; i < P.vertex_count; ++i)
    turned.vertex(P.vertex[i], smooth_code(PartKind::Vertex, i));
  for (Index i = 0; i < P.edge_count; ++i) {
    const Primitive e = edge_of(P, i);
    turned.line(e.p0, (e.p1 - e.p0).normalized(), smooth_code(PartKind::Edge, i));
  }
  return finish(pair, best, out);
}

int with_curved(PlacedPair& pair, ContactPoint* out) {
  const SmoothQuery& q = pair.q;
  pair.scale = std::max(bounding_radius(q.a) + bounding_radius(q.b), q.x.norm());
  const double square = q.x.squaredNorm();
  if (square > 0 && pair.separation(-q.x / std::sqrt(square)) >= q.margin) return 0;
  Best best(pair);
  TurnedAgainst(pair, true, best).ends();
  if (pair.A.is_turned()) {
    TurnedAgainst(pair, false, best).ends();
    for (const bool b : {false, true}) {  // the one's side and tip against the other
      const PlacedCore& from = b ? pair.A : pair.B;
      TurnedAgainst to(pair, b, best);
      if (from.kind() == ShapeKind::Cylinder)
        to.line(from.X.x, from.axis, smooth_code(PartKind::Edge, 0));
      else
        to.vertex(from.end(true), smooth_code(PartKind::Vertex, kRimPoints));
    }
  }
  search_curved(pair, best);
  return finish(pair, best, out);
}

}  // namespace

double place_near(const PlacedCore& core, std::int16_t code, const Vec3& m, const Vec3& near) {
  const SmoothPartT<double> part = smooth_part(*core.shape, core.X, code);
  switch (part.kind) {
    case PartKind::Edge:
      return (near - part.x).dot(part.u) / part.u.squaredNorm();
    case PartKind::Circle: {
      double u = m.dot(part.u), v = m.dot(part.v);
      if (u * u + v * v < 1e-20 * part.u.squaredNorm()) {  // flat: towards the other
        u = (near - part.x).dot(part.u);
        v = (near - part.x).dot(part.v);
      }
      return u == 0 && v == 0 ? 0 : std::atan2(v, u);
    }
    case PartKind::ConeSide: {
      const Vec3 line = m.dot(part.u) * m - part.u;
      return (near - part.x).dot(line) / std::max(line.squaredNorm(), 1e-12);
    }
    default:
      return 0;
  }
}

bool evaluate_parts(const PlacedPair& pair, std::int16_t code_a, std::int16_t code_b, const Vec3& n,
                    double place_a, double place_b, ContactPoint& out) {
  const ShapeView<double>&a = *pair.A.shape, &b = *pair.B.shape;
  const double places[2] = {place_a, place_b};
  const SmoothContactT<double> c = smooth_contact(
      smooth_part(a, pair.A.X, code_a), smooth_part(b, pair.B.X, code_b), 3, n.data(), places);
  // What the part is inflated by beyond the radius the caller takes off.
  const double ra = part_radius(a, code_a) - core_radius(a);
  const double rb = part_radius(b, code_b) - core_radius(b);
  set_smooth(out, code_a, code_b, c.gap - ra - rb, c.normal, c.first - ra * c.normal,
             c.second + rb * c.normal, c.s[0], c.s[1]);
  return std::isfinite(c.gap) && std::abs(c.normal.squaredNorm() - 1) < 1e-9 &&
         (c.first - c.second - c.gap * c.normal).norm() <= 1e-9 * pair.scale;
}

int any_turned(const SmoothQuery& q, ContactPoint* out) {
  PlacedPair pair{q, {}, {}, 0};
  set_core(q.a, q.X_WA.p, Vec3::Zero(), pair.A);
  set_core(q.b, q.X_WB.p, q.x, pair.B);
  if (q.a.kind == ShapeKind::HalfSpace) {
    pair.scale = bounding_radius(q.b);
    return turned_on_plane(pair, q.exact_only, out);
  }
  if (is_smooth(q.a.kind)) return with_curved(pair, out);
  return q.a.kind == ShapeKind::Hull ? with_polytope<HullStorage>(pair, out)
                                     : with_polytope<BoxStorage>(pair, out);
}

}  // namespace orthant::internal
