// SPDX-License-Identifier: Apache-2.0
// solver/interior_point.hpp: primal-dual interior point on the canonical problem, exact friction
// included.
//
//   H v − Cᵀγ − Dᵀλ = k,   C v + e = 0,   x = A λ + a ∈ Q,   y ∈ Q,   x ∘ y = κ 1 → 0,
//   Aᵀ y − shift(y) e_n = D v + F λ + b
//
// Q is a product of half-lines and Lorentz cones: every law is an affine map A onto a few of them.
// De Saxcé's shift μ|y_t| stands inside the Newton matrix. Method: docs/interior_point.md.
#pragma once

#include <memory>

#include "orthant/base/export.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/solver/method.hpp"

namespace ORTHANT_EXPORT orthant {

enum class InteriorPointForm : std::uint8_t {
  Saddle,    ///< velocities and impulses are unknowns together: no digit is lost at any mass ratio
  Velocity,  ///< impulses are eliminated block by block: the smallest matrix
};

struct InteriorPointSettings {
  InteriorPointForm form = InteriorPointForm::Saddle;
  int max_iterations = 100;    ///< steps of all starts together; one or two factorisations per step
  int restarts = 2;            ///< from other points when stuck, at most 2
  double to_boundary = 0.995;  ///< part of the way to the boundary of the cones
  double short_step = 0.3;     ///< below it a centring step is taken instead
  double centring = 0.5;       ///< what is left of residual and barrier after a centring step
  double stuck_step = 0.1;     ///< a centring step below it is taken again with the shift held
  double held_shift = 0.5;     ///< part of the shift's derivative the matrix then sees
  double held_centring = 0.8;  ///< what is left of the barrier after such a step
  double proximal = 1e-13;     ///< of multipliers without a cone: redundant rows do no harm
  /// The same of those in cones: in velocity form, and in the saddle form where its digits are lost
  /// only, as a chain of masses over twenty decades needs the cones' own terms down to 1e-20.
  double softening = 1e-12;
  int softer = 4;              ///< times that it grows a hundredfold until there is a factor
  Index panel_rows = 100;      ///< unsymmetric: rows from which dense panels pay,
  Index pivoted_rows = 1000;   ///< and beyond which pivoting costs more than the digits are worth
  double pivot_floor = 1e-16;  ///< least pivot beside the largest entry of its row
  double lost_digits = 1e-5;   ///< a defect of a solve that says so, beside its right-hand side
  int refinement_steps = 4;    ///< of each linear solve, at most
  double refined = 1e-3;       ///< velocity form: a defect that is left, beside κ and the data
  double judge_below = 1e-5;   ///< velocity form: κ + |r| from which on points are judged
  int correctors = 3;          ///< Gondzio's: right-hand sides per factor, at most
  double spread = 10;          ///< they draw products to within [1/spread, spread] of the target
  double longer = 1.5;         ///< for a step longer by this factor and by a tenth
  double worth_it = 0.01;      ///< what one must add to the step to be followed by another
  double long_enough = 0.95;   ///< a step that needs none
  double progress = 0.7;       ///< factor on κ + |r| within `patience` steps, else the run is stuck
  int patience = 12;
  double smallest_gap = 1e-30;  ///< κ below which products of neighbours are rounding noise
  /// κ below which the point with idle cones at their bounds is judged too, where there are cones.
  double snap_gap = 1e-4;
  /// κ + |r| from which on a step is followed by solves with its factor that bring it to the answer
  /// of the sets it shows.
  double closing_gap = 1e-3;
  int closing_solves = 60;  ///< at most: each halves what is left and more
  double closed =
      1e-5;  ///< of the tolerance, what is left then: light rows are judged by their own size
  /// Start from x: full where it has impulses, partial where it has velocities alone.
  bool warm_start = false;
  /// At a full warm start guess the sets and solve their equations (polish.hpp): its factorisations
  /// count as steps.
  bool crossover = false;
  int crossover_steps = 12;   ///< factorisations of a guess
  int crossover_size = 5000;  ///< unknowns beyond which a guess is made in velocity form only
  double apart = 1e-2;        ///< speed (data of size 1) from which on a contact starts open
  double near_gap = 1e-2;     ///< x·y of a start near an answer, or at rest
  double near_step = 0.25;    ///< a shorter step from there gives that path up for a far start
  /// > 0: ends as well, as converged, where κ and the norms of the residuals over their sizes, in
  /// the units of the problem, are below these: 1e-9 and 1e-10 are the exit of published counts.
  /// Blind to blocks much lighter than others, which the judge sees.
  double exit_gap = 0, exit_error = 0;
  // Of the thesis, for comparison: docs/interior_point.md has what each of them is worth.
  bool predicted_start = false;    ///< a far start after one predictor, at least 1 inside all cones
  bool predictor_only = false;     ///< no corrector; on Lorentz cones that ends before the answer
  bool adaptive_boundary = false;  ///< 0.9 + 0.1 exp(−κ n) of the way, at most `to_boundary`
  /// Convex laws, saddle form: (v, y) and (γ, λ, x) go as far as each of them can.
  bool separate_steps = false;
};

/// Scratch; losing it loses nothing.
class InteriorPointWorkspace {
 public:
  InteriorPointWorkspace();
  ~InteriorPointWorkspace();
  InteriorPointWorkspace(InteriorPointWorkspace&&) noexcept;
  InteriorPointWorkspace& operator=(InteriorPointWorkspace&&) noexcept;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Takes any canonical problem, local or with velocities, whose H is not an operator.
MethodResult solve_interior_point(const CanonicalProblem& problem, const ProblemScale& scale,
                                  const InteriorPointSettings& settings, const MethodLimits& limits,
                                  InteriorPointWorkspace& work, Solution& x);

}  // namespace orthant
