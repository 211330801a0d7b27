// SPDX-License-Identifier: Apache-2.0
// bench/shape_bench.cpp: pairs a second of contacts(), pair by pair, on a fixed set of 1024 pairs
// that are touching or nearly so (what a broad phase hands over), and of the derivative of one
// contact.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "orthant/shape/contacts.hpp"

namespace orthant {
namespace {

/// splitmix64, so that every run times the same pairs.
double uniform(std::uint64_t& state, double lo, double hi) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return lo + (hi - lo) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

Vec3 vector(std::uint64_t& state, double size) {
  const double x = uniform(state, -size, size), y = uniform(state, -size, size);
  return {x, y, uniform(state, -size, size)};
}

Shape hull(int points, std::uint64_t seed) {
  std::vector<Vec3> all;
  all.reserve(static_cast<std::size_t>(points));
  for (int i = 0; i < points; ++i) all.push_back(vector(seed, 1).normalized() * 0.7);
  return Shape::hull(all);
}

Shape make(int kind) {
  switch (kind) {
    case 0:
      return Shape::sphere(0.5);
    case 1:
      return Shape::capsule(0.25, 0.5);
    case 2:
      return Shape::box(0.5, 0.4, 0.3);
    case 3:
      return hull(16, 1);
    case 4:
      return hull(64, 2);
    default:
      return Shape::half_space();
  }
}

struct Pair {
  Pose X, Y;
};

/// Poses with gaps in [-0.05, 0.05]: B is moved along the normal of a random start.
std::vector<Pair> touching_pairs(const Shape& a, const Shape& b) {
  std::uint64_t state = 42;
  std::vector<Pair> pairs;
  while (pairs.size() < 1024) {
    Pair p{{vector(state, 2), exp_rotation(vector(state, 2))}, {}};
    if (b.kind() != ShapeKind::HalfSpace) p.Y.p = exp_rotation(vector(state, 2));
    const ContactPoint c = distance(a, p.X, b, p.Y);
    p.X.x += c.normal * (uniform(state, -0.05, 0.05) - c.gap);
    pairs.push_back(p);
  }
  return pairs;
}

void pairs(benchmark::State& state) {
  const Shape a = make(static_cast<int>(state.range(0))),
              b = make(static_cast<int>(state.range(1)));
  const std::vector<Pair> all = touching_pairs(a, b);
  const ShapeView<double> va = a.view(), vb = b.view();
  ContactPoint out[kMaxContacts];
  std::size_t i = 0, points = 0;
  for (auto _ : state) {
    const Pair& p = all[i++ & 1023];
    points += contacts(va, p.X, vb, p.Y, 0.06, out);
    benchmark::DoNotOptimize(out);
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["points"] = static_cast<double>(points) / static_cast<double>(state.iterations());
}
BENCHMARK(pairs)
    ->Args({0, 0})
    ->Args({0, 1})
    ->Args({0, 2})
    ->Args({0, 3})
    ->Args({0, 5})
    ->Args({1, 1})
    ->Args({1, 2})
    ->Args({1, 5})
    ->Args({2, 2})
    ->Args({2, 3})
    ->Args({2, 5})
    ->Args({3, 3})
    ->Args({4, 4})
    ->Args({4, 5})
    ->ArgNames({"a", "b"});

/// Boxes stacked face on face, turned about the normal: four points every time.
void stacked_boxes(benchmark::State& state) {
  const Shape box = Shape::box(0.5, 0.5, 0.5);
  std::uint64_t seed = 7;
  std::vector<Pose> poses;
  poses.reserve(1024);
  for (int i = 0; i < 1024; ++i)
    poses.push_back({Vec3(uniform(seed, -0.3, 0.3), uniform(seed, -0.3, 0.3), 1 + 1e-9),
                     exp_rotation(Vec3(0, 0, uniform(seed, -1, 1)))});
  ContactPoint out[kMaxContacts];
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(contacts(box, poses[i++ & 1023], box, Pose{}, 0.05, out));
    benchmark::DoNotOptimize(out);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(stacked_boxes);

/// Gap, normal and points by both poses: 12 derivatives of one edge-edge contact of boxes.
void contact_derivative(benchmark::State& state) {
  using D = Dual<12>;
  const Shape box = Shape::box(0.5, 0.5, 0.5);
  const Pose X{Vec3(0.1, 0.1, 1.41), exp_rotation(Vec3(0, M_PI / 4, 0))};
  const Pose Y{Vec3(0, 0, 0), exp_rotation(Vec3(M_PI / 4, 0, 0))};
  const ContactPoint c = distance(box, X, box, Y);
  const std::vector<D> p(box.parameters().begin(), box.parameters().end());
  PoseT<D> XD = pose_cast<D>(X), YD = pose_cast<D>(Y);
  for (int k = 0; k < 3; ++k) {
    XD.x[k].d[k] = 1;
    YD.x[k].d[6 + k] = 1;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        evaluate_contact(c.feature, box.view(p.data()), XD, box.view(p.data()), YD));
  }
}
BENCHMARK(contact_derivative);

}  // namespace
}  // namespace orthant
