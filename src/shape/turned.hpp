// SPDX-License-Identifier: Apache-2.0
// shape/turned.hpp: the bodies of a pair with a cylinder or cone in it, placed. Private to the
// room.
#pragma once

#include <cmath>

#include "shape/smooth.hpp"

namespace orthant::internal {

constexpr double kFlush = 0.05;  // sine up to which faces and lines count as side by side

/// A core where it is, seen from A's origin: a polytope, a (super-)ellipsoid, a cylinder or a cone.
struct PlacedCore {
  const ShapeView<double>* shape = nullptr;
  Pose X;
  Polytope polytope;            // polytopes only
  Mat3 E = Mat3::Zero();        // ellipsoids; of super-ellipsoids the rotation
  Vec3 axis = Vec3::Zero();     // cylinder and cone, to the + end
  double r = 0, h = 0;          // radius, half length
  double sine = 0, cosine = 1;  // of the outward normal of a cone's side, along and across the axis

  ShapeKind kind() const { return shape->kind; }
  bool is_turned() const { return orthant::is_turned(shape->kind); }
  /// One part all around.
  bool is_rounded() const {
    return kind() == ShapeKind::Ellipsoid || kind() == ShapeKind::SuperEllipsoid;
  }
  std::int16_t rounded_code() const {
    return smooth_code(
        kind() == ShapeKind::Ellipsoid ? PartKind::Ellipsoid : PartKind::SuperEllipsoid, 0);
  }
  Vec3 end(bool plus) const { return X.x + (plus ? h : -h) * axis; }

  /// Largest n.b of the core.
  double high(const Vec3& n) const {
    if (kind() == ShapeKind::Ellipsoid) return n.dot(X.x) + std::sqrt(n.dot(E * n));
    if (kind() == ShapeKind::SuperEllipsoid) {
      const Vec3 m = E.transpose() * n;
      return n.dot(X.x) + m.dot(super_point(shape->p, m));
    }
    if (is_turned()) {
      const double along = n.dot(axis), across = (n - along * axis).norm();
      if (kind() == ShapeKind::Cylinder) return n.dot(X.x) + h * std::abs(along) + r * across;
      return n.dot(X.x) + std::max(h * along, r * across - h * along);
    }
    Index unused;
    return highest(polytope, n, unused);
  }
  /// The part that reaches farthest along m and is a vertex, a rim or an ellipsoid.
  std::int16_t extreme(const Vec3& m) const {
    if (is_rounded()) return rounded_code();
    if (!is_turned()) {
      Index i;
      highest(polytope, m, i);
      return smooth_code(PartKind::Vertex, i);
    }
    const double along = m.dot(axis), across = (m - along * axis).norm();
    if (kind() == ShapeKind::Cylinder) return smooth_code(PartKind::Circle, along > 0 ? 1 : 0);
    return 2 * h * along > r * across ? smooth_code(PartKind::Vertex, kRimPoints)
                                      : smooth_code(PartKind::Circle, 0);
  }
};

/// The pair: f(n) = min_A n.a - max_B n.b, a lower bound of the gap for every unit n from B to A.
struct PlacedPair {
  const SmoothQuery& q;
  PlacedCore A, B;
  double scale = 0;

  double separation(const Vec3& n) const { return -A.high(-n) - B.high(n); }
};

/// Gap, normal and points of two parts near a start; the caller's radii (core_radius) are left to
/// it. False where the parts have no contact near the start.
bool evaluate_parts(const PlacedPair& pair, std::int16_t code_a, std::int16_t code_b, const Vec3& n,
                    double place_a, double place_b, ContactPoint& out);

/// Where on a part the contact with outward normal m is, `near` to a point of the other body.
double place_near(const PlacedCore& core, std::int16_t code, const Vec3& m, const Vec3& near);

/// Adds the other points of flush faces, of lines along faces, of parallel lines; out[0] holds the
/// nearest. Returns how many there are.
int add_flush_points(const PlacedPair& pair, ContactPoint* out);

/// The points of a cylinder or cone B over the half-space A.
int turned_on_plane(const PlacedPair& pair, bool exact_only, ContactPoint* out);

}  // namespace orthant::internal
