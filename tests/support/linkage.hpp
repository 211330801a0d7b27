// SPDX-License-Identifier: Apache-2.0
// support/linkage.hpp: a chain or tree of links with hinges, limits and contacts => one step's
// problem. Rows are those of real hinges (a common point, a common axis) in a random posture.
#pragma once

#include <Eigen/Geometry>

#include "orthant/problem/problem.hpp"
#include "support/splitmix.hpp"

namespace orthant::testing {

struct LinkageSpec {
  int links = 10;
  int branches = 1;       ///< children per link; 1: a chain
  bool planar = false;    ///< three velocities per link instead of six
  bool fixed = false;     ///< the first link is hinged to the world
  bool closed = false;    ///< the last link is hinged to the first: redundant in space
  double limits = 1;      ///< share of the hinges that have a lower and an upper limit
  double at_limit = 0.3;  ///< share of these whose gap is zero
  int contacts = 0;       ///< with the world, on links spread over the linkage
  double mu = 0.5;
  bool exact = true;  ///< Coulomb instead of the convex cone
  double h = 0.005;
};

inline CanonicalProblem linkage(SplitMix& rng, const LinkageSpec& spec) {
  CanonicalProblem p;
  const int n = spec.links, width = spec.planar ? 3 : 6;
  const double length = 0.2;
  const auto direction = [&] {
    Eigen::Vector3d d(rng.normal(), rng.normal(), spec.planar ? 0 : rng.normal());
    return Eigen::Vector3d(d.normalized());
  };
  std::vector<Eigen::Vector3d> middle, tip;
  std::vector<int> parent;
  p.k.resize(n * width);
  for (int i = 0; i < n; ++i) {
    parent.push_back(i == 0 ? -1 : (i - 1) / spec.branches);
    const Eigen::Vector3d root = i == 0 ? Eigen::Vector3d::Zero() : tip[parent[i]];
    const Eigen::Vector3d along = length * direction();
    middle.push_back(root + 0.5 * along);
    tip.push_back(root + along);
    const double mass = rng.log_uniform(0.1, 10);
    double* H = p.H.add_block(width);
    Eigen::Matrix3d inertia = Eigen::Matrix3d::Identity() * (mass * length * length / 12);
    inertia += 0.1 * inertia(0, 0) * direction() * direction().transpose();
    inertia = 0.5 * (inertia + inertia.transpose()).eval();
    const int linear = spec.planar ? 2 : 3;
    for (int r = 0; r < linear; ++r) H[r * width + r] = mass;
    for (int r = linear; r < width; ++r)
      for (int c = linear; c < width; ++c)
        H[r * width + c] = spec.planar ? inertia(2, 2) : inertia(r - 3, c - 3);
    VecX v(width);
    for (int r = 0; r < width; ++r) v[r] = rng.normal();
    v[spec.planar ? 1 : 2] -= 9.81 * spec.h;
    for (int r = 0; r < width; ++r) {
      double sum = 0;
      for (int c = 0; c < width; ++c) sum += H[r * width + c] * v[c];
      p.k[i * width + r] = sum;
    }
  }
  // Row `u` of the velocity at `point` (turn: of the angular velocity) of body i, times sign.
  const auto write = [&](double* to, int i, const Eigen::Vector3d& point, const Eigen::Vector3d& u,
                         bool turn, double sign) {
    const Eigen::Vector3d linear = turn ? Eigen::Vector3d(0, 0, 0) : u;
    const Eigen::Vector3d angular = turn ? u : (point - middle[i]).cross(u).eval();
    if (spec.planar) {
      to[0] = sign * linear[0], to[1] = sign * linear[1], to[2] = sign * angular[2];
      return;
    }
    for (int k = 0; k < 3; ++k) to[k] = sign * linear[k], to[3 + k] = sign * angular[k];
  };
  std::vector<double> e, b;
  std::vector<std::pair<int, Eigen::Vector3d>> hinges;  // child, axis
  const auto hinge = [&](int a, int child, const Eigen::Vector3d& point) {
    const Eigen::Vector3d axis = spec.planar ? Eigen::Vector3d(0, 0, 1) : direction();
    const Eigen::Vector3d s = axis.unitOrthogonal(), t = axis.cross(s);
    const int rows = spec.planar ? 2 : 5;
    p.C.begin_row(rows);
    for (const int i : {a, child}) {
      if (i < 0) continue;
      double* to = p.C.add(i, i * width, width);
      const double sign = i == child ? 1 : -1;
      for (int r = 0; r < rows; ++r) {
        const Eigen::Vector3d u = r < 3 ? Eigen::Vector3d::Unit(r) : r == 3 ? s : t;
        write(to + r * width, i, point, u, r >= 3, sign);
      }
    }
    e.insert(e.end(), static_cast<std::size_t>(rows), 0.0);
    hinges.emplace_back(child, axis);
  };
  for (int i = 0; i < n; ++i)
    if (i > 0 || spec.fixed) hinge(parent[i], i, i == 0 ? Eigen::Vector3d::Zero() : tip[parent[i]]);
  if (spec.closed) hinge(0, n - 1, tip[n - 1]);
  for (const auto& [child, axis] : hinges) {
    if (!rng.chance(spec.limits)) continue;
    const bool at = rng.chance(spec.at_limit);
    for (const double sign : {1.0, -1.0}) {
      p.laws.push_back(Law::orthant());
      p.D.begin_row(1);
      for (const int i : {parent[child], child})
        if (i >= 0)
          write(p.D.add(i, i * width, width), i, middle[i], axis, true, i == child ? sign : -sign);
      b.push_back(at && sign > 0 ? 0.0 : rng.uniform(0.1, 2) / spec.h);
    }
  }
  for (int c = 0; c < spec.contacts; ++c) {
    const int i = static_cast<int>((c + 0.5) * n / spec.contacts), rows = spec.planar ? 2 : 3;
    p.laws.push_back(spec.exact ? Law::coulomb(rows, spec.mu) : Law::soc(rows, spec.mu));
    p.D.begin_row(rows);
    double* to = p.D.add(i, i * width, width);
    const Eigen::Vector3d normal =
        spec.planar ? Eigen::Vector3d(0, 1, 0) : Eigen::Vector3d(0, 0, 1);
    const Eigen::Vector3d s(1, 0, 0);
    for (int r = 0; r < rows; ++r)
      write(to + r * width, i, tip[i], r == 0 ? normal : r == 1 ? s : normal.cross(s), false, 1);
    b.insert(b.end(), static_cast<std::size_t>(rows), 0.0);
  }
  p.e = VecX::Map(e.data(), static_cast<Index>(e.size()));
  p.b = VecX::Map(b.data(), static_cast<Index>(b.size()));
  return p;
}

}  // namespace orthant::testing
