// SPDX-License-Identifier: Apache-2.0
// model/state.hpp: all that is needed to resume a run, and the warm start that goes with it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/base/ids.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

/// Flat arrays with offsets from Model. A planar body has q = (x, y, θ), v = (vx, vy, ω); a spatial
/// one q = (x, p) with p = (w, x, y, z), v = (linear, angular), world axes, at the centre of mass.
/// A fixed body has q and no v; a kinematic one has both, v prescribed.
struct State {
  VecX q;
  VecX v;
  double t = 0;  ///< [s]
  std::int64_t step = 0;
  std::array<std::uint64_t, 2> rng = {0, 0};  ///< key and counter of the random generator
};

/// Names a contact for ever: who touches whom, with which shape and feature, across which periodic
/// image. Contacts are sorted by it, which fixes the order for any number of threads.
struct ContactKey {
  BodyUid body_a = 0, body_b = 0;          ///< body_a < body_b
  std::uint16_t shape_a = 0, shape_b = 0;  ///< ordinal of the shape on its body
  std::uint32_t feature = 0;               ///< feature pair or ordinal within the pair
  std::array<std::int8_t, 3> image = {0, 0, 0};

  auto operator<=>(const ContactKey&) const = default;
};

/// In/out argument of a step: last impulses by contact. Stored in checkpoints, never hidden in a
/// workspace, not differentiated.
struct WarmStart {
  struct Entry {
    ContactKey key;
    Vec3 impulse_W;  ///< on body A, world axes [N s]
    Vec3 torque_W;   ///< rolling torque impulse on body A [N m s]
    Vec3 normal_W;   ///< last normal, from B to A
    Vec3 point_W;    ///< where it acted, on A: finds the contact again under another feature [m]
  };
  std::vector<Entry> contacts;  ///< sorted by key
  VecX joints;                  ///< multipliers of the bilateral rows, model order
};

}  // namespace orthant
