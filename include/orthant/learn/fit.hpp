// SPDX-License-Identifier: Apache-2.0
// learn/fit.hpp: (model, parameters, settings, measured motions, what to fit) => estimates with
// intervals, what the data cannot tell, and how well motions are predicted.
//   Simulate   Σ ρ(e), e² = mean over samples of |q_simulated ⊟ q_measured|², from measured starts;
//              exact derivatives of every step (gradient/step.hpp), Levenberg–Marquardt
//   Implicit   Σ L(transition) (learn/implicit_loss.hpp), projected BFGS; no simulation
// ρ is Huber's: tosses that went another way than any simulation count with their size, not its
// square.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/learn/implicit_loss.hpp"
#include "orthant/learn/optimise.hpp"
#include "orthant/learn/trajectory.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

enum class FitMethod : std::uint8_t { Simulate, Implicit };
std::string_view name_of(FitMethod method);

/// A parameter to be found. NaN: bounds and start by the kind of parameter (friction 0 … 2,
/// restitution 0 … 1, others half to twice the start) and by its present value.
struct FitParameter {
  std::string name;  ///< as in Parameters
  double lower = std::numeric_limits<double>::quiet_NaN();
  double upper = std::numeric_limits<double>::quiet_NaN();
  double start = std::numeric_limits<double>::quiet_NaN();
};

/// Called with what is going on ("start", "descent", "polish", …), the number of costs so far, the
/// best values and their cost; false stops with the best found.
using FitProgress =
    std::function<bool(std::string_view stage, int evaluations, const VecX& best, double cost)>;

struct FitOptions {
  std::vector<FitParameter> parameters;
  FitMethod method = FitMethod::Simulate;
  Index horizon = 0;  ///< samples simulated from one measured start; 0: the whole motion
  int substeps = 1;   ///< steps a sample: h = dt/substeps, whatever settings.h says
  /// Error where ρ turns linear: Simulate [m], Implicit √(2L) [√J]. 0: half the median (Simulate),
  /// the median of transitions near contact (Implicit), at the point the last descent starts from.
  double huber = 0;
  int starts = 16;                 ///< points of the box tried first, besides the given start
  std::size_t motions_first = 16;  ///< motions that the starts are judged by
  bool polish = true;              ///< Simulate: pattern search at the end, for rough costs
  int max_iterations = 30;
  /// Share of samples left out of the curvature: those whose sensitivity says that the whole box
  /// moves them by more than this many body sizes (chaos; they stay in the cost).
  double sensitivity_limit = 100;
  ImplicitWeights implicit = {};
  FitProgress progress = {};
};

struct Estimate {
  std::string name;
  double value = 0;
  double deviation = 0;             ///< standard deviation; infinite: cannot be told
  double lower95 = 0, upper95 = 0;  ///< value ± 1.96 deviations, cut to the bounds
  double lower = 0, upper = 0, start = 0;
  bool identified = true;
  bool at_bound = false;
};

struct FitResult {
  std::vector<Estimate> estimates;
  Parameters parameters;           ///< with the estimates in place
  std::vector<std::string> notes;  ///< what the data cannot tell, and why
  FitMethod method = FitMethod::Simulate;
  double cost = 0, start_cost = 0, huber = 0;
  int evaluations = 0, iterations = 0;
  OptimiserStop stop = OptimiserStop::NotFinite;
  Index motions = 0, windows = 0, samples = 0;
  Index touching = 0, sticking = 0, sliding = 0;  ///< contacts with an impulse, at the estimate
  bool identified() const;
};

/// Throws Error for unknown parameters (with the nearest spelling), parameters given twice, empty
/// bounds, too little data, and friction or restitution asked of data that never touch.
FitResult fit(const Model& model, const Parameters& parameters, const StepSettings& settings,
              const TrajectoryData& data, const FitOptions& options);

// --- prediction ---------------------------------------------------------------------------------

enum class Predictor : std::uint8_t {
  Simulation,
  Ballistic,  ///< parabola and constant spin: nothing ever touches
};

/// Errors of whole motions predicted from their first sample. One number a motion: mean over its
/// samples, largest body.
struct PredictionScore {
  std::vector<double> position;  ///< [m]
  std::vector<double> rotation;  ///< [rad]
  std::vector<double> final_position;
  double median_position = 0, median_rotation = 0, median_final = 0;
  double mean_position = 0, mean_rotation = 0;
};
PredictionScore score(const Model& model, const Parameters& parameters,
                      const StepSettings& settings, const TrajectoryData& data, int substeps = 1,
                      Predictor predictor = Predictor::Simulation);

/// The predicted motion, sampled as the measured one (q_size() x samples).
MatX predict(const Model& model, const Parameters& parameters, const StepSettings& settings,
             const TrajectoryData& data, std::size_t trajectory, int substeps = 1,
             Predictor predictor = Predictor::Simulation);

}  // namespace orthant
