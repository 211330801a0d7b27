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
#include "solver/scaled_rows.hpp"

namespace orthant::internal {

class PairSystem {
 public:
  /// Orders the bodies; both must outlive the use.
  void build(const VelocityMatrix& H, const ScaledRows& rows);

  bool factorize(const VecX& weight);
  void solve(const VecX& right, VecX& d);

  double flops() const { return factor_.flops(); }  ///< of a factorisation
  double solve_flops() const { return 2 * static_cast<double>(factor_.nonzeros()); }

 private:
  /// Where the products of two entries of a row go in the matrix.
  struct Place {
    Index row, column;  // of the entries of the row
    Index offset;       // of the block in each of its columns
  };

  void find_order();
  void order_bodies(Index bodies);
  void build_pattern(Index bodies);
  void find_places();
  Index offset_of(Index row_body, Index column_body) const;

  const VelocityMatrix* H_ = nullptr;
  const ScaledRows* rows_ = nullptr;
  std::vector<std::size_t> place_begin_;  // by row
  std::vector<Place> places_;
  std::vector<std::pair<Index, Index>> links_, known_links_;  // bodies that share a row
  std::vector<Index> position_, at_;                          // body → place in the order, column
  SparseMatrix matrix_;
  SparseLdlt factor_;
  bool analysed_ = false;
  VecX permuted_, solved_;
};

}  // namespace orthant::internal
