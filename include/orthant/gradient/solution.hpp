// SPDX-License-Identifier: Apache-2.0
// gradient/solution.hpp: (problem, its solution) => derivatives of (v, γ, λ, w) by all problem
// data.
//
// Differentiates the projection equation λ = Π_K(λ − τ w~), whichever solver found the answer
// (docs/notation.md, Derivatives):
//
//   H dv − Cᵀdγ − Dᵀdλ            = dk − dH v + dCᵀγ + dDᵀλ
//   C dv                          = −de − dC v
//   τPG D dv + (I − P + τPG F) dλ = −τPG (dD v + dF λ + db) + P_θ dθ
//
// with P an element of ∂Π_K, G the derivative of De Saxcé's shift and θ the data of the laws. The
// adjoint solves with the transposed matrix. Usable alone: a differentiable LCP, MLCP or cone
// layer.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/problem/contact_state.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace ORTHANT_EXPORT orthant {

/// Which element of the generalised Jacobian to return where λ and w leave the choice open.
enum class KinkChoice : std::uint8_t {
  Clamp,     ///< keep the contact closed (stick rather than slide, touch rather than part)
  Separate,  ///< let it go (slide rather than stick, part rather than touch)
  Average,   ///< the mean of the two
  /// Between the two, a share of its own for every block: where this and Clamp agree no choice
  /// matters, for a product is a rational function of the shares.
  Mixed,
};

enum class GradientMode : std::uint8_t {
  Exact,  ///< of the answer itself, with a stated choice at kinks
  /// Of the point of the central path w∘λ = κ that belongs to the answer: contacts that are about
  /// to touch, slide or part already show in the derivative. Exact as κ → 0.
  Smoothed,
};

struct SolutionGradientSettings {
  KinkChoice kink = KinkChoice::Clamp;
  std::vector<KinkChoice> blocks = {};  ///< of the first blocks, instead of `kink`
  GradientMode mode = GradientMode::Exact;
  double kappa = 1e-6;               ///< Smoothed: w λ of every contact [J]
  double floating_tolerance = 1e-8;  ///< distance to a border that counts as on it, at most [-]
  double proximal = 1e-9;            ///< regularisation of redundant rows, refined away [-]
  double tolerance = 1e-13;          ///< of the linear solves, relative [-]
  int max_refinements = 60;
  /// Contacts of a pair on a border that another answer with the same motion holds strictly inside
  /// count as inside.
  bool settle = true;
  /// Contacts without an impulse that no motion the bilateral rows leave can open or close count as
  /// open. Not in a correction of positions, where what they hold may be put elsewhere.
  bool held_open = true;
  /// A row within floating_tolerance of a border that the residual knows to be off it is beside it.
  bool near_borders = true;
};

/// What is known about the derivative: read it before trusting the numbers.
struct GradientCertificate {
  std::vector<ContactState> states;  ///< one per row; rows of a friction block share theirs
  Index floating = 0;                ///< rows that are Floating
  double margin = 1;                 ///< smallest relative distance to a border: strict
                                     ///< complementarity holds where it is > 0
  double reciprocal_condition = 1;   ///< of the linear system, a cheap estimate from above
  /// Relative error of the last linear solve. Large when the change asked for is not consistent
  /// with redundant rows: then only one-sided derivatives exist, or none (a loss that reads λ).
  double solve_error = 0;
  KinkChoice element = KinkChoice::Clamp;  ///< the choice taken at floating rows
  /// Floating blocks without an impulse that were let go all the same, because closing them
  /// contradicts redundant ones: the motion is not unique, the derivative is that of the answer.
  Index released = 0;
  /// The impulses are not unique: redundant rows. Known once free_impulse() has looked.
  bool redundant = false;
  /// Of the last push_forward(): how far the change of v depends on which impulses were found,
  /// relative to it. Not 0: the derivative is that of the answer, not of the problem.
  double ambiguity = 0;
  double residual = 0;       ///< the judge's, of the answer differentiated
  double kappa = 0;          ///< > 0: smoothed, of the central path there
  double central_error = 0;  ///< Smoothed: how far from the path, relative
};

/// A change of the problem data, or the derivative of a scalar by them: the same layout as the
/// problem's own storage. Empty members count as zero on input.
struct ProblemDerivative {
  VecX k, e, b;
  VecX mu, mu_r, lo, hi;        ///< one per block
  std::vector<double> C, D, F;  ///< as BlockRows::all_values()
  std::vector<double> H;        ///< as VelocityMatrix::all_values()
};
ProblemDerivative zero_derivative(const CanonicalProblem& problem);

/// The equations of an answer that is held, k − H v + Cᵀγ + Dᵀλ, C v + e and D v + F λ + b, and the
/// data of the laws: their change, or the derivative of a scalar by them. All a caller needs who
/// knows how the equations change without knowing how every entry of H, C, D and F does.
struct ResidualDerivative {
  VecX balance, bilateral, blocks;
  VecX mu, mu_r, lo, hi;  ///< one per block
};
ResidualDerivative zero_residual(const CanonicalProblem& problem);

class SolutionGradient {
 public:
  /// Factorises the derivative at the answer x. Keeps references to `problem`; copies the answer.
  /// `residual`: the judge's, where the caller has asked it about this answer; NaN: it is asked
  /// here.
  SolutionGradient(const CanonicalProblem& problem, const ProblemScale& scale, const Solution& x,
                   const SolutionGradientSettings& settings = {},
                   double residual = std::numeric_limits<double>::quiet_NaN());
  ~SolutionGradient();
  SolutionGradient(SolutionGradient&&) noexcept;
  SolutionGradient& operator=(SolutionGradient&&) noexcept;

  /// Vector–Jacobian product: the derivative of a scalar ℓ by the answer in (members may be empty:
  /// zero), by all problem data out. Throws Error when the incoming numbers are not finite.
  ProblemDerivative pull_back(const Solution& by_answer);
  /// Jacobian–vector product: a change of the data in, the change of the answer out.
  Solution push_forward(const ProblemDerivative& change);

  /// The same two products by and of the equations at the answer.
  ResidualDerivative adjoint(const Solution& by_answer);
  void adjoint(const Solution& by_answer, ResidualDerivative& out);  ///< into memory that is there
  Solution tangent(const ResidualDerivative& change);
  /// One direction per column, the numbers of a row together.
  using Directions = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  /// The changes of v along many changes of the balance, of bilateral rows and of blocks, the data
  /// of the laws held.
  void tangent(const Directions& balance, const Directions& bilateral, const Directions& blocks,
               Directions& dv);
  /// With KinkChoice::Mixed at the rows on a border, what the last adjoint() was asked and `more`.
  void adjoint_of_other_sides(const Solution& more, ResidualDerivative& out);
  /// What the last product is short of, by equations around these: into the certificate.
  void note_error(double error);

  /// A change of (γ, λ) of the size of the answer's that leaves v and w as they are: any multiple
  /// of it, within the bounds of the laws, makes another answer. Empty where the impulses are
  /// unique. `v` is not empty where it comes with another motion, which then is open: to first
  /// order the same problem has many. Costs one solve, once.
  const Solution& free_impulse();

  /// A combination of the equations that is 0 whatever the change of the answer: a change of the
  /// data must keep it so, or contradicts redundant rows. Empty where the equations are
  /// independent. Costs one solve, once.
  const ResidualDerivative& dependent_equations();

  /// Rows that are near a border and not on it: Σ of their distances from it over what these are
  /// now, by the answer and by the data of the laws, added. False: there are none.
  bool add_near_borders(Solution& by_answer, ResidualDerivative& by_laws) const;
  /// Contacts that bilateral rows hold closed and that count as open: Σ of their w_n, which must
  /// not change for that, by w, added. False: there are none.
  bool add_held(Solution& by_answer) const;

  /// What was differentiated: the answer, or the point of the central path.
  const Solution& answer() const;
  const GradientCertificate& certificate() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant
