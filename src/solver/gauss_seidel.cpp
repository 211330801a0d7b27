// SPDX-License-Identifier: Apache-2.0
// solver/gauss_seidel.cpp: local problem => λ by sweeps of exact block solves. See the header.
// The judge costs about a sweep, so it is asked at growing intervals.
#include "solver/gauss_seidel.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "solver/one_contact_kernel.hpp"

namespace orthant {
namespace {

/// Rows of block c, D of them where the compiler knows (D = 0: as many as it has):
/// q_c = b_c + Σ_{j≠c} N_cj λ_j.
template <int D>
inline void velocity_without(const CanonicalProblem& p, Index c, const double* lambda, double* q) {
  const Index dim = D > 0 ? D : p.laws[c].dim;
  const double* b = p.b.data() + p.F.row_begin(c);
  const double* a = p.F.values(c);
  for (Index r = 0; r < dim; ++r) q[r] = b[r];
  for (const BlockRows::Entry& entry : p.F.entries(c)) {
    const Index width = D > 0 ? D : entry.width;
    if (entry.block != c) {
      const double* x = lambda + entry.column;
      for (Index r = 0; r < dim; ++r) {
        double s = a[r * width] * x[0];
        for (Index j = 1; j < width; ++j) s += a[r * width + j] * x[j];
        q[r] += s;
      }
    }
    a += dim * width;
  }
}

/// Separable blocks, also of more rows than a cone may have: entry by entry.
void sweep_entries(const CanonicalProblem& p, Index c, const double* W, double* lambda) {
  const Law& law = p.laws[c];
  const Index at = p.F.row_begin(c), dim = law.dim;
  for (Index r = 0; r < dim; ++r) {
    double q = p.b[at + r];
    const double* a = p.F.values(c);
    for (const BlockRows::Entry& entry : p.F.entries(c)) {
      for (Index j = 0; j < entry.width; ++j) {
        q += a[r * entry.width + j] * lambda[entry.column + j];
      }
      a += dim * entry.width;
    }
    const double diagonal = W != nullptr ? W[r * dim + r] : 0.0;
    double x = lambda[at + r];
    q -= diagonal * x;
    (void)solve_entry(law, diagonal, q, &x);
    lambda[at + r] = x;
  }
}

/// All blocks of D rows, as they are in nearly all of practice; D = 0: of any number.
template <int D>
void sweep(const CanonicalProblem& p, std::span<const double* const> diagonal, double* lambda) {
  static constexpr double kNoMass[kMaxLawDim * kMaxLawDim] = {};
  for (Index c = 0; c < p.block_count(); ++c) {
    const Law& law = p.laws[c];
    if (D != 1 && law.is_separable()) {
      sweep_entries(p, c, diagonal[c], lambda);
      continue;
    }
    const int dim = D > 0 ? D : law.dim;
    double q[kMaxLawDim], r[kMaxLawDim];
    double* own = lambda + p.F.row_begin(c);
    velocity_without<D>(p, c, lambda, q);
    std::copy_n(own, dim, r);
    (void)solve_one_block(law, diagonal[c] != nullptr ? diagonal[c] : kNoMass, q, r);
    std::copy_n(r, dim, own);
  }
}

using Sweep = void (*)(const CanonicalProblem&, std::span<const double* const>, double*);

Sweep sweep_for(const CanonicalProblem& p) {
  const int dim = p.laws.empty() ? 0 : p.laws.front().dim;
  const bool alike = !p.F.empty() && std::all_of(p.laws.begin(), p.laws.end(),
                                                 [&](const Law& law) { return law.dim == dim; });
  return alike && dim == 1   ? sweep<1>
         : alike && dim == 2 ? sweep<2>
         : alike && dim == 3 ? sweep<3>
                             : sweep<0>;
}

/// Sweeps between two looks of the judge: few at first, then a third of those done.
int next_check(int sweep) { return sweep + std::clamp(sweep / 3, 1, 25); }

struct Mark {
  int sweep = 0;
  double residual = std::numeric_limits<double>::infinity();
};

/// The local problem: λ in place, N by rows.
struct LocalSweeps {
  const CanonicalProblem& p;
  const ProblemScale& scale;
  GaussSeidelWorkspace& work;
  Solution& x;
  Sweep sweep;

  bool at_zero() const { return x.lambda.isZero(0.0); }
  double work_per_sweep() const {
    return static_cast<double>(p.F.all_values().size()) + 30.0 * p.block_count();
  }
  void run() { sweep(p, work.diagonal, x.lambda.data()); }
  double judge() { return judge_quick(p, scale, x, work.judge).value; }
  void keep() { work.best = x.lambda; }
  void restore() { x.lambda = work.best; }
};

/// Rigid space: v follows every impulse, N is never formed.
struct VelocitySweeps {
  const CanonicalProblem& p;
  const ProblemScale& scale;
  const internal::VelocitySpace& space;
  VelocitySweepWorkspace& work;
  Solution& answer;

  bool at_zero() const { return answer.lambda.isZero(0.0) && answer.gamma.isZero(0.0); }
  double work_per_sweep() const { return space.sweep_work(); }
  void run() { space.sweep(work.x, work.v); }
  double judge() {
    space.free_motion(work.x, work.v);  // without the rounding of many small changes
    space.unscale(work.x, work.v, work.candidate);
    return judge_quick(p, scale, work.candidate, work.judge).value;
  }
  void keep() {
    answer.v = work.candidate.v;
    answer.gamma = work.candidate.gamma;
    answer.lambda = work.candidate.lambda;
  }
  void restore() {}  // the answer is the best one
};

template <class Sweeps>
MethodResult relax_until_solved(Sweeps& sweeps, const GaussSeidelSettings& settings,
                                const MethodLimits& limits) {
  MethodResult result;
  const double work_per_sweep = sweeps.work_per_sweep();
  if (!sweeps.at_zero()) {
    result.residual = sweeps.judge();
    limits.record(Method::GaussSeidel, 0, result.residual);
  }
  sweeps.keep();
  const int max_sweeps = limits.iterations_or(settings.max_sweeps);
  Mark older, newer, improved{0, result.residual};
  result.outcome =
      result.residual <= limits.tolerance ? Outcome::Converged : Outcome::IterationLimit;
  for (int check = 1; result.outcome == Outcome::IterationLimit && result.iterations < max_sweeps;
       check = next_check(check)) {
    for (; result.iterations < std::min(check, max_sweeps); ++result.iterations) {
      sweeps.run();
      result.work += work_per_sweep;
    }
    const double residual = sweeps.judge();
    result.work += 2 * work_per_sweep;
    limits.record(Method::GaussSeidel, result.iterations, residual);
    if (!std::isfinite(residual)) {
      result.outcome = Outcome::NotFinite;
      break;
    }
    if (residual < result.residual) {
      result.residual = residual;
      sweeps.keep();
    }
    if (residual <= limits.tolerance) {
      result.outcome = Outcome::Converged;
      break;
    }
    if (limits.exhausted(result.work)) {
      result.outcome = Outcome::WorkLimit;
      break;
    }
    if (result.residual < 0.9 * improved.residual) improved = {result.iterations, result.residual};
    if (result.iterations - improved.sweep > settings.patience) result.outcome = Outcome::Stalled;
    if (settings.hopeful_sweeps > 0 && result.iterations >= settings.first_sweeps) {
      // The rate over the last half of the sweeps: the first few are always quick.
      const double rate = std::log(older.residual / residual) / (result.iterations - older.sweep);
      const double needed = std::log(residual / limits.tolerance) / rate;
      if (!(rate > 0) || result.iterations + needed > settings.hopeful_sweeps) {
        result.outcome = Outcome::Stalled;
      }
    }
    if (result.iterations >= 2 * newer.sweep) {
      older = newer;
      newer = {result.iterations, residual};
    }
  }
  sweeps.restore();
  return result;
}

}  // namespace

MethodResult solve_gauss_seidel(const CanonicalProblem& p, const ProblemScale& scale,
                                const GaussSeidelSettings& settings, const MethodLimits& limits,
                                GaussSeidelWorkspace& work, Solution& x) {
  ORTHANT_ASSERT(p.is_local());
  work.diagonal.clear();
  for (Index c = 0; c < p.block_count(); ++c) {
    work.diagonal.push_back(p.F.empty() ? nullptr : p.F.find(c, c));
  }
  LocalSweeps sweeps{p, scale, work, x, sweep_for(p)};
  return relax_until_solved(sweeps, settings, limits);
}

MethodResult sweep_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                              const GaussSeidelSettings& settings, const MethodLimits& limits,
                              const internal::VelocitySpace& space, VelocitySweepWorkspace& work,
                              Solution& x) {
  space.scale_impulses(x, work.x);
  space.free_motion(work.x, work.v);
  work.candidate.v = x.v;
  work.candidate.gamma = x.gamma;
  work.candidate.lambda = x.lambda;
  VelocitySweeps sweeps{p, scale, space, work, x};
  return relax_until_solved(sweeps, settings, limits);
}

}  // namespace orthant
