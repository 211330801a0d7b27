// SPDX-License-Identifier: Apache-2.0
// optimise/stage_cost.hpp: (states, controls) => cost stage by stage, with gradient and curvature;
// bounds of states and of functions of the path as an augmented Lagrangian,
//   ψ = (max(0, μ + ρ c)² − μ²)/2ρ,  c = number − upper or lower − number,  μ ← max(0, μ + ρ c)
#pragma once

#include <vector>

#include "optimise/numbers.hpp"
#include "orthant/optimise/problem.hpp"

namespace orthant::internal {

/// Where a motion stands: the cost itself, and with what the bounds add.
struct CostSum {
  double cost = 0;       ///< of the problem
  double augmented = 0;  ///< what the methods lower
  double violation = 0;  ///< largest, of the bounds of states and of the path
};

class StageCosts {
 public:
  explicit StageCosts(const TrajectoryProblem& problem);

  /// `stages`: null, or filled with the augmented cost's derivatives.
  CostSum evaluate(const MatX& q, const MatX& v, const MatX& u, const VecX& parameters,
                   std::vector<StageExpansion>* stages) const;
  /// Derivatives of the parameters' own cost: gradient and diagonal curvature.
  void parameter_terms(const VecX& parameters, VecX& gradient, VecX& curvature) const;

  bool has_bounds() const { return !bounds_.empty(); }
  /// New multipliers; the weight grows where the violation did not fall to a quarter.
  void next_round(const MatX& q, const MatX& v, const MatX& u, double violation);

 private:
  enum class Of : std::uint8_t { Position, Velocity, Path };
  struct Bound {
    Of of;
    Index place, stage;
    double lower, upper;
    double below = 0, above = 0;  // multipliers

    double value(const MatX& q, const MatX& v, const MatX& path) const;
  };
  /// Values and derivatives of the functions of the path; nothing where there are none.
  void evaluate_path(const MatX& q, const MatX& v, const MatX& u, bool derivatives, MatX& value,
                     std::vector<MatX>& jacobian) const;
  /// Adds ½ curvature (x − x_0)² + slope (x − x_0) of one number to a stage.
  void add_number(bool velocity, Index place, const VecX& q, double slope, double curvature,
                  StageExpansion& stage) const;

  const TrajectoryProblem& problem_;
  std::vector<QNumber> numbers_;
  std::vector<Bound> bounds_;
  double weight_ = 10;
  double last_violation_ = std::numeric_limits<double>::infinity();
};

}  // namespace orthant::internal
