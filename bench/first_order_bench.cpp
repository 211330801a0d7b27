// SPDX-License-Identifier: Apache-2.0
// The matrix-free methods on sphere piles up to 10^6 rows: time per iteration, rows/s, and the time
// to a residual of 1e-6, with the residual reached beside it.
#include <benchmark/benchmark.h>

#include "orthant/base/parallel.hpp"
#include "solver/first_order.hpp"
#include "support/packing.hpp"

namespace orthant {
namespace {

void iterations(benchmark::State& state, double mu) {
  const CanonicalProblem p = testing::sphere_packing(static_cast<int>(state.range(0)), mu, false);
  const ProblemScale scale = scale_of(p);
  set_thread_count(static_cast<int>(state.range(1)));
  FirstOrderWorkspace work;
  MethodResult result;
  constexpr int kIterations = 100;
  for (auto _ : state) {
    Solution x = zero_solution(p);
    result = solve_first_order(p, scale, {.judge_every = kIterations},
                               {.tolerance = 1e-14, .max_iterations = kIterations}, work, x);
  }
  set_thread_count(1);
  state.counters["rows"] = p.row_count();
  state.counters["residual"] = result.residual;
  state.counters["rows/s"] = benchmark::Counter(static_cast<double>(p.row_count()) * kIterations,
                                                benchmark::Counter::kIsIterationInvariantRate);
}

void to_tolerance(benchmark::State& state, double mu, bool exact) {
  const CanonicalProblem p = testing::sphere_packing(static_cast<int>(state.range(0)), mu, exact);
  const ProblemScale scale = scale_of(p);
  FirstOrderWorkspace work;
  MethodResult result;
  for (auto _ : state) {
    Solution x = zero_solution(p);
    result = solve_first_order(p, scale, {}, {.tolerance = 1e-6}, work, x);
  }
  state.counters["rows"] = p.row_count();
  state.counters["residual"] = result.residual;
  state.counters["iterations"] = result.iterations;
}

const auto kSizes = [](benchmark::internal::Benchmark* b) {
  for (const int spheres : {560, 5600, 56000}) {
    for (const int threads : {1, 2}) b->Args({spheres, threads});
  }
  b->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();
};

BENCHMARK_CAPTURE(iterations, projected_gradient, 0.5)->Apply(kSizes);
BENCHMARK_CAPTURE(to_tolerance, projected_gradient, 0.5, false)
    ->Arg(560)
    ->Arg(5600)
    ->Arg(56000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(to_tolerance, projected_gradient_exact, 0.5, true)
    ->Arg(560)
    ->Arg(5600)
    ->Arg(56000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace orthant
