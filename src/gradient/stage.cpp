// SPDX-License-Identifier: Apache-2.0
// gradient/stage.cpp: (record of a step, index of a solve) => its problem again, differentiated.
// The problem is assembled by the very functions that made it, so it has the bits of the forward;
// gradient/stage_pull.cpp and gradient/stage_push.cpp are the two products.
#include "gradient/stage.hpp"

#include <algorithm>

#include "force/callback.hpp"
#include "force/held_spin.hpp"
#include "gradient/elements.hpp"
#include "gradient/feature_margin.hpp"
#include "math/law_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "step/impact_gain.hpp"

namespace orthant::internal {
namespace {

constexpr const char* kOpen =
    "friction leaves the motion open: a contact could part, slide or hold as well";

constexpr const char* kLost =
    "contacts and joints jam: impulses 1e8 times what moves the bodies, and rounding with them";
constexpr double kJammed = 1e8;

constexpr double kGainsNothing = 1e-9;  // of the energy that takes part in an impact
constexpr double kRounding = 1e-5;      // of the tolerance of gaps: the sign of less says nothing
constexpr double kOneNormal = 1e-18;  // square of what rounding leaves between normals of one face

/// Change of a user's derivatives along a step that counts, as a rate over the body's mass [1/s]:
/// smaller ones are the noise of derivatives found by differences.
constexpr double kBent = 1e-8;

bool derivatives_at(const Model& model, const Parameters& parameters, const SolveRecord& x,
                    const VecX& q, const VecX& v, const Force& force, double* f_q, double* f_v) {
  const auto size = static_cast<std::size_t>(model.body(force.a).v_size);
  std::fill(f_q, f_q + 36, 0.0);
  std::fill(f_v, f_v + 36, 0.0);
  return force.callback->derivatives(model, parameters, q, v, x.t + 0.5 * x.duration,
                                     {f_q, size * size}, {f_v, size * size});
}

/// A user's force whose derivatives change from place to place: H changes with them, and how is not
/// known. Seen at the end of the solve.
bool bends(const Model& model, const Parameters& parameters, const SolveRecord& x,
           const Force& force) {
  const Body& body = model.body(force.a);
  const Index n = body.v_size;
  double q_here[36], v_here[36], q_there[36], v_there[36];
  VecX v = x.v, q;
  v.head(model.dynamic_v_size()) = x.solution.v;
  boxplus(model, x.q, x.duration * v, q);
  derivatives_at(model, parameters, x, x.q, x.v, force, q_here, v_here);
  derivatives_at(model, parameters, x, q, v, force, q_there, v_there);
  const auto change = [n](const double* a, const double* b) {
    return (implicit_part(a, n) - implicit_part(b, n)).cwiseAbs().maxCoeff();
  };
  const double most = kBent * parameters.values[body.mass];
  return x.duration * change(q_here, q_there) > most || change(v_here, v_there) > most;
}

bool depends_on_time(const Model& model) {
  for (const Force& force : model.forces())
    if (!force.table.empty() || force.kind == ForceKind::Callback) return true;
  for (const Joint& joint : model.joints()) {
    const Motor& motor = joint.motor;  // a Velocity motor without a table has the same speed always
    if (motor.kind == MotorKind::Velocity ? !motor.table.empty() : motor.kind != MotorKind::None)
      return true;
  }
  return false;
}

}  // namespace

bool callback_derivatives(const Model& model, const Parameters& parameters, const SolveRecord& x,
                          const Force& force, double* f_q, double* f_v) {
  const Index n = model.body(force.a).v_size;
  if (!derivatives_at(model, parameters, x, x.q, x.v, force, f_q, f_v)) return false;
  Eigen::Map<ForceMatrix>(f_v, n, n) -= implicit_part(f_v, n);
  return true;
}

namespace {

/// out += Σ of |A_ij x_i| over the rows i.
void add_sizes(const BlockRows& A, const VecX& x, VecX& out) {
  const double* a = A.all_values().data();
  for (Index i = 0; i < A.row_block_count(); ++i)
    for (const BlockRows::Entry& entry : A.entries(i))
      for (Index r = 0; r < A.dim(i); ++r)
        for (Index c = 0; c < entry.width; ++c)
          out[entry.column + c] += std::abs(*a++ * x[A.row_begin(i) + r]);
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

void Stage::set(const StageArguments& x, std::size_t index) {
  context_ = {&x.model,  &x.parameters,         &x.settings,
              &x.step.u, &x.step.solves[index], x.gradient.by_parameters,
              {}};
  medium_ = {x.settings.drag_ratio, x.settings.thermal_energy, x.step.before.rng};
  round_end_.clear();
  ends_ = {};
  reason_.clear();
  starts_ = x.gradient.starts && x.step.solves[index].q == x.step.before.q;
  rests_by_rounding_ = contradiction_known_ = false;
  for (Against& one : against_) one.any = false;
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
  scale_of(assembly_.problem, scale_work_, scale_);
  if (record.kind == SolveKind::Projection) {
    // What a step or a correction has closed is closed to rounding, whose sign says nothing: on the
    // border within the tolerance.
    double size = 1;
    for (const Contact& contact : record.contacts.contacts) size = std::min(size, contact.size);
    const double closed = settings.projection_tolerance * size;
    scale_.v_free.array() += closed / std::max(x.gradient.solution.floating_tolerance, 1e-15);
  }
  gradient_.reset();  // its memory serves the next
  SolutionGradientSettings how = x.gradient.solution;
  if (index < x.gradient.kinks.size()) how.blocks = x.gradient.kinks[index];
  how.held_open = record.kind != SolveKind::Projection;
  how.near_borders = how.held_open && x.trials.empty();  // nobody looks at them otherwise
  // Rows found on the way are no face: a change need not keep them consistent.
  if (!x.trials.empty()) how.settle = false;
  gradient_.emplace(assembly_.problem, scale_, record.solution, how, record.residual.value);
  just_unscaled_ = gains_nothing();
  find_displacement();
  find_ties(x.gradient.solution.floating_tolerance);
  for (const FlexibleContact& contact : record.contacts.flexible)
    if (holds_normal(contact))
      reason_ = "a node lies on an edge or a node of another part: the normal there is held";
  if (has_ends_in_turn())
    reason_ = "features of a soft pair push each other down in turn: that each has a row is held";
  if (friction_is_open()) reason_ = kOpen;
  if (jams()) reason_ = kLost;
  if (record.scaled && works_from_outside())
    reason_ =
        "bodies whose motion is given do work in an impact: the scale of its restitution is held";
  if (!is_interval()) return;
  // With impact events an interval is shorter because of one, whose time is differentiated.
  if (!model.flexible_parts().empty() && record.duration < settings.h && !settings.impact_events)
    reason_ = "the lengths of intervals that inverting elements cut are held";
  for (const Force& force : model.forces()) {
    double f_q[36], f_v[36];
    if (force.kind != ForceKind::Callback) continue;
    if (!callback_derivatives(model, parameters, record, force, f_q, f_v))
      reason_ = "force '" + force.name + "' has no derivatives: held fixed";
    else if (bends(model, parameters, record, force))
      reason_ = "force '" + force.name + "' resists more in some places than in others: held fixed";
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
  const StepInterval at{r.q, r.v, r.t, is_interval() ? r.duration : settings.h, context_.u};
  switch (r.kind) {
    case SolveKind::Step:
    case SolveKind::Recursion:
      if (!assemble_motion(model, parameters, at, *context_.u, assembly_) ||
          !assemble_medium(model, parameters, at, medium_, assembly_))
        throw Error("step gradient", "the mass matrix of the recorded step is singular");
      if (holds_spins(r)) {
        VecX change;
        hold_spins(model, parameters, r.q, r.touched, assembly_.dynamics, assembly_.problem.k,
                   change);
        if (change.size() > 0) assembly_.solver.solve(assembly_.problem.k, assembly_.v_free);
      }
      assemble_rows(model, parameters, at, round(0), r.rows, r.rows.beta, assembly_,
                    r.contacts.flexible);
      bend_rows();
      for (std::size_t i = 0; i < context_.trials.size(); ++i)
        append_trial_rows(model, parameters, context_.trials[i].q, r.v,
                          context_.trials[i].v.head(model.dynamic_v_size()), round(i + 1), r.rows,
                          assembly_);
      break;
    case SolveKind::Impact:
      assemble_impact(model, parameters, at, contacts, r.rows, assembly_);
      break;
    default:
      assemble_projection(model, parameters, r.q, r.t, settings.h, contacts, assembly_,
                          r.contacts.flexible);
  }
  open_flying();
  // The branches are those of the step, whatever the same numbers would say again.
  for (std::size_t c = 0; c < assembly_.blocks.size() && c < r.branches.size(); ++c) {
    BiasBranch& branch = assembly_.blocks[c].branch = r.branches[c];
    if (starts_) continue;
    const bool rigid = c < contacts.size();
    const std::size_t soft = rigid ? 0 : c - contacts.size();
    const double gap = rigid ? contacts[c].gap : r.contacts.flexible[soft].gap;
    const double size = rigid ? contacts[c].size : r.contacts.flexible[soft].size;
    const double closed = settings.projection_tolerance * size;
    if (branch == BiasBranch::Resting && gap < -kRounding * closed) branch = BiasBranch::Overlap;
    rests_by_rounding_ |= is_interval() && branch == BiasBranch::Overlap && gap >= -closed &&
                          r.solution.lambda[assembly_.blocks[c].row] > 0;
  }
}

void Stage::open_flying() {
  const SolveRecord& r = *context_.record_;
  if (r.kind != SolveKind::Step) return;
  for (std::size_t c = 0; c < r.contacts.contacts.size() && c < assembly_.blocks.size(); ++c) {
    const ContactBlock& block = assembly_.blocks[c];
    Law& law = assembly_.problem.laws[static_cast<std::size_t>(block.block)];
    const auto may_fly = [&](BodyId id) {
      const Body& body = context_.model->body(id);
      return !body.is_dynamic() || flies(body);
    };
    if (!law.is_frictional() || !may_fly(r.contacts.contacts[c].body_a) ||
        !may_fly(r.contacts.contacts[c].body_b) ||
        !r.solution.lambda.segment(block.row, law.dim).isZero(0))
      continue;
    VecX z = -r.solution.w.segment(block.row, law.dim);
    z[0] -= shift_of(law, r.solution.w.data() + block.row);
    project(law, z.data(), z.data());
    if (!z.isZero(0)) law.kind = LawKind::Zero;
  }
}

void Stage::bend_rows() {
  const SolveRecord& r = *context_.record_;
  const std::vector<Contact>& contacts = r.contacts.contacts;
  if (std::ranges::none_of(r.branches, [&](BiasBranch branch) { return is_bent(r.kind, branch); }))
    return;
  end_.kind = r.kind;
  end_.duration = r.duration;
  end_.t = r.t;
  end_.v = r.v;  // of kinematic bodies
  end_.v.head(context_.model->dynamic_v_size()) = r.solution.v;
  boxplus(*context_.model, r.q, r.duration * end_.v, end_.q);
  bend_soft_rows(*context_.model, *context_.parameters, end_.q, r.solution.v, r.duration, contacts,
                 r.solution.lambda, assembly_, ends_);
}

bool Stage::has_ends_in_turn() const {
  const std::vector<Contact>& contacts = context_.record_->contacts.contacts;
  for (const SoftEnd& a : ends_.of_rows)
    for (const SoftEnd& b : ends_.of_rows) {
      const Contact &x = contacts[a.number], &y = contacts[b.number];
      // Those of one face have one normal.
      if (a.number < b.number && x.shape_a == y.shape_a && x.shape_b == y.shape_b &&
          (x.normal - y.normal).squaredNorm() > kOneNormal)
        return true;
    }
  return false;
}

bool Stage::jams() const {
  const CanonicalProblem& p = assembly_.problem;
  const Solution& x = gradient_->answer();
  const auto largest = [](const VecX& a) { return a.size() == 0 ? 0 : a.cwiseAbs().maxCoeff(); };
  if (std::max(largest(x.lambda), largest(x.gamma)) <= largest(p.k)) return false;
  VecX held = VecX::Zero(p.velocity_count()), moving;
  if (!p.D.empty()) add_sizes(p.D, x.lambda, held);
  if (!p.C.empty()) add_sizes(p.C, x.gamma, held);
  p.H.multiply(VecX(x.v.cwiseAbs() + scale_.v_free.cwiseAbs()), moving);
  return held.norm() > kJammed * moving.norm();
}

bool Stage::works_from_outside() const {
  const CanonicalProblem& p = assembly_.problem;
  if (!p.e.isZero(0)) return true;
  for (const ContactBlock& block : assembly_.blocks)
    for (Index i = 0; i < block.dim; ++i)
      if (p.b[block.row + i] != (i == 0 ? block.bias : 0)) return true;
  return false;
}

bool Stage::gains_nothing() const {
  const SolveRecord& r = *context_.record_;
  if (r.kind != SolveKind::Impact || r.scaled ||
      context_.settings->restitution_law == RestitutionLaw::Newton ||
      std::ranges::none_of(assembly_.blocks, [](const ContactBlock& block) {
        return block.branch == BiasBranch::Restitution;
      }))
    return false;
  const EnergyGain gain =
      energy_gain(assembly_.problem, assembly_.blocks, r.v, gradient_->answer());
  return std::abs(gain.value) <= kGainsNothing * gain.scale;
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
  if (std::ranges::all_of(r.touched, [](unsigned char touched) { return touched != 0; })) return;
  VecX flight(n);
  free_flight(assembly_.dynamics, r.solution.v, r.duration, flight);
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    if (flies(body))
      delta_.segment(body.v_begin, body.v_size) = flight.segment(body.v_begin, body.v_size);
  }
}

double Stage::turn_across(const Contact& contact) const {
  const Model& model = *context_.model;
  const auto spin = [&](BodyId id) -> Vec3 {
    const Body& body = model.body(id);
    if (body.v_begin == kNone) return Vec3::Zero();
    const VecX& v = body.is_dynamic() ? answer().v : context_.record_->v;
    const double* x = v.data() + body.v_begin;
    return body.planar ? Vec3(0, 0, x[2]) : Vec3(x[3], x[4], x[5]);
  };
  const auto radius = [&](ShapeId id) {
    return bounding_radius(model.shape(id).view(context_.parameters->values.data()));
  };
  const Vec3 relative = spin(contact.body_a) - spin(contact.body_b);
  return relative.cross(contact.normal).norm() * 2 *
         std::min(radius(contact.shape_a), radius(contact.shape_b));
}

void Stage::find_ties(double tolerance) {
  feature_margin_ = context_.record_->selection_margin;
  ties_ = feature_margin_ <= tolerance ? 1 : 0;
  const ConstraintScheme scheme = context_.settings->constraints;
  const bool deepest_only = scheme == ConstraintScheme::Single || scheme == ConstraintScheme::Relcp;
  for (std::size_t r = 0, c = 0; r <= context_.trials.size(); ++r) {
    const VecX& q = r == 0 ? context_.record_->q : context_.trials[r - 1].q;
    for (const Contact& contact : round(r)) {
      const ContactBlock& block = assembly_.blocks[c++];
      if (block.dim == 0) continue;  // soft, in a correction of positions
      // Open by more than the turn of its bodies makes of it at another point as deep.
      if (certificate().states[static_cast<std::size_t>(block.row)] == ContactState::Separate &&
          !(deepest_only && answer().w[block.row] <= turn_across(contact)))
        continue;
      const double margin =
          internal::feature_margin(*context_.model, *context_.parameters, q, contact, deepest_only);
      feature_margin_ = std::min(feature_margin_, margin);
      ties_ += margin <= tolerance ? 1 : 0;
    }
  }
}

}  // namespace orthant::internal
