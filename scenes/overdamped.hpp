// SPDX-License-Identifier: Apache-2.0
// scenes/overdamped.hpp: bodies without inertia in a viscous medium, for what is differentiated
// through rows found on the way (ReLCP): the tests and the command check the same worlds.
#pragma once

#include <span>

#include "orthant/model/model.hpp"

namespace orthant::scenes {

/// Two ellipsoids 2 x 1 x 1 pushed past each other, which takes 440 steps of 0.1.
Model passing_ellipsoids();

/// Where a rod lies: in the plane z = 0 turned by `angle`, in space also tilted.
struct RodPlace {
  Vec3 position;
  double angle = 0, tilt = 0;
};
/// Smooth rods rod0, rod1, … of radius 0.25 and half-length 0.75, drawn to the middle by springs:
/// sides come to lie on sides, which one row cannot hold, however short the step.
Model drawn_rods(bool planar, std::span<const RodPlace> places);

}  // namespace orthant::scenes
