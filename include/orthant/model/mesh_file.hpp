// SPDX-License-Identifier: Apache-2.0
// model/mesh_file.hpp: mesh files => Mesh.
// Gmsh .msh (2.x and 4.1, text) and VTK .vtu (text). Tetrahedra are taken where there are any, else
// triangles; points, lines and, beside tetrahedra, triangles are passed over. Nodes are renumbered
// in the order of the file.
#pragma once

#include <string>
#include <string_view>

#include "orthant/base/export.hpp"
#include "orthant/model/mesh.hpp"

namespace ORTHANT_EXPORT orthant {

/// By the ending of the name, .msh or .vtu. Throws Error naming the file, the line and what was
/// expected: a file cut short, a binary one, an unknown version, a corner that is no node. The mesh
/// is not yet checked: see check_mesh().
Mesh read_mesh(const std::string& path);

/// The same from a text; `name` is used in messages.
Mesh parse_gmsh(std::string_view text, const std::string& name);
Mesh parse_vtu(std::string_view text, const std::string& name);

}  // namespace orthant
