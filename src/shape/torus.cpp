// SPDX-License-Identifier: Apache-2.0
// shape/torus.cpp: torus against anything => every local minimum of the separation below a margin.
//   gap = min over the circle of distance(c(s), core of A) - radii,   d/ds = n.c'(s)
// A torus is not convex, so support functions say nothing about it: the distance of the points of
// its circle from the other core is sampled, and each valley narrowed down by the sign of its
// slope. The distance from a convex core has no valley narrower than the circle's own curvature
// makes it; a circle's distance from a circle has at most four.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/shape/contacts.hpp"
#include "shape/hull.hpp"
#include "shape/smooth.hpp"

namespace orthant::internal {
namespace {

constexpr int kSamples = 48;
constexpr double kTurn = 2 * std::numbers::pi;

/// Nearest point of the other core to a point of the circle.
struct Nearest {
  double gap = 0;
  Vec3 normal;  // from the circle's point p to the other core A
  Vec3 point;   // on A
  std::int16_t code = 0;
  double place = 0;
};

/// Circle of a torus placed: c(s) = x + u cos s + v sin s.
struct Circle {
  Vec3 x, u, v;
  Circle(const ShapeView<double>& s, const Pose& X, const Vec3& at)
      : x(at), u(rotate(X.p, Vec3(s.p[0], 0, 0))), v(rotate(X.p, Vec3(0, s.p[0], 0))) {}
  Vec3 at(double s) const { return x + std::cos(s) * u + std::sin(s) * v; }
  Vec3 slope(double s) const { return std::cos(s) * v - std::sin(s) * u; }
};

class Valleys {
 public:
  explicit Valleys(const SmoothQuery& q)
      : q_(q), circle_(q.b, q.X_WB, q.x), other_(q.b, q.X_WA, Vec3::Zero()) {
    if (q.a.kind == ShapeKind::Torus) other_ = Circle(q.a, q.X_WA, Vec3::Zero());
    if (q.a.kind == ShapeKind::Ellipsoid) {
      R_ = matrix_of(q.X_WA.p);
      E_ = ellipsoid_matrix(q.a, q.X_WA.p);
    }
  }

  Nearest nearest(double s) const {
    const Vec3 p = circle_.at(s);
    if (q_.a.kind == ShapeKind::Torus) return nearest_on_circle(p);
    if (q_.a.kind == ShapeKind::Ellipsoid) return nearest_on_ellipsoid(p);
    return nearest_on_polytope(p);
  }

  /// Rate of the gap along the circle.
  double slope(double s, Nearest& at) const {
    at = nearest(s);
    return -at.normal.dot(circle_.slope(s));
  }

  int find(ContactPoint* out) const {
    double gap[kSamples], slopes[kSamples], least = HUGE_VAL, most = -HUGE_VAL;
    Nearest at;
    for (int i = 0; i < kSamples; ++i) {
      slopes[i] = slope(kTurn * i / kSamples, at);
      gap[i] = at.gap;
      least = std::min(least, gap[i]);
      most = std::max(most, gap[i]);
    }
    int count = 0;
    if (most - least <= 1e-10 * q_.b.p[0]) {  // as near all around: three points hold it
      for (int i = 0; i < 3; ++i) keep(kTurn * i / 3, out, count);
      return count;
    }
    // A valley narrower than a sample shows in the slopes, not in the values: its bottom lies at
    // most the steepest descent below the ends.
    const double reach = q_.b.p[0] * kTurn / kSamples;
    for (int i = 0; i < kSamples; ++i) {
      const int j = (i + 1) % kSamples;
      if (!(slopes[i] <= 0 && slopes[j] > 0)) continue;
      if (std::min(gap[i], gap[j]) - reach >= q_.margin) continue;
      keep(bottom(kTurn * i / kSamples, kTurn * (i + 1) / kSamples), out, count);
    }
    std::sort(out, out + count,
              [](const ContactPoint& a, const ContactPoint& b) { return a.gap < b.gap; });
    for (int i = 0; i < count; ++i) {
      ContactFeature& f = out[i].feature;  // ordinal of the valley
      f.second = smooth_code(PartKind::Circle, i);
    }
    return count;
  }

 private:
  /// Root of the slope between lo (descending) and hi (rising): secant steps kept inside, halving.
  double bottom(double lo, double hi) const {
    Nearest at;
    double f_lo = slope(lo, at), f_hi = slope(hi, at);
    for (int k = 0; k < 100 && hi - lo > 1e-15 * kTurn; ++k) {
      if (f_lo == 0) return lo;
      double middle = 0.5 * (lo + hi);
      if (k % 3 != 2 && f_hi > f_lo) {
        const double secant = lo - f_lo * (hi - lo) / (f_hi - f_lo);
        // A hair past the root, so that both ends close in.
        const double nudge = 1e-15 * kTurn;
        middle = std::clamp(secant, lo + nudge, hi - nudge);
      }
      const double f = slope(middle, at);
      if (std::abs(f) <= 1e-15 * q_.b.p[0]) return middle;
      if (f <= 0) {
        lo = middle;
        f_lo = f;
      } else {
        hi = middle;
        f_hi = f;
      }
    }
    return 0.5 * (lo + hi);
  }

  void keep(double s, ContactPoint* out, int& count) const {
    const Nearest at = nearest(s);
    if (!(at.gap < q_.margin)) return;
    int slot = count;
    if (count == kMaxContacts) {  // keep the deepest
      slot = 0;
      for (int i = 1; i < count; ++i)
        if (out[i].gap > out[slot].gap) slot = i;
      if (!(at.gap < out[slot].gap)) return;
    } else {
      ++count;
    }
    set_smooth(out[slot], at.code, smooth_code(PartKind::Circle, 0), at.gap, at.normal, at.point,
               circle_.at(s), at.place, s);
  }

  Nearest nearest_on_circle(const Vec3& p) const {
    Nearest r;
    r.code = smooth_code(PartKind::Circle, 0);
    const double cu = other_.u.dot(p), cv = other_.v.dot(p);
    r.place = cu == 0 && cv == 0 ? 0 : std::atan2(cv, cu);
    r.point = other_.at(r.place);
    const Vec3 d = r.point - p;
    r.gap = d.norm();
    // Circles that meet: push along their common perpendicular.
    if (r.gap > 1e-12 * q_.b.p[0]) {
      r.normal = d / r.gap;
    } else {
      const Vec3 m = other_.slope(r.place).cross(other_.u.cross(other_.v));
      r.normal = m.normalized();
    }
    return r;
  }

  Nearest nearest_on_ellipsoid(const Vec3& p) const {
    Nearest r;
    r.code = smooth_code(PartKind::Ellipsoid, 0);
    Vec3 normals[2];
    (void)nearest_normals(q_.a.p, 3, R_.transpose() * p, R_.transpose() * p, normals);
    const Vec3 m = R_ * normals[0];  // outward of A: from A to the point
    r.normal = -m;
    r.point = E_ * m / std::sqrt(m.dot(E_ * m));
    r.gap = m.dot(p - r.point);
    return r;
  }

  Nearest nearest_on_polytope(const Vec3& p) const {
    static constexpr double kNoRadius = 0;
    static const std::shared_ptr<const HullTopology> kOneVertex =
        fixed_topology(ShapeKind::Sphere, 3);
    const ShapeView<double> point{ShapeKind::Sphere, 3, &kNoRadius, kOneVertex.get()};
    const ContactPoint c = distance(q_.a, {Vec3::Zero(), q_.X_WA.p}, point, {p, {}});
    // Of the core: the caller takes the radius off, of a rounded hull like that of a sphere.
    const double radius = core_radius(q_.a);
    Nearest r;
    r.gap = c.gap + radius;
    r.normal = c.normal;
    r.point = c.point_a + radius * c.normal;
    // The point is the vertex of the feature; the part of A is the other.
    const ContactFeature& f = c.feature;
    switch (f.kind) {
      case FeatureKind::Smooth:
        r.code = f.first;
        r.place = f.start_place[0];
        break;
      case FeatureKind::VertexEdge: {
        r.code = smooth_code(PartKind::Edge, f.second);
        const PrimitiveT<double> edge =
            edge_primitive(q_.a, Pose{Vec3::Zero(), q_.X_WA.p}, f.second);
        const Vec3 e = edge.p1 - edge.p0;
        r.place = (r.point - edge.p0).dot(e) / e.squaredNorm();
        break;
      }
      case FeatureKind::VertexFace:
        r.code = smooth_code(PartKind::Face, f.second);
        break;
      default:
        r.code = smooth_code(PartKind::Vertex, f.swapped ? f.second : f.first);
        break;
    }
    return r;
  }

  const SmoothQuery& q_;
  Circle circle_, other_;
  Mat3 R_ = Mat3::Identity(), E_ = Mat3::Identity();
};

}  // namespace

int any_torus(const SmoothQuery& q, ContactPoint* out) {
  const double reach = q.b.p[0] + (q.a.kind == ShapeKind::HalfSpace ? 0 : bounding_radius(q.a));
  if (q.a.kind != ShapeKind::HalfSpace && q.x.norm() - reach >= q.margin) return 0;
  return Valleys(q).find(out);
}

}  // namespace orthant::internal
