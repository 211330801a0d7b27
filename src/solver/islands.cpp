// SPDX-License-Identifier: Apache-2.0
// solver/islands.cpp: problem => connected components. See islands.hpp.
// Union–find whose root is always the smallest member: the numbering of islands then follows from
// the problem alone.
#include "solver/islands.hpp"

#include <algorithm>
#include <utility>

namespace orthant {
namespace {

Index find_root(std::vector<Index>& parent, Index i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

void join(std::vector<Index>& parent, Index a, Index b) {
  a = find_root(parent, a);
  b = find_root(parent, b);
  if (a < b) parent[b] = a;
  if (b < a) parent[a] = b;
}

/// Calls visit(row block, column block) for every entry with a value that is not zero.
template <class Visit>
void each_coupling(const BlockRows& A, Visit&& visit) {
  for (Index i = 0; i < A.row_block_count(); ++i) {
    const double* a = A.values(i);
    for (const BlockRows::Entry& entry : A.entries(i)) {
      const Index size = A.dim(i) * entry.width;
      if (std::any_of(a, a + size, [](double x) { return x != 0; })) visit(i, entry.block);
      a += size;
    }
  }
}

void join_velocities(const VelocityMatrix& H, Index first, std::vector<Index>& parent,
                     std::vector<Index>& block_of) {
  if (H.kind() == VelocityMatrix::Kind::Operator) {
    for (Index i = 1; i < H.block_count(); ++i) join(parent, first, first + i);
  } else if (H.kind() == VelocityMatrix::Kind::Sparse) {
    block_of.resize(H.rows());
    for (Index i = 0; i < H.block_count(); ++i) {
      std::fill_n(block_of.begin() + H.block_begin(i), H.block_size(i), i);
    }
    const SparseMatrix& S = H.sparse_matrix();
    for (Index j = 0; j < S.outerSize(); ++j) {
      Index last = block_of[j];  // the rows of a block follow each other
      for (SparseMatrix::InnerIterator it(S, j); it; ++it) {
        if (it.value() == 0 || block_of[it.row()] == last) continue;
        last = block_of[it.row()];
        join(parent, first + last, first + block_of[j]);
      }
    }
  }
}

/// Sorts nodes [first, first + count) by island, keeping their order: counting sort.
void collect(const std::vector<Index>& island_of, Index first, Index count, Index islands,
             std::vector<Index>& begin, std::vector<Index>& members) {
  begin.assign(islands + 1, 0);
  for (Index i = 0; i < count; ++i) {
    const Index island = island_of[first + i];
    if (island >= 0) ++begin[island + 1];
  }
  for (Index i = 0; i < islands; ++i) begin[i + 1] += begin[i];
  members.resize(begin[islands]);
  for (Index i = 0; i < count; ++i) {
    const Index island = island_of[first + i];
    if (island >= 0) members[begin[island]++] = i;
  }
  for (Index i = islands; i > 0; --i) begin[i] = begin[i - 1];
  begin[0] = 0;
}

}  // namespace

void find_islands(const CanonicalProblem& p, IslandSplit& split,
                  std::span<const unsigned char> taken) {
  const auto is_taken = [&](Index block) {
    return taken.empty() || taken[static_cast<std::size_t>(block)] != 0;
  };
  const Index blocks = p.block_count(), joints = p.C.row_block_count(),
              velocities = p.H.block_count();
  const Index rows = blocks + joints, nodes = rows + velocities;
  std::vector<Index>& parent = split.parent;
  parent.resize(nodes);
  for (Index i = 0; i < nodes; ++i) parent[i] = i;
  each_coupling(p.F, [&](Index i, Index j) {
    if (is_taken(i) && is_taken(j)) join(parent, i, j);
  });
  each_coupling(p.D, [&](Index i, Index j) {
    if (is_taken(i)) join(parent, i, rows + j);
  });
  each_coupling(p.C, [&](Index i, Index j) { join(parent, blocks + i, rows + j); });
  join_velocities(p.H, rows, parent, split.local);

  // Rows come before velocities, so the root of a velocity block that a row touches is a row.
  split.island_of.assign(nodes, -1);
  split.lone_velocities.clear();
  split.count = 0;
  for (Index i = 0; i < nodes; ++i) {
    const Index root = find_root(parent, i);
    if (i < blocks && !is_taken(i)) continue;
    if (root >= rows) {
      split.lone_velocities.push_back(i - rows);
    } else if (root == i) {
      split.island_of[i] = split.count++;
    } else {
      split.island_of[i] = split.island_of[root];
    }
  }
  collect(split.island_of, 0, blocks, split.count, split.block_begin, split.blocks);
  collect(split.island_of, blocks, joints, split.count, split.joint_begin, split.joints);
  collect(split.island_of, rows, velocities, split.count, split.velocity_begin, split.velocities);
  split.offsets.resize(blocks + 1);
  split.offsets[0] = 0;
  for (Index i = 0; i < blocks; ++i) split.offsets[i + 1] = split.offsets[i] + p.laws[i].dim;
  split.local.resize(static_cast<std::size_t>(nodes));
}

namespace {

/// Rows `members` of A with column block j renamed local[first + j]; entries that leave the island
/// are zero and dropped.
void copy_rows(const BlockRows& A, std::span<const Index> members, const IslandSplit& split,
               Index first, Index island, std::span<const Index> column_begin, BlockRows& out) {
  for (const Index i : members) {
    const Index dim = A.dim(i);
    out.begin_row(dim);
    const double* a = A.values(i);
    for (const BlockRows::Entry& entry : A.entries(i)) {
      const Index node = first + entry.block;
      if (split.island_of[node] == island) {
        const Index j = split.local[node];
        std::copy_n(a, dim * entry.width, out.add(j, column_begin[j], entry.width));
      }
      a += dim * entry.width;
    }
  }
}

void copy_sparse(const VelocityMatrix& H, std::span<const Index> velocities, VelocityMatrix& out) {
  std::vector<Index> offsets{0}, place(H.rows(), -1);
  for (const Index block : velocities) {
    for (Index c = 0; c < H.block_size(block); ++c) {
      place[H.block_begin(block) + c] = offsets.back() + c;
    }
    offsets.push_back(offsets.back() + H.block_size(block));
  }
  SparseMatrix S(offsets.back(), offsets.back());
  for (const Index block : velocities) {
    for (Index c = 0; c < H.block_size(block); ++c) {
      const Index column = H.block_begin(block) + c;
      S.startVec(place[column]);
      for (SparseMatrix::InnerIterator it(H.sparse_matrix(), column); it; ++it) {
        if (place[it.row()] >= 0) S.insertBack(place[it.row()], place[column]) = it.value();
      }
    }
  }
  S.finalize();
  out = VelocityMatrix::sparse(S, std::move(offsets));
}

/// The pieces of a vector that `members` have, member j's at offsets[j], one after another.
void gather(std::span<const Index> members, std::span<const Index> offsets, const VecX& from,
            VecX& to) {
  Index at = 0;
  for (const Index j : members) at += offsets[j + 1] - offsets[j];
  to.resize(at);
  at = 0;
  for (const Index j : members) {
    const Index n = offsets[j + 1] - offsets[j];
    to.segment(at, n) = from.segment(offsets[j], n);
    at += n;
  }
}

/// The inverse.
void scatter(std::span<const Index> members, std::span<const Index> offsets, const VecX& from,
             VecX& to) {
  Index at = 0;
  for (const Index j : members) {
    const Index n = offsets[j + 1] - offsets[j];
    to.segment(offsets[j], n) = from.segment(at, n);
    at += n;
  }
}

}  // namespace

void extract_island(const CanonicalProblem& p, IslandSplit& split, Index i, CanonicalProblem& out) {
  const Index rows = p.block_count() + p.C.row_block_count();
  out.H.clear();
  out.C.clear();
  out.D.clear();
  out.F.clear();
  out.laws.clear();
  Index count = 0;
  for (const Index c : split.blocks_of(i)) {
    split.local[c] = count++;
    out.laws.push_back(p.laws[c]);
  }
  count = 0;
  for (const Index block : split.velocities_of(i)) split.local[rows + block] = count++;
  if (p.H.kind() == VelocityMatrix::Kind::Sparse) {
    copy_sparse(p.H, split.velocities_of(i), out.H);
  } else if (p.H.kind() == VelocityMatrix::Kind::Operator) {
    if (!split.velocities_of(i).empty())
      out.H = p.H;  // couples all velocities: all or none are here
  } else {
    for (const Index block : split.velocities_of(i)) {
      const Index n = p.H.block_size(block);
      std::copy_n(p.H.block(block), n * n, out.H.add_block(n));
    }
  }
  gather(split.velocities_of(i), p.H.offsets(), p.k, out.k);
  copy_rows(p.C, split.joints_of(i), split, rows, i, out.H.offsets(), out.C);
  gather(split.joints_of(i), p.C.row_offsets(), p.e, out.e);
  if (!p.D.empty()) copy_rows(p.D, split.blocks_of(i), split, rows, i, out.H.offsets(), out.D);
  gather(split.blocks_of(i), split.offsets, p.b, out.b);
  thread_local std::vector<Index> begin;  // column starts of the island's F
  begin.assign(1, 0);
  for (const Law& law : out.laws) begin.push_back(begin.back() + law.dim);
  if (!p.F.empty()) copy_rows(p.F, split.blocks_of(i), split, 0, i, begin, out.F);
  // Rows that touch no velocity and no other row: a local problem, whose matrix is F = 0.
  if (p.F.empty() && out.is_local())
    for (const Law& law : out.laws) out.F.begin_row(law.dim);
}

void gather_scale(const CanonicalProblem& p, const IslandSplit& split, Index i,
                  const ProblemScale& from, ProblemScale& to) {
  gather(split.velocities_of(i), p.H.offsets(), from.v_free, to.v_free);
  gather(split.velocities_of(i), p.H.offsets(), from.weight, to.weight);
  gather(split.blocks_of(i), split.offsets, from.tau, to.tau);
}

void gather_solution(const CanonicalProblem& p, const IslandSplit& split, Index i,
                     const Solution& from, Solution& to) {
  gather(split.velocities_of(i), p.H.offsets(), from.v, to.v);
  gather(split.joints_of(i), p.C.row_offsets(), from.gamma, to.gamma);
  gather(split.blocks_of(i), split.offsets, from.lambda, to.lambda);
  gather(split.blocks_of(i), split.offsets, from.w, to.w);
}

void scatter_solution(const CanonicalProblem& p, const IslandSplit& split, Index i,
                      const Solution& from, Solution& to) {
  scatter(split.velocities_of(i), p.H.offsets(), from.v, to.v);
  scatter(split.joints_of(i), p.C.row_offsets(), from.gamma, to.gamma);
  scatter(split.blocks_of(i), split.offsets, from.lambda, to.lambda);
  scatter(split.blocks_of(i), split.offsets, from.w, to.w);
}

}  // namespace orthant
