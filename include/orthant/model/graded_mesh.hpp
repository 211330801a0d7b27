// SPDX-License-Identifier: Apache-2.0
// model/graded_mesh.hpp: meshes that are fine where they will be touched.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/model/mesh.hpp"

namespace ORTHANT_EXPORT orthant {

/// Ball about the origin, n cells across the diameter (even), fine towards the pole −z: cells of
/// about `finest` radii there, growing with the square of the distance. For contacts far smaller
/// than the ball.
Mesh graded_ball_mesh(double radius, Index n, double finest);

}  // namespace orthant
