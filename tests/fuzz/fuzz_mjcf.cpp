// SPDX-License-Identifier: Apache-2.0
// fuzz_mjcf.cpp: any bytes as a robot => a scene or an Error, never a crash or a hang.
#include <cstdint>
#include <string>

#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const orthant::LoadedScene scene =
        orthant::parse_mjcf(text, "fuzz.xml", {.max_bodies = 100, .read_files = false});
    // The scene of a run is this text: it must be readable.
    (void)orthant::parse_scene(scene.resolved, "resolved.yaml",
                               {.max_bodies = 100, .read_files = false});
  } catch (const orthant::Error&) {  // refused: that is all right
  }
  return 0;
}
