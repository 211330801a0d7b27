// SPDX-License-Identifier: Apache-2.0
// collision/contact_set.hpp: the contacts of one configuration, sorted by key.
#pragma once

#include <vector>

#include "orthant/base/ids.hpp"
#include "orthant/model/state.hpp"
#include "orthant/shape/contact_kernel.hpp"

namespace orthant {

struct Contact {
  ContactKey key;
  BodyId body_a{}, body_b{};
  ShapeId shape_a{}, shape_b{};
  ContactFeature feature;  ///< what shape/ needs to evaluate it again, with derivatives
  Vec3 point_a, point_b;   ///< witness points, world [m]
  Vec3 normal;             ///< unit, from B to A, world
  double gap = 0;          ///< negative = overlap [m]
  /// What was added to B's place: the periodic image that touches A. Points are seen from A [m].
  Vec3 shift = Vec3::Zero();
};

struct ContactSet {
  std::vector<Contact> contacts;  ///< sorted by key
};

}  // namespace orthant
