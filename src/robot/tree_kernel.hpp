// SPDX-License-Identifier: Apache-2.0
// robot/tree_kernel.hpp: coordinates, speeds, accelerations of a tree => motion of its bodies and
// what the joints do for it, in any scalar.
// Every joint is one relative motion seen from the parent: the body turns with W = sum ang_k u_k
// and its anchor C moves with V = sum lin_k u_k, axes fixed in the parent's joint frame. With r = C
// - x_p:
//   w_c = w_p + W,                       v_C = v_p + w_p x r + V
//   alpha_c = alpha_p + w_p x W + W',    a_C = a_p + alpha_p x r + w_p x (w_p x r) + 2 w_p x V + V'
// R. Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 5 and 6, in world axes.
#pragma once

#include <vector>

#include "model/joint_kernel.hpp"
#include "orthant/robot/articulation.hpp"

namespace orthant::robot {

/// Of one freedom, world axes.
template <class T>
struct AxisT {
  Vec3T<T> lin = Vec3T<T>(T(0), T(0), T(0)), ang = Vec3T<T>(T(0), T(0), T(0));
};

template <class T>
struct BodyMotionT {
  PoseT<T> X;         ///< centre of mass, orientation
  T theta{0};         ///< planar bodies, not wrapped
  QuatT<T> frame;     ///< the parent's joint frame
  Vec3T<T> C;         ///< anchor of the body
  Vec3T<T> w, v;      ///< angular velocity, velocity of the centre of mass
  Vec3T<T> alpha, a;  ///< their rates
};

template <class T>
Vec3T<T> zero3() {
  return Vec3T<T>(T(0), T(0), T(0));
}

/// A body that the tree does not move: the world, or from the state.
template <class T>
BodyMotionT<T> given_motion(const Model& model, const State& x, BodyId id) {
  BodyMotionT<T> m;
  m.C = m.w = m.v = m.alpha = m.a = zero3<T>();
  if (id == kWorld) return m;
  const Body& body = model.body(id);
  m.X = pose_cast<T>(body_pose(body, x.q.data()));
  if (body.planar) m.theta = T(x.q[body.q_begin + 2]);
  if (body.v_begin == kNone || body.is_dynamic()) return m;  // dynamic: another articulation's
  const double* v = x.v.data() + body.v_begin;
  m.v = body.planar ? Vec3T<T>(T(v[0]), T(v[1]), T(0)) : Vec3T<T>(T(v[0]), T(v[1]), T(v[2]));
  m.w = body.planar ? Vec3T<T>(T(0), T(0), T(v[2])) : Vec3T<T>(T(v[3]), T(v[4]), T(v[5]));
  return m;
}

/// Axis k of a joint whose parent's frame is `frame`.
template <class T>
AxisT<T> axis_of(const TreeJoint& j, const QuatT<T>& frame, int k) {
  AxisT<T> s;
  const T sign = j.reversed ? T(-1) : T(1);
  const auto e = [&](int i) -> Vec3T<T> { return rotate(frame, internal::unit_axis<T>(i)); };
  switch (j.kind) {
    case CoordinateKind::Weld:
      break;
    case CoordinateKind::Hinge:
      s.ang = sign * e(2);
      break;
    case CoordinateKind::Slide:
      s.lin = sign * e(0);
      break;
    case CoordinateKind::Ball:
      s.ang = e(k);
      break;
    case CoordinateKind::Planar:
    case CoordinateKind::FreePlanar:
      (k < 2 ? s.lin : s.ang) = e(k);
      break;
    case CoordinateKind::Free:
      (k < 3 ? s.lin : s.ang) = e(k % 3);
      break;
  }
  return s;
}

/// The body's joint frame in the parent's, from its coordinates.
template <class T>
PoseT<T> joint_pose(const TreeJoint& j, const T* q) {
  const T sign = j.reversed ? T(-1) : T(1);
  switch (j.kind) {
    case CoordinateKind::Weld:
      break;
    case CoordinateKind::Hinge:
      return planar_pose(T(0), T(0), T(sign * q[0]));
    case CoordinateKind::Slide:
      return {Vec3T<T>(sign * q[0], T(0), T(0)), {}};
    case CoordinateKind::Ball:
      return {zero3<T>(), normalized(QuatT<T>{q[0], q[1], q[2], q[3]})};
    case CoordinateKind::Planar:
    case CoordinateKind::FreePlanar:
      return planar_pose(q[0], q[1], q[2]);
    case CoordinateKind::Free:
      return {Vec3T<T>(q[0], q[1], q[2]), normalized(QuatT<T>{q[3], q[4], q[5], q[6]})};
  }
  return {};
}

/// Where the joint's frames are on parent and body; a free body's are the world and its own.
template <class T>
std::pair<PoseT<T>, PoseT<T>> joint_frames_of(const Model& model, const TreeJoint& j,
                                              const T* parameters) {
  if (index_of(j.joint) == kNone) return {};
  const Joint& joint = model.joint(j.joint);
  const T* a = parameters + joint.parameter_begin;
  const T* b = a + frame_size(joint.planar);
  return {frame_pose(joint.planar, j.reversed ? a : b),
          frame_pose(joint.planar, j.reversed ? b : a)};
}

/// Angle of a planar joint's frame.
template <class T>
T frame_angle(const Model& model, const TreeJoint& j, const T* parameters, bool of_parent) {
  if (index_of(j.joint) == kNone) return T(0);
  const Joint& joint = model.joint(j.joint);
  const T* a = parameters + joint.parameter_begin;
  return of_parent != j.reversed ? a[frame_size(true) + 2] : a[2];
}

/// Forward: motion of all bodies. `u` and `a` may be null: zero.
template <class T>
void forward_pass(const Articulation& tree, const State& x, const T* parameters, const T* q,
                  const T* u, const T* a, std::vector<BodyMotionT<T>>& out) {
  const Model& model = tree.model();
  out.resize(tree.joints().size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const TreeJoint& j = tree.joints()[i];
    const BodyMotionT<T> p = j.above == kNone ? given_motion<T>(model, x, j.parent)
                                              : out[static_cast<std::size_t>(j.above)];
    BodyMotionT<T>& m = out[i];
    const auto [X_PJ, X_CJ] = joint_frames_of(model, j, parameters);
    const PoseT<T> X_WJ = compose(p.X, X_PJ);
    const PoseT<T> X_WC = compose(X_WJ, joint_pose(j, q + j.q_begin));
    m.frame = X_WJ.p;
    m.C = X_WC.x;
    m.X = compose(X_WC, inverse(X_CJ));
    if (model.body(j.body).planar) {
      const T turn = j.kind == CoordinateKind::FreePlanar ? q[j.q_begin + 2]
                     : j.kind == CoordinateKind::Hinge
                         ? (j.reversed ? T(-q[j.q_begin]) : q[j.q_begin])
                         : T(0);
      m.theta = p.theta + frame_angle(model, j, parameters, true) + turn -
                frame_angle(model, j, parameters, false);
    }
    Vec3T<T> W = zero3<T>(), V = W, dW = W, dV = W;
    for (int k = 0; k < j.u_size; ++k) {
      const AxisT<T> s = axis_of(j, m.frame, k);
      if (u != nullptr) W += s.ang * u[j.u_begin + k], V += s.lin * u[j.u_begin + k];
      if (a != nullptr) dW += s.ang * a[j.u_begin + k], dV += s.lin * a[j.u_begin + k];
    }
    const Vec3T<T> r = m.C - p.X.x, arm = m.X.x - m.C;
    m.w = p.w + W;
    m.v = p.v + p.w.cross(r) + V + m.w.cross(arm);
    m.alpha = p.alpha + p.w.cross(W) + dW;
    m.a = p.a + p.alpha.cross(r) + p.w.cross(p.w.cross(r)) + T(2) * p.w.cross(V) + dV +
          m.alpha.cross(arm) + m.w.cross(m.w.cross(arm));
  }
}

/// Inertia about the centre of mass, world axes.
template <class T>
Mat3T<T> world_inertia(const Body& body, const T* parameters, const QuatT<T>& p) {
  const T* I = parameters + body.inertia;
  Mat3T<T> J = Mat3T<T>::Zero();
  if (body.planar) {
    J(2, 2) = I[0];
    return J;
  }
  J << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
  const Mat3T<T> R = matrix_of(p);
  return R * J * R.transpose();
}

/// Gravity as a body feels it.
template <class T>
Vec3T<T> gravity_of(const Model& model, const Body& body, const T* parameters) {
  const T* g = parameters + model.gravity();
  return Vec3T<T>(g[0], g[1], body.planar ? T(0) : g[2]);
}

/// Backward: tau of the forces that the motion takes. `tau` has u_size() numbers.
template <class T>
void backward_pass(const Articulation& tree, const T* parameters, const T* a,
                   const std::vector<BodyMotionT<T>>& motion, T* tau) {
  const Model& model = tree.model();
  const std::size_t n = motion.size();
  std::vector<Vec3T<T>> F(n), N(n);  // force, moment about the anchor, of the whole subtree
  for (std::size_t i = n; i-- > 0;) F[i] = N[i] = zero3<T>();
  for (std::size_t i = n; i-- > 0;) {
    const TreeJoint& j = tree.joints()[i];
    const Body& body = model.body(j.body);
    const BodyMotionT<T>& m = motion[i];
    const Mat3T<T> I = world_inertia(body, parameters, m.X.p);
    const Vec3T<T> f = parameters[body.mass] * (m.a - gravity_of(model, body, parameters));
    F[i] += f;
    N[i] += I * m.alpha + m.w.cross(Vec3T<T>(I * m.w)) + Vec3T<T>(m.X.x - m.C).cross(f);
    for (int k = 0; k < j.u_size; ++k) {
      const AxisT<T> s = axis_of(j, m.frame, k);
      tau[j.u_begin + k] = s.lin.dot(F[i]) + s.ang.dot(N[i]);
    }
    if (index_of(j.joint) != kNone && model.joint(j.joint).armature != kNone && j.u_size == 1 &&
        a != nullptr)
      tau[j.u_begin] += parameters[model.joint(j.joint).armature] * a[j.u_begin];
    if (j.above == kNone) continue;
    const auto up = static_cast<std::size_t>(j.above);
    F[up] += F[i];
    N[up] += N[i] + Vec3T<T>(m.C - motion[up].C).cross(F[i]);
  }
}

}  // namespace orthant::robot
