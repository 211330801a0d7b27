// SPDX-License-Identifier: Apache-2.0
// validate/random_scene.hpp: (seed, number) => a small world as the text of a scene file.
// The text is all there is: the campaign loads it as a user would, so a file that is written down
// reproduces what was judged, to the bit.
#pragma once

#include <cstdint>
#include <string>

namespace orthant::validation {

/// The same text for the same arguments, on every machine. Every number has a scene of its own:
/// planar or spatial, one to four bodies of all shapes, with and without floor, joints, springs,
/// motors and controls, materials at the edges of their range, starts apart, close, at rest or
/// overlapping, impact events on and off, all friction models, stabilisations and row schemes.
std::string random_scene(std::uint64_t seed, std::uint64_t number);

}  // namespace orthant::validation
