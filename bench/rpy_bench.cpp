// SPDX-License-Identifier: Apache-2.0
// Mobility of many spheres in a fluid: set-up and one product, free space and periodic box, equal
// spheres at 10 % by volume, tolerance 1e-5, one thread. Counter `error`: of the velocities of 50
// spheres in free space against sums over all pairs, relative to the largest velocity. How the time
// grows: `--benchmark_filter=product`, whose last lines are fits of N log N.
#include <benchmark/benchmark.h>

#include <cmath>
#include <numbers>
#include <random>

#include "orthant/base/parallel.hpp"
#include "orthant/force/rpy.hpp"

namespace orthant {
namespace {

struct Suspension {
  std::vector<Vec3> x;
  std::vector<double> a;
  VecX f;
  RpySettings settings;
};

Suspension suspension(Index count, bool periodic) {
  set_thread_count(1);
  const double edge = std::cbrt(4 * std::numbers::pi / 3 * static_cast<double>(count) / 0.1);
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> place(0, edge), push(-1, 1);
  Suspension s;
  s.f.resize(3 * count);
  for (Index i = 0; i < count; ++i) {
    s.x.emplace_back(place(random), place(random), place(random));
    for (Index d = 0; d < 3; ++d) s.f[3 * i + d] = push(random);
  }
  s.a.assign(static_cast<std::size_t>(count), 1.0);
  s.settings.direct_up_to = 0;
  if (periodic) s.settings.box = {Vec3::Zero(), Vec3::Constant(edge)};
  return s;
}

/// Against all pairs, for spheres spread over the numbering.
double error(const Suspension& s, const VecX& u) {
  const auto count = static_cast<Index>(s.x.size());
  double worst = 0;
  for (Index i = 0; i < count; i += std::max<Index>(count / 50, 1)) {
    Vec3 exact = Vec3::Zero();
    for (Index j = 0; j < count; ++j) {
      const Vec3 r = s.x[static_cast<std::size_t>(i)] - s.x[static_cast<std::size_t>(j)];
      const RpyPair m = rpy_pair(r.norm(), 1, 1);
      const Vec3 g = s.f.segment<3>(3 * j);
      exact += m.identity * g;
      if (i != j) exact += m.along * r.dot(g) / r.squaredNorm() * r;
    }
    worst = std::max(worst, (exact - u.segment<3>(3 * i)).cwiseAbs().maxCoeff());
  }
  return worst / u.cwiseAbs().maxCoeff();
}

void product(benchmark::State& state, bool periodic) {
  const Suspension s = suspension(state.range(0), periodic);
  const RpyMobility mobility(s.x, s.a, s.settings);
  VecX u;
  for (auto _ : state) mobility.apply(s.f, u);
  if (!periodic) state.counters["error"] = error(s, u);
  state.SetComplexityN(state.range(0));
}

void set_up(benchmark::State& state, bool periodic) {
  const Suspension s = suspension(state.range(0), periodic);
  for (auto _ : state) benchmark::DoNotOptimize(RpyMobility(s.x, s.a, s.settings).count());
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int n : {10'000, 20'000, 40'000, 100'000}) b->Arg(n);
  b->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(product, free, false)->Apply(sizes)->Complexity(benchmark::oNLogN);
BENCHMARK_CAPTURE(product, periodic, true)->Apply(sizes)->Complexity(benchmark::oNLogN);
BENCHMARK_CAPTURE(set_up, free, false)->Apply(sizes);
BENCHMARK_CAPTURE(set_up, periodic, true)->Apply(sizes);

}  // namespace
}  // namespace orthant
