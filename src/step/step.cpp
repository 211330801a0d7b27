// SPDX-License-Identifier: Apache-2.0
// step/step.cpp: (model, parameters, settings, state, warm) => next state, report, record.
#include "orthant/step/step.hpp"

#include <cmath>
#include <string>
#include <type_traits>

#include "base/team.hpp"
#include "orthant/base/error.hpp"
#include "orthant/force/flexible.hpp"
#include "orthant/step/fluid.hpp"
#include "orthant/step/step_fields.hpp"
#include "step/run.hpp"

namespace orthant {

using internal::StepRun;

StepWorkspace::StepWorkspace() : impl_(std::make_unique<Impl>()) {}
StepWorkspace::~StepWorkspace() = default;
StepWorkspace::StepWorkspace(StepWorkspace&&) noexcept = default;
StepWorkspace& StepWorkspace::operator=(StepWorkspace&&) noexcept = default;

namespace {

[[noreturn]] void fail(const char* field, const std::string& rule, double value) {
  throw Error(std::string("step settings.") + field, rule + ", got " + to_text(value));
}

void require(bool holds, const char* field, const char* rule, double value) {
  if (!holds) fail(field, rule, value);
}

/// Every number within the bounds of the one list of fields (step_fields.hpp), from which the
/// command line, scene files, the schema and Python take theirs.
void check_fields(const StepSettings& s) {
  visit_settings(std::type_identity<StepSettings>{},
                 [&](const char* name, auto member, const char*, const SettingRule& rule) {
                   if constexpr (std::is_arithmetic_v<std::decay_t<decltype(s.*member)>>) {
                     const double value = static_cast<double>(s.*member);
                     if (!std::isfinite(value)) fail(name, "must be finite", value);
                     if (rule.positive && !(value > 0)) fail(name, "must be > 0", value);
                     if (value < rule.lo) fail(name, "must be >= " + to_text(rule.lo), value);
                     if (value > rule.hi) fail(name, "must be <= " + to_text(rule.hi), value);
                   }
                 });
  require(s.pyramid_directions % 2 == 0, "pyramid_directions", "must be even",
          s.pyramid_directions);
}

/// Every step uses the parameters; only new numbers are looked at, and measured. Gravity may turn
/// in every step, and has no rule but to be finite.
void check_parameters_once(const StepRun& run) {
  const VecX& x = run.parameters.values;
  const bool same = run.work.measures.same(run.model, run.parameters);
  if (run.work.checked != &run.model || !same || !x.segment<3>(run.model.gravity()).allFinite())
    validate(run.model, run.parameters, "parameters");
  run.work.checked = &run.model;
  if (!same) run.work.measures.update(run.model, run.parameters);
}

void check_arguments(const StepRun& run) {
  const StepSettings& s = run.settings;
  check_fields(s);
  if (s.drag_ratio != 1 || s.thermal_energy > 0) {
    require(run.model.law() == LawOfMotion::Overdamped && !s.impact_events && s.max_halvings == 0,
            "drag_ratio, thermal_energy", "need the overdamped law and whole steps", s.drag_ratio);
  }
  require(!(s.periodic.any() && s.impact_events), "impact_events", "exclude a periodic box", 1);
  // One of them leads the step (advance_state); the others would be ignored.
  const int leaders = (s.constraints != ConstraintScheme::Manifold) +
                      (s.integrator == Integrator::Rattle) + s.impact_events + (s.max_halvings > 0);
  require(leaders <= 1, "constraints, integrator, impact_events, max_halvings",
          "only one may differ from its default: constraints other than manifold, rattle, impact "
          "events and halving exclude each other",
          leaders);
  if (!run.model.flexible_parts().empty()) {
    if (s.integrator == Integrator::Rattle)
      throw Error("step settings.integrator", "Rattle does not take flexible parts");
    if (s.constraints != ConstraintScheme::Manifold)
      throw Error("step settings.constraints", "flexible parts need the manifold scheme");
    if (s.friction == FrictionModel::Pyramid)
      throw Error("step settings.friction", "Pyramid does not take flexible parts");
  }
  if (s.integrator == Integrator::Rattle)
    for (const Joint& joint : run.model.joints())
      if (joint.motor.kind == MotorKind::Servo)
        throw Error("step settings.integrator",
                    "Rattle does not take servos, as that of joint '" + joint.name + "'");
  validate(run.model, run.x, "state");
  if (run.parameters.values.size() != run.model.parameter_table().size())
    throw Error("parameters", "expected " + std::to_string(run.model.parameter_table().size()) +
                                  " values, got " + std::to_string(run.parameters.values.size()));
  check_parameters_once(run);
  if (run.u.size() != 0 && run.u.size() != run.model.control_count())
    throw Error("controls", "expected " + std::to_string(run.model.control_count()) +
                                " values, got " + std::to_string(run.u.size()));
  if (!run.u.allFinite()) throw Error("controls", "must be finite");
}

bool advance_state(StepRun& run) {
  const StepSettings& s = run.settings;
  const bool whole = s.constraints == ConstraintScheme::Manifold && s.max_halvings == 0 &&
                     s.integrator != Integrator::Rattle && !s.impact_events;
  const bool crowd = whole && is_crowd(run);
  if (!crowd) keep_start(run);
  if (whole) return step_interval(run, s.h, crowd);
  if (s.constraints != ConstraintScheme::Manifold) return step_recursive(run);
  if (s.integrator == Integrator::Rattle) return step_rattle(run);
  if (s.impact_events) return step_with_events(run);
  return step_with_halving(run);
}

StepReport run_step(const Model& model, const Parameters& parameters, const StepSettings& settings,
                    const VecX& u, State& state, WarmStart& warm, StepWorkspace& workspace,
                    StepRecord* record, const Fluid* fluid) {
  StepReport report;
  StepRun run{model, parameters, settings, u, state, warm, workspace.impl(), report, record, fluid};
  check_arguments(run);
  if (Team* all = team()) ++all->steps;
  if (record != nullptr) {
    record->before = state;
    record->u = u;
    record->solves.clear();
  }
  const double t = state.t;
  const std::int64_t count = state.step;
  const auto rng = state.rng;
  run.work.swept = false;
  report.outcome = Outcome::Converged;  // until a solve says otherwise
  const bool finite = advance_state(run);
  const bool projects =
      finite && settings.constraints == ConstraintScheme::Manifold && !run.work.swept;
  if (projects) project_positions(run);
  // Nothing better is known, and what is not finite must not leave. A crowd leaves its own start.
  if (!run.work.swept && (!finite || !state.q.allFinite() || !state.v.allFinite())) {
    state = run.work.before;
    report.outcome = Outcome::NotFinite;
  }
  report.inverted = inverted_elements(model, state.q);  // corrections of positions included
  state.t = t + settings.h;  // not the sum of sub-steps: t has no rounding of its own
  state.step = count + 1;
  if (settings.thermal_energy > 0) state.rng[1] = rng[1] + 1;
  internal::measure_energy(run, projects && report.outcome != Outcome::NotFinite);
  if (record != nullptr) {
    record->after = state;
    record->outcome = report.outcome;
  }
  return report;
}

}  // namespace

StepReport step(const Model& model, const Parameters& parameters, const StepSettings& settings,
                const VecX& u, State& state, WarmStart& warm, StepWorkspace& workspace,
                StepRecord* record) {
  return run_step(model, parameters, settings, u, state, warm, workspace, record, nullptr);
}

StepReport step_in_fluid(const Model& model, const Parameters& parameters,
                         const StepSettings& settings, const Fluid& fluid, const VecX& u,
                         State& state, WarmStart& warm, StepWorkspace& workspace) {
  if (!fluid.acts()) return step(model, parameters, settings, u, state, warm, workspace);
  if (settings.drag_ratio != 1)
    throw Error("step settings.drag_ratio", "must be 1 in a fluid: its spheres have one drag");
  if (settings.thermal_energy > 0)
    throw Error("step settings.thermal_energy",
                "must be 0 in a fluid: kicks that fit its mobility are not there");
  if (settings.impact_events || settings.max_halvings > 0 ||
      settings.integrator == Integrator::Rattle)
    throw Error("step settings", "a fluid excludes rattle, impact_events and max_halvings");
  return run_step(model, parameters, settings, u, state, warm, workspace, nullptr, &fluid);
}

}  // namespace orthant
