// SPDX-License-Identifier: Apache-2.0
// force/coast.hpp: the flight of one body without any force: v* and the tangent travelled, as in
// Dynamics. A crowd asks body by body, where arrays of it would be a tenth of its memory.
#pragma once

#include "orthant/model/model.hpp"

namespace orthant::internal {

struct Coast {
  Eigen::Matrix<double, 6, 1> velocity, delta;  ///< [m/s, rad/s], [m, rad]; planar: three of them
};

/// `x`: the values of the parameters.
Coast coast_of(const Body& body, const double* x, const VecX& q, const VecX& v, double h);

}  // namespace orthant::internal
