// SPDX-License-Identifier: Apache-2.0
// Contact manifolds: how many points, where, and that each re-evaluates from its feature.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "support.hpp"

namespace orthant {
namespace {

using test::Random;

Pose at(double x, double y, double z) { return {Vec3(x, y, z), Quat{}}; }
Pose turned(const Vec3& x, const Vec3& angle) { return {x, exp_rotation(angle)}; }

/// contacts() and the checks every manifold must pass.
std::vector<ContactPoint> manifold(const Shape& a, const Pose& X, const Shape& b, const Pose& Y,
                                   double margin) {
  ContactPoint out[kMaxContacts];
  const int n = contacts(a, X, b, Y, margin, out);
  EXPECT_LE(n, a.dim() == 2 ? 2 : 4);
  const double d = distance(a, X, b, Y).gap;
  EXPECT_EQ(n > 0, d < margin);
  std::set<std::uint32_t> ids;
  for (int k = 0; k < n; ++k) {
    const ContactPoint& c = out[k];
    if (k == 0) {
      EXPECT_NEAR(c.gap, d, 1e-12);
    }
    EXPECT_LT(c.gap, margin);
    EXPECT_NEAR(c.normal.norm(), 1, 1e-13);
    EXPECT_LT((c.point_a - c.point_b - c.normal * c.gap).norm(), 1e-12);
    EXPECT_TRUE(ids.insert(c.id).second) << "two points of one feature";
    const ContactPoint e = evaluate_contact(c.feature, a.view(), X, b.view(), Y);
    EXPECT_NEAR(e.gap, c.gap, 1e-13);
    EXPECT_LT((e.normal - c.normal).norm(), 1e-12);
    EXPECT_LT((e.point_a - c.point_a).norm(), 1e-12);
    EXPECT_LT((e.point_b - c.point_b).norm(), 1e-12);
    EXPECT_EQ(e.id, c.id);
  }
  return {out, out + n};
}

/// Are the given places all found, among the points on B?
void expect_places(const std::vector<ContactPoint>& points, std::vector<Vec3> places) {
  ASSERT_EQ(points.size(), places.size());
  for (const Vec3& p : places)
    EXPECT_TRUE(std::any_of(points.begin(), points.end(), [&](const ContactPoint& c) {
      return (c.point_b - p).norm() < 1e-12;
    })) << p.transpose();
}

TEST(Manifold, BoxOnPlaneHasItsFourCorners) {
  for (double gap : {0.01, 0.0, -0.01}) {
    const auto c = manifold(Shape::box(1, 2, 0.5), at(3, 4, 0.5 + gap), Shape::half_space(),
                            at(0, 0, 0), 0.05);
    expect_places(c, {{2, 2, 0}, {4, 2, 0}, {2, 6, 0}, {4, 6, 0}});
    for (const ContactPoint& p : c) EXPECT_NEAR(p.gap, gap, 1e-15);
  }
}

TEST(Manifold, TiltedBoxOnPlaneKeepsFarCornersWithinTheMargin) {
  const Pose X = turned(Vec3(0, 0, 1), Vec3(0, 0.01, 0));
  EXPECT_EQ(manifold(Shape::box(1, 1, 1), X, Shape::half_space(), at(0, 0, 0), 0.1).size(), 4u);
  EXPECT_EQ(manifold(Shape::box(1, 1, 1), X, Shape::half_space(), at(0, 0, 0), 0.005).size(), 2u);
}

TEST(Manifold, PrismOnPlaneKeepsBothEndsOfItsLowestEdge) {
  // A prism of 16 sides that lies along x: the ends of the lowest edge are 3e-4 rad from level,
  // those of the next ones 4 mm above. Whichever end is lower, the other is a contact, too.
  std::vector<Vec3> points;
  const double radius = 0.05, half = 0.15, pi = 3.141592653589793;
  for (int i = 0; i < 16; ++i)
    for (const double x : {-half, half})
      points.emplace_back(x, radius * std::sin(pi * i / 8), radius * std::cos(pi * i / 8));
  const Shape prism = Shape::hull(points);
  for (const double tilt : {3e-4, -3e-4}) {
    const auto c = manifold(prism, turned(Vec3(0, 0, radius), Vec3(0, tilt, 0)),
                            Shape::half_space(), at(0, 0, 0), 0.01);
    ASSERT_EQ(c.size(), 4u);
    for (const double x : {-half, half})
      EXPECT_TRUE(std::any_of(
          c.begin(), c.end(),
          [&](const ContactPoint& p) { return (p.point_b - Vec3(x, 0, 0)).norm() < 1e-3; }))
          << x << " " << tilt;
  }
}

TEST(Manifold, CapsuleOnPlaneHasBothEnds) {
  expect_places(
      manifold(Shape::capsule(0.25, 1), at(0, 0, 0.25), Shape::half_space(), at(0, 0, 0), 0.01),
      {{-1, 0, 0}, {1, 0, 0}});
}

TEST(Manifold, CubeOnCube) {
  const Shape cube = Shape::box(1, 1, 1);
  for (double gap : {0.01, 1e-12, 0.0, -1e-12, -0.01}) {
    // Flush: the four corners. Shifted: the overlap. Turned by 45 degrees: 4 of the octagon's 8.
    expect_places(manifold(cube, at(0, 0, 2 + gap), cube, at(0, 0, 0), 0.05),
                  {{-1, -1, 1}, {1, -1, 1}, {-1, 1, 1}, {1, 1, 1}});
    expect_places(manifold(cube, at(0.5, 0.25, 2 + gap), cube, at(0, 0, 0), 0.05),
                  {{-0.5, -0.75, 1}, {1, -0.75, 1}, {-0.5, 1, 1}, {1, 1, 1}});
    const auto octagon =
        manifold(cube, turned(Vec3(0, 0, 2 + gap), Vec3(0, 0, M_PI / 4)), cube, at(0, 0, 0), 0.05);
    ASSERT_EQ(octagon.size(), 4u);
    Vec3 mean = Vec3::Zero();
    for (const ContactPoint& p : octagon) {
      const double x = std::abs(p.point_b[0]), y = std::abs(p.point_b[1]);
      EXPECT_NEAR(std::max(x, y), 1, 1e-12);
      EXPECT_NEAR(std::min(x, y), std::sqrt(2) - 1, 1e-12);
      EXPECT_NEAR(p.gap, gap, 1e-14);
      mean += p.point_b / 4;
    }
    EXPECT_LT(mean.head<2>().norm(), 0.3);  // the support surrounds the centre
  }
}

TEST(Manifold, CrossedBarsMeetInTheSquareOfTheirEdges) {
  const Shape bar = Shape::box(2, 0.25, 0.5);
  const auto c = manifold(bar, turned(Vec3(0, 0, 1), Vec3(0, 0, M_PI / 2)), bar, at(0, 0, 0), 0.01);
  expect_places(c,
                {{-0.25, -0.25, 0.5}, {0.25, -0.25, 0.5}, {-0.25, 0.25, 0.5}, {0.25, 0.25, 0.5}});
}

TEST(Manifold, OverhangingTiltedCubeStillHasFourPoints) {
  // Nearest features are two crossing edges; the nearly flush faces give the rest.
  const Shape cube = Shape::box(1, 1, 1);
  for (double tilt : {1e-3, 1e-6, 1e-9, 1e-12}) {
    const Pose X = turned(Vec3(0.7, 0.4, 2), Vec3(tilt, -tilt, 0.6));
    const auto c = manifold(cube, X, cube, at(0, 0, 0), 0.05);
    EXPECT_EQ(c.size(), 4u) << tilt;
    for (const ContactPoint& p : c) EXPECT_GT(p.normal[2], 0.999);
  }
}

TEST(Manifold, ParallelCapsulesHaveTheEndsOfTheirCommonStretch) {
  const Shape a = Shape::capsule(0.25, 1), b = Shape::capsule(0.25, 2);
  expect_places(manifold(a, at(1.5, 0, 0.5), b, at(0, 0, 0), 0.01), {{0.5, 0, 0.25}, {2, 0, 0.25}});
  // Crossed: one point. Crossed at a small angle: the crossing and both ends.
  EXPECT_EQ(manifold(a, turned(Vec3(0, 0, 0.5), Vec3(0, 0, 0.5)), b, at(0, 0, 0), 0.1).size(), 1u);
  EXPECT_EQ(manifold(a, turned(Vec3(0, 0, 0.5), Vec3(0, 0, 0.01)), b, at(0, 0, 0), 0.1).size(), 3u);
}

TEST(Manifold, CapsuleOnBoxFaceAndAcrossItsRim) {
  const Shape box = Shape::box(1, 1, 1), rod = Shape::capsule(0.25, 0.5);
  expect_places(manifold(rod, at(0, 0, 1.25), box, at(0, 0, 0), 0.01), {{-0.5, 0, 1}, {0.5, 0, 1}});
  expect_places(manifold(rod, at(0.75, 0, 1.25), box, at(0, 0, 0), 0.01),
                {{0.25, 0, 1}, {1, 0, 1}});
  // On its end: one point.
  const Pose up = turned(Vec3(0, 0, 1.75), Vec3(0, -M_PI / 2, 0));
  EXPECT_EQ(manifold(rod, up, box, at(0, 0, 0), 0.01).size(), 1u);
}

TEST(Manifold, CapsuleAlongABoxEdgeHasTwoPoints) {
  const Shape box = Shape::box(1, 1, 1), rod = Shape::capsule(0.25, 0.5);
  const double d = 1 + 0.25 / std::sqrt(2);
  const auto c = manifold(rod, at(0.2, d, d), box, at(0, 0, 0), 0.01);
  expect_places(c, {{-0.3, 1, 1}, {0.7, 1, 1}});
}

TEST(Manifold, PrismOnItsTriangle) {
  std::vector<Vec3> points;
  for (double z : {-0.5, 0.5})
    for (int k = 0; k < 3; ++k)
      points.push_back({std::cos(2 * M_PI * k / 3), std::sin(2 * M_PI * k / 3), z});
  const Shape prism = Shape::hull(points);
  EXPECT_EQ(prism.topology().face_count(), 5);
  EXPECT_EQ(manifold(prism, at(0, 0, 1.5), Shape::box(2, 2, 1), at(0, 0, 0), 0.01).size(), 3u);
  EXPECT_EQ(manifold(prism, at(0, 0, 0.5), Shape::half_space(), at(0, 0, 0), 0.01).size(), 3u);
}

TEST(Manifold, PlanarRectanglesMeetInTwoPoints) {
  const Shape a = Shape::rectangle(1, 0.5), b = Shape::rectangle(2, 1);
  expect_places(manifold(a, at(0.5, 1.5, 0), b, at(0, 0, 0), 0.01), {{-0.5, 1, 0}, {1.5, 1, 0}});
  expect_places(manifold(a, at(1.5, 1.5, 0), b, at(0, 0, 0), 0.01), {{0.5, 1, 0}, {2, 1, 0}});
  expect_places(manifold(b, at(0, 2, 0), b, at(0, 0, 0), 0.01), {{-2, 1, 0}, {2, 1, 0}});
  expect_places(manifold(a, at(0, 0.5, 0), Shape::half_plane(), at(0, 0, 0), 0.01),
                {{-1, 0, 0}, {1, 0, 0}});
  expect_places(manifold(Shape::stadium(0.25, 1), at(0, 1.25, 0), b, at(0, 0, 0), 0.01),
                {{-1, 1, 0}, {1, 1, 0}});
  EXPECT_EQ(manifold(Shape::disc(1), at(0, 2, 0), b, at(0, 0, 0), 0.01).size(), 1u);
}

TEST(Manifold, RandomPairsPassTheirChecks) {
  Random random(3);
  constexpr ShapeKind kinds[] = {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                                 ShapeKind::Hull, ShapeKind::HalfSpace};
  int counts[5] = {};
  for (int i = 0; i < 20000; ++i) {
    const int dim = 2 + (i & 1);
    const Shape a = test::random_shape(random, kinds[random.integer(5)], dim);
    const Shape b = test::random_shape(random, kinds[random.integer(4)], dim);
    const auto c = manifold(a, test::random_pose(random, dim, 1.5), b,
                            test::random_pose(random, dim, 0.5), 0.2);
    ++counts[c.size()];
    if (HasFailure()) FAIL() << "case " << i;
  }
  for (int n : counts) EXPECT_GT(n, 50);  // every size occurred
}

TEST(Manifold, NothingBetweenHalfSpaces) {
  ContactPoint out[kMaxContacts];
  EXPECT_EQ(contacts(Shape::half_space(), at(0, 0, 0), Shape::half_space(), at(0, 0, 0), 1, out),
            0);
  EXPECT_TRUE(
      std::isinf(distance(Shape::half_space(), at(0, 0, 0), Shape::half_space(), at(0, 0, 0)).gap));
}

}  // namespace
}  // namespace orthant
