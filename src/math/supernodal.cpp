// SPDX-License-Identifier: Apache-2.0
// math/supernodal.cpp: values of A => panels of L (and Uᵀ); right-hand side => solution.
#include "math/supernodal.hpp"

#include <algorithm>
#include <cmath>

#include "math/dense_kernel.hpp"
#include "orthant/base/assert.hpp"

namespace orthant {
namespace {

/// Columns of a panel that are eliminated one by one before the rest is updated by a product.
constexpr Index kBlock = 16;

/// y[0..n) −= a x[0..n)
void subtract(double* y, double a, const double* x, Index n) {
  for (Index i = 0; i < n; ++i) y[i] -= a * x[i];
}

}  // namespace

bool Supernodal::accept_pivot(Index column, const std::vector<signed char>& signs,
                              double pivot_floor, double& pivot) {
  if (!std::isfinite(pivot)) return false;
  const double least = pivot_floor * row_scale_[column];
  const double sign = signs.empty() ? (pivot < 0 ? -1.0 : 1.0) : signs[order_[column]];
  if ((!signs.empty() && sign * pivot <= 0) || std::abs(pivot) < least) {
    if (least == 0) return pivot != 0;
    pivot = sign * least;
    ++replaced_;
  }
  return pivot != 0;
}

bool Supernodal::factorize(const SparseMatrix& A, const std::vector<signed char>& signs,
                           double pivot_floor) {
  ORTHANT_ASSERT(static_cast<std::size_t>(A.nonZeros()) == place_.size());
  ORTHANT_ASSERT(signs.empty() || static_cast<Index>(signs.size()) == size_);
  replaced_ = 0;
  std::fill(values_.begin(), values_.end(), 0.0);
  std::fill(row_scale_.begin(), row_scale_.end(), 0.0);
  const double* a = A.valuePtr();
  for (Index c = 0; c < size_; ++c) {
    for (Index e = A.outerIndexPtr()[c]; e < A.outerIndexPtr()[c + 1]; ++e) {
      if (place_[e] < 0) continue;
      values_[static_cast<std::size_t>(place_[e])] += a[e];
      for (const Index i : {A.innerIndexPtr()[e], c}) {
        double& largest = row_scale_[inverse_[i]];
        largest = std::max(largest, std::abs(a[e]));
      }
    }
  }
  const Index nodes = static_cast<Index>(first_.size()) - 1;
  std::fill(head_.begin(), head_.end(), -1);
  for (Index s = 0; s < nodes; ++s) {
    const Index* list = rows(s);
    for (Index i = 0; i < height(s); ++i) local_[list[i]] = i;
    for (Index from = head_[s]; from != -1;) {
      const Index following = next_[from];
      apply_update(from, s);
      from = following;
    }
    if (!factor_panel(s, signs, pivot_floor)) return false;
    reached_[s] = width(s);
    if (height(s) > width(s)) {
      const Index up = member_[list[width(s)]];
      next_[s] = head_[up];
      head_[up] = s;
    }
  }
  return true;
}

/// Subtracts what panel `from` contributes to panel `to`, and hands it on to the next it reaches.
void Supernodal::apply_update(Index from, Index to) {
  const Index* list = rows(from);
  const Index h = height(from), w = width(from), end = first_[to + 1];
  const Index begin = static_cast<Index>(reached_[from]);
  Index stop = begin;
  while (stop < h && list[stop] < end) ++stop;
  const Index columns = stop - begin;

  const auto add = [&](const double* A, std::ptrdiff_t lda, const Factor& B, Index first,
                       double* panel, Index ld, Index shift) {
    const Index count = h - first;
    if (count == 0) return;
    const Index top = local_[list[first]] - shift;
    const bool contiguous = local_[list[h - 1]] - shift - top == count - 1 &&
                            list[stop - 1] - list[begin] == columns - 1;
    double* corner = panel + (list[begin] - first_[to]) * static_cast<std::ptrdiff_t>(ld);
    if (contiguous) {
      subtract_product(corner + top, ld, A, lda, B, count, columns, w, packing_.data());
      return;
    }
    double* p = product_.data();
    std::fill(p, p + static_cast<std::ptrdiff_t>(count) * columns, 0.0);
    subtract_product(p, count, A, lda, B, count, columns, w, packing_.data());
    for (Index c = 0; c < columns; ++c) {
      double* column = panel + (list[begin + c] - first_[to]) * static_cast<std::ptrdiff_t>(ld);
      for (Index r = 0; r < count; ++r) column[local_[list[first + r]] - shift] += *p++;
    }
  };
  const double* L = lower(from);
  if (symmetric_) {
    const Factor B{L + begin, 1, h, diagonal_.data() + first_[from]};
    add(L + begin, h, B, begin, lower(to), height(to), 0);
  } else {
    const Index below = h - w;
    const double* U = upper(from);
    add(L + begin, h, {U + begin - w, 1, below, nullptr}, begin, lower(to), height(to), 0);
    add(U + stop - w, below, {L + begin, 1, h, nullptr}, stop, upper(to), height(to) - width(to),
        width(to));
  }
  reached_[from] = stop;
  if (stop < h) {
    const Index up = member_[list[stop]];
    next_[from] = head_[up];
    head_[up] = from;
  }
}

bool Supernodal::factor_panel(Index s, const std::vector<signed char>& signs, double pivot_floor) {
  const Index w = width(s), h = height(s), below = h - w;
  double* L = lower(s);
  double* U = symmetric_ ? nullptr : upper(s);
  double* d = diagonal_.data() + first_[s];
  const auto column = [&](double* panel, Index ld, Index j) {
    return panel + static_cast<std::ptrdiff_t>(j) * ld;
  };
  for (Index begin = 0; begin < w; begin += kBlock) {
    const Index end = std::min(w, begin + kBlock);
    for (Index j = begin; j < end; ++j) {
      double* l = column(L, h, j);
      if (!accept_pivot(first_[s] + j, signs, pivot_floor, l[j])) return false;
      d[j] = l[j];
      const double inverse = 1 / d[j];
      for (Index i = j + 1; i < h; ++i) l[i] *= inverse;
      for (Index c = j + 1; c < end; ++c) {
        double* other = column(L, h, c);
        // Symmetric: the upper entry is d_j l_cj. Else it stands in row j of the diagonal block.
        const double u = symmetric_ ? d[j] * l[c] : other[j];
        const Index from = symmetric_ ? c : j + 1;
        subtract(other + from, u, l + from, h - from);
      }
      for (Index c = j + 1; U && c < end; ++c) {
        subtract(column(U, below, c), l[c], column(U, below, j), below);
      }
      // Rows of U to the right of the block.
      for (Index c = end; U && c < w; ++c) {
        double* other = column(L, h, c);
        for (Index r = j + 1; r < end; ++r) other[r] -= l[r] * other[j];
      }
    }
    if (end == w) break;
    double* trailing = column(L, h, end) + end;
    const double* block = column(L, h, begin);
    const Factor B = symmetric_ ? Factor{block + end, 1, h, d + begin}
                                : Factor{column(L, h, end) + begin, h, 1, nullptr};
    subtract_product(trailing, h, block + end, h, B, h - end, w - end, end - begin,
                     packing_.data());
    if (U) {
      subtract_product(column(U, below, end), below, column(U, below, begin), below,
                       {block + end, 1, h, nullptr}, below, w - end, end - begin, packing_.data());
    }
  }
  return true;
}

void Supernodal::solve(const VecX& b, VecX& x) const {
  for (Index i = 0; i < size_; ++i) work_[i] = b[order_[i]];
  solve_with(false, work_);
  x.resize(size_);
  for (Index i = 0; i < size_; ++i) x[order_[i]] = work_[i];
}

void Supernodal::solve_transpose(const VecX& b, VecX& x) const {
  for (Index i = 0; i < size_; ++i) work_[i] = b[order_[i]];
  solve_with(!symmetric_, work_);
  x.resize(size_);
  for (Index i = 0; i < size_; ++i) x[order_[i]] = work_[i];
}

/// Forward and backward substitution. The diagonal block holds unit lower L and upper U (symmetric:
/// L and D); of Aᵀ = Uᵀ Lᵀ the roles are exchanged.
void Supernodal::solve_with(bool transpose, VecX& x) const {
  const Index nodes = static_cast<Index>(first_.size()) - 1;
  for (Index s = 0; s < nodes; ++s) {
    const Index w = width(s), h = height(s), below = h - w;
    const Index* list = rows(s);
    const double* L = lower(s);
    double* top = x.data() + first_[s];
    for (Index j = 0; j < w; ++j) {
      const double* l = L + static_cast<std::ptrdiff_t>(j) * h;
      if (transpose) {  // Uᵀ: column j of Uᵀ is row j of U
        top[j] /= l[j];
        for (Index c = j + 1; c < w; ++c)
          top[c] -= L[static_cast<std::ptrdiff_t>(c) * h + j] * top[j];
      } else {
        for (Index i = j + 1; i < w; ++i) top[i] -= l[i] * top[j];
      }
      const double* rest = transpose ? upper(s) + static_cast<std::ptrdiff_t>(j) * below : l + w;
      for (Index i = 0; i < below; ++i) x[list[w + i]] -= rest[i] * top[j];
    }
  }
  for (Index s = nodes - 1; s >= 0; --s) {
    const Index w = width(s), h = height(s), below = h - w;
    const Index* list = rows(s);
    const double* L = lower(s);
    double* top = x.data() + first_[s];
    const bool unit = symmetric_ || transpose;
    for (Index j = w - 1; j >= 0; --j) {
      const double* l = L + static_cast<std::ptrdiff_t>(j) * h;
      const double* rest = unit ? l + w : upper(s) + static_cast<std::ptrdiff_t>(j) * below;
      double sum = symmetric_ ? top[j] / l[j] : top[j];
      for (Index i = 0; i < below; ++i) sum -= rest[i] * x[list[w + i]];
      for (Index i = j + 1; i < w; ++i) {
        sum -= (unit ? l[i] : L[static_cast<std::ptrdiff_t>(i) * h + j]) * top[i];
      }
      top[j] = unit ? sum : sum / l[j];
    }
  }
}

}  // namespace orthant
