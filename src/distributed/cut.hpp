// SPDX-License-Identifier: Apache-2.0
// distributed/cut.hpp: which rank sweeps which cell, owns which body, knows which others.
// A function of the whole state and the number of ranks: every rank finds the same.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "crowd/sweeps.hpp"
#include "orthant/model/model.hpp"

namespace orthant::distributed {

/// Place of a cell along the Hilbert curve of 2^32 by 2^32 cells.
std::uint64_t hilbert_place(const SweepCell& cell);

class Cut {
 public:
  /// Cells with bodies in them, along the curve, in `ranks` parts of about equal weight: bodies,
  /// and the contacts that pushed last.
  Cut(const Model& model, const State& state, const WarmStart& warm, const Vec3& gravity,
      double edge, int ranks);

  /// The rank that sweeps a cell. One without bodies at the cut belongs to the nearest before it on
  /// the curve.
  int rank_of(const SweepCell& cell) const;
  /// By dynamic body, in the order of the model.
  const std::vector<std::int32_t>& owners() const { return owners_; }
  /// By dynamic body: all ranks with cells within `reach` of its centre, ascending.
  std::vector<int> near(const Vec3& centre, double reach) const;
  double imbalance() const { return imbalance_; }

 private:
  Vec3 gravity_;
  double edge_;
  std::vector<std::uint64_t> begins_;  // place on the curve of the first cell of each rank but 0
  std::vector<std::int32_t> owners_;
  double imbalance_ = 0;
};

}  // namespace orthant::distributed
