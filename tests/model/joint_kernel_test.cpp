// SPDX-License-Identifier: Apache-2.0
// Joint residuals: their rows against dual numbers and central differences by q, and the dual
// derivative by parameters against central differences; at configurations off the constraint.
#include "model/joint_kernel.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

constexpr std::array kKinds = {JointKind::Weld,  JointKind::Revolute, JointKind::Prismatic,
                               JointKind::Ball,  JointKind::Distance, JointKind::LockX,
                               JointKind::LockY, JointKind::LockZ,    JointKind::LockRotation};

int rows_of(JointKind kind, bool planar) {
  switch (kind) {
    case JointKind::Weld:
      return planar ? 3 : 6;
    case JointKind::Revolute:
    case JointKind::Prismatic:
      return planar ? 2 : 5;
    case JointKind::Ball:
      return planar ? 2 : 3;
    case JointKind::LockRotation:
      return planar ? 1 : 3;
    default:
      return 1;
  }
}

bool has_coordinate(JointKind kind) {
  return kind == JointKind::Revolute || kind == JointKind::Prismatic || kind == JointKind::Distance;
}

/// A joint somewhere: two bodies and the joint's parameters, in T.
template <class T>
struct Case {
  bool planar = false;
  std::array<T, 7> a{}, b{};
  std::array<T, 14> parameters{};
  T length{0.3};

  JointFramesT<T> frames() const {
    return joint_frames<T>(planar, placed(planar, a.data()), placed(planar, b.data()),
                           parameters.data());
  }
};

Case<double> random_case(SplitMix& random, bool planar) {
  Case<double> c;
  c.planar = planar;
  const auto pose = [&](double* x) {
    if (planar) {
      for (int i = 0; i < 3; ++i) x[i] = random.uniform(-1.5, 1.5);
      return;
    }
    for (int i = 0; i < 3; ++i) x[i] = random.uniform(-1, 1);
    const Vec3 turn(random.normal(), random.normal(), random.normal());
    const Quat p = exp_rotation(turn);
    x[3] = p.w, x[4] = p.x, x[5] = p.y, x[6] = p.z;
  };
  pose(c.a.data());
  pose(c.b.data());
  pose(c.parameters.data());
  pose(c.parameters.data() + frame_size(planar));
  return c;
}

template <class T>
Case<T> cast(const Case<double>& c) {
  Case<T> r;
  r.planar = c.planar;
  for (int i = 0; i < 7; ++i) r.a[i] = T(c.a[i]), r.b[i] = T(c.b[i]);
  for (int i = 0; i < 14; ++i) r.parameters[i] = T(c.parameters[i]);
  r.length = T(c.length);
  return r;
}

/// Moves a body by the tangent d (3 or 6 numbers).
template <class T>
void move(bool planar, std::array<T, 7>& q, const T* d) {
  for (int i = 0; i < 3; ++i) q[i] = q[i] + d[i];
  if (planar) return;
  const QuatT<T> p = boxplus(QuatT<T>{q[3], q[4], q[5], q[6]}, Vec3T<T>(d[3], d[4], d[5]));
  q[3] = p.w, q[4] = p.x, q[5] = p.y, q[6] = p.z;
}

/// Residual i, or the coordinate for i = -1.
template <class T>
T value(JointKind kind, int i, const Case<T>& c) {
  const JointFramesT<T> f = c.frames();
  return i < 0 ? joint_coordinate(kind, c.planar, f)
               : joint_residual(kind, c.planar, i, f, c.length);
}

std::array<double, 12> row(JointKind kind, int i, const Case<double>& c) {
  const JointFramesT<double> f = c.frames();
  const JointRow r =
      i < 0 ? joint_coordinate_row(kind, c.planar, f) : joint_row(kind, c.planar, i, f);
  std::array<double, 12> out{};
  if (c.planar)
    return {r.linear_a[0], r.linear_a[1], r.angular_a[2],
            r.linear_b[0], r.linear_b[1], r.angular_b[2]};
  for (int k = 0; k < 3; ++k) {
    out[k] = r.linear_a[k], out[3 + k] = r.angular_a[k];
    out[6 + k] = r.linear_b[k], out[9 + k] = r.angular_b[k];
  }
  return out;
}

/// Runs check(kind, row number) over every residual and coordinate.
template <class Check>
void for_every_row(bool planar, Check&& check) {
  for (const JointKind kind : kKinds) {
    if (planar && kind == JointKind::LockZ) continue;
    for (int i = has_coordinate(kind) ? -1 : 0; i < rows_of(kind, planar); ++i) check(kind, i);
  }
}

TEST(JointKernel, RowsAreTheDualDerivativeByTheConfiguration) {
  using D = Dual<12>;
  SplitMix random(1);
  for (int trial = 0; trial < 40; ++trial) {
    const bool planar = trial % 2 == 1;
    const int n = planar ? 3 : 6;
    const Case<double> c = random_case(random, planar);
    Case<D> d = cast<D>(c);
    D step[12];
    for (int k = 0; k < 2 * n; ++k) step[k] = D::variable(0, k);
    move(planar, d.a, step);
    move(planar, d.b, step + n);
    for_every_row(planar, [&](JointKind kind, int i) {
      const D psi = value(kind, i, d);
      const auto r = row(kind, i, c);
      for (int k = 0; k < 2 * n; ++k)
        EXPECT_NEAR(r[k], psi.d[k], 1e-13) << int(kind) << " row " << i << " column " << k;
    });
  }
}

TEST(JointKernel, RowsAreTheCentralDifference) {
  SplitMix random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const bool planar = trial % 2 == 1;
    const int n = planar ? 3 : 6;
    const Case<double> c = random_case(random, planar);
    for_every_row(planar, [&](JointKind kind, int i) {
      const auto r = row(kind, i, c);
      for (int k = 0; k < 2 * n; ++k) {
        double psi[2];
        for (int side = 0; side < 2; ++side) {
          Case<double> moved = c;
          double step[6] = {};
          step[k % n] = side == 0 ? -1e-5 : 1e-5;
          move(planar, k < n ? moved.a : moved.b, step);
          psi[side] = value(kind, i, moved);
        }
        EXPECT_NEAR(r[k], (psi[1] - psi[0]) / 2e-5, 1e-8) << int(kind) << " row " << i;
      }
    });
  }
}

TEST(JointKernel, DualDerivativeByParametersIsTheCentralDifference) {
  using D = Dual<15>;
  SplitMix random(3);
  for (int trial = 0; trial < 20; ++trial) {
    const bool planar = trial % 2 == 1;
    const int count = 2 * frame_size(planar);
    const Case<double> c = random_case(random, planar);
    Case<D> d = cast<D>(c);
    for (int k = 0; k < count; ++k) d.parameters[k] = D::variable(c.parameters[k], k);
    d.length = D::variable(c.length, 14);
    for_every_row(planar, [&](JointKind kind, int i) {
      const D psi = value(kind, i, d);
      const auto slope = [&](auto&& change) {
        Case<double> lo = c, hi = c;
        change(lo, -1e-5);
        change(hi, 1e-5);
        return (value(kind, i, hi) - value(kind, i, lo)) / 2e-5;
      };
      for (int k = 0; k < count; ++k) {
        const double wanted = slope([&](Case<double>& x, double e) { x.parameters[k] += e; });
        EXPECT_NEAR(psi.d[k], wanted, 1e-8 * (1 + std::abs(wanted)))
            << int(kind) << " row " << i << " parameter " << k;
      }
      EXPECT_NEAR(psi.d[14], slope([&](Case<double>& x, double e) { x.length += e; }), 1e-8);
    });
  }
}

// The rows themselves are differentiated by the gradient of a step: dual against differences.
TEST(JointKernel, RowsHaveDerivatives) {
  using D = Dual<6>;
  SplitMix random(4);
  const Case<double> c = random_case(random, false);
  Case<D> d = cast<D>(c);
  D step[6];
  for (int k = 0; k < 6; ++k) step[k] = D::variable(0, k);
  move(false, d.a, step);
  for (const JointKind kind : {JointKind::Revolute, JointKind::Prismatic, JointKind::Distance}) {
    const JointRowT<D> r = joint_coordinate_row(kind, false, d.frames());
    for (int k = 0; k < 6; ++k) {
      Vec3 side[2];
      for (int s = 0; s < 2; ++s) {
        Case<double> moved = c;
        double e[6] = {};
        e[k] = s == 0 ? -1e-5 : 1e-5;
        move(false, moved.a, e);
        side[s] = joint_coordinate_row(kind, false, moved.frames()).angular_b;
      }
      const Vec3 slope = (side[1] - side[0]) / 2e-5;
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(r.angular_b[i].d[k], slope[i], 1e-8);
    }
  }
}

// Closed forms: a hinge turned by phi, a slider moved by s, in a frame with its own orientation.
TEST(JointKernel, CoordinatesMeasureTheFreedom) {
  const Quat frame = exp_rotation(Vec3(0.3, 1.0, -0.4));
  Case<double> c;
  const double f[] = {0.1, 0.2, 0.3, frame.w, frame.x, frame.y, frame.z};
  for (int i = 0; i < 7; ++i) c.parameters[i] = c.parameters[7 + i] = f[i];
  c.a = c.b = {0.5, -0.2, 1, 1, 0, 0, 0};
  for (const double phi : {0.0, 0.5, -1.7, 3.1, -3.1}) {
    Case<double> turned = c;
    const Vec3 axis = rotate(frame, Vec3(0, 0, 1)), anchor(0.6, 0.0, 1.3);
    const Quat turn = exp_rotation(Vec3(axis * phi));
    const Vec3 x = anchor + rotate(turn, Vec3(Vec3(0.5, -0.2, 1) - anchor));
    turned.a = {x[0], x[1], x[2], turn.w, turn.x, turn.y, turn.z};
    EXPECT_NEAR(value(JointKind::Revolute, -1, turned), phi, 1e-14);
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(value(JointKind::Revolute, i, turned), 0, 1e-15);
  }
  const Vec3 slide = rotate(frame, Vec3(1, 0, 0)) * 0.7;
  for (int i = 0; i < 3; ++i) c.a[i] += slide[i];
  EXPECT_NEAR(value(JointKind::Prismatic, -1, c), 0.7, 1e-15);
  EXPECT_NEAR(value(JointKind::Distance, -1, c), 0.7, 1e-15);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(value(JointKind::Prismatic, i, c), 0, 1e-15);
}

TEST(JointKernel, PlanarAnglesKeepTheirTurns) {
  Case<double> c;
  c.planar = true;
  c.a[2] = 20;
  c.b[2] = 1;
  c.parameters[2] = 0.25;
  EXPECT_EQ(value(JointKind::Revolute, -1, c), 19.25);
  EXPECT_EQ(value(JointKind::Weld, 2, c), 19.25);
}

TEST(JointKernel, TablesAreLinearBetweenAndConstantOutside) {
  const double y[] = {5, 1, 3};
  TimeTable table;
  table.times = {0, 2};
  table.value_begin = 1;
  EXPECT_EQ(table_value(table, y, -1), 1);
  EXPECT_EQ(table_value(table, y, 0.5), 1.5);
  EXPECT_EQ(table_value(table, y, 2), 3);
  EXPECT_EQ(table_value(table, y, 9), 3);
  EXPECT_EQ(table_slope(table, y, -1), 0);
  EXPECT_EQ(table_slope(table, y, 0), 1);
  EXPECT_EQ(table_slope(table, y, 1.5), 1);
  EXPECT_EQ(table_slope(table, y, 2), 0);
  EXPECT_EQ(table_value(TimeTable{}, y, 1), 0);
}

}  // namespace
}  // namespace orthant
