// SPDX-License-Identifier: Apache-2.0
// robot/kinematics.cpp: frames, Jacobians, centre of mass.
#include "robot/tree_kernel.hpp"

namespace orthant {
namespace {

using robot::AxisT;
using robot::BodyMotionT;
using Motions = std::vector<BodyMotionT<double>>;

Motions motions(const Articulation& tree, const Parameters& p, const State& x, const VecX& q,
                const VecX* u = nullptr) {
  Motions m;
  robot::forward_pass<double>(tree, x, p.values.data(), q.data(),
                              u == nullptr ? nullptr : u->data(), nullptr, m);
  return m;
}

/// Adds what every freedom above joint `at` does to a point, times `factor`.
void add_jacobian(const Articulation& tree, const Motions& m, Index at, const Vec3& point,
                  double factor, MatX& J) {
  for (; at != kNone; at = tree.joints()[static_cast<std::size_t>(at)].above) {
    const TreeJoint& j = tree.joints()[static_cast<std::size_t>(at)];
    const BodyMotionT<double>& motion = m[static_cast<std::size_t>(at)];
    for (int k = 0; k < j.u_size; ++k) {
      const AxisT<double> s = robot::axis_of(j, motion.frame, k);
      J.col(j.u_begin + k).head<3>() += factor * (s.lin + s.ang.cross(point - motion.C));
      if (J.rows() == 6) J.col(j.u_begin + k).tail<3>() += factor * s.ang;
    }
  }
}

}  // namespace

Pose Articulation::pose(const Parameters& p, const State& x, const VecX& q,
                        const FrameRef& frame) const {
  check(q);
  if (frame.body == kWorld) return frame.X_BF;
  const Index at = place_of_body_[static_cast<std::size_t>(frame.body)];
  const Pose X = at == kNone ? body_pose(model_->body(frame.body), x.q.data())
                             : motions(*this, p, x, q)[static_cast<std::size_t>(at)].X;
  return compose(X, frame.X_BF);
}

MatX Articulation::jacobian(const Parameters& p, const State& x, const VecX& q,
                            const FrameRef& frame) const {
  check(q);
  MatX J = MatX::Zero(6, u_size_);
  if (frame.body == kWorld) return J;
  const Index at = place_of_body_[static_cast<std::size_t>(frame.body)];
  if (at == kNone) return J;
  const Motions m = motions(*this, p, x, q);
  add_jacobian(*this, m, at, transform(m[static_cast<std::size_t>(at)].X, frame.X_BF.x), 1, J);
  return J;
}

VecX Articulation::jacobian_rate(const Parameters& p, const State& x, const VecX& q, const VecX& u,
                                 const FrameRef& frame) const {
  check(q, &u);
  VecX out = VecX::Zero(6);
  if (frame.body == kWorld) return out;
  const Index at = place_of_body_[static_cast<std::size_t>(frame.body)];
  if (at == kNone) return out;
  const BodyMotionT<double> m = motions(*this, p, x, q, &u)[static_cast<std::size_t>(at)];
  const Vec3 r = rotate(m.X.p, frame.X_BF.x);
  out.head<3>() = m.a + m.alpha.cross(r) + m.w.cross(m.w.cross(r));
  out.tail<3>() = m.alpha;
  return out;
}

double Articulation::mass(const Parameters& p) const {
  double sum = 0;
  for (const TreeJoint& j : joints_) sum += p.values[model_->body(j.body).mass];
  return sum;
}

Vec3 Articulation::center_of_mass(const Parameters& p, const State& x, const VecX& q) const {
  check(q);
  const Motions m = motions(*this, p, x, q);
  Vec3 sum = Vec3::Zero();
  for (std::size_t i = 0; i < m.size(); ++i)
    sum += p.values[model_->body(joints_[i].body).mass] * m[i].X.x;
  return sum / mass(p);
}

MatX Articulation::center_of_mass_jacobian(const Parameters& p, const State& x,
                                           const VecX& q) const {
  check(q);
  const Motions m = motions(*this, p, x, q);
  MatX J = MatX::Zero(3, u_size_);
  const double all = mass(p);
  for (std::size_t i = 0; i < m.size(); ++i)
    add_jacobian(*this, m, static_cast<Index>(i), m[i].X.x,
                 p.values[model_->body(joints_[i].body).mass] / all, J);
  return J;
}

}  // namespace orthant
