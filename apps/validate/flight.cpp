// SPDX-License-Identifier: Apache-2.0
// validate/flight.cpp: free flight and impacts against their closed forms.
#include "validate/simulate.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

StepSettings with_events() { return {.impact_events = true}; }

/// Spheres of radius r along x without gravity or friction, elastic.
Model balls_in_a_row(const std::vector<double>& x, const std::vector<double>& velocity,
                     const std::vector<double>& mass, double radius) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "ivory", .friction = 0, .restitution = 1});
  for (std::size_t i = 0; i < x.size(); ++i) {
    builder.add_body({.name = "ball" + std::to_string(i),
                      .position = Vec3(x[i], 0, 0),
                      .velocity = Vec3(velocity[i], 0, 0),
                      .shapes = {{.shape = Shape::sphere(radius), .material = "ivory"}},
                      .mass = mass[i]});
  }
  return builder.build();
}

}  // namespace

void projectile(Checks& out) {
  ModelBuilder builder;
  builder.add_body({.name = "ball",
                    .position = Vec3(0, 0, 2),
                    .velocity = Vec3(3, -1, 4),
                    .shapes = {{.shape = Shape::sphere(0.1)}}});
  Simulation sim(builder.build());
  sim.run(1);
  const Vec3 exact(3, -1, 2 + 4 - 0.5 * kGravity);
  out.push_back({"projectile/position_1s", (sim.position("ball") - exact).norm(), 1e-12, "m"});
  out.push_back({"projectile/velocity_1s",
                 (sim.velocity("ball") - Vec3(3, -1, 4 - kGravity)).norm(), 1e-12, "m/s"});
}

void spinning_body(Checks& out) {
  // A T of two boxes, spun about its middle axis with a small push: it tumbles.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_body(
      {.name = "T",
       .angular_velocity = Vec3(0.01, 0.02, 10),
       .shapes = {{.shape = Shape::box(0.15, 0.03, 0.03)},
                  {.shape = Shape::box(0.03, 0.03, 0.1), .offset = {Vec3(0, 0, -0.13), {}}}}});
  Simulation sim(builder.build());
  const Body& body = sim.model.body(sim.model.find_body("T"));
  const auto momentum = [&] {
    VelocityMatrix M;
    assemble_mass(sim.model, sim.parameters, sim.state.q, M);
    VecX L;
    M.multiply(sim.state.v, L);
    return Vec3(L.segment<3>(body.v_begin + 3));
  };
  const Vec3 L = momentum();
  const double E = kinetic_energy(sim.model, sim.parameters, sim.state.q, sim.state.v);
  double energy_error = 0, momentum_error = 0;
  for (int i = 0; i < 1000; ++i) {
    (void)sim.step();
    energy_error = std::max(energy_error, std::abs(sim.report.kinetic / E - 1));
    momentum_error = std::max(momentum_error, (momentum() - L).norm() / L.norm());
  }
  out.push_back({"spinning_body/energy_10s", energy_error, 1e-9, "relative"});
  out.push_back({"spinning_body/angular_momentum_10s", momentum_error, 1e-9, "relative"});
}

void bouncing_ball(Checks& out) {
  const double restitution = 0.8, radius = 0.05, drop = 1;
  ModelBuilder builder;
  builder.add_material({.name = "rubber", .friction = 0, .restitution = restitution});
  builder.add_body(floor_body("rubber"));
  builder.add_body({.name = "ball",
                    .position = Vec3(0, 0, radius + drop),
                    .shapes = {{.shape = Shape::sphere(radius), .material = "rubber"}}});
  Simulation sim(builder.build(), with_events());
  // In flight the height of the next top is known at any time; each bounce multiplies it by ε².
  double height = drop, worst = 0;
  int bounces = 0;
  for (int i = 0; i < 400 && bounces < 4; ++i) {
    if (sim.step().events == 0) continue;
    ++bounces;
    const double v = sim.velocity("ball").z();
    const double top = sim.position("ball").z() - radius + v * v / (2 * kGravity);
    worst = std::max(worst, std::abs(top / height / (restitution * restitution) - 1));
    height = top;
  }
  out.push_back({"bouncing_ball/height_ratio", bounces == 4 ? worst : NAN, 1e-6, "relative"});
}

void two_balls(Checks& out) {
  const double radius = 0.1, x1 = -0.5, x2 = 0.13, v1 = 1.3, v2 = -0.2, T = 1;
  {
    Simulation sim(balls_in_a_row({x1, x2}, {v1, v2}, {1, 1}, radius), with_events());
    sim.run(T);
    // Equal masses exchange velocities: the struck ball goes on where the other would have been.
    out.push_back({"two_balls/equal/position",
                   std::abs(sim.position("ball1").x() - (x1 + v1 * T + 2 * radius)), 1e-9, "m"});
    out.push_back(
        {"two_balls/equal/velocity", std::abs(sim.velocity("ball1").x() - v1), 1e-9, "m/s"});
  }
  const double m1 = 1, m2 = 1e4;
  Simulation sim(balls_in_a_row({x1, x2}, {v1, v2}, {m1, m2}, radius), with_events());
  sim.run(T);
  const double centre = (m1 * v1 + m2 * v2) / (m1 + m2);
  out.push_back({"two_balls/unequal/light", std::abs(sim.velocity("ball0").x() - (2 * centre - v1)),
                 1e-9, "m/s"});
  out.push_back({"two_balls/unequal/heavy", std::abs(sim.velocity("ball1").x() - (2 * centre - v2)),
                 1e-9, "m/s"});
}

void cradle(Checks& out) {
  const double radius = 0.05;
  for (int striking = 1; striking <= 3; ++striking) {
    std::vector<double> x, v;
    for (int i = 0; i < 5; ++i) {
      x.push_back(2 * radius * i - (i < striking ? 0.103 : 0));
      v.push_back(i < striking ? 1.0 : 0.0);
    }
    Simulation sim(balls_in_a_row(x, v, std::vector<double>(5, 1.0), radius), with_events());
    sim.run(0.3);
    double worst = 0;
    for (int i = 0; i < 5; ++i) {
      const double expected = i >= 5 - striking ? 1.0 : 0.0;
      worst = std::max(worst, std::abs(sim.velocity("ball" + std::to_string(i)).x() - expected));
    }
    out.push_back({"cradle/" + std::to_string(striking) + "_of_5", worst, 1e-9, "m/s"});
  }
}

void elastic_gas(Checks& out) {
  const double radius = 0.05, half = 0.5;
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "ivory", .friction = 0, .restitution = 1});
  BodySpec walls{.name = "walls", .motion = Motion::Fixed};
  for (int d = 0; d < 3; ++d) {
    for (const double side : {-1.0, 1.0}) {
      walls.shapes.push_back({.shape = Shape::half_space(),
                              .offset = {side * half * Vec3::Unit(d), z_to(-side * Vec3::Unit(d))},
                              .material = "ivory"});
    }
  }
  builder.add_body(walls);
  std::uint64_t seed = 1;
  const auto random = [&] {  // in [-1, 1), the same on every machine
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(seed >> 11) * 0x1p-52 - 1;
  };
  for (int i = 0; i < 27; ++i) {
    const int column = i % 3, row = i / 3 % 3, layer = i / 9;
    const Vec3 cell(column - 1, row - 1, layer - 1);
    const Vec3 jitter(random(), random(), random()), velocity(random(), random(), random());
    builder.add_body({.name = "ball" + std::to_string(i),
                      .position = 0.3 * cell + 0.05 * jitter,
                      .velocity = velocity,
                      .shapes = {{.shape = Shape::sphere(radius), .material = "ivory"}}});
  }
  Simulation sim(builder.build(), with_events());
  const double start = kinetic_energy(sim.model, sim.parameters, sim.state.q, sim.state.v);
  int impacts = 0;
  double worst = 0, energy = start;
  for (int i = 0; i < 300; ++i) {
    impacts += sim.step().events;
    if (sim.report.events > 0)
      worst = std::max(worst, std::abs(sim.report.kinetic / energy - 1) / sim.report.events);
    energy = sim.report.kinetic;
  }
  out.push_back({"elastic_gas/energy_an_impact", impacts > 100 ? worst : NAN, 1e-9, "relative"});
  out.push_back(
      {"elastic_gas/energy_3s", std::abs(energy / start - 1), 1e-9 * impacts, "relative"});
  out.push_back({"elastic_gas/penetration", sim.deepest / radius, 1e-8, "radii"});
}

void tunnelling(Checks& out) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_body({.name = "wall",
                    .motion = Motion::Fixed,
                    .shapes = {{.shape = Shape::box(0.005, 0.5, 0.5)}}});
  builder.add_body({.name = "ball",
                    .position = Vec3(-0.733, 0.01, 0.02),
                    .velocity = Vec3(100, 0, 0),
                    .shapes = {{.shape = Shape::sphere(0.005)}}});
  for (const bool events : {false, true}) {
    Simulation sim(builder.build(), {.impact_events = events});
    double farthest = -1;
    for (int i = 0; i < 10; ++i) {
      (void)sim.step();
      farthest = std::max(farthest, sim.position("ball").x());
    }
    out.push_back({std::string("tunnelling/") + (events ? "events" : "default"),
                   std::max(0.0, farthest + 0.01) / 0.005, 1e-6, "radii"});
  }
}

}  // namespace orthant::validation
