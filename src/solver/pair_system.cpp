// SPDX-License-Identifier: Apache-2.0
// solver/pair_system.cpp: rows of two bodies => their normal matrix in velocities, factorised.
#include "solver/pair_system.hpp"

#include <Eigen/OrderingMethods>
#include <algorithm>

namespace orthant::internal {

void PairSystem::build(const CanonicalProblem& p, const VecX& row_scale) {
  p_ = &p;
  copy_rows(row_scale);
  find_order();
}

void PairSystem::copy_rows(const VecX& row_scale) {
  entries_.clear();
  J_.clear();
  entry_begin_.assign(1, 0);
  for (Index c = 0; c < p_->block_count(); ++c) {
    for (Index i = 0; i < p_->D.dim(c); ++i) {
      const double s = row_scale[p_->D.row_begin(c) + i];
      const double* a = p_->D.values(c);
      for (const BlockRows::Entry& e : p_->D.entries(c)) {
        entries_.push_back({e.block, e.column, e.width, J_.size()});
        for (Index j = 0; j < e.width; ++j) J_.push_back(s * a[i * e.width + j]);
        a += static_cast<std::ptrdiff_t>(p_->D.dim(c)) * e.width;
      }
      entry_begin_.push_back(entries_.size());
    }
  }
}

/// Order of the bodies, pattern of the matrix, places of the rows' products in it.
void PairSystem::find_order() {
  links_.clear();
  for (Index i = 0; i < rows(); ++i)
    for (std::size_t e = entry_begin_[i]; e < entry_begin_[i + 1]; ++e)
      for (std::size_t f = e + 1; f < entry_begin_[i + 1]; ++f)
        links_.emplace_back(std::minmax(entries_[e].body, entries_[f].body));
  std::sort(links_.begin(), links_.end());
  links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  const Index bodies = p_->H.block_count();
  if (!analysed_ || links_ != known_links_ || static_cast<Index>(position_.size()) != bodies ||
      matrix_.rows() != p_->H.rows()) {
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
    column += p_->H.block_size(body);
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
  const Index n = p_->H.rows();
  Index nonzeros = 0;
  for (const auto& [column, row] : blocks)
    nonzeros += p_->H.block_size(body_at[column]) * p_->H.block_size(body_at[row]);
  matrix_ = SparseMatrix(n, n);
  matrix_.resizeNonZeros(nonzeros);
  Index* outer = matrix_.outerIndexPtr();
  Index* inner = matrix_.innerIndexPtr();
  Index filled = 0;
  for (std::size_t begin = 0; begin < blocks.size();) {
    std::size_t end = begin;
    while (end < blocks.size() && blocks[end].first == blocks[begin].first) ++end;
    const Index body = body_at[blocks[begin].first];
    for (Index c = 0; c < p_->H.block_size(body); ++c) {
      outer[at_[body] + c] = filled;
      for (std::size_t k = begin; k < end; ++k) {
        const Index other = body_at[blocks[k].second];
        for (Index r = 0; r < p_->H.block_size(other); ++r) inner[filled++] = at_[other] + r;
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
  for (Index i = 0; i < rows(); ++i) {
    for (std::size_t e = entry_begin_[i]; e < entry_begin_[i + 1]; ++e) {
      for (std::size_t f = e; f < entry_begin_[i + 1]; ++f) {
        const bool swap = position_[entries_[e].body] > position_[entries_[f].body];
        Place place;
        place.row_entry = static_cast<Index>(swap ? f : e);
        place.column_entry = static_cast<Index>(swap ? e : f);
        place.offset = offset_of(entries_[place.row_entry].body, entries_[place.column_entry].body);
        places_.push_back(place);
      }
    }
    place_begin_.push_back(places_.size());
  }
}

void PairSystem::multiply(const VecX& u, VecX& y) const {
  y.resize(rows());
  for (Index i = 0; i < rows(); ++i) {
    double s = 0;
    for (std::size_t e = entry_begin_[i]; e < entry_begin_[i + 1]; ++e) {
      const Entry& entry = entries_[e];
      for (Index c = 0; c < entry.width; ++c)
        s += J_[entry.value + static_cast<std::size_t>(c)] * u[entry.column + c];
    }
    y[i] = s;
  }
}

void PairSystem::add_transposed(const VecX& x, VecX& right) const {
  for (Index i = 0; i < rows(); ++i) {
    if (x[i] == 0) continue;
    for (std::size_t e = entry_begin_[i]; e < entry_begin_[i + 1]; ++e) {
      const Entry& entry = entries_[e];
      for (Index c = 0; c < entry.width; ++c)
        right[entry.column + c] += J_[entry.value + static_cast<std::size_t>(c)] * x[i];
    }
  }
}

bool PairSystem::factorize(const VecX& weight) {
  double* values = matrix_.valuePtr();
  const Index* outer = matrix_.outerIndexPtr();
  std::fill(values, values + matrix_.nonZeros(), 0.0);
  for (Index b = 0; b < p_->H.block_count(); ++b) {
    const Index n = p_->H.block_size(b), offset = offset_of(b, b);
    for (Index c = 0; c < n; ++c)
      for (Index r = 0; r < n; ++r)
        values[outer[at_[b] + c] + offset + r] = p_->H.block(b)[r * n + c];
  }
  for (Index i = 0; i < rows(); ++i) {
    if (weight[i] == 0) continue;
    for (std::size_t k = place_begin_[i]; k < place_begin_[i + 1]; ++k) {
      const Place& place = places_[k];
      const Entry &row = entries_[place.row_entry], &column = entries_[place.column_entry];
      for (Index c = 0; c < column.width; ++c) {
        const double s = weight[i] * J_[column.value + static_cast<std::size_t>(c)];
        double* out = values + outer[at_[column.body] + c] + place.offset;
        for (Index r = 0; r < row.width; ++r)
          out[r] += s * J_[row.value + static_cast<std::size_t>(r)];
      }
    }
  }
  return factor_.factorize(matrix_);
}

void PairSystem::solve(const VecX& right, VecX& d) {
  const VelocityMatrix& H = p_->H;
  permuted_.resize(right.size());
  for (Index b = 0; b < H.block_count(); ++b)
    permuted_.segment(at_[b], H.block_size(b)) = right.segment(H.block_begin(b), H.block_size(b));
  factor_.solve(permuted_, solved_);
  d.resize(right.size());
  for (Index b = 0; b < H.block_count(); ++b)
    d.segment(H.block_begin(b), H.block_size(b)) = solved_.segment(at_[b], H.block_size(b));
}

}  // namespace orthant::internal
