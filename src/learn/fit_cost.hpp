// SPDX-License-Identifier: Apache-2.0
// learn/fit_cost.hpp: the two costs of a fit, behind one interface. Private to the room.
#pragma once

#include <memory>
#include <vector>

#include "orthant/learn/fit.hpp"

namespace orthant::internal {

/// What a fit is about, found once.
struct FitProblem {
  const Model& model;
  const Parameters& parameters;
  const StepSettings& settings;
  const TrajectoryData& data;
  const FitOptions& options;
  std::vector<Index> places;  ///< of the unknowns in Parameters::values
  VecX lower, upper, start, scale;
  double size = 1;  ///< of the largest body that moves [m]

  Parameters with(const VecX& x) const {
    Parameters p = parameters;
    for (std::size_t i = 0; i < places.size(); ++i) p.values[places[i]] = x[static_cast<Index>(i)];
    return p;
  }
};

/// Contacts that carried an impulse.
struct ContactCount {
  Index touching = 0, sticking = 0, sliding = 0;
  ContactCount& operator+=(const ContactCount& b) {
    touching += b.touching;
    sticking += b.sticking;
    sliding += b.sliding;
    return *this;
  }
};

class FitCost {
 public:
  virtual ~FitCost() = default;
  virtual CostValue operator()(const VecX& x, bool derivatives) = 0;
  /// At the estimate: curvature, one gradient a motion (columns), contacts.
  virtual CostValue examine(const VecX& x, MatX& scores, ContactCount& contacts) = 0;
  /// Curvature times the square of the box below which a parameter has no effect.
  virtual double blind(const VecX& x) const = 0;
  virtual void choose_huber(const VecX&) {}
  virtual double huber() const { return 0; }
  virtual Index windows() const = 0;
  virtual Index samples() const = 0;
};

std::unique_ptr<FitCost> make_simulate_cost(const FitProblem& problem);
std::unique_ptr<FitCost> make_implicit_cost(const FitProblem& problem);

/// Steps of one sample.
inline StepSettings sample_settings(const StepSettings& settings, double dt, int substeps) {
  StepSettings out = settings;
  out.h = dt / substeps;
  return out;
}

double median(std::vector<double> values);

}  // namespace orthant::internal
