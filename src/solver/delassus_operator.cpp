// SPDX-License-Identifier: Apache-2.0
// solver/delassus_operator.cpp: products with the scaled Delassus matrix, matrix-free.
#include "solver/delassus_operator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "orthant/base/parallel.hpp"
#include "solver/lanes.hpp"

namespace orthant::internal {

bool DelassusOperator::fits(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || p.D.empty()) return false;
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    const auto entries = p.D.entries(c);
    if (entries.size() > 2 || (entries.size() == 2 && entries[0].block == entries[1].block))
      return false;
    for (const BlockRows::Entry& e : entries)
      if (e.width > kWidth) return false;
  }
  return true;
}

bool DelassusOperator::build(const CanonicalProblem& p, const ProblemScale& scale) {
  if (!inverse_.factorize(p.H)) return false;
  order_.build(p);
  const auto blocks = static_cast<std::size_t>(p.H.block_count());
  offset_.assign(p.H.offsets().begin(), p.H.offsets().end());
  all_blocks_.resize(blocks);
  std::iota(all_blocks_.begin(), all_blocks_.end(), 0);
  motion_.assign(kWidth * blocks, 0.0);
  row_of_.clear();
  pairs_.clear();
  J_.assign(2 * kWidth * static_cast<std::size_t>(p.row_count()), 0.0);
  scale_.resize(p.row_count());
  constant_.resize(p.row_count());
  begin_.assign(blocks + 2, 0);
  for (const Index c : order_.blocks) {
    const auto entries = p.D.entries(c);
    for (Index r = 0; r < p.D.dim(c); ++r) {
      const Index row = p.D.row_begin(c) + r, i = rows();
      const double s = scale_[i] = std::sqrt(scale.tau[row]);
      double free = p.b[row];
      row_of_.push_back(row);
      auto& pair = pairs_.emplace_back(std::array<Index, 2>{-1, -1});
      const double* a = p.D.values(c);
      for (std::size_t k = 0; k < entries.size(); ++k) {
        const BlockRows::Entry& e = entries[k];
        pair[k] = e.block;
        ++begin_[e.block + 2];
        double* out = J_.data() + kWidth * (2 * static_cast<std::size_t>(i) + k);
        for (Index j = 0; j < e.width; ++j) {
          out[j] = s * a[r * e.width + j];
          free += a[r * e.width + j] * scale.v_free[e.column + j];
        }
        a += static_cast<std::ptrdiff_t>(p.D.dim(c)) * e.width;
      }
      constant_[i] = s * free;
    }
  }
  for (std::size_t b = 2; b < begin_.size(); ++b) begin_[b] += begin_[b - 1];
  row_at_.resize(static_cast<std::size_t>(begin_.back()));
  K_.resize(kWidth * row_at_.size());
  for (Index i = 0; i < rows(); ++i)
    for (std::size_t k = 0; k < 2 && pairs_[i][k] >= 0; ++k) {
      const auto at = static_cast<std::size_t>(begin_[pairs_[i][k] + 1]++);
      row_at_[at] = i;
      std::copy_n(J_.data() + kWidth * (2 * static_cast<std::size_t>(i) + k), kWidth,
                  K_.data() + kWidth * at);
      inverse_.solve_block(pairs_[i][k], K_.data() + kWidth * at);
    }
  return true;
}

double DelassusOperator::entry(Index i, Index j) const {
  double sum = 0;
  for (std::size_t k = 0; k < 2 && pairs_[j][k] >= 0; ++k) {
    double y[kWidth];
    std::copy_n(J_.data() + kWidth * (2 * static_cast<std::size_t>(j) + k), kWidth, y);
    inverse_.solve_block(pairs_[j][k], y);
    for (std::size_t l = 0; l < 2; ++l) {
      if (pairs_[i][l] != pairs_[j][k]) continue;
      const double* a = J_.data() + kWidth * (2 * static_cast<std::size_t>(i) + l);
      for (Index c = 0; c < kWidth; ++c) sum += a[c] * y[c];
    }
  }
  return sum;
}

void DelassusOperator::multiply(const VecX& x, VecX& y, const RowRange& range) {
  y.resize(rows());
  parallel_for(range.blocks.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index b = range.blocks[k];
      Lanes s0 = {}, s1 = {}, s2 = {};
      const double* a = K_.data() + kWidth * begin_[b];
      for (std::int64_t e = begin_[b]; e < begin_[b + 1]; ++e, a += kWidth) {
        const double xe = x[row_at_[e]];
        s0 += load_lanes(a) * xe;
        s1 += load_lanes(a + 2) * xe;
        s2 += load_lanes(a + 4) * xe;
      }
      double* u = motion_.data() + kWidth * b;
      store_lanes(u, s0);
      store_lanes(u + 2, s1);
      store_lanes(u + 4, s2);
    }
  });
  const auto first = static_cast<std::size_t>(range.begin);
  parallel_for(
      static_cast<std::size_t>(range.end) - first, kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin + first; i < end + first; ++i) {
          const double* a = J_.data() + 2 * kWidth * i;
          const double* u = motion_.data() + kWidth * std::max(pairs_[i][0], 0);
          const double* v = motion_.data() + kWidth * std::max(pairs_[i][1], 0);
          const Lanes s =
              (load_lanes(a) * load_lanes(u) + load_lanes(a + 2) * load_lanes(u + 2)) +
              (load_lanes(a + 4) * load_lanes(u + 4) + load_lanes(a + 6) * load_lanes(v)) +
              (load_lanes(a + 8) * load_lanes(v + 2) + load_lanes(a + 10) * load_lanes(v + 4));
          y[static_cast<Index>(i)] = s[0] + s[1];
        }
      });
}

void DelassusOperator::multiply(const VecX& x, VecX& y) {
  multiply(x, y, {0, rows(), all_blocks_});
}

void DelassusOperator::add_motion(VecX& v) const {
  for (std::size_t b = 0; b < all_blocks_.size(); ++b)
    for (Index k = offset_[b]; k < offset_[b + 1]; ++k)
      v[k] += motion_[kWidth * b + static_cast<std::size_t>(k - offset_[b])];
}

}  // namespace orthant::internal
