// SPDX-License-Identifier: Apache-2.0
// Flexible parts: assembly of H and k (elements a second), and a step of a soft mat of about 10^4
// or 10^5 tetrahedra, or of a block of 10^5, that lies on the floor with 10^3 nodes or more, with
// and without friction: processor time of a cold and a warm step, their interior-point iterations,
// the share of the factorisations, memory (one size a process: the peak is that of the process).
#include <benchmark/benchmark.h>

#include <cmath>

#include "orthant/base/process.hpp"
#include "orthant/force/force.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

/// n × n × layers cells of 1 cm; on the floor where `friction` >= 0.
Model mat(Index n, Index layers, double friction) {
  ModelBuilder builder;
  const Mesh mesh = box_mesh(Vec3(0.01 * n, 0.01 * n, 0.01 * layers), n, n, layers);
  builder.add_material({.name = "surface", .friction = std::max(0.0, friction)});
  if (friction >= 0)
    builder.add_body({.name = "floor",
                      .motion = Motion::Fixed,
                      .shapes = {{.shape = Shape::half_space(), .material = "surface"}}});
  builder.add_flexible({.name = "mat",
                        .mesh = mesh,
                        .young = 1e5,
                        .damping_stiffness = 0.002,
                        .velocity = Vec3(0.3, 0, -0.1),
                        .material = "surface"});
  return builder.build();
}

void assembly(benchmark::State& state) {
  const Model model = mat(static_cast<Index>(state.range(0)), 4, -1);
  const Parameters parameters = model.default_parameters();
  const State x = model.rest_state();
  Dynamics dynamics;
  VelocityMatrix H;
  VecX k;
  for (auto _ : state) assemble_dynamics(model, parameters, x.q, x.v, 0, {}, 0.01, dynamics, H, k);
  const auto elements = static_cast<double>(model.flexible_parts()[0].element_count());
  state.counters["elements"] = elements;
  state.counters["elements_per_s"] =
      benchmark::Counter(elements, benchmark::Counter::kIsIterationInvariantRate);
}

void factor(benchmark::State& state) {
  const Model model =
      mat(static_cast<Index>(state.range(0)), static_cast<Index>(state.range(1)), -1);
  const State x = model.rest_state();
  Dynamics dynamics;
  VelocityMatrix H;
  VecX k;
  assemble_dynamics(model, model.default_parameters(), x.q, x.v, 0, {}, 0.01, dynamics, H, k);
  VelocitySolver solver;
  (void)solver.factorize(H);
  for (auto _ : state) benchmark::DoNotOptimize(solver.factorize(H));
  state.counters["velocities"] = H.rows();
  state.counters["nonzeros_of_L"] = 0.5 * solver.solve_work();
}

void lying(benchmark::State& state, double friction) {
  const Model model =
      mat(static_cast<Index>(state.range(0)), static_cast<Index>(state.range(1)), friction);
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.solver.tolerance = 1e-8;
  StepReport cold, warm;
  double cold_seconds = 0, seconds = 0;
  for (auto _ : state) {
    State x = model.rest_state();
    WarmStart start;
    StepWorkspace work;
    const double begin = processor_seconds();
    cold = step(model, parameters, settings, {}, x, start, work);
    const double between = processor_seconds();
    warm = step(model, parameters, settings, {}, x, start, work);
    cold_seconds = between - begin;
    seconds = processor_seconds() - between;
  }
  // One factorisation of H: that of the whole system, once per iteration, is a little dearer.
  const State x = model.rest_state();
  Dynamics dynamics;
  VelocityMatrix H;
  VecX k;
  assemble_dynamics(model, parameters, x.q, x.v, 0, {}, settings.h, dynamics, H, k);
  VelocitySolver solver;
  (void)solver.factorize(H);
  const double begin = processor_seconds();
  (void)solver.factorize(H);
  const double factor = processor_seconds() - begin;
  state.counters["factor_H_s"] = factor;
  state.counters["factor_share"] = warm.iterations * factor / seconds;
  state.counters["elements"] = model.flexible_parts()[0].element_count();
  state.counters["velocities"] = model.dynamic_v_size();
  state.counters["contacts"] = warm.contacts;
  state.counters["iterations_cold"] = cold.iterations;
  state.counters["iterations_warm"] = warm.iterations;
  state.counters["cold_s"] = cold_seconds;
  state.counters["step_s"] = seconds;
  state.counters["assembly_s"] = warm.seconds_assembly;
  state.counters["collision_s"] = warm.seconds_collision;
  state.counters["solve_s"] = warm.seconds_solve;
  state.counters["projection_s"] = warm.seconds_projection;
  state.counters["converged"] = warm.outcome == Outcome::Converged;
  state.counters["residual"] = warm.residual;
  state.counters["peak_MB"] = peak_memory() / 1048576;
}

BENCHMARK(assembly)->Arg(20)->Arg(64)->Unit(benchmark::kMillisecond);
BENCHMARK(factor)->Args({30, 2})->Args({64, 4})->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(lying, frictionless, 0.0)
    ->Args({30, 2})
    ->Args({64, 4})
    ->Args({30, 19})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(lying, friction, 0.5)
    ->Args({30, 2})
    ->Args({64, 4})
    ->Args({30, 19})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace orthant
