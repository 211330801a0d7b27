// SPDX-License-Identifier: Apache-2.0
// reproduce/roughness.cpp: a colony grown by each method from one cell (ReLCP paper, 4.3): rows
// over time (figure 5c), means over the run (table 3), and how the cells lie at the end (figure
// 5a).
#include <algorithm>
#include <cmath>

#include "orthant/base/process.hpp"
#include "orthant/model/division.hpp"
#include "reproduce/colony.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kFirstAngle = 0.3;

struct Grown {
  std::vector<double> time, rows;  // every step
  double seconds = 0, deepest = 0, failed = 0, row_seconds = 0;
  std::vector<Cell> cells;
  double length = kCellLength;
};

/// From one cell to halfway through the generation of `target` cells. `key` draws the jitter of the
/// divisions, which is what makes one colony differ from another: turning the first cell turns the
/// whole colony.
Grown grow_colony(ConstraintScheme scheme, int spheres, int target, std::uint64_t key,
                  const Options& options, double share_from, double share_to) {
  Grown out;
  std::vector<Cell> cells = {{1, 0, 0, kFirstAngle}};
  const StepSettings settings = colony_settings(scheme, spheres);
  double length = kCellLength, born = kCellLength, all = 0, done = 0;
  for (double c = 1; c <= target; c *= 2) all += std::pow(c, 1.4);
  while (true) {
    const auto count = static_cast<int>(cells.size());
    ModelBuilder builder = colony_of(cells, born);
    const Model model = builder.build();
    State x = model.rest_state();
    x.t = out.time.empty() ? 0 : out.time.back();
    WarmStart warm;
    StepWorkspace work;
    Parameters parameters = model.default_parameters();
    const double until = count >= target ? std::sqrt(2.0) * kCellLength : 2 * kCellLength;
    while (length < until) {
      length *= std::exp(kColonyStep);
      grow_to(length, born, model, parameters);
      const double start = processor_seconds();
      const StepReport r = step(model, parameters, settings, {}, x, warm, work);
      const double took = processor_seconds() - start;
      out.seconds += took;
      out.time.push_back(x.t);
      out.rows.push_back(static_cast<double>(r.constraints));
      out.row_seconds += took / std::max<double>(1, r.constraints);
      out.deepest = std::max(out.deepest, r.deepest);
      out.failed += r.outcome != Outcome::Converged;
    }
    done += std::pow(count, 1.4);
    if (options.progress)
      options.progress(share_from + (share_to - share_from) * done / all,
                       std::to_string(count) + " cells");
    if (count >= target) {
      out.cells = cells_at(model, x);
      out.length = length;
      return out;
    }
    const Divided next =
        divide(builder, model, parameters, x, model.dynamic_bodies(), {.key = key});
    cells = cells_at(next.model, next.state);
    length *= 0.5;
    born = length;
  }
}

struct Mean {
  double value = 0, spread = 0;
};
Mean mean_of(const std::vector<double>& x) {
  Mean m;
  for (const double v : x) m.value += v / static_cast<double>(x.size());
  for (const double v : x)
    m.spread += (v - m.value) * (v - m.value) / static_cast<double>(x.size());
  m.spread = m.spread < 1e-20 ? 0 : std::sqrt(m.spread);
  return m;
}

/// The motion is chaotic: how the cells lie at 64 of them, over several draws of the jitter.
Table orders_of(const Options& options, int runs) {
  Table table{"Orientational order at 64 cells over " + std::to_string(runs) +
                  " draws of the jitter (mean +- standard error)",
              {"method", "order of neighbours", "order of the whole"},
              {}};
  for (const int n : {0, 5, 7}) {
    std::vector<double> near, whole;
    for (int i = 0; i < runs; ++i) {
      const Grown g = grow_colony(n == 0 ? ConstraintScheme::Relcp : ConstraintScheme::Multisphere,
                                  std::max(n, 1), 64, static_cast<std::uint64_t>(i), {}, 0, 0);
      const Order order = order_of(g.cells, 1.5 * kCellLength);
      near.push_back(order.near);
      whole.push_back(order.whole);
      if (options.progress)
        options.progress(static_cast<double>(i + 1) / runs, "order, " + std::to_string(n));
    }
    const auto text = [&](const std::vector<double>& x) {
      const Mean m = mean_of(x);
      return number(m.value) + " +- " + number(m.spread / std::sqrt(runs - 1.0), 2);
    };
    table.rows.push_back(
        {n == 0 ? "ReLCP" : std::to_string(n) + " sub-spheres", text(near), text(whole)});
  }
  return table;
}

}  // namespace

Result run_roughness(const Options& options) {
  Result result;
  const int target = options.size > 0 ? options.size : options.quick ? 64 : 128;
  struct Method {
    int spheres;
    const char *rows, *time;
  };
  std::vector<Method> methods = {{0, "1", "341 +- 1010"},
                                 {5, "8.77 +- 2.47", "82.2 +- 251"},
                                 {7, "17.0 +- 5.1", "45.9 +- 101"}};
  if (!options.quick) {
    methods.push_back({17, "101 +- 32.8", "20.6 +- 30.8"});
    methods.push_back({27, "252 +- 78", "15.3 +- 20.1"});
  }
  Table table{"A colony grown to " + std::to_string(target) + " cells by each method (table 3)",
              {"method", "rows / ReLCP, mean over the run", "published ratio", "us per row, mean",
               "published us per row, 64 cores", "true overlap", "order of neighbours",
               "order of the whole", "CPU s"},
              {}};
  std::vector<Curve> rows;
  std::vector<double> base;
  double smooth = 0, roughest = 0;
  // The many-sphere runs stop early, as in the paper: their rows grow with the square.
  for (std::size_t m = 0; m < methods.size(); ++m) {
    const int n = methods[m].spheres, cells = n > 7 ? std::min(target, 128) : target;
    const std::string name = n == 0 ? "ReLCP" : std::to_string(n) + " sub-spheres";
    const double k = static_cast<double>(methods.size()), at = static_cast<double>(m);
    const Grown g = grow_colony(n == 0 ? ConstraintScheme::Relcp : ConstraintScheme::Multisphere,
                                std::max(n, 1), cells, 0, options, at / k, (at + 1) / k);
    if (n == 0) base = g.rows;
    std::vector<double> ratio;
    // From eight cells on: before, a handful of rows says nothing.
    for (std::size_t i = 0; i < std::min(base.size(), g.rows.size()); ++i)
      if (base[i] >= 8) ratio.push_back(g.rows[i] / base[i]);
    const Mean mean = ratio.empty() ? Mean{} : mean_of(ratio);
    const Order order = order_of(g.cells, 1.5 * kCellLength);
    if (n == 0) smooth = order.near;
    if (n == 5) roughest = order.near;
    table.rows.push_back({name + (cells < target ? ", to " + std::to_string(cells) : ""),
                          number(mean.value) + " +- " + number(mean.spread, 2), methods[m].rows,
                          number(1e6 * g.row_seconds / static_cast<double>(g.rows.size())),
                          methods[m].time, number(g.deepest), number(order.near),
                          number(order.whole), number(g.seconds)});
    Curve c{name, {}, {}};
    for (std::size_t i = 0; i < g.rows.size(); i += 10) {
      c.x.push_back(g.time[i]);
      c.y.push_back(g.rows[i]);
    }
    rows.push_back(std::move(c));
    result.checks.push_back({name + ": steps not converged", g.failed, 0});
    if (n == 0) result.checks.push_back({"ReLCP: overlap at every step", g.deepest, 1.0001e-5});
    if (n == 0 || n == 5 || n == 7)
      write_file(options, "colony_" + (n == 0 ? "relcp" : std::to_string(n)) + ".svg",
                 colony_picture(g.cells, g.length), result);
  }
  result.tables.push_back(std::move(table));
  if (!options.quick) result.tables.push_back(orders_of(options, 12));
  result.notes.push_back(
      "order of neighbours (centres nearer than 1.5 lengths of a newborn cell): " + number(smooth) +
      " for smooth cells, " + number(roughest) +
      " for 5 sub-spheres; published: rough cells align more, shown as pictures");
  result.notes.push_back(
      "the ratios of rows depend on the search cut-off, which the paper does not give; here 0.1 "
      "for "
      "all methods. Both grow like the square of the sub-spheres");
  write_file(options, "roughness_rows.svg",
             plot_svg("Figure 5c: rows over time", "t", "rows", rows, false, true), result);
  return result;
}

}  // namespace orthant::reproduce
