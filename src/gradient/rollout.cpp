// SPDX-License-Identifier: Apache-2.0
// gradient/rollout.cpp: T steps forward, one reverse walk back, with records or checkpoints.
// A stretch between checkpoints is stepped again from its kept state and warm start; step() is a
// function of its arguments, so the records come out the same.
#include "orthant/gradient/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "gradient/edges.hpp"
#include "gradient/other_sides.hpp"
#include "gradient/spare.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace {

VecX control_of(const MatX& controls, Index step) {
  return controls.size() == 0 ? VecX() : VecX(controls.col(step));
}

void add(const StepReport& report, RolloutReport& total) {
  ++total.steps;
  total.failed_steps += report.outcome != Outcome::Converged;
  total.outcome = std::max(total.outcome, report.outcome);
  total.residual = std::max(total.residual, report.residual);
  total.deepest = std::max(total.deepest, report.deepest);
  total.joint_error = std::max(total.joint_error, report.joint_error);
}

void check_size(const MatX& x, Index rows, Index columns, const char* what) {
  if (x.size() == 0) return;
  if (x.rows() != rows || x.cols() != columns)
    throw Error(what, "must be " + std::to_string(rows) + " x " + std::to_string(columns) +
                          ", got " + std::to_string(x.rows()) + " x " + std::to_string(x.cols()));
  if (!x.allFinite()) throw Error(what, "must be finite");
}

/// Of the first step of a rollout, and of the others.
struct SettingsOfSteps {
  explicit SettingsOfSteps(const StepGradientSettings& settings)
      : first(settings), later(settings) {
    later.starts = false;
  }
  const StepGradientSettings& at(Index step) const { return step == 0 ? first : later; }
  StepGradientSettings first, later;
};

constexpr double kRounding = 1e-15;  // of the largest derivative by a state

double largest(const VecX& x) { return x.size() == 0 ? 0 : x.cwiseAbs().maxCoeff(); }
double largest(const StateCotangent& g) { return std::max(largest(g.q), largest(g.v)); }

/// Changes that grow so much on the way: rounding and the residuals of the solves grow as well.
constexpr double kGrowth = 1e8;

void refuse_growth(RolloutCertificate& all) {
  if (!all.exact) return;
  all.exact = false;
  all.first_inexact = 0;
  all.reason = "step 0: a change grows by more than 1e8 on the way, and rounding with it";
}

/// `rests`: of a later step, see StepCertificate. What would open that contact is on the other
/// side.
void note(const StepCertificate& one, Index step, bool rests, RolloutCertificate& all) {
  ++all.steps;
  all.failed_steps += !one.converged;
  all.floating += one.floating;
  all.floating_steps += one.floating > 0;
  all.inexact_steps += !one.exact;
  all.impacts += one.impacts;
  if (!one.exact && (all.exact || step < all.first_inexact)) {
    all.exact = false;
    all.first_inexact = step;
    all.reason = "step " + std::to_string(step) + ": " + one.reason;
  }
  const Index kinks = one.kinks + (step == 0 ? one.start_kinks : 0);
  if (kinks > 0 && (all.kinks == 0 || step < all.first_kink)) {
    all.first_kink = step;
    all.kink = "step " + std::to_string(step) + ": " + one.kink;
  }
  all.kinks += kinks;
  for (EdgeParameter edge : one.edges) {
    edge.given = edge.given && !(rests && edge.opens);
    internal::merge_edges({&edge, 1}, all.edges);
  }
  if (one.margin < all.margin) {
    all.margin = one.margin;
    all.weakest_step = step;
  }
  all.reciprocal_condition = std::min(all.reciprocal_condition, one.reciprocal_condition);
  all.solve_error = std::max(all.solve_error, one.solve_error);
  all.residual = std::max(all.residual, one.residual);
}

/// Of a rollout: which inputs other sides of rows on a border would change.
class Choices {
 public:
  Choices(const StepSettings& steps, const StepGradientSettings& used) {
    // The deepest point of a pair (Single, Relcp) may be tied as well: that is no choice of a side.
    const bool tied = steps.constraints == ConstraintScheme::Single ||
                      steps.constraints == ConstraintScheme::Relcp;
    // Sides that the user chose stay as they are: no other one is looked at.
    const bool chosen = !used.kinks.empty() || !used.solution.blocks.empty();
    active_ = !tied && !chosen && used.solution.kink == KinkChoice::Clamp &&
              used.solution.mode == GradientMode::Exact;
  }

  /// What StepGradient::pull_back() carries of them; null: nothing does.
  internal::OtherSides* of(const Model& model, const StepGradient& step) {
    // A contact of a step that neither pushes nor opens: one that pushes takes its bodies out of
    // their flight, and the motion jumps.
    for (const StepCertificate::Entry& contact : step.certificate().contacts)
      if (contact.state == ContactState::Floating && !contact.impact) active_ = false;
    active_ = active_ && others_.known;
    if (!active_) return nullptr;
    if (others_.by.q.size() == 0) others_.by.set_zero(model);
    others_.by.u.setZero();
    return &others_;
  }
  /// After the product of step `index`.
  void note(Index index, const StepCotangent& before) {
    if (!active_) return;
    others_.look_at(before.u);
    const VecX& u = others_.by.u;
    for (Index i = 0; i < u.size(); ++i)
      if (u[i] != 0)
        controls_.emplace_back(OpenInput{InputKind::Control, i, index, OpenReason::Neither},
                               std::abs(u[i]));
  }

  /// No difference is on its way to the start.
  bool ended() const { return others_.ended(); }

  /// Takes rows off the certificate where all that another side changes is known: these inputs are
  /// named.
  void settle(const VecX& by_parameters, RolloutCertificate& all) const {
    if (all.floating == 0) return;
    if (!active_ || !others_.known ||
        !all.exact) {  // only then is the side on which a coefficient leaves its edge of interest
      for (EdgeParameter& edge : all.edges) edge.given = false;
      return;
    }
    all.floating = all.floating_steps = 0;
    const double most = kNoticed * others_.size;
    const auto note = [&](InputKind kind, Index place, double by, double noticed) {
      if (!(std::abs(by) <= noticed))  // not a number is not known
        internal::note_open({kind, place, 0, OpenReason::Neither}, all.open);
    };
    const internal::SolveInputs& by = others_.by;
    for (Index i = 0; i < by.q.size(); ++i) {
      note(InputKind::Configuration, i, by.q[i], most);
      note(InputKind::Velocity, i, by.v[i], most);
    }
    for (Index i = 0; i < by.parameters.size(); ++i)
      note(InputKind::Parameter, i, by.parameters[i],
           100 * kNoticed * std::abs(by_parameters[i]) + most);
    for (const auto& [input, size] : controls_)
      if (!(size <= most)) internal::note_open(input, all.open);
  }

 private:
  static constexpr double kNoticed = internal::OtherSides::kNoticed;
  bool active_ = false;
  internal::OtherSides others_;
  std::vector<std::pair<OpenInput, double>> controls_;
};

/// Numbers that must not change (StepGradient::kink), carried back to the start: the inputs they
/// change with are at a kink. Most end on the way, for contacts stay closed.
class OpenInputs {
 public:
  explicit OpenInputs(OpenReason reason) : reason_(reason) {}

  void pull(Index index, StepGradient& step, const RolloutTape& tape) {
    const auto note = [&](const StepCotangent& now) {
      // Parameters are added up: what one step undoes of another is rounding.
      if (by_parameters_.size() == 0) by_parameters_.setZero(now.parameters.size());
      by_parameters_ += now.parameters.cwiseAbs();
      internal::find_open({.q = {}, .v = {}, .u = now.u, .parameters = {}}, tape.parameters,
                          tape.settings.h, {.step = index, .reason = reason_}, open_);
    };
    if (largest(by_) > kEnded) {
      StepCotangent now = step.pull_back(by_);
      note(now);
      by_ = {std::move(now.q), std::move(now.v)};
    } else {
      by_ = {};
    }
    const StepCotangent* here = step.kink(reason_);
    if (here == nullptr) return;
    if (by_.q.size() == 0) by_ = {VecX::Zero(here->q.size()), VecX::Zero(here->v.size())};
    by_.q += here->q;
    by_.v += here->v;
    note(*here);
    step_ = index;
    what_ = step.certificate().kink;
  }

  void note(const RolloutTape& tape, RolloutCertificate& all) const {
    std::vector<OpenInput> open = open_;
    internal::find_open({by_.q, by_.v, {}, by_parameters_}, tape.parameters, tape.settings.h,
                        {.reason = reason_}, open);
    for (const OpenInput& one : open) internal::note_open(one, all.open);
    if (open.empty() || !all.kink.empty()) return;
    all.first_kink = step_;
    all.kink = "step " + std::to_string(step_) + ": " + what_;
  }

 private:
  static constexpr double kEnded = 1e-10;  // of numbers of size 1
  OpenReason reason_;
  StateCotangent by_;
  VecX by_parameters_;
  std::vector<OpenInput> open_;
  std::string what_;
  Index step_ = 0;
};

/// A workspace for steps in the memory of the last one: to make one anew costs what a step of one
/// body does.
class SpareWorkspace {
 public:
  explicit SpareWorkspace(const Model& model)
      : workspace_(internal::Spare<StepWorkspace>::take()),
        numbers_(64 * static_cast<std::size_t>(model.v_size())) {}
  ~SpareWorkspace() { internal::Spare<StepWorkspace>::give(std::move(workspace_), numbers_); }
  SpareWorkspace(const SpareWorkspace&) = delete;
  SpareWorkspace& operator=(const SpareWorkspace&) = delete;
  StepWorkspace& get() { return *workspace_; }

 private:
  std::unique_ptr<StepWorkspace> workspace_;
  std::size_t numbers_;
};

/// Gives the record of any step: stored, or a stretch at a time from its checkpoint.
class Records {
 public:
  explicit Records(const RolloutTape& tape) : tape_(tape) {}

  const StepRecord& at(Index step) {
    if (!tape_.records.empty()) return tape_.records[static_cast<std::size_t>(step)];
    const Index every = tape_.policy.every;
    const Index stretch = step / every;
    if (stretch != stretch_) replay(stretch);
    return stretch_records_[static_cast<std::size_t>(step - stretch * every)];
  }

 private:
  void replay(Index stretch) {
    const Index every = tape_.policy.every, begin = stretch * every;
    const Index end = std::min(begin + every, tape_.steps);
    const RolloutTape::Checkpoint& from = tape_.checkpoints[static_cast<std::size_t>(stretch)];
    State state = from.state;
    WarmStart warm = from.warm;
    if (!workspace_) workspace_.emplace(*tape_.model);
    stretch_records_.resize(static_cast<std::size_t>(end - begin));
    for (Index i = begin; i < end; ++i)
      (void)step(*tape_.model, tape_.parameters, tape_.settings, control_of(tape_.controls, i),
                 state, warm, workspace_->get(),
                 &stretch_records_[static_cast<std::size_t>(i - begin)]);
    stretch_ = stretch;
  }

  const RolloutTape& tape_;
  std::optional<SpareWorkspace> workspace_;  // where a stretch was made again
  std::vector<StepRecord> stretch_records_;
  Index stretch_ = -1;
};

void check_tape(const RolloutTape& tape) {
  if (tape.model == nullptr || tape.steps < 1 || (tape.records.empty() && tape.checkpoints.empty()))
    throw Error("rollout gradient", "the tape is empty: make it with record_rollout()");
}

}  // namespace

RolloutTape record_rollout(const Model& model, const Parameters& parameters,
                           const StepSettings& settings, const State& state, const MatX& controls,
                           Index steps, const CheckpointPolicy& policy) {
  if (steps < 1)
    throw Error("record_rollout", "needs at least one step, got " + std::to_string(steps));
  if (policy.every < 0)
    throw Error("checkpoint policy.every", "must be >= 0, got " + std::to_string(policy.every));
  check_size(controls, model.control_count(), steps, "controls");
  RolloutTape tape;
  tape.model = &model;
  tape.parameters = parameters;
  tape.settings = settings;
  tape.controls = controls;
  tape.steps = steps;
  tape.policy = policy;
  if (policy.every == 0)
    tape.policy.every = static_cast<Index>(std::ceil(std::sqrt(static_cast<double>(steps))));
  if (policy.store_records) tape.records.resize(static_cast<std::size_t>(steps));
  if (policy.keep_states) {
    tape.q.resize(state.q.size(), steps + 1);
    tape.v.resize(state.v.size(), steps + 1);
    tape.q.col(0) = state.q;
    tape.v.col(0) = state.v;
  }
  State x = state;
  WarmStart warm;
  SpareWorkspace workspace(model);
  // Crowds are stepped otherwise where nothing is recorded: a checkpoint must lead where its replay
  // does.
  StepRecord dropped;
  for (Index i = 0; i < steps; ++i) {
    if (!policy.store_records && i % tape.policy.every == 0) tape.checkpoints.push_back({x, warm});
    StepRecord* record =
        policy.store_records ? &tape.records[static_cast<std::size_t>(i)] : &dropped;
    const StepReport report = step(model, parameters, settings, control_of(controls, i), x, warm,
                                   workspace.get(), record);
    add(report, tape.report);
    if (!policy.keep_states) continue;
    tape.q.col(i + 1) = x.q;
    tape.v.col(i + 1) = x.v;
  }
  tape.final_state = std::move(x);
  return tape;
}

RolloutGradient rollout_gradient(const RolloutTape& tape, const RolloutCotangent& loss,
                                 const StepGradientSettings& gradient) {
  check_tape(tape);
  const Model& model = *tape.model;
  const Index n = model.v_size();
  check_size(loss.q, n, tape.steps + 1, "incoming gradient by q");
  check_size(loss.v, n, tape.steps + 1, "incoming gradient by v");
  if (!loss.solves.empty() && static_cast<Index>(loss.solves.size()) != tape.steps)
    throw Error("incoming gradient by solves", "expected one list per step, " +
                                                   std::to_string(tape.steps) + ", got " +
                                                   std::to_string(loss.solves.size()));
  RolloutGradient out;
  out.parameters.setZero(model.parameter_table().size());
  out.u.setZero(model.control_count(), tape.steps);
  StateCotangent g{VecX::Zero(n), VecX::Zero(n)};
  double size_of_loss = 0;  // largest derivative by a state that came in so far
  const auto add_loss = [&](Index i) {
    for (const auto& [by, to] : {std::pair{&loss.q, &g.q}, {&loss.v, &g.v}}) {
      if (by->size() == 0) continue;
      *to += by->col(i);
      size_of_loss = std::max(size_of_loss, largest(by->col(i)));
    }
  };
  Records records(tape);
  const SettingsOfSteps settings(gradient);
  Choices choices(tape.settings, gradient);
  OpenInputs opened[] = {OpenInputs(OpenReason::Kink), OpenInputs(OpenReason::Ambiguous),
                         OpenInputs(OpenReason::Neither)};
  double size = 0;                    // largest derivative by a state so far
  bool grows = false, rests = false;  // in a later step
  const auto look_at_size = [&] {
    if (size == 0) size_of_loss = std::max(size_of_loss, largest(g));  // of solves
    size = std::max(size, largest(g));
    grows = grows || size > kGrowth * size_of_loss;
  };
  StepCotangent before;
  for (Index i = tape.steps; i-- > 0;) {
    add_loss(i + 1);
    StepGradient step(model, tape.parameters, tape.settings, records.at(i), settings.at(i));
    const std::span<const SolveCotangent> solves =
        loss.solves.empty() ? std::span<const SolveCotangent>()
                            : std::span<const SolveCotangent>(loss.solves[i]);
    // What rounding left of a derivative that ended: a product of it says nothing. Kinks are looked
    // for all the same, another side may go on.
    look_at_size();
    if (solves.empty() && largest(g) < kRounding * size && choices.ended()) {
      g.q.setZero();
      g.v.setZero();
    }
    internal::OtherSides* others = out.certificate.exact ? choices.of(model, step) : nullptr;
    step.pull_back(g, solves, before, others);
    out.u.col(i) = before.u;
    out.parameters += before.parameters;
    note(step.certificate(), i, rests, out.certificate);
    rests = rests || step.certificate().rests;
    if (out.certificate.exact)
      for (OpenInputs& one : opened) one.pull(i, step, tape);
    if (others != nullptr) choices.note(i, before);
    if (i == 0)
      for (const OpenInput& one : step.certificate().open)
        if (one.reason == OpenReason::Neither) internal::note_open(one, out.certificate.open);
    g.q.swap(before.q);
    g.v.swap(before.v);
  }
  choices.settle(out.parameters, out.certificate);
  for (const OpenInputs& one : opened) one.note(tape, out.certificate);
  look_at_size();
  if (grows) refuse_growth(out.certificate);
  add_loss(0);
  out.q = std::move(g.q);
  out.v = std::move(g.v);
  return out;
}

RolloutTangent rollout_tangent(const RolloutTape& tape, const StepTangent& change,
                               const MatX& controls, const StepGradientSettings& gradient) {
  check_tape(tape);
  const Model& model = *tape.model;
  const Index n = model.v_size();
  check_size(controls, model.control_count(), tape.steps, "change of controls");
  RolloutTangent out;
  out.q.resize(n, tape.steps + 1);
  out.v.resize(n, tape.steps + 1);
  StepTangent d = change;
  if (d.q.size() == 0) d.q.setZero(n);
  if (d.v.size() == 0) d.v.setZero(n);
  if (d.q.size() != n || d.v.size() != n)
    throw Error("change of the initial state", "must have " + std::to_string(n) + " entries each");
  out.q.col(0) = d.q;
  out.v.col(0) = d.v;
  Records records(tape);
  const SettingsOfSteps settings(gradient);
  for (Index i = 0; i < tape.steps; ++i) {
    if (controls.size() > 0) d.u = controls.col(i);
    StepGradient step(model, tape.parameters, tape.settings, records.at(i), settings.at(i));
    StateTangent next = step.push_forward(d);
    for (EdgeParameter& edge : out.certificate.edges)
      edge.given = edge.given && !(step.certificate().rests && edge.opens);
    note(step.certificate(), i, false, out.certificate);
    out.q.col(i + 1) = next.q;
    out.v.col(i + 1) = next.v;
    d.q = std::move(next.q);
    d.v = std::move(next.v);
  }
  return out;
}

RolloutCotangent at_end(const RolloutTape& tape, const VecX& by_q, const VecX& by_v) {
  check_tape(tape);
  const Index n = tape.model->v_size();
  RolloutCotangent loss;
  loss.q.setZero(n, tape.steps + 1);
  loss.v.setZero(n, tape.steps + 1);
  for (const auto& [by, to] : {std::pair{&by_q, &loss.q}, {&by_v, &loss.v}}) {
    if (by->size() == 0) continue;
    if (by->size() != n)
      throw Error("incoming gradient by the final state",
                  "must have " + std::to_string(n) + " entries, got " + std::to_string(by->size()));
    to->col(tape.steps) = *by;
  }
  return loss;
}

}  // namespace orthant
