// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/kkt_factor.hpp: the Newton matrix K => its factor, by the cheapest solver
// that its structure allows.
//
//   K = [ H −Cᵀ −Dᵀ ; C 0 0 ; D 0 F + E ]
//
// Symmetric H, F and E: the rows below H are negated, which makes the matrix symmetric and quasi-
// definite: LDLᵀ. A fill-reducing order over all unknowns is free to eliminate bodies first (the
// contact space), contacts first (the body space) or any mixture, whichever fills in least.
// Unsymmetric: LU in panels when large; LU with pivoting when small, and whenever refinement shows
// that the others have lost too many digits.
#pragma once

#include <vector>

#include "orthant/math/factorisation.hpp"
#include "orthant/solver/interior_point.hpp"

namespace orthant::interior_point {

class KktFactor {
 public:
  /// `primal`: rows of H, which come first. The analysis of an identical pattern is kept.
  void analyze(const SparseMatrix& K, Index primal, bool symmetric,
               const InteriorPointSettings& settings);
  bool factorize(const SparseMatrix& K);
  void solve(const VecX& rhs, VecX& x);
  /// Gives up the fast factor: factorises the same K with pivoting. False when it already was, or K
  /// is large.
  bool pivot_instead(const SparseMatrix& K);

  double flops() const { return flops_; }
  double nonzeros() const { return nonzeros_; }

 private:
  enum class Kind : std::uint8_t { Ldlt, PanelLu, PivotedLu };
  void analyze_as(Kind kind, const SparseMatrix& K);
  void collect_upper(const SparseMatrix& K);

  InteriorPointSettings settings_;
  Kind wanted_ = Kind::PivotedLu, kind_ = Kind::PivotedLu;
  Index primal_ = 0;
  std::vector<Index> outer_, inner_;  // pattern analysed last
  bool analysed_[3] = {false, false, false};
  SparseMatrix upper_;
  std::vector<Index> source_;  // entry of upper_ → entry of K
  std::vector<signed char> signs_;
  SparseLdlt ldlt_;
  SparsePanelLu panel_;
  SparseLu pivoted_;
  VecX flipped_;
  double flops_ = 0, nonzeros_ = 0;
};

}  // namespace orthant::interior_point
