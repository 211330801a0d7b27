// SPDX-License-Identifier: Apache-2.0
// Pairs a second of the smooth narrow phase, warm (the last normal at hand) and cold; a ReLCP step
// of rods at one density from 10^3 to 10^5 bodies, one thread and two.
#include <benchmark/benchmark.h>

#include <cmath>

#include "orthant/base/parallel.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/shape/contacts.hpp"
#include "orthant/step/step.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

struct Pair {
  Pose X, Y;
  Vec3 normal;
};

/// Pairs that nearly touch, and the normal they had before a small motion.
std::vector<Pair> near_pairs(const Shape& shape, int count) {
  SplitMix random(1);
  std::vector<Pair> pairs;
  const auto u = [&] { return random.uniform(-1, 1); };
  while (static_cast<int>(pairs.size()) < count) {
    Pair p;
    const double a = u(), b = u(), c = u(), d = u(), e = u(), f = u(), g = u(), h = u(), i = u();
    p.X = {Vec3::Zero(), exp_rotation(Vec3(3 * a, 3 * b, 3 * c))};
    p.Y = {3 * Vec3(d, e, f), exp_rotation(Vec3(3 * g, 3 * h, 3 * i))};
    const ContactPoint at = distance(shape, p.X, shape, p.Y);
    if (std::abs(at.gap) > 0.5) continue;
    p.normal = at.normal;
    p.Y.x -= at.normal * (-at.gap + 0.01);  // apart by a hundredth
    p.Y.p = boxplus(p.Y.p, Vec3(0.01 * a, 0.01 * b, 0.01 * c));
    pairs.push_back(p);
  }
  return pairs;
}

void narrow_phase(benchmark::State& state, const Shape& shape, bool warm) {
  const std::vector<Pair> pairs = near_pairs(shape, 1024);
  ContactPoint out[kMaxContacts];
  std::size_t i = 0;
  for (auto _ : state) {
    const Pair& p = pairs[i++ % pairs.size()];
    benchmark::DoNotOptimize(
        deepest_contacts(shape, p.X, shape, p.Y, 1.0, warm ? &p.normal : nullptr, out));
  }
  state.SetItemsProcessed(state.iterations());
}

void ellipsoids_warm(benchmark::State& state) {
  narrow_phase(state, Shape::ellipsoid(2, 1, 1), true);
}
void ellipsoids_cold(benchmark::State& state) {
  narrow_phase(state, Shape::ellipsoid(2, 1, 1), false);
}
void super_ellipsoids(benchmark::State& state) {
  narrow_phase(state, Shape::super_ellipsoid(2, 1, 1, 0.6, 0.6), true);
}
void spherocylinders(benchmark::State& state) {
  narrow_phase(state, Shape::capsule(0.5, 1.0), true);
}
void tori(benchmark::State& state) { narrow_phase(state, Shape::torus(1, 0.2), true); }
BENCHMARK(ellipsoids_warm);
BENCHMARK(ellipsoids_cold);
BENCHMARK(super_ellipsoids);
BENCHMARK(spherocylinders);
BENCHMARK(tori);

/// Rods on a lattice, nearly touching, shaken by forces: the same density at every size.
Model rods(int count) {
  SplitMix random(2);
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "m", .friction = 0});
  const int side = static_cast<int>(std::ceil(std::cbrt(count)));
  for (int i = 0; i < count; ++i) {
    BodySpec body;
    body.name = "r" + std::to_string(i);
    const int row = i / side % side, layer = i / side / side;
    body.position = Vec3(2.1 * (i % side), 1.05 * row, 1.05 * layer);
    const double a = random.uniform(-0.05, 0.05), b = random.uniform(-0.05, 0.05);
    body.orientation = exp_rotation(Vec3(0, a, b));
    body.shapes.push_back({.shape = Shape::capsule(0.5, 0.5), .density = 1, .material = "m"});
    builder.add_body(body);
    const double x = random.uniform(-1, 1), y = random.uniform(-1, 1), z = random.uniform(-1, 1);
    builder.add_force(BodyForceSpec{
        .name = "f" + std::to_string(i), .body = body.name, .force = 5 * Vec3(x, y, z)});
  }
  return builder.build();
}

void relcp_step(benchmark::State& state) {
  set_thread_count(static_cast<int>(state.range(1)));
  const Model model = rods(static_cast<int>(state.range(0)));
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.h = 0.02;
  settings.constraints = ConstraintScheme::Relcp;
  settings.solver.tolerance = 1e-7;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepReport report;
  for (int i = 0; i < 3; ++i) report = step(model, parameters, settings, {}, x, warm, work);
  for (auto _ : state) report = step(model, parameters, settings, {}, x, warm, work);
  state.counters["rows"] = report.constraints;
  state.counters["solves"] = report.recursions + 1;
  state.counters["iterations"] = report.iterations;
  set_thread_count(1);
}
BENCHMARK(relcp_step)
    ->ArgsProduct({{1000, 10000, 100000}, {1, 2}})
    ->ArgNames({"bodies", "threads"})
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orthant
