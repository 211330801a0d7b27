// SPDX-License-Identifier: Apache-2.0
// shape/contacts.hpp: (shape A, pose, shape B, pose) => signed distance, contact manifold.
//   gap(A, B) = max over unit n of [min_{a in A} n.a - max_{b in B} n.b],  n from B to A
// which is the distance of separated bodies and minus the penetration depth of overlapping ones; it
// is continuous through touching. Both shapes must be planar or both spatial.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/shape/contact_kernel.hpp"
#include "orthant/shape/shape.hpp"

namespace ORTHANT_EXPORT orthant {

/// Most points contacts() writes.
inline constexpr int kMaxContacts = 4;

/// The contact points of a pair with gap < margin; returns how many (0: apart). out[0] is the
/// nearest point, its gap the signed distance. Faces give up to 4 well-spread points in space and 2
/// in the plane, parallel edges and capsules 2 (3 when they cross at a small angle), everything
/// else 1. Each feature gives the same numbers in evaluate_contact(), to rounding. Two half-spaces
/// never touch. Coincident centres of spheres take the normal +z (planar: +y); a centre on a
/// capsule's axis a fixed normal across the axis. Points at clipped corners of tilted faces slide
/// along their edge: the derivative of their gap is that of evaluate_contact(), not n.(dp_A - dp_B)
/// alone.
int contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
             const Pose& X_WB, double margin, ContactPoint* out);

/// The same with one point a convex pair, the nearest; a torus keeps each local minimum of the
/// separation. `hint`, where given, is a unit normal from B to A near the answer (the last one):
/// ellipsoids start there, which is faster and changes nothing else.
int deepest_contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                     const Pose& X_WB, double margin, const Vec3* hint, ContactPoint* out);

/// Signed distance with witness points, for any separation. For two half-spaces the gap is
/// +infinity.
ContactPoint distance(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                      const Pose& X_WB);

}  // namespace orthant
