// SPDX-License-Identifier: Apache-2.0
// distributed/crew.cpp: who sweeps what, and the rows of bodies that travel between colours.
#include "distributed/crew.hpp"

#include <algorithm>

namespace orthant::distributed {

SweepCell Crew::cell_of(const Body& body) const {
  return crowd_cell(q_->segment<3>(body.q_begin), gravity_, edge_);
}

bool Crew::mine(const Model& model, const ContactKey& key) const {
  const Body& a = model.body(model.find_uid(key.body_a));
  return mine(cell_of(a.is_dynamic() ? a : model.body(model.find_uid(key.body_b))));
}

bool Crew::accept(const Model& model, std::span<const Contact> contacts,
                  std::span<const BodyMotion> motion, bool able) {
  // What two bodies may be apart and touch within the step: beyond half an edge a ghost may be
  // missing.
  double reach = 0;
  bool placed = true;
  for (std::size_t i = 0; i < part_.owned.size(); ++i) {
    if (part_.owned[i] == 0) continue;
    const BodyId id = model.dynamic_bodies()[i];
    const Body& body = model.body(id);
    placed = placed && cell_of(body) != kNoCell;
    const BodyMotion& move = motion[static_cast<std::size_t>(index_of(id))];
    double radius = 0;
    for (Index s = body.shape_begin; s < body.shape_end; ++s) {
      const ShapeInstance& shape = model.shapes()[static_cast<std::size_t>(s)];
      const Vec3 offset = part_.own.parameters.values.segment<3>(shape.offset_begin);
      radius = std::max(radius, offset.norm() + shape.bounding_radius);
    }
    reach = std::max(reach, (1 + margin_) * radius + move.turn +
                                std::max(move.shift[0].norm(), move.shift[1].norm()));
  }
  const bool near = placed && 2 * reach < 0.499 * edge_;
  std::int64_t counts[3] = {0, able ? 1 : 0, near ? 0 : 1};
  for (const Contact& contact : contacts) {
    const Body &a = model.body(contact.body_a), &b = model.body(contact.body_b);
    counts[0] += mine(cell_of(a.is_dynamic() ? a : b));
  }
  ranks_.sum(counts, 3);
  contacts_ = counts[0];
  accepted_ =
      contacts_ >= static_cast<std::int64_t>(kCutContacts) && counts[1] > 0 && counts[2] == 0;
  return accepted_;
}

void Crew::begin(std::span<const std::uint8_t> pushed) {
  const std::size_t n = part_.neighbours.size();
  out_.assign(n, {});
  in_.assign(n, {});
  for (std::size_t k = 0; k < n; ++k) {
    for (const std::int32_t body : part_.neighbours[k].shared)
      put(out_[k], pushed[static_cast<std::size_t>(body) + 1]);  // 0 is the world
    in_[k].resize(out_[k].size());
  }
  ranks_.exchange_known(part_.others, out_, in_);
  lists_.assign(n, {});
  for (std::size_t k = 0; k < n; ++k) {
    const Part::Neighbour& neighbour = part_.neighbours[k];
    for (std::size_t i = 0; i < neighbour.shared.size(); ++i) {
      const std::int32_t row = neighbour.shared[i] + 1;
      const std::uint8_t here = pushed[static_cast<std::size_t>(row)];
      const auto there = static_cast<std::uint8_t>(in_[k][i]);
      const bool used_here = here != 0 || neighbour.owner[i] == ranks_.rank();
      const bool used_there = there != 0 || neighbour.owner[i] == neighbour.rank;
      for (int colour = 0; colour < kSweepColours; ++colour) {
        Lists& lists = lists_[k][static_cast<std::size_t>(colour)];
        if ((here >> colour & 1) != 0 && used_there) lists.send.push_back(row);
        if ((there >> colour & 1) != 0 && used_here) lists.receive.push_back(row);
      }
    }
  }
}

void Crew::share(int colour, std::byte* rows, std::size_t row_bytes) {
  const std::size_t n = part_.neighbours.size();
  for (std::size_t k = 0; k < n; ++k) {
    const Lists& lists = lists_[k][static_cast<std::size_t>(colour)];
    out_[k].resize(lists.send.size() * row_bytes);
    std::byte* to = out_[k].data();
    for (const std::int32_t row : lists.send)
      to = std::copy_n(rows + static_cast<std::size_t>(row) * row_bytes, row_bytes, to);
    in_[k].resize(lists.receive.size() * row_bytes);
  }
  ranks_.exchange_known(part_.others, out_, in_);
  for (std::size_t k = 0; k < n; ++k) {
    const std::byte* from = in_[k].data();
    for (const std::int32_t row : lists_[k][static_cast<std::size_t>(colour)].receive) {
      std::copy_n(from, row_bytes, rows + static_cast<std::size_t>(row) * row_bytes);
      from += row_bytes;
    }
  }
}

void Crew::add(ExactSum& sum) {
  ranks_.sum(sum.limbs().data(), static_cast<int>(ExactSum::kLimbs));
}

}  // namespace orthant::distributed
