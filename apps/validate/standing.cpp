// SPDX-License-Identifier: Apache-2.0
// validate/standing.cpp: what must stand, stands; what is heavy does not sink.
#include <numbers>

#include "validate/simulate.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

/// Largest distance of a body's centre from where it was.
double drift(const Simulation& sim, const VecX& q) {
  double worst = 0;
  for (const Body& body : sim.model.bodies()) {
    const Index n = body.planar ? 2 : 3;
    worst =
        std::max(worst, (sim.state.q.segment(body.q_begin, n) - q.segment(body.q_begin, n)).norm());
  }
  return worst;
}

void check_standing(Checks& out, const std::string& name, Simulation& sim, double seconds,
                    double bound) {
  const VecX start = sim.state.q;
  sim.run(seconds);
  out.push_back({name + "/drift", drift(sim, start), bound, "m"});
  out.push_back({name + "/penetration", sim.deepest, bound, "m"});
}

Quat about_y(double angle) { return {std::cos(0.5 * angle), 0, std::sin(0.5 * angle), 0}; }

}  // namespace

void cube_stack(Checks& out) {
  constexpr int kCubes = 50;
  for (const double mass : {1.0, 1000.0}) {
    for (const double gap : {0.0, 1e-4}) {
      ModelBuilder builder;
      builder.add_material({.name = "stone", .friction = 0.6});
      builder.add_body(floor_body("stone"));
      std::uint64_t seed = 777;
      const auto random = [&] {  // up to 5 mm to the side
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        return 0.005 * (static_cast<double>(seed >> 11) * 0x1p-52 - 1);
      };
      std::vector<Vec3> closed;  // where the centres belong when the gaps have closed
      for (int i = 0; i < kCubes; ++i) {
        closed.emplace_back(random(), random(), 0.5 + i);
        builder.add_body({.name = "cube" + std::to_string(i),
                          .position = closed.back() + Vec3(0, 0, gap * (i + 1)),
                          .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5), .material = "stone"}},
                          .mass = mass});
      }
      Simulation sim(builder.build());
      sim.run(10);
      double worst = 0;
      for (int i = 0; i < kCubes; ++i)
        worst = std::max(worst, (sim.position("cube" + std::to_string(i)) - closed[i]).norm());
      const std::string name =
          "cube_stack/" + to_text(mass) + "kg/" + (gap > 0 ? "gap0.1mm" : "touching");
      out.push_back({name + "/drift_10s", worst, 1e-6, "m"});
      out.push_back({name + "/penetration", sim.deepest, 1e-6, "m"});
    }
  }
}

void card_house(Checks& out) {
  // Cards of length L and thickness T lean by θ against each other: their upper inner edges meet,
  // the outer lower edges stand on the card below; lying cards bridge from top to top.
  const double L = 0.1, W = 0.06, T = 0.002, lean = 20 * kDegree;
  const double s = std::sin(lean), c = std::cos(lean);
  const double height = L * c + T * s, pitch = 2 * (L * s + T * c) + 0.001;
  constexpr int kLevels = 3;
  ModelBuilder builder;
  builder.add_material({.name = "card", .friction = 0.7});
  builder.add_body(floor_body("card"));
  const Vec3 centre(0.5 * (L * s + T * c), 0, 0.5 * (L * c + T * s));
  for (int level = 0; level < kLevels; ++level) {
    const double z = level * (height + T);
    const int tents = kLevels - level;
    for (int i = 0; i < tents; ++i) {
      const double x = pitch * (i - 0.5 * (tents - 1));
      for (const double side : {-1.0, 1.0}) {
        builder.add_body(
            {.position = Vec3(x + side * centre.x(), 0, z + centre.z()),
             .orientation = about_y(-side * lean),
             .shapes = {{.shape = Shape::box(0.5 * T, 0.5 * W, 0.5 * L), .material = "card"}}});
      }
      if (i + 1 == tents) continue;
      builder.add_body({.position = Vec3(x + 0.5 * pitch, 0, z + height + 0.5 * T),
                        .shapes = {{.shape = Shape::box(0.5 * (pitch - 4e-4), 0.5 * W, 0.5 * T),
                                    .material = "card"}}});
    }
  }
  Simulation sim(builder.build());
  check_standing(out, "card_house", sim, 10, 1e-6);
}

void arch(Checks& out) {
  constexpr int kStones = 15;
  const double inner = 1.0, outer = 1.25, half_depth = 0.15;
  ModelBuilder builder;
  builder.add_material({.name = "stone", .friction = 0.7});
  builder.add_body(floor_body("stone"));
  for (int i = 0; i < kStones; ++i) {
    std::vector<Vec3> corners;
    for (const int k : {i, i + 1}) {
      const double angle = std::numbers::pi * k / kStones;
      // Exactly on the floor at both ends: sin(pi) is not 0 in double precision.
      const double z = k == kStones ? 0 : std::sin(angle);
      for (const double radius : {inner, outer})
        for (const double y : {-half_depth, half_depth})
          corners.emplace_back(radius * std::cos(angle), y, radius * z);
    }
    builder.add_body({.name = "stone" + std::to_string(i),
                      .shapes = {{.shape = Shape::hull(corners), .material = "stone"}}});
  }
  Simulation sim(builder.build());
  check_standing(out, "arch", sim, 10, 1e-6);
}

void mass_ratio(Checks& out) {
  constexpr int kSpheres = 8;
  const double radius = 0.5;
  for (const double overall : {1e7, 1e8}) {
    for (const double gap : {0.0, 1e-3}) {
      ModelBuilder builder;
      builder.add_body(floor_body(""));
      for (int i = 0; i < kSpheres; ++i) {
        const std::string name = "sphere" + std::to_string(i);
        const Vec3 centre(0, 0, radius + 2 * radius * i + gap * (i + 1));
        builder.add_body({.name = name,
                          .position = centre,
                          .shapes = {{.shape = Shape::sphere(radius)}},
                          .mass = std::pow(overall, i / (kSpheres - 1.0))});
        for (const JointKind kind : {JointKind::LockX, JointKind::LockY, JointKind::LockRotation})
          builder.add_joint({.kind = kind, .a = name, .anchor = centre});
      }
      Simulation sim(builder.build());
      sim.run(2);
      out.push_back(
          {"mass_ratio/" + to_text(overall) + (gap > 0 ? "/gap1mm" : "/touching") + "/penetration",
           sim.deepest / radius, 1e-3, "radii"});
    }
  }
}

void painleve_rod(Checks& out) {
  // A rod that slides on its lower tip, tip first, steeper than the friction cone allows: with
  // accelerations there is no solution; with impulses it jams within the step.
  const double length = 0.5, radius = 0.01, angle = 60 * kDegree;
  ModelBuilder builder;
  builder.add_material({.name = "chalk", .friction = 2});
  builder.add_body({.name = "board",
                    .motion = Motion::Fixed,
                    .planar = true,
                    .shapes = {{.shape = Shape::half_plane(), .material = "chalk"}}});
  builder.add_body({.name = "rod",
                    .motion = Motion::Planar,
                    .position = Vec3(0, radius + length * std::sin(angle), 0),
                    .angle = angle,
                    .velocity = Vec3(-2, 0, 0),
                    .shapes = {{.shape = Shape::stadium(radius, length), .material = "chalk"}}});
  Simulation sim(builder.build());
  double rise = 0;
  double energy = kinetic_energy(sim.model, sim.parameters, sim.state.q, sim.state.v) +
                  potential_energy(sim.model, sim.parameters, sim.state.q, 0);
  const double start = energy;
  for (int i = 0; i < 200; ++i) {
    (void)sim.step();
    rise = std::max(rise, (sim.energy() - energy) / start);
    energy = sim.energy();
  }
  out.push_back({"painleve_rod/failed_steps", static_cast<double>(sim.failed), 0, "steps"});
  out.push_back({"painleve_rod/penetration", sim.deepest, 1e-8, "m"});
  out.push_back({"painleve_rod/energy_rise_a_step", rise, 1e-6, "relative"});
}

}  // namespace orthant::validation
