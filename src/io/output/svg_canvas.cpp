// SPDX-License-Identifier: Apache-2.0
// io/output/svg_canvas.cpp: lines and labels => SVG.
#include <cstdio>

#include "io/output/canvas.hpp"

namespace orthant::io {
namespace {

std::string fixed(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
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

class SvgCanvas : public Canvas {
 public:
  SvgCanvas(double width, double height) : width_(fixed(width)), height_(fixed(height)) {}

  void curve(const Curve& points, const char* colour, double width) override {
    const std::string pen = std::string(" fill=\"none\" stroke=\"") + colour +
                            "\" stroke-width=\"" + fixed(width) + "\"/>\n";
    if (points.size() == 2) {
      body_ += "<line x1=\"" + fixed(points[0].first) + "\" y1=\"" + fixed(points[0].second) +
               "\" x2=\"" + fixed(points[1].first) + "\" y2=\"" + fixed(points[1].second) + "\"" +
               pen;
      return;
    }
    body_ += "<polyline points=\"";
    for (const auto& [x, y] : points) {
      if (body_.back() != '"') body_ += ' ';
      body_ += fixed(x) + "," + fixed(y);
    }
    body_ += "\"" + pen;
  }

  void label(double x, double y, const std::string& text, Anchor anchor, double size) override {
    body_ +=
        "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" font-size=\"" + fixed(size) + "\"";
    if (anchor != Anchor::Start)
      body_ +=
          std::string(" text-anchor=\"") + (anchor == Anchor::Middle ? "middle" : "end") + "\"";
    body_ += ">" + escaped(text) + "</text>\n";
  }

  std::string finish() override {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width_ + "\" height=\"" +
           height_ + "\" viewBox=\"0 0 " + width_ + " " + height_ +
           "\" font-family=\"sans-serif\">\n<rect width=\"" + width_ + "\" height=\"" + height_ +
           "\" fill=\"white\"/>\n" + body_ + "</svg>\n";
  }

 private:
  std::string width_, height_, body_;
};

}  // namespace

std::unique_ptr<Canvas> svg_canvas(double width, double height) {
  return std::make_unique<SvgCanvas>(width, height);
}

}  // namespace orthant::io
