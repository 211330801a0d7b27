// SPDX-License-Identifier: Apache-2.0
// reproduce/colony_model.cpp: cells => model, picture, order.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>
#include <sstream>

#include "orthant/model/division.hpp"
#include "reproduce/colony.hpp"

namespace orthant::reproduce {

ModelBuilder colony_of(const std::vector<Cell>& cells, double length) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (const Cell& cell : cells) {
    BodySpec body;
    body.uid = cell.uid;
    body.name = "cell/" + std::to_string(cell.uid);
    body.motion = Motion::Planar;
    body.position = Vec3(cell.x, cell.y, 0);
    body.angle = cell.angle;
    body.shapes.push_back(
        {.shape = Shape::stadium(kCellRadius, 0.5 * length - kCellRadius), .material = "smooth"});
    body.drag = 1;
    body.length = length;
    builder.add_body(body);
  }
  return builder;
}

StepSettings colony_settings(ConstraintScheme scheme, int spheres) {
  StepSettings s;
  s.h = kColonyStep;
  s.constraints = scheme;
  s.sub_spheres = spheres;
  s.overlap_tolerance = 1e-5 / kCellRadius;
  s.contact_margin = 0.4;
  s.solver.tolerance = 1e-7;  // of the largest impulse and speed of a row: some 1e-7 of length
  return s;
}

void grow_to(double length, double born, const Model& model, Parameters& parameters) {
  parameters = model.default_parameters();
  grow(model, model.dynamic_bodies(), length / born, parameters);
}

std::vector<Cell> cells_at(const Model& model, const State& x) {
  std::vector<Cell> cells;
  for (const Body& body : model.bodies()) {
    const double* q = x.q.data() + body.q_begin;
    cells.push_back({body.uid, q[0], q[1], q[2]});
  }
  return cells;
}

std::string colony_picture(const std::vector<Cell>& cells, double length) {
  double reach = 1;
  for (const Cell& c : cells) reach = std::max({reach, std::abs(c.x) + 2, std::abs(c.y) + 2});
  std::ostringstream out;
  out.precision(5);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"800\" viewBox=\""
      << -reach << ' ' << -reach << ' ' << 2 * reach << ' ' << 2 * reach << "\">\n<rect x=\""
      << -reach << "\" y=\"" << -reach
      << "\" width=\"100%\" height=\"100%\" fill=\"white\"/>\n<g stroke-linecap=\"round\" "
         "stroke-width=\""
      << 2 * kCellRadius << "\">\n";
  // One path per colour, in hundredths of the width of a cell: a tenth of the bytes of one line per
  // cell.
  constexpr int kColours = 36;
  const double half = 0.5 * length - kCellRadius;
  const auto rounded = [](double x) { return std::round(200 * x) / 200; };
  std::array<std::ostringstream, kColours> paths;
  for (const Cell& c : cells) {
    double turn = std::fmod(c.angle / std::numbers::pi, 1.0);
    if (turn < 0) turn += 1;
    const double dx = half * std::cos(c.angle), dy = half * std::sin(c.angle);
    paths[static_cast<std::size_t>(turn * kColours) % kColours]
        << 'M' << rounded(c.x - dx) << ' ' << rounded(dy - c.y) << 'l' << rounded(2 * dx) << ' '
        << rounded(-2 * dy);
  }
  for (int k = 0; k < kColours; ++k)
    out << "<path stroke=\"hsl(" << k * 360 / kColours << ",65%,50%)\" d=\""
        << paths[static_cast<std::size_t>(k)].str() << "\"/>\n";
  out << "</g>\n</svg>\n";
  return out.str();
}

Order order_of(const std::vector<Cell>& cells, double reach) {
  Order order;
  std::complex<double> sum = 0;
  for (const Cell& c : cells) sum += std::polar(1.0, 2 * c.angle);
  order.whole = std::abs(sum) / static_cast<double>(std::max<std::size_t>(cells.size(), 1));
  // Pairs by a grid whose squares are as wide as `reach`.
  std::map<std::pair<int, int>, std::vector<const Cell*>> grid;
  const auto square = [&](double x) { return static_cast<int>(std::floor(x / reach)); };
  for (const Cell& c : cells) grid[{square(c.x), square(c.y)}].push_back(&c);
  double total = 0, pairs = 0;
  for (const Cell& c : cells)
    for (int i = -1; i <= 1; ++i)
      for (int j = -1; j <= 1; ++j) {
        const auto found = grid.find({square(c.x) + i, square(c.y) + j});
        if (found == grid.end()) continue;
        for (const Cell* other : found->second)
          if (other->uid > c.uid && std::hypot(other->x - c.x, other->y - c.y) < reach) {
            total += std::cos(2 * (other->angle - c.angle));
            pairs += 1;
          }
      }
  order.near = pairs > 0 ? total / pairs : 0;
  return order;
}

}  // namespace orthant::reproduce
