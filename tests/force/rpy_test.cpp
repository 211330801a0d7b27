// SPDX-License-Identifier: Apache-2.0
// Mobility of Rotne, Prager and Yamakawa: the dense formula, split sums, periodic boxes.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>
#include <random>

#include "orthant/base/error.hpp"
#include "orthant/force/rpy.hpp"

namespace orthant {
namespace {

constexpr double kPi = std::numbers::pi;

struct Suspension {
  std::vector<Vec3> x;
  std::vector<double> a;
  VecX f;
};

/// Spheres at random: many overlap.
Suspension suspension(int count, double edge, bool two_sizes = false) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> place(0, edge), push(-1, 1);
  Suspension s;
  s.f.resize(3 * count);
  for (int i = 0; i < count; ++i) {
    s.x.emplace_back(place(random), place(random), place(random));
    s.a.push_back(two_sizes && i % 3 == 0 ? 0.8 : 0.5);
    for (int d = 0; d < 3; ++d) s.f[3 * i + d] = push(random);
  }
  return s;
}

/// The formula, written out as a dense matrix and not as code under test: u_i = M_ij f_j.
Eigen::MatrixXd dense(const Suspension& s, double eta) {
  const auto n = static_cast<Index>(s.x.size());
  Eigen::MatrixXd M(3 * n, 3 * n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      const Vec3 d = s.x[static_cast<std::size_t>(i)] - s.x[static_cast<std::size_t>(j)];
      const double a = s.a[static_cast<std::size_t>(i)], b = s.a[static_cast<std::size_t>(j)];
      const double r = d.norm();
      Mat3 block = Mat3::Identity() / (6 * kPi * eta * std::max(a, b));
      if (r > std::abs(a - b)) {
        const Mat3 rr = d * d.transpose() / (r * r), I = Mat3::Identity();
        if (r > a + b) {
          block = ((1 + (a * a + b * b) / (3 * r * r)) * I + (1 - (a * a + b * b) / (r * r)) * rr) /
                  (8 * kPi * eta * r);
        } else {
          const double e = (a - b) * (a - b), r3 = 32 * r * r * r;
          block = ((16 * r * r * r * (a + b) - std::pow(e + 3 * r * r, 2)) / r3 * I +
                   3 * std::pow(e - r * r, 2) / r3 * rr) /
                  (6 * kPi * eta * a * b);
        }
      }
      M.block<3, 3>(3 * i, 3 * j) = block;
    }
  return M;
}

double worst(const VecX& x, const VecX& y) {
  return (x - y).cwiseAbs().maxCoeff() / y.cwiseAbs().maxCoeff();
}

TEST(Rpy, ThousandSpheresEqualTheDenseFormula) {
  for (const bool two : {false, true}) {
    const Suspension s = suspension(1000, 12, two);
    const RpyMobility mobility(s.x, s.a, {.viscosity = 0.7});
    EXPECT_TRUE(mobility.is_direct());
    VecX u;
    mobility.apply(s.f, u);
    EXPECT_LT(worst(u, dense(s, 0.7) * s.f), 1e-12);
  }
}

TEST(Rpy, IsPositiveEvenWhereSpheresOverlap) {
  const Suspension s = suspension(120, 2.2, true);  // 30 times as dense as a packing
  const Eigen::MatrixXd M = dense(s, 1);
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(M).eigenvalues()[0], 0);
}

TEST(Rpy, SplitSumMeetsItsTolerance) {
  for (const bool two : {false, true}) {
    const Suspension s = suspension(3000, 20, two);
    VecX exact, u;
    RpyMobility(s.x, s.a, {.viscosity = 2}).apply(s.f, exact);
    for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6, 1e-8}) {
      const RpyMobility mobility(s.x, s.a,
                                 {.viscosity = 2, .tolerance = tolerance, .direct_up_to = 0});
      EXPECT_FALSE(mobility.is_direct());
      mobility.apply(s.f, u);
      EXPECT_LT(worst(u, exact), tolerance) << two;
    }
  }
}

TEST(Rpy, SplitSumIsSymmetric) {
  const Suspension s = suspension(400, 9, true);
  const Suspension other = suspension(400, 7);
  for (const bool periodic : {false, true}) {
    RpySettings settings{.tolerance = 1e-3, .direct_up_to = 0};
    if (periodic) settings.box = {Vec3::Zero(), Vec3(9, 9, 10)};
    const RpyMobility mobility(s.x, s.a, settings);
    VecX u, v;
    mobility.apply(s.f, u);
    mobility.apply(other.f, v);
    EXPECT_NEAR(u.dot(other.f), v.dot(s.f), 1e-12 * u.norm() * other.f.norm());
    EXPECT_GT(u.dot(s.f), 0);
  }
}

TEST(Rpy, PeriodicSumDoesNotDependOnTheSplit) {
  // Plain sums at different cuts: the box twice as long along x with the spheres twice is the same.
  const Suspension s = suspension(60, 6, true);
  const RpyMobility one(s.x, s.a, {.tolerance = 1e-13, .box = {{Vec3::Zero(), Vec3(6, 6, 6)}}});
  Suspension twice = s;
  twice.f.resize(2 * s.f.size());
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    twice.x.push_back(s.x[i] + Vec3(6, 0, 0));
    twice.a.push_back(s.a[i]);
  }
  twice.f << s.f, s.f;
  const RpyMobility two(twice.x, twice.a,
                        {.tolerance = 1e-13, .box = {{Vec3(-1, 0, 2), Vec3(11, 6, 8)}}});
  VecX u, v;
  one.apply(s.f, u);
  two.apply(twice.f, v);
  EXPECT_LT(worst(v.head(u.size()), u), 1e-12);
  EXPECT_LT(worst(v.tail(u.size()), u), 1e-12);
}

TEST(Rpy, PeriodicArrayHasHasimotosDrag) {
  // A simple cubic array of spheres, all pulled alike: U 6πηa/F = 1 − 2.837297 φ' + 4.19 φ'³, φ' =
  // a/L: the series of the point-force lattice with the finite size to this order (Hasimoto 1959).
  const double a = 0.05;
  const RpyMobility mobility({Vec3(0.3, 0.9, 0.2)}, {a},
                             {.tolerance = 1e-13, .box = {{Vec3::Zero(), Vec3::Ones()}}});
  VecX u;
  mobility.apply(Vec3(1, 0, 0), u);
  const double expected = 1 - 2.837297479 * a + 4 * kPi / 3 * a * a * a;
  EXPECT_NEAR(u[0] * 6 * kPi * a, expected, 1e-9);
  EXPECT_NEAR(u[1], 0, 1e-14);
}

TEST(Rpy, PeriodicGridMeetsItsTolerance) {
  const Suspension s = suspension(1000, 13, true);
  const std::array<Vec3, 2> box = {Vec3::Zero(), Vec3(13, 14, 15)};
  VecX exact, u;
  RpyMobility(s.x, s.a, {.tolerance = 1e-13, .box = box}).apply(s.f, exact);
  for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6, 1e-8}) {
    RpyMobility(s.x, s.a, {.tolerance = tolerance, .box = box}).apply(s.f, u);
    EXPECT_LT(worst(u, exact), tolerance);
  }
}

TEST(Rpy, BadInputIsNamed) {
  EXPECT_THROW(RpyMobility({Vec3::Zero()}, {0.0}, {}), Error);
  EXPECT_THROW(RpyMobility({Vec3::Zero()}, {1.0, 2.0}, {}), Error);
  EXPECT_THROW(RpyMobility({Vec3(NAN, 0, 0)}, {1.0}, {}), Error);
  EXPECT_THROW(RpyMobility({Vec3::Zero()}, {1.0}, {.viscosity = -1}), Error);
  EXPECT_THROW(RpyMobility({Vec3::Zero()}, {1.0}, {.box = {{Vec3::Zero(), Vec3(1, 1, 0)}}}), Error);
  std::vector<Vec3> x;
  std::vector<double> a;
  for (int i = 0; i < 7; ++i) {
    x.emplace_back(i, 0, 0);
    a.push_back(0.1 * (i + 1));
  }
  EXPECT_THROW(RpyMobility(x, a, {.direct_up_to = 0}), Error);
  EXPECT_NO_THROW(RpyMobility(x, a, {}));
  VecX u;
  EXPECT_THROW(RpyMobility(x, a, {}).apply(VecX::Zero(3), u), Error);
}

}  // namespace
}  // namespace orthant
