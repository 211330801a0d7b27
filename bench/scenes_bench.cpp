// SPDX-License-Identifier: Apache-2.0
// bench/scenes_bench.cpp: steps per second and time by stage, with penetration and residual beside
// it. Scenes: cubes stacked (touching and with gaps, light and heavy), a wall, an arch, a chain,
// spheres on spheres that weigh a tenth, spheres that fall into a box and settle; and carpets of
// spheres and boxes, 10^3 and more: the time a body must not grow with their number. All at the
// default tolerance of a step, exact friction.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "orthant/base/parallel.hpp"
#include "orthant/base/process.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "scenes/scenes.hpp"

namespace orthant {
namespace {

/// One layer of bodies on a floor, neighbours nearly touching: contacts grow with the bodies, the
/// islands do not.
Model carpet(int count, bool boxes) {
  ModelBuilder builder;
  builder.add_body(
      {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  const int side = static_cast<int>(std::ceil(std::sqrt(count)));
  for (int i = 0; i < count; ++i) {
    const int row = i / side;
    builder.add_body(
        {.position = Vec3(0.205 * (i % side), 0.205 * row, 0.1),
         .shapes = {{.shape = boxes ? Shape::box(0.1, 0.1, 0.1) : Shape::sphere(0.1)}}});
  }
  return builder.build();
}

/// Steps of the scene after the first `before` of them.
void run(benchmark::State& bench, const Model& model, State state,
         const StepSettings& settings = {}, int before = 3) {
  const Parameters parameters = model.default_parameters();
  WarmStart warm;
  StepWorkspace workspace;
  StepReport sum;
  Index contacts = 0;
  int failed = 0;
  for (int i = 0; i < before; ++i)
    (void)step(model, parameters, settings, {}, state, warm, workspace);
  for (auto _ : bench) {
    const StepReport report = step(model, parameters, settings, {}, state, warm, workspace);
    sum.seconds_collision += report.seconds_collision;
    sum.seconds_assembly += report.seconds_assembly;
    sum.seconds_solve += report.seconds_solve;
    sum.seconds_projection += report.seconds_projection;
    sum.deepest = std::max(sum.deepest, report.deepest);
    sum.residual = std::max(sum.residual, report.residual);
    contacts = report.contacts;
    sum.iterations += report.iterations;
    failed += report.outcome != Outcome::Converged;
  }
  const auto mean = [&](double seconds) {
    return benchmark::Counter(1e3 * seconds, benchmark::Counter::kAvgIterations);
  };
  bench.counters["collision_ms"] = mean(sum.seconds_collision);
  bench.counters["assembly_ms"] = mean(sum.seconds_assembly);
  bench.counters["solve_ms"] = mean(sum.seconds_solve);
  bench.counters["projection_ms"] = mean(sum.seconds_projection);
  bench.counters["contacts"] = contacts;
  bench.counters["iterations"] =
      benchmark::Counter(sum.iterations, benchmark::Counter::kAvgIterations);
  bench.counters["penetration"] = sum.deepest;
  bench.counters["residual"] = sum.residual;
  bench.counters["failed"] = failed;
  bench.SetItemsProcessed(bench.iterations());
}

void run(benchmark::State& bench, const scenes::Scene& scene, int before) {
  run(bench, scene.model, scene.state, scene.settings, before);
}

void bench_stack(benchmark::State& bench) {
  run(bench, scenes::stack(50, static_cast<double>(bench.range(0)), 1e-4 * bench.range(1)), 50);
}
void bench_pyramid(benchmark::State& bench) { run(bench, scenes::pyramid(), 50); }
void bench_arch(benchmark::State& bench) { run(bench, scenes::arch(), 50); }
void bench_chain(benchmark::State& bench) { run(bench, scenes::chain(50), 10); }
void bench_mass_ratio(benchmark::State& bench) {
  run(bench, scenes::mass_ratio_stack(8, 10, 1e-4 * bench.range(0)), 50);
}
void bench_spheres_in_a_box(benchmark::State& bench) {
  run(bench, scenes::spheres_in_a_box(static_cast<int>(bench.range(0))),
      static_cast<int>(bench.range(1)));
}
void bench_carpet(benchmark::State& bench, bool boxes) {
  set_thread_count(static_cast<int>(bench.range(1)));
  reset_peak_memory();
  const double before = peak_memory();
  const Model model = carpet(static_cast<int>(bench.range(0)), boxes);
  run(bench, model, model.rest_state());
  bench.counters["bytes_a_body"] =
      (peak_memory() - before) / static_cast<double>(model.dynamic_count());
  set_thread_count(1);
}

BENCHMARK(bench_stack)
    ->Name("stack_50_cubes")
    ->ArgNames({"kg", "gap_0.1mm"})
    ->ArgsProduct({{1, 1000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(200);
BENCHMARK(bench_pyramid)->Name("pyramid")->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(bench_arch)->Name("arch")->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(bench_chain)->Name("chain_50_links")->Unit(benchmark::kMillisecond)->Iterations(200);
BENCHMARK(bench_mass_ratio)
    ->Name("spheres_10_times_heavier")
    ->ArgName("gap_0.1mm")
    ->DenseRange(0, 1)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(200);
BENCHMARK(bench_spheres_in_a_box)
    ->Name("spheres_in_a_box")
    ->ArgNames({"count", "after"})
    ->ArgsProduct({{125, 500}, {20}})
    ->Args({2000, 15})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
// The same at rest. Settling takes most of the time of these; 2000 spheres take too long for that.
BENCHMARK(bench_spheres_in_a_box)
    ->Name("spheres_settled")
    ->ArgNames({"count", "after"})
    ->Args({125, 300})
    ->Args({500, 400})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(20);
BENCHMARK_CAPTURE(bench_carpet, spheres, false)
    ->ArgNames({"count", "threads"})
    ->ArgsProduct({{1000, 10000, 100000}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK_CAPTURE(bench_carpet, boxes, true)
    ->ArgNames({"count", "threads"})
    ->ArgsProduct({{1000, 10000, 100000}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace orthant
