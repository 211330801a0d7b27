// SPDX-License-Identifier: Apache-2.0
// reproduce/soft_ball.hpp: a soft ball pressed by rigid plates => its force over Hertz's.
//   F = 4/3 E/(1 − ν²) √R δ^(3/2),   a = √(R δ) the contact radius
// Hertz leaves out terms of the order of a/R, that the ball is finite. Frictionless, and steps far
// longer than any period, so that the motion plays no part.
#pragma once

#include <cmath>
#include <vector>

#include "orthant/model/graded_mesh.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant::reproduce {

struct PressedBall {
  double ratio = 0;    ///< force over Hertz's
  double contact = 0;  ///< Hertz's contact radius, of the ball's
  Index elements = 0, contacts = 0;
  int failed = 0;
};

/// `cells` across the ball, `finest` (of its radius) at the lower pole, contact radius `a`
/// (likewise). Between two plates; the approach is that of the centre to the lower one, where the
/// mesh is fine, so that the coarse pole above plays no part.
inline PressedBall press_ball(Index cells, double finest, double a) {
  constexpr double kYoung = 1e6, kPoisson = 0;  // ν = 0: linear tetrahedra lock least
  const double h = 10;
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .position = Vec3(0, 0, -1),
                    .shapes = {{.shape = Shape::half_space(), .material = "smooth"}}});
  builder.add_body({.name = "plate",
                    .motion = Motion::Kinematic,
                    .position = Vec3(0, 0, 1),
                    .orientation = {0, 1, 0, 0},
                    .shapes = {{.shape = Shape::half_space(), .material = "smooth"}}});
  const Mesh mesh = graded_ball_mesh(1, cells, finest);
  builder.add_flexible(
      {.name = "ball", .mesh = mesh, .young = kYoung, .poisson = kPoisson, .material = "smooth"});
  const Model model = builder.build();
  const FlexiblePart& part = model.flexible_parts()[0];
  const auto floor = model.body(model.find_body("floor")).uid;
  const Index plate = model.body(model.find_body("plate")).v_begin;
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  StepSettings settings{.h = h};
  settings.solver.tolerance = 1e-9;
  PressedBall out;
  out.elements = part.element_count();
  for (int i = 0; i < 3; ++i) {  // two to press, one to settle
    state.v.setZero();
    state.v[plate + 2] = i < 2 ? -a * a / h : 0;
    const StepReport report =
        step(model, model.default_parameters(), settings, {}, state, warm, workspace);
    out.failed += report.outcome != Outcome::Converged;
  }
  double force = 0;
  for (const WarmStart::Entry& e : warm.contacts) {
    if (e.key.body_a != floor) continue;
    force += e.impulse_W[2] / h;
    out.contacts += e.impulse_W[2] > 1e-6 * h * kYoung * a * a * a;
  }
  // Displacement of the centre, between the two nodes of the axis around it.
  double below = -2, above = 2, u_below = 0, u_above = 0;
  for (Index i = 0; i < part.node_count; ++i) {
    const Vec3& x = mesh.nodes[static_cast<std::size_t>(i)];
    if (std::hypot(x[0], x[1]) > 1e-12) continue;
    const double u = node_position(part, state.q, i)[2] - x[2];
    if (x[2] <= 0 && x[2] > below) below = x[2], u_below = u;
    if (x[2] > 0 && x[2] < above) above = x[2], u_above = u;
  }
  const double depth = -(u_below * above - u_above * below) / (above - below);
  out.ratio = force / (4.0 / 3 * kYoung / (1 - kPoisson * kPoisson) * depth * std::sqrt(depth));
  out.contact = std::sqrt(depth);
  return out;
}

}  // namespace orthant::reproduce
