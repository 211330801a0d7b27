# SPDX-License-Identifier: Apache-2.0
# PETSc and its MPI as the target orthant_petsc. PETSC_DIR and PETSC_ARCH, as PETSc's users set them, come
# before Debian's.
find_path(PETSC_INCLUDE_DIR petsctao.h PATH_SUFFIXES petsc
          HINTS $ENV{PETSC_DIR}/include)
find_path(PETSC_CONFIGURATION_DIR petscconf.h PATH_SUFFIXES petsc
          HINTS $ENV{PETSC_DIR}/$ENV{PETSC_ARCH}/include $ENV{PETSC_DIR}/include)
find_library(PETSC_LIBRARY NAMES petsc petsc_real
             HINTS $ENV{PETSC_DIR}/$ENV{PETSC_ARCH}/lib $ENV{PETSC_DIR}/lib)
if(NOT PETSC_INCLUDE_DIR OR NOT PETSC_CONFIGURATION_DIR OR NOT PETSC_LIBRARY)
  message(FATAL_ERROR "ORTHANT_PETSC needs PETSc with real double numbers, which is not here. On Debian or Ubuntu:\n"
                      "    sudo apt-get install petsc-dev\n"
                      "One of your own is found by the variables PETSC_DIR and PETSC_ARCH.\n")
endif()
find_package(MPI REQUIRED COMPONENTS C CXX)
add_library(orthant_petsc INTERFACE)
target_include_directories(orthant_petsc SYSTEM INTERFACE ${PETSC_INCLUDE_DIR} ${PETSC_CONFIGURATION_DIR})
target_link_libraries(orthant_petsc INTERFACE ${PETSC_LIBRARY} MPI::MPI_C)
target_compile_definitions(orthant_petsc INTERFACE OMPI_SKIP_MPICXX)  # the old C++ interface
