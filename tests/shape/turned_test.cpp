// SPDX-License-Identifier: Apache-2.0
// Cylinders and cones. A gap is proved by duality: no direction separates more than the distance of
// two points of the bodies, so a normal and a pair of points that agree are both exact. In overlap
// a search by brute force over directions, which knows support functions only, must find none
// better.
#include <gtest/gtest.h>

#include <algorithm>
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

const Vec3 kStand(0, -kPi / 2, 0);  // x to +z

Shape any_convex(Random& random, int kind) {
  constexpr ShapeKind kKinds[] = {ShapeKind::Sphere, ShapeKind::Capsule,   ShapeKind::Box,
                                  ShapeKind::Hull,   ShapeKind::Ellipsoid, ShapeKind::Cylinder,
                                  ShapeKind::Cone};
  return test::random_shape(random, kKinds[kind % 7], 3);
}

TEST(Turned, GapIsExactAgainstEveryConvexShape) {
  Random random(41);
  int apart = 0, overlapping = 0;
  double worst = 0;
  for (int i = 0; i < 1400; ++i) {
    const Shape turned = i % 2 == 0 ? test::random_shape(random, ShapeKind::Cylinder, 3)
                                    : test::random_shape(random, ShapeKind::Cone, 3);
    const Shape other = any_convex(random, i / 2);
    const Pose X = test::random_pose(random, 3, 1.6), Y = test::random_pose(random, 3, 0.5);
    SCOPED_TRACE(::testing::Message() << i << " " << test::kind_name(turned.kind()) << " "
                                      << test::kind_name(other.kind()));
    const ContactPoint c = distance(turned, X, other, Y);
    expect_consistent(turned, X, other, Y, c, 1e-9);
    EXPECT_NEAR(directed(turned, X, other, Y, c.normal), c.gap, 1e-10);
    if (c.gap > 1e-9) {  // points of the bodies at that distance: nothing can be nearer
      ++apart;
    } else {
      ++overlapping;
      if (overlapping % 3 == 0) {
        const double truth = brute_force(turned, X, other, Y, random);
        worst = std::max(worst, truth - c.gap);
        EXPECT_GE(c.gap, truth - 1e-7);
      }
    }
    const ContactPoint swapped = distance(other, Y, turned, X);
    EXPECT_NEAR(swapped.gap, c.gap, 1e-12);
  }
  EXPECT_GT(apart, 300);
  EXPECT_GT(overlapping, 300);
  RecordProperty("worst", std::to_string(worst));
}

/// Curved against curved: the maximum of f lies on a ridge, where a search gets stuck easily.
TEST(Turned, EveryGapOfASeparatedPairIsProvedInBothOrders) {
  constexpr ShapeKind kCurved[] = {ShapeKind::Cylinder, ShapeKind::Cone, ShapeKind::Ellipsoid};
  Random random(1);
  int apart = 0;
  for (int i = 0; i < 6000; ++i) {
    const Shape a = test::random_shape(random, kCurved[i % 2], 3);
    const Shape b = test::random_shape(random, kCurved[i / 2 % 3], 3);
    const Pose X = test::random_pose(random, 3, 1.6), Y = test::random_pose(random, 3, 0.5);
    const ContactPoint c = distance(a, X, b, Y), swapped = distance(b, Y, a, X);
    if (std::max(c.gap, swapped.gap) < 1e-9) continue;
    SCOPED_TRACE(::testing::Message()
                 << i << " " << test::kind_name(a.kind()) << " " << test::kind_name(b.kind()));
    ++apart;
    expect_consistent(a, X, b, Y, c, 1e-9);
    EXPECT_NEAR(directed(a, X, b, Y, c.normal), c.gap, 1e-9);
    EXPECT_NEAR(swapped.gap, c.gap, 1e-9);
  }
  EXPECT_GT(apart, 1500);
}

TEST(Turned, EveryPointOfAManifoldIsConsistent) {
  Random random(43);
  int many = 0;
  for (int i = 0; i < 1500; ++i) {
    const Shape turned = i % 2 == 0 ? test::random_shape(random, ShapeKind::Cylinder, 3)
                                    : test::random_shape(random, ShapeKind::Cone, 3);
    const Shape other = i % 5 == 4 ? Shape::half_space() : any_convex(random, random.integer(7));
    const Pose X = test::near_degenerate_pose(random, 3), Y = test::near_degenerate_pose(random, 3);
    ContactPoint out[kMaxContacts];
    const int n = contacts(turned, X, other, Y, 0.2, out);
    many += n > 1;
    SCOPED_TRACE(::testing::Message() << i << " " << test::kind_name(turned.kind()) << " "
                                      << test::kind_name(other.kind()));
    const double gap = distance(turned, X, other, Y).gap;
    EXPECT_EQ(n > 0, gap < 0.2);
    double least = 1e300;
    for (int k = 0; k < n; ++k) {
      least = std::min(least, out[k].gap);
      const ContactPoint again =
          evaluate_contact(out[k].feature, turned.view(), X, other.view(), Y);
      EXPECT_NEAR(again.gap, out[k].gap, 1e-9);
      for (int j = 0; j < k; ++j) EXPECT_NE(out[j].id, out[k].id);
    }
    if (n > 0) {
      EXPECT_NEAR(least, gap, 2e-8);
    }
  }
  EXPECT_GT(many, 150);
}

TEST(Turned, StandingAndLyingOnAPlane) {
  const Shape floor = Shape::half_space();
  const Pose I = at(0, 0, 0);
  ContactPoint out[kMaxContacts];
  const Shape c = Shape::cylinder(0.5, 1);
  ASSERT_EQ(contacts(c, at(0, 0, 1, kStand), floor, I, 0.1, out), 4);
  Vec3 sum = Vec3::Zero();
  for (const ContactPoint& p : out) {
    EXPECT_NEAR(p.gap, 0, 1e-15);
    EXPECT_NEAR(p.point_a.head<2>().norm(), 0.5, 1e-15);
    sum += p.point_a;
  }
  EXPECT_LT(sum.norm(), 1e-14);  // a square
  // The same points whatever the last digits say.
  ContactPoint shaken[kMaxContacts];
  for (const double tilt : {1e-16, -1e-13, 1e-10})
    for (const Vec3& about : {Vec3(1, 0, 0), Vec3(0.3, 1, 0)}) {
      const Pose X{Vec3(0, 0, 1), multiply(exp_rotation(Vec3(tilt * about)), exp_rotation(kStand))};
      ASSERT_EQ(contacts(c, X, floor, I, 0.1, shaken), 4);
      for (int k = 0; k < 4; ++k) EXPECT_EQ(shaken[k].id, out[k].id) << tilt;
    }
  ASSERT_EQ(contacts(c, at(0, 0, 0.5), floor, I, 0.1, out), 2);  // lying: the ends of its line
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR(out[k].gap, 0, 1e-15);
    EXPECT_LT((out[k].point_a - Vec3(out[k].point_a[0] < 0 ? -1 : 1, 0, 0)).norm(), 1e-14);
  }
  ASSERT_EQ(contacts(c, at(0, 0, 1, {0, kPi / 4, 0}), floor, I, 0.1, out), 1);
  EXPECT_NEAR(out[0].gap, 1 - 1.5 * std::sqrt(0.5), 1e-14);
  const Shape cone = Shape::cone(0.5, 1);
  EXPECT_EQ(contacts(cone, at(0, 0, 1, kStand), floor, I, 0.1, out), 4);
  const double slope = std::atan2(0.5, 2.0);  // on its side: tip and rim
  ASSERT_EQ(contacts(cone, at(0, 0, 0.3, {0, slope, 0}), floor, I, 0.5, out), 2);
  EXPECT_NEAR(out[0].gap, out[1].gap, 1e-14);
}

TEST(Turned, ManifoldsOnBoxesAndOnEachOther) {
  const Shape c = Shape::cylinder(0.5, 1), table = Shape::box(2, 2, 0.5);
  ContactPoint out[kMaxContacts];
  EXPECT_EQ(contacts(c, at(0, 0, 1.5, kStand), table, at(0, 0, 0), 0.1, out), 4);
  EXPECT_EQ(contacts(c, at(0, 0, 1), table, at(0, 0, 0), 0.1, out), 2);
  EXPECT_EQ(contacts(c, at(0, 0, 2, kStand), c, at(0, 0, 0, kStand), 0.1, out), 4);  // stacked
  EXPECT_EQ(contacts(c, at(0, 0, 1), c, at(0.5, 0, 0), 0.1, out), 2);                // side by side
  EXPECT_EQ(contacts(c, at(0, 0, 1), c, at(0, 0, 0, {0, 0, kPi / 2}), 0.1, out), 1);  // crossed
  EXPECT_EQ(contacts(Shape::box(0.1, 0.1, 0.1), at(0, 0, 1.1), c, at(0, 0, 0, kStand), 0.1, out),
            4);
  // A log across the edge of a table lies from its one end to the edge.
  ASSERT_EQ(contacts(c, at(1.5, 0, 1), table, at(0, 0, 0), 0.1, out), 2);
  EXPECT_NEAR(std::max(out[0].point_a[0], out[1].point_a[0]), 2, 1e-12);
  EXPECT_NEAR(std::min(out[0].point_a[0], out[1].point_a[0]), 0.5, 1e-12);
  // A drum that stands over the edge is held up to it.
  const int n = contacts(c, at(1.8, 0, 1.5, kStand), table, at(0, 0, 0), 0.1, out);
  double reach = 0;
  for (int k = 0; k < n; ++k) reach = std::max(reach, out[k].point_a[0]);
  EXPECT_NEAR(reach, 2, 1e-12);
}

TEST(Turned, DerivativesByPosesAndSizesAgainstDifferences) {
  using D = Dual<16>;
  Random random(47);
  const double h = 1e-5;
  std::array<int, 8> kinds{};
  for (int i = 0; i < 900; ++i) {
    const Shape a = i % 2 == 0 ? test::random_shape(random, ShapeKind::Cylinder, 3)
                               : test::random_shape(random, ShapeKind::Cone, 3);
    const Shape b = i % 4 < 2 ? any_convex(random, i % 3 == 0 ? 5 + i % 2 : random.integer(3))
                              : Shape::half_space();
    if (b.parameter_count() > 2) continue;
    const Pose X = i % 3 == 2 ? test::near_degenerate_pose(random, 3)
                              : test::random_pose(random, 3, 1.5),
               Y = test::random_pose(random, 3, 0.4);
    ContactPoint out[kMaxContacts];
    const int n = contacts(a, X, b, Y, 0.3, out);
    const auto evaluate = [&]<class T>(const ContactFeature& f, const std::array<T, 16>& d) {
      std::vector<T> pa(a.parameters().begin(), a.parameters().end()),
          pb(b.parameters().begin(), b.parameters().end());
      for (std::size_t k = 0; k < pa.size(); ++k) pa[k] += d[12 + k];
      for (std::size_t k = 0; k < pb.size(); ++k) pb[k] += d[14 + k];
      const auto moved = [](const Pose& Z, const T* m) {
        const PoseT<T> W = pose_cast<T>(Z);
        return PoseT<T>{W.x + Vec3T<T>(m[0], m[1], m[2]), boxplus(W.p, Vec3T<T>(m[3], m[4], m[5]))};
      };
      return evaluate_contact(f, a.view(pa.data()), moved(X, d.data()), b.view(pb.data()),
                              moved(Y, d.data() + 6));
    };
    for (int k = 0; k < n; ++k) {
      const ContactFeature& f = out[k].feature;
      std::array<D, 16> dual;
      for (int j = 0; j < 16; ++j) dual[static_cast<std::size_t>(j)] = D::variable(0, j);
      const auto exact = evaluate(f, dual);
      // Vertices near sharp rims and nearly parallel lines: differences say little there.
      double largest = 0;
      for (int j = 0; j < 16; ++j)
        for (int m = 0; m < 3; ++m) largest = std::max(largest, std::abs(exact.normal[m].d[j]));
      if (largest > 20) continue;
      ++kinds[static_cast<std::size_t>(f.kind == FeatureKind::Smooth ? f.first >> 12 : 7)];
      for (int j = 0; j < 16; ++j) {
        std::array<double, 16> up{}, down{};
        up[static_cast<std::size_t>(j)] = h;
        down[static_cast<std::size_t>(j)] = -h;
        const ContactPoint hi = evaluate(f, up), lo = evaluate(f, down);
        EXPECT_NEAR(exact.gap.d[j], (hi.gap - lo.gap) / (2 * h), 1e-6) << i << " input " << j;
        for (int m = 0; m < 3; ++m) {
          EXPECT_NEAR(exact.normal[m].d[j], (hi.normal[m] - lo.normal[m]) / (2 * h), 2e-5)
              << i << " input " << j;
          EXPECT_NEAR(exact.point_a[m].d[j], (hi.point_a[m] - lo.point_a[m]) / (2 * h), 1e-4)
              << i << " input " << j;
        }
      }
    }
  }
  for (const internal::PartKind kind :
       {internal::PartKind::Vertex, internal::PartKind::Edge, internal::PartKind::Face,
        internal::PartKind::Circle, internal::PartKind::ConeSide})
    EXPECT_GT(kinds[static_cast<std::size_t>(kind)], 5) << static_cast<int>(kind);
}

TEST(Turned, GapFollowsTheSearchWhenTheSizesChange) {
  // The whole search differenced, not one feature.
  Random random(53);
  const double h = 1e-6;
  for (int i = 0; i < 200; ++i) {
    const double r = random.uniform(0.2, 0.8), l = random.uniform(0.2, 0.8);
    const auto make = [&](double radius, double half) {
      return i % 2 == 0 ? Shape::cylinder(radius, half) : Shape::cone(radius, half);
    };
    const Shape other = any_convex(random, i % 7);
    const Pose X = test::random_pose(random, 3, 1.8), Y = test::random_pose(random, 3, 0.3);
    const Shape s = make(r, l);
    const ContactPoint c = distance(s, X, other, Y);
    if (c.gap < 0.05) continue;
    using D = Dual<2>;
    const D p[2] = {D::variable(r, 0), D::variable(l, 1)};
    std::vector<D> q(other.parameters().begin(), other.parameters().end());
    const auto exact = evaluate_contact(c.feature, s.view(p), pose_cast<D>(X), other.view(q.data()),
                                        pose_cast<D>(Y));
    const double by_r =
        (distance(make(r + h, l), X, other, Y).gap - distance(make(r - h, l), X, other, Y).gap) /
        (2 * h);
    const double by_l =
        (distance(make(r, l + h), X, other, Y).gap - distance(make(r, l - h), X, other, Y).gap) /
        (2 * h);
    EXPECT_NEAR(exact.gap.d[0], by_r, 1e-5) << i;
    EXPECT_NEAR(exact.gap.d[1], by_l, 1e-5) << i;
  }
}

TEST(Turned, MassBoundsWidthsAndSections) {
  // A prism of many sides, to the square of its angle.
  std::vector<Vec3> prism, pyramid;
  for (int i = 0; i < 120; ++i) {
    const double a = 2 * kPi * i / 120;
    for (const double x : {-0.8, 0.8}) prism.emplace_back(x, 0.5 * std::cos(a), 0.5 * std::sin(a));
    pyramid.emplace_back(-0.8, 0.5 * std::cos(a), 0.5 * std::sin(a));
  }
  pyramid.emplace_back(0.8, 0, 0);
  const std::pair<Shape, Shape> pairs[] = {{Shape::cylinder(0.5, 0.8), Shape::hull(prism)},
                                           {Shape::cone(0.5, 0.8), Shape::hull(pyramid)}};
  for (const auto& [round, many] : pairs) {
    const MassProperties m = mass_properties(round, 700), n = mass_properties(many, 700);
    EXPECT_NEAR(m.mass / n.mass, 1, 1e-3);
    EXPECT_LT((m.center - n.center).norm(), 1e-3);
    EXPECT_LT((m.inertia - n.inertia).norm(), 3e-3 * m.inertia.norm());
    const Pose X = at(1, 2, 3, {0.3, -0.7, 1.1});
    const Bounds b = bounds(round, X);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(b.hi[k], support(round, X, Vec3::Unit(k)), 1e-14);
      EXPECT_NEAR(b.lo[k], -support(round, X, -Vec3::Unit(k)), 1e-14);
    }
    EXPECT_NEAR(bounding_radius(round), std::hypot(0.5, 0.8), 1e-14);
    EXPECT_NEAR(smallest_width(round), smallest_width(many), 1e-3);
  }
  EXPECT_EQ(Shape::cylinder(0.5, 0.8).section().kind(), ShapeKind::Box);
  EXPECT_EQ(Shape::cone(0.5, 0.8).section().topology().vertex_count, 3);
  EXPECT_THROW(Shape::cylinder(-1, 1), Error);
  EXPECT_THROW(Shape::cone(1, 0), Error);
  EXPECT_EQ(Shape::cylinder(1, 2).parameter_name(1), "half_length");
}

TEST(RoundedHull, IsItsCoreInflated) {
  Random random(59);
  for (int i = 0; i < 100; ++i) {
    const Shape core = test::random_shape(random, ShapeKind::Hull, 3);
    std::vector<Vec3> points;
    const auto p = core.parameters();
    for (std::size_t k = 0; k < p.size(); k += 3) points.emplace_back(p[k], p[k + 1], p[k + 2]);
    const double r = random.uniform(0.05, 0.3);
    const Shape round = Shape::rounded_hull(points, r);
    const Shape other = any_convex(random, i % 7);
    const Pose X = test::random_pose(random, 3, 1.5), Y = test::random_pose(random, 3, 0.5);
    EXPECT_NEAR(distance(round, X, other, Y).gap, distance(core, X, other, Y).gap - r, 1e-12) << i;
    EXPECT_NEAR(smallest_width(round), smallest_width(core) + 2 * r, 1e-14);
  }
  EXPECT_EQ(Shape::rounded_hull(std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, 0.1)
                .parameter_name(12),
            "radius");
}

TEST(RoundedHull, MassByLimitsAndByCounting) {
  // A long thin core is a capsule, a small one per ball.
  const auto box = [](double x, double y, double z) {
    std::vector<Vec3> p;
    for (int i = 0; i < 8; ++i)
      p.emplace_back((i & 1) ? x : -x, (i & 2) ? y : -y, (i & 4) ? z : -z);
    return p;
  };
  const MassProperties thin = mass_properties(Shape::rounded_hull(box(1, 1e-7, 1e-7), 0.3), 1000),
                       capsule = mass_properties(Shape::capsule(0.3, 1), 1000);
  EXPECT_NEAR(thin.mass / capsule.mass, 1, 1e-5);
  EXPECT_LT((thin.inertia - capsule.inertia).norm(), 1e-5 * capsule.inertia.norm());
  const double a = 0.4, b = 0.3, c = 0.2, r = 0.1;
  EXPECT_NEAR(mass_properties(Shape::rounded_hull(box(a, b, c), r), 1.0).mass,
              8 * a * b * c + 8 * r * (a * b + b * c + c * a) + 2 * kPi * r * r * (a + b + c) +
                  4 * kPi / 3 * r * r * r,
              1e-14);
  // Counting cells of an uneven body.
  const std::vector<Vec3> points = {
      {-0.5, -0.3, -0.2}, {0.6, -0.2, -0.3}, {0, 0.5, -0.2}, {0.1, 0, 0.6}};
  const Shape s = Shape::rounded_hull(points, 0.25);
  const MassProperties m = mass_properties(s, 1.0);
  constexpr int kCells = 44;
  const double edge = 2.0 / kCells;
  double mass = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  const Shape core = Shape::hull(points), point = Shape::sphere(1e-9);
  for (int i = 0; i < kCells; ++i)
    for (int j = 0; j < kCells; ++j)
      for (int k = 0; k < kCells; ++k) {
        const Vec3 x(-1 + edge * (i + 0.5), -1 + edge * (j + 0.5), -1 + edge * (k + 0.5));
        if (distance(core, at(0, 0, 0), point, {x, {}}).gap > 0.25) continue;
        mass += edge * edge * edge;
        first += edge * edge * edge * x;
        second += edge * edge * edge * x * x.transpose();
      }
  EXPECT_NEAR(m.mass / mass, 1, 5e-3);
  EXPECT_LT((m.center - first / mass).norm(), 3e-3);
  const Mat3 about = second - mass * (first / mass) * (first / mass).transpose();
  const Mat3 inertia = about.trace() * Mat3::Identity() - about;
  EXPECT_LT((m.inertia - inertia).norm(), 1e-2 * inertia.norm());
}

}  // namespace
}  // namespace orthant
