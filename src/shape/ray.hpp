// SPDX-License-Identifier: Apache-2.0
// shape/ray.hpp: (shape, pose, ray) => where the ray first meets the surface from outside.
#pragma once

#include <limits>
#include <optional>

#include "orthant/shape/shape.hpp"

namespace orthant {

/// Where a ray o + t d meets a surface. The distance t follows what moves the surface along n by
/// dφ and the ray's start by do: dt = (dφ - n.do) / (n.d).
struct RayPoint {
  double distance = 0;         ///< t [m]
  Vec3 normal = Vec3::Zero();  ///< outward, world axes
};

/// The first place within `most` where the ray comes from outside; none for a ray that begins
/// inside and leaves, or passes by. `direction` must have length 1. In the plane the ray must lie
/// in it.
std::optional<RayPoint> cast_ray(const ShapeView<double>& shape, const Pose& X_WS,
                                 const Vec3& origin, const Vec3& direction,
                                 double most = std::numeric_limits<double>::infinity());

}  // namespace orthant
