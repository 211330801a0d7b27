// SPDX-License-Identifier: Apache-2.0
// python/src/bind_problem_batch.cpp: many canonical problems solved and differentiated at once, the
// core of the differentiable contact layers; products of one derivative the forward way.
// The derivative by a matrix is an outer product with the adjoint a of the equations, entries that
// are zero included:
//   dℓ = a_k·(dk − dH v + dCᵀγ + dDᵀλ) + a_e·(dC v + de) + a_b·(dD v + dF λ + db) + a_μ·dμ
#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/solver/solve.hpp"
#include "settings.hpp"

namespace orthant::python {

namespace {

using Problems = std::vector<const CanonicalProblem*>;

/// (v, gamma, lambda, w, outcome, residual): one row per problem, which all have the same sizes.
nb::tuple solve_problems(const Problems& problems, const SolveSettings& settings, int threads) {
  const std::size_t B = problems.size();
  std::vector<Solution> answers(B);
  std::vector<double> outcome(B), residual(B);
  Interrupts interrupts;
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    parallel_for(B, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && !interrupts.stop(); ++i) {
        const SolveReport report = solve(*problems[i], settings, answers[i]);
        outcome[i] = static_cast<double>(report.outcome);
        residual[i] = report.residual.value;
      }
    });
  }
  interrupts.rethrow();
  const auto rows = [&](VecX Solution::* part) {
    RowMatX out(static_cast<Index>(B), B == 0 ? 0 : (answers[0].*part).size());
    for (std::size_t i = 0; i < B; ++i)
      out.row(static_cast<Index>(i)) = (answers[i].*part).transpose();
    return to_numpy(std::move(out));
  };
  return nb::make_tuple(rows(&Solution::v), rows(&Solution::gamma), rows(&Solution::lambda),
                        rows(&Solution::w), to_numpy(std::move(outcome), {B}),
                        to_numpy(std::move(residual), {B}));
}

/// Answers and derivatives of a loss by them in; adjoints a_k, a_e, a_b, a_mu out, one row each.
nb::tuple adjoint_problems(const Problems& problems, nb::object v, nb::object gamma,
                           nb::object lambda, nb::object w, nb::object by_v, nb::object by_gamma,
                           nb::object by_lambda, nb::object by_w,
                           const SolutionGradientSettings& settings, int threads) {
  const auto B = static_cast<Index>(problems.size());
  if (B == 0) throw Error("problems", "expected at least one");
  const CanonicalProblem& first = *problems[0];
  const Index n = first.velocity_count(), m = first.bilateral_count(), r = first.row_count(),
              blocks = first.block_count();
  const RowMatX V = to_matrix(v, "v", B, n), G = to_matrix(gamma, "gamma", B, m),
                L = to_matrix(lambda, "lambda_", B, r), W = to_matrix(w, "w", B, r),
                gV = to_matrix(by_v, "by_v", B, n), gG = to_matrix(by_gamma, "by_gamma", B, m),
                gL = to_matrix(by_lambda, "by_lambda", B, r), gW = to_matrix(by_w, "by_w", B, r);
  RowMatX a_k(B, n), a_e(B, m), a_b(B, r), a_mu(B, blocks);
  Interrupts interrupts;
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    parallel_for(static_cast<std::size_t>(B), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end && !interrupts.stop(); ++k) {
        const auto i = static_cast<Index>(k);
        const CanonicalProblem& p = *problems[k];
        SolutionGradient gradient(p, scale_of(p), {V.row(i), G.row(i), L.row(i), W.row(i)},
                                  settings);
        const ResidualDerivative a = gradient.adjoint({gV.row(i), gG.row(i), gL.row(i), gW.row(i)});
        a_k.row(i) = a.balance.transpose();
        a_e.row(i) = a.bilateral.transpose();
        a_b.row(i) = a.blocks.transpose();
        a_mu.row(i) = a.mu.transpose();
      }
    });
  }
  interrupts.rethrow();
  return nb::make_tuple(to_numpy(std::move(a_k)), to_numpy(std::move(a_e)),
                        to_numpy(std::move(a_b)), to_numpy(std::move(a_mu)));
}

}  // namespace

Solution push_forward(SolutionGradient& gradient, const CanonicalProblem& p, nb::handle k,
                      nb::handle e, nb::handle b, nb::handle mu, nb::handle mu_r, nb::handle lo,
                      nb::handle hi, nb::handle H, nb::handle C, nb::handle D, nb::handle F) {
  ProblemDerivative change = zero_derivative(p);
  const auto vector = [](nb::handle x, const char* name, VecX& to) {
    if (!x.is_none()) to = to_vector(x, name, static_cast<Index>(to.size()));
  };
  const auto values = [](nb::handle x, const char* name, std::vector<double>& to) {
    if (x.is_none()) return;
    const VecX given = to_vector(x, name, static_cast<Index>(to.size()));
    to.assign(given.begin(), given.end());
  };
  vector(k, "k", change.k);
  vector(e, "e", change.e);
  vector(b, "b", change.b);
  vector(mu, "mu", change.mu);
  vector(mu_r, "mu_r", change.mu_r);
  vector(lo, "lo", change.lo);
  vector(hi, "hi", change.hi);
  values(H, "H_values", change.H);
  values(C, "C_values", change.C);
  values(D, "D_values", change.D);
  values(F, "F_values", change.F);
  const nb::gil_scoped_release release;
  return gradient.push_forward(change);
}

void bind_problem_batch(nb::module_& m) {
  m.def("solve_problems", &solve_problems, nb::arg("problems"), nb::arg("settings"),
        nb::arg("threads"),
        nb::sig("def solve_problems(problems: collections.abc.Sequence[CanonicalProblem], "
                "settings: SolveSettings, threads: int) -> tuple[typing.Any, ...]"));
  m.def("adjoint_problems", &adjoint_problems, nb::arg("problems"), nb::arg("v"), nb::arg("gamma"),
        nb::arg("lambda_"), nb::arg("w"), nb::arg("by_v"), nb::arg("by_gamma"),
        nb::arg("by_lambda"), nb::arg("by_w"), nb::arg("settings"), nb::arg("threads"),
        nb::sig("def adjoint_problems(problems: collections.abc.Sequence[CanonicalProblem], v: "
                "object, gamma: object, lambda_: object, w: object, by_v: object, by_gamma: "
                "object, by_lambda: object, by_w: object, settings: SolutionGradientSettings, "
                "threads: int) -> tuple[typing.Any, ...]"));
}

}  // namespace orthant::python
