// SPDX-License-Identifier: Apache-2.0
// support/packing.hpp: (count, friction) => the contact problem of one step of a pile of spheres.
// A face-centred lattice of equal spheres on a floor, nudged off its places so that some neighbours
// touch and some are a little apart; six contacts per sphere, gaps never negative, so that a
// solution exists for every friction. Generated directly as a problem: no engine in the
// measurement.
#pragma once

#include <Eigen/Geometry>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "orthant/problem/problem.hpp"
#include "support/splitmix.hpp"

namespace orthant::testing {

/// mu = 0: frictionless, one Orthant row per contact and three velocities per sphere. Else three
/// rows (exact: Coulomb, or the convex cone) and six velocities.
inline CanonicalProblem sphere_packing(int count, double mu, bool exact) {
  constexpr double kRadius = 0.035, kDensity = 1000, kStep = 0.01, kGravity = 9.81;
  const double mass = kDensity * 4.0 / 3.0 * 3.141592653589793 * kRadius * kRadius * kRadius;
  const int side = std::max(2, static_cast<int>(std::round(std::cbrt(2.0 * count))));
  SplitMix random(20240607);
  std::map<std::array<int, 3>, int> at;
  std::vector<Vec3> centre;
  const double a = std::sqrt(2.0) * kRadius * 1.002;
  for (int k = 0; static_cast<int>(centre.size()) < count; ++k) {
    for (int j = 0; j < side; ++j) {
      for (int i = (j + k) % 2; i < side && static_cast<int>(centre.size()) < count; i += 2) {
        at[{i, j, k}] = static_cast<int>(centre.size());
        const double n = 0.004 * kRadius;
        centre.emplace_back(a * i + n * (random.uniform() - 0.5),
                            a * j + n * (random.uniform() - 0.5),
                            kRadius + a * k + n * (random.uniform() - 0.5));
      }
    }
  }

  CanonicalProblem p;
  const bool friction = mu > 0;
  const Index width = friction ? 6 : 3;
  for (int i = 0; i < count; ++i) {
    double* H = p.H.add_block(width);
    for (Index r = 0; r < width; ++r) {
      H[r * width + r] = r < 3 ? mass : 0.4 * mass * kRadius * kRadius;
    }
  }
  p.k = VecX::Zero(width * count);
  for (int i = 0; i < count; ++i) p.k[width * i + 2] = -kStep * mass * kGravity;
  std::vector<double> b;
  const auto contact = [&](int A, int B, const Vec3& n, double gap) {
    const Vec3 helper = std::abs(n.x()) < 0.7 ? Vec3::UnitX() : Vec3::UnitY();
    const Vec3 t1 = n.cross(helper).normalized(), t2 = n.cross(t1);
    const Vec3 axes[3] = {n, t1, t2};
    const int dim = friction ? 3 : 1;
    p.laws.push_back(!friction ? Law::orthant() : exact ? Law::coulomb(3, mu) : Law::soc(3, mu));
    p.D.begin_row(dim);
    for (const int body : {A, B}) {
      if (body < 0) continue;
      const double sign = body == A ? 1 : -1;
      const Vec3 arm = -sign * kRadius * n;  // from the centre to the contact
      double* d = p.D.add(body, width * body, width);
      for (int r = 0; r < dim; ++r) {
        const Vec3 turn = arm.cross(axes[r]);
        for (int c = 0; c < 3; ++c) {
          d[r * width + c] = sign * axes[r][c];
          if (friction) d[r * width + 3 + c] = sign * turn[c];
        }
      }
    }
    b.push_back(std::max(gap, 0.0) / kStep);
    for (int r = 1; r < dim; ++r) b.push_back(0);
  };
  for (const auto& [cell, i] : at) {
    if (cell[2] == 0) contact(i, -1, Vec3::UnitZ(), centre[i].z() - kRadius);
    for (const auto& step :
         {std::array{1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {-1, 0, 1}, {0, 1, 1}, {0, -1, 1}}) {
      const auto other = at.find({cell[0] + step[0], cell[1] + step[1], cell[2] + step[2]});
      if (other == at.end()) continue;
      const Vec3 apart = centre[other->second] - centre[i];
      contact(other->second, i, apart.normalized(), apart.norm() - 2 * kRadius);
    }
  }
  p.b = Eigen::Map<VecX>(b.data(), static_cast<Index>(b.size()));
  return p;
}

}  // namespace orthant::testing
