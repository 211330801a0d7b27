// SPDX-License-Identifier: Apache-2.0
// math/types.hpp: the few linear-algebra names used everywhere.
#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Index of rows, bodies, contacts: 32 bits carry 10^9 and halve the memory of index arrays.
using Index = std::int32_t;

template <class T>
using Vec2T = Eigen::Matrix<T, 2, 1>;
template <class T>
using Vec3T = Eigen::Matrix<T, 3, 1>;
template <class T>
using Mat2T = Eigen::Matrix<T, 2, 2>;
template <class T>
using Mat3T = Eigen::Matrix<T, 3, 3>;

using Vec2 = Vec2T<double>;
using Vec3 = Vec3T<double>;
using Mat2 = Mat2T<double>;
using Mat3 = Mat3T<double>;
using VecX = Eigen::VectorXd;
using MatX = Eigen::MatrixXd;

}  // namespace orthant
