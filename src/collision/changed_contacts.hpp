// SPDX-License-Identifier: Apache-2.0
// collision/changed_contacts.hpp: the contacts of bodies that have moved since the last look.
#pragma once

#include <span>

#include "orthant/collision/collision.hpp"

namespace orthant {

/// Which bodies are looked at; each list by body, empty: all.
struct BodyFilter {
  /// A pair has at least one of these.
  std::span<const unsigned char> changed = {};
  /// All others are as if they were not there.
  std::span<const unsigned char> known = {};
};

/// As find_contacts(), but only the pairs of the filter. A pair of two bodies that have not changed
/// has the contacts, bit for bit, that it had where they stood the same.
void find_changed_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                           std::span<const BodyMotion> motion, const BodyFilter& filter,
                           const CollisionSettings& settings, CollisionWorkspace& workspace,
                           ContactSet& contacts);

}  // namespace orthant
