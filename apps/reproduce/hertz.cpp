// SPDX-License-Identifier: Apache-2.0
// reproduce/hertz.cpp: a soft ball between rigid plates, refined, against Hertz's force.
#include <cmath>

#include "reproduce/reproduce.hpp"
#include "reproduce/soft_ball.hpp"

namespace orthant::reproduce {

Result run_hertz(const Options& options) {
  Result result;
  constexpr double kContact = 0.05, kShrink = 0.1;  // finest cell over an even one
  const std::vector<Index> levels =
      options.quick ? std::vector<Index>{6, 12} : std::vector<Index>{6, 8, 12, 16, 20};
  Table table{"Force over Hertz's at a contact radius near 0.05 R",
              {"cells across", "finest cell / R", "tetrahedra", "nodes pushed",
               "contact radius / R", "force / Hertz"},
              {}};
  Curve curve{"ball", {}, {}};
  for (const Index cells : levels) {
    if (options.progress) options.progress(0, std::to_string(cells) + " cells across");
    const double finest = 2 * kShrink / cells;
    const PressedBall ball = press_ball(cells, finest, kContact);
    table.rows.push_back({std::to_string(cells), number(finest), std::to_string(ball.elements),
                          std::to_string(ball.contacts), number(ball.contact),
                          number(ball.ratio, 4)});
    result.checks.push_back({"steps not converged, " + std::to_string(cells) + " cells",
                             static_cast<double>(ball.failed), 0});
    curve.x.push_back(finest);
    curve.y.push_back(ball.ratio);
  }
  result.checks.push_back({"finest against Hertz", std::abs(curve.y.back() - 1), 0.05});
  result.checks.push_back({"error of the finest over the coarsest",
                           std::abs(curve.y.back() - 1) / std::abs(curve.y.front() - 1), 0.5});
  result.tables.push_back(std::move(table));
  write_file(options, "hertz.svg",
             plot_svg("Soft ball between plates", "finest cell / R", "force / Hertz",
                      std::span<const Curve>(&curve, 1)),
             result);
  return result;
}

}  // namespace orthant::reproduce
