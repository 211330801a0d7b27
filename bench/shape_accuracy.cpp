// SPDX-License-Identifier: Apache-2.0
// bench/shape_accuracy.cpp: worst errors of distance(), pair by pair => docs/shape_accuracy.md.
// Against the enumeration of the tests (all subsets of the Minkowski difference, in long double),
// half of the pairs in general position, half nearly degenerate. Prints the page.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "shape/support.hpp"

namespace orthant {
namespace {

constexpr ShapeKind kKinds[] = {ShapeKind::Sphere, ShapeKind::Capsule, ShapeKind::Box,
                                ShapeKind::Hull, ShapeKind::HalfSpace};
constexpr int kCases = 1000;

struct Worst {
  double gap = 0, witness = 0, normal = 0;
  int overlaps = 0;
};

double extent(const Shape& s) { return s.kind() == ShapeKind::HalfSpace ? 0 : bounding_radius(s); }

/// Amount by which `p` misses the surface of s on its outside, by bisection on contains().
double outside(const Shape& s, const Pose& X, const Vec3& p) {
  double lo = 0, hi = 1e-3;
  if (test::contains(s, X, p, 1e-16)) return 0;
  for (int i = 0; i < 60; ++i) {
    const double mid = 0.5 * (lo + hi);
    (test::contains(s, X, p, mid) ? hi : lo) = mid;
  }
  return hi;
}

Worst measure(ShapeKind ka, ShapeKind kb, int dim) {
  test::Random random(100 * dim + 10 * static_cast<int>(ka) + static_cast<int>(kb));
  Worst worst;
  for (int i = 0; i < kCases; ++i) {
    const bool general = i % 2 == 0;
    const Shape a =
        general ? test::random_shape(random, ka, dim) : test::grid_shape(random, ka, dim);
    const Shape b =
        general ? test::random_shape(random, kb, dim) : test::grid_shape(random, kb, dim);
    const Pose X =
        general ? test::random_pose(random, dim, 1.2) : test::near_degenerate_pose(random, dim);
    const Pose Y =
        general ? test::random_pose(random, dim, 0.5) : test::near_degenerate_pose(random, dim);
    const double size = extent(a) + extent(b);
    const ContactPoint c = distance(a, X, b, Y);
    const double reference = test::reference_distance(a, X, b, Y);
    worst.gap = std::max(worst.gap, std::abs(c.gap - reference) / size);
    worst.witness = std::max(worst.witness, outside(a, X, c.point_a) / size);
    worst.witness = std::max(worst.witness, outside(b, Y, c.point_b) / size);
    worst.normal = std::max(worst.normal, std::abs(c.normal.norm() - 1));
    worst.overlaps += reference < 0;
  }
  return worst;
}

}  // namespace
}  // namespace orthant

int main() {
  using namespace orthant;
  std::printf(
      "# Accuracy of distances\n\n"
      "Worst errors of `distance()` over %d pairs each, half in general position, half nearly\n"
      "degenerate (flush faces, parallel edges, meeting corners, shaken by 0 or 1e-16 ... 1e-3). "
      "The\n"
      "reference enumerates all subsets of the vertices of the Minkowski difference in long "
      "double.\n"
      "Errors are relative to the size of the pair (sum of the bounding radii); *witness* is how "
      "far\n"
      "a witness point lies outside its body. The promise is 1e-10. Half-spaces count as size "
      "0.\n\n"
      "Made by `build/release/bin/bench_shape_accuracy > docs/shape_accuracy.md`\n"
      "(configure with `-DORTHANT_BENCH=ON`).\n",
      kCases);
  for (int dim : {3, 2}) {
    std::printf(
        "\n## %s\n\n| pair | overlapping | gap | witness | normal length |\n"
        "| --- | --- | --- | --- | --- |\n",
        dim == 3 ? "In space" : "In the plane");
    for (int i = 0; i < 4; ++i)
      for (int j = i; j < 5; ++j) {
        const Worst w = measure(kKinds[i], kKinds[j], dim);
        std::printf("| %s – %s | %d %% | %.1e | %.1e | %.1e |\n", test::kind_name(kKinds[i]),
                    test::kind_name(kKinds[j]), 100 * w.overlaps / kCases, w.gap, w.witness,
                    w.normal);
      }
  }
  return 0;
}
