// SPDX-License-Identifier: Apache-2.0
// solver/lemke_work.hpp: what the two stages of Lemke share: dictionaries and scratch.
#pragma once

#include <Eigen/LU>
#include <vector>

#include "solver/lemke.hpp"
#include "solver/mixed_lcp.hpp"

namespace orthant {
namespace internal {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A pivot below this share of its column is noise. Entries have unit scale (mixed_lcp.hpp).
inline constexpr double kLemkePivot = 1e-11;

/// basic = T nonbasic + t
struct LemkeDictionary {
  RowMatrix T;
  VecX t;
  VecX column;  // scratch

  void exchange(Index r, Index c) {
    const double pivot = T(r, c), inverse = 1 / pivot;
    column = T.col(c);
    T.row(r) *= -inverse;
    T(r, c) = inverse;
    t[r] *= -inverse;
    const double* row = T.row(r).data();
    const Index n = static_cast<Index>(T.cols());
    for (Index i = 0; i < T.rows(); ++i) {
      const double f = column[i];
      if (i == r || f == 0) continue;
      double* target = T.row(i).data();
      for (Index j = 0; j < n; ++j) target[j] += f * row[j];
      target[c] = f * inverse;
      t[i] += f * t[r];
    }
  }
};

}  // namespace internal

struct LemkeWork {
  MixedLcp lcp;
  internal::LemkeDictionary full;  // of the mixed LCP, while equations are pivoted in
  std::vector<Index> rows_left;    // equations whose slack is still basic
  std::vector<Index> columns_left;
  std::vector<Index> redundant_rows, redundant;  // equations that say nothing, idle variables
  std::vector<Index> rows, members;              // of the current basis
  std::vector<Index> pairs;                      // index in the mixed LCP of each pair
  std::vector<std::uint8_t> active;              // z of this variable is in the basis

  // Lemke on the pairs: w' = M' z' + q' + d z₀; a swapped pair has w' = z, z' = s.
  internal::RowMatrix M;
  VecX q, cover;
  std::vector<std::uint8_t> swapped;
  internal::LemkeDictionary path;
  std::vector<Index> basic, nonbasic;  // variable k < m: w'_k, m + k: z'_k, 2m: z₀
  std::vector<Index> place;            // variable => row r (basic) or −1 − column (nonbasic)
  std::vector<Index> ties;
  VecX z, residual;
  Solution candidate;
  MatX B;
  Eigen::PartialPivLU<MatX> lu;
  VecX rhs, solved;
  JudgeWorkspace judge;
  double work = 0;
  int pivots = 0;
};

namespace internal {

enum class Crash : std::uint8_t { Done, Contradiction, Stuck };
/// Pivots every free variable into the basis and every equation's slack out of it.
Crash pivot_equations(LemkeWork& work);
/// M', q' of the pairs for the basis that pivot_equations() chose.
void extract_pairs(LemkeWork& work);
/// Rows and columns of the basis: free variables that do something and the active pairs.
void list_basis(LemkeWork& work);

}  // namespace internal
}  // namespace orthant
