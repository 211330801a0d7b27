// SPDX-License-Identifier: Apache-2.0
// petsc/orthant_petsc.cpp: problem files without friction => answers of PETSc's Tao beside ours.
//   orthant-petsc FILE… [-engines ours,tron,bntr,orthant] [-frictionless] [-csv FILE] [PETSc
//   options] min ½ λᵀNλ + rᵀλ,  lo <= λ <= hi,   N = D H⁻¹Dᵀ + F, scaled to a unit diagonal
// One judge looks at all answers. Rows of one pair of bodies stand together, so that their blocks
// are those of the matrix. On any number of ranks; ours runs on the first.
#include <petsctao.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "orthant/base/error.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "orthant/solver/solve.hpp"
#include "orthant/tao/tao.h"

namespace {

using namespace orthant;

constexpr int kSuccess = 0, kNotConverged = 1, kBadInput = 2;

struct Answer {
  std::string engine, outcome;
  PetscInt iterations = 0;
  double seconds = 0, residual = NAN;
};

/// Normal rows alone: what is left without friction.
CanonicalProblem without_friction(const CanonicalProblem& p) {
  CanonicalProblem out;
  out.H = p.H;
  out.k = p.k;
  out.C = p.C;
  out.e = p.e;
  std::vector<double> b;
  std::vector<Index> kept(static_cast<std::size_t>(p.block_count())), offset = block_offsets(p),
                                                                      columns{0};
  for (Index i = 0; i < p.block_count(); ++i) {
    kept[i] = p.laws[i].is_frictional() ? 1 : p.laws[i].dim;
    columns.push_back(columns.back() + kept[i]);
    out.laws.push_back(p.laws[i].is_frictional() ? Law::orthant() : p.laws[i]);
    for (Index d = 0; d < kept[i]; ++d) b.push_back(p.b[offset[i] + d]);
  }
  const auto copy = [&](const BlockRows& from, BlockRows& to, bool cut) {
    for (Index i = 0; i < from.row_block_count(); ++i) {
      to.begin_row(kept[i]);
      const double* values = from.values(i);
      for (const BlockRows::Entry& e : from.entries(i)) {
        const Index width = cut ? kept[e.block] : e.width;
        double* out_values = to.add(e.block, cut ? columns[e.block] : e.column, width);
        for (Index d = 0; d < kept[i]; ++d)
          std::copy_n(values + d * e.width, width, out_values + d * width);
        values += from.dim(i) * e.width;
      }
    }
  };
  copy(p.D, out.D, false);
  copy(p.F, out.F, true);
  out.b = Eigen::Map<const VecX>(b.data(), static_cast<Eigen::Index>(b.size()));
  return out;
}

/// The quadratic problem of a canonical one, in its own order and scale.
struct Quadratic {
  CanonicalProblem problem, reduced;
  Eigen::SparseMatrix<double, Eigen::RowMajor> N;
  VecX r, lo, hi, scale;         // λ = scale x, in the order of the rows of N
  std::vector<Index> row;        // of `reduced`, by row of N
  std::vector<PetscInt> blocks;  // rows of one pair of bodies; one after the other
};

Quadratic quadratic_of(const std::string& path, bool frictionless) {
  Quadratic out;
  out.problem = to_problem(read_problem(path));
  if (frictionless) out.problem = without_friction(out.problem);
  for (const Law& law : out.problem.laws)
    if (!law.is_separable())
      throw Error(path, "has friction, which is no bound; -frictionless keeps the normal rows");
  out.reduced = reduce(out.problem);
  const CanonicalProblem& p = out.reduced;
  const Index n = p.row_count();
  if (n == 0) throw Error(path, "has no rows");

  // Bilateral rows come first in the reduced problem, each a block of its own.
  std::vector<std::vector<Index>> bodies(static_cast<std::size_t>(n));
  const BlockRows& D = out.problem.D;
  const Index first = n - out.problem.row_count();
  for (Index i = 0; i < D.row_block_count(); ++i)
    for (Index row = D.row_begin(i); row < D.row_begin(i) + D.dim(i); ++row)
      for (const BlockRows::Entry& e : D.entries(i)) bodies[first + row].push_back(e.block);
  for (auto& of_row : bodies) std::sort(of_row.begin(), of_row.end());
  out.row.resize(static_cast<std::size_t>(n));
  std::iota(out.row.begin(), out.row.end(), 0);
  std::stable_sort(out.row.begin(), out.row.end(),
                   [&](Index a, Index b) { return bodies[a] < bodies[b]; });
  for (Index i = 0; i < n; ++i) {
    const auto& here = bodies[out.row[i]];
    if (i > 0 && !here.empty() && here == bodies[out.row[i - 1]])
      ++out.blocks.back();
    else
      out.blocks.push_back(1);
  }

  std::vector<Index> place(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) place[out.row[i]] = i;
  std::vector<Eigen::Triplet<double>> entries;
  for (Index i = 0; i < p.F.row_block_count(); ++i) {
    const double* values = p.F.values(i);
    for (const BlockRows::Entry& e : p.F.entries(i))
      for (Index d = 0; d < p.F.dim(i); ++d)
        for (Index c = 0; c < e.width; ++c, ++values)
          if (*values != 0)
            entries.emplace_back(place[p.F.row_begin(i) + d], place[e.column + c], *values);
  }
  out.N.resize(n, n);
  out.N.setFromTriplets(entries.begin(), entries.end());
  const SparseMatrix transposed = out.N.transpose();
  const double size = out.N.norm(), error = SparseMatrix(SparseMatrix(out.N) - transposed).norm();
  if (error > 1e-9 * size) {
    char text[120];
    std::snprintf(text, sizeof text, "no minimum problem: its matrix is unsymmetric by %.1e",
                  error / size);
    throw Error(path, text);
  }
  out.scale.setOnes(n);
  for (Index i = 0; i < n; ++i)
    if (const double d = out.N.coeff(i, i); d > 0) out.scale[i] = 1 / std::sqrt(d);
  VecX b(n);
  for (Index i = 0; i < n; ++i) b[i] = p.b[out.row[i]];
  const double push = std::max(out.scale.cwiseProduct(b).cwiseAbs().maxCoeff(), 1e-300);
  out.r = out.scale.cwiseProduct(b) / push;
  out.N = out.scale.asDiagonal() * out.N * out.scale.asDiagonal();
  out.scale *= push;

  out.lo.setConstant(n, PETSC_NINFINITY);
  out.hi.setConstant(n, PETSC_INFINITY);
  const std::vector<Index> offset = block_offsets(p);
  for (Index block = 0; block < p.block_count(); ++block) {
    const Law& law = p.laws[block];
    for (Index d = offset[block]; d < offset[block + 1]; ++d) {
      const Index i = place[d];
      if (law.kind == LawKind::Orthant) out.lo[i] = 0;
      if (law.kind == LawKind::Zero) out.lo[i] = out.hi[i] = 0;
      if (law.kind == LawKind::Box && std::isfinite(law.lo)) out.lo[i] = law.lo / out.scale[i];
      if (law.kind == LawKind::Box && std::isfinite(law.hi)) out.hi[i] = law.hi / out.scale[i];
    }
  }
  return out;
}

struct Objective {
  Mat N;
  Vec r;
};

PetscErrorCode value_and_gradient(Tao, Vec x, PetscReal* f, Vec g, void* context) {
  const auto& q = *static_cast<Objective*>(context);
  double linear = 0;
  PetscFunctionBeginUser;
  PetscCall(MatMult(q.N, x, g));
  PetscCall(VecDot(x, g, f));
  PetscCall(VecDot(x, q.r, &linear));
  *f = 0.5 * *f + linear;
  PetscCall(VecAXPY(g, 1.0, q.r));
  PetscFunctionReturn(0);
}

PetscErrorCode constant_hessian(Tao, Vec, Mat, Mat, void*) { return 0; }

/// The rows [begin, end) of this rank, whole pairs only, about the same number of entries on each.
void own_rows(const Quadratic& q, int ranks, int rank, PetscInt& begin, PetscInt& end,
              std::vector<PetscInt>& blocks) {
  const double total = static_cast<double>(q.N.nonZeros());
  double before = 0;
  PetscInt at = 0;
  begin = end = -1;
  for (const PetscInt size : q.blocks) {
    const int owner = std::min(ranks - 1, static_cast<int>(ranks * before / std::max(total, 1.0)));
    for (PetscInt i = at; i < at + size; ++i)
      before += q.N.outerIndexPtr()[i + 1] - q.N.outerIndexPtr()[i];
    if (owner == rank) {
      if (begin < 0) begin = at;
      end = at + size;
      blocks.push_back(size);
    } else if (owner < rank) {
      begin = end = -1;
    }
    at += size;
  }
  if (begin < 0) begin = end = 0;  // more ranks than pairs
}

PetscErrorCode run_tao(const Quadratic& q, const std::string& engine, double tolerance,
                       Answer& out) {
  int ranks = 1, rank = 0;
  PetscInt begin = 0, end = 0;
  std::vector<PetscInt> blocks;
  Objective objective{};
  Mat N;
  Vec r, x, lo, hi, all;
  VecScatter scatter;
  Tao tao;
  TaoType type;
  TaoConvergedReason reason;
  PetscBool told = PETSC_FALSE;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  own_rows(q, ranks, rank, begin, end, blocks);
  const PetscInt n = end - begin, size = q.N.rows();
  std::vector<PetscInt> starts(1, 0), columns;
  std::vector<double> values;
  for (PetscInt i = begin; i < end; ++i) {
    for (decltype(q.N)::InnerIterator entry(q.N, i); entry; ++entry) {
      columns.push_back(static_cast<PetscInt>(entry.col()));
      values.push_back(entry.value());
    }
    starts.push_back(static_cast<PetscInt>(columns.size()));
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, &N));
  PetscCall(MatSetSizes(N, n, n, size, size));
  PetscCall(MatSetType(N, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(N, starts.data(), columns.data(), values.data()));
  PetscCall(MatMPIAIJSetPreallocationCSR(N, starts.data(), columns.data(), values.data()));
  PetscCall(MatSetVariableBlockSizes(N, static_cast<PetscInt>(blocks.size()), blocks.data()));
  PetscCall(MatSetOption(N, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatCreateVecs(N, &x, &r));
  PetscCall(VecDuplicate(x, &lo));
  PetscCall(VecDuplicate(x, &hi));
  for (const auto& [to, from] : {std::pair{r, &q.r}, {lo, &q.lo}, {hi, &q.hi}}) {
    double* numbers = nullptr;
    PetscCall(VecGetArray(to, &numbers));
    std::copy_n(from->data() + begin, n, numbers);
    PetscCall(VecRestoreArray(to, &numbers));
  }
  objective = {N, r};
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, engine.c_str()));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, nullptr, value_and_gradient, &objective));
  PetscCall(TaoSetHessian(tao, N, N, constant_hessian, nullptr));
  PetscCall(TaoSetVariableBounds(tao, lo, hi));
  PetscCall(TaoSetTolerances(tao, 0.1 * tolerance, 0, 0));
  PetscCall(TaoSetMaximumIterations(tao, 20000));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(VecScatterCreateToAll(x, &scatter, &all));
  PetscCall(PetscOptionsHasName(nullptr, nullptr, "-tao_gatol", &told));
  // The judge looks at every row by itself: where it is not content, a tenth of the gradient.
  double gatol = 0.1 * tolerance;
  do {
    PetscInt iterations = 0;
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    const double start = MPI_Wtime();
    PetscCall(TaoSolve(tao));
    out.seconds += MPI_Wtime() - start;
    PetscCall(TaoGetSolutionStatus(tao, &iterations, nullptr, nullptr, nullptr, nullptr, &reason));
    out.iterations += iterations;
    PetscCall(VecScatterBegin(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, x, all, INSERT_VALUES, SCATTER_FORWARD));
    const double* found = nullptr;
    PetscCall(VecGetArrayRead(all, &found));
    Solution reduced, answer;
    reduced.lambda.resize(size);
    for (PetscInt i = 0; i < size; ++i) reduced.lambda[q.row[i]] = q.scale[i] * found[i];
    PetscCall(VecRestoreArrayRead(all, &found));
    if (rank == 0) {
      expand(q.problem, reduced, answer);
      out.residual = judge(q.problem, answer).value;
    }
    // The last digit may differ between processors, and all must go on or all end.
    PetscCallMPI(MPI_Bcast(&out.residual, 1, MPI_DOUBLE, 0, PETSC_COMM_WORLD));
    gatol *= 0.1;
    PetscCall(TaoSetTolerances(tao, gatol, 0, 0));
  } while (reason > 0 && out.residual > tolerance && gatol > 1e-16 && !told);
  PetscCall(TaoGetType(tao, &type));
  out.engine = std::string("tao ") + type;
  out.outcome = TaoConvergedReasons[reason];
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&all));
  PetscCall(TaoDestroy(&tao));
  for (Vec* v : {&x, &r, &lo, &hi}) PetscCall(VecDestroy(v));
  PetscCall(MatDestroy(&N));
  PetscFunctionReturn(0);
}

Answer run_ours(const Quadratic& q, double tolerance) {
  Answer out;
  out.engine = "ours";
  SolveWorkspace workspace;
  Solution answer = zero_solution(q.problem);
  const double start = MPI_Wtime();
  const SolveReport report = solve(q.problem, {.tolerance = tolerance}, workspace, answer);
  out.seconds = MPI_Wtime() - start;
  out.outcome = name_of(report.outcome);
  out.iterations = report.iterations;
  out.residual = judge(q.problem, answer).value;
  return out;
}

PetscErrorCode text_option(const char* name, std::string& value) {
  char text[1024] = "";
  PetscBool given = PETSC_FALSE;
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsGetString(nullptr, nullptr, name, text, sizeof text, &given));
  if (given) value = text;
  PetscFunctionReturn(0);
}

/// The words between commas. Throws Error for one that is no engine.
std::vector<std::string> engines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream list(text);
  for (std::string engine; std::getline(list, engine, ',');) {
    PetscErrorCode (*make)(Tao) = nullptr;
    if (engine != "ours") (void)PetscFunctionListFind(TaoList, engine.c_str(), &make);
    if (engine != "ours" && make == nullptr)
      throw Error("-engines", "unknown engine '" + engine + "'; ours, or a type of Tao");
    out.push_back(engine);
  }
  if (out.empty()) throw Error("-engines", "expected one engine at least");
  return out;
}

/// The lowest rank on which it is true, the same on all; -1: on none.
PetscErrorCode first_rank(bool here, int& first) {
  int ranks = 1, rank = 0;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  first = here ? rank : ranks;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (first == ranks) first = -1;
  PetscFunctionReturn(0);
}

PetscErrorCode run_engine(const Quadratic& q, const std::string& engine, double tolerance, int rank,
                          Answer& out) {
  PetscFunctionBeginUser;
  if (engine == "ours") {
    if (rank == 0) out = run_ours(q, tolerance);
    PetscCallMPI(MPI_Bcast(&out.residual, 1, MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  } else {
    PetscCall(run_tao(q, engine, tolerance, out));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode run(const std::vector<std::string>& files, int& code) {
  std::string engine_list = "ours,tron,bntr,orthant", csv;
  std::vector<std::string> engines;
  PetscReal tolerance = 1e-8;
  PetscBool frictionless = PETSC_FALSE;
  int ranks = 1, rank = 0;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TaoRegisterOrthant());
  PetscCall(text_option("-engines", engine_list));
  PetscCall(text_option("-csv", csv));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-tolerance", &tolerance, nullptr));
  PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-frictionless", &frictionless, nullptr));
  try {
    if (files.empty()) throw Error("FILE", "expected problem files before the options");
    if (!(tolerance > 0 && std::isfinite(tolerance)))
      throw Error("-tolerance", "expected a positive number");
    engines = engines_of(engine_list);
  } catch (const std::exception& error) {
    if (rank == 0) std::fprintf(stderr, "orthant-petsc: %s\n", error.what());
    code = kBadInput;
    PetscFunctionReturn(0);
  }
  std::string table = "file,rows,entries,engine,outcome,iterations,seconds,residual\n";
  if (rank == 0)
    std::printf("%-44s %7s %9s  %-12s %-24s %10s %10s %9s\n", "file", "rows", "entries", "engine",
                "outcome", "iterations", "seconds", "residual");
  for (const std::string& path : files) {
    Quadratic q;
    std::string why;
    bool bad = false;
    try {
      q = quadratic_of(path, frictionless);
    } catch (const std::exception& error) {
      why = error.what();
      bad = true;
    }
    // One rank may not have the file, or the memory for it: then it is left out on all.
    int first = -1;
    PetscCall(first_rank(bad, first));
    if (first >= 0) {
      if (rank == first) std::fprintf(stderr, "orthant-petsc: %s\n", why.c_str());
      code = kBadInput;
      continue;
    }
    for (const std::string& engine : engines) {
      Answer answer;
      try {
        PetscCall(run_engine(q, engine, tolerance, rank, answer));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "orthant-petsc: %s: %s: %s\n", path.c_str(), engine.c_str(),
                     error.what());
        // Others may wait for this rank in the middle of a solve.
        std::fflush(nullptr);
        if (ranks > 1) MPI_Abort(PETSC_COMM_WORLD, kBadInput);
        code = kBadInput;
        continue;
      }
      if (!(answer.residual <= tolerance)) code = std::max(code, kNotConverged);
      if (rank != 0) continue;
      const std::string name = path.substr(path.rfind('/') + 1);
      std::printf("%-44s %7ld %9ld  %-12s %-24s %10ld %10.2e %9.1e\n", name.c_str(),
                  static_cast<long>(q.N.rows()), static_cast<long>(q.N.nonZeros()),
                  answer.engine.c_str(), answer.outcome.c_str(),
                  static_cast<long>(answer.iterations), answer.seconds, answer.residual);
      std::fflush(stdout);
      std::ostringstream line;
      line << path << ',' << q.N.rows() << ',' << q.N.nonZeros() << ',' << answer.engine << ','
           << answer.outcome << ',' << answer.iterations << ',' << answer.seconds << ','
           << answer.residual << '\n';
      table += line.str();
    }
  }
  if (rank == 0 && !csv.empty()) {
    std::ofstream file(csv);
    if (!(file << table)) {
      std::fprintf(stderr, "orthant-petsc: %s: cannot be written\n", csv.c_str());
      code = kBadInput;
    }
  }
  PetscFunctionReturn(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  int first = 1;  // option
  while (first < argc && argv[first][0] != '-') files.emplace_back(argv[first++]);
  std::vector<char*> rest{argv[0]};
  rest.insert(rest.end(), argv + first, argv + argc);
  rest.push_back(nullptr);
  int count = static_cast<int>(rest.size()) - 1;
  char** options = rest.data();
  int code = kSuccess;
  const char* help =
      "orthant-petsc FILE... [options]: problem files without friction, by PETSc's Tao beside "
      "ours\n"
      "  -engines LIST   of ours, and of Tao types (ours,tron,bntr,orthant)\n"
      "  -tolerance T    of our judge's residual (1e-8); those of Tao go with it\n"
      "  -frictionless   the normal rows of problems with friction\n"
      "  -csv FILE       the table\n";
  PetscCall(PetscInitialize(&count, &options, nullptr, help));
  PetscCall(run(files, code));
  PetscCall(PetscFinalize());
  return code;
}
