// SPDX-License-Identifier: Apache-2.0
// problem/problem.cpp: sizes and checks of the canonical problem.
#include "orthant/problem/problem.hpp"

#include <cmath>
#include <string>

#include "orthant/base/error.hpp"

namespace orthant {

void CanonicalProblem::clear() {
  H.clear();
  C.clear();
  D.clear();
  F.clear();
  laws.clear();
  k.resize(0);
  e.resize(0);
  b.resize(0);
}

std::vector<Index> block_offsets(const CanonicalProblem& problem) {
  std::vector<Index> offset(problem.laws.size() + 1, 0);
  for (std::size_t i = 0; i < problem.laws.size(); ++i)
    offset[i + 1] = offset[i] + problem.laws[i].dim;
  return offset;
}

Solution zero_solution(const CanonicalProblem& problem) {
  return {VecX::Zero(problem.velocity_count()), VecX::Zero(problem.bilateral_count()),
          VecX::Zero(problem.row_count()), VecX::Zero(problem.row_count())};
}

namespace {

void check_finite(std::span<const double> values, std::string_view where, const char* what) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(where, std::string(what) + " has a value that is not finite (" +
                             to_text(values[i]) + ") at position " + std::to_string(i));
    }
  }
}

void check_size(Index got, Index want, std::string_view where, const char* what) {
  if (got != want) {
    throw Error(where, std::string(what) + " has " + std::to_string(got) + " rows, expected " +
                           std::to_string(want));
  }
}

/// Every entry of `rows` must name a column block of `offsets` and agree with its place and width.
void check_columns(const BlockRows& rows, std::span<const Index> offsets, std::string_view where,
                   const char* what) {
  const Index blocks = static_cast<Index>(offsets.size()) - 1;
  for (Index i = 0; i < rows.row_block_count(); ++i) {
    for (const BlockRows::Entry& entry : rows.entries(i)) {
      if (entry.block < 0 || entry.block >= blocks || entry.column != offsets[entry.block] ||
          entry.width != offsets[entry.block + 1] - offsets[entry.block]) {
        throw Error(where, std::string(what) + ": row block " + std::to_string(i) +
                               " refers to column block " + std::to_string(entry.block) +
                               ", which does not exist or has another size (there are " +
                               std::to_string(blocks) + ")");
      }
    }
  }
}

void check_row_blocks(const BlockRows& rows, std::span<const Index> offsets, std::string_view where,
                      const char* what) {
  if (rows.empty()) return;
  const auto own = rows.row_offsets();
  if (!std::equal(own.begin(), own.end(), offsets.begin(), offsets.end())) {
    throw Error(where, std::string(what) + ": row blocks disagree with the laws");
  }
}

std::span<const double> span_of(const VecX& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

}  // namespace

void validate(const CanonicalProblem& p, std::string_view where) {
  const std::vector<Index> offset = block_offsets(p);
  for (std::size_t i = 0; i < p.laws.size(); ++i) {
    validate(p.laws[i], std::string(where) + ": block " + std::to_string(i));
  }
  check_size(static_cast<Index>(p.k.size()), p.velocity_count(), where, "k");
  check_size(static_cast<Index>(p.e.size()), p.C.rows(), where, "e");
  check_size(static_cast<Index>(p.b.size()), offset.back(), where, "b");
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    if (p.C.dim(i) < 1 || p.C.dim(i) > kMaxLawDim) {
      throw Error(where, "C: row block " + std::to_string(i) + " has " +
                             std::to_string(p.C.dim(i)) + " rows, 1.." +
                             std::to_string(kMaxLawDim) + " are allowed");
    }
  }
  check_row_blocks(p.D, offset, where, "D");
  check_row_blocks(p.F, offset, where, "F");
  check_columns(p.C, p.H.offsets(), where, "C");
  check_columns(p.D, p.H.offsets(), where, "D");
  check_columns(p.F, offset, where, "F");
  check_finite(span_of(p.k), where, "k");
  check_finite(span_of(p.e), where, "e");
  check_finite(span_of(p.b), where, "b");
  check_finite(p.C.all_values(), where, "C");
  check_finite(p.D.all_values(), where, "D");
  check_finite(p.F.all_values(), where, "F");
  if (p.H.kind() == VelocityMatrix::Kind::BlockDiagonal && p.H.block_count() > 0) {
    for (Index i = 0; i < p.H.block_count(); ++i) {
      if (p.H.block_size(i) > kMaxVelocityBlock) {
        throw Error(where, "H: velocity block " + std::to_string(i) + " has " +
                               std::to_string(p.H.block_size(i)) + " rows, at most " +
                               std::to_string(kMaxVelocityBlock) + " are allowed; use a sparse H");
      }
    }
    const double* begin = p.H.block(0);
    const Index last = p.H.block_count() - 1;
    const double* end = p.H.block(last) + p.H.block_size(last) * p.H.block_size(last);
    check_finite({begin, end}, where, "H");
  } else if (p.H.kind() == VelocityMatrix::Kind::Sparse) {
    const SparseMatrix& H = p.H.sparse_matrix();
    check_size(static_cast<Index>(H.rows()), p.H.rows(), where, "H");
    check_size(static_cast<Index>(H.cols()), p.H.rows(), where, "H (columns)");
    check_finite({H.valuePtr(), static_cast<std::size_t>(H.nonZeros())}, where, "H");
  }
}

}  // namespace orthant
