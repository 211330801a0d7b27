// SPDX-License-Identifier: Apache-2.0
// bench/gradient_bench.cpp: what gradients cost beside the forward they belong to.
// Counters: forward and backward time of a rollout, their ratio, with records stored and with
// checkpoints; microseconds of one vector–Jacobian product of a step.
#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <string>

#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

BodySpec ground(bool planar) {
  return {
      .name = "floor",
      .motion = Motion::Fixed,
      .planar = planar,
      .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(), .material = "m"}}};
}

/// n spheres that roll on a floor into each other, or boxes that slide.
Model carpet(int count, bool boxes) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body(ground(false));
  testing::SplitMix random(5);
  const int side = static_cast<int>(std::ceil(std::sqrt(count)));
  for (int i = 0; i < count; ++i) {
    const int row = i / side;
    b.add_body({.position = Vec3(0.201 * (i % side), 0.201 * row, 0.1),
                .velocity = Vec3(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3), 0),
                .shapes = {{.shape = boxes ? Shape::box(0.1, 0.1, 0.1) : Shape::sphere(0.1),
                            .material = "m"}}});
  }
  return b.build();
}

/// Discs of radius 0.5 in rows of five on a floor, random velocities.
Model discs(int count) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body(ground(true));
  testing::SplitMix random(7);
  for (int i = 0; i < count; ++i) {
    const int row = i / 5;
    b.add_body({.motion = Motion::Planar,
                .position = Vec3(1.001 * (i % 5), 0.5 + 1.001 * row, 0),
                .velocity = Vec3(random.uniform(-1, 1), random.uniform(-1, 1), 0),
                .shapes = {{.shape = Shape::disc(0.5), .material = "m"}}});
  }
  return b.build();
}

/// A chain of boxes on hinges that lies on a table: 7 links.
Model arm(int links) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body(ground(false));
  for (int i = 0; i < links; ++i)
    b.add_body({.name = "link" + std::to_string(i),
                .position = Vec3(0.1 + 0.2 * i, 0, 0.5 - 0.45 * i / (links - 1)),
                .shapes = {{.shape = Shape::capsule(0.05, 0.09), .material = "m"}}});
  for (int i = 0; i < links; ++i)
    b.add_joint({.kind = JointKind::Revolute,
                 .a = "link" + std::to_string(i),
                 .b = i == 0 ? "world" : "link" + std::to_string(i - 1),
                 .anchor = Vec3(0.2 * i, 0, 0.5 - 0.45 * (i - 0.5) / (links - 1)),
                 .axis = {0, 1, i % 2 == 0 ? 0.0 : 1.0}});
  return b.build();
}

/// A trunk of boxes with legs that stand on the floor: 6 bodies, 36 velocities, 8 contacts.
Model walker() {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.6});
  b.add_body(ground(false));
  b.add_body({.name = "trunk",
              .position = {0, 0, 0.5},
              .shapes = {{.shape = Shape::box(0.4, 0.2, 0.1), .material = "m"}}});
  b.add_body({.name = "head",
              .position = {0.5, 0, 0.6},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  b.add_joint({.kind = JointKind::Revolute,
               .a = "head",
               .b = "trunk",
               .anchor = {0.4, 0, 0.55},
               .axis = {0, 1, 0},
               .stiffness = 50,
               .damping = 1});
  for (int i = 0; i < 4; ++i) {
    const std::string name = "leg" + std::to_string(i);
    const double x = i % 2 == 0 ? 0.35 : -0.35, y = i < 2 ? 0.15 : -0.15;
    b.add_body({.name = name,
                .position = {x, y, 0.2},
                .orientation = exp_rotation(Vec3(0, std::acos(0.0), 0)),
                .shapes = {{.shape = Shape::box(0.2, 0.03, 0.03), .material = "m"}}});
    b.add_joint({.kind = JointKind::Revolute,
                 .a = name,
                 .b = "trunk",
                 .anchor = {x, y, 0.4},
                 .axis = {0, 1, 0},
                 .stiffness = 200,
                 .damping = 5});
  }
  return b.build();
}

/// Processor time: what else the machine does must not count.
class Stopwatch {
 public:
  double lap() {
    const std::clock_t now = std::clock();
    const double seconds = static_cast<double>(now - last_) / CLOCKS_PER_SEC;
    last_ = now;
    return seconds;
  }

 private:
  std::clock_t last_ = std::clock();
};

/// One rollout forward, plain and recorded, and one backward; times in the counters.
void rollout_times(benchmark::State& bench, const Model& model, Index steps, bool checkpoints) {
  const Parameters parameters = model.default_parameters();
  const StepSettings settings;
  double plain = 0, recorded = 0, backward = 0;
  Index runs = 0, contacts = 0;
  for (auto _ : bench) {
    State x = model.rest_state();
    Stopwatch watch;
    (void)rollout(model, parameters, settings, x, steps);
    plain += watch.lap();
    const RolloutTape tape = record_rollout(model, parameters, settings, model.rest_state(), {},
                                            steps, {.store_records = !checkpoints});
    recorded += watch.lap();
    StepGradientSettings gradient;
    gradient.allow_unconverged = true;
    const RolloutGradient g = rollout_gradient(
        tape, at_end(tape, VecX::Ones(model.v_size()), VecX::Ones(model.v_size())), gradient);
    backward += watch.lap();
    benchmark::DoNotOptimize(g.parameters.data());
    if (!tape.records.empty())
      contacts = static_cast<Index>(tape.records.back().solves.front().contacts.contacts.size());
    ++runs;
  }
  const double per = 1e3 / (static_cast<double>(runs) * static_cast<double>(steps));
  bench.counters["forward_ms"] = plain * per;
  bench.counters["recording"] = recorded / plain;
  bench.counters["backward_ms"] = backward * per;
  bench.counters["ratio"] = backward / plain;
  bench.counters["contacts"] = static_cast<double>(contacts);
}

void SpheresStored(benchmark::State& bench) {
  rollout_times(bench, carpet(static_cast<int>(bench.range(0)), false), 50, false);
}
BENCHMARK(SpheresStored)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
void SpheresCheckpoints(benchmark::State& bench) {
  rollout_times(bench, carpet(static_cast<int>(bench.range(0)), false), 50, true);
}
BENCHMARK(SpheresCheckpoints)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);
void BoxesStored(benchmark::State& bench) {
  rollout_times(bench, carpet(static_cast<int>(bench.range(0)), true), 50, false);
}
BENCHMARK(BoxesStored)->Arg(1)->Arg(10)->Unit(benchmark::kMillisecond);
void Discs(benchmark::State& bench) {
  rollout_times(bench, discs(static_cast<int>(bench.range(0))), 50, false);
}
BENCHMARK(Discs)->Arg(1)->Arg(5)->Arg(10)->Arg(20)->Unit(benchmark::kMillisecond);

/// One vector–Jacobian product of one step, the factorisation included or not.
void step_product(benchmark::State& bench, const Model& model, bool with_factorisation) {
  const Parameters parameters = model.default_parameters();
  const StepSettings settings;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  for (int i = 0; i < 30; ++i) (void)step(model, parameters, settings, {}, x, warm, work, &record);
  const StateCotangent by{VecX::Ones(model.v_size()), VecX::Ones(model.v_size())};
  StepGradientSettings with;
  with.allow_unconverged = true;
  StepGradient gradient(model, parameters, settings, record, with);
  for (auto _ : bench) {
    if (with_factorisation) gradient = StepGradient(model, parameters, settings, record, with);
    const StepCotangent g = gradient.pull_back(by);
    benchmark::DoNotOptimize(g.q.data());
  }
  bench.counters["velocities"] = model.v_size();
  bench.counters["solves"] = static_cast<double>(record.solves.size());
  bench.counters["contacts"] = static_cast<double>(record.solves.front().contacts.contacts.size());
}
void ArmProduct(benchmark::State& bench) { step_product(bench, arm(7), bench.range(0) != 0); }
BENCHMARK(ArmProduct)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);
void WalkerProduct(benchmark::State& bench) { step_product(bench, walker(), bench.range(0) != 0); }
BENCHMARK(WalkerProduct)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace orthant
