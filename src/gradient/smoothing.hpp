// SPDX-License-Identifier: Apache-2.0
// gradient/smoothing.hpp: the laws on the central path, as fixed points λ = Π_κ(λ − τ w~).
//   w λ = κ  ⇔  λ = g(λ − τ w),  g(z) = (z + √(z² + 4τκ))/2;  a cone by its two eigenvalues, in the
//   scaled variables (μ λ_n, λ_t), (w_n/μ, w_t) that make it self-dual
// The same form as the exact law with a smooth projection, so everything else stays as it is. De
// Saxcé's shift becomes μ(√(|w_t|² + κ/τ) − √(κ/τ)).
#pragma once

#include "math/law_kernel.hpp"
#include "orthant/math/dual.hpp"

namespace orthant::internal {

template <class T>
T smooth_plus(const T& z, double four_tau_kappa) {
  using std::sqrt;
  const T root = sqrt(z * z + T(four_tau_kappa));
  // The other root keeps its digits where z is far below zero.
  if (value_of(z) < 0) return T(0.5 * four_tau_kappa) / (root - z);
  return (z + root) * T(0.5);
}

/// Π_κ(λ − τ w~) of one block; mu is an argument so that it can be differentiated by.
template <class T>
void smooth_projection(const Law& law, const T& mu, const T* lambda, const T* w, double tau,
                       double kappa, T* out) {
  using std::sqrt;
  const double c = 4 * tau * kappa;
  if (law.is_separable() || law.mu == 0) {
    for (int i = 0; i < law.dim; ++i) {
      const T z = lambda[i] - w[i] * T(tau);
      const bool plain = law.kind == LawKind::Orthant || (law.is_frictional() && i == 0);
      if (plain) {
        out[i] = smooth_plus(z, c);
      } else if (law.kind == LawKind::Box) {
        out[i] = T(law.lo) + smooth_plus(T(z - T(law.lo)), c) - smooth_plus(T(z - T(law.hi)), c);
      } else {
        out[i] = law.kind == LawKind::Free ? z : T(0);
      }
    }
    return;
  }
  const int n = law.dim - 1;
  T w_n = w[0];
  if (law.is_exact()) {
    T square(kappa / tau);
    for (int i = 1; i <= n; ++i) square += w[i] * w[i];
    w_n += mu * (sqrt(square) - T(std::sqrt(kappa / tau)));
  }
  const T z_n = mu * lambda[0] - w_n * T(tau) / mu;
  T z_t[2], square(0);
  for (int i = 0; i < n; ++i) {
    z_t[i] = lambda[1 + i] - w[1 + i] * T(tau);
    square += z_t[i] * z_t[i];
  }
  const T length = sqrt(square);
  const T high = smooth_plus(T(z_n + length), c), low = smooth_plus(T(z_n - length), c);
  out[0] = (high + low) * T(0.5) / mu;
  // g(z_n ± l) z_t/l; where l vanishes its slope, g'(z_n) z_t.
  const double size = std::abs(value_of(z_n)) + std::sqrt(c);
  const T slope = value_of(length) > 1e-9 * size ? (high - low) * T(0.5) / length
                                                 : T(0.5) + z_n * T(0.5) / sqrt(z_n * z_n + T(c));
  for (int i = 0; i < n; ++i) out[1 + i] = slope * z_t[i];
}

}  // namespace orthant::internal
