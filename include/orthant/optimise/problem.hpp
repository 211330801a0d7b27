// SPDX-License-Identifier: Apache-2.0
// optimise/problem.hpp: a motion to be chosen: who moves, for how long, what may vary, what it
// costs.
//   min over (x_0, u, p) of Σ_i ℓ_i(x_i, u_i) + ℓ_T(x_T),   x_{i+1} = step(x_i, u_i, p)
// Only named numbers vary, each within its bounds. Built-in costs are weighted squares; others come
// as a function with its derivatives. States, and functions of states and controls, may be bounded
// at any step.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

/// A number of the initial state that may vary: a coordinate of a position, a planar angle, a
/// velocity. The numbers of a quaternion are not free one by one and are refused.
struct InitialVariable {
  bool velocity = false;  ///< of State::v, else of State::q
  Index place = 0;
  double lower = -kNoBound, upper = kNoBound;
};

struct ParameterVariable {
  Index place = 0;  ///< in Parameters::values
  double lower = -kNoBound, upper = kNoBound;
  double weight = 0, target = 0;  ///< adds ½ weight (value − target)²
};

/// ½ Σ weight (number − target)², entry by entry. Empty: none. Column i is the state after i steps;
/// a column of u acts from i to i + 1.
struct QuadraticCost {
  MatX q_weight, q_target;  ///< q_size() x (steps + 1)
  MatX v_weight, v_target;  ///< v_size() x (steps + 1)
  MatX u_weight, u_target;  ///< control_count() x steps
};

/// Bounds on numbers of the states, by an augmented Lagrangian. Empty: none; infinite: none there;
/// equal: an equation.
struct StateBounds {
  MatX q_lower, q_upper;  ///< q_size() x (steps + 1)
  MatX v_lower, v_upper;  ///< v_size() x (steps + 1)
};

/// The cost of one stage and its derivatives by (tangent of q, v, u), 2 v_size() + control_count()
/// numbers; the last stage has no controls and zeros there.
struct StageExpansion {
  double value = 0;
  VecX gradient;
  MatX hessian;  ///< symmetric; an approximation may do
};

/// A cost of one's own, stage by stage, added to `stages` (steps + 1 of them, sized). `derivatives`
/// false: values alone. Must be a pure function; may be called from several threads.
using StageCost = std::function<void(const MatX& q, const MatX& v, const MatX& u, bool derivatives,
                                     std::vector<StageExpansion>& stages)>;

/// Functions of states and controls that are to stay within bounds, by the same augmented
/// Lagrangian. Empty: none; infinite: none there; equal: an equation.
struct PathConstraint {
  /// value: rows x (steps + 1); jacobian, where `derivatives`: one matrix a stage, by (tangent of
  /// q, v, u), rows x (2 v_size() + control_count()), zero by u at the last stage. Both come sized
  /// and zero. Must be a pure function; may be called from several threads.
  std::function<void(const MatX& q, const MatX& v, const MatX& u, bool derivatives, MatX& value,
                     std::vector<MatX>& jacobian)>
      function;
  MatX lower, upper;  ///< rows x (steps + 1)
};

struct TrajectoryProblem {
  const Model* model = nullptr;  ///< must outlive the problem
  Parameters parameters;
  StepSettings settings;
  State start;
  Index steps = 0;

  MatX controls;  ///< first guess, control_count() x steps; empty: zero
  bool vary_controls = true;
  MatX u_lower, u_upper;  ///< as controls; empty: none; equal: held
  std::vector<InitialVariable> initial;
  std::vector<ParameterVariable> varied;

  QuadraticCost cost;
  StageCost more;  ///< may be empty
  StateBounds bounds;
  PathConstraint path;

  /// First guess of the states for multiple shooting, columns 0 … steps; empty: the motion that the
  /// guess of the controls gives.
  MatX q_guess, v_guess;
};

/// Throws Error unless sizes agree, numbers are finite, bounds are not empty, the start lies within
/// them, every variable exists and is free to vary, and something varies.
void validate(const TrajectoryProblem& problem);

/// ∂q/∂δ at q ⊞ δ, q_size() x v_size(): from derivatives by the numbers of q to those by tangents.
MatX tangent_map(const Model& model, const VecX& q);

}  // namespace orthant
