// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_info.cpp: orthant info FILE… => sizes, laws, islands, rank and condition.
#include <fmt/format.h>

#include <Eigen/SVD>
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/problem_io/problem_file.hpp"

namespace orthant::app {
namespace {

constexpr Index kMaxDense = 400;          // rows up to which singular values are computed
constexpr double kRankTolerance = 1e-10;  // of the largest singular value

struct InfoOptions {
  std::vector<std::string> files;
  std::string kind;
};

void line(const char* name, const std::string& value) { fmt::print("  {:<16} {}\n", name, value); }

/// Union-find with path halving.
class Components {
 public:
  explicit Components(Index count) : parent_(static_cast<std::size_t>(count)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  Index find(Index i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(Index a, Index b) { parent_[find(a)] = find(b); }

 private:
  std::vector<Index> parent_;
};

/// Components of the graph of law blocks, bilateral rows and velocity blocks that hold a row.
Index island_count(const CanonicalProblem& p) {
  const Index blocks = p.block_count();
  const Index joints = p.C.row_block_count();
  Components graph(blocks + joints + p.H.block_count());
  const auto join_rows = [&](const BlockRows& rows, Index row_base, Index column_base) {
    for (Index i = 0; i < rows.row_block_count(); ++i) {
      for (const BlockRows::Entry& e : rows.entries(i)) {
        graph.join(row_base + i, column_base + e.block);
      }
    }
  };
  join_rows(p.F, 0, 0);
  join_rows(p.D, 0, blocks + joints);
  join_rows(p.C, blocks, blocks + joints);
  if (p.H.kind() == VelocityMatrix::Kind::Sparse) {
    std::vector<Index> block_of(static_cast<std::size_t>(p.H.rows()));
    for (Index i = 0; i < p.H.block_count(); ++i) {
      for (Index r = 0; r < p.H.block_size(i); ++r) block_of[p.H.block_begin(i) + r] = i;
    }
    const SparseMatrix& H = p.H.sparse_matrix();
    for (Index j = 0; j < H.outerSize(); ++j) {
      for (SparseMatrix::InnerIterator it(H, j); it; ++it) {
        graph.join(blocks + joints + block_of[it.row()], blocks + joints + block_of[j]);
      }
    }
  }
  std::vector<Index> roots;
  roots.reserve(static_cast<std::size_t>(blocks + joints));
  for (Index i = 0; i < blocks + joints; ++i) roots.push_back(graph.find(i));
  std::sort(roots.begin(), roots.end());
  return static_cast<Index>(std::unique(roots.begin(), roots.end()) - roots.begin());
}

std::string range(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return *low == *high ? to_text(*low) : to_text(*low) + " .. " + to_text(*high);
}

std::string matrix_text(const StoredMatrix& m) {
  return fmt::format("{} x {}, {}, {} stored", m.rows, m.cols, name_of(m.storage), m.values.size());
}

MatX dense(const BlockRows& rows, Index size) {
  MatX A = MatX::Zero(size, size);
  for (Index i = 0; i < rows.row_block_count(); ++i) {
    const double* a = rows.values(i);
    for (const BlockRows::Entry& e : rows.entries(i)) {
      for (Index r = 0; r < rows.dim(i); ++r) {
        for (Index c = 0; c < e.width; ++c) A(rows.row_begin(i) + r, e.column + c) = *a++;
      }
    }
  }
  return A;
}

/// Of the reduced matrix N: scale, symmetry, rank, condition. Nothing for large problems.
void print_matrix_facts(const CanonicalProblem& p) {
  const Index size = p.row_count() + p.bilateral_count();
  if (size == 0 || size > kMaxDense) return;
  const CanonicalProblem local = p.is_local() ? p : reduce(p);
  const MatX N = dense(local.F, size);
  const double scale = N.cwiseAbs().maxCoeff();
  line("max |W|", fmt::format("{:.3g}", scale));
  if (scale == 0) return;
  line("asymmetry",
       fmt::format("{:.1e} of max |W|", (N - N.transpose()).cwiseAbs().maxCoeff() / scale));
  // Square, and at most kMaxDense wide: the plain Jacobi sweeps, which compile four times faster.
  const VecX s = Eigen::JacobiSVD<MatX, Eigen::NoQRPreconditioner>(N).singularValues();
  const auto rank = (s.array() > kRankTolerance * s[0]).count();
  line("rank W", fmt::format("{} of {} (singular values above {:g} of the largest)", rank, size,
                             kRankTolerance));
  line("condition W", fmt::format("{:.1e} over these", s[0] / s[rank - 1]));
}

std::string law_text(const CanonicalProblem& p) {
  std::string text;
  for (int kind = 0; kind <= static_cast<int>(LawKind::Rolling); ++kind) {
    const auto count = std::count_if(p.laws.begin(), p.laws.end(), [&](const Law& law) {
      return static_cast<int>(law.kind) == kind;
    });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count,
                        name_of(static_cast<LawKind>(kind)));
  }
  return text.empty() ? "none" : text;
}

/// Text from a file, on one line and without control characters.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

void print_info(const std::string& path, std::optional<ProblemKind> kind) {
  const ProblemFile file = read_problem(path, kind);
  const CanonicalProblem p = to_problem(file);
  fmt::print("{}\n", path);
  line("format", std::string(name_of(file.format)));
  line("kind", std::string(name_of(file.kind)));
  line("unknowns", std::to_string(file.unknown_count()));
  if (file.kind == ProblemKind::FrictionLocal || file.kind == ProblemKind::FrictionGlobal) {
    line("contacts", fmt::format("{} of {} numbers", file.contact_count(), file.dim));
    if (!file.mu.empty()) line("friction", range(file.mu));
    if (!file.mu_r.empty()) line("rolling friction", range(file.mu_r));
  }
  if (file.kind == ProblemKind::FrictionGlobal) line("H", matrix_text(file.H));
  if (file.kind != ProblemKind::Canonical) {
    line(file.kind == ProblemKind::FrictionLocal ? "W" : "M", matrix_text(file.M));
  }
  if (p.velocity_count() > 0) {
    line("velocities", fmt::format("{} in {} blocks", p.velocity_count(), p.H.block_count()));
  }
  if (p.bilateral_count() > 0) line("bilateral rows", std::to_string(p.bilateral_count()));
  line("laws", law_text(p));
  line("islands", std::to_string(island_count(p)));
  print_matrix_facts(p);
  if (const std::string title = one_line(file.title); !title.empty()) line("title", title);
  if (const std::string text = one_line(file.description); !text.empty()) line("description", text);
}

int run_info(const InfoOptions& options) {
  std::optional<ProblemKind> kind;
  if (!options.kind.empty()) kind = problem_kind_of(options.kind);
  int code = kSuccess;
  for (const std::string& path : options.files) {
    try {
      print_info(path, kind);
    } catch (const Error& error) {
      fmt::print(stderr, "orthant: {}\n", error.what());
      code = kBadInput;
    }
  }
  return code;
}

}  // namespace

void add_info(Program& program) {
  const auto options = std::make_shared<InfoOptions>();
  Command command = program.command("info", "Say what a problem file holds");
  command.option("files", options->files, "problem files").value_name("FILE").required();
  command.option("--kind", options->kind, "force the kind, as in solve");
  command.footer("Example:\n  orthant info stack.hdf5\n");
  command.run([options] { return run_info(*options); });
}

}  // namespace orthant::app
