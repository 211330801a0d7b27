// SPDX-License-Identifier: Apache-2.0
// gradient/flexible_elements.hpp: the equations of flexible parts, object by object, in any
// reader's scalar. As gradient/elements.hpp:  R_balance = k − H v⁺ + Cᵀγ + Dᵀλ,  C v⁺ + e,  D v⁺ +
// b. One finite element reads its corners, their velocities and the material of its part, so the
// derivative has the turning of the element in it, not only the stiffness that the step used.
#pragma once

#include "gradient/elements.hpp"
#include "orthant/force/corotational_kernel.hpp"

namespace orthant::internal {

/// A node where it was, moved by its tangent.
template <class R>
void node_place(R& r, const FlexiblePart& part, Index node, ScalarOf<R>* out) {
  using T = ScalarOf<R>;
  const double* q = r.x.record.q.data() + part.q_begin + part.dim * node;
  const Index at = part.v_begin[node];
  for (int i = 0; i < part.dim; ++i)
    out[i] = at < 0 ? T(q[i]) : r.input(q[i], &SolveInputs::q, at + i);
}

/// Its velocity before the solve; `end`: after it, the answer held. Driven nodes: prescribed.
template <class R>
void node_speed(R& r, const FlexiblePart& part, Index node, bool end, ScalarOf<R>* out) {
  using T = ScalarOf<R>;
  const Index at = part.v_begin[node];
  for (int i = 0; i < part.dim; ++i) {
    if (at < 0) {
      out[i] = T(0);
    } else if (end && part.block[node] >= 0) {
      out[i] = T(r.x.answer.v[at + i]);
    } else {
      out[i] = r.input(r.x.record.v[at + i], &SolveInputs::v, at + i);
    }
  }
}

template <class T>
Vec3T<T> in_space(int dim, const T* x) {
  return Vec3T<T>(x[0], x[1], dim == 3 ? x[2] : T(0));
}

/// k − H v⁺ of one element.
template <int D, class R>
void flexible_element(R& r, const FlexiblePart& part, Index e) {
  using T = ScalarOf<R>;
  ElementRestT<D> rest;
  const double* stored = part.rest.data() + static_cast<std::size_t>(e) * ((D + 1) * D + 1);
  std::copy(stored, stored + (D + 1) * D, &rest.gradient[0][0]);
  rest.volume = stored[(D + 1) * D];
  T x[D + 1][D], v[D + 1][D], next[D + 1][D], at[D + 1][D], out[D + 1][D], g[3];
  for (int a = 0; a <= D; ++a) {
    const Index node = part.elements[e][a];
    node_place(r, part, node, x[a]);
    node_speed(r, part, node, false, v[a]);
    node_speed(r, part, node, true, next[a]);
    for (int i = 0; i < D; ++i) at[a][i] = out[a][i] = T(0);
  }
  r.parameters(r.x.model.gravity(), 3, g);
  const FlexibleMaterialT<T> material{r.parameter(part.young), r.parameter(part.poisson),
                                      r.parameter(part.density), r.parameter(part.damping_mass),
                                      r.parameter(part.damping_stiffness)};
  add_element_balance<D, T>(rest, material, D == 2 && !part.plane_strain, part.consistent_mass, x,
                            v, at, next, g, r.duration(), out);
  for (int a = 0; a <= D; ++a) {
    const Index node = part.elements[e][a];
    for (int i = 0; i < D && part.block[node] >= 0; ++i)
      r.balance(part.v_begin[node] + i, -out[a][i]);
  }
}

/// M (v − v⁺) of a node at an impact, −M δ in a correction of positions.
template <class R>
void node_mass_element(R& r, const FlexiblePart& part, Index node, bool with_velocity) {
  using T = ScalarOf<R>;
  T v[3], end[3];
  node_speed(r, part, node, false, v);
  node_speed(r, part, node, true, end);
  const T mass = r.parameter(part.density) * T(part.node_volume[node]);
  for (int i = 0; i < part.dim; ++i)
    r.balance(part.v_begin[node] + i, mass * ((with_velocity ? v[i] : T(0)) - end[i]));
}

template <class R>
void node_force_element(R& r, const NodeForce& force) {
  using T = ScalarOf<R>;
  const FlexiblePart& part = r.x.model.flexible_parts()[force.part];
  const T h = r.duration();
  for (int i = 0; i < part.dim; ++i) {
    const T share = r.parameter(force.parameter_begin + i) * h *
                    T(1.0 / static_cast<double>(force.nodes.size()));
    for (const Index node : force.nodes)
      if (part.block[node] >= 0) r.balance(part.v_begin[node] + i, share);
  }
}

/// Rows of a tie: v_node − v_body + Ψ/h (a step), without Ψ (an impact), δ + Ψ (a correction).
template <class R>
void tie_element(R& r, const Tie& tie, Index row, JointUse use) {
  using T = ScalarOf<R>;
  const FlexiblePart& part = r.x.model.flexible_parts()[tie.part];
  const Body& body = r.x.model.body(tie.body);
  T x[3], end[3], b[6];
  node_place(r, part, tie.node, x);
  node_speed(r, part, tie.node, true, end);
  const PoseT<T> X = r.place(tie.body).pose;
  const Vec3T<T> lever = rotate(X.p, Vec3T<T>(T(tie.point[0]), T(tie.point[1]), T(tie.point[2])));
  if (use == JointUse::Position && !body.is_dynamic()) {
    for (T& entry : b) entry = T(0);
  } else {
    r.end_velocity(tie.body, b);
  }
  const Vec3T<T> speed = linear_part(body.planar, b) + angular_part(body.planar, b).cross(lever);
  const Vec3T<T> error = in_space(part.dim, x) - X.x - lever;
  const T scale = use == JointUse::Step     ? T(1) / r.duration()
                  : use == JointUse::Impact ? T(0)
                                            : T(1);
  Vec3T<T> gamma(T(0), T(0), T(0));
  for (int i = 0; i < part.dim; ++i) {
    gamma[i] = T(r.x.answer.gamma[row + i]);
    r.bilateral(row + i, end[i] - speed[i] + error[i] * scale);
    r.balance(part.v_begin[tie.node] + i, gamma[i]);
  }
  WrenchT<T> w;
  w.force = gamma;
  w.torque = lever.cross(gamma);
  put_wrench(r, tie.body, w, -1);
}

/// Gap and normal of a flexible contact. A node on a shape is evaluated as such; on a face the
/// weights and the normal are held (the caller says so).
template <class R>
void flexible_gap(R& r, const FlexibleContact& c, const Vec3T<ScalarOf<R>>& surface,
                  ScalarOf<R>& gap, Vec3T<ScalarOf<R>>& normal) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  if (!c.has_feature) {
    const Vec3T<T> n(T(c.normal[0]), T(c.normal[1]), T(c.normal[2]));
    Vec3T<T> way = surface - Vec3T<T>(T(c.point[0]), T(c.point[1]), T(c.point[2]));
    if (c.body_sign != 0) {
      // The body's point under the contact moves with it.
      const Body& body = model.body(model.shape(c.shape).body);
      const Pose X0 = body_pose(body, r.x.record.q.data());
      const Vec3 local = rotate(conjugate(X0.p), Vec3(c.point - X0.x));
      const PoseT<T> X = r.place(model.shape(c.shape).body).pose;
      const Vec3T<T> at = transform(X, Vec3T<T>(T(local[0]), T(local[1]), T(local[2])));
      way = (surface - at) * T(-c.body_sign);
    }
    gap = T(c.gap) + n.dot(way);
    normal = n;
    return;
  }
  const ShapeInstance& shape = model.shape(c.shape);
  thread_local std::vector<T> buffer;
  const Index count = shape.shape.parameter_count();
  buffer.assign(static_cast<std::size_t>(count) + 1, T(0));  // the last: a sphere of no radius
  r.parameters(shape.parameter_begin, count, buffer.data());
  T offset[7];
  r.parameters(shape.offset_begin, frame_size(shape.planar()), offset);
  const PoseT<T> X_B = compose<T>(r.place(shape.body).pose, frame_pose<T>(shape.planar(), offset));
  static const Shape kPoint3 = Shape::sphere(1), kPoint2 = Shape::disc(1);
  PoseT<T> X_A;
  X_A.x = surface;
  const ContactPointT<T> point =
      evaluate_contact<T>(c.feature, (c.planar ? kPoint2 : kPoint3).view(buffer.data() + count),
                          X_A, shape.shape.view(buffer.data()), X_B);
  gap = point.gap;
  normal = point.normal;
}

/// One flexible contact: rows D v⁺ + b, μ, and Dᵀλ. `position`: D δ + Φ, normal only.
template <class R>
void flexible_contact_element(R& r, const FlexibleContact& c, const ContactBlock* block, Index row,
                              GapBranch branch, double beta, bool limited) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  const bool position = block == nullptr;
  const int dim = c.planar ? 2 : 3;
  const double* lambda = r.x.answer.lambda.data() + row;
  Vec3T<T> surface(T(0), T(0), T(0)), relative = surface;
  for (int k = 0; k < c.corner_count; ++k) {
    const FlexibleContact::Corner& corner = c.corners[k];
    const FlexiblePart& part = model.flexible_parts()[corner.part];
    T x[3], v[3];
    node_place(r, part, corner.node, x);
    if (position && part.block[corner.node] < 0) {
      for (T& entry : v) entry = T(0);
    } else {
      node_speed(r, part, corner.node, true, v);
    }
    relative += in_space(dim, v) * T(corner.weight);
    if (c.body_sign == 0) {
      surface += in_space(dim, x) * T(corner.weight);  // A minus B
    } else {
      surface += in_space(dim, x) * T(std::abs(corner.weight));
    }
  }
  if (c.body_sign == 0) {  // the difference of the two sides, from where it is
    Vec3 now = Vec3::Zero();
    for (int i = 0; i < dim; ++i) now[i] = value_of(surface[i]);
    for (int i = 0; i < 3; ++i) surface[i] += T(c.point[i] - now[i]);
  }
  T gap;
  Vec3T<T> frame[3];
  flexible_gap(r, c, surface, gap, frame[0]);
  Vec3T<T> lever(T(0), T(0), T(0));
  BodyId body = kWorld;
  if (c.body_sign != 0) {
    body = model.shape(c.shape).body;
    lever = surface - r.place(body).pose.x;
    T twist[6] = {T(0), T(0), T(0), T(0), T(0), T(0)};
    if (!position || model.body(body).is_dynamic()) r.end_velocity(body, twist);
    const bool planar = model.body(body).planar;
    relative +=
        (linear_part(planar, twist) + angular_part(planar, twist).cross(lever)) * T(c.body_sign);
  }
  contact_frame<T>(c.planar, Vec3T<T>(frame[0]), frame);
  Vec3T<T> force = frame[0] * T(lambda[0]);
  if (position) {
    T w = frame[0].dot(relative);
    if (!limited) w += gap;
    r.block_row(row, w);
  } else {
    const ContactMaterialT<T> material = material_of(r, c.material_a, c.material_b);
    const T h = r.duration();
    T w = frame[0].dot(relative) + gap * T(branch == GapBranch::Overlap ? beta : 1.0) / h;
    if (block->material.compliance > 0) w += material.compliance * T(lambda[0]) / (h * h);
    r.block_row(row, w);
    for (int i = 1; i < block->dim; ++i) {
      r.block_row(row + i, frame[i].dot(relative));
      force += frame[i] * T(lambda[i]);
    }
    if (block->dim > 1) r.mu(block->block, material.friction);
  }
  for (int k = 0; k < c.corner_count; ++k) {
    const FlexiblePart& part = model.flexible_parts()[c.corners[k].part];
    const Index node = c.corners[k].node;
    for (int i = 0; i < dim && part.block[node] >= 0; ++i)
      r.balance(part.v_begin[node] + i, force[i] * T(c.corners[k].weight));
  }
  if (c.body_sign == 0) return;
  WrenchT<T> w;
  w.force = force;
  w.torque = lever.cross(force);
  put_wrench(r, body, w, c.body_sign);
}

}  // namespace orthant::internal
