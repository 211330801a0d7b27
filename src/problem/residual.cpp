// SPDX-License-Identifier: Apache-2.0
// problem/residual.cpp: (problem, answer) => block-wise, unit-free residual. See residual.hpp.
#include "orthant/problem/residual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/law_kernel.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "problem/judge_part.hpp"

namespace orthant {
namespace {

/// A row that sees none of the motion of its bodies (the limit of a hinge, at its stop, of a robot
/// that falls or stands) has nothing but rounding to be measured by; 1e-10 of this share of the
/// motion is rounding.
constexpr double kUnseen = 1e-5;

/// However large its load, a body's velocity may be wrong by the tolerance times this, in units of
/// its own speed: 1e-10 of a load of 1e18 weights would be any speed at all. Loads up to this many
/// times a body's own momentum are judged as if there were no such bound.
constexpr double kLoads = 1e3;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// Errors below this are none, in any unit: the squares of such numbers underflow, so that nothing
/// is left to measure them by. A body held by joints gets there, as every step rounds the rest of
/// its motion away.
constexpr double kVanishing = 1e-150;

constexpr std::size_t kRowGrain = 1024, kBodyGrain = 1024;

/// w~ = w + shift(w) e_n
void shifted_velocity(const Law& law, const double* w, double* shifted) {
  for (int i = 0; i < law.dim; ++i) shifted[i] = w[i];
  if (law.is_exact()) shifted[0] += shift_of(law, w);
}

/// project() for the one cone that is nearly all of practice.
void project_on_cone(double mu, int dim, double* z) {
  const double tangent = dim == 2 ? std::abs(z[1]) : std::sqrt(z[1] * z[1] + z[2] * z[2]);
  double x = std::max(z[0], 0.0), scale = 1;
  if (tangent > mu * x) {
    x = std::max((z[0] + mu * tangent) / (1 + mu * mu), 0.0);
    scale = mu * x / tangent;
  }
  z[0] = x;
  for (int i = 1; i < dim; ++i) z[i] *= scale;
}

/// |λ − Π(λ − τ w~)|
double distance_to_law(const Law& law, const double* lambda, const double* shifted,
                       const double* tau) {
  double z[kMaxLawDim] = {};
  for (int i = 0; i < law.dim; ++i) z[i] = lambda[i] - tau[i] * shifted[i];
  if (law.is_frictional() && !law.has_rolling()) {
    project_on_cone(law.mu, law.dim, z);
  } else {
    project(law, z, z);
  }
  double s = 0;
  for (int i = 0; i < law.dim; ++i) s += (lambda[i] - z[i]) * (lambda[i] - z[i]);
  return std::sqrt(s);
}

double norm(const double* x, Index n) {
  double s = 0;
  for (Index i = 0; i < n; ++i) s += x[i] * x[i];
  return std::sqrt(s);
}

/// One entry of add_terms(); Width 0: as many columns as `width`.
template <int Dim, int Width>
void add_entry(const double* a, Index width, const double* x, const double* size, double* w,
               double* terms) {
  const Index n = Width > 0 ? Width : width;
  for (int r = 0; r < Dim; ++r, a += n) {
    double sum = 0, sizes = 0;
    for (Index j = 0; j < n; ++j) {
      sum += a[j] * x[j];
      sizes += std::abs(a[j]) * size[j];
    }
    w[r] += sum;
    terms[r] += sizes;
  }
}

/// Adds row block c of A times x to w, and |A| times `size` to `terms`: the size of the terms w_c
/// is made of, entry by entry, so that no other body enters.
template <int Dim>
void add_terms(const BlockRows& A, Index c, const double* x, const double* size, double* w,
               double* terms) {
  const double* a = A.values(c);
  for (const auto& entry : A.entries(c)) {
    const double *xe = x + entry.column, *se = size + entry.column;
    switch (entry.width) {  // the usual ones: the compiler unrolls
      case 3:
        add_entry<Dim, 3>(a, 3, xe, se, w, terms);
        break;
      case 6:
        add_entry<Dim, 6>(a, 6, xe, se, w, terms);
        break;
      default:
        add_entry<Dim, 0>(a, entry.width, xe, se, w, terms);
    }
    a += static_cast<std::ptrdiff_t>(Dim) * entry.width;
  }
}

void add_terms(const BlockRows& A, Index c, const double* x, const double* size, double* w,
               double* terms) {
  switch (A.dim(c)) {
    case 1:
      return add_terms<1>(A, c, x, size, w, terms);
    case 2:
      return add_terms<2>(A, c, x, size, w, terms);
    case 3:
      return add_terms<3>(A, c, x, size, w, terms);
    case 4:
      return add_terms<4>(A, c, x, size, w, terms);
    case 5:
      return add_terms<5>(A, c, x, size, w, terms);
    default:
      return add_terms<6>(A, c, x, size, w, terms);
  }
}

/// 0/0 = 0; anything that is not finite is infinitely wrong.
double ratio(double error, double size) {
  if (error < kVanishing) return 0;
  const double r = error / size;
  return std::isfinite(r) ? r : std::numeric_limits<double>::infinity();
}

/// Work that λ_c does although it must not, in the energy the block has to do with: |e||w~| with e
/// the distance to the law when λ and w~ are brought to one size. Where this cannot exceed `least`,
/// 0. (|e| does not shrink as the step grows, |e|/step does not grow.)
double forbidden_work(const Law& law, const double* lambda, const double* shifted, double impulse,
                      double error, double tau, double least) {
  if (impulse == 0) return 0;
  const double speed = norm(shifted, law.dim);
  if (speed == 0) return 0;
  const double step = impulse / speed;
  const double at_most = 1.01 * error + 1e-15 * impulse;
  if (at_most * std::max(1.0, step / tau) * speed <= least) return 0;
  double steps[kMaxLawDim];
  for (int i = 0; i < law.dim; ++i) steps[i] = step;
  return distance_to_law(law, lambda, shifted, steps) * speed;
}

/// Σ_b |D_b|(|v_b| + |v_free,b|) over the bodies of rows [first, first + dim) of block c, norms
/// weighted by the diagonal of H as for joints.
double motion_of(const CanonicalProblem& p, const ProblemScale& scale, const VecX& v, Index c,
                 Index first, Index dim) {
  if (p.D.empty() || p.H.kind() == VelocityMatrix::Kind::Operator) return 0;
  double square = 0;
  for (Index r = first; r < first + dim; ++r) {
    const double* a = p.D.values(c);
    double sum = 0;
    for (const auto& entry : p.D.entries(c)) {
      double across = 0, motion = 0, free = 0;
      for (Index j = 0; j < entry.width; ++j) {
        const double coefficient = a[r * entry.width + j], weight = scale.weight[entry.column + j];
        const double f = scale.v_free[entry.column + j];
        across += coefficient * coefficient / weight;
        motion += weight * v[entry.column + j] * v[entry.column + j];
        free += weight * f * f;
      }
      sum += std::sqrt(across) * (std::sqrt(motion) + std::sqrt(free));
      a += static_cast<std::ptrdiff_t>(p.D.dim(c)) * entry.width;
    }
    square += sum * sum;
  }
  return std::sqrt(square);
}

/// What is not above this needs no second look.
double least_of_note(double worst, const Misses* misses) {
  return misses != nullptr ? std::min(worst, misses->tolerance) : worst;
}

/// The most work that a block does although it must not.
struct ForbiddenWork {
  double most = 0;
  Index block = -1;
};

/// What judge_laws() looks at: w begins as b.
void begin_laws(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                JudgeWorkspace& work) {
  work.w = p.b;
  // Scratch of the balance, which comes after.
  VecX &speeds = work.error, &impulses = work.size;
  if (!p.D.empty()) speeds = x.v.cwiseAbs() + scale.v_free.cwiseAbs();
  if (!p.F.empty()) impulses = x.lambda.cwiseAbs();
}

/// Law blocks [begin, end), whose first row is `at`: w = D v + F λ + b and, block by block, how far
/// (λ, w) is from its law. energy(c, e) is told of the energy that block c has to do with.
template <class Energy>
ForbiddenWork judge_laws(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                         Index begin, Index end, Index at, JudgeWorkspace& work, Residual& out,
                         Misses* misses, Energy&& energy) {
  const VecX &speeds = work.error, &impulses = work.size;
  const auto found = [&](Index c, double rho) {
    if (!(rho <= out.complementarity)) out.complementarity = rho, out.worst_block = c;
    if (misses != nullptr && !(rho <= misses->tolerance))
      misses->rows[static_cast<std::size_t>(c)] = 1;
  };
  ForbiddenWork forbidden;
  for (Index c = begin; c < end; ++c) {
    const Law& law = p.laws[c];
    double* w = work.w.data() + at;
    double terms[kMaxLawDim];
    for (int r = 0; r < law.dim; ++r) terms[r] = std::abs(w[r]);
    if (!p.D.empty()) add_terms(p.D, c, x.v.data(), speeds.data(), w, terms);
    if (!p.F.empty()) add_terms(p.F, c, x.lambda.data(), impulses.data(), w, terms);
    // Entries of a separable law are blocks of their own.
    Law entry_law = law;
    const Index dim = law.is_separable() ? 1 : law.dim;
    entry_law.dim = static_cast<std::uint8_t>(dim);
    for (Index first = 0; first < law.dim; first += dim) {
      const Index row = at + first;
      const double* lambda = x.lambda.data() + row;
      const double tau = scale.tau[row], impulse = norm(lambda, dim);
      const double speed = norm(terms + first, dim);
      // A limit far from its stop, as most are.
      if (law.kind == LawKind::Orthant && impulse == 0 && w[first] >= 0) {
        energy(c, tau * speed * speed);
        continue;
      }
      double shifted[kMaxLawDim];
      shifted_velocity(entry_law, w + first, shifted);
      const double error = distance_to_law(entry_law, lambda, shifted, scale.tau.data() + row);
      const double known = least_of_note(out.complementarity, misses);
      if (!(ratio(error, impulse + tau * speed) <= known)) {
        // Only where it might be the worst: most blocks never come here.
        const double motion = motion_of(p, scale, x.v, c, first, dim);
        found(c, ratio(error, impulse + tau * (speed + kUnseen * motion)));
      }
      const double own = (impulse + tau * speed) * speed;
      const double least = std::min(forbidden.most, kLoads * known * own);
      const double done = forbidden_work(entry_law, lambda, shifted, impulse, error, tau, least);
      energy(c, own);
      if (done > forbidden.most) forbidden = {done, c};
      // The same beside the energy of the block alone, of which rounding of λ is no part.
      if (done > kLoads * known * own && tau * norm(shifted, dim) > 16 * kEpsilon * impulse) {
        const double motion = motion_of(p, scale, x.v, c, first, dim);
        const double all = (impulse + tau * speed) * (speed + kUnseen * motion);
        found(c, ratio(done, kLoads * all));
      }
    }
    at += law.dim;
  }
  return forbidden;
}

/// judge_laws() of a whole problem.
void judge_blocks(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                  JudgeWorkspace& work, Residual& out) {
  double energy = 0;
  begin_laws(p, scale, x, work);
  const ForbiddenWork forbidden = judge_laws(p, scale, x, 0, p.block_count(), 0, work, out, nullptr,
                                             [&](Index, double own) { energy += own; });
  // A light body under a heavy one: τ_c w_c is nothing beside the load λ_c, however wrong w_c is.
  // The work λ_c w_c is not, and it has one unit for all blocks.
  const double done = ratio(forbidden.most, energy);
  if (!(done <= out.complementarity)) out.complementarity = done, out.worst_block = forbidden.block;
}

/// Which entries of velocity block i share a rounding error. In a block-diagonal H those that the
/// block couples do (the inertia of a turned body), in others all of the block.
class Coupling {
 public:
  Coupling(const VelocityMatrix& H, Index i)
      : values_(H.kind() == VelocityMatrix::Kind::BlockDiagonal ? H.block(i) : nullptr),
        size_(H.block_size(i)) {}
  bool operator()(Index r, Index c) const {
    return r == c || values_ == nullptr || values_[r * size_ + c] != 0;
  }

 private:
  const double* values_;
  Index size_;
};

/// Of a body that falls and does not turn all angular momentum is rounding of the linear one, and
/// has nothing but this to be measured by: the momentum of the other three of its six entries, in
/// units of entry c (through the roots of their energies).
double momentum_across(const VelocityMatrix& H, const VecX& weight, const VecX& momentum, Index i,
                       Index c) {
  if (H.block_size(i) != 6 || H.kind() == VelocityMatrix::Kind::Operator) return 0;
  double energy = 0;
  for (Index k = 0; k < 3; ++k) {
    const Index other = H.block_begin(i) + k + (c < 3 ? 3 : 0);
    energy += momentum[other] * momentum[other] / weight[other];
  }
  return std::sqrt(energy * weight[H.block_begin(i) + c]);
}

/// error −= aᵀ f and size += |aᵀ||f| of one entry; Width 0: as many columns as `width`.
template <int Width>
void subtract_entry(const double* a, Index dim, Index width, const double* f, double* error,
                    double* size) {
  const Index n = Width > 0 ? Width : width;
  for (Index r = 0; r < dim; ++r, a += n) {
    if (f[r] == 0) continue;
    for (Index c = 0; c < n; ++c) {
      const double term = a[c] * f[r];
      error[c] -= term;
      size[c] += std::abs(term);
    }
  }
}

void subtract_terms(const BlockRows& A, const VecX& impulse, VecX& error, VecX& size) {
  for (Index i = 0; i < A.row_block_count(); ++i) {
    const double *a = A.values(i), *f = impulse.data() + A.row_begin(i);
    const Index d = A.dim(i);
    for (const auto& entry : A.entries(i)) {
      double *e = error.data() + entry.column, *s = size.data() + entry.column;
      if (entry.width == 6)
        subtract_entry<6>(a, d, 6, f, e, s);
      else if (entry.width == 3)
        subtract_entry<3>(a, d, 3, f, e, s);
      else
        subtract_entry<0>(a, d, entry.width, f, e, s);
      a += static_cast<std::ptrdiff_t>(d) * entry.width;
    }
  }
}

bool is_judged(std::span<const unsigned char> bodies, Index i) {
  return bodies.empty() || bodies[static_cast<std::size_t>(i)] != 0;
}

/// error = Hv − k and size = momentum = |Hv| + |k| of a velocity block; Size 0: any.
template <int Size>
void begin_body(const CanonicalProblem& p, Index i, const VecX& v, VecX& error, VecX& size,
                VecX& momentum) {
  const Index at = p.H.block_begin(i), n = Size > 0 ? Size : p.H.block_size(i);
  const double *a = p.H.block(i), *x = v.data() + at;
  for (Index r = 0; r < n; ++r, a += n) {
    double sum = 0;
    for (Index c = 0; c < n; ++c) sum += a[c] * x[c];
    error[at + r] = sum - p.k[at + r];
    size[at + r] = momentum[at + r] = std::abs(sum) + std::abs(p.k[at + r]);
  }
}

/// error = Hv − Cᵀγ − Dᵀλ − k; leaves Σ|terms| in `size`, entry by entry, and |Hv| + |k| in `v`.
void begin_balance(const CanonicalProblem& p, const Solution& x,
                   std::span<const unsigned char> bodies, JudgeWorkspace& work) {
  VecX &error = work.error, &size = work.size, &momentum = work.v;
  if (p.H.kind() == VelocityMatrix::Kind::Sparse) {
    // A stiff body that moves as a whole: the terms of H v are far larger than their sum.
    momentum = p.k.cwiseAbs();
    error.setZero(p.velocity_count());
    const SparseMatrix& S = p.H.sparse_matrix();
    const Index *outer = S.outerIndexPtr(), *row = S.innerIndexPtr();
    const double* a = S.valuePtr();
    for (Index j = 0; j < p.velocity_count(); ++j)
      for (Index e = outer[j]; e < outer[j + 1]; ++e) {
        const double term = a[e] * x.v[j];
        error[row[e]] += term;
        momentum[row[e]] += std::abs(term);
      }
    size = momentum;
    error -= p.k;
  } else if (p.H.kind() == VelocityMatrix::Kind::BlockDiagonal) {
    for (VecX* list : {&error, &size, &momentum}) list->resize(p.velocity_count());
    parallel_for(static_cast<std::size_t>(p.H.block_count()), kBodyGrain,
                 [&](std::size_t begin, std::size_t end) {
                   for (auto i = static_cast<Index>(begin); i < static_cast<Index>(end); ++i) {
                     if (!is_judged(bodies, i)) continue;
                     if (p.H.block_size(i) == 6)
                       begin_body<6>(p, i, x.v, error, size, momentum);
                     else
                       begin_body<0>(p, i, x.v, error, size, momentum);
                   }
                 });
  } else {
    p.H.multiply(x.v, error);
    size = momentum = error.cwiseAbs() + p.k.cwiseAbs();
    error -= p.k;
  }
  subtract_terms(p.C, x.gamma, error, size);
  subtract_terms(p.D, x.lambda, error, size);
}

/// Velocity blocks [first, last) after begin_balance(). A body is measured by its own momentum
/// |Hv| + |k|, linear and angular entries (three each, which differ in units) apart, once what
/// presses on it is larger than kLoads times that. Of the load only rounding is then forgiven, and
/// only of what acts along the entry. `bodies`: those judged; empty: all.
void judge_balance(const CanonicalProblem& p, const ProblemScale& scale, Index first, Index last,
                   std::span<const unsigned char> bodies, const JudgeWorkspace& work, Residual& out,
                   Misses* misses) {
  const VecX &error = work.error, &size = work.size, &momentum = work.v;
  // Every row of an operator is a sum over all bodies, whose terms are not seen: a body without
  // forces of its own is measured by the largest of its kind.
  double largest[kMaxVelocityBlock] = {};
  for (Index i = 0; p.H.kind() == VelocityMatrix::Kind::Operator && i < p.H.block_count(); ++i)
    for (Index part = 0; part < p.H.block_size(i); part += 3)
      largest[part] = std::max(largest[part], norm(size.data() + p.H.block_begin(i) + part,
                                                   std::min<Index>(3, p.H.block_size(i) - part)));
  for (Index i = first; i < last; ++i) {
    if (!is_judged(bodies, i)) continue;
    const Index begin = p.H.block_begin(i), n = p.H.block_size(i);
    const Coupling coupled(p.H, i);
    for (Index part = 0; part < n; part += 3) {
      const Index m = std::min<Index>(3, n - part), at = begin + part;
      const double own = std::max(norm(momentum.data() + at, m), largest[part]);
      const double most = std::max(norm(size.data() + at, m), largest[part]);
      for (Index c = 0; c < m; ++c) {
        const double wrong = std::abs(error[at + c]);
        // What it is measured by is no less than `own`: not the worst, with room for rounding.
        const double known = least_of_note(out.balance, misses);
        if (2 * wrong <= known * own) continue;
        double load = 0;
        for (Index d = 0; d < m; ++d)
          if (coupled(part + c, part + d)) load += size[at + d];
        const bool nothing = wrong <= 4 * kEpsilon * load;
        const double beside = nothing ? most : std::min(kLoads * own + kUnseen * load, most);
        double rho = ratio(wrong, beside);
        if (!(rho <= known))  // only where it might be the worst
          rho = ratio(wrong,
                      beside + kUnseen * momentum_across(p.H, scale.weight, momentum, i, part + c));
        if (!(rho <= out.balance)) out.balance = rho, out.worst_body = i;
        if (misses != nullptr && !(rho <= misses->tolerance))
          misses->bodies[static_cast<std::size_t>(i)] = 1;
      }
    }
  }
}

void judge_balance(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                   JudgeWorkspace& work, Residual& out) {
  if (p.velocity_count() == 0) return;
  begin_balance(p, x, {}, work);
  judge_balance(p, scale, 0, p.H.block_count(), {}, work, out, nullptr);
}

/// What one entry of a row block of C adds to error, size and rounding; Width 0: as many columns as
/// `width`.
template <int Width>
void add_joint(const double* a, Index dim, Index width, const double* v, const double* mobility,
               const double* pushed, double moves, double* error, double* size, double* rounding) {
  const Index n = Width > 0 ? Width : width;
  for (Index r = 0; r < dim; ++r, a += n) {
    double sum = 0, across = 0, rounds = 0;
    for (Index c = 0; c < n; ++c) {
      sum += a[c] * v[c];
      across += a[c] * a[c] * mobility[c];
      rounds += std::abs(a[c]) * pushed[c];
    }
    error[r] += sum;
    size[r] += std::sqrt(across) * moves;
    rounding[r] += rounds;
  }
}

/// |Cv + e| row by row over |e| + Σ_b |C_b|(|v_b| + |v_free,b|), a sum over bodies with the norms
/// weighted by the diagonal of H, which makes them free of units. Body by body and not entry by
/// entry: a row across the motion (a slider's guide, a hinge's plane) sees only rounding of a
/// speed. A body that impulses hold still (a clamped base whose arm is projected) has a speed that
/// is nothing but their rounding: what is below that is measured by them, but only by those along
/// the row, as a load says nothing of the speed across it. Overwrites the balance.
void judge_bilateral(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     JudgeWorkspace& work, Residual& out) {
  if (p.C.empty()) return;
  // By velocity: 1/H and terms/H. By body, at its first velocity: |v| + |v_free|, weighted.
  VecX &mobility = work.v, &motion = work.error, &pushes = work.size;
  mobility.resize(p.velocity_count());
  for (Index i = 0; i < p.H.block_count(); ++i) {
    const Index begin = p.H.block_begin(i), n = p.H.block_size(i);
    double moves = 0, free = 0, pushed = 0;
    for (Index c = 0; c < n; ++c) {
      const Index at = begin + c;
      const double weight = scale.weight[at], v = x.v[at], f = scale.v_free[at];
      mobility[at] = 1 / weight;
      moves += weight * v * v;
      free += weight * f * f;
      pushes[at] *= std::sqrt(mobility[at]);
      pushed += pushes[at];
    }
    motion[begin] = std::sqrt(moves) + std::sqrt(free);
    double along[kMaxVelocityBlock];
    const bool blocks = p.H.kind() == VelocityMatrix::Kind::BlockDiagonal;
    const Coupling coupled(p.H, i);
    for (Index c = 0; blocks && c < n; ++c) {
      along[c] = 0;
      for (Index d = 0; d < n; ++d)
        if (coupled(c, d)) along[c] += pushes[begin + d];
    }
    for (Index c = 0; c < n; ++c)
      pushes[begin + c] = (blocks ? along[c] : pushed) * std::sqrt(mobility[begin + c]);
  }
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    const Index d = p.C.dim(i), row = p.C.row_begin(i);
    double error[kMaxVelocityBlock], size[kMaxVelocityBlock], rounding[kMaxVelocityBlock];
    ORTHANT_ASSERT(d <= kMaxVelocityBlock);
    for (Index r = 0; r < d; ++r) {
      error[r] = p.e[row + r];
      size[r] = std::abs(error[r]);
      rounding[r] = 0;
    }
    const double* a = p.C.values(i);
    for (const auto& entry : p.C.entries(i)) {
      const Index at = entry.column;
      const double moves = motion[p.H.block_begin(entry.block)];
      const auto add = entry.width == 6   ? add_joint<6>
                       : entry.width == 3 ? add_joint<3>
                                          : add_joint<0>;
      add(a, d, entry.width, x.v.data() + at, mobility.data() + at, pushes.data() + at, moves,
          error, size, rounding);
      a += static_cast<std::ptrdiff_t>(d) * entry.width;
    }
    for (Index r = 0; r < d; ++r) {
      const bool nothing = std::abs(error[r]) <= kEpsilon * rounding[r];
      const double rho = ratio(std::abs(error[r]), nothing ? rounding[r] : size[r]);
      if (!(rho <= out.bilateral)) out.bilateral = rho, out.worst_joint = i;
    }
  }
}

/// The sizes are those of the problem and every number is finite.
bool is_usable(const CanonicalProblem& p, const Solution& x) {
  return x.v.size() == p.velocity_count() && x.gamma.size() == p.bilateral_count() &&
         x.lambda.size() == p.row_count() && x.v.allFinite() && x.gamma.allFinite() &&
         x.lambda.allFinite();
}

/// Σ |r − Π(r − step u~)|² over the blocks, with unit step and with the steps of the scale.
void natural_errors(const CanonicalProblem& p, const ProblemScale& scale, const VecX& lambda,
                    const VecX& u, double& plain, double& scaled) {
  constexpr double unit[kMaxLawDim] = {1, 1, 1, 1, 1};
  plain = scaled = 0;
  Index at = 0;
  for (const Law& law : p.laws) {
    // Entries of a separable law are blocks of their own.
    Law part = law;
    if (law.is_separable()) part.dim = 1;
    for (int first = 0; first < law.dim; first += part.dim, at += part.dim) {
      const double *r = lambda.data() + at, *ui = u.data() + at;
      double shifted[kMaxLawDim];
      shifted_velocity(part, ui, shifted);
      const double b = distance_to_law(part, r, shifted, scale.tau.data() + at);
      if (b == 0 && norm(r, part.dim) == 0) continue;  // apart, whatever the step
      const double a = distance_to_law(part, r, shifted, unit);
      plain += a * a;
      scaled += b * b;
    }
  }
}

/// Siconos' measure and its scale-free form, with v recomputed from the impulses alone.
void judge_siconos(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                   const VelocitySolver& inverse, JudgeWorkspace& work, Residual& out) {
  VecX &u = work.u, &q = work.q;
  q = p.b;
  const bool has_velocities = p.velocity_count() > 0 && !p.D.empty();
  u = has_velocities ? p.b : work.w;
  if (has_velocities) {
    VecX& impulse = work.error;
    impulse = p.k;
    p.C.multiply_transpose_add(1, x.gamma, impulse);
    p.D.multiply_transpose_add(1, x.lambda, impulse);
    inverse.solve(impulse, work.v);
    p.D.multiply_add(1, work.v, u);
    p.D.multiply_add(1, scale.v_free, q);
    if (!p.F.empty()) p.F.multiply_add(1, x.lambda, u);
  }
  double plain = 0, scaled = 0;
  natural_errors(p, scale, x.lambda, u, plain, scaled);
  const double size = std::max({q.norm(), x.lambda.norm(), u.norm()});
  out.siconos = ratio(std::sqrt(plain), size);
  out.siconos_scale_free = ratio(std::sqrt(scaled), x.lambda.norm());
}

}  // namespace

Residual judge_quick(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     JudgeWorkspace& work) {
  Residual out;
  if (!is_usable(p, x)) {
    out.value = out.complementarity = std::numeric_limits<double>::infinity();
    return out;
  }
  judge_blocks(p, scale, x, work, out);
  judge_balance(p, scale, x, work, out);
  judge_bilateral(p, scale, x, work, out);
  out.value = std::max({out.complementarity, out.balance, out.bilateral});
  return out;
}

PartResidual judge_part(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                        std::span<const unsigned char> bodies, std::span<const unsigned char> rows,
                        JudgeWorkspace& work, Misses& misses) {
  PartResidual part;
  const auto blocks = static_cast<std::size_t>(p.block_count()),
             velocities = static_cast<std::size_t>(p.H.block_count());
  misses.rows.assign(blocks, 0);
  misses.bodies.assign(velocities, 0);
  if (!is_usable(p, x)) {
    part.balance = std::numeric_limits<double>::infinity();
    work.w.setZero(p.row_count());
    return part;
  }
  std::vector<PartResidual> chunks(
      std::max(chunk_count(blocks, kRowGrain), chunk_count(velocities, kBodyGrain)));
  begin_laws(p, scale, x, work);
  parallel_for_chunks(blocks, kRowGrain, [&](std::size_t begin, std::size_t end, std::size_t k) {
    Residual out;
    const auto first = static_cast<Index>(begin);
    const auto count = [&](Index c, double energy) {
      if (rows.empty() || rows[static_cast<std::size_t>(c)] != 0) chunks[k].energy.add(energy);
    };
    chunks[k].work = judge_laws(p, scale, x, first, static_cast<Index>(end), p.D.row_begin(first),
                                work, out, &misses, count)
                         .most;
    chunks[k].complementarity = out.complementarity;
  });
  begin_balance(p, x, bodies, work);
  parallel_for_chunks(velocities, kBodyGrain,
                      [&](std::size_t begin, std::size_t end, std::size_t k) {
                        Residual out;
                        judge_balance(p, scale, static_cast<Index>(begin), static_cast<Index>(end),
                                      bodies, work, out, &misses);
                        chunks[k].balance = out.balance;
                      });
  for (const PartResidual& chunk : chunks) part.add(chunk);
  return part;
}

void PartResidual::add(const PartResidual& other) {
  complementarity = std::max(complementarity, other.complementarity);
  balance = std::max(balance, other.balance);
  work = std::max(work, other.work);
  energy.add(other.energy);
}

Residual PartResidual::whole() const {
  Residual out;
  out.complementarity = std::max(complementarity, ratio(work, energy.value()));
  out.balance = balance;
  out.value = std::max(out.complementarity, out.balance);
  return out;
}

double judge_up_to(double tolerance, const CanonicalProblem& p, const ProblemScale& scale,
                   const Solution& x, JudgeWorkspace& work) {
  if (!is_usable(p, x)) return std::numeric_limits<double>::infinity();
  Residual out;
  judge_balance(p, scale, x, work, out);
  if (out.balance <= tolerance) judge_bilateral(p, scale, x, work, out);
  const double value = std::max(out.balance, out.bilateral);
  if (!(value <= tolerance)) return value;
  judge_blocks(p, scale, x, work, out);
  return std::max(value, out.complementarity);
}

double siconos_error(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     JudgeWorkspace& work) {
  double plain = 0, scaled = 0;
  natural_errors(p, scale, x.lambda, work.w, plain, scaled);
  work.q = p.b;
  if (!p.D.empty()) p.D.multiply_add(1, scale.v_free, work.q);
  return ratio(std::sqrt(plain), std::max({work.q.norm(), x.lambda.norm(), work.w.norm()}));
}

Residual judge(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
               const VelocitySolver& inverse, JudgeWorkspace& work) {
  Residual out = judge_quick(p, scale, x, work);
  if (std::isinf(out.value)) {
    out.siconos = out.siconos_scale_free = out.value;
    return out;
  }
  judge_siconos(p, scale, x, inverse, work, out);
  return out;
}

Residual judge(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x) {
  VelocitySolver inverse;
  if (!inverse.factorize(p.H)) throw Error("judge", "H is singular");
  JudgeWorkspace work;
  return judge(p, scale, x, inverse, work);
}

Residual judge(const CanonicalProblem& problem, const Solution& answer) {
  return judge(problem, scale_of(problem), answer);
}

std::string describe(const Residual& r, const CanonicalProblem& problem) {
  const auto text = [](double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.2e", value);
    return std::string(buffer);
  };
  std::string out = "residual " + text(r.value);
  if (r.value == 0) return out;
  if (r.value == r.complementarity && r.worst_block >= 0) {
    out += ": block " + std::to_string(r.worst_block) + " (" +
           std::string(name_of(problem.laws[r.worst_block].kind)) + ")";
  } else if (r.value == r.balance && r.worst_body >= 0) {
    out += ": balance of body " + std::to_string(r.worst_body);
  } else if (r.value == r.bilateral) {
    out += ": bilateral row block " + std::to_string(r.worst_joint);
  }
  return out;
}

}  // namespace orthant
