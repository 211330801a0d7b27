// SPDX-License-Identifier: Apache-2.0
// model/model.cpp: lookups, the exclusion rule, q boxplus delta, checks of states and parameters.
#include "orthant/model/model.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <atomic>

#include "model/material_kernel.hpp"
#include "model/rules.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant {
namespace {

constexpr std::size_t kBodyGrain = 1024;

}  // namespace

namespace internal {

void refuse(std::string_view where, std::string_view what, std::string_view rule, double value) {
  throw Error(where,
              std::string(what) + " must be " + std::string(rule) + ", got " + to_text(value));
}

void need_inertia(std::string_view where, const Mat3& inertia) {
  for (int i = 0; i < 3; ++i) need_finite(where, "inertia", Vec3(inertia.col(i)));
  const double size = inertia.cwiseAbs().maxCoeff();
  const double skew = (inertia - inertia.transpose()).cwiseAbs().maxCoeff();
  if (skew > 1e-9 * size) refuse(where, "inertia", "symmetric, its largest difference 0", skew);
  const Vec3 moment =
      Eigen::SelfAdjointEigenSolver<Mat3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  if (!(moment[0] > 0)) {
    refuse(where, "inertia", "positive definite, its least principal moment > 0", moment[0]);
  }
  // A flat body meets the triangle inequality with equality: leave room for rounding only.
  const double excess = moment[2] - moment[0] - moment[1];
  if (excess > 1e-9 * moment[2]) {
    refuse(where, "inertia",
           "that of a body (triangle inequality: the largest principal moment, " +
               to_text(moment[2]) + ", at most the sum of the others)",
           moment[0] + moment[1]);
  }
}

void need_elastic(std::string_view where, double young, double poisson, double density,
                  double damping_mass, double damping_stiffness) {
  need_positive(where, "young", young);
  if (!(poisson > -1 && poisson < 0.5))
    refuse(where, "poisson", "> -1 and < 0.5 (0.5 is incompressible)", poisson);
  need_positive(where, "density", density);
  need_not_negative(where, "damping_mass", damping_mass);
  need_not_negative(where, "damping_stiffness", damping_stiffness);
}

}  // namespace internal

namespace {

template <class Item>
Index find_name(std::span<const Item> items, const std::vector<Index>& sorted,
                std::string_view name, std::string_view kind) {
  const auto it =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [&](Index i, std::string_view wanted) { return items[i].name < wanted; });
  if (it != sorted.end() && items[*it].name == name) return *it;
  std::vector<std::string_view> names;
  for (const Item& item : items) names.push_back(item.name);
  const std::string near = nearest_spelling(name, names.data(), names.size());
  throw Error(std::string(kind) + " '" + std::string(name) + "'",
              near.empty() ? "there is none of this name"
                           : "there is none of this name (did you mean '" + near + "'?)");
}

}  // namespace

namespace {

/// visit(place in q, place in v, dim) for every node that has a velocity.
template <class Visit>
void for_each_moving_node(const Model& model, Visit&& visit) {
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i) {
      const Index v_at = part.v_begin[static_cast<std::size_t>(i)];
      if (v_at >= 0) visit(part.q_begin + part.dim * i, v_at, part.dim);
    }
}

}  // namespace

BodyId Model::find_body(std::string_view name) const {
  if (name == "world") return kWorld;
  return BodyId{find_name(bodies(), body_by_name_, name, "body")};
}
BodyId Model::find_uid(BodyUid uid) const {
  const auto it =
      std::lower_bound(body_by_uid_.begin(), body_by_uid_.end(), uid,
                       [&](Index i, BodyUid wanted) { return bodies_[i].uid < wanted; });
  if (it == body_by_uid_.end() || bodies_[*it].uid != uid)
    throw Error("body uid " + std::to_string(uid), "no body of the model has it");
  return BodyId{*it};
}
ShapeId Model::find_shape(std::string_view name) const {
  return ShapeId{find_name(shapes(), shape_by_name_, name, "shape")};
}
MaterialId Model::find_material(std::string_view name) const {
  return MaterialId{find_name(materials(), material_by_name_, name, "material")};
}
JointId Model::find_joint(std::string_view name) const {
  return JointId{find_name(joints(), joint_by_name_, name, "joint")};
}
Index Model::find_actuator(std::string_view name) const {
  std::vector<Index> sorted(actuators_.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<Index>(i);
  std::sort(sorted.begin(), sorted.end(),
            [&](Index i, Index j) { return actuators_[i].name < actuators_[j].name; });
  return find_name(actuators(), sorted, name, "actuator");
}

Index Model::find_frame(std::string_view name) const {
  std::vector<Index> sorted(frames_.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<Index>(i);
  std::sort(sorted.begin(), sorted.end(),
            [&](Index i, Index j) { return frames_[i].name < frames_[j].name; });
  return find_name(frames(), sorted, name, "frame");
}

Index Model::find_part(std::string_view name) const {
  std::vector<Index> sorted(flexible_parts_.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<Index>(i);
  std::sort(sorted.begin(), sorted.end(),
            [&](Index i, Index j) { return flexible_parts_[i].name < flexible_parts_[j].name; });
  return find_name(flexible_parts(), sorted, name, "flexible part");
}

bool Model::excluded(const FlexiblePart& part, ShapeId id) const {
  const ShapeInstance& s = shape(id);
  if (!part.contact || s.shape.dim() != part.dim) return true;
  if ((part.group & s.mask) == 0 || (s.group & part.mask) == 0) return true;
  return std::binary_search(attached_.begin(), attached_.end(), std::pair(part.uid, s.body));
}

bool Model::excluded(ShapeId a, ShapeId b) const {
  const ShapeInstance& A = shape(a);
  const ShapeInstance& B = shape(b);
  if (A.body == B.body) return true;
  if ((A.group & B.mask) == 0 || (B.group & A.mask) == 0) return true;
  if (!body(A.body).is_dynamic() && !body(B.body).is_dynamic()) return true;
  if (joined_.empty()) return false;
  const std::pair pair = std::minmax(A.body, B.body);
  return std::binary_search(joined_.begin(), joined_.end(), std::pair<BodyId, BodyId>(pair));
}

Parameters Model::default_parameters() const {
  const std::vector<double>& x = table_->initial_values();
  return {VecX(Eigen::Map<const VecX>(x.data(), static_cast<Index>(x.size()))), table_};
}

void boxplus(const Model& model, const VecX& q, const VecX& delta, VecX& out) {
  ORTHANT_ASSERT(q.size() == model.q_size() && delta.size() == model.v_size());
  if (&out != &q) out = q;
  parallel_for(model.bodies().size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (const Body& body : model.bodies().subspan(begin, end - begin)) {
      if (body.v_begin == kNone) continue;
      double* x = out.data() + body.q_begin;
      const double* d = delta.data() + body.v_begin;
      for (int i = 0; i < 3; ++i) x[i] += d[i];
      if (body.planar) continue;
      const Vec3 turn(d[3], d[4], d[5]);
      if (turn == Vec3::Zero()) continue;  // a body at rest keeps its bits
      const Quat p = boxplus(Quat{x[3], x[4], x[5], x[6]}, turn);
      x[3] = p.w, x[4] = p.x, x[5] = p.y, x[6] = p.z;
    }
  });
  for_each_moving_node(model, [&](Index q_at, Index v_at, int dim) {
    for (int i = 0; i < dim; ++i) out[q_at + i] += delta[v_at + i];
  });
}

void boxminus(const Model& model, const VecX& to, const VecX& from, VecX& delta) {
  ORTHANT_ASSERT(to.size() == model.q_size() && from.size() == model.q_size());
  delta.resize(model.v_size());
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const double* x = to.data() + body.q_begin;
    const double* y = from.data() + body.q_begin;
    double* d = delta.data() + body.v_begin;
    for (int i = 0; i < 3; ++i) d[i] = x[i] - y[i];
    if (body.planar) continue;
    const Vec3 turn = boxminus(Quat{x[3], x[4], x[5], x[6]}, Quat{y[3], y[4], y[5], y[6]});
    for (int i = 0; i < 3; ++i) d[3 + i] = turn[i];
  }
  for_each_moving_node(model, [&](Index q_at, Index v_at, int dim) {
    for (int i = 0; i < dim; ++i) delta[v_at + i] = to[q_at + i] - from[q_at + i];
  });
}

const MaterialPair* find_material_pair(const Model& model, MaterialId a, MaterialId b) {
  const std::span<const MaterialPair> pairs = model.material_pairs();
  if (pairs.empty()) return nullptr;
  if (b < a) std::swap(a, b);
  const auto it = std::lower_bound(
      pairs.begin(), pairs.end(), std::pair(a, b),
      [](const MaterialPair& p, const auto& wanted) { return std::pair(p.a, p.b) < wanted; });
  return it != pairs.end() && it->a == a && it->b == b ? &*it : nullptr;
}

ContactMaterial contact_material(const Model& model, const Parameters& parameters, MaterialId a,
                                 MaterialId b) {
  return contact_material(model, parameters.values.data(), a, b);
}

void validate(const Model& model, const State& state, std::string_view where) {
  const std::string at(where);
  if (state.q.size() != model.q_size()) {
    internal::refuse(at, "the size of q", std::to_string(model.q_size()),
                     static_cast<double>(state.q.size()));
  }
  if (state.v.size() != model.v_size()) {
    internal::refuse(at, "the size of v", std::to_string(model.v_size()),
                     static_cast<double>(state.v.size()));
  }
  internal::need_finite(at, "t", state.t);
  // What is wrong is said of the first body that is not good.
  const auto good = [&](const Body& body) {
    return state.q.segment(body.q_begin, body.q_size).allFinite() &&
           (body.v_size == 0 ||  // v_begin is then no place in v
            state.v.segment(body.v_begin, body.v_size).allFinite()) &&
           (body.planar || std::abs(state.q.segment<4>(body.q_begin + 3).norm() - 1) <= 1e-6);
  };
  std::atomic<bool> all{true};
  parallel_for(model.bodies().size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (const Body& body : model.bodies().subspan(begin, end - begin))
      if (!good(body)) all = false;
  });
  for (const Body& body : model.bodies()) {
    if (all || good(body)) continue;
    const std::string object = at + ", body '" + body.name + "'";
    for (Index i = 0; i < body.q_size; ++i)
      internal::need_finite(object, "q", state.q[body.q_begin + i]);
    for (Index i = 0; i < body.v_size; ++i)
      internal::need_finite(object, "v", state.v[body.v_begin + i]);
    internal::refuse(object, "|quaternion|", "1", state.q.segment<4>(body.q_begin + 3).norm());
  }
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i) {
      const Vec3 x = node_position(part, state.q, i), v = node_velocity(part, state.v, i);
      if (x.allFinite() && v.allFinite()) continue;
      const std::string object = at + ", part '" + part.name + "', node " + std::to_string(i);
      internal::need_finite(object, "position", x);
      internal::need_finite(object, "velocity", v);
    }
}

void validate(const Model& model, const Parameters& parameters, std::string_view where) {
  const std::string at(where);
  if (parameters.values.size() != model.parameter_table().size()) {
    internal::refuse(at, "the number of values", std::to_string(model.parameter_table().size()),
                     static_cast<double>(parameters.values.size()));
  }
  const VecX& x = parameters.values;
  for (Index i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i])) internal::refuse(at, model.parameter_table().name(i), "finite", x[i]);
  for (const Body& body : model.bodies()) {
    if (!body.is_dynamic()) continue;
    const std::string object = at + ", body '" + body.name + "'";
    internal::need_positive(object, "mass", x[body.mass]);
    if (body.planar) {
      internal::need_positive(object, "inertia", x[body.inertia]);
    } else {
      const double* I = x.data() + body.inertia;
      Mat3 inertia;
      inertia << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
      internal::need_inertia(object, inertia);
    }
    if (body.drag != kNone) {
      internal::need_positive(object, "drag", x[body.drag]);
      internal::need_positive(object, "length", x[body.length]);
    }
  }
  for (const FlexiblePart& part : model.flexible_parts())
    internal::need_elastic(at + ", part '" + part.name + "'", x[part.young], x[part.poisson],
                           x[part.density], x[part.damping_mass], x[part.damping_stiffness]);
  for (const ShapeInstance& shape : model.shapes())
    check_parameters(shape.view(x.data()), at + ", shape '" + shape.name + "'");
  for (const Material& m : model.materials()) {
    const std::string object = at + ", material '" + m.name + "'";
    internal::need_friction(object, "friction", x[m.friction]);
    internal::need_fraction(object, "restitution", x[m.restitution]);
    internal::need_not_negative(object, "rolling_friction", x[m.rolling_friction]);
    internal::need_not_negative(object, "compliance", x[m.compliance]);
  }
  for (const MaterialPair& pair : model.material_pairs()) {
    const std::string object = at + ", materials '" + model.material(pair.a).name + "' and '" +
                               model.material(pair.b).name + "'";
    if (pair.friction != kNone) internal::need_friction(object, "friction", x[pair.friction]);
    if (pair.restitution != kNone)
      internal::need_fraction(object, "restitution", x[pair.restitution]);
    for (const auto& [place, what] :
         {std::pair{pair.rolling_friction, "rolling_friction"}, {pair.compliance, "compliance"}})
      if (place != kNone) internal::need_not_negative(object, what, x[place]);
  }
  for (const Force& force : model.forces()) {
    if (force.kind != ForceKind::Spring) continue;
    const BodyId body = force.a != kWorld ? force.a : force.b;
    const double* numbers = x.data() + force.parameter_begin + (model.body(body).planar ? 4 : 6);
    const std::string object = at + ", force '" + force.name + "'";
    internal::need_not_negative(object, "stiffness", numbers[0]);
    internal::need_not_negative(object, "damping", numbers[1]);
    internal::need_not_negative(object, "rest", numbers[2]);
  }
  for (const Joint& joint : model.joints()) {
    const std::string object = at + ", joint '" + joint.name + "'";
    if (joint.length != kNone) internal::need_positive(object, "length", x[joint.length]);
    for (const auto& [place, what] : {std::pair{joint.stiffness, "stiffness"},
                                      {joint.damping, "damping"},
                                      {joint.dry_friction, "dry_friction"},
                                      {joint.motor.max_force, "motor.max_force"}})
      if (place != kNone) internal::need_not_negative(object, what, x[place]);
    if (joint.lower != kNone && joint.upper != kNone && !(x[joint.lower] <= x[joint.upper]))
      internal::refuse(object, "the lower limit",
                       "at most the upper one, " + to_text(x[joint.upper]), x[joint.lower]);
  }
}

}  // namespace orthant
