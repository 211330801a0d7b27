// SPDX-License-Identifier: Apache-2.0
// robot/inverse_kinematics.cpp: coordinates with frames and gaps where they are wanted.
//   min ½ |r(q)|²   s.t.   lower <= q <= upper
// by Levenberg-Marquardt. r: errors of frames, of gaps, of loops, and the overlaps. The derivative
// of a signed distance by speeds is n.(J_a - J_b) at its two points.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/robot/articulation.hpp"
#include "shape/mesh_contacts.hpp"

namespace orthant {
namespace {

constexpr double kLoopWeight = 10;
constexpr double kNear = 4;  // sizes of a shape within which a mesh is searched for it

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

class Errors {
 public:
  Errors(const Articulation& tree, const Parameters& p, const State& x,
         std::span<const FrameTarget> targets, const InverseKinematicsSettings& settings)
      : tree_(tree), p_(p), x_(x), targets_(targets), settings_(settings), bodies_(x) {
    for (const FrameTarget& t : targets) {
      if (!t.position.allFinite() || !(t.weight > 0))
        throw Error("inverse_kinematics",
                    "the target of '" + t.frame + "' must be finite and its weight > 0");
      frames_.push_back(tree.frame(t.frame));
    }
    for (const GapTarget& g : settings.gaps) {
      if (!std::isfinite(g.gap) || !(g.weight > 0))
        throw Error("inverse_kinematics", "the gap of '" + g.shape + "' to '" + g.other +
                                              "' must be finite and its weight > 0");
      ShapeId a = tree.model().find_shape(g.shape), b = tree.model().find_shape(g.other);
      if (tree.model().shape(a).shape.kind() == ShapeKind::Mesh) std::swap(a, b);
      pairs_.emplace_back(a, b);
    }
  }

  /// All errors at q, and their derivatives by speeds where J is given.
  VecX at(const VecX& q, MatX* J) {
    r_.clear();
    rows_.clear();
    wanted_ = J != nullptr;
    for (std::size_t t = 0; t < targets_.size(); ++t) add_frame(t, q);
    if (!pairs_.empty() || settings_.contacts) {
      tree_.write(p_, q, VecX::Zero(tree_.u_size()), bodies_);
      for (std::size_t g = 0; g < pairs_.size(); ++g) add_gap(g, q);
      if (settings_.contacts) add_overlaps(q);
    }
    const VecX loops = tree_.loop_error(p_, x_, q);
    for (Eigen::Index i = 0; i < loops.size(); ++i) r_.push_back(kLoopWeight * loops[i]);
    if (wanted_ && loops.size() > 0) {
      const MatX L = kLoopWeight * tree_.loop_jacobian(p_, x_, q);
      for (Eigen::Index i = 0; i < loops.size(); ++i) rows_.emplace_back(L.row(i).transpose());
    }
    if (wanted_) {
      J->resize(static_cast<Eigen::Index>(rows_.size()), tree_.u_size());
      for (std::size_t i = 0; i < rows_.size(); ++i)
        J->row(static_cast<Eigen::Index>(i)) = rows_[i].transpose();
    }
    return Eigen::Map<const VecX>(r_.data(), static_cast<Eigen::Index>(r_.size()));
  }

 private:
  void add_frame(std::size_t t, const VecX& q) {
    const FrameTarget& target = targets_[t];
    const Pose X = tree_.pose(p_, x_, q, frames_[t]);
    const Vec3 shift = X.x - target.position;
    // The left Jacobian's inverse on the turn is the identity to first order in the error.
    const Vec3 turn =
        target.orientation ? Vec3(boxminus(X.p, normalized(*target.orientation))) : Vec3::Zero();
    const int n = target.orientation ? 6 : 3;
    for (int k = 0; k < n; ++k) r_.push_back(target.weight * (k < 3 ? shift[k] : turn[k - 3]));
    if (!wanted_) return;
    const MatX J = tree_.jacobian(p_, x_, q, frames_[t]);
    for (int k = 0; k < n; ++k) rows_.emplace_back(target.weight * J.row(k).transpose());
  }

  void add_gap(std::size_t g, const VecX& q) {
    const auto [a, b] = pairs_[g];
    const GapTarget& target = settings_.gaps[g];
    const ContactPoint c = nearest(a, b);
    r_.push_back(target.weight * (c.gap - target.gap));
    if (wanted_) add_row(q, a, b, c.normal, c.point_a, c.point_b, target.weight);
  }

  /// Of shapes that may touch: the deepest point of each pair, so that the sum of squares stays
  /// smooth where manifolds change.
  void add_overlaps(const VecX& q) {
    const CollisionSettings settings{.margin = 0, .points = ContactPoints::Deepest};
    find_contacts(tree_.model(), p_, bodies_.q, {}, settings, collision_, contacts_);
    for (const Contact& c : contacts_.contacts) {
      if (c.gap >= 0) continue;
      r_.push_back(c.gap);
      if (wanted_) add_row(q, c.shape_a, c.shape_b, c.normal, c.point_a, c.point_b, 1);
    }
  }

  ContactPoint nearest(ShapeId a, ShapeId b) {
    const Model& model = tree_.model();
    if (model.shape(b).shape.kind() != ShapeKind::Mesh)
      return shape_distance(model, p_, bodies_.q, a, b);
    const ShapeInstance &sa = model.shape(a), &sb = model.shape(b);
    const double* values = p_.values.data();
    const auto pose = [&](const ShapeInstance& s) {
      return shape_pose(model.body(s.body), s, bodies_.q.data(), values);
    };
    points_.clear();
    mesh_contacts(sa.view(values), pose(sa), sb.view(values), pose(sb), kNear * sa.bounding_radius,
                  points_);
    if (points_.empty())
      throw Error("inverse_kinematics", "'" + sa.name + "' is too far from '" + sb.name +
                                            "': start within " + to_text(kNear) + " of its size");
    return *std::min_element(points_.begin(), points_.end(),
                             [](const auto& x, const auto& y) { return x.gap < y.gap; });
  }

  /// w n.(velocity of A's point - that of B's) by speeds.
  void add_row(const VecX& q, ShapeId a, ShapeId b, const Vec3& n, const Vec3& point_a,
               const Vec3& point_b, double w) {
    VecX row = VecX::Zero(tree_.u_size());
    for (const auto& [shape, point, sign] :
         {std::tuple(a, point_a, 1.0), std::tuple(b, point_b, -1.0)}) {
      const BodyId id = tree_.model().shape(shape).body;
      const Pose X = body_pose(tree_.model().body(id), bodies_.q.data());
      const FrameRef at{id, Pose{transform(inverse(X), point), {}}};
      row += sign * w * (tree_.jacobian(p_, x_, q, at).topRows<3>().transpose() * n);
    }
    rows_.push_back(std::move(row));
  }

  const Articulation& tree_;
  const Parameters& p_;
  const State& x_;
  std::span<const FrameTarget> targets_;
  const InverseKinematicsSettings& settings_;
  State bodies_;  ///< at the q looked at
  std::vector<FrameRef> frames_;
  std::vector<std::pair<ShapeId, ShapeId>> pairs_;
  CollisionWorkspace collision_;
  ContactSet contacts_;
  std::vector<ContactPoint> points_;
  std::vector<double> r_;
  std::vector<VecX> rows_;
  bool wanted_ = false;
};

}  // namespace

/// Levenberg-Marquardt on the freedoms that no limit stops; steps are cut at the limits. A limit
/// stops a freedom where the error would lead beyond it.
InverseKinematicsReport Articulation::inverse_kinematics(
    const Parameters& p, const State& x, std::span<const FrameTarget> targets, VecX& q,
    const InverseKinematicsSettings& settings) const {
  check(q);
  Errors errors(*this, p, x, targets, settings);
  const Box box = limits_of(*this, p, settings.limits);
  const auto cut = [&](VecX& at) {
    for (const TreeJoint& j : joints_)
      if (j.q_size == 1)
        at[j.q_begin] =
            std::min(std::max(at[j.q_begin], box.lower[j.u_begin]), box.upper[j.u_begin]);
  };
  InverseKinematicsReport report;
  cut(q);
  MatX J;
  VecX r = errors.at(q, &J);
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
    const VecX after = errors.at(next, nullptr);
    if (after.norm() < r.norm()) {
      const bool slow = r.norm() - after.norm() <= 1e-14 * (1 + r.norm());
      q = next;
      r = errors.at(q, &J);
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
