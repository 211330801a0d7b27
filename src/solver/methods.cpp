// SPDX-License-Identifier: Apache-2.0
// solver/methods.cpp: (method, effort, PlanSettings) => the settings of a run, and the run.
#include "solver/methods.hpp"

#include <algorithm>
#include <array>

#include "solver/best_answer.hpp"
#include "solver/enumeration.hpp"
#include "solver/polish_run.hpp"
#include "solver/workspace.hpp"

namespace orthant {
namespace {

const char* always(const ProblemTraits&) { return nullptr; }

const char* unless_operator(const ProblemTraits& traits) {
  return traits.velocity_operator ? "it factorises H, which is an operator here" : nullptr;
}

const char* unless_orthant(const ProblemTraits& traits) {
  return traits.only_orthant ? nullptr
                             : "it needs λ ≥ 0 ⊥ w ≥ 0 in every row, each between at most two "
                               "velocity blocks, no C, no F";
}

const char* unless_tableau(const ProblemTraits& traits) {
  if (!traits.separable && !traits.planar_exact)
    return "it needs laws that act entry by entry, or planar Coulomb friction";
  if (traits.rows > 4000) return "its dense tableau takes at most 4000 rows";
  return nullptr;
}

const char* unless_enumerable(const ProblemTraits& traits) {
  if (!traits.planar_exact)
    return "it needs laws that act entry by entry, or planar Coulomb friction";
  if (traits.pairs > kMaxEnumeratedPairs) return "it takes at most 16 complementary pairs";
  return nullptr;
}

/// Two runs of one step: the second goes on from the answer of the first.
MethodResult joined(const MethodResult& first, const MethodResult& second) {
  MethodResult both = second;
  both.iterations += first.iterations;
  both.work += first.work;
  return both;
}

bool has_ended(const MethodResult& result) {
  return result.outcome == Outcome::Converged || result.outcome == Outcome::WorkLimit;
}

// --- velocity form, made at most once per island ---

const internal::VelocitySpace& space_of(const MethodCall& call) {
  if (!call.work.space_ready) call.work.space.build(call.p, call.scale);
  call.work.space_ready = true;
  return call.work.space;
}

internal::VelocityEquations& equations_of(const MethodCall& call) {
  if (!call.work.equations_ready) call.work.equations.build(call.p, call.scale);
  call.work.equations_ready = true;
  return call.work.equations;
}

// --- Gauss–Seidel ---

GaussSeidelSettings sweep_settings(const MethodCall& call) {
  GaussSeidelSettings settings;
  if (call.effort != Effort::Full)
    settings.hopeful_sweeps = call.p.block_count() <= call.settings.tiny_blocks
                                  ? call.settings.tiny_sweeps
                                  : call.settings.quick_sweeps;
  return settings;
}

MethodResult run_gauss_seidel(const MethodCall& call) {
  return solve_gauss_seidel(call.p, call.scale, sweep_settings(call), call.limits,
                            call.work.gauss_seidel, call.x);
}

/// On a large island a factorisation costs as much as a hundred sweeps, on a chain of blocks as
/// much as two: the patience with sweeps is counted in factorisations.
MethodResult sweep_in_velocities(const MethodCall& call) {
  GaussSeidelSettings settings = sweep_settings(call);
  const PlanSettings& plan = call.settings;
  if (call.effort != Effort::Full && call.p.block_count() > plan.tiny_blocks) {
    const double least = plan.quick_sweeps, cost = plan.factor_sweeps *
                                                   equations_of(call).factor_work() /
                                                   space_of(call).sweep_work();
    const double more = call.effort == Effort::Longer ? plan.longer : 1;
    settings.hopeful_sweeps = static_cast<int>(more * std::clamp(cost, least, 10 * least));
    // The rate is looked at once a tenth of that is done, at least eight sweeps.
    settings.first_sweeps = static_cast<int>(more * std::clamp(0.1 * cost, 8.0, least));
  }
  return sweep_velocities(call.p, call.scale, settings, call.limits, space_of(call),
                          call.work.velocity_sweeps, call.x);
}

// --- Newton ---

NonsmoothNewtonSettings newton_settings(const MethodCall& call) {
  NonsmoothNewtonSettings settings;
  if (call.effort != Effort::Full) {
    settings.max_iterations = call.settings.quick_newton;
    settings.restarts = 0;
  }
  return settings;
}

MethodResult run_nonsmooth_newton(const MethodCall& call) {
  return solve_nonsmooth_newton(call.p, call.scale, newton_settings(call), call.limits,
                                call.work.nonsmooth_newton, call.x);
}

/// Many blocks with friction take sweeps and Newton steps in turn. All others are solved by
/// proximal steps, and take such turns where these fail.
MethodResult newton_in_velocities(const MethodCall& call) {
  const bool many = call.p.C.empty() && call.p.block_count() > call.settings.many_blocks &&
                    !call.p.laws.front().is_separable();
  if (call.effort == Effort::Longer || (many && call.effort == Effort::Quick)) {
    internal::VelocityDescentSettings settings;
    // The path is chaotic: from a distant point it is another one.
    if (many && call.effort == Effort::Longer) settings.first_sweeps = 1000;
    if (call.effort == Effort::Longer) settings.max_iterations *= call.settings.longer;
    const internal::VelocitySpace& space = space_of(call);
    return internal::descend_velocities(call.p, call.scale, settings, call.limits, space,
                                        equations_of(call), call.work.velocity_descent, call.x);
  }
  internal::ProximalNewtonSettings settings;
  if (call.effort == Effort::Full) {
    settings.restarts = 12;
    settings.max_iterations = 8000;
  }
  return internal::solve_proximal_newton(call.p, call.scale, settings, call.limits,
                                         equations_of(call), call.work.proximal_newton, call.x);
}

// --- interior point ---

MethodResult run_interior_point(const MethodCall& call) {
  // A pile: the smallest matrix pays, and the polish that follows restores lost digits.
  const bool many = call.p.C.empty() && call.p.block_count() > call.settings.many_blocks;
  const InteriorPointSettings settings{
      .form = many ? InteriorPointForm::Velocity : InteriorPointForm::Saddle,
      .warm_start = call.warm,
      .crossover = call.by_name};
  return solve_interior_point(call.p, call.scale, settings, call.limits, call.work.interior_point,
                              call.x);
}

// --- orthant rows ---

MethodResult run_pair_blocks(const MethodCall& call) {
  SolveWorkspace::Impl& work = call.work;
  MethodResult first;
  if (call.effort != Effort::Quick)  // the rows of a working set are most of them needed
    first =
        internal::solve_working_set(call.p, call.scale, {}, call.limits, work.working_set, call.x);
  if (has_ended(first)) return first;
  return joined(
      first, solve_pair_blocks(call.p, call.scale, {}, internal::remaining(call.limits, first.work),
                               work.pair_blocks, call.x));
}

// --- pivoting, active sets ---

MethodResult run_lemke(const MethodCall& call) {
  return solve_lemke(call.p, call.scale, {}, call.limits, call.work.lemke, call.x);
}

MethodResult run_enumeration(const MethodCall& call) {
  return solve_enumeration(call.p, call.scale, call.limits, call.x);
}

MethodResult run_polish(const MethodCall& call) {
  return polish(call.p, call.scale, {}, call.limits, call.work.polish, call.x);
}

MethodResult polish_in_velocities(const MethodCall& call) {
  PolishSettings settings;
  MethodLimits limits = call.limits;
  if (call.effort == Effort::Quick) {
    settings.max_iterations = call.settings.quick_polish;
    settings.max_lost = 2;
  } else if (call.effort == Effort::Finish) {
    // What is left over would move the next problem, whose start is this answer.
    settings.max_iterations = 2;
    limits.max_iterations = 0;
    limits.tolerance = std::min(call.settings.finished, limits.tolerance);
  }
  const MethodResult result = internal::polish_velocities(
      call.p, call.scale, settings, limits, equations_of(call), call.work.polish, call.x);
  // Pivoting over the whole matrix is slower and forgives more. Near an answer a few blocks are in
  // the wrong set, which sweeps settle sooner.
  const bool pivot = call.effort == Effort::Full || (call.effort == Effort::Longer &&
                                                     result.residual > call.settings.near_residual);
  if (!pivot || result.outcome == Outcome::Converged) return result;
  const double most = call.settings.pivoting_work;
  limits.work_limit = limits.work_limit > 0 ? std::min(limits.work_limit, most) : most;
  return joined(result, polish(call.p, call.scale, settings, limits, call.work.polish, call.x));
}

/// In the order of the enum, Automatic left out.
constexpr std::array kTable = {
    MethodEntry{Method::GaussSeidel, true, always, run_gauss_seidel, true, sweep_in_velocities},
    MethodEntry{Method::NonsmoothNewton, true, always, run_nonsmooth_newton, true,
                newton_in_velocities},
    MethodEntry{Method::InteriorPoint, false, unless_operator, run_interior_point, false},
    MethodEntry{Method::PairBlocks, false, unless_orthant, run_pair_blocks},
    MethodEntry{Method::Lemke, true, unless_tableau, run_lemke, false},
    MethodEntry{Method::Polish, false, unless_operator, run_polish, true, polish_in_velocities},
    MethodEntry{Method::Enumeration, true, unless_enumerable, run_enumeration, false},
};
constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    if (kTable[i].method != static_cast<Method>(i + 1) ||
        kMethods[i + 1].method != kTable[i].method)
      return false;
  return kTable.size() + 1 == kMethods.size();
}
static_assert(in_order());

}  // namespace

const MethodEntry* find_method(Method method) {
  return method == Method::Automatic ? nullptr : &kTable[static_cast<std::size_t>(method) - 1];
}

}  // namespace orthant
