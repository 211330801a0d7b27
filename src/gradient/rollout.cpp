// SPDX-License-Identifier: Apache-2.0
// gradient/rollout.cpp: T steps forward, one reverse walk back, with records or checkpoints.
// A stretch between checkpoints is stepped again from its kept state and warm start; step() is a
// function of its arguments, so the records come out the same.
#include "orthant/gradient/rollout.hpp"

#include <cmath>

#include "gradient/reverse_walk.hpp"
#include "gradient/rollout_parts.hpp"

namespace orthant {

using internal::check_size, internal::check_tape, internal::control_of;

namespace {

void add(const StepReport& report, RolloutReport& total) {
  ++total.steps;
  total.failed_steps += report.outcome != Outcome::Converged;
  total.outcome = std::max(total.outcome, report.outcome);
  total.residual = std::max(total.residual, report.residual);
  total.deepest = std::max(total.deepest, report.deepest);
  total.joint_error = std::max(total.joint_error, report.joint_error);
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
  internal::SpareWorkspace workspace(model);
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
  internal::ReverseWalk walk(tape, loss, gradient);
  for (Index stretch = walk.stretches(); stretch-- > 0;) walk.walk(stretch);
  return walk.finish();
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
  internal::Records records(tape);
  const internal::SettingsOfSteps settings(gradient);
  for (Index i = 0; i < tape.steps; ++i) {
    if (controls.size() > 0) d.u = controls.col(i);
    StepGradient step(model, tape.parameters, tape.settings, records.at(i), settings.at(i));
    StateTangent next = step.push_forward(d);
    for (EdgeParameter& edge : out.certificate.edges)
      edge.given = edge.given && !(step.certificate().rests && edge.opens);
    internal::note(step.certificate(), i, false, out.certificate);
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
