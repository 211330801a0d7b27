// SPDX-License-Identifier: Apache-2.0
// device/dissection.hpp: bodies in the plane and which of them touch => the tree of fronts of a
// multifrontal Cholesky factor. The bodies are halved by place, again and again; the fewest bodies
// that keep the halves apart (a least vertex cover of the pairs between them) are eliminated after
// both. A front holds its own bodies and its bound: those eliminated later that its subtree meets.
// On the host, once for a set of pairs; a factor of other numbers uses the same tree.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace orthant::device {

constexpr int kPanel = 32;  // columns eliminated at once

struct Front {
  int own, bound;      // bodies
  int bodies;          // where its bodies begin: own, then bound
  int place;           // where the places begin that its bound has among the bodies of the parent
  int child[2];        // -1: none
  int panel, vector;   // where its panels and its vector begin
  std::size_t matrix;  // where its matrix begins
};
/// Two bodies that touch: their block of 3 × 3 in the front of the one eliminated first.
struct Slot {
  int first, later;
  int stride;
  std::size_t at;
};
/// The same of one body.
struct Diagonal {
  int stride;
  std::size_t at;
};
/// Fronts of one depth, which do not see each other.
struct FrontLevel {
  int begin, count;
  int own, size;  // most of a front, in numbers: 3 per body
};

class Dissection {
 public:
  std::vector<Front> front;       ///< the deepest first
  std::vector<FrontLevel> level;  ///< the deepest first
  std::vector<int> bodies, places;
  std::vector<Slot> slot;
  std::vector<Diagonal> diagonal;
  std::size_t matrices = 0;  ///< numbers of all matrices
  int vectors = 0, panels = 0;

  /// xy: two numbers per body.
  void build(std::span<const double> xy, std::span<const std::array<int, 2>> pairs) {
    const std::size_t n = xy.size() / 2;
    xy_ = xy.data();
    neighbours(n, pairs);
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<int>(i);
    side_.assign(n, -1);
    match_.assign(n, -1);
    seen_.assign(n, -1);
    stamp_ = 0;
    nodes_.clear();
    split(0, static_cast<int>(n), 0);
    position_.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      position_[static_cast<std::size_t>(order_[i])] = static_cast<int>(i);
    find_bounds();
    lay_out();
  }
  /// Whether the tree has a place for this pair.
  bool covers(int a, int b) const {
    const auto begin = adjacent_.begin();
    return std::find(begin + begin_[at(a)], begin + begin_[at(a) + 1], b) !=
           begin + begin_[at(a) + 1];
  }

 private:
  struct Node {
    int begin, cover, end;  // bodies of the subtree; its own from `cover` on, by order_
    int depth, child[2];
    std::vector<int> bound;
  };
  static constexpr int kLeaf = 32;  // bodies; three panels
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void neighbours(std::size_t n, std::span<const std::array<int, 2>> pairs) {
    begin_.assign(n + 2, 0);
    for (const auto& [a, b] : pairs) ++begin_[at(a) + 2], ++begin_[at(b) + 2];
    for (std::size_t i = 2; i < n + 2; ++i) begin_[i] += begin_[i - 1];
    adjacent_.resize(2 * pairs.size());
    for (const auto& [a, b] : pairs) {
      adjacent_[at(begin_[at(a) + 1]++)] = b;
      adjacent_[at(begin_[at(b) + 1]++)] = a;
    }
    int kept = 0;  // each neighbour once
    for (std::size_t i = 0; i < n; ++i) {
      const auto from = adjacent_.begin() + begin_[i], to = adjacent_.begin() + begin_[i + 1];
      std::sort(from, to);
      const int first = kept;
      for (auto b = from; b != to; ++b)
        if (kept == first || adjacent_[at(kept - 1)] != *b) adjacent_[at(kept++)] = *b;
      begin_[i] = first;
    }
    begin_[n] = kept;
    adjacent_.resize(at(kept));
  }
  std::span<const int> adjacent(int body) const {
    return {adjacent_.data() + begin_[at(body)], adjacent_.data() + begin_[at(body) + 1]};
  }

  /// The node of the bodies order_[begin, end); they are left in the order of their elimination.
  int split(int begin, int end, int depth) {
    if (begin == end) return -1;
    const auto from = order_.begin() + begin, to = order_.begin() + end;
    if (end - begin <= kLeaf) {
      nodes_.push_back({begin, begin, end, depth, {-1, -1}, {}});
      return static_cast<int>(nodes_.size()) - 1;
    }
    double low[2] = {xy_[2 * at(*from)], xy_[2 * at(*from) + 1]}, high[2] = {low[0], low[1]};
    for (auto i = from; i != to; ++i)
      for (std::size_t k = 0; k < 2; ++k) {
        low[k] = std::min(low[k], xy_[2 * at(*i) + k]);
        high[k] = std::max(high[k], xy_[2 * at(*i) + k]);
      }
    const std::size_t axis = high[0] - low[0] >= high[1] - low[1] ? 0 : 1;
    const auto middle = from + (end - begin) / 2;
    std::nth_element(from, middle, to, [&](int a, int b) {
      return std::pair(xy_[2 * at(a) + axis], a) < std::pair(xy_[2 * at(b) + axis], b);
    });
    const int left = stamp_++, right = stamp_++;
    for (auto i = from; i != middle; ++i) side_[at(*i)] = left;
    for (auto i = middle; i != to; ++i) side_[at(*i)] = right;
    cover_pairs(std::span<const int>(from, middle), left, right);
    const auto covered = [&](int i) { return side_[at(i)] == kCover; };
    std::vector<int> cover;
    std::copy_if(from, to, std::back_inserter(cover), covered);
    std::copy(cover.begin(), cover.end(), std::remove_if(from, to, covered));
    const int own = end - static_cast<int>(cover.size());
    const int edge = static_cast<int>(
        std::find_if(from, order_.begin() + own, [&](int i) { return side_[at(i)] == right; }) -
        order_.begin());
    const int first = split(begin, edge, depth + 1), second = split(edge, own, depth + 1);
    nodes_.push_back({begin, own, end, depth, {first, second}, {}});
    return static_cast<int>(nodes_.size()) - 1;
  }

  /// Marks the fewest bodies that meet all pairs between left and right (Kőnig's theorem: from a
  /// largest matching).
  void cover_pairs(std::span<const int> lefts, int left, int right) {
    std::vector<int> edge, reached;
    for (const int a : lefts) {
      bool crosses = false;
      for (const int b : adjacent(a))
        if (side_[at(b)] == right) crosses = true, match_[at(b)] = -1;
      if (!crosses) continue;
      edge.push_back(a);
      match_[at(a)] = -1;
    }
    for (const int a : edge) {
      reached.clear();
      grow_matching(a, right, reached);
      for (const int b : reached) seen_[at(b)] = -1;
    }
    reached.clear();
    std::vector<int> free;
    for (const int a : edge)
      if (match_[at(a)] < 0) free.push_back(a);
    // What alternating paths reach from the free ones of the left.
    for (const int a : free) seen_[at(a)] = left;
    for (std::size_t i = 0; i < free.size(); ++i)
      for (const int b : adjacent(free[i]))
        if (side_[at(b)] == right && seen_[at(b)] < 0) {
          seen_[at(b)] = right;
          reached.push_back(b);
          const int next = match_[at(b)];
          if (seen_[at(next)] < 0) seen_[at(next)] = left, free.push_back(next);
        }
    for (const int a : edge)
      if (seen_[at(a)] < 0) side_[at(a)] = kCover;
    for (const int b : reached) side_[at(b)] = kCover, seen_[at(b)] = -1;
    for (const int a : free) seen_[at(a)] = -1;
  }
  bool grow_matching(int a, int right, std::vector<int>& reached) {
    for (const int b : adjacent(a)) {
      if (side_[at(b)] != right || seen_[at(b)] >= 0) continue;
      seen_[at(b)] = 0;
      reached.push_back(b);
      if (match_[at(b)] < 0 || grow_matching(match_[at(b)], right, reached)) {
        match_[at(b)] = a;
        match_[at(a)] = b;
        return true;
      }
    }
    return false;
  }

  /// Children come before their parents in nodes_.
  void find_bounds() {
    for (Node& node : nodes_) {
      const auto add = [&](int position) {
        if (position >= node.end) node.bound.push_back(position);
      };
      for (int i = node.cover; i < node.end; ++i)
        for (const int b : adjacent(order_[at(i)])) add(position_[at(b)]);
      for (const int c : node.child)
        if (c >= 0) std::for_each(nodes_[at(c)].bound.begin(), nodes_[at(c)].bound.end(), add);
      std::sort(node.bound.begin(), node.bound.end());
      node.bound.erase(std::unique(node.bound.begin(), node.bound.end()), node.bound.end());
    }
  }
  /// Where a body, by its position, stands in a node.
  static int place_in(const Node& node, int position) {
    if (position < node.end) return position - node.cover;
    const auto found = std::lower_bound(node.bound.begin(), node.bound.end(), position);
    return node.end - node.cover + static_cast<int>(found - node.bound.begin());
  }

  void lay_out() {
    const std::size_t n = order_.size();
    front.clear(), level.clear(), bodies.clear(), places.clear(), slot.clear();
    diagonal.resize(n);
    matrices = 0, vectors = 0, panels = 0;
    int deepest = 0;
    for (const Node& node : nodes_) deepest = std::max(deepest, node.depth);
    std::vector<int> number(nodes_.size());
    for (int depth = deepest; depth >= 0; --depth) {
      FrontLevel at_depth{static_cast<int>(front.size()), 0, 0, 0};
      for (std::size_t k = 0; k < nodes_.size(); ++k) {
        const Node& node = nodes_[k];
        if (node.depth != depth) continue;
        const int own = node.end - node.cover, bound = static_cast<int>(node.bound.size());
        const int size = 3 * (own + bound);
        number[k] = static_cast<int>(front.size());
        Front f{own,     bound,   static_cast<int>(bodies.size()), 0, {-1, -1}, panels,
                vectors, matrices};
        for (int c = 0; c < 2; ++c)
          if (node.child[c] >= 0) f.child[c] = number[at(node.child[c])];
        front.push_back(f);
        for (int i = node.cover; i < node.end; ++i) bodies.push_back(order_[at(i)]);
        for (const int position : node.bound) bodies.push_back(order_[at(position)]);
        panels += (3 * own + kPanel - 1) / kPanel;
        vectors += size;
        matrices += static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
        ++at_depth.count;
        at_depth.own = std::max(at_depth.own, 3 * own);
        at_depth.size = std::max(at_depth.size, size);
        for (const int c : node.child)
          if (c >= 0) {
            front[at(number[at(c)])].place = static_cast<int>(places.size());
            for (const int position : nodes_[at(c)].bound)
              places.push_back(place_in(node, position));
          }
        for (int i = node.cover; i < node.end; ++i) {
          const auto at_block = [&](int row) {
            return f.matrix + 3 * at(row) + 3 * at(i - node.cover) * at(size);
          };
          const int body = order_[at(i)];
          diagonal[at(body)] = {size, at_block(i - node.cover)};
          for (const int b : adjacent(body))
            if (position_[at(b)] > i)
              slot.push_back({body, b, size, at_block(place_in(node, position_[at(b)]))});
        }
      }
      level.push_back(at_depth);
    }
  }

  static constexpr int kCover = -2;
  const double* xy_ = nullptr;
  std::vector<int> begin_, adjacent_, order_, position_, side_, match_, seen_;
  int stamp_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace orthant::device
