// SPDX-License-Identifier: Apache-2.0
// optimise/motion.hpp: (start, controls, parameters) => states, records, defects.
#pragma once

#include <functional>
#include <vector>

#include "optimise/stage_cost.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/optimise/optimise.hpp"

namespace orthant::internal {

/// An iterate: the unknowns, and what they lead to.
struct Motion {
  State start;
  Parameters parameters;
  MatX u;
  MatX q, v;  ///< states; of a rollout, or the unknown nodes of multiple shooting
  std::vector<StepRecord> records;
  MatX defect;  ///< 2 v_size() x steps: step(x_i, u_i) ⊟ x_{i+1}; empty: a rollout
  CostSum cost;
  bool finite = false;  ///< every step gave numbers and the cost is one
  std::int64_t failed_steps = 0;

  double largest_defect() const { return defect.size() == 0 ? 0 : defect.cwiseAbs().maxCoeff(); }
};

Motion first_guess(const TrajectoryProblem& problem);

/// Controls of step i, written into column i, from the state there; empty: as they are.
using Feedback = std::function<void(Index i, const State& x, MatX& u)>;
/// The rollout from motion.start: fills states, records, cost. `gaps`: defects that are kept, each
/// state is moved back by its column; empty: none.
void roll(const TrajectoryProblem& problem, const StageCosts& costs, const Feedback& feedback,
          Motion& motion, const MatX& gaps = {});
/// Every step from its own node, in threads: fills records, defects, cost. Nodes stay.
void step_from_nodes(const TrajectoryProblem& problem, const StageCosts& costs, Motion& motion);

/// Cuts u to its bounds.
double clip_control(const TrajectoryProblem& problem, Index control, Index step, double u);
/// Start and parameters moved by `change` (initial variables, then parameters), cut to the bounds.
void move_start(const TrajectoryProblem& problem, const Motion& from, const VecX& change,
                Motion& to);
/// The state at node i.
State node_state(const TrajectoryProblem& problem, const Motion& motion, Index i);

}  // namespace orthant::internal
