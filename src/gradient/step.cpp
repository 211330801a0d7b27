// SPDX-License-Identifier: Apache-2.0
// gradient/step.cpp: the solves of a step, walked backwards (pull_back) or forwards (push_forward).
// Each is a map at a fixed length and scale; what frees these is in step_events.cpp.
#include "orthant/gradient/step.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "gradient/check_extra.hpp"
#include "gradient/spare.hpp"
#include "gradient/step_impl.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

using internal::SolveInputs;
using internal::Stage;

namespace {

/// `out` = x of the size it has, or zero where x is empty.
void put(const VecX& x, VecX& out, const char* what) {
  if (x.size() == 0) {
    out.setZero();
    return;
  }
  if (x.size() != out.size())
    throw Error(what, "has " + std::to_string(x.size()) + " entries, expected " +
                          std::to_string(out.size()));
  if (!x.allFinite()) throw Error(what, "must be finite");
  out = x;
}

VecX or_zero(const VecX& x, Index n, const char* what) {
  VecX out(n);
  put(x, out, what);
  return out;
}

}  // namespace

void StepGradient::Impl::set_stages(const StepGradientSettings& gradient) {
  const std::size_t count = record->solves.size();
  if (storage.size() < count) storage.resize(count);
  stages = std::span(storage).first(count);
  const internal::StageArguments arguments{*model,  *parameters, *settings,
                                           *record, gradient,    trials};
  for (std::size_t i = 0; i < count; ++i) stages[i].set(arguments, i);
}

StepGradient::StepGradient(const Model& model, const Parameters& parameters,
                           const StepSettings& settings, const StepRecord& record,
                           const StepGradientSettings& gradient)
    : impl_(internal::Spare<Impl>::take()) {
  const auto refuse = [&](const std::string& what) {
    throw Error("gradient of step " + std::to_string(record.before.step), what);
  };
  if (record.solves.empty()) refuse("the step was not recorded: pass a StepRecord to step()");
  if (record.outcome != Outcome::Converged && !gradient.allow_unconverged)
    refuse("the step did not converge; set `force` to differentiate it all the same");
  if (record.outcome == Outcome::NotFinite)
    refuse("the step found no finite answer: there is nothing to differentiate");
  if (settings.integrator == Integrator::Rattle)
    refuse("Integrator::Rattle has no derivative; use Integrator::Euler");
  if (parameters.values.size() != model.parameter_table().size())
    refuse("expected " + std::to_string(model.parameter_table().size()) + " parameters, got " +
           std::to_string(parameters.values.size()));
  Impl& m = *impl_;
  m.model = &model;
  m.parameters = &parameters;
  m.settings = &settings;
  m.record = &record;
  m.with_parameters = gradient.by_parameters;
  m.velocities = static_cast<std::size_t>(model.v_size());
  m.trials = internal::trials_of(model, record);
  std::vector<StepCertificate::Entry> contacts = std::move(m.certificate.contacts);  // its memory
  contacts.clear();
  m.certificate = {};
  m.certificate.contacts = std::move(contacts);
  std::ranges::fill(m.kinked, false);
  m.kinks_known = false;
  m.set_stages(gradient);
  m.find_events();
  m.certify(gradient);
}

StepGradient::~StepGradient() {
  const std::size_t size = impl_ == nullptr ? 0 : impl_->velocities;
  internal::Spare<Impl>::give(std::move(impl_), size);
}
StepGradient::StepGradient(StepGradient&&) noexcept = default;
StepGradient& StepGradient::operator=(StepGradient&& other) noexcept {
  impl_.swap(other.impl_);  // the other one gives the memory back
  return *this;
}
const StepCertificate& StepGradient::certificate() const { return impl_->certificate; }
const StepCotangent* StepGradient::kink(OpenReason reason) const {
  const auto which = static_cast<std::size_t>(reason);
  return impl_->kinked[which] ? &impl_->against[which] : nullptr;
}

void StepGradient::Impl::pull_stage(std::size_t i, const SolveCotangent* extra, SolveInputs& in,
                                    internal::PullFor purpose) {
  const Index n = model->v_size();
  by_q.swap(in.q);
  by_v.swap(in.v);
  in.q.setZero(n);
  in.v.setZero(n);
  in.duration = in.scale = 0;
  stages[i].pull(by_q, by_v, extra, in, {}, purpose);
}

void StepGradient::Impl::pull_others(std::size_t i, internal::OtherSides& others, double& by_left) {
  const bool came = !others.ended(), here = stages[i].certificate().floating > 0;
  other_q.swap(others.by.q);
  other_v.swap(others.by.v);
  others.by.q.setZero(model->v_size());
  others.by.v.setZero(model->v_size());
  others.by.duration = others.by.scale = 0;
  // Another deepest point is no side of a row, and another side may move a time or a scale.
  if (stages[i].ties() > 0 || (here && (closes(i) || stages[i].just_unscaled())))
    others.known = false;
  if (!other_q.allFinite() || !other_v.allFinite()) {
    others.known = false;
    return;
  }
  if (!came) other_q.setZero(), other_v.setZero();
  const bool differs = here && !closes(i);
  if (came || differs)
    stages[i].pull(other_q, other_v, nullptr, others.by, {},
                   differs ? internal::PullFor::OtherSides : internal::PullFor::Beside);
  if (came || here || by_left != 0) close_times(i, others.by, by_left);
}

void StepGradient::Impl::pull_recursion(std::span<const SolveCotangent> solves, SolveInputs& in) {
  const Index n = model->v_size();
  std::vector<StateCotangent> by(stages.size(), {VecX::Zero(n), VecX::Zero(n)});
  by.back().q.swap(in.q);
  by.back().v.swap(in.v);
  for (std::size_t i = stages.size(); i-- > 0;) {
    const SolveCotangent* extra = solves.empty() ? nullptr : &solves[i];
    if (extra != nullptr) internal::check_extra(*extra, stages[i].record());
    stages[i].pull(by[i].q, by[i].v, extra, in, std::span(by).first(i));
  }
}

StateTangent StepGradient::Impl::push_recursion(const SolveInputs& direction) {
  std::vector<StateTangent> ends(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i)
    stages[i].push(direction, ends[i].q, ends[i].v, std::span(ends).first(i));
  return std::move(ends.back());
}

void StepGradient::pull_back(const StateCotangent& after, std::span<const SolveCotangent> solves,
                             StepCotangent& before, internal::OtherSides* others) {
  Impl& m = *impl_;
  SolveInputs& in = m.pulled;
  in.set_zero(*m.model);
  put(after.q, in.q, "incoming gradient by q");
  put(after.v, in.v, "incoming gradient by v");
  if (!solves.empty() && solves.size() != m.stages.size())
    throw Error("incoming gradient by solves", "expected one per solve of the record, " +
                                                   std::to_string(m.stages.size()) + ", got " +
                                                   std::to_string(solves.size()));
  double by_left = 0, others_left = 0;  // by the time that is left after the stage at hand
  m.certificate.released = 0;
  if (!m.trials.empty()) m.pull_recursion(solves, in);
  for (std::size_t i = m.trials.empty() ? m.stages.size() : 0; i-- > 0;) {
    const SolveCotangent* extra = solves.empty() ? nullptr : &solves[i];
    if (extra != nullptr) internal::check_extra(*extra, m.stages[i].record());
    m.pull_stage(i, extra, in);
    m.note_error(m.stages[i]);
    const Index released = m.stages[i].certificate().released;
    if (others != nullptr) {
      others->look_at(in.q);
      others->look_at(in.v);
      m.pull_others(i, *others, others_left);
    }
    m.close_times(i, in, by_left);
    if (m.closes(i)) m.note_error(m.stages[i], released);
  }
  if (!m.trials.empty()) m.note_errors();
  if (!m.kinks_known) {
    m.kinks_known = true;
    m.find_open(OpenReason::Kink);
    m.find_open(OpenReason::Ambiguous);
    m.find_open(OpenReason::Neither);
    m.find_open(OpenReason::Near);
  }
  before.q.swap(in.q);
  before.v.swap(in.v);
  before.u.swap(in.u);
  before.parameters.swap(in.parameters);
}

StepCotangent StepGradient::pull_back(const StateCotangent& after,
                                      std::span<const SolveCotangent> solves) {
  StepCotangent before;
  pull_back(after, solves, before);
  return before;
}

StateTangent StepGradient::push_forward(const StepTangent& change) {
  Impl& m = *impl_;
  const Index n = m.model->v_size();
  SolveInputs d;
  d.q = or_zero(change.q, n, "change of q");
  d.v = or_zero(change.v, n, "change of v");
  d.u = or_zero(change.u, m.model->control_count(), "change of u");
  d.parameters =
      or_zero(change.parameters, m.model->parameter_table().size(), "change of parameters");
  if (!m.with_parameters) d.parameters.setZero();
  if (!m.trials.empty()) {
    StateTangent end = m.push_recursion(d);
    m.note_errors();
    return end;
  }
  double d_left = 0;
  VecX q, v;
  // Moves (q, v) by the change of τ that keeps the gap of an event closed.
  const auto shift = [&](const Impl::Event& event, const VecX& q_rate, const VecX& v_rate) {
    SolveInputs rate;
    rate.set_zero(*m.model);
    rate.q = q_rate;
    const auto push = [&](const SolveInputs& x) {
      return internal::push_gap(*m.model, *m.parameters, *event.at, *event.contact, x);
    };
    const double closing = push(rate);
    if (!(std::abs(closing) > 0)) return;
    const double d_tau = -push(d) / closing;
    d.q += d_tau * q_rate;
    d.v += d_tau * v_rate;
    d_left -= d_tau;
  };
  SolveInputs unit;
  for (std::size_t i = 0; i < m.stages.size(); ++i) {
    Stage& stage = m.stages[i];
    if (m.event_before[i].event.contact != nullptr)
      shift(m.event_before[i].event, stage.record().v, m.event_before[i].acceleration);
    const bool interval = stage.record().kind == SolveKind::Step;
    SolveInputs before = d;
    before.duration = interval && i == m.last_interval ? d_left : 0;
    stage.push(before, q, v);
    const bool just_unscaled = stage.just_unscaled();
    if (stage.record().scaled || just_unscaled) {
      VecX none, by_scale;
      unit.set_zero(*m.model);
      unit.scale = 1;
      stage.push(unit, none, by_scale);
      const double gain = stage.push_gain(unit, by_scale), rise = stage.push_gain(before, v);
      if (std::abs(gain) > 0 && (!just_unscaled || rise > 0)) v -= rise / gain * by_scale;
    }
    d.q = q;
    d.v = v;
    if (m.event_after[i].contact == nullptr) continue;
    unit.set_zero(*m.model);
    unit.duration = 1;
    stage.push(unit, q, v);
    shift(m.event_after[i], q, v);
  }
  m.note_errors();
  return {std::move(d.q), std::move(d.v)};
}

StepChanges StepGradient::push_forward(const StepChanges& changes) {
  Impl& m = *impl_;
  const Index n = m.model->v_size();
  const Index count = std::max({changes.q.cols(), changes.v.cols(), changes.u.cols()});
  for (const auto& [x, rows, what] : {std::tuple{&changes.q, n, "changes of q"},
                                      {&changes.v, n, "changes of v"},
                                      {&changes.u, m.model->control_count(), "changes of u"}}) {
    if (x->size() == 0) continue;
    if (x->rows() != rows || x->cols() != count)
      throw Error(what, "must be " + std::to_string(rows) + " x " + std::to_string(count) +
                            ", got " + std::to_string(x->rows()) + " x " +
                            std::to_string(x->cols()));
    if (!x->allFinite()) throw Error(what, "must be finite");
  }
  bool at_once = m.trials.empty();
  for (std::size_t i = 0; i < m.stages.size() && at_once; ++i)
    at_once = !m.stages[i].record().scaled && !m.stages[i].just_unscaled() &&
              m.event_before[i].event.contact == nullptr && m.event_after[i].contact == nullptr &&
              m.stages[i].can_push_many();
  if (at_once) {
    const auto start = [&](const MatX& x) {
      internal::Directions out = internal::Directions::Zero(n, count);
      if (x.size() > 0) out = x;
      return out;
    };
    internal::Directions dq = start(changes.q), dv = start(changes.v);
    const internal::Directions du = changes.u;
    for (Stage& stage : m.stages) stage.push_many(dq, dv, du);
    m.note_errors();
    return {dq, dv};
  }
  StepChanges after{MatX(n, count), MatX(n, count)};
  for (Index i = 0; i < count; ++i) {
    StepTangent one;
    if (changes.q.size() > 0) one.q = changes.q.col(i);
    if (changes.v.size() > 0) one.v = changes.v.col(i);
    if (changes.u.size() > 0) one.u = changes.u.col(i);
    const StateTangent end = push_forward(one);
    after.q.col(i) = end.q;
    after.v.col(i) = end.v;
  }
  return after;
}

StepJacobian StepGradient::jacobian() {
  const Index n = impl_->model->v_size();
  StepJacobian J;
  J.A.resize(2 * n, 2 * n);
  J.B.resize(2 * n, impl_->model->control_count());
  for (Index row = 0; row < 2 * n; ++row) {
    StateCotangent unit{VecX::Zero(n), VecX::Zero(n)};
    (row < n ? unit.q[row] : unit.v[row - n]) = 1;
    const StepCotangent g = pull_back(unit);
    J.A.row(row) << g.q.transpose(), g.v.transpose();
    if (J.B.cols() > 0) J.B.row(row) = g.u.transpose();
  }
  return J;
}

std::vector<Index> find_parameters(const Model& model, std::span<const std::string> names) {
  std::vector<Index> places;
  for (const std::string& name : names) places.push_back(model.parameter_table().find(name));
  return places;
}

}  // namespace orthant
