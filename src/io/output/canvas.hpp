// SPDX-License-Identifier: Apache-2.0
// io/output/canvas.hpp: what a plot is drawn on: lines and labels in units of a common screen
// pixel, y downwards. The layout is written once, for SVG and PNG.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace orthant::io {

using Curve = std::vector<std::pair<double, double>>;
enum class Anchor : unsigned char { Start, Middle, End };

class Canvas {
 public:
  virtual ~Canvas() = default;
  /// Through all points; `colour` is "#rrggbb".
  virtual void curve(const Curve& points, const char* colour, double width) = 0;
  /// (x, y): left end, middle or right end of the base line.
  virtual void label(double x, double y, const std::string& text, Anchor anchor, double size) = 0;
  /// The picture: the content of a file.
  virtual std::string finish() = 0;

  void line(double x1, double y1, double x2, double y2, const char* colour, double width = 1) {
    curve({{x1, y1}, {x2, y2}}, colour, width);
  }
};

std::unique_ptr<Canvas> svg_canvas(double width, double height);
std::unique_ptr<Canvas> png_canvas(double width, double height);

/// Strokes of a text, starting at (0, 0), y upwards, capitals 12 units high; `width` is what it
/// takes. Beyond printable ASCII: a box.
std::vector<Curve> stroke_text(const std::string& text, double& width);

}  // namespace orthant::io
