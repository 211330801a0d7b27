// SPDX-License-Identifier: Apache-2.0
// orthant/loss.hpp: a formula over the final state of a rollout => its value and derivatives.
#pragma once

#include <string>

#include "orthant/model/model.hpp"

namespace orthant::app {

/// A number and its derivatives; an empty vector is zero.
struct Loss {
  double value = 0;
  VecX by_q;  ///< tangent coordinates, v_size()
  VecX by_v;  ///< v_size()
  /// What parameters do beside moving the state (the mass in an energy); aligned with
  /// Parameters::values.
  VecX by_parameters;
};

/// Numbers, + - * / ^, parentheses, sqrt, abs, pi, and of the state
///   position(BODY).x  velocity(BODY).x  spin(BODY).x  angle(BODY)  speed(BODY)
///   distance(BODY, BODY)  distance(BODY, [x, y, z])  kinetic  energy
/// Throws Error with the nearest spelling.
Loss evaluate_loss(const std::string& text, const Model& model, const Parameters& parameters,
                   const State& state);

/// "position(ball).x" taken apart; the place of that number in State::v.
struct StateName {
  bool is_state = false;  ///< false: no name of this kind
  bool velocity = false;  ///< velocity or spin, otherwise position or rotation
  Index place = 0;
};
/// position(BODY).x, rotation(BODY).z, velocity(BODY).y, spin(BODY).z of a body that moves.
StateName state_name(const std::string& text, const Model& model);

}  // namespace orthant::app
