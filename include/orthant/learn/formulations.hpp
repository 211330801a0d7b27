// SPDX-License-Identifier: Apache-2.0
// learn/formulations.hpp: blocks that fall and slide, each way of writing them as a complementarity
// problem (docs/learning.md). One unknown per contact direction, so every one can be checked by
// hand.
//
// Symbols: x position, v velocity, u applied force, μ friction, m mass, g gravity, dt step;
// friction λ⁺, λ⁻ along and against x, γ the sliding speed.
#pragma once

#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/solver/solve.hpp"

namespace ORTHANT_EXPORT orthant {
namespace formulations {

/// A block of mass m on a table.
struct Block {
  double mu = 1, m = 1, g = 1, dt = 1;
  double grip() const { return mu * m * g; }  ///< largest friction force
};

/// Falls on a surface: z = x⁺, w = λ = M x⁺ + q, M = 1/dt², q = −(x + dt v − g dt²)/dt². Unit mass.
CanonicalProblem falling_block(double x, double v, double g, double dt);

/// Slides forwards only: z = v⁺, w = μg − λ, M = 1/dt, q = −v/dt − u + μg. Unit mass, v, u >= 0.
CanonicalProblem sliding_forward(const Block& block, double v, double u);

/// Both directions, direct: z = (v⁺₊, v⁺₋), w = unused friction, M = I/dt. Needs v₊ v₋ = 0; keeps
/// it.
CanonicalProblem sliding_direct(const Block& block, double v_plus, double v_minus, double u);

/// Direct formulation 2: z = (λ⁺, λ⁻, γ), w = (v⁺₊, v⁺₋, ρ). Has no solution unless v + dt u = 0:
/// one of the first two rows is negative for every λ >= 0.
CanonicalProblem sliding_direct2(const Block& block, double v, double u);

/// Traditional: z = (λ⁺, λ⁻, γ), w = (γ + v⁺, γ − v⁺, μmg − λ⁺ − λ⁻); dt = m = 1 in the matrix.
/// λ⁺ and λ⁻ are not unique where the block sticks, their difference is.
CanonicalProblem sliding_traditional(const Block& block, double v, double u);
MatX traditional_matrix();
VecX traditional_vector(const Block& block, double v, double u);

/// The same with v⁺ kept as a free unknown: z = (v⁺; λ⁺, λ⁻, γ).
CanonicalProblem sliding_mixed(const Block& block, double v, double u);

/// A point mass on the ground, its normal force unknown, too: z = (v⁺_x, v⁺_y; λ_n, λ⁺, λ⁻, γ).
/// `bounce`: c of n·v⁺ + c >= 0 (restitution times the speed of approach).
CanonicalProblem point_mass(const Block& block, const Vec2& v, const Vec2& u, double bounce = 0);

/// A unit mass on a table seen from above, friction in `directions` directions, direct: the unused
/// friction of each direction needs the direction of sliding, which is found by a fixed point.
struct PlanarStep {
  Vec2 v = Vec2::Zero();
  int iterations = 0;
  bool converged = false;
};
PlanarStep planar_direct(const Block& block, const Vec2& v, const Vec2& u, int directions = 4,
                         int max_iterations = 200, double tolerance = 1e-12);

/// Solves and returns z = λ of the problem; `report`, where given, says how it went.
VecX solve_z(const CanonicalProblem& problem, SolveReport* report = nullptr);

}  // namespace formulations
}  // namespace orthant
