// SPDX-License-Identifier: Apache-2.0
// solver/projection_residual.cpp: residual of one block and its derivative. See the header.
#include "solver/projection_residual.hpp"

#include <algorithm>
#include <cmath>

#include "math/law_kernel.hpp"

namespace orthant::internal {
namespace {

template <bool kDerivative>
void alart_curnier(const Law& law, const double* x, const double* y, double rho, double* R,
                   BlockJacobian* J) {
  const int n = law.dim;
  if constexpr (kDerivative) {
    std::fill(J->X, J->X + n * n, 0.0);
    std::fill(J->Y, J->Y + n * n, 0.0);
  }
  const double zn = x[0] - rho * y[0];
  if (!(zn > 0)) {  // apart: x = 0
    for (int i = 0; i < n; ++i) R[i] = x[i];
    if constexpr (kDerivative) {
      for (int i = 0; i < n; ++i) J->X[i * n + i] = 1;
    }
    return;
  }
  R[0] = rho * y[0];
  if constexpr (kDerivative) J->Y[0] = rho;
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g++]) {
    const int size = groups.size[g];
    double z[2] = {0, 0};
    for (int i = 0; i < size; ++i) z[i] = x[at + i] - rho * y[at + i];
    const double length = size > 0 ? norm_of(z, size) : 0.0, radius = groups.c[g] * zn;
    if (length <= radius) {  // sticks: y = 0
      for (int i = 0; i < size; ++i) R[at + i] = rho * y[at + i];
      if constexpr (kDerivative) {
        for (int i = 0; i < size; ++i) J->Y[(at + i) * n + at + i] = rho;
      }
      continue;
    }
    for (int i = 0; i < size; ++i) {
      const double t = z[i] / length;
      R[at + i] = x[at + i] - radius * t;
      if constexpr (kDerivative) {
        double* X = J->X + (at + i) * n;
        double* Y = J->Y + (at + i) * n;
        X[at + i] = 1;
        X[0] = -groups.c[g] * t;
        Y[0] = rho * groups.c[g] * t;
        for (int j = 0; j < size; ++j) {
          const double across = radius / length * ((i == j ? 1.0 : 0.0) - t * z[j] / length);
          X[at + j] -= across;
          Y[at + j] = rho * across;
        }
      }
    }
  }
}

void natural_map(const Law& law, const double* x, const double* y, double rho, double* R,
                 BlockJacobian* J) {
  const int n = law.dim;
  double z[kMaxLawDim] = {};
  for (int i = 0; i < n; ++i) z[i] = x[i] - rho * y[i];
  if (J != nullptr) {
    const ProjectionDerivative d = projection_derivative(law, z);
    for (int i = 0; i < n * n; ++i) {
      J->X[i] = -d.P[i];
      J->Y[i] = rho * d.P[i];
    }
    for (int i = 0; i < n; ++i) J->X[i * n + i] += 1;
  }
  project(law, z, z);
  for (int i = 0; i < n; ++i) R[i] = x[i] - z[i];
}

}  // namespace

void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R) {
  if (law.is_exact()) {
    alart_curnier<false>(law, x, y, rho, R, nullptr);
  } else {
    natural_map(law, x, y, rho, R, nullptr);
  }
}

void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R,
                         BlockJacobian& J) {
  if (law.is_exact()) {
    alart_curnier<true>(law, x, y, rho, R, &J);
  } else {
    natural_map(law, x, y, rho, R, &J);
  }
}

}  // namespace orthant::internal
