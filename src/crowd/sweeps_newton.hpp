// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_newton.hpp: a Newton step in velocities on the set of contacts that sweeps have
// found, for contacts that yield.
//
//   [M + Σ JᵀG J] Δv = Σ Jᵀ(λ⁰ − λ),   λ⁺ = λ⁰ − G J Δv
//
// The set of a contact comes from z = λ − (u + s λ)/w, w its own mobility and s its softness:
//   open   z_N <= 0            λ⁺ = 0
//   sticks |z_T| <= μ z_N      λ⁺ = −(u + J Δv)/s
//   slides                     λ⁺_N as above, λ⁺_T = μ λ⁺_N t along t = z_T/|z_T|, whose turning is
//                              linearised too: without that convergence is linear, not quadratic
// A step solves one linear system of 6 x 6 blocks (math/velocity_system.hpp).
#pragma once

#include <array>
#include <span>
#include <vector>

#include "crowd/sweeps.hpp"
#include "math/velocity_system.hpp"

namespace orthant::internal {

class SweepNewton {
 public:
  /// Rows, mobilities and softness of all contacts.
  void prepare(const SweepProblem& problem, double compliance);
  /// From velocities (rows of eight, sweeps_data.hpp) and impulses (world axes) => the impulses of
  /// a whole step. False where the system is singular.
  bool step(const SweepProblem& problem, const double* rows, std::span<const Vec3> impulse,
            std::span<Vec3> next);

 private:
  struct Row {
    std::array<Vec3, 3> frame, turn_a, turn_b;  // normal, tangents; L⁻¹(lever × each), −for B
    double mobility_n, mobility_t, soft_n, soft_t;
  };
  struct Guess {
    Vec3 impulse;  // λ⁰, in the frame
    Mat3 G;
    bool active;
  };
  Guess guess(const Row& row, double friction, const Vec3& u, const Vec3& impulse) const;
  void list_rows(const SweepProblem& problem);

  std::vector<Row> rows_;
  std::vector<Guess> guesses_;
  std::vector<unsigned char> listed_;  // by contact: it has rows in D_
  VelocityMatrix M_;
  BlockRows none_, D_;
  std::vector<double> weights_;
  VelocitySystem system_;
  VecX right_, dv_;
};

/// λ into the cone: λ_N >= 0, |λ_T| <= μ λ_N.
Vec3 into_cone(const Vec3& impulse, const Vec3& normal, double friction);

}  // namespace orthant::internal
