// SPDX-License-Identifier: Apache-2.0
// Random shapes and poses, and a slow reference for the signed distance that shares no code and no
// idea with the library: it enumerates subsets of the Minkowski difference in long double.
#pragma once

#include <cstdint>
#include <vector>

#include "orthant/shape/contacts.hpp"

namespace orthant::test {

/// splitmix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double uniform(double lo, double hi) {
    return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1.0p-53;
  }
  int integer(int count) { return static_cast<int>(next() % static_cast<std::uint64_t>(count)); }
  Vec3 vector(double size) {
    const double x = uniform(-size, size), y = uniform(-size, size), z = uniform(-size, size);
    return {x, y, z};
  }
  Vec3 direction() {
    for (;;) {
      const Vec3 v = vector(1);
      const double n = v.norm();
      if (n > 0.1 && n < 1) return v / n;
    }
  }

 private:
  std::uint64_t state_;
};

/// A pose of a planar (dim 2) or spatial shape, position within `reach`.
Pose random_pose(Random& random, int dim, double reach);

/// A pose on a grid of quarter sizes and eighth turns, shaken by 0 or 1e-16 ... 1e-3: every nearly
/// degenerate relation of faces, edges and corners turns up.
Pose near_degenerate_pose(Random& random, int dim);

/// A shape with sizes on the same grid (hulls as random_shape).
Shape grid_shape(Random& random, ShapeKind kind, int dim);

/// A shape of the kind, size about 1, with 5 to 9 vertices for hulls.
Shape random_shape(Random& random, ShapeKind kind, int dim);

/// Signed distance by enumeration; b may be a half-space.
double reference_distance(const Shape& a, const Pose& X_WA, const Shape& b, const Pose& X_WB);

/// max over unit n of [min_A n.a - max_B n.b] restricted to one n: the lower bound of the distance.
double directed_separation(const Shape& a, const Pose& X_WA, const Shape& b, const Pose& X_WB,
                           const Vec3& n);

inline Pose at(double x, double y, double z, const Vec3& turn = Vec3::Zero()) {
  return {Vec3(x, y, z), exp_rotation(turn)};
}

/// max over the body of n.p, by its definition: norms, vertices. Not of tori; of a half-space along
/// its own normal only.
double support(const Shape& s, const Pose& X, const Vec3& n);

/// min_A n.a - max_B n.b by support(): a lower bound of the distance, for any n.
double directed(const Shape& a, const Pose& X, const Shape& b, const Pose& Y, const Vec3& n);

/// The largest of them by search: the best of many directions, improved by shrinking random steps.
double brute_force(const Shape& a, const Pose& X, const Shape& b, const Pose& Y, Random& random);

/// The witness points belong together, lie in their bodies and farthest along the normal, up to
/// `slack`, and the feature gives the same contact again.
void expect_consistent(const Shape& a, const Pose& X, const Shape& b, const Pose& Y,
                       const ContactPoint& c, double slack = 1e-10);

/// Is the world point within the shape inflated by `slack`? By the definition of each kind.
bool contains(const Shape& s, const Pose& X_WS, const Vec3& point, double slack);

const char* kind_name(ShapeKind kind);

}  // namespace orthant::test
