// SPDX-License-Identifier: Apache-2.0
// math/fixed_point.hpp: x = f(x), by Anderson's search: what the last changes of f(x) − x foretell
// is taken off. Of linear maps it finds the solution as GMRES does, whether f contracts or not.
#pragma once

#include <Eigen/QR>
#include <algorithm>

#include "orthant/math/types.hpp"

namespace orthant::internal {

class FixedPoint {
 public:
  /// f(x) and x => the next x.
  void advance(const VecX& f, VecX& x) {
    const VecX r = f - x;
    if (last_r_.size() > 0) {
      if (dr_.size() == 0) {
        dr_.setZero(x.size(), kMemory);
        df_.setZero(x.size(), kMemory);
      }
      const Index column = count_++ % kMemory;
      dr_.col(column) = r - last_r_;
      df_.col(column) = f - last_f_;
    }
    last_r_ = r;
    last_f_ = f;
    x = f;
    const Index known = std::min(count_, kMemory);
    if (known > 0)
      x -= df_.leftCols(known) * dr_.leftCols(known).completeOrthogonalDecomposition().solve(r);
  }

 private:
  static constexpr Index kMemory = 6;
  Index count_ = 0;
  VecX last_f_, last_r_;
  MatX df_, dr_;
};

}  // namespace orthant::internal
