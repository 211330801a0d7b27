// SPDX-License-Identifier: Apache-2.0
// problem_io/text_writer.cpp: ProblemFile => text.
#include "orthant/base/error.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "problem_io/matrix_text.hpp"

namespace orthant {
namespace {

using problem_io::append;

template <class Vector>
void append_line(std::string& out, const Vector& x) {
  for (const double value : x) {
    append(out, value);
    out += ' ';
  }
  out += '\n';
}

void append_count(std::string& out, std::int64_t count) {
  append(out, count);
  out += '\n';
}

/// Only M and q: the second copy (A, B, C, D) would say the same again, in dense form.
void write_mlcp(const ProblemFile& file, std::string& out) {
  Index equations = 0;
  Index last = 0;
  for (std::size_t k = 0; k < file.row_block_ends.size(); ++k) {
    if (file.row_block_is_equation[k] != 0) equations += file.row_block_ends[k] - last;
    last = file.row_block_ends[k];
  }
  append_count(out, 1);
  append_count(out, 0);
  append_count(out, equations);
  append_count(out, file.M.rows - equations);
  out += "0 ";
  for (const Index end : file.row_block_ends) {
    append(out, std::int64_t{end});
    out += ' ';
  }
  out += '\n';
  for (const std::uint8_t equation : file.row_block_is_equation) out += equation != 0 ? "0 " : "1 ";
  out += '\n';
  problem_io::write_matrix(file.M, out);
  append_line(out, file.q);
}

void write_friction(const ProblemFile& file, std::string& out) {
  append_count(out, file.dim);
  append_count(out, file.contact_count());
  problem_io::write_matrix(file.M, out);
  if (file.kind == ProblemKind::FrictionGlobal) problem_io::write_matrix(file.H, out);
  append_line(out, file.q);
  if (file.kind == ProblemKind::FrictionGlobal) append_line(out, file.w);
  append_line(out, file.mu);
  if (file.dim == 5) append_line(out, file.mu_r);
}

}  // namespace

std::string problem_text(const ProblemFile& file) {
  if (file.has_bilateral) {
    throw Error("text format", "cannot hold bilateral rows (G, b or V, R, s); use fclib or native");
  }
  std::string out;
  switch (file.kind) {
    case ProblemKind::Lcp:
      append_count(out, file.M.rows);
      problem_io::write_matrix(file.M, out);
      append_line(out, file.q);
      break;
    case ProblemKind::Mlcp:
      write_mlcp(file, out);
      break;
    case ProblemKind::FrictionLocal:
    case ProblemKind::FrictionGlobal:
      write_friction(file, out);
      break;
    case ProblemKind::Canonical:
      throw Error("text format", "cannot hold a canonical problem; use native");
  }
  return out;
}

}  // namespace orthant
