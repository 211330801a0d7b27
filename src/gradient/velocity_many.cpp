// SPDX-License-Identifier: Apache-2.0
// gradient/velocity_many.cpp: the forward products of velocity_system.cpp with many vectors at
// once.
#include <algorithm>

#include "gradient/velocity_system.hpp"
#include "math/many_columns.hpp"

namespace orthant::internal {
namespace {

/// Y += factor A X of row block i; `a`: its values; X all velocities, Y the rows of the block.
void rows_times(const BlockRows& A, Index i, const double* a, double factor, const double* X,
                double* Y, Index m) {
  for (const BlockRows::Entry& entry : A.entries(i)) {
    add_times({a, entry.width, 1}, A.dim(i), entry.width, factor, X + entry.column * m, Y, m);
    a += static_cast<std::ptrdiff_t>(A.dim(i)) * entry.width;
  }
}

/// Y += factor Aᵀ X of row block i: X the rows of the block, Y all velocities.
void transpose_add(const BlockRows& A, Index i, const double* a, double factor, const double* X,
                   double* Y, Index m) {
  for (const BlockRows::Entry& entry : A.entries(i)) {
    add_times({a, 1, entry.width}, entry.width, A.dim(i), factor, X, Y + entry.column * m, m);
    a += static_cast<std::ptrdiff_t>(A.dim(i)) * entry.width;
  }
}

const double* values_of(const BlockRows& A, const std::vector<double>& scaled, Index i) {
  return scaled.data() + (A.values(i) - A.all_values().data());
}

}  // namespace

bool VelocitySystem::solve_many(const double* b, double* x, Index m) {
  if (!factorise(false)) return false;
  const CanonicalProblem& p = *p_;
  const Index nv = p.velocity_count(), nc = p.bilateral_count(), nl = p.row_count();
  const double stiffness = 1 / epsilon_;
  double *x_c = x + nv * m, *x_l = x_c + nc * m;
  // v from its own equation, with what the impulses add were the velocities zero: M⁻¹ r_λ.
  std::copy_n(b, nv * m, x);
  std::copy_n(b + nv * m, nc * m, x_c);
  std::fill_n(x_l, nl * m, 0.0);
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const ScaledLaw& law = laws_[c];
    double* impulse = x_l + law.row * m;
    add_times({law.inverse, law.dim, 1}, law.dim, law.dim, 1, b + (nv + nc + law.row) * m, impulse,
              m);
    if (p.D.empty()) continue;
    const auto i = static_cast<Index>(c);
    transpose_add(p.D, i, values_of(p.D, D_, i), 1, impulse, x, m);
  }
  for (Index c = 0; c < p.C.row_block_count(); ++c)
    transpose_add(p.C, c, values_of(p.C, C_, c), stiffness, x_c + p.C.row_begin(c) * m, x, m);
  forward_.lu.solve_many(x, m);
  for (Index c = 0; c < p.C.row_block_count(); ++c)
    rows_times(p.C, c, values_of(p.C, C_, c), -1, x, x_c + p.C.row_begin(c) * m, m);
  for (Index i = 0; i < nc * m; ++i) x_c[i] *= stiffness;
  for (std::size_t c = 0; c < laws_.size() && !p.D.empty(); ++c) {
    const ScaledLaw& law = laws_[c];
    if (law.open) continue;
    const auto i = static_cast<Index>(c);
    many_.assign(static_cast<std::size_t>(law.dim) * m, 0.0);
    rows_times(p.D, i, values_of(p.D, D_, i), 1, x, many_.data(), m);
    add_times({law.middle, law.dim, 1}, law.dim, law.dim, -1, many_.data(), x_l + law.row * m, m);
  }
  return true;
}

void VelocitySystem::apply_many(const double* x, double* y, Index m) const {
  const CanonicalProblem& p = *p_;
  const Index nv = p.velocity_count(), nc = p.bilateral_count(), nl = p.row_count();
  const double *x_c = x + nv * m, *x_l = x_c + nc * m;
  double *y_c = y + nv * m, *y_l = y_c + nc * m;
  std::fill_n(y, (nv + nc + nl) * m, 0.0);
  for (Index i = 0; i < H_.row_block_count(); ++i)
    rows_times(H_, i, H_.values(i), 1, x, y + H_.row_begin(i) * m, m);
  for (Index c = 0; c < p.C.row_block_count(); ++c) {
    const double* values = values_of(p.C, C_, c);
    const Index row = p.C.row_begin(c);
    rows_times(p.C, c, values, 1, x, y_c + row * m, m);
    transpose_add(p.C, c, values, -1, x_c + row * m, y, m);
  }
  for (std::size_t c = 0; c < laws_.size(); ++c) {
    const ScaledLaw& law = laws_[c];
    const double* impulse = x_l + law.row * m;
    double* rest = y_l + law.row * m;
    add_times({law.rest, law.dim, 1}, law.dim, law.dim, 1, impulse, rest, m);
    if (p.D.empty()) continue;
    const auto i = static_cast<Index>(c);
    const double* values = values_of(p.D, D_, i);
    transpose_add(p.D, i, values, -1, impulse, y, m);
    if (law.open) continue;
    many_.assign(static_cast<std::size_t>(law.dim) * m, 0.0);
    rows_times(p.D, i, values, 1, x, many_.data(), m);
    add_times({law.PG, law.dim, 1}, law.dim, law.dim, 1, many_.data(), rest, m);
  }
}

}  // namespace orthant::internal
