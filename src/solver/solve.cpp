// SPDX-License-Identifier: Apache-2.0
// solver/solve.cpp: (problem, settings, start) => answer and report. See solve.hpp.
// check → scale → islands → (closed form | plan) each → judge of the whole.
#include "orthant/solver/solve.hpp"

#include <algorithm>
#include <cmath>

#include "base/check_settings.hpp"
#include "base/team.hpp"
#include "orthant/solver/solve_fields.hpp"
#include "solver/few_rows.hpp"
#include "solver/methods.hpp"

namespace orthant {

using internal::IslandTotals;
using internal::ProblemPart;

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

/// What x has to begin from, the same on all members that have a part of it.
struct StartKind {
  bool usable = false, impulses = false, velocities = false;
};

StartKind kind_of_start(const CanonicalProblem& p, const Solution& x, const SolveSettings& settings,
                        const ProblemPart* part) {
  StartKind start;
  start.usable = settings.use_warm_start && usable_start(p, x);
  start.impulses = start.usable && has_impulses(x);
  start.velocities = start.usable && !x.v.isZero(0.0);
  if (part == nullptr) return start;
  const std::vector<std::byte> all = part->team.gather(std::as_bytes(std::span(&start, 1)));
  StartKind whole{true, false, false};
  for (const std::byte* at = all.data(); at != all.data() + all.size();) {
    StartKind other;
    take(at, other);
    whole.usable = whole.usable && other.usable;
    whole.impulses = whole.impulses || other.impulses;
    whole.velocities = whole.velocities || other.velocities;
  }
  whole.impulses = whole.impulses && whole.usable;
  whole.velocities = whole.velocities && whole.usable;
  return whole;
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

/// `free`: null where H has not been factorised yet. `part`: null where the problem is whole; then
/// false where it has to be solved whole.
bool solve_with(const CanonicalProblem& p, const FreeMotion* free, const SolveSettings& settings,
                const ProblemPart* part, SolveWorkspace::Impl& work, Solution& x,
                SolveReport& report) {
  report.outcome = Outcome::NotFinite;
  report.method = settings.method;
  report.iterations = 0;
  report.attempts.clear();
  check(p, settings);
  if (settings.time_limit > 0 && (team() != nullptr || part != nullptr))
    throw Error("solve settings.time_limit",
                "cannot be kept on several ranks: their clocks differ");
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
  const StartKind start = kind_of_start(p, x, settings, part);
  const bool warm = start.impulses, given = start.impulses || start.velocities;
  if (!start.usable) {
    x.gamma.setZero(p.bilateral_count());
    x.lambda.setZero(p.row_count());
    x.v = work.scale.v_free;
  }
  x.w.resize(p.row_count());

  const MethodLimits limits{.tolerance = settings.tolerance,
                            .max_iterations = settings.max_iterations,
                            .work_limit = settings.work_limit,
                            .trace = settings.trace,
                            .clock = &clock,
                            .time_limit = settings.time_limit};
  // Islands of one block have their exact answer at once; if the judge does not agree, once more
  // with the methods.
  const bool automatic =
      settings.method == Method::Automatic && (settings.plan.empty() || work.closed_forms);
  const auto tell = [&](Index closed_forms) {
    if (trace == nullptr) return;
    SolveTrace::Solve& solve = trace->solves.back();
    solve.closed_forms = closed_forms;
    solve.outcome = report.outcome;
    solve.residual = report.residual.value;
    solve.seconds = clock.seconds();
  };
  const bool few =
      automatic && settings.plan.empty() && settings.work_limit == 0 && settings.time_limit == 0 &&
      !settings.siconos_too &&
      (part != nullptr || (p.row_count() >= internal::kManyRows && internal::may_have_few_rows(p)));
  report.island_count = 0;
  Index closed_forms = 0;
  if (few && internal::solve_few_rows({p, inverse, settings, limits, {warm, given}, true, work},
                                      part, x, report, closed_forms)) {
    if (free == nullptr) {
      report.residual = judge(p, work.scale, x, inverse, work.judge);
      x.w = work.judge.w;
    }
    tell(closed_forms);
    return true;
  }
  if (part != nullptr) return false;
  find_islands(p, work.split);
  report.island_count = work.split.count;
  for (bool closed_form = automatic;; closed_form = false) {
    const IslandTotals totals = internal::solve_islands(
        {p, inverse, settings, limits, {warm, given}, closed_form, work}, x, report);
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
  tell(closed_forms);
  return true;
}

}  // namespace

void solve(const CanonicalProblem& p, const SolveSettings& settings, SolveWorkspace& workspace,
           Solution& x, SolveReport& report) {
  (void)solve_with(p, nullptr, settings, nullptr, workspace.impl(), x, report);
}

void solve(const CanonicalProblem& p, const FreeMotion& free, const SolveSettings& settings,
           SolveWorkspace& workspace, Solution& x, SolveReport& report) {
  (void)solve_with(p, &free, settings, nullptr, workspace.impl(), x, report);
}

void internal::solve_part(const CanonicalProblem& p, const FreeMotion& free,
                          const SolveSettings& settings, const ProblemPart& part,
                          SolveWorkspace& workspace, Solution& x, SolveReport& report) {
  if (solve_with(p, &free, settings, &part, workspace.impl(), x, report)) return;
  Whole whole;
  gather_whole(p, part, x, whole);
  const TeamScope together(&part.team);
  (void)solve_with(whole.problem, &free, settings, nullptr, workspace.impl(), whole.x, report);
  take_from_whole(whole, part, x);
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
