// SPDX-License-Identifier: Apache-2.0
// gradient/loops.hpp: which bodies contacts and joints connect. Private to the room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "orthant/model/model.hpp"

namespace orthant::internal {

/// Bodies and the world, joined by contacts and joints: does one close a loop?
class Loops {
 public:
  explicit Loops(const Model& model) : root_(static_cast<std::size_t>(model.dynamic_v_size()) + 1) {
    for (std::size_t i = 0; i < root_.size(); ++i) root_[i] = i;
  }
  /// Joins two bodies; false where they were joined already.
  bool join(const Model& model, BodyId a, BodyId b) {
    const std::size_t i = root(model, a), j = root(model, b);
    root_[std::max(i, j)] = std::min(i, j);
    return i != j;
  }

  /// The same for all that are joined to it; 0: the world.
  std::size_t root(const Model& model, BodyId id) { return find(node(model, id)); }

 private:
  static std::size_t node(const Model& model, BodyId id) {
    if (id == kWorld || !model.body(id).is_dynamic()) return 0;
    return static_cast<std::size_t>(model.body(id).v_begin) + 1;
  }
  std::size_t find(std::size_t i) {
    while (root_[i] != i) i = root_[i] = root_[root_[i]];
    return i;
  }
  std::vector<std::size_t> root_;
};

}  // namespace orthant::internal
