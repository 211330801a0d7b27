// SPDX-License-Identifier: Apache-2.0
// robot/kinematics.cpp: frames, Jacobians, centre of mass; inverse kinematics within limits.
#include <Eigen/Cholesky>
#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"
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

namespace {

/// Bounds of coordinates by place of speed; infinite where there are none.
struct Box {
  VecX lower, upper;
};

Box limits_of(const Articulation& tree, const Parameters& p, bool use) {
  const double none = std::numeric_limits<double>::infinity();
  Box box{VecX::Constant(tree.u_size(), -none), VecX::Constant(tree.u_size(), none)};
  for (const TreeJoint& j : tree.joints()) {
    if (!use || index_of(j.joint) == kNone || j.q_size != 1) continue;
    const Joint& joint = tree.model().joint(j.joint);
    if (joint.lower != kNone) box.lower[j.u_begin] = p.values[joint.lower];
    if (joint.upper != kNone) box.upper[j.u_begin] = p.values[joint.upper];
  }
  return box;
}

}  // namespace

/// Levenberg-Marquardt on the freedoms that no limit stops; steps are cut at the limits. A limit
/// stops a freedom where the error would lead beyond it.
InverseKinematicsReport Articulation::inverse_kinematics(
    const Parameters& p, const State& x, std::span<const FrameTarget> targets, VecX& q,
    const InverseKinematicsSettings& settings) const {
  check(q);
  constexpr double kLoopWeight = 10;
  std::vector<FrameRef> frames;
  Eigen::Index rows = 0;
  for (const FrameTarget& t : targets) {
    if (!t.position.allFinite() || !(t.weight > 0))
      throw Error("inverse_kinematics",
                  "the target of '" + t.frame + "' must be finite and its weight > 0");
    frames.push_back(frame(t.frame));
    rows += t.orientation ? 6 : 3;
  }
  const Box box = limits_of(*this, p, settings.limits);
  const auto cut = [&](VecX& at) {
    for (const TreeJoint& j : joints_)
      if (j.q_size == 1)
        at[j.q_begin] =
            std::min(std::max(at[j.q_begin], box.lower[j.u_begin]), box.upper[j.u_begin]);
  };
  const auto residual = [&](const VecX& at, MatX* J) {
    const VecX loops = loop_error(p, x, at);
    VecX r(rows + loops.size());
    if (J != nullptr) J->resize(r.size(), u_size_);
    Eigen::Index i = 0;
    for (std::size_t t = 0; t < targets.size(); ++t) {
      const FrameTarget& target = targets[t];
      const Pose X = pose(p, x, at, frames[t]);
      const Eigen::Index n = target.orientation ? 6 : 3;
      r.segment<3>(i) = target.weight * (X.x - target.position);
      if (n == 6)
        r.segment<3>(i + 3) = target.weight * boxminus(X.p, normalized(*target.orientation));
      if (J != nullptr) {
        // The left Jacobian's inverse on the turn is the identity to first order in the error.
        J->middleRows(i, n) = target.weight * jacobian(p, x, at, frames[t]).topRows(n);
      }
      i += n;
    }
    r.tail(loops.size()) = kLoopWeight * loops;
    if (J != nullptr) J->bottomRows(loops.size()) = kLoopWeight * loop_jacobian(p, x, at);
    return r;
  };
  InverseKinematicsReport report;
  cut(q);
  MatX J;
  VecX r = residual(q, &J);
  double damping = 1e-6;
  for (; report.iterations < settings.max_iterations; ++report.iterations) {
    if (r.norm() <= settings.tolerance) break;
    const VecX g = J.transpose() * r;
    MatX A = J.transpose() * J;
    VecX step = -g;
    for (const TreeJoint& j : joints_) {
      if (j.q_size != 1) continue;
      const Index k = j.u_begin;
      const bool stopped =
          (q[j.q_begin] <= box.lower[k] && g[k] > 0) || (q[j.q_begin] >= box.upper[k] && g[k] < 0);
      if (!stopped) continue;
      A.row(k).setZero();
      A.col(k).setZero();
      step[k] = 0;
    }
    A.diagonal().array() += damping;
    step = A.ldlt().solve(step);
    VecX next = integrate(q, step);
    cut(next);
    const VecX after = residual(next, nullptr);
    if (after.norm() < r.norm()) {
      const bool slow = r.norm() - after.norm() <= 1e-14 * (1 + r.norm());
      q = next;
      r = residual(q, &J);
      damping = std::max(damping * 0.1, 1e-14);
      if (slow) break;
    } else {
      damping *= 10;
      if (damping > 1e8) break;
    }
  }
  const VecX loops = loop_error(p, x, q);
  report.loop_error = loops.size() == 0 ? 0 : loops.lpNorm<Eigen::Infinity>();
  report.error = r.norm();
  report.reached = report.error <= settings.tolerance;
  return report;
}

}  // namespace orthant
