// SPDX-License-Identifier: Apache-2.0
// math/sparse_lu.cpp: A => P A Q = L U, by KLU where built with it, else by Eigen's SparseLU.
// Contact matrices fill in very little; KLU's low overhead wins there by a factor of several.
#include <cmath>

#include "orthant/base/assert.hpp"
#include "orthant/math/factorisation.hpp"

#if ORTHANT_WITH_KLU
#include <klu.h>
#else
#include <Eigen/SparseLU>
#endif

namespace orthant {

#if ORTHANT_WITH_KLU

struct SparseLu::Impl {
  klu_common common{};
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;

  Impl() { klu_defaults(&common); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { reset(); }
  void reset() {
    if (numeric) klu_free_numeric(&numeric, &common);
    if (symbolic) klu_free_symbolic(&symbolic, &common);
  }
};

namespace {

// KLU's interface is not const-correct; it does not write to the matrix.
int* outer(const SparseMatrix& A) { return const_cast<int*>(A.outerIndexPtr()); }
int* inner(const SparseMatrix& A) { return const_cast<int*>(A.innerIndexPtr()); }
double* values(const SparseMatrix& A) { return const_cast<double*>(A.valuePtr()); }

// Reciprocal condition below which a factor is called singular.
constexpr double kSingular = 1e-300;

}  // namespace

SparseLu::SparseLu() : impl_(std::make_unique<Impl>()) {}
SparseLu::~SparseLu() = default;
SparseLu::SparseLu(SparseLu&&) noexcept = default;
SparseLu& SparseLu::operator=(SparseLu&&) noexcept = default;

void SparseLu::analyze(const SparseMatrix& A) {
  ORTHANT_ASSERT(A.rows() == A.cols() && A.isCompressed());
  impl_->reset();
  if (A.rows() > 0) {
    impl_->symbolic = klu_analyze(static_cast<int>(A.rows()), outer(A), inner(A), &impl_->common);
  }
}

bool SparseLu::factorize(const SparseMatrix& A) {
  if (A.rows() == 0) return true;
  if (!impl_->symbolic) return false;
  if (impl_->numeric) klu_free_numeric(&impl_->numeric, &impl_->common);
  impl_->numeric = klu_factor(outer(A), inner(A), values(A), impl_->symbolic, &impl_->common);
  if (!impl_->numeric || impl_->common.status != KLU_OK) return false;
  klu_rcond(impl_->symbolic, impl_->numeric, &impl_->common);
  return std::isfinite(impl_->common.rcond) && impl_->common.rcond > kSingular;
}

bool SparseLu::refactorize(const SparseMatrix& A) {
  if (A.rows() == 0) return true;
  if (!impl_->numeric) return factorize(A);
  const bool done = klu_refactor(outer(A), inner(A), values(A), impl_->symbolic, impl_->numeric,
                                 &impl_->common) &&
                    impl_->common.status == KLU_OK;
  if (done) {
    klu_rgrowth(outer(A), inner(A), values(A), impl_->symbolic, impl_->numeric, &impl_->common);
    // Element growth: the old pivots are far too small for the new values.
    if (std::isfinite(impl_->common.rgrowth) && impl_->common.rgrowth > 1e-6) return true;
  }
  return factorize(A);
}

void SparseLu::solve(const VecX& b, VecX& x) const {
  if (&x != &b) x = b;
  if (x.size() == 0) return;
  klu_solve(impl_->symbolic, impl_->numeric, static_cast<int>(x.size()), 1, x.data(),
            &impl_->common);
}

void SparseLu::solve_transpose(const VecX& b, VecX& x) const {
  if (&x != &b) x = b;
  if (x.size() == 0) return;
  klu_tsolve(impl_->symbolic, impl_->numeric, static_cast<int>(x.size()), 1, x.data(),
             &impl_->common);
}

double SparseLu::reciprocal_condition() const { return impl_->common.rcond; }

double SparseLu::flops() const {
  if (!impl_->numeric) return 0;
  klu_flops(impl_->symbolic, impl_->numeric, &impl_->common);
  return impl_->common.flops / 2;
}

std::int64_t SparseLu::nonzeros() const {
  return impl_->numeric ? static_cast<std::int64_t>(impl_->numeric->lnz) + impl_->numeric->unz : 0;
}

#else

struct SparseLu::Impl {
  // Eigen declares the transposed solve non-const.
  mutable Eigen::SparseLU<SparseMatrix, Eigen::COLAMDOrdering<Index>> lu;
  bool ready = false;
};

SparseLu::SparseLu() : impl_(std::make_unique<Impl>()) {}
SparseLu::~SparseLu() = default;
SparseLu::SparseLu(SparseLu&&) noexcept = default;
SparseLu& SparseLu::operator=(SparseLu&&) noexcept = default;

void SparseLu::analyze(const SparseMatrix& A) {
  ORTHANT_ASSERT(A.rows() == A.cols() && A.isCompressed());
  impl_->ready = false;
  if (A.rows() > 0) impl_->lu.analyzePattern(A);
}

bool SparseLu::factorize(const SparseMatrix& A) {
  if (A.rows() == 0) return true;
  impl_->lu.factorize(A);
  impl_->ready = impl_->lu.info() == Eigen::Success;
  return impl_->ready;
}

bool SparseLu::refactorize(const SparseMatrix& A) { return factorize(A); }

void SparseLu::solve(const VecX& b, VecX& x) const {
  x = b.size() == 0 ? b : VecX(impl_->lu.solve(b));
}

void SparseLu::solve_transpose(const VecX& b, VecX& x) const {
  x = b.size() == 0 ? b : VecX(impl_->lu.transpose().solve(b));
}

double SparseLu::flops() const {
  // Eigen does not count; as if every column of the factors were equally full.
  if (!impl_->ready) return 0;
  const double n = static_cast<double>(impl_->lu.rows());
  const double filled = static_cast<double>(nonzeros());
  return filled * filled / (4 * n);
}

std::int64_t SparseLu::nonzeros() const {
  return impl_->ready ? static_cast<std::int64_t>(impl_->lu.nnzL()) + impl_->lu.nnzU() : 0;
}

#endif

}  // namespace orthant
