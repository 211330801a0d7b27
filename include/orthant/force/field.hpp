// SPDX-License-Identifier: Apache-2.0
// force/field.hpp: forces, flows and forces between bodies, given by formulas, as callbacks of one
// body each.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/force/formula.hpp"
#include "orthant/model/model.hpp"

namespace ORTHANT_EXPORT orthant {

/// Formulas of the components of a vector, shared by all bodies they act on.
using VectorFormula = std::shared_ptr<const std::vector<Formula>>;

/// Three texts, in the plane two, or one for all components, in which x means the component. Throws
/// Error(where, …).
VectorFormula vector_formula(const std::vector<std::string>& texts, const std::string& where);

/// F(x, v, t) [N] at the centre of mass of a body, with its derivatives: implicit in the step,
/// exact in gradients. Throws Error(where, …) where it is not finite.
std::shared_ptr<const ForceCallback> field_force(VectorFormula formulas, std::string body,
                                                 std::string where);

/// The drag of a background flow u(x, t) [m/s] on a body of the overdamped law: force ζ u, with
/// ζ = drag·length across the body axis p (x) and 1/drag_ratio of that along it; torque
/// drag·length³/12 · (½ ∇ × u + Λ p × E p), E the rate of strain at the centre, Λ = (a² − 1)/(a² +
/// 1) of a spheroid of the aspect ratio a (Jeffery); a = 1: a sphere.
std::shared_ptr<const ForceCallback> flow_force(VectorFormula formulas, std::string body,
                                                double drag_ratio, double aspect,
                                                std::string where);

/// Bodies by name, one of them perhaps the body itself, which is left out.
using BodyNames = std::shared_ptr<const std::vector<std::string>>;

/// The sum of F(x, v, t) [N] over the others, x and v the place and velocity of the body's centre
/// relative to theirs: without a net force where F is odd and all have one. Explicit in the step,
/// and without derivatives.
std::shared_ptr<const ForceCallback> pair_force(VectorFormula formulas, std::string body,
                                                BodyNames others, std::string where);

}  // namespace orthant
