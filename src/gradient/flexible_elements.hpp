// SPDX-License-Identifier: Apache-2.0
// gradient/flexible_elements.hpp: the equations of flexible parts, object by object, in any
// reader's scalar. As gradient/elements.hpp:  R_balance = k − H v⁺ + Cᵀγ + Dᵀλ,  C v⁺ + e,  D v⁺ +
// b. One finite element reads its corners, their velocities and the material of its part, so the
// derivative has the turning of the element in it, not only the stiffness that the step used.
#pragma once

#include "force/corotational_kernel.hpp"
#include "gradient/elements.hpp"

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

template <int D>
ElementRestT<D> rest_of(const FlexiblePart& part, Index e) {
  ElementRestT<D> rest;
  const double* stored = part.rest.data() + static_cast<std::size_t>(e) * ((D + 1) * D + 1);
  std::copy(stored, stored + (D + 1) * D, &rest.gradient[0][0]);
  rest.volume = stored[(D + 1) * D];
  return rest;
}

template <class R>
FlexibleMaterialT<ScalarOf<R>> material_of(R& r, const FlexiblePart& part) {
  return {r.parameter(part.young), r.parameter(part.poisson), r.parameter(part.density),
          r.parameter(part.damping_mass), r.parameter(part.damping_stiffness)};
}

/// −out into the balance of the free corners.
template <int D, class R>
void put_on_nodes(R& r, const FlexiblePart& part, Index e, const ScalarOf<R> (*out)[D]) {
  for (int a = 0; a <= D; ++a) {
    const Index node = part.elements[e][a];
    for (int i = 0; i < D && part.block[node] >= 0; ++i)
      r.balance(part.v_begin[node] + i, -out[a][i]);
  }
}

/// k − H v⁺ of one element.
template <int D, class R>
void flexible_element(R& r, const FlexiblePart& part, Index e) {
  using T = ScalarOf<R>;
  const ElementRestT<D> rest = rest_of<D>(part, e);
  T x[D + 1][D], v[D + 1][D], next[D + 1][D], at[D + 1][D], out[D + 1][D], g[3];
  for (int a = 0; a <= D; ++a) {
    const Index node = part.elements[e][a];
    node_place(r, part, node, x[a]);
    node_speed(r, part, node, false, v[a]);
    node_speed(r, part, node, true, next[a]);
    for (int i = 0; i < D; ++i) at[a][i] = out[a][i] = T(0);
  }
  r.parameters(r.x.model.gravity(), 3, g);
  add_element_balance<D, T>(rest, material_of(r, part), D == 2 && !part.plane_strain,
                            part.consistent_mass, x, v, at, next, g, r.duration(), out);
  put_on_nodes<D>(r, part, e, out);
}

/// −H δ of one element in a correction of positions of a step of length h.
template <int D, class R>
void metric_element(R& r, const FlexiblePart& part, Index e, double h) {
  using T = ScalarOf<R>;
  const ElementRestT<D> rest = rest_of<D>(part, e);
  T x[D + 1][D], delta[D + 1][D], out[D + 1][D];
  bool moves = false;
  for (int a = 0; a <= D; ++a) {
    const Index node = part.elements[e][a], at = part.v_begin[node];
    node_place(r, part, node, x[a]);
    for (int i = 0; i < D; ++i) {
      delta[a][i] = T(part.block[node] >= 0 ? r.x.answer.v[at + i] : 0.0);
      moves = moves || value_of(delta[a][i]) != 0;
      out[a][i] = T(0);
    }
  }
  if (!moves) return;
  const FlexibleMaterialT<T> material = material_of(r, part);
  const LameT<T> l = lame(material.young, material.poisson, D == 2 && !part.plane_strain);
  add_element_stiffness_times<D>(rest, l, corotate<D>(rest, x), delta,
                                 T(h * h) + T(h) * material.damping_stiffness, out);
  for (int a = 0; a <= D; ++a)
    for (int i = 0; i < D; ++i) delta[a][i] *= T(1) + T(h) * material.damping_mass;
  add_element_momentum<D>(rest, material.density, part.consistent_mass, delta, out);
  put_on_nodes<D>(r, part, e, out);
}

/// M (v − v⁺) of a node at an impact.
template <class R>
void node_mass_element(R& r, const FlexiblePart& part, Index node) {
  using T = ScalarOf<R>;
  T v[3], end[3];
  node_speed(r, part, node, false, v);
  node_speed(r, part, node, true, end);
  const T mass = r.parameter(part.density) * T(part.node_volume[node]);
  for (int i = 0; i < part.dim; ++i) r.balance(part.v_begin[node] + i, mass * (v[i] - end[i]));
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

/// A point of a face or of its border that is nearest to something: weights of its corners, the
/// normal towards that something, the distance along it.
template <class T>
struct NearestT {
  T weight[3] = {T(0), T(0), T(0)};
  Vec3T<T> point, normal;
  T gap;
};

/// Normal and gap on a border: along the way from there to p.
template <class T>
void set_along(const Vec3T<T>& p, NearestT<T>& n) {
  using std::sqrt;
  const Vec3T<T> d = p - n.point;
  n.gap = sqrt(d.dot(d));
  n.normal = d * (T(1) / n.gap);
}

/// p over the inside of a triangle, in the plane of a side walked counter-clockwise.
template <class T>
NearestT<T> nearest_inside(int corners, const Vec3T<T>* x, const Vec3T<T>& p) {
  using std::sqrt;
  NearestT<T> n;
  const Vec3T<T> a = x[1] - x[0], r = p - x[0];
  if (corners == 2) {
    n.weight[1] = r.dot(a) / a.dot(a);
    n.normal = Vec3T<T>(a[1], -a[0], T(0));
  } else {
    const Vec3T<T> b = x[2] - x[0], m = a.cross(b);
    const T area = m.dot(m);
    n.weight[1] = r.cross(b).dot(m) / area;
    n.weight[2] = a.cross(r).dot(m) / area;
    n.normal = m;
  }
  n.weight[0] = T(1) - n.weight[1] - n.weight[2];
  n.normal *= T(1) / sqrt(n.normal.dot(n.normal));
  n.point = x[0] * n.weight[0] + x[1] * n.weight[1];
  if (corners == 3) n.point += x[2] * n.weight[2];
  n.gap = n.normal.dot(r);
  return n;
}

/// p beside the edge x[0] x[1].
template <class T>
NearestT<T> nearest_on_edge(const Vec3T<T>* x, const Vec3T<T>& p) {
  NearestT<T> n;
  const Vec3T<T> e = x[1] - x[0];
  n.weight[1] = (p - x[0]).dot(e) / e.dot(e);
  n.weight[0] = T(1) - n.weight[1];
  n.point = x[0] + e * n.weight[1];
  set_along(p, n);
  return n;
}

/// The segment a b across the edge x[0] x[1].
template <class T>
NearestT<T> nearest_across(const Vec3T<T>* x, const Vec3T<T>& a, const Vec3T<T>& b) {
  NearestT<T> n;
  const Vec3T<T> u = b - a, w = x[1] - x[0], r = a - x[0];
  const T uu = u.dot(u), ww = w.dot(w), uw = u.dot(w), det = uu * ww - uw * uw;
  n.weight[1] = (uu * w.dot(r) - uw * u.dot(r)) / det;
  n.weight[0] = T(1) - n.weight[1];
  n.point = x[0] + w * n.weight[1];
  set_along<T>(a + u * ((uw * w.dot(r) - ww * u.dot(r)) / det), n);
  return n;
}

/// The shape of a flexible contact in the reader's scalar.
template <class T>
struct PlacedShapeT {
  std::vector<T> values;  // its numbers, then a zero: the radius of a sphere that is a point
  ShapeView<T> view;
  PoseT<T> X;
};

template <class R>
PlacedShapeT<ScalarOf<R>> placed_shape(R& r, const ShapeInstance& shape) {
  using T = ScalarOf<R>;
  PlacedShapeT<T> out;
  const Index count = shape.shape.parameter_count();
  out.values.assign(static_cast<std::size_t>(count) + 1, T(0));
  r.parameters(shape.parameter_begin, count, out.values.data());
  T offset[7];
  r.parameters(shape.offset_begin, frame_size(shape.planar()), offset);
  out.X = compose<T>(r.place(shape.body).pose, frame_pose<T>(shape.planar(), offset));
  out.view = shape.shape.view(out.values.data());
  return out;
}

/// Where a flexible contact is: weights of its corners as in FlexibleContact, the point on the
/// flexible surface, normal and gap. The feature that touched is held, all the rest moves.
template <class R>
NearestT<ScalarOf<R>> place_contact(R& r, const FlexibleContact& c, ScalarOf<R>* weight) {
  using T = ScalarOf<R>;
  const int dim = c.planar ? 2 : 3;
  Vec3T<T> x[4];
  for (int k = 0; k < c.corner_count; ++k) {
    T at[3];
    node_place(r, r.x.model.flexible_parts()[c.corners[k].part], c.corners[k].node, at);
    x[k] = in_space(dim, at);
  }
  NearestT<T> n;
  if (c.has_feature) {  // a node on a shape
    const PlacedShapeT<T> shape = placed_shape(r, r.x.model.shape(c.shape));
    static const Shape kPoint3 = Shape::sphere(1), kPoint2 = Shape::disc(1);
    PoseT<T> X_A;
    X_A.x = x[0];
    const ContactPointT<T> point =
        evaluate_contact<T>(c.feature, (c.planar ? kPoint2 : kPoint3).view(&shape.values.back()),
                            X_A, shape.view, shape.X);
    weight[0] = T(c.corners[0].weight);
    n.point = x[0];
    n.normal = point.normal;
    n.gap = point.gap;
    return n;
  }
  const int first = c.body_sign == 0 ? 1 : 0, corners = c.corner_count - first;
  const Vec3T<T>* face = x + first;
  if (c.body_sign == 0) {  // a node on a face of another part
    weight[0] = T(1);
    if (corners == dim) {
      n = nearest_inside<T>(dim, face, x[0]);
    } else if (holds_normal(c)) {
      n.weight[0] = T(1);
      if (corners == 2) {
        const Vec3T<T> e = face[1] - face[0];
        n.weight[1] = (x[0] - face[0]).dot(e) / e.dot(e);
        n.weight[0] -= n.weight[1];
      }
      n.normal = Vec3T<T>(T(c.normal[0]), T(c.normal[1]), T(c.normal[2]));
      n.gap = n.normal.dot(x[0] - face[0]);
    } else if (corners == 2) {
      n = nearest_on_edge<T>(face, x[0]);
    } else {
      n.weight[0] = T(1);
      n.point = face[0];
      set_along<T>(x[0], n);
    }
  } else {
    const PlacedShapeT<T> shape = placed_shape(r, r.x.model.shape(c.shape));
    const bool capsule = shape.view.kind == ShapeKind::Capsule;
    const auto name = static_cast<Index>(c.key.feature >> 24);
    const auto core = [&](Index i) { return transform(shape.X, core_vertex(shape.view, i)); };
    if (corners == dim) {
      n = nearest_inside<T>(dim, face, core(name));
    } else if (capsule && name >= 2) {
      n = nearest_across<T>(face, core(0), core(1));
    } else {
      n = nearest_on_edge<T>(face, core(name));
    }
    n.gap -= core_radius(shape.view);
  }
  for (int i = 0; i < corners; ++i) weight[first + i] = -n.weight[i];
  return n;
}

/// One flexible contact: rows D v⁺ + b, μ, and Dᵀλ. `position`: D δ + Φ, normal only.
template <class R>
void flexible_contact_element(R& r, const FlexibleContact& c, const ContactBlock& block,
                              double beta, bool position) {
  using T = ScalarOf<R>;
  const Model& model = r.x.model;
  const Index row = block.row;
  const int dim = c.planar ? 2 : 3;
  const double* lambda = r.x.answer.lambda.data() + row;
  T weight[4];
  const NearestT<T> at = place_contact(r, c, weight);
  Vec3T<T> frame[3], relative(T(0), T(0), T(0)), lever = relative;
  for (int k = 0; k < c.corner_count; ++k) {
    const FlexiblePart& part = model.flexible_parts()[c.corners[k].part];
    if (position && part.block[c.corners[k].node] < 0) continue;
    T v[3];
    node_speed(r, part, c.corners[k].node, true, v);
    relative += in_space(dim, v) * weight[k];
  }
  BodyId body = kWorld;
  if (c.body_sign != 0) {
    body = model.shape(c.shape).body;
    lever = at.point - r.place(body).pose.x;
    T twist[6] = {T(0), T(0), T(0), T(0), T(0), T(0)};
    if (!position || model.body(body).is_dynamic()) r.end_velocity(body, twist);
    const bool planar = model.body(body).planar;
    relative +=
        (linear_part(planar, twist) + angular_part(planar, twist).cross(lever)) * T(c.body_sign);
  }
  turned_frame<T>(block, at.normal, frame);
  Vec3T<T> force = frame[0] * T(lambda[0]);
  if (position) {
    T w = frame[0].dot(relative);
    if (block.branch != BiasBranch::Clipped) w += at.gap;
    r.block_row(row, w);
  } else {
    const ContactMaterialT<T> material = material_of(r, c.material_a, c.material_b);
    NormalBiasT<T> bias;
    bias.h = r.duration();
    bias.beta = beta;
    T w = frame[0].dot(relative) + normal_bias<T>(block.branch, at.gap, bias);
    if (block.material.compliance > 0) w += material.compliance * T(lambda[0]) / (bias.h * bias.h);
    r.block_row(row, w);
    for (int i = 1; i < block.dim; ++i) {
      r.block_row(row + i, frame[i].dot(relative));
      force += frame[i] * T(lambda[i]);
    }
    if (block.dim > 1) r.mu(block.block, material.friction);
  }
  for (int k = 0; k < c.corner_count; ++k) {
    const FlexiblePart& part = model.flexible_parts()[c.corners[k].part];
    const Index node = c.corners[k].node;
    for (int i = 0; i < dim && part.block[node] >= 0; ++i)
      r.balance(part.v_begin[node] + i, force[i] * weight[k]);
  }
  if (c.body_sign == 0) return;
  WrenchT<T> w;
  w.force = force;
  w.torque = lever.cross(force);
  put_wrench(r, body, w, c.body_sign);
}

}  // namespace orthant::internal
