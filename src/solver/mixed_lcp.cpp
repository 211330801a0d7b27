// SPDX-License-Identifier: Apache-2.0
// solver/mixed_lcp.cpp: laws => complementary pairs. See mixed_lcp.hpp.
#include "solver/mixed_lcp.hpp"

#include <cmath>

#include "math/each_value.hpp"
#include "orthant/base/assert.hpp"

namespace orthant {

int MixedLcp::pairs_of(const Law& law) {
  switch (law.kind) {
    case LawKind::Zero:
    case LawKind::Free:
      return 0;
    case LawKind::Orthant:
      return law.dim;
    case LawKind::Box:
      if (law.lo == law.hi) return 0;
      return law.dim * (static_cast<int>(std::isfinite(law.lo)) + std::isfinite(law.hi));
    default:
      return law.mu > 0 ? 3 : 1;
  }
}

Index MixedLcp::add(const Variable& variable, bool free, double constant) {
  variables_.push_back(variable);
  is_free.push_back(free);
  constants_.push_back(constant);
  if (!free) ++pair_count;
  return static_cast<Index>(variables_.size()) - 1;
}

void MixedLcp::add_equation(Index row, double sigma) {
  add({{row, -1}, {sigma, 0}, row, sigma}, true, 0);
}

void MixedLcp::add_bounds(const Law& law, Index row, double sigma) {
  const double lo = law.kind == LawKind::Orthant ? 0.0 : law.lo;
  const double hi = law.kind == LawKind::Orthant ? std::numeric_limits<double>::infinity() : law.hi;
  if (lo == hi) {
    shift_[row] = lo;
  } else if (std::isfinite(lo)) {
    shift_[row] = lo;
    const Index z = add({{row, -1}, {sigma, 0}, row, sigma}, false, 0);
    if (!std::isfinite(hi)) return;
    const Index y = add({}, false, (hi - lo) / sigma);
    direct_.push_back({z, y, 1.0});
    direct_.push_back({y, z, -1.0});
  } else if (std::isfinite(hi)) {
    shift_[row] = hi;
    add({{row, -1}, {-sigma, 0}, row, -sigma}, false, 0);
  } else {
    add_equation(row, sigma);
  }
}

void MixedLcp::add_planar(const Law& law, Index row, double sigma_n, double sigma_t) {
  Variable normal{{row, row + 1}, {sigma_n, -law.mu * sigma_n}, row, sigma_n};
  if (law.mu == 0) normal.row[1] = -1;
  const Index n = add(normal, false, 0);
  if (law.mu == 0) return;
  const Index plus = add({{row + 1, -1}, {sigma_t, 0}, row + 1, sigma_t}, false, 0);
  const Index minus = add({}, false, 0);
  direct_.push_back({plus, minus, 1.0});
  direct_.push_back({minus, n, 2 * law.mu * sigma_n / sigma_t});
  direct_.push_back({minus, plus, -1.0});
}

void MixedLcp::build(const CanonicalProblem& p, const ProblemScale& scale) {
  variables_.clear();
  direct_.clear();
  constants_.clear();
  is_free.clear();
  pair_count = 0;
  shift_.setZero(p.row_count());
  Index row = 0;
  for (const Law& law : p.laws) {
    ORTHANT_ASSERT(accepts(law));
    if (law.is_frictional()) {
      add_planar(law, row, std::sqrt(scale.tau[row]), std::sqrt(scale.tau[row + 1]));
    } else if (law.kind != LawKind::Zero) {
      for (Index r = row; r < row + law.dim; ++r) {
        if (law.kind == LawKind::Free)
          add_equation(r, std::sqrt(scale.tau[r]));
        else
          add_bounds(law, r, std::sqrt(scale.tau[r]));
      }
    }
    row += law.dim;
  }
  N_.setZero(p.row_count(), p.row_count());
  each_value(p.F, [&](Index r, Index c, double a) { N_(r, c) += a; });
  velocity_ = p.b;
  if (!shift_.isZero(0.0)) velocity_.noalias() += N_ * shift_;
  const auto n = static_cast<Index>(variables_.size());
  M.setZero(n, n);
  q.resize(n);
  for (Index j = 0; j < n; ++j) {
    const Variable& z = variables_[j];
    for (int part = 0; part < 2; ++part) {
      if (z.row[part] < 0) continue;
      for (Index i = 0; i < n; ++i) {
        const Variable& s = variables_[i];
        if (s.slack_row >= 0) {
          M(i, j) += s.slack_factor * N_(s.slack_row, z.row[part]) * z.factor[part];
        }
      }
    }
    q[j] = constants_[j] + (z.slack_row >= 0 ? z.slack_factor * velocity_[z.slack_row] : 0.0);
  }
  for (const Direct& entry : direct_) M(entry.slack, entry.variable) += entry.value;
  equilibrate();
}

/// Brings the largest entry of every row and column near one (Ruiz 2001). Powers of two: exact.
void MixedLcp::equilibrate() {
  const Index n = size();
  column_scale_.setOnes(n);
  const auto step = [](double largest) {
    return largest > 0 ? std::exp2(-std::round(0.5 * std::log2(largest))) : 1.0;
  };
  for (int round = 0; round < 10; ++round) {
    row_step_.setZero(n);
    column_step_.setZero(n);
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) {
        const double a = std::abs(M(i, j));
        row_step_[i] = std::max(row_step_[i], a);
        column_step_[j] = std::max(column_step_[j], a);
      }
    }
    bool balanced = true;
    for (Index i = 0; i < n; ++i) {
      row_step_[i] = step(row_step_[i]);
      column_step_[i] = step(column_step_[i]);
      balanced = balanced && row_step_[i] == 1 && column_step_[i] == 1;
    }
    if (balanced) break;
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < n; ++i) M(i, j) *= row_step_[i] * column_step_[j];
      q[j] *= row_step_[j];
      column_scale_[j] *= column_step_[j];
    }
  }
}

void MixedLcp::impulse_of(const VecX& z, VecX& lambda) const {
  lambda = shift_;
  for (Index j = 0; j < size(); ++j) {
    for (int part = 0; part < 2; ++part) {
      if (variables_[j].row[part] >= 0) {
        lambda[variables_[j].row[part]] += variables_[j].factor[part] * column_scale_[j] * z[j];
      }
    }
  }
}

}  // namespace orthant
