// SPDX-License-Identifier: Apache-2.0
// solver/enumeration.cpp: every subset A of pairs => z_A = −M_AA⁻¹ q_A, kept if z_A, s ≥ 0.
// A singular M_AA asks instead whether q lies in the cone of the basis' columns at all:
// non-negative least squares (Lawson and Hanson 1974), exact on sizes like these.
#include "solver/enumeration.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "solver/best_answer.hpp"
#include "solver/mixed_lcp.hpp"

namespace orthant {

int pair_count(const CanonicalProblem& p) {
  int pairs = 0;
  for (const Law& law : p.laws) {
    if (!MixedLcp::accepts(law)) return -1;
    pairs += MixedLcp::pairs_of(law);
  }
  return pairs;
}

namespace {

/// min |A x − y| with x ≥ 0 except where `free`; returns |A x − y|.
double nonnegative_least_squares(const MatX& A, const VecX& y, const std::vector<bool>& free,
                                 VecX& x) {
  const auto n = static_cast<Index>(A.cols());
  std::vector<bool> passive = free;
  x.setZero(n);
  const auto solve_passive = [&](VecX& out) {
    std::vector<Index> columns;
    for (Index j = 0; j < n; ++j) {
      if (passive[j]) columns.push_back(j);
    }
    out.setZero(n);
    if (columns.empty()) return;
    const auto k = static_cast<Index>(columns.size());
    MatX P(A.rows(), k);
    for (Index j = 0; j < k; ++j) P.col(j) = A.col(columns[j]);
    const VecX part = P.completeOrthogonalDecomposition().solve(y);
    for (Index j = 0; j < k; ++j) out[columns[j]] = part[j];
  };
  VecX trial;
  solve_passive(x);
  const double size = y.norm();
  // Every round lowers the error or ends; the bounds only guard against rounding.
  for (Index round = 0; round < 10 * n + 10; ++round) {
    const VecX gradient = A.transpose() * (y - A * x);
    Index enter = -1;
    for (Index j = 0; j < n; ++j) {
      if (passive[j] || gradient[j] <= 1e-11 * size) continue;
      if (enter < 0 || gradient[j] > gradient[enter]) enter = j;
    }
    if (enter < 0) break;
    passive[enter] = true;
    for (Index inner = 0; inner <= n; ++inner) {
      solve_passive(trial);
      double length = 1;
      for (Index j = 0; j < n; ++j) {
        if (passive[j] && !free[j] && trial[j] < 0) {
          length = std::min(length, x[j] / (x[j] - trial[j]));
        }
      }
      x += length * (trial - x);
      if (length == 1) break;
      for (Index j = 0; j < n; ++j) {
        if (passive[j] && !free[j] && x[j] <= 1e-14 * size) passive[j] = false, x[j] = 0;
      }
    }
  }
  return (A * x - y).norm();
}

constexpr double kRounding = 1e-10;  // how negative a z or w of unit scale may be

/// The bases of a mixed LCP, one at a time.
struct BasisSearch {
  const MixedLcp& lcp;
  double size = lcp.size() > 0 ? lcp.q.cwiseAbs().maxCoeff() : 0.0;
  bool singular = false;  // the basis at hand
  VecX z = VecX::Zero(lcp.size());

  bool feasible() const {
    if (lcp.size() == 0) return true;
    const VecX s = lcp.M * z + lcp.q;
    const double slack = kRounding * (size + z.cwiseAbs().maxCoeff());
    for (Index i = 0; i < lcp.size(); ++i) {
      const bool good =
          lcp.is_free[i] ? std::abs(s[i]) <= 1e2 * slack
                         : z[i] >= -slack && s[i] >= -slack && std::min(z[i], s[i]) <= 1e2 * slack;
      if (!good) return false;
    }
    return true;
  }

  /// z of the basis with these z (and all other slacks); false when it has no solution.
  bool try_basis(const std::vector<Index>& members) {
    const auto k = static_cast<Index>(members.size());
    z.setZero(lcp.size());
    singular = false;
    if (k == 0) return feasible();
    MatX K(k, k);
    VecX rhs(k);
    for (Index i = 0; i < k; ++i) {
      rhs[i] = -lcp.q[members[i]];
      for (Index j = 0; j < k; ++j) K(i, j) = lcp.M(members[i], members[j]);
    }
    Eigen::FullPivLU<MatX> lu(K);
    lu.setThreshold(1e-12);
    if (!lu.isInvertible()) {
      singular = true;
      return try_singular(members);
    }
    VecX solved = lu.solve(rhs);
    solved += lu.solve(rhs - K * solved);
    for (Index i = 0; i < k; ++i) z[members[i]] = solved[i];
    return feasible();
  }

  /// q = s − M z with z on the members, s on the other pairs, both non-negative.
  bool try_singular(const std::vector<Index>& members) {
    const Index n = lcp.size();
    MatX A = MatX::Identity(n, n);
    std::vector<bool> free(static_cast<std::size_t>(n), false);
    for (const Index i : members) {
      A.col(i) = -lcp.M.col(i);
      free[i] = lcp.is_free[i] != 0;
    }
    VecX x;
    const double error = nonnegative_least_squares(A, lcp.q, free, x);
    if (error > 1e-9 * (size + x.cwiseAbs().maxCoeff())) return false;
    for (const Index i : members) z[i] = x[i];
    return feasible();
  }
};

}  // namespace

AllSolutions enumerate_all(const CanonicalProblem& p, const ProblemScale& scale) {
  ORTHANT_ASSERT(p.is_local());
  MixedLcp lcp;
  lcp.build(p, scale);
  ORTHANT_ASSERT(lcp.pair_count <= kMaxEnumeratedPairs);
  BasisSearch search{lcp};
  AllSolutions out;
  std::vector<Index> members;
  VecX lambda;
  for (std::uint32_t set = 0; set < (1U << lcp.pair_count); ++set) {
    members.clear();
    int pair = 0;
    for (Index i = 0; i < lcp.size(); ++i) {
      if (lcp.is_free[i] || (set >> pair++ & 1U)) members.push_back(i);
    }
    if (!search.try_basis(members)) continue;
    out.continuum = out.continuum || search.singular;
    lcp.impulse_of(search.z, lambda);
    // A degenerate solution belongs to several bases.
    bool known = false;
    for (const VecX& other : out.lambda) {
      known = known || (other - lambda).norm() <= 1e-8 * (1e-300 + lambda.norm() + other.norm());
    }
    if (!known) out.lambda.push_back(lambda);
  }
  return out;
}

MethodResult solve_enumeration(const CanonicalProblem& p, const ProblemScale& scale,
                               const MethodLimits& limits, Solution& x) {
  JudgeWorkspace judge;
  const AllSolutions all = enumerate_all(p, scale);
  const int pairs = std::max(pair_count(p), 0);  // enumerate_all() refuses other laws
  const double rows = p.row_count();
  internal::BestAnswer best(Method::Enumeration, p, scale, limits, 0, judge, x);
  (void)best.begin();
  best.iterations = 1 << pairs;
  best.work = best.iterations * (rows * rows * rows / 3 + rows * rows);
  Solution candidate = x;
  for (const VecX& lambda : all.lambda) {
    candidate.lambda = lambda;
    (void)best.consider(candidate);
  }
  return best.result(best.converged()     ? Outcome::Converged
                     : all.lambda.empty() ? Outcome::Infeasible
                                          : Outcome::Stalled);
}

}  // namespace orthant
