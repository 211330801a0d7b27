// SPDX-License-Identifier: Apache-2.0
// The batch on the host: its step is that of step(), its derivative that of StepGradient, a world
// is the same in any company, and what it does not take is refused by name.
#include "orthant/device/batch.hpp"

#include <gtest/gtest.h>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/gradient/step.hpp"
#include "scenes/batch_worlds.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

constexpr std::size_t kReport = static_cast<std::size_t>(BatchReport::Count);
constexpr std::size_t kCertificate = static_cast<std::size_t>(BatchCertificate::Count);

std::vector<double> vector_of(const VecX& x) { return {x.data(), x.data() + x.size()}; }

struct OneWorld {
  const Model& model;
  BatchProgram program;
  std::vector<double> parameters, q, v, warm, report;

  OneWorld(const Model& m, const StepSettings& settings)
      : model(m),
        program(m, settings),
        parameters(vector_of(m.default_parameters().values)),
        warm(program.warm_size(), 0.0),
        report(kReport) {}

  void step(const State& x, const VecX& u) {
    q = vector_of(x.q);
    v = vector_of(x.v);
    program.step(q, v, warm, vector_of(u), parameters, report);
  }
  double get(BatchReport i) const { return report[static_cast<std::size_t>(i)]; }
};

StepSettings settings_of(Stabilisation stabilisation, double h = 0.01, double tolerance = 1e-12) {
  StepSettings s;
  s.h = h;
  s.stabilisation = stabilisation;
  s.solver.tolerance = tolerance;
  return s;
}

double largest(const std::vector<double>& a, const VecX& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[static_cast<Index>(i)]));
  return most;
}

VecX random_controls(testing::SplitMix& rng, Index n) {
  VecX u(n);
  for (Index i = 0; i < n; ++i) u[i] = 0.4 * rng.normal();
  return u;
}

/// One step of the batch from every state of a run of step(), against step().
void compare_steps(const Model& model, const StepSettings& settings, int steps, double tolerance,
                   int& touching) {
  OneWorld world(model, settings);
  testing::SplitMix rng(7);
  State x = model.rest_state();
  for (Index i = 0; i < x.v.size(); ++i) x.v[i] = 0.3 * rng.normal();
  WarmStart warm;
  StepWorkspace workspace;
  touching = 0;
  for (int i = 0; i < steps; ++i) {
    const VecX u = random_controls(rng, model.control_count());
    world.step(x, u);
    const StepReport report =
        step(model, model.default_parameters(), settings, u, x, warm, workspace);
    ASSERT_EQ(report.outcome, Outcome::Converged) << i;
    ASSERT_EQ(world.get(BatchReport::Outcome), 0)
        << i << " residual " << world.get(BatchReport::Residual);
    EXPECT_LE(largest(world.v, x.v), tolerance * (1 + x.v.cwiseAbs().maxCoeff())) << i;
    EXPECT_LE(largest(world.q, x.q), tolerance) << i;
    for (const double l : world.warm) touching += l != 0;
  }
}

TEST(Batch, StepsAntAsStepDoes) {
  int touching = 0;
  for (const Stabilisation s : {Stabilisation::Baumgarte, Stabilisation::Projection}) {
    compare_steps(scenes::ant(0.6), settings_of(s), 80, 1e-9, touching);
    EXPECT_GT(touching, 100);
  }
}

TEST(Batch, StepsPebblesAsStepDoes) {
  int touching = 0;
  for (const Stabilisation s : {Stabilisation::Baumgarte, Stabilisation::Projection}) {
    compare_steps(scenes::pebbles(), settings_of(s, 0.005, 1e-10), 80, 1e-8, touching);
    EXPECT_GT(touching, 100);
  }
}

TEST(Batch, StepsQuadrupedAsStepDoes) {
  int touching = 0;
  for (const Stabilisation s : {Stabilisation::Baumgarte, Stabilisation::Projection}) {
    compare_steps(scenes::quadruped(), settings_of(s, 0.005), 80, 1e-8, touching);
    EXPECT_GT(touching, 100);
  }
}

/// Faces, edges, corners and the inside: where a ball meets a box.
TEST(Batch, ABallMeetsABoxAsInStep) {
  for (const Vec3& at :
       {Vec3(0.02, 0.01, 0.149), Vec3(0.135, 0.03, 0.135), Vec3(-0.127, 0.127, 0.127),
        Vec3(0.02, -0.13, -0.01), Vec3(0.01, 0.02, 0.06)}) {
    ModelBuilder b;
    b.add_body({.name = "box", .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1)}}});
    b.add_body({.name = "ball", .position = at, .shapes = {{.shape = Shape::sphere(0.05)}}});
    const Model model = b.build();
    int touching = 0;
    compare_steps(model, settings_of(Stabilisation::Baumgarte, 0.01, 1e-11), 1, 1e-8, touching);
    EXPECT_GT(touching, 0) << at.transpose();
  }
}

TEST(Batch, BrickOnFourCornersComesToRest) {
  const Model model = scenes::pebbles(true);
  StepSettings settings = settings_of(Stabilisation::Projection, 0.005);
  settings.solver.tolerance = 1e-8;
  OneWorld world(model, settings);
  State x = model.rest_state();
  for (int i = 0; i < 200; ++i) {
    world.step(x, {});
    ASSERT_EQ(world.get(BatchReport::Outcome), 0)
        << i << " residual " << world.get(BatchReport::Residual);
    EXPECT_LE(world.get(BatchReport::Deepest), 1e-9 * 0.1);  // of the largest shape
    x.q = Eigen::Map<const VecX>(world.q.data(), static_cast<Index>(world.q.size()));
    x.v = Eigen::Map<const VecX>(world.v.data(), static_cast<Index>(world.v.size()));
  }
  const Body& brick = model.body(model.find_body("brick"));
  EXPECT_LE(x.v.segment(brick.v_begin, 6).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_NEAR(x.q[brick.q_begin + 2], 0.05, 1e-8);
}

/// Derivatives of steps along a run, against StepGradient; counts those that are certified.
void compare_gradients(const Model& model, const StepSettings& settings, int steps,
                       double tolerance, int& certified) {
  OneWorld world(model, settings);
  const Parameters parameters = model.default_parameters();
  testing::SplitMix rng(11);
  State x = model.rest_state();
  for (Index i = 0; i < x.v.size(); ++i) x.v[i] = 0.3 * rng.normal();
  WarmStart warm;
  StepWorkspace workspace;
  const std::size_t n = world.program.v_size(), nu = world.program.control_count();
  certified = 0;
  for (int i = 0; i < steps; ++i) {
    const VecX u = random_controls(rng, model.control_count());
    const State before = x;
    world.step(x, u);
    StepRecord record;
    (void)step(model, parameters, settings, u, x, warm, workspace, &record);
    StepGradient gradient(model, parameters, settings, record);
    StateCotangent by{VecX(model.v_size()), VecX(model.v_size())};
    for (Index k = 0; k < model.v_size(); ++k) by.q[k] = rng.normal(), by.v[k] = rng.normal();
    const StepCotangent expected = gradient.pull_back(by);
    std::vector<double> by_q(n), by_v(n), by_u(nu), by_p(world.program.parameter_count()),
        certificate(kCertificate);
    world.program.pull_back(vector_of(before.q), vector_of(before.v), world.warm, vector_of(u),
                            world.parameters, vector_of(by.q), vector_of(by.v), by_q, by_v, by_u,
                            by_p, {}, certificate);
    const bool both = gradient.certificate().exact && gradient.certificate().floating == 0 &&
                      certificate[static_cast<std::size_t>(BatchCertificate::Floating)] == 0 &&
                      certificate[static_cast<std::size_t>(BatchCertificate::Redundant)] == 0;
    // At a limit, closed to rounding, the sign of the gap decides between two slopes.
    const bool at_limit = gradient.certificate().kink.find("limit") != std::string::npos;
    if (!both || at_limit || gradient.certificate().margin < 1e-6) continue;
    std::vector<bool> one_sided(by_p.size());
    for (const EdgeParameter& edge : gradient.certificate().edges)
      one_sided[static_cast<std::size_t>(edge.place)] = true;
    ++certified;
    EXPECT_LE(certificate[static_cast<std::size_t>(BatchCertificate::SolveError)], 1e-8);
    const auto scale = [](const VecX& a) { return 1 + a.cwiseAbs().maxCoeff(); };
    EXPECT_LE(largest(by_q, expected.q), tolerance * scale(expected.q)) << i;
    EXPECT_LE(largest(by_v, expected.v), tolerance * scale(expected.v)) << i;
    if (nu > 0) {
      EXPECT_LE(largest(by_u, expected.u), tolerance * scale(expected.u)) << i;
    }
    for (std::size_t k = 0; k < by_p.size(); ++k)
      if (!one_sided[k]) {
        EXPECT_NEAR(by_p[k], expected.parameters[static_cast<Index>(k)],
                    tolerance * scale(expected.parameters))
            << "step " << i << ", " << model.parameter_table().name(static_cast<Index>(k));
      }
  }
}

TEST(Batch, GradientsOfAntAreThoseOfStepGradient) {
  int certified = 0;
  compare_gradients(scenes::ant(0.6), settings_of(Stabilisation::Baumgarte), 60, 1e-9, certified);
  EXPECT_GT(certified, 40);
}

TEST(Batch, GradientsThroughProjectionAreThoseOfStepGradient) {
  int certified = 0;
  compare_gradients(scenes::ant(0.6), settings_of(Stabilisation::Projection), 60, 1e-9, certified);
  EXPECT_GT(certified, 35);
}

TEST(Batch, GradientsOfPebblesAreThoseOfStepGradient) {
  int certified = 0;
  compare_gradients(scenes::pebbles(), settings_of(Stabilisation::Baumgarte, 0.005, 1e-11), 60,
                    1e-8, certified);
  EXPECT_GT(certified, 20);
}

TEST(Batch, GradientsOfQuadrupedAreThoseOfStepGradient) {
  for (const Stabilisation s : {Stabilisation::Baumgarte, Stabilisation::Projection}) {
    int certified = 0;
    compare_gradients(scenes::quadruped(), settings_of(s, 0.005), 60, 1e-8, certified);
    EXPECT_GT(certified, 30);
  }
}

/// Central differences of by_v·v⁺ along random directions of (v, u, friction).
/// Counts the steps compared, those in which something slides, and those not solved.
void compare_with_differences(const Model& model, const StepSettings& settings,
                              const char* material, double speed, int& compared, int& sliding,
                              int& unsolved) {
  OneWorld world(model, settings);
  const std::size_t n = world.program.v_size(), nu = world.program.control_count();
  const auto friction = static_cast<std::size_t>(
      model.parameter_table().find(std::string("material/") + material + ".friction"));
  testing::SplitMix rng(13);
  const auto random = [&](std::size_t count) {
    std::vector<double> x(count);
    for (double& v : x) v = rng.normal();
    return x;
  };
  State x = model.rest_state();
  std::vector<double> q = vector_of(x.q), v = random(n), warm(world.program.warm_size());
  for (double& x_i : v) x_i *= speed;
  compared = sliding = unsolved = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<double> u = random(nu);
    for (double& c : u) c = std::clamp(0.4 * c, -0.9, 0.9);
    const std::vector<double> q0 = q, v0 = v, warm0 = warm;
    world.program.step(q, v, warm, u, world.parameters, world.report);
    if (world.get(BatchReport::Outcome) != 0) {
      ++unsolved;
      continue;
    }
    const std::vector<double> by_q_next(n, 0.0), by_v_next = random(n);
    std::vector<double> by_q(n), by_v(n), by_u(nu), by_p(world.program.parameter_count()),
        certificate(kCertificate);
    world.program.pull_back(q0, v0, warm, u, world.parameters, by_q_next, by_v_next, by_q, by_v,
                            by_u, by_p, {}, certificate);
    if (certificate[static_cast<std::size_t>(BatchCertificate::Floating)] > 0 ||
        certificate[static_cast<std::size_t>(BatchCertificate::Redundant)] > 0 ||
        certificate[static_cast<std::size_t>(BatchCertificate::Margin)] < 1e-3)
      continue;
    ++compared;
    sliding += by_p[friction] != 0;
    const std::vector<double> dv = random(n), du = random(nu);
    const double dp = rng.normal(), e = 1e-6;
    double loss[2] = {0, 0};
    for (const int side : {0, 1}) {
      const double s = side == 0 ? e : -e;
      std::vector<double> qs = q0, vs = v0, ws = warm0, us = u, ps = world.parameters;
      for (std::size_t k = 0; k < n; ++k) vs[k] += s * dv[k];
      for (std::size_t k = 0; k < nu; ++k) us[k] += s * du[k];
      ps[friction] += s * dp;
      world.program.step(qs, vs, ws, us, ps, world.report);
      for (std::size_t k = 0; k < n; ++k) loss[side] += by_v_next[k] * vs[k];
    }
    double slope = by_p[friction] * dp, size = 1;
    for (std::size_t k = 0; k < n; ++k) slope += by_v[k] * dv[k], size += std::abs(by_v[k] * dv[k]);
    for (std::size_t k = 0; k < nu; ++k) slope += by_u[k] * du[k];
    EXPECT_NEAR(slope, (loss[0] - loss[1]) / (2 * e), 1e-6 * size) << i;
  }
}
TEST(Batch, GradientsAreThoseOfDifferences) {
  int compared = 0, sliding = 0, unsolved = 0;
  compare_with_differences(scenes::ant(0.6), settings_of(Stabilisation::Baumgarte, 0.01, 1e-13),
                           "ground", 1, compared, sliding, unsolved);
  EXPECT_EQ(unsolved, 0);
  EXPECT_GT(compared, 30);
  EXPECT_GT(sliding, 3);
  compare_with_differences(scenes::arm_with_block(),
                           settings_of(Stabilisation::Baumgarte, 0.005, 1e-8), "rubber", 0.1,
                           compared, sliding, unsolved);
  EXPECT_LE(unsolved, 20);  // a grip over a table: more contacts than can carry; docs/gpu.md
  EXPECT_GT(compared, 10);
  EXPECT_GT(sliding, 3);
}

/// Worlds that differ, row by row.
struct Worlds {
  std::size_t count;
  std::vector<double> q, v, warm, u, report;

  Worlds(const Model& model, const BatchProgram& program, std::size_t n) : count(n) {
    testing::SplitMix rng(5);
    const State x = model.rest_state();
    for (std::size_t i = 0; i < n; ++i) {
      q.insert(q.end(), x.q.data(), x.q.data() + x.q.size());
      for (Index k = 0; k < x.v.size(); ++k) v.push_back(0.5 * rng.normal());
      for (Index k = 0; k < model.control_count(); ++k) u.push_back(0.3 * rng.normal());
    }
    warm.assign(n * program.warm_size(), 0);
    report.assign(n * kReport, 0);
  }
  void run(const BatchProgram& program, const std::vector<double>& parameters, int steps) {
    for (int i = 0; i < steps; ++i) program.step(q, v, warm, u, parameters, report);
  }
};

TEST(Batch, AWorldHasTheSameBitsInAnyCompany) {
  const Model model = scenes::ant(0.6);
  const BatchProgram program(model, settings_of(Stabilisation::Baumgarte));
  const std::vector<double> parameters = vector_of(model.default_parameters().values);
  Worlds many(model, program, 24), few(model, program, 24);
  const std::size_t keep = 3;
  few.q.erase(few.q.begin(), few.q.begin() + static_cast<std::ptrdiff_t>(keep * program.q_size()));
  few.v.erase(few.v.begin(), few.v.begin() + static_cast<std::ptrdiff_t>(keep * program.v_size()));
  few.u.erase(few.u.begin(),
              few.u.begin() + static_cast<std::ptrdiff_t>(keep * program.control_count()));
  few.warm.resize((24 - keep) * program.warm_size());
  few.report.resize((24 - keep) * kReport);
  set_thread_count(2);
  many.run(program, parameters, 30);
  set_thread_count(1);
  few.run(program, parameters, 30);
  EXPECT_TRUE(std::equal(few.q.begin(), few.q.end(),
                         many.q.begin() + static_cast<std::ptrdiff_t>(keep * program.q_size())));
  EXPECT_TRUE(std::equal(few.v.begin(), few.v.end(),
                         many.v.begin() + static_cast<std::ptrdiff_t>(keep * program.v_size())));
}

TEST(Batch, AWorldThatIsNotFiniteSaysSoAndTheOthersGoOn) {
  const Model model = scenes::ant(0.6);
  const BatchProgram program(model, settings_of(Stabilisation::Projection));
  const std::vector<double> parameters = vector_of(model.default_parameters().values);
  Worlds clean(model, program, 8), broken(model, program, 8);
  broken.v[3 * program.v_size() + 5] = std::nan("");
  clean.run(program, parameters, 10);
  broken.run(program, parameters, 10);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(broken.report[i * kReport], i == 3 ? 2 : 0);
    if (i == 3) continue;
    for (std::size_t k = 0; k < program.q_size(); ++k)
      EXPECT_EQ(broken.q[i * program.q_size() + k], clean.q[i * program.q_size() + k]);
  }
  const State start = model.rest_state();  // left as it was
  for (std::size_t k = 0; k < program.q_size(); ++k)
    EXPECT_EQ(broken.q[3 * program.q_size() + k], start.q[static_cast<Index>(k)]);
}

TEST(Batch, RefusesByName) {
  const auto refusal = [](const Model& model, const StepSettings& settings) -> std::string {
    try {
      const BatchProgram program(model, settings);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  ModelBuilder boxes;
  boxes.add_body({.name = "lower", .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1)}}});
  boxes.add_body({.name = "upper",
                  .position = Vec3(0, 0, 1),
                  .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1)}}});
  EXPECT_NE(refusal(boxes.build(), {}).find("'lower' and 'upper' (box, box)"), std::string::npos);
  ModelBuilder cones;
  for (const char* name : {"one", "two"})
    cones.add_body({.name = name, .shapes = {{.shape = Shape::cone(0.1, 0.1)}}});
  EXPECT_NE(refusal(cones.build(), {}).find("(cone, cone)"), std::string::npos);
  ModelBuilder loop;
  for (const char* name : {"a", "b", "c"})
    loop.add_body({.name = name, .mass = 1.0, .inertia = Mat3::Identity()});
  loop.add_joint({.name = "ab", .kind = JointKind::Ball, .a = "a", .b = "b"});
  loop.add_joint({.name = "bc", .kind = JointKind::Ball, .a = "b", .b = "c"});
  loop.add_joint({.name = "ca", .kind = JointKind::Ball, .a = "c", .b = "a"});
  EXPECT_NE(refusal(loop.build(), {}).find("closes a loop"), std::string::npos);
  StepSettings rattle;
  rattle.integrator = Integrator::Rattle;
  EXPECT_NE(refusal(scenes::ant(), rattle).find("integrator"), std::string::npos);
  const BatchProgram program(scenes::ant(), StepSettings{});
  std::vector<double> q(program.q_size()), v(3), warm(program.warm_size()), report(kReport);
  const std::vector<double> parameters(program.parameter_count());
  EXPECT_THROW(program.step(q, v, warm, {}, parameters, report), Error);
}

}  // namespace
}  // namespace orthant
