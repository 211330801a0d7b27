// SPDX-License-Identifier: Apache-2.0
// Rods on the host back end: closed forms of two, the rows and solves of step()'s recursion, the
// colony's statistics by generation, overlaps measured by the core's own narrow phase, divisions.
#include "orthant/device/rods.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/model/division.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

constexpr double kRadius = 0.25;

/// The same rods as bodies of a model.
ModelBuilder bodies_of(const Rods& rods) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (std::size_t i = 0; i < rods.uid.size(); ++i)
    builder.add_body({.name = "cell/" + std::to_string(rods.uid[i]),
                      .motion = Motion::Planar,
                      .position = Vec3(rods.q[3 * i], rods.q[3 * i + 1], 0),
                      .angle = rods.q[3 * i + 2],
                      .shapes = {{.shape = Shape::stadium(kRadius, 0.5 * rods.length[i] - kRadius),
                                  .material = "smooth"}},
                      .drag = 1,
                      .length = rods.length[i],
                      .uid = rods.uid[i]});
  return builder;
}

/// What `orthant reproduce colony` asks of step().
StepSettings step_settings(double tolerance) {
  StepSettings s;
  s.h = 1e-3;
  s.constraints = ConstraintScheme::Relcp;
  s.overlap_tolerance = 1e-5 / kRadius;
  s.contact_margin = 0.4;
  s.solver.tolerance = tolerance;
  return s;
}

/// Overlap by the narrow phase of the core.
double true_overlap(const Rods& rods) {
  ModelBuilder builder = bodies_of(rods);
  const Model model = builder.build();
  CollisionWorkspace work;
  ContactSet contacts;
  find_contacts(model, model.default_parameters(), model.rest_state().q, {},
                {.margin = 0, .points = ContactPoints::Deepest}, work, contacts);
  return deepest_penetration(contacts);
}

struct Means {
  double steps = 0, first = 0, rows = 0, solves = 0, gyration = 0;
  double deepest = 0;
};

double gyration(const Rods& rods) {
  double sum = 0;
  for (std::size_t i = 0; i < rods.uid.size(); ++i)
    sum += rods.q[3 * i] * rods.q[3 * i] + rods.q[3 * i + 1] * rods.q[3 * i + 1];
  return std::sqrt(sum / static_cast<double>(rods.uid.size()));
}

Rods one_cell() { return {{0, 0, 0.3}, {2}, {1}}; }

/// One generation by the program; the rods have divided afterwards.
Means generation(RodProgram& program, Rods& rods) {
  Means m;
  program.forget();
  while (rods.length[0] < 4) {
    const RodReport r = program.step(rods.q, rods.length);
    EXPECT_EQ(r.outcome, RodOutcome::Converged);
    ++m.steps;
    m.first += static_cast<double>(r.first);
    m.rows += static_cast<double>(r.rows);
    m.solves += static_cast<double>(r.solves);
    m.deepest = std::max(m.deepest, r.deepest);
  }
  m.gyration = gyration(rods);
  divide_rods({}, rods);
  return m;
}

Rods colony(int generations, const RodSettings& settings = {}) {
  RodProgram program(settings);
  Rods rods = one_cell();
  for (int g = 0; g < generations; ++g) generation(program, rods);
  return rods;
}

TEST(Rods, TwoTipToTipMoveApartByHalfTheirOverlapEach) {
  Rods rods{{0, 0, 0, 1.99, 0, 0}, {2, 2}, {1, 2}};
  RodProgram program({.growth = 0, .tolerance = 1e-12});
  const RodReport r = program.step(rods.q, rods.length);
  EXPECT_EQ(r.outcome, RodOutcome::Converged);
  EXPECT_NEAR(rods.q[0], -0.005, 1e-11);
  EXPECT_NEAR(rods.q[3], 1.995, 1e-11);
  EXPECT_NEAR(rods.q[1], 0, 1e-11);
}

/// The tip of a rod pushes a free one at a distance d from its middle: its mobility there is
/// 1/l + 12 d²/l³, that of the tip along the pusher 1/l. Turns are so small that one row says all.
TEST(Rods, ATipTurnsTheRodItPushes) {
  const double overlap = 1e-4, d = 0.5, pi = std::numbers::pi;
  Rods rods{{0, 0, 0, d, kRadius + 1 - overlap, pi / 2}, {2, 2}, {1, 2}};
  RodProgram program({.growth = 0, .tolerance = 1e-13});
  program.step(rods.q, rods.length);
  const double push = overlap / (1.0 + 12 * d * d / 8);
  EXPECT_NEAR(rods.q[4] - (kRadius + 1 - overlap), 0.5 * push, 1e-3 * push);
  EXPECT_NEAR(rods.q[2], -12 * d / 8 * push, 1e-3 * push);
}

TEST(Rods, OnesThatLieFlushHaveARowAtBothEnds) {
  for (const bool both : {true, false}) {
    Rods rods{{0, 0, 0, 0.6, 0.499, 0}, {3, 3}, {1, 2}};
    RodProgram program({.growth = 0, .tolerance = 1e-12, .as_step = !both});
    const RodReport r = program.step(rods.q, rods.length);
    EXPECT_EQ(r.first, both ? 2 : 1);
    if (both) {
      EXPECT_NEAR(rods.q[2], rods.q[5], 1e-11) << "they stay parallel";
    }
    EXPECT_LE(true_overlap(rods), 1e-5 + 1e-12);
  }
}

TEST(Rods, CoresThatCrossComeApart) {
  Rods rods{{0, 0, 0, 0.7, 0.6, 1.5}, {2, 2}, {1, 2}};
  RodProgram program({.growth = 0});
  for (int i = 0; i < 3; ++i) program.step(rods.q, rods.length);
  EXPECT_LE(true_overlap(rods), 1e-5 + 1e-12);
}

/// One step from the same state: the rows of the recursion, its solves and where it leads are those
/// of step(), whose solver is another one.
TEST(Rods, MakeTheRowsAndSolvesOfTheRecursion) {
  Rods rods = colony(6);
  RodProgram grow_on{RodSettings{}};
  for (int sample = 0; sample < 6; ++sample) {
    for (int i = 0; i < 100; ++i) grow_on.step(rods.q, rods.length);
    ModelBuilder builder = bodies_of(rods);
    const Model model = builder.build();
    Parameters parameters = model.default_parameters();
    grow(model, model.dynamic_bodies(), std::exp(1e-3), parameters);
    State x = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    const StepReport core = step(model, parameters, step_settings(1e-10), {}, x, warm, work);
    for (const int interior_from : {1, 1000}) {
      Rods copy = rods;
      RodProgram program({.tolerance = 1e-10, .as_step = true, .interior_from = interior_from});
      const RodReport r = program.step(copy.q, copy.length);
      EXPECT_EQ(r.outcome, RodOutcome::Converged);
      EXPECT_EQ(r.first, core.contacts);
      EXPECT_EQ(r.rows, core.constraints);
      EXPECT_EQ(r.solves, core.recursions + 1);
      double most = 0;
      for (std::size_t i = 0; i < copy.q.size(); ++i)
        most = std::max(most, std::abs(copy.q[i] - x.q[static_cast<Index>(i)]));
      EXPECT_LT(most, 1e-7) << "sample " << sample << ", interior from " << interior_from;
    }
  }
}

/// A generation by step(); the rods have divided afterwards.
Means generation_by_step(Rods& rods) {
  ModelBuilder builder = bodies_of(rods);
  const Model model = builder.build();
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  Parameters parameters;
  Means m;
  const double born = rods.length[0];
  for (double length = born; length < 4;) {
    length *= std::exp(1e-3);
    parameters = model.default_parameters();
    grow(model, model.dynamic_bodies(), length / born, parameters);
    const StepReport r = step(model, parameters, step_settings(1e-7), {}, x, warm, work);
    EXPECT_EQ(r.outcome, Outcome::Converged);
    ++m.steps;
    m.first += static_cast<double>(r.contacts);
    m.rows += static_cast<double>(r.constraints);
    m.solves += static_cast<double>(r.recursions + 1);
    rods.length.assign(rods.length.size(), length);
  }
  rods.q.assign(x.q.begin(), x.q.end());
  m.gyration = gyration(rods);
  divide_rods({}, rods);
  return m;
}

/// The colony by step() and by the program, to 64 cells. Single cells go other ways (jitter grows
/// some hundredfold per generation), the means do not.
TEST(Rods, AColonyHasTheStatisticsOfStep) {
  Rods core_rods = one_cell(), deepest_rods = one_cell(), both_rods = one_cell(),
       factor_rods = one_cell();
  RodProgram deepest({.tolerance = 1e-7, .as_step = true}), both{RodSettings{}},
      factors({.tolerance = 1e-7, .as_step = true, .interior_from = 1});
  for (int cells = 1; cells <= 64; cells *= 2) {
    const Means core = generation_by_step(core_rods), same = generation(deepest, deepest_rods),
                other = generation(both, both_rods);
    const auto expect_same = [&](const Means& m) {
      EXPECT_EQ(m.steps, core.steps) << cells;
      EXPECT_NEAR(m.first, core.first, 0.03 * core.first) << cells;
      EXPECT_NEAR(m.rows, core.rows, 0.03 * core.rows) << cells;
      EXPECT_NEAR(m.solves, core.solves, 0.1 * core.solves) << cells;
      EXPECT_NEAR(m.gyration, core.gyration, 0.02 * core.gyration) << cells;
    };
    expect_same(same);
    if (cells <= 32) expect_same(generation(factors, factor_rods));
    EXPECT_NEAR(other.gyration, core.gyration, 0.03 * core.gyration) << cells;
  }
}

TEST(Rods, DivideAsDivisionDoes) {
  Rods rods = colony(4);
  for (std::size_t i = 0; i < rods.uid.size(); ++i) rods.length[i] = i % 3 == 0 ? 3 : 4.5;
  ModelBuilder builder = bodies_of(rods);
  const Model model = builder.build();
  std::vector<BodyId> ready;
  for (std::size_t i = 0; i < rods.uid.size(); ++i)
    if (rods.length[i] >= 4) ready.push_back(BodyId{static_cast<Index>(i)});
  const DivisionSettings settings{.key = 7};
  const Divided next =
      divide(builder, model, model.default_parameters(), model.rest_state(), ready, settings);
  EXPECT_EQ(divide_rods({.key = 7}, rods), ready.size());
  ASSERT_EQ(rods.uid.size(), next.model.bodies().size());
  for (std::size_t i = 0; i < rods.uid.size(); ++i) {
    const Body& body = next.model.bodies()[i];
    EXPECT_EQ(rods.uid[i], body.uid);
    EXPECT_DOUBLE_EQ(rods.length[i],
                     rod_length(next.model, next.parameters, BodyId{static_cast<Index>(i)}));
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(rods.q[3 * i + k], next.state.q[body.q_begin + static_cast<Index>(k)], 1e-14);
  }
}

TEST(Rods, LeaveNoMoreOverlapThanAsked) {
  for (const int interior_from : {1, 1000}) {
    Rods rods = colony(6);
    RodProgram program({.interior_from = interior_from});
    for (int i = 0; i < 300; ++i) {
      const RodReport r = program.step(rods.q, rods.length);
      ASSERT_EQ(r.outcome, RodOutcome::Converged);
      EXPECT_LE(r.deepest, 1e-5);
      EXPECT_LE(r.residual, 5e-6);
      if (i % 20 == 0) {
        EXPECT_NEAR(true_overlap(rods), r.deepest, 1e-12);
      }
    }
  }
}

TEST(Rods, HaveTheSameBitsForAnyNumberOfThreads) {
  const Rods begin = colony(8);
  const auto end = [&](int threads, int interior_from) {
    set_thread_count(threads);
    Rods rods = begin;
    RodProgram program({.interior_from = interior_from});
    for (int i = 0; i < 20; ++i) program.step(rods.q, rods.length);
    set_thread_count(1);
    return rods.q;
  };
  for (const int interior_from : {1, 1000}) {
    const std::vector<double> one = end(1, interior_from);
    for (const int threads : {2, 5}) EXPECT_EQ(end(threads, interior_from), one) << threads;
  }
}

TEST(Rods, StandWhereANumberIsNotFinite) {
  Rods rods = colony(3);
  const std::vector<double> before = rods.q;
  RodProgram program{RodSettings{}};
  rods.q[4] = NAN;
  EXPECT_EQ(program.step(rods.q, rods.length).outcome, RodOutcome::NotFinite);
  rods.q[4] = before[4];
  EXPECT_EQ(rods.q, before);
  rods.length[2] = HUGE_VAL;
  EXPECT_EQ(program.step(rods.q, rods.length).outcome, RodOutcome::NotFinite);
}

/// Seen only in the solve, when the rods have grown already: by e^600, to mobilities of zero.
TEST(Rods, HaveTheirLengthsBackWhereASolveIsNotFinite) {
  Rods rods{.q = {0, 0, 0, 1, 0.4, 0.3}, .length = {2, 2}, .uid = {0, 1}};
  const Rods before = rods;
  for (const int interior_from : {1, 1000}) {
    RodProgram program({.h = 1, .growth = 600, .interior_from = interior_from});
    EXPECT_EQ(program.step(rods.q, rods.length).outcome, RodOutcome::NotFinite);
    EXPECT_EQ(rods.length, before.length);
    EXPECT_EQ(rods.q, before.q);
  }
}

TEST(Rods, SayWhereASolveEndedAtItsLimit) {
  Rods rods = colony(5);
  RodProgram gradients({.tolerance = 1e-12, .max_iterations = 10}),
      factors({.tolerance = 1e-12, .max_iterations = 2, .interior_from = 1});
  EXPECT_EQ(gradients.step(rods.q, rods.length).outcome, RodOutcome::IterationLimit);
  EXPECT_EQ(factors.step(rods.q, rods.length).outcome, RodOutcome::IterationLimit);
}

TEST(Rods, RefuseByName) {
  const auto message = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message([] { RodProgram program({.near = 0}); }).find("near"), std::string::npos);
  RodProgram program{RodSettings{}};
  std::vector<double> q(3), length = {0.4};
  EXPECT_NE(message([&] { program.step(q, length); }).find("length"), std::string::npos);
  q.push_back(0);
  EXPECT_NE(message([&] { program.step(q, length); }).find("q"), std::string::npos);
  EXPECT_NE(message([] { RodProgram p({.h = 1, .growth = 710}); }).find("growth"),
            std::string::npos);
  Rods rods{.q = {0, 0, 0, 9, 0, 0}, .length = {2, 2}, .uid = {0, 1}};
  for (const double bad : {0.0, -1.0, HUGE_VAL, std::nan("")})
    EXPECT_NE(message([&] { divide_rods({.at = bad}, rods); }).find("at:"), std::string::npos);
  EXPECT_NE(message([&] { divide_rods({.jitter = NAN}, rods); }).find("jitter"), std::string::npos);
  rods.uid = {1, 1};
  EXPECT_NE(message([&] { divide_rods({}, rods); }).find("uid"), std::string::npos);
}

}  // namespace
}  // namespace orthant
