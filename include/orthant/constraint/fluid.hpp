// SPDX-License-Identifier: Apache-2.0
// constraint/fluid.hpp: bodies that move each other through a viscous fluid (force/rpy.hpp).
//   overdamped law:  H = h M⁻¹ on the translations, M the mobility of Rotne, Prager and Yamakawa
// A body counts as a sphere whose own drag is that of the model, 6 π η a = drag x length; it turns
// against its local drag alone. H is an operator: contact forces act through the fluid, too.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/constraint/assemble.hpp"
#include "orthant/force/rpy.hpp"

namespace ORTHANT_EXPORT orthant {

struct Fluid {
  double viscosity = 0;       ///< η [Pa s]; 0: every body has its own drag and no other
  double tolerance = 1e-5;    ///< of RpySettings
  Index direct_up_to = 8192;  ///< of RpySettings

  bool acts() const { return viscosity > 0; }
};

/// Puts the mobility of the fluid into a problem made by assemble_motion(): H, and v_free. Forces
/// enter as they are at the beginning of the step, without their derivatives. `box`: all of its
/// directions, or none. Throws Error for a model that is not overdamped or has flexible parts.
/// False where the numbers overflow.
bool assemble_fluid(const Model& model, const Parameters& parameters, const StepInterval& x,
                    const PeriodicBox& box, const Fluid& fluid, Assembly& out);

}  // namespace orthant
