// SPDX-License-Identifier: Apache-2.0
// problem/problem.hpp: the canonical problem, the one interface between mechanics and solvers.
//
//   H v − Cᵀγ − Dᵀλ = k                    balance of impulses
//   C v + e = 0                            bilateral rows: joints, motors
//   w = D v + F λ + b,  law_c(λ_c, w_c)    unilateral blocks: contact, friction, limits
//
// A value: it can be copied, saved, mailed and solved by any solver. A local problem (only W and q)
// has no velocities and everything in F and b. Maths: docs/notation.md.
#pragma once

#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/block_rows.hpp"
#include "orthant/math/law.hpp"
#include "orthant/math/types.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace ORTHANT_EXPORT orthant {

struct CanonicalProblem {
  VelocityMatrix H;  ///< [kg], or h times drag when overdamped
  VecX k;            ///< [N s]

  BlockRows C;  ///< bilateral rows; column blocks are those of H
  VecX e;       ///< [m/s]

  std::vector<Law> laws;  ///< one per block; one order for D, F, b, λ and w
  BlockRows D;            ///< row block c is block c; column blocks are those of H. Empty: D = 0
  BlockRows F;            ///< row and column blocks are the laws; may be unsymmetric. Empty: F = 0
  VecX b;                 ///< [m/s]

  Index velocity_count() const { return H.rows(); }
  Index bilateral_count() const { return C.rows(); }
  Index row_count() const { return static_cast<Index>(b.size()); }
  Index block_count() const { return static_cast<Index>(laws.size()); }
  /// No velocities and no bilateral rows: w = F λ + b is the whole problem.
  bool is_local() const { return velocity_count() == 0 && C.empty(); }

  /// Forgets everything, keeps the memory where it can.
  void clear();
};

/// What a solve finds; also the warm start that goes in.
struct Solution {
  VecX v;       ///< velocities v⁺                   [m/s, rad/s]
  VecX gamma;   ///< impulses of the bilateral rows  [N s, N m s]
  VecX lambda;  ///< impulses of the blocks
  VecX w;       ///< velocities of the blocks, D v + F λ + b
};

/// Start of each block in λ, w, b, and the total: size block_count() + 1.
std::vector<Index> block_offsets(const CanonicalProblem& problem);

/// Throws Error unless sizes agree, every number is finite and every law is valid.
void validate(const CanonicalProblem& problem, std::string_view where = "problem");

/// Zero impulses and velocities of the right sizes.
Solution zero_solution(const CanonicalProblem& problem);

}  // namespace orthant
