// SPDX-License-Identifier: Apache-2.0
// Signed distance: closed forms, an enumeration that shares no code, and the laws every distance
// obeys (witness points, duality, symmetry, rigid motion, continuity through touching).
#include <gtest/gtest.h>

#include <cmath>

#include "support.hpp"

namespace orthant {
namespace {

using test::Random;

const Quat kNoTurn;
Pose at(double x, double y, double z) { return {Vec3(x, y, z), kNoTurn}; }
Quat turn(double x, double y, double z) { return exp_rotation(Vec3(x, y, z)); }

void expect_contact(const ContactPoint& c, double gap, const Vec3& n, const Vec3& a,
                    const Vec3& b) {
  EXPECT_NEAR(c.gap, gap, 1e-14);
  EXPECT_LT((c.normal - n).norm(), 1e-14);
  EXPECT_LT((c.point_a - a).norm(), 1e-14);
  EXPECT_LT((c.point_b - b).norm(), 1e-14);
}

TEST(Distance, SphereSphere) {
  const Shape a = Shape::sphere(0.5), b = Shape::sphere(0.25);
  expect_contact(distance(a, at(1, 0, 0), b, at(-1, 0, 0)), 1.25, Vec3(1, 0, 0), Vec3(0.5, 0, 0),
                 Vec3(-0.75, 0, 0));
  expect_contact(distance(a, at(0, 0, 0.5), b, at(0, 0, 0)), -0.25, Vec3(0, 0, 1), Vec3(0, 0, 0),
                 Vec3(0, 0, 0.25));
}

TEST(Distance, SphereCapsuleSideAndEnd) {
  const Shape a = Shape::sphere(0.5), b = Shape::capsule(0.25, 1);
  expect_contact(distance(a, at(0.5, 0, 2), b, at(0, 0, 0)), 1.25, Vec3(0, 0, 1), Vec3(0.5, 0, 1.5),
                 Vec3(0.5, 0, 0.25));
  expect_contact(distance(a, at(3, 0, 0), b, at(0, 0, 0)), 1.25, Vec3(1, 0, 0), Vec3(2.5, 0, 0),
                 Vec3(1.25, 0, 0));
}

TEST(Distance, SphereBoxFaceEdgeCornerInside) {
  const Shape a = Shape::sphere(0.5), b = Shape::box(1, 2, 3);
  expect_contact(distance(a, at(2, 0.5, 1), b, at(0, 0, 0)), 0.5, Vec3(1, 0, 0), Vec3(1.5, 0.5, 1),
                 Vec3(1, 0.5, 1));
  const double s = std::sqrt(0.5);
  expect_contact(distance(a, at(2, 3, 1), b, at(0, 0, 0)), std::sqrt(2) - 0.5, Vec3(s, s, 0),
                 Vec3(2 - 0.5 * s, 3 - 0.5 * s, 1), Vec3(1, 2, 1));
  const double t = 1 / std::sqrt(3.0);
  expect_contact(distance(a, at(-2, 3, -4), b, at(0, 0, 0)), std::sqrt(3) - 0.5, Vec3(-t, t, -t),
                 Vec3(-2 + 0.5 * t, 3 - 0.5 * t, -4 + 0.5 * t), Vec3(-1, 2, -3));
  expect_contact(distance(a, at(-0.75, 0, 0), b, at(0, 0, 0)), -0.75, Vec3(-1, 0, 0),
                 Vec3(-0.25, 0, 0), Vec3(-1, 0, 0));
}

TEST(Distance, HalfSpacePairs) {
  const Shape floor = Shape::half_space();
  const Pose X{Vec3(0, 0, 1), kNoTurn};
  expect_contact(distance(Shape::sphere(0.5), at(3, 4, 2), floor, X), 0.5, Vec3(0, 0, 1),
                 Vec3(3, 4, 1.5), Vec3(3, 4, 1));
  // A capsule upright (its x axis up): the lower end.
  const Pose up{Vec3(0, 0, 2), turn(0, -M_PI / 2, 0)};
  expect_contact(distance(Shape::capsule(0.25, 1), up, floor, X), -0.25, Vec3(0, 0, 1),
                 Vec3(0, 0, 0.75), Vec3(0, 0, 1));
  // A cube on a corner: the corner is sqrt(3) below the centre.
  const Vec3 d(1, 1, 1);
  const Vec3 axis = d.normalized().cross(Vec3(0, 0, 1));
  const double angle = std::acos(1 / std::sqrt(3.0));
  const Pose corner{Vec3(0, 0, 4), exp_rotation(Vec3(axis.normalized() * angle))};
  const ContactPoint c = distance(Shape::box(1, 1, 1), corner, floor, X);
  EXPECT_NEAR(c.gap, 3 - std::sqrt(3), 1e-14);
  // The other way round: normal and points exchanged.
  const ContactPoint r = distance(floor, X, Shape::box(1, 1, 1), corner);
  EXPECT_EQ(r.gap, c.gap);
  EXPECT_EQ((r.normal + c.normal).norm(), 0);
  EXPECT_EQ((r.point_a - c.point_b).norm(), 0);
}

TEST(Distance, CapsuleCapsuleCrossedParallelEndToEnd) {
  const Shape a = Shape::capsule(0.25, 1), b = Shape::capsule(0.5, 2);
  const Pose across{Vec3(0, 0, 0), turn(0, 0, M_PI / 2)};
  expect_contact(distance(a, at(0, 0.5, 1), b, across), 0.25, Vec3(0, 0, 1), Vec3(0, 0.5, 0.75),
                 Vec3(0, 0.5, 0.5));
  EXPECT_NEAR(distance(a, at(0.3, 0, 1), b, at(0, 0, 0)).gap, 0.25, 1e-15);
  EXPECT_NEAR(distance(a, at(4, 0, 0), b, at(0, 0, 0)).gap, 0.25, 1e-15);
}

TEST(Distance, BoxBoxFaceEdgeCorner) {
  const Shape cube = Shape::box(1, 1, 1);
  const Pose origin = at(0, 0, 0);
  EXPECT_NEAR(distance(cube, at(0.5, 0.25, 2.5), cube, origin).gap, 0.5, 1e-15);
  EXPECT_NEAR(distance(cube, at(0.5, 0.25, 1.75), cube, origin).gap, -0.25, 1e-15);
  EXPECT_NEAR(distance(cube, at(3, 3, 0.5), cube, origin).gap, std::sqrt(2), 1e-15);
  EXPECT_NEAR(distance(cube, at(3, 3, 3), cube, origin).gap, std::sqrt(3), 1e-15);
  // Two edges crossed at right angles, each cube standing on an edge: sqrt(2) + sqrt(2) of height.
  const Pose lower{Vec3(0, 0, 0), turn(M_PI / 4, 0, 0)};
  for (double gap : {0.5, 1e-3, 1e-9, 0.0, -1e-9, -0.1}) {
    const Pose upper{Vec3(0.1, 0.2, 2 * std::sqrt(2) + gap), turn(0, M_PI / 4, 0)};
    const ContactPoint c = distance(cube, upper, cube, lower);
    EXPECT_NEAR(c.gap, gap, 1e-14);
    EXPECT_LT((c.normal - Vec3(0, 0, 1)).norm(), 1e-12);
  }
}

TEST(Distance, HullOfBoxPointsIsTheBox) {
  Random random(11);
  std::vector<Vec3> corners;
  for (int i = 0; i < 8; ++i)
    corners.push_back({(i & 1) ? 1.0 : -1.0, (i & 2) ? 0.5 : -0.5, (i & 4) ? 0.7 : -0.7});
  const Shape hull = Shape::hull(corners), box = Shape::box(1, 0.5, 0.7);
  const Shape other = Shape::box(0.4, 0.8, 0.3);
  for (int i = 0; i < 500; ++i) {
    const Pose X = test::random_pose(random, 3, 1.5), Y = test::random_pose(random, 3, 0.5);
    EXPECT_NEAR(distance(hull, X, other, Y).gap, distance(box, X, other, Y).gap, 1e-13);
  }
}

TEST(Distance, PlanarClosedForms) {
  const Shape disc = Shape::disc(0.5), bar = Shape::stadium(0.25, 1),
              square = Shape::rectangle(1, 1);
  EXPECT_NEAR(distance(disc, at(3, 4, 0), disc, at(0, 0, 0)).gap, 4, 1e-15);
  EXPECT_NEAR(distance(disc, at(0.5, 2, 0), bar, at(0, 0, 0)).gap, 1.25, 1e-15);
  EXPECT_NEAR(distance(disc, at(4, 4, 0), bar, at(0, 0, 0)).gap, 4.25, 1e-15);
  EXPECT_NEAR(distance(disc, at(2, 2, 0), square, at(0, 0, 0)).gap, std::sqrt(2) - 0.5, 1e-15);
  EXPECT_NEAR(distance(square, at(0, 2.5, 0), Shape::half_plane(), at(0, 1, 0)).gap, 0.5, 1e-15);
  const Pose corner = planar_pose(0.0, 1 + std::sqrt(2) - 0.125, M_PI / 4);
  const ContactPoint c = distance(square, corner, square, at(0, 0, 0));
  EXPECT_NEAR(c.gap, -0.125, 1e-15);
  EXPECT_LT((c.normal - Vec3(0, 1, 0)).norm(), 1e-15);
  // Crossed stadiums: out along the shorter way.
  const ContactPoint x = distance(bar, planar_pose(0.2, 0.1, M_PI / 2), bar, at(0, 0, 0));
  EXPECT_NEAR(x.gap, -0.8 - 0.5, 1e-15);
}

constexpr ShapeKind kBounded[] = {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                                  ShapeKind::Hull};

/// Every pair of kinds, many poses, separated and overlapping, against the enumeration.
class Pairs : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(Pairs, AgreeWithEnumeration) {
  const auto [dim, ka, kb] = GetParam();
  Random random(1000 * dim + 10 * ka + kb);
  int overlaps = 0;
  for (int i = 0; i < 60; ++i) {
    const Shape a = test::random_shape(random, kBounded[ka], dim);
    const Shape b = test::random_shape(random, kBounded[kb], dim);
    const Pose X = test::random_pose(random, dim, 1.2), Y = test::random_pose(random, dim, 0.5);
    const ContactPoint c = distance(a, X, b, Y);
    const double reference = test::reference_distance(a, X, b, Y);
    EXPECT_NEAR(c.gap, reference, 2e-12) << "case " << i;
    overlaps += reference < 0;
    EXPECT_NEAR(c.normal.norm(), 1, 1e-14);
    EXPECT_LT((c.point_a - c.point_b - c.normal * c.gap).norm(), 1e-12);
    EXPECT_TRUE(test::contains(a, X, c.point_a, 1e-11)) << "case " << i;
    EXPECT_TRUE(test::contains(b, Y, c.point_b, 1e-11)) << "case " << i;
    EXPECT_NEAR(test::directed_separation(a, X, b, Y, c.normal), c.gap, 2e-12) << "case " << i;
  }
  EXPECT_GT(overlaps, 5);
  EXPECT_LT(overlaps, 58);
}

TEST_P(Pairs, AreFoundJustWithinTheMargin) {
  const auto [dim, ka, kb] = GetParam();
  Random random(5000 * dim + 10 * ka + kb);
  int apart = 0;
  for (int i = 0; i < 100; ++i) {
    const Shape a = test::random_shape(random, kBounded[ka], dim);
    const Shape b = test::random_shape(random, kBounded[kb], dim);
    const Pose X = test::random_pose(random, dim, 2.5), Y = test::random_pose(random, dim, 0.5);
    const double gap = distance(a, X, b, Y).gap;  // within no margin: nothing is left out
    if (!(gap > 1e-3)) continue;
    ++apart;
    ContactPoint out[kMaxContacts];
    EXPECT_GT(contacts(a.view(), X, b.view(), Y, (1 + 1e-9) * gap, out), 0) << "case " << i;
    EXPECT_EQ(contacts(a.view(), X, b.view(), Y, (1 - 1e-9) * gap, out), 0) << "case " << i;
  }
  EXPECT_GT(apart, 10);
}

TEST_P(Pairs, SwapNegatesTheNormal) {
  const auto [dim, ka, kb] = GetParam();
  Random random(7000 * dim + 10 * ka + kb);
  for (int i = 0; i < 100; ++i) {
    const Shape a = test::random_shape(random, kBounded[ka], dim);
    const Shape b = test::random_shape(random, kBounded[kb], dim);
    const Pose X = test::random_pose(random, dim, 1.5), Y = test::random_pose(random, dim, 0.5);
    const ContactPoint c = distance(a, X, b, Y), r = distance(b, Y, a, X);
    EXPECT_NEAR(c.gap, r.gap, 1e-13);
    EXPECT_LT((c.normal + r.normal).norm(), 1e-9) << "case " << i;
    EXPECT_LT((c.point_a - r.point_b).norm(), 1e-9);
  }
}

TEST_P(Pairs, MoveWithTheWorld) {
  const auto [dim, ka, kb] = GetParam();
  Random random(9000 * dim + 10 * ka + kb);
  for (int i = 0; i < 100; ++i) {
    const Shape a = test::random_shape(random, kBounded[ka], dim);
    const Shape b = test::random_shape(random, kBounded[kb], dim);
    const Pose X = test::random_pose(random, dim, 1.5), Y = test::random_pose(random, dim, 0.5);
    const Pose Z = test::random_pose(random, dim, 3);
    const ContactPoint c = distance(a, X, b, Y);
    const ContactPoint m = distance(a, compose(Z, X), b, compose(Z, Y));
    EXPECT_NEAR(c.gap, m.gap, 1e-13);
    EXPECT_LT((rotate(Z.p, c.normal) - m.normal).norm(), 1e-8) << "case " << i;
    EXPECT_LT((transform(Z, c.point_b) - m.point_b).norm(), 1e-8) << "case " << i;
  }
}

TEST_P(Pairs, ContinuousThroughTouching) {
  const auto [dim, ka, kb] = GetParam();
  Random random(5000 * dim + 10 * ka + kb);
  for (int i = 0; i < 40; ++i) {
    const Shape a = test::random_shape(random, kBounded[ka], dim);
    const Shape b = test::random_shape(random, kBounded[kb], dim);
    const Pose X = test::random_pose(random, dim, 2), Y = test::random_pose(random, dim, 0.5);
    // Slide A along its normal until the bodies touch, then through it by tiny steps. Until then
    // the gap is the slide; beyond it (corners pass each other) it changes by no more than that.
    const ContactPoint c = distance(a, X, b, Y);
    if (c.gap < 0) continue;
    for (double gap : {1e-3, 1e-6, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -1e-6}) {
      Pose Z = X;
      Z.x += c.normal * (gap - c.gap);
      const double found = distance(a, Z, b, Y).gap;
      if (gap >= 0) {
        EXPECT_NEAR(found, gap, 4e-12) << "case " << i;
      } else {
        EXPECT_LE(std::abs(found), -gap + 4e-12) << "case " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pairs,
                         ::testing::Combine(::testing::Values(2, 3), ::testing::Range(0, 4),
                                            ::testing::Range(0, 4)),
                         [](const auto& p) {
                           return std::to_string(std::get<0>(p.param)) + "d_" +
                                  test::kind_name(kBounded[std::get<1>(p.param)]) + "_" +
                                  test::kind_name(kBounded[std::get<2>(p.param)]);
                         });

}  // namespace
}  // namespace orthant
