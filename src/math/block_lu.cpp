// SPDX-License-Identifier: Apache-2.0
// math/block_lu.cpp: block-sparse A => L U, row by row. See block_lu.hpp.
//
//   for k < i in row i:  L_ik = A_ik U_kk⁻¹,   A_ij −= L_ik U_kj for every j > k in row k of U
//
// The pattern of L is that of Uᵀ: A is taken as structurally symmetric.
#include "orthant/math/block_lu.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "orthant/base/assert.hpp"

namespace orthant {
namespace {

/// A −= L U with fixed sizes, row-major.
template <int n>
void subtract_product(const double* L, const double* U, double* A) {
  for (int r = 0; r < n; ++r) {
    double row[n];
    for (int c = 0; c < n; ++c) row[c] = A[r * n + c];
    for (int k = 0; k < n; ++k) {
      for (int c = 0; c < n; ++c) row[c] -= L[r * n + k] * U[k * n + c];
    }
    for (int c = 0; c < n; ++c) A[r * n + c] = row[c];
  }
}

void subtract_product(const double* L, const double* U, double* A, Index rows, Index inner,
                      Index columns) {
  if (rows == inner && inner == columns) {
    if (rows == 3) return subtract_product<3>(L, U, A);
    if (rows == 2) return subtract_product<2>(L, U, A);
    if (rows == 6) return subtract_product<6>(L, U, A);
    if (rows == 5) return subtract_product<5>(L, U, A);
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index k = 0; k < inner; ++k) {
      const double f = L[r * inner + k];
      for (Index c = 0; c < columns; ++c) A[r * columns + c] -= f * U[k * columns + c];
    }
  }
}

constexpr Index kMaxBlock = 16;

/// call(n) with the sizes of bodies known to the compiler.
template <class Call>
[[gnu::always_inline]] inline auto with_size(Index n, Call&& call) {
  if (n == 6) return call(std::integral_constant<Index, 6>());
  if (n == 3) return call(std::integral_constant<Index, 3>());
  return call(n);
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
/// inverse: its rounding would be multiplied by the largest entries of A.
template <class Size>
void divide_block(double* B, Index rows, const double* A, Size n, const Index* pivot) {
  for (Index r = 0; r < rows; ++r) {
    double* b = B + r * n;
    for (Index k = 0; k < n; ++k) {
      const double f = b[k] *= A[k * n + k];
      for (Index j = k + 1; j < n; ++j) b[j] -= f * A[k * n + j];
    }
    for (Index k = n; k-- > 0;) {
      const double f = b[k];
      for (Index j = 0; j < k; ++j) b[j] -= f * A[k * n + j];
    }
    for (Index k = n; k-- > 0;) {
      if (pivot[k] != k) std::swap(b[k], b[pivot[k]]);
    }
  }
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
  const auto n = static_cast<std::size_t>(count_);
  for (Index i = 0; i < count_; ++i) ORTHANT_ASSERT(A.dim(i) <= kMaxBlock);
  order_.resize(n);
  if (count_ <= kSmallGraph) {
    order_small(A);
  } else {
    order_large(A);
  }
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
  lone_.assign(n, 0);
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
        divide_block(L, d, values_.data() + diagonal_[k], n, pivot_.data() + row_[k]);
      });
      if (lone_[k]) continue;
      for (std::size_t u = upper_begin_[k]; u < upper_begin_[k + 1]; ++u) {
        const Index j = upper_[u].other;
        subtract_product(L, values_.data() + upper_[u].at, values_.data() + place_[j], d, dk,
                         dim_[j]);
      }
    }
    const bool regular = with_size(d, [&](auto n) {
      return factor_block(values_.data() + diagonal_[i], n, pivot_.data() + row_[i]);
    });
    if (!regular) return false;
    const std::size_t first = upper_begin_[i], last = upper_begin_[i + 1];
    const std::size_t begin = diagonal_[i] + static_cast<std::size_t>(d) * d;
    const std::size_t end = first == last ? begin
                                          : upper_[last - 1].at + static_cast<std::size_t>(d) *
                                                                      dim_[upper_[last - 1].other];
    lone_[i] = is_zero(values_.data() + begin, static_cast<Index>(end - begin));
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
    for (std::size_t e = upper_begin_[i]; !lone_[i] && e < upper_begin_[i + 1]; ++e) {
      const Index j = upper_[e].other, dj = dim_[j];
      subtract_times(values_.data() + upper_[e].at, d, dj, x.data() + row_[j], y);
    }
    with_size(d, [&](auto n) {
      solve_block(values_.data() + diagonal_[i], n, pivot_.data() + row_[i], y);
    });
    for (Index r = 0; r < d; ++r) x[row_[i] + r] = y[r];
  }
}

}  // namespace orthant
