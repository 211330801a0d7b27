// SPDX-License-Identifier: Apache-2.0
// validate/flexible.cpp: flexible parts against beam theory, elasticity and Coulomb's law.
//   cantilever  w = F L³/(3 E I)      elastica  E I θ'' = −F cos θ      bar  f = c/(4 L)
//   ball between plates  F = 4/3 E/(1 − ν²) √R δ^(3/2)
// Linear triangles and tetrahedra are too stiff in bending, by about (2 + 3 (G/E)(dx/dy)²)/n² with
// n cells across: the beams here have n = 16 to 20 and ν = 0. Equilibria are found by steps so long
// that inertia is nothing beside stiffness, with the velocities set to zero after each.
#include <cmath>
#include <numbers>

#include "orthant/force/flexible.hpp"
#include "reproduce/soft_ball.hpp"
#include "validate/simulate.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

constexpr double kLength = 1, kThickness = 0.05, kYoung = 1e7, kDensity = 1000;
constexpr double kSecondMoment = kThickness * kThickness * kThickness / 12;  // unit width

bool at_root(const Vec3& x) { return x[0] == 0; }
bool at_tip(const Vec3& x) { return x[0] > kLength - 1e-9; }

/// A planar cantilever along x, fixed at the root, a dead load on the tip.
Simulation cantilever(Index cells, double load, const StepSettings& settings) {
  const Mesh mesh = rectangle_mesh(kLength, kThickness, static_cast<Index>(20 * cells), cells);
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_flexible({.name = "beam",
                        .mesh = mesh,
                        .young = kYoung,
                        .poisson = 0,
                        .density = kDensity,
                        .fixed = nodes_where(mesh, at_root)});
  builder.add_force(NodeForceSpec{.name = "load",
                                  .part = "beam",
                                  .nodes = nodes_where(mesh, at_tip),
                                  .force = Vec3(0, -load, 0)});
  return Simulation(builder.build(), settings);
}

/// Mean position of the tip, from the middle of the tip at rest.
Vec3 tip(const Simulation& sim) {
  const FlexiblePart& part = sim.model.flexible_parts()[0];
  const NodeForce& load = sim.model.node_forces()[0];
  Vec3 sum = Vec3::Zero();
  for (const Index node : load.nodes)
    sum += node_position(part, sim.state.q, node) -
           node_position(part, sim.model.rest_state().q, node);
  return sum / static_cast<double>(load.nodes.size());
}

/// Long steps until nothing moves; the last change relative to the way made.
double settle(Simulation& sim, int most) {
  double change = 1;
  for (int i = 0; i < most && change > 1e-7; ++i) {
    const VecX before = sim.state.q;
    (void)sim.step();
    sim.state.v.setZero();
    change = (sim.state.q - before).norm() /
             std::max(1e-300, (sim.state.q - sim.model.rest_state().q).norm());
  }
  return change;
}

/// Tip of the elastica under F L²/(E I) = a: shooting for the angle at the tip, by bisection.
Vec2 elastica(double a) {
  const auto shoot = [&](double end, Vec2& at) {
    // From the free end: θ' = 0, θ = −end; back to the root, where θ must be 0.
    const int n = 4000;
    const double ds = 1.0 / n;
    double theta = end, rate = 0;
    at.setZero();
    for (int i = 0; i < n; ++i) {
      const auto slope = [&](double t) { return -a * std::cos(t); };
      const double k1 = rate, l1 = slope(theta);
      const double k2 = rate + 0.5 * ds * l1, l2 = slope(theta + 0.5 * ds * k1);
      const double k3 = rate + 0.5 * ds * l2, l3 = slope(theta + 0.5 * ds * k2);
      const double k4 = rate + ds * l3, l4 = slope(theta + ds * k3);
      const double middle = theta + 0.5 * ds * k1 + 0.125 * ds * ds * l1;
      at += ds * Vec2(std::cos(middle), std::sin(middle));
      theta += ds / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
      rate += ds / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
    }
    return theta;
  };
  double lo = 0, hi = 0.5 * std::numbers::pi;
  Vec2 at;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (lo + hi);
    (shoot(middle, at) < 0 ? lo : hi) = middle;
  }
  (void)shoot(0.5 * (lo + hi), at);
  return at;  // (horizontal, downward) of the tip, in units of L
}

void bending(Checks& out) {
  const double load = 1e-3 * 3 * kYoung * kSecondMoment / kLength / kLength / kLength;
  Simulation sim = cantilever(20, load, {.h = 1e3});
  (void)settle(sim, 4);
  out.push_back({"flexible/cantilever/deflection", std::abs(-tip(sim)[1] / 1e-3 - 1), 0.02,
                 "relative to Euler-Bernoulli"});
  double error[2];
  for (int level = 0; level < 2; ++level) {
    Simulation coarse = cantilever(level == 0 ? 5 : 10, load, {.h = 1e3});
    (void)settle(coarse, 4);
    error[level] = std::abs(-tip(coarse)[1] / 1e-3 - 1);
  }
  out.push_back(
      {"flexible/cantilever/second_order", error[1] / error[0], 0.35, "error of 10 over 5 layers"});
}

void large_rotation(Checks& out) {
  const double a = 2, load = a * kYoung * kSecondMoment / kLength / kLength;
  Simulation sim = cantilever(16, load, {.h = 0.05});
  // Shorter steps first: a full Newton step from the straight beam would overshoot.
  sim.parameters.set("fe/beam.damping_mass", 20);
  sim.run(3);
  sim.settings.h = 10;
  const double change = settle(sim, 40);
  const Vec2 exact = elastica(a);
  out.push_back(
      {"flexible/elastica/down", std::abs(-tip(sim)[1] / exact[1] - 1), 0.03, "relative"});
  out.push_back(
      {"flexible/elastica/back", std::abs(-tip(sim)[0] / (1 - exact[0]) - 1), 0.03, "relative"});
  out.push_back({"flexible/elastica/settled", change, 1e-6, "relative"});
}

/// Half a period between two passages of the tip through its rest position along `axis`.
double half_period(Simulation& sim, int axis, int most) {
  double first = -1, last = tip(sim)[axis];
  for (int i = 0; i < most; ++i) {
    (void)sim.step();
    const double now = tip(sim)[axis];
    if ((last < 0) != (now < 0)) {
      const double t = sim.state.t - sim.settings.h * now / (now - last);
      if (first >= 0) return t - first;
      first = t;
    }
    last = now;
  }
  return NAN;
}

void vibration(Checks& out) {
  // Bending: let go from the static deflection, which is the first mode to a few per cent.
  const double beta = 1.87510406871196;
  const double omega = beta * beta * std::sqrt(kYoung * kSecondMoment / (kDensity * kThickness));
  const double load = 1e-3 * 3 * kYoung * kSecondMoment;
  Simulation sim = cantilever(14, load, {.h = 1e3});
  (void)settle(sim, 3);
  sim.parameters.set("force/load.force.y", 0);
  sim.settings.h = 2 * std::numbers::pi / omega / 200;
  sim.state.t = 0;
  const double half = half_period(sim, 1, 200);
  out.push_back({"flexible/vibration/bending", std::abs(half * omega / std::numbers::pi - 1), 0.02,
                 "relative"});

  Simulation bar = cantilever(4, 0, {.h = 1e3});
  bar.parameters.set("force/load.force.x", 1e-3 * kYoung * kThickness);
  (void)settle(bar, 3);
  bar.parameters.set("force/load.force.x", 0);
  const double quarter = kLength / std::sqrt(kYoung / kDensity);  // a wave runs along the bar
  bar.settings.h = quarter / 100;
  bar.state.t = 0;
  out.push_back({"flexible/vibration/axial", std::abs(half_period(bar, 0, 500) / (2 * quarter) - 1),
                 0.02, "relative"});
}

/// A uniform strain of the border of a mesh whose inner nodes lie anywhere: every node must follow
/// it. One long step moves the border, a second one leaves no inertia behind.
double patch_error(Mesh mesh) {
  const auto inside = [&](const Vec3& x) {
    for (int a = 0; a < mesh.dim; ++a)
      if (x[a] < 1e-9 || x[a] > 1 - 1e-9) return false;
    return true;
  };
  const std::vector<Index> border = nodes_where(mesh, [&](const Vec3& x) { return !inside(x); });
  Index count = 0;
  for (Vec3& x : mesh.nodes) {
    ++count;
    if (!inside(x)) continue;
    for (int a = 0; a < mesh.dim; ++a) x[a] += 0.02 * std::sin(3.0 * count + 2.0 * a);
  }
  Mat3 strain;
  strain << 1e-2, 4e-3, -2e-3, 4e-3, -8e-3, 1e-3, -2e-3, 1e-3, 5e-3;
  if (mesh.dim == 2) strain.row(2).setZero();
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_flexible({.name = "patch", .mesh = mesh, .young = 1e5, .driven = border});
  Simulation sim(builder.build(), {.h = 1e4});
  const FlexiblePart& part = sim.model.flexible_parts()[0];
  for (const Index node : border) {
    const Vec3 way = strain * mesh.nodes[static_cast<std::size_t>(node)];
    for (int a = 0; a < mesh.dim; ++a)
      sim.state.v[part.v_begin[node] + a] = way[a] / sim.settings.h;
  }
  (void)sim.step();
  sim.state.v.setZero();
  (void)sim.step();
  double error = 0;
  for (Index i = 0; i < part.node_count; ++i) {
    const Vec3& x = mesh.nodes[static_cast<std::size_t>(i)];
    error = std::max(error, (node_position(part, sim.state.q, i) - x - strain * x).norm());
  }
  return error;
}

void patch(Checks& out) {
  out.push_back({"flexible/patch/space", patch_error(box_mesh(Vec3::Ones(), 3, 3, 3)), 1e-12, "m"});
  out.push_back({"flexible/patch/plane", patch_error(rectangle_mesh(1, 1, 5, 4)), 1e-12, "m"});
}

void free_flight(Checks& out) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_flexible({.name = "ball", .mesh = ball_mesh(0.5, 6), .young = 1e5});
  Simulation sim(builder.build(), {.h = 0.01});
  const FlexiblePart& part = sim.model.flexible_parts()[0];
  // A turn of one radian: no stress.
  const Eigen::Matrix3d R = Eigen::AngleAxisd(1, Vec3(1, 2, 3).normalized()).toRotationMatrix();
  for (Index i = 0; i < part.node_count; ++i) {
    const Vec3 x = R * node_position(part, sim.state.q, i);
    for (int a = 0; a < 3; ++a) sim.state.q[part.q_begin + 3 * i + a] = x[a];
  }
  double most = 0;
  for (const double s : element_stress_norms(sim.model, sim.parameters, sim.state.q, 0))
    most = std::max(most, s);
  out.push_back({"flexible/rotation/stress", most / 1e5, 1e-12, "of Young's modulus"});

  Vec3 before = Vec3::Zero(), after = Vec3::Zero();
  for (Index i = 0; i < part.node_count; ++i) {
    const Vec3 v(1 + std::sin(3.0 * i), std::cos(5.0 * i), 0.5 * std::sin(7.0 * i));
    for (int a = 0; a < 3; ++a) sim.state.v[part.v_begin[i] + a] = v[a];
    before += part.node_volume[i] * v;
  }
  sim.run(1);
  for (Index i = 0; i < part.node_count; ++i)
    after += part.node_volume[i] * node_velocity(part, sim.state.v, i);
  out.push_back(
      {"flexible/free/momentum", (after - before).norm() / before.norm(), 1e-10, "relative"});
}

void slope(Checks& out) {
  const double mu = 0.5;
  for (const double degrees : {20.0, 26.0, 27.0, 32.0}) {
    const double angle = degrees * std::numbers::pi / 180;
    ModelBuilder builder;
    builder.add_material({.name = "surface", .friction = mu});
    builder.set_gravity(kGravity * Vec3(std::sin(angle), 0, -std::cos(angle)));
    builder.add_body(floor_body("surface"));
    builder.add_flexible({.name = "block",
                          .mesh = box_mesh(Vec3(0.4, 0.4, 0.1), 4, 4, 1),
                          .young = 1e6,
                          .damping_stiffness = 0.005,
                          .material = "surface"});
    Simulation sim(builder.build(), {.h = 0.01});
    const auto mean_speed = [&] {
      const FlexiblePart& part = sim.model.flexible_parts()[0];
      double sum = 0, volume = 0;
      for (Index i = 0; i < part.node_count; ++i) {
        sum += part.node_volume[i] * node_velocity(part, sim.state.v, i)[0];
        volume += part.node_volume[i];
      }
      return sum / volume;
    };
    // The first second settles the block under its weight; the next one is measured.
    sim.run(1);
    const double start = mean_speed();
    sim.run(1);
    const double a = kGravity * (std::sin(angle) - mu * std::cos(angle));
    const std::string name = "flexible/slope/" + to_text(degrees) + "deg/";
    if (a < 0) {
      out.push_back({name + "creep", std::abs(mean_speed()), 1e-6, "m/s"});
    } else {
      out.push_back(
          {name + "speed_gained_1s", std::abs((mean_speed() - start) / a - 1), 1e-6, "relative"});
    }
    out.push_back({name + "failed_steps", static_cast<double>(sim.failed), 0, "steps"});
  }
}

/// A ball between plates, fine at one of them, at two levels.
void pressed_ball(Checks& out) {
  const double error[2] = {std::abs(reproduce::press_ball(6, 0.2 / 6, 0.05).ratio - 1),
                           std::abs(reproduce::press_ball(12, 0.2 / 12, 0.05).ratio - 1)};
  out.push_back({"flexible/hertz/force", error[1], 0.05, "relative"});
  out.push_back({"flexible/hertz/refined", error[1] / error[0], 0.5, "error of 12 over 6 cells"});
}

}  // namespace

void flexible(Checks& out) {
  patch(out);
  pressed_ball(out);
  free_flight(out);
  bending(out);
  vibration(out);
  slope(out);
}

void flexible_large(Checks& out) { large_rotation(out); }

}  // namespace orthant::validation
