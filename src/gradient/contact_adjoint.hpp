// SPDX-License-Identifier: Apache-2.0
// gradient/contact_adjoint.hpp: contact_element() and position_contact_element() pulled back by
// hand.
//   two points           n = d/|d|,  Φ = |d| − r_A − r_B,  d = P_A − P_B
//   a point over a face  n = ±u,     Φ = u·(P − Q) − r,    u and Q of a half-space or a box
// P is the centre of a sphere, an end of a capsule, a corner of a box or hull. All other pairs of
// features go over the tape, with the frames of the shapes as inputs. Private to the room.
#pragma once

#include "gradient/adjoints.hpp"

namespace orthant::internal {

/// A contact: its distance, in double and on the way back.
class ContactPull {
 public:
  using T = taping::Traced;

  ContactPull(Pull& r, const Contact& contact)
      : r_(r),
        shape_{&r.x.model.shape(contact.shape_a), &r.x.model.shape(contact.shape_b)},
        body_{&r.x.model.body(contact.body_a), &r.x.model.body(contact.body_b)},
        frame_{{r, body_[0], body_[0]->planar, shape_[0]->offset_begin, Vec3::Zero()},
               {r, body_[1], body_[1]->planar, shape_[1]->offset_begin, contact.shift}} {
    const ContactFeature& f = contact.feature;
    if (!(f.kind == FeatureKind::VertexVertex && measure_points(f)) &&
        !(f.kind == FeatureKind::VertexFace && measure_face(f)))
      measure_on_tape(f);
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
  /// Adds all to the inputs.
  void finish() {
    const Vec3 by_middle = 0.5 * (by_r_a + by_r_b);
    if (pair_ == Pair::Points) {
      pull_points(by_middle);
    } else if (pair_ == Pair::Face) {
      pull_face(by_middle);
    } else {
      r_.seed(point_.gap, by_gap);
      for (int i = 0; i < 3; ++i) {
        r_.seed(point_.normal[i], by_normal[i]);
        r_.seed(point_.point_a[i], by_middle[i]);
        r_.seed(point_.point_b[i], by_middle[i]);
      }
      r_.finish();
    }
    for (const FrameAdjoint& frame : frame_) frame.finish();
    add_twist(body_a(), -by_r_a, Vec3::Zero(), r_.inputs().q);
    add_twist(body_b(), -by_r_b, Vec3::Zero(), r_.inputs().q);
  }

  Vec3 normal, r_a, r_b;
  double gap = 0;
  double by_gap = 0;
  Vec3 by_normal = Vec3::Zero(), by_r_a = Vec3::Zero(), by_r_b = Vec3::Zero();

 private:
  enum class Pair : std::uint8_t { Tape, Points, Face };
  /// A vertex of a core: which, and where from the origin of its frame, world axes.
  struct Vertex {
    Index index = 0;
    Vec3 lever;
  };

  ShapeView<double> view(int i) const {
    return shape_[i]->shape.view(r_.x.parameters.values.data() + shape_[i]->parameter_begin);
  }
  double* by_parameters(int i) const {
    return r_.inputs().parameters.data() + shape_[i]->parameter_begin;
  }
  Vec3 at(int i, const Vec3& lever) const { return frame_[i].pose_W().x + lever; }
  void add_radius(int i, double by) const {
    const ShapeKind kind = shape_[i]->shape.kind();
    if (!r_.x.with_parameters) return;
    if (kind == ShapeKind::Sphere || kind == ShapeKind::Capsule) by_parameters(i)[0] += by;
    const HullTopology& topology = shape_[i]->shape.topology();
    if (topology.rounded) by_parameters(i)[topology.vertex_count * shape_[i]->shape.dim()] += by;
  }
  Vertex vertex(int i, Index index) const {
    return {index, rotate(frame_[i].pose_W().p, core_vertex(view(i), index))};
  }
  /// The derivative by a vertex: to its frame, and to the numbers core_vertex() reads.
  void add_vertex(int i, const Vertex& vertex, const Vec3& by) {
    frame_[i].add_point(vertex.lever, by);
    const ShapeKind kind = shape_[i]->shape.kind();
    if (!r_.x.with_parameters || kind == ShapeKind::Sphere) return;
    const Vec3 local = rotate(conjugate(frame_[i].pose_W().p), by);
    double* to = by_parameters(i);
    if (kind == ShapeKind::Capsule) {
      to[1] += vertex.index == 0 ? -local[0] : local[0];
      return;
    }
    const int dim = shape_[i]->shape.dim();
    for (int k = 0; k < dim; ++k) {
      if (kind == ShapeKind::Hull) {
        to[vertex.index * dim + k] += local[k];
      } else {
        to[k] += ((vertex.index >> k) & 1) != 0 ? local[k] : -local[k];
      }
    }
  }

  /// Does add_vertex() know the vertices of this shape?
  bool has_plain_vertices(int i) const { return shape_[i]->shape.kind() <= ShapeKind::Hull; }

  bool measure_points(const ContactFeature& f) {
    if (!has_plain_vertices(0) || !has_plain_vertices(1)) return false;
    for (int i : {0, 1}) vertex_[i] = vertex(i, (i == 0) != f.swapped ? f.first : f.second);
    const Vec3 d = at(0, vertex_[0].lever) - at(1, vertex_[1].lever);
    const double r_0 = core_radius(view(0)), r_1 = core_radius(view(1));
    distance_ = d.norm();
    if (!(distance_ > 1e-3 * (r_0 + r_1))) return false;  // has no normal of its own
    pair_ = Pair::Points;
    normal = d / distance_;
    gap = distance_ - r_0 - r_1;
    point_a_ = at(0, vertex_[0].lever) - r_0 * normal;
    point_b_ = at(1, vertex_[1].lever) + r_1 * normal;
    return true;
  }
  void pull_points(const Vec3& by_point) {
    const double r_0 = core_radius(view(0)), r_1 = core_radius(view(1));
    const Vec3 by_n = by_normal + (r_1 - r_0) * by_point;
    const Vec3 by_d = by_gap * normal + (by_n - normal.dot(by_n) * normal) / distance_;
    add_vertex(0, vertex_[0], by_point + by_d);
    add_vertex(1, vertex_[1], by_point - by_d);
    const double along = normal.dot(by_point);
    add_radius(0, -by_gap - along);
    add_radius(1, -by_gap + along);
  }

  bool measure_face(const ContactFeature& f) {
    plane_ = f.swapped ? 0 : 1;
    const int tip = 1 - plane_;
    const ShapeKind kind = shape_[plane_]->shape.kind();
    if (kind != ShapeKind::HalfSpace && kind != ShapeKind::Box) return false;
    if (!has_plain_vertices(tip)) return false;
    pair_ = Pair::Face;
    const PlaneT<double> face = core_face(view(plane_), f.second);
    face_ = {f.second, rotate(frame_[plane_].pose_W().p, face.point)};
    outward_ = rotate(frame_[plane_].pose_W().p, face.normal);
    vertex_[tip] = vertex(tip, f.first);
    reach_ = at(tip, vertex_[tip].lever) - at(plane_, face_.lever);
    const double radius = core_radius(view(tip));
    gap = outward_.dot(reach_) - radius;
    normal = plane_ == 0 ? Vec3(-outward_) : outward_;
    const Vec3 on_tip = at(tip, vertex_[tip].lever) - radius * outward_,
               on_plane = on_tip - gap * outward_;
    point_a_ = plane_ == 0 ? on_plane : on_tip;
    point_b_ = plane_ == 0 ? on_tip : on_plane;
    return true;
  }
  /// Points P − r u and that minus Φ u; u and Q turn with the face.
  void pull_face(const Vec3& by_point) {
    const int tip = 1 - plane_;
    const double along = outward_.dot(by_point), by = by_gap - along;
    const Vec3 by_u = (plane_ == 0 ? -1.0 : 1.0) * by_normal -
                      (2 * core_radius(view(tip)) + gap) * by_point + by * reach_;
    add_vertex(tip, vertex_[tip], 2 * by_point + by * outward_);
    add_radius(tip, -by - 2 * along);
    frame_[plane_].add_point(face_.lever, -by * outward_);
    frame_[plane_].by_turn += outward_.cross(by_u);
    // A face of a box moves outwards with its half-length.
    if (r_.x.with_parameters && shape_[plane_]->shape.kind() == ShapeKind::Box)
      by_parameters(plane_)[face_.index >> 1] -= by;
  }

  void measure_on_tape(const ContactFeature& f) {
    PoseT<T> pose[2];
    // A sphere looks the same from everywhere.
    for (int k : {0, 1}) pose[k] = frame_[k].on_tape(shape_[k]->shape.kind() != ShapeKind::Sphere);
    thread_local std::vector<T> buffer;
    const Index n_a = shape_[0]->shape.parameter_count(), n_b = shape_[1]->shape.parameter_count();
    buffer.assign(static_cast<std::size_t>(n_a + n_b), T(0));
    r_.parameters(shape_[0]->parameter_begin, n_a, buffer.data());
    r_.parameters(shape_[1]->parameter_begin, n_b, buffer.data() + n_a);
    point_ = evaluate_contact<T>(f, shape_[0]->shape.view(buffer.data()), pose[0],
                                 shape_[1]->shape.view(buffer.data() + n_a), pose[1]);
    normal = values_of(point_.normal);
    gap = point_.gap.v;
    point_a_ = values_of(point_.point_a);
    point_b_ = values_of(point_.point_b);
  }

  Pull& r_;
  const ShapeInstance* shape_[2];
  const Body* body_[2];
  FrameAdjoint frame_[2];
  Pair pair_ = Pair::Tape;
  Vec3 point_a_, point_b_;
  Vertex vertex_[2];        // Pair::Points, and the one of Pair::Face
  double distance_ = 0;     // Pair::Points
  int plane_ = 0;           // Pair::Face: whose face
  Vertex face_;             // a point of it
  Vec3 outward_, reach_;    // its normal; from that point to the vertex
  ContactPointT<T> point_;  // Pair::Tape
};

/// contact_material(): derivatives by what a pair of surfaces has, to the parameters it is made of.
inline void add_material(Pull& r, const Contact& contact, const ContactMaterial& by) {
  const Model& model = r.x.model;
  const MaterialId a = model.shape(contact.shape_a).material,
                   b = model.shape(contact.shape_b).material;
  const Material &A = model.material(a), &B = model.material(b);
  const CombineRule rule = std::max(A.combine, B.combine);
  const MaterialPair none;
  const MaterialPair* pair = find_material_pair(model, a, b);
  const MaterialPair& p = pair != nullptr ? *pair : none;
  VecX& to = r.inputs().parameters;
  const auto add = [&](Index given, Index i, Index j, double weight) {
    if (weight == 0) return;
    if (given != kNone || i == j) {
      to[given != kNone ? given : i] += weight;
      return;
    }
    const double *x = r.x.parameters.values.data() + i, *y = r.x.parameters.values.data() + j;
    const Dual<2> both = combine<Dual<2>>(rule, Dual<2>::variable(*x, 0), Dual<2>::variable(*y, 1));
    to[i] += weight * both.d[0];
    to[j] += weight * both.d[1];
  };
  add(p.friction, A.friction, B.friction, by.friction);
  add(p.restitution, A.restitution, B.restitution, by.restitution);
  add(p.rolling_friction, A.rolling_friction, B.rolling_friction, by.rolling_friction);
  if (p.compliance != kNone) {
    to[p.compliance] += by.compliance;
  } else {  // two springs in a row
    to[A.compliance] += by.compliance;
    to[B.compliance] += by.compliance;
  }
}

/// contact_element() for isotropic friction: the tangents turn with the normal the shortest way,
/// what else they might do drops out.
inline void contact_adjoint(Pull& r, const Contact& contact, Index number,
                            const ContactBlock& block, double beta) {
  const Model& model = r.x.model;
  const SolveOutputs& weights = r.weights();
  const bool planar = model.shape(contact.shape_a).planar();
  const int tangents = planar ? 1 : 2;
  const double* lambda = r.x.answer.lambda.data() + block.row;
  const double* y = weights.equations.blocks.data() + block.row;
  const double h = r.x.record.duration;
  ContactPull c(r, contact);
  const auto& f = block.frame;
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

  // b_n, as normal_bias() has it on the branch.
  double by_restitution = 0, by_compliance = 0;
  const auto add_approach = [&](double by) {  // by D_n v before the solve
    const Twist before_a = twist_in(c.body_a(), r.x.record.v);
    const Twist before_b = twist_in(c.body_b(), r.x.record.v);
    const Vec3 push = by * c.normal, speed = c.relative(before_a, before_b);
    c.by_normal += by * speed;
    c.add_relative(push, before_a, before_b);
    add_twist(c.body_a(), push, c.r_a.cross(push), by_v);
    add_twist(c.body_b(), -push, -c.r_b.cross(push), by_v);
    return c.normal.dot(speed);
  };
  if (block.branch == BiasBranch::Restitution) {
    const double s = r.x.record.rows.restitution_scale, epsilon = block.material.restitution;
    const double approach = add_approach(y[0] * s * epsilon);
    by_restitution = y[0] * s * approach;
    r.inputs().scale += y[0] * epsilon * approach;
  } else if (block.branch != BiasBranch::None && block.branch != BiasBranch::DeadBand) {
    if (block.branch == BiasBranch::Trial) add_approach(-y[0]);
    const bool overlap = block.branch == BiasBranch::Overlap;
    c.by_gap += y[0] * (overlap ? beta : 1.0) / h;
    if (!overlap) r.inputs().duration -= y[0] * c.gap / (h * h);
  }
  if (block.material.compliance > 0) {
    by_compliance = y[0] * lambda[0] / (h * h);
    r.inputs().duration -= 2 * by_compliance * block.material.compliance / h;
  }
  if (weights.gap.size() > 0) c.by_gap += weights.gap[number];
  if (r.x.with_parameters)
    add_material(r, contact,
                 {.friction = friction > 0 ? weights.equations.mu[block.block] : 0.0,
                  .restitution = by_restitution,
                  .rolling_friction = rolls ? weights.equations.mu_r[block.block] : 0.0,
                  .compliance = by_compliance});
  c.finish();
}

/// position_contact_element().
inline void position_contact_adjoint(Pull& r, const Contact& contact, Index number,
                                     const ContactBlock& block) {
  const SolveOutputs& weights = r.weights();
  const double y = weights.equations.blocks[block.row], lambda = r.x.answer.lambda[block.row];
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
  c.by_gap = (block.branch == BiasBranch::Clipped ? 0.0 : y) +
             (weights.gap.size() > 0 ? weights.gap[number] : 0.0);
  c.finish();
}

}  // namespace orthant::internal
