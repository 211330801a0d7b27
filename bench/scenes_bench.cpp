// SPDX-License-Identifier: Apache-2.0
// bench/scenes_bench.cpp: time of a step by stage, with penetration and residual beside it.
// Scenes: cubes stacked (touching and with gaps, light and heavy), spheres and boxes that fall on a
// floor, 10^3 and more: the time a body must not grow with their number.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

Model cube_stack(int count, double mass, double gap) {
  ModelBuilder builder;
  builder.add_material({.name = "stone", .friction = 0.6});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .shapes = {{.shape = Shape::half_space(), .material = "stone"}}});
  testing::SplitMix random(777);
  for (int i = 0; i < count; ++i) {
    const double x = random.uniform(-0.005, 0.005), y = random.uniform(-0.005, 0.005);
    builder.add_body({.position = Vec3(x, y, 0.5 + i + gap * (i + 1)),
                      .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5), .material = "stone"}},
                      .mass = mass});
  }
  return builder.build();
}

/// One layer of bodies on a floor, neighbours nearly touching: contacts grow with the bodies, the
/// islands do not.
Model carpet(int count, bool boxes) {
  ModelBuilder builder;
  builder.add_body(
      {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  const int side = static_cast<int>(std::ceil(std::sqrt(count)));
  for (int i = 0; i < count; ++i) {
    builder.add_body(
        {.position = Vec3(0.205 * (i % side), 0.205 * (i / side), 0.1),
         .shapes = {{.shape = boxes ? Shape::box(0.1, 0.1, 0.1) : Shape::sphere(0.1)}}});
  }
  return builder.build();
}

void run(benchmark::State& bench, const Model& model) {
  const Parameters parameters = model.default_parameters();
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  StepReport sum;
  Index contacts = 0;
  int failed = 0;
  for (int i = 0; i < 3; ++i) (void)step(model, parameters, {}, {}, state, warm, workspace);
  for (auto _ : bench) {
    const StepReport report = step(model, parameters, {}, {}, state, warm, workspace);
    sum.seconds_collision += report.seconds_collision;
    sum.seconds_assembly += report.seconds_assembly;
    sum.seconds_solve += report.seconds_solve;
    sum.seconds_projection += report.seconds_projection;
    sum.deepest = std::max(sum.deepest, report.deepest);
    sum.residual = std::max(sum.residual, report.residual);
    contacts = report.contacts;
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
  bench.counters["penetration"] = sum.deepest;
  bench.counters["residual"] = sum.residual;
  bench.counters["failed"] = failed;
  bench.SetItemsProcessed(bench.iterations());
  bench.SetComplexityN(static_cast<std::int64_t>(model.dynamic_count()));
}

void bench_stack(benchmark::State& bench) {
  run(bench, cube_stack(50, static_cast<double>(bench.range(0)), 1e-4 * bench.range(1)));
}
void bench_spheres(benchmark::State& bench) {
  run(bench, carpet(static_cast<int>(bench.range(0)), false));
}
void bench_boxes(benchmark::State& bench) {
  run(bench, carpet(static_cast<int>(bench.range(0)), true));
}

BENCHMARK(bench_stack)
    ->Name("stack_50_cubes")
    ->ArgNames({"kg", "gap_0.1mm"})
    ->ArgsProduct({{1, 1000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(50);
BENCHMARK(bench_spheres)
    ->Name("carpet_spheres")
    ->RangeMultiplier(10)
    ->Range(1000, 100000)
    ->Complexity()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);
BENCHMARK(bench_boxes)
    ->Name("carpet_boxes")
    ->RangeMultiplier(10)
    ->Range(1000, 10000)
    ->Complexity()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace orthant
