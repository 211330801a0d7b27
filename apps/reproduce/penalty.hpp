// SPDX-License-Identifier: Apache-2.0
// reproduce/penalty.hpp: springs in place of hard contact, a baseline for comparisons alone.
//   f = max(0, k d − c ḋ_gap) n   at every contact of overlap d > 0, on its nodes by their weights
// The contacts are those of our own collision detection at the start of the step: nodes and faces
// with barycentric weights, as the hard step has them. The force is explicit, as in codes that add
// it to the loads; the elements stay implicit.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orthant/collision/collision.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant::reproduce {

/// Adds to `builder` a load for every surface node of `part`, for Penalty to push with.
inline void add_penalty_loads(ModelBuilder& builder, const FlexiblePart& part) {
  for (const Index node : part.surface_nodes)
    builder.add_force(
        NodeForceSpec{.name = "n" + std::to_string(node), .part = part.name, .nodes = {node}});
}

/// Of one part of a world of bodies that do not turn.
class Penalty {
 public:
  /// `seen`: the world whose contacts are looked for; `stepped`: the same one without contact of
  /// the part, with a load on each of its surface nodes. `ram`: the body whose force is asked for.
  Penalty(Model seen, const Model& stepped, BodyId ram, double stiffness, double dashpot)
      : seen_(std::move(seen)),
        parameters_(seen_.default_parameters()),
        stepped_(stepped),
        ram_(ram),
        stiffness_(stiffness),
        dashpot_(dashpot) {
    load_of_.resize(static_cast<std::size_t>(part().node_count), nullptr);
    for (const NodeForce& load : stepped_.node_forces())
      load_of_[static_cast<std::size_t>(load.nodes[0])] = &load;
  }

  /// Sets the loads of the next step, from the state at its start.
  void push(const State& state, Parameters& loads) {
    find(state.q);
    for (const NodeForce& load : stepped_.node_forces())
      std::fill_n(loads.values.data() + load.parameter_begin, 3, 0.0);
    force_.setZero();
    for (const FlexibleContact& c : contacts_.flexible) {
      if (c.gap >= 0) continue;
      const double push = std::max(0.0, -stiffness_ * c.gap - dashpot_ * opening(c, state.v));
      for (int i = 0; i < c.corner_count; ++i)
        for (int a = 0; a < 3; ++a)
          loads.values[load(c.corners[i].node).parameter_begin + a] +=
              c.corners[i].weight * push * c.normal[a];
      if (seen_.shape(c.shape).body == ram_) force_ += c.body_sign * push * c.normal;
    }
  }

  /// On the ram, in the step pushed last [N].
  const Vec3& force() const { return force_; }

  /// Of the springs after a step, and what makes up for the loads in the report's energy, which it
  /// takes for dead weights [J].
  double energy(const State& state, const Parameters& loads) {
    find(state.q);
    double sum = 0;
    for (const FlexibleContact& c : contacts_.flexible) {
      const double overlap = std::max(0.0, -c.gap);
      sum += 0.5 * stiffness_ * overlap * overlap;
    }
    for (const NodeForce& load : stepped_.node_forces())
      for (int a = 0; a < 3; ++a)
        sum += loads[load.parameter_begin + a] * node_position(part(), state.q, load.nodes[0])[a];
    return sum;
  }

  /// Deepest overlap of the configuration looked at last [m].
  double deepest() const {
    double gap = 0;
    for (const FlexibleContact& c : contacts_.flexible) gap = std::min(gap, c.gap);
    return -gap;
  }

 private:
  const FlexiblePart& part() const { return stepped_.flexible_parts()[0]; }
  const NodeForce& load(Index node) const { return *load_of_[static_cast<std::size_t>(node)]; }

  void find(const VecX& q) {
    find_flexible_contacts(seen_, parameters_, q, {}, {}, {}, collision_, contacts_);
  }

  /// Rate of the gap [m/s].
  double opening(const FlexibleContact& c, const VecX& v) const {
    Vec3 rate = Vec3::Zero();
    for (int i = 0; i < c.corner_count; ++i)
      rate += c.corners[i].weight * node_velocity(part(), v, c.corners[i].node);
    const Body& body = seen_.body(seen_.shape(c.shape).body);
    if (body.v_begin != kNone) rate += c.body_sign * v.segment<3>(body.v_begin);
    return c.normal.dot(rate);
  }

  Model seen_;
  Parameters parameters_;
  const Model& stepped_;
  BodyId ram_;
  double stiffness_, dashpot_;
  std::vector<const NodeForce*> load_of_;  // by node
  CollisionWorkspace collision_;
  ContactSet contacts_;
  Vec3 force_ = Vec3::Zero();
};

}  // namespace orthant::reproduce
