// SPDX-License-Identifier: Apache-2.0
// bench/linkage_bench.cpp: steps of chains and trees of 10 to 1000 links, planar and spatial, with
// limits at every hinge and the first links on the floor. Time per link must not grow.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

/// A chain (one branch) or tree that lies above the floor; spheres at a few joints touch it.
Model linkage(int links, int branches, bool planar) {
  const double length = 0.1, radius = 0.02;
  ModelBuilder builder;
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .planar = planar,
                    .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space()}}});
  std::vector<Vec3> tip;
  const auto up = [&](double z) { return planar ? Vec3(0, z, 0) : Vec3(0, 0, z); };
  for (int i = 0; i < links; ++i) {
    const int parent = i == 0 ? -1 : (i - 1) / branches;
    const double angle = 0.35 * i;
    const Vec3 along = planar || branches == 1
                           ? Vec3(length, 0, 0)
                           : Vec3(length * std::cos(angle), length * std::sin(angle), 0);
    const Vec3 root = parent < 0 ? up(radius) : tip[parent];
    const bool touches = i < 8;
    tip.push_back(root + along);
    const Shape shape = planar ? Shape::disc(radius) : Shape::sphere(radius);
    ShapeSpec spec{.shape = shape};
    // Links meet the floor and not each other: those of a tree would overlap from the start.
    spec.group = touches ? 2 : 0;
    spec.mask = touches ? 1 : 0;
    builder.add_body({.name = "link" + std::to_string(i),
                      .motion = planar ? Motion::Planar : Motion::Spatial,
                      .position = root + 0.5 * along,
                      .shapes = {spec}});
    if (parent < 0) continue;
    builder.add_joint({.kind = JointKind::Revolute,
                       .a = "link" + std::to_string(i),
                       .b = "link" + std::to_string(parent),
                       .anchor = root,
                       .axis = planar || i % 2 == 0 ? Vec3::UnitZ() : Vec3::UnitY(),
                       .lower = -0.1,
                       .upper = 0.1});
  }
  return builder.build();
}

void steps(benchmark::State& bench, int branches, bool planar) {
  const int links = static_cast<int>(bench.range(0));
  const Model model = linkage(links, branches, planar);
  const Parameters parameters = model.default_parameters();
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  const StepSettings settings{.h = 0.005};
  int failed = 0, iterations = 0;
  for (auto _ : bench) {
    const StepReport report = step(model, parameters, settings, {}, state, warm, workspace);
    failed += report.outcome != Outcome::Converged;
    iterations += report.iterations;
  }
  const auto count = static_cast<double>(bench.iterations());
  bench.counters["us_per_link"] = benchmark::Counter(
      1e-6 * count * links, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  bench.counters["failed"] = failed;
  bench.counters["factors_per_step"] = iterations / count;
}

#define LINKAGE(name, branches, planar)                                                   \
  void name(benchmark::State& bench) { steps(bench, branches, planar); }                  \
  BENCHMARK(name)->Arg(10)->Arg(30)->Arg(100)->Arg(300)->Arg(1000)->Iterations(50)->Unit( \
      benchmark::kMicrosecond)

LINKAGE(planar_chain, 1, true);
LINKAGE(planar_tree, 3, true);
LINKAGE(spatial_chain, 1, false);
LINKAGE(spatial_tree, 3, false);

}  // namespace
}  // namespace orthant
