// SPDX-License-Identifier: Apache-2.0
// gradient/stage.cpp: one solve of a record as a differentiable map.
//   pull:  ḡ(q', v') → ḡ(δ), ḡ(v⁺) → one adjoint solve → the kernels of every object, seeded
// q ⊞ δ turns tangents: d(q ⊞ δ) = R(δ) dq + J(δ) dδ, J the left Jacobian of the exponential map.
#include "gradient/stage.hpp"

#include <type_traits>

#include "gradient/adjoints.hpp"
#include "gradient/elements.hpp"
#include "gradient/feature_margin.hpp"
#include "gradient/flexible_elements.hpp"
#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant::internal {
namespace {

/// Side of the kink of b_n at Φ = 0. Positions are projected to a tolerance, not to zero: within it
/// the sign of a gap is noise, and a contact that rests is one whose gap may close.
GapBranch branch_of(const Model& model, const Parameters& parameters, const StepSettings& settings,
                    const Contact& contact) {
  const ContactMaterial material =
      contact_material(model, parameters, model.shape(contact.shape_a).material,
                       model.shape(contact.shape_b).material);
  if (material.compliance > 0) return GapBranch::Closing;  // a spring, the same on both sides
  const double tolerance = settings.stabilisation == Stabilisation::Baumgarte
                               ? 0
                               : settings.projection_tolerance *
                                     std::min(shape_size(model, parameters, contact.shape_a),
                                              shape_size(model, parameters, contact.shape_b));
  return contact.gap < -tolerance ? GapBranch::Overlap : GapBranch::Closing;
}

bool depends_on_time(const Model& model) {
  for (const Force& force : model.forces())
    if (!force.table.empty() || force.kind == ForceKind::Callback) return true;
  for (const Joint& joint : model.joints())
    if (joint.motor.kind != MotorKind::None) return true;
  return false;
}

/// R(turn) of the tangent of an orientation, and its left Jacobian.
struct TurnMaps {
  Mat3 rotation, jacobian;
  explicit TurnMaps(const Vec3& turn)
      : rotation(matrix_of(exp_rotation(turn))), jacobian(left_jacobian(turn)) {}
};

// What a step is full of: by hand on the way back, by the kernels forwards.

void step_body(Pull& r, BodyId id, bool flies) { body_adjoint(r, id, flies); }
void step_body(Push& r, BodyId id, bool flies) { body_element(r, id, flies); }
void body_mass(Pull& r, BodyId id, bool with_velocity) { mass_adjoint(r, id, with_velocity); }
void body_mass(Push& r, BodyId id, bool with_velocity) { mass_element(r, id, with_velocity); }
void bilateral(Pull& r, const Joint& joint, JointUse use, double beta) {
  bilateral_adjoint(r, joint, use, beta);
  if (joint.follow.row != kNone) follow_element(r, joint, use, beta);
}
void bilateral(Push& r, const Joint& joint, JointUse use, double beta) {
  bilateral_element(r, joint, use, beta);
  if (joint.follow.row != kNone) follow_element(r, joint, use, beta);
}

template <class R>
void contact_of(R& r, const Contact& contact, Index number, const ContactBlock& block,
                FrictionModel friction, GapBranch branch, double beta) {
  if constexpr (std::is_same_v<R, Pull>) {
    // The sides of a pyramid stand in the frame, whose own turning then counts.
    if (friction != FrictionModel::Pyramid || block.material.friction == 0)
      return contact_adjoint(r, contact, number, block, branch, beta);
  }
  contact_element(r, contact, number, block, friction, branch, beta);
}

void position_contact(Pull& r, const Contact& contact, Index number, Index row, bool limited) {
  position_contact_adjoint(r, contact, number, row, limited);
}
void position_contact(Push& r, const Contact& contact, Index number, Index row, bool limited) {
  position_contact_element(r, contact, number, row, limited);
}

/// visit(place in v, size, free) for every node that has a velocity.
template <class Visit>
void for_each_moving_node(const Model& model, Visit&& visit) {
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i)
      if (part.v_begin[i] >= 0) visit(part.v_begin[i], Index{part.dim}, part.block[i] >= 0);
}

/// body.derivatives() of a user's force, where it has them.
bool callback_derivatives(const Model& model, const Parameters& parameters, const SolveRecord& x,
                          const Force& force, double* f_q, double* f_v) {
  const auto size = static_cast<std::size_t>(model.body(force.a).v_size);
  const double middle = x.t + 0.5 * x.duration;
  std::fill(f_q, f_q + 36, 0.0);
  std::fill(f_v, f_v + 36, 0.0);
  return force.callback->derivatives(model, parameters, x.q, x.v, middle, {f_q, size * size},
                                     {f_v, size * size});
}

}  // namespace

std::vector<SolveRecord> trials_of(const Model& model, const StepRecord& step) {
  std::vector<SolveRecord> trials;
  for (std::size_t i = 1; i < step.solves.size(); ++i) {
    if (step.solves[i].kind != SolveKind::Recursion) continue;
    const SolveRecord& from = step.solves[i - 1];
    SolveRecord& trial = trials.emplace_back();
    trial.kind = SolveKind::Recursion;
    trial.duration = from.duration;
    trial.t = from.t;
    trial.v = from.v;  // of kinematic bodies
    trial.v.head(model.dynamic_v_size()) = from.solution.v;
    boxplus(model, from.q, from.duration * trial.v, trial.q);
  }
  return trials;
}

Stage::Stage(const StageArguments& x, std::size_t index)
    : context_{&x.model,  &x.parameters,         &x.settings,
               &x.step.u, &x.step.solves[index], x.gradient.parameters,
               {}},
      medium_{x.settings.drag_ratio, x.settings.thermal_energy, x.step.before.rng} {
  const Model& model = x.model;
  const Parameters& parameters = x.parameters;
  const StepSettings& settings = x.settings;
  const SolveRecord& record = x.step.solves[index];
  if (record.kind == SolveKind::Newton)
    throw Error("step gradient", "a solve of this kind has no derivative here");
  if (record.kind == SolveKind::Recursion) {
    context_.trials = x.trials.first(index);
    for (std::size_t i = 0; i <= index; ++i)
      round_end_.push_back(x.step.solves[i].contacts.contacts.size());
  }
  if (!model.flexible_parts().empty() && settings.newton_iterations > 1)
    throw Error("step gradient",
                "the derivative of flexible parts is that of newton_iterations = 1, got " +
                    std::to_string(settings.newton_iterations));
  assemble();
  gradient_ = std::make_unique<SolutionGradient>(assembly_.problem, scale_of(assembly_.problem),
                                                 record.solution, x.gradient.solution);
  find_displacement();
  find_ties(x.gradient.solution.floating_tolerance);
  for (const FlexibleContact& contact : record.contacts.flexible)
    if (holds_normal(contact))
      reason_ = "a node lies on an edge or a node of another part: the normal there is held";
  if (!is_interval()) return;
  if (!model.flexible_parts().empty() && record.duration < settings.h)
    reason_ = "the lengths of intervals that inverting elements cut are held";
  for (const Force& force : model.forces()) {
    double f_q[36], f_v[36];
    if (force.kind == ForceKind::Callback &&
        !callback_derivatives(model, parameters, record, force, f_q, f_v))
      reason_ = "force '" + force.name + "' has no derivatives: held fixed";
  }
  if (settings.impact_events && record.duration < settings.h && depends_on_time(model))
    reason_ = "forces and motors that depend on time are held while the time of an impact changes";
}

std::span<const Contact> Stage::round(std::size_t r) const {
  const std::span<const Contact> all = context_.record_->contacts.contacts;
  if (round_end_.empty()) return all;
  const std::size_t begin = r == 0 ? 0 : round_end_[r - 1];
  return all.subspan(begin, round_end_[r] - begin);
}

void Stage::assemble() {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const Parameters& parameters = *context_.parameters;
  const StepSettings& settings = *context_.settings;
  const std::vector<Contact>& contacts = r.contacts.contacts;
  branches_.assign(contacts.size(), GapBranch::None);
  const StepInterval at{r.q, r.v, r.t, is_interval() ? r.duration : settings.h};
  switch (r.kind) {
    case SolveKind::Step:
    case SolveKind::Recursion:
      for (std::size_t c = 0; c < contacts.size(); ++c)
        branches_[c] = c < round(0).size() ? branch_of(model, parameters, settings, contacts[c])
                                           : GapBranch::Trial;
      if (!assemble_motion(model, parameters, at, *context_.u, assembly_) ||
          !assemble_medium(model, parameters, at, medium_, assembly_))
        throw Error("step gradient", "the mass matrix of the recorded step is singular");
      assemble_rows(model, parameters, at, round(0), r.rows, r.rows.beta, assembly_,
                    r.contacts.flexible);
      for (std::size_t i = 0; i < context_.trials.size(); ++i)
        append_trial_rows(model, parameters, context_.trials[i].q, r.v,
                          context_.trials[i].v.head(model.dynamic_v_size()), round(i + 1), r.rows,
                          assembly_);
      break;
    case SolveKind::Impact:
      assemble_impact(model, parameters, at, contacts,
                      {.h = settings.h,
                       .friction = settings.friction,
                       .pyramid_directions = settings.pyramid_directions},
                      assembly_);
      break;
    default:
      assemble_projection(model, parameters, r.q, r.t, settings.h, contacts, r.deepest, assembly_,
                          r.contacts.flexible);
  }
}

bool Stage::flies(const Body& body) const {
  const auto& touched = context_.record_->touched;
  return !touched.empty() && touched[static_cast<std::size_t>(body.dynamic)] == 0;
}

void Stage::find_displacement() {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const Index n = model.dynamic_v_size();
  delta_.setZero(model.v_size());
  if (r.kind == SolveKind::Impact) return;
  if (r.kind == SolveKind::Projection) {
    delta_.head(n) = r.solution.v;
    return;
  }
  delta_ = r.duration * r.v;
  delta_.head(n) = r.duration * r.solution.v;
  if (r.touched.empty()) return;
  VecX flight(n);
  free_flight(assembly_.dynamics, r.solution.v, r.duration, flight);
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    if (flies(body))
      delta_.segment(body.v_begin, body.v_size) = flight.segment(body.v_begin, body.v_size);
  }
}

void Stage::find_ties(double tolerance) {
  feature_margin_ = context_.record_->selection_margin;
  ties_ = feature_margin_ <= tolerance ? 1 : 0;
  const ConstraintScheme scheme = context_.settings->constraints;
  if (scheme != ConstraintScheme::Single && scheme != ConstraintScheme::Relcp) return;
  for (std::size_t r = 0, c = 0; r <= context_.trials.size(); ++r) {
    const VecX& q = r == 0 ? context_.record_->q : context_.trials[r - 1].q;
    for (const Contact& contact : round(r)) {
      const auto row = static_cast<std::size_t>(assembly_.blocks[c++].row);
      if (certificate().states[row] == ContactState::Separate) continue;
      const double margin =
          internal::feature_margin(*context_.model, *context_.parameters, q, contact);
      feature_margin_ = std::min(feature_margin_, margin);
      ties_ += margin <= tolerance ? 1 : 0;
    }
  }
}

template <class R>
void Stage::walk(R& reader) const {
  switch (context_.record_->kind) {
    case SolveKind::Step:
    case SolveKind::Recursion:
      return walk_step(reader);
    case SolveKind::Impact:
      return walk_impact(reader);
    default:
      return walk_projection(reader);
  }
}

template <class R>
void Stage::walk_step(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const double middle = r.t + 0.5 * r.duration;
  for (const BodyId id : model.dynamic_bodies()) {
    step_body(reader, id, flies(model.body(id)));
    reader.finish();
  }
  for (const Force& force : model.forces()) {
    if (force.kind == ForceKind::Callback) continue;
    force_element(reader, force, middle);
    reader.finish();
  }
  for (Index i = 0; i < model.control_count(); ++i) {
    actuator_element(reader, model.actuators()[i], i);
    reader.finish();
  }
  walk_contacts(reader, 0);
  Index row = 0;
  if (!round(0).empty()) {
    const ContactBlock& last = assembly_.blocks[round(0).size() - 1];
    row = last.row + last.dim;
  }
  if (!model.flexible_parts().empty()) row = walk_flexible(reader);
  // Rows of trials come after those of the joints.
  Index block = context_.trials.empty() ? assembly_.problem.block_count()
                                        : assembly_.blocks[round(0).size()].block;
  block -= joint_block_count(model);
  for (const Joint& joint : model.joints()) {
    if (joint.stiffness != kNone || joint.damping != kNone) joint_spring_element(reader, joint);
    bilateral(reader, joint, JointUse::Step, r.rows.beta);
    const Index count =
        joint_blocks_element(reader, joint, JointUse::Step, row, block, r.rows.beta);
    reader.finish();
    row += count;
    block += count;
  }
}

/// Contacts of one round: `reader` stands where they were found.
template <class R>
void Stage::walk_contacts(R& reader, std::size_t r) const {
  const ContactRowSettings& rows = context_.record_->rows;
  const std::span<const Contact> contacts = round(r);
  const std::size_t first = r == 0 ? 0 : round_end_[r - 1];
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    contact_of(reader, contacts[c], static_cast<Index>(first + c), assembly_.blocks[first + c],
               rows.friction, branches_[first + c], rows.beta);
    reader.finish();
  }
}

/// Elements, loads, ties and contacts of flexible parts in a step; the row after the contacts.
template <class R>
Index Stage::walk_flexible(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index e = 0; e < part.element_count(); ++e) {
      if (part.dim == 3) {
        flexible_element<3>(reader, part, e);
      } else {
        flexible_element<2>(reader, part, e);
      }
      reader.finish();
    }
  for (const NodeForce& force : model.node_forces()) {
    node_force_element(reader, force);
    reader.finish();
  }
  walk_ties(reader, JointUse::Step);
  const std::size_t first = r.contacts.contacts.size();
  Index row = first == 0 ? 0 : assembly_.blocks[first - 1].row + assembly_.blocks[first - 1].dim;
  for (std::size_t c = 0; c < r.contacts.flexible.size(); ++c) {
    const FlexibleContact& contact = r.contacts.flexible[c];
    const ContactBlock& at = assembly_.blocks[first + c];
    const double tolerance = context_.settings->projection_tolerance * contact.size;
    const bool overlap = at.material.compliance == 0 && contact.gap < -tolerance;
    flexible_contact_element(reader, contact, &at, at.row,
                             overlap ? GapBranch::Overlap : GapBranch::Closing, r.rows.beta, false);
    reader.finish();
    row = at.row + at.dim;
  }
  return row;
}

template <class R>
void Stage::walk_ties(R& reader, JointUse use) const {
  Index row = context_.model->bilateral_count();
  for (const Tie& tie : context_.model->ties()) {
    tie_element(reader, tie, row, use);
    reader.finish();
    row += context_.model->flexible_parts()[tie.part].dim;
  }
}

/// Masses of the nodes at an impact: no forces.
template <class R>
void Stage::walk_nodes(R& reader) const {
  for (const FlexiblePart& part : context_.model->flexible_parts())
    for (const Index node : part.free_nodes) {
      node_mass_element(reader, part, node);
      reader.finish();
    }
}

/// H of the elements in a correction of positions.
template <class R>
void Stage::walk_metric(R& reader) const {
  const double h = context_.settings->h;
  for (const FlexiblePart& part : context_.model->flexible_parts())
    for (Index e = 0; e < part.element_count(); ++e) {
      if (part.dim == 3) {
        metric_element<3>(reader, part, e, h);
      } else {
        metric_element<2>(reader, part, e, h);
      }
      reader.finish();
    }
}

template <class R>
void Stage::walk_impact(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  for (const BodyId id : model.dynamic_bodies()) {
    body_mass(reader, id, true);
    reader.finish();
  }
  walk_nodes(reader);
  walk_ties(reader, JointUse::Impact);
  const std::vector<Contact>& contacts = r.contacts.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    contact_of(reader, contacts[c], static_cast<Index>(c), assembly_.blocks[c],
               context_.settings->friction, GapBranch::None, 0);
    reader.finish();
  }
  for (const Joint& joint : model.joints()) {
    bilateral(reader, joint, JointUse::Impact, 0);
    reader.finish();
  }
}

template <class R>
void Stage::walk_projection(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  for (const BodyId id : model.dynamic_bodies()) {
    body_mass(reader, id, false);
    reader.finish();
  }
  walk_metric(reader);
  walk_ties(reader, JointUse::Position);
  Index row = 0;
  const std::vector<Contact>& contacts = r.contacts.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const ContactMaterial material =
        contact_material(model, *context_.parameters, model.shape(contacts[c].shape_a).material,
                         model.shape(contacts[c].shape_b).material);
    if (material.compliance > 0) continue;
    position_contact(reader, contacts[c], static_cast<Index>(c), row, contacts[c].gap < -r.deepest);
    reader.finish();
    ++row;
  }
  for (const FlexibleContact& contact : r.contacts.flexible) {
    if (contact_material(model, *context_.parameters, contact.material_a, contact.material_b)
            .compliance > 0)
      continue;
    flexible_contact_element(reader, contact, nullptr, row, GapBranch::None, 0,
                             contact.gap < -r.deepest);
    reader.finish();
    ++row;
  }
  for (const Joint& joint : model.joints()) {
    bilateral(reader, joint, JointUse::Position, 0);
    row += joint_blocks_element(reader, joint, JointUse::Position, row, row, 0);
    reader.finish();
  }
}

void Stage::pull(const VecX& by_q, const VecX& by_v, const SolveCotangent* extra, SolveInputs& in,
                 std::span<StateCotangent> by_trials) {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const bool moves = r.kind != SolveKind::Impact, step = is_interval();
  SolveOutputs weights;
  weights.delta.setZero(model.v_size());
  Solution by;
  by.v.setZero(model.dynamic_v_size());
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index at = body.v_begin, n = body.v_size;
    // q' = q ⊞ δ
    VecX by_delta = by_q.segment(at, n);
    VecX back = by_delta;
    if (!body.planar && moves) {
      const TurnMaps maps(delta_.segment<3>(at + 3));
      back.tail<3>() = maps.rotation.transpose() * by_q.segment<3>(at + 3);
      by_delta.tail<3>() = maps.jacobian.transpose() * by_q.segment<3>(at + 3);
    }
    in.q.segment(at, n) += back;
    if (!body.is_dynamic()) {
      in.v.segment(at, n) += by_v.segment(at, n);
      if (step) {
        in.v.segment(at, n) += r.duration * by_delta;
        in.duration += r.v.segment(at, n).dot(by_delta);
      }
      continue;
    }
    if (r.kind == SolveKind::Projection) {
      by.v.segment(at, n) += by_delta;
      in.v.segment(at, n) += by_v.segment(at, n);
      continue;
    }
    by.v.segment(at, n) += by_v.segment(at, n);
    if (!step) continue;
    if (flies(body)) {
      weights.delta.segment(at, n) = by_delta;
      by.v.segment(at, n) += 0.5 * r.duration * by_delta;
    } else {
      by.v.segment(at, n) += r.duration * by_delta;
      in.duration += r.solution.v.segment(at, n).dot(by_delta);
    }
  }
  for_each_moving_node(model, [&](Index at, Index n, bool free) {
    const auto by_x = by_q.segment(at, n);
    in.q.segment(at, n) += by_x;
    if (!free || r.kind == SolveKind::Projection) {
      in.v.segment(at, n) += by_v.segment(at, n);
      if (free) by.v.segment(at, n) += by_x;
      if (free || !step) return;
      in.v.segment(at, n) += r.duration * by_x;
      in.duration += r.v.segment(at, n).dot(by_x);
      return;
    }
    by.v.segment(at, n) += by_v.segment(at, n);
    if (!step) return;
    by.v.segment(at, n) += r.duration * by_x;
    in.duration += r.solution.v.segment(at, n).dot(by_x);
  });
  if (extra != nullptr) {
    by.lambda = extra->lambda;
    by.gamma = extra->gamma;
    weights.gap = extra->gap;
    weights.impulse_W = extra->impulse_W;
    if (extra->impulse_W.size() > 0) {
      if (by.lambda.size() == 0) by.lambda.setZero(assembly_.problem.row_count());
      for (std::size_t c = 0; c < r.contacts.contacts.size(); ++c) {
        const ContactBlock& block = assembly_.blocks[c];
        const bool planar = model.shape(r.contacts.contacts[c].shape_a).planar();
        for (Index i = 0; i < block.dim; ++i) {
          VecX unit = VecX::Unit(block.dim, i);
          Vec3 impulse, torque;
          contact_impulse(block, context_.settings->friction, planar, unit.data(), impulse, torque);
          by.lambda[block.row + i] += impulse.dot(extra->impulse_W.col(static_cast<Index>(c)));
        }
      }
    }
  }
  weights.equations = gradient_->adjoint(by);

  static thread_local taping::Tape tape;
  const SolveContext x = context(r);
  Pull reader(x, weights, tape, in);
  walk(reader);
  for (std::size_t i = 0; i < context_.trials.size(); ++i) {
    SolveInputs at;  // where the rows of this round were found
    at.q.swap(by_trials[i].q);
    at.v.swap(by_trials[i].v);
    at.parameters.swap(in.parameters);
    const SolveContext there = context(context_.trials[i]);
    Pull trial_reader(there, weights, tape, at);
    walk_contacts(trial_reader, i + 1);
    in.duration += at.duration;
    at.q.swap(by_trials[i].q);
    at.v.swap(by_trials[i].v);
    at.parameters.swap(in.parameters);
  }
  if (!step) return;
  for (const Force& force : model.forces()) {
    double f_q[36], f_v[36];
    if (force.kind != ForceKind::Callback ||
        !callback_derivatives(model, *context_.parameters, r, force, f_q, f_v))
      continue;
    const Body& body = model.body(force.a);
    const Index at = body.v_begin, n = body.v_size;
    using Map = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    const VecX a = r.duration * weights.equations.balance.segment(at, n);
    in.q.segment(at, n) += Map(f_q, n, n).transpose() * a;
    in.v.segment(at, n) += Map(f_v, n, n).transpose() * a;
  }
}

void Stage::push(const SolveInputs& direction, VecX& dq, VecX& dv,
                 std::span<const StateTangent> trials) {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const bool moves = r.kind != SolveKind::Impact, step = is_interval();
  SolveOutputs changes;
  changes.equations = zero_residual(assembly_.problem);
  changes.delta.setZero(model.v_size());
  const SolveContext x = context(r);
  Push reader(x, direction, changes);
  walk(reader);
  for (std::size_t i = 0; i < context_.trials.size(); ++i) {
    const SolveInputs at{trials[i].q, trials[i].v, {}, direction.parameters, direction.duration};
    const SolveContext there = context(context_.trials[i]);
    Push trial_reader(there, at, changes);
    walk_contacts(trial_reader, i + 1);
  }
  if (step) {
    for (const Force& force : model.forces()) {
      double f_q[36], f_v[36];
      if (force.kind != ForceKind::Callback ||
          !callback_derivatives(model, *context_.parameters, r, force, f_q, f_v))
        continue;
      const Body& body = model.body(force.a);
      const Index at = body.v_begin, n = body.v_size;
      using Map =
          Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
      changes.equations.balance.segment(at, n) +=
          r.duration * (Map(f_q, n, n) * direction.q.segment(at, n) +
                        Map(f_v, n, n) * direction.v.segment(at, n));
    }
  }
  const Solution dx = gradient_->tangent(changes.equations);
  dq.setZero(model.v_size());
  dv = direction.v;
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index at = body.v_begin, n = body.v_size;
    VecX d_delta = VecX::Zero(n);
    if (!body.is_dynamic()) {
      if (step)
        d_delta = r.duration * direction.v.segment(at, n) + direction.duration * r.v.segment(at, n);
    } else {
      const VecX dv_next = dx.v.segment(at, n);
      if (r.kind == SolveKind::Projection) {
        d_delta = dv_next;
      } else {
        dv.segment(at, n) = dv_next;
      }
      if (step && flies(body)) {
        d_delta = changes.delta.segment(at, n) + 0.5 * r.duration * dv_next;
      } else if (step) {
        d_delta = r.duration * dv_next + direction.duration * r.solution.v.segment(at, n);
      }
    }
    VecX moved = direction.q.segment(at, n);
    if (!body.planar && moves) {
      const TurnMaps maps(delta_.segment<3>(at + 3));
      moved.tail<3>() = maps.rotation * moved.tail<3>().eval();
      d_delta.tail<3>() = maps.jacobian * d_delta.tail<3>().eval();
    }
    dq.segment(at, n) = moved + d_delta;
  }
  for_each_moving_node(model, [&](Index at, Index n, bool free) {
    dq.segment(at, n) = direction.q.segment(at, n);
    if (!free) {
      if (step)
        dq.segment(at, n) +=
            r.duration * direction.v.segment(at, n) + direction.duration * r.v.segment(at, n);
      return;
    }
    if (r.kind == SolveKind::Projection) {
      dq.segment(at, n) += dx.v.segment(at, n);
      return;
    }
    dv.segment(at, n) = dx.v.segment(at, n);
    if (step)
      dq.segment(at, n) +=
          r.duration * dx.v.segment(at, n) + direction.duration * r.solution.v.segment(at, n);
  });
}

void pull_gap(const Model& model, const Parameters& parameters, const SolveRecord& record,
              Index contact, double weight, bool with_parameters, SolveInputs& in) {
  static const VecX none;
  const SolveContext x{model, parameters, none, record, record.solution, with_parameters};
  SolveOutputs weights;
  weights.gap = VecX::Constant(1, weight);
  taping::Tape tape;
  Pull reader(x, weights, tape, in);
  reader.gap(0, geometry_of(reader, record.contacts.contacts[contact]).point.gap);
  reader.finish();
}

double push_gap(const Model& model, const Parameters& parameters, const SolveRecord& record,
                Index contact, const SolveInputs& direction) {
  static const VecX none;
  const SolveContext x{model, parameters, none, record, record.solution, true};
  SolveOutputs changes;
  changes.gap = VecX::Zero(1);
  Push reader(x, direction, changes);
  reader.gap(0, geometry_of(reader, record.contacts.contacts[contact]).point.gap);
  return changes.gap[0];
}

}  // namespace orthant::internal
