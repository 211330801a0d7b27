// SPDX-License-Identifier: Apache-2.0
// Coincident, parallel, identical and extreme pairs: the same finite answer every time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support.hpp"

namespace orthant {
namespace {

using test::Random;

Pose at(double x, double y, double z) { return {Vec3(x, y, z), Quat{}}; }

void expect_sound(const Shape& a, const Pose& X, const Shape& b, const Pose& Y, double margin) {
  ContactPoint out[kMaxContacts], again[kMaxContacts];
  const int n = contacts(a, X, b, Y, margin, out);
  ASSERT_EQ(contacts(a, X, b, Y, margin, again), n);
  const double size = bounding_radius(a) + bounding_radius(b) + (X.x - Y.x).norm();
  for (int k = 0; k < n; ++k) {
    const ContactPoint& c = out[k];
    ASSERT_TRUE(std::isfinite(c.gap) && c.normal.allFinite() && c.point_a.allFinite() &&
                c.point_b.allFinite());
    ASSERT_NEAR(c.normal.norm(), 1, 1e-12);
    ASSERT_LT((c.point_a - c.point_b - c.normal * c.gap).norm(), 1e-10 * size);
    ASSERT_EQ(c.gap, again[k].gap);
    ASSERT_EQ(c.id, again[k].id);
    ASSERT_EQ(c.normal, again[k].normal);
  }
}

TEST(Degenerate, CoincidentCentresTakeTheFixedNormal) {
  const ContactPoint s = distance(Shape::sphere(1), at(1, 2, 3), Shape::sphere(2), at(1, 2, 3));
  EXPECT_EQ(s.gap, -3);
  EXPECT_EQ(s.normal, Vec3(0, 0, 1));
  const ContactPoint d = distance(Shape::disc(1), at(1, 2, 0), Shape::disc(2), at(1, 2, 0));
  EXPECT_EQ(d.gap, -3);
  EXPECT_EQ(d.normal, Vec3(0, 1, 0));
  // A centre on the axis of a capsule: across the axis.
  const ContactPoint c =
      distance(Shape::sphere(1), at(0.5, 0, 0), Shape::capsule(0.5, 1), at(0, 0, 0));
  EXPECT_EQ(c.gap, -1.5);
  EXPECT_EQ(c.normal[0], 0);
}

TEST(Degenerate, IdenticalPosesOfEveryKind) {
  Random random(1);
  for (int dim : {2, 3})
    for (ShapeKind kind : {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box, ShapeKind::Hull})
      for (int i = 0; i < 50; ++i) {
        const Shape s = test::random_shape(random, kind, dim);
        const Pose X = i == 0 ? Pose{} : test::random_pose(random, dim, 1);
        expect_sound(s, X, s, X, 0.1);
        const double expected = test::reference_distance(s, X, s, X);
        EXPECT_NEAR(distance(s, X, s, X).gap, expected, 1e-12) << test::kind_name(kind);
      }
}

TEST(Degenerate, IdenticalCapsulesPartAcrossTheirAxis) {
  const Shape rod = Shape::capsule(0.25, 1);
  for (const Vec3& turn : {Vec3(0, 0, 0), Vec3(0, M_PI / 2, 0), Vec3(0.3, 0.7, -0.2)}) {
    const Pose X{Vec3(1, 2, 3), exp_rotation(turn)};
    ContactPoint out[kMaxContacts];
    const int n = contacts(rod, X, rod, X, 0.1, out);
    EXPECT_EQ(n, 2);
    for (int k = 0; k < n; ++k) {
      EXPECT_NEAR(out[k].gap, -0.5, 1e-14);
      EXPECT_NEAR(out[k].normal.dot(rotate(X.p, Vec3(1, 0, 0))), 0, 1e-14);
      EXPECT_EQ(out[k].normal, out[0].normal);
    }
  }
}

TEST(Degenerate, CrossingAxesOfCapsules) {
  const Shape rod = Shape::capsule(0.25, 1);
  const Pose X{Vec3(0, 0, 0), exp_rotation(Vec3(0, 0, 1))};
  const ContactPoint c = distance(rod, X, rod, at(0, 0, 0));
  EXPECT_EQ(c.gap, -0.5);
  EXPECT_NEAR(std::abs(c.normal[2]), 1, 1e-15);
}

TEST(Degenerate, AxesAlignedBoxesAtAllOffsetsOfAGrid) {
  // Faces, edges and corners exactly flush, in every combination, against the closed form.
  const Shape box = Shape::box(0.5, 0.5, 0.5);
  for (int x = -4; x <= 4; ++x)
    for (int y = -4; y <= 4; ++y)
      for (int z = -4; z <= 4; ++z) {
        const Vec3 d = Vec3(x, y, z) * 0.5;
        const Vec3 over = d.cwiseAbs() - Vec3::Ones();
        const double inside = over.maxCoeff();
        const double expected = inside > 0 ? over.cwiseMax(0).norm() : inside;
        EXPECT_NEAR(distance(box, {d, Quat{}}, box, Pose{}).gap, expected, 1e-15) << d.transpose();
        expect_sound(box, {d, Quat{}}, box, Pose{}, 0.3);
      }
}

TEST(Degenerate, CollinearStadiums) {
  const Shape bar = Shape::stadium(0.25, 1);
  const Quat q = planar_pose(0.0, 0.0, 0.7).p;
  const Vec3 along = rotate(q, Vec3(1, 0, 0));
  for (double x : {3.0, 2.5, 2.25, 2.0, 1.0, 0.0}) {
    const ContactPoint c = distance(bar, {Vec3(along * x), q}, bar, {Vec3::Zero(), q});
    EXPECT_NEAR(c.gap, std::max(x - 2, 0.0) - 0.5, 1e-14) << x;
    if (x > 2) {
      EXPECT_NEAR(c.normal.dot(along), 1, 1e-14);
    }
  }
}

TEST(Degenerate, ExtremeAspect) {
  const Shape plate = Shape::box(1, 1, 1e-6), needle = Shape::box(1, 1e-6, 1e-6);
  EXPECT_NEAR(distance(plate, at(0, 0, 3e-6), plate, at(0, 0, 0)).gap, 1e-6, 1e-15);
  Random random(2);
  for (int i = 0; i < 200; ++i) {
    const Pose X = test::random_pose(random, 3, 1), Y = test::random_pose(random, 3, 0.3);
    EXPECT_NEAR(distance(plate, X, needle, Y).gap, test::reference_distance(plate, X, needle, Y),
                1e-11);
  }
}

TEST(Degenerate, FarFromTheOriginKeepsItsDigits) {
  const Shape box = Shape::box(0.5, 0.5, 0.5);
  const Vec3 far(1 << 20, -(1 << 19), 1 << 18);  // exact in binary, so the offset is too
  const Quat q = exp_rotation(Vec3(0.2, 0.5, 0.1));
  const double near = distance(box, {Vec3(0, 0, 1.25), q}, box, Pose{}).gap;
  EXPECT_NEAR(distance(box, {Vec3(far + Vec3(0, 0, 1.25)), q}, box, {far, Quat{}}).gap, near,
              1e-15);
  // And a pair far from each other.
  EXPECT_NEAR(distance(box, {far, q}, box, Pose{}).gap / far.norm(), 1, 1e-5);
}

TEST(Degenerate, FuzzNearDegeneratePairs) {
  Random random(9);
  constexpr ShapeKind kinds[] = {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                                 ShapeKind::Hull, ShapeKind::HalfSpace};
  std::vector<Shape> pool[2][5];
  for (int dim : {2, 3})
    for (int k = 0; k < 5; ++k)
      for (int i = 0; i < 30; ++i)
        pool[dim - 2][k].push_back(test::grid_shape(random, kinds[k], dim));
  int touching = 0;
  for (int i = 0; i < 100000; ++i) {
    const int dim = 2 + (i & 1);
    const Shape& a = pool[dim - 2][random.integer(5)][random.integer(30)];
    const Shape& b = pool[dim - 2][random.integer(4)][random.integer(30)];
    const Pose X = test::near_degenerate_pose(random, dim);
    const Pose Y = test::near_degenerate_pose(random, dim);
    expect_sound(a, X, b, Y, 0.1);
    ContactPoint out[kMaxContacts];
    touching += contacts(a, X, b, Y, 0.1, out) > 0;
    if (a.kind() != ShapeKind::HalfSpace) {
      // Duality: the separation along the found normal is the found gap. A normal that is the
      // difference of two points is only as good as rounding over their distance.
      const ContactPoint c = distance(a, X, b, Y);
      const double dual = test::directed_separation(a, X, b, Y, c.normal);
      const double core = c.gap + core_radius(a.view()) + core_radius(b.view());
      ASSERT_GE(c.gap, dual - 1e-11) << "case " << i;
      ASSERT_NEAR(c.gap, dual, 1e-11 + 2e-15 / std::max(std::abs(core), 1e-15))
          << "case " << i << " " << test::kind_name(a.kind()) << " " << test::kind_name(b.kind())
          << " feature " << static_cast<int>(c.feature.kind);
      ASSERT_TRUE(test::contains(a, X, c.point_a, 1e-6)) << "case " << i;
      ASSERT_TRUE(test::contains(b, Y, c.point_b, 1e-6)) << "case " << i;
    }
    if (HasFailure())
      FAIL() << "case " << i << " " << test::kind_name(a.kind()) << " "
             << test::kind_name(b.kind());
  }
  EXPECT_GT(touching, 20000);
}

/// Near-degenerate boxes against the enumeration itself, to the promised accuracy.
TEST(Degenerate, NearlyParallelBoxesAgainstEnumeration) {
  Random random(10);
  const Shape a = Shape::box(0.5, 0.5, 0.5), b = Shape::box(0.5, 0.25, 1);
  for (int i = 0; i < 200; ++i) {
    const double shake = std::pow(10.0, random.uniform(-14, -2));
    const Vec3 x(0.25 * (random.integer(9) - 4), 0.25 * (random.integer(9) - 4),
                 0.25 * (random.integer(9) - 4));
    const Pose X{x + random.vector(shake), exp_rotation(Vec3(random.vector(shake)))};
    EXPECT_NEAR(distance(a, X, b, Pose{}).gap, test::reference_distance(a, X, b, Pose{}), 1e-10)
        << "case " << i;
  }
}

}  // namespace
}  // namespace orthant
