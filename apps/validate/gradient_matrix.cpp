// SPDX-License-Identifier: Apache-2.0
// validate/gradient_matrix.cpp: every kind of parameter through every kind of motion.
//   {friction, restitution, mass, radius, hull vertices} x {rolling, sliding, impact} x {2D, 3D}
// A ball and a rock side by side, so that each scene has all five. Each entry is the worst relative
// error against differences over the parameters of its kind.
#include <array>
#include <limits>

#include "orthant/gradient/checker.hpp"
#include "validate/gradients.hpp"
#include "validate/simulate.hpp"

namespace orthant::validation {
namespace {

enum class Motion3 { Rolling, Sliding, Impact };
constexpr std::array kMotions = {Motion3::Rolling, Motion3::Sliding, Motion3::Impact};
constexpr std::array<const char*, 3> kMotionNames = {"rolling", "sliding", "impact"};

constexpr double kRadius = 0.1;
constexpr Index kSteps = 16;  // two impacts of the ball, one of the rock

Shape rock(bool planar) {
  if (planar) {
    const std::array<Vec2, 4> points = {Vec2(0.2, -0.02), Vec2(0.05, 0.12), Vec2(-0.15, 0.05),
                                        Vec2(-0.08, -0.1)};
    return Shape::polygon(points);
  }
  const std::array<Vec3, 5> points = {Vec3(0.2, 0, 0), Vec3(-0.1, 0.15, 0.01),
                                      Vec3(-0.12, -0.14, 0.02), Vec3(0.02, 0.01, 0.2),
                                      Vec3(0.03, -0.02, -0.1)};
  return Shape::hull(points);
}

/// Ball and rock above a floor at height 0, up being y in the plane and z in space.
Model scene(bool planar, Motion3 motion) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.4});
  BodySpec floor{.name = "floor", .motion = Motion::Fixed, .planar = planar};
  floor.shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(), .material = "m"}};
  b.add_body(floor);
  const auto lift = [&](double across, double up) {
    return planar ? Vec3(across, up, 0) : Vec3(across, 0.3 * across, up);
  };
  // In the plane the spin is about z; in space that of a ball rolling along x is about y.
  const auto spin = [&](double rate) {
    return planar ? Vec3(0, 0, rate) : Vec3(0.2 * rate, -rate, 0.1 * rate);
  };
  const bool hits = motion == Motion3::Impact;
  BodySpec ball{.name = "ball", .motion = planar ? Motion::Planar : Motion::Spatial};
  ball.shapes = {
      {.shape = planar ? Shape::disc(kRadius) : Shape::sphere(kRadius), .material = "m"}};
  BodySpec stone{.name = "rock", .motion = ball.motion};
  stone.shapes = {{.shape = rock(planar), .material = "m"}};
  // Rolling: the ball slips at first, then rolls; the rock tips over the corner it stands on.
  // Sliding: fast and with backspin, so that nothing sticks. Impact: both are thrown down.
  ball.position = lift(0, kRadius + (hits ? 0.03 : 1e-4));
  ball.velocity = motion == Motion3::Rolling ? lift(0.25, 0) : lift(1.5, hits ? -1.2 : 0);
  ball.angular_velocity = spin(motion == Motion3::Rolling ? 0 : 5);
  stone.position = lift(2, 0.1 + (hits ? 0.04 : 4e-3));
  stone.velocity = motion == Motion3::Rolling ? Vec3::Zero() : lift(2, hits ? -1 : 0);
  stone.angular_velocity = spin(motion == Motion3::Rolling ? -1 : 0.5);
  b.add_body(ball);
  b.add_body(stone);
  return b.build();
}

struct Kind {
  const char* name;
  std::string prefix;  // of the names of its parameters
};

}  // namespace

void gradient_matrix(Checks& out) {
  const std::array<Kind, 5> kinds = {Kind{"friction", "material/m.friction"},
                                     Kind{"restitution", "material/m.restitution"},
                                     Kind{"mass", "body/"}, Kind{"radius", "shape/ball.radius"},
                                     Kind{"vertices", "shape/rock.vertex"}};
  for (const bool planar : {true, false}) {
    for (std::size_t m = 0; m < kMotions.size(); ++m) {
      const Model model = scene(planar, kMotions[m]);
      StepSettings settings;
      settings.solver.tolerance = 1e-12;
      settings.impact_events = kMotions[m] == Motion3::Impact;
      GradientChecker checker(model, model.default_parameters(), settings, model.rest_state(),
                              kSteps);
      checker.check_q = checker.check_v = false;
      checker.parameters_checked.clear();
      const auto& table = model.parameter_table();
      const auto kind_of = [&](const std::string& name) {
        for (std::size_t k = 0; k < kinds.size(); ++k)
          if (name.rfind(kinds[k].prefix, 0) == 0 &&
              (kinds[k].prefix != "body/" || name.find(".mass") != std::string::npos))
            return k;
        return kinds.size();
      };
      for (Index i = 0; i < table.size(); ++i)
        if (kind_of(std::string(table.name(i))) < kinds.size())
          checker.parameters_checked.push_back(i);
      const GradientCheck check = checker.run();
      const std::string name =
          std::string("gradients/") + (planar ? "2d_" : "3d_") + kMotionNames[m];
      std::array<double, 5> worst;
      worst.fill(-1);
      for (const GradientCheckRow& row : check.rows)
        if (row.status == CheckStatus::Compared)
          worst[kind_of(row.name)] = std::max(worst[kind_of(row.name)], row.error);
      for (std::size_t k = 0; k < kinds.size(); ++k)
        out.push_back({name + "/" + kinds[k].name,
                       worst[k] < 0 ? std::numeric_limits<double>::infinity() : worst[k], 1e-6,
                       "relative"});
      out.push_back({name + "/not_compared", 1 - check.share(), 0.05, "share"});
    }
  }
}

}  // namespace orthant::validation
