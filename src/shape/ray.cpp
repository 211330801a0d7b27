// SPDX-License-Identifier: Apache-2.0
// shape/ray.cpp: rays against shapes.
// The distance f(t) of the point o + t d from a convex shape is a convex function of t: Newton's
// method from the left never passes the first zero, needs a step or two at flat faces, and says
// "past it" as soon as f rises. Tori are quartics, meshes are their triangles.
#include "shape/ray.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "orthant/shape/contacts.hpp"

namespace orthant {
namespace {

constexpr int kMaxNewton = 200;     // grazing rays converge by halves
constexpr double kReached = 1e-14;  // of the lengths in play
constexpr double kTurned = 1e-2;    // change of the normal in the last step of Newton's method

/// The part of the ray within `radius` of a point; empty: lo > hi.
struct Stretch {
  double lo, hi;
};
Stretch within(const Vec3& o, const Vec3& d, const Vec3& centre, double radius) {
  const double middle = d.dot(centre - o);
  const double rest = radius * radius - (o + middle * d - centre).squaredNorm();
  if (!(rest >= 0)) return {1, 0};
  return {middle - std::sqrt(rest), middle + std::sqrt(rest)};
}

std::optional<RayPoint> convex(const ShapeView<double>& shape, const Pose& X_WS, const Vec3& o,
                               const Vec3& d, double most) {
  const double radius = bounding_radius(shape);
  double t = 0;
  if (std::isfinite(radius)) {
    const Stretch near = within(o, d, X_WS.x, radius * (1 + 1e-9));
    if (near.lo > near.hi || near.hi < 0 || near.lo > most) return {};
    t = std::max(near.lo, 0.0);  // far away the distance would have few digits
  }
  static const Shape kBall = Shape::sphere(1), kDisc = Shape::disc(1);
  const double zero = 0;  // radius
  const ShapeView<double> point = (shape.dim == 2 ? kDisc : kBall).view(&zero);
  RayPoint hit;
  for (int i = 0; i < kMaxNewton; ++i) {
    const Vec3 x = o + t * d;
    const ContactPoint c = distance(point, Pose{x, {}}, shape, X_WS);
    const double reached =
        kReached * (x.norm() + X_WS.x.norm() + (std::isfinite(radius) ? radius : 1));
    if (c.gap <= reached) {
      if (i == 0 && t == 0 && c.gap < -reached) return {};  // begins inside
      // At an edge the last difference of points is rounding: the normal before it still holds.
      if (hit.normal.isZero() || (c.normal - hit.normal).norm() < kTurned) hit.normal = c.normal;
      if (!(hit.normal.dot(d) < 0)) return {};
      hit.distance = t;
      return t <= most ? std::optional(hit) : std::nullopt;
    }
    const double slope = c.normal.dot(d);
    if (!(slope < 0)) return {};
    hit.normal = c.normal;
    const double next = t - c.gap / slope;
    if (!(next <= most)) return {};
    if (next == t) {
      hit.distance = t;
      return hit;
    }
    t = next;
  }
  return {};  // grazes
}

/// Zeros of c[0] + c[1] t + ... + c[n] t^n in [lo, hi], ascending: between the zeros of its
/// derivative the polynomial is monotone, and halving cannot fail.
std::vector<double> zeros_of(const std::vector<double>& c, double lo, double hi) {
  std::vector<double> out;
  if (c.size() < 2) return out;
  std::vector<double> rate;
  for (std::size_t k = 1; k < c.size(); ++k) rate.push_back(static_cast<double>(k) * c[k]);
  std::vector<double> ends = {lo};
  for (const double t : zeros_of(rate, lo, hi)) ends.push_back(t);
  ends.push_back(hi);
  const auto value = [&](double t) {
    double y = 0;
    for (std::size_t k = c.size(); k-- > 0;) y = y * t + c[k];
    return y;
  };
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    double a = ends[i], b = ends[i + 1];
    const double fa = value(a), fb = value(b);
    if (fa == 0) out.push_back(a);
    if (!((fa < 0 && fb > 0) || (fa > 0 && fb < 0))) continue;
    for (double m = 0.5 * (a + b); m > a && m < b; m = 0.5 * (a + b))
      ((value(m) > 0) == (fa > 0) ? a : b) = m;
    out.push_back(0.5 * (a + b));
  }
  return out;
}

std::optional<RayPoint> torus(const ShapeView<double>& shape, const Pose& X_WS, const Vec3& o,
                              const Vec3& d, double most) {
  const double R = shape.p[0], r = shape.p[1];
  const Stretch near = within(o, d, X_WS.x, (R + r) * (1 + 1e-9));
  const double from = std::max(near.lo, 0.0), to = std::min(near.hi, most);
  if (!(from <= to)) return {};
  // In the torus' own axes, from the middle of the stretch: the coefficients stay small.
  const Pose X_SW = inverse(X_WS);
  const double middle = 0.5 * (near.lo + near.hi);
  const Vec3 x = transform(X_SW, Vec3(o + middle * d)), e = rotate(X_SW.p, d);
  // (|p|^2 + R^2 - r^2)^2 = 4 R^2 (p_x^2 + p_y^2)
  const double a = x.squaredNorm() + R * R - r * r, b = 2 * x.dot(e), R4 = 4 * R * R;
  const std::vector<double> c = {a * a - R4 * (x[0] * x[0] + x[1] * x[1]),
                                 2 * a * b - 2 * R4 * (x[0] * e[0] + x[1] * e[1]),
                                 b * b + 2 * a - R4 * (e[0] * e[0] + e[1] * e[1]), 2 * b, 1};
  for (const double s : zeros_of(c, from - middle, to - middle)) {
    const Vec3 p = x + s * e;
    const double ring = std::hypot(p[0], p[1]);
    if (!(ring > 0)) continue;
    const Vec3 n = (p - R / ring * Vec3(p[0], p[1], 0)).normalized();
    if (n.dot(e) < 0) return RayPoint{middle + s, rotate(X_WS.p, n)};
  }
  return {};
}

std::optional<RayPoint> mesh(const ShapeView<double>& shape, const Pose& X_WS, const Vec3& o,
                             const Vec3& d, double most) {
  const TriangleMesh& data = *shape.topology->mesh;
  const Vec3 scale(shape.p[0], shape.p[1], shape.p[2]);
  const Pose X_SW = inverse(X_WS);
  const Vec3 x = transform(X_SW, o), e = rotate(X_SW.p, d);
  // Boxes are those of the corners before scaling; t is the same there.
  const Vec3 xs = x.cwiseQuotient(scale), es = e.cwiseQuotient(scale);
  double best = most;
  std::optional<RayPoint> hit;
  const auto meets = [&](const TriangleMesh::Box& box) {
    double lo = 0, hi = best;
    for (int k = 0; k < 3; ++k) {
      const double slack = 1e-12 * (std::abs(box.lo[k]) + std::abs(box.hi[k]) + std::abs(xs[k]));
      if (es[k] == 0) {
        if (xs[k] < box.lo[k] - slack || xs[k] > box.hi[k] + slack) return false;
        continue;
      }
      double a = (box.lo[k] - slack - xs[k]) / es[k], b = (box.hi[k] + slack - xs[k]) / es[k];
      if (a > b) std::swap(a, b);
      lo = std::max(lo, a);
      hi = std::min(hi, b);
    }
    return lo <= hi;
  };
  std::vector<Index> stack = {0};
  while (!stack.empty()) {
    const TriangleMesh::Node& node = data.nodes[static_cast<std::size_t>(stack.back())];
    stack.pop_back();
    if (!meets(node.box)) continue;
    if (node.count == 0) {
      stack.push_back(node.first);
      stack.push_back(node.first + 1);
      continue;
    }
    for (Index i = 0; i < node.count; ++i) {
      const auto& t = data.triangles[static_cast<std::size_t>(
          data.order[static_cast<std::size_t>(node.first + i)])];
      std::array<Vec3, 3> v;
      for (std::size_t k = 0; k < 3; ++k)
        v[k] = data.corners[static_cast<std::size_t>(t[k])].cwiseProduct(scale) - x;
      const Vec3 n = (v[1] - v[0]).cross(v[2] - v[0]);
      const double along = n.dot(e);
      if (!(along < 0)) continue;  // from behind, or along it
      const double at = n.dot(v[0]) / along;
      if (!(at >= 0 && at <= best)) continue;
      // Triple products with the sides decide; the same for both triangles of a side, so that no
      // ray slips through a seam.
      bool inside = true;
      for (std::size_t k = 0; k < 3 && inside; ++k) inside = e.dot(v[k].cross(v[(k + 1) % 3])) <= 0;
      if (!inside) continue;
      best = at;
      hit = RayPoint{at, rotate(X_WS.p, Vec3(n.normalized()))};
    }
  }
  return hit;
}

}  // namespace

std::optional<RayPoint> cast_ray(const ShapeView<double>& shape, const Pose& X_WS,
                                 const Vec3& origin, const Vec3& direction, double most) {
  if (shape.kind == ShapeKind::Torus) return torus(shape, X_WS, origin, direction, most);
  if (shape.kind == ShapeKind::Mesh) return mesh(shape, X_WS, origin, direction, most);
  return convex(shape, X_WS, origin, direction, most);
}

}  // namespace orthant
