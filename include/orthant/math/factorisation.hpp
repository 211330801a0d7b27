// SPDX-License-Identifier: Apache-2.0
// math/factorisation.hpp: sparse direct solvers behind two small interfaces.
// The pattern is analysed once (ordering, elimination tree, memory); values are factorised many
// times without allocating. Which library does the work is private to math.
#pragma once

#include <memory>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace ORTHANT_EXPORT orthant {

enum class Ordering : std::uint8_t {
  Automatic,  ///< minimum degree when small, nested dissection when large
  MinimumDegree,
  NestedDissection,
  Natural,
};

/// A = L D Lᵀ for symmetric quasi-definite A, without pivoting. Reads the upper triangle.
class SparseLdlt {
 public:
  SparseLdlt();
  ~SparseLdlt();
  SparseLdlt(SparseLdlt&&) noexcept;
  SparseLdlt& operator=(SparseLdlt&&) noexcept;

  /// Symbolic part for the pattern of A.
  void analyze(const SparseMatrix& A, Ordering ordering = Ordering::Automatic);
  /// Numeric part; same pattern as analysed. `signs` (empty or one per row): the expected sign of
  /// each pivot; one of the wrong sign or below `pivot_floor` times its row's scale is replaced by
  /// sign * floor * scale and counted. Returns false if a pivot is zero or not finite.
  bool factorize(const SparseMatrix& A, const std::vector<signed char>& signs = {},
                 double pivot_floor = 0);
  void solve(const VecX& b, VecX& x) const;

  int replaced_pivots() const;
  double flops() const;           ///< multiply-adds of one factorisation
  std::int64_t nonzeros() const;  ///< of L

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// P A Pᵀ = L U for A with a (nearly) symmetric pattern and unsymmetric values whose diagonal can
/// bear it: no pivoting, dense panels. For large matrices several times faster than SparseLu; the
/// caller refines, and falls back to SparseLu where that does not help.
class SparsePanelLu {
 public:
  SparsePanelLu();
  ~SparsePanelLu();
  SparsePanelLu(SparsePanelLu&&) noexcept;
  SparsePanelLu& operator=(SparsePanelLu&&) noexcept;

  void analyze(const SparseMatrix& A, Ordering ordering = Ordering::Automatic);
  /// A pivot below `pivot_floor` times its row's scale is replaced and counted. False if one is
  /// zero or not finite.
  bool factorize(const SparseMatrix& A, double pivot_floor = 0);
  void solve(const VecX& b, VecX& x) const;
  void solve_transpose(const VecX& b, VecX& x) const;

  int replaced_pivots() const;
  double flops() const;           ///< multiply-adds of one factorisation
  std::int64_t nonzeros() const;  ///< of L

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// P A Q = L U for general square A.
class SparseLu {
 public:
  SparseLu();
  ~SparseLu();
  SparseLu(SparseLu&&) noexcept;
  SparseLu& operator=(SparseLu&&) noexcept;

  void analyze(const SparseMatrix& A);
  /// Full factorisation with pivoting. False when singular to working precision.
  bool factorize(const SparseMatrix& A);
  /// Numeric refactorisation with the pivots of the last factorize(); cheaper, less safe. Falls
  /// back to factorize() when the pivots have gone bad.
  bool refactorize(const SparseMatrix& A);
  void solve(const VecX& b, VecX& x) const;
  void solve_transpose(const VecX& b, VecX& x) const;

  /// Smallest over largest pivot of the last factorize(): a cheap estimate.
  double reciprocal_condition() const;
  double flops() const;
  std::int64_t nonzeros() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant
