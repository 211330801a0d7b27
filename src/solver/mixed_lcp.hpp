// SPDX-License-Identifier: Apache-2.0
// solver/mixed_lcp.hpp: local problem with separable or planar Coulomb laws => dense mixed LCP.
//
//   s = M z + q;   s = 0, z free (equation)   or   0 ≤ z ⊥ s ≥ 0 (pair)
//
// in variables scaled to unit effective mass and then equilibrated (rows and columns apart: a
// positive multiple of z or s changes nothing), since circuits mix 1e-10 with 1e5. A box [lo, hi]
// is λ = lo + z with a second pair (y, hi − lo − z) whose y is the negative part of w. Planar
// Coulomb is the same with the bounds ∓μλ_n: pairs (w_n, λ_n), (w_t⁺, λ_t + μλ_n), (μλ_n − λ_t,
// w_t⁻).
#pragma once

#include <cstdint>
#include <vector>

#include "orthant/problem/residual.hpp"

namespace orthant {

struct MixedLcp {
  MatX M;
  VecX q;
  std::vector<std::uint8_t> is_free;  ///< one a variable

  Index size() const { return static_cast<Index>(q.size()); }
  Index pair_count = 0;

  static bool accepts(const Law& law) {
    return law.is_separable() || (law.kind == LawKind::Coulomb && law.dim == 2);
  }
  /// Complementary pairs that the law becomes.
  static int pairs_of(const Law& law);

  void build(const CanonicalProblem& p, const ProblemScale& scale);
  /// λ of the original problem from z.
  void impulse_of(const VecX& z, VecX& lambda) const;

 private:
  /// λ += factor z on one row; the slack is factor w of the row, plus what `direct` adds.
  struct Variable {
    Index row[2] = {-1, -1};
    double factor[2] = {0, 0};
    Index slack_row = -1;
    double slack_factor = 0;
  };
  struct Direct {
    Index slack, variable;
    double value;
  };
  void add_equation(Index row, double sigma);
  void add_bounds(const Law& law, Index row, double sigma);
  void add_planar(const Law& law, Index row, double sigma_n, double sigma_t);
  void equilibrate();
  Index add(const Variable& variable, bool free, double constant);

  std::vector<Variable> variables_;
  std::vector<Direct> direct_;
  std::vector<double> constants_;
  VecX shift_;  // λ at z = 0
  MatX N_;
  VecX velocity_;
  VecX column_scale_, row_step_, column_step_;
};

}  // namespace orthant
