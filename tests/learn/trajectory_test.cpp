// SPDX-License-Identifier: Apache-2.0
// Files of measured motions: read right, or refused with the place.
#include "orthant/learn/trajectory.hpp"

#include <gtest/gtest.h>

#include "learn/support.hpp"
#include "orthant/base/error.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant {
namespace {

const std::string kPlanarHeader = "t,x,y,theta,vx,vy,omega\n";

std::string message(const std::string& text, const Model& model,
                    const TrajectoryCsvOptions& options = {}) {
  try {
    (void)parse_trajectories(text, "data.csv", model, options);
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(MeasuredMotion, PlanarFileWithTimes) {
  const Model model = testing::sliding_block(0.5);
  const TrajectoryData data = parse_trajectories(
      kPlanarHeader + "0,1,2,0.1,3,4,5\n0.5,1.5,2,0.1,3,4,5\r\n1,2,2,0.1,3,4,6\n", "data.csv",
      model);
  ASSERT_EQ(data.trajectories.size(), 1U);
  const MeasuredMotion& t = data.trajectories[0];
  EXPECT_EQ(t.dt, 0.5);
  EXPECT_EQ(t.samples(), 3);
  EXPECT_EQ(t.q(model.bodies()[1].q_begin, 1), 1.5);
  EXPECT_EQ(t.v(2, 2), 6);
  EXPECT_FALSE(data.backward_velocity);
}

TEST(MeasuredMotion, VelocitiesFromPositions) {
  const Model model = testing::sliding_block(0.5);
  const TrajectoryData data = parse_trajectories("run,x,y,theta\n7,0,1,0\n7,0.1,1,0\n7,0.3,1,0.2\n",
                                                 "data.csv", model, {.dt = 0.1});
  EXPECT_TRUE(data.backward_velocity);
  EXPECT_NEAR(data.trajectories[0].v(0, 2), 2, 1e-12);
  EXPECT_NEAR(data.trajectories[0].v(2, 2), 2, 1e-12);
  // The state at a sample has the velocity of that instant: the mean of both sides.
  EXPECT_NEAR(state_at(model, data, 0, 1).v[0], 1.5, 1e-12);
}

TEST(MeasuredMotion, BodyAxesBecomeWorldAxes) {
  const Model model = testing::cube(0.5, 0);
  // A quarter turn about z: the body's x is the world's y.
  const std::string row = "0,0,1,0.70710678,0,0,0.70710678,0,0,0,2,0,0\n";
  const std::string text = "x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz\n" + row + row + row;
  TrajectoryCsvOptions options;
  options.dt = 0.1;
  options.angular = AngularAxes::Body;
  const TrajectoryData data = parse_trajectories(text, "data.csv", model, options);
  EXPECT_NEAR(data.trajectories[0].v(3, 0), 0, 1e-7);
  EXPECT_NEAR(data.trajectories[0].v(4, 0), 2, 1e-7);
  EXPECT_NEAR(data.trajectories[0].q.col(0).segment(model.bodies()[1].q_begin + 3, 4).norm(), 1,
              1e-15);
}

TEST(MeasuredMotion, BadFilesAreRefusedWithTheirPlace) {
  const Model planar = testing::sliding_block(0.5), spatial = testing::cube(0.5, 0);
  EXPECT_NE(message("", planar).find("empty"), std::string::npos);
  EXPECT_NE(message("t,x,y,thetta\n", planar).find("'theta' is missing (is it 'thetta'?)"),
            std::string::npos);
  EXPECT_NE(message("x,y,theta\n", planar).find("no column 't'"), std::string::npos);
  EXPECT_NE(message(kPlanarHeader + "0,0,0,0,0,0,0\n0.1,0,0,0,0,0,0\n0.3,0,0,0,0,0,0\n", planar)
                .find("times are not even"),
            std::string::npos);
  EXPECT_NE(message(kPlanarHeader + "0,0,0,0,0,0,0\n0.1,0,x,0,0,0,0\n", planar)
                .find("data.csv:3: column 'y': 'x' is not a finite number"),
            std::string::npos);
  EXPECT_NE(message(kPlanarHeader + "0,0,0,0,0,0\n", planar).find("6 values, the header has 7"),
            std::string::npos);
  EXPECT_NE(message(kPlanarHeader + "0,0,0,0,0,0,0\n", planar).find("needs at least 3"),
            std::string::npos);
  EXPECT_NE(message(kPlanarHeader, planar).find("no samples"), std::string::npos);
  EXPECT_NE(message("run,t,x,y,theta\n1,0,0,0,0\n1,1,0,0,0\n1,2,0,0,0\n2,0,0,0,0\n2,1,0,0,0\n"
                    "2,2,0,0,0\n1,0,0,0,0\n1,1,0,0,0\n1,2,0,0,0\n",
                    planar)
                .find("not consecutive"),
            std::string::npos);
  TrajectoryCsvOptions options;
  options.dt = 0.1;
  EXPECT_NE(message("x,y,z,qw,qx,qy,qz\n0,0,1,1,0.5,0,0\n", spatial, options)
                .find("the quaternion is not unit: its length is 1.118"),
            std::string::npos);
  EXPECT_THROW((void)read_trajectories("/nowhere/data.csv", planar), Error);
}

}  // namespace
}  // namespace orthant
