// SPDX-License-Identifier: Apache-2.0
// solver/polish.cpp: (problem, approximate answer) => answer of the guessed set.
//
// Guess the set of every block from z = λ − τ w, solve its equations by Newton (linear but for the
// sliding directions), guess again from what came out. Whatever the guesses, the judge decides:
// the answer returned is the best one seen, the incoming one included.
#include "orthant/solver/polish.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "solver/active_set.hpp"
#include "solver/kkt_rows.hpp"

namespace orthant {
namespace {

using internal::BlockJacobian;
using internal::BlockSet;

constexpr Index kDenseLimit = 60;  // rows up to which a dense factorisation is faster

/// The law in the scaled impulse x = λ/s, y = s w; one scale a block leaves cones as they are.
Law scaled_law(const Law& law, double s) {
  Law out = law;
  if (law.kind == LawKind::Box) {
    out.lo /= s;
    out.hi /= s;
  }
  return out;
}

}  // namespace

struct PolishWorkspace::Impl {
  internal::KktRows rows;
  SparseLu lu;
  MatX dense;
  Eigen::PartialPivLU<MatX> dense_lu;
  std::vector<BlockSet> sets, next_sets;
  VecX residual, step, w;
  Solution x;
  JudgeWorkspace judge;
};

PolishWorkspace::PolishWorkspace() : impl_(std::make_unique<Impl>()) {}
PolishWorkspace::~PolishWorkspace() = default;
PolishWorkspace::PolishWorkspace(PolishWorkspace&&) noexcept = default;
PolishWorkspace& PolishWorkspace::operator=(PolishWorkspace&&) noexcept = default;

namespace {

class Run {
 public:
  Run(const CanonicalProblem& p, const ProblemScale& scale, const PolishSettings& settings,
      const MethodLimits& limits, PolishWorkspace::Impl& w, Solution& best)
      : p_(p), scale_(scale), settings_(settings), limits_(limits), w_(w), best_(best) {}

  MethodResult run();

 private:
  bool stop() const {
    return result_.residual <= limits_.tolerance ||
           result_.iterations >= limits_.iterations_or(settings_.max_iterations) ||
           limits_.exhausted(result_.work);
  }
  /// Calls visit(c, law, x, y, at) with the scaled impulse and velocity of every block.
  template <class Visit>
  void each_block(Visit&& visit);
  void guess(std::vector<BlockSet>& sets);
  double errors();
  bool newton_step();
  void judge();

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const PolishSettings& settings_;
  const MethodLimits& limits_;
  PolishWorkspace::Impl& w_;
  Solution& best_;
  MethodResult result_;
};

template <class Visit>
void Run::each_block(Visit&& visit) {
  w_.w = p_.b;
  if (!p_.D.empty()) p_.D.multiply_add(1, w_.x.v, w_.w);
  if (!p_.F.empty()) p_.F.multiply_add(1, w_.x.lambda, w_.w);
  Index at = 0;
  for (Index c = 0; c < p_.block_count(); ++c) {
    const Law& law = p_.laws[static_cast<std::size_t>(c)];
    const double* s = w_.rows.scale().data() + w_.rows.first_impulse() + at;
    double x[kMaxLawDim] = {}, y[kMaxLawDim] = {};
    for (int i = 0; i < law.dim; ++i) {
      x[i] = w_.x.lambda[at + i] / s[i];
      y[i] = w_.w[at + i] * s[i];
    }
    visit(c, scaled_law(law, s[0]), x, y, at);
    at += law.dim;
  }
}

void Run::guess(std::vector<BlockSet>& sets) {
  each_block([&](Index c, const Law& law, const double* x, const double* y, Index) {
    sets[static_cast<std::size_t>(c)] = internal::block_set(law, x, y);
  });
}

/// Residual of the guessed equations at the current answer, and the rows of the matrix.
double Run::errors() {
  w_.rows.equation_errors(p_, w_.x, w_.residual);
  const Index first = w_.rows.first_impulse();
  each_block([&](Index c, const Law& law, const double* x, const double* y, Index at) {
    BlockJacobian J;
    internal::set_residual(law, w_.sets[static_cast<std::size_t>(c)], x, y,
                           w_.residual.data() + first + at, J);
    w_.rows.set_block(p_, c, J);
  });
  return w_.residual.norm();
}

bool Run::newton_step() {
  const SparseMatrix& A = w_.rows.transposed();
  const Index n = w_.rows.rows();
  w_.residual = -w_.residual;
  if (n <= kDenseLimit) {
    w_.dense = A.transpose();
    w_.dense_lu.compute(w_.dense);
    w_.step = w_.dense_lu.solve(w_.residual);
    result_.work += static_cast<double>(n) * n * n / 3;
  } else {
    if (!w_.lu.factorize(A)) return false;
    w_.lu.solve_transpose(w_.residual, w_.step);
    result_.work += w_.lu.flops();
  }
  ++result_.iterations;
  if (!w_.step.allFinite()) return false;
  w_.step = w_.step.cwiseProduct(w_.rows.scale());
  const Index nv = p_.velocity_count(), nc = p_.bilateral_count();
  w_.x.v += w_.step.head(nv);
  w_.x.gamma += w_.step.segment(nv, nc);
  w_.x.lambda += w_.step.tail(p_.row_count());
  return true;
}

void Run::judge() {
  const double value = judge_quick(p_, scale_, w_.x, w_.judge).value;
  limits_.record(Method::Polish, result_.iterations, value);
  if (value < result_.residual) {
    result_.residual = value;
    best_.v = w_.x.v;
    best_.gamma = w_.x.gamma;
    best_.lambda = w_.x.lambda;
    best_.w = w_.judge.w;
  }
}

MethodResult Run::run() {
  w_.x.v = best_.v;
  w_.x.gamma = best_.gamma;
  w_.x.lambda = best_.lambda;
  judge();
  if (p_.H.kind() != VelocityMatrix::Kind::Operator && !stop() && std::isfinite(result_.residual)) {
    w_.rows.build(p_, scale_, settings_.proximal);
    if (w_.rows.rows() > kDenseLimit) w_.lu.analyze(w_.rows.transposed());
    w_.sets.resize(p_.laws.size());
    w_.next_sets.resize(p_.laws.size());
    guess(w_.sets);
    bool settled = false;
    while (!stop() && !settled) {
      double last = HUGE_VAL;
      for (int k = 0; k < settings_.inner_iterations && !stop(); ++k) {
        const double size = errors();
        if (!(size < 0.5 * last) || size == 0) break;  // solved to rounding, or diverging
        last = size;
        if (!newton_step()) {
          settled = true;
          break;
        }
        judge();
      }
      if (stop() || settled) break;
      guess(w_.next_sets);
      settled = w_.next_sets == w_.sets;
      w_.sets.swap(w_.next_sets);
    }
  }
  result_.outcome = result_.residual <= limits_.tolerance ? Outcome::Converged
                    : limits_.exhausted(result_.work)     ? Outcome::WorkLimit
                    : std::isfinite(result_.residual)     ? Outcome::Stalled
                                                          : Outcome::NotFinite;
  return result_;
}

}  // namespace

MethodResult polish(const CanonicalProblem& p, const ProblemScale& scale,
                    const PolishSettings& settings, const MethodLimits& limits,
                    PolishWorkspace& work, Solution& x) {
  return Run(p, scale, settings, limits, work.impl(), x).run();
}

}  // namespace orthant
