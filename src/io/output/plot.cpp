// SPDX-License-Identifier: Apache-2.0
// io/output/plot.cpp: signals over time => a picture on a Canvas.
// Few enough elements for any viewer: a curve with more points than pixels is drawn by the lowest
// and highest value of each pixel column.
#include <algorithm>
#include <cmath>

#include "io/output/canvas.hpp"
#include "orthant/base/axis.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"

namespace orthant {
namespace {

using io::Anchor;
using io::Canvas;
using io::Curve;

constexpr double kWidth = 800, kHeight = 450;
constexpr double kLeft = 80, kRight = 20, kTop = 40, kBottom = 50, kFont = 13;
constexpr double kMargin = 0.04;  // above and below the curves, of their range
constexpr const char *kGrid = "#dddddd", *kFrame = "#333333";
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                    "#ff7f0e", "#17becf", "#8c564b", "#e377c2"};

double x_of(const Axis& axis, double t) {
  return kLeft + axis.share(t) * (kWidth - kLeft - kRight);
}
double y_of(const Axis& axis, double v) {
  return kHeight - kBottom - axis.share(v) * (kHeight - kTop - kBottom);
}

void draw_curve(Canvas& canvas, const std::vector<double>& time, const std::vector<double>& values,
                const Axis& across, const Axis& up, double shift, const char* colour) {
  Curve points;
  for (std::size_t i = 0; i < values.size();) {
    // All samples of one pixel column.
    const double x = x_of(across, time[i]);
    std::size_t j = i, lowest = i, highest = i;
    for (; j < values.size() && (j == i || x_of(across, time[j]) < std::floor(x) + 1); ++j) {
      if (values[j] < values[lowest]) lowest = j;
      if (values[j] > values[highest]) highest = j;
    }
    for (const std::size_t k : {std::min(lowest, highest), std::max(lowest, highest)})
      if (std::isfinite(values[k]))
        points.emplace_back(x_of(across, time[k]), shift + y_of(up, values[k]));
    i = j;
  }
  canvas.curve(points, colour, 1.5);
}

/// Names of the curves in rows above them, where no curve can be: where each one stands, and the
/// height they take.
struct Legend {
  struct Entry {
    double x, y;
    std::string text;
  };
  static constexpr double kRow = 18, kLetter = 7.5, kMark = 30, kSpace = 24;  // of a common font
  std::vector<Entry> entries;
  double height = 0;

  explicit Legend(const std::vector<Signal>& signals) {
    double x = kLeft, y = kTop;
    for (const Signal& s : signals) {
      const std::string text = s.name + (s.unit.empty() ? "" : " [" + s.unit + "]");
      const double width = kMark + kLetter * static_cast<double>(text.size()) + kSpace;
      if (x > kLeft && x + width > kWidth - kRight) {
        x = kLeft;
        y += kRow;
      }
      entries.push_back({x, y, text});
      x += width;
    }
    height = y + kRow - kTop;
  }
};

std::string draw(const Trajectory& t, const std::vector<Signal>& signals, const std::string& title,
                 std::unique_ptr<Canvas> (*make)(double, double)) {
  if (signals.empty()) throw Error("plot", "needs at least one signal");
  double low = INFINITY, high = -INFINITY;
  for (const Signal& s : signals) {
    if (s.values.size() != t.time.size()) throw Error(s.name, "must have one value per frame");
    for (const double v : s.values) {
      if (!std::isfinite(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  if (!(high >= low)) throw Error(signals[0].name, "has no finite value");
  const Axis across(t.time.front(), t.time.back()), up(low, high, kMargin);
  const Legend legend(signals);
  const double shift = legend.height;
  const double left = kLeft, right = kWidth - kRight, top = shift + kTop;
  const double bottom = shift + kHeight - kBottom;
  const std::unique_ptr<Canvas> canvas = make(kWidth, kHeight + shift);
  canvas->label(0.5 * (left + right), 20, title, Anchor::Middle, 15);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const Legend::Entry& e = legend.entries[i];
    canvas->line(e.x, e.y - 4, e.x + Legend::kMark - 6, e.y - 4, kColours[i % std::size(kColours)],
                 3);
    canvas->label(e.x + Legend::kMark, e.y, e.text, Anchor::Start, kFont);
  }
  for (const double v : across.ticks()) {
    canvas->line(x_of(across, v), top, x_of(across, v), bottom, kGrid);
    canvas->label(x_of(across, v), bottom + 18, across.text(v), Anchor::Middle, kFont);
  }
  for (const double v : up.ticks()) {
    const double y = shift + y_of(up, v);
    canvas->line(left, y, right, y, kGrid);
    canvas->label(left - 8, y + 4, up.text(v), Anchor::End, kFont);
  }
  canvas->line(left, bottom, right, bottom, kFrame);
  canvas->line(left, top, left, bottom, kFrame);
  canvas->label(0.5 * (left + right), shift + kHeight - 12, "time [s]", Anchor::Middle, kFont);
  for (std::size_t i = 0; i < signals.size(); ++i)
    draw_curve(*canvas, t.time, signals[i].values, across, up, shift,
               kColours[i % std::size(kColours)]);
  return canvas->finish();
}

}  // namespace

std::string plot_svg(const Trajectory& t, const std::vector<Signal>& signals,
                     const std::string& title) {
  return draw(t, signals, title, io::svg_canvas);
}

std::string plot_png(const Trajectory& t, const std::vector<Signal>& signals,
                     const std::string& title) {
  return draw(t, signals, title, io::png_canvas);
}

}  // namespace orthant
