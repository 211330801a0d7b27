// SPDX-License-Identifier: Apache-2.0
// Steps of crowds: what `fast` and `standard` promise, where they do not apply, and what they make
// of states that nobody should ask for.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/base/process.hpp"
#include "orthant/base/thread_scope.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "step/crew.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

constexpr double kRadius = 0.035;

/// `count` bodies on a grid of six by six above a floor between four walls.
Model pile(int count, const Shape& shape, double friction = 0.5) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = friction});
  const double c = std::sqrt(0.5), half = 0.25;
  const std::pair<Vec3, Quat> walls[] = {{Vec3(0, 0, 0), {1, 0, 0, 0}},
                                         {Vec3(-half, 0, 0), {c, 0, c, 0}},
                                         {Vec3(half, 0, 0), {c, 0, -c, 0}},
                                         {Vec3(0, -half, 0), {c, -c, 0, 0}},
                                         {Vec3(0, half, 0), {c, c, 0, 0}}};
  for (const auto& [at, turn] : walls)
    builder.add_body({.motion = Motion::Fixed,
                      .position = at,
                      .orientation = turn,
                      .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  testing::SplitMix random(5);
  const auto turn = [&]() -> Quat {  // boxes that stood straight would make towers, not a pile
    Quat q{random.uniform(), random.uniform(), random.uniform(), random.uniform()};
    return normalized(q);
  };
  for (int i = 0; i < count; ++i)
    builder.add_body({.position = Vec3(0.08 * (i % 6) - 0.2 + 0.002 * random.uniform(),
                                       0.08 * (i / 6 % 6) - 0.2 + 0.002 * random.uniform(),
                                       0.06 + 0.11 * (i / 36)),
                      .orientation = turn(),
                      .shapes = {{.shape = shape, .material = "m"}}});
  return builder.build();
}

struct World {
  World(const Model& m, Accuracy accuracy)
      : model(m), parameters(m.default_parameters()), x(m.rest_state()) {
    settings.accuracy = accuracy;
  }
  StepReport step(StepRecord* record = nullptr) {
    return orthant::step(model, parameters, settings, {}, x, warm, work, record);
  }
  double overlap() {
    ContactSet found;
    CollisionWorkspace collision;
    find_contacts(model, parameters, x.q, {}, {.margin = 0}, collision, found);
    return deepest_penetration(found) / kRadius;
  }
  bool inside() const {
    for (const BodyId id : model.dynamic_bodies()) {
      const Vec3 at = x.q.segment<3>(model.body(id).q_begin);
      if (!(at[2] > 0 && std::abs(at[0]) < 0.25 && std::abs(at[1]) < 0.25)) return false;
    }
    return true;
  }
  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  WarmStart warm;
  StepWorkspace work;
};

TEST(Crowd, FallsSettlesAndStaysApart) {
  for (const Accuracy accuracy : {Accuracy::Fast, Accuracy::Standard}) {
    for (const Shape& shape : {Shape::sphere(kRadius), Shape::box(0.02, 0.022, 0.024)}) {
      SCOPED_TRACE(::testing::Message() << int(accuracy) << " " << int(shape.kind()));
      World world(pile(144, shape), accuracy);
      double mean = 0, most = 0;
      int crowds = 0;
      for (int i = 0; i < 150; ++i) {
        const StepReport report = world.step();
        const double overlap = world.overlap();
        mean += overlap / 150;
        most = std::max(most, overlap);
        crowds += report.accuracy == accuracy;
        // What the report foresees is what comes, or less. Boxes that tumble by a part of a radian
        // per step meet with corners that had no row: theirs is true to first order only.
        if (shape.kind() == ShapeKind::Sphere) {
          EXPECT_LE(overlap, report.deepest / kRadius + 1e-9);
        }
      }
      EXPECT_GT(crowds, 100);
      EXPECT_LT(mean, shape.kind() == ShapeKind::Sphere ? 0.005 : 0.05);
      EXPECT_LT(most, shape.kind() == ShapeKind::Sphere ? 0.1 : 0.6);
      EXPECT_TRUE(world.inside());
    }
  }
}

/// Spheres in `layers` on a floor, wide enough for many cells.
Model field(int side, int layers, LawOfMotion law, double friction) {
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = friction});
  builder.set_law(law);
  builder.add_body(
      {.motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  testing::SplitMix random(11);
  for (int i = 0; i < side * side * layers; ++i)
    builder.add_body({.position = Vec3(0.0705 * (i % side) + 1e-3 * random.uniform() - 0.9,
                                       0.0705 * (i / side % side) + 1e-3 * random.uniform() - 0.9,
                                       0.0351 + 0.0702 * (i / side / side)),
                      .shapes = {{.shape = Shape::sphere(kRadius), .material = "m"}}});
  return builder.build();
}

TEST(Crowd, CellsOfOneColourShareNoBody) {
  const double edge = crowd_cell_edge(field(3, 1, LawOfMotion::Inertial, 0.5));
  EXPECT_NEAR(edge, 8 * kRadius, 1e-12);
  const Vec3 down(0, 0, -9.81);
  EXPECT_EQ(crowd_cell(Vec3(-0.01, 0.29, 5), down, edge), (SweepCell{-1, 1}));
  EXPECT_EQ(crowd_cell(Vec3(-0.01, 0.29, 0.3), Vec3(9.81, 0, 0), edge), (SweepCell{1, 1}));
  EXPECT_EQ(crowd_cell(Vec3(-0.01, 0.29, 0.3), Vec3(0, 9.81, 0), edge), (SweepCell{-1, 1}));
  EXPECT_EQ(crowd_cell(Vec3(1e300, 0, 0), down, edge), kNoCell);
  EXPECT_EQ(colour_of({-1, 1}), 3);
  EXPECT_EQ(colour_of({-2, 1}), 2);
  EXPECT_EQ(colour_of(kNoCell), 4);
}

TEST(Crowd, HasTheSameBitsForAnyNumberOfThreads) {
  for (const Accuracy accuracy : {Accuracy::Fast, Accuracy::Standard}) {
    const Model model = field(28, 4, LawOfMotion::Inertial, 0.5);
    VecX q, v;
    for (const int threads : {1, 2, 3, 8}) {
      const ThreadScope scope(threads);
      World world(model, accuracy);
      // A part of them is thrown at the others, some too fast for the cells.
      for (Index i = 0; i < 300; ++i) world.x.v[6 * i] = 0.3;
      world.x.v[6 * 700 + 2] = -8;
      for (int i = 0; i < 6; ++i) {
        const StepReport report = world.step();
        EXPECT_EQ(report.accuracy, accuracy);
        EXPECT_GT(report.contacts, static_cast<Index>(kCutContacts));
      }
      if (threads == 1) {
        q = world.x.q;
        v = world.x.v;
      }
      EXPECT_TRUE(world.x.q == q) << threads;
      EXPECT_TRUE(world.x.v == v) << threads;
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Crowd, TakesLittleMemoryBeyondModelStateAndParameters) {
  // Three contacts per body, each 208 + 144 bytes where it is found and where it is swept.
  World world(field(42, 12, LawOfMotion::Inertial, 0.5), Accuracy::Fast);
  const Index count = world.model.dynamic_count();
  reset_peak_memory();
  const double before = peak_memory();
  for (int i = 0; i < 5; ++i) EXPECT_GT(world.step().contacts, 2.8 * count);
  const double bytes = (peak_memory() - before) / count;
  EXPECT_LT(bytes, 2650);
  EXPECT_GT(bytes, 500) << "the system does not let go of its peak";
}
#endif

TEST(Crowd, CellsDoNotSpoilTheAnswer) {
  // 3136 spheres at rest, cut into cells: the tolerance is reached and nothing sinks.
  World world(field(28, 4, LawOfMotion::Inertial, 0.5), Accuracy::Standard);
  int converged = 0;
  for (int i = 0; i < 20; ++i) {
    const StepReport report = world.step();
    EXPECT_GE(report.contacts, static_cast<Index>(kCutContacts));
    converged += report.outcome == Outcome::Converged;
  }
  EXPECT_GE(converged, 18);
  EXPECT_LT(world.overlap(), 0.01);
}

TEST(Crowd, StandardDoesNotCareHowFastAllMoveTogether) {
  // On a floor without friction, in fine steps: 100 m/s leave no digits in single precision.
  for (const double speed : {0.0, 100.0}) {
    World world(field(26, 4, LawOfMotion::Inertial, 0), Accuracy::Standard);
    world.settings.h = 2e-4;
    for (const BodyId id : world.model.dynamic_bodies())
      world.x.v[world.model.body(id).v_begin] = speed;
    int missed = 0;
    for (int i = 0; i < 60; ++i) missed += world.step().outcome != Outcome::Converged;
    EXPECT_EQ(missed, 0) << speed;
  }
}

TEST(Crowd, StandardReachesItsToleranceInALargePileThatMoves) {
  // Twenty layers: too many contacts for Newton's method, too few for cells.
  World world(pile(720, Shape::sphere(kRadius)), Accuracy::Fast);
  for (int i = 0; i < 150; ++i) (void)world.step();
  world.settings.accuracy = Accuracy::Standard;
  int converged = 0;
  for (int i = 0; i < 40; ++i) {
    const double angle = 0.61 * std::sin(2 * std::numbers::pi * 0.02 * (i + 1));
    double* g = world.parameters.values.data() + world.model.gravity();
    g[0] = 9.81 * std::sin(angle);
    g[2] = -9.81 * std::cos(angle);
    const StepReport report = world.step();
    EXPECT_GE(report.contacts, static_cast<Index>(kManyContacts));
    EXPECT_LT(report.contacts, static_cast<Index>(kCutContacts));
    EXPECT_EQ(report.outcome == Outcome::Converged, report.residual <= 1e-3);
    converged += report.outcome == Outcome::Converged;
  }
  EXPECT_GE(converged, 30);
}

TEST(Crowd, OverdampedSpheresSettle) {
  World world(field(14, 3, LawOfMotion::Overdamped, 0.0), Accuracy::Standard);
  world.settings.h = 4e-5;  // a millimetre per step
  World exact(world.model, Accuracy::Exact);
  exact.settings.h = world.settings.h;
  for (int i = 0; i < 5; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.accuracy, Accuracy::Standard);
    EXPECT_LE(report.residual, 1e-3);
    (void)exact.step();
  }
  EXPECT_LT(world.overlap(), 1e-3);
  // Their speeds differ by the compliance alone.
  const double most = exact.x.v.cwiseAbs().maxCoeff();
  EXPECT_GT(most, 0);
  EXPECT_LT((world.x.q - exact.x.q).cwiseAbs().maxCoeff(), 0.02 * kRadius);
}

TEST(Crowd, StandardReachesItsToleranceAtRest) {
  World world(pile(144, Shape::sphere(kRadius)), Accuracy::Standard);
  for (int i = 0; i < 150; ++i) (void)world.step();
  for (int i = 0; i < 20; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(report.residual, 1e-3);
    EXPECT_EQ(report.accuracy, Accuracy::Standard);
  }
}

TEST(Crowd, AMovingPileReachesTheCompliantLawToSmallTolerances) {
  World world(pile(144, Shape::sphere(kRadius)), Accuracy::Standard);
  for (int i = 0; i < 100; ++i) (void)world.step();
  world.settings.crowd_tolerance = 1e-8;
  int converged = 0;
  double fastest = 0;
  for (int i = 0; i < 50; ++i) {  // gravity swings by 35 degrees
    const double angle = 0.61 * std::sin(2 * std::numbers::pi * 0.02 * (i + 1));
    double* g = world.parameters.values.data() + world.model.gravity();
    g[0] = 9.81 * std::sin(angle);
    g[2] = -9.81 * std::cos(angle);
    const StepReport report = world.step();
    EXPECT_EQ(report.accuracy, Accuracy::Standard);
    EXPECT_EQ(report.outcome == Outcome::Converged, report.residual <= 1e-8);
    converged += report.outcome == Outcome::Converged;
    fastest = std::max(fastest, world.x.v.cwiseAbs().maxCoeff());
  }
  EXPECT_GE(converged, 47);
  EXPECT_GT(fastest, 0.05);  // it does move
}

TEST(Crowd, RefusesNumbersThatAreNotFinite) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    World world(pile(144, Shape::sphere(kRadius)), Accuracy::Fast);
    (void)world.step();
    world.x.v[7] = value;
    EXPECT_THROW((void)world.step(), Error);
    world.x.v[7] = 0;
    world.parameters.values[world.model.gravity()] = value;  // turned in every step, checked too
    EXPECT_THROW((void)world.step(), Error);
  }
}

TEST(Crowd, ExactAtRestIsSweptToTheRigidLaw) {
  World world(pile(144, Shape::sphere(kRadius)), Accuracy::Fast);
  for (int i = 0; i < 300; ++i) (void)world.step();  // until the last one lies
  world.settings.accuracy = Accuracy::Exact;
  world.settings.solver.tolerance = 1e-8;
  for (int i = 0; i < 20; ++i) (void)world.step();
  for (int i = 0; i < 20; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.accuracy, Accuracy::Exact);
    EXPECT_EQ(report.outcome, Outcome::Converged) << report.residual;
    EXPECT_LE(report.residual, 1e-8);
    EXPECT_LE(world.overlap(), 1e-8);
  }
}

/// Balls on the floor, far apart: as many islands of one contact.
Model balls_apart(int side) {
  ModelBuilder builder;
  builder.add_body({.motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  for (int i = 0; i < side * side; ++i)
    builder.add_body({.position = Vec3(0.1 * (i % side), 0.1 * (i / side), kRadius),
                      .shapes = {{.shape = Shape::sphere(kRadius)}}});
  return builder.build();
}

/// Columns of cubes, four contacts to a face, far apart.
Model columns(int count, int height) {
  ModelBuilder builder;
  builder.add_body({.motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  for (int i = 0; i < count * height; ++i)
    builder.add_body({.position = Vec3(0.5 * (i % count), 0, 0.05 + 0.1 * (i / count)),
                      .shapes = {{.shape = Shape::box(0.05, 0.05, 0.05)}}});
  return builder.build();
}

TEST(Crowd, ManyContactsInAllAreACrowd) {
  World world(balls_apart(46), Accuracy::Fast);
  const StepReport report = world.step();
  EXPECT_GE(report.contacts, static_cast<Index>(kManyContacts));
  EXPECT_EQ(report.accuracy, Accuracy::Fast);
  EXPECT_LE(report.residual, 1e-3);
}

TEST(Crowd, SeparateIslandsAreExactHoweverManyContactsTheyHaveTogether) {
  World world(columns(10, 60), Accuracy::Exact);
  double* g = world.parameters.values.data() + world.model.gravity();
  g[1] = 9.81 * std::sin(0.4);  // the columns topple
  g[2] = -9.81 * std::cos(0.4);
  for (int i = 0; i < 10; ++i) {
    const StepReport report = world.step();
    EXPECT_GT(report.constraints, static_cast<Index>(kManyContacts));
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(report.residual, world.settings.solver.tolerance);
  }
}

TEST(Crowd, FliesLikeTheExactStepWithoutAProblem) {
  World fast(pile(144, Shape::box(0.02, 0.022, 0.024)), Accuracy::Fast);
  World exact(fast.model, Accuracy::Exact);
  for (World* world : {&fast, &exact})
    for (Index i = 0; i < world->model.dynamic_v_size(); ++i) world->x.v[i] = 0.1 * std::sin(i);
  for (int i = 0; i < 4; ++i) {
    const StepReport report = fast.step();
    EXPECT_EQ(report.contacts, 0);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_EQ(report.solves, 0);
    (void)exact.step();
  }
  EXPECT_LE((fast.x.q - exact.x.q).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LE((fast.x.v - exact.x.v).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Crowd, LargeExactPilesThatMoveEndWithTheirSweeps) {
  // Settled by `fast`, then the floor is steep: 2704 spheres roll and slide over each other.
  World world(field(26, 4, LawOfMotion::Inertial, 0.5), Accuracy::Fast);
  for (int i = 0; i < 20; ++i) (void)world.step();
  double* g = world.parameters.values.data() + world.model.gravity();
  g[0] = 9.81 * std::sin(0.6);
  g[2] = -9.81 * std::cos(0.6);
  for (int i = 0; i < 5; ++i) (void)world.step();
  world.settings.accuracy = Accuracy::Exact;
  const StepReport report = world.step();
  EXPECT_GT(report.constraints, static_cast<Index>(kManyContacts));
  EXPECT_EQ(report.method, Method::GaussSeidel);
  EXPECT_GT(report.outcome, Outcome::Converged);
  EXPECT_LE(report.outcome, Outcome::Stalled);
  EXPECT_GT(report.residual, world.settings.solver.tolerance);
  EXPECT_LT(report.residual, 0.1);
  EXPECT_LE(world.overlap(), 1e-8);  // positions are projected all the same
}

TEST(Crowd, IslandsOfFewContactsAreExactUpToManyInAll) {
  World world(balls_apart(12), Accuracy::Fast);
  for (int i = 0; i < 5; ++i) {
    const StepReport report = world.step();
    EXPECT_GE(report.contacts, 144);
    EXPECT_EQ(report.accuracy, Accuracy::Exact);
    EXPECT_LE(report.residual, 1e-10);
  }
}

TEST(Crowd, HeapsThatAreNotSmallAreACrowdTogether) {
  // Four columns of seven cubes are islands of 28 contacts, thirty columns of five those of 20.
  World heaps(columns(4, 7), Accuracy::Fast), few(columns(3, 7), Accuracy::Fast),
      small(columns(30, 5), Accuracy::Fast);
  EXPECT_EQ(heaps.step().accuracy, Accuracy::Fast);
  EXPECT_EQ(few.step().accuracy, Accuracy::Exact);
  EXPECT_EQ(small.step().accuracy, Accuracy::Exact);
}

TEST(Crowd, BodiesThatFallTogetherDoNotMeetWhenTheLowerOneIsStopped) {
  // The whole grid falls at 5 m/s: 5 cm per step, more than the gaps of 1 cm, and nobody approaches
  // anybody until the floor stops the first layer.
  for (const Accuracy accuracy : {Accuracy::Fast, Accuracy::Standard}) {
    World world(pile(144, Shape::sphere(kRadius)), accuracy);
    for (const BodyId id : world.model.dynamic_bodies())
      world.x.v[world.model.body(id).v_begin + 2] = -5;
    for (int i = 0; i < 30; ++i) {
      (void)world.step();
      EXPECT_LT(world.overlap(), 0.15) << i;
    }
    EXPECT_TRUE(world.inside());
  }
}

TEST(Crowd, AFastBodyDoesNotTunnel) {
  World world(pile(144, Shape::sphere(kRadius)), Accuracy::Fast);
  for (int i = 0; i < 100; ++i) (void)world.step();
  // The last one shot down through the pile and the floor: 1 m per step.
  const Body& body = world.model.body(world.model.dynamic_bodies().back());
  world.x.v[body.v_begin + 2] = -100;
  for (int i = 0; i < 20; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.accuracy, Accuracy::Fast);
    EXPECT_GT(world.x.q[body.q_begin + 2], 0);
  }
  EXPECT_TRUE(world.x.q.allFinite());
}

TEST(Crowd, SmallIslandsRecordsAndJointsAreExact) {
  // Few contacts: the exact step, whatever was asked for.
  World fast(pile(16, Shape::sphere(kRadius)), Accuracy::Fast);
  World exact(pile(16, Shape::sphere(kRadius)), Accuracy::Exact);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(fast.step().accuracy, Accuracy::Exact);
    (void)exact.step();
  }
  EXPECT_LE((fast.x.q - exact.x.q).cwiseAbs().maxCoeff(), 1e-9);
  // A record: what a gradient needs.
  World world(pile(144, Shape::sphere(kRadius)), Accuracy::Fast);
  for (int i = 0; i < 60; ++i) (void)world.step();
  EXPECT_EQ(world.step().accuracy, Accuracy::Fast);
  StepRecord record;
  EXPECT_EQ(world.step(&record).accuracy, Accuracy::Exact);
  EXPECT_FALSE(record.solves.empty());
}

TEST(Crowd, StatesThatNobodyShouldAskForHaveANamedOutcome) {
  for (const Accuracy accuracy : {Accuracy::Fast, Accuracy::Standard}) {
    for (int kind = 0; kind < 3; ++kind) {
      SCOPED_TRACE(kind);
      World world(pile(144, Shape::sphere(kRadius)), accuracy);
      for (std::size_t i = 0; i < world.model.dynamic_bodies().size(); ++i) {
        const Body& body = world.model.body(world.model.dynamic_bodies()[i]);
        if (kind == 0) world.x.q.segment<3>(body.q_begin) *= 0.1;              // many radii deep
        if (kind == 1) world.x.q.segment<3>(body.q_begin) = Vec3(0, 0, 0.05);  // coincident
        if (kind == 2) world.x.v[body.v_begin + static_cast<Index>(i % 3)] = 1e8;
      }
      for (int i = 0; i < 5; ++i) {
        const StepReport report = world.step();
        EXPECT_TRUE(world.x.q.allFinite() && world.x.v.allFinite());
        EXPECT_TRUE(std::isfinite(report.deepest) && std::isfinite(report.kinetic));
        EXPECT_LE(report.outcome, Outcome::NotFinite);
      }
      // An overlap leaves at the speed of the limit, not at its own.
      for (const BodyId id : world.model.dynamic_bodies()) {
        if (kind != 0) break;
        EXPECT_LT(world.x.v.segment<3>(world.model.body(id).v_begin).norm(), 5);
      }
    }
  }
}

TEST(Crowd, HoldsWhatAMovingBodyCarries) {
  // A kinematic plate that rises at 0.2 m/s and moves sideways at 0.1 carries the boxes along; they
  // stand side by side, so all are one island.
  ModelBuilder builder;
  builder.add_body({.name = "plate",
                    .motion = Motion::Kinematic,
                    .velocity = Vec3(0.1, 0, 0.2),
                    .shapes = {{.shape = Shape::box(1, 1, 0.1)}}});
  for (int i = 0; i < 144; ++i)
    builder.add_body({.position = Vec3(0.07 * (i % 12), 0.07 * (i / 12), 0.1 + kRadius),
                      .velocity = Vec3(0.1, 0, 0.2),
                      .shapes = {{.shape = Shape::box(kRadius, kRadius, kRadius)}}});
  World world(builder.build(), Accuracy::Fast);
  for (int i = 0; i < 20; ++i) {
    const StepReport report = world.step();
    EXPECT_EQ(report.accuracy, Accuracy::Fast);
  }
  for (const BodyId id : world.model.dynamic_bodies()) {
    const Vec3 v = world.x.v.segment<3>(world.model.body(id).v_begin);
    EXPECT_LT((v - Vec3(0.1, 0, 0.2)).norm(), 0.01);
  }
}

}  // namespace
}  // namespace orthant
