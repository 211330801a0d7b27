// SPDX-License-Identifier: Apache-2.0
// bench/piles_bench.cpp: time per step of dense piles, and what it buys: overlap, residual, speed.
//   bench_piles [shape=sphere] [count=500] [scene=settled,dropped,tilting] [steps=0]
//               [method=fast,standard,exact,ode20] [friction=0.5] [state=FILE] [settle=400]
//               [tolerance=0] [compliance=0] [sweeps=0] [threads=1] [measure=1]
// Shapes: sphere, box, capsule, hull, mixture (spheres of radii and masses up to 10 : 1); wall:
// bricks in running bond; drum: spheres in a drum of sixteen staves that turns by a radian per
// second. Scenes: settled (at rest), dropped (from a grid), tilting (gravity swings by 35 degrees
// in a second). fast50: fast with fifty sweeps; standard1e-8: standard to that tolerance. Every
// method starts from the same state; overlaps are measured here, by Orthant's distances, never by
// the method. Processor time; ODE where it was found (its quick step with N iterations). measure=0
// measures overlap after the last step alone, and gives the memory of the steps without that of the
// measurement. With several threads times are wall clock.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/process.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

#ifdef ORTHANT_ODE
#include <ode/ode.h>
#endif

namespace orthant {
namespace {

constexpr double kRadius = 0.035, kSpacing = 0.08, kStep = 0.01, kGravity = 9.81;

double uniform(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

Shape shape_of(const std::string& kind, std::uint64_t& random) {
  if (kind == "sphere" || kind == "drum") return Shape::sphere(kRadius);
  if (kind == "mixture")  // volumes, and so masses, evenly up to ten to one
    return Shape::sphere(kRadius * std::cbrt(0.1 + 0.9 * uniform(random)));
  if (kind == "box") return Shape::box(0.0215, 0.0215, 0.0215);
  if (kind == "capsule") return Shape::capsule(0.02, 0.018);
  if (kind == "hull") {
    std::vector<Vec3> points;
    for (int i = 0; i < 12; ++i) {
      const double z = 1 - 2 * (i + 0.5) / 12, angle = 2.399963 * i;
      const double r = std::sqrt(1 - z * z);
      points.emplace_back(kRadius * r * std::cos(angle), kRadius * r * std::sin(angle),
                          kRadius * z);
    }
    return Shape::hull(points);
  }
  throw Error("shape", "sphere, box, capsule, hull, mixture, wall or drum, not '" + kind + "'");
}

struct Pile {
  Model model;
  double half = 0.5;           // of the box [m]
  Vec3 centre = Vec3::Zero();  // of the drum [m]
  double radius = 0;           // of the drum; 0: there is none [m]
};

const ShapeSpec kFloor{.shape = Shape::half_space(), .material = "grain"};

/// Ten bricks and a half to a course, a millimetre between neighbours.
Pile make_wall(int count, double friction) {
  constexpr int kCourse = 10;
  const Vec3 half(0.1, 0.05, 0.03);
  ModelBuilder builder;
  builder.add_material({.name = "grain", .friction = friction});
  builder.add_body({.name = "floor", .motion = Motion::Fixed, .shapes = {kFloor}});
  for (int i = 0; i < count; ++i) {
    const int course = i / kCourse;
    const double x = (i % kCourse + 0.5 * (course % 2)) * (2 * half[0] + 0.001);
    builder.add_body(
        {.position = Vec3(x, 0, (2 * course + 1) * half[2]),
         .shapes = {{.shape = Shape::box(half[0], half[1], half[2]), .material = "grain"}}});
  }
  builder.set_gravity(Vec3(0, 0, -kGravity));
  return {builder.build(), std::numeric_limits<double>::infinity()};
}

/// Spheres on a grid along the axis of a drum that lies along y.
Pile make_drum(int count, double friction) {
  constexpr int kStaves = 16;
  const double length = 0.5;
  const int along = 5, side = static_cast<int>(std::ceil(std::sqrt(count / double(along))));
  const double radius = 0.75 * kSpacing * side;
  ModelBuilder builder;
  builder.add_material({.name = "grain", .friction = friction});
  BodySpec drum{.name = "drum",
                .motion = Motion::Kinematic,
                .position = Vec3(0, 0, radius),
                .angular_velocity = Vec3(0, 1, 0)};
  for (int i = 0; i < kStaves; ++i) {
    const double angle = 2 * std::numbers::pi * i / kStaves;
    const double width = (radius + 0.1) * std::tan(std::numbers::pi / kStaves);
    const Vec3 at((radius + 0.05) * std::sin(angle), 0, (radius + 0.05) * std::cos(angle));
    const Quat turn{std::cos(angle / 2), 0, std::sin(angle / 2), 0};
    ShapeSpec stave{.shape = Shape::box(width, 0.5 * length, 0.05), .material = "grain"};
    stave.offset.x = at;
    stave.offset.p = turn;
    drum.shapes.push_back(stave);
  }
  builder.add_body(drum);
  const double c = std::sqrt(0.5);
  builder.add_body({.name = "south",
                    .motion = Motion::Fixed,
                    .position = Vec3(0, -0.5 * length, 0),
                    .orientation = {c, -c, 0, 0},
                    .shapes = {kFloor}});
  builder.add_body({.name = "north",
                    .motion = Motion::Fixed,
                    .position = Vec3(0, 0.5 * length, 0),
                    .orientation = {c, c, 0, 0},
                    .shapes = {kFloor}});
  for (int i = 0; i < count; ++i) {
    const int a = i / along % side, b = i / along / side;
    builder.add_body({.position = Vec3((a - 0.5 * (side - 1)) * kSpacing,
                                       (i % along - 0.5 * (along - 1)) * kSpacing,
                                       radius + (b - 0.5 * (side - 1)) * kSpacing),
                      .shapes = {{.shape = Shape::sphere(kRadius), .material = "grain"}}});
  }
  builder.set_gravity(Vec3(0, 0, -kGravity));
  return {builder.build(), 0.5 * length, Vec3(0, 0, radius), radius + 0.1};
}

Pile make_pile(const std::string& kind, int count, double friction) {
  if (kind == "wall") return make_wall(count, friction);
  if (kind == "drum") return make_drum(count, friction);
  const int side = count <= 2000
                       ? std::min(12, static_cast<int>(std::ceil(std::cbrt(count) - 1e-9)))
                       : static_cast<int>(std::ceil(std::sqrt(count / 12.0)));
  const double half = count <= 2000 ? 0.5 : 0.5 * (kSpacing * side + 0.04);
  ModelBuilder builder;
  builder.add_material({.name = "grain", .friction = friction});
  const auto wall = [&](const char* name, const Vec3& at, const Quat& turn) {
    builder.add_body({.name = name,
                      .motion = Motion::Fixed,
                      .position = at,
                      .orientation = turn,
                      .shapes = {kFloor}});
  };
  const double c = std::sqrt(0.5);
  wall("floor", Vec3::Zero(), {});
  wall("west", Vec3(-half, 0, 0), {c, 0, c, 0});
  wall("east", Vec3(half, 0, 0), {c, 0, -c, 0});
  wall("south", Vec3(0, -half, 0), {c, -c, 0, 0});
  wall("north", Vec3(0, half, 0), {c, c, 0, 0});
  std::uint64_t random = 12345;
  for (int i = 0; i < count; ++i) {
    const int l = i / (side * side), q = i % (side * side), a = q % side, b = q / side;
    const auto jitter = [&] { return 0.002 * (2 * uniform(random) - 1); };
    const Vec3 at((a - 0.5 * (side - 1)) * kSpacing + jitter(),
                  (b - 0.5 * (side - 1)) * kSpacing + jitter(), 0.1 + l * kSpacing + jitter());
    const Quat turn = normalized(Quat{uniform(random) - 0.5, uniform(random) - 0.5,
                                      uniform(random) - 0.5, uniform(random) - 0.5});
    builder.add_body({.position = at,
                      .orientation = turn,
                      .shapes = {{.shape = shape_of(kind, random), .material = "grain"}}});
  }
  builder.set_gravity(Vec3(0, 0, -kGravity));
  return {builder.build(), half, Vec3::Zero(), 0};
}

/// Another engine or a setting of ours, one step at a time.
struct Stepper {
  virtual ~Stepper() = default;
  virtual StepReport step(const Parameters& parameters, State& state) = 0;
};

/// Of Orthant, 0: as the method's name says.
struct Options {
  double tolerance = 0, compliance = 0;
  int sweeps = 0;
};

struct Ours : Stepper {
  Ours(const Model& m, Accuracy accuracy, const Options& options) : model(m) {
    settings.h = kStep;
    settings.accuracy = accuracy;
    if (options.tolerance > 0) settings.solver.tolerance = options.tolerance;
    settings.crowd_tolerance = options.tolerance;
    settings.crowd_compliance = options.compliance;
    settings.crowd_sweeps = options.sweeps;
  }
  StepReport step(const Parameters& parameters, State& state) override {
    return orthant::step(model, parameters, settings, {}, state, warm, work);
  }
  const Model& model;
  StepSettings settings;
  WarmStart warm;
  StepWorkspace work;
};

#ifdef ORTHANT_ODE
struct Ode : Stepper {
  Ode(const Model& m, const Parameters& p, const State& start, double friction, int iterations)
      : model(m), mu(friction) {
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    world = dWorldCreate();
    space = dHashSpaceCreate(nullptr);
    dHashSpaceSetLevels(space, -5, 3);
    joints = dJointGroupCreate(0);
    dWorldSetQuickStepNumIterations(world, iterations);
    for (const ShapeInstance& shape : model.shapes()) {
      const Body& body = model.body(shape.body);
      const Pose X = body_pose(body, start.q.data());
      const Mat3 R = matrix_of(X.p);
      const auto size = shape.shape.parameters();
      if (shape.shape.kind() == ShapeKind::HalfSpace) {
        const Vec3 n = R.col(2);
        dCreatePlane(space, n[0], n[1], n[2], n.dot(X.x));
        continue;
      }
      dGeomID geom = shape.shape.kind() == ShapeKind::Sphere ? dCreateSphere(space, size[0])
                     : shape.shape.kind() == ShapeKind::Capsule
                         ? dCreateCapsule(space, size[0], 2 * size[1])
                     : shape.shape.kind() == ShapeKind::Box
                         ? dCreateBox(space, 2 * size[0], 2 * size[1], 2 * size[2])
                         : nullptr;
      if (geom == nullptr) throw Error("ode", "has no such shape here");
      const auto rotation = [](const Mat3& turn, dReal* r) {
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j) r[4 * i + j] = turn(i, j);
      };
      dMatrix3 r = {};
      if (!body.is_dynamic() && !bodies.empty() && bodies.back().second == &body) {
        dGeomSetBody(geom, bodies.back().first);  // one more stave
      } else {
        dBodyID b = dBodyCreate(world);
        dBodySetPosition(b, X.x[0], X.x[1], X.x[2]);
        rotation(R, r);
        dBodySetRotation(b, r);
        dGeomSetBody(geom, b);
        bodies.emplace_back(b, &body);
        if (body.is_dynamic()) {
          const double* I = p.values.data() + body.inertia;
          dMass mass;
          dMassSetParameters(&mass, p[body.mass], 0, 0, 0, I[0], I[1], I[2], I[3], I[4], I[5]);
          dBodySetMass(b, &mass);
        } else {
          const double* v = start.v.data() + body.v_begin;
          dBodySetKinematic(b);
          dBodySetAngularVel(b, v[3], v[4], v[5]);
        }
      }
      if (!body.is_dynamic()) {
        const Pose offset = frame_pose(false, p.values.data() + shape.offset_begin);
        dGeomSetOffsetPosition(geom, offset.x[0], offset.x[1], offset.x[2]);
        rotation(matrix_of(offset.p), r);
        dGeomSetOffsetRotation(geom, r);
      }
      if (shape.shape.kind() == ShapeKind::Capsule) {  // its axis is z, ours is x
        const dMatrix3 turn = {0, 0, 1, 0, 0, 1, 0, 0, -1, 0, 0, 0};
        dGeomSetOffsetRotation(geom, turn);
      }
    }
  }
  static void near(void* self, dGeomID a, dGeomID b) {
    Ode& ode = *static_cast<Ode*>(self);
    const dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    if (body_a == nullptr && body_b == nullptr) return;
    dContact contact[16];
    const int count = dCollide(a, b, 16, &contact[0].geom, sizeof(dContact));
    for (int i = 0; i < count; ++i) {
      contact[i].surface = {};
      contact[i].surface.mode = dContactApprox1;
      contact[i].surface.mu = ode.mu;
      dJointAttach(dJointCreateContact(ode.world, ode.joints, &contact[i]), body_a, body_b);
    }
    ode.contacts += count;
  }
  StepReport step(const Parameters& parameters, State& state) override {
    const double* g = parameters.values.data() + model.gravity();
    dWorldSetGravity(world, g[0], g[1], g[2]);
    contacts = 0;
    dSpaceCollide(space, this, &near);
    dWorldQuickStep(world, kStep);
    dJointGroupEmpty(joints);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const auto& [id, at] = bodies[i];
      const Body& body = *at;
      const dReal *x = dBodyGetPosition(id), *p = dBodyGetQuaternion(id);
      const dReal *v = dBodyGetLinearVel(id), *w = dBodyGetAngularVel(id);
      for (int k = 0; k < 3; ++k) {
        state.q[body.q_begin + k] = x[k];
        state.v[body.v_begin + k] = v[k];
        state.v[body.v_begin + 3 + k] = w[k];
      }
      for (int k = 0; k < 4; ++k) state.q[body.q_begin + 3 + k] = p[k];
    }
    StepReport report;
    report.outcome = Outcome::Converged;
    report.contacts = contacts;
    return report;
  }
  const Model& model;
  double mu;
  dWorldID world;
  dSpaceID space;
  dJointGroupID joints;
  std::vector<std::pair<dBodyID, const Body*>> bodies;
  int contacts = 0;
};
#endif

std::unique_ptr<Stepper> make_stepper(const std::string& method, const Pile& pile,
                                      const State& start, double friction, const Options& options) {
  Options own = options;
  if (method.starts_with("fast")) {
    if (method.size() > 4) own.sweeps = std::stoi(method.substr(4));
    return std::make_unique<Ours>(pile.model, Accuracy::Fast, own);
  }
  if (method.starts_with("standard")) {
    if (method.size() > 8) own.tolerance = std::stod(method.substr(8));
    return std::make_unique<Ours>(pile.model, Accuracy::Standard, own);
  }
  if (method == "exact") return std::make_unique<Ours>(pile.model, Accuracy::Exact, options);
#ifdef ORTHANT_ODE
  if (method.starts_with("ode"))
    return std::make_unique<Ode>(pile.model, pile.model.default_parameters(), start, friction,
                                 std::stoi(method.substr(3)));
#endif
  (void)start, (void)friction;
  throw Error("method", "fast, standard, exact or ode<iterations>, not '" + method + "'");
}

double median(std::vector<double> x) {
  if (x.empty()) return 0;
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

double rms_speed(const Model& model, const State& state) {
  double sum = 0;
  for (const BodyId id : model.dynamic_bodies())
    sum += state.v.segment<3>(model.body(id).v_begin).squaredNorm();
  return std::sqrt(sum / model.dynamic_count());
}

int escaped(const Pile& pile, const State& state) {
  int count = 0;
  for (const BodyId id : pile.model.dynamic_bodies()) {
    const Vec3 x = state.q.segment<3>(pile.model.body(id).q_begin);
    count += pile.radius > 0
                 ? !((x - pile.centre).norm() < pile.radius + pile.half)
                 : !(x[2] > 0 && std::abs(x[0]) < pile.half && std::abs(x[1]) < pile.half);
  }
  return count;
}

/// Returns the peak of the memory before the first measurement.
double run(const std::string& scene, const std::string& method, const Pile& pile, State state,
           int steps, double friction, const Options& options, bool measure) {
  Parameters parameters = pile.model.default_parameters();
  const std::unique_ptr<Stepper> stepper = make_stepper(method, pile, state, friction, options);
  std::vector<double> times, overlaps, residuals, last_speeds;
  int converged = 0;
  double contacts = 0, iterations = 0;
  double stage[4] = {}, memory = 0;
  CollisionWorkspace collision;
  ContactSet found;
  for (int i = 0; i < steps; ++i) {
    if (scene == "tilting") {
      const double angle =
          35 * std::numbers::pi / 180 * std::sin(2 * std::numbers::pi * (i + 1) * kStep);
      double* g = parameters.values.data() + pile.model.gravity();
      g[0] = kGravity * std::sin(angle);
      g[2] = -kGravity * std::cos(angle);
    }
    const auto now = [] {
      return thread_count() > 1 ? std::chrono::duration<double>(
                                      std::chrono::steady_clock::now().time_since_epoch())
                                      .count()
                                : processor_seconds();
    };
    const double begin = now();
    const StepReport report = stepper->step(parameters, state);
    times.push_back(1e3 * (now() - begin));
    converged += report.outcome == Outcome::Converged;
    contacts += report.contacts;
    iterations += report.iterations;
    stage[0] += report.seconds_collision, stage[1] += report.seconds_assembly;
    stage[2] += report.seconds_solve, stage[3] += report.seconds_projection;
    residuals.push_back(report.residual);
    if (i + 1 == steps || (measure && (steps <= 400 || i % 10 == 0))) {
      if (memory == 0) memory = peak_memory();
      find_contacts(pile.model, parameters, state.q, {}, {.margin = 0}, collision, found);
      overlaps.push_back(deepest_penetration(found) / kRadius);
    }
    if (i >= steps - 50) last_speeds.push_back(rms_speed(pile.model, state));
  }
  const auto mean = [](const std::vector<double>& x) {
    double sum = 0;
    for (const double value : x) sum += value;
    return x.empty() ? 0 : sum / static_cast<double>(x.size());
  };
  std::printf(
      "| %s | %s | %.2f | %.2f | %.1e | %.1e | %.1e | %.1e | %d/%d | %.1e | %d | %.0f | %.0f | "
      "%.2f %.2f %.2f %.2f |\n",
      scene.c_str(), method.c_str(), mean(times), median(times), mean(overlaps),
      *std::max_element(overlaps.begin(), overlaps.end()), median(residuals),
      *std::max_element(residuals.begin(), residuals.end()), converged, steps, mean(last_speeds),
      escaped(pile, state), contacts / steps, iterations / steps, 1e3 * stage[0] / steps,
      1e3 * stage[1] / steps, 1e3 * stage[2] / steps, 1e3 * stage[3] / steps);
  std::fflush(stdout);
  return memory;
}

std::vector<std::string> words(const std::string& list) {
  std::vector<std::string> out(1);
  for (const char c : list) {
    if (c == ',')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

int bench(int argc, char** argv) {
  std::map<std::string, std::string> o = {
      {"shape", "sphere"}, {"count", "500"},    {"scene", "settled,dropped,tilting"},
      {"steps", "0"},      {"friction", "0.5"}, {"method", "fast,standard,exact"},
      {"tolerance", "0"},  {"state", ""},       {"settle", "400"},
      {"compliance", "0"}, {"sweeps", "0"},     {"threads", "1"},
      {"measure", "1"}};

  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (equals == std::string::npos || !o.contains(word.substr(0, equals)))
      throw Error("argument", "unknown: " + word);
    o[word.substr(0, equals)] = word.substr(equals + 1);
  }
  const double friction = std::stod(o["friction"]);
  set_thread_count(std::stoi(o["threads"]));
  const Options options{std::stod(o["tolerance"]), std::stod(o["compliance"]),
                        std::stoi(o["sweeps"])};
  const Pile pile = make_pile(o["shape"], std::stoi(o["count"]), friction);
  std::printf(
      "%s %s, friction %g, h %g\n| scene | method | ms mean | median | overlap/r mean | max | "
      "residual median | max | converged | rms v last 50 | escaped | contacts | iterations | "
      "ms wall: collision, assembly, solve, projection |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      o["count"].c_str(), o["shape"].c_str(), friction, kStep);
  State rest = pile.model.rest_state();
  if (!o["state"].empty()) {
    std::ifstream in(o["state"]);
    for (const BodyId id : pile.model.dynamic_bodies())
      for (int k = 0; k < 3; ++k)
        if (!(in >> rest.q[pile.model.body(id).q_begin + k]))
          throw Error("state", "too few numbers in '" + o["state"] + "'");
  } else if (o["scene"] != "dropped") {
    Ours settle(pile.model, Accuracy::Fast, {});
    for (int i = 0; i < std::stoi(o["settle"]); ++i)
      (void)settle.step(pile.model.default_parameters(), rest);
    rest.v.head(pile.model.dynamic_v_size()).setZero();
    rest.t = 0;
  }
  reset_peak_memory();
  const double before = peak_memory();  // the model, and a state to begin with
  double memory = 0;
  for (const std::string& scene : words(o["scene"])) {
    const int own = scene == "settled" ? 100 : scene == "dropped" ? 300 : 200;
    const int steps = o["steps"] == "0" ? own : std::stoi(o["steps"]);
    for (const std::string& method : words(o["method"])) {
      const double peak =
          run(scene, method, pile, scene == "dropped" ? pile.model.rest_state() : rest, steps,
              friction, options, o["measure"] != "0");
      if (memory == 0) memory = peak;
    }
  }
  std::printf("memory beyond the model: %.0f bytes per body\n",
              (memory - before) / std::stod(o["count"]));
  return 0;
}

}  // namespace
}  // namespace orthant

int main(int argc, char** argv) {
  try {
    return orthant::bench(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
