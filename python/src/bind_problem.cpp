// SPDX-License-Identifier: Apache-2.0
// python/src/bind_problem.cpp: the canonical problem, its special cases, its files, the judge.
// Matrices come in as SciPy sparse or dense arrays and go out as SciPy sparse copies; the vectors
// k, e, b of a problem and all of a solution are views.
#include <numeric>

#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "settings.hpp"

namespace orthant::python {

void fields(Tag<Residual>, auto&& field) {
  field("value", &Residual::value, "The largest of the three below [-]: decides convergence.");
  field("complementarity", &Residual::complementarity, "Worst block [-].");
  field("balance", &Residual::balance, "Worst body [-].");
  field("bilateral", &Residual::bilateral, "Worst joint row [-].");
  field("worst_block", &Residual::worst_block, "Block of `complementarity`; -1: none.");
  field("worst_body", &Residual::worst_body, "Velocity block of `balance`; -1: none.");
  field("worst_joint", &Residual::worst_joint, "Row block of C of `bilateral`; -1: none.");
  field("siconos", &Residual::siconos, "The error Siconos reports.");
  field("siconos_scale_free", &Residual::siconos_scale_free, "The same, scaled block by block.");
}

namespace {

std::vector<Index> block_starts(const std::vector<Index>& sizes) {
  std::vector<Index> starts(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), starts.begin() + 1);
  return starts;
}

SparseMatrix from_block_rows(const BlockRows& rows, Index cols) {
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < rows.row_block_count(); ++i) {
    const double* x = rows.values(i);
    for (const BlockRows::Entry& entry : rows.entries(i)) {
      for (Index r = 0; r < rows.dim(i); ++r)
        for (Index c = 0; c < entry.width; ++c)
          entries.emplace_back(rows.row_begin(i) + r, entry.column + c, *x++);
    }
  }
  SparseMatrix A(rows.rows(), cols);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

nb::object velocity_matrix(const CanonicalProblem& p) {
  if (p.H.kind() == VelocityMatrix::Kind::Operator)
    throw Error("problem.H", "is an operator, not a matrix");
  std::vector<Eigen::Triplet<double, Index>> entries;
  const double* x = p.H.all_values().data();
  p.H.for_each_entry([&](Index row, Index col) { entries.emplace_back(row, col, *x++); });
  SparseMatrix A(p.H.rows(), p.H.rows());
  A.setFromTriplets(entries.begin(), entries.end());
  return to_scipy(A);
}

void check_shape(const SparseMatrix& A, Index rows, Index cols, const char* where) {
  if (A.rows() != rows || A.cols() != cols)
    throw Error(where, "expected shape (" + std::to_string(rows) + ", " + std::to_string(cols) +
                           "), got (" + std::to_string(A.rows()) + ", " + std::to_string(A.cols()) +
                           ")");
}

CanonicalProblem make_problem(nb::object H, nb::object k, const std::vector<Law>& laws,
                              nb::object D, nb::object b, nb::object C, nb::object e, nb::object F,
                              const std::optional<std::vector<Index>>& velocity_blocks) {
  CanonicalProblem p;
  std::vector<Index> columns{0}, rows{0};
  for (const Law& law : laws) rows.push_back(rows.back() + law.dim);
  if (!H.is_none()) {
    SparseMatrix A = to_sparse(H, "H");
    const auto n = static_cast<Index>(A.rows());
    check_shape(A, n, n, "H");
    columns = block_starts(velocity_blocks.value_or(std::vector<Index>(n, 1)));
    if (columns.back() != n)
      throw Error("velocity_blocks", "must add up to the rows of H, " + std::to_string(n));
    p.H = VelocityMatrix::sparse(std::move(A), columns);
    p.k = k.is_none() ? VecX::Zero(n) : to_vector(k, "k", n);
  }
  p.laws = laws;
  p.b = to_vector(b, "b", rows.back());
  if (!D.is_none()) {
    const SparseMatrix A = to_sparse(D, "D");
    check_shape(A, rows.back(), columns.back(), "D");
    p.D = to_block_rows(A, rows, columns);
  }
  if (!F.is_none()) {
    const SparseMatrix A = to_sparse(F, "F");
    check_shape(A, rows.back(), rows.back(), "F");
    p.F = to_block_rows(A, rows, rows);
  }
  if (!C.is_none()) {
    const SparseMatrix A = to_sparse(C, "C");
    const auto m = static_cast<Index>(A.rows());
    check_shape(A, m, columns.back(), "C");
    std::vector<Index> single(m + 1);
    std::iota(single.begin(), single.end(), 0);
    p.C = to_block_rows(A, single, columns);
    p.e = e.is_none() ? VecX::Zero(m) : to_vector(e, "e", m);
  }
  validate(p);
  return p;
}

FrictionData friction_data(nb::handle mu, nb::handle mu_r, int dim, bool exact) {
  const VecX a = to_vector(mu, "mu");
  FrictionData data{.dim = dim, .mu = {a.begin(), a.end()}, .mu_r = {}, .exact = exact};
  if (!mu_r.is_none()) {
    const VecX r = to_vector(mu_r, "mu_r");
    data.mu_r.assign(r.begin(), r.end());
  }
  return data;
}

void bind_law(nb::module_& m) {
  nb::enum_<LawKind>(m, "LawKind", "The law between an impulse block and its velocity block.")
      .value("Zero", LawKind::Zero, "lambda = 0, w free")
      .value("Free", LawKind::Free, "lambda free, w = 0: an equation")
      .value("Orthant", LawKind::Orthant, "0 <= lambda, w >= 0, lambda w = 0")
      .value("Box", LawKind::Box, "lo <= lambda <= hi")
      .value("Soc", LawKind::Soc, "convex friction cone")
      .value("Coulomb", LawKind::Coulomb, "exact Coulomb friction")
      .value("RollingSoc", LawKind::RollingSoc, "convex friction and rolling cone")
      .value("Rolling", LawKind::Rolling, "exact friction and rolling");
  nb::class_<Law>(m, "Law", "Law of one block with its data. Rows: normal, tangents, torques.")
      .def_static("zero", &Law::zero, nb::arg("dim") = 1, "lambda = 0: a row switched off.")
      .def_static("free", &Law::free, nb::arg("dim") = 1, "w = 0: an equation.")
      .def_static("orthant", &Law::orthant, nb::arg("dim") = 1, "0 <= lambda, w >= 0.")
      .def_static("box", &Law::box, nb::arg("lo"), nb::arg("hi"), "lo <= lambda <= hi.")
      .def_static("soc", &Law::soc, nb::arg("dim"), nb::arg("mu"), "Convex friction cone.")
      .def_static("coulomb", &Law::coulomb, nb::arg("dim"), nb::arg("mu"),
                  "Exact Coulomb friction; dim 2: planar contact (n, t), 3: spatial (n, t1, t2).")
      .def_static("rolling_soc", &Law::rolling_soc, nb::arg("dim"), nb::arg("mu"), nb::arg("mu_r"),
                  "Convex friction and rolling cone.")
      .def_static("rolling", &Law::rolling, nb::arg("dim"), nb::arg("mu"), nb::arg("mu_r"),
                  "Exact friction and rolling; dim 3 planar, 5 spatial.")
      .def_ro("kind", &Law::kind, "Of LawKind.")
      .def_prop_ro(
          "dim", [](const Law& law) { return static_cast<int>(law.dim); }, "Rows.")
      .def_ro("mu", &Law::mu, "Friction [-].")
      .def_ro("mu_r", &Law::mu_r, "Rolling friction [m].")
      .def_ro("lo", &Law::lo, "Lower bound of a Box.")
      .def_ro("hi", &Law::hi, "Upper bound of a Box.")
      .def(
          "__eq__",
          [](const Law& a, nb::object b) {
            return nb::isinstance<Law>(b) && a == nb::cast<Law>(b);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const Law& law) {
        return "Law(kind=" + nb::cast<std::string>(nb::repr(nb::cast(law.kind))) +
               ", dim=" + std::to_string(law.dim) + ", mu=" + to_text(law.mu) + ")";
      });
}

void bind_canonical(nb::module_& m) {
  nb::class_<CanonicalProblem>(
      m, "CanonicalProblem",
      "H v - C'gamma - D'lambda = k, C v + e = 0, w = D v + F lambda + b, law(lambda, w) block by "
      "block.\n\nMatrices are SciPy sparse; lambda is an impulse [N s], v and w are velocities "
      "[m/s].")
      .def(
          "__init__",
          [](CanonicalProblem* self, nb::object H, nb::object k, const std::vector<Law>& laws,
             nb::object D, nb::object b, nb::object C, nb::object e, nb::object F,
             const std::optional<std::vector<Index>>& velocity_blocks) {
            new (self) CanonicalProblem(make_problem(H, k, laws, D, b, C, e, F, velocity_blocks));
          },
          nb::kw_only(), nb::arg("H") = nb::none(), nb::arg("k") = nb::none(), nb::arg("laws"),
          nb::arg("D") = nb::none(), nb::arg("b"), nb::arg("C") = nb::none(),
          nb::arg("e") = nb::none(), nb::arg("F") = nb::none(),
          nb::arg("velocity_blocks") = nb::none(),
          "Checked here. `velocity_blocks`: sizes of the bodies' blocks of H, default all 1.")
      .def_prop_ro("H", &velocity_matrix, nb::sig("def H(self) -> typing.Any"),
                   "Mass matrix [kg], SciPy CSC (a copy).")
      .def_prop_ro(
          "C",
          [](const CanonicalProblem& p) {
            return to_scipy(from_block_rows(p.C, p.velocity_count()));
          },
          nb::sig("def C(self) -> typing.Any"), "Bilateral rows, SciPy CSC (a copy).")
      .def_prop_ro(
          "D",
          [](const CanonicalProblem& p) {
            if (!p.D.empty()) return to_scipy(from_block_rows(p.D, p.velocity_count()));
            return to_scipy(SparseMatrix(p.row_count(), p.velocity_count()));
          },
          nb::sig("def D(self) -> typing.Any"), "Rows of the blocks, SciPy CSC (a copy).")
      .def_prop_ro(
          "F",
          [](const CanonicalProblem& p) {
            if (!p.F.empty()) return to_scipy(from_block_rows(p.F, p.row_count()));
            return to_scipy(SparseMatrix(p.row_count(), p.row_count()));
          },
          nb::sig("def F(self) -> typing.Any"), "Block-by-block matrix, SciPy CSC (a copy).")
      .def_prop_ro(
          "k",
          [](nb::handle_t<CanonicalProblem> self) {
            return view(nb::cast<CanonicalProblem&>(self).k, self);
          },
          "Impulses of the forces [N s], a view.")
      .def_prop_ro(
          "e",
          [](nb::handle_t<CanonicalProblem> self) {
            return view(nb::cast<CanonicalProblem&>(self).e, self);
          },
          "Biases of the bilateral rows [m/s], a view.")
      .def_prop_ro(
          "b",
          [](nb::handle_t<CanonicalProblem> self) {
            return view(nb::cast<CanonicalProblem&>(self).b, self);
          },
          "Biases of the blocks [m/s], a view.")
      .def_ro("laws", &CanonicalProblem::laws, nb::rv_policy::copy, "One per block (a copy).")
      .def_prop_ro("velocity_count", &CanonicalProblem::velocity_count, "Numbers in v.")
      .def_prop_ro("bilateral_count", &CanonicalProblem::bilateral_count, "Numbers in gamma.")
      .def_prop_ro("row_count", &CanonicalProblem::row_count, "Numbers in lambda and w.")
      .def_prop_ro("block_count", &CanonicalProblem::block_count, "Laws.")
      .def_prop_ro("is_local", &CanonicalProblem::is_local, "No velocities: w = F lambda + b.")
      .def("__repr__", [](const CanonicalProblem& p) {
        return "CanonicalProblem(velocities=" + std::to_string(p.velocity_count()) +
               ", bilateral=" + std::to_string(p.bilateral_count()) +
               ", blocks=" + std::to_string(p.block_count()) +
               ", rows=" + std::to_string(p.row_count()) + ")";
      });
}

void bind_solution(nb::module_& m) {
  const auto set = [](VecX& to, nb::handle x, const char* where) {
    const VecX given = to_vector(x, where);
    // A view may be out there: memory of the right size is kept.
    if (to.size() != 0 && to.size() != given.size())
      throw Error(where, "expected " + std::to_string(to.size()) + " values, got " +
                             std::to_string(given.size()));
    to = given;
  };
  nb::class_<Solution>(m, "Solution", "What a solve finds; also its warm start. Arrays are views.")
      .def(
          "__init__",
          [](Solution* self, nb::object v, nb::object gamma, nb::object lambda, nb::object w) {
            const auto get = [](nb::handle x, const char* name) {
              return x.is_none() ? VecX() : to_vector(x, name);
            };
            new (self)
                Solution{get(v, "v"), get(gamma, "gamma"), get(lambda, "lambda_"), get(w, "w")};
          },
          nb::arg("v") = nb::none(), nb::arg("gamma") = nb::none(), nb::arg("lambda_") = nb::none(),
          nb::arg("w") = nb::none())
      .def_prop_rw(
          "v", [](nb::handle_t<Solution> s) { return view(nb::cast<Solution&>(s).v, s); },
          [set](Solution& s, nb::object x) { set(s.v, x, "solution.v"); },
          "Velocities [m/s, rad/s].")
      .def_prop_rw(
          "gamma", [](nb::handle_t<Solution> s) { return view(nb::cast<Solution&>(s).gamma, s); },
          [set](Solution& s, nb::object x) { set(s.gamma, x, "solution.gamma"); },
          "Impulses of the bilateral rows [N s, N m s].")
      .def_prop_rw(
          "lambda_",
          [](nb::handle_t<Solution> s) { return view(nb::cast<Solution&>(s).lambda, s); },
          [set](Solution& s, nb::object x) { set(s.lambda, x, "solution.lambda_"); },
          "Impulses of the blocks [N s].")
      .def_prop_rw(
          "w", [](nb::handle_t<Solution> s) { return view(nb::cast<Solution&>(s).w, s); },
          [set](Solution& s, nb::object x) { set(s.w, x, "solution.w"); },
          "Velocities of the blocks [m/s].");
}

void check_solution(const CanonicalProblem& p, const Solution& x) {
  const auto check = [](const VecX& values, Index size, const char* where) {
    if (values.size() != size)
      throw Error(where, "expected " + std::to_string(size) + " values, got " +
                             std::to_string(values.size()));
  };
  check(x.v, p.velocity_count(), "solution.v");
  check(x.gamma, p.bilateral_count(), "solution.gamma");
  check(x.lambda, p.row_count(), "solution.lambda_");
}

void bind_files(nb::module_& m) {
  nb::enum_<ProblemKind>(m, "ProblemKind", "What a problem file holds.")
      .value("Lcp", ProblemKind::Lcp)
      .value("Mlcp", ProblemKind::Mlcp)
      .value("FrictionLocal", ProblemKind::FrictionLocal)
      .value("FrictionGlobal", ProblemKind::FrictionGlobal)
      .value("Canonical", ProblemKind::Canonical);
  m.def(
      "read_problem",
      [](const std::string& path, std::optional<ProblemKind> kind, bool exact) {
        const nb::gil_scoped_release release;
        return to_problem(read_problem(path, kind), exact);
      },
      nb::arg("path"), nb::arg("kind") = nb::none(), nb::arg("exact") = true,
      "The problem of a file of any known format (FCLIB and our HDF5, LCP/MLCP/friction text).\n"
      "`exact`: Coulomb's law; False: its convex relaxation.");
  m.def(
      "save_problem",
      [](const std::string& path, const CanonicalProblem& problem) {
        const nb::gil_scoped_release release;
        save_problem(path, problem);
      },
      nb::arg("path"), nb::arg("problem"), "Every value bitwise, HDF5.");
}

}  // namespace

void bind_problem(nb::module_& m) {
  bind_law(m);
  bind_canonical(m);
  bind_solution(m);
  bind_report<Residual>(m, "Residual", "How wrong an answer is, by the one judge.");
  bind_files(m);
  m.def(
      "make_lcp",
      [](nb::object M, nb::object q) {
        CanonicalProblem p = is_sparse(M) ? make_lcp(to_sparse(M, "M"), to_vector(q, "q"))
                                          : make_lcp(MatX(to_matrix(M, "M")), to_vector(q, "q"));
        validate(p);
        return p;
      },
      nb::arg("M"), nb::arg("q"), "0 <= z, w = M z + q >= 0, z w = 0.");
  m.def(
      "make_mlcp",
      [](nb::object M, nb::object q, Index n) {
        const VecX right = to_vector(q, "q");
        if (n < 0 || n > right.size())
          throw Error("n", "expected 0 … " + std::to_string(right.size()) + " equations, got " +
                               std::to_string(n));
        CanonicalProblem p = make_mlcp(to_sparse(M, "M"), right, n);
        validate(p);
        return p;
      },
      nb::arg("M"), nb::arg("q"), nb::arg("n"),
      "w = M z + q: the first n rows are equations (w = 0, z free), the rest complementary.");
  m.def(
      "make_local_friction",
      [](nb::object W, nb::object q, nb::object mu, nb::object mu_r, int dim, bool exact) {
        CanonicalProblem p = make_local_friction(to_sparse(W, "W"), to_vector(q, "q"),
                                                 friction_data(mu, mu_r, dim, exact));
        validate(p);
        return p;
      },
      nb::arg("W"), nb::arg("q"), nb::arg("mu"), nb::arg("mu_r") = nb::none(), nb::arg("dim") = 3,
      nb::arg("exact") = true,
      "u = W r + q, friction law contact by contact (normal, tangents, torques).");
  m.def(
      "make_global_friction",
      [](nb::object M, nb::object H, nb::object f, nb::object w, nb::object mu, nb::object mu_r,
         int dim, bool exact) {
        CanonicalProblem p =
            make_global_friction(to_sparse(M, "M"), to_sparse(H, "H"), to_vector(f, "f"),
                                 to_vector(w, "w"), friction_data(mu, mu_r, dim, exact));
        validate(p);
        return p;
      },
      nb::arg("M"), nb::arg("H"), nb::arg("f"), nb::arg("w"), nb::arg("mu"),
      nb::arg("mu_r") = nb::none(), nb::arg("dim") = 3, nb::arg("exact") = true,
      "M v = H r + f, u = H' v + w, friction law contact by contact.");
  m.def(
      "judge",
      [](const CanonicalProblem& problem, const Solution& answer) {
        check_solution(problem, answer);
        const nb::gil_scoped_release release;
        return judge(problem, answer);
      },
      nb::arg("problem"), nb::arg("answer"), "The residual of any answer.");
}

}  // namespace orthant::python
