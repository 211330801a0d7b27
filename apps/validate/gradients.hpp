// SPDX-License-Identifier: Apache-2.0
// validate/gradients.hpp: the parts of the group `gradients` that are not rollouts of one scene,
// and the long one.
#pragma once

#include "validate/validate.hpp"

namespace orthant::validation {

/// Friction, restitution, mass, radius and hull vertices, each through rolling, sliding and impact,
/// in the plane and in space.
void gradient_matrix(Checks& out);
/// Both one-sided derivatives at a grazing contact, at the threshold of slip, at an impact that is
/// passed on.
void gradient_kinks(Checks& out);
/// More contacts than the motion needs: the dense Jacobian against its closed form.
void gradient_box_on_four_contacts(Checks& out);
/// Random complementarity problems against the closed form on the clamping set.
void gradient_lcps(Checks& out);
/// Contact problems from outside by q and μ against differences; nothing where no file is found.
void gradient_files(Checks& out);
/// Through the recursion (ReLCP): two ellipsoids that pass each other, 16 rods.
void gradient_recursion(Checks& out);
/// The same rods over more steps, slender ones, and rods in space.
void gradient_recursion_long(Checks& out);

/// The group `gradients_long`.
void gradients_long(Checks& out);

}  // namespace orthant::validation
