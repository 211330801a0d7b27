// SPDX-License-Identifier: Apache-2.0
// Ellipsoids, ellipses and tori: closed forms, spheres in disguise, and an independent minimiser
// that knows support functions and circles only and searches by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "support.hpp"

namespace orthant {
namespace {

using test::at;
using test::brute_force;
using test::directed;
using test::expect_consistent;
using test::Random;
using test::support;

constexpr double kPi = std::numbers::pi;

TEST(Ellipsoid, ClosedForms) {
  const Shape e = Shape::ellipsoid(1, 1, 2);
  const Pose I = at(0, 0, 0);
  EXPECT_NEAR(distance(e, at(0, 0, 4.5), e, I).gap, 0.5, 1e-14);
  EXPECT_NEAR(distance(e, at(1.9, 0, 0), e, I).gap, -0.1, 1e-14);
  EXPECT_NEAR(distance(e, I, e, at(3.2, 0, 0.3, {0, kPi / 2, 0})).gap, 0.20958879853653, 1e-13);
  // Half-spaces: the support function itself.
  const Shape floor = Shape::half_space();
  const Shape f = Shape::ellipsoid(0.5, 1, 2);
  EXPECT_NEAR(distance(f, at(0, 0, 3), floor, I).gap, 1, 1e-14);
  const double tilted = std::sqrt(0.25 * 0.5 + 4 * 0.5);
  EXPECT_NEAR(distance(floor, I, f, at(7, -2, 1, {0, kPi / 4, 0})).gap, 1 - tilted, 1e-14);
  // Along the axes of a box.
  EXPECT_NEAR(distance(f, at(0, 0, 3.25), Shape::box(1, 1, 1), I).gap, 0.25, 1e-14);
  EXPECT_NEAR(distance(f, at(1.4, 0, 0), Shape::box(1, 1, 1), I).gap, -0.1, 1e-14);
}

TEST(Ellipsoid, OverlapDeeperThanTheMinorRadiusIsNotASaddle) {
  // From the centre line of two aligned spheroids Newton starts on a critical point.
  const Shape e = Shape::ellipsoid(1, 1, 2);
  EXPECT_NEAR(distance(e, at(0, 0, 0), e, at(0, 0, 0)).gap, -2, 1e-12);
  Random random(7);
  for (const double z : {0.05, 0.5, 1.0, 2.0, 2.6, 3.5}) {
    const Pose Y = at(0, 0, z);
    const double truth = brute_force(e, at(0, 0, 0), e, Y, random);
    EXPECT_NEAR(distance(e, at(0, 0, 0), e, Y).gap, truth, 1e-9) << z;
  }
}

TEST(Ellipsoid, EqualAxesAreASphere) {
  Random random(11);
  constexpr ShapeKind kinds[] = {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                                 ShapeKind::Hull, ShapeKind::HalfSpace};
  for (int i = 0; i < 600; ++i) {
    const int dim = i % 2 == 0 ? 3 : 2;
    const double r = random.uniform(0.2, 1);
    const Shape sphere = dim == 2 ? Shape::disc(r) : Shape::sphere(r);
    const Shape ball = dim == 2 ? Shape::ellipse(r, r) : Shape::ellipsoid(r, r, r);
    const Shape other = test::random_shape(random, kinds[i % 5], dim);
    const Pose X = test::random_pose(random, dim, 1.5), Y = test::random_pose(random, dim, 0.5);
    const ContactPoint truth = distance(sphere, X, other, Y), c = distance(ball, X, other, Y);
    EXPECT_NEAR(c.gap, truth.gap, 1e-12) << test::kind_name(other.kind()) << dim;
    expect_consistent(ball, X, other, Y, c);
  }
}

TEST(Ellipsoid, AgreesWithBruteForceFromFarToDeep) {
  Random random(2024);
  constexpr ShapeKind kinds[] = {ShapeKind::Ellipsoid, ShapeKind::Sphere, ShapeKind::Capsule,
                                 ShapeKind::Ellipsoid, ShapeKind::Box,    ShapeKind::Hull};
  for (int i = 0; i < 240; ++i) {
    const int dim = i % 3 == 0 ? 2 : 3;
    const Shape a = test::random_shape(random, ShapeKind::Ellipsoid, dim);
    const Shape b = test::random_shape(random, kinds[i % 6], dim);
    const double reach = i % 4 == 0 ? 4 : i % 4 == 1 ? 1.2 : i % 4 == 2 ? 0.5 : 0.1;
    const Pose X = test::random_pose(random, dim, reach), Y = test::random_pose(random, dim, 0.1);
    const ContactPoint c = distance(a, X, b, Y);
    const double truth = brute_force(a, X, b, Y, random);
    // The gap is attained, so no more than the maximum; and no less than what the search found,
    // which on the ridges of a polytope is a little short.
    EXPECT_NEAR(c.gap, directed(a, X, b, Y, c.normal), 1e-12);
    EXPECT_GE(c.gap, truth - 1e-10) << i << " " << test::kind_name(b.kind()) << dim;
    if (b.kind() == ShapeKind::Ellipsoid || b.kind() == ShapeKind::Sphere) {
      EXPECT_NEAR(c.gap, truth, 2e-9) << i << " " << test::kind_name(b.kind()) << dim;
    }
    expect_consistent(a, X, b, Y, c);
  }
}

TEST(Ellipsoid, HintChangesNothingButTheWay) {
  Random random(5);
  const Shape a = Shape::ellipsoid(0.4, 0.7, 1.1), b = Shape::ellipsoid(1, 0.3, 0.5);
  for (int i = 0; i < 200; ++i) {
    const Pose X = test::random_pose(random, 3, 1.2), Y = test::random_pose(random, 3, 0.3);
    const ContactPoint c = distance(a, X, b, Y);
    const Vec3 hint = (c.normal + 0.05 * random.direction()).normalized();
    ContactPoint out[kMaxContacts];
    ASSERT_EQ(deepest_contacts(a, X, b, Y, c.gap + 1e-6, &hint, out), 1);
    EXPECT_NEAR(out[0].gap, c.gap, 1e-13);
    EXPECT_LT((out[0].normal - c.normal).norm(), 1e-7);
    EXPECT_EQ(deepest_contacts(a, X, b, Y, c.gap - 1e-6, &hint, out), 0);
  }
}

/// Least distance of two circles by a grid and shrinking steps.
double brute_force_circles(const Shape& a, const Pose& X, const Shape& b, const Pose& Y) {
  const auto point = [](const Shape& s, const Pose& Z, double t) {
    return transform(Z, Vec3(s.parameters()[0] * std::cos(t), s.parameters()[0] * std::sin(t), 0));
  };
  double best = 1e300, s0 = 0, t0 = 0;
  constexpr int kGrid = 120;
  for (int i = 0; i < kGrid; ++i)
    for (int j = 0; j < kGrid; ++j) {
      const double s = 2 * kPi * i / kGrid, t = 2 * kPi * j / kGrid;
      const double d = (point(a, X, s) - point(b, Y, t)).norm();
      if (d < best) best = d, s0 = s, t0 = t;
    }
  for (double step = 0.05; step > 1e-10; step *= 0.5)
    for (bool better = true; better;) {
      better = false;
      for (int k = 0; k < 8; ++k) {
        const double s = s0 + step * std::cos(k * kPi / 4), t = t0 + step * std::sin(k * kPi / 4);
        const double d = (point(a, X, s) - point(b, Y, t)).norm();
        if (d < best) best = d, s0 = s, t0 = t, better = true;
      }
    }
  return best - a.parameters()[1] - b.parameters()[1];
}

TEST(Torus, TwoToriAgreeWithBruteForce) {
  Random random(3);
  for (int i = 0; i < 120; ++i) {
    const Shape a = test::random_shape(random, ShapeKind::Torus, 3);
    const Shape b = test::random_shape(random, ShapeKind::Torus, 3);
    const Pose X = test::random_pose(random, 3, 1.2), Y = test::random_pose(random, 3, 0.1);
    const ContactPoint c = distance(a, X, b, Y);
    EXPECT_NEAR(c.gap, brute_force_circles(a, X, b, Y), 1e-9) << i;
    expect_consistent(a, X, b, Y, c);
  }
}

TEST(Torus, InterlacedRingsKeepBothNearestPoints) {
  // Ring B passes through ring A, its plane across: symmetric, two nearest points.
  const Shape ring = Shape::torus(1, 0.1);
  const Pose X = at(0, 0, 0), Y = at(0, 0, 0, {kPi / 2, 0, 0});
  Pose Z = Y;
  Z.x = Vec3(0.6, 0, 0);
  ContactPoint out[kMaxContacts];
  ASSERT_EQ(deepest_contacts(ring, X, ring, Z, 2.0, nullptr, out), 2);
  EXPECT_NEAR(out[0].gap, 0.4, 1e-12);
  EXPECT_NEAR(out[1].gap, 0.4, 1e-12);
  EXPECT_NEAR((out[0].point_a - out[1].point_a).norm(), 2.0, 1e-9);
  EXPECT_NE(out[0].id, out[1].id);
}

TEST(Torus, AgainstConvexBodies) {
  Random random(17);
  constexpr ShapeKind kinds[] = {ShapeKind::Sphere, ShapeKind::Capsule,   ShapeKind::Box,
                                 ShapeKind::Hull,   ShapeKind::HalfSpace, ShapeKind::Ellipsoid};
  for (int i = 0; i < 180; ++i) {
    const Shape ring = test::random_shape(random, ShapeKind::Torus, 3);
    const Shape other = test::random_shape(random, kinds[i % 6], 3);
    const Pose X = test::random_pose(random, 3, 1.3), Y = test::random_pose(random, 3, 0.2);
    const ContactPoint c = distance(ring, X, other, Y);
    // The ring as a fine necklace of spheres: distances from the convex body, least of them.
    double least = 1e300;
    constexpr int kBeads = 4000;
    const Shape bead = Shape::sphere(ring.parameters()[1]);
    for (int k = 0; k < kBeads; ++k) {
      const double s = 2 * kPi * k / kBeads, R = ring.parameters()[0];
      const Pose Z{transform(X, Vec3(R * std::cos(s), R * std::sin(s), 0)), {}};
      least = std::min(least, distance(bead, Z, other, Y).gap);
    }
    EXPECT_LE(c.gap, least + 1e-12) << test::kind_name(other.kind());
    // Where the circle itself runs through the body the least is a kink between two of its faces.
    const double core = c.gap + core_radius(ring.view()) + core_radius(other.view());
    EXPECT_NEAR(c.gap, least, core > 0 ? 2e-5 : 2e-3) << test::kind_name(other.kind());
    expect_consistent(ring, X, other, Y, c);
  }
}

TEST(Torus, RingFlatOnTheFloorHasThreePoints) {
  ContactPoint out[kMaxContacts];
  const int count =
      contacts(Shape::torus(1, 0.1), at(3, 4, 0.15), Shape::half_space(), at(0, 0, 0), 0.1, out);
  ASSERT_EQ(count, 3);
  for (int k = 0; k < count; ++k) EXPECT_NEAR(out[k].gap, 0.05, 1e-14);
}

template <class T>
PoseT<T> moved(const Pose& X, const T* delta) {
  const PoseT<T> Z = pose_cast<T>(X);
  return {Z.x + Vec3T<T>(delta[0], delta[1], delta[2]),
          boxplus(Z.p, Vec3T<T>(delta[3], delta[4], delta[5]))};
}

/// Gap, normal and points of the whole search, parameters and poses moved.
std::array<double, 10> searched(const Shape& a, const Shape& b, const Pose& X, const Pose& Y,
                                const double* delta, const std::vector<double>& p) {
  const ContactPoint c = distance(a.view(p.data()), moved(X, delta),
                                  b.view(p.data() + a.parameter_count()), moved(Y, delta + 6));
  return {c.gap,        c.normal[0],  c.normal[1],  c.normal[2],  c.point_a[0],
          c.point_a[1], c.point_a[2], c.point_b[0], c.point_b[1], c.point_b[2]};
}

TEST(Smooth, DerivativesAgainstDifferencesOfTheSearch) {
  Random random(99);
  constexpr ShapeKind kinds[] = {ShapeKind::Ellipsoid, ShapeKind::Sphere,    ShapeKind::Capsule,
                                 ShapeKind::Box,       ShapeKind::HalfSpace, ShapeKind::Torus};
  int compared = 0;
  for (int i = 0; i < 240; ++i) {
    const ShapeKind curved = i % 2 == 0 ? ShapeKind::Ellipsoid : ShapeKind::Torus;
    const int dim = curved == ShapeKind::Ellipsoid && i % 12 < 10 && i % 4 == 0 ? 2 : 3;
    const Shape a = test::random_shape(random, curved, dim);
    const Shape b = test::random_shape(random, kinds[(i / 2) % (dim == 2 ? 5 : 6)], dim);
    const Pose X = test::random_pose(random, dim, 1.5), Y = test::random_pose(random, dim, 0.2);
    const ContactPoint c = distance(a, X, b, Y);
    const double core = c.gap + core_radius(a.view()) + core_radius(b.view());
    if (core < 0.1) continue;  // large higher derivatives: differences say little
    constexpr int kMost = 18;
    using D = Dual<kMost>;
    std::vector<double> p(a.parameters().begin(), a.parameters().end());
    p.insert(p.end(), b.parameters().begin(), b.parameters().end());
    const int n = 12 + static_cast<int>(p.size());
    ASSERT_LE(n, kMost);
    D delta[12];
    std::vector<D> q(p.begin(), p.end());
    for (int k = 0; k < 12; ++k) delta[k] = D::variable(0, k);
    for (std::size_t k = 0; k < p.size(); ++k) q[k].d[12 + k] = 1;
    const ContactPointT<D> exact =
        evaluate_contact(c.feature, a.view(q.data()), moved(X, delta),
                         b.view(q.data() + a.parameter_count()), moved(Y, delta + 6));
    const std::array<D, 10> flat = {
        exact.gap,        exact.normal[0],  exact.normal[1],  exact.normal[2],  exact.point_a[0],
        exact.point_a[1], exact.point_a[2], exact.point_b[0], exact.point_b[1], exact.point_b[2]};
    for (int k = 0; k < n; ++k) {
      if (dim == 2 && k < 12 && (k % 6 == 2 || k % 6 == 3 || k % 6 == 4)) continue;
      const double step = 1e-5;
      double d[2][12] = {};
      std::vector<double> pm[2] = {p, p};
      for (int side = 0; side < 2; ++side)
        (k < 12 ? d[side][k] : pm[side][static_cast<std::size_t>(k - 12)]) +=
            side == 0 ? step : -step;
      const auto hi = searched(a, b, X, Y, d[0], pm[0]), lo = searched(a, b, X, Y, d[1], pm[1]);
      if (std::abs(hi[0] - lo[0]) > 1e-3 ||
          (Vec3(hi[1], hi[2], hi[3]) - Vec3(lo[1], lo[2], lo[3])).norm() > 1e-2)
        continue;  // jumped to another feature
      for (std::size_t r = 0; r < 10; ++r)
        EXPECT_NEAR(flat[r].d[k], (hi[r] - lo[r]) / (2 * step), 2e-5)
            << i << " " << test::kind_name(a.kind()) << " " << test::kind_name(b.kind()) << dim
            << " input " << k << " output " << r;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1500);
}

/// Derivatives of gap, normal and points from their formulas, by poses and parameters: the columns.
constexpr int kMostInputs = 48;
using Many = Dual<kMostInputs>;
std::array<Many, 10> differentiated(const Shape& a, const Shape& b, const Pose& X, const Pose& Y,
                                    const ContactFeature& feature, const std::vector<double>& p) {
  Many delta[12];
  std::vector<Many> q(p.begin(), p.end());
  for (int k = 0; k < 12; ++k) delta[k] = Many::variable(0, k);
  for (std::size_t k = 0; k < p.size(); ++k) q[k].d[12 + k] = 1;
  const ContactPointT<Many> c =
      evaluate_contact(feature, a.view(q.data()), moved(X, delta),
                       b.view(q.data() + a.parameter_count()), moved(Y, delta + 6));
  return {c.gap,        c.normal[0],  c.normal[1],  c.normal[2],  c.point_a[0],
          c.point_a[1], c.point_a[2], c.point_b[0], c.point_b[1], c.point_b[2]};
}

TEST(RoundedHull, IsItsHullInflated) {
  Random random(181);
  constexpr ShapeKind kinds[] = {
      ShapeKind::Sphere,    ShapeKind::Capsule,        ShapeKind::Box,      ShapeKind::Hull,
      ShapeKind::HalfSpace, ShapeKind::Ellipsoid,      ShapeKind::Cylinder, ShapeKind::Cone,
      ShapeKind::Torus,     ShapeKind::SuperEllipsoid, ShapeKind::Torus,    ShapeKind::Torus};
  int deep = 0;
  for (int i = 0; i < 360; ++i) {
    std::vector<Vec3> points(4 + i % 4);
    for (Vec3& x : points) x = random.direction() * random.uniform(0.3, 1);
    const double r = random.uniform(0.05, 0.3);
    const Shape hull = Shape::hull(points), rounded = Shape::rounded_hull(points, r);
    const Shape other = test::random_shape(random, kinds[i % 12], 3);
    const Pose X = test::random_pose(random, 3, i % 5 == 0 ? 0.4 : 1.5);
    const Pose Y = test::random_pose(random, 3, 0.2);
    SCOPED_TRACE(::testing::Message() << i << " " << test::kind_name(other.kind()));
    const ContactPoint sharp = distance(hull, X, other, Y), c = distance(rounded, X, other, Y);
    EXPECT_NEAR(c.gap, sharp.gap - r, 1e-10);
    EXPECT_LT((c.point_a - c.point_b - c.gap * c.normal).norm(), 1e-10);
    const ContactPoint again = evaluate_contact(c.feature, rounded.view(), X, other.view(), Y);
    EXPECT_NEAR(again.gap, c.gap, 1e-10);
    EXPECT_LT((again.point_a - c.point_a).norm(), 1e-6);
    EXPECT_LT((again.point_b - c.point_b).norm(), 1e-6);
    deep += sharp.gap + core_radius(other.view()) < 0;
  }
  EXPECT_GT(deep, 80);
}

TEST(Smooth, DerivativesOfDeepPairs) {
  Random random(182);
  int compared[5] = {};
  for (int i = 0; i < 200; ++i) {
    const int pair = i % 5;
    std::vector<Vec3> points(4 + i % 3);
    for (Vec3& x : points) x = random.direction() * random.uniform(0.3, 1);
    const Shape rounded = Shape::rounded_hull(points, 0.3);
    const Shape a = pair == 0 || pair == 4 ? rounded
                    : pair == 1            ? Shape::hull(points)
                    : pair == 2            ? test::random_shape(random, ShapeKind::Cylinder, 3)
                                           : test::random_shape(random, ShapeKind::Cone, 3);
    const Shape b =
        test::random_shape(random, pair == 4 ? ShapeKind::SuperEllipsoid : ShapeKind::Torus, 3);
    const Pose X = test::random_pose(random, 3, 0.9), Y = test::random_pose(random, 3, 0.2);
    const ContactPoint c = distance(a, X, b, Y);
    if (c.gap > 0) continue;
    if (b.kind() == ShapeKind::Torus) {
      // Where the circle runs through the core two faces are as near, and the normal is that of
      // one of them: there is no derivative, and the certificate says so.
      const double s = c.feature.start_place[1];
      if (std::abs(c.normal.dot(rotate(Y.p, Vec3(-std::sin(s), std::cos(s), 0)))) > 1e-6) continue;
    }
    std::vector<double> p(a.parameters().begin(), a.parameters().end());
    p.insert(p.end(), b.parameters().begin(), b.parameters().end());
    const int n = 12 + static_cast<int>(p.size());
    ASSERT_LE(n, kMostInputs);
    const std::array<Many, 10> exact = differentiated(a, b, X, Y, c.feature, p);
    SCOPED_TRACE(::testing::Message()
                 << i << " " << test::kind_name(a.kind()) << " " << test::kind_name(b.kind()));
    const auto mid = searched(a, b, X, Y, std::array<double, 12>{}.data(), p);
    for (int k = 0; k < n; ++k) {
      const double step = 1e-6;
      double d[2][12] = {};
      std::vector<double> pm[2] = {p, p};
      for (int side = 0; side < 2; ++side)
        (k < 12 ? d[side][k] : pm[side][static_cast<std::size_t>(k - 12)]) +=
            side == 0 ? step : -step;
      const auto hi = searched(a, b, X, Y, d[0], pm[0]), lo = searched(a, b, X, Y, d[1], pm[1]);
      bool smooth = true;  // both sides alike
      for (std::size_t r = 0; r < 10; ++r)
        smooth = smooth && std::abs(hi[r] + lo[r] - 2 * mid[r]) < 1e-3 * step;
      if (!smooth) continue;
      for (std::size_t r = 0; r < 10; ++r)
        EXPECT_NEAR(exact[r].d[k], (hi[r] - lo[r]) / (2 * step), 1e-4)
            << "input " << k << " output " << r;
      ++compared[pair];
    }
  }
  for (int pair = 0; pair < 5; ++pair) EXPECT_GT(compared[pair], 100) << pair;
}

TEST(Smooth, MassByQuadrature) {
  // Integrals over a midpoint grid, against the closed forms.
  const auto integrate = [](const Shape& s, double reach_xy, double reach_z) {
    MassProperties m;
    constexpr int kN = 100;
    const double dx = 2 * reach_xy / kN, dz = 2 * reach_z / kN;
    for (int i = 0; i < kN; ++i)
      for (int j = 0; j < kN; ++j)
        for (int k = 0; k < kN; ++k) {
          const Vec3 p(-reach_xy + (i + 0.5) * dx, -reach_xy + (j + 0.5) * dx,
                       -reach_z + (k + 0.5) * dz);
          if (!test::contains(s, {}, p, 0)) continue;
          m.mass += dx * dx * dz;
          m.inertia += dx * dx * dz * (p.squaredNorm() * Mat3::Identity() - p * p.transpose());
        }
    return m;
  };
  for (const Shape& s : {Shape::ellipsoid(0.7, 1, 0.4), Shape::torus(0.8, 0.2)}) {
    const MassProperties truth = integrate(s, 1, s.kind() == ShapeKind::Torus ? 0.2 : 0.4);
    const MassProperties m = mass_properties(s, 1.0);
    EXPECT_NEAR(m.mass, truth.mass, 3e-3 * truth.mass);
    EXPECT_LT((m.inertia - truth.inertia).norm(), 5e-3 * truth.inertia.norm());
  }
  const MassProperties e = mass_properties(Shape::ellipse(2, 3), 1.0);
  EXPECT_NEAR(e.mass, 6 * kPi, 1e-12);
  EXPECT_NEAR(e.inertia(2, 2), 6 * kPi * 13 / 4, 1e-12);
}

TEST(Smooth, BoundsAreTight) {
  Random random(23);
  for (int i = 0; i < 40; ++i) {
    const Shape s = test::random_shape(random, i % 2 ? ShapeKind::Torus : ShapeKind::Ellipsoid, 3);
    const Pose X = test::random_pose(random, 3, 1);
    const Bounds box = bounds(s, X);
    for (int k = 0; k < 3; ++k) {
      // The face of the box touches the body: its distance from the half-space beyond is zero.
      for (const double side : {-1.0, 1.0}) {
        Vec3 n = Vec3::Zero();
        n[k] = -side;
        const Vec3 axis = Vec3::UnitZ().cross(n);
        const double angle = std::acos(n[2]);
        const Quat turn = axis.norm() > 0 ? exp_rotation(Vec3(axis.normalized() * angle))
                          : n[2] > 0      ? Quat{}
                                          : exp_rotation(Vec3(kPi, 0, 0));
        const Vec3 p = side > 0 ? box.hi : box.lo;
        EXPECT_NEAR(distance(s, X, Shape::half_space(), {p, turn}).gap, 0, 1e-12);
      }
    }
  }
}

TEST(Smooth, BadSizesAreNamed) {
  const auto message = [](auto&& make) {
    try {
      make();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message([] { Shape::ellipsoid(1, 0, 2, "egg"); }).find("egg"), std::string::npos);
  EXPECT_NE(message([] { Shape::ellipsoid(1, 0, 2, "egg"); }).find("semi_y"), std::string::npos);
  EXPECT_NE(message([] { Shape::ellipse(1, -2); }).find("semi_y"), std::string::npos);
  EXPECT_NE(message([] { Shape::torus(1, 1, "ring"); }).find("minor must be less than major"),
            std::string::npos);
  EXPECT_NE(message([] { Shape::torus(1, 0.2, "ring").section(); }).find("ring"),
            std::string::npos);
}

}  // namespace
}  // namespace orthant
