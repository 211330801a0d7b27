// SPDX-License-Identifier: Apache-2.0
// force/corotational_kernel.hpp: (rest gradients, node positions, E, ν) => energy, force, stiffness
// of one linear tetrahedron (D = 3) or triangle (D = 2).
//   F = Σ x_a g_aᵀ = R S,   ψ = μ |S − I|² + ½ λ tr(S − I)²,   P = R (2μ (S − I) + λ tr(S − I) I)
//   f_a = −V P g_a,   K_ab = V (λ r_a r_bᵀ + μ r_b r_aᵀ + μ (r_a·r_b) I),   r_a = R g_a
// With R from the polar decomposition f is exactly −∂(Vψ)/∂x: no ghost forces, momentum is kept.
// K leaves out the turning of R with x (the geometric stiffness): it is positive semi-definite for
// every x, so H = M + h²K + hB needs no clamping. Templates on the scalar, plain arrays, no heap.
#pragma once

#include <cmath>

#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"

namespace orthant {

/// Constant data of one element: gradients of its shape functions and its volume at rest [1/m, m³];
/// in the plane the area [m²].
template <int D>
struct ElementRestT {
  double gradient[D + 1][D];
  double volume;
};

template <class T>
struct LameT {
  T mu, lambda;
};

/// Lamé's constants. In the plane: plane stress, or plane strain where asked for.
template <class T>
LameT<T> lame(const T& young, const T& poisson, bool plane_stress) {
  const T mu = young / (T(2) * (T(1) + poisson));
  if (plane_stress) return {mu, young * poisson / (T(1) - poisson * poisson)};
  return {mu, young * poisson / ((T(1) + poisson) * (T(1) - T(2) * poisson))};
}

/// F_ij = Σ_a x_ai g_aj
template <int D, class T>
void deformation_gradient(const ElementRestT<D>& rest, const T (*x)[D], T (*F)[D]) {
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      F[i][j] = T(0);
      for (int a = 0; a <= D; ++a) F[i][j] += x[a][i] * rest.gradient[a][j];
    }
}

template <int D, class T>
T determinant(const T (*A)[D]) {
  if constexpr (D == 2) return A[0][0] * A[1][1] - A[0][1] * A[1][0];
  if constexpr (D == 3)
    return A[0][0] * (A[1][1] * A[2][2] - A[1][2] * A[2][1]) -
           A[0][1] * (A[1][0] * A[2][2] - A[1][2] * A[2][0]) +
           A[0][2] * (A[1][0] * A[2][1] - A[1][1] * A[2][0]);
}

namespace internal {
/// Rotation of an inverted or flattened F by its singular values: det R = +1, the smallest one
/// counted negative. Rare, so not inlined.
void polar_by_svd(const double (*F)[3], double (*R)[3]);
}  // namespace internal

/// R of F = R S, det R = +1. The iteration X ← ½ (X + X⁻ᵀ) converges quadratically from F.
inline void polar_rotation(const double (*F)[3], double (*R)[3]) {
  double X[3][3], C[3][3];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) X[i][j] = F[i][j];
  for (int round = 0; round < 20; ++round) {
    C[0][0] = X[1][1] * X[2][2] - X[1][2] * X[2][1];
    C[0][1] = X[1][2] * X[2][0] - X[1][0] * X[2][2];
    C[0][2] = X[1][0] * X[2][1] - X[1][1] * X[2][0];
    C[1][0] = X[2][1] * X[0][2] - X[2][2] * X[0][1];
    C[1][1] = X[2][2] * X[0][0] - X[2][0] * X[0][2];
    C[1][2] = X[2][0] * X[0][1] - X[2][1] * X[0][0];
    C[2][0] = X[0][1] * X[1][2] - X[0][2] * X[1][1];
    C[2][1] = X[0][2] * X[1][0] - X[0][0] * X[1][2];
    C[2][2] = X[0][0] * X[1][1] - X[0][1] * X[1][0];
    const double det = X[0][0] * C[0][0] + X[0][1] * C[0][1] + X[0][2] * C[0][2];
    double size = 0, cofactor = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        size += X[i][j] * X[i][j];
        cofactor += C[i][j] * C[i][j];
      }
    // A well-shaped element has det ~ |X|³/5; far below that the iteration would lose its digits.
    if (!(det > 1e-6 * size * std::sqrt(size))) break;
    // Scaled while far from a rotation, so that a strongly stretched element takes no longer.
    const double far = std::abs(size - 3) + std::abs(det - 1);
    const double scale = far > 0.1 ? std::sqrt(std::sqrt(cofactor / size) / det) : 1;
    const double p = 0.5 * scale, q = 0.5 / (scale * det);
    double change = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const double next = p * X[i][j] + q * C[i][j];
        change += (next - X[i][j]) * (next - X[i][j]);
        X[i][j] = next;
      }
    // The error after a step is the square of the change: this one was the last that matters.
    if (change < 1e-17) {
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) R[i][j] = X[i][j];
      return;
    }
  }
  internal::polar_by_svd(F, R);
}

/// In the plane in closed form: the angle of (F00 + F11, F10 − F01).
inline void polar_rotation(const double (*F)[2], double (*R)[2]) {
  const double c = F[0][0] + F[1][1], s = F[1][0] - F[0][1];
  const double n = std::sqrt(c * c + s * s);
  R[0][0] = R[1][1] = n > 0 ? c / n : 1;
  R[1][0] = n > 0 ? s / n : 0;
  R[0][1] = -R[1][0];
}

/// The same in any scalar: the value by iteration, its derivative from the condition that RᵀF is
/// symmetric, dR = R [w]× with (tr(S) I − S) w = vee(RᵀdF − dFᵀR).
template <int D, class T>
void polar_rotation_of(const T (*F)[D], T (*R)[D]) {
  double F0[D][D], R0[D][D];
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) F0[i][j] = value_of(F[i][j]);
  polar_rotation(F0, R0);
  T A[D][D];  // R0ᵀ F
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      A[i][j] = T(0);
      for (int k = 0; k < D; ++k) A[i][j] += R0[k][i] * F[k][j];
    }
  T W[D][D];  // I + [w]
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) W[i][j] = T(i == j ? 1.0 : 0.0);
  if constexpr (D == 2) {
    const T w = (A[1][0] - A[0][1]) / (value_of(A[0][0]) + value_of(A[1][1]));
    W[1][0] = w;
    W[0][1] = -w;
  } else {
    const T a[3] = {A[2][1] - A[1][2], A[0][2] - A[2][0], A[1][0] - A[0][1]};
    double G[3][3];
    const double trace = value_of(A[0][0]) + value_of(A[1][1]) + value_of(A[2][2]);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        G[i][j] = (i == j ? trace : 0) - 0.5 * (value_of(A[i][j]) + value_of(A[j][i]));
    const double det = determinant<3>(G);
    T w[3];
    for (int i = 0; i < 3; ++i) {
      w[i] = T(0);
      for (int j = 0; j < 3; ++j) {  // G⁻¹ = cofactors / det, G symmetric
        const int p = (i + 1) % 3, q = (i + 2) % 3, r = (j + 1) % 3, s = (j + 2) % 3;
        w[i] += a[j] * ((G[p][r] * G[q][s] - G[p][s] * G[q][r]) / det);
      }
    }
    W[2][1] = w[0], W[1][2] = -w[0];
    W[0][2] = w[1], W[2][0] = -w[1];
    W[1][0] = w[2], W[0][1] = -w[2];
  }
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      R[i][j] = T(0);
      for (int k = 0; k < D; ++k) R[i][j] += R0[i][k] * W[k][j];
    }
}

/// Plain doubles need no correction.
template <int D>
void polar_rotation_of(const double (*F)[D], double (*R)[D]) {
  polar_rotation(F, R);
}

/// What the strain of one element is: F = R S, E = S − I (symmetric), its trace, the energy.
template <int D, class T>
struct CorotatedT {
  T R[D][D];
  T strain[D][D];
  T trace;
};

template <int D, class T>
CorotatedT<D, T> corotate(const ElementRestT<D>& rest, const T (*x)[D]) {
  CorotatedT<D, T> c;
  T F[D][D];
  deformation_gradient<D>(rest, x, F);
  polar_rotation_of<D>(F, c.R);
  c.trace = T(0);
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      T s(0);
      for (int k = 0; k < D; ++k) s += c.R[k][i] * F[k][j];
      c.strain[i][j] = i == j ? T(s - T(1)) : s;
    }
  for (int i = 0; i < D; ++i) {
    c.trace += c.strain[i][i];
    for (int j = 0; j < i; ++j)
      c.strain[i][j] = c.strain[j][i] = T(0.5) * (c.strain[i][j] + c.strain[j][i]);
  }
  return c;
}

/// Stored energy of the element [J].
template <int D, class T>
T element_energy(const ElementRestT<D>& rest, const LameT<T>& lame, const T (*x)[D]) {
  const CorotatedT<D, T> c = corotate<D>(rest, x);
  T square(0);
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) square += c.strain[i][j] * c.strain[i][j];
  return rest.volume * (lame.mu * square + T(0.5) * lame.lambda * c.trace * c.trace);
}

/// Corotated (Biot) stress 2μ E + λ tr(E) I, symmetric, in the axes of the rest shape [Pa].
template <int D, class T>
void element_stress(const LameT<T>& lame, const CorotatedT<D, T>& c, T (*sigma)[D]) {
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      sigma[i][j] = T(2) * lame.mu * c.strain[i][j];
      if (i == j) sigma[i][j] += lame.lambda * c.trace;
    }
}

/// f_a += −V P g_a scaled: f[a][i] += factor · force.
template <int D, class T>
void add_element_force(const ElementRestT<D>& rest, const LameT<T>& lame, const CorotatedT<D, T>& c,
                       const T& factor, T (*f)[D]) {
  T sigma[D][D], P[D][D];
  element_stress<D>(lame, c, sigma);
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      P[i][j] = T(0);
      for (int k = 0; k < D; ++k) P[i][j] += c.R[i][k] * sigma[k][j];
    }
  const T scale = factor * T(-rest.volume);
  for (int a = 0; a <= D; ++a)
    for (int i = 0; i < D; ++i) {
      T sum(0);
      for (int j = 0; j < D; ++j) sum += P[i][j] * rest.gradient[a][j];
      f[a][i] += scale * sum;
    }
}

/// out_a += factor (K v)_a, without forming K: the linear law on the strain rate Rᵀ Σ v_a g_aᵀ.
template <int D, class T>
void add_element_stiffness_times(const ElementRestT<D>& rest, const LameT<T>& lame,
                                 const CorotatedT<D, T>& c, const T (*v)[D], const T& factor,
                                 T (*out)[D]) {
  T dF[D][D];
  deformation_gradient<D>(rest, v, dF);
  CorotatedT<D, T> rate;
  rate.trace = T(0);
  T A[D][D];
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      A[i][j] = T(0);
      for (int k = 0; k < D; ++k) A[i][j] += c.R[k][i] * dF[k][j];
      rate.R[i][j] = c.R[i][j];
    }
  for (int i = 0; i < D; ++i) {
    rate.trace += A[i][i];
    for (int j = 0; j < D; ++j) rate.strain[i][j] = T(0.5) * (A[i][j] + A[j][i]);
  }
  add_element_force<D>(rest, lame, rate, T(-factor), out);
}

/// out_a += (M v)_a. Lumped: ρV/(D+1) a node; consistent: ρV/((D+1)(D+2)) (1 + δ_ab).
template <int D, class T>
void add_element_momentum(const ElementRestT<D>& rest, const T& density, bool consistent,
                          const T (*v)[D], T (*out)[D]) {
  const T mass = density * T(rest.volume / (D + 1));
  for (int i = 0; i < D; ++i) {
    T sum(0);
    for (int a = 0; a <= D; ++a) sum += v[a][i];
    for (int a = 0; a <= D; ++a)
      out[a][i] += mass * (consistent ? T((v[a][i] + sum) * T(1.0 / (D + 2))) : v[a][i]);
  }
}

/// Share of one element in H v⁺ − k of the implicit step, linearised at x:
///   (M + h²K + hαM + hβK) v⁺ − M v − h f(x) − h²K v_at,   x = q + h v_at
/// and the gravity g. `v_next`, `v`, `v_at` by node.
template <class T>
struct FlexibleMaterialT {
  T young, poisson, density, damping_mass, damping_stiffness;
};

template <int D, class T>
void add_element_balance(const ElementRestT<D>& rest, const FlexibleMaterialT<T>& material,
                         bool plane_stress, bool consistent, const T (*x)[D], const T (*v)[D],
                         const T (*v_at)[D], const T (*v_next)[D], const T* gravity, const T& h,
                         T (*out)[D]) {
  const LameT<T> l = lame(material.young, material.poisson, plane_stress);
  const CorotatedT<D, T> c = corotate<D>(rest, x);
  add_element_force<D>(rest, l, c, T(-h), out);
  add_element_stiffness_times<D>(rest, l, c, v_next, T(h * h + h * material.damping_stiffness),
                                 out);
  add_element_stiffness_times<D>(rest, l, c, v_at, T(-(h * h)), out);
  const T mass = material.density * T(rest.volume / (D + 1));
  const T keep = T(1) + h * material.damping_mass;
  T gain[D + 1][D];
  for (int a = 0; a <= D; ++a)
    for (int i = 0; i < D; ++i) {
      gain[a][i] = keep * v_next[a][i] - v[a][i];
      out[a][i] -= mass * h * gravity[i];
    }
  add_element_momentum<D>(rest, material.density, consistent, gain, out);
}

}  // namespace orthant
