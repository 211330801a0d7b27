// SPDX-License-Identifier: Apache-2.0
// solver/islands.hpp: problem => its connected components, each a problem of its own.
// Nodes are law blocks, bilateral row blocks and velocity blocks; an edge is a stored entry of C,
// D, F or sparse H that is not zero. An operator H couples all velocities.
#pragma once

#include <span>
#include <vector>

#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant {

/// Islands in the order of their first law block (then first bilateral row block); members of an
/// island in the problem's order. So neither threads nor memory addresses enter.
struct IslandSplit {
  Index count = 0;                                ///< islands with at least one row
  std::vector<Index> block_begin, blocks;         ///< law blocks, island by island
  std::vector<Index> joint_begin, joints;         ///< row blocks of C
  std::vector<Index> velocity_begin, velocities;  ///< velocity blocks
  std::vector<Index> lone_velocities;             ///< velocity blocks that no row touches
  std::vector<Index> offsets;                     ///< start of each law block in λ
  std::vector<Index> parent, island_of, local;    ///< scratch

  std::span<const Index> blocks_of(Index i) const { return part(blocks, block_begin, i); }
  std::span<const Index> joints_of(Index i) const { return part(joints, joint_begin, i); }
  std::span<const Index> velocities_of(Index i) const {
    return part(velocities, velocity_begin, i);
  }

 private:
  static std::span<const Index> part(const std::vector<Index>& list,
                                     const std::vector<Index>& begin, Index i) {
    return {list.data() + begin[i], static_cast<std::size_t>(begin[i + 1] - begin[i])};
  }
};

/// `taken`: the law blocks there are, others are in no island; empty: all.
void find_islands(const CanonicalProblem& problem, IslandSplit& split,
                  std::span<const unsigned char> taken = {});

/// The sub-problem of island i with its own numbering, into memory that is already there. Different
/// islands at the same time, if they like.
void extract_island(const CanonicalProblem& problem, IslandSplit& split, Index i,
                    CanonicalProblem& out);
void gather_scale(const CanonicalProblem& problem, const IslandSplit& split, Index i,
                  const ProblemScale& from, ProblemScale& to);
void gather_solution(const CanonicalProblem& problem, const IslandSplit& split, Index i,
                     const Solution& from, Solution& to);
void scatter_solution(const CanonicalProblem& problem, const IslandSplit& split, Index i,
                      const Solution& from, Solution& to);

}  // namespace orthant
