// SPDX-License-Identifier: Apache-2.0
// problem_io/stored_matrix.hpp: a matrix exactly as a file holds it.
// Keeps the storage, the order of the entries and every bit of the values, so that a file that is
// read and written again says the same. Solvers get to_sparse() instead.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace ORTHANT_EXPORT orthant {

enum class MatrixStorage : std::uint8_t {
  Dense,              ///< all entries, column by column
  SparseBlock,        ///< compressed rows of dense blocks
  Triplet,            ///< row, column, value; repeated entries add up
  CompressedColumns,  ///< pointers and row indices
  CompressedRows,     ///< pointers and column indices
};
std::string_view name_of(MatrixStorage storage);

struct StoredMatrix {
  MatrixStorage storage = MatrixStorage::Dense;
  Index rows = 0;
  Index cols = 0;
  std::vector<Index> row_ends;  ///< SparseBlock: end of each block row, the last is `rows`
  std::vector<Index> col_ends;  ///< SparseBlock: end of each block column, the last is `cols`
  std::vector<Index> pointers;  ///< SparseBlock, Compressed*: start of each row or column, then end
  std::vector<Index> row_index;  ///< Triplet, CompressedColumns: row of each entry
  std::vector<Index> col_index;  ///< Triplet, CompressedRows: column; SparseBlock: block column
  std::vector<double> values;    ///< SparseBlock: block after block, each column by column

  bool operator==(const StoredMatrix&) const = default;
};

/// Throws Error(where, …) unless sizes, pointers and indices agree and every value is finite.
void validate(const StoredMatrix& matrix, std::string_view where);

/// The same matrix for computing: repeated entries added, exact zeros left out (a stored zero must
/// not join two islands).
SparseMatrix to_sparse(const StoredMatrix& matrix);

/// Another storage of the same values. To sparse forms exact zeros are left out; to SparseBlock is
/// not offered. Unchanged when the storage is already that one.
StoredMatrix with_storage(const StoredMatrix& matrix, MatrixStorage storage);

/// Column-compressed form of a sparse matrix, entry by entry.
StoredMatrix store(const SparseMatrix& matrix);

}  // namespace orthant
