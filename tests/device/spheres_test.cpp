// SPDX-License-Identifier: Apache-2.0
// Very many spheres on the host back end: closed forms of one and two, a pile that stays where it
// is put, the same bits for any number of threads, and what is refused by name.
#include "orthant/device/spheres.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

constexpr double kRadius = 0.1;

struct Spheres {
  ModelBuilder builder;

  explicit Spheres(double friction = 0.5) {
    builder.add_material({.name = "stone", .friction = friction});
    builder.add_body({.name = "floor",
                      .motion = Motion::Fixed,
                      .shapes = {{.shape = Shape::half_space(), .material = "stone"}}});
  }
  void add(const Vec3& x, const Vec3& v = Vec3::Zero(), double r = kRadius) {
    builder.add_body({.name = "s" + std::to_string(count_++),
                      .position = x,
                      .velocity = v,
                      .shapes = {{.shape = Shape::sphere(r), .material = "stone"}}});
  }

 private:
  int count_ = 0;
};

struct World {
  Model model;
  SphereProgram program;
  State state;
  std::vector<double> q, v;
  SphereReport report;

  explicit World(Spheres spheres, const SphereSettings& settings = {}, double h = 0.01)
      : model(spheres.builder.build()),
        program(model, model.default_parameters(), {.h = h}, settings),
        state(model.rest_state()),
        q(7 * program.count()),
        v(6 * program.count()) {
    program.gather(state, q, v);
  }
  void steps(int n) {
    for (int i = 0; i < n; ++i) report = program.step(q, v);
  }
};

TEST(Spheres, OneFallsAsGravityWants) {
  Spheres spheres;
  spheres.add({0, 0, 10});
  World run(std::move(spheres));
  run.steps(100);
  EXPECT_NEAR(run.q[2], 10 - 0.5 * 9.81, 1e-12);
  EXPECT_NEAR(run.v[2], -9.81, 1e-12);
  EXPECT_EQ(run.report.contacts, 0);
}

TEST(Spheres, OneLiesOnTheFloor) {
  Spheres spheres;
  spheres.add({0, 0, 0.15});
  World run(std::move(spheres));
  run.steps(200);
  EXPECT_NEAR(run.v[2], 0, 1e-3 * 9.81 * 0.01);
  EXPECT_NEAR(run.q[2], kRadius, 2e-3 * kRadius);
}

/// A sliding ball loses μ g t until it rolls: at 2/7 of its speed lost, and rolls on for ever.
TEST(Spheres, OneThatSlidesEndsRolling) {
  Spheres spheres(0.2);
  spheres.add({0, 0, kRadius}, {1, 0, 0});
  World run(std::move(spheres), {.compliance = 1e-8}, 0.001);
  run.steps(50);
  EXPECT_NEAR(run.v[0], 1 - 0.2 * 9.81 * 0.05, 1e-5);
  run.steps(450);
  EXPECT_NEAR(run.v[0], 5.0 / 7, 1e-5);
  EXPECT_NEAR(run.v[4], run.v[0] / kRadius, 1e-4);
}

TEST(Spheres, TwoOfDifferentMassShareTheirMomentum) {
  Spheres spheres(0);
  spheres.add({0, 0, 5}, {1, 0, 0});
  spheres.add({0.31, 0, 5}, {-1, 0, 0}, 0.2);
  World run(std::move(spheres), {.compliance = 0});
  run.steps(5);
  const double small = 1, large = 8;  // masses
  EXPECT_NEAR(run.v[0], (small - large) / (small + large), 1e-9);
  EXPECT_NEAR(run.v[6], run.v[0], 1e-9);
}

/// Layers of spheres in a box of four walls.
Spheres heap(int side, int layers, std::uint64_t seed) {
  Spheres spheres;
  const double far = 0.21 * (side - 1) + 0.15, s = std::sqrt(0.5);
  const struct {
    Vec3 x;
    Quat turn;  // of z to the inward normal
  } walls[] = {{{-0.15, 0, 0}, {s, 0, s, 0}},
               {{far, 0, 0}, {s, 0, -s, 0}},
               {{0, -0.15, 0}, {s, -s, 0, 0}},
               {{0, far, 0}, {s, s, 0, 0}}};
  for (const auto& wall : walls)
    spheres.builder.add_body({.motion = Motion::Fixed,
                              .position = wall.x,
                              .orientation = wall.turn,
                              .shapes = {{.shape = Shape::half_space(), .material = "stone"}}});
  testing::SplitMix rng(seed);
  for (int z = 0; z < layers; ++z)
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x)
        spheres.add({0.21 * x + 0.01 * rng.normal(), 0.21 * y + 0.01 * rng.normal(),
                     0.1 + 0.21 * z + 0.001 * rng.normal()});
  return spheres;
}

TEST(Spheres, AHeapComesToRestWithLittleOverlap) {
  World run(heap(6, 4, 1));
  run.steps(400);
  double fastest = 0, lowest = 1, widest = 0;
  for (std::size_t i = 0; i < run.program.count(); ++i) {
    fastest = std::max(fastest, std::hypot(run.v[6 * i], run.v[6 * i + 1], run.v[6 * i + 2]));
    lowest = std::min(lowest, run.q[7 * i + 2]);
    for (int d = 0; d < 2; ++d) widest = std::max(widest, std::abs(run.q[7 * i + d] - 0.525));
  }
  EXPECT_LT(run.report.deepest, 0.005 * kRadius);
  EXPECT_GT(lowest, 0.995 * kRadius);
  EXPECT_LT(widest, 0.525 + 0.15 - 0.995 * kRadius) << "one escaped";
  EXPECT_LT(fastest, 9.81 * 0.01);
  EXPECT_GT(run.report.contacts, 144);
}

TEST(Spheres, HaveTheSameBitsForAnyNumberOfThreads) {
  const auto end = [](int threads) {
    set_thread_count(threads);
    World run(heap(5, 5, 2));
    run.steps(60);
    set_thread_count(1);
    run.q.insert(run.q.end(), run.v.begin(), run.v.end());
    return run.q;
  };
  const std::vector<double> one = end(1);
  for (const int threads : {2, 3, 8}) EXPECT_EQ(end(threads), one) << threads;
}

/// A fast one reaches farther than its cell: it is swept late and does not pass through the others.
TEST(Spheres, AFastOneDoesNotPassThrough) {
  Spheres spheres(0);
  for (int x = 0; x < 20; ++x) spheres.add({3.0 + 10 * x, 0, 5});
  spheres.add({0, 0, 5}, {250, 0, 0});
  World run(std::move(spheres), {.compliance = 0});
  run.steps(1);
  EXPECT_NEAR(run.q[7 * 20], 2.5, 1e-12);
  run.steps(1);
  EXPECT_GT(run.report.late, 0);
  run.steps(3);
  EXPECT_LT(run.q[7 * 20], run.q[0] - 1.99 * kRadius);
}

TEST(Spheres, OneThatIsNotFiniteIsLeftAloneAndSaid) {
  World run(heap(3, 3, 3));
  run.v[6 * 4] = NAN;
  run.q[7 * 9] = HUGE_VAL;
  run.steps(3);
  EXPECT_EQ(run.report.not_finite, 2);
  for (std::size_t i = 0; i < run.program.count(); ++i) {
    if (i == 4 || i == 9) continue;
    EXPECT_TRUE(std::isfinite(run.q[7 * i]) && std::isfinite(run.v[6 * i])) << i;
  }
}

TEST(Spheres, CoincidentCentresAndAbsurdSpeedsGiveFiniteNumbers) {
  Spheres spheres;
  for (int i = 0; i < 3; ++i) spheres.add({0, 0, 1});
  spheres.add({1e9, -1e9, 1}, {1e8, 0, 0});
  World run(std::move(spheres));
  run.steps(20);
  for (const double x : run.q) EXPECT_TRUE(std::isfinite(x));
  EXPECT_EQ(run.report.not_finite, 0);
}

TEST(Spheres, RefusesByName) {
  Spheres boxes;
  boxes.builder.add_body({.name = "crate", .shapes = {{.shape = Shape::box(1, 1, 1)}}});
  const Model model = boxes.builder.build();
  try {
    SphereProgram program(model, model.default_parameters(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("body 'crate'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace orthant
