// SPDX-License-Identifier: Apache-2.0
// solver/pair_newton.cpp: (frictionless problem, start) => answer, by the interior path from afar
// and by Newton steps on the dual of proximal rounds near the end. See pair_newton.hpp.
//   (H + J_Aᵀ J_A/σ) d = Jᵀ x(u) − H u,   A = {x(u) > 0},   u ← u + t d,  t the root of φ'(u + t d)
// A round starts at the least point of the piece whose set is {x_k > 0}: sets change little from
// round to round, motion and impulses do. Rows are scaled to a unit diagonal of N.
#include "solver/pair_newton.hpp"

#include <algorithm>
#include <cmath>

#include "math/velocity_system.hpp"
#include "solver/best_answer.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/pair_interior.hpp"

namespace orthant::internal {
struct PairNewtonWorkspace::Impl {
  DelassusOperator N;
  VelocitySystem system;
  std::vector<double> squares;
  PairInterior interior;
  std::vector<unsigned char> active, factored;
  VecX x, centre, z, Ju, Jd, u, d, right, kept, Hu, Hd, r, weight;
  JudgeWorkspace judge;
  Solution candidate;
};

PairNewtonWorkspace::PairNewtonWorkspace() : impl_(std::make_unique<Impl>()) {}
PairNewtonWorkspace::~PairNewtonWorkspace() = default;
PairNewtonWorkspace::PairNewtonWorkspace(PairNewtonWorkspace&&) noexcept = default;
PairNewtonWorkspace& PairNewtonWorkspace::operator=(PairNewtonWorkspace&&) noexcept = default;

namespace {

class PairNewton {
 public:
  PairNewton(const CanonicalProblem& p, const ProblemScale& scale,
             const PairNewtonSettings& settings, const MethodLimits& limits,
             PairNewtonWorkspace::Impl& work, Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        w_(work),
        best_(Method::PairBlocks, p, scale, limits, settings.max_iterations, work.judge, x) {}

  MethodResult run() {
    if (!p_.H.is_symmetric() || !w_.N.build(p_, scale_)) return {};
    w_.r = w_.N.rows().constant();
    w_.x = best_.answer().lambda.cwiseQuotient(w_.N.rows().scale()).cwiseMax(0.0);
    if (!look()) {
      w_.system.analyze(p_.H, p_.C, p_.D);
      solve();
    }
    return best_.result();
  }

 private:
  /// Motion and judge of w_.x; true when done. Leaves the motion in u.
  bool look() {
    w_.N.multiply(w_.x, w_.Ju);
    w_.u = w_.N.motion();
    best_.work += w_.N.work();
    Solution& s = w_.candidate;
    s.v = scale_.v_free + w_.u;
    s.gamma.resize(0);
    s.lambda = w_.x.cwiseProduct(w_.N.rows().scale());
    (void)best_.consider(s);
    return best_.converged() || best_.exhausted();
  }

  Index rows() const { return static_cast<Index>(w_.r.size()); }

  /// z = x_k − (J u + r)/σ, x = [z]₊, right = Jᵀx − H u, the active set.
  void evaluate(double sigma) {
    w_.N.rows().multiply(w_.u, w_.Ju);
    w_.z = w_.centre - (w_.Ju + w_.r) / sigma;
    for (Index i = 0; i < rows(); ++i) w_.active[i] = w_.z[i] > 0;
    p_.H.multiply(w_.u, w_.Hu);
    w_.right = -w_.Hu;
    w_.x = w_.z.cwiseMax(0.0);
    w_.N.rows().add_transposed(w_.x, w_.right);
    best_.work += 2 * w_.N.work();
  }

  /// Factor for the set at hand, the last one where it serves.
  bool prepare(double sigma) {
    return (factored_sigma_ == sigma && w_.factored == w_.active) || factorize(sigma);
  }

  /// Centre at x; u where φ would be least if the rows that push were all that ever push.
  bool start_round(double sigma) {
    w_.centre = w_.x;
    for (Index i = 0; i < rows(); ++i) w_.active[i] = w_.x[i] > 0;
    if (!prepare(sigma)) return false;
    w_.right.setZero(p_.H.rows());
    w_.z = w_.centre - w_.r / sigma;
    for (Index i = 0; i < rows(); ++i)
      if (!w_.active[i]) w_.z[i] = 0;
    w_.N.rows().add_transposed(w_.z, w_.right);
    direction();
    w_.u = w_.d;
    return w_.u.allFinite();
  }

  bool factorize(double sigma) {
    w_.weight.resize(rows());
    for (Index i = 0; i < rows(); ++i) w_.weight[i] = w_.active[i] ? 1 / sigma : 0;
    ++best_.iterations;
    best_.work += w_.system.flops();
    w_.factored = w_.active;
    factored_sigma_ = sigma;
    w_.N.rows().weigh(p_.D, w_.weight, w_.squares);
    return w_.system.factorize(p_.H, p_.C, {}, p_.D, w_.squares);
  }

  void direction() {
    w_.system.solve(w_.right, w_.d);
    best_.work += w_.system.solve_flops();
  }

  /// The root of φ'(u + t d), which rises with t: Newton on its pieces inside a bracket.
  double step_length(double sigma) {
    w_.N.rows().multiply(w_.d, w_.Jd);
    p_.H.multiply(w_.d, w_.Hd);
    const double dHu = w_.d.dot(w_.Hu), dHd = w_.d.dot(w_.Hd);
    double lo = 0, hi = HUGE_VAL, t = 1;
    for (int k = 0; k < settings_.max_roots; ++k) {
      double slope = dHd, value = dHu + t * dHd;
      for (Index i = 0; i < rows(); ++i) {
        const double z = w_.z[i] - t * w_.Jd[i] / sigma;
        if (z <= 0) continue;
        value -= w_.Jd[i] * z;
        slope += w_.Jd[i] * w_.Jd[i] / sigma;
      }
      if (value <= 0)
        lo = t;
      else
        hi = t;
      if (std::abs(value) <= 1e-12 * slope * t || !(slope > 0)) break;
      const double next = t - value / slope;
      if (next > lo && next < hi)
        t = next;
      else
        t = std::isfinite(hi) ? 0.5 * (lo + hi) : 2 * t;
      if (hi - lo <= 1e-14 * hi) break;
    }
    return t;
  }

  /// look() at x that leaves u as it is.
  bool judged() {
    w_.kept = w_.u;
    const bool done = look();
    w_.u.swap(w_.kept);
    return done;
  }

  /// Minimises φ for the centre at hand. True when the judge is content.
  bool minimise(double sigma, int most_iterations) {
    double first = -1;
    for (int pass = 0; pass < settings_.max_passes && best_.iterations < most_iterations; ++pass) {
      evaluate(sigma);
      const double size = w_.right.norm();
      if (!std::isfinite(size)) return false;
      if (first < 0) first = size;
      if (size <= std::max(settings_.settled * first, settings_.rounding * w_.Hu.norm())) {
        w_.x = w_.z.cwiseMax(0.0);
        return judged();
      }
      const int before = best_.iterations;
      if (!prepare(sigma)) return false;
      direction();
      if (!w_.d.allFinite()) return false;
      const double t = step_length(sigma);
      w_.u += t * w_.d;
      w_.N.rows().multiply(w_.u, w_.Ju);
      w_.x = (w_.centre - (w_.Ju + w_.r) / sigma).cwiseMax(0.0);
      bool changed = false;
      for (Index i = 0; i < rows() && !changed; ++i) changed = (w_.x[i] > 0) != w_.active[i];
      // Between two sets the residual says nothing, and the judge costs a fifth of a step.
      if ((!changed || best_.iterations >= most_iterations) && judged()) return true;
      if (best_.exhausted()) return judged();
      // A whole step without a change of set is the minimum of the round, up to rounding; with a
      // factor known from the last step it is no more than a refinement.
      if (!changed && (before == best_.iterations || std::abs(t - 1) < 1e-6)) return false;
    }
    return false;
  }

  /// Rounds from x and from `sigma` down to the least. True when done: solved, or beyond numbers.
  /// Rounds that only repeat a solve with a known factor creep where rows nearly repeat each other:
  /// then σ falls on, as far as the tolerance bears the rounding.
  bool rounds(double sigma, int most_iterations) {
    const double least = std::clamp(1e-16 / std::max(best_.tolerance(), 1e-16),
                                    settings_.tiny_proximal, settings_.least_proximal);
    int idle = 0;
    for (int round = 0; round < settings_.max_rounds && best_.iterations < most_iterations;
         ++round) {
      const int before = best_.iterations;
      if (!start_round(sigma) || minimise(sigma, most_iterations) || !w_.x.allFinite()) return true;
      idle = best_.iterations > before ? 0 : idle + 1;
      if (sigma > settings_.least_proximal) {
        sigma = std::max(sigma * settings_.shrink, settings_.least_proximal);
      } else if (idle >= settings_.idle_rounds) {
        sigma = std::max(sigma * settings_.shrink, least);
        idle = 0;
      }
    }
    return false;
  }

  /// Along the interior path until its end shows which rows push, or the judge is content.
  bool interior() {
    w_.interior.start(p_, w_.N.rows(), w_.system, settings_.start_impulse, settings_.path);
    w_.factored.clear();
    for (int k = 0; k < settings_.max_interior && best_.iterations < best_.max_iterations(); ++k) {
      ++best_.iterations;
      const bool moved = w_.interior.advance();
      best_.work += w_.interior.work();
      if (!moved) return false;
      // Nearer to its bound than its slack: at the bound.
      w_.x = w_.interior.x();
      for (Index i = 0; i < rows(); ++i)
        if (w_.x[i] < w_.interior.slack()[i]) w_.x[i] = 0;
      if (w_.interior.mu() < settings_.judge_below && look()) return true;
      if (w_.interior.mu() < settings_.sets_known && best_.residual() < settings_.near_start)
        return false;
      if (best_.exhausted()) return false;
    }
    return false;
  }

  /// Rounds where the start is near the answer, as it is when the last of a recursion's rows come
  /// in. From farther away their sets change too often: the interior path first, and rounds to end
  /// it.
  void solve() {
    w_.active.assign(static_cast<std::size_t>(rows()), 0);
    w_.factored.clear();
    if (best_.residual() < settings_.near_start &&
        rounds(settings_.least_proximal,
               std::min(settings_.near_iterations, best_.max_iterations())))
      return;
    if (interior()) return;
    if (w_.x.allFinite() && w_.x.maxCoeff() > 0 &&
        rounds(settings_.least_proximal,
               std::min(settings_.end_iterations, best_.max_iterations())))
      return;
    w_.x = best_.answer().lambda.cwiseQuotient(w_.N.rows().scale()).cwiseMax(0.0);
    rounds(settings_.proximal, best_.max_iterations());
  }

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PairNewtonSettings& settings_;
  PairNewtonWorkspace::Impl& w_;
  BestAnswer best_;
  double factored_sigma_ = 0;
};

}  // namespace

MethodResult solve_pair_newton(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairNewtonSettings& settings, const MethodLimits& limits,
                               PairNewtonWorkspace& work, Solution& x) {
  if (x.lambda.size() != p.row_count()) x = zero_solution(p);
  x.w.resize(0);
  return PairNewton(p, scale, settings, limits, work.impl(), x).run();
}

}  // namespace orthant::internal
