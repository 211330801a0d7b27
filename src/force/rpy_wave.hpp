// SPDX-License-Identifier: Apache-2.0
// force/rpy_wave.hpp: the smooth part of the RPY tensor that Hasimoto's splitting puts on a grid.
//   Ŵ(k) = sinc(k a) sinc(k b) (1 + κ) e^{−κ} / k² (I − k̂k̂ᵀ),  κ = k²/4ξ²       (η = 1)
// Both it and the rest, M − W, are positive in every k: so are their sums over spheres.
#pragma once

#include <vector>

#include "orthant/force/rpy.hpp"

namespace orthant::internal {

/// Factor of (I − k̂k̂ᵀ) in Ŵ, for k > 0.
double wave_amplitude(double k, double xi, double radius_a, double radius_b);

/// W(r) in free space by a table of polynomials, to rounding; beyond its end it is M itself.
class WaveKernel {
 public:
  WaveKernel(double xi, double radius_a, double radius_b);
  RpyPair at(double r) const;

 private:
  static constexpr int kTerms = 12;  // of a polynomial
  double a_, b_, width_, end_;
  std::vector<double> coefficients_;  // per interval kTerms of each function
};

}  // namespace orthant::internal
