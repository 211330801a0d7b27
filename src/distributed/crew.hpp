// SPDX-License-Identifier: Apache-2.0
// distributed/crew.hpp: the sweeps of one rank among the others.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "distributed/cut.hpp"
#include "distributed/part_model.hpp"
#include "distributed/ranks.hpp"
#include "step/crew.hpp"

namespace orthant::distributed {

/// The part of one rank: its bodies and the ghosts, and what it shares with whom.
struct Part {
  PartModel own;
  std::vector<unsigned char> owned;  // by dynamic body of the part
  struct Neighbour {
    int rank = 0;
    /// Dynamic bodies of the part that both know, in the order of the whole: both have the same
    /// list.
    std::vector<std::int32_t> shared;
    std::vector<std::int32_t> owner;  // rank, by `shared`
  };
  std::vector<Neighbour> neighbours;
  std::vector<int> others;  // their ranks
};

class Crew : public StepCrew {
 public:
  Crew(Ranks& ranks, const Cut& cut, const Part& part, const Vec3& gravity, double edge,
       double margin)
      : ranks_(ranks), cut_(cut), part_(part), gravity_(gravity), edge_(edge), margin_(margin) {}

  /// Before each step: the configuration that its cells come from.
  void start(const VecX& q) {
    q_ = &q;
    accepted_ = false;
  }
  bool accepted() const { return accepted_; }
  std::int64_t contacts() const { return contacts_; }  ///< of the last step, all ranks

  bool accept(const Model& model, std::span<const Contact> contacts,
              std::span<const BodyMotion> motion, bool able) override;
  double cell_edge() const override { return edge_; }
  bool mine(const SweepCell& cell) const override { return cut_.rank_of(cell) == ranks_.rank(); }
  void begin(std::span<const std::uint8_t> pushed) override;
  void share(int colour, std::byte* rows, std::size_t row_bytes) override;
  void add(ExactSum& sum) override;
  double largest(double value) override { return ranks_.largest(value); }

  /// The contact is swept here: by the cell of its first dynamic body at the start of the step.
  bool mine(const Model& model, const ContactKey& key) const;

 private:
  SweepCell cell_of(const Body& body) const;

  Ranks& ranks_;
  const Cut& cut_;
  const Part& part_;
  Vec3 gravity_;
  double edge_, margin_;
  const VecX* q_ = nullptr;
  bool accepted_ = false;
  std::int64_t contacts_ = 0;
  struct Lists {  // rows that go and come after a colour
    std::vector<std::int32_t> send, receive;
  };
  std::vector<std::array<Lists, kSweepColours>> lists_;  // by neighbour
  std::vector<Bytes> out_, in_;
};

}  // namespace orthant::distributed
