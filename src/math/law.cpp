// SPDX-License-Identifier: Apache-2.0
// math/law.cpp: names, checks and derivatives of the laws; see law_kernel.hpp for the formulas.
#include "orthant/math/law.hpp"

#include <cmath>
#include <string>

#include "math/law_kernel.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

std::string_view name_of(LawKind kind) {
  switch (kind) {
    case LawKind::Zero:
      return "Zero";
    case LawKind::Free:
      return "Free";
    case LawKind::Orthant:
      return "Orthant";
    case LawKind::Box:
      return "Box";
    case LawKind::Soc:
      return "Soc";
    case LawKind::Coulomb:
      return "Coulomb";
    case LawKind::RollingSoc:
      return "RollingSoc";
    case LawKind::Rolling:
      return "Rolling";
  }
  return "unknown";
}

void validate(const Law& law, std::string_view where) {
  const auto fail = [&](const std::string& what) {
    throw Error(where, std::string(name_of(law.kind)) + " law: " + what);
  };
  const auto coefficient = [&](const char* name, double value) {
    if (!(value >= 0) || std::isinf(value)) {
      fail(std::string(name) + " must be finite and >= 0, got " + to_text(value));
    }
  };
  if (law.dim < 1 || law.dim > kMaxLawDim) {
    fail("dimension must be 1.." + std::to_string(kMaxLawDim) + ", got " + std::to_string(law.dim));
  }
  if (law.is_frictional()) {
    coefficient("friction mu", law.mu);
    const bool allowed =
        law.has_rolling() ? law.dim == 3 || law.dim == 5 : law.dim == 2 || law.dim == 3;
    if (!allowed) {
      fail(std::string("dimension must be ") + (law.has_rolling() ? "3 or 5" : "2 or 3") +
           ", got " + std::to_string(law.dim));
    }
    if (law.has_rolling()) coefficient("rolling friction mu_r", law.mu_r);
  }
  if (law.kind == LawKind::Box && !(law.lo <= law.hi)) {
    fail("needs lo <= hi, got [" + to_text(law.lo) + ", " + to_text(law.hi) + "]");
  }
}

namespace {

/// Unit direction of a group and its length; a zero vector has direction 0.
double direction(const double* a, int n, double* unit) {
  const double length = norm_of(a, n);
  for (int i = 0; i < n; ++i) unit[i] = length > 0 ? a[i] / length : 0.0;
  return length;
}

void separable_derivative(const Law& law, const double* z, ProjectionDerivative& d) {
  bool any = false;
  for (int i = 0; i < law.dim; ++i) {
    bool follows = false;
    switch (law.kind) {
      case LawKind::Zero:
        follows = false;
        break;
      case LawKind::Free:
        follows = true;
        break;
      case LawKind::Orthant:
        follows = z[i] >= 0;
        break;
      default:
        follows = z[i] >= law.lo && z[i] <= law.hi && law.lo < law.hi;
        break;
    }
    d.P[i * law.dim + i] = follows ? 1.0 : 0.0;
    any = any || follows;
  }
  d.region = any ? ConeRegion::Stick : ConeRegion::Separate;
}

}  // namespace

ProjectionDerivative projection_derivative(const Law& law, const double* z) {
  ProjectionDerivative d{};
  if (law.is_separable()) {
    separable_derivative(law, z, d);
    return d;
  }
  const int n = law.dim;
  const ConeGroups groups = groups_of(law);
  const int start[2] = {1, 1 + groups.size[0]};
  double unit[kMaxLawDim] = {};
  double norm[2] = {0, 0};
  for (int g = 0; g < 2; ++g) norm[g] = direction(z + start[g], groups.size[g], unit + start[g]);

  const auto root = internal::cone_root(z[0], norm, groups.c);
  const bool clipped = root.active[0] || root.active[1];
  if (root.x <= 0 && (clipped || z[0] < 0)) {
    d.region = ConeRegion::Separate;  // Π = 0
    return d;
  }
  d.region = clipped ? ConeRegion::Slide : ConeRegion::Stick;

  // x = (z_n + Σ c_g |z_g|) / s over clipped groups; u = dx/dz.
  double s = 1;
  for (int g = 0; g < 2; ++g) s += root.active[g] ? groups.c[g] * groups.c[g] : 0.0;
  double u[kMaxLawDim] = {1 / s};
  for (int g = 0; g < 2; ++g) {
    if (!root.active[g]) continue;
    for (int i = 0; i < groups.size[g]; ++i) u[start[g] + i] = groups.c[g] * unit[start[g] + i] / s;
  }
  for (int j = 0; j < n; ++j) d.P[j] = u[j];
  for (int g = 0; g < 2; ++g) {
    // Without friction nothing follows z, be it 0.
    const double across = root.active[g]    ? groups.c[g] * root.x / norm[g]
                          : groups.c[g] > 0 ? 1.0
                                            : 0.0;
    for (int i = 0; i < groups.size[g]; ++i) {
      double* row = d.P + (start[g] + i) * n;
      row[start[g] + i] = across;
      if (!root.active[g]) continue;
      const double t = unit[start[g] + i];
      for (int j = 0; j < groups.size[g]; ++j) row[start[g] + j] -= across * t * unit[start[g] + j];
      for (int j = 0; j < n; ++j) row[j] += groups.c[g] * t * u[j];
    }
  }
  double* by[2] = {d.P_mu, d.P_mu_r};
  for (int g = 0; g < 2; ++g) {
    if (!root.active[g]) continue;
    const double dx = (norm[g] - 2 * groups.c[g] * root.x) / s;
    by[g][0] = dx;
    for (int o = 0; o < 2; ++o) {
      if (!root.active[o]) continue;
      const double along = groups.c[o] * dx + (o == g ? root.x : 0.0);
      for (int i = 0; i < groups.size[o]; ++i) by[g][start[o] + i] = along * unit[start[o] + i];
    }
  }
  return d;
}

ShiftDerivative shift_derivative(const Law& law, const double* w) {
  ShiftDerivative d{};
  if (!law.is_exact()) return d;
  const ConeGroups groups = groups_of(law);
  double unit[kMaxLawDim] = {};
  d.g = direction(w + 1, groups.size[0], unit + 1);
  d.g_r = direction(w + 1 + groups.size[0], groups.size[1], unit + 1 + groups.size[0]);
  for (int g = 0, at = 1; g < 2; ++g) {
    for (int i = 0; i < groups.size[g]; ++i, ++at) d.row[at] = groups.c[g] * unit[at];
  }
  return d;
}

}  // namespace orthant
