// SPDX-License-Identifier: Apache-2.0
// solver/newton_system.hpp: y = W x + q of a local problem and the Newton equations of nonsmooth
// Newton.
//
//   (X + Y (W + α I)) d = R
#pragma once

#include <vector>

#include "math/block_lu.hpp"
#include "solver/projection_residual.hpp"
#include "solver/scaled_local.hpp"

namespace orthant::internal {

class NewtonSystem {
 public:
  void build(const CanonicalProblem& p, const ProblemScale& scale);

  Index rows() const { return scaled_.rows(); }
  const std::vector<ScaledBlock>& blocks() const { return scaled_.blocks; }
  double product_work() const { return static_cast<double>(scaled_.nonzeros()); }
  void scale(const Solution& from, VecX& x) const;
  void unscale(const VecX& x, Solution& to);
  void evaluate(const VecX& x, VecX& y);
  void product(const VecX& x, VecX& Wx);
  double sweep(double alpha, const VecX& centre, VecX& x);
  void set_block(Index c, const BlockJacobian& jacobian, double alpha);
  bool solve(const VecX& R, VecX& d, double& work);

 private:
  ScaledLocal scaled_;
  BlockRows jacobian_;  // the pattern of W
  BlockLu block_lu_;
  VecX error_, correction_;
};

}  // namespace orthant::internal
