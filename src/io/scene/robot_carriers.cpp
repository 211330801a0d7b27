// SPDX-License-Identifier: Apache-2.0
// io/scene/robot_carriers.cpp: matter for links without mass that move between two joints.
// A body needs mass, and the motion of the robot must not change. Some matter moves the same on
// either side of a joint: on a hinge's axis all that lies on the axis, across a slide inertia
// against turning, in a ball joint a mass at its centre. Of that kind a carrier takes a share from
// its neighbours, and no kinetic or potential energy changes, whatever the motion. With the second
// moments of mass about a frame's origin,
//   J = ∫ρ (x; 1)(x; 1)ᵀ,   matter that moves with both:  P B Pᵀ,
// P the directions of the joint (axis: (d; 0), (p; 1)), the most that leaves a body behind is
// B = (Pᵀ J⁻¹ P)⁻¹. What is still missing, as about the axes of three hinges in a row, is a small
// share of what the link carries.
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "io/scene/robot.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using Mat4 = Eigen::Matrix4d;
using Basis = Eigen::Matrix<double, 4, Eigen::Dynamic, 0, 4, 4>;

constexpr double kShare = 0.1;      // of what a neighbour could give
constexpr double kCarrier = 1e-4;   // least mass and moments, of what the link carries
constexpr double kSingular = 1e-9;  // of J: thin bodies have nothing to give across

Mat4 moments_of(const RobotLink& link) {
  Mat4 J = Mat4::Zero();
  if (!(link.mass > 0) && link.inertia.isZero()) return J;
  const Mat3 spread = 0.5 * link.inertia.trace() * Mat3::Identity() - link.inertia;
  J.topLeftCorner<3, 3>() = spread + link.mass * link.center * link.center.transpose();
  J.topRightCorner<3, 1>() = link.mass * link.center;
  J.bottomLeftCorner<1, 3>() = link.mass * link.center.transpose();
  J(3, 3) = link.mass;
  return J;
}

void set_moments(RobotLink& link, const Mat4& J) {
  link.mass = J(3, 3);
  link.center = link.mass > 0 ? Vec3(J.topRightCorner<3, 1>() / link.mass) : Vec3::Zero();
  const Mat3 spread = J.topLeftCorner<3, 3>() - link.mass * link.center * link.center.transpose();
  link.inertia = spread.trace() * Mat3::Identity() - 0.5 * (spread + spread.transpose());
}

/// x of a link => x of its parent, on columns (x; 1), at the start.
Mat4 matrix_of_pose(const Pose& X) {
  Mat4 T = Mat4::Identity();
  T.topLeftCorner<3, 3>() = matrix_of(X.p);
  T.topRightCorner<3, 1>() = X.x;
  return T;
}

/// Directions of matter that moves the same on both sides of a joint, in the link's frame. They do
/// not change with the coordinate.
Basis common_directions(const RobotJoint& joint) {
  Basis P = Basis::Zero(4, 0);
  const auto add = [&](const Vec3& x, double one) {
    P.conservativeResize(4, P.cols() + 1);
    P.col(P.cols() - 1) << x, one;
  };
  switch (joint.motion) {
    case RobotMotion::Hinge:
      add(joint.axis, 0);
      add(joint.anchor, 1);
      break;
    case RobotMotion::Slide:
      for (int k = 0; k < 3; ++k) add(Vec3::Unit(k), 0);
      break;
    case RobotMotion::Ball:
      add(joint.anchor, 1);
      break;
    case RobotMotion::Planar:
      add(joint.axis, 0);
      break;
    case RobotMotion::Fixed:
    case RobotMotion::Free:
      break;
  }
  return P;
}

/// The share of J that lies in P.
Mat4 common_part(const Mat4& J, const Basis& P) {
  const double size = J.trace();
  if (!(size > 0) || P.cols() == 0) return Mat4::Zero();
  // Lengths and the 1 of a corner have different units: J is scaled to a unit diagonal first.
  Eigen::Vector4d scale = J.diagonal().cwiseMax(kSingular * size).cwiseSqrt();
  const Mat4 unit = scale.cwiseInverse().asDiagonal() * J * scale.cwiseInverse().asDiagonal();
  const Basis Q = scale.cwiseInverse().asDiagonal() * P;
  const Mat4 A = unit + kSingular * Mat4::Identity();
  const Eigen::MatrixXd B = (Q.transpose() * A.llt().solve(Eigen::MatrixXd(Q))).inverse();
  if (!B.allFinite()) return Mat4::Zero();
  return kShare * (P * B * P.transpose());
}

/// Raises mass and moments that the neighbours could not give. Returns whether there were any.
bool fill_up(RobotLink& link, double mass, double moment) {
  bool changed = false;
  if (link.mass < kCarrier * mass) {
    if (!(link.mass > 0)) link.center = Vec3::Zero();
    link.mass = kCarrier * mass;
    changed = true;
  }
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(link.inertia);
  const Vec3 p = eigen.eigenvalues().cwiseMax(kCarrier * moment);
  if (p == eigen.eigenvalues()) return changed;
  link.inertia = eigen.eigenvectors() * p.asDiagonal() * eigen.eigenvectors().transpose();
  return true;
}

}  // namespace

void give_carriers_mass(Robot& robot, XmlReader& xml) {
  const std::size_t n = robot.links.size();
  std::vector<bool> empty(n, false);
  std::vector<Mat4> below(n);  // all that hangs on a link, in its frame at the start
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    RobotLink& link = robot.links[i];
    below[i] = moments_of(link);
    empty[i] = !(link.mass > 0) && !link.world && link.parent != kNone;
    link.carrier = empty[i];
    any = any || empty[i];
  }
  if (!any) return;
  const auto parent_of = [&](std::size_t i) {
    return static_cast<std::size_t>(robot.links[i].parent);
  };
  for (std::size_t i = n; i-- > 0;) {
    if (robot.links[i].parent == kNone) continue;
    const Mat4 T = matrix_of_pose(link_in_parent(robot.links[i].joint));
    below[parent_of(i)] += T * below[i] * T.transpose();
  }
  // What joint i has in common goes from one side to the other, both in the frame of link i.
  const auto move = [&](std::size_t i, bool down) {
    RobotLink& child = robot.links[i];
    RobotLink& parent = robot.links[parent_of(i)];
    const Mat4 T = matrix_of_pose(link_in_parent(child.joint));
    const Mat4 S = T.inverse();
    RobotLink& from = down ? parent : child;
    // The world has as much as is asked for, and does not miss it.
    Mat4 J = from.world ? below[i] : moments_of(from);
    if (down && !from.world) J = S * J * S.transpose();
    const Mat4 part = common_part(J, common_directions(child.joint));
    const Mat4 above = T * part * T.transpose();
    if (!from.world) set_moments(from, moments_of(from) - (down ? above : part));
    RobotLink& to = down ? child : parent;
    set_moments(to, moments_of(to) + (down ? part : above));
  };
  for (std::size_t i = n; i-- > 0;)
    if (robot.links[i].parent != kNone && empty[parent_of(i)]) move(i, false);
  for (std::size_t i = 0; i < n; ++i)
    if (empty[i]) move(i, true);
  std::vector<std::string> shared, filled;
  for (std::size_t i = 0; i < n; ++i) {
    if (!empty[i]) continue;
    RobotLink all;
    set_moments(all, below[i]);
    const bool more = fill_up(robot.links[i], all.mass, all.inertia.trace() / 3);
    (more ? filled : shared).push_back(robot.links[i].name);
  }
  if (!shared.empty())
    xml.note(
        "links without mass between two joints share matter on the axes of their joints, "
        "which changes no motion: " +
        name_list(shared));
  if (!filled.empty())
    xml.note("links without mass between two joints that get " + to_text(kCarrier) +
             " of what they carry where their joints leave it open: " + name_list(filled));
}

}  // namespace orthant::io
