// SPDX-License-Identifier: Apache-2.0
// solver/solve.cpp: (problem, settings, start) => answer and report. See solve.hpp.
// check → scale → islands → (closed form | plan) each → judge of the whole.
#include "orthant/solver/solve.hpp"

#include <algorithm>
#include <cmath>

#include "base/check_settings.hpp"
#include "orthant/solver/solve_fields.hpp"
#include "solver/island.hpp"
#include "solver/lone_block.hpp"
#include "solver/methods.hpp"

namespace orthant {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Converged:
      return "converged";
    case Outcome::IterationLimit:
      return "iteration limit";
    case Outcome::WorkLimit:
      return "work limit";
    case Outcome::Stalled:
      return "stalled";
    case Outcome::RayTermination:
      return "ray termination";
    case Outcome::Infeasible:
      return "infeasible";
    case Outcome::NotFinite:
      return "not finite";
  }
  return "unknown";
}

SolveWorkspace::SolveWorkspace() : impl_(std::make_unique<Impl>()) {}
SolveWorkspace::~SolveWorkspace() = default;
SolveWorkspace::SolveWorkspace(SolveWorkspace&&) noexcept = default;
SolveWorkspace& SolveWorkspace::operator=(SolveWorkspace&&) noexcept = default;

namespace {

/// Every number finite: a sum of x·0 is 0 only then. Four sums, so that none waits for the last.
bool all_finite(std::span<const double> x) {
  double s[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= x.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) s[k] += x[i + k] * 0.0;
  for (; i < x.size(); ++i) s[0] += x[i] * 0.0;
  return s[0] + s[1] + s[2] + s[3] == 0;
}
bool all_finite(const VecX& x) {
  return all_finite(std::span(x.data(), static_cast<std::size_t>(x.size())));
}

/// The numbers that change from step to step are looked at in every solve; the full check with its
/// messages runs only when something is wrong.
void check(const CanonicalProblem& p, const SolveSettings& settings) {
  check_settings(settings, "solve settings.");
  Index rows = 0;
  bool good = true;
  for (const Law& law : p.laws) {
    rows += law.dim;
    good = good && law.mu >= 0 && law.mu_r >= 0 && !(law.lo > law.hi);
  }
  good = good && p.k.size() == p.velocity_count() && p.e.size() == p.C.rows() &&
         p.b.size() == rows && (p.D.empty() || p.D.rows() == rows) &&
         (p.F.empty() || p.F.rows() == rows) && all_finite(p.k) && all_finite(p.e) &&
         all_finite(p.b) && all_finite(p.C.all_values()) && all_finite(p.D.all_values()) &&
         all_finite(p.F.all_values());
  if (!good) {
    validate(p, "solve");
    throw Error("solve", "the problem has a value that is not allowed");
  }
}

bool usable_start(const CanonicalProblem& p, const Solution& x) {
  return x.v.size() == p.velocity_count() && x.gamma.size() == p.bilateral_count() &&
         x.lambda.size() == p.row_count() && all_finite(x.v) && all_finite(x.gamma) &&
         all_finite(x.lambda);
}

bool has_impulses(const Solution& x) { return !x.lambda.isZero(0.0) || !x.gamma.isZero(0.0); }

/// The sum over the islands.
struct IslandTotals {
  Outcome outcome = Outcome::Converged;  // of the hardest: one that failed, else the most work
  Index closed_forms = 0;                // islands solved without a method
  double spent = 0, hardest = -1;
  bool judged =
      false;  // the one island is the whole problem, and the judge has just seen its answer
  Residual parts;
};

void add_up(const IslandRun& run, IslandTotals& totals) {
  totals.spent += run.spent;
  const bool failed = run.outcome != Outcome::Converged;
  const double hardness = failed ? std::numeric_limits<double>::infinity() : run.spent;
  if (hardness > totals.hardest) {
    totals.hardest = hardness;
    run.report.method = run.method;
    totals.outcome = run.outcome;
  }
}

/// What x is as a start.
struct Start {
  bool warm;   // the answer of a problem like this one
  bool given;  // the same, or at least its velocities
};

/// Solves every island, from x into x; islands of one block in place where `closed_form`.
IslandTotals solve_islands(const CanonicalProblem& p, const VelocitySolver& inverse,
                           const SolveSettings& settings, MethodLimits limits, Start start,
                           bool closed_form, SolveWorkspace::Impl& work, Solution& x,
                           SolveReport& report) {
  IslandTotals totals;
  const IslandSplit& split = work.split;
  for (Index i = 0; i < split.count; ++i) {
    if (closed_form && split.blocks_of(i).size() == 1 && split.joints_of(i).empty()) {
      const Index c = split.blocks_of(i)[0];
      if (solve_lone_block(p, work.scale, inverse, c, split.offsets[c], x)) {
        ++totals.closed_forms;
        continue;
      }
    }
    if (split.count == 1 && split.lone_velocities.empty()) {
      IslandRun run{p, work.scale, 0,        settings,   limits,     work,
                    x, report,     &inverse, start.warm, start.given};
      solve_island(run);
      add_up(run, totals);
      totals.judged = run.judged;
      totals.parts = run.parts;
      break;
    }
    extract_island(p, work.split, i, work.island);
    gather_scale(p, split, i, work.scale, work.island_scale);
    gather_solution(p, split, i, x, work.island_x);
    IslandRun run{
        work.island, work.island_scale, i,      settings, limits,
        work,        work.island_x,     report, nullptr,  start.warm && has_impulses(work.island_x),
        start.given};
    solve_island(run);
    scatter_solution(p, split, i, work.island_x, x);
    add_up(run, totals);
    if (settings.work_limit > 0) {
      limits.work_limit = std::max(settings.work_limit - totals.spent, 1.0);
    }
  }
  for (const Index block : split.lone_velocities) {
    const Index at = p.H.block_begin(block), n = p.H.block_size(block);
    x.v.segment(at, n) = work.scale.v_free.segment(at, n);
  }
  return totals;
}

/// The plan or the method asked for can run here; else an Error.
void check_method(const CanonicalProblem& p, const SolveSettings& settings,
                  SolveWorkspace::Impl& work) {
  if (!settings.plan.empty()) {
    if (settings.method != Method::Automatic)
      throw Error("solve", "a method and a plan were asked for; give one of them");
    work.given_plan = plan_of(settings.plan);
  } else if (settings.method != Method::Automatic) {
    const std::string reason = why_not_applicable(settings.method, p);
    if (!reason.empty()) throw Error("solve", reason);
  }
}

/// `free`: null where H has not been factorised yet.
void solve_with(const CanonicalProblem& p, const FreeMotion* free, const SolveSettings& settings,
                SolveWorkspace::Impl& work, Solution& x, SolveReport& report) {
  report.outcome = Outcome::NotFinite;
  report.method = settings.method;
  report.iterations = 0;
  report.attempts.clear();
  check(p, settings);
  check_method(p, settings, work);
  SolveTrace* trace =
      settings.trace != nullptr && settings.trace->explain ? settings.trace : nullptr;
  if (trace != nullptr) {
    trace->solves.emplace_back();
    if (trace->keep_problems) trace->solves.back().problem = p;
  }
  const Timer clock;
  if (free != nullptr) {
    work.scale.v_free = free->v_free;
    scale_of(p, free->inverse, work.scale_work, work.scale);
  } else {
    scale_of(p, work.scale_work, work.scale);
  }
  const VelocitySolver& inverse = free != nullptr ? free->inverse : work.scale_work.inverse;
  const bool warm = settings.use_warm_start && usable_start(p, x) && has_impulses(x);
  const bool given = warm || (settings.use_warm_start && usable_start(p, x) && !x.v.isZero(0.0));
  if (!settings.use_warm_start || !usable_start(p, x)) {
    x.gamma.setZero(p.bilateral_count());
    x.lambda.setZero(p.row_count());
    x.v = work.scale.v_free;
  }
  x.w.resize(p.row_count());
  find_islands(p, work.split);
  report.island_count = work.split.count;

  const MethodLimits limits{.tolerance = settings.tolerance,
                            .max_iterations = settings.max_iterations,
                            .work_limit = settings.work_limit,
                            .trace = settings.trace,
                            .clock = &clock,
                            .time_limit = settings.time_limit};
  // Islands of one block have their exact answer at once; if the judge does not agree, once more
  // with the methods.
  const bool automatic = settings.method == Method::Automatic && settings.plan.empty();
  Index closed_forms = 0;
  for (bool closed_form = automatic;; closed_form = false) {
    const IslandTotals totals =
        solve_islands(p, inverse, settings, limits, {warm, given}, closed_form, work, x, report);
    closed_forms = totals.closed_forms;
    const bool judged = totals.judged && free != nullptr;
    if (!judged) {
      report.residual = free != nullptr ? judge_quick(p, work.scale, x, work.judge)
                                        : judge(p, work.scale, x, inverse, work.judge);
      x.w = work.judge.w;
    } else {
      report.residual = totals.parts;
    }
    const bool good = report.residual.value <= settings.tolerance;
    report.outcome = good                                   ? Outcome::Converged
                     : totals.outcome == Outcome::Converged ? Outcome::Stalled
                                                            : totals.outcome;
    if (report.outcome != Outcome::Stalled || totals.closed_forms == 0) break;
  }
  if (trace != nullptr) {
    SolveTrace::Solve& solve = trace->solves.back();
    solve.closed_forms = closed_forms;
    solve.outcome = report.outcome;
    solve.residual = report.residual.value;
    solve.seconds = clock.seconds();
  }
}

}  // namespace

void solve(const CanonicalProblem& p, const SolveSettings& settings, SolveWorkspace& workspace,
           Solution& x, SolveReport& report) {
  solve_with(p, nullptr, settings, workspace.impl(), x, report);
}

void solve(const CanonicalProblem& p, const FreeMotion& free, const SolveSettings& settings,
           SolveWorkspace& workspace, Solution& x, SolveReport& report) {
  solve_with(p, &free, settings, workspace.impl(), x, report);
}

SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  SolveWorkspace& workspace, Solution& solution) {
  SolveReport report;
  solve(problem, settings, workspace, solution, report);
  return report;
}

SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  Solution& solution) {
  SolveWorkspace workspace;
  solution = zero_solution(problem);
  return solve(problem, settings, workspace, solution);
}

std::string why_not_applicable(Method method, const CanonicalProblem& problem) {
  if (method == Method::Automatic) return {};
  const std::string name(name_of(method));
  const MethodEntry* entry = find_method(method);
  // Islands are solved one by one, so each has to suit.
  IslandSplit split;
  find_islands(problem, split);
  CanonicalProblem island;
  for (Index i = 0; i < split.count; ++i) {
    extract_island(problem, split, i, island);
    const char* reason = entry->why_not(traits_of(island));
    if (reason != nullptr) return "method '" + name + "' does not apply: " + reason;
  }
  return {};
}

}  // namespace orthant
