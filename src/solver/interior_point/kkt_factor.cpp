// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/kkt_factor.cpp: K => LDLᵀ or LU. See kkt_factor.hpp.
#include "solver/interior_point/kkt_factor.hpp"

#include <algorithm>

namespace orthant::interior_point {
void KktFactor::analyze(const SparseMatrix& K, Index primal, bool symmetric,
                        const InteriorPointSettings& settings) {
  settings_ = settings;
  const Index n = static_cast<Index>(K.rows());
  const Kind wanted = symmetric                  ? Kind::Ldlt
                      : n > settings_.panel_rows ? Kind::PanelLu
                                                 : Kind::PivotedLu;
  const Index* outer = K.outerIndexPtr();
  const Index* inner = K.innerIndexPtr();
  const bool known = wanted == wanted_ && primal == primal_ &&
                     std::equal(outer_.begin(), outer_.end(), outer, outer + n + 1) &&
                     std::equal(inner_.begin(), inner_.end(), inner, inner + K.nonZeros());
  if (!known) {
    outer_.assign(outer, outer + n + 1);
    inner_.assign(inner, inner + K.nonZeros());
    std::fill(analysed_, analysed_ + 3, false);
    primal_ = primal;
    wanted_ = wanted;
  }
  analyze_as(wanted, K);
}

void KktFactor::analyze_as(Kind kind, const SparseMatrix& K) {
  kind_ = kind;
  bool& done = analysed_[static_cast<int>(kind)];
  if (!done || kind == Kind::PivotedLu) {
    // The pivoted factor remembers its last pivots; a fresh analysis forgets them, so that the
    // answer does not depend on what was solved before.
    if (kind == Kind::Ldlt) collect_upper(K), ldlt_.analyze(upper_);
    if (kind == Kind::PanelLu) panel_.analyze(K);
    if (kind == Kind::PivotedLu) pivoted_.analyze(K);
  }
  done = true;
  flops_ = 0;
}

void KktFactor::collect_upper(const SparseMatrix& K) {
  const Index n = static_cast<Index>(K.rows());
  source_.clear();
  std::vector<Index> rows, begin(1, 0);
  for (Index c = 0; c < n; ++c) {
    for (Index e = K.outerIndexPtr()[c]; e < K.outerIndexPtr()[c + 1]; ++e) {
      if (K.innerIndexPtr()[e] > c) continue;
      source_.push_back(e);
      rows.push_back(K.innerIndexPtr()[e]);
    }
    begin.push_back(static_cast<Index>(rows.size()));
  }
  upper_.resize(n, n);
  upper_.resizeNonZeros(static_cast<Index>(rows.size()));
  std::copy(begin.begin(), begin.end(), upper_.outerIndexPtr());
  std::copy(rows.begin(), rows.end(), upper_.innerIndexPtr());
  signs_.assign(static_cast<std::size_t>(n), -1);
  std::fill(signs_.begin(), signs_.begin() + primal_, static_cast<signed char>(1));
}

bool KktFactor::factorize(const SparseMatrix& K) {
  bool done = false;
  switch (kind_) {
    case Kind::Ldlt:
      for (std::size_t e = 0; e < source_.size(); ++e) {
        const double value = K.valuePtr()[source_[e]];
        upper_.valuePtr()[e] = upper_.innerIndexPtr()[e] < primal_ ? value : -value;
      }
      done = ldlt_.factorize(upper_, signs_, settings_.pivot_floor);
      if (flops_ == 0) flops_ = ldlt_.flops(), nonzeros_ = static_cast<double>(ldlt_.nonzeros());
      break;
    case Kind::PanelLu:
      done = panel_.factorize(K, settings_.pivot_floor);
      if (flops_ == 0)
        flops_ = panel_.flops(), nonzeros_ = 2.0 * static_cast<double>(panel_.nonzeros());
      break;
    case Kind::PivotedLu:
      done = pivoted_.refactorize(K);
      if (flops_ == 0)
        flops_ = pivoted_.flops(), nonzeros_ = static_cast<double>(pivoted_.nonzeros());
      break;
  }
  return done || pivot_instead(K);
}

bool KktFactor::pivot_instead(const SparseMatrix& K) {
  if (kind_ == Kind::PivotedLu || K.rows() > settings_.pivoted_rows) return false;
  analyze_as(Kind::PivotedLu, K);
  return factorize(K);
}

void KktFactor::solve(const VecX& rhs, VecX& x) {
  switch (kind_) {
    case Kind::Ldlt:
      flipped_ = rhs;
      flipped_.tail(flipped_.size() - primal_) *= -1;
      return ldlt_.solve(flipped_, x);
    case Kind::PanelLu:
      return panel_.solve(rhs, x);
    case Kind::PivotedLu:
      return pivoted_.solve(rhs, x);
  }
}

}  // namespace orthant::interior_point
