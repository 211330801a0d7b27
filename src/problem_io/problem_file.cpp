// SPDX-License-Identifier: Apache-2.0
// problem_io/problem_file.cpp: which format a file has, and the canonical problem of what it says.
#include "orthant/problem_io/problem_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/problem/special_cases.hpp"
#include "problem_io/fclib.hpp"
#include "problem_io/native.hpp"

namespace orthant {
namespace {

constexpr std::array<std::string_view, 5> kKindNames{"lcp", "mlcp", "friction_local",
                                                     "friction_global", "canonical"};
constexpr std::array<std::string_view, 3> kFormatNames{"text", "fclib", "native"};

std::size_t look_up(const char* what, std::string_view name,
                    std::span<const std::string_view> names) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  std::string message = "unknown '";
  message.append(name).append("'");
  const std::string near = nearest_spelling(name, names.data(), names.size());
  if (!near.empty()) message.append(" (did you mean '").append(near).append("'?)");
  message += "; allowed:";
  for (const std::string_view allowed : names) message.append(" ").append(allowed);
  throw Error(what, message);
}

/// Looks at the first bytes only: an HDF5 file may be large. A pipe cannot be read twice and is
/// taken for text.
bool is_hdf5(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  char head[8] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return std::string_view(head, sizeof head) == "\x89HDF\r\n\x1a\n";
}

/// Offsets of `contacts` blocks of `dim` rows, then `extra` of one row.
std::vector<Index> offsets_of(Index contacts, int dim, Index extra) {
  std::vector<Index> offsets{0};
  for (Index i = 0; i < contacts; ++i) offsets.push_back(offsets.back() + dim);
  for (Index i = 0; i < extra; ++i) offsets.push_back(offsets.back() + 1);
  return offsets;
}

/// u = W r + V l + q, Vᵀ r + R l + s = 0: the multipliers l become Free blocks after the contacts.
void add_bilateral_to_local(const ProblemFile& file, CanonicalProblem& p) {
  const SparseMatrix W = to_sparse(file.M);
  const SparseMatrix V = to_sparse(file.G);
  const SparseMatrix R = to_sparse(file.R);
  const auto rows = static_cast<Index>(W.rows());
  const auto extra = static_cast<Index>(R.rows());
  std::vector<Eigen::Triplet<double, Index>> entries;
  const auto add = [&](const SparseMatrix& A, Index row, Index col, bool transposed) {
    for (Index j = 0; j < A.outerSize(); ++j) {
      for (SparseMatrix::InnerIterator it(A, j); it; ++it) {
        const auto i = static_cast<Index>(it.row());
        entries.emplace_back(row + (transposed ? j : i), col + (transposed ? i : j), it.value());
      }
    }
  };
  add(W, 0, 0, false);
  add(V, 0, rows, false);
  add(V, rows, 0, true);
  add(R, rows, rows, false);
  SparseMatrix whole(rows + extra, rows + extra);
  whole.setFromTriplets(entries.begin(), entries.end());
  const std::vector<Index> offsets = offsets_of(file.contact_count(), file.dim, extra);
  p.F = to_block_rows(whole, offsets, offsets);
  p.laws.insert(p.laws.end(), static_cast<std::size_t>(extra), Law::free());
  p.b.conservativeResize(rows + extra);
  p.b.tail(extra) = file.b;
}

/// Gᵀ v + b = 0 is C v + e = 0 row by row, and G l enters the balance as Cᵀ γ.
void add_bilateral_to_global(const ProblemFile& file, CanonicalProblem& p) {
  const SparseMatrix C = to_sparse(file.G).transpose();
  p.C = to_block_rows(C, offsets_of(0, file.dim, static_cast<Index>(C.rows())), p.H.offsets());
  p.e = file.b;
}

CanonicalProblem mlcp_problem(const ProblemFile& file) {
  CanonicalProblem p = make_lcp(to_sparse(file.M), file.q);
  Index row = 0;
  for (std::size_t k = 0; k < file.row_block_ends.size(); ++k) {
    for (; row < file.row_block_ends[k]; ++row) {
      if (file.row_block_is_equation[k] != 0) p.laws[row] = Law::free();
    }
  }
  return p;
}

template <class Write>
void write_hdf5(const std::string& path, Write&& write) {
  AtomicFile out(path);
  {
    problem_io::Hdf5Writer writer(out.temporary_path(), path);
    write(writer);
    writer.finish();
  }
  out.commit();
}

}  // namespace

std::string_view name_of(ProblemKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
std::string_view name_of(FileFormat format) {
  return kFormatNames[static_cast<std::size_t>(format)];
}

ProblemKind problem_kind_of(std::string_view name) {
  if (name == "local") return ProblemKind::FrictionLocal;
  if (name == "global") return ProblemKind::FrictionGlobal;
  return static_cast<ProblemKind>(look_up("kind", name, kKindNames));
}

FileFormat file_format_of(std::string_view name) {
  return static_cast<FileFormat>(look_up("format", name, kFormatNames));
}

Index ProblemFile::unknown_count() const {
  if (kind == ProblemKind::Canonical) return canonical->row_count();
  if (kind == ProblemKind::FrictionGlobal) return H.cols;
  return M.rows;
}

ProblemFile read_problem(const std::string& path, std::optional<ProblemKind> kind) {
  if (!is_hdf5(path)) {
    const std::string content = read_file(path);
    if (content.find('\0') != std::string::npos) {
      throw Error(path, "is neither text nor HDF5 (has zero bytes, does not begin with \\x89HDF)");
    }
    return parse_problem_text(content, path, kind);
  }
  const problem_io::Hdf5Reader in(path);
  const bool wants_canonical = kind == ProblemKind::Canonical;
  if (problem_io::has_native(in) && (!kind || wants_canonical)) {
    ProblemFile file;
    file.kind = ProblemKind::Canonical;
    file.format = FileFormat::Native;
    file.canonical = problem_io::read_native(in);
    return file;
  }
  if (problem_io::has_fclib(in) && !wants_canonical) return problem_io::read_fclib(in, kind);
  if (kind) throw Error(path, "holds no problem of kind " + std::string(name_of(*kind)));
  throw Error(path,
              "holds none of the groups /fclib_local, /fclib_global, /fclib_global_rolling, "
              "/fclib_local_rolling, /orthant_problem");
}

void write_problem(const std::string& path, const ProblemFile& file, FileFormat format) {
  switch (format) {
    case FileFormat::Text:
      write_file(path, problem_text(file));
      break;
    case FileFormat::Fclib:
      if (file.kind != ProblemKind::FrictionLocal && file.kind != ProblemKind::FrictionGlobal) {
        std::string message = "the format fclib holds friction problems only, this one is ";
        message += name_of(file.kind);
        message += "; use native";
        throw Error(path, message);
      }
      write_hdf5(path, [&](problem_io::Hdf5Writer& out) { problem_io::write_fclib(out, file); });
      break;
    case FileFormat::Native:
      save_problem(path, to_problem(file));
      break;
  }
}

CanonicalProblem to_problem(const ProblemFile& file, bool exact) {
  if (file.kind == ProblemKind::Canonical) {
    CanonicalProblem p = *file.canonical;
    if (!exact) {
      for (Law& law : p.laws) law = law.convex();
    }
    return p;
  }
  if (file.kind == ProblemKind::Lcp) return make_lcp(to_sparse(file.M), file.q);
  if (file.kind == ProblemKind::Mlcp) return mlcp_problem(file);
  const FrictionData data{file.dim, file.mu, file.mu_r, exact};
  if (file.kind == ProblemKind::FrictionLocal) {
    CanonicalProblem p = make_local_friction(to_sparse(file.M), file.q, data);
    if (file.has_bilateral) add_bilateral_to_local(file, p);
    return p;
  }
  CanonicalProblem p =
      make_global_friction(to_sparse(file.M), to_sparse(file.H), file.q, file.w, data);
  if (file.has_bilateral) add_bilateral_to_global(file, p);
  return p;
}

void save_problem(const std::string& path, const CanonicalProblem& problem) {
  validate(problem, path);
  write_hdf5(path, [&](problem_io::Hdf5Writer& out) { problem_io::write_native(out, problem); });
}

CanonicalProblem load_problem(const std::string& path) {
  ProblemFile file = read_problem(path, ProblemKind::Canonical);
  return std::move(*file.canonical);
}

}  // namespace orthant
