// SPDX-License-Identifier: Apache-2.0
// math/velocity_system.cpp: H, C, D and weights => factor of the saddle-point system. See the
// header.
#include "math/velocity_system.hpp"

#include <algorithm>
#include <type_traits>

#include "orthant/base/assert.hpp"

namespace orthant {
namespace {

constexpr Index kMaxBlock = 16;    // of BlockLu
constexpr Index kManyBlocks = 30;  // from here on panels are faster than blocks

/// call(n) with the sizes of bodies known to the compiler.
template <class Call>
[[gnu::always_inline]] inline void with_size(Index n, Call&& call) {
  if (n == 6) return call(std::integral_constant<Index, 6>());
  if (n == 3) return call(std::integral_constant<Index, 3>());
  call(n);
}

void sort_unique(std::vector<Index>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

bool is_symmetric(const double* a, Index n) {
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < i; ++j)
      if (a[i * n + j] != a[j * n + i]) return false;
  return true;
}

bool is_zero(const double* a, Index size) {
  return std::all_of(a, a + size, [](double x) { return x == 0; });
}

/// S_ab += D_aᵀ W D_b for all pairs of entries of row block c; `place`: of the pairs.
void add_product(const BlockRows& D, Index c, const double* W, const std::size_t* place,
                 double* S) {
  const Index dim = D.dim(c);
  const double* left = D.values(c);
  for (const BlockRows::Entry& first : D.entries(c)) {
    double half[kMaxBlock * kMaxBlock];  // Wᵀ D_a: dim x width
    with_size(first.width, [&](auto width) {
      for (Index r = 0; r < dim; ++r) {
        double* row = half + r * width;
        for (Index k = 0; k < width; ++k) row[k] = W[r] * left[k];
        for (Index s = 1; s < dim; ++s)
          for (Index k = 0; k < width; ++k) row[k] += W[s * dim + r] * left[s * width + k];
      }
    });
    const double* right = D.values(c);
    for (const BlockRows::Entry& second : D.entries(c)) {
      double* to = S + *place++;
      with_size(second.width, [&](auto width) {
        for (Index r = 0; r < dim; ++r)
          for (Index k = 0; k < first.width; ++k) {
            const double f = half[r * first.width + k];
            for (Index j = 0; j < width; ++j) to[k * width + j] += f * right[r * width + j];
          }
      });
      right += static_cast<std::ptrdiff_t>(dim) * second.width;
    }
    left += static_cast<std::ptrdiff_t>(dim) * first.width;
  }
}

}  // namespace

bool VelocitySystem::fits(const VelocityMatrix& H, const BlockRows& C) {
  if (H.kind() == VelocityMatrix::Kind::Operator) return false;
  for (Index i = 0; i < H.block_count(); ++i)
    if (H.block_size(i) > kMaxBlock) return false;
  for (Index i = 0; i < C.row_block_count(); ++i)
    if (C.dim(i) > kMaxBlock) return false;
  return true;
}

namespace {

/// visit(first, count) with the runs of numbers that make up the pattern; stops where it returns
/// false.
template <class Visit>
bool each_run(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D, Visit&& visit) {
  const auto number = [&](Index value) { return visit(&value, std::size_t{1}); };
  if (!number(static_cast<Index>(H.kind())) || !number(H.block_count()) ||
      !visit(H.offsets().data(), H.offsets().size()))
    return false;
  if (H.kind() == VelocityMatrix::Kind::Sparse) {
    const SparseMatrix& S = H.sparse_matrix();
    if (!visit(S.outerIndexPtr(), static_cast<std::size_t>(S.outerSize()) + 1) ||
        !visit(S.innerIndexPtr(), static_cast<std::size_t>(S.nonZeros())))
      return false;
  }
  for (const BlockRows* rows : {&C, &D}) {
    if (!number(rows->row_block_count())) return false;
    for (Index i = 0; i < rows->row_block_count(); ++i) {
      const std::span<const BlockRows::Entry> entries = rows->entries(i);
      if (!number(rows->dim(i)) || !number(static_cast<Index>(entries.size()))) return false;
      for (const BlockRows::Entry& entry : entries)
        if (!number(entry.block)) return false;
    }
  }
  return true;
}

}  // namespace

bool VelocitySystem::knows(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D) const {
  std::size_t at = 0;
  return each_run(H, C, D,
                  [&](const Index* first, std::size_t count) {
                    const bool same = count <= key_.size() - at &&
                                      std::equal(first, first + count, key_.data() + at);
                    at += count;
                    return same;
                  }) &&
         at == key_.size();
}

void VelocitySystem::find_graph(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D) {
  const Index n = velocity_blocks_;
  const auto nodes = static_cast<std::size_t>(n + bilateral_blocks_);
  if (graph_.size() < nodes) graph_.resize(nodes);
  for (std::size_t i = 0; i < nodes; ++i) graph_[i].clear();
  const auto connect = [&](Index i, Index j) {
    if (i == j) return;
    graph_[i].push_back(j);
    graph_[j].push_back(i);
  };
  if (H.kind() == VelocityMatrix::Kind::Sparse) {
    block_of_.resize(H.rows());
    for (Index i = 0; i < n; ++i)
      std::fill_n(block_of_.begin() + H.block_begin(i), H.block_size(i), i);
    H.for_each_entry([&](Index r, Index c) { connect(block_of_[r], block_of_[c]); });
  }
  for (Index i = 0; i < C.row_block_count(); ++i)
    for (const BlockRows::Entry& entry : C.entries(i)) connect(n + i, entry.block);
  for (Index c = 0; c < D.row_block_count(); ++c) {
    const auto entries = D.entries(c);
    for (std::size_t a = 0; a < entries.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) connect(entries[a].block, entries[b].block);
  }
  for (std::size_t i = 0; i < nodes; ++i) sort_unique(graph_[i]);
}

bool VelocitySystem::same_graph(const VelocityMatrix& H, const BlockRows& C) {
  seen_.assign(H.offsets().begin(), H.offsets().end());
  seen_.insert(seen_.end(), C.row_offsets().begin(), C.row_offsets().end());
  for (Index i = 0; i < velocity_blocks_ + bilateral_blocks_; ++i) {
    seen_.push_back(-1);
    seen_.insert(seen_.end(), graph_[i].begin(), graph_[i].end());
  }
  if (seen_ == graph_key_) return true;
  graph_key_ = seen_;
  return false;
}

/// Minimum degree among the vertices that may go. The graph is that of the elimination: a vertex
/// that goes makes its neighbours a clique. Lists by degree may hold a vertex more than once.
void VelocitySystem::find_order(const BlockRows& C) {
  const Index n = velocity_blocks_, nodes = n + bilateral_blocks_;
  waits_.assign(static_cast<std::size_t>(nodes), 0);
  for (Index i = 0; i < C.row_block_count(); ++i) {
    const auto blocks = static_cast<Index>(graph_[n + i].size());
    waits_[n + i] = blocks > 1 ? blocks - 1 : blocks;
  }
  eliminated_.assign(static_cast<std::size_t>(nodes), 0);
  order_.clear();
  by_degree_.resize(std::max(by_degree_.size(), static_cast<std::size_t>(nodes)));
  for (auto& list : by_degree_) list.clear();
  const auto enter = [&](Index i) {
    if (waits_[i] <= 0) by_degree_[graph_[i].size()].push_back(i);
  };
  for (Index i = nodes; i-- > 0;) enter(i);  // lists are read from the end: the lowest number first
  std::size_t degree = 0;
  while (static_cast<Index>(order_.size()) < nodes) {
    while (degree < by_degree_.size() && by_degree_[degree].empty()) ++degree;
    ORTHANT_ASSERT(degree < by_degree_.size());
    const Index k = by_degree_[degree].back();
    by_degree_[degree].pop_back();
    if (eliminated_[k] || graph_[k].size() != degree) continue;
    eliminated_[k] = 1;
    order_.push_back(k);
    const std::vector<Index>& around = graph_[k];
    for (const Index i : around) {
      std::vector<Index>& list = graph_[i];
      list.erase(std::lower_bound(list.begin(), list.end(), k));
      if (around.size() > 1) {
        const auto middle = static_cast<std::ptrdiff_t>(list.size());
        for (const Index j : around)
          if (j != i) list.push_back(j);
        std::inplace_merge(list.begin(), list.begin() + middle, list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
      }
      degree = std::min(degree, list.size());
    }
    // Rows of its own, not those it meets by fill; they are among its neighbours.
    for (const BlockRows::Entry& entry : matrix_.entries(k))
      if (k < n && entry.block >= n) --waits_[entry.block];
    for (const Index i : around) enter(i);
  }
}

std::size_t VelocitySystem::place_of(Index i, Index j) const {
  return static_cast<std::size_t>(matrix_.find(i, j) - matrix_.all_values().data());
}

void VelocitySystem::find_places(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D) {
  const Index n = velocity_blocks_;
  H_place_.clear();
  if (H.kind() == VelocityMatrix::Kind::BlockDiagonal) {
    for (Index i = 0; i < n; ++i) H_place_.push_back(place_of(i, i));
  } else {
    H.for_each_entry([&](Index r, Index c) {
      const Index i = block_of_[r], j = block_of_[c];
      const Index at = (r - H.block_begin(i)) * H.block_size(j) + c - H.block_begin(j);
      H_place_.push_back(place_of(i, j) + static_cast<std::size_t>(at));
    });
  }
  C_place_.clear();
  delta_place_.clear();
  for (Index i = 0; i < C.row_block_count(); ++i) {
    delta_place_.push_back(place_of(n + i, n + i));
    for (const BlockRows::Entry& entry : C.entries(i)) {
      C_place_.push_back(place_of(n + i, entry.block));
      C_place_.push_back(place_of(entry.block, n + i));
    }
  }
  D_place_.clear();
  for (Index c = 0; c < D.row_block_count(); ++c)
    for (const BlockRows::Entry& a : D.entries(c))
      for (const BlockRows::Entry& b : D.entries(c)) D_place_.push_back(place_of(a.block, b.block));
}

void VelocitySystem::analyze(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D) {
  symmetric_ = false;
  if (knows(H, C, D)) return;
  key_.clear();
  (void)each_run(H, C, D, [&](const Index* first, std::size_t count) {
    key_.insert(key_.end(), first, first + count);
    return true;
  });
  velocity_blocks_ = H.block_count();
  bilateral_blocks_ = C.row_block_count();
  find_graph(H, C, D);
  if (same_graph(H, C)) return find_places(H, C, D);
  matrix_.clear();
  const auto dim = [&](Index i) {
    return i < velocity_blocks_ ? H.block_size(i) : C.dim(i - velocity_blocks_);
  };
  const auto begin = [&](Index i) {
    return i < velocity_blocks_ ? H.block_begin(i) : H.rows() + C.row_begin(i - velocity_blocks_);
  };
  for (Index i = 0; i < velocity_blocks_ + bilateral_blocks_; ++i) {
    matrix_.begin_row(dim(i));
    matrix_.add(i, begin(i), dim(i));
    for (const Index j : graph_[i]) matrix_.add(j, begin(j), dim(j));
  }
  find_order(C);
  find_places(H, C, D);
  lu_.analyze(matrix_, order_);
  symmetric_known_ = false;
}

bool VelocitySystem::factorize(const VelocityMatrix& H, const BlockRows& C,
                               std::span<const double> delta, const BlockRows& D,
                               std::span<const double> weights) {
  ORTHANT_ASSERT(static_cast<Index>(delta.size()) == C.rows());
  std::ranges::fill(matrix_.all_values(), 0.0);
  double* A = matrix_.all_values().data();
  const double* h = H.all_values().data();
  if (H.kind() == VelocityMatrix::Kind::BlockDiagonal) {
    for (Index i = 0; i < velocity_blocks_; ++i) {
      const Index size = H.block_size(i) * H.block_size(i);
      std::copy(h, h + size, A + H_place_[i]);
      h += size;
    }
  } else {
    for (const std::size_t place : H_place_) A[place] += *h++;
  }
  const std::size_t* place = C_place_.data();
  for (Index i = 0; i < C.row_block_count(); ++i) {
    const Index d = C.dim(i);
    const double* c = C.values(i);
    for (const BlockRows::Entry& entry : C.entries(i)) {
      double *row = A + *place++, *across = A + *place++;
      for (Index r = 0; r < d; ++r)
        for (Index k = 0; k < entry.width; ++k) {
          *row++ += *c;
          across[k * d + r] -= *c++;
        }
    }
    double* diagonal = A + delta_place_[i];
    for (Index r = 0; r < d; ++r) diagonal[r * d + r] = delta[C.row_begin(i) + r];
  }
  symmetric_ = C.empty() && velocity_blocks_ >= kManyBlocks && H.is_symmetric();
  const double* W = weights.data();
  place = D_place_.data();
  for (Index c = 0; c < D.row_block_count(); ++c) {
    const Index square = D.dim(c) * D.dim(c);
    if (!is_zero(W, square)) add_product(D, c, W, place, A);
    symmetric_ = symmetric_ && is_symmetric(W, D.dim(c));
    W += square;
    place += D.entries(c).size() * D.entries(c).size();
  }
  if (symmetric_) {
    if (!symmetric_known_) analyze_symmetric(H);
    double* values = upper_.valuePtr();
    for (const std::size_t from : upper_place_) *values++ = A[from];
    if (ldlt_.factorize(upper_)) return true;
    symmetric_ = false;  // not positive to rounding
  }
  return lu_.factorize(matrix_);
}

/// The upper triangle by columns. Blocks on the diagonal are whole, so that all columns of a block
/// have the same rows.
void VelocitySystem::analyze_symmetric(const VelocityMatrix& H) {
  const Index n = velocity_blocks_;
  std::vector<Index> rank(static_cast<std::size_t>(n)), at(static_cast<std::size_t>(n));
  row_of_.clear();
  for (Index k = 0; k < n; ++k) {
    const Index b = order_[k];
    rank[b] = k;
    at[b] = static_cast<Index>(row_of_.size());
    for (Index r = 0; r < H.block_size(b); ++r) row_of_.push_back(H.block_begin(b) + r);
  }
  upper_place_.clear();
  std::vector<Index> inner, outer = {0}, above;
  for (const Index b : order_) {
    above.clear();
    for (const BlockRows::Entry& entry : matrix_.entries(b))
      if (rank[entry.block] <= rank[b]) above.push_back(rank[entry.block]);
    std::sort(above.begin(), above.end());
    for (Index c = 0; c < H.block_size(b); ++c) {
      for (const Index k : above) {
        const Index other = order_[k], width = H.block_size(other);
        // Row c of block row b, which is column c of the block above the diagonal.
        const std::size_t row = place_of(b, other) + static_cast<std::size_t>(c * width);
        for (Index r = 0; r < width; ++r) {
          inner.push_back(at[other] + r);
          upper_place_.push_back(row + static_cast<std::size_t>(r));
        }
      }
      outer.push_back(static_cast<Index>(inner.size()));
    }
  }
  upper_.resize(H.rows(), H.rows());
  upper_.resizeNonZeros(static_cast<Index>(inner.size()));
  std::copy(inner.begin(), inner.end(), upper_.innerIndexPtr());
  std::copy(outer.begin(), outer.end(), upper_.outerIndexPtr());
  ldlt_.analyze(upper_, Ordering::Natural);
  symmetric_known_ = true;
}

void VelocitySystem::solve_symmetric(const VecX& right, VecX& x) {
  permuted_.resize(right.size());
  for (std::size_t i = 0; i < row_of_.size(); ++i) permuted_[i] = right[row_of_[i]];
  ldlt_.solve(permuted_, solved_);
  x.resize(right.size());
  for (std::size_t i = 0; i < row_of_.size(); ++i) x[row_of_[i]] = solved_[i];
}

void VelocitySystem::solve(const VecX& right, VecX& x) {
  symmetric_ ? solve_symmetric(right, x) : lu_.solve(right, x);
}

void VelocitySystem::solve_transpose(const VecX& right, VecX& x) {
  symmetric_ ? solve_symmetric(right, x) : lu_.solve_transpose(right, x);
}

}  // namespace orthant
