// SPDX-License-Identifier: Apache-2.0
// optimise/stage_cost.hpp: (states, controls) => cost stage by stage, with gradient and curvature;
// bounds of states as an augmented Lagrangian,
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
  double violation = 0;  ///< largest, of the bounds of states
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
  void next_round(const MatX& q, const MatX& v, double violation);

 private:
  struct Bound {
    bool velocity;
    Index place, stage;
    double lower, upper;
    double below = 0, above = 0;  // multipliers
  };
  template <class Term>
  void each_bound(const MatX& q, const MatX& v, Term&& term) const;
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
