// SPDX-License-Identifier: Apache-2.0
// solver/lemke_equations.cpp: mixed LCP => the LCP of its pairs: free variables are pivoted into
// the basis, equations out of it.
#include <algorithm>
#include <cmath>

#include "solver/lemke_work.hpp"

namespace orthant::internal {
namespace {

using Work = LemkeWork;

/// Largest |T| over the given rows and columns.
double largest(const RowMatrix& T, const std::vector<Index>& rows,
               const std::vector<Index>& columns, std::size_t& r, std::size_t& c) {
  double best = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double value = std::abs(T(rows[i], columns[j]));
      if (value > best) best = value, r = i, c = j;
    }
  }
  return best;
}

/// Exchanges an equation r with the z of a pair and the pair's slack with the free variable c.
bool exchange_with_pair(Work& work) {
  LemkeDictionary& d = work.full;
  double best = 0;
  std::size_t best_r = 0, best_c = 0;
  Index best_pair = -1;
  for (const Index pair : work.pairs) {
    for (std::size_t i = 0; i < work.rows_left.size(); ++i) {
      const double a = std::abs(d.T(work.rows_left[i], pair));
      if (a <= best) continue;
      for (std::size_t j = 0; j < work.columns_left.size(); ++j) {
        const double size = std::min(a, std::abs(d.T(pair, work.columns_left[j])));
        if (size > best) best = size, best_r = i, best_c = j, best_pair = pair;
      }
    }
  }
  if (!(best > kLemkePivot)) return false;
  const Index r = work.rows_left[best_r], c = work.columns_left[best_c];
  d.exchange(r, best_pair);
  d.exchange(best_pair, c);
  // The pair's z is now basic in row r and its slack nonbasic in column c; keep them at the pair's
  // own place so that one index names a pair.
  d.T.row(r).swap(d.T.row(best_pair));
  std::swap(d.t[r], d.t[best_pair]);
  d.T.col(c).swap(d.T.col(best_pair));
  work.active[best_pair] ^= 1;
  work.rows_left.erase(work.rows_left.begin() + static_cast<std::ptrdiff_t>(best_r));
  work.columns_left.erase(work.columns_left.begin() + static_cast<std::ptrdiff_t>(best_c));
  return true;
}

/// The LCP of the pairs for the basis K that pivot_equations() chose (free variables and swapped
/// pairs), from the original data: z_K = −M_KK⁻¹(M_KR z_R − s_K + q_K) put into the other rows.
/// Extended precision where it is cheap, since circuits come with condition numbers of 1e13 and
/// every later pivot inherits the error made here.
template <class Scalar>
void eliminate_equations(Work& work) {
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  const MixedLcp& lcp = work.lcp;
  const auto m = static_cast<Index>(work.pairs.size());
  const auto k = static_cast<Index>(work.members.size());
  Matrix K(k, k), X(k, m + 1);
  for (Index i = 0; i < k; ++i) {
    const Index row = work.rows[i];
    for (Index j = 0; j < k; ++j) K(i, j) = lcp.M(row, work.members[j]);
    for (Index j = 0; j < m; ++j) {
      const Index pair = work.pairs[j];
      X(i, j) = work.active[pair] ? (pair == row ? -1.0 : 0.0) : lcp.M(row, pair);
    }
    X(i, m) = lcp.q[row];
  }
  const Eigen::PartialPivLU<Matrix> lu(K);
  X = lu.solve(X).eval();
  Matrix rest(1, k), row(1, m + 1);
  for (Index i = 0; i < m; ++i) {
    const Index pair = work.pairs[i];
    if (work.active[pair]) {
      const auto at = std::find(work.members.begin(), work.members.end(), pair);
      row = -X.row(at - work.members.begin());
    } else {
      for (Index j = 0; j < k; ++j) rest(0, j) = lcp.M(pair, work.members[j]);
      for (Index j = 0; j < m; ++j) {
        row(0, j) = work.active[work.pairs[j]] ? 0.0 : lcp.M(pair, work.pairs[j]);
      }
      row(0, m) = lcp.q[pair];
      row.noalias() -= rest * X;
    }
    for (Index j = 0; j < m; ++j) work.M(i, j) = static_cast<double>(row(0, j));
    work.q[i] = static_cast<double>(row(0, m));
  }
  work.work += static_cast<double>(k) * k * (k + m) + static_cast<double>(m) * m * k;
}

}  // namespace

Crash pivot_equations(Work& work) {
  const MixedLcp& lcp = work.lcp;
  LemkeDictionary& d = work.full;
  d.T = lcp.M;
  d.t = lcp.q;
  const double size = std::max(lcp.q.cwiseAbs().maxCoeff(), 1e-300);
  while (!work.rows_left.empty()) {
    std::size_t r = 0, c = 0;
    if (largest(d.T, work.rows_left, work.columns_left, r, c) > kLemkePivot) {
      const Index row = work.rows_left[r], column = work.columns_left[c];
      d.exchange(row, column);
      work.rows_left.erase(work.rows_left.begin() + static_cast<std::ptrdiff_t>(r));
      work.columns_left.erase(work.columns_left.begin() + static_cast<std::ptrdiff_t>(c));
    } else if (!exchange_with_pair(work)) {
      break;
    }
    ++work.pivots;
    work.work += static_cast<double>(d.T.size());
  }
  // What is left has no pivot among equations; drop rows that read 0 = 0.
  for (const Index row : work.rows_left) {
    double entries = 0;
    for (const Index pair : work.pairs) entries = std::max(entries, std::abs(d.T(row, pair)));
    if (entries > kLemkePivot) return Crash::Stuck;
    if (std::abs(d.t[row]) > 1e-9 * size) return Crash::Contradiction;
  }
  work.redundant_rows = work.rows_left;
  work.redundant = work.columns_left;
  return Crash::Done;
}

void list_basis(Work& work) {
  const auto listed = [](const std::vector<Index>& list, Index i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  };
  work.rows.clear();
  work.members.clear();
  for (Index i = 0; i < work.lcp.size(); ++i) {
    const bool free = work.lcp.is_free[i] != 0;
    if (free ? !listed(work.redundant_rows, i) : work.active[i] != 0) work.rows.push_back(i);
    if (free ? !listed(work.redundant, i) : work.active[i] != 0) work.members.push_back(i);
  }
}

void extract_pairs(Work& work) {
  const auto m = static_cast<Index>(work.pairs.size());
  work.M.resize(m, m);
  work.q.resize(m);
  work.swapped.resize(work.pairs.size());
  for (Index i = 0; i < m; ++i) work.swapped[i] = work.active[work.pairs[i]];
  list_basis(work);
  if (work.members.empty()) {
    for (Index i = 0; i < m; ++i) {
      work.q[i] = work.lcp.q[work.pairs[i]];
      for (Index j = 0; j < m; ++j) work.M(i, j) = work.lcp.M(work.pairs[i], work.pairs[j]);
    }
  } else if (work.members.size() <= 256) {
    eliminate_equations<long double>(work);
  } else {
    eliminate_equations<double>(work);
  }
}

}  // namespace orthant::internal
