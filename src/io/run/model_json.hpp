// SPDX-License-Identifier: Apache-2.0
// io/run/model_json.hpp: what bodies and joints look like => model.json, which the viewer reads.
#pragma once

#include <string>

#include "orthant/io/scene.hpp"

namespace orthant::io {

/// Name, planar, h, bodies with their shapes, joints; the names of the viewer's format.
std::string model_json(const LoadedScene& scene);

}  // namespace orthant::io
