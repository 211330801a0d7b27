// SPDX-License-Identifier: Apache-2.0
// One element: force is minus the gradient of energy, stiffness that of force at rest, rotations
// give nothing, dual numbers agree with differences.
#include "force/corotational_kernel.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <array>

#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

template <int D>
struct Element {
  double rest_x[D + 1][D], x[D + 1][D];
  ElementRestT<D> rest;
};

/// A random, well-shaped element, deformed by `strain` after a random rotation.
template <int D>
Element<D> element(SplitMix& random, double strain) {
  Element<D> e;
  Eigen::Matrix<double, D, D> edges = Eigen::Matrix<double, D, D>::Identity();
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) edges(i, j) += random.uniform(-0.25, 0.25);
  const Eigen::Matrix<double, D, D> inverse = edges.inverse();
  for (int j = 0; j < D; ++j) {
    e.rest.gradient[0][j] = 0;
    for (int a = 0; a < D; ++a) {
      e.rest.gradient[a + 1][j] = inverse(a, j);
      e.rest.gradient[0][j] -= inverse(a, j);
    }
  }
  e.rest.volume = edges.determinant() / (D == 3 ? 6 : 2);
  Eigen::Matrix<double, D, D> R;
  if constexpr (D == 3) {
    Eigen::Quaterniond q(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1),
                         random.uniform(-1, 1));
    R = q.normalized().toRotationMatrix();
  } else {
    R = Eigen::Rotation2Dd(random.uniform(-3, 3)).toRotationMatrix();
  }
  Eigen::Matrix<double, D, 1> at;
  for (int i = 0; i < D; ++i) at[i] = random.uniform(-1, 1);
  for (int a = 0; a <= D; ++a) {
    Eigen::Matrix<double, D, 1> p = Eigen::Matrix<double, D, 1>::Zero();
    if (a > 0) p = edges.col(a - 1);
    Eigen::Matrix<double, D, 1> moved = p;
    for (int i = 0; i < D; ++i) moved[i] += random.uniform(-strain, strain);
    moved = R * moved + at;
    for (int i = 0; i < D; ++i) {
      e.rest_x[a][i] = p[i];
      e.x[a][i] = moved[i];
    }
  }
  return e;
}

template <int D>
void force_is_minus_gradient() {
  SplitMix random(7);
  for (int trial = 0; trial < 50; ++trial) {
    const Element<D> e = element<D>(random, 0.2);
    const LameT<double> l = lame(3.0, 0.3, D == 2);
    double f[D + 1][D] = {};
    add_element_force<D>(e.rest, l, corotate<D>(e.rest, e.x), 1.0, f);
    for (int a = 0; a <= D; ++a)
      for (int i = 0; i < D; ++i) {
        double x[D + 1][D];
        const auto energy = [&](double step) {
          std::copy(&e.x[0][0], &e.x[0][0] + (D + 1) * D, &x[0][0]);
          x[a][i] += step;
          return element_energy<D>(e.rest, l, x);
        };
        const double h = 1e-5;
        EXPECT_NEAR(f[a][i], -(energy(h) - energy(-h)) / (2 * h), 1e-9);
      }
  }
}
TEST(Corotational, ForceIsMinusTheGradientOfEnergy3) { force_is_minus_gradient<3>(); }
TEST(Corotational, ForceIsMinusTheGradientOfEnergy2) { force_is_minus_gradient<2>(); }

template <int D>
void rotation_gives_nothing() {
  SplitMix random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const Element<D> e = element<D>(random, 0);
    const LameT<double> l = lame(1e9, 0.4, false);
    const CorotatedT<D, double> c = corotate<D>(e.rest, e.x);
    double sigma[D][D];
    element_stress<D>(l, c, sigma);
    for (int i = 0; i < D; ++i)
      for (int j = 0; j < D; ++j) EXPECT_LT(std::abs(sigma[i][j]), 1e9 * 1e-13);
  }
}
TEST(Corotational, RotationGivesNoStress3) { rotation_gives_nothing<3>(); }
TEST(Corotational, RotationGivesNoStress2) { rotation_gives_nothing<2>(); }

/// At rest K is the exact Jacobian of the force; everywhere it is symmetric and never negative.
template <int D>
void stiffness() {
  SplitMix random(11);
  constexpr int n = (D + 1) * D;
  using Matrix = Eigen::Matrix<double, n, n>;
  for (int trial = 0; trial < 20; ++trial) {
    for (const double strain : {0.0, 0.3}) {
      const Element<D> e = element<D>(random, strain);
      const LameT<double> l = lame(2.0, 0.25, false);
      const CorotatedT<D, double> c = corotate<D>(e.rest, e.x);
      Matrix K;
      for (int column = 0; column < n; ++column) {
        double v[D + 1][D] = {}, out[D + 1][D] = {};
        (&v[0][0])[column] = 1;
        add_element_stiffness_times<D>(e.rest, l, c, v, 1.0, out);
        for (int row = 0; row < n; ++row) K(row, column) = (&out[0][0])[row];
      }
      EXPECT_LT((K - K.transpose()).cwiseAbs().maxCoeff(), 1e-14);
      EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix>(K).eigenvalues().minCoeff(), -1e-14);
      if (strain > 0) continue;
      for (int column = 0; column < n; ++column) {
        double f[2][D + 1][D] = {};
        for (int side = 0; side < 2; ++side) {
          double x[D + 1][D];
          std::copy(&e.x[0][0], &e.x[0][0] + n, &x[0][0]);
          (&x[0][0])[column] += side == 0 ? 1e-6 : -1e-6;
          add_element_force<D>(e.rest, l, corotate<D>(e.rest, x), 1.0, f[side]);
        }
        for (int row = 0; row < n; ++row)
          EXPECT_NEAR(K(row, column), ((&f[1][0][0])[row] - (&f[0][0][0])[row]) / 2e-6, 1e-8);
      }
    }
  }
}
TEST(Corotational, StiffnessIsSymmetricPositiveAndExactAtRest3) { stiffness<3>(); }
TEST(Corotational, StiffnessIsSymmetricPositiveAndExactAtRest2) { stiffness<2>(); }

TEST(Corotational, PolarDecompositionOfStretchedAndInvertedMatrices) {
  SplitMix random(5);
  for (int trial = 0; trial < 300; ++trial) {
    Mat3 A;
    for (int i = 0; i < 9; ++i) A(i / 3, i % 3) = random.uniform(-1, 1);
    if (trial % 3 == 0) A.col(0) *= 1e-3;
    if (trial % 5 == 0) A *= 1e4;
    double F[3][3], R[3][3];
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) F[i][j] = A(i, j);
    polar_rotation(F, R);
    Mat3 Q;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) Q(i, j) = R[i][j];
    EXPECT_LT((Q.transpose() * Q - Mat3::Identity()).norm(), 1e-13);
    EXPECT_NEAR(Q.determinant(), 1, 1e-13);
    const Mat3 S = Q.transpose() * A;
    EXPECT_LT((S - S.transpose()).norm(), 1e-12 * A.norm());
  }
}

/// The whole balance of an element in dual numbers against central differences, by positions,
/// velocities and material.
template <int D>
void balance_derivative(bool consistent) {
  constexpr int n = (D + 1) * D, m = 4 * n + 5 + D + 1;
  using T = Dual<m>;
  SplitMix random(17);
  for (int trial = 0; trial < 5; ++trial) {
    const Element<D> e = element<D>(random, 0.15);
    std::array<double, m> in{};
    for (int i = 0; i < n; ++i) in[i] = (&e.x[0][0])[i];
    for (int i = n; i < 4 * n; ++i) in[i] = random.uniform(-1, 1);
    double* rest = in.data() + 4 * n;
    rest[0] = 50, rest[1] = 0.3, rest[2] = 2, rest[3] = 0.1, rest[4] = 0.02;
    for (int i = 0; i < D; ++i) rest[5 + i] = random.uniform(-1, 1);
    rest[5 + D] = 0.05;
    const auto evaluate = [&]<class S>(const std::array<S, m>& y, S(*out)[D]) {
      const S* p = y.data();
      const FlexibleMaterialT<S> material{p[4 * n], p[4 * n + 1], p[4 * n + 2], p[4 * n + 3],
                                          p[4 * n + 4]};
      using Rows = const S(*)[D];
      add_element_balance<D, S>(e.rest, material, D == 2, consistent, reinterpret_cast<Rows>(p),
                                reinterpret_cast<Rows>(p + n), reinterpret_cast<Rows>(p + 2 * n),
                                reinterpret_cast<Rows>(p + 3 * n), p + 4 * n + 5, p[4 * n + 5 + D],
                                out);
    };
    std::array<T, m> dual;
    for (int i = 0; i < m; ++i) dual[i] = T::variable(in[i], i);
    T out[D + 1][D];
    evaluate(dual, out);
    for (int i = 0; i < m; ++i) {
      double side[2][D + 1][D] = {};
      const double step = 1e-6;
      for (int k = 0; k < 2; ++k) {
        std::array<double, m> y = in;
        y[i] += k == 0 ? step : -step;
        evaluate(y, side[k]);
      }
      for (int a = 0; a <= D; ++a)
        for (int j = 0; j < D; ++j)
          EXPECT_NEAR(out[a][j].d[i], (side[0][a][j] - side[1][a][j]) / (2 * step), 2e-7)
              << "by input " << i;
    }
  }
}
TEST(Corotational, BalanceInDualNumbersAgreesWithDifferences3) { balance_derivative<3>(false); }
TEST(Corotational, BalanceInDualNumbersAgreesWithDifferences2) { balance_derivative<2>(true); }

}  // namespace
}  // namespace orthant
