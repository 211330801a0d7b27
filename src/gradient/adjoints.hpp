// SPDX-License-Identifier: Apache-2.0
// gradient/adjoints.hpp: the elements of gradient/elements.hpp that every step is full of, bodies
// and contacts, pulled back by hand.
//   L = α·(F, r_a × F + τ) − β·(F, r_b × F + τ) + Σ y_i f_i·(v_a + ω_a × r_a − v_b − ω_b × r_b) + …
// Vectors need no tape: only the distance of two shapes goes over it, with the frames of the shapes
// as inputs. An operation on the tape costs ten times one in double.
#pragma once

#include "gradient/elements.hpp"

namespace orthant::internal {

/// Adds a derivative by a twist or tangent (linear, angular) to a vector laid out as State::v.
inline void add_twist(const Body& body, const Vec3& linear, const Vec3& angular, VecX& out) {
  if (body.v_begin == kNone) return;
  double* to = out.data() + body.v_begin;
  if (body.planar) {
    to[0] += linear[0];
    to[1] += linear[1];
    to[2] += angular[2];
    return;
  }
  for (int i = 0; i < 3; ++i) to[i] += linear[i], to[3 + i] += angular[i];
}

/// Linear and angular part of a body's numbers in a vector laid out as State::v; zero without.
struct Twist {
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};
inline Twist twist_in(const Body& body, const VecX& from) {
  double x[6] = {};
  for (Index i = 0; i < body.v_size; ++i) x[i] = from[body.v_begin + i];
  return {linear_part(body.planar, x), angular_part(body.planar, x)};
}

/// A frame of a body (of a shape, of a joint) whose tangents go on the tape in place of the body's
/// and of the parameters that place it there.
class FrameInput {
 public:
  using T = taping::Traced;

  /// `body`: nullptr for the world. `offset`: where its parameters begin.
  FrameInput(Pull& r, const Body* body, bool planar, Index offset, const Vec3& shift)
      : r_(r), body_(body), planar_(planar), offset_(offset) {
    if (body != nullptr) X_B_ = body_pose<double>(*body, r.x.record.q.data());
    X_B_.x += shift;
    X_F_ = compose<double>(X_B_, frame_pose<double>(planar, r.x.parameters.values.data() + offset));
  }
  bool varies() const {
    return (body_ != nullptr && body_->v_begin != kNone) || r_.x.with_parameters;
  }
  const Pose& body_pose_W() const { return X_B_; }
  const Pose& pose_W() const { return X_F_; }
  /// Turn about z, the angle of a planar frame.
  const T& turn_z() const { return turn_[2]; }

  /// A derivative by its turn that did not come over the tape.
  void add_turn(const Vec3& by) { by_turn_ += by; }

  /// p ⊞ θ = p + ½ (0, θ) p + O(θ²)
  QuatT<T> rotation() {
    const Quat& p = X_F_.p;
    if (!varies()) return {T(p.w), T(p.x), T(p.y), T(p.z)};
    for (int i = planar_ ? 2 : 0; i < 3; ++i) turn_[i] = r_.local(0, by_turn_.data() + i);
    const auto sum = [&](double at, double s0, double s1, double s2) {
      return T(at) + turn_[0] * T(0.5 * s0) + turn_[1] * T(0.5 * s1) + turn_[2] * T(0.5 * s2);
    };
    return {sum(p.w, -p.x, -p.y, -p.z), sum(p.x, p.w, p.z, -p.y), sum(p.y, -p.z, p.w, p.x),
            sum(p.z, p.y, -p.x, p.w)};
  }

  /// After the sweep, with the derivative by its origin: x_F = x + R o, so
  /// δx_F = δx + δθ × R o + R δo.
  void add(const Vec3& by_x) const {
    if (!varies()) return;
    const Vec3 lever = X_F_.x - X_B_.x;
    if (body_ != nullptr) add_twist(*body_, by_x, by_turn_ + lever.cross(by_x), r_.inputs().q);
    if (!r_.x.with_parameters) return;
    const Mat3 R = matrix_of(X_B_.p);
    const Vec3 by_offset = R.transpose() * by_x;
    double* to = r_.inputs().parameters.data() + offset_;
    if (planar_) {
      to[0] += by_offset[0];
      to[1] += by_offset[1];
      to[2] += by_turn_[2];
      return;
    }
    for (int i = 0; i < 3; ++i) to[i] += by_offset[i];
    // Turn of the frame in the body by its quaternion u: 2 Im(δu ū)/|u|².
    const double* u = r_.x.parameters.values.data() + offset_ + 3;
    const Vec3 t = R.transpose() * by_turn_, axis(u[1], u[2], u[3]);
    const double factor = 2 / (u[0] * u[0] + axis.squaredNorm());
    to[3] -= factor * t.dot(axis);
    const Vec3 by_axis = factor * (u[0] * t - axis.cross(t));
    for (int i = 0; i < 3; ++i) to[4 + i] += by_axis[i];
  }

 private:
  Pull& r_;
  const Body* body_;
  bool planar_;
  Index offset_;
  Pose X_B_, X_F_;
  T turn_[3] = {T(0), T(0), T(0)};
  Vec3 by_turn_ = Vec3::Zero();  // filled by the sweep
};

/// A contact: its distance, in double and on the way back. Spheres against spheres and half-spaces
/// need no tape at all.
class ContactPull {
 public:
  using T = taping::Traced;

  ContactPull(Pull& r, const Contact& contact)
      : r_(r),
        shape_{&r.x.model.shape(contact.shape_a), &r.x.model.shape(contact.shape_b)},
        body_{&r.x.model.body(contact.body_a), &r.x.model.body(contact.body_b)},
        frame_{{r, body_[0], body_[0]->planar, shape_[0]->offset_begin, Vec3::Zero()},
               {r, body_[1], body_[1]->planar, shape_[1]->offset_begin, contact.shift}} {
    const bool round = measure_round();
    if (!round) measure(contact);
    const Vec3 middle = 0.5 * (point_a_ + point_b_);
    r_a = middle - frame_[0].body_pose_W().x;
    r_b = middle - frame_[1].body_pose_W().x;
  }

  const Body& body_a() const { return *body_[0]; }
  const Body& body_b() const { return *body_[1]; }
  Vec3 relative(const Twist& a, const Twist& b) const {
    return a.linear + a.angular.cross(r_a) - b.linear - b.angular.cross(r_b);
  }
  /// The derivative S by the relative velocity: added to that by the levers.
  void add_relative(const Vec3& S, const Twist& a, const Twist& b) {
    by_r_a += S.cross(a.angular);
    by_r_b -= S.cross(b.angular);
  }
  /// Dᵀλ with weights α and β on the balances: added to that by the levers; the derivative by F.
  Vec3 add_impulse(const Vec3& F, const Twist& alpha, const Twist& beta) {
    by_r_a += F.cross(alpha.angular);
    by_r_b -= F.cross(beta.angular);
    return alpha.linear - beta.linear + alpha.angular.cross(r_a) - beta.angular.cross(r_b);
  }
  /// Sweeps the tape and adds all to the inputs.
  void finish() {
    const Vec3 by_middle = 0.5 * (by_r_a + by_r_b);
    if (pair_ == Pair::Any) {
      r_.seed(point_.gap, by_gap);
      for (int i = 0; i < 3; ++i) {
        r_.seed(point_.normal[i], by_normal[i]);
        r_.seed(point_.point_a[i], by_middle[i]);
        r_.seed(point_.point_b[i], by_middle[i]);
      }
    } else if (pair_ == Pair::Spheres) {
      pull_spheres(by_middle);
    } else {
      pull_half_space(by_middle);
    }
    r_.finish();
    for (int i : {0, 1}) frame_[i].add(by_x_[i]);
    add_twist(body_a(), -by_r_a, Vec3::Zero(), r_.inputs().q);
    add_twist(body_b(), -by_r_b, Vec3::Zero(), r_.inputs().q);
  }

  Vec3 normal, r_a, r_b;
  double gap = 0;
  double by_gap = 0;
  Vec3 by_normal = Vec3::Zero(), by_r_a = Vec3::Zero(), by_r_b = Vec3::Zero();

 private:
  enum class Pair : std::uint8_t { Any, Spheres, HalfSpaceFirst, HalfSpaceSecond };

  double radius(int i) const { return r_.x.parameters.values[shape_[i]->parameter_begin]; }
  void add_radius(int i, double by) {
    if (r_.x.with_parameters) r_.inputs().parameters[shape_[i]->parameter_begin] += by;
  }
  Vec3 outward(int i) const {  // normal of a half-space
    return rotate(frame_[i].pose_W().p, Vec3(body_[i]->planar ? Vec3::UnitY() : Vec3::UnitZ()));
  }

  bool measure_round() {
    const ShapeKind a = shape_[0]->shape.kind(), b = shape_[1]->shape.kind();
    const bool round_a = a == ShapeKind::Sphere, round_b = b == ShapeKind::Sphere;
    if (round_a && round_b) {
      const Vec3 d = frame_[0].pose_W().x - frame_[1].pose_W().x;
      distance_ = d.norm();
      if (!(distance_ > 1e-3 * (radius(0) + radius(1)))) return false;  // has no normal of its own
      pair_ = Pair::Spheres;
      normal = d / distance_;
      gap = distance_ - radius(0) - radius(1);
      point_a_ = frame_[0].pose_W().x - radius(0) * normal;
      point_b_ = frame_[1].pose_W().x + radius(1) * normal;
      return true;
    }
    if (!(round_a && b == ShapeKind::HalfSpace) && !(round_b && a == ShapeKind::HalfSpace))
      return false;
    pair_ = round_b ? Pair::HalfSpaceFirst : Pair::HalfSpaceSecond;
    const int plane = round_b ? 0 : 1, ball = 1 - plane;
    const Vec3 u = outward(plane);
    gap = u.dot(frame_[ball].pose_W().x - frame_[plane].pose_W().x) - radius(ball);
    normal = plane == 0 ? Vec3(-u) : u;
    const Vec3 on_ball = frame_[ball].pose_W().x - radius(ball) * u, on_plane = on_ball - gap * u;
    point_a_ = plane == 0 ? on_plane : on_ball;
    point_b_ = plane == 0 ? on_ball : on_plane;
    return true;
  }

  void measure(const Contact& contact) {
    PoseT<T> pose[2] = {pose_cast<T>(frame_[0].pose_W()), pose_cast<T>(frame_[1].pose_W())};
    for (int k : {0, 1}) {
      if (!frame_[k].varies()) continue;
      for (int i = 0; i < (body_[k]->planar ? 2 : 3); ++i)
        pose[k].x[i] = r_.local(frame_[k].pose_W().x[i], by_x_[k].data() + i);
      // A sphere looks the same from everywhere.
      if (shape_[k]->shape.kind() != ShapeKind::Sphere) pose[k].p = frame_[k].rotation();
    }
    thread_local std::vector<T> buffer;
    const Index n_a = shape_[0]->shape.parameter_count(), n_b = shape_[1]->shape.parameter_count();
    buffer.assign(static_cast<std::size_t>(n_a + n_b), T(0));
    r_.parameters(shape_[0]->parameter_begin, n_a, buffer.data());
    r_.parameters(shape_[1]->parameter_begin, n_b, buffer.data() + n_a);
    point_ = evaluate_contact<T>(contact.feature, shape_[0]->shape.view(buffer.data()), pose[0],
                                 shape_[1]->shape.view(buffer.data() + n_a), pose[1]);
    normal = values_of(point_.normal);
    gap = point_.gap.v;
    point_a_ = values_of(point_.point_a);
    point_b_ = values_of(point_.point_b);
  }

  /// n = d/|d|, Φ = |d| − r_A − r_B, points c_A − r_A n and c_B + r_B n.
  void pull_spheres(const Vec3& by_point) {
    const Vec3 by_n = by_normal + (radius(1) - radius(0)) * by_point;
    const Vec3 by_d = by_gap * normal + (by_n - normal.dot(by_n) * normal) / distance_;
    by_x_[0] = by_point + by_d;
    by_x_[1] = by_point - by_d;
    const double along = normal.dot(by_point);
    add_radius(0, -by_gap - along);
    add_radius(1, -by_gap + along);
  }

  /// Φ = u·(c − x) − r, points c − r u and that minus Φ u; u turns with the half-space.
  void pull_half_space(const Vec3& by_point) {
    const int plane = pair_ == Pair::HalfSpaceFirst ? 0 : 1, ball = 1 - plane;
    const Vec3 u = outward(plane);
    const Vec3 reach = frame_[ball].pose_W().x - frame_[plane].pose_W().x;
    const double by = by_gap - u.dot(by_point);
    const Vec3 by_u =
        (plane == 0 ? -1.0 : 1.0) * by_normal - (2 * radius(ball) + gap) * by_point + by * reach;
    by_x_[ball] = 2 * by_point + by * u;
    by_x_[plane] = -by * u;
    frame_[plane].add_turn(u.cross(by_u));
    add_radius(ball, -by - 2 * u.dot(by_point));
  }

  Pull& r_;
  const ShapeInstance* shape_[2];
  const Body* body_[2];
  FrameInput frame_[2];
  Pair pair_ = Pair::Any;
  double distance_ = 0;  // of two centres
  Vec3 point_a_, point_b_;
  ContactPointT<T> point_;                       // Pair::Any
  Vec3 by_x_[2] = {Vec3::Zero(), Vec3::Zero()};  // of the frames' origins, filled by the sweep
};

/// Weights on the balance of a body; zero where it has none.
inline Twist weights_on(const Pull& r, const Body& body) {
  return body.is_dynamic() ? twist_in(body, r.weights().equations.balance) : Twist{};
}
/// Velocities at the end of a solve; those of kinematic bodies are prescribed.
inline Twist end_twist(const Pull& r, const Body& body) {
  return twist_in(body, body.is_dynamic() ? r.x.answer.v : r.x.record.v);
}

/// contact_element() for isotropic friction: the tangents turn with the normal the shortest way,
/// what else they might do drops out.
inline void contact_adjoint(Pull& r, const Contact& contact, Index number,
                            const ContactBlock& block, GapBranch branch, double beta) {
  const Model& model = r.x.model;
  const SolveOutputs& weights = r.weights();
  const bool planar = model.shape(contact.shape_a).planar();
  const int tangents = planar ? 1 : 2;
  const double* lambda = r.x.answer.lambda.data() + block.row;
  const double* y = weights.equations.blocks.data() + block.row;
  const double h = r.x.record.duration;
  ContactPull c(r, contact);
  Vec3 f[3];
  contact_frame<double>(planar, c.normal, f);
  const int friction = block.dim > 1 ? tangents : 0;
  const bool rolls = block.dim > 1 + tangents;

  const Twist alpha = weights_on(r, c.body_a()), by_b = weights_on(r, c.body_b());
  const Twist a = end_twist(r, c.body_a()), b = end_twist(r, c.body_b());
  const Vec3 relative = c.relative(a, b), spin = a.angular - b.angular;
  Vec3 F = Vec3::Zero(), S = Vec3::Zero();
  for (int i = 0; i <= friction; ++i) {
    F += lambda[i] * f[i];
    S += y[i] * f[i];
  }
  Vec3 by_F = c.add_impulse(F, alpha, by_b);
  if (weights.impulse_W.size() > 0) by_F += weights.impulse_W.col(number);
  c.add_relative(S, a, b);
  Vec3 by_spin = Vec3::Zero();
  for (int i = 0; i <= friction; ++i) {
    Vec3 by_f = lambda[i] * by_F + y[i] * relative;
    if (rolls && i > 0) {
      const Vec3& axis = planar ? f[2] : f[i];
      by_spin += y[tangents + i] * axis;
      if (!planar)
        by_f += lambda[tangents + i] * (alpha.angular - by_b.angular) + y[tangents + i] * spin;
    }
    if (i == 0) {
      c.by_normal += by_f;
    } else {
      c.by_normal -= by_f.dot(c.normal) * f[i];  // δf = −(f·δn) n
    }
  }
  VecX& by_v = r.inputs().v;
  if (!c.body_a().is_dynamic()) add_twist(c.body_a(), S, c.r_a.cross(S) + by_spin, by_v);
  if (!c.body_b().is_dynamic()) add_twist(c.body_b(), -S, -c.r_b.cross(S) - by_spin, by_v);

  // b_n: the gap, or restitution where that asks for more.
  double by_restitution = 0, by_compliance = 0;
  const double factor = branch == GapBranch::Overlap ? beta : 1.0;
  bool from_gap = branch != GapBranch::None;
  if (block.bounces) {
    const Twist before_a = twist_in(c.body_a(), r.x.record.v);
    const Twist before_b = twist_in(c.body_b(), r.x.record.v);
    const Vec3 closing = c.relative(before_a, before_b);
    const double epsilon = block.material.restitution;
    from_gap = from_gap && factor * contact.gap / h < epsilon * c.normal.dot(closing);
    if (!from_gap) {
      const Vec3 push = y[0] * epsilon * c.normal;
      by_restitution = y[0] * c.normal.dot(closing);
      c.by_normal += y[0] * epsilon * closing;
      c.add_relative(push, before_a, before_b);
      add_twist(c.body_a(), push, c.r_a.cross(push), by_v);
      add_twist(c.body_b(), -push, -c.r_b.cross(push), by_v);
    }
  }
  if (branch == GapBranch::Trial) {
    const Twist made_a = twist_in(c.body_a(), r.x.record.v);
    const Twist made_b = twist_in(c.body_b(), r.x.record.v);
    const Vec3 push = -y[0] * c.normal;
    c.by_normal -= y[0] * c.relative(made_a, made_b);
    c.add_relative(push, made_a, made_b);
    add_twist(c.body_a(), push, c.r_a.cross(push), by_v);
    add_twist(c.body_b(), -push, -c.r_b.cross(push), by_v);
  }
  if (from_gap) {
    c.by_gap += y[0] * factor / h;
    r.inputs().duration -= y[0] * factor * c.gap / (h * h);
  }
  if (block.material.compliance > 0 && h > 0) {
    by_compliance = y[0] * lambda[0] / (h * h);
    r.inputs().duration -= 2 * by_compliance * block.material.compliance / h;
  }
  if (weights.gap.size() > 0) c.by_gap += weights.gap[number];
  if (r.x.with_parameters) {
    const ContactMaterialT<taping::Traced> material = material_of(
        r, model.shape(contact.shape_a).material, model.shape(contact.shape_b).material);
    if (friction > 0) r.seed(material.friction, weights.equations.mu[block.block]);
    if (rolls) r.seed(material.rolling_friction, weights.equations.mu_r[block.block]);
    r.seed(material.restitution, by_restitution);
    r.seed(material.compliance, by_compliance);
  }
  c.finish();
}

/// position_contact_element().
inline void position_contact_adjoint(Pull& r, const Contact& contact, Index number, Index row,
                                     bool limited) {
  const SolveOutputs& weights = r.weights();
  const double y = weights.equations.blocks[row], lambda = r.x.answer.lambda[row];
  ContactPull c(r, contact);
  // Kinematic bodies do not take part: their velocity is no displacement.
  const auto shift = [&](const Body& body) {
    return body.is_dynamic() ? twist_in(body, r.x.answer.v) : Twist{};
  };
  const Twist a = shift(c.body_a()), b = shift(c.body_b());
  const Vec3 by_F =
      c.add_impulse(lambda * c.normal, weights_on(r, c.body_a()), weights_on(r, c.body_b()));
  c.add_relative(y * c.normal, a, b);
  c.by_normal = lambda * by_F + y * c.relative(a, b);
  c.by_gap = (limited ? 0.0 : y) + (weights.gap.size() > 0 ? weights.gap[number] : 0.0);
  c.finish();
}

/// A derivative by the matrix of inertia_matrix(), to its six numbers.
inline void add_inertia(const Mat3& by_J, double* to) {
  for (int i = 0; i < 3; ++i) to[i] += by_J(i, i);
  to[3] += by_J(0, 1) + by_J(1, 0);
  to[4] += by_J(0, 2) + by_J(2, 0);
  to[5] += by_J(1, 2) + by_J(2, 1);
}

/// body_element(): M (v* − v⁺) + h m g with weights α, a; and the flight with weights d. Gyroscopic
/// terms by the conditions of their midpoint W: F = J W − J s + κ W × J W = 0, s the spin in body
/// axes, κ = ½ h tan(x)/x.
inline void body_adjoint(Pull& r, BodyId id, bool flies) {
  constexpr double kOneTurn = 2;  // [rad] beyond it the kernel takes sub-steps
  const Model& model = r.x.model;
  const Body& body = model.body(id);
  const double h = r.x.record.duration;
  const Twist now = twist_in(body, r.x.record.v), next = twist_in(body, r.x.answer.v);
  if (model.law() == LawOfMotion::Overdamped || h * now.angular.norm() >= kOneTurn)
    return body_element(r, id, flies);
  const double* values = r.x.parameters.values.data();
  const Twist weight = twist_in(body, r.weights().equations.balance);
  const Twist d = flies ? twist_in(body, r.weights().delta) : Twist{};
  const double mass = values[body.mass];
  Vec3 g(values[model.gravity()], values[model.gravity() + 1], values[model.gravity() + 2]);
  if (body.planar) g[2] = 0;
  SolveInputs& in = r.inputs();
  const Vec3 change = now.linear - next.linear + h * g;
  in.duration += mass * weight.linear.dot(g) + 0.5 * d.linear.dot(now.linear + next.linear);
  const Vec3 by_linear = mass * weight.linear + 0.5 * h * d.linear;
  if (r.x.with_parameters) {
    in.parameters[body.mass] += weight.linear.dot(change);
    for (int i = 0; i < (body.planar ? 2 : 3); ++i)
      in.parameters[model.gravity() + i] += h * mass * weight.linear[i];
  }
  const Vec3& a = weight.angular;
  if (body.planar) {
    const Vec3 by_spin = values[body.inertia] * a + 0.5 * h * d.angular;
    in.duration += 0.5 * d.angular.dot(now.angular + next.angular);
    if (r.x.with_parameters) in.parameters[body.inertia] += a.dot(now.angular - next.angular);
    add_twist(body, by_linear, by_spin, in.v);
    return;
  }
  const Mat3 R = matrix_of(body_pose<double>(body, r.x.record.q.data()).p),
             J = inertia_matrix<double>(values + body.inertia);
  const Mat3 I = R * J * R.transpose();
  const bool turns = now.angular.squaredNorm() > 0;
  Vec3 coast = now.angular, turn = Vec3::Zero(), W = Vec3::Zero();
  const Vec3 s = R.transpose() * now.angular;
  if (turns) {
    W = midpoint_omega<double>(J, J * s, s, h);
    turn = h * (R * W);
    coast = matrix_of(exp_rotation(turn)) * (R * (2 * W - s));
  }
  const Vec3 c = coast - next.angular;
  Vec3 by_coast = I * a - 0.5 * h * d.angular;
  Vec3 by_turn = d.angular, by_theta = (I * c).cross(a) - c.cross(I * a), by_spin;
  Mat3 by_J = (R.transpose() * a) * (R.transpose() * c).transpose();
  in.duration += 0.5 * d.angular.dot(next.angular - coast);
  if (!turns) {
    by_spin = by_coast + h * d.angular;
  } else {
    const Mat3 E = matrix_of(exp_rotation(turn));
    by_turn += left_jacobian(turn).transpose() * coast.cross(by_coast);
    const Vec3 back = E.transpose() * by_coast, z = R.transpose() * back;
    by_theta += (R * (2 * W - s)).cross(back) + turn.cross(by_turn);
    in.duration += by_turn.dot(R * W);
    const Vec3 by_W = 2 * z + h * (R.transpose() * by_turn);
    double ratio = 0, slope = 0;
    tangent_ratio<double>(0.25 * h * h * W.squaredNorm(), ratio, slope);
    const double half = 0.5 * h, kappa = ratio * half;
    const Vec3 JW = J * W, gyro = W.cross(JW);
    Mat3 A = J + (cross_matrix(W) * J - cross_matrix(JW)) * kappa;
    A += gyro * W.transpose() * (slope * h * half * half);
    const Vec3 y = solve3<double>(A.transpose(), by_W);
    by_J -= y * (W - s).transpose() + kappa * y.cross(W) * W.transpose();
    in.duration -= (0.5 * ratio + slope * half * half * W.squaredNorm()) * gyro.dot(y);
    const Vec3 by_s = R * (J * y - z);
    by_spin = by_s;
    by_theta -= now.angular.cross(by_s);
  }
  add_twist(body, by_linear, by_spin, in.v);
  add_twist(body, Vec3::Zero(), by_theta, in.q);
  if (r.x.with_parameters) add_inertia(by_J, in.parameters.data() + body.inertia);
}

/// mass_element(): M (v − v⁺), or −M δ where there is no v.
inline void mass_adjoint(Pull& r, BodyId id, bool with_velocity) {
  const Body& body = r.x.model.body(id);
  if (r.x.model.law() == LawOfMotion::Overdamped) return mass_element(r, id, with_velocity);
  const double* values = r.x.parameters.values.data();
  const Twist weight = twist_in(body, r.weights().equations.balance);
  const Twist end = twist_in(body, r.x.answer.v);
  const Twist now = with_velocity ? twist_in(body, r.x.record.v) : Twist{};
  const Vec3 change = now.linear - end.linear, c = now.angular - end.angular, &a = weight.angular;
  SolveInputs& in = r.inputs();
  Vec3 by_spin;
  if (r.x.with_parameters) in.parameters[body.mass] += weight.linear.dot(change);
  if (body.planar) {
    by_spin = values[body.inertia] * a;
    if (r.x.with_parameters) in.parameters[body.inertia] += a.dot(c);
  } else {
    const Mat3 R = matrix_of(body_pose<double>(body, r.x.record.q.data()).p);
    const Mat3 I = R * inertia_matrix<double>(values + body.inertia) * R.transpose();
    by_spin = I * a;
    add_twist(body, Vec3::Zero(), (I * c).cross(a) - c.cross(by_spin), in.q);
    if (r.x.with_parameters)
      add_inertia((R.transpose() * a) * (R.transpose() * c).transpose(),
                  in.parameters.data() + body.inertia);
  }
  if (with_velocity) add_twist(body, values[body.mass] * weight.linear, by_spin, in.v);
}

/// bilateral_element() without a motor: rows and residuals on the tape, with the frames of the
/// joint as inputs; what they multiply is plain numbers.
inline void bilateral_adjoint(Pull& r, const Joint& j, JointUse use, double beta) {
  using T = taping::Traced;
  if (j.motor_row != kNone) return bilateral_element(r, j, use, beta);
  if (j.row_count == 0) return;
  const Model& model = r.x.model;
  const Body* bodies[2] = {j.a == kWorld ? nullptr : &model.body(j.a),
                           j.b == kWorld ? nullptr : &model.body(j.b)};
  const Index second = j.parameter_begin + frame_size(j.planar);
  FrameInput A(r, bodies[0], j.planar, j.parameter_begin, Vec3::Zero());
  FrameInput B(r, bodies[1], j.planar, second, Vec3::Zero());
  Vec3 by_r[2] = {Vec3::Zero(), Vec3::Zero()}, by_d = Vec3::Zero();
  JointFramesT<T> f;
  f.p_a = A.rotation();
  f.p_b = B.rotation();
  const Vec3 r_a = A.pose_W().x - A.body_pose_W().x, r_b = B.pose_W().x - B.body_pose_W().x;
  const Vec3 d = A.pose_W().x - B.pose_W().x;
  for (int i = 0; i < 3; ++i) {
    f.r_a[i] = A.varies() ? r.local(r_a[i], by_r[0].data() + i) : T(r_a[i]);
    f.r_b[i] = B.varies() ? r.local(r_b[i], by_r[1].data() + i) : T(r_b[i]);
    f.d[i] = r.local(d[i], by_d.data() + i);
  }
  Twist twist[2], weight[2];
  for (int k = 0; k < 2; ++k) {
    if (bodies[k] == nullptr) continue;
    const Body& body = *bodies[k];
    weight[k] = weights_on(r, body);
    if (use != JointUse::Position || body.is_dynamic()) twist[k] = end_twist(r, body);
  }
  if (j.planar) {
    const double* values = r.x.parameters.values.data();
    double angle = values[j.parameter_begin + 2] - values[second + 2];
    for (int k = 0; k < 2; ++k)
      if (bodies[k] != nullptr) angle += (k == 0 ? 1 : -1) * r.x.record.q[bodies[k]->q_begin + 2];
    f.angle = T(angle) + A.turn_z() - B.turn_z();
  }
  const double h = r.x.record.duration;
  const auto seed = [&](const Vec3T<T>& row, const Vec3& by) {
    for (int i = 0; i < 3; ++i) r.seed(row[i], by[i]);
  };
  for (Index i = 0; i < j.row_count; ++i) {
    const double y = r.weights().equations.bilateral[j.row_begin + i];
    const double gamma = r.x.answer.gamma[j.row_begin + i];
    const JointRowT<T> row = joint_row<T>(j.kind, j.planar, i, f);
    seed(row.linear_a, y * twist[0].linear + gamma * weight[0].linear);
    seed(row.angular_a, y * twist[0].angular + gamma * weight[0].angular);
    seed(row.linear_b, y * twist[1].linear + gamma * weight[1].linear);
    seed(row.angular_b, y * twist[1].angular + gamma * weight[1].angular);
    if (use != JointUse::Position) {
      VecX& by_v = r.inputs().v;  // velocities of kinematic bodies are inputs
      if (bodies[0] != nullptr && !bodies[0]->is_dynamic())
        add_twist(*bodies[0], y * values_of(row.linear_a), y * values_of(row.angular_a), by_v);
      if (bodies[1] != nullptr && !bodies[1]->is_dynamic())
        add_twist(*bodies[1], y * values_of(row.linear_b), y * values_of(row.angular_b), by_v);
    }
    if (use != JointUse::Position && !(beta > 0)) continue;
    const T psi =
        joint_residual<T>(j.kind, j.planar, i, f, j.length == kNone ? T(0) : r.parameter(j.length));
    const double factor = use == JointUse::Position ? 1 : beta / h;
    r.seed(psi, y * factor);
    if (use != JointUse::Position) r.inputs().duration -= y * factor * psi.v / h;
  }
  r.finish();
  A.add(by_r[0] + by_d);
  B.add(by_r[1] - by_d);
  for (int k = 0; k < 2; ++k)
    if (bodies[k] != nullptr) add_twist(*bodies[k], -by_r[k], Vec3::Zero(), r.inputs().q);
}

}  // namespace orthant::internal
