// SPDX-License-Identifier: Apache-2.0
// learn/optimise.cpp: damped Gauss–Newton, BFGS and compass search in a box.
#include "orthant/learn/optimise.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <string>
#include <vector>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

constexpr double kArmijo = 1e-4;

void check_box(const VecX& lower, const VecX& upper, const VecX& start) {
  if (lower.size() != start.size() || upper.size() != start.size())
    throw Error("bounds", "need one pair an unknown");
  for (Index i = 0; i < start.size(); ++i) {
    if (!(lower[i] <= upper[i]))
      throw Error("bounds", "are empty: " + to_text(lower[i]) + " … " + to_text(upper[i]));
    if (!(start[i] >= lower[i] && start[i] <= upper[i]))
      throw Error("start", to_text(start[i]) + " is outside of " + to_text(lower[i]) + " … " +
                               to_text(upper[i]));
  }
}

VecX clip(const VecX& x, const VecX& lower, const VecX& upper) {
  return x.cwiseMax(lower).cwiseMin(upper);
}

/// Unknowns that may move: inside the box, or at a bound and pulled inwards.
std::vector<Index> free_set(const VecX& x, const VecX& g, const VecX& lower, const VecX& upper) {
  std::vector<Index> free;
  for (Index i = 0; i < x.size(); ++i) {
    const bool held =
        (x[i] <= lower[i] && g[i] > 0) || (x[i] >= upper[i] && g[i] < 0) || lower[i] == upper[i];
    if (!held) free.push_back(i);
  }
  return free;
}

/// −(A + ν diag A)⁻¹ g on the free unknowns, zero elsewhere. A direction nothing depends on has a
/// zero row: a tiny share of the largest entry keeps it still.
VecX damped_step(const MatX& A, const VecX& g, const std::vector<Index>& free, double damping) {
  const auto n = static_cast<Index>(free.size());
  MatX B(n, n);
  VecX rhs(n);
  double largest = 0;
  for (Index i = 0; i < n; ++i) largest = std::max(largest, std::abs(A(free[i], free[i])));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) B(i, j) = A(free[i], free[j]);
    B(i, i) += damping * std::abs(B(i, i)) + 1e-14 * largest + 1e-300;
    rhs[i] = -g[free[i]];
  }
  const VecX d = B.ldlt().solve(rhs);
  VecX out = VecX::Zero(g.size());
  for (Index i = 0; i < n; ++i) out[free[i]] = d[i];
  return out;
}

bool usable(const CostValue& value, bool curvature) {
  return std::isfinite(value.cost) && value.gradient.allFinite() &&
         (!curvature || value.curvature.allFinite());
}

/// Largest change of the cost, over the cost, that the gradient promises within the box.
double promised(const VecX& g, const std::vector<Index>& free, const VecX& scale, double cost) {
  double most = 0;
  for (const Index i : free) most = std::max(most, std::abs(g[i]) * scale[i]);
  return most / (std::abs(cost) + 1e-300);
}

double relative_step(const VecX& d, const VecX& scale) {
  return d.size() == 0 ? 0 : d.cwiseQuotient(scale).cwiseAbs().maxCoeff();
}

}  // namespace

std::string_view name_of(OptimiserStop stop) {
  switch (stop) {
    case OptimiserStop::SmallStep:
      return "small step";
    case OptimiserStop::SmallGradient:
      return "small gradient";
    case OptimiserStop::NoDescent:
      return "no descent";
    case OptimiserStop::IterationLimit:
      return "iteration limit";
    case OptimiserStop::Interrupted:
      return "interrupted";
    case OptimiserStop::NotFinite:
      break;
  }
  return "not finite";
}

VecX box_scale(const VecX& lower, const VecX& upper, const VecX& start) {
  VecX scale(start.size());
  for (Index i = 0; i < scale.size(); ++i) {
    const double width = upper[i] - lower[i];
    scale[i] = std::isfinite(width) && width > 0 ? width : std::max(1.0, std::abs(start[i]));
  }
  return scale;
}

OptimiserResult levenberg_marquardt(const CostFunction& f, const VecX& lower, const VecX& upper,
                                    const VecX& start, const OptimiserSettings& settings) {
  check_box(lower, upper, start);
  const VecX scale = box_scale(lower, upper, start);
  OptimiserResult out;
  out.x = start;
  CostValue now = f(start, true);
  ++out.evaluations;
  out.cost = now.cost;
  if (!usable(now, true)) return out;
  double damping = 1e-3;
  for (out.stop = OptimiserStop::IterationLimit; out.iterations < settings.max_iterations;) {
    const std::vector<Index> free = free_set(out.x, now.gradient, lower, upper);
    if (promised(now.gradient, free, scale, now.cost) <= settings.gradient_tolerance) {
      out.stop = OptimiserStop::SmallGradient;
      break;
    }
    bool moved = false, small = false;
    for (int tries = 0; tries < 12 && !moved; ++tries) {
      const VecX x =
          clip(out.x + damped_step(now.curvature, now.gradient, free, damping), lower, upper);
      small = relative_step(x - out.x, scale) <= settings.x_tolerance;
      if (small && tries > 0) break;
      const CostValue trial = f(x, false);
      ++out.evaluations;
      if (std::isfinite(trial.cost) && trial.cost < now.cost) {
        out.x = x;
        out.cost = trial.cost;
        damping = std::max(1e-12, damping * 0.2);
        moved = true;
      } else {
        if (small) break;
        damping = std::max(1e-6, damping * 6);
      }
    }
    if (!moved) {
      out.stop = small ? OptimiserStop::SmallStep : OptimiserStop::NoDescent;
      break;
    }
    ++out.iterations;
    if (settings.progress && !settings.progress(out.iterations, out.x, out.cost)) {
      out.stop = OptimiserStop::Interrupted;
      break;
    }
    if (small) {
      out.stop = OptimiserStop::SmallStep;
      break;
    }
    now = f(out.x, true);
    ++out.evaluations;
    if (!usable(now, true)) {
      out.stop = OptimiserStop::NotFinite;
      break;
    }
  }
  return out;
}

OptimiserResult projected_bfgs(const CostFunction& f, const VecX& lower, const VecX& upper,
                               const VecX& start, const OptimiserSettings& settings) {
  check_box(lower, upper, start);
  const VecX scale = box_scale(lower, upper, start);
  const Index n = static_cast<Index>(start.size());
  OptimiserResult out;
  out.x = start;
  CostValue now = f(start, true);
  ++out.evaluations;
  out.cost = now.cost;
  if (!usable(now, false)) return out;
  // First guess of the curvature: a first step of a tenth of the box at most.
  const VecX pull = now.gradient.cwiseProduct(scale).cwiseAbs();
  MatX A = MatX::Zero(n, n);
  for (Index i = 0; i < n; ++i)
    A(i, i) = 10 * std::max(pull.maxCoeff(), 1e-300) / (scale[i] * scale[i]);
  for (out.stop = OptimiserStop::IterationLimit; out.iterations < settings.max_iterations;) {
    const std::vector<Index> free = free_set(out.x, now.gradient, lower, upper);
    if (promised(now.gradient, free, scale, now.cost) <= settings.gradient_tolerance) {
      out.stop = OptimiserStop::SmallGradient;
      break;
    }
    const VecX direction = damped_step(A, now.gradient, free, 0);
    CostValue next;
    VecX x;
    bool moved = false;
    for (double length = 1; length > 1e-10 && !moved; length *= 0.4) {
      x = clip(out.x + length * direction, lower, upper);
      const VecX d = x - out.x;
      if (relative_step(d, scale) <= 0.01 * settings.x_tolerance) break;
      next = f(x, true);
      ++out.evaluations;
      moved = usable(next, false) && next.cost <= now.cost + kArmijo * now.gradient.dot(d) &&
              next.cost < now.cost;
    }
    if (!moved) {
      out.stop = OptimiserStop::NoDescent;
      break;
    }
    const VecX s = x - out.x, y = next.gradient - now.gradient, As = A * s;
    const double sy = s.dot(y), sAs = s.dot(As);
    // Powell's damping keeps A positive definite across kinks.
    const double theta = sy >= 0.2 * sAs ? 1 : 0.8 * sAs / (sAs - sy);
    const VecX z = theta * y + (1 - theta) * As;
    if (sAs > 0 && s.dot(z) > 0) A += z * z.transpose() / s.dot(z) - As * As.transpose() / sAs;
    const bool small = relative_step(s, scale) <= settings.x_tolerance;
    out.x = x;
    out.cost = next.cost;
    now = std::move(next);
    ++out.iterations;
    if (settings.progress && !settings.progress(out.iterations, out.x, out.cost)) {
      out.stop = OptimiserStop::Interrupted;
      break;
    }
    if (small) {
      out.stop = OptimiserStop::SmallStep;
      break;
    }
  }
  return out;
}

OptimiserResult pattern_search(const CostFunction& f, const VecX& lower, const VecX& upper,
                               const VecX& start, double step, const OptimiserSettings& settings) {
  check_box(lower, upper, start);
  const VecX scale = box_scale(lower, upper, start);
  const Index n = static_cast<Index>(start.size());
  OptimiserResult out;
  out.x = start;
  out.cost = f(start, false).cost;
  ++out.evaluations;
  if (!std::isfinite(out.cost)) return out;
  VecX last = VecX::Zero(n);
  const auto improve = [&](const VecX& d) {
    const VecX x = clip(out.x + d, lower, upper);
    if ((x - out.x).isZero(0)) return false;
    const double cost = f(x, false).cost;
    ++out.evaluations;
    if (!(cost < out.cost)) return false;
    last = x - out.x;
    out.x = x;
    out.cost = cost;
    return true;
  };
  for (out.stop = OptimiserStop::IterationLimit; out.iterations < settings.max_iterations;) {
    if (step <= settings.x_tolerance) {
      out.stop = OptimiserStop::SmallStep;
      break;
    }
    bool better = !last.isZero(0) && improve(last);
    for (Index i = 0; i < n && !better; ++i) {
      VecX d = VecX::Zero(n);
      d[i] = step * scale[i];
      better = improve(d) || improve(-d);
    }
    if (!better) {
      step *= 0.5;
      last.setZero();
    }
    ++out.iterations;
    if (settings.progress && !settings.progress(out.iterations, out.x, out.cost)) {
      out.stop = OptimiserStop::Interrupted;
      break;
    }
  }
  return out;
}

}  // namespace orthant
