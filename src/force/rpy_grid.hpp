// SPDX-License-Identifier: Apache-2.0
// force/rpy_grid.hpp: the smooth part of the mobility of many spheres, on a regular grid.
//   u = L C Lᵀ f:  L interpolates from the grid to the spheres (Lagrange), C holds W between points
// of the grid. W is a positive function, so C is a positive matrix, and so is L C Lᵀ, however
// coarse the grid: an error of the grid never costs symmetry or sign.
#pragma once

#include <array>
#include <complex>
#include <optional>
#include <span>
#include <vector>

#include "orthant/force/rpy.hpp"

namespace orthant::internal {

/// Three-dimensional transforms of real fields that fill a corner of the grid.
class GridTransform {
 public:
  /// `filled`: extent of the fields; `size`: that of the grid, zero beyond them.
  GridTransform(std::array<int, 3> filled, std::array<int, 3> size);
  std::size_t mode_count() const;
  std::size_t field_size() const;
  void forward(const std::vector<double>& field, std::vector<std::complex<double>>& modes) const;
  /// Overwrites the modes.
  void inverse(std::vector<std::complex<double>>& modes, std::vector<double>& field) const;
  const std::array<int, 3>& size() const { return size_; }
  int last_modes() const { return size_[2] / 2 + 1; }

 private:
  std::array<int, 3> filled_, size_;
};

/// The next size that is a product of 2, 3 and 5.
int transform_size(int least);

class WaveGrid {
 public:
  /// `spacing`: of the grid, at most; `order`: points of the interpolation along an axis, even.
  WaveGrid(std::span<const Vec3> centres, std::span<const int> radius_class,
           std::span<const double> radii, double xi, double spacing, int order,
           const std::optional<std::array<Vec3, 2>>& box);
  /// u += W f / η.
  void add(const VecX& f, double viscosity, VecX& u) const;

  /// Points that a grid over these extents has in its transforms.
  static double point_count(const Vec3& extent, double spacing, int order, bool periodic);

 private:
  void make_free_kernel();
  void make_periodic_kernel();
  /// Visits the grid points around sphere i: visit(place in a field, weight).
  template <class Visit>
  void around(std::size_t i, Visit&& visit) const;
  std::size_t pair_of(std::size_t a, std::size_t b) const;

  std::span<const Vec3> centres_;
  std::span<const int> class_;
  std::span<const double> radii_;  // of the classes
  double xi_;
  int order_;
  bool periodic_;
  Vec3 origin_ = Vec3::Zero(), step_ = Vec3::Zero();
  std::array<int, 3> filled_{};
  std::vector<double> denominators_;  // of the Lagrange polynomials
  std::optional<GridTransform> transform_;
  /// By pair of classes: in free space the six components of Ŵ, in a box its amplitude.
  std::vector<std::vector<double>> kernel_;
};

}  // namespace orthant::internal
