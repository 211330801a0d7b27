// SPDX-License-Identifier: Apache-2.0
// reproduce/colony.cpp: rods that grow and divide in the plane (ReLCP paper, 4.3, table 3).
//   d l/dt = l, division at 2 l0 into two of length l/2 at +- l/4 along the axis, turned +- 0.01
//   deg
// All cells are of one age, so a division doubles the model; between divisions only parameters
// grow. Chaotic: jitter grows some hundredfold a generation, so statistics are compared, not
// places.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <sstream>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kRadius = 0.25, kFirstLength = 2, kStep = 1e-3;
constexpr double kJitter = 0.01 * std::numbers::pi / 180;

struct Cell {
  BodyUid uid = 0;
  double x = 0, y = 0, angle = 0;
};

/// Who came from whom.
struct Division {
  BodyUid mother = 0, daughters[2] = {0, 0};
};

/// Splits every cell along its axis; sides of the jitter are drawn from the uid alone, so they do
/// not depend on the order of the cells.
std::vector<Division> divide(std::vector<Cell>& cells, double length) {
  std::vector<Division> map;
  std::vector<Cell> next;
  for (const Cell& cell : cells) {
    Division division{cell.uid, {}};
    for (int k = 0; k < 2; ++k) {
      Cell daughter = cell;
      daughter.uid = 2 * cell.uid + static_cast<BodyUid>(k);
      std::uint64_t z = daughter.uid * 0x9e3779b97f4a7c15U;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
      const double shift = (k == 0 ? -0.25 : 0.25) * length;
      daughter.x += shift * std::cos(cell.angle);
      daughter.y += shift * std::sin(cell.angle);
      daughter.angle += (z >> 63) != 0 ? kJitter : -kJitter;
      division.daughters[k] = daughter.uid;
      next.push_back(daughter);
    }
    map.push_back(division);
  }
  cells = std::move(next);
  return map;
}

Model build(const std::vector<Cell>& cells, double length) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (const Cell& cell : cells) {
    BodySpec body;
    body.name = "c" + std::to_string(cell.uid);
    body.motion = Motion::Planar;
    body.position = Vec3(cell.x, cell.y, 0);
    body.angle = cell.angle;
    body.shapes.push_back(
        {.shape = Shape::stadium(kRadius, 0.5 * length - kRadius), .material = "smooth"});
    body.drag = 1;
    body.length = length;
    builder.add_body(body);
  }
  return builder.build();
}

void grow(const Model& model, double length, Parameters& parameters) {
  for (const Body& body : model.bodies()) {
    parameters.values[body.length] = length;
    parameters
        .values[model.shapes()[static_cast<std::size_t>(body.shape_begin)].parameter_begin + 1] =
        0.5 * length - kRadius;
  }
}

StepSettings settings_of(ConstraintScheme scheme, int spheres) {
  StepSettings s;
  s.h = kStep;
  s.constraints = scheme;
  s.sub_spheres = spheres;
  s.overlap_tolerance = 1e-5 / kRadius;
  s.contact_margin = 0.4;
  s.solver.tolerance = 1e-8;
  return s;
}

std::string picture(const std::vector<Cell>& cells, double length) {
  double reach = 1;
  for (const Cell& c : cells) reach = std::max({reach, std::abs(c.x) + 2, std::abs(c.y) + 2});
  std::ostringstream out;
  out.precision(5);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"800\" viewBox=\""
      << -reach << ' ' << -reach << ' ' << 2 * reach << ' ' << 2 * reach << "\">\n<rect x=\""
      << -reach << "\" y=\"" << -reach
      << "\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g stroke-linecap=\"round\" "
         "stroke-width=\""
      << 2 * kRadius << "\">\n";
  const double half = 0.5 * length - kRadius;
  for (const Cell& c : cells) {
    double hue = std::fmod(c.angle, std::numbers::pi);
    if (hue < 0) hue += std::numbers::pi;
    const double dx = half * std::cos(c.angle), dy = half * std::sin(c.angle);
    out << "<line x1=\"" << c.x - dx << "\" y1=\"" << -(c.y - dy) << "\" x2=\"" << c.x + dx
        << "\" y2=\"" << -(c.y + dy) << "\" stroke=\"hsl(" << hue / std::numbers::pi * 360
        << ",65%,50%)\"/>\n";
  }
  out << "</g>\n</svg>\n";
  return out.str();
}

struct Generation {
  int cells = 0;
  double rows = 0, solves = 0, iterations = 0, seconds = 0, deepest = 0, failed = 0;
  int most_solves = 0, steps = 0;
};

}  // namespace

Result run_colony(const Options& options) {
  Result result;
  const int target = options.size > 0 ? options.size : options.quick ? 16 : 16384;
  std::vector<Cell> cells = {{1, 0, 0, 0.3}};
  std::vector<Generation> history;
  double length = kFirstLength, time = 0, single_deepest = 0;
  const auto steps_a_generation = static_cast<int>(std::ceil(std::log(2.0) / kStep));
  bool map_is_whole = true;
  while (true) {
    const Model model = build(cells, length);
    Parameters parameters = model.default_parameters();
    State x = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    Generation g;
    g.cells = static_cast<int>(cells.size());
    const bool last = g.cells >= target;
    const StepSettings settings = settings_of(ConstraintScheme::Relcp, 1);
    const auto start = std::chrono::steady_clock::now();
    // The last generation grows halfway: packed, not yet about to divide.
    const int steps = last ? steps_a_generation / 2 : steps_a_generation;
    for (int i = 0; i < steps && length < 2 * kFirstLength; ++i) {
      length *= std::exp(kStep);
      grow(model, length, parameters);
      const StepReport r = step(model, parameters, settings, {}, x, warm, work);
      time += kStep;
      g.rows += r.constraints;
      g.solves += r.recursions + 1;
      g.iterations += r.iterations;
      g.deepest = std::max(g.deepest, r.deepest);
      g.failed += r.outcome != Outcome::Converged;
      g.most_solves = std::max(g.most_solves, r.recursions + 1);
      ++g.steps;
      if (options.progress && i % 20 == 0)
        options.progress(static_cast<double>(g.cells) / target,
                         std::to_string(g.cells) + " cells, step " + std::to_string(i));
    }
    g.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    history.push_back(g);
    if (g.cells == std::min(target, 128)) {  // what one constraint a pair leaves, over some steps
      State y = x;
      WarmStart none;
      double grown = length;
      for (int i = 0; i < 50; ++i) {
        grown *= std::exp(kStep);
        grow(model, grown, parameters);
        const StepReport r =
            step(model, parameters, settings_of(ConstraintScheme::Single, 1), {}, y, none, work);
        single_deepest = std::max(single_deepest, r.deepest);
      }
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const Index q = model.bodies()[i].q_begin;
      cells[i].x = x.q[q];
      cells[i].y = x.q[q + 1];
      cells[i].angle = x.q[q + 2];
    }
    if (last) break;
    const std::vector<Division> map = divide(cells, length);
    map_is_whole = map_is_whole && 2 * map.size() == cells.size();
    length *= 0.5;
  }

  Table table{"Colony by generation at dt = 0.001, cut-off 0.1, ReLCP",
              {"cells", "steps", "mean rows", "rows a cell", "mean solves", "most solves",
               "iterations a step", "s", "us a row and step", "deepest overlap"},
              {}};
  double deepest = 0, failed = 0, most = 0, seconds = 0, rows = 0;
  for (const Generation& g : history) {
    table.rows.push_back({std::to_string(g.cells), std::to_string(g.steps),
                          number(g.rows / g.steps, 4), number(g.rows / g.steps / g.cells),
                          number(g.solves / g.steps), std::to_string(g.most_solves),
                          number(g.iterations / g.steps), number(g.seconds),
                          number(1e6 * g.seconds / std::max(1.0, g.rows)), number(g.deepest)});
    deepest = std::max(deepest, g.deepest);
    failed += g.failed;
    most = std::max(most, static_cast<double>(g.most_solves));
    seconds += g.seconds;
    rows += g.rows;
  }
  result.tables.push_back(std::move(table));
  result.notes.push_back(
      "published: 341 us a constraint for ReLCP on 64 cores, mean over the run; here " +
      number(1e6 * seconds / std::max(1.0, rows)) + " us");
  result.notes.push_back("one constraint a pair reaches an overlap of " + number(single_deepest));
  const double generations = std::log2(131072.0 / std::max(1, history.back().cells));
  result.notes.push_back("extrapolated to 131072 cells, time a row held: " +
                         number(seconds * std::pow(2, generations)) + " s");
  result.checks.push_back({"overlap at every step", deepest, 1.0001e-5});
  result.checks.push_back({"steps not converged", failed, 0});
  result.checks.push_back({"most solves in a step", most, 12});
  result.checks.push_back({"divisions that lost a cell", map_is_whole ? 0.0 : 1.0, 0});
  write_file(options, "colony.svg", picture(cells, length), result);
  std::vector<std::vector<double>> columns(4);
  for (const Cell& c : cells) {
    columns[0].push_back(static_cast<double>(c.uid));
    columns[1].push_back(c.x);
    columns[2].push_back(c.y);
    columns[3].push_back(c.angle);
  }
  const std::string names[] = {"uid", "x", "y", "angle"};
  write_file(options, "colony.csv", to_csv(names, columns), result);
  return result;
}

}  // namespace orthant::reproduce
