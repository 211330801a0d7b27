// SPDX-License-Identifier: Apache-2.0
// base/export.hpp: what programs outside may link against.
// The library is compiled with hidden symbols; the public headers open their namespace with this,
// so that all they declare is visible and nothing else is.
#pragma once

#define ORTHANT_EXPORT [[gnu::visibility("default")]]
