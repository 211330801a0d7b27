// SPDX-License-Identifier: Apache-2.0
// solver/one_contact_kernel.hpp: (W, q, mu) of one block => r with law(r, W r + q), exactly.
//
// Coulomb, 3D: open (r = 0) when q_n >= 0; else w_n = 0 and w_t = −s r_t, s >= 0, so that
//   (S + s I) r_t = −c,   r_n = −(q_n + W_nt r_t)/W_nn,   S = W_tt − W_tn W_nt/W_nn,   c likewise.
// Stick is s = 0. Slide is the root of φ(s) = |y| − (μ/W_nn) m, where y = adj(S + sI) c = a + s c
// and m = −q_n det(S + sI) + W_nt y: both sides of |r_t| = μ r_n times det(S + sI). φ > 0 at s = 0
// (else it sticks), φ → −∞: bracketed, so Newton with bisection always ends. W may be unsymmetric.
#pragma once

#include <cmath>
#include <limits>

#include "orthant/math/law.hpp"

namespace orthant {

enum class BlockState : std::uint8_t {
  Open,        ///< r = 0
  Stick,       ///< w = 0
  Slide,       ///< on the border of the cone (or box)
  Degenerate,  ///< no effective mass: nothing could be solved, r left at zero
};

namespace internal {

inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// φ(s) and its slope; see the top of the file.
struct SlideFunction {
  double a1, a2, c1, c2;  // y = a + s c
  double trace, det;      // of S
  double wn1, wn2;        // W_nt
  double minus_qn;        // > 0
  double k;               // μ/W_nn

  double determinant(double s) const { return (s + trace) * s + det; }
  struct Value {
    double phi, slope, noise;
  };
  Value at(double s) const {
    const double y1 = a1 + s * c1, y2 = a2 + s * c2;
    const double norm = std::sqrt(y1 * y1 + y2 * y2);
    const double push = minus_qn * determinant(s), lever = wn1 * y1 + wn2 * y2;
    Value v;
    v.phi = norm - k * (push + lever);
    const double norm_slope = norm > 0 ? (y1 * c1 + y2 * c2) / norm : std::sqrt(c1 * c1 + c2 * c2);
    v.slope = norm_slope - k * (minus_qn * (2 * s + trace) + wn1 * c1 + wn2 * c2);
    v.noise = 2 * kEpsilon * (norm + k * (push + std::abs(lever)));
    return v;
  }
};

/// Root of φ in (lo, ∞), φ(lo) > 0. `guess` may be anything; `scale` > 0 a size of s.
inline double slide_root(const SlideFunction& f, double lo, double guess, double scale) {
  double hi = std::numeric_limits<double>::infinity();
  double s = guess > lo && std::isfinite(guess) ? guess : lo + scale;
  // Newton or bisection; a thousand is never reached (53 halvings end a bracket), it only says
  // that no input, however strange, loops for ever.
  for (int i = 0; i < 1000; ++i) {
    const SlideFunction::Value v = f.at(s);
    if (std::abs(v.phi) <= v.noise) return s;
    (v.phi > 0 ? lo : hi) = s;
    double next = s - v.phi / v.slope;
    const bool bracketed = hi < std::numeric_limits<double>::infinity();
    if (!(next > lo && next < hi)) next = bracketed ? 0.5 * (lo + hi) : 2 * s + scale;
    if (std::abs(next - s) <= 2 * kEpsilon * next) return next;
    if (bracketed && hi - lo <= 2 * kEpsilon * hi) return next;
    s = next;
  }
  return s;
}

}  // namespace internal

/// 3D Coulomb friction; W 3 x 3 row-major, order (n, t1, t2). Returns r in the cone.
inline BlockState solve_coulomb3(const double* W, const double* q, double mu, double* r) {
  using internal::kEpsilon;
  r[0] = r[1] = r[2] = 0;
  if (!(q[0] < 0)) return BlockState::Open;
  const double wnn = W[0];
  if (!(wnn > 0)) return BlockState::Degenerate;
  const double inverse = 1 / wnn;
  if (mu == 0) {
    r[0] = -q[0] * inverse;
    return BlockState::Slide;
  }
  const double l1 = W[3] * inverse, l2 = W[6] * inverse;
  const double s11 = W[4] - l1 * W[1], s12 = W[5] - l1 * W[2];
  const double s21 = W[7] - l2 * W[1], s22 = W[8] - l2 * W[2];
  internal::SlideFunction f;
  f.c1 = q[1] - l1 * q[0];
  f.c2 = q[2] - l2 * q[0];
  f.a1 = s22 * f.c1 - s12 * f.c2;
  f.a2 = s11 * f.c2 - s21 * f.c1;
  f.trace = s11 + s22;
  f.det = s11 * s22 - s12 * s21;
  f.wn1 = W[1];
  f.wn2 = W[2];
  f.minus_qn = -q[0];
  f.k = mu * inverse;
  // The smallest s at which S + sI is safely invertible; zero unless the block is semidefinite.
  const double size = std::abs(s11) + std::abs(s22) + std::abs(s12) + std::abs(s21);
  double s = 0;
  if (!(f.det > 16 * kEpsilon * size * size && f.trace > 0)) {
    const double gap = f.trace * f.trace - 4 * f.det;
    const double root = gap > 0 ? 0.5 * (std::sqrt(gap) - f.trace) : -0.5 * f.trace;
    s = (root > 0 ? root : 0) + 64 * kEpsilon * (size + wnn);
  }
  const internal::SlideFunction::Value start = f.at(s);
  const bool stick = start.phi <= 0;
  if (!stick) {
    // Exact for an isotropic block without coupling.
    const double guess = std::sqrt(f.c1 * f.c1 + f.c2 * f.c2) / (f.k * f.minus_qn) - 0.5 * f.trace;
    s = internal::slide_root(f, s, guess, 0.5 * size + kEpsilon * wnn);
  }
  const double scale = -1 / f.determinant(s);
  r[1] = (f.a1 + s * f.c1) * scale;
  r[2] = (f.a2 + s * f.c2) * scale;
  r[0] = -(q[0] + W[1] * r[1] + W[2] * r[2]) * inverse;
  if (stick) return BlockState::Stick;
  // Exactly on the cone: the root is exact only to rounding.
  const double tangent = std::sqrt(r[1] * r[1] + r[2] * r[2]);
  const double shrink = tangent > 0 ? mu * r[0] / tangent : 0;
  r[1] *= shrink;
  r[2] *= shrink;
  return BlockState::Slide;
}

/// Planar Coulomb friction; W 2 x 2 row-major, order (n, t). φ is linear in s: closed form.
inline BlockState solve_coulomb2(const double* W, const double* q, double mu, double* r) {
  r[0] = r[1] = 0;
  if (!(q[0] < 0)) return BlockState::Open;
  const double wnn = W[0];
  if (!(wnn > 0)) return BlockState::Degenerate;
  const double inverse = 1 / wnn;
  const double S = W[3] - W[2] * W[1] * inverse, c = q[1] - W[2] * q[0] * inverse;
  if (c == 0) {
    r[0] = -q[0] * inverse;
    return BlockState::Stick;
  }
  if (S > 4 * internal::kEpsilon * std::abs(W[3])) {
    const double t = -c / S, n = -(q[0] + W[1] * t) * inverse;
    if (std::abs(t) <= mu * n) {
      r[0] = n;
      r[1] = t;
      return BlockState::Stick;
    }
  }
  // W_nn r_n + W_nt r_t = −q_n with r_t = −sign(c) μ r_n; the pivot is positive whenever a
  // positive s exists.
  const double side = c > 0 ? -mu : mu;
  const double pivot = wnn + side * W[1];
  if (!(pivot > 0)) return BlockState::Degenerate;
  r[0] = -q[0] / pivot;
  r[1] = side * r[0];
  return BlockState::Slide;
}

/// One entry of a separable law.
inline BlockState solve_entry(const Law& law, double W, double q, double* r) {
  switch (law.kind) {
    case LawKind::Zero:
      *r = 0;
      return BlockState::Open;
    case LawKind::Free:
      if (W == 0) return BlockState::Degenerate;
      *r = -q / W;
      return BlockState::Stick;
    case LawKind::Orthant:
      if (!(q < 0)) {
        *r = 0;
        return BlockState::Open;
      }
      if (!(W > 0)) return BlockState::Degenerate;
      *r = -q / W;
      return BlockState::Stick;
    default:
      break;
  }
  const double unbounded = W > 0 ? -q / W : q > 0 ? law.lo : q < 0 ? law.hi : *r;
  const double bounded = unbounded < law.lo ? law.lo : unbounded > law.hi ? law.hi : unbounded;
  if (!std::isfinite(bounded)) return BlockState::Degenerate;
  *r = bounded;
  return bounded == unbounded ? BlockState::Stick : BlockState::Slide;
}

/// Laws without a kernel above; see solve_one_block().
BlockState solve_other_block(const Law& law, const double* W, const double* q, double* r);

/// Any law, any dimension up to kMaxLawDim (separable laws entry by entry, each seeing the entries
/// before it). r goes in as the start of those laws that need an iteration (convex cone in 3D,
/// rolling).
inline BlockState solve_one_block(const Law& law, const double* W, const double* q, double* r) {
  if (law.dim == 1 && law.is_separable()) return solve_entry(law, W[0], q[0], r);
  if (law.kind == LawKind::Coulomb && law.dim == 3) return solve_coulomb3(W, q, law.mu, r);
  if (law.kind == LawKind::Coulomb && law.dim == 2) return solve_coulomb2(W, q, law.mu, r);
  return solve_other_block(law, W, q, r);
}

}  // namespace orthant
