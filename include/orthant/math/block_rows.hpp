// SPDX-License-Identifier: Apache-2.0
// math/block_rows.hpp: block compressed rows, append-only.
// Serves the constraint rows C and D (row blocks: constraints; column blocks: bodies or nodes) and
// the constraint-by-constraint matrices F and N (both: constraints). A row block has k >= 1 entries
// (two bodies mostly, four for a node on a face); ReLCP appends rows and never moves old ones.
#pragma once

#include <span>
#include <vector>

#include "orthant/base/assert.hpp"
#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

class BlockRows {
 public:
  /// One dense block: columns [column, column + width) that belong to column block `block`.
  struct Entry {
    Index block;
    Index column;
    Index width;
    bool operator==(const Entry&) const = default;
  };

  /// Starts a new row block of `dim` rows; its entries follow with add().
  void begin_row(Index dim) {
    row_offset_.push_back(row_offset_.back() + dim);
    entry_begin_.push_back(entry_begin_.back());
    value_begin_.push_back(value_begin_.back());
  }

  /// Appends an entry to the last row block; returns its values, dim x width row-major, zeroed.
  /// The pointer is valid until the next add().
  double* add(Index block, Index column, Index width) {
    ORTHANT_ASSERT(row_block_count() > 0);
    entries_.push_back({block, column, width});
    ++entry_begin_.back();
    const std::size_t size = static_cast<std::size_t>(dim(row_block_count() - 1)) * width;
    values_.resize(values_.size() + size, 0.0);
    value_begin_.back() += static_cast<std::int64_t>(size);
    return values_.data() + values_.size() - size;
  }

  void clear() {  // keeps the memory
    row_offset_.resize(1);
    entry_begin_.resize(1);
    value_begin_.resize(1);
    entries_.clear();
    values_.clear();
  }
  void reserve(std::size_t row_blocks, std::size_t entries, std::size_t values) {
    row_offset_.reserve(row_blocks + 1);
    entry_begin_.reserve(row_blocks + 1);
    value_begin_.reserve(row_blocks + 1);
    entries_.reserve(entries);
    values_.reserve(values);
  }

  Index row_block_count() const { return static_cast<Index>(row_offset_.size()) - 1; }
  Index rows() const { return row_offset_.back(); }
  bool empty() const { return row_block_count() == 0; }
  std::size_t entry_count() const { return entries_.size(); }

  Index row_begin(Index i) const { return row_offset_[i]; }
  Index dim(Index i) const { return row_offset_[i + 1] - row_offset_[i]; }
  std::span<const Index> row_offsets() const { return row_offset_; }

  std::span<const Entry> entries(Index i) const {
    return {entries_.data() + entry_begin_[i],
            static_cast<std::size_t>(entry_begin_[i + 1] - entry_begin_[i])};
  }
  /// Values of all entries of row block i one after another, each dim(i) x width row-major.
  const double* values(Index i) const { return values_.data() + value_begin_[i]; }
  double* values(Index i) { return values_.data() + value_begin_[i]; }
  std::span<const double> all_values() const { return values_; }
  std::span<double> all_values() { return values_; }
  /// Values of the entry of row block i with column block `block`; null where there is none.
  const double* find(Index i, Index block) const;

  /// y = A x. Rows of y: rows().
  void multiply(const VecX& x, VecX& y) const;
  /// y += s A x
  void multiply_add(double s, const VecX& x, VecX& y) const;
  /// y += s Aᵀ x
  void multiply_transpose_add(double s, const VecX& x, VecX& y) const;
  /// y_i = row block i of A times x.
  void multiply_row(Index i, const double* x, double* y) const;

  bool operator==(const BlockRows&) const = default;

 private:
  std::vector<Index> row_offset_{0};
  std::vector<std::int64_t> entry_begin_{0};
  std::vector<std::int64_t> value_begin_{0};
  std::vector<Entry> entries_;
  std::vector<double> values_;
};

}  // namespace orthant
