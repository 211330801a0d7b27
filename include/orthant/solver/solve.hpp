// SPDX-License-Identifier: Apache-2.0
// solver/solve.hpp: solve(problem, settings, workspace, solution), whichever method runs.
// Splits the problem into islands (components of the block graph, in a fixed order), chooses a
// method for each, and lets the judge decide. A solve is a function of its arguments: the warm
// start is the incoming solution, a workspace carries no memory from one call to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant {

enum class Outcome : std::uint8_t {
  Converged,       ///< the judge's residual is within the tolerance
  IterationLimit,  ///< ran out of iterations
  WorkLimit,       ///< ran out of counted work (or of the optional wall-clock limit)
  Stalled,         ///< no progress, tolerance not reached
  RayTermination,  ///< Lemke ended on a ray: no solution found along its path
  Infeasible,      ///< the rows contradict each other
  NotFinite,       ///< numbers overflowed; nothing has succeeded until some line says so
};
std::string_view name_of(Outcome outcome);

enum class Method : std::uint8_t {
  Automatic,
  Enumeration,          ///< all bases, n <= 16: the oracle of the tests
  Lemke,                ///< complementary pivoting, LCP and MLCP
  GaussSeidel,          ///< projected block Gauss–Seidel with an exact one-contact solve
  MinMapNewton,         ///< Newton on min(λ, w), line search
  FischerNewton,        ///< Newton on Fischer–Burmeister, line search
  InteriorPoint,        ///< Mehrotra predictor–corrector, cones and exact Coulomb
  NonsmoothNewton,      ///< proximal nonsmooth Newton on the projection residual
  ProjectedGradient,    ///< Barzilai–Borwein, matrix-free
  AcceleratedGradient,  ///< Nesterov with restart, matrix-free
  ActiveSetCg,          ///< active-set projected conjugate gradients, matrix-free
  Polish,               ///< guesses the set of an approximate answer, solves its equations
  PairBlocks,           ///< all rows of a body pair as one block: frictionless, matrix-free
};
std::string_view name_of(Method method);

/// History of a solve for plots; filled only when asked for.
struct SolveTrace {
  struct Point {
    Method method;
    int iteration;
    double residual;
  };
  std::vector<Point> points;
};

struct SolveSettings {
  Method method = Method::Automatic;
  double tolerance = 1e-8;     ///< of the judge's block-wise residual [-]
  int max_iterations = 0;      ///< of each method; 0: the method's own default
  double work_limit = 0;       ///< counted work in multiply-adds; 0: none
  double time_limit = 0;       ///< wall clock [s], 0: none. Makes the result depend on the machine
  bool use_warm_start = true;  ///< start from the incoming solution where its sizes agree
  /// Go on until Siconos' error is within the tolerance as well, where the method can. That error
  /// has units (docs/notation.md, Residual), so the iterations then depend on them too.
  bool siconos_too = false;
  SolveTrace* trace = nullptr;
};

/// One method's run on one island, for the report.
struct Attempt {
  Method method = Method::Automatic;
  Outcome outcome = Outcome::NotFinite;
  Index island = 0;
  int iterations = 0;
  double residual = 0;
};

struct [[nodiscard]] SolveReport {
  Outcome outcome = Outcome::NotFinite;
  Method method = Method::Automatic;  ///< the one that gave the answer (of the hardest island)
  int iterations = 0;                 ///< added up over islands and attempts
  Index island_count = 0;
  Residual residual;              ///< by the judge, from the answer
  std::vector<Attempt> attempts;  ///< what ran, in order
};

/// Scratch of all methods; losing it loses nothing.
class SolveWorkspace {
 public:
  SolveWorkspace();
  ~SolveWorkspace();
  SolveWorkspace(SolveWorkspace&&) noexcept;
  SolveWorkspace& operator=(SolveWorkspace&&) noexcept;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Finds (v, γ, λ, w). `solution` goes in as the warm start and comes out as the best answer found,
/// whatever the outcome.
SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  SolveWorkspace& workspace, Solution& solution);
/// The same into a report whose memory is reused: after the first call of a size, a solve does not
/// allocate (block-diagonal or no H).
void solve(const CanonicalProblem& problem, const SolveSettings& settings,
           SolveWorkspace& workspace, Solution& solution, SolveReport& report);
/// The same from zero with a workspace of its own.
SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  Solution& solution);

/// Empty when `method` can run on this problem, else why not.
std::string why_not_applicable(Method method, const CanonicalProblem& problem);

}  // namespace orthant
