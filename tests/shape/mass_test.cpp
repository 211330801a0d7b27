// SPDX-License-Identifier: Apache-2.0
// Mass properties: closed forms, sums over parts, and derivatives by size.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support.hpp"

namespace orthant {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(Mass, SphereAndDisc) {
  const MassProperties s = mass_properties(Shape::sphere(2), 3);
  EXPECT_NEAR(s.mass, 3 * 4 * kPi / 3 * 8, 1e-12);
  EXPECT_NEAR(s.inertia(1, 1), 0.4 * s.mass * 4, 1e-12);
  const MassProperties d = mass_properties(Shape::disc(2), 3);
  EXPECT_NEAR(d.mass, 3 * kPi * 4, 1e-13);
  EXPECT_NEAR(d.inertia(2, 2), 0.5 * d.mass * 4, 1e-13);
  EXPECT_EQ(d.inertia(0, 0), 0);
}

TEST(Mass, BoxAndRectangle) {
  const MassProperties b = mass_properties(Shape::box(1, 2, 3), 0.5);
  EXPECT_NEAR(b.mass, 24, 1e-14);
  EXPECT_NEAR(b.inertia(0, 0), b.mass * (16 + 36) / 12, 1e-12);  // (b^2 + c^2)/12 of full sides
  EXPECT_NEAR(b.inertia(1, 1), b.mass * (4 + 36) / 12, 1e-12);
  const MassProperties r = mass_properties(Shape::rectangle(1, 2), 0.5);
  EXPECT_NEAR(r.inertia(2, 2), r.mass * (4 + 16) / 12, 1e-13);
}

/// Midpoint sums over slices across the axis, each slice a disc (a bar in the plane).
TEST(Mass, CapsuleAndStadiumAgainstSlices) {
  const double r = 0.5, h = 1.25, density = 2;
  const int slices = 200000;
  const double dx = 2 * (h + r) / slices;
  double m3 = 0, axial = 0, across = 0, m2 = 0, planar = 0;
  for (int i = 0; i < slices; ++i) {
    const double x = -(h + r) + (i + 0.5) * dx;
    const double cap = std::max(std::abs(x) - h, 0.0);
    const double y2 = r * r - cap * cap;  // squared half width of the slice
    const double disc = density * kPi * y2 * dx;
    m3 += disc;
    axial += disc * y2 / 2;
    across += disc * (y2 / 4 + x * x);
    const double bar = density * 2 * std::sqrt(y2) * dx;
    m2 += bar;
    planar += bar * (y2 / 3 + x * x);
  }
  const MassProperties c = mass_properties(Shape::capsule(r, h), density);
  EXPECT_NEAR(c.mass, m3, 1e-9);
  EXPECT_NEAR(c.inertia(0, 0), axial, 1e-9);
  EXPECT_NEAR(c.inertia(1, 1), across, 1e-8);
  EXPECT_EQ(c.inertia(1, 1), c.inertia(2, 2));
  const MassProperties s = mass_properties(Shape::stadium(r, h), density);
  EXPECT_NEAR(s.mass, m2, 1e-7);  // the slice sum has a square-root end
  EXPECT_NEAR(s.inertia(2, 2), planar, 1e-6);
}

TEST(Mass, HullOfBoxPointsOffCentre) {
  const Vec3 shift(10, -20, 5);
  std::vector<Vec3> points;
  for (int i = 0; i < 8; ++i)
    points.push_back(shift + Vec3((i & 1) ? 1 : -1, (i & 2) ? 2 : -2, (i & 4) ? 3 : -3));
  const MassProperties h = mass_properties(Shape::hull(points), 0.5);
  const MassProperties b = mass_properties(Shape::box(1, 2, 3), 0.5);
  EXPECT_NEAR(h.mass, b.mass, 1e-12);
  EXPECT_LT((h.center - shift).norm(), 1e-13);
  EXPECT_LT((h.inertia - b.inertia).norm(), 1e-11);
}

/// The unit simplex has volume 1/6, centre 1/4, and second moments 1/60 (x x) and 1/120 (x y).
TEST(Mass, TetrahedronClosedForm) {
  const std::vector<Vec3> points{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const MassProperties m = mass_properties(Shape::hull(points), 1);
  EXPECT_NEAR(m.mass, 1.0 / 6, 1e-16);
  EXPECT_LT((m.center - Vec3::Constant(0.25)).norm(), 1e-15);
  const double xx = 1.0 / 60 - m.mass / 16, xy = 1.0 / 120 - m.mass / 16;
  EXPECT_NEAR(m.inertia(0, 0), 2 * xx, 1e-16);
  EXPECT_NEAR(m.inertia(0, 1), -xy, 1e-16);
}

TEST(Mass, RandomHullAgainstTetrahedraFromItsCentre) {
  test::Random random(5);
  for (int i = 0; i < 20; ++i) {
    const Shape s = test::random_shape(random, ShapeKind::Hull, 3);
    const MassProperties m = mass_properties(s, 1.7);
    // Another decomposition: cones over the faces from an inner point, each cut round its middle.
    const HullTopology& h = s.topology();
    Vec3 inner = Vec3::Zero();
    for (Index v = 0; v < h.vertex_count; ++v) inner += core_vertex(s.view(), v) / h.vertex_count;
    MassProperties sum;
    for (Index f = 0; f < h.face_count(); ++f) {
      const Index begin = h.face_start[f], end = h.face_start[f + 1];
      Vec3 middle = Vec3::Zero();
      for (Index k = begin; k < end; ++k)
        middle += core_vertex(s.view(), h.face_vertex[k]) / (end - begin);
      for (Index k = begin; k < end; ++k) {
        const Vec3 p = core_vertex(s.view(), h.face_vertex[k]);
        const Vec3 q = core_vertex(s.view(), h.face_vertex[k + 1 < end ? k + 1 : begin]);
        const std::vector<Vec3> corners{inner, middle, p, q};
        sum = combine(sum, mass_properties(Shape::hull(corners), 1.7));
      }
    }
    EXPECT_NEAR(m.mass, sum.mass, 1e-13);
    EXPECT_LT((m.center - sum.center).norm(), 1e-13);
    EXPECT_LT((m.inertia - sum.inertia).norm(), 1e-13);
  }
}

TEST(Mass, PolygonIsTheRectangleWherever) {
  const std::vector<Vec2> points{{4, 7}, {6, 7}, {6, 11}, {4, 11}, {5, 9}};
  const MassProperties p = mass_properties(Shape::polygon(points), 0.5);
  EXPECT_NEAR(p.mass, 4, 1e-14);
  EXPECT_LT((p.center - Vec3(5, 9, 0)).norm(), 1e-14);
  EXPECT_NEAR(p.inertia(2, 2), p.mass * (4 + 16) / 12, 1e-13);
}

TEST(Mass, PartsMakeTheWhole) {
  // A box cut in two, the halves placed by turned poses, against the whole.
  const MassProperties half = mass_properties(Shape::box(0.5, 2, 3), 0.5);
  const Pose left{Vec3(-0.5, 0, 0), exp_rotation(Vec3(kPi, 0, 0))};
  const Pose right{Vec3(0.5, 0, 0), exp_rotation(Vec3(0, kPi, 0))};
  const MassProperties sum = combine(transform(left, half), transform(right, half));
  const MassProperties whole = mass_properties(Shape::box(1, 2, 3), 0.5);
  EXPECT_NEAR(sum.mass, whole.mass, 1e-13);
  EXPECT_LT(sum.center.norm(), 1e-14);
  EXPECT_LT((sum.inertia - whole.inertia).norm(), 1e-12);
}

TEST(Mass, DerivativeBySizeIsTheSlopeOfTheClosedForm) {
  using D = Dual<2>;
  const Shape s = Shape::capsule(0.5, 1.25);
  const D p[2] = {D::variable(0.5, 0), D::variable(1.25, 1)};
  const MassPropertiesT<D> m = mass_properties(s.view(p), D(2));
  EXPECT_NEAR(m.mass.d[0], 2 * (4 * kPi * 0.5 * 1.25 + 4 * kPi * 0.25), 1e-13);
  EXPECT_NEAR(m.mass.d[1], 2 * 2 * kPi * 0.25, 1e-13);
  const double h = 1e-6;
  const double slope = (mass_properties(Shape::capsule(0.5 + h, 1.25), 2).inertia(1, 1) -
                        mass_properties(Shape::capsule(0.5 - h, 1.25), 2).inertia(1, 1)) /
                       (2 * h);
  EXPECT_NEAR(m.inertia(1, 1).d[0], slope, 1e-8);
}

TEST(Mass, DerivativeByHullVertex) {
  using D = Dual<1>;
  test::Random random(8);
  const Shape s = test::random_shape(random, ShapeKind::Hull, 3);
  for (int i = 0; i < s.parameter_count(); ++i) {
    std::vector<D> p(s.parameters().begin(), s.parameters().end());
    p[i] = D::variable(p[i].v, 0);
    const MassPropertiesT<D> m = mass_properties(s.view(p.data()), D(1));
    std::vector<double> hi(s.parameters().begin(), s.parameters().end()), lo = hi;
    const double h = 1e-6;
    hi[i] += h;
    lo[i] -= h;
    const MassProperties a = mass_properties(s.view(hi.data()), 1.0);
    const MassProperties b = mass_properties(s.view(lo.data()), 1.0);
    EXPECT_NEAR(m.mass.d[0], (a.mass - b.mass) / (2 * h), 1e-9);
    EXPECT_NEAR(m.center[1].d[0], (a.center[1] - b.center[1]) / (2 * h), 1e-9);
    EXPECT_NEAR(m.inertia(0, 1).d[0], (a.inertia(0, 1) - b.inertia(0, 1)) / (2 * h), 1e-9);
  }
}

}  // namespace
}  // namespace orthant
