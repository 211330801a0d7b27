// SPDX-License-Identifier: Apache-2.0
// shape/mesh_contacts.hpp: (shape, pose, mesh, pose) => contact points, a manifold per normal.
#pragma once

#include <vector>

#include "orthant/shape/contacts.hpp"

namespace orthant {

/// All contacts of a shape with the triangles of a mesh, either of them A, with gap < margin;
/// appended in the order of the triangles. A triangle answers with its own normal where A is
/// over it. Its sides and corners answer only with normals no neighbouring triangle rises above:
/// what slides over a flat seam or into a valley does not feel it. At most four points share a
/// normal. Ground does not meet ground.
void mesh_contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                   const Pose& X_WB, double margin, std::vector<ContactPoint>& out);

}  // namespace orthant
