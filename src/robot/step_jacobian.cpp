// SPDX-License-Identifier: Apache-2.0
// robot/step_jacobian.cpp: changes of joint coordinates => changes of the bodies => those after a
// step => changes of joint coordinates. The bodies hang on each other as robot/tree_kernel.hpp
// says,
//   w_c = w_p + W,   v_C = v_p + w_p × r + V,   C the anchor of the body, r = C − x_p
// and what follows are the derivatives of these.
#include "orthant/robot/step_jacobian.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include "robot/tree_kernel.hpp"

namespace orthant {
namespace {

using robot::AxisT;

/// A change of a body: place, turn, velocities.
struct Change {
  Vec3 x = Vec3::Zero(), turn = Vec3::Zero(), v = Vec3::Zero(), w = Vec3::Zero();
};

/// A joint of the tree where the bodies are.
struct Place {
  Vec3 r, arm;        // from the parent's centre to the anchor, from the anchor to the body's
  Vec3 w_p, w, W, V;  // angular velocities; of the body against its parent, V at the anchor
  AxisT<double> axis[6];
};

/// A body in a state, or the world.
struct Given {
  Pose X;
  Vec3 v = Vec3::Zero(), w = Vec3::Zero();

  Given(const Model& model, const State& x, BodyId id) {
    if (id == kWorld) return;
    const Body& body = model.body(id);
    X = body_pose(body, x.q.data());
    if (body.v_begin != kNone) std::tie(v, w) = twist(body, x.v.data() + body.v_begin);
  }
  static std::pair<Vec3, Vec3> twist(const Body& body, const double* x) {
    if (body.planar) return {Vec3(x[0], x[1], 0), Vec3(0, 0, x[2])};
    return {Vec3(x[0], x[1], x[2]), Vec3(x[3], x[4], x[5])};
  }
};

class Tree {
 public:
  Tree(const Articulation& tree, const Parameters& p, const State& x)
      : tree_(tree), model_(tree.model()) {
    for (const TreeJoint& j : tree.joints()) {
      const auto [X_PJ, X_CJ] = robot::joint_frames_of(model_, j, p.values.data());
      const Given parent(model_, x, j.parent), body(model_, x, j.body);
      Place at;
      const Vec3 C = compose(body.X, X_CJ).x;
      at.r = C - parent.X.x;
      at.arm = body.X.x - C;
      at.w_p = parent.w;
      at.w = body.w;
      at.W = body.w - parent.w;
      at.V = body.v - body.w.cross(at.arm) - parent.v - parent.w.cross(at.r);
      const Quat frame = compose(parent.X, X_PJ).p;
      for (int k = 0; k < j.u_size; ++k) at.axis[k] = robot::axis_of(j, frame, k);
      places_.push_back(at);
    }
  }

  /// One change of coordinates (freedom `at` of q or of u) => of the bodies, into a column.
  void spread(Index at, bool of_speeds, Eigen::Ref<VecX> dq, Eigen::Ref<VecX> dv) {
    changes_.assign(places_.size(), {});
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const TreeJoint& j = tree_.joints()[i];
      const Place& here = places_[i];
      const Change up = j.above == kNone ? Change{} : changes_[static_cast<std::size_t>(j.above)];
      Change& out = changes_[i];
      const bool own = at >= j.u_begin && at < j.u_begin + j.u_size;
      const AxisT<double> s = own ? here.axis[at - j.u_begin] : AxisT<double>{};
      const AxisT<double> none, &ds = of_speeds ? none : s, &du = of_speeds ? s : none;
      out.turn = up.turn + ds.ang;
      const Vec3 dr = up.turn.cross(here.r) + ds.lin;
      const Vec3 d_arm = out.turn.cross(here.arm);
      out.x = up.x + dr + d_arm;
      out.w = up.w + up.turn.cross(here.W) + du.ang;
      out.v = up.v + up.w.cross(here.r) + here.w_p.cross(dr) + up.turn.cross(here.V) + du.lin +
              out.w.cross(here.arm) + here.w.cross(d_arm);
      put(j.body, out.x, out.turn, dq);
      put(j.body, out.v, out.w, dv);
    }
  }

  /// Changes of the bodies => of the coordinates and speeds.
  void gather(const Eigen::Ref<const VecX>& dq, const Eigen::Ref<const VecX>& dv,
              Eigen::Ref<VecX> out) const {
    const Index n = tree_.u_size();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const TreeJoint& j = tree_.joints()[i];
      const Place& here = places_[i];
      const Change up = taken(j.parent, dq, dv), body = taken(j.body, dq, dv);
      const Vec3 d_arm = body.turn.cross(here.arm);   // of the body's centre from the anchor
      const Vec3 dr = body.x - d_arm - up.x;          // of the anchor from the parent's centre
      const Vec3 shift = dr - up.turn.cross(here.r);  // at fixed parent
      const Vec3 dW = body.w - up.w - up.turn.cross(here.W);
      const Vec3 dV = body.v - body.w.cross(here.arm) - here.w.cross(d_arm) - up.v -
                      up.w.cross(here.r) - here.w_p.cross(dr) - up.turn.cross(here.V);
      for (int k = 0; k < j.u_size; ++k) {
        const AxisT<double>& s = here.axis[k];
        out[j.u_begin + k] = s.lin.dot(shift) + s.ang.dot(body.turn - up.turn);
        out[n + j.u_begin + k] = s.lin.dot(dV) + s.ang.dot(dW);
      }
    }
  }

 private:
  void put(BodyId id, const Vec3& linear, const Vec3& angular, Eigen::Ref<VecX> to) const {
    const Body& body = model_.body(id);
    double* out = to.data() + body.v_begin;
    out[0] = linear[0], out[1] = linear[1];
    if (body.planar) {
      out[2] = angular[2];
      return;
    }
    out[2] = linear[2];
    for (int k = 0; k < 3; ++k) out[3 + k] = angular[k];
  }
  std::pair<Vec3, Vec3> take(BodyId id, const Eigen::Ref<const VecX>& from) const {
    if (id == kWorld || model_.body(id).v_begin == kNone) return {Vec3::Zero(), Vec3::Zero()};
    return Given::twist(model_.body(id), from.data() + model_.body(id).v_begin);
  }
  Change taken(BodyId id, const Eigen::Ref<const VecX>& dq,
               const Eigen::Ref<const VecX>& dv) const {
    Change c;
    std::tie(c.x, c.turn) = take(id, dq);
    std::tie(c.v, c.w) = take(id, dv);
    return c;
  }

  const Articulation& tree_;
  const Model& model_;
  std::vector<Place> places_;
  std::vector<Change> changes_;
};

}  // namespace

StepJacobian step_jacobian(const Articulation& tree, const Parameters& p, const State& before,
                           const State& after, StepGradient& gradient) {
  const Model& model = tree.model();
  const Index n = tree.u_size(), v = model.v_size(), controls = model.control_count();
  StepChanges changes{MatX::Zero(v, 2 * n + controls), MatX::Zero(v, 2 * n + controls)};
  Tree start(tree, p, before);
  for (Index i = 0; i < 2 * n; ++i) start.spread(i % n, i >= n, changes.q.col(i), changes.v.col(i));
  if (controls > 0) {
    changes.u.setZero(controls, 2 * n + controls);
    changes.u.rightCols(controls).setIdentity();
  }
  const StepChanges end = gradient.push_forward(changes);
  const Tree there(tree, p, after);
  MatX all(2 * n, 2 * n + controls);
  for (Index i = 0; i < all.cols(); ++i) there.gather(end.q.col(i), end.v.col(i), all.col(i));
  return {all.leftCols(2 * n), all.rightCols(controls)};
}

}  // namespace orthant
