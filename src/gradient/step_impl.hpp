// SPDX-License-Identifier: Apache-2.0
// gradient/step_impl.hpp: what the parts of StepGradient share. Private to the room.
//   step.cpp              the products
//   step_events.cpp       times of impact and scales of restitution, which are variables
//   step_certificate.cpp  what is said of the numbers; kinks carried to the start of the step
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradient/edges.hpp"
#include "gradient/kinks.hpp"
#include "gradient/other_sides.hpp"
#include "gradient/stage.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/gradient/step.hpp"

namespace orthant {

namespace internal {

/// in += factor x, but for the length of the interval and the scale of the restitution.
inline void add(double factor, const SolveInputs& x, SolveInputs& in) {
  in.q += factor * x.q;
  in.v += factor * x.v;
  in.u += factor * x.u;
  in.parameters += factor * x.parameters;
}

}  // namespace internal

struct StepGradient::Impl {
  using SolveInputs = internal::SolveInputs;
  using Stage = internal::Stage;

  /// Where a gap closes: the contact, at the configuration of the solve that begins there.
  struct Event {
    const Contact* contact = nullptr;  // nullptr: none
    const SolveRecord* at = nullptr;
  };
  /// An interval of length zero before an impact, along which bodies fly: at the start of a step,
  /// or after an impact of other bodies at the same time.
  struct ZeroInterval {
    Event event = {};
    VecX acceleration = {};
  };

  const Model* model = nullptr;
  const Parameters* parameters = nullptr;
  const StepSettings* settings = nullptr;
  const StepRecord* record = nullptr;
  bool with_parameters = true;
  std::size_t velocities = 0;       // how many; the model may be gone before this
  std::vector<SolveRecord> trials;  // of a recursion
  std::vector<Stage> storage;       // of the stages, and of more that others had
  std::span<Stage> stages;
  std::vector<Event> event_after;          // by stage: what ended the interval
  std::vector<ZeroInterval> event_before;  // by stage
  static constexpr std::size_t kNoStage = std::numeric_limits<std::size_t>::max();
  std::size_t last_interval = kNoStage;
  StepCertificate certificate;
  SolveInputs pulled;                                    // of pull_back()
  std::vector<std::vector<internal::KinkScalar>> kinks;  // by stage
  bool kinked[4] = {}, kinks_known = false;              // by OpenReason
  StepCotangent against[4];                              // see kink()
  VecX by_q, by_v;        // the derivative by the end of the stage at hand
  VecX other_q, other_v;  // the same of other sides

  void set_stages(const StepGradientSettings& gradient);
  void find_events();
  /// Impacts [begin, end) happened at one time, after interval `before` (kNoStage: at the start).
  /// Bodies that only one of them moves have a time of their own: whichever comes first, the other
  /// does not notice.
  void find_group(std::size_t before, std::size_t begin, std::size_t end);
  /// The impact has a time of its own, apart from that of the others of its group.
  bool stands_alone(std::size_t impact, std::size_t begin, std::size_t end) const;
  /// Nothing but applied forces acts in the interval after a group of impacts.
  bool flies_after(std::size_t end) const;
  /// Of an impact, the contact with the smallest gap.
  const Contact& closed_contact(const SolveRecord& impact) const;
  bool moved_by(const SolveRecord& impact, BodyId body) const;
  /// How velocities change where a solve stands, by applied forces alone.
  VecX acceleration_at(const SolveRecord& at) const;
  void blame(const std::string& reason) {
    if (certificate.exact) certificate.reason = reason;
    certificate.exact = false;
  }
  /// Another contact of the impact is as closed as the first, and was closing too.
  bool closes_with_another(const SolveRecord& impact) const;
  void certify(const StepGradientSettings& gradient);
  void note_kinks(std::size_t stage, bool starts, internal::StillContacts& still);
  void note_borders(const Stage& stage);
  /// `released`: contacts let go that are counted already.
  void note_error(const Stage& stage, Index released = 0);
  void note_errors();
  /// Where stage i ends: configuration and contacts alone.
  SolveRecord end_of(std::size_t i) const;
  internal::SolveContext context_of(std::size_t i, const SolveRecord& at) const {
    return {*model, *parameters, record->u, at, stages[i].answer(), with_parameters};
  }
  /// Carries the kinks of single numbers, and what contradicts redundant rows, to the start of the
  /// step.
  void find_open(OpenReason reason);
  /// The gain of an impact, of size 1, where it is 0 and some input that goes both ways changes it.
  std::optional<SolveInputs> gain_at_border(std::size_t i);
  /// Inputs that close contacts at the start and open others.
  void find_crossed();
  /// Removes the freedom of τ: by_duration is the whole derivative by it at fixed everything else.
  void close_event(const Event& event, Stage* interval, double by_duration, SolveInputs& in);
  /// The same for the scale of the restitution; of an impact that is just not scaled, by edges.
  void close_scale(Stage& impact, SolveInputs& in);
  /// `in` is the derivative by the inputs of stage i at fixed times and scale: removes these
  /// freedoms. `by_left`: by the time that is left after the stage.
  void close_times(std::size_t i, SolveInputs& in, double& by_left);
  /// `in` by the end of stage i => by its start, times and scale fixed.
  void pull_stage(std::size_t i, const SolveCotangent* extra, SolveInputs& in,
                  internal::PullFor purpose = internal::PullFor::Derivative);
  /// Stage i is pulled once more to remove these freedoms.
  bool closes(std::size_t i) const {
    return stages[i].record().scaled || event_after[i].contact != nullptr;
  }
  /// The same of what other sides change: of stage i as it was pulled last, and of those after it.
  void pull_others(std::size_t i, internal::OtherSides& others, double& by_left);
  /// The solves of a recursion all begin where the step does; each reads where those before it led.
  /// `in`: the derivative by the end of the step, replaced by that by its start.
  void pull_recursion(std::span<const SolveCotangent> solves, SolveInputs& in);
  StateTangent push_recursion(const SolveInputs& direction);
  double rate_of(const SolveRecord& at, const Contact& contact, const VecX& v) const {
    return gap_rate(*model, at.q, v, contact);
  }
};

}  // namespace orthant
