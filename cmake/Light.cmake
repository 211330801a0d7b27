# SPDX-License-Identifier: Apache-2.0
# orthant_light(target): for programs around the library (command, checks, experiments, examples).
# The time goes into the library, so light optimisation is enough and compiles several times faster;
# one precompiled header serves all of them.
file(CONFIGURE OUTPUT light.cpp CONTENT "// Makes the precompiled header of orthant_light().\n")
add_library(orthant_light_header OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/light.cpp)
target_link_libraries(orthant_light_header PRIVATE orthant orthant_flags)
target_compile_options(orthant_light_header PRIVATE $<$<CONFIG:Release>:-O1>)
target_precompile_headers(orthant_light_header PRIVATE <orthant/step/step.hpp> <functional> <memory>)

function(orthant_light target)
  target_link_libraries(${target} PRIVATE orthant_flags)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_precompile_headers(${target} REUSE_FROM orthant_light_header)
endfunction()
