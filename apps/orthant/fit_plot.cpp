// SPDX-License-Identifier: Apache-2.0
// orthant/fit_plot.cpp: a few panels of curves as plain SVG, no library.
#include "fit_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

constexpr double kWidth = 420, kHeight = 300, kLeft = 58, kRight = 14, kTop = 34, kBottom = 46;

struct Axis {
  double lo, hi, step;
};

/// About five ticks at 1, 2 or 5 times a power of ten.
Axis axis_of(double lo, double hi) {
  if (!(hi > lo)) hi = lo + 1;
  const double raw = (hi - lo) / 5, power = std::pow(10, std::floor(std::log10(raw)));
  const double share = raw / power;
  const double step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  return {step * std::floor(lo / step), step * std::ceil(hi / step), step};
}

class Panel {
 public:
  Panel(const PlotPanel& panel, double left) : panel_(panel), left_(left) {
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (const PlotCurve& c : panel.curves) {
      for (const double x : c.x) lo[0] = std::min(lo[0], x), hi[0] = std::max(hi[0], x);
      for (const double y : c.y) lo[1] = std::min(lo[1], y), hi[1] = std::max(hi[1], y);
    }
    if (!(lo[0] <= hi[0])) lo[0] = lo[1] = 0, hi[0] = hi[1] = 1;
    x_ = axis_of(lo[0], hi[0]);
    y_ = axis_of(lo[1], hi[1]);
  }

  std::string draw() const {
    std::string out = frame();
    // Bottom right: errors in order and motions that come to rest leave it free.
    double key = kHeight - kBottom - 8 - 15 * (static_cast<double>(panel_.curves.size()) - 1);
    for (const PlotCurve& c : panel_.curves) {
      out += c.dots ? dots(c) : line(c);
      out +=
          fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" text-anchor=\"end\">{}</text>\n",
                      left_ + kWidth - kRight - 6, key, c.colour, c.name);
      key += 15;
    }
    return out;
  }

 private:
  double px(double x) const {
    return left_ + kLeft + (x - x_.lo) / (x_.hi - x_.lo) * (kWidth - kLeft - kRight);
  }
  double py(double y) const {
    return kHeight - kBottom - (y - y_.lo) / (y_.hi - y_.lo) * (kHeight - kTop - kBottom);
  }

  std::string frame() const {
    std::string out = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
        "stroke=\"#888\"/>\n<text x=\"{:.1f}\" y=\"20\" font-weight=\"bold\">{}</text>\n",
        left_ + kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom, left_ + kLeft,
        panel_.title);
    for (double x = x_.lo; x <= x_.hi + 0.5 * x_.step; x += x_.step)
      out += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\">{3:.4g}</text>\n"
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{2:.1f}\" y2=\"{4:.1f}\" stroke=\"#888\"/>\n",
          px(x), kHeight - kBottom + 16, kHeight - kBottom, std::abs(x) < 1e-12 ? 0 : x,
          kHeight - kBottom + 4);
    for (double y = y_.lo; y <= y_.hi + 0.5 * y_.step; y += y_.step)
      out += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"end\">{2:.4g}</text>\n"
          "<line x1=\"{3:.1f}\" x2=\"{4:.1f}\" y1=\"{5:.1f}\" y2=\"{5:.1f}\" stroke=\"#ddd\"/>\n",
          left_ + kLeft - 6, py(y) + 4, std::abs(y) < 1e-12 ? 0 : y, left_ + kLeft,
          left_ + kWidth - kRight, py(y));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       left_ + 0.5 * (kLeft + kWidth - kRight), kHeight - 10, panel_.x_label);
    out += fmt::format(
        "<text transform=\"translate({:.1f},{:.1f}) rotate(-90)\" "
        "text-anchor=\"middle\">{}</text>\n",
        left_ + 14, 0.5 * (kTop + kHeight - kBottom), panel_.y_label);
    return out;
  }

  std::string line(const PlotCurve& c) const {
    std::string points;
    for (std::size_t i = 0; i < c.x.size(); ++i)
      points += fmt::format("{:.1f},{:.1f} ", px(c.x[i]), py(c.y[i]));
    return fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", points,
        c.colour);
  }

  std::string dots(const PlotCurve& c) const {
    std::string out;
    for (std::size_t i = 0; i < c.x.size(); ++i)
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.6\" fill=\"{}\"/>\n",
                         px(c.x[i]), py(c.y[i]), c.colour);
    return out;
  }

  const PlotPanel& panel_;
  double left_;
  Axis x_{}, y_{};
};

}  // namespace

void write_svg(const std::string& path, const std::vector<PlotPanel>& panels) {
  std::ofstream file(path);
  const double width = kWidth * static_cast<double>(panels.size());
  file << fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, kHeight);
  for (std::size_t i = 0; i < panels.size(); ++i)
    file << Panel(panels[i], kWidth * static_cast<double>(i)).draw();
  file << "</svg>\n";
  if (!file.flush()) throw Error(path, "cannot be written");
}

}  // namespace orthant::app
