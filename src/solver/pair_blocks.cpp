// SPDX-License-Identifier: Apache-2.0
// solver/pair_blocks.cpp: block projected gradients and active-set CG, one block a pair of bodies.
//   step:  x⁺ = argmin over y >= 0 of  g·(y − x) + (y − x)ᵀG(y − x)/(2α),  exactly, block by block
// Clamping after a block solve is not that projection and does not converge. One row is a clamp,
// two are a closed form, more a tiny active set started from the last support. The conjugate form
// follows MPRGP: CG on the positive rows, preconditioned by the blocks restricted to them, while
// the rows at zero want less change than those; else one block gradient step, which may change the
// set.
#include "orthant/solver/pair_blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "orthant/base/parallel.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/ending.hpp"
#include "solver/pair_newton.hpp"

namespace orthant {
namespace {

constexpr std::size_t kGrain = 2048, kGroupGrain = 512;
constexpr int kMaxIterations = 20000;
constexpr int kMaxBlock = 8;           // longer pairs are cut: sub-sphere rows, not recursions
constexpr double kRegularise = 1e-10;  // of the diagonal
using Small = std::array<double, kMaxBlock>;

struct Group {
  Index begin = 0;  // in `order`
  std::int32_t size = 0;
  std::int64_t matrix = 0;  // size x size values
};

struct Sums {
  double first = 0, second = 0;
};

/// A x = b for the leading rows `in` of a symmetric positive matrix; x is zero elsewhere.
void solve_subset(const double* G, int m, unsigned in, const double* b, double* x) {
  double L[kMaxBlock][kMaxBlock], y[kMaxBlock];
  int at[kMaxBlock], n = 0;
  for (int i = 0; i < m; ++i) {
    x[i] = 0;
    if (in >> i & 1) at[n++] = i;
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      double s = G[at[i] * m + at[j]];
      for (int k = 0; k < j; ++k) s -= L[i][k] * L[j][k];
      L[i][j] = i == j ? std::sqrt(std::max(s, 1e-300)) : s / L[j][j];
    }
    double s = b[at[i]];
    for (int k = 0; k < i; ++k) s -= L[i][k] * y[k];
    y[i] = s / L[i][i];
  }
  for (int i = n - 1; i >= 0; --i) {
    double s = y[i];
    for (int k = i + 1; k < n; ++k) s -= L[k][i] * x[at[k]];
    x[at[i]] = s / L[i][i];
  }
}

/// min ½ yᵀGy − cᵀy over y >= 0; y comes in as the start.
void nonnegative_block(const double* G, int m, const double* c, double* y) {
  if (m == 1) {
    y[0] = std::max(0.0, c[0] / G[0]);
    return;
  }
  if (m == 2) {
    const double det = G[0] * G[3] - G[1] * G[1];
    const double a = (G[3] * c[0] - G[1] * c[1]) / det, b = (G[0] * c[1] - G[1] * c[0]) / det;
    if (a >= 0 && b >= 0) {
      y[0] = a;
      y[1] = b;
    } else if (c[0] > 0 && c[1] * G[0] <= G[1] * c[0]) {
      y[0] = c[0] / G[0];
      y[1] = 0;
    } else {
      y[0] = 0;
      y[1] = std::max(0.0, c[1] / G[3]);
    }
    return;
  }
  unsigned in = 0;
  for (int i = 0; i < m; ++i) {
    y[i] = std::max(0.0, y[i]);
    if (y[i] > 0) in |= 1u << i;
  }
  for (int round = 0; round < 6 * m; ++round) {
    double s[kMaxBlock];
    solve_subset(G, m, in, c, s);
    double step = 1;
    int leaves = -1;
    for (int i = 0; i < m; ++i) {
      if ((in >> i & 1) == 0 || s[i] >= 0) continue;
      const double t = y[i] / (y[i] - s[i]);
      if (t < step) {
        step = t;
        leaves = i;
      }
    }
    for (int i = 0; i < m; ++i) y[i] += step * (s[i] - y[i]);
    if (leaves >= 0) {
      y[leaves] = 0;
      in &= ~(1u << leaves);
      continue;
    }
    int enters = -1;
    double most = 1e-14;
    for (int i = 0; i < m; ++i) {
      if (in >> i & 1) continue;
      double w = c[i], size = std::abs(c[i]);
      for (int j = 0; j < m; ++j) {
        w -= G[i * m + j] * y[j];
        size += std::abs(G[i * m + j] * y[j]);
      }
      if (w > most * std::max(size, 1e-300)) {
        most = w / size;
        enters = i;
      }
    }
    if (enters < 0) return;
    in |= 1u << enters;
  }
}

}  // namespace

struct PairBlocksWorkspace::Impl {
  DelassusOperator N;
  std::vector<Index> order;  // rows, pair by pair
  std::vector<std::pair<std::int64_t, Index>> keys;
  std::vector<Group> groups;
  std::vector<double> matrices;
  VecX x, g, r, d, Nd, p, z;
  std::vector<double> partial, history;
  std::vector<Sums> pairs;
  JudgeWorkspace judge;
  Solution candidate;
  internal::PairNewtonWorkspace newton;
};

PairBlocksWorkspace::PairBlocksWorkspace() : impl_(std::make_unique<Impl>()) {}
PairBlocksWorkspace::~PairBlocksWorkspace() = default;
PairBlocksWorkspace::PairBlocksWorkspace(PairBlocksWorkspace&&) noexcept = default;
PairBlocksWorkspace& PairBlocksWorkspace::operator=(PairBlocksWorkspace&&) noexcept = default;

namespace {

class PairBlocks {
 public:
  PairBlocks(const CanonicalProblem& p, const ProblemScale& scale,
             const PairBlocksSettings& settings, const MethodLimits& limits,
             PairBlocksWorkspace::Impl& work, Solution& best)
      : p_(p), scale_(scale), settings_(settings), limits_(limits), w_(work), best_(best) {}

  MethodResult run() {
    if (!start()) return result_;
    if (settings_.form == PairBlocksForm::Conjugate)
      active_set_cg();
    else
      barzilai_borwein();
    if (result_.outcome == Outcome::NotFinite && w_.x.allFinite()) (void)look();
    if (result_.outcome == Outcome::NotFinite && std::isfinite(result_.residual))
      result_.outcome =
          result_.iterations >= max_iterations_ ? Outcome::IterationLimit : Outcome::Stalled;
    return result_;
  }

 private:
  bool start() {
    if (!w_.N.build(p_, scale_)) return false;
    max_iterations_ = limits_.iterations_or(settings_.max_iterations > 0 ? settings_.max_iterations
                                                                         : kMaxIterations);
    find_groups();
    w_.x = best_.lambda.cwiseQuotient(w_.N.row_scale()).cwiseMax(0.0);
    w_.r = w_.N.constant();
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
    return !look();
  }

  /// Rows by pair of bodies, and the scaled block of N of each.
  void find_groups() {
    const Index blocks = p_.block_count();
    w_.keys.clear();
    for (Index c = 0; c < blocks; ++c) {
      const auto entries = p_.D.entries(c);
      const std::int64_t a = entries.empty() ? -1 : entries[0].block;
      const std::int64_t b = entries.size() < 2 ? -1 : entries[1].block;
      const std::int64_t key = (std::min(a, b) + 1) << 32 | (std::max(a, b) + 1);
      for (Index i = 0; i < p_.D.dim(c); ++i) w_.keys.emplace_back(key, p_.D.row_begin(c) + i);
    }
    row_block_.resize(static_cast<std::size_t>(p_.row_count()));
    for (Index c = 0; c < blocks; ++c)
      for (Index i = 0; i < p_.D.dim(c); ++i)
        row_block_[static_cast<std::size_t>(p_.D.row_begin(c) + i)] = c;
    std::sort(w_.keys.begin(), w_.keys.end());
    w_.order.resize(w_.keys.size());
    w_.groups.clear();
    std::int64_t values = 0;
    for (std::size_t i = 0; i < w_.keys.size(); ++i) {
      w_.order[i] = w_.keys[i].second;
      const bool same =
          i > 0 && w_.keys[i].first == w_.keys[i - 1].first && w_.groups.back().size < kMaxBlock;
      if (!same) w_.groups.push_back({static_cast<Index>(i), 0, 0});
      ++w_.groups.back().size;
    }
    for (Group& group : w_.groups) {
      group.matrix = values;
      values += static_cast<std::int64_t>(group.size) * group.size;
    }
    w_.matrices.assign(static_cast<std::size_t>(values), 0.0);
    VelocitySolver inverse;
    (void)inverse.factorize(p_.H);
    parallel_for(w_.groups.size(), kGroupGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) fill_matrix(w_.groups[k], inverse);
    });
  }

  void fill_matrix(const Group& group, const VelocitySolver& inverse) {
    const int m = group.size;
    double* G = w_.matrices.data() + group.matrix;
    for (int j = 0; j < m; ++j) {
      const Index row = w_.order[group.begin + j];
      const Index block = row_block_[static_cast<std::size_t>(row)];
      const double* a = p_.D.values(block);
      const Index dim = p_.D.dim(block), r = row - p_.D.row_begin(block);
      for (const BlockRows::Entry& entry : p_.D.entries(block)) {
        double y[kMaxVelocityBlock];
        for (Index c = 0; c < entry.width; ++c)
          y[c] = a[r * entry.width + c] * w_.N.row_scale()[row];
        inverse.solve_block(entry.block, y);
        a += static_cast<std::ptrdiff_t>(dim) * entry.width;
        for (int i = 0; i < m; ++i) {
          const Index other = w_.order[group.begin + i];
          const Index other_block = row_block_[static_cast<std::size_t>(other)];
          const double* values = p_.D.values(other_block);
          const Index other_dim = p_.D.dim(other_block), s = other - p_.D.row_begin(other_block);
          for (const BlockRows::Entry& e : p_.D.entries(other_block)) {
            if (e.block == entry.block) {
              double sum = 0;
              for (Index c = 0; c < e.width; ++c) sum += values[s * e.width + c] * y[c];
              G[i * m + j] += sum * w_.N.row_scale()[other];
            }
            values += static_cast<std::ptrdiff_t>(other_dim) * e.width;
          }
        }
      }
    }
    for (int i = 0; i < m; ++i) {
      G[i * m + i] *= 1 + kRegularise;
      if (!(G[i * m + i] > 0)) G[i * m + i] = 1;  // a row without mass behind it
      for (int j = 0; j < i; ++j) G[i * m + j] = G[j * m + i] = 0.5 * (G[i * m + j] + G[j * m + i]);
    }
  }

  /// Two sums in one pass, added in the order of sum().
  template <class Term>
  Sums sum_pair(Index n, Term&& term) {
    const auto count = static_cast<std::size_t>(n);
    w_.pairs.assign(chunk_count(count, kGrain), Sums{});
    parallel_for_chunks(count, kGrain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      Sums s;
      for (std::size_t i = begin; i < end; ++i) term(static_cast<Index>(i), s);
      w_.pairs[chunk] = s;
    });
    Sums total;
    for (const Sums& s : w_.pairs) {
      total.first += s.first;
      total.second += s.second;
    }
    return total;
  }

  template <class Term>
  double sum(Index n, Term&& term) {
    return parallel_sum(static_cast<std::size_t>(n), kGrain, w_.partial,
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
    result_.work += w_.N.work();
  }

  /// out = the block projected gradient step of length alpha from x; may be x itself.
  void block_step(const VecX& x, const VecX& g, double alpha, VecX& out) {
    out.resize(x.size());
    parallel_for(w_.groups.size(), kGroupGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const Group& group = w_.groups[k];
        const Index* rows = w_.order.data() + group.begin;
        const double* G = w_.matrices.data() + group.matrix;
        const int m = group.size;
        Small y, c;
        for (int i = 0; i < m; ++i) y[static_cast<std::size_t>(i)] = x[rows[i]];
        for (int i = 0; i < m; ++i) {
          double s = -alpha * g[rows[i]];
          for (int j = 0; j < m; ++j) s += G[i * m + j] * y[static_cast<std::size_t>(j)];
          c[static_cast<std::size_t>(i)] = s;
        }
        nonnegative_block(G, m, c.data(), y.data());
        for (int i = 0; i < m; ++i) out[rows[i]] = y[static_cast<std::size_t>(i)];
      }
    });
  }

  /// z = the blocks restricted to rows with x > 0, inverse, times g there; 0 elsewhere.
  void precondition(VecX& z) {
    z.resize(w_.x.size());
    parallel_for(w_.groups.size(), kGroupGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const Group& group = w_.groups[k];
        const Index* rows = w_.order.data() + group.begin;
        const double* G = w_.matrices.data() + group.matrix;
        const int m = group.size;
        if (m == 1) {
          z[rows[0]] = w_.x[rows[0]] > 0 ? w_.g[rows[0]] / G[0] : 0.0;
          continue;
        }
        Small b, y;
        unsigned in = 0;
        for (int i = 0; i < m; ++i) {
          b[static_cast<std::size_t>(i)] = w_.g[rows[i]];
          if (w_.x[rows[i]] > 0) in |= 1u << i;
        }
        solve_subset(G, m, in, b.data(), y.data());
        for (int i = 0; i < m; ++i) z[rows[i]] = y[static_cast<std::size_t>(i)];
      }
    });
  }

  /// dᵀGd
  double block_norm(const VecX& d) {
    double total = 0;
    for (const Group& group : w_.groups) {
      const Index* rows = w_.order.data() + group.begin;
      const double* G = w_.matrices.data() + group.matrix;
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
    s.lambda = w_.x.cwiseProduct(w_.N.row_scale());
    const double residual = judge_quick(p_, scale_, s, w_.judge).value;
    limits_.record(Method::PairBlocks, result_.iterations, residual);
    return internal::keep_and_end(s, residual, w_.judge.w, limits_, result_, best_);
  }
  bool time_to_look() const { return result_.iterations % settings_.judge_every == 0; }

  /// Largest eigenvalue of G⁻¹N by power iterations from a fixed start, a little enlarged.
  double largest_eigenvalue() {
    const Index n = static_cast<Index>(w_.x.size());
    const VecX x = w_.x, g = w_.g;
    w_.x = VecX::Ones(n);  // so that the preconditioner takes every row
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
      precondition(w_.d);
      if (settled) break;
    }
    w_.x = x;
    w_.g = g;
    return 1.05 * std::max(eigenvalue, 1e-12);
  }

  void active_set_cg() {
    const double step = 1.8 / largest_eigenvalue();
    const Index n = static_cast<Index>(w_.x.size());
    bool restart = true;
    double phi_z = 0;
    const auto gradient_step = [&] {
      block_step(w_.x, w_.g, step, w_.d);
      w_.d -= w_.x;
      multiply(w_.d, w_.Nd);
      // The step length is an estimate; along the step itself the best length is known.
      const double gd = dot(w_.g, w_.d), dNd = dot(w_.d, w_.Nd);
      const double t = dNd > 0 ? std::clamp(-gd / dNd, 0.0, 1.0) : 1.0;
      w_.x += t * w_.d;
      w_.g += t * w_.Nd;
      w_.x = w_.x.cwiseMax(0.0);
      restart = true;
    };
    while (result_.iterations < max_iterations_) {
      ++result_.iterations;
      const Sums error = sum_pair(n, [&](Index i, Sums& s) {
        if (w_.x[i] > 0) {
          s.first += w_.g[i] * w_.g[i];
        } else if (w_.g[i] < 0) {
          s.second += w_.g[i] * w_.g[i];
        }
      });
      const double free2 = error.first, chopped2 = error.second;
      if (!std::isfinite(free2 + chopped2)) return;
      if (free2 + chopped2 == 0) {
        (void)look();
        return;
      }
      if (chopped2 > free2) {
        gradient_step();
      } else {
        precondition(w_.z);
        const double gz = dot(w_.g, w_.z);
        if (restart)
          w_.p = w_.z;
        else
          w_.p = w_.z + (gz / phi_z) * w_.p;
        restart = false;
        phi_z = gz;
        multiply(w_.p, w_.Nd);
        const Sums curve = sum_pair(n, [&](Index i, Sums& s) {
          s.first += w_.p[i] * w_.Nd[i];
          s.second += w_.g[i] * w_.p[i];
        });
        const double cg = curve.first > 0 ? curve.second / curve.first : HUGE_VAL;
        double feasible = HUGE_VAL;
        for (Index i = 0; i < n; ++i)
          if (w_.p[i] > 0 && w_.x[i] < feasible * w_.p[i]) feasible = w_.x[i] / w_.p[i];
        const double t = std::min(cg, feasible);
        if (!std::isfinite(t)) return;
        w_.x -= t * w_.p;
        w_.g -= t * w_.Nd;
        if (t < cg) {
          w_.x = w_.x.cwiseMax(0.0);
          gradient_step();
        }
      }
      if (time_to_look() && look()) return;
    }
  }

  void barzilai_borwein() {
    double alpha = 1;
    w_.history.clear();
    while (result_.iterations < max_iterations_) {
      ++result_.iterations;
      block_step(w_.x, w_.g, alpha, w_.d);
      w_.d -= w_.x;
      multiply(w_.d, w_.Nd);
      const double gd = dot(w_.g, w_.d), dNd = dot(w_.d, w_.Nd), dGd = block_norm(w_.d);
      if (!std::isfinite(dNd) || dGd == 0) {
        if (std::isfinite(dNd)) (void)look();
        return;
      }
      const double f = 0.5 * (dot(w_.x, w_.g) + dot(w_.x, w_.r));
      w_.history.push_back(f);
      if (w_.history.size() > 10) w_.history.erase(w_.history.begin());
      const double reference = *std::max_element(w_.history.begin(), w_.history.end());
      double t = 1;
      if (f + gd + 0.5 * dNd > reference + 1e-4 * gd && dNd > 0)
        t = std::clamp(-gd / dNd, 0.0, 1.0);
      w_.x += t * w_.d;
      w_.g += t * w_.Nd;
      if (dNd > 0) {
        alpha = dGd / dNd;
        if (result_.iterations % 2 == 0) {  // the short step: in the inverse metric
          std::swap(w_.g, w_.Nd);
          const VecX x = w_.x;
          w_.x.setOnes();
          precondition(w_.z);
          w_.x = x;
          const double inverse = dot(w_.g, w_.z);
          std::swap(w_.g, w_.Nd);
          if (inverse > 0) alpha = dNd / inverse;
        }
      }
      alpha = std::clamp(alpha, 1e-10, 1e10);
      if (time_to_look() && look()) return;
    }
  }

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PairBlocksSettings& settings_;
  const MethodLimits& limits_;
  PairBlocksWorkspace::Impl& w_;
  Solution& best_;
  MethodResult result_;
  std::vector<Index> row_block_;
  int max_iterations_ = 0;
};

}  // namespace

MethodResult solve_pair_blocks(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairBlocksSettings& settings, const MethodLimits& limits,
                               PairBlocksWorkspace& work, Solution& x) {
  if (x.lambda.size() != p.row_count()) x = zero_solution(p);
  x.w.resize(0);
  if (settings.form == PairBlocksForm::Newton) {
    internal::PairNewtonSettings newton;
    if (settings.max_iterations > 0) newton.max_iterations = settings.max_iterations;
    return internal::solve_pair_newton(p, scale, newton, limits, work.impl().newton, x);
  }
  return PairBlocks(p, scale, settings, limits, work.impl(), x).run();
}

}  // namespace orthant
