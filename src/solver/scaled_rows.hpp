// SPDX-License-Identifier: Apache-2.0
// solver/scaled_rows.hpp: orthant rows of a problem in velocity blocks => rows scaled by the
// judge's step, one by one, in an order of their own.
//
//   J = S D,   r = S (D v_free + b),   S² = τ:   N = J H⁻¹ Jᵀ has a unit diagonal,   λ = S x
#pragma once

#include <span>
#include <vector>

#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant::internal {

class ScaledRows {
 public:
  struct Entry {  ///< of a row: `width` values from value(), of the velocities from `column` on
    Index block, column, width;
    std::size_t at;
  };

  /// `blocks`: the row blocks of D in the order wanted.
  void build(const CanonicalProblem& p, const ProblemScale& scale, std::span<const Index> blocks);

  Index count() const { return static_cast<Index>(begin_.size()) - 1; }
  Index row_of(Index i) const { return row_of_[i]; }  ///< in the problem
  std::span<const Entry> entries(Index i) const {
    return {entries_.data() + begin_[i], begin_[i + 1] - begin_[i]};
  }
  std::span<const Entry> all_entries() const { return entries_; }
  const double* value(const Entry& entry) const { return J_.data() + entry.at; }
  std::size_t value_count() const { return J_.size(); }
  const VecX& scale() const { return scale_; }        ///< S
  const VecX& constant() const { return constant_; }  ///< r: the gradient at λ = 0

  void multiply(const VecX& u, VecX& y) const;  ///< y = J u

 private:
  std::vector<Entry> entries_;
  std::vector<std::size_t> begin_ = {0};  // of each row in entries_
  std::vector<Index> row_of_;
  std::vector<double> J_;
  VecX scale_, constant_;
};

/// a·u of `width` numbers; the widths of bodies in space and in the plane are unrolled.
inline double row_product(const double* a, const double* u, Index width) {
  double s = 0;
  if (width == 6)
    for (int c = 0; c < 6; ++c) s += a[c] * u[c];
  else if (width == 3)
    for (int c = 0; c < 3; ++c) s += a[c] * u[c];
  else
    for (Index c = 0; c < width; ++c) s += a[c] * u[c];
  return s;
}

/// u += x a
inline void add_row(const double* a, double x, double* u, Index width) {
  if (width == 6)
    for (int c = 0; c < 6; ++c) u[c] += a[c] * x;
  else if (width == 3)
    for (int c = 0; c < 3; ++c) u[c] += a[c] * x;
  else
    for (Index c = 0; c < width; ++c) u[c] += a[c] * x;
}

}  // namespace orthant::internal
