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

#include "orthant/base/export.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/solver/plan.hpp"

namespace ORTHANT_EXPORT orthant {

enum class Outcome : std::uint8_t {
  Converged,       ///< the judge's residual is within the tolerance
  IterationLimit,  ///< ran out of iterations
  WorkLimit,       ///< ran out of counted work (or of the optional wall-clock limit)
  Stalled,         ///< no progress, tolerance not reached
  RayTermination,  ///< Lemke ended on a ray: no solution found along its path
  Infeasible,      ///< the rows contradict each other
  NotFinite,       ///< numbers overflowed; nothing has succeeded until some line says so
};  // in order of severity: of several outcomes the largest is reported
std::string_view name_of(Outcome outcome);

/// One method's run on one island, for the report.
struct Attempt {
  Method method = Method::Automatic;
  Effort effort = Effort::Full;
  Outcome outcome = Outcome::NotFinite;
  Index island = 0;
  int iterations = 0;
  double residual = 0;
  double work = 0;     ///< counted multiply-adds
  double seconds = 0;  ///< wall clock, where the trace asks for an explanation
};

/// History of a solve for plots and explanations; filled only when asked for.
struct SolveTrace {
  struct Point {
    Method method;
    int iteration;
    double residual;
  };
  struct Island {
    ProblemTraits traits;
    Plan plan;                      ///< empty: λ = 0 or the start was the answer
    std::vector<Attempt> attempts;  ///< what ran of it
    Outcome outcome = Outcome::NotFinite;
    double residual = 0, seconds = 0;
  };
  /// One call of solve().
  struct Solve {
    CanonicalProblem problem;  ///< where asked for
    std::vector<Island> islands;
    Index closed_forms = 0;  ///< islands of one block, solved in place
    Outcome outcome = Outcome::NotFinite;
    double residual = 0, seconds = 0;
  };
  std::vector<Point> points;
  bool explain = false;        ///< fill `solves`
  bool keep_problems = false;  ///< with their problems
  std::vector<Solve> solves;
};
/// Traits, plan, what ran with residual and time, why it ended: a few lines per island.
std::string explanation_of(const SolveTrace::Solve& solve);

struct SolveSettings {
  Method method = Method::Automatic;
  std::string plan = {};         ///< steps instead of the automatic choice (solver/plan.hpp)
  PlanSettings thresholds = {};  ///< of the automatic choice
  double tolerance = 1e-8;       ///< of the judge's block-wise residual [-]
  int max_iterations = 0;        ///< of each method; 0: the method's own default
  double work_limit = 0;         ///< counted work in multiply-adds; 0: none
  double time_limit = 0;       ///< wall clock [s], 0: none. Makes the result depend on the machine
  bool use_warm_start = true;  ///< start from the incoming solution where its sizes agree
  /// Go on until Siconos' error is within the tolerance as well, where the method can. That error
  /// has units (docs/notation.md, Residual), so the iterations then depend on them too.
  bool siconos_too = false;
  SolveTrace* trace = nullptr;
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
/// What the maker of a problem knows of its H already.
struct FreeMotion {
  const VelocitySolver& inverse;
  const VecX& v_free;  ///< H⁻¹k
};
/// The same without factorising H once more, and without the two Siconos errors, which stay 0 in
/// the report.
void solve(const CanonicalProblem& problem, const FreeMotion& free, const SolveSettings& settings,
           SolveWorkspace& workspace, Solution& solution, SolveReport& report);
/// The same from zero with a workspace of its own.
SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  Solution& solution);

/// Empty when `method` can run on this problem, else why not.
std::string why_not_applicable(Method method, const CanonicalProblem& problem);

}  // namespace orthant
