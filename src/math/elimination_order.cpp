// SPDX-License-Identifier: Apache-2.0
// math/elimination_order.cpp: graph => order of elimination with little fill-in. Minimum degree
// (Eigen's AMD) where the graph is small, nested dissection (METIS) where it is large.
#include <metis.h>

#include <Eigen/OrderingMethods>
#include <numeric>

#include "math/supernodal.hpp"

namespace orthant {
namespace {

/// Above this many rows nested dissection pays for itself in space; planar graphs hardly care.
constexpr Index kLargeGraph = 5000;

std::vector<Index> minimum_degree(const std::vector<Index>& begin,
                                  const std::vector<Index>& neighbours) {
  const Index n = static_cast<Index>(begin.size()) - 1;
  // Eigen takes a vertex without a diagonal entry for a dense row and puts it last.
  SparseMatrix pattern(n, n);
  pattern.resizeNonZeros(static_cast<Index>(neighbours.size()) + n);
  Index* inner = pattern.innerIndexPtr();
  for (Index i = 0; i < n; ++i) {
    pattern.outerIndexPtr()[i] = begin[i] + i;
    Index* const column = inner;
    *inner++ = i;
    inner = std::copy(neighbours.begin() + begin[i], neighbours.begin() + begin[i + 1], inner);
    std::sort(column, inner);  // Eigen merges columns of the pattern and its transpose in order
  }
  pattern.outerIndexPtr()[n] = begin[n] + n;
  std::fill(pattern.valuePtr(), pattern.valuePtr() + pattern.nonZeros(), 1.0);
  Eigen::AMDOrdering<Index>::PermutationType permutation;
  Eigen::AMDOrdering<Index>()(pattern, permutation);
  return {permutation.indices().data(), permutation.indices().data() + n};
}

std::vector<Index> nested_dissection(std::vector<Index> begin, std::vector<Index> neighbours) {
  static_assert(sizeof(idx_t) == sizeof(Index), "METIS must be built with 32-bit indices");
  idx_t n = static_cast<idx_t>(begin.size()) - 1;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  std::vector<Index> order(static_cast<std::size_t>(n)), inverse(static_cast<std::size_t>(n));
  const int status = METIS_NodeND(&n, begin.data(), neighbours.data(), nullptr, options,
                                  order.data(), inverse.data());
  if (status != METIS_OK) return minimum_degree(begin, neighbours);
  return order;
}

}  // namespace

std::vector<Index> elimination_order(const std::vector<Index>& begin,
                                     const std::vector<Index>& neighbours, Ordering ordering) {
  const Index n = static_cast<Index>(begin.size()) - 1;
  if (ordering == Ordering::Automatic) {
    ordering = n > kLargeGraph ? Ordering::NestedDissection : Ordering::MinimumDegree;
  }
  if (ordering == Ordering::Natural || n < 2 || neighbours.empty()) {
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  return ordering == Ordering::MinimumDegree ? minimum_degree(begin, neighbours)
                                             : nested_dissection(begin, neighbours);
}

}  // namespace orthant
