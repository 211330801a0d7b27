// SPDX-License-Identifier: Apache-2.0
// step/fluid.hpp: step() for bodies that move each other through a fluid.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/constraint/fluid.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

/// step() with the hydrodynamic mobility of `fluid` in place of the local drag of each body; a
/// fluid that does not act is none. Contacts of all schemes act through it, ReLCP included. There
/// is no record, hence no gradient. Throws Error where drag_ratio or thermal_energy ask for a drag
/// or noise that this mobility does not have.
StepReport step_in_fluid(const Model& model, const Parameters& parameters,
                         const StepSettings& settings, const Fluid& fluid, const VecX& u,
                         State& state, WarmStart& warm, StepWorkspace& workspace);

}  // namespace orthant
