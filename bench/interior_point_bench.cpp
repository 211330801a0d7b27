// SPDX-License-Identifier: Apache-2.0
// The interior point on sphere piles of 10^3 to 10^5 unknowns: iterations (flat?), time, work and
// memory of the factor, with the residual beside them. The complexity rows at the end are the
// exponents over the number of unknowns.
#include <benchmark/benchmark.h>

#include "orthant/base/process.hpp"
#include "orthant/solver/interior_point.hpp"
#include "support/packing.hpp"

namespace orthant {
namespace {

void pile(benchmark::State& state, double mu, bool exact) {
  const CanonicalProblem p = testing::sphere_packing(static_cast<int>(state.range(0)), mu, exact);
  const ProblemScale scale = scale_of(p);
  InteriorPointWorkspace work;
  MethodResult result;
  for (auto _ : state) {
    Solution x = zero_solution(p);
    result = solve_interior_point(p, scale, {.restarts = 0}, {.tolerance = 1e-6}, work, x);
  }
  const int unknowns = p.velocity_count() + p.row_count();
  state.SetComplexityN(unknowns);
  state.counters["unknowns"] = unknowns;
  state.counters["iterations"] = result.iterations;
  state.counters["residual"] = result.residual;
  state.counters["multiply_adds"] = result.work;
  state.counters["peak_MB"] = peak_memory() / 1048576;
}

const auto kSizes = [](benchmark::internal::Benchmark* b) {
  for (const int spheres : {125, 400, 1250, 4000, 12000}) b->Arg(spheres);
  b->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime()->Complexity();
};
const auto kFrictionSizes = [](benchmark::internal::Benchmark* b) {
  for (const int spheres : {50, 150, 500, 1500}) b->Arg(spheres);
  b->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime()->Complexity();
};

BENCHMARK_CAPTURE(pile, frictionless, 0.0, false)->Apply(kSizes);
BENCHMARK_CAPTURE(pile, convex_friction, 0.5, false)->Apply(kFrictionSizes);

}  // namespace
}  // namespace orthant
