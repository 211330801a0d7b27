// SPDX-License-Identifier: Apache-2.0
// solver/methods.cpp: problem => traits; method => how to run it and where it applies.
#include "solver/methods.hpp"

#include <algorithm>
#include <array>

#include "orthant/solver/enumeration.hpp"
#include "solver/ending.hpp"
#include "solver/mixed_lcp.hpp"
#include "solver/workspace.hpp"

namespace orthant {

ProblemTraits traits_of(const CanonicalProblem& p) {
  ProblemTraits t;
  t.blocks = p.block_count();
  t.rows = p.row_count() + p.bilateral_count();
  t.equations = p.bilateral_count();
  t.velocities = p.velocity_count();
  t.velocity_operator = p.H.kind() == VelocityMatrix::Kind::Operator;
  bool only_orthant = true;
  // Bodies one by one have six entries a column at most; meshes have tens.
  t.elastic = p.H.kind() == VelocityMatrix::Kind::Sparse && p.velocity_count() > 200 &&
              p.H.sparse_matrix().nonZeros() > 8 * static_cast<std::int64_t>(p.velocity_count());
  for (const Law& law : p.laws) {
    if (law.kind == LawKind::Free) t.equations += law.dim;
    t.separable = t.separable && law.is_separable();
    t.frictional = t.frictional || law.is_frictional();
    t.planar_exact = t.planar_exact && MixedLcp::accepts(law);
    t.pairs += MixedLcp::accepts(law) ? MixedLcp::pairs_of(law) : 0;
    t.exact = t.exact || law.is_exact();
    t.rolling = t.rolling || law.has_rolling();
    only_orthant = only_orthant && law.kind == LawKind::Orthant;
  }
  t.pair_rows = only_orthant && t.blocks > 0 && p.C.empty() && p.F.empty() && !p.D.empty() &&
                p.H.kind() == VelocityMatrix::Kind::BlockDiagonal && t.velocities > 0;
  return t;
}

namespace {

constexpr double kNear = 1e-4;           // residual of an answer that is nearly one
constexpr Index kFewBlocks = 40;         // up to here an island is no pile
constexpr double kDriftProximal = 1e-7;  // proximal weight that lets forces drift
constexpr double kPivotingWork = 3e8;  // multiply-adds of factorisations that pivot: about a second

const char* always(const ProblemTraits&) { return nullptr; }

GaussSeidelSettings sweep_settings(const CanonicalProblem& p, Effort effort) {
  GaussSeidelSettings settings;
  // A sweep over a handful of blocks costs less than one small factorisation.
  if (effort != Effort::Full) settings.hopeful_sweeps = p.block_count() <= 10 ? 300 : 100;
  return settings;
}

MethodResult run_gauss_seidel(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                              const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  return solve_gauss_seidel(p, scale, sweep_settings(p, effort), limits, work.gauss_seidel, x);
}

/// In a large pile a factorisation costs as much as a hundred sweeps, in a stack as much as two:
/// the patience with sweeps is counted in factorisations.
MethodResult sweep_by_body(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                           const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  GaussSeidelSettings settings = sweep_settings(p, effort);
  if (effort != Effort::Full && p.block_count() > 10) {
    const double sweeps = work.bodies.factor_work() / work.bodies.sweep_work();
    const double more = effort == Effort::Second ? 4 : 1;
    settings.first_sweeps = static_cast<int>(more * std::clamp(2 * sweeps, 8.0, 100.0));
    settings.hopeful_sweeps = static_cast<int>(more * std::clamp(20 * sweeps, 100.0, 1000.0));
  }
  return internal::sweep_bodies(p, scale, settings, limits, work.bodies, work.body_sweeps, x);
}

const char* unless_coupled(const ProblemTraits& traits) {
  return traits.separable ? nullptr : "it needs laws that act entry by entry, not friction cones";
}

const char* unless_operator(const ProblemTraits& traits) {
  return traits.velocity_operator ? "it factorises H, which is an operator here" : nullptr;
}

MethodResult run_interior_point(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                                const MethodLimits& limits, SolveWorkspace::Impl& work,
                                Solution& x) {
  return solve_interior_point(p, scale, {.warm_start = work.warm, .crossover = work.by_name},
                              limits, work.interior_point, x);
}

template <Method M>
MethodResult run_first_order(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                             const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  return solve_first_order(M, p, scale, {}, limits, work.first_order, x);
}

NonsmoothNewtonSettings newton_settings(Effort effort) {
  NonsmoothNewtonSettings settings;
  if (effort != Effort::Full) {
    settings.max_iterations = 200;
    settings.restarts = false;
  }
  return settings;
}

MethodResult run_nonsmooth_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                  Effort effort, const MethodLimits& limits,
                                  SolveWorkspace::Impl& work, Solution& x) {
  return solve_nonsmooth_newton(p, scale, newton_settings(effort), limits, work.nonsmooth_newton,
                                x);
}

/// Two runs of one attempt: the second goes on from the answer of the first.
MethodResult joined(const MethodResult& first, const MethodResult& second) {
  MethodResult both = second;
  both.iterations += first.iterations;
  both.work += first.work;
  return both;
}

/// Piles: proximal steps where the sweeps have come near, else sweeps and Newton steps in turn.
MethodResult newton_on_pile(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                            const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  MethodResult near;
  if (effort == Effort::Quick && !work.bodies.compliant()) {
    near = internal::proximal_bodies(p, scale, {}, limits, work.bodies, work.body_proximal, x);
    if (near.outcome == Outcome::Converged || near.outcome == Outcome::WorkLimit) return near;
  }
  internal::BodyDescentSettings descent;
  // The way is long and turns on little things: from a place far away it is another one.
  if (effort == Effort::Second) descent.first_sweeps = 1000;
  return joined(near, internal::descend_bodies(p, scale, descent, internal::less(limits, near.work),
                                               work.bodies, work.body_descent, x));
}

MethodResult newton_by_body(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                            const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  NonsmoothNewtonSettings settings = newton_settings(effort);
  if (effort == Effort::Full || p.block_count() <= kFewBlocks) {
    return internal::newton_bodies(p, scale, settings, limits, work.bodies, work.nonsmooth_newton,
                                   x);
  }
  const MethodResult first = newton_on_pile(p, scale, effort, limits, work, x);
  const bool near = first.residual <= kNear;
  if (first.outcome == Outcome::Converged || first.outcome == Outcome::WorkLimit ||
      (effort == Effort::Quick && !near))
    return first;
  // What is left is a contact that hardly slides and has to turn: forces drift far at a tiny |R|.
  if (near) settings.alpha_start = kDriftProximal;
  return joined(first,
                internal::newton_bodies(p, scale, settings, internal::less(limits, first.work),
                                        work.bodies, work.nonsmooth_newton, x));
}

MethodResult run_polish(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                        const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  return polish(p, scale, {}, limits, work.polish, x);
}

MethodResult polish_by_body(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                            const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  PolishSettings settings;
  if (effort == Effort::Quick) {
    settings.max_iterations = 6;
    settings.max_lost = 2;
  }
  const MethodResult result =
      internal::polish_bodies(p, scale, settings, limits, work.bodies, work.body_polish, x);
  // Pivoting over the whole matrix is slower and forgives more. Near an answer a few contacts are
  // in the wrong set, which sweeps settle sooner.
  const bool pivot =
      effort == Effort::Full || (effort == Effort::Second && result.residual > kNear);
  if (!pivot || result.outcome == Outcome::Converged) return result;
  MethodLimits pivoting = limits;
  pivoting.work_limit =
      limits.work_limit > 0 ? std::min(limits.work_limit, kPivotingWork) : kPivotingWork;
  return joined(result, polish(p, scale, settings, pivoting, work.polish, x));
}

const char* unless_pair_rows(const ProblemTraits& traits) {
  return traits.pair_rows ? nullptr : "it needs frictionless contacts of rigid bodies, no joints";
}

/// Planar packings of this many rows: a factorisation costs no more than some tens of products,
/// and conjugate gradients would take hundreds to thousands.
bool factorises_soon(const CanonicalProblem& p) {
  constexpr Index kManyRows = 100;
  return p.row_count() >= kManyRows && p.velocity_count() == 3 * p.H.block_count() &&
         p.H.is_symmetric();
}

MethodResult run_pair_blocks(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                             const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  const MethodResult first =
      factorises_soon(p)
          ? solve_pair_blocks(p, scale, {.form = PairBlocksForm::Newton}, limits, work.pair_blocks,
                              x)
          : internal::solve_working_set(p, scale, limits, work.working_set, work.pair_blocks, x);
  if (first.outcome == Outcome::Converged || first.outcome == Outcome::WorkLimit) return first;
  return joined(first, solve_pair_blocks(p, scale, {}, internal::less(limits, first.work),
                                         work.pair_blocks, x));
}

const char* why_not_lemke(const ProblemTraits& traits) {
  if (!traits.separable && !traits.planar_exact) {
    return "it needs laws that act entry by entry, or planar Coulomb friction";
  }
  if (traits.rows > 4000) return "its dense tableau takes at most 4000 rows";
  return nullptr;
}

MethodResult run_lemke(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                       const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  return solve_lemke(p, scale, LemkeSettings{}, limits, work.lemke, x);
}

MethodResult run_min_map(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                         const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  const SeparableNewtonSettings settings{.function = ComplementarityFunction::MinMap};
  return solve_separable_newton(p, scale, settings, limits, work.separable_newton, x);
}

MethodResult run_fischer(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                         const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x) {
  const SeparableNewtonSettings settings{.function = ComplementarityFunction::Fischer};
  return solve_separable_newton(p, scale, settings, limits, work.separable_newton, x);
}

const char* why_not_enumeration(const ProblemTraits& traits) {
  if (!traits.planar_exact) {
    return "it needs laws that act entry by entry, or planar Coulomb friction";
  }
  if (traits.pairs > kMaxEnumeratedPairs) return "it takes at most 16 complementary pairs";
  return nullptr;
}

MethodResult run_enumeration(const CanonicalProblem& p, const ProblemScale& scale, Effort,
                             const MethodLimits& limits, SolveWorkspace::Impl&, Solution& x) {
  return solve_enumeration(p, scale, EnumerationSettings{}, limits, x);
}

constexpr std::array kMethods = {
    MethodEntry{Method::Enumeration, true, why_not_enumeration, run_enumeration, false},
    MethodEntry{Method::Lemke, true, why_not_lemke, run_lemke, false},
    MethodEntry{Method::MinMapNewton, true, unless_coupled, run_min_map},
    MethodEntry{Method::FischerNewton, true, unless_coupled, run_fischer},
    MethodEntry{Method::GaussSeidel, true, always, run_gauss_seidel, true, sweep_by_body},
    MethodEntry{Method::InteriorPoint, false, unless_operator, run_interior_point, false},
    MethodEntry{Method::ProjectedGradient, false, always,
                run_first_order<Method::ProjectedGradient>},
    MethodEntry{Method::AcceleratedGradient, false, always,
                run_first_order<Method::AcceleratedGradient>},
    MethodEntry{Method::ActiveSetCg, false, unless_coupled, run_first_order<Method::ActiveSetCg>},
    MethodEntry{Method::NonsmoothNewton, true, always, run_nonsmooth_newton, true, newton_by_body},
    MethodEntry{Method::PairBlocks, false, unless_pair_rows, run_pair_blocks},
    MethodEntry{Method::Polish, false, unless_operator, run_polish, true, polish_by_body},
};

}  // namespace

const MethodEntry* find_method(Method method) {
  for (const MethodEntry& entry : kMethods) {
    if (entry.method == method) return &entry;
  }
  return nullptr;
}

}  // namespace orthant
