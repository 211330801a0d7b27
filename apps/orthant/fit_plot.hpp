// SPDX-License-Identifier: Apache-2.0
// orthant/fit_plot.hpp: predicted and measured motions => one SVG picture.
#pragma once

#include <string>
#include <vector>

namespace orthant::app {

/// One curve: y over x, in the units of its panel.
struct PlotCurve {
  std::string name;
  std::string colour;
  std::vector<double> x, y;
  bool dots = false;  ///< measured: dots; predicted: a line
};

struct PlotPanel {
  std::string title, x_label, y_label;
  std::vector<PlotCurve> curves;
};

/// Panels side by side, axes from the data. Throws Error where the file cannot be written.
void write_svg(const std::string& path, const std::vector<PlotPanel>& panels);

}  // namespace orthant::app
