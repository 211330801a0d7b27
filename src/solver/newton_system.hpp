// SPDX-License-Identifier: Apache-2.0
// solver/newton_system.hpp: y = W x + q and the Newton equations of nonsmooth Newton, in two
// spaces.
//
//   (X + Y (W + α I)) d = R
//
// LocalNewtonSystem has W by rows (a local problem), VelocityNewtonSystem has it as J Ĥ⁻¹ Jᵀ + F
// and solves in velocities.
#pragma once

#include <Eigen/LU>
#include <vector>

#include "math/block_lu.hpp"
#include "orthant/math/factorisation.hpp"
#include "solver/projection_residual.hpp"
#include "solver/scaled_local.hpp"
#include "solver/velocity_space.hpp"

namespace orthant::internal {

class NewtonSystem {
 public:
  virtual ~NewtonSystem() = default;

  virtual Index rows() const = 0;
  virtual const std::vector<ScaledBlock>& blocks() const = 0;
  virtual double product_work() const = 0;  ///< multiply-adds of W x

  virtual void scale(const Solution& from, VecX& x) const = 0;
  virtual void unscale(const VecX& x, Solution& to) = 0;

  virtual void evaluate(const VecX& x, VecX& y) = 0;  ///< y = W x + q
  virtual void product(const VecX& x, VecX& Wx) = 0;
  /// One Gauss–Seidel sweep over the problem with α (x − centre) added to y; largest change of x.
  virtual double sweep(double alpha, const VecX& centre, VecX& x) = 0;

  virtual void set_block(Index c, const BlockJacobian& jacobian, double alpha) = 0;
  /// d of the equations set block by block; false when they are singular.
  virtual bool solve(const VecX& R, VecX& d, double& work) = 0;
};

class LocalNewtonSystem final : public NewtonSystem {
 public:
  void build(const CanonicalProblem& p, const ProblemScale& scale);

  Index rows() const override { return scaled_.rows(); }
  const std::vector<ScaledBlock>& blocks() const override { return scaled_.blocks; }
  double product_work() const override { return static_cast<double>(scaled_.nonzeros()); }
  void scale(const Solution& from, VecX& x) const override;
  void unscale(const VecX& x, Solution& to) override;
  void evaluate(const VecX& x, VecX& y) override;
  void product(const VecX& x, VecX& Wx) override;
  double sweep(double alpha, const VecX& centre, VecX& x) override;
  void set_block(Index c, const BlockJacobian& jacobian, double alpha) override;
  bool solve(const VecX& R, VecX& d, double& work) override;

 private:
  bool solve_pivoted(const VecX& R, VecX& d, double& work);

  ScaledLocal scaled_;
  BlockRows jacobian_;  // the pattern of W
  BlockLu block_lu_;
  // Where pivoting inside blocks is not enough.
  bool analyzed_ = false;
  SparseMatrix matrix_;  // transposed: column r holds row r
  SparseLu sparse_lu_;
  MatX dense_;
  Eigen::PartialPivLU<MatX> dense_lu_;
  VecX error_, correction_;
};

class VelocityNewtonSystem final : public NewtonSystem {
 public:
  void use(VelocitySpace& space);

  Index rows() const override { return space_->rows(); }
  const std::vector<ScaledBlock>& blocks() const override { return space_->blocks(); }
  double product_work() const override { return space_->product_work(); }
  void scale(const Solution& from, VecX& x) const override;
  void unscale(const VecX& x, Solution& to) override;
  void evaluate(const VecX& x, VecX& y) override;
  void product(const VecX& x, VecX& Wx) override;
  double sweep(double alpha, const VecX& centre, VecX& x) override;
  void set_block(Index c, const BlockJacobian& jacobian, double alpha) override;
  bool solve(const VecX& R, VecX& d, double& work) override;

 private:
  VelocitySpace* space_ = nullptr;
  std::vector<BlockJacobian> jacobians_;
  double alpha_ = 0;
  VecX v_, dv_, error_, correction_;
};

}  // namespace orthant::internal
