// SPDX-License-Identifier: Apache-2.0
// math/block_lu.cpp: block-sparse A => L U, row by row. See block_lu.hpp.
//
//   for k < i in row i:  L_ik = A_ik U_kk⁻¹,   A_ij −= L_ik U_kj for every j > k in row k of U
//
// The pattern of L is that of Uᵀ: A is taken as structurally symmetric.
#include "math/block_lu.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "math/many_columns.hpp"
#include "orthant/base/assert.hpp"

namespace orthant {
namespace {

constexpr Index kMaxBlock = 16;

/// call(n) with the sizes of bodies and joints known to the compiler.
template <class Call>
[[gnu::always_inline]] inline auto with_size(Index n, Call&& call) {
  if (n == 6) return call(std::integral_constant<Index, 6>());
  if (n == 5) return call(std::integral_constant<Index, 5>());
  if (n == 3) return call(std::integral_constant<Index, 3>());
  if (n == 2) return call(std::integral_constant<Index, 2>());
  return call(n);
}

/// A −= L U, row-major.
template <class Inner, class Columns>
void subtract_product(const double* L, const double* U, double* A, Index rows, Inner inner,
                      Columns columns) {
  for (Index r = 0; r < rows; ++r) {
    double row[kMaxBlock];
    for (Index c = 0; c < columns; ++c) row[c] = A[r * columns + c];
    for (Index k = 0; k < inner; ++k) {
      const double f = L[r * inner + k];
      for (Index c = 0; c < columns; ++c) row[c] -= f * U[k * columns + c];
    }
    for (Index c = 0; c < columns; ++c) A[r * columns + c] = row[c];
  }
}

/// P A = L U in place with row pivoting; the diagonal holds 1/U_kk, row k was exchanged with
/// pivot[k].
template <class Size>
bool factor_block(double* A, Size n, Index* pivot) {
  for (Index k = 0; k < n; ++k) {
    Index best = k;
    for (Index i = k + 1; i < n; ++i) {
      if (std::abs(A[i * n + k]) > std::abs(A[best * n + k])) best = i;
    }
    pivot[k] = best;
    const double p = A[best * n + k];
    if (!(std::abs(p) > 1e-300) || !std::isfinite(p)) return false;
    if (best != k) std::swap_ranges(A + k * n, A + k * n + n, A + best * n);
    const double inverse = 1 / p;
    A[k * n + k] = inverse;
    for (Index i = k + 1; i < n; ++i) {
      const double f = A[i * n + k] *= inverse;
      for (Index j = k + 1; j < n; ++j) A[i * n + j] -= f * A[k * n + j];
    }
  }
  return true;
}

/// B = B A⁻¹ row by row, A as factor_block() left it. Triangular solves, not a product with an
/// inverse: its rounding would be multiplied by the largest entries of A. On the transpose of B, so
/// that all rows go along together.
template <class Size, class Rows>
void divide_block(double* B, Rows rows, const double* A, Size n, const Index* pivot) {
  double T[kMaxBlock * kMaxBlock];
  for (Index r = 0; r < rows; ++r)
    for (Index k = 0; k < n; ++k) T[k * rows + r] = B[r * n + k];
  const auto subtract = [&](Index from, Index to, double f) {
    for (Index r = 0; r < rows; ++r) T[to * rows + r] -= T[from * rows + r] * f;
  };
  for (Index k = 0; k < n; ++k) {
    for (Index r = 0; r < rows; ++r) T[k * rows + r] *= A[k * n + k];
    for (Index j = k + 1; j < n; ++j) subtract(k, j, A[k * n + j]);
  }
  for (Index k = n; k-- > 0;)
    for (Index j = 0; j < k; ++j) subtract(k, j, A[k * n + j]);
  // Columns back to where the exchanges of rows took them from.
  Index place[kMaxBlock];
  for (Index k = 0; k < n; ++k) place[k] = k;
  for (Index k = n; k-- > 0;) std::swap(place[k], place[pivot[k]]);
  for (Index r = 0; r < rows; ++r)
    for (Index k = 0; k < n; ++k) B[r * n + k] = T[place[k] * rows + r];
}

/// b = A⁻¹ b
template <class Size>
void solve_block(const double* A, Size n, const Index* pivot, double* b) {
  for (Index k = 0; k < n; ++k) {
    if (pivot[k] != k) std::swap(b[k], b[pivot[k]]);
  }
  for (Index i = 1; i < n; ++i) {
    for (Index k = 0; k < i; ++k) b[i] -= A[i * n + k] * b[k];
  }
  for (Index i = n; i-- > 0;) {
    for (Index j = i + 1; j < n; ++j) b[i] -= A[i * n + j] * b[j];
    b[i] *= A[i * n + i];
  }
}

/// b = A⁻ᵀ b
template <class Size>
void solve_block_transpose(const double* A, Size n, const Index* pivot, double* b) {
  divide_block(b, std::integral_constant<Index, 1>(), A, n, pivot);
}

/// y −= L x, rows x columns.
void subtract_times(const double* L, Index rows, Index columns, const double* x, double* y) {
  with_size(columns, [&](auto n) {
    for (Index r = 0; r < rows; ++r) {
      double sum = y[r];
      for (Index c = 0; c < n; ++c) sum -= L[r * n + c] * x[c];
      y[r] = sum;
    }
  });
}

/// y −= Lᵀ x, rows x columns.
void subtract_transposed(const double* L, Index rows, Index columns, const double* x, double* y) {
  with_size(columns, [&](auto n) {
    for (Index r = 0; r < rows; ++r)
      for (Index c = 0; c < n; ++c) y[c] -= L[r * n + c] * x[r];
  });
}

constexpr Index kSmallGraph = 64;  // vertices up to which the graph is a word a vertex

bool is_zero(const double* a, Index size) {
  for (Index i = 0; i < size; ++i) {
    if (a[i] != 0) return false;
  }
  return true;
}

}  // namespace

/// Minimum degree on up to 64 vertices, the graph as bits; lowest number first among equals.
void BlockLu::order_small(const BlockRows& A) {
  std::uint64_t near[kSmallGraph] = {};
  const auto bit = [](Index i) { return std::uint64_t{1} << i; };
  for (Index i = 0; i < count_; ++i) {
    for (const auto& entry : A.entries(i)) {
      near[i] |= bit(entry.block);
      near[entry.block] |= bit(i);
    }
  }
  std::uint64_t left = count_ == kSmallGraph ? ~std::uint64_t{0} : bit(count_) - 1;
  for (Index k = 0; k < count_; ++k) {
    Index best = -1;
    int degree = kSmallGraph + 1;
    for (std::uint64_t rest = left; rest != 0; rest &= rest - 1) {
      const Index i = std::countr_zero(rest);
      const int own = std::popcount(near[i] & left);
      if (own < degree) degree = own, best = i;
    }
    order_[k] = best;
    left &= ~bit(best);
    for (std::uint64_t rest = near[best] & left; rest != 0; rest &= rest - 1)
      near[std::countr_zero(rest)] |= near[best];
  }
}

void BlockLu::order_large(const BlockRows& A) {
  using Graph = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
  Graph graph(count_, count_);
  std::vector<Eigen::Triplet<double, int>> edges;
  edges.reserve(A.entry_count());
  for (Index i = 0; i < count_; ++i) {
    for (const auto& entry : A.entries(i)) edges.emplace_back(i, entry.block, 1.0);
  }
  graph.setFromTriplets(edges.begin(), edges.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(graph, permutation);
  order_.assign(permutation.indices().data(), permutation.indices().data() + count_);
}

/// True when A has the pattern analysed last; remembers it otherwise.
bool BlockLu::same_pattern(const BlockRows& A) {
  bool same = analysed_rows_.size() == A.row_offsets().size() &&
              std::ranges::equal(analysed_rows_, A.row_offsets());
  std::size_t at = 0;
  for (Index i = 0; same && i < A.row_block_count(); ++i) {
    const auto entries = A.entries(i);
    same = entry_end_[i] == at + entries.size() &&
           std::equal(entries.begin(), entries.end(), analysed_.begin() + at);
    at += entries.size();
  }
  if (same) return true;
  analysed_rows_.assign(A.row_offsets().begin(), A.row_offsets().end());
  analysed_.clear();
  entry_end_.clear();
  for (Index i = 0; i < A.row_block_count(); ++i) {
    analysed_.insert(analysed_.end(), A.entries(i).begin(), A.entries(i).end());
    entry_end_.push_back(analysed_.size());
  }
  return false;
}

void BlockLu::analyze(const BlockRows& A) {
  if (same_pattern(A)) return;  // what follows depends on nothing else
  count_ = A.row_block_count();
  order_.resize(static_cast<std::size_t>(count_));
  if (count_ <= kSmallGraph) {
    order_small(A);
  } else {
    order_large(A);
  }
  find_pattern(A);
}

void BlockLu::analyze(const BlockRows& A, std::span<const Index> order) {
  analysed_rows_.clear();  // another order: the next analyze(A) must not take this pattern for its
  count_ = A.row_block_count();
  ORTHANT_ASSERT(static_cast<Index>(order.size()) == count_);
  order_.assign(order.begin(), order.end());
  find_pattern(A);
}

void BlockLu::find_pattern(const BlockRows& A) {
  const auto n = static_cast<std::size_t>(count_);
  for (Index i = 0; i < count_; ++i) ORTHANT_ASSERT(A.dim(i) <= kMaxBlock);
  rank_.resize(n);
  dim_.resize(n);
  row_.resize(n);
  for (Index k = 0; k < count_; ++k) {
    rank_[order_[k]] = k;
    dim_[k] = A.dim(order_[k]);
    row_[k] = A.row_begin(order_[k]);
  }

  // Pattern of U row by row: own entries and those of the children in the elimination tree.
  if (pattern_.size() < n) {
    pattern_.resize(n);
    children_.resize(n);
  }
  auto &pattern = pattern_, &children = children_;
  for (std::size_t k = 0; k < n; ++k) {
    pattern[k].clear();
    children[k].clear();
  }
  for (Index i = 0; i < count_; ++i) {
    for (const auto& entry : A.entries(i)) {
      const Index a = rank_[i], b = rank_[entry.block];
      if (a != b) pattern[std::min(a, b)].push_back(std::max(a, b));
    }
  }
  for (Index k = 0; k < count_; ++k) {
    std::vector<Index>& row = pattern[k];
    for (const Index child : children[k]) {
      for (const Index j : pattern[child]) {
        if (j > k) row.push_back(j);
      }
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    if (!row.empty()) children[row.front()].push_back(k);
  }

  upper_begin_.assign(n + 1, 0);
  lower_begin_.assign(n + 1, 0);
  for (Index k = 0; k < count_; ++k) {
    upper_begin_[k + 1] = upper_begin_[k] + pattern[k].size();
    for (const Index j : pattern[k]) ++lower_begin_[j + 1];
  }
  for (std::size_t k = 0; k < n; ++k) lower_begin_[k + 1] += lower_begin_[k];
  upper_.resize(upper_begin_.back());
  lower_.resize(lower_begin_.back());
  std::vector<std::size_t>& next = place_;
  next.assign(lower_begin_.begin(), lower_begin_.end() - 1);
  for (Index k = 0; k < count_; ++k) {
    std::size_t at = upper_begin_[k];
    for (const Index j : pattern[k]) {
      upper_[at++].other = j;
      lower_[next[j]++].other = k;
    }
  }
  // Values of one row together: L, diagonal, U.
  diagonal_.resize(n);
  std::size_t size = 0;
  flops_ = 0;
  for (Index i = 0; i < count_; ++i) {
    const auto d = static_cast<std::size_t>(dim_[i]);
    for (std::size_t e = lower_begin_[i]; e < lower_begin_[i + 1]; ++e) {
      const Index k = lower_[e].other;
      lower_[e].at = size;
      size += d * static_cast<std::size_t>(dim_[k]);
      double columns = dim_[k];
      for (std::size_t u = upper_begin_[k]; u < upper_begin_[k + 1]; ++u)
        columns += dim_[upper_[u].other];
      flops_ += static_cast<double>(d) * dim_[k] * columns;
    }
    diagonal_[i] = size;
    size += d * d;
    flops_ += static_cast<double>(d * d * d);
    for (std::size_t e = upper_begin_[i]; e < upper_begin_[i + 1]; ++e) {
      upper_[e].at = size;
      size += d * static_cast<std::size_t>(dim_[upper_[e].other]);
    }
  }
  values_.resize(size);
  place_.resize(n);
  x_.resize(static_cast<std::size_t>(A.rows()));
  pivot_.resize(static_cast<std::size_t>(A.rows()));
}

bool BlockLu::factorize(const BlockRows& A) {
  std::fill(values_.begin(), values_.end(), 0.0);
  for (Index i = 0; i < count_; ++i) {
    const Index d = dim_[i];
    for (std::size_t e = lower_begin_[i]; e < lower_begin_[i + 1]; ++e)
      place_[lower_[e].other] = lower_[e].at;
    place_[i] = diagonal_[i];
    for (std::size_t e = upper_begin_[i]; e < upper_begin_[i + 1]; ++e)
      place_[upper_[e].other] = upper_[e].at;
    const double* a = A.values(order_[i]);
    for (const auto& entry : A.entries(order_[i])) {
      double* out = values_.data() + place_[rank_[entry.block]];
      const Index size = d * entry.width;
      for (Index t = 0; t < size; ++t) out[t] += a[t];
      a += size;
    }
    for (std::size_t e = lower_begin_[i]; e < lower_begin_[i + 1]; ++e) {
      const Index k = lower_[e].other, dk = dim_[k];
      double* L = values_.data() + lower_[e].at;
      if (is_zero(L, d * dk)) continue;
      with_size(dk, [&](auto n) {
        with_size(d, [&](auto rows) {
          divide_block(L, rows, values_.data() + diagonal_[k], n, pivot_.data() + row_[k]);
        });
      });
      for (std::size_t u = upper_begin_[k]; u < upper_begin_[k + 1]; ++u) {
        if (upper_[u].zero) continue;
        const Index j = upper_[u].other;
        const double* U = values_.data() + upper_[u].at;
        double* to = values_.data() + place_[j];
        with_size(dk, [&](auto inner) {
          with_size(dim_[j], [&](auto columns) { subtract_product(L, U, to, d, inner, columns); });
        });
      }
    }
    const bool regular = with_size(d, [&](auto n) {
      return factor_block(values_.data() + diagonal_[i], n, pivot_.data() + row_[i]);
    });
    if (!regular) return false;
    for (std::size_t u = upper_begin_[i]; u < upper_begin_[i + 1]; ++u)
      upper_[u].zero = is_zero(values_.data() + upper_[u].at, d * dim_[upper_[u].other]);
  }
  return true;
}

void BlockLu::solve(const VecX& b, VecX& x) {
  // Forward in x_, rows at their places in A.
  for (Index i = 0; i < count_; ++i) {
    const Index d = dim_[i];
    double* y = x_.data() + row_[i];
    for (Index r = 0; r < d; ++r) y[r] = b[row_[i] + r];
    for (std::size_t e = lower_begin_[i]; e < lower_begin_[i + 1]; ++e) {
      const Index k = lower_[e].other, dk = dim_[k];
      subtract_times(values_.data() + lower_[e].at, d, dk, x_.data() + row_[k], y);
    }
  }
  x.resize(static_cast<Index>(x_.size()));
  for (Index i = count_; i-- > 0;) {
    const Index d = dim_[i];
    double* y = x_.data() + row_[i];
    for (std::size_t e = upper_begin_[i]; e < upper_begin_[i + 1]; ++e) {
      if (upper_[e].zero) continue;
      const Index j = upper_[e].other, dj = dim_[j];
      subtract_times(values_.data() + upper_[e].at, d, dj, x.data() + row_[j], y);
    }
    with_size(d, [&](auto n) {
      solve_block(values_.data() + diagonal_[i], n, pivot_.data() + row_[i], y);
    });
    for (Index r = 0; r < d; ++r) x[row_[i] + r] = y[r];
  }
}

void BlockLu::solve_many(double* x, Index m) {
  for (Index i = 0; i < count_; ++i)
    for (std::size_t e = lower_begin_[i]; e < lower_begin_[i + 1]; ++e) {
      const Index k = lower_[e].other;
      add_times({values_.data() + lower_[e].at, dim_[k], 1}, dim_[i], dim_[k], -1, x + row_[k] * m,
                x + row_[i] * m, m);
    }
  for (Index i = count_; i-- > 0;) {
    const Index d = dim_[i];
    double* y = x + row_[i] * m;
    for (std::size_t e = upper_begin_[i]; e < upper_begin_[i + 1]; ++e) {
      const Index j = upper_[e].other;
      if (!upper_[e].zero)
        add_times({values_.data() + upper_[e].at, dim_[j], 1}, d, dim_[j], -1, x + row_[j] * m, y,
                  m);
    }
    const double* A = values_.data() + diagonal_[i];
    const Index* pivot = pivot_.data() + row_[i];
    for (Index k = 0; k < d; ++k)
      if (pivot[k] != k) std::swap_ranges(y + k * m, y + (k + 1) * m, y + pivot[k] * m);
    for (Index r = 1; r < d; ++r) add_times({A + r * d, d, 1}, 1, r, -1, y, y + r * m, m);
    for (Index r = d; r-- > 0;) {
      add_times({A + r * d + r + 1, d, 1}, 1, d - r - 1, -1, y + (r + 1) * m, y + r * m, m);
      for (Index k = 0; k < m; ++k) y[r * m + k] *= A[r * d + r];
    }
  }
}

// A = L U, L with unit diagonal blocks, U with the blocks that factor_block() factored:
// Uᵀ y = b from the first block on, Lᵀ x = y from the last.
void BlockLu::solve_transpose(const VecX& b, VecX& x) {
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = b[static_cast<Index>(i)];
  for (Index i = 0; i < count_; ++i) {
    const Index d = dim_[i];
    double* y = x_.data() + row_[i];
    with_size(d, [&](auto n) {
      solve_block_transpose(values_.data() + diagonal_[i], n, pivot_.data() + row_[i], y);
    });
    for (std::size_t e = upper_begin_[i]; e < upper_begin_[i + 1]; ++e) {
      if (upper_[e].zero) continue;
      const Index j = upper_[e].other;
      subtract_transposed(values_.data() + upper_[e].at, d, dim_[j], y, x_.data() + row_[j]);
    }
  }
  for (Index i = count_; i-- > 0;) {
    const double* y = x_.data() + row_[i];
    for (std::size_t e = lower_begin_[i]; e < lower_begin_[i + 1]; ++e) {
      const Index k = lower_[e].other;
      subtract_transposed(values_.data() + lower_[e].at, dim_[i], dim_[k], y, x_.data() + row_[k]);
    }
  }
  x.resize(static_cast<Index>(x_.size()));
  std::copy(x_.begin(), x_.end(), x.data());
}

}  // namespace orthant
