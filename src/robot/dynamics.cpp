// SPDX-License-Identifier: Apache-2.0
// robot/dynamics.cpp: mass matrix (composite bodies), inverse and forward dynamics, derivatives.
// tau = M a + bias is one forward and one backward pass over the tree; M has the same passes for
// the composite bodies. Derivatives: the passes in dual numbers, eight directions at a time, the
// change of q as integrate() makes it.
#include <Eigen/Cholesky>

#include "orthant/base/error.hpp"
#include "robot/tree_kernel.hpp"

namespace orthant {
namespace {

using robot::AxisT;
using robot::BodyMotionT;

constexpr int kLanes = 8;
using D = Dual<kLanes>;

template <class T>
std::vector<T> cast(const VecX& x) {
  std::vector<T> out(static_cast<std::size_t>(x.size()));
  for (Eigen::Index i = 0; i < x.size(); ++i) out[static_cast<std::size_t>(i)] = T(x[i]);
  return out;
}

/// q moved by the duals du.
std::vector<D> moved(const Articulation& tree, const VecX& q, const std::vector<D>& du) {
  std::vector<D> out = cast<D>(q);
  for (const TreeJoint& j : tree.joints()) {
    D* o = out.data() + j.q_begin;
    const D* d = du.data() + j.u_begin;
    const Index straight = j.kind == CoordinateKind::Ball ? 0 : std::min<Index>(j.u_size, 3);
    for (Index k = 0; k < straight; ++k) o[k] += d[k];
    if (j.kind != CoordinateKind::Ball && j.kind != CoordinateKind::Free) continue;
    o += straight;
    d += straight;
    const QuatT<D> p =
        multiply(exp_rotation(Vec3T<D>(d[0], d[1], d[2])), QuatT<D>{o[0], o[1], o[2], o[3]});
    o[0] = p.w, o[1] = p.x, o[2] = p.y, o[3] = p.z;
  }
  return out;
}

template <class T>
std::vector<T> efforts(const Articulation& tree, const State& x, const std::vector<T>& p,
                       const std::vector<T>& q, const std::vector<T>& u, const std::vector<T>& a) {
  std::vector<BodyMotionT<T>> motion;
  robot::forward_pass(tree, x, p.data(), q.data(), u.data(), a.data(), motion);
  std::vector<T> tau(static_cast<std::size_t>(tree.u_size()));
  robot::backward_pass(tree, p.data(), a.data(), motion, tau.data());
  return tau;
}

}  // namespace

VecX Articulation::inverse_dynamics(const Parameters& p, const State& x, const VecX& q,
                                    const VecX& u, const VecX& a) const {
  check(q, &u, &a);
  std::vector<BodyMotionT<double>> motion;
  robot::forward_pass(*this, x, p.values.data(), q.data(), u.data(), a.data(), motion);
  VecX tau(u_size_);
  robot::backward_pass(*this, p.values.data(), a.data(), motion, tau.data());
  return tau;
}

VecX Articulation::bias(const Parameters& p, const State& x, const VecX& q, const VecX& u) const {
  return inverse_dynamics(p, x, q, u, VecX::Zero(u_size_));
}

MatX Articulation::mass_matrix(const Parameters& p, const State& x, const VecX& q) const {
  check(q);
  std::vector<BodyMotionT<double>> motion;
  const double* values = p.values.data();
  robot::forward_pass<double>(*this, x, values, q.data(), nullptr, nullptr, motion);
  struct Composite {
    double mass = 0;
    Vec3 first = Vec3::Zero();  // mass times centre, from the body's anchor
    Mat3 I = Mat3::Zero();      // about the anchor
  };
  const auto at_distance = [](double m, const Vec3& d) -> Mat3 {
    return m * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
  };
  const std::size_t n = joints_.size();
  std::vector<Composite> sum(n);
  MatX M = MatX::Zero(u_size_, u_size_);
  for (std::size_t i = n; i-- > 0;) {
    const TreeJoint& j = joints_[i];
    const Body& body = model_->body(j.body);
    const BodyMotionT<double>& m = motion[i];
    const double mass = values[body.mass];
    const Vec3 c = m.X.x - m.C;
    sum[i].mass += mass;
    sum[i].first += mass * c;
    sum[i].I += robot::world_inertia(body, values, m.X.p) + at_distance(mass, c);
    const Composite& s = sum[i];
    for (int k = 0; k < j.u_size; ++k) {
      // Momentum of the composite at unit speed, then its shares along the way to the root.
      const AxisT<double> axis = robot::axis_of(j, m.frame, k);
      const Vec3 F = s.mass * axis.lin + axis.ang.cross(s.first);
      Vec3 N = s.I * axis.ang + s.first.cross(axis.lin);
      Vec3 about = m.C;
      for (Index at = static_cast<Index>(i); at != kNone;
           at = joints_[static_cast<std::size_t>(at)].above) {
        const TreeJoint& up = joints_[static_cast<std::size_t>(at)];
        const BodyMotionT<double>& um = motion[static_cast<std::size_t>(at)];
        N += (about - um.C).cross(F);
        about = um.C;
        for (int l = 0; l < up.u_size; ++l) {
          const AxisT<double> other = robot::axis_of(up, um.frame, l);
          const double value = other.lin.dot(F) + other.ang.dot(N);
          M(up.u_begin + l, j.u_begin + k) = M(j.u_begin + k, up.u_begin + l) = value;
        }
      }
    }
    if (index_of(j.joint) != kNone && j.u_size == 1 && model_->joint(j.joint).armature != kNone)
      M(j.u_begin, j.u_begin) += values[model_->joint(j.joint).armature];
    if (j.above == kNone) continue;
    Composite& up = sum[static_cast<std::size_t>(j.above)];
    // Steiner twice over: from this anchor to the centre and on to the other anchor.
    const Vec3 d = m.C - motion[static_cast<std::size_t>(j.above)].C;
    up.mass += s.mass;
    up.first += s.first + s.mass * d;
    const double dot = 2 * d.dot(s.first);
    up.I += s.I + at_distance(s.mass, d) + dot * Mat3::Identity() - d * s.first.transpose() -
            s.first * d.transpose();
  }
  return M;
}

VecX Articulation::forward_dynamics(const Parameters& p, const State& x, const VecX& q,
                                    const VecX& u, const VecX& tau) const {
  check(q, &u, &tau);
  return mass_matrix(p, x, q).ldlt().solve(tau - bias(p, x, q, u));
}

InverseDynamicsDerivatives Articulation::inverse_dynamics_derivatives(const Parameters& p,
                                                                      const State& x, const VecX& q,
                                                                      const VecX& u,
                                                                      const VecX& a) const {
  check(q, &u, &a);
  const std::vector<D> values = cast<D>(p.values), speeds = cast<D>(u), rates = cast<D>(a);
  InverseDynamicsDerivatives out{MatX(u_size_, u_size_), MatX(u_size_, u_size_)};
  for (Index begin = 0; begin < u_size_; begin += kLanes) {
    const int lanes = static_cast<int>(std::min<Index>(kLanes, u_size_ - begin));
    std::vector<D> change(static_cast<std::size_t>(u_size_)), u_dual = speeds;
    for (int k = 0; k < lanes; ++k) {
      change[static_cast<std::size_t>(begin + k)].d[k] = 1;
      u_dual[static_cast<std::size_t>(begin + k)].d[k] = 1;
    }
    const auto by_q = efforts(*this, x, values, moved(*this, q, change), speeds, rates);
    const auto by_u = efforts(*this, x, values, cast<D>(q), u_dual, rates);
    for (Index i = 0; i < u_size_; ++i)
      for (int k = 0; k < lanes; ++k) {
        out.by_q(i, begin + k) = by_q[static_cast<std::size_t>(i)].d[k];
        out.by_u(i, begin + k) = by_u[static_cast<std::size_t>(i)].d[k];
      }
  }
  return out;
}

VecX Articulation::inverse_dynamics_by_parameter(const Parameters& p, const State& x, const VecX& q,
                                                 const VecX& u, const VecX& a,
                                                 Index parameter) const {
  check(q, &u, &a);
  if (parameter < 0 || parameter >= p.values.size())
    throw Error("articulation", "there is no parameter at " + std::to_string(parameter));
  std::vector<D> values = cast<D>(p.values);
  values[static_cast<std::size_t>(parameter)].d[0] = 1;
  const auto tau = efforts(*this, x, values, cast<D>(q), cast<D>(u), cast<D>(a));
  VecX out(u_size_);
  for (Index i = 0; i < u_size_; ++i) out[i] = tau[static_cast<std::size_t>(i)].d[0];
  return out;
}

}  // namespace orthant
