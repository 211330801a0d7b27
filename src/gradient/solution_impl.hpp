// SPDX-License-Identifier: Apache-2.0
// gradient/solution_impl.hpp: what the parts of SolutionGradient share. Private to the room.
//   solution.cpp         the products, by data and by equations
//   solution_laws.cpp    P, G and derivatives by the data of the laws, at the answer or on the path
//   solution_system.cpp  the linear system: scales, factors, solves
//   solution_sets.cpp    rows that look as if they were on a border, and are not
//   redundancy.cpp       impulses that are not unique
#pragma once

#include <span>
#include <vector>

#include "gradient/law_derivative.hpp"
#include "gradient/velocity_system.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/math/factorisation.hpp"

namespace orthant {

struct SolutionGradient::Impl {
  const CanonicalProblem* p = nullptr;
  Solution x;
  SolutionGradientSettings settings;
  GradientCertificate certificate;
  std::vector<Index> offset;
  std::vector<internal::BlockDerivative> blocks, own_blocks;
  VecX tau, v_free;  // of the scale
  Index nv = 0, nc = 0, nl = 0;
  VecX row_scale, column_scale;
  SparseMatrix A;  // scaled, without the regularisation; made where a general LU is needed
  VecX proximal;   // its diagonal
  SparseLu lu;
  internal::VelocitySystem velocities;  // where the problem has its form
  bool fits_velocities = false, in_velocities = false, factorised = false, has_matrix = false,
       probed = false;
  double matrix_norm = 0;  // of A, or an estimate of it
  VecX rhs, unknown, defect, trial, product;
  VecX incoming, outgoing, law_part;  // of a product
  VecX others_incoming;               // what came in and more, for the other sides
  JudgeWorkspace judged;
  Solution free;                 // see free_impulse()
  ResidualDerivative dependent;  // see dependent_equations()
  bool searched = false, searched_rows = false;

  void differentiate_laws(const ProblemScale& scale);
  void differentiate_law(std::size_t block, KinkChoice kink);
  /// z = λ − τ w~ of a block, w~, and the sizes of their terms.
  struct Terms {
    double z[kMaxLawDim], size[kMaxLawDim], w[kMaxLawDim] = {};
    double total = 0;  // |size|
  };
  Terms terms_of(std::size_t block) const;
  /// Rows of pyramids that are on no border: of contacts that stick, or are open.
  void settle_pyramids();
  /// Contacts without an impulse that no motion the bilateral rows leave can open or close: open.
  void settle_immobile();
  /// Contacts on a border that another answer, with the same motion, holds strictly inside.
  void settle_redundant();
  /// Some impulses of these blocks, `size` rows, do the same to the velocities as those found and
  /// are strictly inside all cones.
  bool holds_inside(std::span<const std::size_t> rows, Index size) const;
  /// Moves x to the central path and differentiates the laws there.
  void follow_path();
  double smooth_laws(VecX& residual);
  /// Scales, and the factors of whichever system fits.
  void assemble();
  void set_laws();  ///< the same where only the laws have changed
  /// What an adjoint starts from, by (v, γ, λ) alone.
  void put_incoming(const Solution& by, Eigen::Ref<VecX> in) const;
  /// adjoint_of_other_sides(), whose laws it leaves.
  void take_other_sides(ResidualDerivative& d);
  void find_scales();
  void make_matrix();
  /// out = A x or Aᵀ x, scaled, of whichever system is in use.
  void apply(const VecX& from, bool transposed, VecX& out);
  /// out = τ PG y (transposed: τ (PG)ᵀ y), block by block.
  void apply_tpg(const VecX& y, bool transposed, VecX& out) const;
  void factorise();
  /// Solves A x = b or Aᵀ x = b in unscaled units.
  void solve(const VecX& b, bool transposed, VecX& out);
  /// Refines `unknown` until the scaled system holds; the relative error left.
  double refine(bool transposed);
  /// The same forwards with every column of `b`, in the velocities' form; false where it is not
  /// accurate: column by column then.
  bool solve_many(const Directions& b, Directions& out);
  Directions many_right, many_answer, many_left, many_next, many_image;  // their memory
  /// Solves with every floating block that carries nothing let go, and keeps them so where that
  /// helps: the error then, or `error`.
  double release_idle(bool transposed, double error);
  /// Forwards a singular system may well have a solution, one of many: only the transposed one
  /// shows. Asks it once, where a contact could be let go.
  void probe();
  /// x of the null space of A or Aᵀ, unscaled, from one solve: what is left of a vector without its
  /// part in the range. Empty: there is none.
  VecX null_vector(bool transposed);
  /// Fills `free`, once.
  void find_free();
  /// Fills `dependent`, once.
  void find_dependent();
  /// By the equations, of a solution a of the transposed system.
  void by_equations(const VecX& a, ResidualDerivative& d);
};

}  // namespace orthant
