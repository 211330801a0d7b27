// SPDX-License-Identifier: Apache-2.0
// problem_io/text_reader.cpp: text => ProblemFile (LCP, MLCP, friction local and global).
// The files carry no tag. Each format is tried from the start; the counts repeat often enough that
// at most one fits. Where none fits, the complaint of the attempt that got furthest is thrown.
#include <algorithm>
#include <cmath>

#include "orthant/problem_io/problem_file.hpp"
#include "problem_io/matrix_text.hpp"
#include "problem_io/text_cursor.hpp"

namespace orthant {
namespace {

using problem_io::Sign;
using problem_io::TextCursor;
using problem_io::TextError;

constexpr std::int64_t kMaxIndex = INT32_MAX;
constexpr std::int64_t kNumberBytes = 2;
/// Two copies of an MLCP may be printed with different numbers of digits; further apart than this
/// (relative to the largest entry) they are two problems.
constexpr double kCopyTolerance = 1e-6;

VecX read_vector(TextCursor& in, const char* what, std::int64_t count) {
  in.expect_room(what, count, kNumberBytes);
  VecX x(count);
  in.numbers(what, count, x.data());
  return x;
}

std::vector<double> read_friction(TextCursor& in, const char* what, std::int64_t count) {
  in.expect_room(what, count, kNumberBytes);
  std::vector<double> x(static_cast<std::size_t>(count));
  in.numbers(what, count, x.data(), Sign::NonNegative);
  return x;
}

std::string size_text(const StoredMatrix& m) {
  return std::to_string(m.rows) + " rows and " + std::to_string(m.cols) + " columns";
}

// --- LCP: n, M, q ---------------------------------------------------------------------------

ProblemFile read_lcp(TextCursor in) {
  ProblemFile file;
  file.kind = ProblemKind::Lcp;
  const Index n = in.index("n", 0, kMaxIndex);
  file.M = problem_io::read_matrix(in, "M");
  if (file.M.rows != n || file.M.cols != n) {
    in.fail("M must be " + std::to_string(n) + " x " + std::to_string(n) + ", found " +
            size_text(file.M));
  }
  file.q = read_vector(in, "q", n);
  return file;
}

// --- MLCP: flags, n, m, then M, q and/or A, B, C, D, a, b -------------------------------------

/// Dense row-major piece of the second copy.
std::vector<double> read_piece(TextCursor& in, const char* what, Index rows, Index cols) {
  const std::int64_t count = std::int64_t{rows} * cols;
  in.expect_room(what, count, kNumberBytes);
  std::vector<double> x(static_cast<std::size_t>(count));
  in.numbers(what, count, x.data());
  return x;
}

struct MlcpCopy {
  MatX M;
  VecX q;
};

/// M = [A C; D B], q = [a; b]: equations first.
MlcpCopy read_pieces(TextCursor& in, Index n, Index m) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Map = Eigen::Map<const RowMajor>;
  const std::vector<double> A = read_piece(in, "A", n, n);
  const std::vector<double> B = read_piece(in, "B", m, m);
  const std::vector<double> C = read_piece(in, "C", n, m);
  const std::vector<double> D = read_piece(in, "D", m, n);
  MlcpCopy copy{MatX(n + m, n + m), VecX(n + m)};
  copy.M.topLeftCorner(n, n) = Map(A.data(), n, n);
  copy.M.topRightCorner(n, m) = Map(C.data(), n, m);
  copy.M.bottomLeftCorner(m, n) = Map(D.data(), m, n);
  copy.M.bottomRightCorner(m, m) = Map(B.data(), m, m);
  copy.q.head(n) = read_vector(in, "a", n);
  copy.q.tail(m) = read_vector(in, "b", m);
  return copy;
}

/// Rows of each block and what they are; equations must add up to n, the rest to m.
void read_row_blocks(TextCursor& in, Index n, Index m, ProblemFile& file) {
  in.integer("the first block start", 0, 0);
  Index last = 0;
  while (last < n + m) {
    last = in.index("block start", std::int64_t{last} + 1, std::int64_t{n} + m);
    file.row_block_ends.push_back(last);
  }
  Index equations = 0;
  last = 0;
  for (const Index end : file.row_block_ends) {
    const bool complementary = in.integer("block flag (0 equation, 1 complementarity)", 0, 1) == 1;
    file.row_block_is_equation.push_back(complementary ? 0 : 1);
    if (!complementary) equations += end - last;
    last = end;
  }
  if (equations != n) {
    in.fail("the blocks have " + std::to_string(equations) + " equations, n says " +
            std::to_string(n));
  }
}

/// Order of the rows of M in the second copy: equations, then complementary rows.
std::vector<Index> grouped_order(const ProblemFile& file) {
  std::vector<Index> order;
  for (const bool equation : {true, false}) {
    Index begin = 0;
    for (std::size_t k = 0; k < file.row_block_ends.size(); ++k) {
      if ((file.row_block_is_equation[k] != 0) == equation) {
        for (Index i = begin; i < file.row_block_ends[k]; ++i) order.push_back(i);
      }
      begin = file.row_block_ends[k];
    }
  }
  return order;
}

void check_copies(const TextCursor& in, const ProblemFile& file, const MlcpCopy& copy) {
  const MatX M(to_sparse(file.M));
  const std::vector<Index> order = grouped_order(file);
  const auto size = static_cast<Index>(order.size());
  const double M_scale = size == 0 ? 0 : M.cwiseAbs().maxCoeff();
  const double q_scale = size == 0 ? 0 : file.q.cwiseAbs().maxCoeff();
  const auto agree = [](double first, double second, double scale) {
    return std::abs(first - second) <= kCopyTolerance * scale;
  };
  const auto complain = [&](const std::string& what, double first, double second) {
    in.fail("the two copies of the problem disagree: " + what + " is " + to_text(first) +
            " in the first and " + to_text(second) + " in the second");
  };
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < size; ++j) {
      const double first = M(order[i], order[j]);
      if (agree(first, copy.M(i, j), M_scale)) continue;
      complain("M(" + std::to_string(order[i]) + "," + std::to_string(order[j]) + ")", first,
               copy.M(i, j));
    }
    const double first = file.q[order[i]];
    if (!agree(first, copy.q[i], q_scale)) {
      complain("q[" + std::to_string(order[i]) + "]", first, copy.q[i]);
    }
  }
}

ProblemFile read_mlcp(TextCursor in) {
  ProblemFile file;
  file.kind = ProblemKind::Mlcp;
  const bool has_M = in.integer("flag 'M is given'", 0, 1) == 1;
  const bool has_pieces = in.integer("flag 'A, B, C, D are given'", 0, 1) == 1;
  if (!has_M && !has_pieces) in.fail("both flags are 0: the file holds no problem");
  const Index n = in.index("n (equations)", 0, kMaxIndex);
  const Index m = in.index("m (complementary pairs)", 0, kMaxIndex - n);
  if (has_M) {
    read_row_blocks(in, n, m, file);
    file.M = problem_io::read_matrix(in, "M");
    if (file.M.rows != n + m || file.M.cols != n + m) {
      in.fail("M must be square with n + m = " + std::to_string(n + m) + " rows, found " +
              size_text(file.M) + ": rectangular problems are not supported");
    }
    file.q = read_vector(in, "q", n + m);
  }
  if (has_pieces) {
    const MlcpCopy copy = read_pieces(in, n, m);
    if (has_M) {
      check_copies(in, file, copy);
    } else {
      if (n > 0) file.row_block_ends.push_back(n), file.row_block_is_equation.push_back(1);
      if (m > 0) file.row_block_ends.push_back(n + m), file.row_block_is_equation.push_back(0);
      file.M.rows = file.M.cols = n + m;
      file.M.values.assign(copy.M.data(), copy.M.data() + copy.M.size());
      file.q = copy.q;
    }
  }
  return file;
}

// --- friction: dim nc, W q mu [mu_r] or M H f w mu [mu_r] --------------------------------------

/// Whether storage, rows and columns of H could stand here: what tells a global problem from a
/// local one when M happens to have one row per contact number.
bool at_matrix(TextCursor in, Index rows, Index cols) {
  try {
    in.integer("", 0, 2);
    in.integer("", rows, rows);
    in.integer("", cols, cols);
    return true;
  } catch (const Error&) {
    return false;
  }
}

ProblemFile read_friction_problem(TextCursor in, std::optional<ProblemKind> kind) {
  ProblemFile file;
  file.dim = static_cast<int>(in.integer("dim (2, 3, or 5 for rolling)", 2, 5));
  if (file.dim == 4) in.fail("dim must be 2, 3 or 5, found '4'");
  const Index contacts = in.index("number of contacts", 0, kMaxIndex / file.dim);
  const Index rows = contacts * file.dim;
  const bool forced = kind.has_value();
  const char* name = forced && *kind == ProblemKind::FrictionLocal ? "W" : "M";
  file.M = problem_io::read_matrix(in, name);
  if (file.M.rows != file.M.cols) {
    in.fail(std::string(name) + " must be square, found " + size_text(file.M));
  }
  const bool global = forced ? *kind == ProblemKind::FrictionGlobal
                             : file.M.rows != rows || at_matrix(in, file.M.rows, rows);
  file.kind = global ? ProblemKind::FrictionGlobal : ProblemKind::FrictionLocal;
  if (!global) {
    if (file.M.rows != rows) {
      in.fail("W must have dim x contacts = " + std::to_string(rows) + " rows, found " +
              size_text(file.M));
    }
    file.q = read_vector(in, "q", rows);
  } else {
    file.H = problem_io::read_matrix(in, "H");
    if (file.H.rows != file.M.rows || file.H.cols != rows) {
      in.fail("H must have " + std::to_string(file.M.rows) + " rows (as M) and dim x contacts = " +
              std::to_string(rows) + " columns, found " + size_text(file.H));
    }
    file.q = read_vector(in, "f", file.M.rows);
    file.w = read_vector(in, "w", rows);
  }
  file.mu = read_friction(in, "mu", contacts);
  if (file.dim == 5) file.mu_r = read_friction(in, "mu_r", contacts);
  return file;
}

}  // namespace

ProblemFile parse_problem_text(std::string_view text, std::string_view name,
                               std::optional<ProblemKind> kind) {
  const TextCursor in(text, name);
  const auto read = [&](ProblemKind k) {
    if (k == ProblemKind::Lcp) return read_lcp(in);
    if (k == ProblemKind::Mlcp) return read_mlcp(in);
    return read_friction_problem(in, kind);
  };
  if (kind == ProblemKind::Canonical) {
    throw Error(name, "a canonical problem is an HDF5 file, found text");
  }
  if (kind) return read(*kind);

  const auto first = std::find_if_not(text.begin(), text.end(),
                                      [](char c) { return c == ' ' || (c >= 9 && c <= 13); });
  if (first == text.end()) {
    throw Error(name, "the file is empty, expected an LCP, MLCP or friction problem");
  }
  std::optional<ProblemFile> found;
  std::optional<TextError> furthest;
  std::string_view furthest_kind;
  for (const ProblemKind k : {ProblemKind::FrictionLocal, ProblemKind::Mlcp, ProblemKind::Lcp}) {
    try {
      ProblemFile file = read(k);
      if (found) {
        throw Error(name, "can be read as " + std::string(name_of(found->kind)) + " and as " +
                              std::string(name_of(file.kind)) + ": say which with the kind option");
      }
      found = std::move(file);
    } catch (const TextError& error) {
      if (furthest && error.offset() < furthest->offset()) continue;
      furthest = error;
      furthest_kind = k == ProblemKind::FrictionLocal ? "a friction problem"
                      : k == ProblemKind::Mlcp        ? "an MLCP"
                                                      : "an LCP";
    }
  }
  if (found) return *found;
  std::string what = std::string(furthest->what()).substr(furthest->where().size() + 2);
  if (furthest->offset() == static_cast<std::size_t>(first - text.begin())) {
    what =
        "expected a number: an LCP begins with its size, an MLCP with two flags (0 or 1), a "
        "friction "
        "problem with the numbers per contact (2, 3 or 5)";
  } else {
    what += " (read as " + std::string(furthest_kind) + ")";
  }
  throw Error(furthest->where(), what);
}

}  // namespace orthant
