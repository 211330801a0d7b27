// SPDX-License-Identifier: Apache-2.0
// solver/scaled_local.hpp: local problem w = F λ + b => scaled problem y = W x + q, all of size
// one.
//
//   λ = f S x,  y = S w / f,  W = S F S,  q = S b / f
//
// S gives normal, tangent and rolling rows a scale of their own (1/√ of their mean diagonal), so
// that W has a unit diagonal whatever the masses and lengths; f brings q to size one. Friction
// coefficients change with the ratio of the scales. W stays as unsymmetric as F was.
#pragma once

#include <vector>

#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant::internal {

/// One block of the scaled problem.
struct ScaledBlock {
  Index at = 0;        ///< first row
  Index diagonal = 0;  ///< place of the block's own dim x dim values among those of its row
  Law law;             ///< data in scaled variables: mu, mu_r, the bounds of a Box entry
};

/// Scales of the rows of one block with the square W of N (null: zero): 1/√ of the mean diagonal of
/// normal, tangents and rolling rows, of each row where entries are separate; √tau (one per row)
/// where it vanishes. Friction coefficients of `law` follow: the scaled law is the same cone with
/// others.
void scale_rows(Law& law, const double* W, const double* tau, double* scale);

class ScaledLocal {
 public:
  /// Memory is reused from one call to the next, values are not.
  void build(const CanonicalProblem& p, const ProblemScale& scale);

  Index rows() const { return static_cast<Index>(row_scale.size()); }
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(W.all_values().size()); }

  /// x of an answer, and back.
  void scale_impulse(const VecX& lambda, VecX& x) const;
  void unscale_impulse(const VecX& x, VecX& lambda) const;

  std::vector<ScaledBlock> blocks;
  BlockRows W;  ///< every diagonal block present, no column block twice in a row
  VecX q;
  VecX row_scale;
  double force = 1;  ///< f

 private:
  std::vector<std::ptrdiff_t> slot_;  // scratch: place of a column block in the current row
};

}  // namespace orthant::internal
