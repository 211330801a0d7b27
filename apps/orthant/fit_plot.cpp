// SPDX-License-Identifier: Apache-2.0
// orthant/fit_plot.cpp: a few panels of curves as plain SVG, no library.
#include "fit_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/axis.hpp"
#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

constexpr double kWidth = 420, kHeight = 300, kLeft = 58, kRight = 14, kTop = 34, kBottom = 46;

class Panel {
 public:
  Panel(const PlotPanel& panel, double left) : panel_(panel), left_(left) {
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (const PlotCurve& c : panel.curves) {
      for (const double x : c.x) lo[0] = std::min(lo[0], x), hi[0] = std::max(hi[0], x);
      for (const double y : c.y) lo[1] = std::min(lo[1], y), hi[1] = std::max(hi[1], y);
    }
    if (!(lo[0] <= hi[0])) lo[0] = lo[1] = 0, hi[0] = hi[1] = 1;
    x_ = Axis(lo[0], hi[0]);
    y_ = Axis(lo[1], hi[1], 0.04);
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
  double px(double x) const { return left_ + kLeft + x_.share(x) * (kWidth - kLeft - kRight); }
  double py(double y) const { return kHeight - kBottom - y_.share(y) * (kHeight - kTop - kBottom); }

  std::string frame() const {
    std::string out = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
        "stroke=\"#888\"/>\n<text x=\"{:.1f}\" y=\"20\" font-weight=\"bold\">{}</text>\n",
        left_ + kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom, left_ + kLeft,
        panel_.title);
    for (const double x : x_.ticks())
      out += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"middle\">{3}</text>\n"
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{2:.1f}\" y2=\"{4:.1f}\" stroke=\"#888\"/>\n",
          px(x), kHeight - kBottom + 16, kHeight - kBottom, x_.text(x), kHeight - kBottom + 4);
    for (const double y : y_.ticks())
      out += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>\n"
          "<line x1=\"{3:.1f}\" x2=\"{4:.1f}\" y1=\"{5:.1f}\" y2=\"{5:.1f}\" stroke=\"#ddd\"/>\n",
          left_ + kLeft - 6, py(y) + 4, y_.text(y), left_ + kLeft, left_ + kWidth - kRight, py(y));
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
  Axis x_, y_;
};

}  // namespace

void write_svg(const std::string& path, const std::vector<PlotPanel>& panels) {
  const double width = kWidth * static_cast<double>(panels.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      width, kHeight);
  for (std::size_t i = 0; i < panels.size(); ++i)
    text += Panel(panels[i], kWidth * static_cast<double>(i)).draw();
  write_file(path, text + "</svg>\n");
}

}  // namespace orthant::app
