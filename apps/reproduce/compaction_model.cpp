// SPDX-License-Identifier: Apache-2.0
// reproduce/compaction_model.cpp: the suspension, and a method measured from a state of it.
#include <algorithm>
#include <cmath>

#include "orthant/base/mix.hpp"
#include "orthant/base/process.hpp"
#include "reproduce/compaction.hpp"
#include "reproduce/field.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kMajor = 2, kMinor = 1, kVolumeFraction = 0.0025, kPi = 3.14159265358979323846;
constexpr double kFreeSpeed = 0.25;

double random_unit(std::uint64_t& state) {
  return static_cast<double>(mix_bits(state += kGoldenRatio) >> 11) * 0x1p-53;
}

double edge_of(int count) {
  return std::cbrt(4.0 / 3 * kPi * kMajor * kMinor * kMinor * count / kVolumeFraction);
}

/// Points of the surface, evenly (Fibonacci's spiral on the sphere, stretched).
Shape faceted(int corners) {
  std::vector<Vec3> points;
  for (int i = 0; i < corners; ++i) {
    const double z = 1 - (2 * i + 1.0) / corners, r = std::sqrt(1 - z * z),
                 a = kPi * (3 - std::sqrt(5.0)) * i;
    points.emplace_back(kMajor * r * std::cos(a), kMinor * r * std::sin(a), kMinor * z);
  }
  return Shape::hull(points);
}

}  // namespace

double deepest_overlap(const Model& model, const VecX& q) {
  CollisionWorkspace work;
  ContactSet contacts;
  find_contacts(model, model.default_parameters(), q, {}, {.points = ContactPoints::Deepest}, work,
                contacts);
  double deepest = 0;
  for (const Contact& c : contacts.contacts) deepest = std::max(deepest, -c.gap);
  return deepest;
}

Model suspension(int count, int corners) {
  const Shape shape = corners > 0 ? faceted(corners) : Shape::ellipsoid(kMajor, kMinor, kMinor);
  const double edge = edge_of(count);
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  std::vector<Vec3> centres;
  std::uint64_t state = 1;
  while (static_cast<int>(centres.size()) < count) {
    const double x = random_unit(state), y = random_unit(state), z = random_unit(state);
    const Vec3 c = edge * Vec3(x - 0.5, y - 0.5, z - 0.5);
    const double a = random_unit(state), b = random_unit(state), d = random_unit(state);
    if (std::any_of(centres.begin(), centres.end(),
                    [&](const Vec3& o) { return (o - c).norm() < 2 * kMajor; }))
      continue;
    BodySpec body;
    body.name = "e" + std::to_string(centres.size());
    body.position = c;
    const double u = std::sqrt(1 - a), w = std::sqrt(a);
    body.orientation = {u * std::sin(2 * kPi * b), u * std::cos(2 * kPi * b),
                        w * std::sin(2 * kPi * d), w * std::cos(2 * kPi * d)};
    body.shapes.push_back({.shape = shape, .material = "smooth"});
    body.drag = 1;
    body.length = 2 * kMajor;
    builder.add_body(body);
    centres.push_back(c);
  }
  builder.add_force(
      CallbackSpec{.name = "field", .body = "e0", .callback = std::make_shared<RadialField>(-1)});
  return builder.build();
}

StepSettings compaction_settings(ConstraintScheme scheme, double h, int spheres) {
  StepSettings s;
  s.h = h;
  s.constraints = scheme;
  s.sub_spheres = spheres;
  s.contact_margin = kCutOff;
  s.solver.tolerance = 4e-6;  // of a row's speed, 1/4: a hundredth of the overlap tolerance
  return s;
}

double longest_compaction(int count) { return 0.87 * edge_of(count) / kFreeSpeed + 30; }

double packed_radius(int count) { return 0.75 * std::cbrt(count * kMajor * kMinor * kMinor / 0.6); }

PackingSample measure(const Model& model, const State& packed, const StepSettings& settings,
                      int steps, State* end) {
  State x = packed;
  WarmStart warm;
  StepWorkspace work;
  PackingSample s;
  const Parameters parameters = model.default_parameters();
  const double start = processor_seconds();
  for (int i = 0; i < steps; ++i) {
    const StepReport r = step(model, parameters, settings, {}, x, warm, work);
    s.constraints += r.constraints;
    s.solves += r.recursions + 1;
    s.iterations += r.iterations;
    s.deepest = std::max(s.deepest, r.deepest);
    s.failed += r.outcome != Outcome::Converged;
    s.seconds_solve += r.seconds_solve / steps;
  }
  s.seconds = (processor_seconds() - start) / steps;
  if (end != nullptr) *end = x;
  s.constraints /= steps;
  s.solves /= steps;
  s.iterations /= steps;
  return s;
}

double mean_radius(const Model& model, const State& x) {
  double sum = 0;
  for (const BodyId id : model.dynamic_bodies())
    sum += x.q.segment<3>(model.body(id).q_begin).norm();
  return sum / model.dynamic_count();
}

bool is_packed(const Model& model, const State& x) {
  const auto& bodies = model.dynamic_bodies();
  return std::all_of(bodies.begin(), bodies.end(), [&](BodyId id) {
    return x.v.segment<3>(model.body(id).v_begin).norm() < 0.5 * kFreeSpeed;
  });
}

}  // namespace orthant::reproduce
