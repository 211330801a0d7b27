// SPDX-License-Identifier: Apache-2.0
// bench/gauss_seidel_bench.cpp: contacts per second of Gauss–Seidel sweeps and the bytes of a
// contact, and the fixed cost of solve() on a handful of contacts.
#include <benchmark/benchmark.h>

#include "solver/gauss_seidel.hpp"
#include "support/problem_bank.hpp"

namespace {

using namespace orthant;

/// Bodies in a row of a chain-like pile: about four contacts per body, as in a packing.
CanonicalProblem pile(int contacts) {
  testing::SplitMix rng(3);
  return reduce(
      random_contacts(
          rng, {.bodies = std::max(1, contacts / 3), .contacts = contacts, .dim = 3, .world = 0.1})
          .problem);
}

void sweeps(benchmark::State& state) {
  const CanonicalProblem p = pile(static_cast<int>(state.range(0)));
  const ProblemScale scale = scale_of(p);
  GaussSeidelWorkspace work;
  // Sweeps alone: a tolerance that is never met, so the judge is asked every 25 sweeps.
  const MethodLimits limits{.tolerance = 1e-300, .max_iterations = 100};
  Solution x = zero_solution(p);
  MethodResult result;
  for (auto _ : state) {
    x.lambda.setZero();
    result = solve_gauss_seidel(p, scale, {}, limits, work, x);
  }
  state.counters["residual"] = result.residual;
  const double bytes = static_cast<double>(p.F.all_values().size()) * sizeof(double) +
                       static_cast<double>(p.F.entry_count()) * sizeof(BlockRows::Entry);
  state.counters["bytes_per_contact"] = bytes / p.block_count();
  state.SetItemsProcessed(state.iterations() * 100 * p.block_count());
}
BENCHMARK(sweeps)->RangeMultiplier(10)->Range(10, 10000)->Unit(benchmark::kMillisecond);

/// A whole solve() of a box on a plane and of single contacts, workspace warm, start cold.
void small_solve(benchmark::State& state) {
  const auto contacts = static_cast<int>(state.range(0));
  testing::SplitMix rng(5);
  const CanonicalProblem p = reduce(
      random_contacts(rng, {.bodies = 1, .contacts = contacts, .dim = 3, .world = 1}).problem);
  SolveWorkspace work;
  SolveReport report;
  Solution x = zero_solution(p);
  for (auto _ : state) solve(p, {.use_warm_start = false}, work, x, report);
  state.counters["residual"] = report.residual.value;
  state.counters["iterations"] = report.iterations;
}
BENCHMARK(small_solve)->DenseRange(1, 5)->Unit(benchmark::kMicrosecond);

}  // namespace
