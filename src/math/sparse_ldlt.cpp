// SPDX-License-Identifier: Apache-2.0
// math/sparse_ldlt.cpp: the two public faces of the supernodal factorisation: LDLᵀ of symmetric
// matrices, LU of matrices that are unsymmetric in value only.
#include "math/supernodal.hpp"

namespace orthant {

struct SparseLdlt::Impl {
  Supernodal factor;
};

SparseLdlt::SparseLdlt() : impl_(std::make_unique<Impl>()) {}
SparseLdlt::~SparseLdlt() = default;
SparseLdlt::SparseLdlt(SparseLdlt&&) noexcept = default;
SparseLdlt& SparseLdlt::operator=(SparseLdlt&&) noexcept = default;

void SparseLdlt::analyze(const SparseMatrix& A, Ordering ordering) {
  impl_->factor.analyze(A, true, ordering);
}
bool SparseLdlt::factorize(const SparseMatrix& A, const std::vector<signed char>& signs,
                           double pivot_floor) {
  return impl_->factor.factorize(A, signs, pivot_floor);
}
void SparseLdlt::solve(const VecX& b, VecX& x) const { impl_->factor.solve(b, x); }
int SparseLdlt::replaced_pivots() const { return impl_->factor.replaced_pivots(); }
double SparseLdlt::flops() const { return impl_->factor.flops(); }
std::int64_t SparseLdlt::nonzeros() const { return impl_->factor.nonzeros(); }

struct SparsePanelLu::Impl {
  Supernodal factor;
};

SparsePanelLu::SparsePanelLu() : impl_(std::make_unique<Impl>()) {}
SparsePanelLu::~SparsePanelLu() = default;
SparsePanelLu::SparsePanelLu(SparsePanelLu&&) noexcept = default;
SparsePanelLu& SparsePanelLu::operator=(SparsePanelLu&&) noexcept = default;

void SparsePanelLu::analyze(const SparseMatrix& A, Ordering ordering) {
  impl_->factor.analyze(A, false, ordering);
}
bool SparsePanelLu::factorize(const SparseMatrix& A, double pivot_floor) {
  return impl_->factor.factorize(A, {}, pivot_floor);
}
void SparsePanelLu::solve(const VecX& b, VecX& x) const { impl_->factor.solve(b, x); }
void SparsePanelLu::solve_transpose(const VecX& b, VecX& x) const {
  impl_->factor.solve_transpose(b, x);
}
int SparsePanelLu::replaced_pivots() const { return impl_->factor.replaced_pivots(); }
double SparsePanelLu::flops() const { return impl_->factor.flops(); }
std::int64_t SparsePanelLu::nonzeros() const { return impl_->factor.nonzeros(); }

}  // namespace orthant
