// SPDX-License-Identifier: Apache-2.0
// solver/separable_newton.cpp: Φ(λ) = 0 by semismooth Newton. See the header.
// J = diag(Φ_a) + diag(Φ_b) M with M = σ N σ; its pattern is that of N and never changes, so a
// sparse J is analysed once.
#include "orthant/solver/separable_newton.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/base/assert.hpp"
#include "orthant/math/factorisation.hpp"

namespace orthant {

struct SeparableNewtonWorkspace::Impl {
  VecX sigma, lo, hi;      // bounds of a = λ/σ
  VecX a, b, phi, da, db;  // Φ and its derivatives by a and b
  VecX trial, step, best, gradient;
  std::vector<double> history;
  JudgeWorkspace judge;

  MatX M, J, normal;
  SparseMatrix sparse_M, sparse_J;  // columns of M with the full diagonal stored
  SparseLu lu;
};

SeparableNewtonWorkspace::SeparableNewtonWorkspace() : impl_(std::make_unique<Impl>()) {}
SeparableNewtonWorkspace::~SeparableNewtonWorkspace() = default;
SeparableNewtonWorkspace::SeparableNewtonWorkspace(SeparableNewtonWorkspace&&) noexcept = default;
SeparableNewtonWorkspace& SeparableNewtonWorkspace::operator=(SeparableNewtonWorkspace&&) noexcept =
    default;

namespace {

using Work = SeparableNewtonWorkspace::Impl;

void set_bounds(const CanonicalProblem& p, const ProblemScale& scale, Work& work) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Index n = p.row_count();
  work.sigma = scale.tau.cwiseSqrt();
  work.lo.resize(n);
  work.hi.resize(n);
  Index at = 0;
  for (const Law& law : p.laws) {
    for (int i = 0; i < law.dim; ++i, ++at) {
      double lo = 0, hi = 0;  // Zero
      if (law.kind == LawKind::Free) lo = -kInfinite, hi = kInfinite;
      if (law.kind == LawKind::Orthant) hi = kInfinite;
      if (law.kind == LawKind::Box) lo = law.lo, hi = law.hi;
      work.lo[at] = lo / work.sigma[at];
      work.hi[at] = hi / work.sigma[at];
    }
  }
}

/// M = σ N σ, dense or as columns.
void set_matrix(const CanonicalProblem& p, bool dense, Work& work) {
  const Index n = p.row_count();
  std::vector<Eigen::Triplet<double, Index>> entries;
  if (dense) {
    work.M.setZero(n, n);
  } else {
    for (Index i = 0; i < n; ++i) entries.emplace_back(i, i, 0.0);
  }
  for (Index i = 0; i < p.F.row_block_count(); ++i) {
    const double* f = p.F.values(i);
    for (const BlockRows::Entry& entry : p.F.entries(i)) {
      for (Index r = p.F.row_begin(i); r < p.F.row_begin(i) + p.F.dim(i); ++r) {
        for (Index c = entry.column; c < entry.column + entry.width; ++c) {
          const double value = work.sigma[r] * *f++ * work.sigma[c];
          if (dense)
            work.M(r, c) += value;
          else
            entries.emplace_back(r, c, value);
        }
      }
    }
  }
  if (dense) return;
  work.sparse_M.resize(n, n);
  work.sparse_M.setFromTriplets(entries.begin(), entries.end());
  work.sparse_J = work.sparse_M;
  work.lu.analyze(work.sparse_J);
}

struct Function {
  double value, da, db;
};

Function min_map(double a, double b, double lo, double hi) {
  const double z = a - b;
  if (z < lo) return {a - lo, 1, 0};
  if (z > hi) return {a - hi, 1, 0};
  return {b, 0, 1};
}

/// x + y − √(x² + y²), the last term without cancellation for positive x, y.
Function fischer(double x, double y) {
  const double r = std::hypot(x, y);
  if (r == 0) return {0, 1 - 0.5 * std::numbers::sqrt2, 1 - 0.5 * std::numbers::sqrt2};
  const double value = x + y > 0 ? 2 * x * y / (x + y + r) : x + y - r;
  return {value, 1 - x / r, 1 - y / r};
}

Function fischer_bounded(double a, double b, double lo, double hi) {
  const bool low = std::isfinite(lo), high = std::isfinite(hi);
  if (!low && !high) return {b, 0, 1};
  if (lo == hi) return {a - lo, 1, 0};
  if (!high) return fischer(a - lo, b);
  const Function upper = fischer(hi - a, -b);
  if (!low) return {-upper.value, upper.da, upper.db};
  const Function lower = fischer(a - lo, -upper.value);
  return {lower.value, lower.da + lower.db * upper.da, lower.db * upper.db};
}

/// Φ at λ = σ a; returns |Φ|.
double evaluate(const CanonicalProblem& p, ComplementarityFunction function, const VecX& a,
                Work& work) {
  const Index n = p.row_count();
  work.step = work.sigma.cwiseProduct(a);
  work.b = p.b;
  if (!p.F.empty()) p.F.multiply_add(1, work.step, work.b);
  work.b = work.b.cwiseProduct(work.sigma);
  work.phi.resize(n);
  work.da.resize(n);
  work.db.resize(n);
  for (Index i = 0; i < n; ++i) {
    const Function f = function == ComplementarityFunction::MinMap
                           ? min_map(a[i], work.b[i], work.lo[i], work.hi[i])
                           : fischer_bounded(a[i], work.b[i], work.lo[i], work.hi[i]);
    work.phi[i] = f.value;
    work.da[i] = f.da;
    work.db[i] = f.db;
  }
  return work.phi.norm();
}

/// step = −J⁻¹ Φ; false when J is singular.
bool newton_step(bool dense, Work& work, double& cost) {
  const auto n = static_cast<Index>(work.phi.size());
  if (dense) {
    work.J.noalias() = work.db.asDiagonal() * work.M;
    work.J.diagonal() += work.da;
    const Eigen::PartialPivLU<MatX> lu(work.J);
    cost += static_cast<double>(n) * n * n / 3;
    if (!(lu.matrixLU().diagonal().cwiseAbs().minCoeff() > 1e-13)) return false;
    work.step = -lu.solve(work.phi);
  } else {
    for (Index j = 0; j < n; ++j) {
      for (Index k = work.sparse_J.outerIndexPtr()[j]; k < work.sparse_J.outerIndexPtr()[j + 1];
           ++k) {
        const Index i = work.sparse_J.innerIndexPtr()[k];
        work.sparse_J.valuePtr()[k] =
            work.db[i] * work.sparse_M.valuePtr()[k] + (i == j ? work.da[i] : 0.0);
      }
    }
    const bool good = work.lu.factorize(work.sparse_J);
    cost += work.lu.flops() + static_cast<double>(work.sparse_J.nonZeros());
    if (!good) return false;
    work.lu.solve(work.phi, work.step);
    work.step = -work.step;
  }
  return work.step.allFinite();
}

/// (JᵀJ + νI) step = −JᵀΦ: exists always and descends. Dense; sizes beyond it take the gradient.
void safe_step(bool dense, double norm, Work& work, double& cost) {
  if (dense) {
    work.J.noalias() = work.db.asDiagonal() * work.M;
    work.J.diagonal() += work.da;
    const auto n = static_cast<Index>(work.phi.size());
    work.gradient.noalias() = work.J.transpose() * work.phi;
    work.normal.noalias() = work.J.transpose() * work.J;
    const double shift =
        std::max(1e-10, std::min(1e-2, norm)) * (1e-12 + work.normal.diagonal().maxCoeff());
    work.normal.diagonal().array() += shift;
    const Eigen::LLT<MatX> llt(work.normal);
    work.step = -llt.solve(work.gradient);
    cost += 2.0 * n * n * n;
    return;
  }
  work.gradient = work.da.cwiseProduct(work.phi);
  work.trial = work.db.cwiseProduct(work.phi);
  work.gradient.noalias() += work.sparse_M.transpose() * work.trial;
  // The minimiser of |Φ + J s g|² along the steepest descent.
  work.step.noalias() = work.sparse_M * work.gradient;
  work.step = work.db.cwiseProduct(work.step) + work.da.cwiseProduct(work.gradient);
  const double curvature = work.step.squaredNorm();
  const double length = curvature > 0 ? work.gradient.squaredNorm() / curvature : 0.0;
  work.step = -length * work.gradient;
  cost += 3.0 * static_cast<double>(work.sparse_M.nonZeros());
}

/// Moves a along `step` until |Φ| is acceptable; false when no length is.
bool line_search(const CanonicalProblem& p, ComplementarityFunction function, double reference,
                 double shortest, Work& work, double& norm) {
  const VecX direction = work.step;
  for (double length = 1; length >= shortest; length *= 0.5) {
    work.trial = work.a + length * direction;
    const double value = evaluate(p, function, work.trial, work);
    if (value <= (1 - 1e-4 * length) * reference) {
      work.a = work.trial;
      norm = value;
      return true;
    }
  }
  norm = evaluate(p, function, work.a, work);
  return false;
}

}  // namespace

MethodResult solve_separable_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                    const SeparableNewtonSettings& settings,
                                    const MethodLimits& limits, SeparableNewtonWorkspace& workspace,
                                    Solution& x) {
  ORTHANT_ASSERT(p.is_local());
  Work& work = workspace.impl();
  MethodResult result;
  const ComplementarityFunction function = settings.function;
  const Method method =
      function == ComplementarityFunction::MinMap ? Method::MinMapNewton : Method::FischerNewton;
  const bool dense = p.row_count() <= settings.dense_rows;
  set_bounds(p, scale, work);
  set_matrix(p, dense, work);
  work.a = x.lambda.cwiseQuotient(work.sigma);
  work.best = x.lambda;
  double norm = evaluate(p, function, work.a, work);
  work.history.assign(1, norm);
  result.outcome = Outcome::IterationLimit;
  const int max_iterations = limits.iterations_or(settings.max_iterations);
  for (;; ++result.iterations) {
    x.lambda = work.sigma.cwiseProduct(work.a);
    // a on a bound means λ on it exactly, not to rounding.
    const double residual = judge_quick(p, scale, x, work.judge).value;
    limits.record(method, result.iterations, residual);
    if (residual < result.residual) result.residual = residual, work.best = x.lambda;
    if (residual <= limits.tolerance) {
      result.outcome = Outcome::Converged;
      break;
    }
    if (result.iterations >= max_iterations) break;
    if (limits.exhausted(result.work)) {
      result.outcome = Outcome::WorkLimit;
      break;
    }
    const double reference = *std::max_element(work.history.begin(), work.history.end());
    bool moved = newton_step(dense, work, result.work) &&
                 line_search(p, function, reference, 1e-4, work, norm);
    if (!moved) {
      safe_step(dense, norm, work, result.work);
      moved = work.step.allFinite() && line_search(p, function, norm, 1e-9, work, norm);
      work.history.clear();
    }
    if (!moved) {
      result.outcome = std::isfinite(norm) ? Outcome::Stalled : Outcome::NotFinite;
      break;
    }
    work.history.push_back(norm);
    if (static_cast<int>(work.history.size()) > settings.memory) {
      work.history.erase(work.history.begin());
    }
  }
  x.lambda = work.best;
  return result;
}

}  // namespace orthant
