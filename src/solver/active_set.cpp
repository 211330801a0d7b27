// SPDX-License-Identifier: Apache-2.0
// solver/active_set.cpp: (law, x, y) => the set of a block; the set => its equations.
#include "solver/active_set.hpp"

#include <algorithm>
#include <cmath>

#include "math/law_kernel.hpp"

namespace orthant::internal {
namespace {

BlockSet entries_of(const Law& law, const double* z) {
  BlockSet set;
  for (int i = 0; i < law.dim; ++i) {
    const bool lower = law.kind == LawKind::Zero || (law.kind == LawKind::Orthant && z[i] < 0) ||
                       (law.kind == LawKind::Box && (z[i] < law.lo || law.lo == law.hi));
    const bool upper = law.kind == LawKind::Box && z[i] > law.hi;
    set.entry[i] = lower ? EntrySet::AtLower : upper ? EntrySet::AtUpper : EntrySet::Inside;
  }
  return set;
}

/// x_n of the projection on a convex cone when the groups in `slides` are on the border.
double cone_normal(const ConeGroups& groups, const bool* slides, double zn, const double* length,
                   double* weight) {
  double numerator = zn, denominator = 1;
  for (int g = 0; g < 2; ++g) {
    if (!slides[g]) continue;
    numerator += groups.c[g] * length[g];
    denominator += groups.c[g] * groups.c[g];
  }
  *weight = 1 / denominator;
  return numerator / denominator;
}

}  // namespace

BlockSet block_set(const Law& law, const double* x, const double* y) {
  double z[kMaxLawDim] = {};
  for (int i = 0; i < law.dim; ++i) z[i] = x[i] - y[i];
  if (law.is_separable()) return entries_of(law, z);
  BlockSet set;
  const ConeGroups groups = groups_of(law);
  double length[2] = {0, 0};
  for (int g = 0, at = 1; g < 2; at += groups.size[g++]) {
    if (groups.size[g] > 0) length[g] = norm_of(z + at, groups.size[g]);
  }
  if (law.is_exact()) {
    set.pressed = z[0] > 0;
    for (int g = 0; g < 2; ++g) set.slides[g] = set.pressed && length[g] > groups.c[g] * z[0];
    return set;
  }
  const auto root = cone_root(z[0], length, groups.c);
  set.pressed = root.x > 0;
  for (int g = 0; g < 2; ++g) set.slides[g] = set.pressed && root.active[g];
  return set;
}

void set_residual(const Law& law, const BlockSet& set, const double* x, const double* y, double* R,
                  BlockJacobian* J) {
  const int n = law.dim;
  if (J != nullptr) {
    std::fill(J->X, J->X + n * n, 0.0);
    std::fill(J->Y, J->Y + n * n, 0.0);
  }
  const auto velocity = [&](int i) {  // y_i = 0
    R[i] = y[i];
    if (J != nullptr) J->Y[i * n + i] = 1;
  };
  const auto impulse = [&](int i, double value) {  // x_i = value
    R[i] = x[i] - value;
    if (J != nullptr) J->X[i * n + i] = 1;
  };
  if (law.is_separable()) {
    for (int i = 0; i < n; ++i) {
      const bool at_zero = law.kind != LawKind::Box;
      if (set.entry[i] == EntrySet::Inside) velocity(i);
      if (set.entry[i] == EntrySet::AtLower) impulse(i, at_zero ? 0.0 : law.lo);
      if (set.entry[i] == EntrySet::AtUpper) impulse(i, law.hi);
    }
    return;
  }
  if (!set.pressed) {
    for (int i = 0; i < n; ++i) impulse(i, 0.0);
    return;
  }
  const ConeGroups groups = groups_of(law);
  const int start[2] = {1, 1 + groups.size[0]};
  double z[kMaxLawDim] = {}, length[2] = {0, 0};
  for (int i = 0; i < n; ++i) z[i] = x[i] - y[i];
  for (int g = 0; g < 2; ++g) {
    if (groups.size[g] > 0) length[g] = norm_of(z + start[g], groups.size[g]);
  }
  // dn = derivative of the normal impulse a sliding group is bound to, by z.
  double xn = z[0], dn[kMaxLawDim] = {1};
  if (law.is_exact()) {
    velocity(0);
  } else {
    double weight = 1;
    xn = cone_normal(groups, set.slides, z[0], length, &weight);
    dn[0] = weight;
    for (int g = 0; g < 2; ++g) {
      for (int i = 0; set.slides[g] && length[g] > 0 && i < groups.size[g]; ++i)
        dn[start[g] + i] = weight * groups.c[g] * z[start[g] + i] / length[g];
    }
    impulse(0, xn);
    for (int j = 0; J != nullptr && j < n; ++j) {
      J->X[j] -= dn[j];
      J->Y[j] += dn[j];
    }
  }
  for (int g = 0; g < 2; ++g) {
    for (int i = 0; i < groups.size[g]; ++i) {
      const int row = start[g] + i;
      if (!set.slides[g]) {
        velocity(row);
        continue;
      }
      impulse(row, 0.0);
      if (!(length[g] > 0)) continue;
      const double t = z[row] / length[g];
      R[row] -= groups.c[g] * xn * t;
      for (int j = 0; J != nullptr && j < n; ++j) {
        double d = groups.c[g] * t * dn[j];
        const int other = j - start[g];
        if (other >= 0 && other < groups.size[g]) {
          d += groups.c[g] * xn / length[g] * ((i == other ? 1.0 : 0.0) - t * z[j] / length[g]);
        }
        J->X[row * n + j] -= d;
        J->Y[row * n + j] += d;
      }
    }
  }
}

void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R,
                         BlockJacobian* J) {
  const int n = law.dim;
  double step[kMaxLawDim] = {};
  for (int i = 0; i < n; ++i) step[i] = rho * y[i];
  set_residual(law, block_set(law, x, step), x, step, R, J);
  for (int i = 0; J != nullptr && i < n * n; ++i) J->Y[i] *= rho;
}

}  // namespace orthant::internal
