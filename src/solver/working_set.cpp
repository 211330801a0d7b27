// SPDX-License-Identifier: Apache-2.0
// solver/working_set.cpp: solve on few rows, look at all, take those in that overlap, again. The
// few rows mostly fall into islands: solve() is asked for them. Rows are only taken in. An
// early round need not be more exact than what the rows left out then ask for, and each starts
// where the last one ended, so all of them together take little more iterations than one solve with
// the right rows.
#include "solver/working_set.hpp"

#include <algorithm>
#include <cmath>

#include "solver/best_answer.hpp"
#include "solver/workspace.hpp"

namespace orthant::internal {
namespace {

class WorkingSet {
 public:
  WorkingSet(const CanonicalProblem& p, const ProblemScale& scale,
             const PairBlocksSettings& settings, const MethodLimits& limits,
             WorkingSetWorkspace& work, Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        w_(work),
        best_(Method::PairBlocks, p, scale, limits, std::numeric_limits<int>::max(), work.judge,
              x) {}

  MethodResult run() {
    if (!w_.inverse.factorize(p_.H)) return {};
    if (!start()) return result();
    double tolerance = std::max(best_.tolerance(), settings_.first_tolerance);
    for (int round = 0; round < settings_.max_rounds; ++round) {
      if (static_cast<Index>(w_.rows.size()) > p_.row_count() / settings_.few_push) break;
      const Outcome outcome = solve_rows(tolerance);
      const double residual = best_.consider(w_.candidate);
      if (best_.converged() || best_.exhausted()) break;
      const bool more = take_in();
      if (outcome != Outcome::Converged || (tolerance <= best_.tolerance() && !more)) break;
      tolerance = std::clamp(settings_.sharpen * residual, best_.tolerance(), tolerance);
    }
    return result();
  }

 private:
  /// The limit is one of each island: the iterations of many may add up to more without any of them
  /// having reached it.
  MethodResult result() const {
    MethodResult out = best_.result();
    if (out.outcome == Outcome::IterationLimit && longest_ < best_.max_iterations())
      out.outcome = std::isfinite(out.residual) ? Outcome::Stalled : Outcome::NotFinite;
    return out;
  }

  /// Velocities of the start and the rows they ask for; false where that is already the end.
  bool start() {
    Solution& s = w_.candidate;
    s.lambda = best_.answer().lambda.cwiseMax(0.0);
    s.gamma.resize(0);
    w_.impulse = p_.k;
    p_.D.multiply_transpose_add(1, s.lambda, w_.impulse);
    w_.inverse.solve(w_.impulse, s.v);
    (void)best_.consider(s);
    if (best_.converged() || best_.exhausted()) return false;
    w_.taken.assign(static_cast<std::size_t>(p_.row_count()), 0);
    w_.rows.clear();
    (void)take_in();
    return true;
  }

  /// Rows left out that push or overlap come in, kept in order; false when there are none.
  bool take_in() {
    const std::size_t known = w_.rows.size();
    for (Index i = 0; i < p_.row_count(); ++i) {
      if (w_.taken[static_cast<std::size_t>(i)]) continue;
      if (!(w_.candidate.lambda[i] > 0 || w_.judge.w[i] < 0)) continue;
      w_.taken[static_cast<std::size_t>(i)] = 1;
      w_.rows.push_back(i);
    }
    std::inplace_merge(w_.rows.begin(), w_.rows.begin() + static_cast<std::ptrdiff_t>(known),
                       w_.rows.end());
    return w_.rows.size() > known;
  }

  void extract() {
    CanonicalProblem& q = w_.problem;
    const auto count = static_cast<Index>(w_.rows.size());
    q.H = p_.H;
    q.k = p_.k;
    q.e.resize(0);
    q.D.clear();
    q.D.reserve(w_.rows.size(), 2 * w_.rows.size(), 12 * w_.rows.size());
    q.laws.clear();
    q.b.resize(count);
    w_.x.lambda.resize(count);
    for (Index j = 0; j < count; ++j) {
      const Index i = w_.rows[static_cast<std::size_t>(j)];
      q.laws.push_back(p_.laws[static_cast<std::size_t>(i)]);
      q.D.begin_row(1);
      const double* a = p_.D.values(i);
      for (const BlockRows::Entry& entry : p_.D.entries(i)) {
        std::copy_n(a, entry.width, q.D.add(entry.block, entry.column, entry.width));
        a += entry.width;
      }
      q.b[j] = p_.b[i];
      w_.x.lambda[j] = w_.candidate.lambda[i];
    }
    w_.x.v = w_.candidate.v;
    w_.x.gamma.resize(0);
    w_.x.w.resize(count);
  }

  /// From w_.candidate into it.
  Outcome solve_rows(double tolerance) {
    extract();
    find_islands(w_.problem, w_.split);
    Index largest = 0;
    for (Index i = 0; i < w_.split.count; ++i)
      largest = std::max(largest, static_cast<Index>(w_.split.blocks_of(i).size()));
    const MethodLimits limits = best_.rest();
    SolveSettings how{.plan = "pair_blocks:quick",
                      // Small parts of the problem cost less than a look at all rows.
                      .tolerance = largest < p_.row_count() / settings_.small_part
                                       ? best_.tolerance()
                                       : tolerance,
                      .max_iterations = limits.max_iterations,
                      .work_limit = limits.work_limit};
    if (limits.time_limit > 0)
      how.time_limit = std::max(limits.time_limit - limits.clock->seconds(), 1e-6);
    if (w_.solver == nullptr) w_.solver = std::make_unique<SolveWorkspace>();
    w_.solver->impl().closed_forms = true;
    solve(w_.problem, FreeMotion{w_.inverse, scale_.v_free}, how, *w_.solver, w_.x, w_.report);
    best_.iterations += w_.report.iterations;
    best_.work += static_cast<double>(p_.D.all_values().size());
    longest_ = 0;
    for (const Attempt& attempt : w_.report.attempts) {
      best_.work += attempt.work;
      longest_ = std::max(longest_, attempt.iterations);
    }
    w_.candidate.v = w_.x.v;
    for (std::size_t j = 0; j < w_.rows.size(); ++j)
      w_.candidate.lambda[w_.rows[j]] = w_.x.lambda[static_cast<Index>(j)];
    return w_.report.outcome;
  }

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PairBlocksSettings& settings_;
  WorkingSetWorkspace& w_;
  BestAnswer best_;
  int longest_ = 0;  // iterations of one island in the last round
};

}  // namespace

MethodResult solve_working_set(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairBlocksSettings& settings, const MethodLimits& limits,
                               WorkingSetWorkspace& work, Solution& x) {
  if (p.row_count() < settings.many_rows || p.block_count() != p.row_count()) return {};
  if (x.lambda.size() != p.row_count()) x = zero_solution(p);
  x.w.resize(0);
  return WorkingSet(p, scale, settings, limits, work, x).run();
}

}  // namespace orthant::internal
