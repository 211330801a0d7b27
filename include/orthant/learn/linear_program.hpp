// SPDX-License-Identifier: Apache-2.0
// learn/linear_program.hpp: min cᵀx, G x >= h, E x = f, x free; few unknowns, many rows.
// Primal–dual interior point (Mehrotra); a step factorises a matrix of the size of x and E. Where
// the optimum is a face it ends near the middle of that face, so what the rows leave open shows.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

struct LinearProgram {
  VecX c;
  MatX G;  ///< rows x unknowns
  VecX h;
  MatX E;  ///< may have no rows
  VecX f;
};

struct LinearProgramResult {
  VecX x;
  double objective = 0;
  double gap = 0;            ///< relative
  double infeasibility = 0;  ///< relative
  int iterations = 0;
  bool converged = false;
};

/// Throws Error for sizes that do not fit.
LinearProgramResult solve_linear_program(const LinearProgram& lp, double tolerance = 1e-10,
                                         int max_iterations = 100);

}  // namespace orthant
