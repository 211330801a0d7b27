// SPDX-License-Identifier: Apache-2.0
// solver/island.cpp: (island, plan) => answer. Every step of the plan starts from the best answer
// so far; the judge, not the method, decides what is better and what is accepted.
#include "solver/island.hpp"

#include <algorithm>
#include <cmath>

#include "math/each_value.hpp"
#include "solver/active_set.hpp"
#include "solver/methods.hpp"

namespace orthant {
namespace {

/// λ = 0 solves the island exactly: no block asks for an impulse at v = v_free. Leaves w there.
bool solved_by_zero(const CanonicalProblem& p, const ProblemScale& scale, VecX& w) {
  if (!p.C.empty()) return false;
  w = p.b;
  if (!p.D.empty()) p.D.multiply_add(1, scale.v_free, w);
  const double zero[kMaxLawDim] = {};
  Index at = 0;
  for (const Law& law : p.laws) {
    double error[kMaxLawDim];
    internal::projection_residual(law, zero, w.data() + at, 1, error);
    if (std::any_of(error, error + law.dim, [](double e) { return e != 0; })) return false;
    at += law.dim;
  }
  return true;
}

/// The clock of the solve; read only where somebody wants to know.
double seconds_of(const IslandRun& run) {
  const SolveTrace* trace = run.settings.trace;
  return trace != nullptr && trace->explain ? run.limits.clock->seconds() : 0.0;
}

double judge_island(IslandRun& run) {
  return judge_quick(run.p, run.scale, run.x, run.work.island_judge).value;
}

/// Newton steps in tree order ask of a start no more than whether it is the answer.
double judge_start(IslandRun& run) {
  return run.tree
             ? judge_up_to(run.limits.tolerance, run.p, run.scale, run.x, run.work.island_judge)
             : judge_island(run);
}

void keep(const Solution& from, Solution& to) {
  to.v = from.v;
  to.gamma = from.gamma;
  to.lambda = from.lambda;
}

// --- one step of the plan ---

/// Newton steps in velocities.
constexpr PlanStep kTreeOrder{Method::NonsmoothNewton, Effort::Quick, 0};

MethodCall call_of(IslandRun& run, Effort effort, const MethodLimits& limits) {
  const bool by_name = run.settings.method != Method::Automatic;
  return {run.p,    run.scale, effort,  run.settings.thresholds, limits,
          run.work, run.x,     by_name, by_name && run.given};
}

/// Runs a method on the reduced problem. What satisfies the reduced judge may still miss the
/// tolerance of the real one, whose balance has its own rounding: then once more, tighter.
MethodResult run_reduced(const MethodEntry& entry, Effort effort, MethodLimits limits,
                         IslandRun& run) {
  SolveWorkspace::Impl& work = run.work;
  if (!work.local_ready) {
    if (run.inverse != nullptr) {
      reduce(run.p, *run.inverse, work.reduce, work.local);
    } else {
      reduce(run.p, work.reduce, work.local);
    }
    scale_of(work.local, work.local_scale_work, work.local_scale);
    work.local_ready = true;
  }
  const Index bilateral = run.p.bilateral_count();
  Solution& local = work.local_x;
  local.v.resize(0);
  local.gamma.resize(0);
  local.lambda.resize(work.local.row_count());
  local.w.setZero(work.local.row_count());
  local.lambda.head(bilateral) = run.x.gamma;
  local.lambda.tail(run.p.row_count()) = run.x.lambda;
  MethodResult total;
  for (int round = 0; round < 2; ++round) {
    const MethodCall outer = call_of(run, effort, limits);
    const MethodResult r = entry.run({work.local, work.local_scale, effort, outer.settings, limits,
                                      work, local, outer.by_name, outer.warm});
    total.outcome = r.outcome;
    total.residual = r.residual;
    total.iterations += r.iterations;
    total.work += r.work;
    if (!local.lambda.allFinite()) break;
    expand(run.p, run.inverse != nullptr ? *run.inverse : work.reduce.inverse, work.reduce, local,
           run.x);
    if (r.residual > limits.tolerance || judge_island(run) <= limits.tolerance) break;
    limits.tolerance *= 1e-2;
  }
  return total;
}

MethodResult run_method(const PlanStep& step, const MethodLimits& limits, IslandRun& run) {
  const MethodEntry& entry = *find_method(step.method);
  MethodResult result;
  if (entry.in_velocities != nullptr &&
      (run.traits.velocity_form || (run.tree && step == kTreeOrder))) {
    result = entry.in_velocities(call_of(run, step.effort, limits));
  } else if (entry.needs_local && !run.p.is_local()) {
    result = run_reduced(entry, step.effort, limits, run);
  } else {
    result = entry.run(call_of(run, step.effort, limits));
  }
  run.spent += result.work;
  run.report.iterations += result.iterations;
  return result;
}

/// The judge is content; Siconos' error, which one compares with others, may not be where |N| is
/// far from one. Then the method goes on a little, as long as that helps.
void tighten(const PlanStep& step, IslandRun& run) {
  const double tolerance = run.limits.tolerance;
  double error = siconos_error(run.p, run.scale, run.x, run.work.island_judge);
  const bool goes_on = find_method(step.method)->goes_on;
  for (int round = 0; round < 3 && error > tolerance && goes_on; ++round) {
    keep(run.x, run.work.best);
    MethodLimits limits = run.limits;
    limits.tolerance = std::max(1e-15, 0.1 * tolerance * std::min(1.0, tolerance / error));
    (void)run_method(step, limits, run);
    const double residual = judge_island(run);
    const double now = siconos_error(run.p, run.scale, run.x, run.work.island_judge);
    if (!(residual <= tolerance && now < error)) {
      keep(run.work.best, run.x);
      break;
    }
    run.residual = residual;
    error = now;
  }
}

/// Σ e² m over the bilateral rows, m the mass a row feels: the motion that joints ask for.
double driven_energy(const CanonicalProblem& p, const ProblemScale& scale, VecX& mobility) {
  mobility.setZero(p.e.size());
  add_mobility(p.C, scale.weight.data(), mobility.data());
  double sum = 0;
  for (Index i = 0; i < p.e.size(); ++i)
    if (mobility[i] > 0) sum += p.e[i] * p.e[i] / mobility[i];
  return sum;
}

/// Rows that contradict each other drive impulses and velocities without bound, and the error is
/// small beside these. An answer with a thousand million times the speed that free motion, gaps and
/// motors can give is none; impulses without velocities may exceed by 1e15 (ill-conditioned N).
bool within_reason(const IslandRun& run) {
  const CanonicalProblem& p = run.p;
  double given = driven_energy(p, run.scale, run.work.mobility), found = 0;
  for (Index i = 0; i < p.row_count(); ++i) given += run.scale.tau[i] * p.b[i] * p.b[i];
  double factor = 1e30;
  if (p.velocity_count() > 0) {
    VecX& product = run.work.product;
    p.H.multiply(run.scale.v_free, product);
    given += std::abs(product.dot(run.scale.v_free));
    p.H.multiply(run.x.v, product);
    found = std::abs(product.dot(run.x.v));
    factor = 1e18;
  } else {
    for (Index i = 0; i < p.row_count(); ++i) {
      found += run.x.lambda[i] * run.x.lambda[i] / run.scale.tau[i];
    }
  }
  return found <= factor * given;
}

/// Biases that are nothing beside the speed their rows have to do with: a bias that the judge would
/// not see, were it wrong. True where there are any.
bool round_biases(IslandRun& run) {
  const CanonicalProblem& p = run.p;
  const VecX& v_free = run.scale.v_free;
  if (p.D.empty()) return false;
  run.work.rounded = p;
  VecX& b = run.work.rounded.b;
  bool any = false;
  Index row = 0;
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    const double* d = p.D.values(c);
    double speed = 0;
    for (const BlockRows::Entry& entry : p.D.entries(c)) {
      for (Index r = 0; r < p.D.dim(c); ++r, d += entry.width)
        for (Index k = 0; k < entry.width; ++k) speed += std::abs(d[k] * v_free[entry.column + k]);
    }
    for (Index r = 0; r < p.D.dim(c); ++r, ++row) {
      if (b[row] == 0 || !(std::abs(b[row]) <= run.limits.tolerance * speed)) continue;
      b[row] = 0;
      any = true;
    }
  }
  return any;
}

/// Redundant contacts at rest (feet of several spheres, a robot that lies on its stops) have gaps
/// that rounding has left, and these contradict each other: no impulses of a sensible size close
/// one gap of 1e-14 m and not the other. A step without such gaps; work.rounded has none.
MethodResult run_rounded(const PlanStep& step, IslandRun& run) {
  SolveWorkspace::Impl& work = run.work;
  IslandRun other{work.rounded, run.scale, run.number, run.settings, run.limits,
                  work,         run.x,     run.report, nullptr};
  other.traits = run.traits;
  other.tree = run.tree;
  other.limits.tolerance *= 0.3;
  work.equations_ready = work.space_ready = false;  // those of the problem as it is
  const MethodResult result = run_method(step, other.limits, other);
  work.equations_ready = work.space_ready = false;
  run.spent += result.work;
  return result;
}

/// Runs one method from the best answer so far, or, without gaps that are rounding, once more from
/// where the last one began; keeps whichever answer is better.
void attempt(const PlanStep& step, IslandRun& run, bool rounded = false) {
  const double began = seconds_of(run);
  Solution& before = run.work.best;
  keep(run.x, rounded ? run.work.found : before);
  if (rounded) {
    keep(before, run.x);
    keep(run.work.found, before);
  }
  run.judged = false;
  MethodLimits limits = run.limits;
  if (step.max_iterations > 0) limits.max_iterations = step.max_iterations;
  const MethodResult result = rounded ? run_rounded(step, run) : run_method(step, limits, run);
  // Newton steps in tree order end with what the judge has just said of x.
  const bool judged = run.tree && step == kTreeOrder && !rounded && !run.settings.siconos_too;
  const double residual = judged ? result.residual : judge_island(run);
  // The judge decides; a method that claims too much has stalled.
  Outcome outcome = result.outcome;
  if (residual <= limits.tolerance) {
    outcome = Outcome::Converged;
  } else if (outcome == Outcome::Converged) {
    outcome = Outcome::Stalled;
  }
  if (run.rejected_start && outcome != Outcome::Converged)
    run.residual = judge_quick(run.p, run.scale, before, run.work.island_judge).value;
  run.rejected_start = false;
  // What an unsolvable problem was recognised by stays the outcome, unless someone solves it.
  const bool verdict = run.outcome == Outcome::Infeasible ||
                       (run.outcome == Outcome::RayTermination && outcome != Outcome::Infeasible);
  if (outcome == Outcome::Converged || !verdict) run.outcome = outcome;
  if (residual < run.residual && (outcome == Outcome::Converged || within_reason(run))) {
    run.residual = residual;
    run.method = step.method;
    run.judged = judged && result.parts.value == residual;
    run.parts = result.parts;
  } else {
    keep(before, run.x);
  }
  run.report.attempts.push_back({step.method, step.effort, outcome, run.number, result.iterations,
                                 residual, result.work, seconds_of(run) - began});
  if (outcome == Outcome::Converged && run.settings.siconos_too) tighten(step, run);
}

/// Effort::Finish: an accepted answer taken to rounding. It costs a factorisation and saves many in
/// the next problem, whose start it is.
void finish(const PlanStep& step, IslandRun& run) {
  if (run.residual <= run.settings.thresholds.finished) return;
  keep(run.x, run.work.best);
  MethodLimits limits = run.limits;
  limits.trace = nullptr;
  const MethodResult result = run_method(step, limits, run);
  run.judged = false;
  if (result.residual < run.residual) {
    run.residual = result.residual;
  } else {
    keep(run.work.best, run.x);
  }
}

/// Bilateral rows between small velocity blocks: Newton steps in tree order are linear in the
/// blocks and end at rounding. They come first and nothing finishes them; where rows contradict
/// each other the linear solve that follows has the answer of least error.
void tree_order_first(Plan& plan) {
  std::erase_if(plan.steps, [&](const PlanStep& step) {
    return step.effort == Effort::Finish || step == kTreeOrder;
  });
  plan.steps.insert(plan.steps.begin(), kTreeOrder);
}

/// The plan in force: the method or the plan asked for, else that of the traits.
void choose_plan(IslandRun& run, Plan& plan) {
  const SolveSettings& settings = run.settings;
  if (settings.method != Method::Automatic) {
    plan.work_limit = 0;
    plan.steps.assign(1, {settings.method, Effort::Full, 0});
  } else if (!settings.plan.empty()) {
    plan = run.work.given_plan;
    std::erase_if(plan.steps, [&](const PlanStep& step) {
      return find_method(step.method)->why_not(run.traits) != nullptr;
    });
  } else {
    plan_for(run.traits, settings.thresholds, run.limits.tolerance, plan);
    if (run.tree) tree_order_first(plan);
  }
}

void run_plan(const Plan& plan, IslandRun& run) {
  const double work_limit = run.limits.work_limit > 0 ? run.limits.work_limit : plan.work_limit;
  run.limits.work_limit = work_limit;
  for (const PlanStep& step : plan.steps) {
    const bool accepted = run.outcome == Outcome::Converged;
    if (step.effort == Effort::Finish) {
      if (accepted) finish(step, run);
      continue;
    }
    if (accepted) continue;
    attempt(step, run);
    if (run.tree && step == kTreeOrder && run.outcome != Outcome::Converged && round_biases(run))
      attempt(step, run, true);
    if (run.outcome == Outcome::Infeasible) return;
    if (run.outcome == Outcome::Converged) continue;
    if (work_limit > 0) run.limits.work_limit = std::max(work_limit - run.spent, 1.0);
    if (run.limits.exhausted(0) || (work_limit > 0 && run.spent >= work_limit)) {
      run.outcome = Outcome::WorkLimit;
      return;
    }
  }
}

void explain(const IslandRun& run, const Plan& plan, std::size_t first_attempt, double seconds) {
  SolveTrace* trace = run.settings.trace;
  if (trace == nullptr || !trace->explain) return;
  SolveTrace::Island island;
  island.traits = run.traits;
  island.plan = plan;
  island.attempts.assign(run.report.attempts.begin() + static_cast<std::ptrdiff_t>(first_attempt),
                         run.report.attempts.end());
  island.outcome = run.outcome;
  island.residual = run.residual;
  island.seconds = seconds;
  trace->solves.back().islands.push_back(std::move(island));
}

}  // namespace

void solve_island(IslandRun& run) {
  const double began = seconds_of(run);
  const std::size_t first_attempt = run.report.attempts.size();
  run.work.local_ready = false;
  run.work.space_ready = run.work.equations_ready = false;
  Plan& plan = run.work.plan;
  plan.steps.clear();
  const bool automatic = run.settings.method == Method::Automatic;
  if (solved_by_zero(run.p, run.scale, run.x.w)) {
    run.x.v = run.scale.v_free;
    run.x.lambda.setZero();
    run.outcome = Outcome::Converged;
    run.residual = 0;
  } else {
    run.traits = traits_of(run.p, &run.work.rows_of);
    run.tree = automatic && !run.p.C.empty() && internal::VelocityEquations::fits(run.p);
    // Bilateral rows alone are solved to rounding whatever the start.
    if (automatic && run.warm && (run.tree || run.traits.blocks > 0)) {
      run.residual = run.traits.start_residual = judge_start(run);
      if (run.residual <= run.limits.tolerance) run.outcome = Outcome::Converged;
      run.rejected_start = run.tree && run.outcome != Outcome::Converged;
    }
    if (run.outcome != Outcome::Converged) {
      choose_plan(run, plan);
      run_plan(plan, run);
      if (automatic && run.outcome != Outcome::Converged && run.outcome != Outcome::Infeasible &&
          run.outcome != Outcome::WorkLimit &&
          bilateral_rows_contradict(run.p, run.scale.v_free, run.work.polish))
        run.outcome = Outcome::Infeasible;
    }
  }
  explain(run, plan, first_attempt, seconds_of(run) - began);
}

}  // namespace orthant
