// SPDX-License-Identifier: Apache-2.0
// solver/solve.cpp: (problem, settings, start) => answer and report. See solve.hpp.
// check → scale → islands → (closed form | plan) each → judge of the whole.
#include "orthant/solver/solve.hpp"

#include <algorithm>
#include <cmath>

#include "base/check_settings.hpp"
#include "base/team.hpp"
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

/// How one island ended.
struct IslandEnd {
  double spent = 0;
  Outcome outcome = Outcome::NotFinite;
  Method method = Method::Automatic;
};

void add_up(const IslandEnd& end, IslandTotals& totals, SolveReport& report) {
  totals.spent += end.spent;
  const bool failed = end.outcome != Outcome::Converged;
  const double hardness = failed ? std::numeric_limits<double>::infinity() : end.spent;
  if (hardness > totals.hardest) {
    totals.hardest = hardness;
    report.method = end.method;
    totals.outcome = end.outcome;
  }
}

/// What x is as a start.
struct Start {
  bool warm;   // the answer of a problem like this one
  bool given;  // the same, or at least its velocities
};

/// One problem while its islands are solved.
struct Islands {
  const CanonicalProblem& p;
  const VelocitySolver& inverse;
  const SolveSettings& settings;
  MethodLimits limits;
  Start start;
  bool closed_form;  // islands of one block are solved in place
  SolveWorkspace::Impl& work;

  bool is_lone_block(Index i) const {
    return closed_form && work.split.blocks_of(i).size() == 1 && work.split.joints_of(i).empty();
  }
  /// By itself, from x into work.island_x.
  IslandEnd solve(Index i, const Solution& x, SolveReport& report) {
    extract_island(p, work.split, i, work.island);
    gather_scale(p, work.split, i, work.scale, work.island_scale);
    gather_solution(p, work.split, i, x, work.island_x);
    IslandRun run{
        work.island, work.island_scale, i,      settings, limits,
        work,        work.island_x,     report, nullptr,  start.warm && has_impulses(work.island_x),
        start.given};
    solve_island(run);
    return {run.spent, run.outcome, run.method};
  }
};

// --- islands over a team ---

/// A member solves the whole of it; large ones in space all make together (solver/row_cut.hpp).
bool is_for_one(const Islands& islands, Index i) {
  const std::span<const Index> blocks = islands.work.split.blocks_of(i);
  if (islands.is_lone_block(i)) return false;
  const std::span<const Index> bodies = islands.work.split.velocities_of(i);
  return !(static_cast<Index>(blocks.size()) >= kTogetherRows && !bodies.empty() &&
           islands.p.H.block_size(bodies[0]) == 6 &&
           islands.p.laws[static_cast<std::size_t>(blocks[0])].kind == LawKind::Orthant);
}

/// By itself, and tells of it; one that has not moved sends no answer.
void tell_island(Islands& islands, Index i, const Solution& x, std::vector<std::byte>& out) {
  SolveReport report;
  put(out, islands.solve(i, x, report));
  put(out, report.iterations);
  put(out, report.attempts.size());
  for (const Attempt& attempt : report.attempts) put(out, attempt);
  const Solution& now = islands.work.island_x;
  Solution& before = islands.work.found;
  gather_solution(islands.p, islands.work.split, i, x, before);
  const bool moved = now.v != before.v || now.gamma != before.gamma || now.lambda != before.lambda;
  put(out, moved);
  if (!moved) return;
  for (const VecX* part : {&now.v, &now.gamma, &now.lambda})
    for (const double number : *part) put(out, number);
}

/// Solves the islands of this member and tells of those of all, in their order. Members have
/// islands in a row whose work, as their sizes say, is a fair share; each is alone with its own.
std::vector<std::byte> share_islands(Islands islands, Team& team, const Solution& x) {
  const IslandSplit& split = islands.work.split;
  const auto weight = [&](Index i) {
    if (!is_for_one(islands, i)) return 0.0;
    const auto rows = static_cast<double>(split.blocks_of(i).size() + split.joints_of(i).size());
    return rows * std::sqrt(rows);
  };
  double all = 0, sum = 0;
  for (Index i = 0; i < split.count; ++i) all += weight(i);
  std::vector<std::byte> out;
  const TeamScope alone(nullptr);
  for (Index i = 0; i < split.count; ++i) {
    const double own = weight(i), middle = sum + 0.5 * own;
    sum += own;
    if (!(own > 0)) continue;
    const auto rank = std::min(static_cast<int>(team.size() * (middle / all)), team.size() - 1);
    if (rank == team.rank()) tell_island(islands, i, x, out);
  }
  return team.gather(out);
}

/// The next of share_islands(), from where x is the start of the island into x.
IslandEnd take_shared(Islands& islands, Index i, const std::byte*& at, Solution& x,
                      SolveReport& report) {
  IslandEnd end;
  take(at, end);
  int iterations = 0;
  take(at, iterations);
  report.iterations += iterations;
  std::size_t attempts = 0;
  take(at, attempts);
  for (; attempts > 0; --attempts) take(at, report.attempts.emplace_back());
  bool moved = false;
  take(at, moved);
  if (!moved) return end;
  Solution& own = islands.work.island_x;
  gather_solution(islands.p, islands.work.split, i, x, own);
  for (VecX* part : {&own.v, &own.gamma, &own.lambda})
    for (double& number : *part) take(at, number);
  scatter_solution(islands.p, islands.work.split, i, own, x);
  return end;
}

/// Solves every island, from x into x.
IslandTotals solve_islands(Islands islands, Solution& x, SolveReport& report) {
  IslandTotals totals;
  const CanonicalProblem& p = islands.p;
  SolveWorkspace::Impl& work = islands.work;
  const IslandSplit& split = work.split;
  const SolveSettings& settings = islands.settings;
  // A budget of work is spent island by island, each knowing what is left.
  const bool shared = team() != nullptr && split.count > 1 && settings.work_limit == 0;
  std::vector<std::byte> answers;
  if (shared) answers = share_islands(islands, *team(), x);
  const std::byte* next = answers.data();
  for (Index i = 0; i < split.count; ++i) {
    if (islands.is_lone_block(i)) {
      const Index c = split.blocks_of(i)[0];
      if (solve_lone_block(p, work.scale, islands.inverse, c, split.offsets[c], x)) {
        ++totals.closed_forms;
        continue;
      }
    }
    if (split.count == 1 && split.lone_velocities.empty()) {
      IslandRun run{p,
                    work.scale,
                    0,
                    settings,
                    islands.limits,
                    work,
                    x,
                    report,
                    &islands.inverse,
                    islands.start.warm,
                    islands.start.given};
      solve_island(run);
      add_up({run.spent, run.outcome, run.method}, totals, report);
      totals.judged = run.judged;
      totals.parts = run.parts;
      break;
    }
    if (shared && is_for_one(islands, i)) {
      add_up(take_shared(islands, i, next, x, report), totals, report);
      continue;
    }
    add_up(islands.solve(i, x, report), totals, report);
    scatter_solution(p, split, i, work.island_x, x);
    if (settings.work_limit > 0)
      islands.limits.work_limit = std::max(settings.work_limit - totals.spent, 1.0);
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
  if (settings.time_limit > 0 && team() != nullptr)
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
  const bool automatic = settings.method == Method::Automatic;
  Index closed_forms = 0;
  for (bool closed_form = automatic;; closed_form = false) {
    const IslandTotals totals =
        solve_islands({p, inverse, settings, limits, {warm, given}, closed_form, work}, x, report);
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
