// SPDX-License-Identifier: Apache-2.0
// Free rotation: energy and angular momentum kept, order, closed forms, derivatives.
#include "force/free_rotation_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace orthant {
namespace {

// A T-handle: principal moments far apart, spun about the middle axis, which is unstable.
const Mat3 kHandle = Vec3(2.0, 3.5, 5.0).asDiagonal();

struct Rotor {
  Quat p;
  Vec3 omega;
};

void advance(const Mat3& J, double h, Rotor& r) {
  const FreeRotationT<double> f = free_rotation<double>(J, r.p, r.omega, h);
  r.p = boxplus(r.p, f.turn);
  r.omega = f.omega;
}

Vec3 momentum(const Mat3& J, const Rotor& r) {
  return rotate(r.p, Vec3(J * rotate(conjugate(r.p), r.omega)));
}
double energy(const Mat3& J, const Rotor& r) { return 0.5 * r.omega.dot(momentum(J, r)); }

TEST(FreeRotation, TumblingHandleKeepsEnergyAndMomentum) {
  Rotor r{exp_rotation(Vec3(0.4, -0.2, 0.9)), Vec3::Zero()};
  r.omega = rotate(r.p, Vec3(1e-3, 10, 1e-3));
  const Vec3 L0 = momentum(kHandle, r);
  const double E0 = energy(kHandle, r);
  double worst_energy = 0, worst_momentum = 0;
  int flips = 0;
  double side = 1;
  for (int i = 0; i < 100000; ++i) {
    advance(kHandle, 0.01, r);
    worst_energy = std::max(worst_energy, std::abs(energy(kHandle, r) - E0) / E0);
    worst_momentum = std::max(worst_momentum, (momentum(kHandle, r) - L0).norm() / L0.norm());
    const double spin = rotate(conjugate(r.p), r.omega)[1];
    if (spin * side < 0) {
      ++flips;
      side = -side;
    }
  }
  RecordProperty("energy", std::to_string(worst_energy * 1e12) + "e-12");
  RecordProperty("momentum", std::to_string(worst_momentum * 1e12) + "e-12");
  // Rounding only: 1e-15 per step, over 1e5 steps.
  EXPECT_LT(worst_energy, 2e-10);
  EXPECT_LT(worst_momentum, 2e-10);
  EXPECT_GT(flips, 100);  // it does tumble
}

TEST(FreeRotation, PrincipalSpinIsExact) {
  for (const double speed : {0.1, 30.0, 199.0, 700.0, 5000.0}) {
    Rotor r{exp_rotation(Vec3(0.4, -0.2, 0.9)), Vec3::Zero()};
    const Vec3 axis = rotate(r.p, Vec3(0, 0, 1));
    r.omega = axis * speed;
    const Quat start = r.p;
    advance(kHandle, 0.01, r);
    const Vec3 wanted = boxminus(boxplus(start, Vec3(axis * (0.01 * speed))), start);
    const Vec3 turned = boxminus(r.p, start);
    EXPECT_LT((turned - wanted).norm(), 1e-11) << speed;
    EXPECT_LT((r.omega - axis * speed).norm(), 1e-12 * speed);
  }
}

// A symmetric top precesses about L at |L|/I1; its spin axis is known for all times.
TEST(FreeRotation, SymmetricTopConvergesToTheClosedForm) {
  const Mat3 J = Vec3(2, 2, 5).asDiagonal();
  const Rotor start{Quat{}, Vec3(0.7, 0, 3)};
  const Vec3 L = momentum(J, start);
  const double T = 1;
  const Vec3 wanted = rotate(exp_rotation(Vec3(L / 2 * T)), Vec3(0, 0, 1));
  double error[2];
  for (int k = 0; k < 2; ++k) {
    Rotor r = start;
    const int steps = k == 0 ? 50 : 100;
    for (int i = 0; i < steps; ++i) advance(J, T / steps, r);
    error[k] = (rotate(r.p, Vec3(0, 0, 1)) - wanted).norm();
  }
  EXPECT_LT(error[0], 1e-2);
  EXPECT_NEAR(error[0] / error[1], 4, 0.3);  // second order
}

TEST(FreeRotation, RunsBackwards) {
  Rotor r{exp_rotation(Vec3(1, 2, 3)), Vec3(4, -2, 7)};
  const Rotor start = r;
  for (int i = 0; i < 100; ++i) advance(kHandle, 0.02, r);
  r.omega = -r.omega;
  for (int i = 0; i < 100; ++i) advance(kHandle, 0.02, r);
  EXPECT_LT(boxminus(r.p, start.p).norm(), 1e-10);
  EXPECT_LT((r.omega + start.omega).norm(), 1e-10);
}

TEST(FreeRotation, FastAndSlenderStaysFinite) {
  const Mat3 J = Vec3(1e-6, 1, 1).asDiagonal();
  Rotor r{Quat{}, Vec3(500, 40, -30)};
  const double E0 = energy(J, r);
  for (int i = 0; i < 1000; ++i) advance(J, 0.01, r);
  EXPECT_TRUE(r.omega.allFinite());
  EXPECT_LT(energy(J, r), 2 * E0);
}

TEST(FreeRotation, DualDerivativeIsTheCentralDifference) {
  using D = Dual<10>;  // three of omega, three of the tangent of p, three of the inertia, h
  const Quat p = exp_rotation(Vec3(0.3, 0.8, -0.5));
  const Vec3 omega(3, -5, 2);
  const double h = 0.05;
  const double inertia[] = {2.0, 3.5, 5.0, 0.2, -0.1, 0.3};
  const auto run = [&](auto zero, const auto* delta) {
    using T = decltype(zero);
    T I[6];
    for (int i = 0; i < 6; ++i) I[i] = T(inertia[i]) + (i < 3 ? delta[6 + i] : T(0));
    const QuatT<T> start{T(p.w), T(p.x), T(p.y), T(p.z)};
    const QuatT<T> q = boxplus(start, Vec3T<T>(delta[3], delta[4], delta[5]));
    Vec3T<T> w;
    for (int i = 0; i < 3; ++i) w[i] = delta[i] + omega[i];
    return free_rotation<T>(inertia_matrix(I), q, w, delta[9] + h);
  };
  D x[10];
  for (int k = 0; k < 10; ++k) x[k] = D::variable(0, k);
  const FreeRotationT<D> dual = run(D(0), x);
  for (int k = 0; k < 10; ++k) {
    double lo[10] = {}, hi[10] = {};
    lo[k] = -1e-5;
    hi[k] = 1e-5;
    const FreeRotationT<double> a = run(0.0, lo), b = run(0.0, hi);
    for (int i = 0; i < 3; ++i) {
      const double slope = (b.omega[i] - a.omega[i]) / 2e-5, turn = (b.turn[i] - a.turn[i]) / 2e-5;
      EXPECT_NEAR(dual.omega[i].d[k], slope, 1e-8 * (1 + std::abs(slope)));
      EXPECT_NEAR(dual.turn[i].d[k], turn, 1e-8 * (1 + std::abs(turn)));
    }
  }
}

}  // namespace
}  // namespace orthant
