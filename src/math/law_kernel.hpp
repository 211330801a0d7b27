// SPDX-License-Identifier: Apache-2.0
// math/law_kernel.hpp: (law, z) => projection on K, its derivative; (law, w) => De Saxcé shift.
//
// All friction cones are one: normal z_n and up to two tangential groups, each with its own
// coefficient c_g (friction, rolling):  K = { |λ_g| <= c_g λ_n for every group }.
//   Π(z): λ_n = x >= 0 the root of  x - z_n - Σ_active c_g (|z_g| - c_g x) = 0,
//         λ_g = z_g, or c_g x z_g/|z_g| where |z_g| > c_g x ("active").
// Piecewise linear in x with at most two breakpoints, so solved exactly by cases.
#pragma once

#include <cmath>

#include "orthant/math/dual.hpp"
#include "orthant/math/law.hpp"

namespace orthant {

/// What the projection found; the rows of the cone table in docs/notation.md.
enum class ConeRegion : std::uint8_t { Stick, Separate, Slide };

/// The groups of a frictional law: coefficient and size of tangent and rolling part.
struct ConeGroups {
  double c[2];
  int size[2];
};
inline ConeGroups groups_of(const Law& law) {
  return {{law.mu, law.mu_r}, {law.tangent_dim(), law.rolling_dim()}};
}

template <class T>
T norm_of(const T* a, int n) {
  using std::abs;
  using std::sqrt;
  if (n == 1) return abs(a[0]);
  T s(0);
  for (int i = 0; i < n; ++i) s += a[i] * a[i];
  return sqrt(s);
}

namespace internal {

/// λ_n of the projection on a friction cone and which groups are clipped.
template <class T>
struct ConeRoot {
  T x{};
  bool active[2] = {false, false};
};

template <class T>
ConeRoot<T> cone_root(const T& zn, const T norm[2], const T c[2]) {
  // Start with no group clipped; clip the most violated one until none is violated. Clipping
  // raises x, so with two groups this ends after at most two rounds, and an unclipped group stays
  // consistent because its violation only shrinks as x grows.
  ConeRoot<T> r;
  r.x = max_of(zn, T(0));
  for (int round = 0; round < 2; ++round) {
    int worst = -1;
    T violation(0);
    for (int g = 0; g < 2; ++g) {
      // Ratio |z_g|/c_g is the x at which group g stops being clipped; the largest clips first.
      if (r.active[g] || !(norm[g] > c[g] * r.x)) continue;
      const T excess = c[g] > T(0) ? norm[g] / c[g] - r.x : norm[g];
      if (worst < 0 || violation < excess) worst = g, violation = excess;
    }
    if (worst < 0) break;
    r.active[worst] = true;
    T numerator = zn, denominator(1);
    for (int g = 0; g < 2; ++g) {
      if (!r.active[g]) continue;
      numerator += c[g] * norm[g];
      denominator += c[g] * c[g];
    }
    r.x = max_of(numerator / denominator, T(0));
  }
  return r;
}

}  // namespace internal

/// Π_K(z), K the set of the law. `z` and `out` may be the same array. `Data` is double, or a dual
/// when one differentiates by friction.
template <class T>
void project(const Law& law, const T* z, T* out) {
  switch (law.kind) {
    case LawKind::Zero:
      for (int i = 0; i < law.dim; ++i) out[i] = T(0);
      return;
    case LawKind::Free:
      for (int i = 0; i < law.dim; ++i) out[i] = z[i];
      return;
    case LawKind::Orthant:
      for (int i = 0; i < law.dim; ++i) out[i] = max_of(z[i], T(0));
      return;
    case LawKind::Box:
      for (int i = 0; i < law.dim; ++i) out[i] = min_of(max_of(z[i], T(law.lo)), T(law.hi));
      return;
    default:
      break;
  }
  const ConeGroups groups = groups_of(law);
  const int start[2] = {1, 1 + groups.size[0]};
  const T c[2] = {T(groups.c[0]), T(groups.c[1])};
  T norm[2] = {T(0), T(0)};
  for (int g = 0; g < 2; ++g) {
    if (groups.size[g] > 0) norm[g] = norm_of(z + start[g], groups.size[g]);
  }
  const auto root = internal::cone_root(z[0], norm, c);
  out[0] = root.x;
  for (int g = 0; g < 2; ++g) {
    const T scale = root.active[g] ? c[g] * root.x / norm[g] : T(1);
    for (int i = 0; i < groups.size[g]; ++i) out[start[g] + i] = scale * z[start[g] + i];
  }
}

/// Π_{K*}(w), K* the dual cone of the law's K, by Moreau: Π_{K*}(w) = w + Π_K(-w). For a Box it is
/// the projection on the dual of its recession cone.
template <class T>
void project_dual(const Law& law, const T* w, T* out) {
  T negative[kMaxLawDim], projected[kMaxLawDim];
  if (law.kind == LawKind::Box) {
    for (int i = 0; i < law.dim; ++i) {
      const bool up = std::isinf(law.hi), down = std::isinf(law.lo);
      out[i] = up && down ? T(0) : up ? max_of(w[i], T(0)) : down ? min_of(w[i], T(0)) : w[i];
    }
    return;
  }
  if (law.is_separable()) {
    for (int i = 0; i < law.dim; ++i) {
      out[i] = law.kind == LawKind::Zero   ? w[i]
               : law.kind == LawKind::Free ? T(0)
                                           : max_of(w[i], T(0));
    }
    return;
  }
  for (int i = 0; i < law.dim; ++i) negative[i] = -w[i];
  project(law, negative, projected);
  for (int i = 0; i < law.dim; ++i) out[i] = w[i] + projected[i];
}

/// De Saxcé's shift of the normal entry: mu |w_T| + mu_r |w_R| for exact laws, 0 for convex ones.
template <class T>
T shift_of(const Law& law, const T* w) {
  if (!law.is_exact()) return T(0);
  const int nt = law.tangent_dim(), nr = law.rolling_dim();
  T s = T(law.mu) * norm_of(w + 1, nt);
  if (nr > 0) s += T(law.mu_r) * norm_of(w + 1 + nt, nr);
  return s;
}

/// An element of the generalised Jacobian of Π_K at z, and the derivative by the law's data.
/// Everything row-major. On the border between regions: the side the comparison falls on, Stick
/// before Slide before Separate.
struct ProjectionDerivative {
  double P[kMaxLawDim * kMaxLawDim];  ///< dΠ/dz, dim x dim, symmetric
  double P_mu[kMaxLawDim];            ///< dΠ/dmu
  double P_mu_r[kMaxLawDim];          ///< dΠ/dmu_r
  ConeRegion region;                  ///< for separable laws: Stick = follows z, Separate = clamped
};
ProjectionDerivative projection_derivative(const Law& law, const double* z);

/// d w~ = G dw + g dmu + g_r dmu_r for w~ = w + shift(w) e_n. Only row n differs from the identity;
/// at w_T = 0 the direction is taken as 0 (exact when sticking, of no effect when separating).
struct ShiftDerivative {
  double row[kMaxLawDim];  ///< first row of G minus the identity: (0, mu s_T, mu_r s_R)
  double g;                ///< |w_T|
  double g_r;              ///< |w_R|
};
ShiftDerivative shift_derivative(const Law& law, const double* w);

}  // namespace orthant
