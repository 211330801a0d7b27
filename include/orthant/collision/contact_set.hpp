// SPDX-License-Identifier: Apache-2.0
// collision/contact_set.hpp: the contacts of one configuration, sorted by key.
#pragma once

#include <tuple>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/base/ids.hpp"
#include "orthant/model/state.hpp"
#include "orthant/shape/contact_kernel.hpp"

namespace ORTHANT_EXPORT orthant {

/// The two shapes of a key, to compare: keys are sorted by them first.
inline auto pair_of(const ContactKey& key) {
  return std::tie(key.body_a, key.body_b, key.shape_a, key.shape_b);
}

struct Contact {
  ContactKey key;
  BodyId body_a{}, body_b{};
  ShapeId shape_a{}, shape_b{};
  ContactFeature feature;  ///< what shape/ needs to evaluate it again, with derivatives
  Vec3 point_a, point_b;   ///< witness points, world [m]
  Vec3 normal;             ///< unit, from B to A, world
  double gap = 0;          ///< negative = overlap [m]
  double size = 0;  ///< half the smaller width of the two shapes: tolerances are shares of it
  /// What was added to B's place: the periodic image that touches A. Points are seen from A [m].
  Vec3 shift = Vec3::Zero();
};

/// A contact of a flexible surface: a node against a body's shape, a face against a body's shape,
/// or a node against a face of another part. The gap opens with n · (Σ weight v_node ± v_body).
struct FlexibleContact {
  ContactKey key;
  struct Corner {
    Index part = 0, node = 0;
    double weight = 0;  ///< > 0 on side A, < 0 on side B; barycentric
  };
  Corner corners[4];
  int corner_count = 0;
  ShapeId shape{-1};     ///< of the body that takes part; −1: none
  double body_sign = 0;  ///< +1: the body is A, −1: it is B, 0: no body
  MaterialId material_a{}, material_b{};
  bool planar = false;
  /// A node on a shape: what shape/ needs to evaluate it again, the node as a sphere of no radius.
  ContactFeature feature;
  bool has_feature = false;
  double size = 0;             ///< length that tolerances are relative to [m]
  Vec3 point = Vec3::Zero();   ///< on the flexible surface (of A where both are), world [m]
  Vec3 normal = Vec3::Zero();  ///< unit, from B to A, world
  double gap = 0;              ///< negative = overlap [m]
};

struct ContactSet {
  std::vector<Contact> contacts;          ///< sorted by key
  std::vector<FlexibleContact> flexible;  ///< sorted by key; rows come after those of `contacts`
};

}  // namespace orthant
