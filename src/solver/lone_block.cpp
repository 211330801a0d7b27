// SPDX-License-Identifier: Apache-2.0
// solver/lone_block.cpp: one block alone => λ_c, v. See the header.
//
//   N = D_c H⁻¹ D_cᵀ + F_cc,  q = D_c v_free + b_c,  law(λ_c, N λ_c + q),  v = v_free + H⁻¹ D_cᵀ
//   λ_c
//
// In a scene of scattered bodies most islands are such: setting up a method takes longer than this.
#include "solver/lone_block.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/math/velocity_solver.hpp"
#include "solver/one_contact_kernel.hpp"
#include "solver/small_dense.hpp"

namespace orthant {
namespace {

/// Adds D_b H_b⁻¹ D_bᵀ of one body to N.
void add_mass(const VelocitySolver& inverse, const BlockRows::Entry& entry, Index dim,
              const double* d, double* N) {
  for (Index r = 0; r < dim; ++r) {
    double y[kMaxVelocityBlock];
    std::copy_n(d + r * entry.width, entry.width, y);
    inverse.solve_block_transpose(entry.block, y);
    internal::add_product(d, dim, entry.width, y, N + r * dim);
  }
}

/// v_b = v_free + H_b⁻¹ D_bᵀ λ of one body.
void move_body(const VelocitySolver& inverse, const ProblemScale& scale,
               const BlockRows::Entry& entry, Index dim, const double* d, const double* lambda,
               Solution& x) {
  double y[kMaxVelocityBlock] = {};
  internal::add_transposed(d, dim, entry.width, lambda, y);
  inverse.solve_block(entry.block, y);
  for (Index j = 0; j < entry.width; ++j) {
    x.v[entry.column + j] = scale.v_free[entry.column + j] + y[j];
  }
}

/// D_c touches no body twice: the products of its parts would be missing.
bool bodies_differ(std::span<const BlockRows::Entry> entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (entries[i].block == entries[j].block) return false;
    }
  }
  return true;
}

}  // namespace

bool solve_lone_block(const CanonicalProblem& p, const ProblemScale& scale,
                      const VelocitySolver& inverse, Index c, Index at, Solution& x) {
  const Law& law = p.laws[c];
  if (law.is_separable() && law.dim > 1) return false;
  const Index dim = law.dim;
  const bool moves = !p.D.empty() && p.velocity_count() > 0;
  if (moves && (!inverse.is_block_diagonal() || !bodies_differ(p.D.entries(c)))) return false;
  double N[kMaxLawDim * kMaxLawDim] = {}, q[kMaxLawDim], r[kMaxLawDim] = {};
  std::copy_n(p.b.data() + at, dim, q);
  const double* f = p.F.empty() ? nullptr : p.F.find(c, c);
  if (f != nullptr) std::copy_n(f, dim * dim, N);
  if (moves) {
    const double* d = p.D.values(c);
    for (const BlockRows::Entry& entry : p.D.entries(c)) {
      add_mass(inverse, entry, dim, d, N);
      internal::add_product(d, dim, entry.width, scale.v_free.data() + entry.column, q);
      d += static_cast<std::ptrdiff_t>(dim) * entry.width;
    }
  }
  if (solve_one_block(law, N, q, r) == BlockState::Degenerate) return false;
  for (Index i = 0; i < dim; ++i) {
    if (!std::isfinite(r[i])) return false;
  }
  std::copy_n(r, dim, x.lambda.data() + at);
  if (moves) {
    const double* d = p.D.values(c);
    for (const BlockRows::Entry& entry : p.D.entries(c)) {
      move_body(inverse, scale, entry, dim, d, r, x);
      d += static_cast<std::ptrdiff_t>(dim) * entry.width;
    }
  }
  return true;
}

}  // namespace orthant
