// SPDX-License-Identifier: Apache-2.0
// shape/surface.hpp: hull, rounded hull or mesh => triangles to draw.
#pragma once

#include <cstdint>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/shape/shape_kernel.hpp"

namespace ORTHANT_EXPORT orthant {

struct Surface {
  std::vector<double> corners;           // 3 each, shape frame [m]
  std::vector<std::uint32_t> triangles;  // 3 corners each, counter-clockwise from outside
};

/// Of a hull or mesh in space; a rounded hull to about a hundredth of its radius.
Surface surface_of(const ShapeView<double>& shape);

}  // namespace orthant
