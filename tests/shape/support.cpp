// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace orthant::test {
namespace {

using Real = long double;
using Point = std::array<Real, 3>;

Point minus(const Point& a, const Point& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Real dot(const Point& a, const Point& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Point cross(const Point& a, const Point& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Rows of R(q) in long double.
std::array<Point, 3> rotation_rows(const Quat& q) {
  const Real w = q.w, x = q.x, y = q.y, z = q.z;
  return {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
           {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
           {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

std::vector<Point> world_vertices(const Shape& s, const Pose& X) {
  std::vector<Point> points;
  const std::array<Point, 3> R = rotation_rows(X.p);
  for (Index i = 0; i < s.topology().vertex_count; ++i) {
    const Vec3 v = core_vertex(s.view(), i);
    const Point p{v[0], v[1], v[2]};
    points.push_back({X.x[0] + dot(R[0], p), X.x[1] + dot(R[1], p), X.x[2] + dot(R[2], p)});
  }
  return points;
}

/// Distance from the origin to the affine hull of w[0..k), if the nearest point is in the simplex.
bool simplex_distance2(const Point* w, int k, Real& d2) {
  if (k == 1) {
    d2 = dot(w[0], w[0]);
    return true;
  }
  if (k == 2) {
    const Point e = minus(w[1], w[0]);
    const Real e2 = dot(e, e), t = -dot(w[0], e);
    if (e2 < 1e-24L || t < 0 || t > e2) return false;
    const Point c = cross(w[0], e);
    d2 = dot(c, c) / e2;
    return true;
  }
  const Point m = cross(minus(w[1], w[0]), minus(w[2], w[0]));
  const Real m2 = dot(m, m);
  if (m2 < 1e-24L) return false;
  if (dot(cross(w[0], w[1]), m) < 0 || dot(cross(w[1], w[2]), m) < 0 ||
      dot(cross(w[2], w[0]), m) < 0)
    return false;
  const Real h = dot(w[0], m);
  d2 = h * h / m2;
  return true;
}

/// Smallest distance from the origin to a supporting plane (line) through the points; negative when
/// the origin is outside one of them.
Real inner_depth(const std::vector<Point>& w, int dim) {
  const int n = static_cast<int>(w.size());
  Real depth = std::numeric_limits<Real>::infinity();
  const auto try_normal = [&](Point m, const Point& on) {
    const Real length = std::sqrt(dot(m, m));
    if (length < 1e-12L) return;
    for (Real& c : m) c /= length;
    Real lo = 0, hi = 0;
    for (const Point& p : w) {
      const Real h = dot(m, minus(p, on));
      lo = std::min(lo, h);
      hi = std::max(hi, h);
      if (lo < -1e-15L && hi > 1e-15L) return;  // not a supporting plane
    }
    const Real offset = dot(m, on);  // plane m.x = offset
    if (hi <= 1e-15L) depth = std::min(depth, offset);
    if (lo >= -1e-15L) depth = std::min(depth, -offset);
  };
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j) {
      const Point e = minus(w[j], w[i]);
      if (dim == 2) {
        try_normal({-e[1], e[0], 0}, w[i]);
        continue;
      }
      for (int k = j + 1; k < n; ++k) try_normal(cross(e, minus(w[k], w[i])), w[i]);
    }
  return depth;
}

}  // namespace

Pose random_pose(Random& random, int dim, double reach) {
  const Vec3 x = random.vector(reach);
  if (dim == 2) return planar_pose(x[0], x[1], random.uniform(-4, 4));
  return {x, exp_rotation(Vec3(random.direction() * random.uniform(0, 3)))};
}

Shape random_shape(Random& random, ShapeKind kind, int dim) {
  const auto size = [&] { return random.uniform(0.2, 1.0); };
  switch (kind) {
    case ShapeKind::Sphere:
      return dim == 2 ? Shape::disc(size()) : Shape::sphere(size());
    case ShapeKind::Capsule: {
      const double r = 0.5 * size(), h = size();
      return dim == 2 ? Shape::stadium(r, h) : Shape::capsule(r, h);
    }
    case ShapeKind::Box: {
      const double x = size(), y = size(), z = size();
      return dim == 2 ? Shape::rectangle(x, y) : Shape::box(x, y, z);
    }
    case ShapeKind::Hull: {
      const int count = 5 + random.integer(5);
      if (dim == 2) {
        std::vector<Vec2> points;
        for (int i = 0; i < count; ++i) points.push_back(random.direction().head<2>() * size());
        return Shape::polygon(points);
      }
      std::vector<Vec3> points;
      for (int i = 0; i < count; ++i) points.push_back(random.direction() * size());
      return Shape::hull(points);
    }
    case ShapeKind::Ellipsoid: {
      const double x = size(), y = size(), z = size();
      return dim == 2 ? Shape::ellipse(x, y) : Shape::ellipsoid(x, y, z);
    }
    case ShapeKind::SuperEllipsoid: {
      const double x = size(), y = size(), z = size(), e1 = random.uniform(0.4, 1);
      return Shape::super_ellipsoid(x, y, z, e1, random.uniform(0.4, 1));
    }
    case ShapeKind::Cylinder: {
      const double r = size();
      return Shape::cylinder(r, size());
    }
    case ShapeKind::Cone: {
      const double r = size();
      return Shape::cone(r, size());
    }
    case ShapeKind::Torus: {
      const double major = size();
      return Shape::torus(major, 0.4 * major * size());
    }
    case ShapeKind::HalfSpace:
    case ShapeKind::Mesh:
      break;
  }
  return dim == 2 ? Shape::half_plane() : Shape::half_space();
}

Pose near_degenerate_pose(Random& random, int dim) {
  const double shake = random.integer(4) == 0 ? 0 : std::pow(10.0, random.uniform(-16, -3));
  Vec3 x, angle;
  for (int k = 0; k < 3; ++k) {
    x[k] = 0.25 * (random.integer(9) - 4) + shake * random.uniform(-1, 1);
    angle[k] = std::numbers::pi / 4 * random.integer(8) * (random.integer(3) == 0) +
               shake * random.uniform(-1, 1);
  }
  if (dim == 2) return planar_pose(x[0], x[1], angle[2]);
  return {x, multiply(
                 exp_rotation(Vec3(angle[0], 0, 0)),
                 multiply(exp_rotation(Vec3(0, angle[1], 0)), exp_rotation(Vec3(0, 0, angle[2]))))};
}

Shape grid_shape(Random& random, ShapeKind kind, int dim) {
  constexpr double kSizes[] = {0.25, 0.5, 1};
  const double x = kSizes[random.integer(3)], y = kSizes[random.integer(3)],
               z = kSizes[random.integer(3)];
  if (kind == ShapeKind::Box) return dim == 2 ? Shape::rectangle(x, y) : Shape::box(x, y, z);
  if (kind == ShapeKind::Capsule) return dim == 2 ? Shape::stadium(x, y) : Shape::capsule(x, y);
  return random_shape(random, kind, dim);
}

double reference_distance(const Shape& a, const Pose& X_WA, const Shape& b, const Pose& X_WB) {
  if (b.kind() == ShapeKind::HalfSpace) {
    const std::array<Point, 3> R = rotation_rows(X_WB.p);
    const int up = b.dim() - 1;
    const Point n{R[0][up], R[1][up], R[2][up]}, x{X_WB.x[0], X_WB.x[1], X_WB.x[2]};
    Real lo = std::numeric_limits<Real>::infinity();
    for (const Point& p : world_vertices(a, X_WA)) lo = std::min(lo, dot(n, minus(p, x)));
    return static_cast<double>(lo - core_radius(a.view()));
  }
  std::vector<Point> w;
  for (const Point& p : world_vertices(a, X_WA))
    for (const Point& q : world_vertices(b, X_WB)) w.push_back(minus(p, q));
  const Real radii = core_radius(a.view()) + core_radius(b.view());
  const Real depth = inner_depth(w, a.dim());
  // A flat difference (segments, points) has no inside: every depth found is then <= 0 or none.
  if (depth > 0 && depth < std::numeric_limits<Real>::infinity())
    return static_cast<double>(-depth - radii);
  const int n = static_cast<int>(w.size());
  Real best = std::numeric_limits<Real>::infinity();
  for (int i = 0; i < n; ++i) {
    Real d2;
    if (simplex_distance2(&w[i], 1, d2)) best = std::min(best, d2);
    for (int j = i + 1; j < n; ++j) {
      const Point two[2] = {w[i], w[j]};
      if (simplex_distance2(two, 2, d2)) best = std::min(best, d2);
      if (a.dim() == 2) continue;
      for (int k = j + 1; k < n; ++k) {
        const Point three[3] = {w[i], w[j], w[k]};
        if (simplex_distance2(three, 3, d2)) best = std::min(best, d2);
      }
    }
  }
  return static_cast<double>(std::sqrt(best) - radii);
}

double directed_separation(const Shape& a, const Pose& X_WA, const Shape& b, const Pose& X_WB,
                           const Vec3& n) {
  const Point m{n[0], n[1], n[2]};
  Real lo = std::numeric_limits<Real>::infinity(), hi = -lo;
  for (const Point& p : world_vertices(a, X_WA)) lo = std::min(lo, dot(m, p));
  for (const Point& q : world_vertices(b, X_WB)) hi = std::max(hi, dot(m, q));
  return static_cast<double>(lo - hi) - core_radius(a.view()) - core_radius(b.view());
}

double support(const Shape& s, const Pose& X, const Vec3& n) {
  const Vec3 m = rotate(conjugate(X.p), n);
  const auto p = s.parameters();
  const double across = std::hypot(m[1], m[2]);
  // The dual of the norm (|x|^r + |y|^r)^(1/r) has the exponent q, 1/r + 1/q = 1.
  const auto norm = [](double x, double y, double q) {
    return std::pow(std::pow(std::abs(x), q) + std::pow(std::abs(y), q), 1 / q);
  };
  double h = 0;
  switch (s.kind()) {
    case ShapeKind::Sphere:
      h = p[0];
      break;
    case ShapeKind::Capsule:
      h = p[0] + p[1] * std::abs(m[0]);
      break;
    case ShapeKind::Cylinder:
      h = p[0] * across + p[1] * std::abs(m[0]);
      break;
    case ShapeKind::Cone:
      h = std::max(p[1] * m[0], p[0] * across - p[1] * m[0]);
      break;
    case ShapeKind::Box:
      for (int k = 0; k < s.dim(); ++k) h += p[k] * std::abs(m[k]);
      break;
    case ShapeKind::Hull: {
      const auto dim = static_cast<Index>(s.dim());
      h = -std::numeric_limits<double>::infinity();
      for (Index i = 0; i < s.topology().vertex_count; ++i) {
        double sum = 0;
        for (Index k = 0; k < dim; ++k) sum += m[k] * p[static_cast<std::size_t>(dim * i + k)];
        h = std::max(h, sum);
      }
      break;
    }
    case ShapeKind::Ellipsoid:
      for (int k = 0; k < s.dim(); ++k) h += p[k] * p[k] * m[k] * m[k];
      h = std::sqrt(h);
      break;
    case ShapeKind::SuperEllipsoid:
      h = norm(norm(p[0] * m[0], p[1] * m[1], 2 / (2 - p[4])), p[2] * m[2], 2 / (2 - p[3]));
      break;
    case ShapeKind::HalfSpace:
      break;
    default:
      ADD_FAILURE() << kind_name(s.kind());
  }
  return n.dot(X.x) + h;
}

double directed(const Shape& a, const Pose& X, const Shape& b, const Pose& Y, const Vec3& n) {
  return -support(a, X, -n) - support(b, Y, n);
}

double brute_force(const Shape& a, const Pose& X, const Shape& b, const Pose& Y, Random& random) {
  constexpr int kBest = 12;
  const bool planar = a.dim() == 2;
  const int count = planar ? 400 : 4000;
  std::vector<std::pair<double, Vec3>> starts;
  for (int i = 0; i < count; ++i) {
    Vec3 n;
    if (planar) {
      const double angle = 2 * std::numbers::pi * i / count;
      n = Vec3(std::cos(angle), std::sin(angle), 0);
    } else {
      const double z = 1 - (2 * i + 1.0) / count, r = std::sqrt(1 - z * z),
                   angle = i * std::numbers::pi * (3 - std::sqrt(5.0));
      n = Vec3(r * std::cos(angle), r * std::sin(angle), z);
    }
    starts.emplace_back(directed(a, X, b, Y, n), n);
  }
  std::partial_sort(starts.begin(), starts.begin() + kBest, starts.end(),
                    [](const auto& x, const auto& y) { return x.first > y.first; });
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < kBest; ++k) {
    auto [f, n] = starts[k];
    for (double step = 0.1; step > 1e-9;) {
      bool better = false;
      for (int trial = 0; trial < 12; ++trial) {
        Vec3 m = n + step * random.vector(1);
        if (planar) m[2] = 0;
        m.normalize();
        const double g = directed(a, X, b, Y, m);
        if (g <= f) continue;
        f = g;
        n = m;
        better = true;
      }
      if (!better) step *= 0.5;
    }
    best = std::max(best, f);
  }
  return best;
}

void expect_consistent(const Shape& a, const Pose& X, const Shape& b, const Pose& Y,
                       const ContactPoint& c, double slack) {
  EXPECT_NEAR(c.normal.norm(), 1, 1e-13);
  EXPECT_LT((c.point_a - c.point_b - c.gap * c.normal).norm(), 1e-12);
  EXPECT_TRUE(contains(a, X, c.point_a, slack));
  EXPECT_TRUE(contains(b, Y, c.point_b, slack));
  if (a.kind() != ShapeKind::Torus && b.kind() != ShapeKind::Torus) {
    EXPECT_NEAR(-c.normal.dot(c.point_a), support(a, X, -c.normal), slack);
    EXPECT_NEAR(c.normal.dot(c.point_b), support(b, Y, c.normal), slack);
  }
  const ContactPoint again = evaluate_contact(c.feature, a.view(), X, b.view(), Y);
  EXPECT_NEAR(again.gap, c.gap, 1e-11);
  EXPECT_LT((again.normal - c.normal).norm(), 1e-8);
  EXPECT_LT((again.point_a - c.point_a).norm(), 1e-8);
}

bool contains(const Shape& s, const Pose& X_WS, const Vec3& point, double slack) {
  const Vec3 p = inverse_transform(X_WS, point);
  const ShapeView<double> v = s.view();
  switch (s.kind()) {
    case ShapeKind::Sphere:
      return p.norm() <= v.p[0] + slack;
    case ShapeKind::Capsule: {
      const Vec3 q(std::max(std::abs(p[0]) - v.p[1], 0.0), p[1], p[2]);
      return q.norm() <= v.p[0] + slack;
    }
    case ShapeKind::Box:
      for (int k = 0; k < s.dim(); ++k)
        if (std::abs(p[k]) > v.p[k] + slack) return false;
      return true;
    case ShapeKind::Hull:
      for (Index f = 0; f < s.topology().face_count(); ++f) {
        const PlaneT<double> plane = core_face(v, f);
        if (plane.normal.dot(p - plane.point) > slack) return false;
      }
      return true;
    case ShapeKind::HalfSpace:
      return p[s.dim() - 1] <= slack;
    case ShapeKind::Ellipsoid: {
      double sum = 0;
      for (int k = 0; k < s.dim(); ++k) sum += (p[k] / v.p[k]) * (p[k] / v.p[k]);
      return std::sqrt(sum) <= 1 + slack / *std::min_element(v.p, v.p + s.dim());
    }
    case ShapeKind::SuperEllipsoid: {
      const double u = 2 / v.p[4], w = 2 / v.p[3];
      const double r = std::pow(
          std::pow(std::abs(p[0] / v.p[0]), u) + std::pow(std::abs(p[1] / v.p[1]), u), 1 / u);
      const double level = std::pow(std::pow(r, w) + std::pow(std::abs(p[2] / v.p[2]), w), 1 / w);
      return level <= 1 + slack / *std::min_element(v.p, v.p + 3);
    }
    case ShapeKind::Cylinder:
      return std::abs(p[0]) <= v.p[1] + slack && std::hypot(p[1], p[2]) <= v.p[0] + slack;
    case ShapeKind::Cone: {
      const double radius = v.p[0] * (v.p[1] - p[0]) / (2 * v.p[1]);
      return p[0] >= -v.p[1] - slack && p[0] <= v.p[1] + slack &&
             std::hypot(p[1], p[2]) <= radius + slack * std::hypot(1, 0.5 * v.p[0] / v.p[1]);
    }
    case ShapeKind::Mesh:
      return false;
    case ShapeKind::Torus:
      return std::hypot(std::hypot(p[0], p[1]) - v.p[0], p[2]) <= v.p[1] + slack;
  }
  return false;
}

const char* kind_name(ShapeKind kind) {
  static constexpr const char* kNames[] = {
      "sphere",          "capsule",  "box",  "hull",  "half-space", "ellipsoid",
      "super-ellipsoid", "cylinder", "cone", "torus", "mesh"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace orthant::test
