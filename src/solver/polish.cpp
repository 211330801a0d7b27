// SPDX-License-Identifier: Apache-2.0
// solver/polish.cpp: (problem, approximate answer) => answer of the guessed
// set, with v, γ and λ all in one matrix and pivoting over the whole of it: any
// H with entries, any F.
#include "solver/polish.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "math/each_value.hpp"
#include "solver/kkt_rows.hpp"
#include "solver/polish_run.hpp"

namespace orthant {

struct PolishWork {
  internal::KktRows rows;
  SparseLu lu;
  MatX dense;
  Eigen::PartialPivLU<MatX> dense_lu;
  std::vector<internal::BlockSet> sets, next_sets;
  std::vector<Index> at;  // of each block in λ
  VecX residual, step, w;
  Solution x, candidate;
  JudgeWorkspace judge;
};

namespace {

constexpr double kRounding = 1e-15;

/// The law in the scaled impulse x = λ/s, y = s w; one scale per block leaves
/// cones as they are.
Law scaled_law(const Law& law, double s) {
  Law out = law;
  if (law.kind == LawKind::Box) {
    out.lo /= s;
    out.hi /= s;
  }
  return out;
}

class KktPolish {
 public:
  KktPolish(const CanonicalProblem& p, const ProblemScale& scale, const PolishSettings& settings,
            PolishWork& w)
      : p_(p), settings_(settings), w_(w) {
    w_.rows.build(p, scale, settings.proximal);
    if (!is_dense()) w_.lu.analyze(w_.rows.transposed());
    w_.at.assign(1, 0);
    for (const Law& law : p.laws) w_.at.push_back(w_.at.back() + law.dim);
  }

  void load(const Solution& x) {
    w_.x.v = x.v;
    w_.x.gamma = x.gamma;
    w_.x.lambda = x.lambda;
    find_velocities();
  }
  std::size_t block_count() const { return p_.laws.size(); }
  internal::BlockSet set_of(std::size_t c) const {
    const Block b = block(c);
    return internal::block_set(b.law, b.x, b.y);
  }
  double errors(const std::vector<internal::BlockSet>& sets, bool matrix) {
    find_velocities();
    w_.rows.equation_errors(p_, w_.x, w_.residual);
    const Index first = w_.rows.first_impulse();
    for (std::size_t c = 0; c < sets.size(); ++c) {
      const Block b = block(c);
      internal::BlockJacobian J;
      internal::set_residual(b.law, sets[c], b.x, b.y, w_.residual.data() + first + w_.at[c],
                             matrix ? &J : nullptr);
      if (matrix) w_.rows.set_block(p_, static_cast<Index>(c), J);
    }
    return w_.residual.norm();
  }
  bool factorize() {
    if (!is_dense()) return w_.lu.factorize(w_.rows.transposed());
    w_.dense = w_.rows.transposed().transpose();
    w_.dense_lu.compute(w_.dense);
    return true;
  }
  bool step() {
    w_.residual = -w_.residual;
    if (is_dense())
      w_.step = w_.dense_lu.solve(w_.residual);
    else
      w_.lu.solve_transpose(w_.residual, w_.step);
    if (!w_.step.allFinite()) return false;
    w_.step = w_.step.cwiseProduct(w_.rows.scale());
    const Index nv = p_.velocity_count(), nc = p_.bilateral_count();
    w_.x.v += w_.step.head(nv);
    w_.x.gamma += w_.step.segment(nv, nc);
    w_.x.lambda += w_.step.tail(p_.row_count());
    return true;
  }
  double rounding() const {
    const auto s = w_.rows.scale().tail(p_.row_count());
    return kRounding * (1 + w_.x.lambda.cwiseQuotient(s).norm());
  }
  double proximal() const { return w_.rows.epsilon(); }
  /// Pivoting over v and λ together keeps the digits of the lightest block under any load.
  double least_proximal() const { return 1e-28; }
  void set_proximal(double epsilon) { w_.rows.set_epsilon(epsilon); }
  void store(Solution& to) const {
    to.v = w_.x.v;
    to.gamma = w_.x.gamma;
    to.lambda = w_.x.lambda;
  }
  double product_work() const { return 2.0 * static_cast<double>(p_.D.all_values().size()); }
  double factor_work() const {
    const double n = w_.rows.rows();
    return is_dense() ? n * n * n / 3 : w_.lu.flops();
  }

 private:
  struct Block {
    Law law;
    double x[kMaxLawDim], y[kMaxLawDim];
  };

  bool is_dense() const { return w_.rows.rows() <= settings_.dense_rows; }
  void find_velocities() {
    w_.w = p_.b;
    if (!p_.D.empty()) p_.D.multiply_add(1, w_.x.v, w_.w);
    if (!p_.F.empty()) p_.F.multiply_add(1, w_.x.lambda, w_.w);
  }
  /// Scaled impulse and velocity of a block.
  Block block(std::size_t c) const {
    const Law& law = p_.laws[c];
    const Index at = w_.at[c];
    const double* s = w_.rows.scale().data() + w_.rows.first_impulse() + at;
    Block out{scaled_law(law, s[0]), {}, {}};
    for (int i = 0; i < law.dim; ++i) {
      out.x[i] = w_.x.lambda[at + i] / s[i];
      out.y[i] = w_.w[at + i] * s[i];
    }
    return out;
  }

  const CanonicalProblem& p_;
  const PolishSettings& settings_;
  PolishWork& w_;
};

/// load(): gives the system, at x, that is to be polished.
template <class Load>
MethodResult polish_with(const CanonicalProblem& p, const ProblemScale& scale,
                         const PolishSettings& settings, MethodLimits limits, PolishWork& w,
                         Solution& x, Load&& load) {
  const double tolerance = limits.tolerance;
  // Linear equations are solved to rounding: a step costs two triangular solves.
  if (p.laws.empty()) limits.tolerance = std::min(limits.tolerance, kRounding);
  internal::BestAnswer best(Method::Polish, p, scale, limits, settings.max_iterations, w.judge, x);
  const bool known = p.H.kind() != VelocityMatrix::Kind::Operator;
  if (std::isfinite(best.begin()) && known && !best.done()) {
    w.candidate.gamma = x.gamma;
    auto&& system = load();
    internal::PolishRun(system, settings, best, w.sets, w.next_sets, w.candidate).run();
  }
  return best.residual() <= tolerance ? best.result(Outcome::Converged) : best.result();
}

}  // namespace

MethodResult polish(const CanonicalProblem& p, const ProblemScale& scale,
                    const PolishSettings& settings, const MethodLimits& limits,
                    PolishWorkspace& work, Solution& x) {
  PolishWork& w = work.get();
  return polish_with(p, scale, settings, limits, w, x, [&] {
    KktPolish system(p, scale, settings, w);
    system.load(x);
    return system;
  });
}

MethodResult internal::polish_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                                         const PolishSettings& settings, const MethodLimits& limits,
                                         VelocityEquations& equations, PolishWorkspace& work,
                                         Solution& x) {
  return polish_with(p, scale, settings, limits, work.get(), x, [&]() -> VelocityEquations& {
    equations.load(x);
    return equations;
  });
}

bool bilateral_rows_contradict(const CanonicalProblem& p, const VecX& v_free,
                               PolishWorkspace& work) {
  if (p.C.empty() || p.H.kind() == VelocityMatrix::Kind::Operator) return false;
  CanonicalProblem alone;
  alone.H = p.H;
  alone.k = p.k;
  alone.C = p.C;
  alone.e = p.e;
  ProblemScale scale{VecX(), v_free, VecX()};
  diagonal_of(alone.H, scale.weight);
  Solution x = zero_solution(alone);
  const PolishSettings settings;
  const MethodResult result = polish(alone, scale, settings, {.tolerance = 1e-9}, work, x);
  return std::isfinite(result.residual) && result.residual > settings.contradicts;
}

}  // namespace orthant
