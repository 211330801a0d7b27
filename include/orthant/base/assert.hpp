// SPDX-License-Identifier: Apache-2.0
// base/assert.hpp: checks of our own slips. Active in checked builds (no NDEBUG), free otherwise.
#pragma once

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {
namespace internal {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;
}  // namespace internal
}  // namespace orthant

#ifdef NDEBUG
#define ORTHANT_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define ORTHANT_ASSERT(condition)     \
  ((condition) ? static_cast<void>(0) \
               : ::orthant::internal::assertion_failed(#condition, __FILE__, __LINE__))
#endif
