// SPDX-License-Identifier: Apache-2.0
// shape/shape.cpp: numbers from a caller => checked shapes, bounds, widths.
#include "orthant/shape/shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"
#include "shape/hull.hpp"

namespace orthant {
namespace {

void require_positive(double value, std::string_view name, std::string_view field) {
  if (!(value > 0) || !std::isfinite(value))
    throw Error(name, std::string(field) + " must be positive and finite, is " + to_text(value));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Distance from face f to the farthest vertex behind it: the width across that face.
double width_across(const ShapeView<double>& s, Index f) {
  const PlaneT<double> plane = core_face(s, f);
  double depth = 0;
  for (Index i = 0; i < s.topology->vertex_count; ++i)
    depth = std::max(depth, plane.normal.dot(plane.point - core_vertex(s, i)));
  return depth;
}

}  // namespace

Shape::Shape(ShapeKind kind, int dim, std::string_view name, std::vector<double> parameters,
             std::shared_ptr<const HullTopology> topology)
    : kind_(kind),
      dim_(dim),
      name_(name),
      parameters_(std::move(parameters)),
      topology_(std::move(topology)) {
  if (!topology_) topology_ = internal::fixed_topology(kind, dim);
  if (kind != ShapeKind::Hull) check_parameters(view(), name);
}

Shape Shape::sphere(double radius, std::string_view name) {
  return {ShapeKind::Sphere, 3, name, {radius}, nullptr};
}
Shape Shape::capsule(double radius, double half_length, std::string_view name) {
  return {ShapeKind::Capsule, 3, name, {radius, half_length}, nullptr};
}
Shape Shape::box(double half_x, double half_y, double half_z, std::string_view name) {
  return {ShapeKind::Box, 3, name, {half_x, half_y, half_z}, nullptr};
}
Shape Shape::hull(std::span<const Vec3> points, std::string_view name) {
  internal::HullResult h = internal::convex_hull_3d(points, name);
  return {ShapeKind::Hull, 3, name, std::move(h.parameters), std::move(h.topology)};
}
Shape Shape::ellipsoid(double semi_x, double semi_y, double semi_z, std::string_view name) {
  return {ShapeKind::Ellipsoid, 3, name, {semi_x, semi_y, semi_z}, nullptr};
}
Shape Shape::super_ellipsoid(double semi_x, double semi_y, double semi_z, double e1, double e2,
                             std::string_view name) {
  return {ShapeKind::SuperEllipsoid, 3, name, {semi_x, semi_y, semi_z, e1, e2}, nullptr};
}
Shape Shape::torus(double major, double minor, std::string_view name) {
  return {ShapeKind::Torus, 3, name, {major, minor}, nullptr};
}
Shape Shape::rounded_hull(std::span<const Vec3> points, double radius, std::string_view name) {
  require_positive(radius, name, "radius");
  internal::HullResult h = internal::convex_hull_3d(points, name);
  auto topology = std::make_shared<HullTopology>(*h.topology);
  topology->rounded = true;
  h.parameters.push_back(radius);
  return {ShapeKind::Hull, 3, name, std::move(h.parameters), std::move(topology)};
}
Shape Shape::cylinder(double radius, double half_length, std::string_view name) {
  return {ShapeKind::Cylinder, 3, name, {radius, half_length}, nullptr};
}
Shape Shape::cone(double radius, double half_length, std::string_view name) {
  return {ShapeKind::Cone, 3, name, {radius, half_length}, nullptr};
}
Shape Shape::half_space() { return {ShapeKind::HalfSpace, 3, "half_space", {}, nullptr}; }

Shape Shape::disc(double radius, std::string_view name) {
  return {ShapeKind::Sphere, 2, name, {radius}, nullptr};
}
Shape Shape::stadium(double radius, double half_length, std::string_view name) {
  return {ShapeKind::Capsule, 2, name, {radius, half_length}, nullptr};
}
Shape Shape::rectangle(double half_x, double half_y, std::string_view name) {
  return {ShapeKind::Box, 2, name, {half_x, half_y}, nullptr};
}
Shape Shape::polygon(std::span<const Vec2> points, std::string_view name) {
  internal::HullResult h = internal::convex_hull_2d(points, name);
  return {ShapeKind::Hull, 2, name, std::move(h.parameters), std::move(h.topology)};
}
Shape Shape::ellipse(double semi_x, double semi_y, std::string_view name) {
  return {ShapeKind::Ellipsoid, 2, name, {semi_x, semi_y}, nullptr};
}
Shape Shape::half_plane() { return {ShapeKind::HalfSpace, 2, "half_plane", {}, nullptr}; }

std::string Shape::parameter_name(int i) const {
  static constexpr const char* kHalf[] = {"half_x", "half_y", "half_z"};
  static constexpr const char* kSemi[] = {"semi_x", "semi_y", "semi_z"};
  static constexpr const char* kScale[] = {"scale_x", "scale_y", "scale_z"};
  static constexpr const char* kAxis[] = {".x", ".y", ".z"};
  switch (kind_) {
    case ShapeKind::Sphere:
      return "radius";
    case ShapeKind::Capsule:
    case ShapeKind::Cylinder:
    case ShapeKind::Cone:
      return i == 0 ? "radius" : "half_length";
    case ShapeKind::Mesh:
      return kScale[i];
    case ShapeKind::Box:
      return kHalf[i];
    case ShapeKind::Ellipsoid:
      return kSemi[i];
    case ShapeKind::SuperEllipsoid:
      return i < 3 ? kSemi[i] : i == 3 ? "e1" : "e2";
    case ShapeKind::Torus:
      return i == 0 ? "major" : "minor";
    case ShapeKind::Hull:
      if (i == topology_->vertex_count * dim_) return "radius";
      return "vertex/" + std::to_string(i / dim_) + kAxis[i % dim_];
    case ShapeKind::HalfSpace:
      break;
  }
  return {};
}

Shape Shape::with_parameters(std::span<const double> parameters) const {
  if (parameters.size() != parameters_.size())
    throw Error(name_, "has " + std::to_string(parameters_.size()) + " parameters, got " +
                           std::to_string(parameters.size()));
  Shape shape = *this;
  shape.parameters_.assign(parameters.begin(), parameters.end());
  check_parameters(shape.view(), name_);
  return shape;
}

Shape Shape::section() const {
  if (dim_ == 2) return *this;
  switch (kind_) {
    case ShapeKind::Sphere:
      return disc(parameters_[0], name_);
    case ShapeKind::Capsule:
      return stadium(parameters_[0], parameters_[1], name_);
    case ShapeKind::Box:
      return rectangle(parameters_[0], parameters_[1], name_);
    case ShapeKind::HalfSpace:
      return half_plane();
    case ShapeKind::Ellipsoid:
      return ellipse(parameters_[0], parameters_[1], name_);
    case ShapeKind::SuperEllipsoid:
      throw Error(name_, "a super-ellipsoid has no planar section");
    case ShapeKind::Torus:
      throw Error(name_, "a torus has no planar section that is one body");
    case ShapeKind::Cylinder:
      return rectangle(parameters_[1], parameters_[0], name_);
    case ShapeKind::Cone: {
      const double r = parameters_[0], h = parameters_[1];
      const Vec2 corners[] = {{-h, -r}, {h, 0}, {-h, r}};
      return polygon(corners, name_);
    }
    case ShapeKind::Mesh:
      throw Error(name_, "a mesh has no planar section");
    case ShapeKind::Hull:
      break;
  }
  if (topology_->rounded) throw Error(name_, "a rounded hull has no planar section");
  std::vector<Vec2> points;  // where the edges cross z = 0
  for (const HullEdge& e : topology_->edges) {
    const Vec3 a = core_vertex(view(), e.v0), b = core_vertex(view(), e.v1);
    if (a[2] == 0) points.push_back(a.head<2>());
    if (b[2] == 0) points.push_back(b.head<2>());
    if ((a[2] < 0) != (b[2] < 0) && a[2] != 0 && b[2] != 0)
      points.push_back((a + (b - a) * (a[2] / (a[2] - b[2]))).head<2>());
  }
  if (points.empty()) throw Error(name_, "the hull has no section at z = 0");
  return polygon(points, name_);
}

void check_parameters(const ShapeView<double>& s, std::string_view name) {
  static constexpr const char* kHalf[] = {"half_x", "half_y", "half_z"};
  static constexpr const char* kSemi[] = {"semi_x", "semi_y", "semi_z"};
  static constexpr const char* kScale[] = {"scale_x", "scale_y", "scale_z"};
  switch (s.kind) {
    case ShapeKind::Mesh:
      for (int k = 0; k < 3; ++k) require_positive(s.p[k], name, kScale[k]);
      return;
    case ShapeKind::Ellipsoid:
      for (int k = 0; k < s.dim; ++k) require_positive(s.p[k], name, kSemi[k]);
      return;
    case ShapeKind::SuperEllipsoid:
      for (int k = 0; k < 3; ++k) require_positive(s.p[k], name, kSemi[k]);
      for (int k = 3; k < 5; ++k)
        if (!(s.p[k] >= kLeastExponent && s.p[k] <= 1))
          throw Error(name, std::string(k == 3 ? "e1" : "e2") + " must be in [" +
                                to_text(kLeastExponent) + ", 1], is " + to_text(s.p[k]));
      return;
    case ShapeKind::Torus:
      require_positive(s.p[0], name, "major");
      require_positive(s.p[1], name, "minor");
      if (!(s.p[1] < s.p[0]))
        throw Error(
            name, "minor must be less than major (" + to_text(s.p[0]) + "), is " + to_text(s.p[1]));
      return;
    case ShapeKind::Sphere:
      require_positive(s.p[0], name, "radius");
      return;
    case ShapeKind::Capsule:
    case ShapeKind::Cylinder:
    case ShapeKind::Cone:
      require_positive(s.p[0], name, "radius");
      require_positive(s.p[1], name, "half_length");
      return;
    case ShapeKind::Box:
      for (int k = 0; k < s.dim; ++k) require_positive(s.p[k], name, kHalf[k]);
      return;
    case ShapeKind::HalfSpace:
      return;
    case ShapeKind::Hull:
      break;
  }
  if (s.topology->rounded) require_positive(core_radius(s), name, "radius");
  for (int i = 0; i < s.topology->vertex_count * s.dim; ++i)
    if (!std::isfinite(s.p[i]))
      throw Error(name, "hull vertex " + std::to_string(i / s.dim) + " must be finite, is " +
                            to_text(s.p[i]));
  // Moved vertices must keep the hull convex: no vertex above a face (to rounding of the size).
  const double tolerance = 1e-9 * bounding_radius(s);
  for (Index f = 0; f < s.topology->face_count(); ++f) {
    const PlaneT<double> plane = core_face(s, f);
    for (Index i = 0; i < s.topology->vertex_count; ++i) {
      const double height = plane.normal.dot(core_vertex(s, i) - plane.point);
      if (!(height <= tolerance))
        throw Error(name, "hull must stay convex: vertex " + std::to_string(i) + " is above face " +
                              std::to_string(f) + " by " + to_text(height));
    }
  }
}

MassProperties mass_properties(const Shape& shape, double density) {
  if (shape.kind() == ShapeKind::HalfSpace)
    throw Error(shape.name(), "a half-space has no mass: its body must be fixed or kinematic");
  if (shape.kind() == ShapeKind::Mesh)
    throw Error(shape.name(), "a mesh has no mass: its body must be fixed or kinematic");
  require_positive(density, shape.name(), "density");
  return mass_properties(shape.view(), density);
}

Bounds bounds(const ShapeView<double>& s, const Pose& X_WS) {
  Bounds box{Vec3::Constant(-kInfinity), Vec3::Constant(kInfinity)};
  if (s.kind == ShapeKind::HalfSpace) return box;
  const double r = core_radius(s);
  Vec3 reach(r, r, r);
  if (s.kind == ShapeKind::Mesh) {
    const TriangleMesh::Box& own = s.topology->mesh->nodes[0].box;
    const Vec3 scale(s.p[0], s.p[1], s.p[2]);
    const Vec3 centre = transform(X_WS, Vec3(0.5 * scale.cwiseProduct(own.lo + own.hi)));
    reach = matrix_of(X_WS.p).cwiseAbs() * (0.5 * scale.cwiseProduct(own.hi - own.lo));
    return {centre - reach, centre + reach};
  }
  if (s.kind == ShapeKind::Cone) {
    const Vec3 axis = rotate(X_WS.p, Vec3(1, 0, 0));
    const Vec3 base = X_WS.x - s.p[1] * axis, tip = X_WS.x + s.p[1] * axis;
    for (int i = 0; i < 3; ++i) reach[i] = s.p[0] * std::sqrt(std::max(0.0, 1 - axis[i] * axis[i]));
    return {tip.cwiseMin(base - reach), tip.cwiseMax(base + reach)};
  }
  if (s.kind == ShapeKind::Hull) {
    box = {Vec3::Constant(kInfinity), Vec3::Constant(-kInfinity)};
    const Mat3 R = matrix_of(X_WS.p);
    for (Index i = 0; i < s.topology->vertex_count; ++i) {
      const Vec3 v = R * core_vertex(s, i);
      box.lo = box.lo.cwiseMin(v);
      box.hi = box.hi.cwiseMax(v);
    }
    box.lo += X_WS.x - reach;
    box.hi += X_WS.x + reach;
  } else {
    if (s.kind == ShapeKind::Capsule)
      reach += (rotate(X_WS.p, Vec3(s.p[1], 0, 0))).cwiseAbs();
    else if (s.kind == ShapeKind::Ellipsoid) {
      const Mat3 R = matrix_of(X_WS.p);
      for (int i = 0; i < 3; ++i) {
        double square = 0;
        for (int k = 0; k < s.dim; ++k) square += R(i, k) * R(i, k) * s.p[k] * s.p[k];
        reach[i] = std::sqrt(square);
      }
    } else if (s.kind == ShapeKind::SuperEllipsoid) {
      const Mat3 R = matrix_of(X_WS.p);
      for (int i = 0; i < 3; ++i) {
        const Vec3 m = R.row(i).transpose();
        reach[i] = m.dot(internal::super_point(s.p, m));
      }
    } else if (s.kind == ShapeKind::Torus) {
      const Vec3 axis = rotate(X_WS.p, Vec3(0, 0, 1));
      for (int i = 0; i < 3; ++i)
        reach[i] += s.p[0] * std::sqrt(std::max(0.0, 1 - axis[i] * axis[i]));
    } else if (s.kind == ShapeKind::Cylinder) {
      const Vec3 axis = rotate(X_WS.p, Vec3(1, 0, 0));
      for (int i = 0; i < 3; ++i)
        reach[i] =
            s.p[1] * std::abs(axis[i]) + s.p[0] * std::sqrt(std::max(0.0, 1 - axis[i] * axis[i]));
    } else if (s.kind == ShapeKind::Box)
      reach = matrix_of(X_WS.p).cwiseAbs() * core_vertex(s, 7).cwiseAbs();
    box = {X_WS.x - reach, X_WS.x + reach};
  }
  if (s.dim == 2) box.lo[2] = box.hi[2] = 0;
  return box;
}

double bounding_radius(const ShapeView<double>& s) {
  if (s.kind == ShapeKind::HalfSpace) return kInfinity;
  if (s.kind == ShapeKind::Torus) return s.p[0] + s.p[1];
  if (s.kind == ShapeKind::Ellipsoid) return *std::max_element(s.p, s.p + s.dim);
  if (s.kind == ShapeKind::SuperEllipsoid) {
    // Largest x^2 + y^2 for x^p + y^p = 1: (a^s + b^s)^(2/s), s = 2p/(p - 2) = 2/(1 - e).
    const auto farthest = [](double a, double b, double e) {
      const double large = std::max(a, b), ratio = std::min(a, b) / large;
      return e < 1 ? large * std::pow(1 + std::pow(ratio, 2 / (1 - e)), 0.5 * (1 - e)) : large;
    };
    return farthest(farthest(s.p[0], s.p[1], s.p[4]), s.p[2], s.p[3]);
  }
  if (s.kind == ShapeKind::Mesh) {
    const TriangleMesh::Box& own = s.topology->mesh->nodes[0].box;
    return own.lo.cwiseAbs()
        .cwiseMax(own.hi.cwiseAbs())
        .cwiseProduct(Vec3(s.p[0], s.p[1], s.p[2]))
        .norm();
  }
  double square = 0;
  for (Index i = 0; i < s.topology->vertex_count; ++i)
    square = std::max(square, core_vertex(s, i).squaredNorm());
  return std::sqrt(square) + core_radius(s);
}

double smallest_width(const ShapeView<double>& s) {
  if (is_ground(s.kind)) return kInfinity;
  if (s.kind == ShapeKind::Cylinder) return 2 * std::min(s.p[0], s.p[1]);
  if (s.kind == ShapeKind::Cone)  // its height, or that of its triangle over the slope
    return 2 * s.p[1] * std::min(1.0, 2 * s.p[0] / std::hypot(s.p[0], 2 * s.p[1]));
  if (s.kind == ShapeKind::Sphere || s.kind == ShapeKind::Capsule) return 2 * s.p[0];
  if (s.kind == ShapeKind::Torus) return 2 * s.p[1];
  if (s.kind == ShapeKind::Ellipsoid) return 2 * *std::min_element(s.p, s.p + s.dim);
  if (s.kind == ShapeKind::SuperEllipsoid) return 2 * *std::min_element(s.p, s.p + 3);
  double width = kInfinity;
  for (Index f = 0; f < s.topology->face_count(); ++f) width = std::min(width, width_across(s, f));
  return width + 2 * core_radius(s);
}

}  // namespace orthant
