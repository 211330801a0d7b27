// SPDX-License-Identifier: Apache-2.0
// solver/row_cut.hpp: the rows of one large problem shared out over a team, part by part.
// A member knows all rows, and works on its own: it needs the impulses of others' rows that touch
// the same velocity blocks (ghosts), and the sums of others' parts. Few rows are ghosts, for
// neighbours lie near each other in the order of row_order.hpp.
#pragma once

#include <span>
#include <vector>

#include "base/team.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/pair_groups.hpp"

namespace orthant::internal {

class RowCut {
 public:
  /// Null: all parts are this process's.
  void build(Team* team, const DelassusOperator& N, const PairGroups& pairs);

  Team* team() const { return team_; }
  std::size_t first_part() const { return part_of_[own()]; }
  std::size_t last_part() const { return part_of_[own() + 1]; }
  Index first_row() const { return row_of_[own()]; }
  Index last_row() const { return row_of_[own() + 1]; }
  RowRange range() const { return {first_row(), last_row(), blocks_}; }

  /// x of the ghosts.
  void refresh(VecX& x);
  /// x of all rows.
  void gather(VecX& x) const;
  /// What each part has, `size` bytes for each of them.
  void gather_parts(void* all, std::size_t size) const;
  /// Of each member what its parts add up to, instead of what each of them has.
  template <class Sums>
  void join(std::vector<Sums>& parts) const {
    std::vector<Sums> all(part_of_.size() - 1);
    for (std::size_t k = first_part(); k < last_part(); ++k) all[own()].add(parts[k]);
    begins_.resize(part_of_.size());
    for (std::size_t r = 0; r < begins_.size(); ++r) begins_[r] = r * sizeof(Sums);
    team_->gather(reinterpret_cast<std::byte*>(all.data()), begins_);
    parts = std::move(all);
  }

 private:
  std::size_t own() const { return team_ == nullptr ? 0 : static_cast<std::size_t>(team_->rank()); }
  std::size_t rank_of(Index row) const;

  Team* team_ = nullptr;
  std::vector<std::size_t> part_of_;                 // first part of each member, and the end
  std::vector<Index> row_of_;                        // the same of rows
  std::vector<Index> blocks_;                        // touched by own rows, ascending
  std::vector<int> others_;                          // that share blocks with this one
  std::vector<std::vector<Index>> sent_, received_;  // rows, by `others_`
  std::vector<std::vector<double>> out_, in_;
  mutable std::vector<std::size_t> begins_;
};

}  // namespace orthant::internal
