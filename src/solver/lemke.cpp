// SPDX-License-Identifier: Apache-2.0
// solver/lemke.cpp: mixed LCP => complementary basis => answer. See lemke.hpp.
//
// Everything is a dictionary  basic = T nonbasic + t,  changed by exchanging one basic with one
// nonbasic variable. An equation's slack is zero for ever once it is nonbasic and a free variable
// never leaves the basis, so both are struck out and Lemke's path walks on the pairs alone.
#include "solver/lemke.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "solver/best_answer.hpp"
#include "solver/lemke_work.hpp"

namespace orthant {

namespace {

using internal::Crash;
using internal::RowMatrix;
using Work = LemkeWork;

// Ratios closer than this (for constants of size one) are a tie for the lexicographic rule.
constexpr double kTie = 1e-12;

/// Covering vector number `attempt`: ones first, then other positive directions. Fixed numbers,
/// so that the same problem takes the same path.
void choose_cover(Work& work, int attempt) {
  const auto m = static_cast<Index>(work.q.size());
  work.cover.resize(m);
  for (Index i = 0; i < m; ++i) {
    const double golden = std::fmod((i + 1) * 0.6180339887498949 * attempt, 1.0);
    work.cover[i] = attempt == 0 ? 1.0 : 0.2 + 2 * golden;
  }
}

void start_path(Work& work) {
  const auto m = static_cast<Index>(work.q.size());
  work.path.T.resize(m, m + 1);
  work.path.T.leftCols(m) = work.M;
  work.path.T.col(m) = work.cover;
  work.path.t = work.q;
  work.basic.resize(m);
  work.nonbasic.resize(m + 1);
  work.place.resize(2 * m + 1);
  for (Index i = 0; i < m; ++i) {
    work.basic[i] = i;
    work.nonbasic[i] = m + i;
    work.place[i] = i;
    work.place[m + i] = -1 - i;
  }
  work.nonbasic[m] = 2 * m;
  work.place[2 * m] = -1 - m;
}

void exchange(Work& work, Index r, Index c) {
  work.path.exchange(r, c);
  std::swap(work.basic[r], work.nonbasic[c]);
  work.place[work.basic[r]] = r;
  work.place[work.nonbasic[c]] = -1 - c;
  ++work.pivots;
  work.work += static_cast<double>(work.path.T.size());
}

/// Entry k of row r of the inverse basis: what a perturbation εᵏ of q_k adds to that row.
double perturbation(const Work& work, Index r, Index k) {
  const Index where = work.place[k];
  return where >= 0 ? (where == r ? 1.0 : 0.0) : -work.path.T(r, -1 - where);
}

/// Of the rows in `ties` the lexicographically smallest (row r of B⁻¹)/speed_r.
Index break_tie(Work& work, Index c) {
  const auto m = static_cast<Index>(work.q.size());
  for (Index k = 0; k < m && work.ties.size() > 1; ++k) {
    double least = std::numeric_limits<double>::infinity();
    const auto ratio = [&](Index r) {
      return perturbation(work, r, k) / std::abs(work.path.T(r, c));
    };
    for (const Index r : work.ties) least = std::min(least, ratio(r));
    std::erase_if(work.ties,
                  [&](Index r) { return ratio(r) > least + kTie * (1 + std::abs(least)); });
  }
  return work.ties.front();
}

/// The row that becomes negative first when column c grows; −1 on a ray.
Index leaving_row(Work& work, Index c) {
  const auto m = static_cast<Index>(work.q.size());
  const RowMatrix& T = work.path.T;
  const VecX& t = work.path.t;
  double fastest = 0, size = 0;
  for (Index i = 0; i < m; ++i) {
    fastest = std::max(fastest, std::abs(T(i, c)));
    size = std::max(size, std::abs(t[i]));
  }
  const double noise = std::max(internal::kLemkePivot * std::min(fastest, 1.0), 1e-15 * fastest);
  double least = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < m; ++i) {
    if (T(i, c) < -noise) least = std::min(least, std::max(t[i], 0.0) / -T(i, c));
  }
  if (std::isinf(least)) return -1;
  work.ties.clear();
  for (Index i = 0; i < m; ++i) {
    if (T(i, c) >= -noise) continue;
    if (std::max(t[i], 0.0) <= (least * -T(i, c)) + kTie * size) {
      if (work.basic[i] == 2 * m) return i;  // z₀ may leave: done
      work.ties.push_back(i);
    }
  }
  return break_tie(work, c);
}

/// Recomputes the dictionary from M', q', d and the basis when the pivots have lost accuracy.
void refresh_if_drifted(Work& work) {
  const auto m = static_cast<Index>(work.q.size());
  VecX& z = work.z;
  z.setZero(m);
  double z0 = 0, size = 1e-300;
  work.residual = -work.q;  // w − M z − q − d z₀
  for (Index r = 0; r < m; ++r) {
    const Index variable = work.basic[r];
    size = std::max(size, std::abs(work.path.t[r]));
    if (variable < m)
      work.residual[variable] += work.path.t[r];
    else if (variable < 2 * m)
      z[variable - m] = work.path.t[r];
    else
      z0 = work.path.t[r];
  }
  work.residual.noalias() -= work.M * z;
  work.residual -= z0 * work.cover;
  work.work += static_cast<double>(m) * m;
  if (work.residual.cwiseAbs().maxCoeff() <= 1e-10 * size) return;
  // B x_B = q with columns e_k, −M_k, −d;  T = −B⁻¹ N.
  const auto fill = [&](Index variable, auto&& column) {
    if (variable < m)
      column = VecX::Unit(m, variable);
    else if (variable < 2 * m)
      column = -work.M.col(variable - m);
    else
      column = -work.cover;
  };
  MatX N(m, m + 1);
  work.B.resize(m, m);
  for (Index r = 0; r < m; ++r) fill(work.basic[r], work.B.col(r));
  for (Index c = 0; c <= m; ++c) fill(work.nonbasic[c], N.col(c));
  const Eigen::PartialPivLU<MatX> lu(work.B);
  const MatX T = -lu.solve(N);
  if (T.allFinite()) {
    work.path.T = T;
    work.path.t = lu.solve(work.q);
  }
  work.work += 2.0 * m * m * m;
}

enum class Path : std::uint8_t { Solved, Ray, Limit };

Path follow_path(Work& work, int max_pivots, const MethodLimits& limits) {
  const auto m = static_cast<Index>(work.q.size());
  start_path(work);
  const double size = m > 0 ? work.q.cwiseAbs().maxCoeff() : 0.0;
  if (m == 0 || work.q.minCoeff() >= -1e-15 * size) return Path::Solved;
  // z₀ enters: the row that needs the most of it leaves, lexicographically so.
  double most = 0;
  for (Index i = 0; i < m; ++i) most = std::max(most, -work.q[i] / work.cover[i]);
  work.ties.clear();
  for (Index i = 0; i < m; ++i) {
    if (-work.q[i] / work.cover[i] >= most * (1 - kTie)) work.ties.push_back(i);
  }
  Index row = break_tie(work, m), column = m;
  for (int step = 1; step <= max_pivots; ++step) {
    const Index leaving = work.basic[row];
    exchange(work, row, column);
    if (leaving == 2 * m) return Path::Solved;
    if (step % 16 == 0) {
      refresh_if_drifted(work);
      if (limits.exhausted(work.work)) return Path::Limit;
    }
    const Index entering = leaving < m ? leaving + m : leaving - m;
    column = -1 - work.place[entering];
    row = leaving_row(work, column);
    if (row < 0) return Path::Ray;
  }
  return Path::Limit;
}

/// Solves for the basic z from the original data: M_AA z_A = −q_A, refined once.
void polish(Work& work) {
  const MixedLcp& lcp = work.lcp;
  internal::list_basis(work);
  const std::vector<Index>&rows = work.rows, &members = work.members;
  const auto n = static_cast<Index>(members.size());
  work.z.setZero(lcp.size());
  if (n == 0) return;
  work.B.resize(n, n);
  work.rhs.resize(n);
  for (Index i = 0; i < n; ++i) {
    work.rhs[i] = -lcp.q[rows[i]];
    for (Index j = 0; j < n; ++j) work.B(i, j) = lcp.M(rows[i], members[j]);
  }
  work.lu.compute(work.B);
  work.solved = work.lu.solve(work.rhs);
  work.rhs.noalias() -= work.B * work.solved;
  work.residual = work.lu.solve(work.rhs);
  if (work.residual.allFinite()) work.solved += work.residual;
  work.work += static_cast<double>(n) * n * n / 3;
  for (Index j = 0; j < n; ++j) {
    const double value = work.solved[j];
    work.z[members[j]] = lcp.is_free[members[j]] ? value : std::max(value, 0.0);
  }
}

}  // namespace

MethodResult solve_lemke(const CanonicalProblem& p, const ProblemScale& scale,
                         const LemkeSettings& settings, const MethodLimits& limits,
                         LemkeWorkspace& workspace, Solution& x) {
  ORTHANT_ASSERT(p.is_local());
  Work& work = workspace.get();
  work.work = 0;
  work.pivots = 0;
  work.lcp.build(p, scale);
  const Index n = work.lcp.size();
  work.active.assign(static_cast<std::size_t>(n), 0);
  work.pairs.clear();
  work.rows_left.clear();
  work.columns_left.clear();
  work.redundant.clear();
  work.redundant_rows.clear();
  for (Index i = 0; i < n; ++i) {
    if (work.lcp.is_free[i])
      work.rows_left.push_back(i), work.columns_left.push_back(i);
    else
      work.pairs.push_back(i);
  }
  internal::BestAnswer best(Method::Lemke, p, scale, limits, 50 * n + 1000, work.judge, x);
  (void)best.begin();
  const auto result = [&](Outcome outcome) {
    best.iterations = work.pivots;
    best.work = work.work;
    return best.result(outcome);
  };
  const Crash crash = n > 0 ? internal::pivot_equations(work) : Crash::Done;
  if (crash == Crash::Contradiction) return result(Outcome::Infeasible);
  if (crash == Crash::Stuck) return result(Outcome::Stalled);
  internal::extract_pairs(work);
  Outcome outcome = Outcome::RayTermination;
  work.candidate = x;
  for (int attempt = 0; attempt < std::max(settings.covering_vectors, 1); ++attempt) {
    choose_cover(work, attempt);
    const Path path = follow_path(work, best.max_iterations(), limits);
    if (path == Path::Limit)
      return result(limits.exhausted(work.work) ? Outcome::WorkLimit : Outcome::IterationLimit);
    if (path == Path::Ray) continue;
    const auto m = static_cast<Index>(work.pairs.size());
    for (Index i = 0; i < m; ++i) {
      const bool z_basic = work.place[m + i] >= 0;
      work.active[work.pairs[i]] = z_basic != static_cast<bool>(work.swapped[i]);
    }
    polish(work);
    work.lcp.impulse_of(work.z, work.candidate.lambda);
    best.iterations = work.pivots;
    (void)best.consider(work.candidate);
    if (best.converged()) return result(Outcome::Converged);
    outcome = Outcome::Stalled;
  }
  return result(outcome);
}

}  // namespace orthant
