// SPDX-License-Identifier: Apache-2.0
// solver/pair_blocks.cpp: block projected gradients and active-set CG, one block per pair of
// bodies.
//   step:  x⁺ = argmin over y >= 0 of  g·(y − x) + (y − x)ᵀG(y − x)/(2α),  exactly, block by block
// Clamping after a block solve is not that projection and does not converge. The conjugate form is
// CG on the rows that push, preconditioned by the blocks restricted to them. A step that would
// draw some below zero is taken whole and projected, so that all of these leave at once; rows at
// zero that want to push come in with the next direction. Neither starts CG anew: each direction is
// made conjugate to the step last taken, which few rows more or less hardly change.
// Rows are kept in the order of row_order.hpp and work is cut into parts of whole pairs: threads
// take parts, the members of a team have ranges of them, and sums go over parts in order. The same
// bits for any number of either; members know others' rows at a look alone.
#include "solver/pair_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/parallel.hpp"
#include "solver/best_answer.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/lanes.hpp"
#include "solver/pair_groups.hpp"
#include "solver/row_cut.hpp"
#include "solver/small_block.hpp"

namespace orthant {
namespace {

using internal::block_product;
using internal::DelassusOperator;
using internal::kMaxBlock;
using internal::nonnegative_block;
using internal::PairGroup;
using internal::RowPart;
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
  internal::RowCut cut;
  VecX x, g, r, d, Nd, z;       // of rows in their order; current on own ones alone
  std::vector<Sums> sums;       // by part
  std::vector<Index> pairs_at;  // each velocity block
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
      if (!best_.converged() && !best_.exhausted()) (void)look();
    }
    return best_.result();
  }

 private:
  void start() {
    const DelassusOperator& N = w_.N;
    const Index n = N.rows();
    w_.pairs.build(N, settings_.regularise);
    w_.cut.build(n >= kTogetherRows ? team() : nullptr, N, w_.pairs);
    w_.x.resize(n);
    for (Index i = 0; i < n; ++i)
      w_.x[i] = std::max(best_.answer().lambda[N.row_of(i)] / N.scale()[i], 0.0);
    w_.r = N.constant();
    multiply_all(w_.x, w_.g);
    w_.g += w_.r;
    // A warm start that is worse than nothing is dropped.
    if (!w_.x.isZero(0)) {
      const double warm = natural_error(w_.x, w_.g);
      const VecX zero = VecX::Zero(n);
      if (natural_error(zero, w_.r) < warm) {
        w_.x = zero;
        w_.g = w_.r;
      }
    }
  }

  /// body(part, where the next one begins, its number) for the parts of this process.
  template <class Body>
  void each_part(Body&& body) {
    const std::vector<RowPart>& parts = w_.pairs.parts;
    const std::size_t first = w_.cut.first_part();
    parallel_for(w_.cut.last_part() - first, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin + first; k < end + first; ++k) body(parts[k], parts[k + 1], k);
    });
  }

  /// Sums of term(part, end) over all parts, of this process and others.
  template <class Term>
  Sums part_sums(Term&& term) {
    w_.sums.assign(w_.pairs.part_count(), Sums{});
    each_part([&](const RowPart& part, const RowPart& end, std::size_t k) {
      w_.sums[k] = term(part, end);
    });
    if (w_.cut.team() != nullptr && w_.cut.team()->fast_sums())
      w_.cut.join(w_.sums);
    else
      w_.cut.gather_parts(w_.sums.data(), sizeof(Sums));
    Sums total;
    for (const Sums& s : w_.sums) total.add(s);
    return total;
  }

  /// The same of term(i, both, sums) for rows i and i + 1, or for the last row of a part alone.
  template <class Term>
  static Sums sum_rows(const RowPart& part, const RowPart& end, Term&& term) {
    Sums s;
    Index i = part.row;
    for (; i + 2 <= end.row; i += 2) term(i, true, s);
    if (i < end.row) term(i, false, s);
    return s;
  }
  template <class Term>
  Sums row_sums(Term&& term) {
    return part_sums(
        [&](const RowPart& part, const RowPart& end) { return sum_rows(part, end, term); });
  }

  template <class Term>
  double sum(Term&& term) {
    return part_sums([&](const RowPart& part, const RowPart& end) {
             Sums s;
             for (Index i = part.row; i < end.row; ++i) s.first[0] += term(i);
             return s;
           })
        .first[0];
  }
  double dot(const VecX& a, const VecX& b) {
    return sum([&](Index i) { return a[i] * b[i]; });
  }
  double natural_error(const VecX& x, const VecX& g) {
    return sum([&](Index i) {
      const double e = std::min(x[i], g[i]);
      return e * e;
    });
  }
  /// y = N x on own rows.
  void multiply(VecX& x, VecX& y) {
    if (w_.cut.team() == nullptr) return multiply_all(x, y);
    w_.cut.refresh(x);
    w_.N.multiply(x, y, w_.cut.range());
    best_.work += w_.N.work();
  }
  void multiply_all(const VecX& x, VecX& y) {
    w_.N.multiply(x, y);
    best_.work += w_.N.work();
  }

  /// Calls change(first row, G, m, y) for each group, y = x of its rows as it comes in; out = y
  /// after it.
  template <class Change>
  void each_block(const VecX& x, VecX& out, Change&& change) {
    out.resize(x.size());
    each_part([&](const RowPart& part, const RowPart& end, std::size_t) {
      for (Index k = part.group; k < end.group; ++k) {
        const PairGroup& group = w_.pairs.groups[static_cast<std::size_t>(k)];
        Small y;
        std::copy_n(x.data() + group.begin, group.size, y);
        change(group.begin, w_.pairs.matrices.data() + group.matrix, group.size, y);
        std::copy_n(y, group.size, out.data() + group.begin);
      }
    });
  }

  /// out = the block projected gradient step of length alpha from x.
  void block_step(const VecX& x, const VecX& g, double alpha, VecX& out) {
    each_block(x, out, [&](Index row, const double* G, int m, double* y) {
      Small c;
      block_product(G, m, y, c);
      for (int i = 0; i < m; ++i) c[i] -= alpha * g[row + i];
      nonnegative_block(G, m, c, y);
    });
  }

  /// d = the nearest to x + t d that is nowhere negative, in the metric of the blocks, less x.
  void project(double t) {
    each_block(w_.x, w_.d, [&](Index row, const double* G, int m, double* y) {
      Small full, c;
      bool below = false;
      for (int i = 0; i < m; ++i) {
        const double moved = y[i] + t * w_.d[row + i];
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
    const Sums s = part_sums([&](const RowPart& part, const RowPart& end) {
      Sums sums = precondition_lone(part, end);
      for (Index k = part.block; k < end.block; ++k)
        sums.second[0] += precondition_block(
            w_.pairs
                .groups[static_cast<std::size_t>(w_.pairs.blocks[static_cast<std::size_t>(k)])]);
      return sums;
    });
    return s.first[0] + s.first[1] + s.second[0];
  }

  Sums precondition_lone(const RowPart& part, const RowPart& end) {
    const Lanes zero = {};
    const double most = let_in_ ? 0.0 : -HUGE_VAL;
    return sum_rows(part, end,
                    [=, x = w_.x.data(), g = w_.g.data(), inverse = w_.pairs.lone.data(),
                     Nd = w_.Nd.data(), z = w_.z.data()](Index i, bool both, Sums& s) {
                      const Lanes gi = load_lanes(g + i, both);
                      const auto face = (load_lanes(x + i, both) > 0.0) | (gi < most);
                      const Lanes zi = face ? gi * load_lanes(inverse + i, both) : zero;
                      store_lanes(z + i, zi, both);
                      s.first += zi * load_lanes(Nd + i, both);
                    });
  }

  double precondition_block(const PairGroup& group) {
    const int m = group.size;
    const double* G = w_.pairs.matrices.data() + group.matrix;
    const double *x = w_.x.data() + group.begin, *g = w_.g.data() + group.begin;
    Small y;
    unsigned in = 0;
    bool let_in = false;
    for (int i = 0; i < m; ++i) {
      if (x[i] > 0)
        in |= 1u << i;
      else
        let_in |= let_in_blocks_ && g[i] < 0;
    }
    if (let_in) {  // which of them comes in is up to all rows of the block
      Small c;
      block_product(G, m, x, c);
      for (int i = 0; i < m; ++i) c[i] -= g[i];
      std::copy_n(x, m, y);
      nonnegative_block(G, m, c, y);
      for (int i = 0; i < m; ++i) y[i] = x[i] - y[i];
    } else {
      solve_subset(G, m, in, g, y);
    }
    double sum = 0;
    for (int i = 0; i < m; ++i) {
      w_.z[group.begin + i] = y[i];
      sum += y[i] * w_.Nd[group.begin + i];
    }
    return sum;
  }

  /// Exact gradient, the judge; true when done.
  bool look() {
    w_.cut.gather(w_.x);
    if (!w_.x.allFinite()) return true;
    multiply_all(w_.x, w_.g);
    w_.g += w_.r;
    Solution& s = w_.candidate;
    s.v = scale_.v_free;
    w_.N.add_motion(s.v);
    s.gamma.resize(0);
    s.lambda.resize(w_.N.rows());
    for (Index i = 0; i < w_.N.rows(); ++i) s.lambda[w_.N.row_of(i)] = w_.x[i] * w_.N.scale()[i];
    looked_residual_ = best_.consider(s);
    return best_.converged() || best_.exhausted();
  }
  bool time_to_look() const { return best_.iterations % settings_.judge_every == 0; }

  /// A bound of the eigenvalues of G⁻¹N: pairs at one velocity block, of those the most. N is a sum
  /// over velocity blocks, where so many squares are added before they are taken.
  double most_pairs() {
    w_.pairs_at.assign(static_cast<std::size_t>(p_.H.block_count()), 0);
    Index most = 1;
    for (const PairGroup& group : w_.pairs.groups)
      for (const Index block : w_.N.blocks_of(group.begin))
        if (block >= 0) most = std::max(most, ++w_.pairs_at[static_cast<std::size_t>(block)]);
    return most;
  }

  /// x += t d, g += t Nd.
  Wishes advance(double t) {
    const Lanes zero = {};
    const Sums s = row_sums([=, x = w_.x.data(), g = w_.g.data(), d = w_.d.data(),
                             Nd = w_.Nd.data()](Index i, bool both, Sums& sums) {
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
    const double gd = dot(w_.g, w_.d), curve = dot(w_.d, w_.Nd);
    dNd = 0;
    return gd + 0.5 * curve < 0 ? 1 : 0;
  }

  /// d = beta d − z on the face, 0 elsewhere.
  void next_direction(double beta) {
    each_part([&](const RowPart& part, const RowPart& end, std::size_t) {
      const Lanes zero = {};
      const double* z = w_.z.data();
      double* d = w_.d.data();
      (void)sum_rows(part, end, [=](Index i, bool both, Sums&) {
        const Lanes zi = load_lanes(z + i, both);
        store_lanes(d + i, zi != 0.0 ? beta * load_lanes(d + i, both) - zi : zero, both);
      });
    });
  }

  /// Of the direction d: g·d, dᵀNd, and how far along it no row is drawn below zero.
  struct Course {
    double gd, dNd, furthest;
  };
  Course course() {
    const Lanes never = {HUGE_VAL, HUGE_VAL};
    const Sums s = row_sums([=, x = w_.x.data(), g = w_.g.data(), d = w_.d.data(),
                             Nd = w_.Nd.data()](Index i, bool both, Sums& sums) {
      const Lanes di = load_lanes(d + i, both);
      sums.first += load_lanes(g + i, both) * di;
      sums.second += di * load_lanes(Nd + i, both);
      sums.least = least(sums.least, di < 0.0 ? load_lanes(x + i, both) / -di : never);
    });
    return {s.first[0] + s.first[1], s.second[0] + s.second[1], std::min(s.least[0], s.least[1])};
  }

  void active_set_cg() {
    const double gradient_length = 1.8 / most_pairs();
    w_.d = w_.Nd = VecX::Zero(w_.x.size());
    double dNd = 0;  // of the last step; 0: none to be conjugate to
    Wishes wish = advance(0);
    looked_total_ = wish.of_pushing + wish.to_push;
    while (best_.iterations < best_.max_iterations()) {
      ++best_.iterations;
      let_in_ = settings_.release * wish.to_push > wish.of_pushing;
      let_in_blocks_ = wish.to_push > wish.of_pushing;
      const double zNd = precondition(), beta = dNd > 0 ? zNd / dNd : 0.0;
      next_direction(beta);
      multiply(w_.d, w_.Nd);
      const Course c = course();
      dNd = c.dNd;
      double t = dNd > 0 ? -c.gd / dNd : 0.0;
      if (!(t > 0 && t <= c.furthest)) t = projected_step(t, gradient_length, dNd);
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
