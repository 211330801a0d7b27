// SPDX-License-Identifier: Apache-2.0
// device/spheres.hpp: one world of very many spheres under gravity, with planes and exact Coulomb
// friction, by sweeps: on the host here, on a CUDA device by liborthant_cuda, with the same bits.
// The law is that of `accuracy: fast` (docs/run.md), in double precision (docs/gpu.md).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/device/sphere_report.hpp"
#include "orthant/model/model.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

/// Spheres without a model: for more of them than one would name.
struct SphereArrays {
  std::vector<double> radius, mass;  ///< by sphere [m, kg]
  std::vector<int> material = {};    ///< by sphere; empty: all 0
  struct Plane {
    Vec3 normal = Vec3(0, 0, 1);
    double offset = 0;  ///< n·x of its points [m]
    int material = 0;
  };
  std::vector<Plane> planes = {};
  MatX friction = MatX::Constant(1, 1, 0.5);  ///< by pair of materials, symmetric
  Vec3 gravity = Vec3(0, 0, -9.81);
};

/// A model of spheres as the sweeps run it. Throws Error that names what they do not take: bodies
/// with other shapes, joints, forces, restitution, rolling friction, compliance.
class SphereProgram {
 public:
  SphereProgram(const Model& model, const Parameters& parameters, const StepSettings& settings,
                const SphereSettings& spheres = {});
  /// `h`: step [s]; `margin` as StepSettings::contact_margin.
  SphereProgram(const SphereArrays& arrays, double h, const SphereSettings& spheres = {},
                double margin = 0.1);
  ~SphereProgram();
  SphereProgram(SphereProgram&&) noexcept;
  SphereProgram& operator=(SphereProgram&&) noexcept;

  std::size_t count() const;  ///< spheres: q has 7 numbers for each, v 6, in the order of the model
  /// The spheres' share of a state of the model, and back.
  void gather(const State& state, std::span<double> q, std::span<double> v) const;
  void scatter(std::span<const double> q, std::span<const double> v, State& state) const;

  /// One step on the host; goes on from the impulses of the last one. Throws Error on wrong sizes.
  SphereReport step(std::span<double> q, std::span<double> v);
  /// The next step starts from no impulses.
  void forget();

  /// All of it as plain bytes: what liborthant_cuda takes (include/orthant/device/cuda.h).
  const std::vector<unsigned char>& bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant
