// SPDX-License-Identifier: Apache-2.0
// bench/lemke_bench.cpp: Lemke on random LCPs, n = 10 … 500, with pivots and residual.
#include <benchmark/benchmark.h>

#include "orthant/problem/special_cases.hpp"
#include "solver/lemke.hpp"
#include "support/splitmix.hpp"

namespace {

using namespace orthant;

/// M = A Aᵀ/n + 0.1 I, q normal: half of the pairs end up active.
CanonicalProblem random_lcp(Index n) {
  testing::SplitMix rng(7);
  MatX A(n, n);
  VecX q(n);
  for (Index i = 0; i < n; ++i) {
    q[i] = rng.normal();
    for (Index j = 0; j < n; ++j) A(i, j) = rng.normal();
  }
  return make_lcp(MatX(A * A.transpose() / n + 0.1 * MatX::Identity(n, n)), q);
}

void lemke(benchmark::State& state) {
  const CanonicalProblem p = random_lcp(static_cast<Index>(state.range(0)));
  const ProblemScale scale = scale_of(p);
  LemkeWorkspace work;
  Solution x = zero_solution(p);
  MethodResult result;
  for (auto _ : state) {
    x.lambda.setZero();
    result = solve_lemke(p, scale, {}, {}, work, x);
  }
  state.counters["residual"] = result.residual;
  state.counters["pivots"] = result.iterations;
}
BENCHMARK(lemke)->Arg(10)->Arg(20)->Arg(50)->Arg(100)->Arg(200)->Arg(500)->Unit(
    benchmark::kMicrosecond);

}  // namespace
