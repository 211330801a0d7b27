// SPDX-License-Identifier: Apache-2.0
// reproduce/compaction.hpp: the suspension of ellipsoids of the ReLCP paper (4.2), as its
// experiments share it.
#pragma once

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/session.hpp"

namespace orthant::reproduce {

inline constexpr double kCutOff = 0.4;  ///< of the minor radius, for all methods

/// Ellipsoids (2, 1, 1) in a cube at 0.25 % volume fraction: uniform, isotropic, nothing touching;
/// drawn together by the field. `corners` > 0: as hulls of so many points of their surface.
Model suspension(int count, int corners = 0);
StepSettings compaction_settings(ConstraintScheme scheme, double h, int spheres);
/// Time after which the last body has come from a corner and settled.
double longest_compaction(int count);
/// Mean distance from the origin in a ball at 60 %.
double packed_radius(int count);
double mean_radius(const Model& model, const State& x);
/// A free body falls at 1/4; once the last has come to rest on others none is half as fast.
bool is_packed(const Model& model, const State& x);

/// Means over some steps of one method, from no warm start; `end`: where they lead.
struct PackingSample {
  double constraints = 0, solves = 0, iterations = 0, seconds = 0, seconds_solve = 0, deepest = 0,
         failed = 0;

  void visit(Archive& a) {
    a(constraints, solves, iterations, seconds, seconds_solve, deepest, failed);
  }
};
PackingSample measure(const Model& model, const State& packed, const StepSettings& settings,
                      int steps, State* end = nullptr);
/// Deepest overlap of the shapes of a model at q [m].
double deepest_overlap(const Model& model, const VecX& q);

}  // namespace orthant::reproduce
