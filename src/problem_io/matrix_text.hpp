// SPDX-License-Identifier: Apache-2.0
// problem_io/matrix_text.hpp: the matrix block shared by every text format.
//
//   storage rows cols, then   0: rows cols, entries column by column
//                             1: blocks, block row and column ends, pointers, indices, blocks
//                             2: origin, banner, header, one entry per line
#pragma once

#include <string>

#include "orthant/problem_io/stored_matrix.hpp"
#include "problem_io/text_cursor.hpp"

namespace orthant::problem_io {

/// `name` stands for the matrix in messages.
StoredMatrix read_matrix(TextCursor& in, const std::string& name);

/// Values as the shortest decimals that read back to the same bits. Row-compressed storage has no
/// text form and is written as triplets.
void write_matrix(const StoredMatrix& matrix, std::string& out);

void append(std::string& out, double value);
void append(std::string& out, std::int64_t value);

}  // namespace orthant::problem_io
