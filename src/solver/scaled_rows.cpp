// SPDX-License-Identifier: Apache-2.0
// solver/scaled_rows.cpp: (problem, scale) => J, r. See the header.
#include "solver/scaled_rows.hpp"

#include <cmath>

namespace orthant::internal {

void ScaledRows::build(const CanonicalProblem& p, const ProblemScale& scale,
                       std::span<const Index> blocks) {
  entries_.clear();
  J_.clear();
  begin_.assign(1, 0);
  row_of_.clear();
  scale_.resize(p.row_count());
  for (const Index c : blocks) {
    const Index dim = p.D.dim(c);
    for (Index i = 0; i < dim; ++i) {
      const Index row = p.D.row_begin(c) + i;
      const double s = scale_[count()] = std::sqrt(scale.tau[row]);
      row_of_.push_back(row);
      const double* a = p.D.values(c);
      for (const BlockRows::Entry& e : p.D.entries(c)) {
        entries_.push_back({e.block, e.column, e.width, J_.size()});
        for (Index j = 0; j < e.width; ++j) J_.push_back(s * a[i * e.width + j]);
        a += static_cast<std::ptrdiff_t>(dim) * e.width;
      }
      begin_.push_back(entries_.size());
    }
  }
  multiply(scale.v_free, constant_);
  for (Index i = 0; i < count(); ++i) constant_[i] += p.b[row_of_[i]] * scale_[i];
}

void ScaledRows::multiply(const VecX& u, VecX& y) const {
  y.resize(count());
  for (Index i = 0; i < count(); ++i) {
    double s = 0;
    for (const Entry& e : entries(i)) s += row_product(value(e), u.data() + e.column, e.width);
    y[i] = s;
  }
}

}  // namespace orthant::internal
