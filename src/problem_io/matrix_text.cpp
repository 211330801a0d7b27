// SPDX-License-Identifier: Apache-2.0
// problem_io/matrix_text.cpp: text <=> StoredMatrix.
// Every count is compared with the bytes that are left before memory is taken for it: a number
// needs a digit and a separator, two bytes.
#include "problem_io/matrix_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace orthant::problem_io {
namespace {

constexpr std::int64_t kMaxIndex = INT32_MAX;
constexpr std::int64_t kNumberBytes = 2;
constexpr std::int64_t kTripletBytes = 7;  // "0 0 :0\n", the fewest blanks that still read
constexpr std::int64_t kEntryBytes = 5;    // "0 :0\n"
constexpr std::int64_t kColumnBytes = 20;  // "col0 :locations0 to0\n"

void read_dense(TextCursor& in, const std::string& name, StoredMatrix& m) {
  in.integer((name + ": rows, repeated,").c_str(), m.rows, m.rows);
  in.integer((name + ": columns, repeated,").c_str(), m.cols, m.cols);
  const std::int64_t count = std::int64_t{m.rows} * m.cols;
  in.expect_room(name.c_str(), count, kNumberBytes);
  m.values.resize(static_cast<std::size_t>(count));
  in.numbers(name.c_str(), count, m.values.data());
}

void read_ends(TextCursor& in, const std::string& what, Index total, std::vector<Index>& ends) {
  in.expect_room(what.c_str(), static_cast<std::int64_t>(ends.size()), kNumberBytes);
  Index last = 0;
  for (Index& end : ends) last = end = in.index(what.c_str(), last, total);
  if (last != total) {
    in.fail(what + " stop at " + std::to_string(last) + ", expected " + std::to_string(total));
  }
}

void read_blocks(TextCursor& in, const std::string& name, StoredMatrix& m) {
  const Index blocks = in.index((name + ": number of blocks").c_str(), 0, kMaxIndex);
  const Index block_rows = in.index((name + ": number of block rows").c_str(), 0, kMaxIndex);
  const Index block_cols = in.index((name + ": number of block columns").c_str(), 0, kMaxIndex);
  in.expect_room((name + ": block row ends").c_str(), block_rows, kNumberBytes);
  m.row_ends.resize(static_cast<std::size_t>(block_rows));
  read_ends(in, name + ": block row end", m.rows, m.row_ends);
  in.expect_room((name + ": block column ends").c_str(), block_cols, kNumberBytes);
  m.col_ends.resize(static_cast<std::size_t>(block_cols));
  read_ends(in, name + ": block column end", m.cols, m.col_ends);

  in.integer((name + ": number of block pointers").c_str(), std::int64_t{block_rows} + 1,
             std::int64_t{block_rows} + 1);
  in.integer((name + ": number of block indices").c_str(), blocks, blocks);
  in.expect_room((name + ": block pointers").c_str(), std::int64_t{block_rows} + 1, kNumberBytes);
  m.pointers.resize(static_cast<std::size_t>(block_rows) + 1);
  const std::string block_pointer = name + ": block pointer";
  Index last = 0;
  for (Index& pointer : m.pointers) last = pointer = in.index(block_pointer.c_str(), last, blocks);
  if (m.pointers.front() != 0 || last != blocks) {
    in.fail(name + ": block pointers must run from 0 to " + std::to_string(blocks) + ", found " +
            std::to_string(m.pointers.front()) + " to " + std::to_string(last));
  }
  in.expect_room((name + ": block columns").c_str(), blocks, kNumberBytes);
  m.col_index.resize(static_cast<std::size_t>(blocks));
  const std::string block_column = name + ": block column";
  for (Index& index : m.col_index) {
    index = in.index(block_column.c_str(), 0, std::int64_t{block_cols} - 1);
  }

  const auto size_of = [](const std::vector<Index>& ends, Index i) {
    return std::int64_t{ends[i]} - (i == 0 ? 0 : ends[i - 1]);
  };
  const std::string number = name + ": running number of the block";
  for (Index i = 0; i < block_rows; ++i) {
    for (Index e = m.pointers[i]; e < m.pointers[i + 1]; ++e) {
      in.integer(number.c_str(), e, e);
      const std::int64_t count = size_of(m.row_ends, i) * size_of(m.col_ends, m.col_index[e]);
      in.expect_room(name.c_str(), count, kNumberBytes);
      const std::size_t begin = m.values.size();
      m.values.resize(begin + static_cast<std::size_t>(count));
      in.numbers(name.c_str(), count, m.values.data() + begin);
    }
  }
}

/// "R-by-C, nzmax: N nnz: K": returns K. R and C may be smaller than the declared size: a triplet
/// matrix in the making counts only the rows it has seen.
std::int64_t read_header(TextCursor& in, const std::string& name, const StoredMatrix& m) {
  in.embedded_integer((name + ": rows in the header").c_str(), 0, m.rows);
  in.literal("-by-");
  in.embedded_integer((name + ": columns in the header").c_str(), 0, m.cols);
  in.literal(",");
  in.literal("nzmax:");
  in.embedded_integer((name + ": nzmax").c_str(), 0, kMaxIndex);
  in.literal("nnz:");
  return in.embedded_integer((name + ": nnz").c_str(), 0, kMaxIndex);
}

void read_triplets(TextCursor& in, const std::string& name, StoredMatrix& m) {
  m.storage = MatrixStorage::Triplet;
  in.literal("triplet:");
  const std::int64_t count = read_header(in, name, m);
  in.skip_line();
  in.expect_room(name.c_str(), count, kTripletBytes);
  m.row_index.resize(static_cast<std::size_t>(count));
  m.col_index.resize(static_cast<std::size_t>(count));
  m.values.resize(static_cast<std::size_t>(count));
  const std::string row = name + ": row";
  const std::string column = name + ": column";
  for (std::int64_t e = 0; e < count; ++e) {
    m.row_index[e] = in.index(row.c_str(), 0, std::int64_t{m.rows} - 1);
    m.col_index[e] = in.index(column.c_str(), 0, std::int64_t{m.cols} - 1);
    in.literal(":");
    m.values[e] = in.number(name.c_str(), e, count);
  }
}

void read_columns(TextCursor& in, const std::string& name, StoredMatrix& m) {
  m.storage = MatrixStorage::CompressedColumns;
  const std::int64_t count = read_header(in, name, m);
  in.skip_line();
  m.pointers.assign(1, 0);
  if (count == 0 && !in.at_literal("col")) {  // an empty matrix may leave its columns out
    in.expect_room(name.c_str(), m.cols, 1);
    m.pointers.resize(static_cast<std::size_t>(m.cols) + 1, 0);
    return;
  }
  in.expect_room((name + ": columns").c_str(), m.cols, kColumnBytes);
  in.expect_room(name.c_str(), count, kEntryBytes);
  m.pointers.reserve(static_cast<std::size_t>(m.cols) + 1);
  m.row_index.reserve(static_cast<std::size_t>(count));
  m.values.reserve(static_cast<std::size_t>(count));
  const std::string row = name + ": row";
  const std::string first_of = name + ": first location of the column";
  const std::string last_of = name + ": last location of the column";
  const std::string column = name + ": column";
  for (Index j = 0; j < m.cols; ++j) {
    in.literal("col");
    in.integer(column.c_str(), j, j);
    in.literal(":");
    in.literal("locations");
    const Index begin = m.pointers.back();
    in.integer(first_of.c_str(), begin, begin);
    in.literal("to");
    const std::int64_t last = in.integer(last_of.c_str(), std::int64_t{begin} - 1, count - 1);
    for (std::int64_t e = begin; e <= last; ++e) {
      m.row_index.push_back(in.index(row.c_str(), 0, std::int64_t{m.rows} - 1));
      in.literal(":");
      m.values.push_back(in.number(name.c_str(), e, count));
    }
    m.pointers.push_back(static_cast<Index>(last + 1));
  }
  if (m.pointers.back() != count) {
    in.fail(name + ": the header announces " + std::to_string(count) +
            " entries, the columns have " + std::to_string(m.pointers.back()));
  }
}

void append_list(std::string& out, const std::vector<Index>& list) {
  for (const Index i : list) {
    append(out, std::int64_t{i});
    out += '\t';
  }
  out += '\n';
}

/// Rows of `width` numbers, only for the eye: line breaks carry no meaning.
void append_values(std::string& out, const double* values, std::size_t count, std::size_t width) {
  for (std::size_t i = 0; i < count; ++i) {
    append(out, values[i]);
    out += (i + 1) % width == 0 || i + 1 == count ? '\n' : ' ';
  }
}

void write_blocks(const StoredMatrix& m, std::string& out) {
  append(out, static_cast<std::int64_t>(m.col_index.size()));
  out += '\n';
  append(out, static_cast<std::int64_t>(m.row_ends.size()));
  out += '\n';
  append(out, static_cast<std::int64_t>(m.col_ends.size()));
  out += '\n';
  append_list(out, m.row_ends);
  append_list(out, m.col_ends);
  append(out, static_cast<std::int64_t>(m.pointers.size()));
  out += '\n';
  append(out, static_cast<std::int64_t>(m.col_index.size()));
  out += '\n';
  append_list(out, m.pointers);
  append_list(out, m.col_index);
  const double* values = m.values.data();
  for (std::size_t i = 0; i < m.row_ends.size(); ++i) {
    const Index height = m.row_ends[i] - (i == 0 ? 0 : m.row_ends[i - 1]);
    for (Index e = m.pointers[i]; e < m.pointers[i + 1]; ++e) {
      const Index j = m.col_index[e];
      const Index width = m.col_ends[j] - (j == 0 ? 0 : m.col_ends[j - 1]);
      const std::size_t count = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
      append(out, std::int64_t{e});
      out += '\n';
      append_values(out, values, count, static_cast<std::size_t>(std::max<Index>(height, 1)));
      values += count;
    }
  }
}

void write_header(const StoredMatrix& m, std::string& out) {
  append(out, std::int64_t{m.rows});
  out += "-by-";
  append(out, std::int64_t{m.cols});
  out += ", nzmax: ";
  append(out, static_cast<std::int64_t>(m.values.size()));
  out += " nnz: ";
  append(out, static_cast<std::int64_t>(m.values.size()));
}

void write_triplets(const StoredMatrix& m, std::string& out) {
  out += "1\nwritten by Orthant\ntriplet: ";
  write_header(m, out);
  out += '\n';
  for (std::size_t e = 0; e < m.values.size(); ++e) {
    out += "    ";
    append(out, std::int64_t{m.row_index[e]});
    out += ' ';
    append(out, std::int64_t{m.col_index[e]});
    out += " : ";
    append(out, m.values[e]);
    out += '\n';
  }
}

void write_columns(const StoredMatrix& m, std::string& out) {
  double norm = 0;  // readers ignore it, the header has a place for it
  for (Index j = 0; j < m.cols; ++j) {
    double sum = 0;
    for (Index e = m.pointers[j]; e < m.pointers[j + 1]; ++e) sum += std::abs(m.values[e]);
    norm = std::max(norm, sum);
  }
  out += "2\nwritten by Orthant\n";
  write_header(m, out);
  out += ", 1-norm: ";
  append(out, norm);
  out += '\n';
  for (Index j = 0; j < m.cols; ++j) {
    out += "    col ";
    append(out, std::int64_t{j});
    out += " : locations ";
    append(out, std::int64_t{m.pointers[j]});
    out += " to ";
    append(out, std::int64_t{m.pointers[j + 1]} - 1);
    out += '\n';
    for (Index e = m.pointers[j]; e < m.pointers[j + 1]; ++e) {
      out += "      ";
      append(out, std::int64_t{m.row_index[e]});
      out += " : ";
      append(out, m.values[e]);
      out += '\n';
    }
  }
}

}  // namespace

void append(std::string& out, double value) {
  char buffer[32];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void append(std::string& out, std::int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

StoredMatrix read_matrix(TextCursor& in, const std::string& name) {
  StoredMatrix m;
  const Index storage =
      in.index((name + ": storage (0 dense, 1 sparse block, 2 sparse)").c_str(), 0, 2);
  m.rows = in.index((name + ": number of rows").c_str(), 0, kMaxIndex);
  m.cols = in.index((name + ": number of columns").c_str(), 0, kMaxIndex);
  if (storage == 0) {
    read_dense(in, name, m);
  } else if (storage == 1) {
    m.storage = MatrixStorage::SparseBlock;
    read_blocks(in, name, m);
  } else {
    const Index origin =
        in.index((name + ": origin (1 triplets, 2 compressed columns)").c_str(), 1, 2);
    in.end_of_line();
    in.prose_line("a line of text (the banner)");
    if (origin == 1) {
      read_triplets(in, name, m);
    } else {
      read_columns(in, name, m);
    }
  }
  return m;
}

void write_matrix(const StoredMatrix& m, std::string& out) {
  const int storage = m.storage == MatrixStorage::Dense         ? 0
                      : m.storage == MatrixStorage::SparseBlock ? 1
                                                                : 2;
  append(out, std::int64_t{storage});
  out += '\n';
  append(out, std::int64_t{m.rows});
  out += '\n';
  append(out, std::int64_t{m.cols});
  out += '\n';
  switch (m.storage) {
    case MatrixStorage::Dense:
      append(out, std::int64_t{m.rows});
      out += '\t';
      append(out, std::int64_t{m.cols});
      out += '\n';
      append_values(out, m.values.data(), m.values.size(),
                    static_cast<std::size_t>(std::max<Index>(m.rows, 1)));
      break;
    case MatrixStorage::SparseBlock:
      write_blocks(m, out);
      break;
    case MatrixStorage::Triplet:
      write_triplets(m, out);
      break;
    case MatrixStorage::CompressedColumns:
      write_columns(m, out);
      break;
    case MatrixStorage::CompressedRows:
      write_triplets(with_storage(m, MatrixStorage::Triplet), out);
      break;
  }
}

}  // namespace orthant::problem_io
