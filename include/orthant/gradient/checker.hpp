// SPDX-License-Identifier: Apache-2.0
// gradient/checker.hpp: the gradient of a rollout beside central differences of it.
//   loss = g_q · (q_T ⊟ q̄_T) + g_v · v_T,   q̄ the rollout that was not perturbed
// A difference says something only where the same contacts stick, slide and separate on both sides
// and at the point itself: where they do not, the row is skipped, and counted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/gradient/rollout.hpp"

namespace ORTHANT_EXPORT orthant {

struct GradientCheckSettings {
  double difference = 1e-5;  ///< step of the differences; smaller for small parameters
  bool fourth_order = true;  ///< four points instead of two: no truncation error to speak of
  double floor = 1;          ///< errors are relative to max(|gradient|, floor)
  /// Where the sets change on one side only, compare with the differences of the other: the
  /// gradient is that of the sets there are.
  bool compare_one_side = false;
  StepGradientSettings gradient = {};
};

enum class CheckStatus : std::uint8_t {
  Compared,
  OneSide,     ///< compared with the differences of the side whose sets are those at the point
  SetChanged,  ///< a contact changed its set, a body began to fly: one-sided at best
  OutOfRange,  ///< an input at the border of its range (friction 0): one side only
  Failed,      ///< a perturbed rollout did not converge
};
std::string_view name_of(CheckStatus status);

struct GradientCheckRow {
  std::string name;  ///< "q/ball.0", "v/ball.3", "u/push.12", "material/rubber.friction"
  CheckStatus status = CheckStatus::Compared;
  double gradient = 0, difference = 0;
  double error = 0;  ///< |gradient − difference| / max(|gradient|, |difference|, floor)
};

struct GradientCheck {
  std::vector<GradientCheckRow> rows;
  Index compared = 0;       ///< from one side or from both
  Index from_one_side = 0;  ///< of these
  Index skipped = 0;        ///< set changed or failed
  Index out_of_range = 0;
  double worst = 0;  ///< error of the rows compared
  std::string worst_name;
  RolloutCertificate certificate;

  /// Of the inputs that can be varied both ways.
  double share() const {
    const Index all = compared + skipped;
    return all == 0 ? 1 : static_cast<double>(compared) / static_cast<double>(all);
  }
  /// For a person: one line per row, the worst and the count at the end.
  std::string table() const;
};

class GradientChecker {
 public:
  GradientChecker(const Model& model, const Parameters& parameters, const StepSettings& settings,
                  const State& state, Index steps, const MatX& controls = {});

  /// Weights of the loss; default: fixed numbers of size 1, no two alike.
  VecX by_q, by_v;
  /// Which inputs: initial configuration, initial velocity, controls (every `control_stride`-th
  /// step), parameters by place.
  bool check_q = true, check_v = true;
  Index control_stride = 0;               ///< 0: none
  std::vector<Index> parameters_checked;  ///< default: all

  GradientCheck run(const GradientCheckSettings& settings = {}) const;

 private:
  const Model& model_;
  Parameters parameters_;
  StepSettings settings_;
  State state_;
  Index steps_;
  MatX controls_;
};

/// The set every contact, limit and motor of a step is in, which bodies flew and what was
/// projected, as text: equal exactly where a difference across two steps is one of a smooth
/// function.
std::string set_signature(const Model& model, const Parameters& parameters,
                          const StepSettings& settings, const StepRecord& record);

}  // namespace orthant
