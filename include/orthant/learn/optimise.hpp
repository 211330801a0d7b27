// SPDX-License-Identifier: Apache-2.0
// learn/optimise.hpp: (cost, gradient, curvature) of few unknowns in a box => a local minimum.
//   levenberg_marquardt   (A + ν diag A) d = −g on the free unknowns, A the Gauss–Newton matrix
//   projected_bfgs        A built from gradients, for costs that are no sums of squares
//   pattern_search        costs only: the last word where a cost is rough
// Unknowns at a bound that the gradient pushes outwards are held; steps are cut to the box.
#pragma once

#include <functional>
#include <string>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

/// A cost at a point. `curvature` is read by levenberg_marquardt alone.
struct CostValue {
  double cost = 0;
  VecX gradient;
  MatX curvature;
};
/// The second argument says whether derivatives are wanted. Must be a pure function.
using CostFunction = std::function<CostValue(const VecX& x, bool derivatives)>;
/// Called after each iteration with its number, the point and the cost; false stops.
using OptimiserProgress = std::function<bool(int iteration, const VecX& x, double cost)>;

struct OptimiserSettings {
  int max_iterations = 50;
  double x_tolerance = 1e-6;         ///< of the box or of |x|: smaller steps end the search [-]
  double gradient_tolerance = 1e-9;  ///< of the projected gradient times the box, over the cost [-]
  OptimiserProgress progress = {};
};

enum class OptimiserStop : std::uint8_t {
  SmallStep,
  SmallGradient,
  NoDescent,
  IterationLimit,
  Interrupted,
  NotFinite,
};
std::string_view name_of(OptimiserStop stop);

struct OptimiserResult {
  VecX x;
  double cost = 0;
  int iterations = 0, evaluations = 0;
  OptimiserStop stop = OptimiserStop::NotFinite;
};

/// Bounds may be infinite. Throws Error for an empty box or a start outside it.
OptimiserResult levenberg_marquardt(const CostFunction& f, const VecX& lower, const VecX& upper,
                                    const VecX& start, const OptimiserSettings& settings = {});
OptimiserResult projected_bfgs(const CostFunction& f, const VecX& lower, const VecX& upper,
                               const VecX& start, const OptimiserSettings& settings = {});
/// Compass search along the axes and the last good direction, steps from `step` of the box halved
/// until x_tolerance.
OptimiserResult pattern_search(const CostFunction& f, const VecX& lower, const VecX& upper,
                               const VecX& start, double step,
                               const OptimiserSettings& settings = {});

/// Width of the box along each axis; where that is infinite, max(1, |start|).
VecX box_scale(const VecX& lower, const VecX& upper, const VecX& start);

}  // namespace orthant
