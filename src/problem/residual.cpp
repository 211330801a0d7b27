// SPDX-License-Identifier: Apache-2.0
// problem/residual.cpp: (problem, answer) => block-wise, unit-free residual. See residual.hpp.
#include "orthant/problem/residual.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/math/law_kernel.hpp"
#include "orthant/math/velocity_solver.hpp"

namespace orthant {
namespace {

/// Multiply-adds that the diagonal of N may cost where every row takes a sparse solve.
constexpr double kDiagonalWork = 2e7;

/// D_r diag(H)⁻¹ D_rᵀ for row r of row block i of D: a lower bound of the entry of N.
double diagonal_estimate(const CanonicalProblem& p, Index i, Index r) {
  const double* a = p.D.values(i);
  double sum = 0;
  for (const auto& entry : p.D.entries(i)) {
    for (Index c = 0; c < entry.width; ++c) {
      const double value = a[r * entry.width + c];
      sum += value * value / p.H.sparse_matrix().coeff(entry.column + c, entry.column + c);
    }
    a += static_cast<std::ptrdiff_t>(p.D.dim(i)) * entry.width;
  }
  return sum;
}

/// Diagonal of N = D H⁻¹ Dᵀ + F, row by row. A large sparse H (many finite elements, many contacts)
/// is replaced by its own diagonal: τ is a yardstick, not part of the answer. Joints are left out:
/// the effective mass of a body in a mechanism is at least its own.
void delassus_diagonal(const CanonicalProblem& p, const VelocitySolver& inverse, VecX& diagonal) {
  diagonal.setZero(p.row_count());
  VecX column, x;
  if (!inverse.is_block_diagonal() && !p.D.empty()) column = VecX::Zero(p.velocity_count());
  const bool estimate = p.H.kind() == VelocityMatrix::Kind::Sparse &&
                        static_cast<double>(p.row_count()) * inverse.solve_work() > kDiagonalWork;
  for (Index i = 0; i < p.D.row_block_count(); ++i) {
    const Index d = p.D.dim(i), at = p.D.row_begin(i);
    for (Index r = 0; r < d; ++r) {
      const double* a = p.D.values(i);
      double sum = 0;
      if (inverse.is_block_diagonal()) {
        for (const auto& entry : p.D.entries(i)) {
          double y[kMaxVelocityBlock];
          const double* row = a + r * entry.width;
          std::copy(row, row + entry.width, y);
          inverse.solve_block(entry.block, y);
          for (Index c = 0; c < entry.width; ++c) sum += row[c] * y[c];
          a += static_cast<std::ptrdiff_t>(d) * entry.width;
        }
      } else if (estimate) {
        sum = diagonal_estimate(p, i, r);
      } else {
        column.setZero();
        for (const auto& entry : p.D.entries(i)) {
          for (Index c = 0; c < entry.width; ++c)
            column[entry.column + c] += a[r * entry.width + c];
          a += static_cast<std::ptrdiff_t>(d) * entry.width;
        }
        inverse.solve(column, x);
        sum = column.dot(x);
      }
      diagonal[at + r] += sum;
    }
  }
  for (Index i = 0; i < p.F.row_block_count(); ++i) {
    const double* f = p.F.find(i, i);
    const Index d = p.F.dim(i);
    for (Index r = 0; f && r < d; ++r) diagonal[p.F.row_begin(i) + r] += f[r * d + r];
  }
}

/// A row whose diagonal of N vanishes (the sliding speed of a friction pyramid, a saddle point in a
/// circuit) takes its step from the rows it is coupled with, so that the scaled coupling is one:
/// τ_i = 1 / max_j (|N_ij| |N_ji| or the larger squared) τ_j. That keeps the judge free of units.
void borrow_steps(const CanonicalProblem& p, VecX& best, VecX& tau) {
  for (int round = 0; round < 8; ++round) {
    if ((tau.array() != 0).all()) break;
    best.setZero(tau.size());
    for (Index i = 0; i < p.F.row_block_count(); ++i) {
      const double* f = p.F.values(i);
      const Index d = p.F.dim(i);
      for (const auto& entry : p.F.entries(i)) {
        for (Index r = 0; r < d; ++r) {
          for (Index c = 0; c < entry.width; ++c) {
            const Index row = p.F.row_begin(i) + r, column = entry.column + c;
            const double coupling = f[r * entry.width + c] * f[r * entry.width + c];
            if (tau[row] == 0) best[row] = std::max(best[row], coupling * tau[column]);
            if (tau[column] == 0) best[column] = std::max(best[column], coupling * tau[row]);
          }
        }
        f += static_cast<std::ptrdiff_t>(d) * entry.width;
      }
    }
    bool changed = false;
    for (Index i = 0; i < tau.size(); ++i) {
      if (tau[i] == 0 && best[i] > 0) tau[i] = 1 / best[i], changed = true;
    }
    if (!changed) break;
  }
  for (Index i = 0; i < tau.size(); ++i) {
    if (tau[i] == 0 || !std::isfinite(tau[i])) tau[i] = 1;
  }
}

double distance_to_law(const Law& law, const double* lambda, const double* w, const double* tau) {
  double shifted[kMaxLawDim] = {}, z[kMaxLawDim] = {};
  for (int i = 0; i < law.dim; ++i) shifted[i] = w[i];
  shifted[0] += shift_of(law, w);
  for (int i = 0; i < law.dim; ++i) z[i] = lambda[i] - tau[i] * shifted[i];
  project(law, z, z);
  double s = 0;
  for (int i = 0; i < law.dim; ++i) s += (lambda[i] - z[i]) * (lambda[i] - z[i]);
  return std::sqrt(s);
}

double norm(const double* x, Index n) {
  double s = 0;
  for (Index i = 0; i < n; ++i) s += x[i] * x[i];
  return std::sqrt(s);
}

/// |D_c|(|v| + |v_free|) + |F_c||λ| + |b_c| for rows [first, first + dim) of block c: the size of
/// the terms w_c is made of, entry by entry, so that no other body enters.
double size_of_terms(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     Index c, Index at, Index first, Index dim) {
  double terms[kMaxLawDim];
  for (Index r = 0; r < dim; ++r) terms[r] = std::abs(p.b[at + first + r]);
  const auto add = [&](const BlockRows& A, auto&& size_at) {
    if (A.empty()) return;
    const double* a = A.values(c);
    for (const auto& entry : A.entries(c)) {
      for (Index r = 0; r < dim; ++r) {
        for (Index j = 0; j < entry.width; ++j) {
          terms[r] += std::abs(a[(first + r) * entry.width + j]) * size_at(entry.column + j);
        }
      }
      a += static_cast<std::ptrdiff_t>(A.dim(c)) * entry.width;
    }
  };
  add(p.D, [&](Index j) { return std::abs(x.v[j]) + std::abs(scale.v_free[j]); });
  add(p.F, [&](Index j) { return std::abs(x.lambda[j]); });
  return norm(terms, dim);
}

/// 0/0 = 0; anything that is not finite is infinitely wrong.
double ratio(double error, double size) {
  if (error == 0) return 0;
  const double r = error / size;
  return std::isfinite(r) ? r : std::numeric_limits<double>::infinity();
}

/// Work that λ_c does although it must not, in the energy the block has to do with: |e||w~| with e
/// the distance to the law when λ and w~ are brought to one size.
double forbidden_work(const Law& law, const double* lambda, const double* w) {
  double shifted[kMaxLawDim] = {}, tau[kMaxLawDim];
  for (int i = 0; i < law.dim; ++i) shifted[i] = w[i];
  shifted[0] += shift_of(law, w);
  const double speed = norm(shifted, law.dim);
  if (speed == 0) return 0;
  const double step = norm(lambda, law.dim) / speed;
  for (int i = 0; i < law.dim; ++i) tau[i] = step;
  return distance_to_law(law, lambda, w, tau) * speed;
}

void judge_blocks(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                  const VecX& w, Residual& out) {
  Index at = 0, hardest = -1;
  double most = 0, energy = 0;
  for (Index c = 0; c < p.block_count(); ++c) {
    const Law& law = p.laws[c];
    // Entries of a separable law are blocks of their own.
    Law entry_law = law;
    const Index dim = law.is_separable() ? 1 : law.dim;
    entry_law.dim = static_cast<std::uint8_t>(dim);
    for (Index first = 0; first < law.dim; first += dim) {
      const Index row = at + first;
      const double* lambda = x.lambda.data() + row;
      const double impulse = norm(lambda, dim);
      const double speed = size_of_terms(p, scale, x, c, at, first, dim);
      const double error =
          distance_to_law(entry_law, lambda, w.data() + row, scale.tau.data() + row);
      const double rho = ratio(error, impulse + scale.tau[row] * speed);
      if (!(rho <= out.complementarity)) out.complementarity = rho, out.worst_block = c;
      const double work = forbidden_work(entry_law, lambda, w.data() + row);
      energy += (impulse + scale.tau[row] * speed) * speed;
      if (work > most) most = work, hardest = c;
    }
    at += law.dim;
  }
  // A light body under a heavy one: τ_c w_c is nothing beside the load λ_c, however wrong w_c is.
  // The work λ_c w_c is not, and it has one unit for all blocks.
  const double work = ratio(most, energy);
  if (!(work <= out.complementarity)) out.complementarity = work, out.worst_block = hardest;
}

void judge_balance(const CanonicalProblem& p, const Solution& x, VecX& error, VecX& size,
                   Residual& out) {
  if (p.velocity_count() == 0) return;
  // error = Hv − Cᵀγ − Dᵀλ − k and, entry by entry, the size of its terms.
  p.H.multiply(x.v, error);
  size = error.cwiseAbs() + p.k.cwiseAbs();
  if (p.H.kind() == VelocityMatrix::Kind::Sparse) {
    // A stiff body that moves as a whole: the terms of H v are far larger than their sum.
    size = p.k.cwiseAbs();
    for (Index j = 0; j < p.velocity_count(); ++j)
      for (SparseMatrix::InnerIterator it(p.H.sparse_matrix(), j); it; ++it)
        size[it.row()] += std::abs(it.value() * x.v[j]);
  }
  error -= p.k;
  const auto subtract = [&](const BlockRows& A, const VecX& impulse) {
    for (Index i = 0; i < A.row_block_count(); ++i) {
      const double* a = A.values(i);
      const Index d = A.dim(i);
      for (const auto& entry : A.entries(i)) {
        for (Index r = 0; r < d; ++r) {
          const double f = impulse[A.row_begin(i) + r];
          for (Index c = 0; c < entry.width; ++c) {
            const double term = a[r * entry.width + c] * f;
            error[entry.column + c] -= term;
            size[entry.column + c] += std::abs(term);
          }
        }
        a += static_cast<std::ptrdiff_t>(d) * entry.width;
      }
    }
  };
  subtract(p.C, x.gamma);
  subtract(p.D, x.lambda);
  for (Index i = 0; i < p.H.block_count(); ++i) {
    // Linear and angular entries differ in units: each is compared with its own terms, but a zero
    // among terms of the same kind (three entries) is measured by its neighbours.
    const Index begin = p.H.block_begin(i), n = p.H.block_size(i);
    for (Index part = 0; part < n; part += 3) {
      const Index m = std::min<Index>(3, n - part);
      const double rho =
          ratio(norm(error.data() + begin + part, m), norm(size.data() + begin + part, m));
      if (!(rho <= out.balance)) out.balance = rho, out.worst_body = i;
    }
  }
}

/// Diagonal entry c of velocity block i of H; 1 where H is an operator.
double weight_of(const VelocityMatrix& H, Index i, Index c) {
  switch (H.kind()) {
    case VelocityMatrix::Kind::BlockDiagonal:
      return H.block(i)[c * H.block_size(i) + c];
    case VelocityMatrix::Kind::Sparse:
      return H.sparse_matrix().coeff(H.block_begin(i) + c, H.block_begin(i) + c);
    case VelocityMatrix::Kind::Operator:
      break;
  }
  return 1;
}

/// |Cv + e| row by row over |e| + Σ_b |C_b|(|v_b| + |v_free,b|), a sum over bodies with the norms
/// weighted by the diagonal of H, which makes them free of units. Body by body and not entry by
/// entry: a row across the motion (a slider's guide, a hinge's plane) sees only rounding of a
/// speed.
void judge_bilateral(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     Residual& out) {
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    const double* a = p.C.values(i);
    const Index d = p.C.dim(i);
    for (Index r = 0; r < d; ++r) {
      const double* row = a;
      double error = p.e[p.C.row_begin(i) + r], size = std::abs(error);
      for (const auto& entry : p.C.entries(i)) {
        double across = 0, motion = 0, free = 0;
        for (Index c = 0; c < entry.width; ++c) {
          const double coefficient = row[r * entry.width + c],
                       weight = weight_of(p.H, entry.block, c);
          const double v = x.v[entry.column + c], f = scale.v_free[entry.column + c];
          error += coefficient * v;
          across += coefficient * coefficient / weight;
          motion += weight * v * v;
          free += weight * f * f;
        }
        size += std::sqrt(across) * (std::sqrt(motion) + std::sqrt(free));
        row += static_cast<std::ptrdiff_t>(d) * entry.width;
      }
      const double rho = ratio(std::abs(error), size);
      if (!(rho <= out.bilateral)) out.bilateral = rho, out.worst_joint = i;
    }
  }
}

bool sizes_agree(const CanonicalProblem& p, const Solution& x) {
  return x.v.size() == p.velocity_count() && x.gamma.size() == p.bilateral_count() &&
         x.lambda.size() == p.row_count();
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
      const double a = distance_to_law(part, r, ui, unit);
      const double b = distance_to_law(part, r, ui, scale.tau.data() + at);
      plain += a * a;
      scaled += b * b;
    }
  }
}

/// Siconos' measure and its scale-free form, with v recomputed from the impulses alone.
void judge_siconos(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                   const VelocitySolver& inverse, JudgeWorkspace& work, Residual& out) {
  VecX &u = work.u, &q = work.q;
  u = q = p.b;
  if (p.velocity_count() > 0 && !p.D.empty()) {
    VecX& impulse = work.error;
    impulse = p.k;
    p.C.multiply_transpose_add(1, x.gamma, impulse);
    p.D.multiply_transpose_add(1, x.lambda, impulse);
    inverse.solve(impulse, work.v);
    p.D.multiply_add(1, work.v, u);
    p.D.multiply_add(1, scale.v_free, q);
  }
  if (!p.F.empty()) p.F.multiply_add(1, x.lambda, u);
  double plain = 0, scaled = 0;
  natural_errors(p, scale, x.lambda, u, plain, scaled);
  const double size = std::max({q.norm(), x.lambda.norm(), u.norm()});
  out.siconos = ratio(std::sqrt(plain), size);
  out.siconos_scale_free = ratio(std::sqrt(scaled), x.lambda.norm());
}

}  // namespace

void scale_of(const CanonicalProblem& p, ScaleWorkspace& work, ProblemScale& scale) {
  VelocitySolver& inverse = work.inverse;
  if (!inverse.factorize(p.H)) throw Error("problem", "H is singular");
  scale.v_free.resize(p.velocity_count());
  inverse.solve(p.k, scale.v_free);
  VecX& diagonal = work.diagonal;
  delassus_diagonal(p, inverse, diagonal);
  scale.tau.setZero(p.row_count());
  Index at = 0;
  for (const Law& law : p.laws) {
    const Index dim = law.is_separable() ? 1 : law.dim;
    for (Index first = 0; first < law.dim; first += dim) {
      double trace = 0;
      for (Index r = 0; r < dim; ++r) trace += std::abs(diagonal[at + first + r]);
      for (Index r = 0; r < dim; ++r) scale.tau[at + first + r] = trace > 0 ? dim / trace : 0.0;
    }
    at += law.dim;
  }
  borrow_steps(p, work.best, scale.tau);
}

ProblemScale scale_of(const CanonicalProblem& p) {
  ScaleWorkspace work;
  ProblemScale scale;
  scale_of(p, work, scale);
  return scale;
}

Residual judge_quick(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     JudgeWorkspace& work) {
  VecX& w = work.w;
  Residual out;
  if (!sizes_agree(p, x) || !x.v.allFinite() || !x.gamma.allFinite() || !x.lambda.allFinite()) {
    out.value = out.complementarity = std::numeric_limits<double>::infinity();
    return out;
  }
  w = p.b;
  if (!p.D.empty()) p.D.multiply_add(1, x.v, w);
  if (!p.F.empty()) p.F.multiply_add(1, x.lambda, w);
  judge_blocks(p, scale, x, w, out);
  judge_balance(p, x, work.error, work.size, out);
  judge_bilateral(p, scale, x, out);
  out.value = std::max({out.complementarity, out.balance, out.bilateral});
  return out;
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
  } else if (r.value == r.balance) {
    out += ": balance of body " + std::to_string(r.worst_body);
  } else if (r.value == r.bilateral) {
    out += ": bilateral row block " + std::to_string(r.worst_joint);
  }
  return out;
}

}  // namespace orthant
