// SPDX-License-Identifier: Apache-2.0
// scenes/stacking.cpp: bodies that must stand.
#include "scenes/common.hpp"

namespace orthant::scenes {

Scene drop(double height) {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.5});
  b.add_body(ground("wood"));
  b.add_body({.name = "box",
              .position = Vec3(0, 0, height + 0.5),
              .orientation = exp_rotation(Vec3(0.3, 0.2, 0.1)),
              .shapes = {{.shape = Shape::box(0.5, 0.4, 0.3), .material = "wood"}}});
  return finish(b, "A tilted box falls on the floor and comes to rest.", 300);
}

Scene stack(int n, double mass, double gap) {
  ModelBuilder b;
  b.add_material({.name = "stone", .friction = 0.6});
  b.add_body(ground("stone"));
  Jitter jitter(777);
  for (int i = 0; i < n; ++i) {
    const double x = jitter(0.005), y = jitter(0.005);
    b.add_body({.name = "cube" + std::to_string(i),
                .position = Vec3(x, y, 0.5 + i + gap * (i + 1)),
                .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5), .material = "stone"}},
                .mass = mass});
  }
  return finish(b, "Unit cubes stacked with 5 mm of jitter.", 500);
}

Scene pyramid(int base) {
  ModelBuilder b;
  b.add_material({.name = "stone", .friction = 0.6});
  b.add_body(ground("stone"));
  for (int row = 0; row < base; ++row)
    for (int i = 0; i < base - row; ++i) {
      b.add_body({.name = "box" + std::to_string(row) + "." + std::to_string(i),
                  .position = Vec3(1.1 * (i - 0.5 * (base - row - 1)), 0, 0.5 + row),
                  .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5), .material = "stone"}}});
    }
  return finish(b, "A wall of boxes, each on two below it.", 500);
}

Scene card_house(int levels) {
  // A card is a box: thickness t along x, length l along z, leaning by +-a. A leaning card is
  // l cos a + t sin a high; tents stand side by side without touching.
  const double t = 0.004, l = 0.2, width = 0.13, a = 20 * kDegree;
  const double rise = l * std::cos(a) + t * std::sin(a);
  const double apart = 0.5 * (t * std::cos(a) + l * std::sin(a));  // of a card's centre from x = 0
  const double foot = t * std::cos(a) + l * std::sin(a);           // half width of a tent
  const double pitch = 2 * foot + 0.25 * t;
  ModelBuilder b;
  b.add_material({.name = "card", .friction = 0.6});
  b.add_body(ground("card"));
  const auto card = [&](std::string name, const Vec3& at, double lean) {
    b.add_body({.name = std::move(name),
                .position = at,
                .orientation = exp_rotation(Vec3(0, lean, 0)),
                .shapes = {{.shape = Shape::box(0.5 * t, 0.5 * width, 0.5 * l),
                            .density = 800,
                            .material = "card"}}});
  };
  double z = 0;
  for (int level = 0; level < levels; ++level) {
    const int tents = levels - level;
    const std::string tag = std::to_string(level) + ".";
    for (int i = 0; i < tents; ++i) {
      const double x = pitch * (i - 0.5 * (tents - 1));
      card("left" + tag + std::to_string(i), Vec3(x - apart, 0, z + 0.5 * rise), a);
      card("right" + tag + std::to_string(i), Vec3(x + apart, 0, z + 0.5 * rise), -a);
    }
    z += rise;
    for (int i = 0; i + 1 < tents; ++i) {  // from apex to apex, a hair short of it
      b.add_body({.name = "flat" + tag + std::to_string(i),
                  .position = Vec3(pitch * (i + 1 - 0.5 * (tents - 1) - 0.5), 0, z + 0.5 * t),
                  .shapes = {{.shape = Shape::box(0.5 * pitch - 0.125 * t, 0.5 * width, 0.5 * t),
                              .density = 800,
                              .material = "card"}}});
    }
    z += t;
  }
  return finish(b, "A house of cards, leaning tents on flat cards.", 1000);
}

Scene arch(int stones) {
  const double inner = 1.8, outer = 2.2, half_depth = 0.25;
  ModelBuilder b;
  b.add_material({.name = "stone", .friction = 0.7});
  b.add_body(ground("stone"));
  for (int i = 0; i < stones; ++i) {
    std::vector<Vec3> corners;
    for (const double radius : {inner, outer})
      for (const int end : {i, i + 1})
        for (const double y : {-half_depth, half_depth}) {
          const double angle = std::numbers::pi * end / stones;
          // The feet stand on z = 0 exactly: sin(pi) is not 0 in double.
          const double z = end == 0 || end == stones ? 0 : radius * std::sin(angle);
          corners.emplace_back(radius * std::cos(angle), y, z);
        }
    b.add_body({.name = "stone" + std::to_string(i),
                .shapes = {{.shape = Shape::hull(corners), .density = 2500, .material = "stone"}}});
  }
  return finish(b, "A semicircular arch of wedge-shaped stones.", 1000);
}

Scene dominoes(int n) {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.4});
  b.add_body(ground("wood"));
  for (int i = 0; i < n; ++i) {
    BodySpec tile{.name = "tile" + std::to_string(i),
                  .position = Vec3(0.03 * i, 0, 0.024),
                  .shapes = {{.shape = Shape::box(0.004, 0.012, 0.024), .material = "wood"}}};
    if (i == 0) {  // tipped over its lower edge
      tile.angular_velocity = Vec3(0, 5, 0);
      tile.velocity = Vec3(5 * 0.024, 0, 5 * 0.004);
    }
    b.add_body(tile);
  }
  return finish(b, "A row of dominoes, the first one pushed.", 600, {.h = 0.005});
}

Scene mass_ratio_stack(int n, double ratio, double gap) {
  ModelBuilder b;
  b.add_material({.name = "smooth", .friction = 0});
  b.add_body(ground("smooth"));
  double mass = 1;
  for (int i = 0; i < n; ++i, mass *= ratio) {
    const std::string name = "sphere" + std::to_string(i);
    b.add_body({.name = name,
                .position = Vec3(0, 0, 0.5 + i + gap * (i + 1)),
                .shapes = {{.shape = Shape::sphere(0.5), .material = "smooth"}},
                .mass = mass});
    // Only the motion along z is free.
    b.add_joint({.kind = JointKind::Prismatic, .a = name, .axis = Vec3::UnitZ()});
  }
  return finish(b, "Spheres on a vertical axis, each heavier than the one below.", 200);
}

}  // namespace orthant::scenes
