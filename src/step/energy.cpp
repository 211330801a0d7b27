// SPDX-License-Identifier: Apache-2.0
// step/energy.cpp: state => kinetic and potential energy.
//   potential = that of forces and flexible parts + Σ Φ²/2c over soft contacts with Φ < 0
// A soft contact is an implicit spring of stiffness 1/c: what presses it in is given back, so that
// without its energy a body that bounces on it would seem to gain.
#include "orthant/step/energy.hpp"

#include <algorithm>

#include "orthant/base/timer.hpp"
#include "orthant/force/force.hpp"
#include "step/run.hpp"

namespace orthant {
namespace internal {
namespace {

bool any_is_soft(const Model& model, const Parameters& parameters) {
  const auto soft = [&](const auto& one) {
    return one.compliance != kNone && parameters.values[one.compliance] > 0;
  };
  return std::ranges::any_of(model.materials(), soft) ||
         std::ranges::any_of(model.material_pairs(), soft);
}

double stored(double gap, const ContactMaterial& material) {
  return gap < 0 && material.compliance > 0 ? 0.5 * gap * gap / material.compliance : 0;
}

}  // namespace

void measure_energy(StepRun& run, bool contacts_known) {
  const Model& model = run.model;
  run.report.kinetic = kinetic_energy(model, run.parameters, run.x.q, run.x.v);
  run.report.potential = potential_energy(model, run.parameters, run.x.q, run.x.t);
  if (!any_is_soft(model, run.parameters)) return;
  ContactSet& contacts = run.work.trial.contacts;
  if (!contacts_known) {
    const Timer timer;
    find_contacts_at(run, run.x.q, contacts);
    run.report.seconds_collision += timer.seconds();
  }
  for (const Contact& c : contacts.contacts)
    run.report.potential +=
        stored(c.gap, contact_material(model, run.parameters, model.shape(c.shape_a).material,
                                       model.shape(c.shape_b).material));
  for (const FlexibleContact& c : contacts.flexible)
    run.report.potential +=
        stored(c.gap, contact_material(model, run.parameters, c.material_a, c.material_b));
}

}  // namespace internal

Energy energy_of(const Model& model, const Parameters& parameters, const StepSettings& settings,
                 const State& state) {
  validate(model, parameters, "parameters");
  validate(model, state, "state");
  const VecX u;
  State x = state;
  WarmStart warm;
  StepWorkspace workspace;
  StepReport report;
  internal::StepRun run{model, parameters, settings, u, x, warm, workspace.impl(), report, nullptr};
  run.work.measures.update(model, parameters);
  internal::measure_energy(run, false);
  return {report.kinetic, report.potential};
}

}  // namespace orthant
