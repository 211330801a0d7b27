// SPDX-License-Identifier: Apache-2.0
// problem_io/stored_matrix.cpp: checks and conversions of matrices as files hold them.
#include "orthant/problem_io/stored_matrix.hpp"

#include <cmath>
#include <string>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

using Triplet = Eigen::Triplet<double, Index>;

[[noreturn]] void fail(std::string_view where, const std::string& what) {
  throw Error(where, what);
}

void check_length(std::size_t got, std::size_t want, std::string_view where, const char* what) {
  if (got != want) {
    fail(where, std::string(what) + " has " + std::to_string(got) + " entries, expected " +
                    std::to_string(want));
  }
}

void check_range(const std::vector<Index>& index, Index size, std::string_view where,
                 const char* what) {
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < 0 || index[i] >= size) {
      fail(where, std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(index[i]) +
                      ", allowed is 0.." + std::to_string(size - 1));
    }
  }
}

/// 0 = p[0] <= p[1] <= … = total
void check_pointers(const std::vector<Index>& pointers, std::size_t slots, std::size_t total,
                    std::string_view where) {
  check_length(pointers.size(), slots + 1, where, "pointers");
  if (pointers.front() != 0) {
    fail(where, "the first pointer is " + std::to_string(pointers.front()) + ", expected 0");
  }
  for (std::size_t i = 0; i < slots; ++i) {
    if (pointers[i + 1] < pointers[i]) {
      fail(where, "pointers must not decrease: pointer " + std::to_string(i + 1) + " is " +
                      std::to_string(pointers[i + 1]) + " after " + std::to_string(pointers[i]));
    }
  }
  if (static_cast<std::size_t>(pointers.back()) != total) {
    fail(where, "the last pointer is " + std::to_string(pointers.back()) + ", expected " +
                    std::to_string(total));
  }
}

void check_ends(const std::vector<Index>& ends, Index total, std::string_view where,
                const char* what) {
  Index last = 0;
  for (const Index end : ends) {
    if (end < last) fail(where, std::string(what) + " must not decrease");
    last = end;
  }
  if (last != total) {
    fail(where, std::string(what) + " stop at " + std::to_string(last) + ", expected " +
                    std::to_string(total));
  }
}

Index begin_of(const std::vector<Index>& ends, Index i) { return i == 0 ? 0 : ends[i - 1]; }

void check_blocks(const StoredMatrix& m, std::string_view where) {
  check_ends(m.row_ends, m.rows, where, "block row ends");
  check_ends(m.col_ends, m.cols, where, "block column ends");
  check_pointers(m.pointers, m.row_ends.size(), m.col_index.size(), where);
  check_range(m.col_index, static_cast<Index>(m.col_ends.size()), where, "block column");
  std::size_t total = 0;
  for (Index i = 0; i + 1 < static_cast<Index>(m.pointers.size()); ++i) {
    for (Index e = m.pointers[i]; e < m.pointers[i + 1]; ++e) {
      const Index j = m.col_index[e];
      total += static_cast<std::size_t>(m.row_ends[i] - begin_of(m.row_ends, i)) *
               static_cast<std::size_t>(m.col_ends[j] - begin_of(m.col_ends, j));
    }
  }
  check_length(m.values.size(), total, where, "values");
}

/// Calls visit(row, column, value) for every stored entry in the file's order.
template <class Visit>
void for_each_entry(const StoredMatrix& m, Visit&& visit) {
  std::size_t next = 0;
  switch (m.storage) {
    case MatrixStorage::Dense:
      for (Index j = 0; j < m.cols; ++j) {
        for (Index i = 0; i < m.rows; ++i) visit(i, j, m.values[next++]);
      }
      break;
    case MatrixStorage::SparseBlock:
      for (Index I = 0; I < static_cast<Index>(m.row_ends.size()); ++I) {
        for (Index e = m.pointers[I]; e < m.pointers[I + 1]; ++e) {
          const Index J = m.col_index[e];
          for (Index j = begin_of(m.col_ends, J); j < m.col_ends[J]; ++j) {
            for (Index i = begin_of(m.row_ends, I); i < m.row_ends[I]; ++i) {
              visit(i, j, m.values[next++]);
            }
          }
        }
      }
      break;
    case MatrixStorage::Triplet:
      for (; next < m.values.size(); ++next) {
        visit(m.row_index[next], m.col_index[next], m.values[next]);
      }
      break;
    case MatrixStorage::CompressedColumns:
      for (Index j = 0; j < m.cols; ++j) {
        for (Index e = m.pointers[j]; e < m.pointers[j + 1]; ++e) {
          visit(m.row_index[e], j, m.values[e]);
        }
      }
      break;
    case MatrixStorage::CompressedRows:
      for (Index i = 0; i < m.rows; ++i) {
        for (Index e = m.pointers[i]; e < m.pointers[i + 1]; ++e) {
          visit(i, m.col_index[e], m.values[e]);
        }
      }
      break;
  }
}

}  // namespace

std::string_view name_of(MatrixStorage storage) {
  switch (storage) {
    case MatrixStorage::Dense:
      return "dense";
    case MatrixStorage::SparseBlock:
      return "sparse_block";
    case MatrixStorage::Triplet:
      return "triplet";
    case MatrixStorage::CompressedColumns:
      return "compressed_columns";
    case MatrixStorage::CompressedRows:
      return "compressed_rows";
  }
  return "unknown";
}

void validate(const StoredMatrix& m, std::string_view where) {
  if (m.rows < 0 || m.cols < 0) fail(where, "a matrix must not have a negative size");
  const std::size_t count = m.values.size();
  switch (m.storage) {
    case MatrixStorage::Dense:
      check_length(count, static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.cols),
                   where, "values");
      break;
    case MatrixStorage::SparseBlock:
      check_blocks(m, where);
      break;
    case MatrixStorage::Triplet:
      check_length(m.row_index.size(), count, where, "row indices");
      check_length(m.col_index.size(), count, where, "column indices");
      check_range(m.row_index, m.rows, where, "row index");
      check_range(m.col_index, m.cols, where, "column index");
      break;
    case MatrixStorage::CompressedColumns:
      check_pointers(m.pointers, static_cast<std::size_t>(m.cols), count, where);
      check_length(m.row_index.size(), count, where, "row indices");
      check_range(m.row_index, m.rows, where, "row index");
      break;
    case MatrixStorage::CompressedRows:
      check_pointers(m.pointers, static_cast<std::size_t>(m.rows), count, where);
      check_length(m.col_index.size(), count, where, "column indices");
      check_range(m.col_index, m.cols, where, "column index");
      break;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(m.values[i])) {
      fail(where, "value " + std::to_string(i) + " must be finite, found " + to_text(m.values[i]));
    }
  }
}

SparseMatrix to_sparse(const StoredMatrix& m) {
  std::vector<Triplet> entries;
  if (m.storage != MatrixStorage::Dense) entries.reserve(m.values.size());
  for_each_entry(m, [&](Index i, Index j, double x) {
    if (x != 0) entries.emplace_back(i, j, x);
  });
  SparseMatrix sparse(m.rows, m.cols);
  sparse.setFromTriplets(entries.begin(), entries.end());
  return sparse;
}

StoredMatrix store(const SparseMatrix& sparse) {
  StoredMatrix m;
  m.storage = MatrixStorage::CompressedColumns;
  m.rows = static_cast<Index>(sparse.rows());
  m.cols = static_cast<Index>(sparse.cols());
  m.pointers.push_back(0);
  for (Index j = 0; j < m.cols; ++j) {
    for (SparseMatrix::InnerIterator it(sparse, j); it; ++it) {
      m.row_index.push_back(static_cast<Index>(it.row()));
      m.values.push_back(it.value());
    }
    m.pointers.push_back(static_cast<Index>(m.values.size()));
  }
  return m;
}

StoredMatrix with_storage(const StoredMatrix& m, MatrixStorage storage) {
  if (m.storage == storage) return m;
  StoredMatrix out;
  out.rows = m.rows;
  out.cols = m.cols;
  out.storage = storage;
  switch (storage) {
    case MatrixStorage::SparseBlock:
      throw Error("with_storage", "conversion to sparse_block is not offered");
    case MatrixStorage::Dense:
      out.values.assign(static_cast<std::size_t>(m.rows) * static_cast<std::size_t>(m.cols), 0.0);
      for_each_entry(m, [&](Index i, Index j, double x) {
        out.values[static_cast<std::size_t>(j) * static_cast<std::size_t>(m.rows) +
                   static_cast<std::size_t>(i)] += x;
      });
      break;
    case MatrixStorage::Triplet:
      for_each_entry(m, [&](Index i, Index j, double x) {
        if (x == 0) return;
        out.row_index.push_back(i);
        out.col_index.push_back(j);
        out.values.push_back(x);
      });
      break;
    case MatrixStorage::CompressedColumns:
      return store(to_sparse(m));
    case MatrixStorage::CompressedRows: {
      const SparseMatrix transposed = to_sparse(m).transpose();
      out = store(transposed);
      std::swap(out.rows, out.cols);
      std::swap(out.row_index, out.col_index);
      out.storage = storage;
      break;
    }
  }
  return out;
}

}  // namespace orthant
