// SPDX-License-Identifier: Apache-2.0
// reproduce/gradients.cpp: gradients of simulations beside other engines, a mass inferred from a
// motion (the differentiable engine), and derivatives where there are several (Gradient of an LCP).
#include <algorithm>
#include <cmath>

#include "orthant/base/mix.hpp"
#include "orthant/base/process.hpp"
#include "orthant/gradient/checker.hpp"
#include "orthant/model/model_builder.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

/// Discs of radius 0.1 on the x axis, not touching anything else; no gravity, no friction.
Model row_of_discs(const std::vector<double>& places, double restitution, double last_mass) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "m", .friction = 0, .restitution = restitution});
  for (std::size_t i = 0; i < places.size(); ++i)
    b.add_body({.name = "disc" + std::to_string(i),
                .motion = Motion::Planar,
                .position = Vec3(places[i], 0, 0),
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}},
                .mass = i + 1 == places.size() ? last_mass : 1.0});
  return b.build();
}

/// Discs of radius 0.5 in rows of five on a floor, a thousandth apart, with random velocities: a
/// difference across contacts that just touch would say nothing.
Model heap_of_discs(int count) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  std::uint64_t bits = 7;
  const auto random = [&] {
    return static_cast<double>(mix_bits(bits += kGoldenRatio) >> 11) * 0x1p-52 - 1;
  };
  for (int i = 0; i < count; ++i) {
    const double vx = random(), vy = random();
    b.add_body({.motion = Motion::Planar,
                .position = Vec3(1.001 * (i % 5), 0.5 + 1.001 * (i / 5), 0),
                .velocity = Vec3(vx, vy, 0),
                .shapes = {{.shape = Shape::disc(0.5), .material = "m"}},
                .mass = 1});
  }
  return b.build();
}

VecX unit(Index size, Index at) {
  VecX e = VecX::Zero(size);
  e[at] = 1;
  return e;
}

}  // namespace

Result run_discs(const Options& options) {
  Result result;
  struct Peer {
    int discs;
    const char *lcp_physics, *mujoco;
  };
  static constexpr Peer kPeers[] = {{1, "0.77 s", "1.8 ms"},
                                    {5, "1.7 s", "28 ms"},
                                    {10, "2.6 s", "228 ms"},
                                    {20, "4.2 s", "1460 ms"}};
  Table table{
      "Gradient of 50 steps of n discs in contact, friction 0.5, by state, masses, friction, "
      "radii: forward and backward",
      {"discs", "forward [ms]", "backward [ms]", "worst error", "of the derivative by",
       "inputs compared", "published lcp-physics, forward and backward",
       "published MuJoCo, differences"},
      {}};
  for (const Peer& p : kPeers) {
    if (options.quick && p.discs > 10) continue;
    const Model model = heap_of_discs(p.discs);
    const Parameters parameters = model.default_parameters();
    const State state = model.rest_state();
    StepSettings settings;
    settings.solver.tolerance = 1e-13;
    const double start = processor_seconds();
    const RolloutTape tape = record_rollout(model, parameters, settings, state, {}, 50);
    const double recorded = processor_seconds();
    const VecX by = VecX::LinSpaced(model.v_size(), 0.5, 1.5);
    (void)rollout_gradient(tape, at_end(tape, by, by));
    const double done = processor_seconds();
    GradientChecker checker(model, parameters, settings, state, 50);
    const GradientCheck check = checker.run({.difference = 1e-5});
    table.rows.push_back(
        {std::to_string(p.discs), number(1e3 * (recorded - start)), number(1e3 * (done - recorded)),
         number(check.worst), check.worst_name,
         std::to_string(check.compared) + " of " + std::to_string(check.compared + check.skipped),
         p.lcp_physics, p.mujoco});
    constexpr double kGoal = 1e-6;
    if (p.discs <= 5)
      result.checks.push_back({std::to_string(p.discs) + " discs: worst error against differences",
                               check.worst, kGoal});
    else if (check.worst > kGoal)
      result.notes.push_back(std::to_string(p.discs) + " discs: the goal of 1e-6 is not met, " +
                             number(check.worst) + " by " + check.worst_name);
    if (options.progress) options.progress(p.discs / 20.0, std::to_string(p.discs) + " discs");
  }
  result.tables.push_back(std::move(table));
  result.notes.push_back(
      "the times of the others were recorded once on another day on shared cores; with friction "
      "the "
      "gradients of lcp-physics were wrong by 7 to 67 %, MuJoCo's at 20 discs too");
  return result;
}

Result run_mass(const Options& options) {
  Result result;
  StepSettings settings;
  settings.h = 0.02;
  settings.impact_events = true;
  settings.solver.tolerance = 1e-12;
  constexpr double kTrue = 2;
  constexpr Index kSteps = 50;
  // A disc hits another, which hits a third: where the third ends tells its mass.
  const auto end_of = [&](double mass, double* slope) {
    const Model model = row_of_discs({0, 0.5, 0.9}, 0.7, mass);
    State x = model.rest_state();
    x.v[0] = 3;
    const Parameters parameters = model.default_parameters();
    const RolloutTape tape = record_rollout(model, parameters, settings, x, {}, kSteps);
    if (slope != nullptr) {
      const RolloutGradient g =
          rollout_gradient(tape, at_end(tape, unit(model.v_size(), 6), VecX::Zero(model.v_size())));
      *slope = g.parameters[parameters.table->find("body/disc2.mass")];
    }
    return tape.final_state.q[6];
  };
  const double seen = end_of(kTrue, nullptr);
  Table table{
      "Mass of a disc that is hit, from where it ends (2 kg; Gauss-Newton on its logarithm)",
      {"start [kg]", "found [kg]", "relative error", "rollouts", "goal"},
      {}};
  for (const double start : {kTrue / 5, kTrue * 5}) {
    double log_mass = std::log(start);
    int rollouts = 0;
    for (; rollouts < 30; ++rollouts) {
      double slope = 0;
      const double mass = std::exp(log_mass), error = end_of(mass, &slope) - seen;
      if (std::abs(error) < 1e-12) break;
      log_mass -= std::clamp(error / (slope * mass), -1.0, 1.0);
    }
    const double found = std::exp(log_mass), error = std::abs(found / kTrue - 1);
    table.rows.push_back({number(start), number(found, 8), number(error), std::to_string(rollouts),
                          "1 % from a guess off by 5"});
    result.checks.push_back(
        {"mass from a start of " + number(start) + " kg: relative error", error, 0.01});
  }
  result.tables.push_back(std::move(table));
  result.notes.push_back(
      "a chain of three impacts located in time; four masses of a hanging chain that a ball hits: "
      "python/examples/16_chain.py");
  (void)options;
  return result;
}

Result run_kinks(const Options& options) {
  Result result;
  // Two equal discs, elastic: the struck one ends at x1 + v1 T + 2 radii.
  Table impact{
      "Two equal balls, elastic: derivative of the struck ball's end by x1, x2, v1, v2, T = 1",
      {"step", "by x1", "by x2", "by v1", "by v2", "exact", "published engine"},
      {}};
  double worst = 0;
  for (const double h : {0.5, 0.1, 0.01}) {
    const Model model = row_of_discs({0, 0.5}, 1, 1);
    State x = model.rest_state();
    x.v[0] = 1;
    StepSettings settings;
    settings.h = h;
    settings.impact_events = true;
    settings.solver.tolerance = 1e-13;
    const auto steps = static_cast<Index>(std::lround(1 / h));
    const RolloutTape tape =
        record_rollout(model, model.default_parameters(), settings, x, {}, steps);
    const RolloutGradient g = rollout_gradient(tape, at_end(tape, unit(6, 3), VecX::Zero(6)));
    const double got[] = {g.q[0], g.q[3], g.v[0], g.v[3]}, exact[] = {1, 0, 1, 0};
    for (int i = 0; i < 4; ++i) worst = std::max(worst, std::abs(got[i] - exact[i]));
    impact.rows.push_back({number(h), number(got[0], 6), number(got[1], 6), number(got[2], 6),
                           number(got[3], 6), "1, 0, 1, 0", "0.75, 0.25, 0.91, 0.08"});
  }
  result.tables.push_back(std::move(impact));
  result.checks.push_back({"two balls: worst error of the derivative", worst, 1e-6});

  // Books on a shelf that touch without pressure: pushed from the left all move, to the left one.
  const Model shelf = row_of_discs({0, 0.2, 0.4}, 0, 1);
  State rest = shelf.rest_state();
  StepSettings settings;
  settings.solver.tolerance = 1e-13;
  Table books{"Three books that touch without pressure: velocity of the last by that of the first",
              {"element chosen", "derivative", "one-sided: pushed, pulled", "contacts on a border",
               "certified", "the document"},
              {}};
  const auto moved = [&](double by) {
    State x = rest;
    x.v[0] = by;
    WarmStart warm;
    StepWorkspace work;
    (void)step(shelf, shelf.default_parameters(), settings, {}, x, warm, work);
    return x.v[6] / by;
  };
  const double pushed = moved(1e-6), pulled = moved(-1e-6);
  const RolloutTape tape = record_rollout(shelf, shelf.default_parameters(), settings, rest, {}, 1);
  static constexpr std::pair<KinkChoice, const char*> kChoices[] = {
      {KinkChoice::Clamp, "keep closed"},
      {KinkChoice::Separate, "let go"},
      {KinkChoice::Average, "mean"}};
  for (const auto& [kink, name] : kChoices) {
    StepGradientSettings how;
    how.solution.kink = kink;
    const RolloutGradient g = rollout_gradient(tape, at_end(tape, VecX::Zero(9), unit(9, 6)), how);
    books.rows.push_back({name, number(g.v[0], 6), number(pushed, 6) + ", " + number(pulled, 6),
                          std::to_string(g.certificate.floating),
                          g.certificate.certified() ? "yes" : "no",
                          "several subgradients, take any"});
    result.checks.push_back({std::string("every kink is named, ") + name + ": contacts missed",
                             2.0 - static_cast<double>(g.certificate.floating), 0});
    const double expected = kink == KinkChoice::Clamp      ? pushed
                            : kink == KinkChoice::Separate ? pulled
                                                           : g.v[0];
    result.checks.push_back({std::string("derivative, ") + name + ", off the one-sided one",
                             std::abs(g.v[0] - expected), 1e-6});
  }
  result.tables.push_back(std::move(books));
  result.notes.push_back(
      "the published engine does not differentiate the time of impact; here it is, for any step");
  (void)options;
  return result;
}

}  // namespace orthant::reproduce
