// SPDX-License-Identifier: Apache-2.0
// validate/joints.cpp: joints that do not drift, swings that keep their energy and their time.
#include "validate/simulate.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

/// Links along x, released horizontally from the origin.
Model chain(int links) {
  const Vec3 half(0.1, 0.025, 0.025);
  ModelBuilder builder;
  for (int i = 0; i < links; ++i) {
    const std::string name = "link" + std::to_string(i);
    builder.add_body({.name = name,
                      .position = Vec3(2 * half.x() * (i + 0.5), 0, 0),
                      .shapes = {{.shape = Shape::box(half.x(), half.y(), half.z()), .mask = 0}},
                      .mass = 0.5});
    builder.add_joint({.kind = JointKind::Ball,
                       .a = name,
                       .b = i == 0 ? "world" : "link" + std::to_string(i - 1),
                       .anchor = Vec3(2 * half.x() * i, 0, 0)});
  }
  return builder.build();
}

}  // namespace

void pendulum(Checks& out) {
  // A disc of radius r on an arm l: T = 4 sqrt((r²/2 + l²)/(g l)) K(sin(θ/2)).
  const double radius = 0.1, arm = 0.5, amplitude = 1.0;
  ModelBuilder builder;
  builder.add_body({.name = "disc",
                    .motion = Motion::Planar,
                    .position = arm * Vec3(std::sin(amplitude), -std::cos(amplitude), 0),
                    .shapes = {{.shape = Shape::disc(radius)}}});
  builder.add_joint({.kind = JointKind::Pin, .a = "disc", .anchor = Vec3::Zero()});
  Simulation sim(builder.build(), {.integrator = Integrator::Rattle});
  const double period = 4 * std::sqrt((0.5 * radius * radius + arm * arm) / (kGravity * arm)) *
                        std::comp_ellint_1(std::sin(0.5 * amplitude));
  // It passes x = 0 at T/4, 3T/4, 5T/4 …; the times between steps by a cubic through both ends.
  double first = 0, last = 0;
  int passes = 0;
  for (int i = 0; i < 1000; ++i) {
    const double x0 = sim.position("disc").x(), v0 = sim.velocity("disc").x(), t0 = sim.state.t;
    (void)sim.step();
    const double x1 = sim.position("disc").x(), v1 = sim.velocity("disc").x();
    if (x0 * x1 > 0) continue;
    const double h = sim.settings.h;
    double lo = 0, hi = 1;
    for (int k = 0; k < 60; ++k) {
      const double s = 0.5 * (lo + hi);
      const double x = (1 + 2 * s) * (1 - s) * (1 - s) * x0 + s * (1 - s) * (1 - s) * h * v0 +
                       s * s * (3 - 2 * s) * x1 + s * s * (s - 1) * h * v1;
      (x * x0 > 0 ? lo : hi) = s;
    }
    last = t0 + h * lo;
    if (passes++ == 0) first = last;
  }
  const double measured = passes > 1 ? 2 * (last - first) / (passes - 1) : NAN;
  out.push_back({"pendulum/period", std::abs(measured / period - 1), 1e-5, "relative"});
  out.push_back({"pendulum/joint_error", sim.joint_error, 1e-10, "m"});
}

void chain_drift(Checks& out) {
  Simulation sim(chain(50));
  sim.run(60);
  out.push_back({"chain_drift/50_links_60s/joint_error", sim.joint_error, 1e-8, "m"});
  out.push_back(
      {"chain_drift/50_links_60s/failed_steps", static_cast<double>(sim.failed), 0, "steps"});
}

void chain_energy(Checks& out) {
  for (const int links : {10, 50}) {
    Simulation sim(chain(links),
                   {.integrator = Integrator::Rattle, .substep = links == 10 ? 1e-3 : 5e-4});
    const double scale = links * 0.5 * kGravity * links * 0.2 / 2;  // m g length/2
    double worst = 0;
    const double start = potential_energy(sim.model, sim.parameters, sim.state.q, 0);
    for (int i = 0; i < 1000; ++i) {
      (void)sim.step();
      worst = std::max(worst, std::abs(sim.energy() - start) / scale);
    }
    const std::string name = "chain_energy/" + std::to_string(links) + "_links_10s";
    out.push_back({name + "/energy", worst, 0.01, "relative"});
    out.push_back({name + "/joint_error", sim.joint_error, 1e-8, "m"});
  }
}

void four_bar(Checks& out) {
  // Four parallel hinges in space: 20 rows, of which 17 would do for the one freedom that is left.
  ModelBuilder builder;
  const Vec3 corner[4] = {Vec3(0, 0, 0), Vec3(0.1, 0, 0.3), Vec3(0.7, 0, 0.4), Vec3(0.6, 0, 0)};
  const char* name[3] = {"crank", "coupler", "rocker"};
  for (int i = 0; i < 3; ++i) {
    const Vec3 along = corner[i + 1] - corner[i];
    const double angle = std::atan2(along.z(), along.x());
    builder.add_body(
        {.name = name[i],
         .position = 0.5 * (corner[i] + corner[i + 1]),
         .orientation = {std::cos(0.5 * angle), 0, -std::sin(0.5 * angle), 0},
         .shapes = {{.shape = Shape::box(0.5 * along.norm(), 0.02, 0.02), .mask = 0}}});
  }
  const char* a[4] = {"crank", "coupler", "rocker", "rocker"};
  const char* b[4] = {"world", "crank", "coupler", "world"};
  for (int i = 0; i < 4; ++i)
    builder.add_joint({.kind = JointKind::Revolute,
                       .a = a[i],
                       .b = b[i],
                       .anchor = corner[i],
                       .axis = Vec3::UnitY()});
  for (const Integrator integrator : {Integrator::Euler, Integrator::Rattle}) {
    Simulation sim(builder.build(), {.integrator = integrator});
    const double start = potential_energy(sim.model, sim.parameters, sim.state.q, 0);
    double lowest = start, worst = 0;
    for (int i = 0; i < 500; ++i) {
      (void)sim.step();
      lowest = std::min(lowest, sim.report.potential);
      worst = std::max(worst, std::abs(sim.energy() - start));
    }
    const std::string label =
        std::string("four_bar/") + (integrator == Integrator::Euler ? "default" : "rattle");
    out.push_back({label + "/joint_error", sim.joint_error, 1e-8, "m"});
    out.push_back({label + "/failed_steps", static_cast<double>(sim.failed), 0, "steps"});
    if (integrator == Integrator::Rattle)
      out.push_back({label + "/energy_5s", worst / (start - lowest), 0.01, "relative"});
  }
}

}  // namespace orthant::validation
