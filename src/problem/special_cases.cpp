// SPDX-License-Identifier: Apache-2.0
// problem/special_cases.cpp: LCP, MLCP, frictional contact => canonical problem; canonical =>
// local.
#include "orthant/problem/special_cases.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "orthant/base/error.hpp"
#include "orthant/math/velocity_solver.hpp"

namespace orthant {
namespace {

using RowSparse = Eigen::SparseMatrix<double, Eigen::RowMajor, Index>;

/// Offsets of `count` blocks of `size`.
std::vector<Index> uniform_offsets(Index count, Index size) {
  std::vector<Index> offset(static_cast<std::size_t>(count) + 1);
  for (Index i = 0; i <= count; ++i) offset[i] = i * size;
  return offset;
}

void check_square(const SparseMatrix& M, Index n, const char* what) {
  if (M.rows() != n || M.cols() != n) {
    throw Error(what, "matrix must be " + std::to_string(n) + " x " + std::to_string(n) + ", got " +
                          std::to_string(M.rows()) + " x " + std::to_string(M.cols()));
  }
}

std::vector<Law> friction_laws(const FrictionData& data, Index rows, const char* what) {
  const auto contacts = static_cast<Index>(data.mu.size());
  if (data.dim != 2 && data.dim != 3 && data.dim != 5) {
    throw Error(what, "contact dimension must be 2, 3 or 5, got " + std::to_string(data.dim));
  }
  if (contacts * data.dim != rows) {
    throw Error(what, std::to_string(contacts) + " friction coefficients of dimension " +
                          std::to_string(data.dim) + " do not fit " + std::to_string(rows) +
                          " rows");
  }
  if (data.dim == 5 && data.mu_r.size() != data.mu.size()) {
    throw Error(what, "rolling friction needs one coefficient per contact");
  }
  std::vector<Law> laws;
  laws.reserve(data.mu.size());
  for (Index c = 0; c < contacts; ++c) {
    Law law = data.dim == 5 ? Law::rolling(5, data.mu[c], data.mu_r[c])
                            : Law::coulomb(data.dim, data.mu[c]);
    if (!data.exact) law = law.convex();
    validate(law, std::string(what) + ": contact " + std::to_string(c));
    laws.push_back(law);
  }
  return laws;
}

/// The coarsest uniform blocking (6, 3, 2, 1) along which M is block-diagonal, or 0.
Index block_diagonal_size(const SparseMatrix& M) {
  for (const Index size : {6, 3, 2, 1}) {
    if (M.rows() % size != 0) continue;
    bool fits = true;
    for (Index j = 0; j < M.outerSize() && fits; ++j) {
      for (SparseMatrix::InnerIterator it(M, j); it && fits; ++it) {
        fits = it.row() / size == it.col() / size || it.value() == 0.0;
      }
    }
    if (fits) return size;
  }
  return 0;
}

VelocityMatrix to_velocity_matrix(const SparseMatrix& M) {
  const auto n = static_cast<Index>(M.rows());
  const Index size = block_diagonal_size(M);
  if (size == 0) {
    const Index width = n % 3 == 0 ? 3 : 1;
    return VelocityMatrix::sparse(M, uniform_offsets(n / width, width));
  }
  VelocityMatrix H;
  for (Index i = 0; i < n / size; ++i) {
    double* block = H.add_block(size);
    for (Index c = 0; c < size; ++c) {
      for (SparseMatrix::InnerIterator it(M, i * size + c); it; ++it) {
        if (it.row() / size == i) block[(it.row() - i * size) * size + c] = it.value();
      }
    }
  }
  return H;
}

}  // namespace

BlockRows to_block_rows(const SparseMatrix& A, std::span<const Index> rows,
                        std::span<const Index> columns) {
  const RowSparse R(A);
  std::vector<Index> block_of(static_cast<std::size_t>(A.cols()));
  for (std::size_t j = 0; j + 1 < columns.size(); ++j) {
    for (Index c = columns[j]; c < columns[j + 1]; ++c) block_of[c] = static_cast<Index>(j);
  }
  BlockRows out;
  std::vector<Index> touched;
  std::vector<char> seen(columns.size(), 0);
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    touched.clear();
    for (Index r = rows[i]; r < rows[i + 1]; ++r) {
      for (RowSparse::InnerIterator it(R, r); it; ++it) {
        const Index j = block_of[it.col()];
        if (!seen[j]) seen[j] = 1, touched.push_back(j);
      }
    }
    std::sort(touched.begin(), touched.end());
    const Index dim = rows[i + 1] - rows[i];
    out.begin_row(dim);
    for (const Index j : touched) {
      const Index width = columns[j + 1] - columns[j];
      double* a = out.add(j, columns[j], width);
      for (Index r = 0; r < dim; ++r) {
        RowSparse::InnerIterator it(R, rows[i] + r);
        for (; it && it.col() < columns[j]; ++it) {
        }
        for (; it && it.col() < columns[j + 1]; ++it)
          a[r * width + it.col() - columns[j]] = it.value();
      }
      seen[j] = 0;
    }
  }
  return out;
}

CanonicalProblem make_lcp(const SparseMatrix& M, const VecX& q) { return make_mlcp(M, q, 0); }

CanonicalProblem make_lcp(const MatX& M, const VecX& q) {
  SparseMatrix S = M.sparseView(0.0, 0.0);  // keeps every entry that is not exactly zero
  S.makeCompressed();
  return make_lcp(S, q);
}

CanonicalProblem make_mlcp(const SparseMatrix& M, const VecX& q, Index n) {
  const auto rows = static_cast<Index>(q.size());
  check_square(M, rows, n == 0 ? "LCP" : "MLCP");
  if (n < 0 || n > rows)
    throw Error("MLCP", "number of equations must be 0.." + std::to_string(rows));
  CanonicalProblem p;
  p.laws.assign(static_cast<std::size_t>(rows), Law::orthant());
  std::fill(p.laws.begin(), p.laws.begin() + n, Law::free());
  const std::vector<Index> offset = uniform_offsets(rows, 1);
  p.F = to_block_rows(M, offset, offset);
  p.b = q;
  return p;
}

CanonicalProblem make_local_friction(const SparseMatrix& W, const VecX& q,
                                     const FrictionData& data) {
  const auto rows = static_cast<Index>(q.size());
  check_square(W, rows, "friction problem: W");
  CanonicalProblem p;
  p.laws = friction_laws(data, rows, "friction problem");
  const std::vector<Index> offset = uniform_offsets(rows / data.dim, data.dim);
  p.F = to_block_rows(W, offset, offset);
  p.b = q;
  return p;
}

CanonicalProblem make_global_friction(const SparseMatrix& M, const SparseMatrix& H, const VecX& f,
                                      const VecX& w, const FrictionData& data) {
  const auto dofs = static_cast<Index>(f.size()), rows = static_cast<Index>(w.size());
  check_square(M, dofs, "global friction problem: M");
  if (H.rows() != dofs || H.cols() != rows) {
    throw Error("global friction problem: H",
                "matrix must be " + std::to_string(dofs) + " x " + std::to_string(rows) + ", got " +
                    std::to_string(H.rows()) + " x " + std::to_string(H.cols()));
  }
  CanonicalProblem p;
  p.laws = friction_laws(data, rows, "global friction problem");
  p.H = to_velocity_matrix(M);
  p.k = f;
  p.D = to_block_rows(SparseMatrix(H.transpose()), uniform_offsets(rows / data.dim, data.dim),
                      p.H.offsets());
  p.b = w;
  return p;
}

namespace {

/// N for block-diagonal H: only row blocks that share a velocity block are coupled.
void reduce_block_diagonal(const CanonicalProblem& p, const VelocitySolver& inverse,
                           ReduceWorkspace& work, CanonicalProblem& out) {
  using RowOfBody = ReduceWorkspace::RowOfBody;
  const std::vector<Index>& offset = work.offset;
  const Index nc = p.C.row_block_count();
  const Index rows = nc + p.block_count();
  const auto each_entry = [&](Index i, auto&& visit) {
    const BlockRows& R = i < nc ? p.C : p.D;
    const Index local = i < nc ? i : i - nc;
    if (local >= R.row_block_count()) return;
    const double* a = R.values(local);
    for (const auto& entry : R.entries(local)) {
      visit(entry, a, R.dim(local));
      a += static_cast<std::ptrdiff_t>(R.dim(local)) * entry.width;
    }
  };
  // Rows body by body, in their order: counting sort.
  std::vector<Index>& begin = work.touching_begin;
  begin.assign(static_cast<std::size_t>(p.H.block_count()) + 2, 0);
  for (Index i = 0; i < rows; ++i) {
    each_entry(
        i, [&](const BlockRows::Entry& entry, const double*, Index) { ++begin[entry.block + 2]; });
  }
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  work.touching.resize(begin.back());
  for (Index i = 0; i < rows; ++i) {
    each_entry(i, [&](const BlockRows::Entry& entry, const double* a, Index) {
      work.touching[begin[entry.block + 1]++] = {i, entry.width, a};
    });
  }
  const auto touching = [&](Index body) {
    return std::span<const RowOfBody>(work.touching.data() + begin[body],
                                      static_cast<std::size_t>(begin[body + 1] - begin[body]));
  };
  std::vector<Index>& columns = work.columns;
  std::vector<char>& seen = work.seen;
  std::vector<double*>& place = work.place;
  std::vector<double>& solved = work.solved;
  seen.assign(static_cast<std::size_t>(rows), 0);
  place.assign(static_cast<std::size_t>(rows), nullptr);
  for (Index i = 0; i < rows; ++i) {
    columns.clear();
    const auto mark = [&](Index j) {
      if (!seen[j]) seen[j] = 1, columns.push_back(j);
    };
    mark(i);
    each_entry(i, [&](const BlockRows::Entry& entry, const double*, Index) {
      for (const RowOfBody& other : touching(entry.block)) mark(other.row_block);
    });
    const bool has_F = i >= nc && !p.F.empty();
    if (has_F) {
      for (const auto& entry : p.F.entries(i - nc)) mark(entry.block + nc);
    }
    std::sort(columns.begin(), columns.end());
    const Index dim = offset[i + 1] - offset[i];
    out.F.begin_row(dim);
    for (const Index j : columns) out.F.add(j, offset[j], offset[j + 1] - offset[j]);
    double* a = out.F.values(i);
    for (const Index j : columns) {
      place[j] = a;
      a += static_cast<std::ptrdiff_t>(dim) * (offset[j + 1] - offset[j]);
      seen[j] = 0;
    }
    // Row i of D H⁻¹ body by body, then times the transposed rows of everyone on that body.
    each_entry(i, [&](const BlockRows::Entry& entry, const double* d, Index) {
      solved.assign(d, d + static_cast<std::ptrdiff_t>(dim) * entry.width);
      for (Index r = 0; r < dim; ++r)
        inverse.solve_block_transpose(entry.block, solved.data() + r * entry.width);
      for (const RowOfBody& other : touching(entry.block)) {
        const Index width = offset[other.row_block + 1] - offset[other.row_block];
        double* n = place[other.row_block];
        for (Index r = 0; r < dim; ++r) {
          for (Index c = 0; c < width; ++c) {
            double s = 0;
            for (Index t = 0; t < entry.width; ++t) {
              s += solved[r * entry.width + t] * other.values[c * entry.width + t];
            }
            n[r * width + c] += s;
          }
        }
      }
    });
    if (has_F) {
      const double* f = p.F.values(i - nc);
      for (const auto& entry : p.F.entries(i - nc)) {
        double* n = place[entry.block + nc];
        for (Index t = 0; t < dim * entry.width; ++t) n[t] += f[t];
        f += static_cast<std::ptrdiff_t>(dim) * entry.width;
      }
    }
  }
}

/// N for sparse H or an operator: one solve per column, every block may be coupled with every
/// other.
void reduce_general(const CanonicalProblem& p, const VelocitySolver& inverse,
                    std::span<const Index> offset, CanonicalProblem& out) {
  const Index nc = p.C.row_block_count(), bilateral = p.C.rows(), total = offset.back();
  MatX N = MatX::Zero(total, total);
  VecX column(p.velocity_count()), x, unit = VecX::Zero(total), y;
  for (Index j = 0; j < total; ++j) {
    unit.setZero();
    unit[j] = 1;
    column.setZero();
    p.C.multiply_transpose_add(1, unit.head(bilateral), column);
    if (!p.D.empty()) p.D.multiply_transpose_add(1, unit.tail(total - bilateral), column);
    inverse.solve(column, x);
    p.C.multiply(x, y);
    N.col(j).head(bilateral) = y;
    if (!p.D.empty()) {
      p.D.multiply(x, y);
      N.col(j).tail(total - bilateral) = y;
    }
  }
  const Index rows = nc + p.block_count();
  for (Index i = 0; i < rows; ++i) {
    const Index dim = offset[i + 1] - offset[i];
    out.F.begin_row(dim);
    for (Index j = 0; j < rows; ++j) {
      const Index width = offset[j + 1] - offset[j];
      const auto block = N.block(offset[i], offset[j], dim, width);
      const double* f = i >= nc && j >= nc && !p.F.empty() ? p.F.find(i - nc, j - nc) : nullptr;
      if (!f && i != j && block.isZero(0.0)) continue;
      double* n = out.F.add(j, offset[j], width);
      for (Index r = 0; r < dim; ++r) {
        for (Index c = 0; c < width; ++c)
          n[r * width + c] = block(r, c) + (f ? f[r * width + c] : 0.0);
      }
    }
  }
}

}  // namespace

void reduce(const CanonicalProblem& p, ReduceWorkspace& work, CanonicalProblem& out) {
  if (!work.inverse.factorize(p.H)) throw Error("reduce", "H is singular");
  reduce(p, work.inverse, work, out);
}

void reduce(const CanonicalProblem& p, const VelocitySolver& inverse, ReduceWorkspace& work,
            CanonicalProblem& out) {
  out.H.clear();
  out.C.clear();
  out.D.clear();
  out.F.clear();
  out.laws.clear();
  out.k.resize(0);
  out.e.resize(0);
  for (Index i = 0; i < p.C.row_block_count(); ++i) out.laws.push_back(Law::free(p.C.dim(i)));
  out.laws.insert(out.laws.end(), p.laws.begin(), p.laws.end());
  work.offset.assign(1, 0);
  for (const Law& law : out.laws) work.offset.push_back(work.offset.back() + law.dim);
  if (inverse.is_block_diagonal()) {
    reduce_block_diagonal(p, inverse, work, out);
  } else {
    reduce_general(p, inverse, work.offset, out);
  }
  work.v_free.resize(p.velocity_count());
  inverse.solve(p.k, work.v_free);
  work.head = p.e;
  work.tail = p.b;
  p.C.multiply_add(1, work.v_free, work.head);
  if (!p.D.empty()) p.D.multiply_add(1, work.v_free, work.tail);
  out.b.resize(work.offset.back());
  out.b << work.head, work.tail;
}

CanonicalProblem reduce(const CanonicalProblem& p) {
  ReduceWorkspace work;
  CanonicalProblem out;
  reduce(p, work, out);
  return out;
}

void expand(const CanonicalProblem& p, const VelocitySolver& inverse, ReduceWorkspace& work,
            const Solution& reduced, Solution& solution) {
  solution.gamma = reduced.lambda.head(p.C.rows());
  solution.lambda = reduced.lambda.tail(p.row_count());
  VecX& impulse = work.v_free;
  impulse = p.k;
  p.C.multiply_transpose_add(1, solution.gamma, impulse);
  if (!p.D.empty()) p.D.multiply_transpose_add(1, solution.lambda, impulse);
  inverse.solve(impulse, solution.v);
  solution.w = p.b;
  if (!p.D.empty()) p.D.multiply_add(1, solution.v, solution.w);
  if (!p.F.empty()) p.F.multiply_add(1, solution.lambda, solution.w);
}

void expand(const CanonicalProblem& p, const Solution& reduced, Solution& solution) {
  ReduceWorkspace work;
  if (!work.inverse.factorize(p.H)) throw Error("expand", "H is singular");
  expand(p, work.inverse, work, reduced, solution);
}

}  // namespace orthant
