// SPDX-License-Identifier: Apache-2.0
// step/step_fields.hpp: the fields of StepSettings, once (base/setting.hpp).
#pragma once

#include <type_traits>

#include "orthant/base/export.hpp"
#include "orthant/base/setting.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

template <class Field>
void visit_settings(std::type_identity<StepSettings>, Field&& field) {
  using S = StepSettings;
  using R = SettingRule;
  field("h", &S::h, "length of a step", R{.unit = "s", .positive = true});
  field("accuracy", &S::accuracy,
        "of crowds: `exact`, `standard` or `fast`; steps with few contacts are always exact", R{});
  field("crowd_compliance", &S::crowd_compliance,
        "share of its own mobility by which a contact of a crowd yields; 0: as `accuracy` says",
        R{.unit = "-", .lo = 0, .hi = 1});
  field("crowd_tolerance", &S::crowd_tolerance,
        "of a contact's velocity in a crowd, over g h; 0: as `accuracy` says",
        R{.unit = "-", .lo = 0});
  field("crowd_sweeps", &S::crowd_sweeps, "of a crowd, at most; 0: as `accuracy` says",
        R{.lo = 0, .hi = 1000000});
  field("friction", &S::friction, "`coulomb` is exact; `cone` its convex relaxation", R{});
  field("pyramid_directions", &S::pyramid_directions, "spatial pyramid; even",
        R{.lo = 4, .hi = 64});
  field("stabilisation", &S::stabilisation, "how overlaps are removed", R{});
  field("projection_tolerance", &S::projection_tolerance, "of the body size",
        R{.unit = "-", .positive = true});
  field("baumgarte", &S::baumgarte, "share of an overlap per step; `baumgarte`",
        R{.unit = "-", .lo = 0, .hi = 1});
  field("contact_margin", &S::contact_margin, "of half the smaller body's width",
        R{.unit = "-", .lo = 0});
  field("integrator", &S::integrator, "`rattle`: second order for joints", R{});
  field("substep", &S::substep, "longest inner step of `rattle`", R{.unit = "s", .positive = true});
  field("impact_events", &S::impact_events, "locate impacts within a step", R{});
  field("max_events", &S::max_events, "per step; the report says when reached", R{.lo = 0});
  field("restitution_threshold", &S::restitution_threshold,
        "slowest approach that bounces; 0: 2 g h", R{.unit = "m/s", .lo = 0});
  field("restitution_law", &S::restitution_law,
        "of located impacts; `energy_bounded` never gains energy, `newton` may with friction", R{});
  field("max_halvings", &S::max_halvings, "of a step that ends in an overlap; 0: none",
        R{.lo = 0, .hi = 30});
  field("halving_tolerance", &S::halving_tolerance, "overlap that halves, of the body size",
        R{.unit = "-", .positive = true});
  field("newton_iterations", &S::newton_iterations,
        "of flexible parts, at most; 1: linearly implicit", R{.lo = 1, .hi = 1000});
  field("newton_tolerance", &S::newton_tolerance,
        "change of the velocities that ends them, of the largest",
        R{.unit = "-", .positive = true});
  field("max_cuts", &S::max_cuts, "of a step in which an element would invert",
        R{.lo = 0, .hi = 30});
  field("constraints", &S::constraints,
        "`single`, `relcp` and `multisphere`: one row per pair, grown until nothing overlaps, "
        "rows of inscribed spheres",
        R{});
  field("overlap_tolerance", &S::overlap_tolerance, "of half the smaller width; `relcp`",
        R{.unit = "-", .positive = true});
  field("max_recursions", &S::max_recursions, "per step; `relcp`", R{.lo = 1, .hi = 100000});
  field("sub_spheres", &S::sub_spheres, "per body; `multisphere`", R{.lo = 1, .hi = 128});
  field("periodic", &S::periodic, "bodies meet across its sides; positions are not wrapped", R{});
  field("drag_ratio", &S::drag_ratio,
        "overdamped: drag across the axis x of a body over that along it",
        R{.unit = "-", .positive = true});
  field("thermal_energy", &S::thermal_energy, "overdamped: k_B T, Brownian kicks",
        R{.unit = "J", .lo = 0});
  field("solver", &S::solver, "of every solve in a step", R{});
}

}  // namespace orthant
