// SPDX-License-Identifier: Apache-2.0
// solver/gauss_seidel.cpp: local problem => λ by sweeps of exact block solves. See the header.
// The judge costs about a sweep, so it is asked at growing intervals.
#include "solver/gauss_seidel.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "solver/best_answer.hpp"
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

/// All blocks of D rows, as they are in nearly all of practice; D = 0: of any number.
template <int D>
void sweep(const CanonicalProblem& p, std::span<const double* const> diagonal, double* lambda) {
  static constexpr double kNoMass[kMaxLawDim * kMaxLawDim] = {};
  for (Index c = 0; c < p.block_count(); ++c) {
    const Law& law = p.laws[c];
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
  GaussSeidelWorkspace& work;
  Sweep sweep;

  double work_per_sweep() const {
    return static_cast<double>(p.F.all_values().size()) + 30.0 * p.block_count();
  }
  void run() { sweep(p, work.diagonal, work.candidate.lambda.data()); }
  const Solution& candidate() { return work.candidate; }
};

/// Rigid space: v follows every impulse, N is never formed.
struct VelocitySweeps {
  const internal::VelocitySpace& space;
  VelocitySweepWorkspace& work;

  double work_per_sweep() const { return space.sweep_work(); }
  void run() { space.sweep(work.x, work.v); }
  const Solution& candidate() {
    space.free_motion(work.x, work.v);  // without the rounding of many small changes
    space.unscale(work.x, work.v, work.candidate);
    return work.candidate;
  }
};

template <class Sweeps>
MethodResult relax_until_solved(Sweeps sweeps, const GaussSeidelSettings& settings,
                                internal::BestAnswer best) {
  const double work_per_sweep = sweeps.work_per_sweep();
  if (!best.answer().lambda.isZero(0.0) || !best.answer().gamma.isZero(0.0)) (void)best.begin();
  Mark older, newer, improved{0, best.residual()};
  for (int check = 1; !best.done(); check = next_check(check)) {
    for (; best.iterations < std::min(check, best.max_iterations()); ++best.iterations) {
      sweeps.run();
      best.work += work_per_sweep;
    }
    const double residual = best.consider(sweeps.candidate());
    best.work += 2 * work_per_sweep;
    if (!std::isfinite(residual)) return best.result(Outcome::NotFinite);
    if (best.done()) break;
    if (best.residual() < 0.9 * improved.residual) improved = {best.iterations, best.residual()};
    if (best.iterations - improved.sweep > settings.patience) return best.result(Outcome::Stalled);
    if (settings.hopeful_sweeps > 0 && best.iterations >= settings.first_sweeps) {
      // The rate over the last half of the sweeps: the first few are always quick.
      const double rate = std::log(older.residual / residual) / (best.iterations - older.sweep);
      const double needed = std::log(residual / best.tolerance()) / rate;
      if (!(rate > 0) || best.iterations + needed > settings.hopeful_sweeps)
        return best.result(Outcome::Stalled);
    }
    if (best.iterations >= 2 * newer.sweep) {
      older = newer;
      newer = {best.iterations, residual};
    }
  }
  return best.result();
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
  work.candidate = x;
  return relax_until_solved(
      LocalSweeps{p, work, sweep_for(p)}, settings,
      {Method::GaussSeidel, p, scale, limits, settings.max_sweeps, work.judge, x});
}

MethodResult sweep_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                              const GaussSeidelSettings& settings, const MethodLimits& limits,
                              const internal::VelocitySpace& space, VelocitySweepWorkspace& work,
                              Solution& x) {
  space.scale_impulses(x, work.x);
  space.free_motion(work.x, work.v);
  work.candidate = x;
  return relax_until_solved(
      VelocitySweeps{space, work}, settings,
      {Method::GaussSeidel, p, scale, limits, settings.max_sweeps, work.judge, x});
}

}  // namespace orthant
