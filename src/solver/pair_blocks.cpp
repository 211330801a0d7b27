// SPDX-License-Identifier: Apache-2.0
// solver/pair_blocks.cpp: block projected gradients and active-set CG, one block per pair of
// bodies.
//   step:  x⁺ = argmin over y >= 0 of  g·(y − x) + (y − x)ᵀG(y − x)/(2α),  exactly, block by block
// Clamping after a block solve is not that projection and does not converge. The conjugate form is
// CG on the rows that push, preconditioned by the blocks restricted to them. A step that would
// draw some below zero is taken whole and projected, so that all of these leave at once; rows at
// zero that want to push come in with the next direction. Neither starts CG anew: each direction is
// made conjugate to the step last taken, which few rows more or less hardly change.
#include "solver/pair_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/parallel.hpp"
#include "solver/best_answer.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/lanes.hpp"
#include "solver/pair_groups.hpp"
#include "solver/small_block.hpp"

namespace orthant {
namespace {

using internal::block_product;
using internal::DelassusOperator;
using internal::kMaxBlock;
using internal::nonnegative_block;
using internal::PairGroup;
using internal::solve_subset;
using Small = double[kMaxBlock];

/// Two sums and a least value, in two lanes each.
struct Sums {
  Lanes first = {}, second = {}, least = {HUGE_VAL, HUGE_VAL};

  void add(const Sums& other) {
    first += other.first;
    second += other.second;
    least = orthant::least(least, other.least);
  }
};

}  // namespace

struct PairBlocksWork {
  DelassusOperator N;
  internal::PairGroups pairs;
  VecX x, g, r, d, Nd, z;
  std::vector<double> partial;
  std::vector<Sums> sums;
  JudgeWorkspace judge;
  Solution candidate;
};

namespace {

/// |g|² of the rows that push, and of those at zero that want to.
struct Wishes {
  double of_pushing = 0, to_push = 0;
};

class PairBlocks {
 public:
  PairBlocks(const CanonicalProblem& p, const ProblemScale& scale,
             const PairBlocksSettings& settings, const MethodLimits& limits, PairBlocksWork& work,
             Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        w_(work),
        best_(Method::PairBlocks, p, scale, limits, settings.max_iterations, work.judge, x) {}

  MethodResult run() {
    if (!w_.N.build(p_, scale_)) return {};
    start();
    if (!look()) {
      active_set_cg();
      if (!best_.converged() && !best_.exhausted() && w_.x.allFinite()) (void)look();
    }
    return best_.result();
  }

 private:
  void start() {
    w_.pairs.build(w_.N.rows(), w_.N.inverse(), settings_.regularise);
    w_.x = best_.answer().lambda.cwiseQuotient(w_.N.rows().scale()).cwiseMax(0.0);
    w_.r = w_.N.rows().constant();
    multiply(w_.x, w_.g);
    w_.g += w_.r;
    // A warm start that is worse than nothing is dropped.
    if (w_.x.squaredNorm() > 0) {
      const double warm = natural_error(w_.x, w_.g);
      const VecX zero = VecX::Zero(w_.x.size());
      if (natural_error(zero, w_.r) < warm) {
        w_.x = zero;
        w_.g = w_.r;
      }
    }
  }

  /// term(i, both, sums) for rows i and i + 1, or for the last row alone, in one pass; chunks are
  /// joined in order, so with the same bits for any threads.
  template <class Term>
  Sums row_sums(Term&& term) {
    const auto count = static_cast<std::size_t>(w_.x.size());
    w_.sums.assign(chunk_count(count, 4 * kGrain), Sums{});
    parallel_for_chunks(count, 4 * kGrain,
                        [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                          Sums s;
                          std::size_t i = begin;
                          for (; i + 2 <= end; i += 2) term(i, true, s);
                          if (i < end) term(i, false, s);
                          w_.sums[chunk] = s;
                        });
    Sums total;
    for (const Sums& s : w_.sums) total.add(s);
    return total;
  }

  template <class Term>
  double sum(Index n, Term&& term) {
    return parallel_sum(static_cast<std::size_t>(n), 4 * kGrain, w_.partial,
                        [&](std::size_t i) { return term(static_cast<Index>(i)); });
  }
  double dot(const VecX& a, const VecX& b) {
    return sum(static_cast<Index>(a.size()), [&](Index i) { return a[i] * b[i]; });
  }
  double natural_error(const VecX& x, const VecX& g) {
    return sum(static_cast<Index>(x.size()), [&](Index i) {
      const double e = std::min(x[i], g[i]);
      return e * e;
    });
  }
  void multiply(const VecX& x, VecX& y) {
    w_.N.multiply(x, y);
    best_.work += w_.N.work();
  }

  /// Calls change(rows, G, m, y) for each group, y = x of its rows as it comes in; out = y after
  /// it.
  template <class Change>
  void each_block(const VecX& x, VecX& out, Change&& change) {
    out.resize(x.size());
    parallel_for(w_.pairs.groups.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const PairGroup& group = w_.pairs.groups[k];
        const Index* rows = w_.pairs.order.data() + group.begin;
        Small y;
        for (int i = 0; i < group.size; ++i) y[i] = x[rows[i]];
        change(rows, w_.pairs.matrices.data() + group.matrix, group.size, y);
        for (int i = 0; i < group.size; ++i) out[rows[i]] = y[i];
      }
    });
  }

  /// out = the block projected gradient step of length alpha from x.
  void block_step(const VecX& x, const VecX& g, double alpha, VecX& out) {
    each_block(x, out, [&](const Index* rows, const double* G, int m, double* y) {
      Small c;
      block_product(G, m, y, c);
      for (int i = 0; i < m; ++i) c[i] -= alpha * g[rows[i]];
      nonnegative_block(G, m, c, y);
    });
  }

  /// d = the nearest to x + t d that is nowhere negative, in the metric of the blocks, less x.
  void project(double t) {
    each_block(w_.x, w_.d, [&](const Index* rows, const double* G, int m, double* y) {
      Small full, c;
      bool below = false;
      for (int i = 0; i < m; ++i) {
        const double moved = y[i] + t * w_.d[rows[i]];
        full[i] = moved;
        below |= moved < 0;
      }
      if (below) {
        block_product(G, m, full, c);
        nonnegative_block(G, m, c, full);
      }
      for (int i = 0; i < m; ++i) y[i] = full[i] - y[i];
    });
  }

  /// The face: rows that push, and those at zero that want to where they are let in.
  /// z = inverse of the blocks restricted to the face, times g there; 0 elsewhere. Returns z·Nd.
  double precondition() {
    w_.z.resize(w_.x.size());
    const Lanes zero = {};
    const double most = let_in_ ? 0.0 : -HUGE_VAL;
    const Sums lone =
        row_sums([=, x = w_.x.data(), g = w_.g.data(), inverse = w_.pairs.lone.data(),
                  Nd = w_.Nd.data(), z = w_.z.data()](std::size_t i, bool both, Sums& s) {
          const Lanes gi = load_lanes(g + i, both);
          const auto face = (load_lanes(x + i, both) > 0.0) | (gi < most);
          const Lanes zi = face ? gi * load_lanes(inverse + i, both) : zero;
          store_lanes(z + i, zi, both);
          s.first += zi * load_lanes(Nd + i, both);
        });
    return lone.first[0] + lone.first[1] + precondition_blocks();
  }

  double precondition_blocks() {
    return parallel_sum(w_.pairs.blocks.size(), kGrain, w_.partial, [&](std::size_t k) {
      const PairGroup& group = w_.pairs.groups[static_cast<std::size_t>(w_.pairs.blocks[k])];
      const Index* rows = w_.pairs.order.data() + group.begin;
      const int m = group.size;
      const double* G = w_.pairs.matrices.data() + group.matrix;
      Small b, y;
      unsigned in = 0;
      bool let_in = false;
      for (int i = 0; i < m; ++i) {
        b[i] = w_.g[rows[i]];
        if (w_.x[rows[i]] > 0)
          in |= 1u << i;
        else
          let_in |= let_in_blocks_ && w_.g[rows[i]] < 0;
      }
      if (let_in) {  // which of them comes in is up to all rows of the block
        Small c;
        for (int i = 0; i < m; ++i) y[i] = w_.x[rows[i]];
        block_product(G, m, y, c);
        for (int i = 0; i < m; ++i) c[i] -= b[i];
        nonnegative_block(G, m, c, y);
        for (int i = 0; i < m; ++i) y[i] = w_.x[rows[i]] - y[i];
      } else {
        solve_subset(G, m, in, b, y);
      }
      double sum = 0;
      for (int i = 0; i < m; ++i) {
        w_.z[rows[i]] = y[i];
        sum += w_.z[rows[i]] * w_.Nd[rows[i]];
      }
      return sum;
    });
  }

  /// dᵀGd
  double block_norm(const VecX& d) {
    double total = 0;
    for (const PairGroup& group : w_.pairs.groups) {
      const Index* rows = w_.pairs.order.data() + group.begin;
      const double* G = w_.pairs.matrices.data() + group.matrix;
      for (int i = 0; i < group.size; ++i)
        for (int j = 0; j < group.size; ++j)
          total += d[rows[i]] * G[i * group.size + j] * d[rows[j]];
    }
    return total;
  }

  /// Exact gradient, the judge; true when done.
  bool look() {
    multiply(w_.x, w_.g);
    w_.g += w_.r;
    Solution& s = w_.candidate;
    s.v = scale_.v_free + w_.N.motion();
    s.gamma.resize(0);
    s.lambda = w_.x.cwiseProduct(w_.N.rows().scale());
    looked_residual_ = best_.consider(s);
    return best_.converged() || best_.exhausted();
  }
  bool time_to_look() const { return best_.iterations % settings_.judge_every == 0; }

  /// Largest eigenvalue of G⁻¹N by power iterations from a fixed start, a little enlarged.
  double largest_eigenvalue() {
    const Index n = static_cast<Index>(w_.x.size());
    const VecX x = w_.x, g = w_.g;
    w_.x = VecX::Ones(n);  // so that the preconditioner takes every row
    w_.Nd = VecX::Zero(n);
    w_.d.resize(n);
    for (Index i = 0; i < n; ++i) w_.d[i] = 1.0 + 0.5 * std::sin(1.0 + 12.9898 * i);
    double eigenvalue = 1;
    for (int k = 0; k < 8; ++k) {
      const double length = std::sqrt(block_norm(w_.d));
      if (!(length > 0)) break;
      w_.d /= length;
      multiply(w_.d, w_.g);
      const double next = dot(w_.d, w_.g);
      const bool settled = std::abs(next - eigenvalue) < 0.02 * next;
      eigenvalue = next;
      (void)precondition();
      w_.d.swap(w_.z);
      if (settled) break;
    }
    w_.x = x;
    w_.g = g;
    return 1.05 * std::max(eigenvalue, 1e-12);
  }

  /// x += t d, g += t Nd.
  Wishes advance(double t) {
    const Lanes zero = {};
    const Sums s = row_sums([=, x = w_.x.data(), g = w_.g.data(), d = w_.d.data(),
                             Nd = w_.Nd.data()](std::size_t i, bool both, Sums& sums) {
      const Lanes moved = load_lanes(x + i, both) + t * load_lanes(d + i, both);
      const Lanes gi = load_lanes(g + i, both) + t * load_lanes(Nd + i, both);
      store_lanes(x + i, moved > 0.0 ? moved : zero, both);
      store_lanes(g + i, gi, both);
      const Lanes pushes = moved > 0.0 ? gi : zero, wants = least(gi - pushes, zero);
      sums.first += pushes * pushes;
      sums.second += wants * wants;
    });
    return {s.first[0] + s.first[1], s.second[0] + s.second[1]};
  }

  /// d = what the rows can follow of t d, if that descends; the block gradient step otherwise.
  /// Returns the length to go along d, and makes dNd that of d where CG may go on from it.
  double projected_step(double t, double gradient_length, double& dNd) {
    if (t > 0) {
      project(t);
      multiply(w_.d, w_.Nd);
      dNd = dot(w_.d, w_.Nd);
      if (dot(w_.g, w_.d) + 0.5 * dNd < 0) return 1;
    }
    block_step(w_.x, w_.g, gradient_length, w_.d);
    w_.d -= w_.x;
    multiply(w_.d, w_.Nd);
    // Whole, so that rows leave for good, unless the estimate of its length was too long.
    const double gd = dot(w_.g, w_.d), curve = dot(w_.d, w_.Nd);
    dNd = 0;
    if (gd + 0.5 * curve < 0) return 1;
    return curve > 0 ? std::clamp(-gd / curve, 0.0, 1.0) : 0.0;
  }

  /// d = beta d − z on the face, 0 elsewhere; returns g·d.
  double next_direction(double beta) {
    const Lanes zero = {};
    const Sums s = row_sums([=, z = w_.z.data(), g = w_.g.data(), d = w_.d.data()](
                                std::size_t i, bool both, Sums& sums) {
      const Lanes zi = load_lanes(z + i, both);
      const Lanes di = zi != 0.0 ? beta * load_lanes(d + i, both) - zi : zero;
      store_lanes(d + i, di, both);
      sums.first += load_lanes(g + i, both) * di;
    });
    return s.first[0] + s.first[1];
  }

  /// dᵀNd, and how far along d no row is drawn below zero.
  double curvature(double& furthest) {
    const Lanes never = {HUGE_VAL, HUGE_VAL};
    const Sums s = row_sums([=, x = w_.x.data(), d = w_.d.data(), Nd = w_.Nd.data()](
                                std::size_t i, bool both, Sums& sums) {
      const Lanes di = load_lanes(d + i, both);
      sums.first += di * load_lanes(Nd + i, both);
      sums.least = least(sums.least, di < 0.0 ? load_lanes(x + i, both) / -di : never);
    });
    furthest = std::min(s.least[0], s.least[1]);
    return s.first[0] + s.first[1];
  }

  void active_set_cg() {
    const double gradient_length = 1.8 / largest_eigenvalue();
    w_.d = w_.Nd = VecX::Zero(w_.x.size());
    double dNd = 0;  // of the last step; 0: none to be conjugate to
    Wishes wish = advance(0);
    looked_total_ = wish.of_pushing + wish.to_push;
    while (best_.iterations < best_.max_iterations()) {
      ++best_.iterations;
      let_in_ = settings_.release * wish.to_push > wish.of_pushing;
      let_in_blocks_ = wish.to_push > wish.of_pushing;
      const double zNd = precondition(), beta = dNd > 0 ? zNd / dNd : 0.0;
      const double gd = next_direction(beta);
      multiply(w_.d, w_.Nd);
      double furthest = 0;
      dNd = curvature(furthest);
      double t = dNd > 0 ? -gd / dNd : 0.0;
      if (!(t > 0 && t <= furthest)) t = projected_step(t, gradient_length, dNd);
      wish = advance(t);
      const double total = wish.of_pushing + wish.to_push;
      if (!std::isfinite(total)) return;
      const bool ends = total == 0 || t == 0;
      if (ends || (time_to_look() && worth_a_look(total))) {
        looked_total_ = total;
        if (look() || ends) return;
      }
    }
  }

  /// The judge costs as much as some iterations: it is asked once the wishes have fallen tenfold,
  /// where they say that this may be the end, and now and then for the record.
  bool worth_a_look(double total) const {
    const double fallen = std::sqrt(total / looked_total_);
    return fallen <= 0.1 || looked_residual_ * fallen <= 4 * best_.tolerance() ||
           best_.iterations % (8 * settings_.judge_every) == 0 || best_.exhausted();
  }

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PairBlocksSettings& settings_;
  PairBlocksWork& w_;
  internal::BestAnswer best_;
  bool let_in_ = false, let_in_blocks_ = false;
  double looked_residual_ = 0, looked_total_ = 0;
};

}  // namespace

MethodResult solve_pair_blocks(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairBlocksSettings& settings, const MethodLimits& limits,
                               PairBlocksWorkspace& work, Solution& x) {
  if (x.lambda.size() != p.row_count()) x = zero_solution(p);
  x.w.resize(0);
  return PairBlocks(p, scale, settings, limits, work.get(), x).run();
}

}  // namespace orthant
