// SPDX-License-Identifier: Apache-2.0
// solver/pair_newton.cpp: (frictionless problem, start) => answer, by Newton steps in
// velocities on the dual of proximal rounds. See pair_newton.hpp.
//   (H + J_Aᵀ J_A/σ) d = Jᵀ x(u) − H u,   A = {x(u) > 0},   u ← u + t d,  t the root of φ'(u + t d)
// A round starts at the least point of the piece whose set is {x_k > 0}: sets change little from
// problem to problem and from round to round, motion and impulses do.
// Rows are scaled to a unit diagonal of N. Bodies are ordered by minimum degree on their own graph,
// a third or a sixth of the matrix's; an order found before is used again where the graph is the
// same, as it is for most rounds of a recursion.
#include "solver/pair_newton.hpp"

#include <Eigen/OrderingMethods>
#include <algorithm>
#include <cmath>

#include "orthant/math/factorisation.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/ending.hpp"

namespace orthant::internal {
namespace {

// |φ'| beside that of the round's start, and beside |H u|: the round is over.
constexpr double kSettled = 1e-9, kRounding = 1e-10;
constexpr int kMaxRoots = 40;  // evaluations of one line search
constexpr int kMaxRounds = 200;
constexpr int kMaxPasses = 400;  // steps of one round, those with a known factor included
// Factorisations that a start may take with the least σ; colonies need up to 40.
constexpr int kWarmIterations = 100;

struct Entry {
  Index body = 0, column = 0, width = 0;
  std::size_t value = 0;  // in J
};

/// Where the products of two entries of a row go in the matrix.
struct Place {
  Index row_entry = 0, column_entry = 0;  // in entries
  Index offset = 0;                       // of the block in each of its columns
};

}  // namespace

struct PairNewtonWorkspace::Impl {
  DelassusOperator N;
  std::vector<Entry> entries;
  std::vector<std::size_t> entry_begin, place_begin;  // by row
  std::vector<double> J;
  std::vector<Place> places;
  std::vector<std::pair<Index, Index>> links, known_links;  // bodies that share a row
  std::vector<Index> position, at;                          // body → place in the order, column
  SparseMatrix matrix;
  SparseLdlt factor;
  bool analysed = false;
  std::vector<unsigned char> active, factored;
  VecX x, centre, z, Ju, Jd, u, d, right, permuted, kept, Hu, Hd, r;
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
             PairNewtonWorkspace::Impl& work, Solution& best)
      : p_(p), scale_(scale), settings_(settings), limits_(limits), w_(work), best_(best) {}

  MethodResult run() {
    if (!p_.H.is_symmetric() || !w_.N.build(p_, scale_)) return result_;
    max_iterations_ = limits_.iterations_or(settings_.max_iterations);
    w_.r = w_.N.constant();
    w_.x = best_.lambda.cwiseQuotient(w_.N.row_scale()).cwiseMax(0.0);
    if (!look()) {
      copy_rows();
      find_order();
      solve();
    }
    if (result_.outcome == Outcome::NotFinite && std::isfinite(result_.residual))
      result_.outcome =
          result_.iterations >= max_iterations_ ? Outcome::IterationLimit : Outcome::Stalled;
    return result_;
  }

 private:
  /// Motion and judge of w_.x; true when done. Leaves the motion in u.
  bool look() {
    w_.N.multiply(w_.x, w_.Ju);
    w_.u = w_.N.motion();
    result_.work += w_.N.work();
    Solution& s = w_.candidate;
    s.v = scale_.v_free + w_.u;
    s.gamma.resize(0);
    s.lambda = w_.x.cwiseProduct(w_.N.row_scale());
    const double residual = judge_quick(p_, scale_, s, w_.judge).value;
    limits_.record(Method::PairBlocks, result_.iterations, residual);
    return internal::keep_and_end(s, residual, w_.judge.w, limits_, result_, best_);
  }

  void copy_rows() {
    w_.entries.clear();
    w_.J.clear();
    w_.entry_begin.assign(1, 0);
    for (Index c = 0; c < p_.block_count(); ++c) {
      for (Index i = 0; i < p_.D.dim(c); ++i) {
        const double s = w_.N.row_scale()[p_.D.row_begin(c) + i];
        const double* a = p_.D.values(c);
        for (const BlockRows::Entry& e : p_.D.entries(c)) {
          w_.entries.push_back({e.block, e.column, e.width, w_.J.size()});
          for (Index j = 0; j < e.width; ++j) w_.J.push_back(s * a[i * e.width + j]);
          a += static_cast<std::ptrdiff_t>(p_.D.dim(c)) * e.width;
        }
        w_.entry_begin.push_back(w_.entries.size());
      }
    }
  }

  /// Order of the bodies, pattern of the matrix, places of the rows' products in it.
  void find_order() {
    w_.links.clear();
    for (Index i = 0; i < rows(); ++i)
      for (std::size_t e = w_.entry_begin[i]; e < w_.entry_begin[i + 1]; ++e)
        for (std::size_t f = e + 1; f < w_.entry_begin[i + 1]; ++f)
          w_.links.emplace_back(std::minmax(w_.entries[e].body, w_.entries[f].body));
    std::sort(w_.links.begin(), w_.links.end());
    w_.links.erase(std::unique(w_.links.begin(), w_.links.end()), w_.links.end());
    const Index bodies = p_.H.block_count();
    if (!w_.analysed || w_.links != w_.known_links ||
        static_cast<Index>(w_.position.size()) != bodies || w_.matrix.rows() != p_.H.rows()) {
      order_bodies(bodies);
      build_pattern(bodies);
      w_.factor.analyze(w_.matrix, Ordering::Natural);
      w_.known_links = w_.links;
      w_.analysed = true;
    }
    find_places();
  }

  void order_bodies(Index bodies) {
    std::vector<Eigen::Triplet<double>> pattern;
    pattern.reserve(2 * w_.links.size() + static_cast<std::size_t>(bodies));
    for (Index b = 0; b < bodies; ++b) pattern.emplace_back(b, b, 1.0);
    for (const auto& [a, b] : w_.links) {
      pattern.emplace_back(a, b, 1.0);
      pattern.emplace_back(b, a, 1.0);
    }
    SparseMatrix graph(bodies, bodies);
    graph.setFromTriplets(pattern.begin(), pattern.end());
    Eigen::AMDOrdering<Index>::PermutationType order;
    Eigen::AMDOrdering<Index>()(graph, order);
    w_.position.resize(static_cast<std::size_t>(bodies));
    w_.at.resize(static_cast<std::size_t>(bodies));
    Index column = 0;
    for (Index k = 0; k < bodies; ++k) {
      const Index body = order.indices()[k];
      w_.position[body] = k;
      w_.at[body] = column;
      column += p_.H.block_size(body);
    }
  }

  /// Upper triangle by columns; the squares on the diagonal are whole, so that all columns of a
  /// body have the same rows.
  void build_pattern(Index bodies) {
    std::vector<std::pair<Index, Index>> blocks;  // (column, row) as places in the order
    blocks.reserve(static_cast<std::size_t>(bodies) + w_.links.size());
    for (Index b = 0; b < bodies; ++b) blocks.emplace_back(w_.position[b], w_.position[b]);
    for (const auto& [a, b] : w_.links) {
      const auto [lo, hi] = std::minmax(w_.position[a], w_.position[b]);
      blocks.emplace_back(hi, lo);
    }
    std::sort(blocks.begin(), blocks.end());
    std::vector<Index> body_at(static_cast<std::size_t>(bodies));
    for (Index b = 0; b < bodies; ++b) body_at[w_.position[b]] = b;
    const Index n = p_.H.rows();
    Index nonzeros = 0;
    for (const auto& [column, row] : blocks)
      nonzeros += p_.H.block_size(body_at[column]) * p_.H.block_size(body_at[row]);
    w_.matrix = SparseMatrix(n, n);
    w_.matrix.resizeNonZeros(nonzeros);
    Index* outer = w_.matrix.outerIndexPtr();
    Index* inner = w_.matrix.innerIndexPtr();
    Index filled = 0;
    for (std::size_t begin = 0; begin < blocks.size();) {
      std::size_t end = begin;
      while (end < blocks.size() && blocks[end].first == blocks[begin].first) ++end;
      const Index body = body_at[blocks[begin].first];
      for (Index c = 0; c < p_.H.block_size(body); ++c) {
        outer[w_.at[body] + c] = filled;
        for (std::size_t k = begin; k < end; ++k) {
          const Index other = body_at[blocks[k].second];
          for (Index r = 0; r < p_.H.block_size(other); ++r) inner[filled++] = w_.at[other] + r;
        }
      }
      begin = end;
    }
    outer[n] = filled;
  }

  /// Place of the block (row body, column body) within each column of the column body.
  Index offset_of(Index row_body, Index column_body) const {
    const Index* inner = w_.matrix.innerIndexPtr();
    const Index begin = w_.matrix.outerIndexPtr()[w_.at[column_body]];
    const Index end = w_.matrix.outerIndexPtr()[w_.at[column_body] + 1];
    return static_cast<Index>(std::lower_bound(inner + begin, inner + end, w_.at[row_body]) -
                              (inner + begin));
  }

  void find_places() {
    w_.places.clear();
    w_.place_begin.assign(1, 0);
    for (Index i = 0; i < rows(); ++i) {
      for (std::size_t e = w_.entry_begin[i]; e < w_.entry_begin[i + 1]; ++e) {
        for (std::size_t f = e; f < w_.entry_begin[i + 1]; ++f) {
          const bool swap = w_.position[w_.entries[e].body] > w_.position[w_.entries[f].body];
          Place place;
          place.row_entry = static_cast<Index>(swap ? f : e);
          place.column_entry = static_cast<Index>(swap ? e : f);
          place.offset =
              offset_of(w_.entries[place.row_entry].body, w_.entries[place.column_entry].body);
          w_.places.push_back(place);
        }
      }
      w_.place_begin.push_back(w_.places.size());
    }
  }

  Index rows() const { return static_cast<Index>(w_.r.size()); }

  /// y = J u
  void rates(const VecX& u, VecX& y) const {
    y.resize(rows());
    for (Index i = 0; i < rows(); ++i) {
      double s = 0;
      for (std::size_t e = w_.entry_begin[i]; e < w_.entry_begin[i + 1]; ++e) {
        const Entry& entry = w_.entries[e];
        for (Index c = 0; c < entry.width; ++c)
          s += w_.J[entry.value + static_cast<std::size_t>(c)] * u[entry.column + c];
      }
      y[i] = s;
    }
  }

  /// z = x_k − (J u + r)/σ, x = [z]₊, right = Jᵀx − H u, the active set.
  void evaluate(double sigma) {
    rates(w_.u, w_.Ju);
    w_.z = w_.centre - (w_.Ju + w_.r) / sigma;
    for (Index i = 0; i < rows(); ++i) w_.active[i] = w_.z[i] > 0;
    p_.H.multiply(w_.u, w_.Hu);
    w_.right = -w_.Hu;
    add_impulses(w_.z);
    result_.work += 2 * w_.N.work();
  }

  /// right += J_Aᵀ x
  void add_impulses(const VecX& x) {
    for (Index i = 0; i < rows(); ++i) {
      if (!w_.active[i]) continue;
      for (std::size_t e = w_.entry_begin[i]; e < w_.entry_begin[i + 1]; ++e) {
        const Entry& entry = w_.entries[e];
        for (Index c = 0; c < entry.width; ++c)
          w_.right[entry.column + c] += w_.J[entry.value + static_cast<std::size_t>(c)] * x[i];
      }
    }
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
    add_impulses(w_.z);
    direction();
    w_.u = w_.d;
    return w_.u.allFinite();
  }

  bool factorize(double sigma) {
    double* values = w_.matrix.valuePtr();
    const Index* outer = w_.matrix.outerIndexPtr();
    std::fill(values, values + w_.matrix.nonZeros(), 0.0);
    for (Index b = 0; b < p_.H.block_count(); ++b) {
      const Index n = p_.H.block_size(b), offset = offset_of(b, b);
      for (Index c = 0; c < n; ++c)
        for (Index r = 0; r < n; ++r)
          values[outer[w_.at[b] + c] + offset + r] = p_.H.block(b)[r * n + c];
    }
    for (Index i = 0; i < rows(); ++i) {
      if (!w_.active[i]) continue;
      for (std::size_t k = w_.place_begin[i]; k < w_.place_begin[i + 1]; ++k) {
        const Place& place = w_.places[k];
        const Entry &row = w_.entries[place.row_entry], &column = w_.entries[place.column_entry];
        for (Index c = 0; c < column.width; ++c) {
          const double s = w_.J[column.value + static_cast<std::size_t>(c)] / sigma;
          double* out = values + outer[w_.at[column.body] + c] + place.offset;
          for (Index r = 0; r < row.width; ++r)
            out[r] += s * w_.J[row.value + static_cast<std::size_t>(r)];
        }
      }
    }
    ++result_.iterations;
    result_.work += w_.factor.flops();
    w_.factored = w_.active;
    factored_sigma_ = sigma;
    return w_.factor.factorize(w_.matrix);
  }

  void direction() {
    w_.permuted.resize(w_.right.size());
    for (Index b = 0; b < p_.H.block_count(); ++b)
      w_.permuted.segment(w_.at[b], p_.H.block_size(b)) =
          w_.right.segment(p_.H.block_begin(b), p_.H.block_size(b));
    w_.factor.solve(w_.permuted, w_.Hd);
    w_.d.resize(w_.right.size());
    for (Index b = 0; b < p_.H.block_count(); ++b)
      w_.d.segment(p_.H.block_begin(b), p_.H.block_size(b)) =
          w_.Hd.segment(w_.at[b], p_.H.block_size(b));
    result_.work += 2 * static_cast<double>(w_.factor.nonzeros());
  }

  /// The root of φ'(u + t d), which rises with t: Newton on its pieces inside a bracket.
  double step_length(double sigma) {
    rates(w_.d, w_.Jd);
    p_.H.multiply(w_.d, w_.Hd);
    const double dHu = w_.d.dot(w_.Hu), dHd = w_.d.dot(w_.Hd);
    double lo = 0, hi = HUGE_VAL, t = 1;
    for (int k = 0; k < kMaxRoots; ++k) {
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
    for (int pass = 0; pass < kMaxPasses && result_.iterations < most_iterations; ++pass) {
      evaluate(sigma);
      const double size = w_.right.norm();
      if (!std::isfinite(size)) return false;
      if (first < 0) first = size;
      if (size <= std::max(kSettled * first, kRounding * w_.Hu.norm())) {
        w_.x = w_.z.cwiseMax(0.0);
        return judged();
      }
      const int before = result_.iterations;
      if (!prepare(sigma)) return false;
      direction();
      if (!w_.d.allFinite()) return false;
      const double t = step_length(sigma);
      w_.u += t * w_.d;
      rates(w_.u, w_.Ju);
      w_.x = (w_.centre - (w_.Ju + w_.r) / sigma).cwiseMax(0.0);
      bool changed = false;
      for (Index i = 0; i < rows() && !changed; ++i) changed = (w_.x[i] > 0) != w_.active[i];
      // Between two sets the residual says nothing, and the judge costs a fifth of a step.
      if ((!changed || result_.iterations >= most_iterations) && judged()) return true;
      if (limits_.exhausted(result_.work)) return judged();
      // A whole step without a change of set is the minimum of the round, up to rounding; with a
      // factor known from the last step it is no more than a refinement.
      if (!changed && (before == result_.iterations || std::abs(t - 1) < 1e-6)) return false;
    }
    return false;
  }

  /// Rounds from x and from `sigma` down to the least. True when done: solved, or beyond numbers.
  bool rounds(double sigma, int most_iterations) {
    for (int round = 0; round < kMaxRounds && result_.iterations < most_iterations; ++round) {
      if (!start_round(sigma) || minimise(sigma, most_iterations) || !w_.x.allFinite()) return true;
      sigma = std::max(sigma * settings_.shrink, settings_.least_proximal);
    }
    return false;
  }

  /// A start that pushes is near the answer as a rule: σ is small at once. Where its set does not
  /// settle, σ falls by tens, from the best answer so far.
  void solve() {
    w_.active.assign(static_cast<std::size_t>(rows()), 0);
    w_.factored.clear();
    const bool warm = rows() > 0 && w_.x.maxCoeff() > 0;
    if (warm && rounds(settings_.least_proximal, std::min(kWarmIterations, max_iterations_)))
      return;
    if (warm) w_.x = best_.lambda.cwiseQuotient(w_.N.row_scale()).cwiseMax(0.0);
    rounds(settings_.proximal, max_iterations_);
  }

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PairNewtonSettings& settings_;
  const MethodLimits& limits_;
  PairNewtonWorkspace::Impl& w_;
  Solution& best_;
  MethodResult result_;
  int max_iterations_ = 0;
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
