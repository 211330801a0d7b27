// SPDX-License-Identifier: Apache-2.0
// io/output/svg_plot.cpp: signals over time => an SVG picture.
// Few enough elements for any viewer: a curve with more points than pixels is drawn by the lowest
// and highest value of each pixel column.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"

namespace orthant {
namespace {

constexpr double kWidth = 800, kHeight = 450;
constexpr double kLeft = 80, kRight = 20, kTop = 40, kBottom = 50;
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                    "#ff7f0e", "#17becf", "#8c564b", "#e377c2"};

std::string fixed(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  return buffer;
}

std::string tick_text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// A range with round ticks: steps of 1, 2 or 5 times a power of ten.
struct Axis {
  double lo = 0, hi = 1, step = 0.2;

  Axis(double low, double high) : lo(low), hi(high) {
    if (!(hi > lo)) {
      const double pad = std::max(std::abs(lo), 1.0) * 0.5;
      lo -= pad;
      hi += pad;
    }
    const double rough = (hi - lo) / 6, power = std::pow(10, std::floor(std::log10(rough)));
    step = rough / power > 5   ? 10 * power
           : rough / power > 2 ? 5 * power
           : rough / power > 1 ? 2 * power
                               : power;
  }
  double share(double value) const { return (value - lo) / (hi - lo); }
  template <class F>
  void ticks(F&& draw) const {
    for (double k = std::ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step; ++k)
      draw(k * step + 0.0);  // -0 + 0 is 0
  }
};

double x_of(const Axis& axis, double t) {
  return kLeft + axis.share(t) * (kWidth - kLeft - kRight);
}
double y_of(const Axis& axis, double v) {
  return kHeight - kBottom - axis.share(v) * (kHeight - kTop - kBottom);
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" +
         fixed(y2) + "\" " + style + "/>\n";
}
std::string label(double x, double y, const std::string& text, const char* style) {
  return "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" " + style + ">" + escaped(text) +
         "</text>\n";
}

std::string curve(const std::vector<double>& time, const std::vector<double>& values,
                  const Axis& across, const Axis& up, const char* colour) {
  std::string points;
  const auto add = [&](double x, double v) {
    points += (points.empty() ? "" : " ") + fixed(x) + "," + fixed(y_of(up, v));
  };
  for (std::size_t i = 0; i < values.size();) {
    // All samples of one pixel column.
    const double x = x_of(across, time[i]);
    std::size_t j = i, lowest = i, highest = i;
    for (; j < values.size() && (j == i || x_of(across, time[j]) < std::floor(x) + 1); ++j) {
      if (values[j] < values[lowest]) lowest = j;
      if (values[j] > values[highest]) highest = j;
    }
    for (const std::size_t k : {std::min(lowest, highest), std::max(lowest, highest)})
      if (std::isfinite(values[k])) add(x_of(across, time[k]), values[k]);
    i = j;
  }
  return "<polyline fill=\"none\" stroke=\"" + std::string(colour) +
         "\" stroke-width=\"1.5\" points=\"" + points + "\"/>\n";
}

/// Names of the curves in rows above them, where no curve can be. Returns the height taken.
double legend(const std::vector<Signal>& signals, std::string& out) {
  constexpr double kRow = 18, kLetter = 7.5, kMark = 30, kGap = 24;  // widths of a common font
  double x = kLeft, y = kTop;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    const Signal& s = signals[i];
    const std::string text = s.name + (s.unit.empty() ? "" : " [" + s.unit + "]");
    const double width = kMark + kLetter * static_cast<double>(text.size()) + kGap;
    if (x > kLeft && x + width > kWidth - kRight) {
      x = kLeft;
      y += kRow;
    }
    const std::string style =
        "stroke-width=\"3\" stroke=\"" + std::string(kColours[i % std::size(kColours)]) + "\"";
    out += line(x, y - 4, x + kMark - 6, y - 4, style.c_str());
    out += label(x + kMark, y, text, "");
    x += width;
  }
  return y + kRow - kTop;
}

}  // namespace

std::string plot_svg(const Trajectory& t, const std::vector<Signal>& signals,
                     const std::string& title) {
  if (signals.empty()) throw Error("plot", "needs at least one signal");
  double low = INFINITY, high = -INFINITY;
  for (const Signal& s : signals) {
    if (s.values.size() != t.time.size()) throw Error(s.name, "must have one value a frame");
    for (const double v : s.values) {
      if (!std::isfinite(v)) continue;
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  if (!(high >= low)) throw Error(signals[0].name, "has no finite value");
  const Axis across(t.time.front(), t.time.back()), up(low, high);
  static constexpr const char* kGrid = "stroke=\"#ddd\"";
  std::string names, out;
  const double taken = legend(signals, names);
  const double left = kLeft, right = kWidth - kRight, top = kTop, bottom = kHeight - kBottom;
  across.ticks([&](double v) {
    out += line(x_of(across, v), top, x_of(across, v), bottom, kGrid);
    out += label(x_of(across, v), bottom + 18, tick_text(v), "text-anchor=\"middle\"");
  });
  up.ticks([&](double v) {
    out += line(left, y_of(up, v), right, y_of(up, v), kGrid);
    out += label(left - 8, y_of(up, v) + 4, tick_text(v), "text-anchor=\"end\"");
  });
  out += line(left, bottom, right, bottom, "stroke=\"#333\"");
  out += line(left, top, left, bottom, "stroke=\"#333\"");
  out += label(0.5 * (left + right), kHeight - 12, "time [s]", "text-anchor=\"middle\"");
  for (std::size_t i = 0; i < signals.size(); ++i)
    out += curve(t.time, signals[i].values, across, up, kColours[i % std::size(kColours)]);
  const std::string height = fixed(kHeight + taken);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"" + height +
         "\" viewBox=\"0 0 800 " + height +
         "\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"800\" height=\"" + height +
         "\" fill=\"white\"/>\n" +
         label(0.5 * (left + right), 20, title, "text-anchor=\"middle\" font-size=\"15\"") + names +
         "<g transform=\"translate(0 " + fixed(taken) + ")\">\n" + out + "</g>\n</svg>\n";
}

}  // namespace orthant
