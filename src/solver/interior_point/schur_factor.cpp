// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/schur_factor.cpp: K => S = A + Dᵀ E⁻¹ D and its factor. See the header.
#include "solver/interior_point/schur_factor.hpp"

#include <algorithm>

#include "solver/small_dense.hpp"

namespace orthant::interior_point {

bool SchurFactor::analyze(const SparseMatrix& K, Index primal, Index kept, bool symmetric) {
  kept_ = kept;
  if (!find_blocks(K)) return false;
  find_pattern(K);
  factor_.analyze(S_, primal, symmetric);
  return true;
}

/// Rows of E that K couples are one block; its columns are those any of its rows has.
bool SchurFactor::find_blocks(const SparseMatrix& K) {
  const Index n = static_cast<Index>(K.rows());
  const Index *outer = K.outerIndexPtr(), *inner = K.innerIndexPtr();
  blocks_.clear();
  columns_.clear();
  D_.clear();
  std::size_t squares = 0, places = 0;
  for (Index begin = kept_; begin < n;) {
    Index end = begin + 1;
    const std::size_t first = columns_.size();
    for (Index c = begin; c < end; ++c) {
      for (Index e = outer[c]; e < outer[c + 1]; ++e) {
        if (inner[e] < kept_) {
          columns_.push_back(inner[e]);
        } else {
          if (inner[e] < begin) return false;
          end = std::max(end, inner[e] + 1);
        }
      }
    }
    const Index size = end - begin;
    if (size > kMaxLawDim) return false;
    const auto list = columns_.begin() + static_cast<std::ptrdiff_t>(first);
    if (size > 1) {
      std::sort(list, columns_.end());
      columns_.erase(std::unique(list, columns_.end()), columns_.end());
    }
    const std::size_t m = columns_.size() - first;
    blocks_.push_back({begin, size, first, D_.size(), squares, places});
    D_.resize(D_.size() + static_cast<std::size_t>(size) * m, 0.0);
    double* d = D_.data() + blocks_.back().D;
    for (Index c = begin; c < end; ++c, d += m) {
      std::size_t j = 0;
      for (Index e = outer[c]; e < outer[c + 1] && inner[e] < kept_; ++e) {
        while (columns_[first + j] != inner[e]) ++j;
        d[j] = -K.valuePtr()[e];
      }
    }
    squares += static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
    places += m * m;
    begin = end;
  }
  blocks_.push_back({n, 0, columns_.size(), D_.size(), squares, places});
  inverse_.resize(squares);
  to_.resize(places);
  return true;
}

/// Columns of S one after another: those of A and of every block that has the column.
void SchurFactor::find_pattern(const SparseMatrix& K) {
  const Index *outer = K.outerIndexPtr(), *inner = K.innerIndexPtr();
  const std::size_t blocks = blocks_.size() - 1;
  count_.assign(static_cast<std::size_t>(kept_) + 1, 0);
  for (const Index c : columns_) ++count_[c + 1];
  for (Index c = 0; c < kept_; ++c) count_[c + 1] += count_[c];
  user_.resize(columns_.size());
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t j = blocks_[b].columns; j < blocks_[b + 1].columns; ++j)
      user_[count_[columns_[j]]++] = static_cast<Index>(b);
  }
  from_.clear();
  into_.clear();
  place_.assign(static_cast<std::size_t>(kept_), -1);
  std::vector<Index> begin(1, 0), rows;
  for (Index c = 0, u = 0; c < kept_; ++c) {
    const Index first = begin.back(), user = u;
    const auto take = [&](Index row) {
      if (place_[row] >= first) return;
      place_[row] = static_cast<Index>(rows.size());
      rows.push_back(row);
    };
    for (Index e = outer[c]; e < outer[c + 1] && inner[e] < kept_; ++e) take(inner[e]);
    for (; u < count_[c]; ++u) {
      const auto b = static_cast<std::size_t>(user_[u]);
      for (std::size_t j = blocks_[b].columns; j < blocks_[b + 1].columns; ++j) take(columns_[j]);
    }
    std::sort(rows.begin() + first, rows.end());
    for (std::size_t e = static_cast<std::size_t>(first); e < rows.size(); ++e)
      place_[rows[e]] = static_cast<Index>(e);
    begin.push_back(static_cast<Index>(rows.size()));
    for (Index e = outer[c]; e < outer[c + 1] && inner[e] < kept_; ++e) {
      from_.push_back(e);
      into_.push_back(place_[inner[e]]);
    }
    for (Index v = user; v < u; ++v) {
      const auto b = static_cast<std::size_t>(user_[v]);
      const Index* list = columns_.data() + blocks_[b].columns;
      const Index m = width(b);
      Index* to = to_.data() + blocks_[b].to + m * (std::lower_bound(list, list + m, c) - list);
      for (Index j = 0; j < m; ++j) to[j] = place_[list[j]];
    }
  }
  S_.resize(kept_, kept_);
  S_.resizeNonZeros(static_cast<Index>(rows.size()));
  std::copy(begin.begin(), begin.end(), S_.outerIndexPtr());
  std::copy(rows.begin(), rows.end(), S_.innerIndexPtr());
}

bool SchurFactor::factorize(const SparseMatrix& K) {
  const Index *outer = K.outerIndexPtr(), *inner = K.innerIndexPtr();
  double* S = S_.valuePtr();
  std::fill(S, S + S_.nonZeros(), 0.0);
  for (std::size_t e = 0; e < from_.size(); ++e) S[into_[e]] = K.valuePtr()[from_[e]];
  for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const Index m = width(b);
    const int d = block.size;
    double* inverse = inverse_.data() + block.inverse;
    std::fill(inverse, inverse + d * d, 0.0);
    for (Index c = 0; c < d; ++c) {
      for (Index e = outer[block.row + c + 1]; e-- > outer[block.row + c] && inner[e] >= kept_;)
        inverse[(inner[e] - block.row) * d + c] = K.valuePtr()[e];
    }
    if (!internal::invert(inverse, d)) return false;
    const double* D = D_.data() + block.D;
    const Index* to = to_.data() + block.to;
    if (d == 1) {
      for (Index c = 0; c < m; ++c, to += m) {
        const double f = inverse[0] * D[c];
        for (Index r = 0; r < m; ++r) S[to[r]] += D[r] * f;
      }
      continue;
    }
    product_.assign(static_cast<std::size_t>(d * m), 0.0);
    for (Index i = 0; i < d; ++i)
      for (Index k = 0; k < d; ++k)
        for (Index c = 0; c < m; ++c) product_[i * m + c] += inverse[i * d + k] * D[k * m + c];
    for (Index c = 0; c < m; ++c, to += m) {
      for (Index k = 0; k < d; ++k) {
        const double f = product_[k * m + c];
        for (Index r = 0; r < m; ++r) S[to[r]] += D[k * m + r] * f;
      }
    }
  }
  return factor_.factorize(S_);
}

void SchurFactor::solve(const VecX& rhs, VecX& x) {
  x.resize(rhs.size());
  right_ = rhs.head(kept_);
  // (row of the block, its D and E⁻¹, the velocities it meets) for every block.
  const auto each_block = [&](auto&& visit) {
    for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) {
      const Block& block = blocks_[b];
      visit(block.row, block.size, width(b), D_.data() + block.D, inverse_.data() + block.inverse,
            columns_.data() + block.columns);
    }
  };
  each_block(
      [&](Index row, int d, Index m, const double* D, const double* inverse, const Index* columns) {
        double impulse[kMaxLawDim] = {};
        internal::add_product(inverse, d, d, rhs.data() + row, impulse);
        for (int i = 0; i < d; ++i)
          for (Index c = 0; c < m; ++c) right_[columns[c]] += D[i * m + c] * impulse[i];
      });
  factor_.solve(right_, solved_);
  x.head(kept_) = solved_;
  each_block(
      [&](Index row, int d, Index m, const double* D, const double* inverse, const Index* columns) {
        double rest[kMaxLawDim];
        for (int i = 0; i < d; ++i) {
          rest[i] = rhs[row + i];
          for (Index c = 0; c < m; ++c) rest[i] -= D[i * m + c] * solved_[columns[c]];
          x[row + i] = 0;
        }
        internal::add_product(inverse, d, d, rest, x.data() + row);
      });
}

}  // namespace orthant::interior_point
