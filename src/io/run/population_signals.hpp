// SPDX-License-Identifier: Apache-2.0
// io/run/population_signals.hpp: many bodies, frame by frame => how many there are, how they lie.
#pragma once

#include <string_view>
#include <vector>

#include "orthant/io/trajectory.hpp"

namespace orthant::io {

/// One number per frame.
///   bodies       how many are there
///   order        of the long axes of all bodies that move: 0 random, 1 parallel. In the plane
///                |mean of exp(2 i angle)|, in space the largest eigenvalue of <3/2 t tᵀ − 1/2>
///   local_order  of pairs that are near enough for a contact: mean of cos 2(angle between), in
///                space of 3/2 cos² − 1/2; NaN where there are none
/// Throws Error where contacts are asked for and not recorded.
std::vector<double> population_signal(const Trajectory& t, std::string_view name);

}  // namespace orthant::io
