# SPDX-License-Identifier: Apache-2.0
# cmake --install, then find_package(orthant CONFIG) gives orthant::orthant.
include(CMakePackageConfigHelpers)
install(TARGETS orthant EXPORT orthantTargets)
if(TARGET orthant_tao)
  install(TARGETS orthant_tao)
endif()
if(ORTHANT_APPS)
  get_property(commands DIRECTORY apps PROPERTY BUILDSYSTEM_TARGETS)
  foreach(command IN LISTS commands)
    get_target_property(type ${command} TYPE)
    if(type STREQUAL "EXECUTABLE")
      # A command finds its library next to itself, wherever the tree is moved; in a wheel it lies in
      # the package `orthant`.
      set_target_properties(${command} PROPERTIES
                            INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../orthant")
      install(TARGETS ${command})
    endif()
  endforeach()
endif()
install(DIRECTORY include/orthant DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/orthant)
install(EXPORT orthantTargets NAMESPACE orthant:: DESTINATION ${package_dir})
configure_package_config_file(cmake/orthantConfig.cmake.in ${PROJECT_BINARY_DIR}/orthantConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/orthantConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/orthantConfig.cmake
              ${PROJECT_BINARY_DIR}/orthantConfigVersion.cmake DESTINATION ${package_dir})
