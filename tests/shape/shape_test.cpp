// SPDX-License-Identifier: Apache-2.0
// Building shapes: hulls, sections, names, bounds, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"
#include "support.hpp"

namespace orthant {
namespace {

using test::Random;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Runs `make` and returns the message of the Error it must throw.
template <class Make>
std::string refusal(Make&& make) {
  try {
    make();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}

TEST(Shape, RefusesSizesThatAreNotPositiveAndNamesThem) {
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal([] { Shape::sphere(0, "ball"); }),
            "ball: radius must be positive and finite, is 0");
  EXPECT_EQ(refusal([] { Shape::capsule(0.1, -2, "rod"); }),
            "rod: half_length must be positive and finite, is -2");
  EXPECT_EQ(refusal([] { Shape::box(1, 1, kNan, "crate"); }),
            "crate: half_z must be positive and finite, is nan");
  EXPECT_EQ(refusal([] { Shape::rectangle(kInfinity, 1, "plate"); }),
            "plate: half_x must be positive and finite, is inf");
  EXPECT_THAT(refusal([] { mass_properties(Shape::half_space(), 1); }), HasSubstr("half-space"));
  EXPECT_THAT(refusal([] { mass_properties(Shape::sphere(1, "ball"), -1); }),
              HasSubstr("density must be positive"));
}

TEST(Shape, RefusesDegenerateHulls) {
  using ::testing::HasSubstr;
  std::vector<Vec3> three{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
  EXPECT_THAT(refusal([&] { Shape::hull(three, "rock"); }),
              HasSubstr("rock: a hull needs at least 4 points, has 3"));
  std::vector<Vec3> same = three;
  same.push_back({1, 0, 0});
  EXPECT_THAT(refusal([&] { Shape::hull(same, "rock"); }), HasSubstr("4 different points, has 3"));
  Random random(1);
  std::vector<Vec3> flat;
  const Quat tilt = exp_rotation(Vec3(0.3, 0.4, 0.5));
  for (int i = 0; i < 20; ++i)
    flat.push_back(rotate(tilt, Vec3(random.uniform(-1, 1), random.uniform(-1, 1), 0)));
  EXPECT_THAT(refusal([&] { Shape::hull(flat, "rock"); }), HasSubstr("must not lie in one plane"));
  std::vector<Vec3> line;
  for (int i = 0; i < 5; ++i) line.push_back(Vec3(1, 2, 3) * i);
  EXPECT_THAT(refusal([&] { Shape::hull(line, "rock"); }), HasSubstr("must not lie in one plane"));
  std::vector<Vec3> bad{{0, 0, 0}, {1, 0, 0}, {0, kNan, 0}, {0, 0, 1}};
  EXPECT_THAT(refusal([&] { Shape::hull(bad, "rock"); }),
              HasSubstr("hull point 2 must be finite, is (0, nan, 0)"));
  std::vector<Vec2> collinear{{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  EXPECT_THAT(refusal([&] { Shape::polygon(collinear, "tile"); }),
              HasSubstr("must not lie on one line"));
  std::vector<Vec2> pair{{0, 0}, {1, 1}, {0, 0}};
  EXPECT_THAT(refusal([&] { Shape::polygon(pair, "tile"); }), HasSubstr("has 2 of 3"));
  std::vector<Vec3> ball;
  for (int i = 0; i < 400; ++i) ball.push_back(random.direction());
  EXPECT_THAT(refusal([&] { Shape::hull(ball, "rock"); }),
              HasSubstr("at most 255 vertices, has 400"));
}

TEST(Shape, HullDropsInnerAndDuplicatePoints) {
  Random random(2);
  std::vector<Vec3> points;
  for (int i = 0; i < 8; ++i)
    points.push_back({(i & 1) ? 1.0 : -1.0, (i & 2) ? 1.0 : -1.0, (i & 4) ? 1.0 : -1.0});
  const std::vector<Vec3> corners = points;
  for (int i = 0; i < 50; ++i) points.push_back(random.vector(0.99));
  for (int i = 0; i < 8; ++i) points.push_back(corners[i] + random.vector(1e-15));
  for (int i = 0; i < 6; ++i) {  // on the faces and edges
    points.push_back({1, random.uniform(-1, 1), random.uniform(-1, 1)});
    points.push_back({1, -1, random.uniform(-1, 1)});
  }
  const Shape s = Shape::hull(points);
  EXPECT_EQ(s.topology().vertex_count, 8);
  EXPECT_EQ(s.topology().face_count(), 6);
  EXPECT_EQ(s.topology().edge_count(), 12);
}

TEST(Shape, HullTopologyIsClosedAndFacesLookOutward) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const double thin = std::pow(10.0, random.uniform(-6, 0));  // down to thin plates
    std::vector<Vec3> points;
    for (int k = 0; k < 4 + random.integer(60); ++k)
      points.push_back(random.direction().cwiseProduct(Vec3(1, 1, thin)));
    const Shape s = Shape::hull(points);
    const HullTopology& h = s.topology();
    EXPECT_EQ(h.vertex_count - h.edge_count() + h.face_count(), 2);
    for (const HullEdge& e : h.edges) {
      ASSERT_GE(e.f1, 0);
      const Vec3 d = core_vertex(s.view(), e.v1) - core_vertex(s.view(), e.v0);
      const Vec3 c = core_face(s.view(), e.f0).normal.cross(core_face(s.view(), e.f1).normal);
      EXPECT_GT(d.dot(c), -1e-12);  // the edge runs along n0 x n1
    }
    for (Index f = 0; f < h.face_count(); ++f) {
      const PlaneT<double> plane = core_face(s.view(), f);
      for (const Vec3& p : points) EXPECT_LT(plane.normal.dot(p - plane.point), 1e-12);
    }
    EXPECT_NO_THROW(check_parameters(s.view(), "hull"));
  }
}

TEST(Shape, ChangedParametersAreCheckedAgain) {
  Random random(4);
  const Shape s = test::random_shape(random, ShapeKind::Hull, 3);
  std::vector<double> p(s.parameters().begin(), s.parameters().end());
  for (int k = 0; k < 3; ++k) p[k] = -p[k];  // one vertex through the body to the other side
  EXPECT_THAT(refusal([&] { check_parameters(s.view(p.data()), "rock"); }),
              ::testing::HasSubstr("hull must stay convex"));
  const double radius = -1;
  EXPECT_THAT(refusal([&] { check_parameters(Shape::sphere(1).view(&radius), "ball"); }),
              ::testing::HasSubstr("radius must be positive"));
}

TEST(Shape, NamesOfParameters) {
  const auto names = [](const Shape& s) {
    std::string all;
    for (int i = 0; i < s.parameter_count(); ++i) all += s.parameter_name(i) + " ";
    return all;
  };
  EXPECT_EQ(names(Shape::sphere(1)), "radius ");
  EXPECT_EQ(names(Shape::stadium(1, 2)), "radius half_length ");
  EXPECT_EQ(names(Shape::box(1, 2, 3)), "half_x half_y half_z ");
  EXPECT_EQ(names(Shape::rectangle(1, 2)), "half_x half_y ");
  const std::vector<Vec2> triangle{{0, 0}, {1, 0}, {0, 1}};
  EXPECT_EQ(names(Shape::polygon(triangle)),
            "vertex/0.x vertex/0.y vertex/1.x vertex/1.y vertex/2.x vertex/2.y ");
  EXPECT_EQ(names(Shape::half_space()), "");
}

TEST(Shape, SectionsAtZero) {
  EXPECT_EQ(Shape::sphere(2).section().dim(), 2);
  EXPECT_EQ(Shape::box(1, 2, 3).section().parameters()[1], 2);
  // A cube cut through its middle along z: the square. Standing on a corner: the regular hexagon.
  std::vector<Vec3> cube;
  const Vec3 axis = Vec3(1, 1, 1).normalized().cross(Vec3(0, 0, 1)).normalized();
  const Quat corner = exp_rotation(Vec3(axis * std::acos(1 / std::sqrt(3.0))));
  for (int i = 0; i < 8; ++i)
    cube.push_back({(i & 1) ? 1.0 : -1.0, (i & 2) ? 1.0 : -1.0, (i & 4) ? 1.0 : -1.0});
  EXPECT_NEAR(mass_properties(Shape::hull(cube).section(), 1).mass, 4, 1e-14);
  for (Vec3& p : cube) p = rotate(corner, p);
  const Shape hexagon = Shape::hull(cube).section();
  EXPECT_EQ(hexagon.topology().vertex_count, 6);
  EXPECT_NEAR(mass_properties(hexagon, 1).mass, 3 * std::sqrt(3.0), 1e-13);  // side sqrt 2
  for (Vec3& p : cube) p[2] += 5;
  EXPECT_THROW(Shape::hull(cube).section(), Error);
}

TEST(Shape, BoundsHoldTheShapeAndTouchIt) {
  Random random(6);
  for (ShapeKind kind : {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box, ShapeKind::Hull})
    for (int dim : {2, 3})
      for (int i = 0; i < 50; ++i) {
        const Shape s = test::random_shape(random, kind, dim);
        const Pose X = test::random_pose(random, dim, 2);
        const Bounds box = bounds(s, X);
        double radius = 0;
        Vec3 lo = Vec3::Constant(kInfinity), hi = -lo;
        for (Index k = 0; k < s.topology().vertex_count; ++k) {
          const Vec3 v = transform(X, core_vertex(s.view(), k));
          lo = lo.cwiseMin(v);
          hi = hi.cwiseMax(v);
          radius = std::max(radius, core_vertex(s.view(), k).norm());
        }
        const double r = core_radius(s.view());
        for (int k = 0; k < dim; ++k) {
          EXPECT_NEAR(box.lo[k], lo[k] - r, 1e-14);
          EXPECT_NEAR(box.hi[k], hi[k] + r, 1e-14);
        }
        EXPECT_NEAR(bounding_radius(s), radius + r, 1e-15);
      }
  EXPECT_EQ(bounds(Shape::half_space(), Pose{}).hi[2], kInfinity);
  EXPECT_EQ(smallest_width(Shape::box(3, 1, 2)), 2);
  EXPECT_EQ(smallest_width(Shape::capsule(0.5, 2)), 1);
}

}  // namespace
}  // namespace orthant
