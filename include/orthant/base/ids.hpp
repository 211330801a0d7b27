// SPDX-License-Identifier: Apache-2.0
// base/ids.hpp: indices that cannot be mixed up, and the identity that survives reordering.
#pragma once

#include <cstdint>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

// Places in a Model's arrays. mass_of(model, JointId{3}) does not compile.
enum class BodyId : std::int32_t {};
enum class ShapeId : std::int32_t {};
enum class JointId : std::int32_t {};
enum class MaterialId : std::int32_t {};

template <class Id>
constexpr std::int32_t index_of(Id id) {
  return static_cast<std::int32_t>(id);
}

/// A body for ever: it survives division, removal of others and reordering. An array index is
/// never identity.
using BodyUid = std::uint32_t;

}  // namespace orthant
