// SPDX-License-Identifier: Apache-2.0
// solver/proximal_newton.hpp: problem => answer by Newton steps in velocities on the block graph.
//
// First the sets of the start are tried (polish_run.hpp on velocity_equations.hpp): for the linear
// equations of a robot (joints, limits, sticking feet) one factorisation per set, linear in the
// links. Where the sets do not settle, one proximal step around the impulses x̄, the shift of exact
// friction held fixed, is a convex problem in v on the joints' manifold:
//
//   min ½|v − v_free|²_H + α/2 |Π(x̄ − y(v)/α)|²   subject to  C v + e = 0
//
// Newton with an exact line search converges from anywhere. From its x⁺ = Π(x̄ − y/α) proximal steps
// by the exact law follow: x⁺ = x̄ − R(x̄, y(v)) is explicit in v, Newton with a line search on the
// balance finds v. Sets are guessed again on the way. Where contacts are redundant and their gaps
// do not quite agree (a box on its faces, wheels and casters), the impulses drift from step to step
// by what is left of y over α until those that must open are zero: α is chosen by that drift.
#pragma once

#include "orthant/solver/method.hpp"
#include "solver/set_walk.hpp"
#include "solver/velocity_equations.hpp"

namespace orthant::internal {

struct ProximalNewtonSettings {
  int max_iterations = 400;   ///< factorisations
  int max_guesses = 6;        ///< sets tried before the steps are globalised
  double guess_below = 1e-3;  ///< residual of a start whose sets are tried without joints
  double proximal = 1e-11;    ///< α of the sets: refined away; larger is better conditioned
  double descent = 1e-2;      ///< α of the first proximal step: soft enough to get there
  double stiffest = 1e-11;    ///< below, the sets are no clearer
  double softest = 10;        ///< beyond, it is no step
  double stiffer = 0.2;       ///< factor on α after a step that went little
  double softer = 5;          ///< the same after one that did not end
  double drift = 0.1;         ///< of the impulses in a step by the exact law, that its α is for
  double settled = 2e-3;      ///< drift of a step that has found its sets,
  double clear = 1e-6;        ///< where its α is not above this
  double firmer = 1e-3;       ///< α of the sets tried in between, beside that of the step,
  double firmest = 1e-8;      ///< and at least
  int quick = 3;              ///< Newton steps of a proximal step after which sets are tried
  int max_descents = 20;  ///< convex proximal steps; exact friction updates its shift in between
  int max_descent_steps = 20;    ///< Newton steps of one of them
  int max_exact_steps = 30;      ///< of one by the exact law that follows it
  int max_proximal_steps = 100;  ///< by the exact law, from one point
  int max_walk = 40;             ///< changes of sets, one at a time, where guesses fail
  double walk_below = 1e-6;      ///< and the residual is less than this
  int patience = 25;             ///< proximal steps without progress
  int restarts = 0;              ///< from zero impulses, where it fails
  double near = 1;        ///< residual from which on the exact law comes before the convex step
  double exact = 1e-2;    ///< error of a proximal step beside the way it goes,
  double balance = 1e5;   ///< or beside rounding: the sets tried after it undo that
  double arrived = 1e-5;  ///< Newton step, beside the velocities, that ends a convex one
  double flat = 0.1;      ///< slope at the end of a line search, beside that at its start
  double shorter = 0.4;   ///< from one trial length to the next
  int trials = 6;         ///< of those
};

struct ProximalNewtonWorkspace {
  struct Point {
    VecX v, gamma, x;
  };
  std::vector<BlockSet> sets, next_sets;
  Point start, best;
  VecX trial, along, centre, shift, relative, impulse, gradient;
  VecX rho;           // of the rows, in the step at hand
  VecX began, moved;  // of a step by the exact law: y where it began, and how far v has gone
  Solution candidate;
  SetWalkWorkspace walk;
  JudgeWorkspace judge;
};

/// `equations` are those of p, built.
MethodResult solve_proximal_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                   const ProximalNewtonSettings& settings,
                                   const MethodLimits& limits, VelocityEquations& equations,
                                   ProximalNewtonWorkspace& work, Solution& x);

}  // namespace orthant::internal
