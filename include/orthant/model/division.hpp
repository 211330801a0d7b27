// SPDX-License-Identifier: Apache-2.0
// model/division.hpp: rods that grow, and the edit that splits them.
//   dl/dt = l is grow() by exp(h) a step;  l => two of l/2 at +- l/4 along the axis, turned a
//   little
// Growth only changes parameters. A division changes the topology: it makes a new Model, in which
// all bodies that did not divide keep uid, numbers and, by their uids, contacts.
#pragma once

#include <array>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model_builder.hpp"

namespace ORTHANT_EXPORT orthant {

/// Multiplies the length of rods from tip to tip by `factor`: dynamic bodies of one capsule or
/// stadium, centred. Drag's `length` and the mass grow with it, the inertia is that of the uniform
/// shape, the radius stays. Throws Error, with nothing changed, for any other body, one named twice
/// and a rod that would be no longer than wide.
void grow(const Model& model, std::span<const BodyId> bodies, double factor,
          Parameters& parameters);

struct DivisionSettings {
  double jitter = 0.01 * std::numbers::pi / 180;  ///< turn of a daughter [rad]
  std::uint64_t key = 0;                          ///< of the hash that draws its direction
};

/// The turn of a daughter in the plane [rad]: the jitter, to one side or the other.
double planar_turn(const DivisionSettings& settings, BodyUid uid);

/// Who came from whom. The first daughter lies on the side of -x of the mother.
struct Division {
  BodyUid mother = 0;
  std::array<BodyUid, 2> daughters = {0, 0};
};

/// A model after a division, and all that goes on with it. A WarmStart may be used on: impulses of
/// mothers name uids that are gone and find no contact.
struct Divided {
  Model model;
  Parameters parameters;
  State state;
  std::vector<Division> map;  ///< ascending in the uid of the mother
};

/// Splits rods (as in grow()) that no joint, force, actuator or flexible part refers to. A daughter
/// has half the length, half the mass and the mother's radius, drag and surface; she moves as her
/// half of the mother did. She is turned by `jitter` about her centre: in the plane to one side or
/// the other, in space about some axis across the rod. The direction is a hash of (key, uid), so it
/// depends neither on order nor on threads.
/// Survivors keep their order, daughters follow with the next uids, in order of their mothers'; a
/// uid is never used again. A daughter of "cell" is called "cell/<uid>", and so are hers.
/// `model` is what `builder` describes; it then describes the new one. Throws Error, with nothing
/// changed, where a body cannot divide or is named twice.
Divided divide(ModelBuilder& builder, const Model& model, const Parameters& parameters,
               const State& state, std::span<const BodyId> bodies,
               const DivisionSettings& settings = {});

/// A body of a model that may have divided, as a file keeps it.
struct Descendant {
  BodyUid uid = 0;
  Index ancestor = 0;  ///< place of the body it comes from, among those of the builder
  double length = 0;   ///< from tip to tip when it was born [m]; 0: it is that body itself
};

/// Length of a rod from tip to tip [m]; throws Error where the body is none (see grow()).
double rod_length(const Model& model, const Parameters& parameters, BodyId body);

/// The bodies of `builder` become these, in this order: the model that divisions have led to can be
/// built again. Places, sizes and masses of now are in its Parameters and State.
void set_descendants(ModelBuilder& builder, std::span<const Descendant> bodies);

}  // namespace orthant
