// SPDX-License-Identifier: Apache-2.0
// math/supernodal_symbolic.cpp: pattern of A => order, elimination tree, panels, place of each
// entry. Liu's elimination tree; relaxed supernodes as in Chen, Davis, Hager, Rajamanickam 2008.
#include <algorithm>
#include <numeric>

#include "math/dense_kernel.hpp"
#include "math/supernodal.hpp"
#include "orthant/base/assert.hpp"

namespace orthant {
namespace {

/// Wider supernodes are cut: a panel and its packed factor should stay in the second cache.
constexpr Index kWidest = 96;

/// May a supernode of this width hold this part of explicit zeros?
bool worth_merging(Index width, double zeros) {
  return width <= kWidest && (width <= 4 || (width <= 16 && zeros < 0.6) ||
                              (width <= 48 && zeros < 0.15) || zeros < 0.05);
}

double trapezoid(double height, double width) { return width * height - width * (width - 1) / 2; }

}  // namespace

void Supernodal::analyze(const SparseMatrix& A, bool symmetric, Ordering ordering) {
  ORTHANT_ASSERT(A.rows() == A.cols() && A.isCompressed());
  symmetric_ = symmetric;
  size_ = static_cast<Index>(A.rows());
  build_graph(A);
  eliminate_symbolically(ordering);
  find_supernodes();
  list_rows();
  place_entries(A);
}

void Supernodal::build_graph(const SparseMatrix& A) {
  std::vector<std::pair<Index, Index>> edges;
  edges.reserve(static_cast<std::size_t>(A.nonZeros()) * 2);
  for (Index c = 0; c < size_; ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      if (it.row() == c || (symmetric_ && it.row() > c)) continue;
      edges.emplace_back(it.row(), c);
      edges.emplace_back(c, it.row());
    }
  }
  // Counting sort by the first end; the second ends are sorted and made unique vertex by vertex.
  begin_.assign(static_cast<std::size_t>(size_) + 1, 0);
  for (const auto& e : edges) ++begin_[e.first + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  neighbours_.resize(edges.size());
  std::vector<Index> fill(begin_.begin(), begin_.end() - 1);
  for (const auto& e : edges) neighbours_[fill[e.first]++] = e.second;
  Index kept = 0;
  for (Index i = 0; i < size_; ++i) {
    const auto from = neighbours_.begin() + begin_[i], to = neighbours_.begin() + begin_[i + 1];
    std::sort(from, to);
    const Index start = kept;
    for (auto it = from; it != to; ++it) {
      if (kept == start || neighbours_[kept - 1] != *it) neighbours_[kept++] = *it;
    }
    begin_[i] = start;
  }
  begin_[size_] = kept;
  neighbours_.resize(static_cast<std::size_t>(kept));
}

void Supernodal::eliminate_symbolically(Ordering ordering) {
  order_ = elimination_order(begin_, neighbours_, ordering);
  const auto invert = [&] {
    inverse_.resize(order_.size());
    for (Index i = 0; i < size_; ++i) inverse_[order_[i]] = i;
  };
  const auto each_earlier = [&](Index column, auto&& visit) {
    const Index old = order_[column];
    for (Index e = begin_[old]; e < begin_[old + 1]; ++e) {
      const Index row = inverse_[neighbours_[e]];
      if (row < column) visit(row);
    }
  };
  invert();
  // Elimination tree with path compression.
  std::vector<Index> ancestor(order_.size(), -1);
  parent_.assign(order_.size(), -1);
  for (Index j = 0; j < size_; ++j) {
    each_earlier(j, [&](Index i) {
      while (i != -1 && i < j) {
        const Index up = ancestor[i];
        ancestor[i] = j;
        if (up == -1) parent_[i] = j;
        i = up;
      }
    });
  }
  // Postorder: children directly before their parent, so that panels are contiguous.
  std::vector<Index> child(order_.size(), -1), sibling(order_.size(), -1), post, stack;
  std::vector<Index> rank(order_.size());
  post.reserve(order_.size());
  for (Index j = size_ - 1; j >= 0; --j) {
    if (parent_[j] != -1) sibling[j] = child[parent_[j]], child[parent_[j]] = j;
  }
  for (Index root = 0; root < size_; ++root) {
    if (parent_[root] != -1) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const Index top = stack.back();
      if (child[top] != -1) {
        stack.push_back(child[top]);
        child[top] = sibling[child[top]];
      } else {
        rank[top] = static_cast<Index>(post.size());
        post.push_back(top);
        stack.pop_back();
      }
    }
  }
  std::vector<Index> order(order_.size()), parent(order_.size());
  for (Index i = 0; i < size_; ++i) {
    order[i] = order_[post[i]];
    parent[i] = parent_[post[i]] == -1 ? -1 : rank[parent_[post[i]]];
  }
  order_.swap(order);
  parent_.swap(parent);
  invert();
  // Entries of each column of L: row j reaches every column on its paths up the tree.
  count_.assign(order_.size(), 0);
  std::vector<Index> seen(order_.size(), -1);
  for (Index j = 0; j < size_; ++j) {
    seen[j] = j;
    each_earlier(j, [&](Index i) {
      for (; seen[i] != j; i = parent_[i]) {
        ++count_[i];
        seen[i] = j;
      }
    });
  }
}

void Supernodal::find_supernodes() {
  struct Node {
    Index first, width, height;
    double zeros;
  };
  std::vector<Node> nodes;
  Index last_begin = 0;
  const auto push = [&](Index first, Index end) {
    Node node{first, end - first, count_[first] + 1, 0};
    // Merge with the node just before while it is a child and the zeros this stores are few.
    while (!nodes.empty()) {
      const Node& before = nodes.back();
      if (parent_[before.first + before.width - 1] != node.first) break;
      const Index width = before.width + node.width, height = before.width + node.height;
      const double zeros = before.zeros + node.zeros + trapezoid(height, width) -
                           trapezoid(before.height, before.width) -
                           trapezoid(node.height, node.width);
      if (!worth_merging(width, zeros / trapezoid(height, width))) break;
      node = {before.first, width, height, zeros};
      nodes.pop_back();
    }
    nodes.push_back(node);
  };
  for (Index j = 1; j <= size_; ++j) {
    const bool joined = j < size_ && parent_[j - 1] == j && count_[j - 1] == count_[j] + 1 &&
                        j - last_begin < kWidest;
    if (joined) continue;
    push(last_begin, j);
    last_begin = j;
  }
  first_.clear();
  member_.resize(order_.size());
  flops_ = 0;
  nonzeros_ = 0;
  for (const Node& node : nodes) {
    std::fill_n(member_.begin() + node.first, node.width, static_cast<Index>(first_.size()));
    first_.push_back(node.first);
  }
  first_.push_back(size_);
  for (Index j = 0; j < size_; ++j) {
    const double below = count_[j];
    flops_ += (symmetric_ ? 0.5 : 1.0) * below * (below + 1) + below;
    nonzeros_ += count_[j] + 1;
  }
}

void Supernodal::list_rows() {
  const Index nodes = static_cast<Index>(first_.size()) - 1;
  std::vector<Index> seen(order_.size(), -1), child(static_cast<std::size_t>(nodes), -1),
      sibling(static_cast<std::size_t>(nodes), -1);
  row_begin_.assign(1, 0);
  panel_.clear();
  rows_.clear();
  std::int64_t total = 0;
  std::size_t tallest = 0, widest = 0;
  for (Index s = 0; s < nodes; ++s) {
    const std::size_t start = rows_.size();
    const Index end = first_[s + 1];
    for (Index j = first_[s]; j < end; ++j) rows_.push_back(j);
    const auto mark = [&](Index row) {
      if (row >= end && seen[row] != s) seen[row] = s, rows_.push_back(row);
    };
    for (Index j = first_[s]; j < end; ++j) {
      const Index old = order_[j];
      for (Index e = begin_[old]; e < begin_[old + 1]; ++e) mark(inverse_[neighbours_[e]]);
    }
    for (Index c = child[s]; c != -1; c = sibling[c]) {
      for (std::int64_t r = row_begin_[c] + width(c); r < row_begin_[c + 1]; ++r) mark(rows_[r]);
    }
    std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(start) + width(s), rows_.end());
    row_begin_.push_back(static_cast<std::int64_t>(rows_.size()));
    if (height(s) > width(s)) {
      const Index up = member_[rows_[start + static_cast<std::size_t>(width(s))]];
      sibling[s] = child[up];
      child[up] = s;
    }
    panel_.push_back(total);
    const std::int64_t below = symmetric_ ? 0 : height(s) - width(s);
    total += (height(s) + below) * static_cast<std::int64_t>(width(s));
    tallest = std::max(tallest, static_cast<std::size_t>(height(s)));
    widest = std::max(widest, static_cast<std::size_t>(width(s)));
  }
  values_.resize(static_cast<std::size_t>(total));
  product_.resize(tallest * widest);
  packing_.resize(packing_size(static_cast<int>(widest), static_cast<int>(widest)));
  head_.resize(static_cast<std::size_t>(nodes));
  next_.resize(static_cast<std::size_t>(nodes));
  reached_.resize(static_cast<std::size_t>(nodes));
  local_.resize(order_.size());
  diagonal_.resize(order_.size());
  row_scale_.resize(order_.size());
  work_.resize(size_);
}

/// Index in values_ of entry (row, column) of the permuted matrix.
std::int64_t Supernodal::place(Index row, Index column) const {
  const bool above = row < column && (symmetric_ || member_[row] != member_[column]);
  const Index s = member_[above ? row : column];
  const Index c = (above ? row : column) - first_[s], target = above ? column : row;
  const Index* list = rows(s);
  const Index at =
      target < first_[s + 1]
          ? target - first_[s]
          : static_cast<Index>(std::lower_bound(list + width(s), list + height(s), target) - list);
  if (above && !symmetric_) {
    const std::int64_t below = height(s) - width(s);
    return panel_[s] + static_cast<std::int64_t>(height(s)) * width(s) + c * below + at - width(s);
  }
  return panel_[s] + static_cast<std::int64_t>(c) * height(s) + at;
}

void Supernodal::place_entries(const SparseMatrix& A) {
  place_.resize(static_cast<std::size_t>(A.nonZeros()));
  std::size_t e = 0;
  for (Index c = 0; c < size_; ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it, ++e) {
      place_[e] = symmetric_ && it.row() > c ? -1 : place(inverse_[it.row()], inverse_[c]);
    }
  }
}

}  // namespace orthant
