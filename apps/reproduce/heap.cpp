// SPDX-License-Identifier: Apache-2.0
// reproduce/heap.cpp: ellipsoids of aspect ratio 2.35 heaped against a wall, with friction, smooth
// and as sub-spheres (the piling experiment that the ReLCP paper takes its accuracy from).
// A column of grains, periodic along the wall, collapses. A wedge of height H and foot L has its
// mean height at H/3 and its mean distance from the wall at L/3, so their ratio is the tangent of
// the angle of repose, taken over all grains.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/base/mix.hpp"
#include "orthant/base/process.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kMajor = 0.1, kMinor = kMajor / 2.35, kSpacing = 2.05 * kMajor, kStep = 0.01;

struct Size {
  int x = 0, y = 0, z = 0;  // grains of the column: out from the wall, along it, up
  double time = 0;
  int count() const { return x * y * z; }
};

struct Pile {
  double angle = 0;  // [degrees]
  Curve motion;      // the angle over time
  double deepest = 0, failed = 0, solves = 0, most_solves = 0, rows = 0, speed = 0, seconds = 0;
};

/// Uniform on the rotations (Shoemake).
Quat random_turn(std::uint64_t& state) {
  const auto next = [&] {
    return static_cast<double>(mix_bits(state += kGoldenRatio) >> 11) * 0x1p-53;
  };
  const double u = next(), a = 2 * std::numbers::pi * next(), b = 2 * std::numbers::pi * next();
  const double s = std::sqrt(1 - u), c = std::sqrt(u);
  return {c * std::cos(b), s * std::sin(a), s * std::cos(a), c * std::sin(b)};
}

Model column(const Size& size, double friction, std::uint64_t seed) {
  ModelBuilder builder;
  builder.add_material({.name = "stone", .friction = friction});
  BodySpec floor;
  floor.name = "floor";
  floor.motion = Motion::Fixed;
  floor.shapes.push_back({.shape = Shape::half_space(), .material = "stone"});
  builder.add_body(floor);
  BodySpec wall = floor;
  wall.name = "wall";
  wall.orientation = exp_rotation(Vec3(0, std::numbers::pi / 2, 0));
  builder.add_body(wall);
  for (int k = 0; k < size.z; ++k)
    for (int j = 0; j < size.y; ++j)
      for (int i = 0; i < size.x; ++i) {
        BodySpec grain;
        grain.name = "grain" + std::to_string((k * size.y + j) * size.x + i);
        grain.position = kSpacing * Vec3(i + 0.52, j + 0.5, k + 0.55);
        grain.orientation = random_turn(seed);
        grain.shapes.push_back(
            {.shape = Shape::ellipsoid(kMajor, kMinor, kMinor), .material = "stone"});
        builder.add_body(grain);
      }
  return builder.build();
}

StepSettings settings_of(const Size& size, int spheres) {
  StepSettings s;
  s.h = kStep;
  s.constraints = spheres == 0 ? ConstraintScheme::Relcp : ConstraintScheme::Multisphere;
  s.sub_spheres = std::max(1, spheres);
  s.contact_margin = 0.2;
  s.solver.tolerance = 1e-6;
  s.periodic.active = {false, true, false};
  s.periodic.hi = Vec3(0, kSpacing * size.y, 0);
  return s;
}

Pile heap(const Size& size, int spheres, double friction, std::uint64_t seed,
          const std::function<void(double)>& progress) {
  const Model model = column(size, friction, seed);
  const Parameters parameters = model.default_parameters();
  const StepSettings settings = settings_of(size, spheres);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  Pile pile;
  const int steps = static_cast<int>(std::lround(size.time / kStep));
  const double start = processor_seconds();
  double pushed = 0;
  for (int i = 0; i < steps; ++i) {
    const StepReport r = step(model, parameters, settings, {}, x, warm, work);
    pile.failed += r.outcome != Outcome::Converged;
    pile.deepest = std::max(pile.deepest, r.deepest);
    if (r.constraints > 0) {
      pile.solves += r.recursions + 1;
      ++pushed;
    }
    pile.most_solves = std::max<double>(pile.most_solves, r.recursions + 1);
    pile.rows = static_cast<double>(r.constraints);
    double height = 0, reach = 0, fastest = 0;
    for (const BodyId id : model.dynamic_bodies()) {
      const Body& body = model.body(id);
      reach += x.q[body.q_begin];
      height += x.q[body.q_begin + 2];
      fastest = std::max(fastest, x.v.segment<3>(body.v_begin).norm());
    }
    pile.speed = fastest;
    pile.angle = std::atan2(height, reach) * 180 / std::numbers::pi;
    pile.motion.x.push_back(x.t);
    pile.motion.y.push_back(pile.angle);
    progress(static_cast<double>(i + 1) / steps);
  }
  pile.solves /= std::max(1.0, pushed);
  pile.seconds = processor_seconds() - start;
  return pile;
}

/// The same pile for `orthant run`; its grains turn otherwise.
std::string scene(const Size& size, int spheres) {
  const std::string scheme =
      spheres == 0 ? "relcp" : "multisphere, sub_spheres: " + std::to_string(spheres);
  const auto count = [](int n) { return std::to_string(n); };
  return "orthant: 1\nname: a heap against a wall\ndescription: ellipsoids with friction, " +
         (spheres == 0 ? std::string("smooth") : std::to_string(spheres) + " spheres each") +
         "\nmaterials: [{name: stone, friction: 0.5}]\nbodies:\n"
         "  - {name: floor, motion: fixed, shapes: {type: half_space, material: stone}}\n"
         "  - {name: wall, motion: fixed, rotation: [0, 1.5707963267948966, 0], shapes: {type: "
         "half_space, material: stone}}\n"
         "populations:\n  - type: grid\n    name: grain\n    count: [" +
         count(size.x) + ", " + count(size.y) + ", " + count(size.z) + "]\n    spacing: [" +
         number(kSpacing) + ", " + number(kSpacing) + ", " + number(kSpacing) +
         "]\n    position: [" + number(0.52 * kSpacing, 6) + ", " + number(0.5 * kSpacing, 6) +
         ", " + number(0.55 * kSpacing, 6) +
         "]\n    random_orientation: true\n    seed: 3\n    body: {shapes: {type: ellipsoid, "
         "semi_axes: [" +
         number(kMajor) + ", " + number(kMinor, 6) + ", " + number(kMinor, 6) +
         "], material: stone}}\nstep: {h: 0.01, contact_margin: 0.2, solver: {tolerance: 1.0e-6}, "
         "periodic: {directions: y, lower: [0, 0, 0], upper: [0, " +
         number(kSpacing * size.y, 6) + ", 0]}, constraints: " + scheme +
         "}\nrun: {time: " + number(size.time) + "}\nrecord: {every: 2}\n";
}

}  // namespace

Result run_heap(const Options& options) {
  Result result;
  Size size = options.quick ? Size{3, 2, 5, 1.5} : Size{4, 3, 8, 2.5};
  if (options.size > 0) size = {options.size, std::max(2, options.size / 2), 2 * options.size, 2.5};
  const int seeds = options.quick ? 1 : 4;
  struct Method {
    int spheres;
    double friction;
    const char* published;
  };
  std::vector<Method> methods = {{0, 0.5, "1"}, {0, 0, "-"}, {3, 0.5, "-"}, {7, 0.5, "-"}};
  if (!options.quick) {
    methods.push_back({13, 0.5, "within 4 %"});
    methods.push_back({17, 0.5, "within 1 %"});
  }
  Table table{
      std::to_string(size.count()) + " ellipsoids heaped against a wall, " + std::to_string(seeds) +
          " columns each, after " + number(size.time) + " s",
      {"method", "friction", "angle of repose [degrees]", "over the smooth one",
       "published, over the smooth one", "rows at the end", "mean solves", "most solves",
       "true overlap / minor half axis", "fastest grain [m/s]", "steps not converged", "CPU s"},
      {}};
  std::vector<Curve> curves;
  double smooth = 0, slippery = 0;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const Method& method = methods[m];
    const std::string name =
        (method.spheres == 0 ? "ReLCP" : std::to_string(method.spheres) + " sub-spheres") +
        (method.friction == 0 ? ", no friction" : "");
    Pile all;
    std::vector<double> angles;
    for (int seed = 0; seed < seeds; ++seed) {
      const double from = static_cast<double>(m) + seed / static_cast<double>(seeds);
      Pile p =
          heap(size, method.spheres, method.friction, static_cast<std::uint64_t>(seed + 1),
               [&](double share) {
                 if (options.progress)
                   options.progress((from + share / seeds) / static_cast<double>(methods.size()),
                                    "heap, " + name);
               });
      angles.push_back(p.angle);
      all.failed += p.failed;
      all.deepest = std::max(all.deepest, p.deepest);
      all.most_solves = std::max(all.most_solves, p.most_solves);
      all.speed = std::max(all.speed, p.speed);
      all.solves += p.solves / seeds;
      all.rows += p.rows / seeds;
      all.seconds += p.seconds;
      all.angle += p.angle / seeds;
      if (seed == 0) all.motion = std::move(p.motion);
    }
    double spread = 0;  // of the mean
    for (const double a : angles) spread += (a - all.angle) * (a - all.angle);
    spread = seeds > 1 ? std::sqrt(spread / (seeds * (seeds - 1))) : 0;
    if (method.spheres == 0 && method.friction > 0) smooth = all.angle;
    if (method.friction == 0) slippery = all.angle;
    table.rows.push_back({name, number(method.friction),
                          number(all.angle) + (seeds > 1 ? " +- " + number(spread, 2) : ""),
                          number(all.angle / smooth), method.published, number(all.rows),
                          number(all.solves), number(all.most_solves), number(all.deepest / kMinor),
                          number(all.speed, 2), number(all.failed), number(all.seconds)});
    if (method.spheres == 0) {
      result.checks.push_back({name + ": steps not converged", all.failed, 0});
      result.checks.push_back(
          {name + ": overlap over half the smaller width", all.deepest / kMinor, 1.0001e-5});
    }
    all.motion.name = name;
    curves.push_back(std::move(all.motion));
  }
  result.checks.push_back({"angle without friction over that with it", slippery / smooth, 0.9});
  result.tables.push_back(std::move(table));
  write_file(options, "heap_angle.svg",
             plot_svg("A heap against a wall: mean height over mean distance", "t [s]",
                      "angle [degrees]", curves),
             result);
  result.scenes.push_back({"relcp_run", "smooth grains with friction", scene(size, 0)});
  result.scenes.push_back({"spheres_run", "7 sub-spheres per grain", scene(size, 7)});
  result.notes.push_back(
      "the angle is that of a collapsed column of few grains, which is less than that of a heap "
      "poured slowly; the columns are the same for every method. The paper quotes a study with "
      "potential contacts and gives no angle");
  result.notes.push_back(
      "friction within the recursion: rows that are added have their tangents, too. +- is the "
      "standard error of the mean over the columns");
  return result;
}

}  // namespace orthant::reproduce
