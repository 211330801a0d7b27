// SPDX-License-Identifier: Apache-2.0
// reproduce/colony.hpp: the growing rods of the ReLCP paper (4.3), as its experiments share them.
#pragma once

#include <string>
#include <vector>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/session.hpp"

namespace orthant::reproduce {

/// Radius of a cell, its length from tip to tip when it is born, and the step.
inline constexpr double kCellRadius = 0.25, kCellLength = 2, kColonyStep = 1e-3;

struct Cell {
  BodyUid uid = 0;
  double x = 0, y = 0, angle = 0;

  void visit(Archive& a) { a(uid, x, y, angle); }
};

/// Overdamped stadia in the plane, all of one length.
ModelBuilder colony_of(const std::vector<Cell>& cells, double length);
StepSettings colony_settings(ConstraintScheme scheme, int spheres);
/// The parameters of all cells at the length they have now: from their birth on in one go, so that
/// a resumed run has the same bits.
void grow_to(double length, double born, const Model& model, Parameters& parameters);
/// Cells where the bodies are.
std::vector<Cell> cells_at(const Model& model, const State& x);
/// SVG, coloured by direction.
std::string colony_picture(const std::vector<Cell>& cells, double length);

/// How cells lie: both are 0 for random directions, 1 for parallel ones.
struct Order {
  double whole = 0;  ///< |mean of exp(2 i angle)|
  double near = 0;   ///< mean of cos 2(angle_i - angle_j) over centres nearer than `reach`
};
Order order_of(const std::vector<Cell>& cells, double reach);

}  // namespace orthant::reproduce
