// SPDX-License-Identifier: Apache-2.0
// shape/smooth.hpp: contacts of (super-)ellipsoids, cylinders, cones, tori. Private to the room.
// Cores seen from A's origin, world axes; radii are added by the caller.
#pragma once

#include "orthant/shape/contact_kernel.hpp"
#include "shape/polytope.hpp"

namespace orthant::internal {

/// A pair of cores of which at least B is curved: a.kind <= b.kind.
struct SmoothQuery {
  const ShapeView<double>& a;
  const ShapeView<double>& b;
  const Pose& X_WA;
  const Pose& X_WB;
  Vec3 x;            // B's origin seen from A
  double margin;     // of the cores
  const Vec3* hint;  // the last normal, from B to A; may be null
  bool exact_only;   // no more than the nearest point of a convex pair
};

/// All points with gap < margin: one for a rounded pair, up to four for flat ends and side lines of
/// cylinders and cones, each local minimum for a torus (at most kMaxContacts, nearest first).
int smooth_contacts(const SmoothQuery& q, ContactPoint* out);

/// Outward normals of the ellipsoid (or ellipse) with semi-axes a, at the points of its surface
/// that are locally nearest to y, in its own axes; the nearest first. One or two. Where a whole
/// circle of points is nearest, the one towards `towards`.
int nearest_normals(const double* a, int dim, const Vec3& y, const Vec3& towards, Vec3* normals);

/// Polytope core (or half-space) A against ellipsoid B.
int polytope_ellipsoid(const SmoothQuery& q, ContactPoint* out);
int ellipsoid_ellipsoid(const SmoothQuery& q, ContactPoint* out);
/// Anything convex up to ShapeKind::SuperEllipsoid against super-ellipsoid B.
int any_super(const SmoothQuery& q, ContactPoint* out);
/// Anything convex against cylinder or cone B.
int any_turned(const SmoothQuery& q, ContactPoint* out);
/// Anything against torus B.
int any_torus(const SmoothQuery& q, ContactPoint* out);

/// Fills a core contact with a Smooth feature.
inline void set_smooth(ContactPoint& out, std::int16_t code_a, std::int16_t code_b, double gap,
                       const Vec3& n, const Vec3& a, const Vec3& b, double s_a, double s_b) {
  out.gap = gap;
  out.normal = n;
  out.point_a = a;
  out.point_b = b;
  ContactFeature f;
  f.kind = FeatureKind::Smooth;
  f.first = code_a;
  f.second = code_b;
  for (int i = 0; i < 3; ++i) f.start_normal[i] = n[i];
  f.start_place[0] = s_a;
  f.start_place[1] = s_b;
  out.feature = f;
}

}  // namespace orthant::internal
