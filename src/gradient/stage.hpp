// SPDX-License-Identifier: Apache-2.0
// gradient/stage.hpp: one solve of a record as a differentiable map (q, v, u, parameters, duration)
// => (q', v'). Private to the room.
//   Step        q' = q ⊞ δ(v⁺),  v' = v⁺        Impact   q' = q,  v' = v⁺
//   Projection  q' = q ⊞ δ,      v' = v
#pragma once

#include <memory>

#include "gradient/reader.hpp"
#include "orthant/constraint/assemble.hpp"

namespace orthant::internal {

enum class JointUse : std::uint8_t;

class Stage {
 public:
  Stage(const Model& model, const Parameters& parameters, const StepSettings& settings,
        const VecX& u, const SolveRecord& record, const StepGradientSettings& gradient);

  /// ḡ(q', v') and what else the solve is asked for => added to the derivatives by its inputs.
  void pull(const VecX& by_q, const VecX& by_v, const SolveCotangent* extra, SolveInputs& in);
  /// A direction => the change of q' and v'.
  void push(const SolveInputs& direction, VecX& dq, VecX& dv);

  const SolveRecord& record() const { return *context_.record_; }
  const GradientCertificate& certificate() const { return gradient_->certificate(); }
  const CanonicalProblem& problem() const { return assembly_.problem; }
  const std::vector<ContactBlock>& blocks() const { return assembly_.blocks; }
  /// Why the derivative is not exact; empty where it is.
  const std::string& reason() const { return reason_; }

 private:
  struct Arguments {
    const Model* model;
    const Parameters* parameters;
    const StepSettings* settings;
    const VecX* u;
    const SolveRecord* record_;
    bool with_parameters;
  };
  SolveContext context() const {
    return {*context_.model,   *context_.parameters, *context_.u,
            *context_.record_, gradient_->answer(),  context_.with_parameters};
  }
  template <class R>
  void walk(R& reader) const;
  template <class R>
  void walk_step(R& reader) const;
  template <class R>
  Index walk_flexible(R& reader) const;
  template <class R>
  void walk_ties(R& reader, JointUse use) const;
  template <class R>
  void walk_nodes(R& reader, bool with_velocity) const;
  template <class R>
  void walk_impact(R& reader) const;
  template <class R>
  void walk_projection(R& reader) const;
  bool flies(const Body& body) const;
  void assemble();
  void find_displacement();

  Arguments context_;
  Assembly assembly_;
  VecX delta_;  // of this solve, as State::v; Impact: zero
  std::unique_ptr<SolutionGradient> gradient_;
  std::vector<GapBranch> branches_;
  std::string reason_;
};

/// The gap of contact `contact` of a record at its configuration: adds weight · dΦ to the inputs.
void pull_gap(const Model& model, const Parameters& parameters, const SolveRecord& record,
              Index contact, double weight, bool with_parameters, SolveInputs& in);
/// dΦ along a direction.
double push_gap(const Model& model, const Parameters& parameters, const SolveRecord& record,
                Index contact, const SolveInputs& direction);

}  // namespace orthant::internal
