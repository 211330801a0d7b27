// SPDX-License-Identifier: Apache-2.0
// force/rpy.hpp: forces on spheres in a viscous fluid => their velocities, u = M f.
//   M_ij = (1 + a_i² ∇²/6)(1 + a_j² ∇²/6) G(x_i − x_j),  G(r) = (I + r̂r̂ᵀ)/(8 π η r)
// the tensor of Rotne, Prager and Yamakawa, with its regularisation where spheres overlap (Zuk,
// Wajnryb, Mizerski, Szymczak 2014): symmetric and positive definite wherever the spheres are.
// Few spheres are summed pair by pair. Many are split as in Ewald's sum: what is near pair by pair,
// the smooth rest on a grid by fast Fourier transforms, in free space or in a periodic box.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

struct RpySettings {
  double viscosity = 1;  ///< η [Pa s]
  /// Error of the split sum, of the largest velocity [-]; below 1e-9: plain sums, exact to
  /// rounding.
  double tolerance = 1e-5;
  /// Spheres in free space up to which all pairs are summed, exact to rounding.
  Index direct_up_to = 8192;
  /// Lower and upper corner of a box whose opposite sides are one, in all three directions [m].
  std::optional<std::array<Vec3, 2>> box = {};
};

/// η M_ij = identity · I + along · r̂r̂ᵀ of two spheres at distance r [1/m].
struct RpyPair {
  double identity = 0, along = 0;
};
RpyPair rpy_pair(double r, double radius_a, double radius_b);

class RpyMobility {
 public:
  /// Throws Error for a radius or viscosity that is not positive, a place that is not finite, and,
  /// where sums are split, for more than six different radii.
  RpyMobility(std::vector<Vec3> centres, std::vector<double> radii, const RpySettings& settings);
  ~RpyMobility();
  RpyMobility(RpyMobility&&) noexcept;
  RpyMobility& operator=(RpyMobility&&) noexcept;

  Index count() const;
  /// u = M f: three numbers per sphere [N], [m/s]. Thread-safe.
  void apply(const VecX& f, VecX& u) const;
  /// Pairs or plain Ewald sums, exact to rounding.
  bool is_direct() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant
