// SPDX-License-Identifier: Apache-2.0
// gradient/velocity_system.hpp: the derivative's linear system with impulses eliminated.
//   [ H   −Cᵀ  −Dᵀ  ] [dv]   [r_v]   M = I − P + PG F + ε:  dλ = M⁻¹(r_λ − PG D dv)
//   [ C    ε    0   ] [dγ] = [r_γ]   =>                   dγ = (r_γ − C dv)/ε
//   [ PG D  0   M   ] [dλ]   [r_λ]        (H + Dᵀ M⁻¹PG D + CᵀC/ε) dv = …
// Rows and columns are scaled: H, C and D are kept as √-effective-mass multiples, so that τ is
// gone. One small dense block per body instead of a row per contact: several times faster than an
// LU of the whole. The regularisation ε is what makes M invertible where contacts stick; the caller
// refines it away, and falls back to a general LU where that does not help. Private to the room.
#pragma once

#include <vector>

#include "math/block_lu.hpp"
#include "orthant/problem/problem.hpp"

namespace orthant::internal {

/// P and PG of one block of laws, row-major.
struct LawMatrices {
  const double *P, *PG;
};

class VelocitySystem {
 public:
  /// True where the problem has the form: H block-diagonal, or sparse with few blocks (springs
  /// between some bodies), no two blocks coupled by F. Keeps a reference to it.
  static bool fits(const CanonicalProblem& problem);
  /// Begins anew. `scale`: what v, the rows of C and those of D are multiplied by (all three, one
  /// after another).
  void begin(const CanonicalProblem& problem, const VecX& scale, double epsilon);
  /// A law per block follows with add_law().
  void begin_laws();
  void add_law(const LawMatrices& law, Index size);
  /// Solves the scaled, regularised system or its transposed one; factorises at the first call for
  /// each. False where that fails.
  bool solve(const VecX& b, bool transposed, VecX& x);
  /// Forwards with many right-hand sides, `columns` numbers per row of b and x; solve_many() has
  /// the regularisation, apply_many() not.
  bool solve_many(const double* b, double* x, Index columns);
  void apply_many(const double* x, double* y, Index columns) const;
  /// y = A x or Aᵀ x, scaled, without the regularisation.
  void apply(const VecX& x, bool transposed, VecX& y) const;

 private:
  /// One block of laws: M⁻¹, M⁻¹PG, PG, I − P + PG F.
  struct ScaledLaw {
    double inverse[kMaxLawDim * kMaxLawDim];
    double middle[kMaxLawDim * kMaxLawDim];
    double PG[kMaxLawDim * kMaxLawDim];
    double rest[kMaxLawDim * kMaxLawDim];
    Index row, dim;  // first row of λ, how many
    bool open;       // P = 0: takes no part in the velocities
  };
  struct Factor {
    BlockLu lu;
    bool ready = false, good = false;
  };
  void set_H(const double* scale);
  void find_pattern();
  void build(bool transposed);
  bool factorise(bool transposed);  ///< once

  const CanonicalProblem* p_ = nullptr;
  std::vector<ScaledLaw> laws_;
  BlockRows H_;                            // scaled
  std::vector<double> C_, D_;              // scaled, in the order of the problem's own values
  const double* impulse_scale_ = nullptr;  // of the rows of D; the caller's
  double epsilon_ = 0;
  Factor forward_, backward_;
  // S, the matrix of the velocities, and where each pair of entries of a row block (of C, then of
  // D) is added to it. Kept while rows and bodies stay the same ones.
  BlockRows S_;
  std::vector<Index> key_, seen_;     // which blocks the rows have
  std::vector<std::size_t> place_;    // of pairs of entries
  std::vector<std::size_t> H_place_;  // of the entries of H, each followed by that across
  VecX right_, v_;
  mutable std::vector<double> many_;  // one law's rates
};

}  // namespace orthant::internal
