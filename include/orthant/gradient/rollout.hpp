// SPDX-License-Identifier: Apache-2.0
// gradient/rollout.hpp: T steps forward, one reverse walk back.
//   ḡ_i = ∂ℓ/∂x_i + (∂x_{i+1}/∂x_i)ᵀ ḡ_{i+1}: memory for all records, or for about 2√T states
// The forward is that of step(), bit for bit. With checkpoints every √T-th state is kept and the
// records of one stretch at a time are made again, which gives the same bits, so both modes agree
// to the last bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

struct CheckpointPolicy {
  bool store_records = true;  ///< false: checkpoints, the records are made again on the way back
  Index every = 0;            ///< steps between checkpoints; 0: the next integer to √steps
  bool keep_states = true;    ///< fill RolloutTape::q and RolloutTape::v
};

/// A rollout that can be differentiated. Plain data; keeps references to nothing but the model,
/// which must outlive it.
struct RolloutTape {
  struct Checkpoint {
    State state;
    WarmStart warm;
  };

  const Model* model = nullptr;
  Parameters parameters;
  StepSettings settings;
  MatX controls;  ///< control_count() x steps, or empty: zero
  Index steps = 0;
  CheckpointPolicy policy;

  std::vector<StepRecord> records;      ///< one per step, or empty: checkpoints
  std::vector<Checkpoint> checkpoints;  ///< at steps 0, every, 2 every, …
  State final_state;
  MatX q, v;  ///< column i: state after i steps, steps + 1 columns; empty unless keep_states
  RolloutReport report;
};

/// `steps` >= 1 steps from `state` and an empty warm start. `controls`: control_count() x steps
/// (column i for step i), or empty: zero. Throws Error on bad sizes and on steps < 1.
RolloutTape record_rollout(const Model& model, const Parameters& parameters,
                           const StepSettings& settings, const State& state, const MatX& controls,
                           Index steps, const CheckpointPolicy& policy = {});

/// Derivative of a scalar loss by the states and, where wanted, the impulses of a rollout.
struct RolloutCotangent {
  /// v_size() x (steps + 1): column i by the state after i steps, q in tangent coordinates. Empty:
  /// zero.
  MatX q, v;
  /// By what the solves of step i found (see SolveCotangent). Empty, or one per step.
  std::vector<std::vector<SolveCotangent>> solves = {};
};

/// The certificates of all steps in one.
struct RolloutCertificate {
  bool exact = true;
  std::string reason;        ///< first, with the step it belongs to
  Index first_inexact = -1;  ///< the step of `reason`
  Index steps = 0;           ///< differentiated
  Index failed_steps = 0;    ///< that did not converge (only with allow_unconverged)
  Index inexact_steps = 0;   ///< where something was held fixed
  Index floating_steps = 0;  ///< with a contact on a border
  /// Rows on a border, all steps. rollout_gradient() follows what other sides would change back to
  /// the start and counts none where it can: the inputs it shows in are `open`.
  Index floating = 0;
  double margin = 1;                                               ///< smallest
  Index weakest_step = -1;                                         ///< where the margin is attained
  double reciprocal_condition = 1, solve_error = 0, residual = 0;  ///< worst
  int impacts = 0;
  /// Kinks of the data in all steps, and of the initial state (see StepCertificate).
  Index kinks = 0;
  std::string kink;                  ///< the first, with its step
  Index first_kink = -1;             ///< the step of `kink`
  std::vector<EdgeParameter> edges;  ///< by place
  std::vector<OpenInput> open;       ///< inputs at a kink, sorted

  /// The numbers are two-sided derivatives, but for those by `edges` and `open`.
  bool certified() const { return exact && floating == 0 && kinks == 0 && failed_steps == 0; }
};

struct RolloutGradient {
  VecX q, v;        ///< by the initial state, tangent coordinates
  MatX u;           ///< control_count() x steps
  VecX parameters;  ///< aligned with Parameters::values
  RolloutCertificate certificate;
};

/// Reverse mode: derivative of the loss by everything. Throws Error for sizes, numbers that are not
/// finite, and steps that did not converge unless gradient.allow_unconverged.
RolloutGradient rollout_gradient(const RolloutTape& tape, const RolloutCotangent& loss,
                                 const StepGradientSettings& gradient = {});

struct RolloutTangent {
  MatX q, v;  ///< v_size() x (steps + 1): change of every state
  RolloutCertificate certificate;
};

/// Forward mode: one direction, for few parameters. `controls`: as the tape's, or empty: zero.
RolloutTangent rollout_tangent(const RolloutTape& tape, const StepTangent& change,
                               const MatX& controls = {},
                               const StepGradientSettings& gradient = {});

/// Derivative by the final state alone, the usual loss.
RolloutCotangent at_end(const RolloutTape& tape, const VecX& by_q, const VecX& by_v);

}  // namespace orthant
