// SPDX-License-Identifier: Apache-2.0
// scenes/overdamped.cpp: bodies without inertia in a viscous medium.
#include "scenes/overdamped.hpp"

#include <numbers>
#include <string>

#include "orthant/model/model_builder.hpp"

namespace orthant::scenes {
namespace {

ModelBuilder overdamped() {
  ModelBuilder b;
  b.set_law(LawOfMotion::Overdamped);
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "smooth", .friction = 0});
  return b;
}

}  // namespace

Model passing_ellipsoids() {
  ModelBuilder b = overdamped();
  for (const double side : {-1.0, 1.0}) {
    const std::string name = side > 0 ? "upper" : "lower";
    b.add_body({.name = name,
                .position = {0.5 * side, 4 * side, 0},
                .orientation = exp_rotation(Vec3(0, 0, std::numbers::pi / 4)),
                .shapes = {{.shape = Shape::ellipsoid(2, 1, 1), .material = "smooth"}},
                .drag = 1,
                .length = 4});
    b.add_force(BodyForceSpec{.name = name + "_push", .body = name, .force = {0, -side, 0}});
  }
  return b.build();
}

Model drawn_rods(bool planar, std::span<const RodPlace> places) {
  ModelBuilder b = overdamped();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string name = "rod" + std::to_string(i);
    BodySpec body{
        .name = name,
        .motion = planar ? Motion::Planar : Motion::Spatial,
        .position = places[i].position,
        .shapes = {{.shape = planar ? Shape::stadium(0.25, 0.75) : Shape::capsule(0.25, 0.75),
                    .material = "smooth"}},
        .drag = 1,
        .length = 2};
    if (planar) {
      body.angle = places[i].angle;
    } else {
      body.orientation = exp_rotation(Vec3(0, places[i].tilt, places[i].angle));
    }
    b.add_body(body);
    b.add_force(
        SpringSpec{.name = "pull" + std::to_string(i), .a = name, .stiffness = 1, .rest = 0});
  }
  return b.build();
}

}  // namespace orthant::scenes
