// SPDX-License-Identifier: Apache-2.0
// base/version.hpp: which Orthant this is.
#pragma once

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// "major.minor.patch" of the library that is running (not of the header that was compiled).
const char* version() noexcept;

}  // namespace orthant
