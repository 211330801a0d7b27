// SPDX-License-Identifier: Apache-2.0
// fuzz_scene_yaml.cpp: any bytes as a scene file => a scene or an Error, never a crash or a hang.
#include <cstdint>
#include <string>

#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const orthant::LoadedScene scene =
        orthant::parse_scene(text, "fuzz.yaml", {.max_bodies = 100, .read_files = false});
    // What was read must be readable again: the scene of a run is this text.
    (void)orthant::parse_scene(scene.resolved, "resolved.yaml",
                               {.max_bodies = 100, .read_files = false});
  } catch (const orthant::Error&) {  // refused: that is all right
  }
  return 0;
}
