// SPDX-License-Identifier: Apache-2.0
// gradient/edges.hpp: coefficients of materials at the end of their range. Private to the room.
// A contact without friction has no row for it, so its derivative does not come with the others. It
// is that of the law with a little friction, from the right:
//   Coulomb   λ_t = −μ λ_n s/|s|,  s the sliding velocity;  cone: also w_n = μ |s|
//   rolling   torque −μ_r λ_n ω/|ω|,  ω the rolling velocity
//   bounce    b_n = ε D_n v⁻
// added to the equations of a solve as any other input is.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "gradient/loops.hpp"
#include "gradient/reader.hpp"
#include "orthant/constraint/contact_rows.hpp"

namespace orthant::internal {

/// Adds the derivatives by coefficients that are 0 of the contacts that push.
void pull_edges(const SolveContext& x, std::span<const ContactBlock> blocks, FrictionModel friction,
                const SolveOutputs& weights, SolveInputs& in);
void push_edges(const SolveContext& x, std::span<const ContactBlock> blocks, FrictionModel friction,
                const SolveInputs& direction, SolveOutputs& changes);

/// Contacts that push in a step, as far as coefficients of 0 go: where one slides or rolls, a
/// little of its coefficient acts; where it does not, a little resists what acts elsewhere and
/// reaches it, and the number for both would come from a problem of friction of its own.
class StillContacts {
 public:
  explicit StillContacts(const Model& model) : model_(model), bodies_(model) {}
  /// By a contact that pushes, a joint or a spring. The world moves nothing.
  void join(BodyId a, BodyId b) {
    const auto moves = [&](BodyId id) { return id != kWorld && model_.body(id).is_dynamic(); };
    if (moves(a) && moves(b)) bodies_.join(model_, a, b);
  }
  /// By the coefficient at `place`, on a body that moves.
  void add(Index place, BodyId body, bool acts) { uses_.push_back({place, body, acts}); }
  /// Numbers by coefficients that act and resist on bodies that contacts and joints connect are not
  /// given.
  void settle(std::vector<EdgeParameter>& edges);

 private:
  struct Use {
    Index place;
    BodyId body;
    bool acts;
    std::size_t root = 0;
  };
  const Model& model_;
  Loops bodies_;
  std::vector<Use> uses_;
};

/// The coefficients at an edge of the contacts of a solve that push, or would if they bounced:
/// added to `edges`, by place. `v_free`: H v_free = k; `tolerance`: of gaps that count as closed,
/// of the smaller shape.
void find_edges(const SolveContext& at, std::span<const ContactBlock> blocks, const VecX& v_free,
                double tolerance, std::vector<EdgeParameter>& edges, StillContacts& still);
/// The inputs that `kink`, of size 1, changes with; of kinks that are near, over their distance,
/// those that reach it within what differences of the steps need. Added to `open` with the step
/// (controls) and the reason of `as`.
void find_open(const StepCotangent& kink, const Model& model, const Parameters& parameters,
               const StepSettings& settings, const OpenInput& as, std::vector<OpenInput>& open);
/// Adds one to a sorted list.
void note_open(const OpenInput& one, std::vector<OpenInput>& open);
/// Adds those of one list to another; what is not given in one is not in both.
void merge_edges(std::span<const EdgeParameter> from, std::vector<EdgeParameter>& to);

}  // namespace orthant::internal
