// SPDX-License-Identifier: Apache-2.0
// python/src/bind_gradient.cpp: derivatives of a solution; a batch of LCPs as a layer.
// In an LCP dM enters as dM z beside dq, so the derivative by M is the outer product of that by q
// with z, zero entries of M included.
#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "settings.hpp"

namespace orthant::python {

template <>
inline std::string internal::python_name<std::vector<KinkChoice>>() {
  return "list[KinkChoice]";
}

// bind_problem_batch.cpp
Solution push_forward(SolutionGradient& gradient, const CanonicalProblem& p, nb::handle k,
                      nb::handle e, nb::handle b, nb::handle mu, nb::handle mu_r, nb::handle lo,
                      nb::handle hi, nb::handle H, nb::handle C, nb::handle D, nb::handle F);

void fields(Tag<SolutionGradientSettings>, auto&& field) {
  using S = SolutionGradientSettings;
  field("mode", &S::mode, "Exact, or smoothed along the central path.");
  field("kappa", &S::kappa, "Smoothed: w lambda of every contact [J].");
  field("kink", &S::kink, "Which element of the generalised Jacobian to take at a kink.");
  field("blocks", &S::blocks, "Of the first blocks, instead of `kink`.");
  field("floating_tolerance", &S::floating_tolerance,
        "Relative distance to a border that counts as on it [-].");
  field("proximal", &S::proximal, "Regularisation of redundant rows, refined away [-].");
  field("tolerance", &S::tolerance, "Of the linear solves, relative [-].");
  field("max_refinements", &S::max_refinements, "Of the linear solves.");
}

void fields(Tag<GradientCertificate>, auto&& field) {
  using C = GradientCertificate;
  field("states", &C::states, "The set each row is in.");
  field("floating", &C::floating, "Rows on a border: only one-sided derivatives exist.");
  field("margin", &C::margin, "Smallest relative distance to a border [-].");
  field("reciprocal_condition", &C::reciprocal_condition, "Of the linear system, an estimate.");
  field("solve_error", &C::solve_error, "Relative error of the last linear solve.");
  field("element", &C::element, "The choice taken at floating rows.");
  field("residual", &C::residual, "The judge's, of the answer differentiated.");
  field("kappa", &C::kappa, "> 0: smoothed, of the central path there [J].");
  field("central_error", &C::central_error, "Smoothed: how far from the path, relative.");
}

namespace {

/// Owns what SolutionGradient only refers to.
class SolutionGradientHolder {
 public:
  SolutionGradientHolder(const CanonicalProblem& problem, const Solution& x,
                         const SolutionGradientSettings& settings)
      : problem_(std::make_unique<CanonicalProblem>(problem)),
        gradient_(*problem_, scale_of(*problem_), x, settings) {}
  SolutionGradient& get() { return gradient_; }
  const CanonicalProblem& problem() const { return *problem_; }

 private:
  std::unique_ptr<CanonicalProblem> problem_;
  SolutionGradient gradient_;
};

nb::dict python_pull_back(SolutionGradientHolder& g, nb::object v, nb::object gamma,
                          nb::object lambda, nb::object w) {
  const CanonicalProblem& p = g.problem();
  const auto get = [](nb::handle x, const char* name, Index size) {
    return x.is_none() ? VecX() : to_vector(x, name, size);
  };
  const Solution by{get(v, "v", p.velocity_count()), get(gamma, "gamma", p.bilateral_count()),
                    get(lambda, "lambda_", p.row_count()), get(w, "w", p.row_count())};
  ProblemDerivative d;
  {
    const nb::gil_scoped_release release;
    d = g.get().pull_back(by);
  }
  nb::dict out;
  const auto put = [&](const char* name, VecX& x) { out[name] = to_numpy(std::move(x)); };
  put("k", d.k);
  put("e", d.e);
  put("b", d.b);
  put("mu", d.mu);
  put("mu_r", d.mu_r);
  put("lo", d.lo);
  put("hi", d.hi);
  out["H_values"] = to_numpy(std::span<const double>(d.H));
  out["C_values"] = to_numpy(std::span<const double>(d.C));
  out["D_values"] = to_numpy(std::span<const double>(d.D));
  out["F_values"] = to_numpy(std::span<const double>(d.F));
  return out;
}

/// B linear complementarity problems of one size, the first `equations` rows equations.
struct LcpBatch {
  LcpBatch(nb::handle given_M, nb::handle given_q, Index equation_count)
      : q(to_matrix(given_q, "q")), equations(equation_count) {
    n = static_cast<Index>(q.cols());
    M = to_matrix(given_M, "M", static_cast<Index>(q.rows()), n * n);
    if (equations < 0 || equations > n)
      throw Error("equations",
                  "expected 0 … " + std::to_string(n) + ", got " + std::to_string(equations));
    if (!M.allFinite()) throw Error("M", "must be finite");
    if (!q.allFinite()) throw Error("q", "must be finite");
  }
  CanonicalProblem problem(Eigen::Index i) const {
    const MatX A = Eigen::Map<const RowMatX>(M.row(i).data(), n, n);
    if (equations == 0) return make_lcp(A, q.row(i).transpose());
    return make_mlcp(A.sparseView(), q.row(i).transpose(), equations);
  }
  RowMatX M, q;
  Index n = 0, equations = 0;
};

nb::tuple solve_lcp_batch(nb::object M, nb::object q, Index equations,
                          const SolveSettings& settings, int threads) {
  const LcpBatch in(M, q, equations);
  const auto B = static_cast<std::size_t>(in.q.rows());
  RowMatX z(in.q.rows(), in.n), w(in.q.rows(), in.n);
  std::vector<double> outcome(B), residual(B);
  Interrupts interrupts;
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    parallel_for(B, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && !interrupts.stop(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        Solution x;
        const SolveReport report = solve(in.problem(row), settings, x);
        z.row(row) = x.lambda.transpose();
        w.row(row) = x.w.transpose();
        outcome[i] = static_cast<double>(report.outcome);
        residual[i] = report.residual.value;
      }
    });
  }
  interrupts.rethrow();
  return nb::make_tuple(to_numpy(std::move(z)), to_numpy(std::move(w)),
                        to_numpy(std::move(outcome), {B}), to_numpy(std::move(residual), {B}));
}

nb::tuple pull_back_lcp_batch(nb::object M, nb::object q, nb::object z, nb::object w,
                              nb::object by_z, nb::object by_w, Index equations,
                              const SolutionGradientSettings& settings, int threads) {
  const LcpBatch in(M, q, equations);
  const auto rows = static_cast<Index>(in.q.rows());
  const auto B = static_cast<std::size_t>(rows);
  const RowMatX Z = to_matrix(z, "z", rows, in.n), W = to_matrix(w, "w", rows, in.n),
                gz = to_matrix(by_z, "by_z", rows, in.n), gw = to_matrix(by_w, "by_w", rows, in.n);
  RowMatX by_q(rows, in.n), by_M(rows, in.n * in.n);
  std::vector<double> margin(B), floating(B), error(B);
  Interrupts interrupts;
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    parallel_for(B, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && !interrupts.stop(); ++i) {
        const auto row = static_cast<Eigen::Index>(i);
        const CanonicalProblem p = in.problem(row);
        SolutionGradient g(p, scale_of(p), {{}, {}, Z.row(row), W.row(row)}, settings);
        const ProblemDerivative d = g.pull_back({{}, {}, gz.row(row), gw.row(row)});
        by_q.row(row) = d.b.transpose();
        RowMatX::Map(by_M.row(row).data(), in.n, in.n) = d.b * Z.row(row);
        margin[i] = g.certificate().margin;
        floating[i] = g.certificate().floating;
        error[i] = g.certificate().solve_error;
      }
    });
  }
  interrupts.rethrow();
  return nb::make_tuple(to_numpy(std::move(by_M)), to_numpy(std::move(by_q)),
                        to_numpy(std::move(margin), {B}), to_numpy(std::move(floating), {B}),
                        to_numpy(std::move(error), {B}));
}

void bind_solution_gradient(nb::module_& m) {
  nb::enum_<GradientMode>(m, "GradientMode", "What is differentiated.")
      .value("Exact", GradientMode::Exact, "of the answer itself, with a stated choice at kinks")
      .value("Smoothed", GradientMode::Smoothed,
             "of the central path: contacts about to touch, slide or part already show");
  nb::enum_<KinkChoice>(m, "KinkChoice", "The element taken where the answer leaves a choice.")
      .value("Clamp", KinkChoice::Clamp, "keep the contact closed")
      .value("Separate", KinkChoice::Separate, "let it go")
      .value("Average", KinkChoice::Average, "the mean of the two")
      .value("Mixed", KinkChoice::Mixed, "between the two, each block in a share of its own");
  nb::enum_<ContactState>(m, "ContactState", "The set a block is in.")
      .value("Stick", ContactState::Stick)
      .value("Slide", ContactState::Slide)
      .value("Separate", ContactState::Separate)
      .value("Floating", ContactState::Floating, "on the border of two of these");
  bind_settings<SolutionGradientSettings>(m, "SolutionGradientSettings",
                                          "How to differentiate a solution.");
  bind_report<GradientCertificate>(m, "GradientCertificate",
                                   "What is known about a derivative: read it first.");
  nb::class_<SolutionGradientHolder>(m, "SolutionGradient",
                                     "The derivative of a solution by all problem data, factorised "
                                     "at the answer.")
      .def(
          "__init__",
          [](SolutionGradientHolder* self, const CanonicalProblem& problem, const Solution& x,
             const SolutionGradientSettings* settings) {
            if (x.v.size() != problem.velocity_count() || x.lambda.size() != problem.row_count() ||
                x.gamma.size() != problem.bilateral_count() || x.w.size() != problem.row_count())
              throw Error("solution", "is not of this problem's size");
            new (self) SolutionGradientHolder(
                problem, x, settings != nullptr ? *settings : SolutionGradientSettings{});
          },
          nb::arg("problem"), nb::arg("solution"), nb::arg("settings").none() = nb::none())
      .def("pull_back", &python_pull_back, nb::arg("v") = nb::none(), nb::arg("gamma") = nb::none(),
           nb::arg("lambda_") = nb::none(), nb::arg("w") = nb::none(),
           nb::sig("def pull_back(self, v: object | None = None, gamma: object | None = None, "
                   "lambda_: object | None = None, w: object | None = None) -> dict[str, "
                   "numpy.typing.NDArray[numpy.float64]]"),
           "Derivative of a scalar by the answer in, by the data out: k, e, b, mu, mu_r, lo, hi; "
           "matrices as H_values, C_values, D_values, F_values in the problem's own storage.")
      .def(
          "push_forward",
          [](SolutionGradientHolder& g, nb::object k, nb::object e, nb::object b, nb::object mu,
             nb::object mu_r, nb::object lo, nb::object hi, nb::object H, nb::object C,
             nb::object D, nb::object F) {
            return push_forward(g.get(), g.problem(), k, e, b, mu, mu_r, lo, hi, H, C, D, F);
          },
          nb::kw_only(), nb::arg("k") = nb::none(), nb::arg("e") = nb::none(),
          nb::arg("b") = nb::none(), nb::arg("mu") = nb::none(), nb::arg("mu_r") = nb::none(),
          nb::arg("lo") = nb::none(), nb::arg("hi") = nb::none(), nb::arg("H_values") = nb::none(),
          nb::arg("C_values") = nb::none(), nb::arg("D_values") = nb::none(),
          nb::arg("F_values") = nb::none(),
          "A change of the data in, named as pull_back() returns it; the change of the answer out.")
      .def_prop_ro(
          "certificate", [](SolutionGradientHolder& g) { return g.get().certificate(); },
          "What is known about the derivative.");
}

}  // namespace

void bind_gradient(nb::module_& m) {
  bind_solution_gradient(m);
  m.def(
      "solve_lcp_batch", &solve_lcp_batch, nb::arg("M"), nb::arg("q"), nb::arg("equations"),
      nb::arg("settings"), nb::arg("threads"),
      nb::sig("def solve_lcp_batch(M: object, q: object, equations: int, settings: SolveSettings, "
              "threads: int) -> tuple[typing.Any, ...]"));
  m.def(
      "pull_back_lcp_batch", &pull_back_lcp_batch, nb::arg("M"), nb::arg("q"), nb::arg("z"),
      nb::arg("w"), nb::arg("by_z"), nb::arg("by_w"), nb::arg("equations"), nb::arg("settings"),
      nb::arg("threads"),
      nb::sig("def pull_back_lcp_batch(M: object, q: object, z: object, w: object, by_z: object, "
              "by_w: object, equations: int, settings: SolutionGradientSettings, threads: int) -> "
              "tuple[typing.Any, ...]"));
}

}  // namespace orthant::python
