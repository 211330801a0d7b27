// SPDX-License-Identifier: Apache-2.0
// solver/row_cut.cpp: who has which rows, who needs which of them.
#include "solver/row_cut.hpp"

#include <algorithm>

namespace orthant::internal {
namespace {

void make_unique(std::vector<Index>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

std::size_t RowCut::rank_of(Index row) const {
  // The last that begins at or before the row: members without rows begin where the next one does.
  return static_cast<std::size_t>(std::upper_bound(row_of_.begin(), row_of_.end() - 1, row) -
                                  row_of_.begin()) -
         1;
}

void RowCut::build(Team* team, const DelassusOperator& N, const PairGroups& pairs) {
  team_ = team;
  const std::size_t members = team == nullptr ? 1 : static_cast<std::size_t>(team->size());
  part_of_.resize(members + 1);
  row_of_.resize(members + 1);
  for (std::size_t r = 0; r <= members; ++r) {
    part_of_[r] = pairs.part_count() * r / members;
    row_of_[r] = pairs.parts[part_of_[r]].row;
  }
  if (team == nullptr) return;
  blocks_.clear();
  for (Index i = first_row(); i < last_row(); ++i)
    for (const Index block : N.blocks_of(i))
      if (block >= 0) blocks_.push_back(block);
  make_unique(blocks_);
  std::vector<std::vector<Index>> sent(members), received(members);
  std::vector<std::size_t> ranks;  // at one block
  for (const Index block : blocks_) {
    ranks.clear();
    for (const Index row : N.rows_at(block)) {
      const std::size_t rank = rank_of(row);
      if (rank == own()) continue;
      received[rank].push_back(row);
      if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
    }
    for (const std::size_t rank : ranks)
      for (const Index row : N.rows_at(block))
        if (row >= first_row() && row < last_row()) sent[rank].push_back(row);
  }
  others_.clear();
  sent_.clear();
  received_.clear();
  for (std::size_t r = 0; r < members; ++r) {
    if (received[r].empty()) continue;
    make_unique(sent[r]);
    make_unique(received[r]);
    others_.push_back(static_cast<int>(r));
    sent_.push_back(std::move(sent[r]));
    received_.push_back(std::move(received[r]));
  }
  out_.resize(others_.size());
  in_.resize(others_.size());
  for (std::size_t k = 0; k < others_.size(); ++k) {
    out_[k].resize(sent_[k].size());
    in_[k].resize(received_[k].size());
  }
}

void RowCut::refresh(VecX& x) {
  for (std::size_t k = 0; k < others_.size(); ++k)
    for (std::size_t i = 0; i < sent_[k].size(); ++i) out_[k][i] = x[sent_[k][i]];
  team_->exchange(others_, out_, in_);
  for (std::size_t k = 0; k < others_.size(); ++k)
    for (std::size_t i = 0; i < received_[k].size(); ++i) x[received_[k][i]] = in_[k][i];
}

void RowCut::gather(VecX& x) const {
  if (team_ == nullptr) return;
  begins_.resize(row_of_.size());
  for (std::size_t r = 0; r < begins_.size(); ++r)
    begins_[r] = static_cast<std::size_t>(row_of_[r]) * sizeof(double);
  team_->gather(reinterpret_cast<std::byte*>(x.data()), begins_);
}

void RowCut::gather_parts(void* all, std::size_t size) const {
  if (team_ == nullptr) return;
  begins_.resize(part_of_.size());
  for (std::size_t r = 0; r < begins_.size(); ++r) begins_[r] = part_of_[r] * size;
  team_->gather(static_cast<std::byte*>(all), begins_);
}

}  // namespace orthant::internal
