// SPDX-License-Identifier: Apache-2.0
// shape/shape.hpp: shapes as values: a kind, its parameters, its topology.
// Built and checked here once; kernels and queries take a ShapeView, which may point at the shape's
// own parameters or into a model's flat parameter vector.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/pose_kernel.hpp"
#include "orthant/shape/mass_kernel.hpp"
#include "orthant/shape/shape_kernel.hpp"

namespace ORTHANT_EXPORT orthant {

/// A body, convex but for torus and mesh. Factories throw Error naming `name`, the rule and the
/// value.
class Shape {
 public:
  // In space [m].
  static Shape sphere(double radius, std::string_view name = "sphere");
  static Shape capsule(double radius, double half_length, std::string_view name = "capsule");
  static Shape box(double half_x, double half_y, double half_z, std::string_view name = "box");
  /// Convex hull of points; inner and duplicate points are dropped, flat sets refused.
  static Shape hull(std::span<const Vec3> points, std::string_view name = "hull");
  /// The same with edges and corners rounded: everything within `radius` of the hull.
  static Shape rounded_hull(std::span<const Vec3> points, double radius,
                            std::string_view name = "rounded hull");
  static Shape half_space();
  static Shape ellipsoid(double semi_x, double semi_y, double semi_z,
                         std::string_view name = "ellipsoid");
  /// (|x/a|^(2/e2) + |y/b|^(2/e2))^(e2/e1) + |z/c|^(2/e1) = 1: from an ellipsoid (e1 = e2 = 1)
  /// to nearly a box; e1, e2 in [0.4, 1].
  static Shape super_ellipsoid(double semi_x, double semi_y, double semi_z, double e1, double e2,
                               std::string_view name = "super-ellipsoid");
  /// Axis x, flat ends at -half_length and half_length.
  static Shape cylinder(double radius, double half_length, std::string_view name = "cylinder");
  /// Axis x, base at -half_length, tip at +half_length.
  static Shape cone(double radius, double half_length, std::string_view name = "cone");
  /// A ring about z: the circle of radius `major` with a tube of radius `minor` < major.
  static Shape torus(double major, double minor, std::string_view name = "torus");

  /// A surface of triangles for fixed and kinematic bodies; the matter is behind the faces (corners
  /// counter-clockwise from outside). Corners at the same place are joined; triangles without area
  /// are left out, and how many is written to `left_out` where given.
  static Shape mesh(std::span<const Vec3> corners,
                    std::span<const std::array<std::int32_t, 3>> triangles,
                    std::string_view name = "mesh", std::size_t* left_out = nullptr);
  /// A mesh over the rectangle |x| <= half_x, |y| <= half_y: rows x columns heights z, a row along
  /// x, the first at -half_y. Its parameters are half_x, half_y and the factor on the heights, 1.
  static Shape height_field(std::span<const double> heights, int rows, int columns, double half_x,
                            double half_y, std::string_view name = "height field");

  // In the plane: the sections z = 0.
  static Shape disc(double radius, std::string_view name = "disc");
  static Shape stadium(double radius, double half_length, std::string_view name = "stadium");
  static Shape rectangle(double half_x, double half_y, std::string_view name = "rectangle");
  static Shape polygon(std::span<const Vec2> points, std::string_view name = "polygon");
  static Shape half_plane();
  static Shape ellipse(double semi_x, double semi_y, std::string_view name = "ellipse");

  ShapeKind kind() const { return kind_; }
  int dim() const { return dim_; }
  const std::string& name() const { return name_; }
  std::span<const double> parameters() const { return parameters_; }
  int parameter_count() const { return static_cast<int>(parameters_.size()); }
  /// "radius", "half_x", "vertex/3.x", ...
  std::string parameter_name(int i) const;
  const HullTopology& topology() const { return *topology_; }

  /// The same shape with other numbers, checked.
  Shape with_parameters(std::span<const double> parameters) const;

  /// The planar section z = 0 of a spatial shape (a planar one is returned as it is): sphere =>
  /// disc, capsule => stadium, box => rectangle, hull => polygon, half-space => half-plane with
  /// normal +y, ellipsoid => ellipse, cylinder => rectangle, cone => triangle. Torus, mesh,
  /// rounded hull and super-ellipsoid have none: Error.
  Shape section() const;

  /// This shape with other parameters, in T: the door for dual numbers and a model's flat vector.
  template <class T>
  ShapeView<T> view(const T* p) const {
    return {kind_, dim_, p, topology_.get()};
  }
  ShapeView<double> view() const { return view(parameters_.data()); }
  operator ShapeView<double>() const { return view(); }  // NOLINT: a shape is its own view

 private:
  Shape(ShapeKind kind, int dim, std::string_view name, std::vector<double> parameters,
        std::shared_ptr<const HullTopology> topology);

  ShapeKind kind_;
  int dim_;
  std::string name_;
  std::vector<double> parameters_;
  std::shared_ptr<const HullTopology> topology_;
};

/// Throws Error when the view's parameters break the rules the factories enforce (positive finite
/// sizes; a hull whose vertices no longer span its faces outward). For parameters set after
/// building.
void check_parameters(const ShapeView<double>& shape, std::string_view name);

/// Mass, centre and inertia from a density [kg/m^3, planar kg/m^2]. Throws for a half-space.
MassProperties mass_properties(const Shape& shape, double density);

/// Axis-aligned box around the shape in the world; infinite for a half-space. z is 0 in the plane.
struct Bounds {
  Vec3 lo, hi;
};
Bounds bounds(const ShapeView<double>& shape, const Pose& X_WS);

/// Radius of the smallest ball about the shape's origin that holds it; infinite for a half-space.
double bounding_radius(const ShapeView<double>& shape);

/// Smallest distance from a face to the farthest point behind it (the diameter of round shapes):
/// the length to which contact margins are compared. Infinite for half-space and mesh.
double smallest_width(const ShapeView<double>& shape);

}  // namespace orthant
