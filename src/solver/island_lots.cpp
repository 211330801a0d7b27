// SPDX-License-Identifier: Apache-2.0
// solver/island_lots.cpp: (problem, islands, start) => the answers of all islands.
// Threads take lots of consecutive islands that are cut by their rows alone, each with scratch of
// its own, and what they report is added up in order: the same for any number of threads. Over a
// team each member solves islands of about equal work and tells the others.
#include "solver/island_lots.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>

#include "base/team.hpp"
#include "orthant/base/parallel.hpp"
#include "solver/lone_block.hpp"

namespace orthant::internal {
namespace {

constexpr std::size_t kLotRows = 256;

/// How one island ended.
struct IslandEnd {
  double spent = 0;
  Outcome outcome = Outcome::NotFinite;
  Method method = Method::Automatic;
};

void add_up(const IslandEnd& end, IslandTotals& totals) {
  const bool failed = end.outcome != Outcome::Converged;
  totals.add({.outcome = end.outcome,
              .method = end.method,
              .spent = end.spent,
              .hardest = failed ? std::numeric_limits<double>::infinity() : end.spent,
              .parts = {}});
}

/// By itself, from x into own.island_x.
IslandEnd solve_alone(const Islands& islands, const MethodLimits& limits, Index i,
                      const Solution& x, SolveWorkspace::Impl& own, SolveReport& report) {
  IslandSplit& split = islands.work.split;
  extract_island(islands.p, split, i, own.island);
  gather_scale(islands.p, split, i, islands.work.scale, own.island_scale);
  gather_solution(islands.p, split, i, x, own.island_x);
  const bool warm =
      islands.start.warm && (!own.island_x.lambda.isZero(0.0) || !own.island_x.gamma.isZero(0.0));
  IslandRun run{own.island, own.island_scale, i,    islands.settings,   limits, own, own.island_x,
                report,     nullptr,          warm, islands.start.given};
  solve_island(run);
  return {run.spent, run.outcome, run.method};
}

}  // namespace

/// Islands [begin, end), and what became of them.
struct IslandLots {
  struct Lot {
    Index begin = 0, end = 0;
    IslandTotals totals;
    SolveReport report;
  };
  std::vector<Lot> lots;
  std::mutex mutex;
  std::vector<std::unique_ptr<SolveWorkspace::Impl>> spare;  // scratch that no lot has

  std::unique_ptr<SolveWorkspace::Impl> borrow(const Plan& given) {
    std::unique_ptr<SolveWorkspace::Impl> own;
    {
      const std::scoped_lock lock(mutex);
      if (!spare.empty()) {
        own = std::move(spare.back());
        spare.pop_back();
      }
    }
    if (own == nullptr) own = std::make_unique<SolveWorkspace::Impl>();
    own->given_plan = given;
    return own;
  }
  void give_back(std::unique_ptr<SolveWorkspace::Impl> own) {
    const std::scoped_lock lock(mutex);
    spare.push_back(std::move(own));
  }

  void cut(const IslandSplit& split, bool whole) {
    std::size_t count = 0, rows = 0;
    for (Index i = 0; i < split.count; ++i) {
      if (count == 0 || (!whole && rows >= kLotRows)) {
        if (lots.size() == count) lots.emplace_back();
        Lot& lot = lots[count++];
        lot.begin = i;
        lot.totals = {};
        lot.report.iterations = 0;
        lot.report.attempts.clear();
        rows = 0;
      }
      lots[count - 1].end = i + 1;
      rows += split.blocks_of(i).size() + split.joints_of(i).size();
    }
    lots.resize(count);
  }
};

namespace {

/// In place where it is of one block and that has a closed form.
bool solve_in_place(const Islands& islands, Index i, Solution& x, IslandTotals& totals) {
  if (!islands.is_lone_block(i)) return false;
  const IslandSplit& split = islands.work.split;
  const Index c = split.blocks_of(i)[0];
  if (!solve_lone_block(islands.p, islands.work.scale, islands.inverse, c, split.offsets[c], x))
    return false;
  ++totals.closed_forms;
  return true;
}

void solve_lot(const Islands& islands, SolveWorkspace::Impl& own, Solution& x,
               IslandLots::Lot& lot) {
  MethodLimits limits = islands.limits;
  const double work_limit = islands.settings.work_limit;
  for (Index i = lot.begin; i < lot.end; ++i) {
    if (!islands.is_fresh(i) || solve_in_place(islands, i, x, lot.totals)) continue;
    add_up(solve_alone(islands, limits, i, x, own, lot.report), lot.totals);
    scatter_solution(islands.p, islands.work.split, i, own.island_x, x);
    if (work_limit > 0) limits.work_limit = std::max(work_limit - lot.totals.spent, 1.0);
  }
}

void solve_lots(const Islands& islands, Solution& x, IslandTotals& totals, SolveReport& report) {
  IslandLots& work = islands.work.lots.get();
  // A budget of work is spent island by island, each knowing what is left; a trace has an order.
  work.cut(islands.work.split, islands.settings.work_limit > 0 || islands.limits.trace != nullptr);
  if (work.lots.size() == 1) {
    solve_lot(islands, islands.work, x, work.lots[0]);
  } else {
    parallel_for(work.lots.size(), 1, [&](std::size_t begin, std::size_t end) {
      std::unique_ptr<SolveWorkspace::Impl> own = work.borrow(islands.work.given_plan);
      for (std::size_t k = begin; k < end; ++k) solve_lot(islands, *own, x, work.lots[k]);
      work.give_back(std::move(own));
    });
  }
  for (const IslandLots::Lot& lot : work.lots) {
    totals.add(lot.totals);
    report.iterations += lot.report.iterations;
    report.attempts.insert(report.attempts.end(), lot.report.attempts.begin(),
                           lot.report.attempts.end());
  }
}

// --- islands over a team ---

/// A member solves the whole of it; large ones in space all make together (solver/row_cut.hpp).
bool is_for_one(const Islands& islands, Index i) {
  const std::span<const Index> blocks = islands.work.split.blocks_of(i);
  if (islands.is_lone_block(i) || !islands.is_fresh(i)) return false;
  const std::span<const Index> bodies = islands.work.split.velocities_of(i);
  return !(static_cast<Index>(blocks.size()) >= kTogetherRows && !bodies.empty() &&
           islands.p.H.block_size(bodies[0]) == 6 &&
           islands.p.laws[static_cast<std::size_t>(blocks[0])].kind == LawKind::Orthant);
}

/// By itself, and tells of it; one that has not moved sends no answer.
void tell_island(const Islands& islands, Index i, const Solution& x, std::vector<std::byte>& out) {
  SolveWorkspace::Impl& work = islands.work;
  SolveReport report;
  put(out, solve_alone(islands, islands.limits, i, x, work, report));
  put(out, report.iterations);
  put(out, report.attempts.size());
  for (const Attempt& attempt : report.attempts) put(out, attempt);
  const Solution& now = work.island_x;
  Solution& before = work.found;
  gather_solution(islands.p, work.split, i, x, before);
  const bool moved = now.v != before.v || now.gamma != before.gamma || now.lambda != before.lambda;
  put(out, moved);
  if (!moved) return;
  for (const VecX* part : {&now.v, &now.gamma, &now.lambda})
    for (const double number : *part) put(out, number);
}

/// Solves the islands of this member and tells of those of all, in their order. Members have
/// islands in a row whose work, as their sizes say, is a fair share; each is alone with its own.
std::vector<std::byte> share_islands(const Islands& islands, Team& team, const Solution& x) {
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
IslandEnd take_shared(const Islands& islands, Index i, const std::byte*& at, Solution& x,
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

void solve_over_team(const Islands& islands, Team& team, Solution& x, IslandTotals& totals,
                     SolveReport& report) {
  SolveWorkspace::Impl& work = islands.work;
  const std::vector<std::byte> answers = share_islands(islands, team, x);
  const std::byte* next = answers.data();
  for (Index i = 0; i < work.split.count; ++i) {
    if (!islands.is_fresh(i) || solve_in_place(islands, i, x, totals)) continue;
    if (is_for_one(islands, i)) {
      add_up(take_shared(islands, i, next, x, report), totals);
    } else {
      add_up(solve_alone(islands, islands.limits, i, x, work, report), totals);
      scatter_solution(islands.p, work.split, i, work.island_x, x);
    }
  }
}

}  // namespace

void IslandTotals::add(const IslandTotals& other) {
  closed_forms += other.closed_forms;
  spent += other.spent;
  if (!(other.hardest > hardest)) return;
  hardest = other.hardest;
  outcome = other.outcome;
  method = other.method;
}

bool Islands::is_fresh(Index i) const {
  return fresh.empty() || std::ranges::any_of(work.split.blocks_of(i), [&](Index c) {
           return fresh[static_cast<std::size_t>(c)] != 0;
         });
}

IslandTotals solve_islands(const Islands& islands, Solution& x, SolveReport& report) {
  IslandTotals totals;
  SolveWorkspace::Impl& work = islands.work;
  const IslandSplit& split = work.split;
  if (split.count == 1 && split.lone_velocities.empty() && islands.fresh.empty()) {
    if (solve_in_place(islands, 0, x, totals)) return totals;
    IslandRun run{islands.p,
                  work.scale,
                  0,
                  islands.settings,
                  islands.limits,
                  work,
                  x,
                  report,
                  &islands.inverse,
                  islands.start.warm,
                  islands.start.given};
    solve_island(run);
    add_up({run.spent, run.outcome, run.method}, totals);
    totals.judged = run.judged;
    totals.parts = run.parts;
  } else if (team() != nullptr && split.count > 1 && islands.settings.work_limit == 0) {
    solve_over_team(islands, *team(), x, totals, report);
  } else {
    solve_lots(islands, x, totals, report);
  }
  if (totals.hardest >= 0) report.method = totals.method;
  for (const Index block : split.lone_velocities) {
    const Index at = islands.p.H.block_begin(block), n = islands.p.H.block_size(block);
    x.v.segment(at, n) = work.scale.v_free.segment(at, n);
  }
  return totals;
}

}  // namespace orthant::internal
