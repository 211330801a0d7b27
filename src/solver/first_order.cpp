// SPDX-License-Identifier: Apache-2.0
// solver/first_order.cpp: projected gradients (Barzilai–Borwein) in scaled variables λ = S λ̂ with
// S² the effective mass of a row, so that N̂ has a unit diagonal and the cones keep their shape. One
// product with N̂ an iteration; gradients are updated along the step and recomputed whenever the
// judge looks.
#include "solver/first_order.hpp"

#include <algorithm>
#include <cmath>

#include "math/law_kernel.hpp"
#include "orthant/base/parallel.hpp"
#include "solver/best_answer.hpp"
#include "solver/delassus_operator.hpp"

namespace orthant {

struct FirstOrderWork {
  DelassusOperator N;
  std::vector<Law> laws;      // bilateral rows first, as Free
  std::vector<Index> offset;  // of those
  VecX x, g, r, d, Nd, y, trial;
  VecX shift;  // De Saxcé's term of each row (normal rows only), scaled
  std::vector<double> partial;
  std::vector<double> history;
  JudgeWorkspace judge;
  Solution candidate;
};

namespace {

constexpr std::size_t kGrain = 2048;

/// The parts every method shares: products, projections, inner products, the judge.
class FirstOrder {
 public:
  FirstOrder(const CanonicalProblem& p, const ProblemScale& scale,
             const FirstOrderSettings& settings, const MethodLimits& limits, FirstOrderWork& work,
             Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        w_(work),
        best_(Method::ProjectedGradient, p, scale, limits, settings.max_iterations, work.judge, x) {
  }

  MethodResult run() {
    if (!w_.N.build(p_, scale_)) return {};
    start();
    if (!look()) {
      projected_gradient();
      if (!best_.converged() && !best_.exhausted() && w_.x.allFinite()) (void)look();
    }
    return best_.result();
  }

 private:
  void start() {
    w_.laws.clear();
    for (Index i = 0; i < p_.C.row_block_count(); ++i) w_.laws.push_back(Law::free(p_.C.dim(i)));
    w_.laws.insert(w_.laws.end(), p_.laws.begin(), p_.laws.end());
    w_.offset.assign(1, 0);
    for (Law& law : w_.laws) {
      if (law.kind == LawKind::Box) {  // bounds are impulses: scaled with their row
        const double s = w_.N.row_scale()[w_.offset.back()];
        law.lo /= s;
        law.hi /= s;
      }
      w_.offset.push_back(w_.offset.back() + law.dim);
    }
    const Index n = w_.N.rows();
    w_.x.resize(n);
    w_.x.head(w_.N.bilateral_rows()) = best_.answer().gamma;
    w_.x.tail(p_.row_count()) = best_.answer().lambda;
    w_.x = w_.x.cwiseQuotient(w_.N.row_scale());
    project_blocks(w_.x, w_.x);
    w_.shift = VecX::Zero(n);
    has_exact_ =
        std::any_of(p_.laws.begin(), p_.laws.end(), [](const Law& l) { return l.is_exact(); });
    multiply(w_.x, w_.g);
    w_.r = w_.N.constant();
    w_.g += w_.r;
    next_shift();
    take_shift();
    // A warm start that is worse than nothing is dropped: |Π-step| compared with that of zero.
    if (w_.x.squaredNorm() > 0) {
      const double warm = projected_step(w_.x, w_.g);
      w_.trial = VecX::Zero(n);
      if (projected_step(w_.trial, w_.N.constant()) < warm) {
        w_.x.setZero();
        w_.shift.setZero();
        w_.r = w_.N.constant();
        w_.g = w_.r;
        w_.N.multiply(w_.x, w_.trial);
      }
    }
  }

  // --- vector work, chunk by chunk so that sums do not depend on the number of threads ---
  template <class Term>
  double sum(Index n, Term&& term) {
    return parallel_sum(static_cast<std::size_t>(n), kGrain, w_.partial,
                        [&](std::size_t i) { return term(static_cast<Index>(i)); });
  }
  double dot(const VecX& a, const VecX& b) {
    return sum(static_cast<Index>(a.size()), [&](Index i) { return a[i] * b[i]; });
  }

  void multiply(const VecX& x, VecX& y) {
    w_.N.multiply(x, y);
    best_.work += w_.N.work();
  }

  void project_blocks(const VecX& in, VecX& out) {
    parallel_for(w_.laws.size(), kGrain / 4, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        project(w_.laws[i], in.data() + w_.offset[i], out.data() + w_.offset[i]);
      }
    });
  }

  /// |x − Π(x − g)|: zero exactly at a solution of the (shifted) convex problem.
  double projected_step(const VecX& x, const VecX& g) {
    w_.y = x - g;
    project_blocks(w_.y, w_.y);
    return std::sqrt(sum(static_cast<Index>(x.size()), [&](Index i) {
      const double e = x[i] - w_.y[i];
      return e * e;
    }));
  }

  /// μ|ŵ_t| of the current answer into w_.y, its distance from the shift in use. One scale per
  /// block, so ŵ_t and the shift scale alike; only tangents are read, which carry no shift.
  double next_shift() {
    w_.y = VecX::Zero(w_.shift.size());
    for (std::size_t i = 0; i < w_.laws.size(); ++i) {
      if (w_.laws[i].is_exact())
        w_.y[w_.offset[i]] = shift_of(w_.laws[i], w_.g.data() + w_.offset[i]);
    }
    return (w_.y - w_.shift).norm();
  }
  void take_shift() {
    w_.g += w_.y - w_.shift;
    w_.shift = w_.y;
    w_.r = w_.N.constant() + w_.shift;
  }

  /// Every few iterations: exact gradient, the judge, the shift of exact laws. True when done.
  bool look() {
    multiply(w_.x, w_.g);
    w_.g += w_.r;
    Solution& s = w_.candidate;
    const Index nb = w_.N.bilateral_rows();
    s.v = scale_.v_free + w_.N.motion();
    s.gamma = w_.x.head(nb).cwiseProduct(w_.N.row_scale().head(nb));
    s.lambda = w_.x.tail(p_.row_count()).cwiseProduct(w_.N.row_scale().tail(p_.row_count()));
    (void)best_.consider(s);
    if (best_.converged() || best_.exhausted()) return true;
    follow_shift();
    return false;
  }

  /// Exact laws: moves the shift when it is due; the method then restarts.
  void follow_shift() {
    if (has_exact_) {
      // The shift moves only once the convex problem around it is solved better than the shift is
      // known; moving it too early makes the pair wander.
      const double inner = projected_step(w_.x, w_.g);
      if (inner <= 0.3 * next_shift()) {
        take_shift();
        restart_ = true;
      }
    }
  }

  bool time_to_look() const { return best_.iterations % settings_.judge_every == 0; }
  bool time_to_shift() const { return has_exact_ && best_.iterations % settings_.shift_every == 0; }

  void projected_gradient() {
    // Spectral projected gradient with the nonmonotone rule of Grippo, Lampariello and Lucidi; the
    // line search is exact, the function being quadratic.
    double alpha = 1;
    w_.history.clear();
    while (best_.iterations < best_.max_iterations()) {
      ++best_.iterations;
      w_.trial = w_.x - alpha * w_.g;
      project_blocks(w_.trial, w_.trial);
      w_.d = w_.trial - w_.x;
      multiply(w_.d, w_.Nd);
      const double gd = dot(w_.g, w_.d), dNd = dot(w_.d, w_.Nd), dd = dot(w_.d, w_.d);
      if (!std::isfinite(dNd)) return;
      if (dd == 0) {
        if (look()) return;
        if (!restart_) return;
      }
      const double f = 0.5 * (dot(w_.x, w_.g) + dot(w_.x, w_.r));
      w_.history.push_back(f);
      if (static_cast<int>(w_.history.size()) > settings_.history)
        w_.history.erase(w_.history.begin());
      const double reference = *std::max_element(w_.history.begin(), w_.history.end());
      double t = 1;
      if (f + gd + 0.5 * dNd > reference + 1e-4 * gd && dNd > 0)
        t = std::clamp(-gd / dNd, 0.0, 1.0);
      w_.x += t * w_.d;
      w_.g += t * w_.Nd;
      // Long and short step in turn: the mixture is what makes the method fast on stiff problems.
      const double NdNd = best_.iterations % 2 == 0 ? dot(w_.Nd, w_.Nd) : 0;
      if (dNd > 0) alpha = NdNd > 0 ? dNd / NdNd : dd / dNd;
      alpha = std::clamp(alpha, 1e-10, 1e10);
      if (time_to_look()) {
        if (look()) return;
      } else if (time_to_shift()) {
        follow_shift();
      }
      if (restart_) w_.history.clear(), restart_ = false;
    }
  }

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const FirstOrderSettings& settings_;
  FirstOrderWork& w_;
  internal::BestAnswer best_;
  bool has_exact_ = false, restart_ = false;
};

}  // namespace

MethodResult solve_first_order(const CanonicalProblem& p, const ProblemScale& scale,
                               const FirstOrderSettings& settings, const MethodLimits& limits,
                               FirstOrderWorkspace& work, Solution& x) {
  if (x.lambda.size() != p.row_count() || x.gamma.size() != p.bilateral_count())
    x = zero_solution(p);
  x.w.resize(0);
  return FirstOrder(p, scale, settings, limits, work.get(), x).run();
}

}  // namespace orthant
