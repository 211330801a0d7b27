// SPDX-License-Identifier: Apache-2.0
// math/tree_cholesky.cpp: sparse H => factor in tree order. See the header.
#include "math/tree_cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace orthant {
namespace {

constexpr std::size_t kUnused = static_cast<std::size_t>(-1);
constexpr Index kNoParent = -1;

/// call(n) with the size of a body known to the compiler.
template <class Call>
[[gnu::always_inline]] inline auto with_size(Index n, Call&& call) {
  if (n == 6) return call(std::integral_constant<Index, 6>());
  return call(n);
}

/// A = L Lᵀ in the lower triangle, the diagonal inverted.
template <class Size>
bool factor(double* A, Size n) {
  for (Index k = 0; k < n; ++k) {
    double pivot = A[k * n + k];
    for (Index j = 0; j < k; ++j) pivot -= A[k * n + j] * A[k * n + j];
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    const double inverse = A[k * n + k] = 1 / std::sqrt(pivot);
    for (Index i = k + 1; i < n; ++i) {
      double sum = A[i * n + k];
      for (Index j = 0; j < k; ++j) sum -= A[i * n + j] * A[k * n + j];
      A[i * n + k] = sum * inverse;
    }
  }
  return true;
}

/// W = L⁻¹ W, n x m
template <class Size, class Columns>
void divide(const double* L, Size n, double* W, Columns m) {
  for (Index k = 0; k < n; ++k) {
    for (Index j = 0; j < k; ++j)
      for (Index c = 0; c < m; ++c) W[k * m + c] -= L[k * n + j] * W[j * m + c];
    for (Index c = 0; c < m; ++c) W[k * m + c] *= L[k * n + k];
  }
}

/// A −= Wᵀ W
template <class Size, class Columns>
void subtract_square(const double* W, Size n, double* A, Columns m) {
  for (Index k = 0; k < n; ++k)
    for (Index r = 0; r < m; ++r) {
      const double f = W[k * m + r];
      for (Index c = 0; c < m; ++c) A[r * m + c] -= f * W[k * m + c];
    }
}

}  // namespace

bool TreeCholesky::analyze(const VelocityMatrix& H) {
  const Index count = H.block_count();
  block_of_.resize(static_cast<std::size_t>(H.rows()));
  nodes_.assign(static_cast<std::size_t>(count), {0, 0, kNoParent, 0, 0});
  for (Index i = 0; i < count; ++i) {
    if (H.block_size(i) > kMaxVelocityBlock) return false;
    nodes_[i].begin = H.block_begin(i);
    nodes_[i].size = H.block_size(i);
    std::fill_n(block_of_.begin() + H.block_begin(i), H.block_size(i), i);
  }
  std::vector<std::vector<Index>> near(static_cast<std::size_t>(count));
  H.for_each_entry([&](Index r, Index c) {
    const Index i = block_of_[r], j = block_of_[c];
    if (i != j && (near[j].empty() || near[j].back() != i)) near[j].push_back(i);
  });
  // From the lowest number of each tree; what comes later in this walk goes first.
  order_.clear();
  std::vector<unsigned char> seen(static_cast<std::size_t>(count), 0);
  for (Index root = 0; root < count; ++root) {
    if (seen[root]) continue;
    seen[root] = 1;
    order_.push_back(root);
    for (std::size_t next = order_.size() - 1; next < order_.size(); ++next) {
      const Index i = order_[next];
      std::sort(near[i].begin(), near[i].end());
      near[i].erase(std::unique(near[i].begin(), near[i].end()), near[i].end());
      for (const Index j : near[i]) {
        if (j == nodes_[i].parent) continue;
        if (seen[j]) return false;
        seen[j] = 1;
        nodes_[j].parent = i;
        order_.push_back(j);
      }
    }
  }
  std::reverse(order_.begin(), order_.end());
  std::size_t size = 0;
  for (Node& node : nodes_) {
    const auto n = static_cast<std::size_t>(node.size);
    node.diagonal = size;
    node.across = size += n * n;
    if (node.parent != kNoParent) size += n * static_cast<std::size_t>(nodes_[node.parent].size);
  }
  values_.resize(size);
  place_.clear();
  H.for_each_entry([&](Index r, Index c) {
    const Index i = block_of_[r], j = block_of_[c];
    const Node& node = nodes_[i];
    const auto row = static_cast<std::size_t>(r - node.begin),
               column = static_cast<std::size_t>(c - nodes_[j].begin),
               width = static_cast<std::size_t>(nodes_[j].size);
    const bool read = i == j || node.parent == j;
    place_.push_back(read ? (i == j ? node.diagonal : node.across) + row * width + column
                          : kUnused);
  });
  return true;
}

bool TreeCholesky::factorize(const VelocityMatrix& H) {
  std::fill(values_.begin(), values_.end(), 0.0);
  const double* a = H.all_values().data();
  for (const std::size_t place : place_) {
    if (place != kUnused) values_[place] += *a;
    ++a;
  }
  for (const Index i : order_) {
    const Node& node = nodes_[i];
    double *L = values_.data() + node.diagonal, *W = values_.data() + node.across;
    const bool positive = with_size(node.size, [&](auto n) {
      if (!factor(L, n)) return false;
      if (node.parent == kNoParent) return true;
      const Node& parent = nodes_[node.parent];
      with_size(parent.size, [&](auto m) {
        divide(L, n, W, m);
        subtract_square(W, n, values_.data() + parent.diagonal, m);
      });
      return true;
    });
    if (!positive) return false;
  }
  return true;
}

void TreeCholesky::solve_lower(VecX& x) const {
  for (const Index i : order_) {
    const Node& node = nodes_[i];
    const double *L = values_.data() + node.diagonal, *W = values_.data() + node.across;
    double* y = x.data() + node.begin;
    with_size(node.size, [&](auto n) {
      if (std::all_of(y, y + n, [](double a) { return a == 0; })) return;
      divide(L, n, y, std::integral_constant<Index, 1>());
      if (node.parent == kNoParent) return;
      const Node& parent = nodes_[node.parent];
      double* above = x.data() + parent.begin;
      with_size(parent.size, [&](auto m) {
        for (Index k = 0; k < n; ++k)
          for (Index c = 0; c < m; ++c) above[c] -= W[k * m + c] * y[k];
      });
    });
  }
}

double TreeCholesky::inverse_square(VecX& x) const {
  solve_lower(x);
  return x.squaredNorm();
}

void TreeCholesky::solve(VecX& x) const {
  solve_lower(x);
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    const Node& node = nodes_[*i];
    const double *L = values_.data() + node.diagonal, *W = values_.data() + node.across;
    double* y = x.data() + node.begin;
    with_size(node.size, [&](auto n) {
      if (node.parent != kNoParent) {
        const Node& parent = nodes_[node.parent];
        const double* above = x.data() + parent.begin;
        with_size(parent.size, [&](auto m) {
          for (Index k = 0; k < n; ++k) {
            double sum = 0;
            for (Index c = 0; c < m; ++c) sum += W[k * m + c] * above[c];
            y[k] -= sum;
          }
        });
      }
      for (Index k = n; k-- > 0;) {
        double sum = y[k];
        for (Index j = k + 1; j < n; ++j) sum -= L[j * n + k] * y[j];
        y[k] = sum * L[k * n + k];
      }
    });
  }
}

}  // namespace orthant
