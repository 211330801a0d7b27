// SPDX-License-Identifier: Apache-2.0
// Rays: closed forms, and the definition (the nearest point of the ray that is in the shape) by
// small steps for every kind of shape.
#include "shape/ray.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support.hpp"

namespace orthant {
namespace {

using test::Random;

TEST(Ray, ClosedForms) {
  const Pose far{Vec3(1000, 2000, -500), exp_rotation(Vec3(0.3, -0.2, 0.9))};
  const auto hits = [&](const Shape& s, const Vec3& from, const Vec3& d) {
    return cast_ray(s, far, transform(far, from), rotate(far.p, d));
  };
  const Vec3 down(0, 0, -1);
  const auto sphere = hits(Shape::sphere(0.5), Vec3(0.3, 0, 4), down);
  ASSERT_TRUE(sphere.has_value());
  EXPECT_NEAR(sphere->distance, 3.6, 1e-11);
  EXPECT_LT((sphere->normal - rotate(far.p, Vec3(0.6, 0, 0.8))).norm(), 1e-9);
  EXPECT_NEAR(hits(Shape::box(1, 2, 0.25), Vec3(0.9, -1.9, 4), down)->distance, 3.75, 1e-11);
  EXPECT_NEAR(hits(Shape::half_space(), Vec3(7, 8, 4), Vec3(0, 0.6, -0.8))->distance, 5, 1e-11);
  // Axis x: side, end, and the slope of a cone.
  EXPECT_NEAR(hits(Shape::cylinder(0.5, 1), Vec3(0.9, 0.3, 4), down)->distance, 3.6, 1e-11);
  EXPECT_NEAR(hits(Shape::cylinder(0.5, 1), Vec3(4, 0.3, 0.2), Vec3(-1, 0, 0))->distance, 3, 1e-11);
  EXPECT_NEAR(hits(Shape::cone(0.5, 1), Vec3(0, 0, 4), down)->distance, 3.75, 1e-11);
  EXPECT_NEAR(hits(Shape::torus(1, 0.2), Vec3(1, 0, 4), down)->distance, 3.8, 1e-11);
  EXPECT_FALSE(hits(Shape::torus(1, 0.2), Vec3(0.1, 0, 4), down).has_value());  // through the hole
  // From inside, backwards and out of reach: nothing.
  EXPECT_FALSE(hits(Shape::box(1, 1, 1), Vec3(0, 0, 0.5), down).has_value());
  EXPECT_FALSE(hits(Shape::sphere(1), Vec3(0, 0, 2), Vec3(0, 0, 1)).has_value());
  EXPECT_FALSE(cast_ray(Shape::sphere(1), Pose{}, Vec3(0, 0, 5), down, 3.9).has_value());
  EXPECT_TRUE(cast_ray(Shape::sphere(1), Pose{}, Vec3(0, 0, 5), down, 4.1).has_value());
}

TEST(Ray, IsTheFirstPointOfTheShape) {
  Random random(5);
  int met = 0;
  for (const ShapeKind kind : {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                               ShapeKind::Hull, ShapeKind::Ellipsoid, ShapeKind::Torus}) {
    for (int i = 0; i < 60; ++i) {
      const Shape s = kind == ShapeKind::Torus
                          ? Shape::torus(random.uniform(0.5, 1), random.uniform(0.1, 0.4))
                      : kind == ShapeKind::Ellipsoid
                          ? Shape::ellipsoid(random.uniform(0.2, 1), random.uniform(0.2, 1),
                                             random.uniform(0.2, 1))
                          : test::random_shape(random, kind, 3);
      const Pose X = test::random_pose(random, 3, 1);
      const Vec3 from = X.x + 4 * random.direction();
      const Vec3 d = (X.x + random.vector(0.7) - from).normalized();
      const auto depth =
          [&](double t) {  // signed distance of the point at t, of tori by definition
            const Vec3 p = transform(inverse(X), Vec3(from + t * d));
            if (kind == ShapeKind::Torus)
              return std::hypot(std::hypot(p[0], p[1]) - s.parameters()[0], p[2]) -
                     s.parameters()[1];
            return distance(Shape::sphere(1e-3), Pose{from + t * d, {}}, s, X).gap + 1e-3;
          };
      const auto hit = cast_ray(s, X, from, d);
      const double end = hit ? hit->distance : 8;
      double least = 1;
      for (double t = 0; t < end - 1e-6; t += 0.003) least = std::min(least, depth(t));
      EXPECT_GT(least, 0) << test::kind_name(kind) << " " << i;  // outside all the way
      if (!hit) continue;
      ++met;
      EXPECT_NEAR(depth(end), 0, 1e-10) << test::kind_name(kind) << " " << i;
      EXPECT_LT(depth(end + 1e-5), 1e-9) << test::kind_name(kind) << " " << i;
      EXPECT_LT(hit->normal.dot(d), 0);
      // The derivative of the distance by the start of the ray: -n / (n.d).
      if (hit->normal.dot(d) > -0.2) continue;
      const Vec3 e = 1e-6 * random.direction();
      const auto plus = cast_ray(s, X, from + e, d), minus = cast_ray(s, X, from - e, d);
      if (!plus || !minus || (plus->normal - minus->normal).norm() > 1e-4) continue;
      EXPECT_NEAR(0.5 * (plus->distance - minus->distance),
                  -hit->normal.dot(e) / hit->normal.dot(d), 1e-5 * e.norm());
    }
  }
  EXPECT_GT(met, 150);
}

TEST(Ray, NoneSlipsThroughTheSeamsOfAMesh) {
  std::vector<double> heights;
  for (int i = 0; i < 21 * 21; ++i) heights.push_back(0.05 * std::sin(1.7 * i));
  const Shape ground = Shape::height_field(heights, 21, 21, 1, 1);
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    // Every other ray goes through a corner of the grid.
    Vec3 at = 0.99 * random.vector(1);
    if (i % 2 == 0) at = Vec3(0.1 * (random.integer(19) - 9), 0.1 * (random.integer(19) - 9), 0);
    at[2] = 0;
    const Vec3 d = Vec3(random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), -1).normalized();
    const auto hit = cast_ray(ground, Pose{}, at - 2 * d, d);
    ASSERT_TRUE(hit.has_value()) << i;
    EXPECT_NEAR((at + (hit->distance - 2) * d)[2], 0, 0.051);
    EXPECT_FALSE(cast_ray(ground, Pose{}, at + 2 * d, -d).has_value()) << i;  // from below
  }
}

}  // namespace
}  // namespace orthant
