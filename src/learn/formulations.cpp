// SPDX-License-Identifier: Apache-2.0
// learn/formulations.cpp: the notes' blocks as canonical problems, their signs put right.
#include "orthant/learn/formulations.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "orthant/base/error.hpp"
#include "orthant/problem/special_cases.hpp"

namespace orthant::formulations {
namespace {

CanonicalProblem lcp(const MatX& M, const VecX& q) { return make_lcp(M, q); }

void check(const Block& b) {
  for (const double x : {b.mu, b.m, b.g, b.dt}) {
    if (!(x >= 0) || !std::isfinite(x)) throw Error("block", "a coefficient is negative");
  }
  if (!(b.dt > 0)) throw Error("block", "dt must be positive");
}

}  // namespace

CanonicalProblem falling_block(double x, double v, double g, double dt) {
  if (!(dt > 0)) throw Error("block", "dt must be positive");
  MatX M(1, 1);
  M << 1 / (dt * dt);
  VecX q(1);
  q << -(x + dt * v - g * dt * dt) / (dt * dt);
  return lcp(M, q);
}

CanonicalProblem sliding_forward(const Block& b, double v, double u) {
  check(b);
  if (!(v >= 0) || !(u >= 0)) throw Error("block", "slides forwards only: v and u must be >= 0");
  MatX M(1, 1);
  M << 1 / b.dt;
  VecX q(1);
  q << -v / b.dt - u + b.mu * b.g;
  return lcp(M, q);
}

CanonicalProblem sliding_direct(const Block& b, double v_plus, double v_minus, double u) {
  check(b);
  const double net = (v_plus - v_minus) / b.dt + u;
  const MatX M = MatX::Identity(2, 2) / b.dt;
  VecX q(2);
  q << b.mu * b.g - net, b.mu * b.g + net;
  return lcp(M, q);
}

CanonicalProblem sliding_direct2(const Block& b, double v, double u) {
  check(b);
  MatX M(3, 3);
  M << 0, -b.dt, 0, -b.dt, 0, 0, -1, -1, 0;
  VecX q(3);
  q << v + b.dt * u, -v - b.dt * u, b.grip();
  return lcp(M, q);
}

MatX traditional_matrix() {
  MatX M(3, 3);
  M << 1, -1, 1, -1, 1, 1, -1, -1, 0;
  return M;
}

VecX traditional_vector(const Block& b, double v, double u) {
  VecX q(3);
  q << v + u, -v - u, b.grip();
  return q;
}

CanonicalProblem sliding_traditional(const Block& b, double v, double u) {
  check(b);
  return lcp(traditional_matrix(), traditional_vector(b, v, u));
}

CanonicalProblem sliding_mixed(const Block& b, double v, double u) {
  check(b);
  // v⁺ − λ⁺ + λ⁻ − (v + u) = 0: the notes have the last two signs the other way round.
  MatX M(4, 4);
  M << 1, -1, 1, 0, 1, 0, 0, 1, -1, 0, 0, 1, 0, -1, -1, 0;
  VecX q(4);
  q << -(v + u), 0, 0, b.grip();
  const SparseMatrix sparse = M.sparseView();
  return make_mlcp(sparse, q, 1);
}

CanonicalProblem point_mass(const Block& b, const Vec2& v, const Vec2& u, double bounce) {
  check(b);
  const double m = b.m;
  MatX M = MatX::Zero(6, 6);
  // Balance of impulses: m v⁺ − n λ_n − d₁λ⁺ − d₂λ⁻ − (m v + dt u − dt m g e_y) = 0.
  M << m, 0, 0, -1, 1, 0,  //
      0, m, -1, 0, 0, 0,   //
      0, 1, 0, 0, 0, 0,    //
      1, 0, 0, 0, 0, 1,    //
      -1, 0, 0, 0, 0, 1,   //
      0, 0, b.mu, -1, -1, 0;
  VecX q(6);
  q << -(m * v.x() + b.dt * u.x()), -(m * v.y() + b.dt * (u.y() - m * b.g)), bounce, 0, 0, 0;
  const SparseMatrix sparse = M.sparseView();
  return make_mlcp(sparse, q, 2);
}

PlanarStep planar_direct(const Block& b, const Vec2& v, const Vec2& u, int directions,
                         int max_iterations, double tolerance) {
  check(b);
  if (directions < 4 || directions % 2 != 0)
    throw Error("directions", "must be even and at least 4, not " + std::to_string(directions));
  const Vec2 p = v + b.dt * u;  // velocity without friction
  // A block at rest starts to move, if at all, where it is pulled.
  Vec2 heading = v.norm() > 0 ? v.normalized() : p.norm() > 0 ? p.normalized() : Vec2(1, 0);
  PlanarStep out;
  std::vector<Vec2> d(static_cast<std::size_t>(directions));
  for (int i = 0; i < directions; ++i) {
    const double angle = 2 * std::numbers::pi * i / directions;
    d[static_cast<std::size_t>(i)] = Vec2(std::cos(angle), std::sin(angle));
  }
  const MatX M = MatX::Identity(directions, directions) / b.dt;
  VecX q(directions);
  while (out.iterations < max_iterations) {
    ++out.iterations;
    for (int i = 0; i < directions; ++i) {
      const Vec2& along = d[static_cast<std::size_t>(i)];
      const double slack = b.mu * b.g * std::max(0.0, along.dot(heading));
      q[i] = -along.dot(p) / b.dt + slack;
    }
    const VecX z = solve_z(lcp(M, q));
    // Projections of a vector on all directions: those on its side add up to directions/4 of it.
    Vec2 next = Vec2::Zero();
    for (int i = 0; i < directions; ++i)
      next += z[i] * d[static_cast<std::size_t>(i)] * (4.0 / directions);
    const double size = tolerance * (p.norm() + 1e-300);
    out.converged = (next - out.v).norm() <= size && out.iterations > 1;
    out.v = next;
    if (out.converged) break;
    // Where it comes to rest friction points against the pull.
    heading = next.norm() > size ? next.normalized() : p.norm() > 0 ? p.normalized() : heading;
  }
  return out;
}

VecX solve_z(const CanonicalProblem& problem, SolveReport* report) {
  Solution x = zero_solution(problem);
  SolveReport how = solve(problem, {.tolerance = 1e-12}, x);
  if (report != nullptr) *report = std::move(how);
  return x.lambda;
}

}  // namespace orthant::formulations
