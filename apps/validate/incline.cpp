// SPDX-License-Identifier: Apache-2.0
// validate/incline.cpp: Coulomb friction against its closed forms.
//   slope a: rest while tan a <= μ, else v = g (sin a − μ cos a) t along the slope
// The slope is turned by a heading about the vertical: friction must not know the axes.
#include <numbers>

#include "validate/simulate.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kFriction = 0.5;
constexpr double kHeadings[] = {0, 30, 45, 90};

struct Slope {
  Vec3 normal, down;  // unit, down the steepest line
  Quat orientation;   // of a body that lies on it, edges along and across
};

Slope slope(double angle, double heading) {
  const Eigen::AngleAxisd tilt(angle * kDegree, Vec3::UnitY());
  const Eigen::AngleAxisd turn(heading * kDegree, Vec3::UnitZ());
  const Eigen::Quaterniond q(turn * tilt);
  return {q * Vec3::UnitZ(), q * Vec3::UnitX(), {q.w(), q.x(), q.y(), q.z()}};
}

Model on_slope(const Slope& at, Shape shape, double height, double friction, const Vec3& velocity) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = friction});
  builder.add_body({.name = "slope",
                    .motion = Motion::Fixed,
                    .orientation = at.orientation,
                    .shapes = {{.shape = Shape::half_space(), .material = "surface"}}});
  builder.add_body({.name = "body",
                    .position = height * at.normal,
                    .orientation = at.orientation,
                    .velocity = velocity,
                    .shapes = {{.shape = std::move(shape), .material = "surface"}}});
  return builder.build();
}

Shape block() { return Shape::box(0.2, 0.2, 0.05); }

std::string label(const char* group, double angle, double heading, const char* what) {
  return std::string(group) + "/" + to_text(angle) + "deg/heading" + to_text(heading) + "/" + what;
}

}  // namespace

void incline(Checks& out) {
  for (const double heading : kHeadings) {
    for (const double angle : {20.0, 26.0}) {
      Simulation sim(on_slope(slope(angle, heading), block(), 0.05, kFriction, Vec3::Zero()));
      const Vec3 start = sim.position("body");
      sim.run(10);
      out.push_back({label("incline", angle, heading, "creep_10s"),
                     (sim.position("body") - start).norm(), 1e-9, "m"});
    }
    for (const double angle : {27.0, 30.0}) {
      const Slope at = slope(angle, heading);
      Simulation sim(on_slope(at, block(), 0.05, kFriction, Vec3::Zero()));
      const Vec3 start = sim.position("body");
      sim.run(1);
      const double a =
          kGravity * (std::sin(angle * kDegree) - kFriction * std::cos(angle * kDegree));
      out.push_back({label("incline", angle, heading, "speed_1s"),
                     (sim.velocity("body") - a * at.down).norm() / a, 1e-9, "relative"});
      // A first-order step puts the position off by h v/2.
      out.push_back({label("incline", angle, heading, "position_1s"),
                     (sim.position("body") - start - 0.5 * a * at.down).norm(),
                     0.51 * a * sim.settings.h, "m"});
    }
  }
}

void thrown_block(Checks& out) {
  const double speed = 2, time = 0.3;
  for (const double heading : kHeadings) {
    const Vec3 along(std::cos(heading * kDegree), std::sin(heading * kDegree), 0);
    // Edges stay along x and y: the heading is of the throw alone.
    Simulation sim(on_slope(slope(0, 0), block(), 0.05, kFriction, speed * along));
    sim.run(time);
    const double expected = speed - kFriction * kGravity * time;
    out.push_back({label("thrown_block", 0, heading, "velocity"),
                   (sim.velocity("body") - expected * along).norm() / expected, 1e-9, "relative"});
    sim.run(0.7);
    out.push_back(
        {label("thrown_block", 0, heading, "stops"), sim.velocity("body").norm(), 1e-9, "m/s"});
  }
}

void rolling_sphere(Checks& out) {
  for (const double heading : kHeadings) {
    const double angle = 20, radius = 0.1;
    const Slope at = slope(angle, heading);
    Simulation sim(on_slope(at, Shape::sphere(radius), radius, kFriction, Vec3::Zero()));
    sim.run(1);
    const double expected = 5.0 / 7 * kGravity * std::sin(angle * kDegree);
    out.push_back({label("rolling_sphere", angle, heading, "speed_1s"),
                   (sim.velocity("body") - expected * at.down).norm() / expected, 1e-9,
                   "relative"});
  }
}

}  // namespace orthant::validation
