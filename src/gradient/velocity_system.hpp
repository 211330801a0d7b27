// SPDX-License-Identifier: Apache-2.0
// gradient/velocity_system.hpp: the derivative's linear system with impulses eliminated.
//   M dλ = r_λ − K dv,  ε dγ = r_γ − C dv   =>   (H + Dᵀ M⁻¹ K + CᵀC/ε) dv = …
//   M = I − P + ε,  K = τ P G D, everything scaled
// One small dense block a body instead of a row a contact: several times faster than an LU of the
// whole. The regularisation ε is what makes M invertible where contacts stick; the caller refines
// it away, and falls back to a general LU where that does not help. Private to the room.
#pragma once

#include <cstdint>
#include <vector>

#include "orthant/math/block_lu.hpp"
#include "orthant/problem/problem.hpp"

namespace orthant::internal {

/// One block of laws in scaled units: out of I − P and P G with τ.
struct ScaledLaw {
  double M[kMaxLawDim * kMaxLawDim];   // I − P, without ε
  double PG[kMaxLawDim * kMaxLawDim];  // as it is
  double root_tau[kMaxLawDim];         // √τ
};

class VelocitySystem {
 public:
  /// True where the problem has the form: H block-diagonal, F empty. Keeps a reference to it.
  static bool fits(const CanonicalProblem& problem);
  /// `velocity_scale`, `bilateral_scale`: what columns of v and rows of C are multiplied by.
  /// The laws are those of laws(), filled before.
  void set(const CanonicalProblem& problem, const VecX& velocity_scale, const VecX& bilateral_scale,
           double epsilon);
  std::vector<ScaledLaw>& laws() { return laws_; }
  /// Solves the scaled, regularised system or its transposed one; factorises at the first call for
  /// each. False where that fails.
  bool solve(const VecX& b, bool transposed, VecX& x);

 private:
  struct Factor {
    BlockLu lu;
    bool ready = false, good = false;
  };
  void build(bool transposed);
  /// y = D x of block c with scaled columns, or y += Dᵀ x.
  void rows_times(Index c, const VecX& x, double* y) const;
  void transpose_add(Index c, const double* x, VecX& y) const;

  const CanonicalProblem* p_ = nullptr;
  std::vector<ScaledLaw> laws_;
  std::vector<double> inverse_;  // (I − P + ε)⁻¹ of each block, kMaxLawDim² apart
  std::vector<Index> offset_;
  VecX scale_, bilateral_;
  double epsilon_ = 0;
  Factor forward_, backward_;
  BlockRows S_;
  std::vector<std::uint64_t> pattern_;  // (row, column) of its blocks
  VecX right_, v_, scaled_v_, eliminated_, joints_, spread_, rate_;
};

}  // namespace orthant::internal
