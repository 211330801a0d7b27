// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/kkt_system.hpp: canonical problem => scaled unknowns u = (v, γ, λ), the
// matrix of the Newton step and its factor.
//
//   K = [ H −Cᵀ −Dᵀ ; C 0 0 ; D 0 F + E ],   E = the cones' blocks      R(u) = K₀ u + g
//
// Every unknown is scaled by a power of two near 1/sqrt of its diagonal of H or N (exact in
// floating point), and all of them by one more that brings the data g to size 1.
#pragma once

#include <span>
#include <vector>

#include "orthant/problem/problem.hpp"
#include "orthant/solver/interior_point.hpp"
#include "solver/interior_point/cone_set.hpp"
#include "solver/interior_point/kkt_factor.hpp"
#include "solver/interior_point/velocity_form.hpp"

namespace orthant::interior_point {

class KktSystem {
 public:
  /// Scales the problem and lists its cones. In velocity form, where that is asked for and fits,
  /// until digits are lost in it. Problem and cones must outlive the use.
  void build(const CanonicalProblem& problem, ConeSet& cones,
             const InteriorPointSettings& settings);

  Index size() const { return velocities_ + bilateral_ + rows_; }
  Index velocities() const { return velocities_; }
  Index bilateral() const { return bilateral_; }
  Index rows() const { return rows_; }

  /// What was added to K where its digits were lost is left out again.
  void begin_path() { softening_ = 0; }
  /// R = K₀ u + g.
  void residual(const VecX& u, VecX& r) const;
  /// Factorises K with the Newton blocks of the cones' current scaling.
  bool factorize();
  /// K du = rhs with at most so many refinements, until the defect is `refined` of rhs.
  void solve(const VecX& rhs, int refinements, double refined, VecX& du);
  /// Multiply-adds of one factorisation and of one solve, roughly.
  double factor_work() const { return eliminate_ ? form_.flops() : factor_.flops(); }
  double solve_work() const;
  bool is_eliminated() const { return eliminate_; }
  /// λ inside all cones: `impulse` behind the axis of a cone, the middle of a box where it is
  /// narrow.
  void start(double impulse, double* lambda) const;
  /// Some law carries De Saxcé's shift.
  bool is_exact() const { return exact_; }

  /// In the units of the problem: κ, and the largest of ‖r_d‖, ‖r_p‖, ‖r_w‖, each over its size.
  double gap_in_units(double gap) const { return size_ * size_ * gap; }
  double error_in_units(const VecX& r) const;

  void unscale(const VecX& u, Solution& x) const;
  void scale(const Solution& x, VecX& u) const;

 private:
  void choose_scales(const CanonicalProblem& problem);
  void list_cones(const CanonicalProblem& problem, ConeSet& cones);
  void build_saddle();
  void assemble(const CanonicalProblem& problem, const ConeSet& cones);
  Index slot(Index row, Index column) const;
  bool factorize_saddle();
  void soften();

  const CanonicalProblem* problem_ = nullptr;
  const ConeSet* cones_ = nullptr;
  InteriorPointSettings settings_;
  Index velocities_ = 0, bilateral_ = 0, rows_ = 0;
  double size_ = 1;                 // θ: u = θ s u'
  VecX s_, g_, fixed_;              // fixed_: impulses of boxes of no width
  std::vector<char> off_;           // rows of λ switched off: Zero laws, tangents without friction
  std::vector<double> low_, high_;  // bounds of λ entry by entry, scaled; of a cone's axis: 0
  bool exact_ = false, symmetric_ = true;
  std::vector<Eigen::Triplet<double, Index>> triplets_;
  SparseMatrix K0_, K_;
  std::vector<Index> slots_;                     // where cone i's block goes in K
  std::vector<Index> proximal_, cone_diagonal_;  // diagonals in K: multipliers without, with a cone
  std::vector<char> mark_;
  double softening_ = 0;  // of multipliers in cones, in saddle form
  bool eliminate_ = false;
  bool trusted_ = false;  // velocity form: the first solve with this factor needed no refinement
  VelocityForm form_;
  KktFactor factor_;
  VecX defect_, correction_;
};

}  // namespace orthant::interior_point
