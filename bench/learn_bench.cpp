// SPDX-License-Identifier: Apache-2.0
// bench/learn_bench.cpp: transitions a second of the implicit loss with its gradient, simulated
// samples per second with derivatives; the cube of the measured tosses (the excerpt of the tests).
#include <benchmark/benchmark.h>

#include "learn/support.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/learn/fit.hpp"
#include "scenes/toss_cube.hpp"

namespace {

using namespace orthant;

TrajectoryData tosses(const Model& model) {
  return read_trajectories(ORTHANT_SOURCE_DIR "/tests/data/tosses/tosses.csv", model,
                           testing::toss_options());
}

/// Loss and gradient by friction and restitution of every transition of the file.
void implicit_loss(benchmark::State& state) {
  set_thread_count(static_cast<int>(state.range(0)));
  const Model model = scenes::toss_cube(0.18, 0.125);
  const TrajectoryData data = tosses(model);
  const Parameters p = model.default_parameters();
  const std::vector<Index> places = {p.table->find("material/wood.friction"),
                                     p.table->find("material/wood.restitution")};
  std::int64_t transitions = 0, touching = 0;
  for (const MeasuredMotion& t : data.trajectories) transitions += t.samples() - 1;
  for (auto _ : state) {
    std::vector<double> cost(data.trajectories.size(), 0.0);
    std::vector<std::int64_t> near(data.trajectories.size(), 0);
    parallel_for(data.trajectories.size(), 1, [&](std::size_t begin, std::size_t end) {
      ImplicitLoss loss(model, {}, places);
      VecX q, v, next;
      double g[2];
      for (std::size_t k = begin; k < end; ++k) {
        const MeasuredMotion& t = data.trajectories[k];
        for (Index i = 0; i + 1 < t.samples(); ++i) {
          q = t.q.col(i);
          v = t.v.col(i);
          next = t.v.col(i + 1);
          const TransitionLoss l = loss(p, q, v, next, 0, t.dt, g);
          cost[k] += l.value + g[0];
          near[k] += l.contacts > 0;
        }
      }
    });
    touching = 0;
    for (const std::int64_t n : near) touching += n;
    benchmark::DoNotOptimize(cost.data());
  }
  set_thread_count(1);
  state.counters["near_contact"] = static_cast<double>(touching) / static_cast<double>(transitions);
  state.SetItemsProcessed(state.iterations() * transitions);
}
BENCHMARK(implicit_loss)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

/// Whole tosses predicted.
void predict_tosses(benchmark::State& state) {
  set_thread_count(static_cast<int>(state.range(0)));
  const Model model = scenes::toss_cube(0.18, 0.125);
  const TrajectoryData data = tosses(model);
  StepSettings settings;
  settings.impact_events = true;
  std::int64_t samples = 0;
  for (const MeasuredMotion& t : data.trajectories) samples += t.samples() - 1;
  double error = 0;
  for (auto _ : state)
    error = score(model, model.default_parameters(), settings, data).median_position;
  set_thread_count(1);
  state.counters["median_position"] = error;
  state.SetItemsProcessed(state.iterations() * samples);
}
BENCHMARK(predict_tosses)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
