// SPDX-License-Identifier: Apache-2.0
// Rows and biases of a contact: dual numbers against differences, and what the rows mean.
#include "orthant/constraint/contact_kernel.hpp"

#include <gtest/gtest.h>

#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

Vec3 random_vector(SplitMix& random) { return {random.normal(), random.normal(), random.normal()}; }

template <class T>
std::vector<T> rows_of(bool planar, bool rolling, const Vec3T<T>& n, const Vec3T<T>& lever) {
  using std::sqrt;
  const Vec3T<T> unit = n / T(sqrt(n.squaredNorm()));
  Vec3T<T> frame[3];
  contact_frame(planar, unit, frame);
  std::vector<T> rows(5 * 6, T(0));  // normal, two tangents, two rolling torques
  const int count = contact_rows(planar, true, rolling, frame, lever, -1.0, rows.data());
  rows.resize(static_cast<std::size_t>(count * (planar ? 3 : 6)));
  return rows;
}

TEST(ContactKernel, RowsDifferentiate) {
  SplitMix random(3);
  for (int trial = 0; trial < 40; ++trial) {
    const bool planar = trial % 2 == 0, rolling = trial % 4 < 2;
    Vec3 x[2] = {random_vector(random), random_vector(random)};
    if (planar) x[0][2] = x[1][2] = 0;
    using D = Dual<6>;
    Vec3T<D> d[2];
    for (int k = 0; k < 6; ++k) d[k / 3][k % 3] = D::variable(x[k / 3][k % 3], k);
    const std::vector<D> dual = rows_of(planar, rolling, d[0], d[1]);
    EXPECT_EQ(dual.size(), planar ? (rolling ? 9u : 6u) : (rolling ? 30u : 18u));
    for (int k = 0; k < 6; ++k) {
      if (planar && k % 3 == 2) continue;
      const double step = 1e-6;
      Vec3 lo[2] = {x[0], x[1]}, hi[2] = {x[0], x[1]};
      lo[k / 3][k % 3] -= step;
      hi[k / 3][k % 3] += step;
      const auto a = rows_of(planar, rolling, lo[0], lo[1]);
      const auto b = rows_of(planar, rolling, hi[0], hi[1]);
      for (std::size_t i = 0; i < dual.size(); ++i)
        EXPECT_NEAR(dual[i].d[k], (b[i] - a[i]) / (2 * step),
                    1e-7 * (1 + x[1].norm()) / x[0].norm())
            << "row entry " << i << " by " << k;
    }
  }
}

TEST(ContactKernel, RowsGiveTheVelocityOfThePoint) {
  SplitMix random(4);
  for (int trial = 0; trial < 20; ++trial) {
    const Vec3 n = random_vector(random).normalized(), lever = random_vector(random);
    const Vec3 v = random_vector(random), w = random_vector(random);
    Vec3 frame[3];
    contact_frame(false, n, frame);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(frame[i].norm(), 1, 1e-14);
      EXPECT_NEAR(frame[i].dot(frame[(i + 1) % 3]), 0, 1e-14);
    }
    double rows[30];
    ASSERT_EQ(contact_rows(false, true, true, frame, lever, 1.0, rows), 5);
    const Vec3 point = v + w.cross(lever);
    for (int i = 0; i < 5; ++i) {
      const double* row = rows + 6 * i;
      const double got = Vec3(row[0], row[1], row[2]).dot(v) + Vec3(row[3], row[4], row[5]).dot(w);
      const double want = i < 3 ? frame[i].dot(point) : frame[i - 2].dot(w);
      EXPECT_NEAR(got, want, 1e-13);
    }
  }
}

TEST(ContactKernel, BiasFollowsItsRule) {
  const double h = 0.01;
  NormalBiasT<double> data;
  data.h = h;
  const auto bias = [&](double gap, bool compliant = false, bool bounces = false) {
    return normal_bias(choose_bias(gap, compliant, bounces, data), gap, data);
  };
  EXPECT_DOUBLE_EQ(bias(0.02), 2.0);   // may close the gap, not more
  EXPECT_DOUBLE_EQ(bias(-0.02), 0.0);  // projection removes overlap, not the velocity
  data.beta = 0.2;
  EXPECT_DOUBLE_EQ(bias(-0.02), -0.4);
  data.restitution = 0.5;
  data.approach = -3;
  EXPECT_DOUBLE_EQ(bias(0.001, false, true), -1.5);  // min(0.1, ε D_n v)
  EXPECT_DOUBLE_EQ(bias(-0.02, true), -2.0);         // a spring on both sides
  EXPECT_EQ(choose_bias(0.001, false, true, data), BiasBranch::Restitution);
  EXPECT_EQ(choose_bias(-1, false, true, data), BiasBranch::Overlap);  // -20 is faster
}

TEST(ContactKernel, BiasDifferentiates) {
  using D = Dual<3>;  // gap, restitution, approach
  for (const bool bounces : {false, true}) {
    for (const double gap : {0.003, -0.004}) {
      const auto bias = [&]<class T>(const T& g, const T& e, const T& a) {
        NormalBiasT<T> data;
        data.h = T(0.01);
        data.beta = 0.3;
        data.restitution = e;
        data.approach = a;
        const NormalBiasT<double> chosen{0.01, 0.3, value_of(e), value_of(a)};
        return normal_bias(choose_bias(value_of(g), false, bounces, chosen), g, data);
      };
      const double x[3] = {gap, 0.6, -2.0};
      const D dual = bias(D::variable(x[0], 0), D::variable(x[1], 1), D::variable(x[2], 2));
      for (int k = 0; k < 3; ++k) {
        double lo[3] = {x[0], x[1], x[2]}, hi[3] = {x[0], x[1], x[2]};
        lo[k] -= 1e-7;
        hi[k] += 1e-7;
        const double slope = (bias(hi[0], hi[1], hi[2]) - bias(lo[0], lo[1], lo[2])) / 2e-7;
        EXPECT_NEAR(dual.d[k], slope, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace orthant
