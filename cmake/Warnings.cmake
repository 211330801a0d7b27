# SPDX-License-Identifier: Apache-2.0
# One interface target with the warnings, sanitizers and arithmetic of our own code.
add_library(orthant_flags INTERFACE)
target_compile_options(orthant_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                       -Wcast-align -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns falsely about std::string inside its own headers, more so under sanitizers.
  target_compile_options(orthant_flags INTERFACE -Wno-restrict)
  if(ORTHANT_SANITIZE)
    target_compile_options(orthant_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow
                           -Wno-maybe-uninitialized)
  endif()
endif()
if(ORTHANT_WERROR)
  target_compile_options(orthant_flags INTERFACE -Werror)
endif()
if(ORTHANT_ARCH)
  target_compile_options(orthant_flags INTERFACE -march=${ORTHANT_ARCH})
endif()
if(ORTHANT_SANITIZE)
  target_compile_options(orthant_flags INTERFACE -fsanitize=${ORTHANT_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(orthant_flags INTERFACE -fsanitize=${ORTHANT_SANITIZE})
endif()
if(ORTHANT_FUZZ)
  target_compile_options(orthant_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
