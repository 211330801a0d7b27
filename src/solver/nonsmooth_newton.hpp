// SPDX-License-Identifier: Apache-2.0
// solver/nonsmooth_newton.hpp: proximal nonsmooth Newton on the projection residual, every law.
// Solves the local problem as given (unsymmetric, rank-deficient, exact friction). Adding α I,
// centred at the last answer, makes each Newton matrix regular; α goes to zero along the way.
#pragma once

#include <array>

#include "base/scratch.hpp"
#include "orthant/solver/method.hpp"

namespace orthant {

struct NonsmoothNewtonSettings {
  int max_iterations = 8000;      ///< Newton steps (factorisations) in all
  double max_work = 4e9;          ///< multiply-adds in all: some seconds
  double alpha_start = 0.1;       ///< proximal weight; the scaled matrix has a unit diagonal
  double alpha_min = 1e-9;        ///< it is not taken below
  double alpha_max = 10;          ///< nor above: the problem is not monotone, steps would wander
  double inner_reduction = 1e-3;  ///< each regularised problem is solved to this part of its start
  int inner_iterations = 30;      ///< Newton steps for one regularised problem
  int watchdog_steps = 8;         ///< full steps tried where the line search fails
  int sweeps = 60;                ///< Gauss–Seidel sweeps where those fail too
  int quick_inner = 6;            ///< inner steps up to which α may shrink
  double first_change = 10;       ///< of α, until the first failure
  double later_change = 3;        ///< and after it
  double drift = 1e-3;            ///< relative move of the centre that still counts as progress
  int patience = 120;             ///< outer steps without a better residual; one at rest counts 10
  double rho = 1;                 ///< step of the projection in scaled variables, first run
  int memory = 8;                 ///< steps the line search looks back, at least 1
  double good_solve = 1e-7;       ///< relative error of a Newton direction that will do
  int restarts = 8;               ///< runs after the first, at most 8
  struct Restart {
    double rho;
    bool from_zero;
  };
  /// Their order: on sensitive piles the way the forces drift depends on ρ and on the start, and
  /// none is best for all.
  std::array<Restart, 8> restart = {{{30, true},
                                     {30, false},
                                     {100, false},
                                     {10, false},
                                     {100, true},
                                     {10, true},
                                     {1, true},
                                     {30, false}}};
};

struct NonsmoothNewtonWork;
using NonsmoothNewtonWorkspace = Scratch<NonsmoothNewtonWork>;

/// `p` must be local. See method.hpp for the contract.
MethodResult solve_nonsmooth_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                    const NonsmoothNewtonSettings& settings,
                                    const MethodLimits& limits, NonsmoothNewtonWorkspace& work,
                                    Solution& x);

}  // namespace orthant
