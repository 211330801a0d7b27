// SPDX-License-Identifier: Apache-2.0
// problem/special_cases.hpp: well-known problems as canonical ones, and the reduced form.
#pragma once

#include <Eigen/SparseCore>
#include <span>

#include "orthant/base/export.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"

namespace ORTHANT_EXPORT orthant {

/// 0 <= z ⊥ M z + q >= 0: one Orthant block per row, everything in F.
CanonicalProblem make_lcp(const SparseMatrix& M, const VecX& q);
CanonicalProblem make_lcp(const MatX& M, const VecX& q);

/// M z + q = w, z = (u, v): the first n rows are equations (Free blocks), the rest complementary.
CanonicalProblem make_mlcp(const SparseMatrix& M, const VecX& q, Index n);

/// Data of frictional contacts, `dim` numbers per contact in the order normal, tangents, torques.
struct FrictionData {
  int dim = 3;               ///< 2, 3, or 5 (rolling)
  std::vector<double> mu;    ///< one per contact
  std::vector<double> mu_r;  ///< one per contact when dim is 5, else empty
  bool exact = true;         ///< Coulomb's law (De Saxcé); false: its convex relaxation
};

/// u = W r + q, friction law contact by contact.
CanonicalProblem make_local_friction(const SparseMatrix& W, const VecX& q,
                                     const FrictionData& data);

/// M v = H r + f, u = Hᵀ v + w, friction law contact by contact.
CanonicalProblem make_global_friction(const SparseMatrix& M, const SparseMatrix& H, const VecX& f,
                                      const VecX& w, const FrictionData& data);

/// A scalar sparse matrix cut into blocks along the given row and column offsets (start of each,
/// then the total). Blocks without a stored entry are left out, stored zeros keep their place.
BlockRows to_block_rows(const SparseMatrix& A, std::span<const Index> rows,
                        std::span<const Index> columns);

/// Eliminates the velocities: the local problem N, r with N = [C;D] H⁻¹ [C;D]ᵀ + F. Bilateral rows
/// come first, as Free blocks. Loses a digit a decade of mass ratio (MATH §5): for solvers that
/// need N.
CanonicalProblem reduce(const CanonicalProblem& problem);

struct ReduceWorkspace {
  /// A row of C or D as seen by one velocity block.
  struct RowOfBody {
    Index row_block;
    Index width;
    const double* values;  // dim x width
  };
  VelocitySolver inverse;  ///< out: of the problem's H
  std::vector<Index> offset, touching_begin, columns;
  std::vector<RowOfBody> touching;
  std::vector<char> seen;
  std::vector<double*> place;
  std::vector<double> solved;
  VecX v_free, head, tail;
};
/// The same into memory that is already there; a block-diagonal H then needs no new memory.
void reduce(const CanonicalProblem& problem, ReduceWorkspace& work, CanonicalProblem& out);
/// The same with H factorised already.
void reduce(const CanonicalProblem& problem, const VelocitySolver& inverse, ReduceWorkspace& work,
            CanonicalProblem& out);

/// The answer of `problem` from that of reduce(problem): splits γ and λ, v = H⁻¹(k + Cᵀγ + Dᵀλ).
void expand(const CanonicalProblem& problem, const Solution& reduced, Solution& solution);
/// The same with H factorised already; overwrites the scratch vectors of the workspace.
void expand(const CanonicalProblem& problem, const VelocitySolver& inverse, ReduceWorkspace& work,
            const Solution& reduced, Solution& solution);

}  // namespace orthant
