// SPDX-License-Identifier: Apache-2.0
// One body, one impact with the floor within the step: every derivative is exact. All shapes, in
// the plane and in space, bodies of unequal inertia that spin, on a spring or not.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orthant/gradient/step.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/shape/contacts.hpp"

namespace orthant {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  double in(double a, double b) {
    return a + (b - a) * static_cast<double>(random_() >> 11) * 0x1p-53;
  }
  Vec3 vector(double a) { return {in(-a, a), in(-a, a), in(-a, a)}; }

 private:
  std::mt19937_64 random_;
};

Shape planar_shape(Dice& dice, unsigned kind) {
  switch (kind % 5) {
    case 0:
      return Shape::disc(dice.in(0.05, 0.15));
    case 1:
      return Shape::rectangle(dice.in(0.05, 0.2), dice.in(0.05, 0.2));
    case 2:
      return Shape::stadium(dice.in(0.03, 0.1), dice.in(0.05, 0.2));
    case 3: {
      std::vector<Vec2> points;
      for (int i = 0; i < 5; ++i) {
        const double turn = 1.25 * i + dice.in(0, 0.5), length = dice.in(0.09, 0.12);
        points.emplace_back(length * std::cos(turn), length * std::sin(turn));
      }
      return Shape::polygon(points);
    }
    default:
      return Shape::ellipse(dice.in(0.05, 0.1), dice.in(0.1, 0.2));
  }
}

Shape spatial_shape(Dice& dice, unsigned kind) {
  switch (kind % 8) {
    case 0:
      return Shape::sphere(dice.in(0.05, 0.15));
    case 1:
      return Shape::box(dice.in(0.05, 0.1), dice.in(0.1, 0.15), dice.in(0.15, 0.2));
    case 2:
      return Shape::capsule(dice.in(0.03, 0.1), dice.in(0.05, 0.2));
    case 3: {
      std::vector<Vec3> points;
      for (int i = 0; i < 7; ++i) {
        const double z = 1 - 2 * (i + 0.5) / 7, across = std::sqrt(1 - z * z);
        const double turn = 2.4 * i + dice.in(0, 0.3), length = dice.in(0.09, 0.12);
        points.emplace_back(length * across * std::cos(turn), length * across * std::sin(turn),
                            length * z);
      }
      return Shape::hull(points);
    }
    case 4:
      return Shape::ellipsoid(dice.in(0.05, 0.1), dice.in(0.1, 0.15), dice.in(0.15, 0.2));
    case 5:
      return Shape::torus(dice.in(0.1, 0.2), dice.in(0.03, 0.08));
    case 6:
      return Shape::cylinder(dice.in(0.05, 0.1), dice.in(0.05, 0.15));
    default:
      return Shape::cone(dice.in(0.05, 0.1), dice.in(0.05, 0.15));
  }
}

/// Impact number `seed`, the body lifted by `up` from where its lot puts it.
Model falling_body(unsigned seed, double up) {
  Dice dice(seed);
  const bool planar = seed % 2 == 0, spring = seed % 3 == 0;
  ModelBuilder b;
  b.add_material({.name = "m", .friction = dice.in(0.05, 0.9), .restitution = dice.in(0.1, 0.95)});
  b.add_body(
      {.name = "floor",
       .motion = Motion::Fixed,
       .planar = planar,
       .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(), .material = "m"}}});
  const Shape shape = planar ? planar_shape(dice, seed / 2) : spatial_shape(dice, seed / 2);
  const Vec3 turn = dice.vector(2), spin = dice.vector(9), across = dice.vector(1);
  const double fall = dice.in(-3, -1.5);
  b.add_body({.name = "body",
              .motion = planar ? Motion::Planar : Motion::Spatial,
              .position = planar ? Vec3(0, up, 0) : Vec3(0, 0, up),
              .orientation = planar ? Quat{} : exp_rotation(turn),
              .angle = planar ? turn.x() : 0,
              .velocity = planar ? Vec3(across.x(), fall, 0) : Vec3(across.x(), across.y(), fall),
              .angular_velocity = planar ? Vec3(0, 0, spin.x()) : spin,
              .shapes = {{.shape = shape, .material = "m"}}});
  if (spring)
    b.add_force(SpringSpec{.name = "spring",
                           .a = "body",
                           .point_a = planar ? Vec3(0.03, 0.02, 0) : Vec3(0.03, 0.02, -0.01),
                           .point_b = planar ? Vec3(0.3, 0.8, 0) : Vec3(0.3, 0.1, 0.8),
                           .stiffness = dice.in(20, 300),
                           .damping = 1,
                           .rest = 0.2});
  return b.build();
}

double gap_of(const Model& model) {
  const Parameters parameters = model.default_parameters();
  const double* values = parameters.values.data();
  const State x = model.rest_state();
  const auto pose = [&](const ShapeInstance& s) {
    return shape_pose(model.body(s.body), s, x.q.data(), values);
  };
  const ShapeInstance &floor = model.shape(ShapeId{0}), &body = model.shape(ShapeId{1});
  return distance(floor.view(values), pose(floor), body.view(values), pose(body)).gap;
}

TEST(SingleImpact, OfOneBodyIsExact) {
  constexpr unsigned kImpacts = 240;
  int impacts = 0, certified = 0;
  for (unsigned seed = 0; seed < kImpacts; ++seed) {
    const double above = 0.004 + 0.008 * (seed % 7) / 7;
    const Model model = falling_body(seed, 1 - gap_of(falling_body(seed, 1)) + above);
    StepSettings settings{.h = 0.01, .impact_events = true};
    settings.solver.tolerance = 1e-13;
    const Parameters parameters = model.default_parameters();
    const Index n = model.v_size();
    StepRecord record;
    State end = model.rest_state();
    const auto run = [&](const VecX& dq, const VecX& dv, State& x, StepRecord* keep) {
      x = model.rest_state();
      boxplus(model, model.rest_state().q, dq, x.q);
      x.v += dv;
      WarmStart warm;
      StepWorkspace work;
      return step(model, parameters, settings, {}, x, warm, work, keep);
    };
    const VecX zero = VecX::Zero(n);
    const StepReport report = run(zero, zero, end, &record);
    ASSERT_EQ(report.outcome, Outcome::Converged) << seed;
    if (report.events != 1) continue;  // it turned away, or met the floor twice
    ++impacts;
    StepGradient gradient(model, parameters, settings, record);
    const StepJacobian J = gradient.jacobian();
    const StepCertificate& c = gradient.certificate();
    certified += c.certified() && c.open.empty();
    if (!c.certified()) continue;
    for (Index k = 0; k < 2 * n; ++k) {
      const auto at = [&](double e) {
        State x;
        (void)run(k < n ? VecX(e * VecX::Unit(n, k)) : zero,
                  k < n ? zero : VecX(e * VecX::Unit(n, k - n)), x, nullptr);
        VecX d, out(2 * n);
        boxminus(model, x.q, end.q, d);
        out << d, x.v - end.v;
        return out;
      };
      const double e = 1e-6;
      const VecX truth = (8 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12 * e);
      EXPECT_LE((J.A.col(k) - truth).norm(), 1e-5 * std::max(1.0, truth.norm()))
          << "impact " << seed << ", input " << k;
    }
  }
  RecordProperty("impacts", impacts);
  RecordProperty("certified", certified);
  EXPECT_GE(impacts, 200);
  EXPECT_EQ(certified, impacts);
}

}  // namespace
}  // namespace orthant
