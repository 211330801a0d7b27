// SPDX-License-Identifier: Apache-2.0
// scenes/scenes.hpp: worlds written once, for tests, benchmarks, examples and the command.
// Parameters of the scenes that other engines run, too, are those of the comparison (bench/peers);
// lengths in m, masses in kg, angles in degrees where a name says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/model/model.hpp"
#include "orthant/step/step.hpp"

namespace orthant::scenes {

struct Scene {
  Model model;
  Parameters parameters;
  State state;
  StepSettings settings;
  std::int64_t steps = 500;  ///< that show what the scene is about
  std::string description;
};

// stacking.cpp
Scene drop(double height = 1);  ///< a tilted box falls on the floor and comes to rest
/// n unit cubes with lateral jitter of 5 mm, cube i started (i + 1) gap too high, friction 0.6.
Scene stack(int n = 10, double mass = 1000, double gap = 0);
Scene pyramid(int base = 10);  ///< rows of base, base - 1, …, 1 boxes
/// Tents of two leaning cards, levels high, flat cards between the levels.
Scene card_house(int levels = 3);
Scene arch(int stones = 15);  ///< semicircular, wedge-shaped stones on the floor
Scene dominoes(int n = 20);
/// n spheres of radius 0.5 on a vertical axis, masses ratio^i from below, sphere i (i + 1) gap
/// high.
Scene mass_ratio_stack(int n = 8, double ratio = 10, double gap = 0);

// sliding.cpp
/// A flat block on a plane tilted by `angle` and turned by `heading` [deg].
Scene incline(double angle_deg = 30, double friction = 0.5, double heading_deg = 0);
/// The same block thrown at 2 m/s along a level floor.
Scene thrown_block(double heading_deg = 0, double friction = 0.5);
/// A sphere that rolls down a plane without slipping: 5/7 g sin(angle).
Scene rolling_sphere(double angle_deg = 20, double friction = 0.5);
/// A rod dragged tip first over a rough floor where rigid-body dynamics has no solution without an
/// impulse (Painlevé).
Scene painleve_rod(double friction = 1.6, double speed = 3);

// impact.cpp
/// A ball dropped from `height` (of its lowest point), impacts located.
Scene bouncing_ball(double height = 1, double restitution = 0.8);
/// n balls on rods in a row, the first one lifted by 45 degrees; planar, elastic.
Scene newtons_cradle(int n = 5);
Scene billiards();  ///< a cue ball breaks a rack of 15
/// Two spheres of 1 and 3 kg meet off centre at 1 m/s, no gravity.
Scene two_spheres(double restitution = 0, double friction = 0.5);
/// n elastic discs without friction in a closed planar box.
Scene elastic_gas(int n = 20);

// granular.cpp
/// n spheres of radius 35 mm fall into a box of 1 x 1 m (`half` its width); or start at the given
/// positions.
Scene spheres_in_a_box(int n = 500, double friction = 0.5, std::span<const Vec3> positions = {},
                       double half = 0.5);
/// n planar discs of radius 0.5 in rows of five on a floor, random velocities.
Scene planar_discs(int n = 20, double friction = 0.5);

// mechanisms.cpp
/// Links of 0.2 m on ball joints, released horizontally.
Scene chain(int links = 10);
Scene pendulum(double angle_deg = 10);  ///< planar rod on a pin
Scene slider_crank(double speed = 10);  ///< planar, the crank turned by a motor [rad/s]
Scene four_bar(double speed = 2);       ///< closed spatial loop of four parallel hinges: redundant
Scene spinning_t();                     ///< a T-handle spun about its unstable axis, no gravity

/// All scenes with their default parameters, by name.
struct SceneEntry {
  std::string_view name;
  std::string_view about;
  Scene (*make)();
};
std::span<const SceneEntry> registry();
/// The scene of that name; throws Error with the nearest spelling.
Scene make_scene(std::string_view name);

}  // namespace orthant::scenes
