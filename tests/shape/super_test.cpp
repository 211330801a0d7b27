// SPDX-License-Identifier: Apache-2.0
// Super-ellipsoids: ellipsoids in disguise, boxes of round corners met along their axes, and a
// minimiser that knows norms only and searches by brute force. h(n) below is a dual norm; the
// library never evaluates it, it takes n.x at the point of the surface.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/shape/surface.hpp"
#include "support.hpp"

namespace orthant {
namespace {

using test::at;
using test::brute_force;
using test::directed;
using test::expect_consistent;
using test::Random;
using test::support;

TEST(SuperEllipsoid, ThePointOfANormalIsOnTheSurfaceAndFarthest) {
  Random random(1);
  for (int i = 0; i < 400; ++i) {
    const Shape s = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    Vec3 n = random.direction();
    if (i % 4 == 0) n[i / 4 % 3] = 0;  // across an axis
    if (i % 16 == 1) n = Vec3::Unit(i / 16 % 3);
    n.normalize();
    const Vec3 x = internal::super_point(s.parameters().data(), n);
    EXPECT_TRUE(test::contains(s, {}, x, 1e-13));
    EXPECT_NEAR(n.dot(x), support(s, {}, n), 1e-13);
    // No point of the drawn surface, which has another formula, is farther.
    if (i % 20 == 0) {
      const Surface surface = surface_of(s.view());
      double most = -1e300;
      for (std::size_t k = 0; k < surface.corners.size(); k += 3) {
        const Vec3 p(surface.corners[k], surface.corners[k + 1], surface.corners[k + 2]);
        most = std::max(most, n.dot(p));
        EXPECT_TRUE(test::contains(s, {}, p, 1e-12));
        EXPECT_FALSE(test::contains(s, {}, p * (1 + 1e-9), 0));
      }
      EXPECT_LE(most, n.dot(x) + 1e-12);
      EXPECT_GT(most, n.dot(x) - 0.03);
    }
  }
}

TEST(SuperEllipsoid, ExponentsOfOneAreAnEllipsoid) {
  Random random(2);
  constexpr ShapeKind kinds[] = {ShapeKind::Sphere,   ShapeKind::Capsule,   ShapeKind::Box,
                                 ShapeKind::Hull,     ShapeKind::HalfSpace, ShapeKind::Ellipsoid,
                                 ShapeKind::Cylinder, ShapeKind::Cone,      ShapeKind::Torus};
  for (int i = 0; i < 450; ++i) {
    const Shape egg = test::random_shape(random, ShapeKind::Ellipsoid, 3);
    const auto p = egg.parameters();
    const Shape same = Shape::super_ellipsoid(p[0], p[1], p[2], 1, 1);
    const Shape other = test::random_shape(random, kinds[i % 9], 3);
    const Pose X = test::random_pose(random, 3, 1.6), Y = test::random_pose(random, 3, 0.4);
    const ContactPoint truth = distance(egg, X, other, Y), c = distance(same, X, other, Y);
    const double core = truth.gap + core_radius(other.view());
    EXPECT_NEAR(c.gap, truth.gap, core > 0 ? 1e-10 : 1e-6) << i << test::kind_name(other.kind());
    if (core > 0.05) {
      EXPECT_LT((c.point_a - truth.point_a).norm(), 1e-6) << i;
    }
    if (other.kind() != ShapeKind::Torus) expect_consistent(same, X, other, Y, c, 1e-9);
  }
}

TEST(SuperEllipsoid, FlatSpotsFaceToFace) {
  const Shape block = Shape::super_ellipsoid(0.5, 0.4, 0.3, 0.4, 0.5);
  const Shape ball = Shape::sphere(0.2);
  for (const double x : {0.0, 1e-9, 0.01, 0.1}) {
    // Of the face: gap = z - c (1 - |x/a|^p)^(1/p) - r to the order of the slope squared.
    const ContactPoint c = distance(ball, at(x, 0, 0.6), block, at(0, 0, 0));
    EXPECT_NEAR(c.gap, 0.1, 2e-4) << x;
    EXPECT_NEAR(c.point_b[0], x, 1e-3) << x;  // under the ball, where the normal says little
    const ContactPoint d = distance(block, at(x, 0, 0.7), block, at(0, 0, 0));
    // Half way between, each is lower by this much.
    const double sag = 0.3 * (1 - std::pow(1 - std::pow(x / 2 / 0.5, 5), 0.2));
    EXPECT_NEAR(d.gap, 0.1 + 2 * sag, 1e-8) << x;
    EXPECT_NEAR(d.normal[2], 1, 1e-6);
  }
  EXPECT_NEAR(distance(ball, at(0, 0, 0.6), block, at(0, 0, 0)).gap, 0.1, 1e-15);
  EXPECT_NEAR(distance(block, at(0, 0, 0.35), Shape::half_space(), at(0, 0, 0)).gap, 0.05, 1e-15);
  EXPECT_NEAR(distance(block, at(0, 0, 0), block, at(0, 0.75, 0)).gap, -0.05, 1e-12);
}

TEST(SuperEllipsoid, AgreesWithBruteForceFromFarToDeep) {
  Random random(3);
  constexpr ShapeKind kinds[] = {ShapeKind::SuperEllipsoid, ShapeKind::Sphere,   ShapeKind::Capsule,
                                 ShapeKind::SuperEllipsoid, ShapeKind::Box,      ShapeKind::Hull,
                                 ShapeKind::Ellipsoid,      ShapeKind::Cylinder, ShapeKind::Cone};
  for (int i = 0; i < 252; ++i) {
    const Shape a = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    const Shape b = test::random_shape(random, kinds[i % 9], 3);
    const double reach = i % 4 == 0 ? 4 : i % 4 == 1 ? 1.2 : i % 4 == 2 ? 0.5 : 0.1;
    const Pose X = test::random_pose(random, 3, reach), Y = test::random_pose(random, 3, 0.1);
    const ContactPoint c = distance(a, X, b, Y);
    const double truth = brute_force(a, X, b, Y, random);
    EXPECT_NEAR(c.gap, directed(a, X, b, Y, c.normal), 1e-11) << i;
    // The gap is attained, so no more than the maximum; deep inside no less than 1e-6 of the size.
    const bool turned = is_turned(b.kind());
    EXPECT_GE(c.gap, truth - (truth > 0 ? 1e-9
                              : turned  ? 1e-4
                                        : 4e-6))
        << i << " " << test::kind_name(b.kind());
    SCOPED_TRACE(std::to_string(i) + test::kind_name(b.kind()) + std::to_string(c.gap));
    // Deep inside a cylinder or cone the normal is held and the points are those of its parts.
    if (!turned || c.gap > -0.1) expect_consistent(a, X, b, Y, c, 1e-9);
  }
}

TEST(SuperEllipsoid, SameFromBothSidesAndFromAnyHint) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const Shape a = test::random_shape(random, ShapeKind::SuperEllipsoid, 3),
                b = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    const Pose X = test::random_pose(random, 3, 1.2), Y = test::random_pose(random, 3, 0.3);
    const ContactPoint c = distance(a, X, b, Y), d = distance(b, Y, a, X);
    EXPECT_NEAR(c.gap, d.gap, c.gap > 0 ? 1e-12 : 4e-6);
    if (c.gap < 0) continue;
    const Vec3 hint = (c.normal + 0.05 * random.direction()).normalized();
    ContactPoint out[kMaxContacts];
    ASSERT_EQ(deepest_contacts(a, X, b, Y, c.gap + 1e-6, &hint, out), 1);
    EXPECT_NEAR(out[0].gap, c.gap, 1e-12);
    EXPECT_EQ(deepest_contacts(a, X, b, Y, c.gap - 1e-6, &hint, out), 0);
  }
}

TEST(SuperEllipsoid, NoCurvatureIsBelowTheRadiusThatTheProofUses) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const Shape s = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    const auto p = s.parameters();
    const double lo = std::min({p[0], p[1], p[2]});
    const double rho = p[3] / (2 - p[3]) * p[4] / (2 - p[4]) * lo * lo / bounding_radius(s.view());
    // h'' along a great circle is the radius of curvature less h.
    const Vec3 n = random.direction(), t = n.cross(random.direction()).normalized();
    const double step = 1e-3;
    const auto h = [&](double by) {
      return support(s, {}, Vec3(std::cos(by) * n + std::sin(by) * t));
    };
    EXPECT_GT(h(0) + (h(step) - 2 * h(0) + h(-step)) / (step * step), rho * (1 - 1e-3) - 1e-8);
    EXPECT_LE(support(s, {}, n), bounding_radius(s.view()) + 1e-12);
  }
  EXPECT_NEAR(bounding_radius(Shape::super_ellipsoid(1, 1, 1, 0.5, 0.5).view()), std::pow(3, 0.25),
              1e-14);  // the corner (k, k, k), 3 k^4 = 1
}

template <class T>
PoseT<T> moved(const Pose& X, const T* delta) {
  const PoseT<T> Z = pose_cast<T>(X);
  return {Z.x + Vec3T<T>(delta[0], delta[1], delta[2]),
          boxplus(Z.p, Vec3T<T>(delta[3], delta[4], delta[5]))};
}

TEST(SuperEllipsoid, DerivativesAgainstDifferencesOfTheSearch) {
  Random random(6);
  constexpr ShapeKind kinds[] = {
      ShapeKind::SuperEllipsoid, ShapeKind::Ellipsoid, ShapeKind::Sphere,
      ShapeKind::Capsule,        ShapeKind::Box,       ShapeKind::HalfSpace};
  int compared = 0;
  for (int i = 0; i < 180; ++i) {
    const Shape a = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    const Shape b = test::random_shape(random, kinds[i % 6], 3);
    const Pose X = test::random_pose(random, 3, 1.8), Y = test::random_pose(random, 3, 0.2);
    const ContactPoint c = distance(a, X, b, Y);
    if (c.gap + core_radius(b.view()) < 0.1) continue;
    constexpr int kMost = 22;
    using D = Dual<kMost>;
    std::vector<double> p(a.parameters().begin(), a.parameters().end());
    p.insert(p.end(), b.parameters().begin(), b.parameters().end());
    const int n = 12 + static_cast<int>(p.size());
    ASSERT_LE(n, kMost);
    D delta[12];
    std::vector<D> q(p.begin(), p.end());
    for (int k = 0; k < 12; ++k) delta[k] = D::variable(0, k);
    for (std::size_t k = 0; k < p.size(); ++k) q[k].d[12 + k] = 1;
    const auto exact =
        evaluate_contact(c.feature, a.view(q.data()), moved(X, delta),
                         b.view(q.data() + a.parameter_count()), moved(Y, delta + 6));
    const double step = 1e-5;
    const auto searched = [&](int k, double by) {
      double d[12] = {};
      std::vector<double> r = p;
      (k < 12 ? d[k] : r[static_cast<std::size_t>(k - 12)]) += by;
      return distance(a.view(r.data()), moved(X, d), b.view(r.data() + a.parameter_count()),
                      moved(Y, d + 6));
    };
    for (int k = 0; k < n; ++k) {
      if ((k == 15 || k == 16 || (b.kind() == ShapeKind::SuperEllipsoid && k >= 20)) &&
          p[static_cast<std::size_t>(k - 12)] > 1 - step)
        continue;
      const ContactPoint hi = searched(k, step), lo = searched(k, -step);
      if (hi.id != lo.id) continue;
      EXPECT_NEAR(exact.gap.d[k], (hi.gap - lo.gap) / (2 * step), 1e-7) << i << " input " << k;
      for (int r = 0; r < 3; ++r) {
        const double by[3] = {exact.normal[r].d[k], exact.point_a[r].d[k], exact.point_b[r].d[k]};
        const Vec3 *up[3] = {&hi.normal, &hi.point_a, &hi.point_b},
                   *down[3] = {&lo.normal, &lo.point_a, &lo.point_b};
        for (int o = 0; o < 3; ++o)
          EXPECT_NEAR(by[o], ((*up[o])[r] - (*down[o])[r]) / (2 * step),
                      2e-4 * (1 + std::abs(by[o])))
              << i << " " << test::kind_name(b.kind()) << " input " << k << " output " << o << r;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 1200);
}

TEST(SuperEllipsoid, MassByQuadratureAndItsDerivative) {
  Random random(8);
  for (int trial = 0; trial < 3; ++trial) {
    const Shape s = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    const auto p = s.parameters();
    constexpr int kN = 120;
    MassProperties truth;
    for (int i = 0; i < kN; ++i)
      for (int j = 0; j < kN; ++j)
        for (int k = 0; k < kN; ++k) {
          const Vec3 x(p[0] * (2 * (i + 0.5) / kN - 1), p[1] * (2 * (j + 0.5) / kN - 1),
                       p[2] * (2 * (k + 0.5) / kN - 1));
          if (!test::contains(s, {}, x, 0)) continue;
          const double dv = 8 * p[0] * p[1] * p[2] / (double(kN) * kN * kN);
          truth.mass += dv;
          truth.inertia += dv * (x.squaredNorm() * Mat3::Identity() - x * x.transpose());
        }
    const MassProperties m = mass_properties(s, 1.0);
    EXPECT_NEAR(m.mass, truth.mass, 2e-3 * truth.mass);
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(m.inertia(k, k), truth.inertia(k, k), 3e-3 * truth.inertia(k, k));
    using D = Dual<1>;
    for (std::size_t k = 0; k < 5; ++k) {
      std::vector<D> q(p.begin(), p.end());
      q[k].d[0] = 1;
      const auto by = mass_properties(s.view(q.data()), D(1));
      std::vector<double> hi(p.begin(), p.end()), lo = hi;
      hi[k] += 1e-6;
      lo[k] -= 1e-6;
      const auto up = mass_properties(s.view(hi.data()), 1.0),
                 down = mass_properties(s.view(lo.data()), 1.0);
      EXPECT_NEAR(by.mass.d[0], (up.mass - down.mass) / 2e-6, 1e-7);
      EXPECT_NEAR(by.inertia(1, 1).d[0], (up.inertia(1, 1) - down.inertia(1, 1)) / 2e-6, 1e-7);
    }
  }
  const MassProperties egg = mass_properties(Shape::ellipsoid(0.7, 1, 0.4), 3.0),
                       same = mass_properties(Shape::super_ellipsoid(0.7, 1, 0.4, 1, 1), 3.0);
  EXPECT_NEAR(same.mass, egg.mass, 1e-13);
  EXPECT_LT((same.inertia - egg.inertia).norm(), 1e-13);
}

TEST(SuperEllipsoid, BoundsAreTight) {
  Random random(9);
  for (int i = 0; i < 40; ++i) {
    const Shape s = test::random_shape(random, ShapeKind::SuperEllipsoid, 3);
    const Pose X = test::random_pose(random, 3, 1);
    const Bounds box = bounds(s, X);
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(box.hi[k], support(s, X, Vec3::Unit(k)), 1e-12);
      EXPECT_NEAR(-box.lo[k], support(s, X, -Vec3::Unit(k)), 1e-12);
    }
  }
}

TEST(SuperEllipsoid, BadNumbersAreNamed) {
  const auto message = [](auto&& make) {
    try {
      make();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([] { Shape::super_ellipsoid(1, 1, 1, 0.3, 1, "die"); }),
            "die: e1 must be in [0.4, 1], is 0.3");
  EXPECT_EQ(message([] { Shape::super_ellipsoid(1, 1, 1, 1, 1.5, "die"); }),
            "die: e2 must be in [0.4, 1], is 1.5");
  EXPECT_EQ(message([] { Shape::super_ellipsoid(1, 1, 0, 1, 1, "die"); }),
            "die: semi_z must be positive and finite, is 0");
  EXPECT_EQ(message([] { Shape::super_ellipsoid(1, 1, 1, 1, std::nan(""), "die"); }),
            "die: e2 must be in [0.4, 1], is nan");
  EXPECT_NE(message([] { Shape::super_ellipsoid(1, 1, 1, 1, 1, "die").section(); }).find("die"),
            std::string::npos);
}

}  // namespace
}  // namespace orthant
