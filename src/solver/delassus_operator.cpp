// SPDX-License-Identifier: Apache-2.0
// solver/delassus_operator.cpp: products with the scaled Delassus matrix, matrix-free.
#include "solver/delassus_operator.hpp"

#include <algorithm>
#include <numeric>

#include "orthant/base/parallel.hpp"
#include "solver/lanes.hpp"

namespace orthant::internal {
bool DelassusOperator::build(const CanonicalProblem& p, const ProblemScale& scale) {
  if (!inverse_.factorize(p.H)) return false;
  order_.build(p);
  rows_.build(p, scale, order_.blocks);
  const auto blocks = static_cast<std::size_t>(p.H.block_count());
  offset_.assign(p.H.offsets().begin(), p.H.offsets().end());
  entry_begin_.assign(blocks + 1, 0);
  value_begin_.assign(blocks + 1, 0);
  for (const ScaledRows::Entry& e : rows_.all_entries()) {
    ++entry_begin_[e.block + 1];
    value_begin_[e.block + 1] += e.width;
  }
  for (std::size_t b = 0; b < blocks; ++b) {
    entry_begin_[b + 1] += entry_begin_[b];
    value_begin_[b + 1] += value_begin_[b];
  }
  row_of_.resize(rows_.all_entries().size());
  K_.resize(rows_.value_count());
  std::vector<std::int64_t> next_entry(entry_begin_.begin(), entry_begin_.end() - 1);
  std::vector<std::int64_t> next_value(value_begin_.begin(), value_begin_.end() - 1);
  for (Index i = 0; i < rows_.count(); ++i) {
    for (const ScaledRows::Entry& e : rows_.entries(i)) {
      row_of_[next_entry[e.block]++] = i;
      double* column = K_.data() + next_value[e.block];
      next_value[e.block] += e.width;
      std::copy_n(rows_.value(e), e.width, column);
      inverse_.solve_block(e.block, column);
    }
  }
  all_blocks_.resize(blocks);
  std::iota(all_blocks_.begin(), all_blocks_.end(), 0);
  find_pairs();
  motion_.setZero(p.velocity_count());
  return true;
}

void DelassusOperator::find_pairs() {
  pair_values_.clear();
  pair_columns_.clear();
  for (Index i = 0; i < rows_.count(); ++i)
    if (rows_.entries(i).empty() || rows_.entries(i).size() > 2) return;
  for (const ScaledRows::Entry& e : rows_.all_entries())
    if (e.width != 6) return;
  const auto count = static_cast<std::size_t>(rows_.count());
  pair_values_.assign(12 * count, 0.0);
  pair_columns_.assign(2 * count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entries = rows_.entries(static_cast<Index>(i));
    for (std::size_t k = 0; k < entries.size(); ++k) {
      std::copy_n(rows_.value(entries[k]), 6, pair_values_.data() + 12 * i + 6 * k);
      pair_columns_[2 * i + k] = entries[k].column;
    }
  }
}

void DelassusOperator::gather_pairs(const VecX& x, std::span<const Index> blocks) {
  parallel_for(blocks.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index b = blocks[k];
      Lanes s0 = {}, s1 = {}, s2 = {};
      const double* a = K_.data() + value_begin_[b];
      for (std::int64_t e = entry_begin_[b]; e < entry_begin_[b + 1]; ++e, a += 6) {
        const double xe = x[row_of_[e]];
        s0 += load_lanes(a) * xe;
        s1 += load_lanes(a + 2) * xe;
        s2 += load_lanes(a + 4) * xe;
      }
      double* u = motion_.data() + offset_[b];
      if (offset_[b + 1] - offset_[b] != 6) continue;  // no row has it
      store_lanes(u, s0);
      store_lanes(u + 2, s1);
      store_lanes(u + 4, s2);
    }
  });
}

void DelassusOperator::scatter_pairs(VecX& y, Index first, Index last) const {
  parallel_for(
      static_cast<std::size_t>(last - first), kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin + first; i < end + first; ++i) {
          const double* a = pair_values_.data() + 12 * i;
          const double* u = motion_.data() + pair_columns_[2 * i];
          const double* v = motion_.data() + pair_columns_[2 * i + 1];
          const Lanes s =
              (load_lanes(a) * load_lanes(u) + load_lanes(a + 2) * load_lanes(u + 2)) +
              (load_lanes(a + 4) * load_lanes(u + 4) + load_lanes(a + 6) * load_lanes(v)) +
              (load_lanes(a + 8) * load_lanes(v + 2) + load_lanes(a + 10) * load_lanes(v + 4));
          y[static_cast<Index>(i)] = s[0] + s[1];
        }
      });
}

void DelassusOperator::gather(const VecX& x, std::span<const Index> blocks) {
  parallel_for(blocks.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const Index b = blocks[k];
      const Index width = offset_[b + 1] - offset_[b];
      double sum[kMaxVelocityBlock] = {};
      const double* a = K_.data() + value_begin_[b];
      for (std::int64_t e = entry_begin_[b]; e < entry_begin_[b + 1]; ++e, a += width)
        add_row(a, x[row_of_[e]], sum, width);
      std::copy_n(sum, width, motion_.data() + offset_[b]);
    }
  });
}

void DelassusOperator::scatter(VecX& y, Index first, Index last) const {
  parallel_for(static_cast<std::size_t>(last - first), kGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin + first; i < end + first; ++i) {
                   double s = 0;
                   for (const ScaledRows::Entry& e : rows_.entries(static_cast<Index>(i)))
                     s += row_product(rows_.value(e), motion_.data() + e.column, e.width);
                   y[static_cast<Index>(i)] = s;
                 }
               });
}

void DelassusOperator::multiply(const VecX& x, VecX& y, const RowRange& range) {
  y.resize(rows_.count());
  if (pair_values_.empty()) {
    gather(x, range.blocks);
    scatter(y, range.begin, range.end);
  } else {
    gather_pairs(x, range.blocks);
    scatter_pairs(y, range.begin, range.end);
  }
}

void DelassusOperator::multiply(const VecX& x, VecX& y) {
  multiply(x, y, {0, rows_.count(), all_blocks_});
}

}  // namespace orthant::internal
