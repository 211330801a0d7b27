// SPDX-License-Identifier: Apache-2.0
// force/rpy_wave.hpp: the smooth part of the RPY tensor that Hasimoto's splitting puts on a grid.
//   Ŵ(k) = sinc(k a) sinc(k b) (1 + κ) e^{−κ} / k² (I − k̂k̂ᵀ),  κ = k²/4ξ²       (η = 1)
// Both it and the rest, M − W, are positive in every k: so are their sums over spheres.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <vector>

#include "orthant/force/rpy.hpp"

namespace orthant::internal {

/// Factor of (I − k̂k̂ᵀ) in Ŵ, for k > 0.
double wave_amplitude(double k, double xi, double radius_a, double radius_b);

/// A function of the distance, tabulated as polynomials of `kTerms` terms interval by interval.
template <int kTerms>
class RpyTable {
 public:
  /// From `begin` to `end` in intervals of at most `width`, within which the function is smooth.
  RpyTable(double begin, double end, double width, const std::function<RpyPair(double)>& function);
  RpyPair at(double r) const;

 private:
  double begin_, scale_;                      // intervals per metre
  std::vector<Eigen::Array2d> coefficients_;  // per interval kTerms, the highest power first
};

/// W(r) in free space, to rounding; beyond the end of its table it is M itself.
class WaveKernel {
 public:
  WaveKernel(double xi, double radius_a, double radius_b);
  RpyPair at(double r) const;

 private:
  double a_, b_, end_;
  RpyTable<12> table_;
};

/// What is left for near spheres, M − W, `along` divided by r²; of the squared distance, up to a
/// cut. At 0: of a sphere with itself. To 1e-9 of its largest value, or `exact` to rounding.
class NearKernel {
 public:
  NearKernel(double xi, double radius_a, double radius_b, double cut, bool exact);
  RpyPair at(double square) const {
    if (square <= formula_up_to_) return by_formula(square);
    return table_.at(std::sqrt(square));
  }

 private:
  RpyPair by_formula(double square) const;
  double a_, b_, formula_up_to_;
  WaveKernel wave_;
  RpyTable<6> table_;  // beyond contact, where M is smooth
};

template <int kTerms>
inline RpyPair RpyTable<kTerms>::at(double r) const {
  const double place = (r - begin_) * scale_;
  const int n = static_cast<int>(place);
  const double t = 2 * (place - n) - 1;
  const Eigen::Array2d* c = coefficients_.data() + kTerms * n;
  Eigen::Array2d sum = c[0];
  for (int i = 1; i < kTerms; ++i) sum = sum * t + c[i];
  return {sum[0], sum[1]};
}

}  // namespace orthant::internal
