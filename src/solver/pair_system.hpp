// SPDX-License-Identifier: Apache-2.0
// solver/pair_system.hpp: H + Jᵀ diag(weight) J and its factor, for rows that tie a few bodies
// each. The graph of the matrix is that of the bodies; rows that repeat each other only add to the
// same entries. Bodies are ordered by minimum degree on their own graph, a third or a sixth of the
// matrix's; an order found before is used again where the graph is the same, as it is for most
// rounds of a recursion.
#pragma once

#include <utility>
#include <vector>

#include "orthant/math/factorisation.hpp"
#include "orthant/problem/problem.hpp"

namespace orthant::internal {

class PairSystem {
 public:
  /// Rows of p, each times its scale. Copies them and orders the bodies; p must outlive the use.
  void build(const CanonicalProblem& p, const VecX& row_scale);

  Index rows() const { return static_cast<Index>(entry_begin_.size()) - 1; }
  void multiply(const VecX& u, VecX& y) const;            ///< y = J u
  void add_transposed(const VecX& x, VecX& right) const;  ///< right += Jᵀ x
  bool factorize(const VecX& weight);
  void solve(const VecX& right, VecX& d);

  double flops() const { return factor_.flops(); }  ///< of a factorisation
  double solve_flops() const { return 2 * static_cast<double>(factor_.nonzeros()); }

 private:
  struct Entry {
    Index body = 0, column = 0, width = 0;
    std::size_t value = 0;  // in J
  };
  /// Where the products of two entries of a row go in the matrix.
  struct Place {
    Index row_entry = 0, column_entry = 0;  // in entries
    Index offset = 0;                       // of the block in each of its columns
  };

  void copy_rows(const VecX& row_scale);
  void find_order();
  void order_bodies(Index bodies);
  void build_pattern(Index bodies);
  void find_places();
  Index offset_of(Index row_body, Index column_body) const;

  const CanonicalProblem* p_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_ = {0}, place_begin_;  // by row
  std::vector<double> J_;
  std::vector<Place> places_;
  std::vector<std::pair<Index, Index>> links_, known_links_;  // bodies that share a row
  std::vector<Index> position_, at_;                          // body → place in the order, column
  SparseMatrix matrix_;
  SparseLdlt factor_;
  bool analysed_ = false;
  VecX permuted_, solved_;
};

}  // namespace orthant::internal
