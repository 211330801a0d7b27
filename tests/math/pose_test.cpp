// SPDX-License-Identifier: Apache-2.0
// Poses: group laws, and the planar pose against the plane's own rotation formula.
#include "orthant/math/pose_kernel.hpp"

#include <gtest/gtest.h>

namespace orthant {
namespace {

const Pose kA{Vec3(0.3, -1.2, 2.0), exp_rotation(Vec3(0.4, -0.7, 1.1))};
const Pose kB{Vec3(-2.0, 0.1, 0.7), exp_rotation(Vec3(-1.3, 0.2, 0.5))};
const Vec3 kPoint(0.25, 1.5, -0.75);

TEST(Pose, TransformTurnsThenShifts) {
  const Vec3 expected = kA.x + matrix_of(kA.p) * kPoint;
  EXPECT_LT((transform(kA, kPoint) - expected).norm(), 1e-15);
}

TEST(Pose, ComposeIsOneMapAfterTheOther) {
  EXPECT_LT((transform(compose(kA, kB), kPoint) - transform(kA, transform(kB, kPoint))).norm(),
            4e-15);
}

TEST(Pose, InverseUndoes) {
  EXPECT_LT((transform(inverse(kA), transform(kA, kPoint)) - kPoint).norm(), 4e-15);
  EXPECT_LT((inverse_transform(kA, transform(kA, kPoint)) - kPoint).norm(), 4e-15);
}

TEST(Pose, PlanarTurnsAboutZ) {
  const double theta = 0.9;
  const Vec3 r = transform(planar_pose(1.0, 2.0, theta), Vec3(0.5, 0.25, 0));
  EXPECT_NEAR(r[0], 1 + 0.5 * std::cos(theta) - 0.25 * std::sin(theta), 1e-15);
  EXPECT_NEAR(r[1], 2 + 0.5 * std::sin(theta) + 0.25 * std::cos(theta), 1e-15);
  EXPECT_EQ(r[2], 0);
}

TEST(Pose, DualPoseCarriesTheDerivative) {
  using D = Dual<1>;
  const PoseT<D> X = planar_pose(D(1), D(2), D::variable(0.9, 0));
  const Vec3T<D> r = transform(X, Vec3T<D>(D(0.5), D(0.25), D(0)));
  EXPECT_NEAR(r[0].d[0], -(r[1].v - 2), 1e-15);  // d/dtheta of a rotation is a quarter turn
  EXPECT_NEAR(r[1].d[0], r[0].v - 1, 1e-15);
  EXPECT_EQ(pose_cast<D>(kA).x[1].v, kA.x[1]);
}

}  // namespace
}  // namespace orthant
