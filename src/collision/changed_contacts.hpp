// SPDX-License-Identifier: Apache-2.0
// collision/changed_contacts.hpp: the contacts of bodies that have moved since the last look.
#pragma once

#include <span>

#include "orthant/collision/collision.hpp"

namespace orthant {

/// As find_contacts(), but only pairs with at least one body marked in `changed` (by body; empty:
/// all). A pair of two unmarked bodies has the contacts, bit for bit, that it had
/// where they stood the same.
void find_changed_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                           std::span<const BodyMotion> motion,
                           std::span<const unsigned char> changed,
                           const CollisionSettings& settings, CollisionWorkspace& workspace,
                           ContactSet& contacts);

}  // namespace orthant
