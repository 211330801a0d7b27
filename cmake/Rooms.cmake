# SPDX-License-Identifier: Apache-2.0
# Reads the names of the rooms in cmake/rooms.txt into ORTHANT_ROOMS, in order. Who may include whom is
# checked by tools/check_rooms.py.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/rooms.txt ORTHANT_ROOMS REGEX "^[a-z]")
list(TRANSFORM ORTHANT_ROOMS REPLACE " *\\|.*$" "")
