// SPDX-License-Identifier: Apache-2.0
// solver/scaled_rows.cpp: (problem, scale) => J, r. See the header.
#include "solver/scaled_rows.hpp"

namespace orthant::internal {

void ScaledRows::build(const CanonicalProblem& p, const ProblemScale& scale) {
  entries_.clear();
  J_.clear();
  begin_.assign(1, 0);
  scale_ = scale.tau.cwiseSqrt();
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    const Index dim = p.D.dim(c);
    for (Index i = 0; i < dim; ++i) {
      const double s = scale_[p.D.row_begin(c) + i];
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
  constant_ += p.b.cwiseProduct(scale_);
}

void ScaledRows::multiply(const VecX& u, VecX& y) const {
  y.resize(count());
  for (Index i = 0; i < count(); ++i) {
    double s = 0;
    for (const Entry& e : entries(i)) s += row_product(value(e), u.data() + e.column, e.width);
    y[i] = s;
  }
}

void ScaledRows::add_transposed(const VecX& x, VecX& right) const {
  for (Index i = 0; i < count(); ++i) {
    if (x[i] == 0) continue;
    for (const Entry& e : entries(i)) add_row(value(e), x[i], right.data() + e.column, e.width);
  }
}

void ScaledRows::weigh(const BlockRows& D, const VecX& weight, std::vector<double>& squares) const {
  squares.clear();
  for (Index c = 0; c < D.row_block_count(); ++c) {
    const Index dim = D.dim(c), at = D.row_begin(c);
    squares.resize(squares.size() + static_cast<std::size_t>(dim * dim), 0.0);
    double* square = squares.data() + squares.size() - dim * dim;
    for (Index i = 0; i < dim; ++i)
      square[i * dim + i] = scale_[at + i] * weight[at + i] * scale_[at + i];
  }
}

}  // namespace orthant::internal
