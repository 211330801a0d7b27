// SPDX-License-Identifier: Apache-2.0
// solver/pair_system.cpp: rows of two bodies => their normal matrix in velocities, factorised.
#include "solver/pair_system.hpp"

#include <Eigen/OrderingMethods>
#include <algorithm>

namespace orthant::internal {

void PairSystem::build(const VelocityMatrix& H, const ScaledRows& rows) {
  H_ = &H;
  rows_ = &rows;
  find_order();
}

/// Order of the bodies, pattern of the matrix, places of the rows' products in it.
void PairSystem::find_order() {
  links_.clear();
  for (Index i = 0; i < rows_->count(); ++i) {
    const auto entries = rows_->entries(i);
    for (std::size_t e = 0; e < entries.size(); ++e)
      for (std::size_t f = e + 1; f < entries.size(); ++f)
        links_.emplace_back(std::minmax(entries[e].block, entries[f].block));
  }
  std::sort(links_.begin(), links_.end());
  links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  const Index bodies = H_->block_count();
  if (!analysed_ || links_ != known_links_ || static_cast<Index>(position_.size()) != bodies ||
      matrix_.rows() != H_->rows()) {
    order_bodies(bodies);
    build_pattern(bodies);
    factor_.analyze(matrix_, Ordering::Natural);
    known_links_ = links_;
    analysed_ = true;
  }
  find_places();
}

void PairSystem::order_bodies(Index bodies) {
  std::vector<Eigen::Triplet<double>> pattern;
  pattern.reserve(2 * links_.size() + static_cast<std::size_t>(bodies));
  for (Index b = 0; b < bodies; ++b) pattern.emplace_back(b, b, 1.0);
  for (const auto& [a, b] : links_) {
    pattern.emplace_back(a, b, 1.0);
    pattern.emplace_back(b, a, 1.0);
  }
  SparseMatrix graph(bodies, bodies);
  graph.setFromTriplets(pattern.begin(), pattern.end());
  Eigen::AMDOrdering<Index>::PermutationType order;
  Eigen::AMDOrdering<Index>()(graph, order);
  position_.resize(static_cast<std::size_t>(bodies));
  at_.resize(static_cast<std::size_t>(bodies));
  Index column = 0;
  for (Index k = 0; k < bodies; ++k) {
    const Index body = order.indices()[k];
    position_[body] = k;
    at_[body] = column;
    column += H_->block_size(body);
  }
}

/// Upper triangle by columns; the squares on the diagonal are whole, so that all columns of a
/// body have the same rows.
void PairSystem::build_pattern(Index bodies) {
  std::vector<std::pair<Index, Index>> blocks;  // (column, row) as places in the order
  blocks.reserve(static_cast<std::size_t>(bodies) + links_.size());
  for (Index b = 0; b < bodies; ++b) blocks.emplace_back(position_[b], position_[b]);
  for (const auto& [a, b] : links_) {
    const auto [lo, hi] = std::minmax(position_[a], position_[b]);
    blocks.emplace_back(hi, lo);
  }
  std::sort(blocks.begin(), blocks.end());
  std::vector<Index> body_at(static_cast<std::size_t>(bodies));
  for (Index b = 0; b < bodies; ++b) body_at[position_[b]] = b;
  const Index n = H_->rows();
  Index nonzeros = 0;
  for (const auto& [column, row] : blocks)
    nonzeros += H_->block_size(body_at[column]) * H_->block_size(body_at[row]);
  matrix_ = SparseMatrix(n, n);
  matrix_.resizeNonZeros(nonzeros);
  Index* outer = matrix_.outerIndexPtr();
  Index* inner = matrix_.innerIndexPtr();
  Index filled = 0;
  for (std::size_t begin = 0; begin < blocks.size();) {
    std::size_t end = begin;
    while (end < blocks.size() && blocks[end].first == blocks[begin].first) ++end;
    const Index body = body_at[blocks[begin].first];
    for (Index c = 0; c < H_->block_size(body); ++c) {
      outer[at_[body] + c] = filled;
      for (std::size_t k = begin; k < end; ++k) {
        const Index other = body_at[blocks[k].second];
        for (Index r = 0; r < H_->block_size(other); ++r) inner[filled++] = at_[other] + r;
      }
    }
    begin = end;
  }
  outer[n] = filled;
}

/// Place of the block (row body, column body) within each column of the column body.
Index PairSystem::offset_of(Index row_body, Index column_body) const {
  const Index* inner = matrix_.innerIndexPtr();
  const Index begin = matrix_.outerIndexPtr()[at_[column_body]];
  const Index end = matrix_.outerIndexPtr()[at_[column_body] + 1];
  return static_cast<Index>(std::lower_bound(inner + begin, inner + end, at_[row_body]) -
                            (inner + begin));
}

void PairSystem::find_places() {
  places_.clear();
  place_begin_.assign(1, 0);
  for (Index i = 0; i < rows_->count(); ++i) {
    const auto entries = rows_->entries(i);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      for (std::size_t f = e; f < entries.size(); ++f) {
        const bool swap = position_[entries[e].block] > position_[entries[f].block];
        const std::size_t row = swap ? f : e, column = swap ? e : f;
        places_.push_back({static_cast<Index>(row), static_cast<Index>(column),
                           offset_of(entries[row].block, entries[column].block)});
      }
    }
    place_begin_.push_back(places_.size());
  }
}

bool PairSystem::factorize(const VecX& weight) {
  double* values = matrix_.valuePtr();
  const Index* outer = matrix_.outerIndexPtr();
  std::fill(values, values + matrix_.nonZeros(), 0.0);
  for (Index b = 0; b < H_->block_count(); ++b) {
    const Index n = H_->block_size(b), offset = offset_of(b, b);
    for (Index c = 0; c < n; ++c)
      for (Index r = 0; r < n; ++r)
        values[outer[at_[b] + c] + offset + r] = H_->block(b)[r * n + c];
  }
  for (Index i = 0; i < rows_->count(); ++i) {
    if (weight[i] == 0) continue;
    const auto entries = rows_->entries(i);
    for (std::size_t k = place_begin_[i]; k < place_begin_[i + 1]; ++k) {
      const Place& place = places_[k];
      const ScaledRows::Entry &row = entries[place.row], &column = entries[place.column];
      const double *a = rows_->value(row), *b = rows_->value(column);
      for (Index c = 0; c < column.width; ++c) {
        const double s = weight[i] * b[c];
        double* out = values + outer[at_[column.block] + c] + place.offset;
        for (Index r = 0; r < row.width; ++r) out[r] += s * a[r];
      }
    }
  }
  return factor_.factorize(matrix_);
}

void PairSystem::solve(const VecX& right, VecX& d) {
  const VelocityMatrix& H = *H_;
  permuted_.resize(right.size());
  for (Index b = 0; b < H.block_count(); ++b)
    permuted_.segment(at_[b], H.block_size(b)) = right.segment(H.block_begin(b), H.block_size(b));
  factor_.solve(permuted_, solved_);
  d.resize(right.size());
  for (Index b = 0; b < H.block_count(); ++b)
    d.segment(H.block_begin(b), H.block_size(b)) = solved_.segment(at_[b], H.block_size(b));
}

}  // namespace orthant::internal
