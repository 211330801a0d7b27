// SPDX-License-Identifier: Apache-2.0
// gradient/rollout_parts.hpp: what walks over a rollout share, forward and back. Private to the
// room.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradient/edges.hpp"
#include "gradient/spare.hpp"
#include "orthant/base/error.hpp"
#include "orthant/gradient/rollout.hpp"

namespace orthant::internal {

inline VecX control_of(const MatX& controls, Index step) {
  return controls.size() == 0 ? VecX() : VecX(controls.col(step));
}

inline void check_size(const MatX& x, Index rows, Index columns, const char* what) {
  if (x.size() == 0) return;
  if (x.rows() != rows || x.cols() != columns)
    throw Error(what, "must be " + std::to_string(rows) + " x " + std::to_string(columns) +
                          ", got " + std::to_string(x.rows()) + " x " + std::to_string(x.cols()));
  if (!x.allFinite()) throw Error(what, "must be finite");
}

inline void check_tape(const RolloutTape& tape) {
  if (tape.model == nullptr || tape.steps < 1 || (tape.records.empty() && tape.checkpoints.empty()))
    throw Error("rollout gradient", "the tape is empty: make it with record_rollout()");
}

/// Of the first step of a rollout, and of the others.
struct SettingsOfSteps {
  explicit SettingsOfSteps(const StepGradientSettings& settings)
      : first(settings), later(settings) {
    later.starts = false;
  }
  const StepGradientSettings& at(Index step) const { return step == 0 ? first : later; }
  StepGradientSettings first, later;
};

/// `rests`: of a later step, see StepCertificate. What would open that contact is on the other
/// side.
inline void note(const StepCertificate& one, Index step, bool rests, RolloutCertificate& all) {
  ++all.steps;
  all.failed_steps += !one.converged;
  all.floating += one.floating;
  all.floating_steps += one.floating > 0;
  all.inexact_steps += !one.exact;
  all.impacts += one.impacts;
  if (!one.exact && (all.exact || step < all.first_inexact)) {
    all.exact = false;
    all.first_inexact = step;
    all.reason = "step " + std::to_string(step) + ": " + one.reason;
  }
  const Index kinks = one.kinks + (step == 0 ? one.start_kinks : 0);
  if (kinks > 0 && (all.kinks == 0 || step < all.first_kink)) {
    all.first_kink = step;
    all.kink = "step " + std::to_string(step) + ": " + one.kink;
  }
  all.kinks += kinks;
  for (EdgeParameter edge : one.edges) {
    edge.given = edge.given && !(rests && edge.opens);
    merge_edges({&edge, 1}, all.edges);
  }
  if (one.margin < all.margin) {
    all.margin = one.margin;
    all.weakest_step = step;
  }
  all.reciprocal_condition = std::min(all.reciprocal_condition, one.reciprocal_condition);
  all.solve_error = std::max(all.solve_error, one.solve_error);
  all.residual = std::max(all.residual, one.residual);
}

/// A workspace for steps in the memory of the last one: to make one anew costs what a step of one
/// body does.
class SpareWorkspace {
 public:
  explicit SpareWorkspace(const Model& model)
      : workspace_(Spare<StepWorkspace>::take()),
        numbers_(64 * static_cast<std::size_t>(model.v_size())) {}
  ~SpareWorkspace() { Spare<StepWorkspace>::give(std::move(workspace_), numbers_); }
  SpareWorkspace(const SpareWorkspace&) = delete;
  SpareWorkspace& operator=(const SpareWorkspace&) = delete;
  StepWorkspace& get() { return *workspace_; }

 private:
  std::unique_ptr<StepWorkspace> workspace_;
  std::size_t numbers_;
};

/// Gives the record of any step: stored, or a stretch at a time from its checkpoint.
class Records {
 public:
  explicit Records(const RolloutTape& tape) : tape_(tape) {}

  const StepRecord& at(Index step) {
    if (!tape_.records.empty()) return tape_.records[static_cast<std::size_t>(step)];
    const Index every = tape_.policy.every;
    const Index stretch = step / every;
    if (stretch != stretch_) replay(stretch);
    return stretch_records_[static_cast<std::size_t>(step - stretch * every)];
  }

 private:
  void replay(Index stretch) {
    const Index every = tape_.policy.every, begin = stretch * every;
    const Index end = std::min(begin + every, tape_.steps);
    const RolloutTape::Checkpoint& from = tape_.checkpoints[static_cast<std::size_t>(stretch)];
    State state = from.state;
    WarmStart warm = from.warm;
    if (!workspace_) workspace_.emplace(*tape_.model);
    stretch_records_.resize(static_cast<std::size_t>(end - begin));
    for (Index i = begin; i < end; ++i)
      (void)step(*tape_.model, tape_.parameters, tape_.settings, control_of(tape_.controls, i),
                 state, warm, workspace_->get(),
                 &stretch_records_[static_cast<std::size_t>(i - begin)]);
    stretch_ = stretch;
  }

  const RolloutTape& tape_;
  std::optional<SpareWorkspace> workspace_;  // where a stretch was made again
  std::vector<StepRecord> stretch_records_;
  Index stretch_ = -1;
};

}  // namespace orthant::internal
