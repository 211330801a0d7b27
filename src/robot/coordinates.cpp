// SPDX-License-Identifier: Apache-2.0
// robot/coordinates.cpp: bodies <=> joint coordinates; loops closed by Newton's method.
#include <Eigen/QR>
#include <cmath>

#include "orthant/base/error.hpp"
#include "robot/tree_kernel.hpp"

namespace orthant {
namespace {

using robot::AxisT;
using robot::BodyMotionT;

constexpr int kMaxNewton = 100;
constexpr double kClosed = 1e-12;  // [m, rad]

Vec3 linear(const Model& model, const State& x, BodyId id) {
  if (id == kWorld || model.body(id).v_begin == kNone) return Vec3::Zero();
  const Body& b = model.body(id);
  const double* v = x.v.data() + b.v_begin;
  return b.planar ? Vec3(v[0], v[1], 0) : Vec3(v[0], v[1], v[2]);
}

Vec3 angular(const Model& model, const State& x, BodyId id) {
  if (id == kWorld || model.body(id).v_begin == kNone) return Vec3::Zero();
  const Body& b = model.body(id);
  const double* v = x.v.data() + b.v_begin;
  return b.planar ? Vec3(0, 0, v[2]) : Vec3(v[3], v[4], v[5]);
}

Pose place(const Model& model, const State& x, BodyId id) {
  return id == kWorld ? Pose{} : body_pose(model.body(id), x.q.data());
}

PlacedT<double> placed_body(const Model& model, const State& x, BodyId id) {
  if (id == kWorld) return {};
  const Body& b = model.body(id);
  return placed(b.planar, x.q.data() + b.q_begin);
}

}  // namespace

VecX Articulation::positions(const Parameters& p, const State& x) const {
  VecX q(q_size_);
  for (const TreeJoint& j : joints_) {
    double* out = q.data() + j.q_begin;
    if (index_of(j.joint) == kNone) {  // free: the state's own numbers
      std::copy_n(x.q.data() + model_->body(j.body).q_begin, j.q_size, out);
      continue;
    }
    if (j.q_size == 0) continue;
    const Joint& joint = model_->joint(j.joint);
    if (j.q_size == 1) {
      const auto f =
          joint_frames(joint.planar, placed_body(*model_, x, joint.a),
                       placed_body(*model_, x, joint.b), p.values.data() + joint.parameter_begin);
      out[0] = joint.kind == JointKind::Ball ? f.angle : joint_coordinate(joint, f);
      continue;
    }
    const auto [X_PJ, X_CJ] = robot::joint_frames_of(*model_, j, p.values.data());
    const Pose X = compose(inverse(compose(place(*model_, x, j.parent), X_PJ)),
                           compose(place(*model_, x, j.body), X_CJ));
    if (j.kind == CoordinateKind::Ball) {
      out[0] = X.p.w, out[1] = X.p.x, out[2] = X.p.y, out[3] = X.p.z;
    } else {
      out[0] = X.x[0], out[1] = X.x[1];
      out[2] = 2 * std::atan2(X.p.z, X.p.w);
      if (out[2] > std::numbers::pi) out[2] -= 2 * std::numbers::pi;
      if (out[2] <= -std::numbers::pi) out[2] += 2 * std::numbers::pi;
    }
  }
  return q;
}

VecX Articulation::velocities(const Parameters& p, const State& x) const {
  VecX u(u_size_);
  for (const TreeJoint& j : joints_) {
    const auto [X_PJ, X_CJ] = robot::joint_frames_of(*model_, j, p.values.data());
    const Pose X_P = place(*model_, x, j.parent), X_B = place(*model_, x, j.body);
    const Quat frame = compose(X_P, X_PJ).p;
    const Vec3 C = compose(X_B, X_CJ).x;
    const Vec3 w_p = angular(*model_, x, j.parent), w = angular(*model_, x, j.body);
    const Vec3 W = w - w_p, V = linear(*model_, x, j.body) + w.cross(C - X_B.x) -
                                linear(*model_, x, j.parent) - w_p.cross(C - X_P.x);
    for (int k = 0; k < j.u_size; ++k) {
      const AxisT<double> s = robot::axis_of(j, frame, k);
      u[j.u_begin + k] = s.lin.dot(V) + s.ang.dot(W);
    }
  }
  return u;
}

void Articulation::write(const Parameters& p, const VecX& q, const VecX& u, State& x) const {
  check(q, &u);
  std::vector<BodyMotionT<double>> motion;
  robot::forward_pass<double>(*this, x, p.values.data(), q.data(), u.data(), nullptr, motion);
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    const Body& body = model_->body(joints_[i].body);
    const BodyMotionT<double>& m = motion[i];
    double* xq = x.q.data() + body.q_begin;
    double* xv = x.v.data() + body.v_begin;
    if (body.planar) {
      xq[0] = m.X.x[0], xq[1] = m.X.x[1], xq[2] = m.theta;
      xv[0] = m.v[0], xv[1] = m.v[1], xv[2] = m.w[2];
      continue;
    }
    const Quat turn = normalized(m.X.p);
    xq[3] = turn.w, xq[4] = turn.x, xq[5] = turn.y, xq[6] = turn.z;
    for (int k = 0; k < 3; ++k) xq[k] = m.X.x[k], xv[k] = m.v[k], xv[3 + k] = m.w[k];
  }
}

VecX Articulation::integrate(const VecX& q, const VecX& du) const {
  check(q, &du);
  VecX out = q;
  for (const TreeJoint& j : joints_) {
    double* o = out.data() + j.q_begin;
    const double* d = du.data() + j.u_begin;
    const Index straight = j.kind == CoordinateKind::Ball ? 0 : std::min<Index>(j.u_size, 3);
    for (Index k = 0; k < straight; ++k) o[k] += d[k];
    if (j.kind != CoordinateKind::Ball && j.kind != CoordinateKind::Free) continue;
    o += straight;
    d += straight;
    const Quat p = boxplus(Quat{o[0], o[1], o[2], o[3]}, Vec3(d[0], d[1], d[2]));
    o[0] = p.w, o[1] = p.x, o[2] = p.y, o[3] = p.z;
  }
  return out;
}

VecX Articulation::difference(const VecX& to, const VecX& from) const {
  check(to);
  check(from);
  VecX out(u_size_);
  for (const TreeJoint& j : joints_) {
    double* o = out.data() + j.u_begin;
    const double *a = to.data() + j.q_begin, *b = from.data() + j.q_begin;
    const Index straight = j.kind == CoordinateKind::Ball ? 0 : std::min<Index>(j.u_size, 3);
    for (Index k = 0; k < straight; ++k) o[k] = a[k] - b[k];
    if (j.kind != CoordinateKind::Ball && j.kind != CoordinateKind::Free) continue;
    a += straight, b += straight;
    const Vec3 turn = boxminus(Quat{a[0], a[1], a[2], a[3]}, Quat{b[0], b[1], b[2], b[3]});
    for (int k = 0; k < 3; ++k) o[straight + k] = turn[k];
  }
  return out;
}

VecX Articulation::loop_error(const Parameters& p, const State& x, const VecX& q) const {
  State at = x;
  write(p, q, VecX::Zero(u_size_), at);
  std::vector<double> psi;
  const double* values = p.values.data();
  const auto frames = [&](const Joint& joint) {
    return joint_frames(joint.planar, placed_body(*model_, at, joint.a),
                        placed_body(*model_, at, joint.b), values + joint.parameter_begin);
  };
  for (const JointId id : loops_) {
    const Joint& joint = model_->joint(id);
    const auto f = frames(joint);
    const bool in_tree = joint.follow.row != kNone && is_tree_joint(id);
    if (!in_tree)
      for (Index i = 0; i < joint.row_count; ++i)
        psi.push_back(joint_residual(joint.kind, joint.planar, i, f,
                                     joint.length == kNone ? 0.0 : values[joint.length]));
    if (joint.follow.row == kNone) continue;
    const Joint& leader = model_->joint(joint.follow.leader);
    psi.push_back(follow_residual(joint, f, leader, frames(leader), values[joint.follow.ratio],
                                  values[joint.follow.offset]));
  }
  return Eigen::Map<const VecX>(psi.data(), static_cast<Eigen::Index>(psi.size()));
}

MatX Articulation::loop_jacobian(const Parameters& p, const State& x, const VecX& q) const {
  State at = x;
  write(p, q, VecX::Zero(u_size_), at);
  const double* values = p.values.data();
  std::vector<VecX> rows;
  const auto row = [&](const Joint& joint, const JointRow& r, double factor, VecX& to) {
    const auto side = [&](BodyId id, const Vec3& lin, const Vec3& ang) {
      if (id == kWorld || place_of_body_[static_cast<std::size_t>(id)] == kNone) return;
      const MatX J = jacobian(p, x, q, {id, {}});
      to += factor * (J.topRows(3).transpose() * lin + J.bottomRows(3).transpose() * ang);
    };
    side(joint.a, r.linear_a, r.angular_a);
    side(joint.b, r.linear_b, r.angular_b);
  };
  for (const JointId id : loops_) {
    const Joint& joint = model_->joint(id);
    const auto frames = [&](const Joint& j) {
      return joint_frames(j.planar, placed_body(*model_, at, j.a), placed_body(*model_, at, j.b),
                          values + j.parameter_begin);
    };
    const auto f = frames(joint);
    if (!(joint.follow.row != kNone && is_tree_joint(id)))
      for (Index i = 0; i < joint.row_count; ++i) {
        rows.emplace_back(VecX::Zero(u_size_));
        row(joint, joint_row(joint.kind, joint.planar, i, f), 1, rows.back());
      }
    if (joint.follow.row == kNone) continue;
    const Joint& leader = model_->joint(joint.follow.leader);
    const auto g = frames(leader);
    rows.emplace_back(VecX::Zero(u_size_));
    row(joint, joint_coordinate_row(joint.kind, joint.planar, f), 1, rows.back());
    row(leader, joint_coordinate_row(leader.kind, leader.planar, g), -values[joint.follow.ratio],
        rows.back());
  }
  MatX J(static_cast<Eigen::Index>(rows.size()), u_size_);
  for (std::size_t i = 0; i < rows.size(); ++i) J.row(static_cast<Eigen::Index>(i)) = rows[i];
  return J;
}

bool Articulation::is_tree_joint(JointId id) const {
  for (const TreeJoint& j : joints_)
    if (j.joint == id) return true;
  return false;
}

/// Gauss-Newton with the least change of the coordinates that are not held.
void Articulation::close(const Parameters& p, const State& x, const std::vector<bool>& held,
                         VecX& q) const {
  if (loops_.empty()) return;
  double error = 0;
  for (int i = 0; i < kMaxNewton; ++i) {
    const VecX psi = loop_error(p, x, q);
    error = psi.size() == 0 ? 0 : psi.lpNorm<Eigen::Infinity>();
    if (error <= kClosed) return;
    MatX J = loop_jacobian(p, x, q);
    for (Index k = 0; k < u_size_; ++k)
      if (held[static_cast<std::size_t>(k)]) J.col(k).setZero();
    VecX step = J.completeOrthogonalDecomposition().solve(-psi);
    const double longest = step.lpNorm<Eigen::Infinity>();
    if (!(longest > 1e-15)) break;
    if (longest > 0.5) step *= 0.5 / longest;  // [rad, m]: no leap to another branch
    q = integrate(q, step);
  }
  if (!(error <= 1e-9))
    throw Error("articulation",
                "no posture near this one closes the loops: error " + to_text(error));
}

namespace {

std::string names_freedom(const TreeJoint& j) {
  return "'" + j.name + "' has no single coordinate: write() sets all of them";
}

}  // namespace

void Articulation::set_positions(const Parameters& p,
                                 std::span<const std::pair<std::string, double>> values,
                                 State& x) const {
  VecX q = positions(p, x);
  const VecX u = velocities(p, x);
  std::vector<bool> held(static_cast<std::size_t>(u_size_), false);
  for (const TreeJoint& j : joints_)  // the base stays where it is
    if (index_of(j.joint) == kNone)
      for (Index k = 0; k < j.u_size; ++k) held[static_cast<std::size_t>(j.u_begin + k)] = true;
  for (const auto& [name, value] : values) {
    const TreeJoint& j = joints_[static_cast<std::size_t>(find(name))];
    if (j.q_size != 1) throw Error("articulation", names_freedom(j));
    if (!std::isfinite(value)) throw Error("articulation", "'" + name + "' must be finite");
    q[j.q_begin] = value;
    held[static_cast<std::size_t>(j.u_begin)] = true;
  }
  close(p, x, held, q);
  write(p, q, u, x);
}

void Articulation::set_velocities(const Parameters& p,
                                  std::span<const std::pair<std::string, double>> values,
                                  State& x) const {
  const VecX q = positions(p, x);
  VecX u = velocities(p, x);
  std::vector<bool> held(static_cast<std::size_t>(u_size_), false);
  for (const auto& [name, value] : values) {
    const TreeJoint& j = joints_[static_cast<std::size_t>(find(name))];
    if (j.u_size != 1) throw Error("articulation", names_freedom(j));
    u[j.u_begin] = value;
    held[static_cast<std::size_t>(j.u_begin)] = true;
  }
  if (!loops_.empty()) {
    MatX J = loop_jacobian(p, x, q);
    const VecX rate = J * u;
    for (Index k = 0; k < u_size_; ++k)
      if (held[static_cast<std::size_t>(k)]) J.col(k).setZero();
    const VecX du = J.completeOrthogonalDecomposition().solve(-rate);
    if (!((J * du + rate).norm() <= 1e-9 * (1 + rate.norm())))
      throw Error("articulation", "the loops do not allow these speeds");
    u += du;
  }
  write(p, q, u, x);
}

}  // namespace orthant
