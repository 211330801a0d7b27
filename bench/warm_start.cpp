// SPDX-License-Identifier: Apache-2.0
// The interior point on the problems of simulations, step after step: iterations (factorisations)
// with a cold start, with the velocities of the step before (partial) and with its impulses too
// (full), beside the published ones. A start that the judge accepts counts 0.
//   single ball, single brick (four contacts, one too many): at rest on a floor, 100 steps;
//   balls in a box: ⌀ 70 mm, 1000 kg/m³, settled, rows below 5 mm gap, 50 steps; all Δt = 0.02 s.
// The exit is that of the published counts, κ < 1e-9 and residuals over their sizes < 1e-10 in SI;
// with --judge 1e-10 of the judge, which sees blocks far lighter than others and takes a guess of
// the active set at the end. The whole problem is solved, not its islands.
// Usage: bench_warm_start [--quick | --large] [--smooth] [--judge] [--json FILE]
//   --smooth: no friction; --large: 5000 balls, ten steps
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "orthant/constraint/assemble.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/solver/interior_point.hpp"
#include "orthant/step/step.hpp"
#include "scenes/scenes.hpp"

namespace orthant {
namespace {

constexpr double kStep = 0.02, kGap = 0.005, kRadius = 0.035;
enum Start { kCold, kPartial, kFull, kStarts };

struct Totals {
  std::array<int, kStarts> iterations{}, failed{};
  double unknowns = 0;
  int calls = 0;
};

/// The problem of the step that was just recorded.
Assembly problem_of(const Model& model, const Parameters& parameters, const StepRecord& record) {
  Assembly out;
  for (const SolveRecord& solve : record.solves) {
    if (solve.kind != SolveKind::Step) continue;
    const StepInterval at{solve.q, solve.v, solve.t, solve.duration};
    if (!assemble_motion(model, parameters, at, record.u, out)) continue;
    assemble_rows(model, parameters, at, solve.contacts.contacts, solve.rows, solve.rows.beta, out);
    break;
  }
  return out;
}

/// An answer and the contacts its impulses belong to.
struct Last {
  Solution x;
  std::vector<Contact> contacts;
  std::vector<ContactBlock> blocks;
};

/// What `last` says of the problem at hand, contact by contact.
Solution start_of(Start start, const Assembly& now, const std::vector<Contact>& contacts,
                  const Last& last) {
  Solution x = zero_solution(now.problem);
  if (start == kCold || last.x.v.size() != x.v.size()) return x;
  x.v = last.x.v;
  if (start == kPartial) return x;
  for (std::size_t c = 0, old = 0; c < contacts.size(); ++c) {
    while (old < last.contacts.size() && last.contacts[old].key < contacts[c].key) ++old;
    if (old == last.contacts.size()) break;
    if (!(last.contacts[old].key == contacts[c].key)) continue;
    x.lambda.segment(now.blocks[c].row, now.blocks[c].dim) =
        last.x.lambda.segment(last.blocks[old].row, now.blocks[c].dim);
  }
  return x;
}

/// Settles `scene`, then solves each of the next `steps` problems from the three starts.
Totals run(scenes::Scene scene, bool by_judge, int settle, int steps) {
  scene.settings.h = kStep;
  scene.settings.friction = FrictionModel::Cone;
  scene.settings.contact_margin = kGap / kRadius;
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  InteriorPointWorkspace interior_point;
  std::array<Last, kStarts> last;
  Totals totals;
  InteriorPointSettings settings;
  settings.crossover = by_judge;
  if (!by_judge) settings.exit_gap = 1e-9, settings.exit_error = 1e-10;
  for (int i = 0; i < settle + steps; ++i) {
    (void)step(scene.model, scene.parameters, scene.settings, {}, scene.state, warm, work, &record);
    if (i < settle || record.solves.empty()) continue;
    const Assembly now = problem_of(scene.model, scene.parameters, record);
    if (now.problem.row_count() == 0) continue;
    const std::vector<Contact>& contacts = record.solves.front().contacts.contacts;
    const ProblemScale scale = scale_of(now.problem);
    ++totals.calls;
    totals.unknowns += now.problem.velocity_count() + now.problem.row_count();
    for (int s = 0; s < kStarts; ++s) {
      Solution x = start_of(static_cast<Start>(s), now, contacts, last[s]);
      settings.warm_start = s != kCold;
      const MethodResult result = solve_interior_point(now.problem, scale, settings,
                                                       {.tolerance = 1e-10}, interior_point, x);
      totals.iterations[s] += result.iterations;
      totals.failed[s] += result.outcome != Outcome::Converged;
      last[s] = {x, contacts, now.blocks};
    }
  }
  return totals;
}

scenes::Scene on_a_floor(const Shape& shape, double height, double mu) {
  ModelBuilder b;
  b.add_material({.name = "smooth", .friction = mu});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "smooth"}}});
  b.add_body({.name = "body",
              .position = Vec3(0, 0, height),
              .shapes = {{.shape = shape, .material = "smooth"}}});
  Model model = b.build();
  Parameters parameters = model.default_parameters();
  State state = model.rest_state();
  return {std::move(model), std::move(parameters), std::move(state), {}, 100, "at rest"};
}

struct Row {
  std::string name;
  double mu;
  Totals totals;
  std::array<int, kStarts> published;  // -1: not given
};

void print(const std::vector<Row>& rows, std::FILE* json) {
  std::printf("%-22s %4s %6s %9s  %22s  %22s  %s\n", "problem", "mu", "calls", "unknowns",
              "none / partial / full", "published", "mean none / partial / full");
  if (json != nullptr) std::fprintf(json, "[");
  bool first = true;
  for (const Row& row : rows) {
    const Totals& t = row.totals;
    const double calls = std::max(t.calls, 1);
    char published[40] = "-";
    if (row.published[0] >= 0) {
      std::snprintf(published, sizeof published, "%d / %d / %d", row.published[0], row.published[1],
                    row.published[2]);
    }
    std::printf("%-22s %4.1f %6d %9.0f  %6d / %5d / %5d  %22s  %.2f / %.2f / %.2f",
                row.name.c_str(), row.mu, t.calls, t.unknowns / calls, t.iterations[0],
                t.iterations[1], t.iterations[2], published, t.iterations[0] / calls,
                t.iterations[1] / calls, t.iterations[2] / calls);
    const int failed = t.failed[0] + t.failed[1] + t.failed[2];
    std::printf(failed > 0 ? "  not converged: %d / %d / %d\n" : "\n", t.failed[0], t.failed[1],
                t.failed[2]);
    if (json != nullptr) {
      std::fprintf(json,
                   "%s\n {\"problem\": \"%s\", \"mu\": %g, \"calls\": %d, \"unknowns\": %g, "
                   "\"none\": %d, \"partial\": %d, \"full\": %d, \"failed\": %d}",
                   first ? "" : ",", row.name.c_str(), row.mu, t.calls, t.unknowns / calls,
                   t.iterations[0], t.iterations[1], t.iterations[2], failed);
    }
    first = false;
  }
  if (json != nullptr) std::fprintf(json, "\n]\n");
}

}  // namespace
}  // namespace orthant

int main(int argc, char** argv) {
  using namespace orthant;
  bool quick = false, large = false, by_judge = false, without_friction = false;
  std::FILE* json = nullptr;
  for (int i = 1; i < argc; ++i) {
    quick = quick || std::strcmp(argv[i], "--quick") == 0;
    large = large || std::strcmp(argv[i], "--large") == 0;
    by_judge = by_judge || std::strcmp(argv[i], "--judge") == 0;
    without_friction = without_friction || std::strcmp(argv[i], "--smooth") == 0;
    if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) json = std::fopen(argv[i + 1], "w");
  }
  std::vector<Row> rows;
  const std::vector<int> sizes = quick   ? std::vector{64}
                                 : large ? std::vector{5000}
                                         : std::vector{64, 280, 595, 1190};
  for (const double mu : {0.0, 0.5}) {
    if (mu > 0 && without_friction) break;
    const bool smooth = mu == 0;
    const std::array<int, kStarts> none{-1, -1, -1};
    rows.push_back({"single ball", mu,
                    run(on_a_floor(Shape::sphere(kRadius), kRadius, mu), by_judge, 0, 100),
                    smooth ? std::array{720, 515, 90} : none});
    rows.push_back({"single brick", mu,
                    run(on_a_floor(Shape::box(0.1, 0.05, 0.03), 0.03, mu), by_judge, 0, 100),
                    smooth ? std::array{499, 370, 81} : none});
    for (const int spheres : sizes) {
      rows.push_back({"balls in box, " + std::to_string(spheres), mu,
                      run(scenes::spheres_in_a_box(spheres, mu), by_judge, 150, large ? 10 : 50),
                      smooth && spheres == 64 ? std::array{935, 927, 747} : none});
      std::fprintf(stderr, "%s done\n", rows.back().name.c_str());
    }
  }
  print(rows, json);
  if (json != nullptr) std::fclose(json);
  return 0;
}
