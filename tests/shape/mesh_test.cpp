// SPDX-License-Identifier: Apache-2.0
// Meshes and height fields: a flat one is a half-space to everything that lies on it, seams and
// valleys push nobody, ridges push within the arc of their faces.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/base/error.hpp"
#include "shape/mesh_contacts.hpp"
#include "support.hpp"

namespace orthant {
namespace {

using test::Random;
constexpr double kPi = std::numbers::pi;

/// Heights of z(x, y) on n x n points over the square |x|, |y| <= half.
template <class F>
Shape field(int n, double half, F&& z) {
  std::vector<double> heights;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      heights.push_back(z(half * (2.0 * j / (n - 1) - 1), half * (2.0 * i / (n - 1) - 1)));
  return Shape::height_field(heights, n, n, half, half);
}

std::vector<ContactPoint> meet(const Shape& a, const Pose& X, const Shape& mesh,
                               double margin = 0.05) {
  std::vector<ContactPoint> out;
  mesh_contacts(a, X, mesh, Pose{}, margin, out);
  for (const ContactPoint& c : out) {
    EXPECT_NEAR(c.normal.norm(), 1, 1e-12);
    EXPECT_LT((c.point_a - c.point_b - c.gap * c.normal).norm(), 1e-10);
    const ContactPoint again = evaluate_contact(c.feature, a.view(), X, mesh.view(), Pose{});
    EXPECT_NEAR(again.gap, c.gap, 1e-10);
    EXPECT_LT((again.normal - c.normal).norm(), 1e-8);
  }
  return out;
}

std::vector<Shape> movers() {
  std::vector<Vec3> wedge = {{-0.2, -0.2, -0.1}, {0.2, -0.2, -0.1}, {0, 0.25, -0.1}, {0, 0, 0.2}};
  return {Shape::sphere(0.2),
          Shape::capsule(0.1, 0.2),
          Shape::box(0.2, 0.15, 0.1),
          Shape::hull(wedge),
          Shape::cylinder(0.15, 0.2),
          Shape::cone(0.2, 0.15),
          Shape::ellipsoid(0.2, 0.15, 0.1),
          Shape::torus(0.2, 0.05),
          Shape::rounded_hull(wedge, 0.05)};
}

TEST(Mesh, FlatOneIsAPlaneToEveryShape) {
  const Shape flat = field(41, 2, [](double, double) { return 0.0; }), floor = Shape::half_space();
  Random random(3);
  for (const Shape& s : movers())
    for (int i = 0; i < 60; ++i) {
      SCOPED_TRACE(::testing::Message() << test::kind_name(s.kind()) << " " << i);
      Pose X = test::random_pose(random, 3, 0.5);
      if (i % 3 == 0) X.p = exp_rotation(Vec3(0, 0, random.uniform(-3, 3)));  // faces flush
      if (i % 6 == 0) X.x.head<2>() = Vec2(0.1, 0.1) * random.integer(5);     // over seams
      X.x[2] = 0;
      X.x[2] -= distance(s, X, floor, Pose{}).gap - random.uniform(-0.01, 0.02);
      const ContactPoint truth = distance(s, X, floor, Pose{});
      const std::vector<ContactPoint> found = meet(s, X, flat);
      ASSERT_FALSE(found.empty());
      EXPECT_LE(found.size(), 4u);
      double least = 1e9;
      for (const ContactPoint& c : found) {
        EXPECT_LT((c.normal - Vec3(0, 0, 1)).norm(), 1e-12);  // never a seam's
        EXPECT_NEAR(c.point_b[2], 0, 1e-12);
        least = std::min(least, c.gap);
      }
      EXPECT_NEAR(least, truth.gap,
                  s.kind() == ShapeKind::Cylinder || s.kind() == ShapeKind::Cone ? 2e-8 : 1e-12);
      ContactPoint plane[kMaxContacts];
      const int n = contacts(s, X, floor, Pose{}, 0.05, plane);
      if (i % 3 == 0 && n >= 3) {
        EXPECT_GE(found.size(), 3u);
      }
    }
}

TEST(Mesh, RidgePushesWithinTheArcOfItsFacesAndAValleyNot) {
  // A roof of 45 degrees along y.
  const Shape roof = field(21, 1, [](double x, double) { return -std::abs(x); });
  const Shape ball = Shape::sphere(0.2);
  for (const double angle : {-1.2, -0.7, -0.3, 0.0, 0.3, 0.7, 1.2}) {
    const Vec3 n(std::sin(angle), 0, std::cos(angle));
    const Pose X{Vec3(0, 0.03, 0) + 0.2 * n, {}};
    const auto found = meet(ball, X, roof, 0.01);
    if (std::abs(angle) < kPi / 4) {  // on the ridge
      ASSERT_EQ(found.size(), 1u) << angle;
      EXPECT_LT((found[0].normal - n).norm(), 1e-12);
      EXPECT_NEAR(found[0].gap, 0, 1e-12);
    } else {  // inside the slope: its own normal
      ASSERT_EQ(found.size(), 1u) << angle;
      const double d = std::sqrt(0.5);
      EXPECT_LT((found[0].normal - Vec3(angle < 0 ? -d : d, 0, d)).norm(), 1e-12);
    }
  }
  const Shape valley = field(21, 1, [](double x, double) { return std::abs(x); });
  const auto found = meet(ball, {Vec3(0, 0.03, 0.2 * std::sqrt(2.0)), {}}, valley, 0.01);
  ASSERT_EQ(found.size(), 2u);
  for (const ContactPoint& c : found) EXPECT_NEAR(std::abs(c.normal[0]), std::sqrt(0.5), 1e-12);
}

/// A staircase of three steps as a mesh: treads at z = 0, 0.2, 0.4, risers at x = 0 and 0.5.
Shape stairs() {
  const double x[] = {-1, 0, 0, 0.5, 0.5, 1}, z[] = {0, 0, 0.2, 0.2, 0.4, 0.4};
  std::vector<Vec3> corners;
  std::vector<std::array<std::int32_t, 3>> triangles;
  for (const double y : {-1.0, 1.0})
    for (int i = 0; i < 6; ++i) corners.emplace_back(x[i], y, z[i]);
  for (int i = 0; i < 5; ++i) {
    triangles.push_back({i, i + 1, i + 7});
    triangles.push_back({i, i + 7, i + 6});
  }
  return Shape::mesh(corners, triangles);
}

TEST(Mesh, AFootOnStairsIsHeldByTreadsNotByTheRiserBelow) {
  const Shape foot = Shape::box(0.1, 0.05, 0.02), steps = stairs();
  // Toes over the edge of the second tread, heel in the air before it.
  for (const double toe : {1e-4, 0.01, 0.05, 0.099}) {
    const Pose X{Vec3(toe - 0.1, 0, 0.22 - 1e-6), {}};
    const auto found = meet(foot, X, steps, 0.01);
    ASSERT_FALSE(found.empty()) << toe;
    for (const ContactPoint& c : found) {
      EXPECT_LT((c.normal - Vec3(0, 0, 1)).norm(), 1e-9) << toe;
      EXPECT_NEAR(c.gap, -1e-6, 1e-9);
      EXPECT_GE(c.point_b[0], -1e-9);
    }
  }
  // Toes against the riser.
  const auto found = meet(foot, {Vec3(-0.1 + 1e-6, 0, 0.02), {}}, steps, 0.01);
  bool riser = false, tread = false;
  for (const ContactPoint& c : found) {
    riser = riser || (c.normal - Vec3(-1, 0, 0)).norm() < 1e-9;
    tread = tread || (c.normal - Vec3(0, 0, 1)).norm() < 1e-9;
  }
  EXPECT_TRUE(riser && tread);
}

TEST(Mesh, SpheresOnRoughGroundTouchTheNearestPoint) {
  const auto z = [](double x, double y) { return 0.1 * std::sin(3 * x) * std::cos(4 * y + 0.3); };
  const Shape rough = field(33, 1, z);
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    const double r = random.uniform(0.02, 0.1);
    Vec3 at(random.uniform(-0.8, 0.8), random.uniform(-0.8, 0.8), 0);
    at[2] = z(at[0], at[1]) + random.uniform(0.3, 1.5) * r;
    // The nearest point over all triangles, each by itself.
    double truth = 1e9;
    const TriangleMesh& m = *rough.topology().mesh;
    for (Index t = 0; t < static_cast<Index>(m.triangles.size()); ++t) {
      const internal::MeshTriangle<double> triangle(rough.view(), t);
      if ((m.corners[m.triangles[t][0]] - at).norm() > 0.5) continue;
      truth = std::min(truth, distance(Shape::sphere(r), {at, {}}, triangle.view(), Pose{}).gap);
    }
    const auto found = meet(Shape::sphere(r), {at, {}}, rough, 0.05);
    if (truth >= 0.05) continue;
    ASSERT_FALSE(found.empty()) << i;
    double least = 1e9;
    for (const ContactPoint& c : found) least = std::min(least, c.gap);
    EXPECT_NEAR(least, truth, 1e-9) << i;
  }
}

TEST(Mesh, DerivativesByPoseAndScaleAgainstDifferences) {
  using D = Dual<9>;
  const Shape rough = field(17, 1, [](double x, double y) { return 0.2 * std::sin(2 * x + y); });
  Random random(7);
  const double h = 1e-6;
  int checked = 0;
  for (const Shape& s : movers())
    for (int i = 0; i < 10; ++i) {
      Pose X = test::random_pose(random, 3, 0.4);
      X.x[2] = 0.25;
      for (const ContactPoint& c : meet(s, X, rough, 0.1)) {
        const auto evaluate = [&]<class T>(const std::array<T, 9>& d) {
          std::vector<T> pa(s.parameters().begin(), s.parameters().end());
          T pb[3];
          for (std::size_t k = 0; k < 3; ++k) pb[k] = T(rough.parameters()[k]) + d[6 + k];
          const PoseT<T> W = pose_cast<T>(X);
          const PoseT<T> Z{W.x + Vec3T<T>(d[0], d[1], d[2]),
                           boxplus(W.p, Vec3T<T>(d[3], d[4], d[5]))};
          return evaluate_contact(c.feature, s.view(pa.data()), Z, rough.view(pb), PoseT<T>{});
        };
        std::array<D, 9> dual;
        for (int j = 0; j < 9; ++j) dual[static_cast<std::size_t>(j)] = D::variable(0, j);
        const auto exact = evaluate(dual);
        for (int j = 0; j < 9; ++j) {
          std::array<double, 9> up{}, down{};
          up[static_cast<std::size_t>(j)] = h;
          down[static_cast<std::size_t>(j)] = -h;
          const double difference = (evaluate(up).gap - evaluate(down).gap) / (2 * h);
          EXPECT_NEAR(exact.gap.d[j], difference, 1e-6 * (1 + std::abs(difference)));
          ++checked;
        }
      }
    }
  EXPECT_GT(checked, 500);
}

TEST(Mesh, BadInputIsRefusedOrMendedByName) {
  const std::vector<Vec3> corners = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {2, 0, 0}};
  using T = std::vector<std::array<std::int32_t, 3>>;
  std::size_t left_out = 0;
  const Shape s = Shape::mesh(corners, T{{0, 1, 2}, {0, 3, 4}, {1, 3, 2}}, "m", &left_out);
  EXPECT_EQ(left_out, 2u);  // corners on a line; a corner twice, by its place
  EXPECT_EQ(s.topology().mesh->triangles.size(), 1u);
  EXPECT_THROW(Shape::mesh(corners, T{}, "m"), Error);
  EXPECT_THROW(Shape::mesh(corners, T{{0, 1, 5}}, "m"), Error);
  EXPECT_THROW(Shape::mesh(corners, T{{0, 1, -1}}, "m"), Error);
  EXPECT_THROW(Shape::mesh(corners, T{{0, 1, 4}}, "m"), Error);  // nothing has an area
  std::vector<Vec3> bad = corners;
  bad[1][2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Shape::mesh(bad, T{{0, 1, 2}}, "m"), Error);
  EXPECT_THROW(Shape::mesh(corners, T(2'000'001, {0, 1, 2}), "m"), Error);
  const std::vector<double> four = {0, 0, 0, 0};
  EXPECT_THROW(Shape::height_field(four, 2, 3, 1, 1), Error);
  EXPECT_THROW(Shape::height_field(four, 1, 4, 1, 1), Error);
  EXPECT_THROW(Shape::height_field(four, 2, 2, 0, 1), Error);
  EXPECT_THROW(mass_properties(s, 1.0), Error);
  EXPECT_THROW(s.section(), Error);
}

}  // namespace
}  // namespace orthant
