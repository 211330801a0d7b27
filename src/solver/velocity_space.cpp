// SPDX-License-Identifier: Apache-2.0
// solver/velocity_space.cpp: rows by body, block sweeps, Newton steps in velocities. See the
// header.
#include "solver/velocity_space.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/assert.hpp"
#include "orthant/solver/one_contact_kernel.hpp"

namespace orthant::internal {
namespace {

constexpr int kSquare = kMaxLawDim * kMaxLawDim;

/// Inverse in place by Gauss–Jordan with row pivoting: rows of a sliding block differ by 1/α.
bool invert(double* A, int n) {
  int swapped[kMaxLawDim];
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(A[i * n + k]) > std::abs(A[pivot * n + k])) pivot = i;
    }
    swapped[k] = pivot;
    const double p = A[pivot * n + k];
    if (!(std::abs(p) > 1e-300)) return false;
    if (pivot != k) std::swap_ranges(A + k * n, A + k * n + n, A + pivot * n);
    A[k * n + k] = 1;
    for (int j = 0; j < n; ++j) A[k * n + j] /= p;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const double f = A[i * n + k];
      A[i * n + k] = 0;
      for (int j = 0; j < n; ++j) A[i * n + j] -= f * A[k * n + j];
    }
  }
  for (int k = n; k-- > 0;) {
    if (swapped[k] == k) continue;
    for (int i = 0; i < n; ++i) std::swap(A[i * n + k], A[i * n + swapped[k]]);
  }
  return true;
}

/// y += A x, A rows x columns row-major.
inline void add_product(const double* A, int rows, Index columns, const double* x, double* y) {
  for (int r = 0; r < rows; ++r, A += columns) {
    double s = 0;
    for (Index j = 0; j < columns; ++j) s += A[j] * x[j];
    y[r] += s;
  }
}

/// y += Aᵀ x
inline void add_transposed(const double* A, int rows, Index columns, const double* x, double* y) {
  for (int r = 0; r < rows; ++r, A += columns) {
    const double f = x[r];
    for (Index j = 0; j < columns; ++j) y[j] += f * A[j];
  }
}

/// 1/√(mean diagonal) over rows [first, first + count); the judge's step where it vanishes.
double part_scale(const double* W, int dim, int first, int count, double tau) {
  double sum = 0;
  for (int r = first; r < first + count; ++r) sum += std::abs(W[r * dim + r]);
  return sum > 0 ? std::sqrt(count / sum) : std::sqrt(tau);
}

/// λ of one block from A λ + q by its law.
inline void solve_block(const Law& law, const double* A, const double* q, double* x) {
  if (law.dim == 1 && law.is_separable()) {
    (void)solve_entry(law, A[0], q[0], x);
  } else if (law.kind == LawKind::Coulomb && law.dim == 3) {
    (void)solve_coulomb3(A, q, law.mu, x);
  } else if (law.kind == LawKind::Coulomb && law.dim == 2) {
    (void)solve_coulomb2(A, q, law.mu, x);
  } else {
    (void)solve_one_block(law, A, q, x);
  }
}

}  // namespace

bool VelocitySpace::fits(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || p.velocity_count() == 0) return false;
  if (p.D.empty() && p.C.empty()) return false;
  for (Index c = 0; c < p.F.row_block_count(); ++c) {
    for (const BlockRows::Entry& entry : p.F.entries(c)) {
      if (entry.block != c || (p.laws[c].is_separable() && p.laws[c].dim > 1)) return false;
    }
  }
  return true;
}

/// Block c of A, still unscaled: J and H⁻¹Jᵀ, entry by entry.
void VelocitySpace::add_rows(const BlockRows& A, Index c, const Law& law, Index at) {
  const bool split = law.is_separable();
  const int parts = split ? law.dim : 1, dim = split ? 1 : law.dim;
  for (int part = 0; part < parts; ++part) {
    ScaledBlock block{at + part, static_cast<Index>(W_.size()), law};
    block.law.dim = Law::narrow(dim);
    blocks_.push_back(block);
    W_.resize(W_.size() + static_cast<std::size_t>(dim * dim), 0.0);
    double* W = W_.data() + block.diagonal;
    const double* a = A.empty() ? nullptr : A.values(c);
    for (const BlockRows::Entry& entry :
         A.empty() ? std::span<const BlockRows::Entry>{} : A.entries(c)) {
      const Index width = entry.width;
      entries_.push_back({entry.block, entry.column, width, J_.size()});
      const double* from = a + part * width;
      J_.insert(J_.end(), from, from + dim * width);
      K_.insert(K_.end(), from, from + dim * width);
      const double* J = J_.data() + entries_.back().at;
      double* K = K_.data() + entries_.back().at;
      for (int r = 0; r < dim; ++r) inverse_.solve_block(entry.block, K + r * width);
      for (int r = 0; r < dim; ++r) add_product(K, dim, width, J + r * width, W + r * dim);
      a += static_cast<std::ptrdiff_t>(law.dim) * width;
    }
    entry_begin_.push_back(entries_.size());
  }
}

/// Brings every block to unit diagonal and the right-hand side to size one.
void VelocitySpace::find_scales(const CanonicalProblem& p, const ProblemScale& scale) {
  const Index bilateral = p.bilateral_count();
  for (ScaledBlock& block : blocks_) {
    Law& law = block.law;
    const double* W = W_.data() + block.diagonal;
    double* s = row_scale_.data() + block.at;
    const double tau = block.at < bilateral ? 1.0 : scale.tau[block.at - bilateral];
    if (!law.is_exact()) {
      // The projection on a cone is a projection only when all rows have one scale.
      std::fill(s, s + law.dim, part_scale(W, law.dim, 0, law.dim, tau));
      continue;
    }
    const int nt = law.tangent_dim(), nr = law.rolling_dim();
    s[0] = part_scale(W, law.dim, 0, 1, tau);
    const double st = part_scale(W, law.dim, 1, nt, tau);
    std::fill(s + 1, s + 1 + nt, st);
    law.mu *= s[0] / st;
    if (nr > 0) {
      const double sr = part_scale(W, law.dim, 1 + nt, nr, tau);
      std::fill(s + 1 + nt, s + 1 + nt + nr, sr);
      law.mu_r *= s[0] / sr;
    }
  }
  b_.resize(rows());
  b_.head(bilateral) = p.e;
  b_.tail(p.row_count()) = p.b;
  double squares = 0;  // of S (J v_free + b), J not scaled yet
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    double q[kMaxLawDim];
    for (int i = 0; i < block.law.dim; ++i) q[i] = b_[block.at + i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, block.law.dim, e->width, scale.v_free.data() + e->column, q);
    for (int i = 0; i < block.law.dim; ++i) {
      const double scaled = row_scale_[block.at + i] * q[i];
      squares += scaled * scaled;
    }
  }
  force_ = std::sqrt(squares / std::max<Index>(rows(), 1));
  if (!(force_ > 0) || !std::isfinite(force_)) force_ = 1;
  b_ = b_.cwiseProduct(row_scale_) / force_;
  v_free_ = scale.v_free.cwiseQuotient(velocity_scale_) / force_;
}

void VelocitySpace::build(const CanonicalProblem& p, const ProblemScale& scale) {
  const Index bilateral = p.bilateral_count();
  const bool invertible = inverse_.factorize(p.H);
  ORTHANT_ASSERT(invertible);
  blocks_.clear();
  entries_.clear();
  J_.clear();
  K_.clear();
  W_.clear();
  entry_begin_.assign(1, 0);
  row_scale_.setOnes(bilateral + p.row_count());
  velocity_scale_.setOnes(p.velocity_count());
  prepared_ = false;

  H_.assign(p.H.all_values().begin(), p.H.all_values().end());
  block_begin_.assign(p.H.offsets().begin(), p.H.offsets().end());
  double* h = H_.data();
  for (Index i = 0; i < p.H.block_count(); ++i) {
    const Index n = p.H.block_size(i);
    double* s = velocity_scale_.data() + p.H.block_begin(i);
    for (Index r = 0; r < n; ++r) {
      const double d = std::abs(h[r * n + r]);
      s[r] = d > 0 ? 1 / std::sqrt(d) : 1.0;
    }
    for (Index r = 0; r < n; ++r) {
      for (Index c = 0; c < n; ++c) h[r * n + c] *= s[r] * s[c];
    }
    h += n * n;
  }

  for (Index i = 0; i < p.C.row_block_count(); ++i)
    add_rows(p.C, i, Law::free(static_cast<int>(p.C.dim(i))), p.C.row_begin(i));
  Index at = bilateral;
  for (Index c = 0; c < p.block_count(); ++c) {
    add_rows(p.D, c, p.laws[c], at);
    at += p.laws[c].dim;
  }
  F_.assign(W_.size(), 0.0);
  compliant_ = !p.F.empty();
  if (compliant_) {
    for (const ScaledBlock& block : blocks_) {
      if (block.at < bilateral) continue;
      // A block of separable rows has no F of more than one row (fits()): counting rows will do.
      const auto offsets = p.F.row_offsets();
      const auto c = std::upper_bound(offsets.begin(), offsets.end(), block.at - bilateral) -
                     offsets.begin() - 1;
      const double* f = p.F.find(static_cast<Index>(c), static_cast<Index>(c));
      for (int i = 0; f != nullptr && i < block.law.dim * block.law.dim; ++i) {
        F_[block.diagonal + i] = f[i];
        W_[block.diagonal + i] += f[i];
      }
    }
  }
  find_scales(p, scale);
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    ScaledBlock& block = blocks_[c];
    const int dim = block.law.dim;
    const double* s = row_scale_.data() + block.at;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e) {
      const double* t = velocity_scale_.data() + e->column;
      for (int r = 0; r < dim; ++r) {
        for (Index j = 0; j < e->width; ++j) {
          J_[e->at + r * e->width + j] *= s[r] * t[j];
          K_[e->at + r * e->width + j] *= s[r] / t[j];
        }
      }
    }
    for (int r = 0; r < dim; ++r) {
      for (int j = 0; j < dim; ++j) {
        F_[block.diagonal + r * dim + j] *= s[r] * s[j];
        W_[block.diagonal + r * dim + j] *= s[r] * s[j];
      }
    }
    if (block.law.kind == LawKind::Box) {
      block.law.lo /= force_ * s[0];
      block.law.hi /= force_ * s[0];
    }
  }
}

void VelocitySpace::scale_impulses(const Solution& from, VecX& x) const {
  x.resize(rows());
  x << from.gamma, from.lambda;
  x = x.cwiseQuotient(row_scale_) / force_;
}

void VelocitySpace::scale_velocities(const Solution& from, VecX& v) const {
  v = from.v.cwiseQuotient(velocity_scale_) / force_;
}

void VelocitySpace::unscale_impulses(const VecX& x, Solution& to) const {
  const Index n = static_cast<Index>(to.gamma.size());
  to.gamma = force_ * row_scale_.head(n).cwiseProduct(x.head(n));
  to.lambda = force_ * row_scale_.tail(rows() - n).cwiseProduct(x.tail(rows() - n));
}

void VelocitySpace::unscale_velocities(const VecX& v, Solution& to) const {
  to.v = force_ * velocity_scale_.cwiseProduct(v);
}

void VelocitySpace::free_motion(const VecX& x, VecX& v) const {
  v = v_free_;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const double* xc = x.data() + blocks_[c].at;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(K_.data() + e->at, blocks_[c].law.dim, e->width, xc, v.data() + e->column);
  }
}

void VelocitySpace::relative(const VecX& v, const VecX& x, VecX& y) const {
  y = b_;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    double* yc = y.data() + block.at;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, block.law.dim, e->width, v.data() + e->column, yc);
    if (compliant_)
      add_product(F_.data() + block.diagonal, block.law.dim, block.law.dim, x.data() + block.at,
                  yc);
  }
}

void VelocitySpace::product(const VecX& x, VecX& Wx) const {
  velocity_.setZero(velocities());
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(K_.data() + e->at, blocks_[c].law.dim, e->width, x.data() + blocks_[c].at,
                     velocity_.data() + e->column);
  }
  relative(velocity_, x, Wx);
  Wx -= b_;
}

void VelocitySpace::balance(const VecX& v, const VecX& x, VecX& r) const {
  // Ĥ (v − v_free) − Jᵀx: k itself is never needed.
  velocity_ = v - v_free_;
  r.setZero(velocities());
  const double* h = H_.data();
  for (std::size_t i = 0; i + 1 < block_begin_.size(); ++i) {
    const Index n = block_begin_[i + 1] - block_begin_[i];
    add_product(h, static_cast<int>(n), n, velocity_.data() + block_begin_[i],
                r.data() + block_begin_[i]);
    h += n * n;
  }
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const int dim = blocks_[c].law.dim;
    double xc[kMaxLawDim];
    for (int i = 0; i < dim; ++i) xc[i] = -x[blocks_[c].at + i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(J_.data() + e->at, dim, e->width, xc, r.data() + e->column);
  }
}

double VelocitySpace::sweep(double alpha, const VecX* centre, VecX& x, VecX& v) const {
  double largest = 0;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    const int dim = block.law.dim;
    double* xc = x.data() + block.at;
    const double* W = W_.data() + block.diagonal;
    double q[kMaxLawDim], r[kMaxLawDim], A[kSquare];
    for (int i = 0; i < dim; ++i) q[i] = b_[block.at + i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, dim, e->width, v.data() + e->column, q);
    if (compliant_) add_product(F_.data() + block.diagonal, dim, dim, xc, q);
    for (int i = 0; i < dim; ++i) {
      r[i] = xc[i];
      for (int j = 0; j < dim; ++j) q[i] -= W[i * dim + j] * xc[j];
    }
    if (centre != nullptr) {
      std::copy(W, W + dim * dim, A);
      for (int i = 0; i < dim; ++i) {
        A[i * dim + i] += alpha;
        q[i] -= alpha * (*centre)[block.at + i];
      }
      W = A;
    }
    solve_block(block.law, W, q, r);
    bool moved = false;
    for (int i = 0; i < dim; ++i) {
      if (!std::isfinite(r[i])) r[i] = 0;
      const double change = r[i] - xc[i];
      xc[i] = r[i];
      r[i] = change;
      moved = moved || change != 0;
      largest = std::max(largest, std::abs(change));
    }
    if (!moved) continue;
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(K_.data() + e->at, dim, e->width, r, v.data() + e->column);
  }
  return largest;
}

/// Pattern of the matrix, and where the product of two entries of a block goes.
void VelocitySpace::prepare_matrix() {
  const std::size_t count = block_begin_.size() - 1;
  if (neighbours_.size() < count) neighbours_.resize(count);
  for (std::size_t i = 0; i < count; ++i) neighbours_[i].assign(1, static_cast<Index>(i));
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    for (const Entry* a = begin_of(c); a != end_of(c); ++a) {
      for (const Entry* b = begin_of(c); b != end_of(c); ++b) {
        if (a->block != b->block) neighbours_[a->block].push_back(b->block);
      }
    }
  }
  matrix_.clear();
  block_place_.resize(count);
  const auto size_of = [&](Index i) { return block_begin_[i + 1] - block_begin_[i]; };
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Index>& list = neighbours_[i];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    matrix_.begin_row(size_of(static_cast<Index>(i)));
    for (const Index j : list) matrix_.add(j, block_begin_[j], size_of(j));
  }
  const double* first = matrix_.all_values().data();
  place_.clear();
  const auto find = [&](Index i, Index j) {
    return static_cast<std::size_t>(matrix_.find(i, j) - first);
  };
  for (std::size_t i = 0; i < count; ++i)
    block_place_[i] = find(static_cast<Index>(i), static_cast<Index>(i));
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    for (const Entry* a = begin_of(c); a != end_of(c); ++a) {
      for (const Entry* b = begin_of(c); b != end_of(c); ++b)
        place_.push_back(find(a->block, b->block));
    }
  }
  lu_.analyze(matrix_);
  T_.resize(W_.size());
  S_.resize(W_.size());
  idle_.resize(blocks_.size());
  prepared_ = true;
}

double VelocitySpace::factor_work() {
  if (!prepared_) prepare_matrix();
  return lu_.flops();
}

void VelocitySpace::set_block(Index c, const BlockJacobian& jacobian, double alpha) {
  if (!prepared_) prepare_matrix();
  const ScaledBlock& block = blocks_[c];
  const int n = block.law.dim;
  const double *X = jacobian.X, *Y = jacobian.Y, *F = F_.data() + block.diagonal;
  double *T = T_.data() + block.diagonal, *S = S_.data() + block.diagonal;
  bool idle = true;
  for (int i = 0; i < n * n; ++i) {
    T[i] = X[i] + alpha * Y[i];
    idle = idle && Y[i] == 0;
  }
  if (compliant_) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < n; ++j) T[i * n + j] += Y[i * n + k] * F[k * n + j];
      }
    }
  }
  if (!invert(T, n)) std::fill(T, T + n * n, 0.0);  // the block stays where it is
  std::fill(S, S + n * n, 0.0);
  idle_[static_cast<std::size_t>(c)] = idle;
  for (int i = 0; !idle && i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < n; ++j) S[i * n + j] += T[i * n + k] * Y[k * n + j];
    }
  }
}

bool VelocitySpace::factorize() {
  double* values = matrix_.all_values().data();
  std::fill(values, values + matrix_.all_values().size(), 0.0);
  const double* h = H_.data();
  for (std::size_t i = 0; i + 1 < block_begin_.size(); ++i) {
    const Index n = block_begin_[i + 1] - block_begin_[i];
    double* out = values + block_place_[i];
    for (Index t = 0; t < n * n; ++t) out[t] += h[t];
    h += n * n;
  }
  const std::size_t* place = place_.data();
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const Entry *begin = begin_of(c), *end = end_of(c);
    const std::size_t* own = place;
    place += (end - begin) * (end - begin);
    if (idle_[c]) continue;
    const int dim = blocks_[c].law.dim;
    const double* S = S_.data() + blocks_[c].diagonal;
    double SJ[kMaxLawDim * kMaxVelocityBlock];
    for (const Entry* b = begin; b != end; ++b) {
      const double* J = J_.data() + b->at;
      const Index width = b->width;
      for (int r = 0; r < dim; ++r) {
        double* row = SJ + r * width;
        std::fill(row, row + width, 0.0);
        for (int k = 0; k < dim; ++k) {
          const double f = S[r * dim + k];
          for (Index j = 0; j < width; ++j) row[j] += f * J[k * width + j];
        }
      }
      for (const Entry* a = begin; a != end; ++a) {
        double* out = values + own[(a - begin) * (end - begin) + (b - begin)];
        const double* Ja = J_.data() + a->at;
        for (Index i = 0; i < a->width; ++i) {
          for (int r = 0; r < dim; ++r) {
            const double f = Ja[r * a->width + i];
            for (Index j = 0; j < width; ++j) out[i * width + j] += f * SJ[r * width + j];
          }
        }
      }
    }
  }
  return lu_.factorize(matrix_);
}

void VelocitySpace::solve(const VecX* r, const VecX& R, VecX& dv, VecX& dx) {
  dx.resize(rows());
  right_.setZero(velocities());
  if (r != nullptr) right_ -= *r;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    const int n = block.law.dim;
    double t[kMaxLawDim] = {}, minus[kMaxLawDim];
    for (int i = 0; i < n; ++i) minus[i] = -R[block.at + i];
    add_product(T_.data() + block.diagonal, n, n, minus, t);
    for (int i = 0; i < n; ++i) dx[block.at + i] = t[i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(J_.data() + e->at, n, e->width, t, right_.data() + e->column);
  }
  lu_.solve(right_, dv);
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    if (idle_[c]) continue;
    const ScaledBlock& block = blocks_[c];
    const int n = block.law.dim;
    double u[kMaxLawDim] = {};
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, n, e->width, dv.data() + e->column, u);
    for (int i = 0; i < n; ++i) u[i] = -u[i];
    add_product(S_.data() + block.diagonal, n, n, u, dx.data() + block.at);
  }
}

}  // namespace orthant::internal
