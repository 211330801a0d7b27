// SPDX-License-Identifier: Apache-2.0
// solver/projection_residual.hpp: (law, x, y, ρ) => residual R of one block and dR = X dx + Y dy.
//
// Exact friction in the form of Alart and Curnier, normal, tangent and rolling part separate so
// that each may have a scale of its own:
//   R_n = x_n − (x_n − ρ y_n)₊,   R_g = x_g − Π_{|·| <= c_g (x_n − ρ y_n)₊}(x_g − ρ y_g)
// All others: the natural map R = x − Π(x − ρ y). Zero exactly at the solutions, for every ρ > 0.
#pragma once

#include "orthant/math/law.hpp"

namespace orthant::internal {

/// dim x dim, row-major.
struct BlockJacobian {
  double X[kMaxLawDim * kMaxLawDim];
  double Y[kMaxLawDim * kMaxLawDim];
};

void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R);
/// Also an element of the generalised Jacobian.
void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R,
                         BlockJacobian& J);

}  // namespace orthant::internal
