// SPDX-License-Identifier: Apache-2.0
// math/law.hpp: the laws between an impulse block lambda and its velocity block w, as values.
//
//   K* ∋ w~ ⊥ lambda ∈ K,   w~ = w + shift(w) e_n        (docs/notation.md, Laws)
//
// A law carries its data (friction, bounds), so the data can be differentiated by. Projections and
// their derivatives are in law_kernel.hpp.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

enum class LawKind : std::uint8_t {
  Zero,        ///< lambda = 0, w free: a row switched off
  Free,        ///< lambda free, w = 0: an equation
  Orthant,     ///< 0 <= lambda ⊥ w >= 0, entry by entry
  Box,         ///< lo <= lambda <= hi; w >= 0 where lambda = lo, w <= 0 where lambda = hi
  Soc,         ///< convex friction cone |lambda_t| <= mu lambda_n, its dual for w
  Coulomb,     ///< exact Coulomb friction: the same cone with De Saxcé's shift mu |w_t|
  RollingSoc,  ///< convex friction and rolling cone
  Rolling,     ///< exact friction and rolling: shift mu |w_T| + mu_r |w_R|
};

/// Rows of a block at most: a weld has 6, a rolling contact 5.
inline constexpr int kMaxLawDim = 6;

/// Law of one block. Entry order: normal, tangents, rolling torques.
struct Law {
  LawKind kind = LawKind::Zero;
  std::uint8_t dim = 1;  ///< rows of the block
  double mu = 0;         ///< friction [-]: Soc, Coulomb, RollingSoc, Rolling
  double mu_r = 0;       ///< rolling friction [m]: RollingSoc, Rolling
  double lo = -std::numeric_limits<double>::infinity();  ///< Box
  double hi = std::numeric_limits<double>::infinity();   ///< Box

  static Law zero(int dim = 1) { return {LawKind::Zero, narrow(dim)}; }
  static Law free(int dim = 1) { return {LawKind::Free, narrow(dim)}; }
  static Law orthant(int dim = 1) { return {LawKind::Orthant, narrow(dim)}; }
  static Law box(double lo, double hi) { return {LawKind::Box, 1, 0, 0, lo, hi}; }
  /// dim 2: planar contact (n, t); dim 3: spatial contact (n, t1, t2).
  static Law soc(int dim, double mu) { return {LawKind::Soc, narrow(dim), mu}; }
  static Law coulomb(int dim, double mu) { return {LawKind::Coulomb, narrow(dim), mu}; }
  /// dim 3: planar (n, t, torque); dim 5: spatial (n, t1, t2, torque1, torque2).
  static Law rolling_soc(int dim, double mu, double mu_r) {
    return {LawKind::RollingSoc, narrow(dim), mu, mu_r};
  }
  static Law rolling(int dim, double mu, double mu_r) {
    return {LawKind::Rolling, narrow(dim), mu, mu_r};
  }

  bool operator==(const Law&) const = default;

  /// Acts on each entry by itself (Zero, Free, Orthant, Box).
  bool is_separable() const { return kind <= LawKind::Box; }
  /// Has a normal and tangents coupled by a cone.
  bool is_frictional() const { return kind >= LawKind::Soc; }
  /// Carries De Saxcé's shift: not the optimality condition of a convex problem.
  bool is_exact() const { return kind == LawKind::Coulomb || kind == LawKind::Rolling; }
  bool has_rolling() const { return kind >= LawKind::RollingSoc; }
  int tangent_dim() const { return !is_frictional() ? 0 : has_rolling() ? (dim - 1) / 2 : dim - 1; }
  int rolling_dim() const { return has_rolling() ? (dim - 1) / 2 : 0; }

  /// The convex cone law with the same data: what is left when the shift is held fixed.
  Law convex() const {
    Law law = *this;
    if (kind == LawKind::Coulomb) law.kind = LawKind::Soc;
    if (kind == LawKind::Rolling) law.kind = LawKind::RollingSoc;
    return law;
  }

  static constexpr std::uint8_t narrow(int dim) { return static_cast<std::uint8_t>(dim); }
};

std::string_view name_of(LawKind kind);

/// Throws Error(where, …) unless dimension and data are allowed for the kind: mu, mu_r finite and
/// >= 0, lo <= hi and neither NaN.
void validate(const Law& law, std::string_view where);

}  // namespace orthant
