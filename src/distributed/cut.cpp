// SPDX-License-Identifier: Apache-2.0
// distributed/cut.cpp: cells along a Hilbert curve, cut by weight.
#include "distributed/cut.hpp"

#include <algorithm>
#include <map>

#include "step/crew.hpp"

namespace orthant::distributed {

std::uint64_t hilbert_place(const SweepCell& cell) {
  // Numbers from 0 on; the quadrants of each level are turned so that neighbours follow each other.
  auto x = static_cast<std::uint32_t>(cell[0]) ^ 0x80000000u;
  auto y = static_cast<std::uint32_t>(cell[1]) ^ 0x80000000u;
  std::uint64_t place = 0;
  for (int level = 31; level >= 0; --level) {
    const std::uint32_t bit = std::uint32_t{1} << level;
    const std::uint32_t rx = (x & bit) != 0, ry = (y & bit) != 0;
    place = place << 2 | (3 * rx ^ ry);
    if (ry == 0) {
      if (rx == 1) {
        x = ~x;
        y = ~y;
      }
      std::swap(x, y);
    }
  }
  return place;
}

Cut::Cut(const Model& model, const State& state, const WarmStart& warm, const Vec3& gravity,
         double edge, int ranks)
    : gravity_(gravity), edge_(edge) {
  const auto bodies = model.dynamic_bodies();
  std::vector<std::uint64_t> place_of(bodies.size());
  std::map<std::uint64_t, double> weight;  // by place
  std::unordered_map<BodyUid, std::size_t> dynamic_of;
  double total = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Body& body = model.body(bodies[i]);
    const Vec3 centre = state.q.segment<3>(body.q_begin);
    place_of[i] = hilbert_place(crowd_cell(centre, gravity, edge));
    weight[place_of[i]] += 1;
    dynamic_of[body.uid] = i;
    total += 1;
  }
  for (const WarmStart::Entry& entry : warm.contacts) {
    auto found = dynamic_of.find(entry.key.body_a);
    if (found == dynamic_of.end()) found = dynamic_of.find(entry.key.body_b);
    if (found == dynamic_of.end()) continue;
    weight[place_of[found->second]] += 1;
    total += 1;
  }
  // A cell goes to the rank that the middle of its weight falls to.
  std::vector<double> part(static_cast<std::size_t>(ranks), 0);
  double sum = 0;
  for (const auto& [place, w] : weight) {
    const auto rank = std::min(static_cast<int>(ranks * ((sum + 0.5 * w) / total)), ranks - 1);
    while (static_cast<int>(begins_.size()) < rank) begins_.push_back(place);
    part[static_cast<std::size_t>(rank)] += w;
    sum += w;
  }
  while (static_cast<int>(begins_.size()) + 1 < ranks) begins_.push_back(~std::uint64_t{0});
  imbalance_ = total > 0 ? *std::max_element(part.begin(), part.end()) * ranks / total - 1 : 0;
  owners_.resize(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i)
    owners_[i] = static_cast<std::int32_t>(
        std::upper_bound(begins_.begin(), begins_.end(), place_of[i]) - begins_.begin());
}

int Cut::rank_of(const SweepCell& cell) const {
  return static_cast<int>(std::upper_bound(begins_.begin(), begins_.end(), hilbert_place(cell)) -
                          begins_.begin());
}

std::vector<int> Cut::near(const Vec3& centre, double reach) const {
  const SweepCell lo = crowd_cell(centre - Vec3::Constant(reach), gravity_, edge_);
  const SweepCell hi = crowd_cell(centre + Vec3::Constant(reach), gravity_, edge_);
  std::vector<int> ranks;
  if (lo == kNoCell || hi == kNoCell) return {rank_of(kNoCell)};  // such a step is made whole
  for (std::int32_t x = lo[0]; x <= hi[0]; ++x)
    for (std::int32_t y = lo[1]; y <= hi[1]; ++y) ranks.push_back(rank_of({x, y}));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace orthant::distributed
