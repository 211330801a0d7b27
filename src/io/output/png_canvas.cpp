// SPDX-License-Identifier: Apache-2.0
// io/output/png_canvas.cpp: lines and labels => PNG, two pixels per unit.
//   coverage of a pixel = clamp(width/2 + 1/2 - distance to the line, 0, 1)
// A curve gathers its coverage first and is blended once: its joints are no darker than the rest.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "io/output/canvas.hpp"
#include "orthant/base/assert.hpp"

namespace orthant::io {
namespace {

constexpr double kScale = 2;
constexpr double kCapital = 0.72 / 12;  // of the font size, a unit of stroke_text()

void append_big_endian(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

const Bytef* bytes_of(const std::string& text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

/// Length, type, data, check sum of type and data.
void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_big_endian(out, static_cast<std::uint32_t>(data.size()));
  const std::string covered = type + data;
  out += covered;
  append_big_endian(out, static_cast<std::uint32_t>(
                             crc32(0, bytes_of(covered), static_cast<uInt>(covered.size()))));
}

class PngCanvas : public Canvas {
 public:
  PngCanvas(double width, double height)
      : width_(static_cast<int>(std::lround(kScale * width))),
        height_(static_cast<int>(std::lround(kScale * height))),
        pixels_(3 * static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_), 255),
        coverage_(pixels_.size() / 3, 0.0F) {}

  void curve(const Curve& points, const char* colour, double width) override {
    for (std::size_t i = 0; i + 1 < points.size(); ++i)
      cover(points[i].first, points[i].second, points[i + 1].first, points[i + 1].second, width);
    blend(colour);
  }

  void label(double x, double y, const std::string& text, Anchor anchor, double size) override {
    double width = 0;
    const std::vector<Curve> strokes = stroke_text(text, width);
    const double unit = kCapital * size;
    if (anchor != Anchor::Start) x -= width * unit * (anchor == Anchor::Middle ? 0.5 : 1);
    for (const Curve& stroke : strokes)
      for (std::size_t i = 0; i + 1 < stroke.size(); ++i)
        cover(x + unit * stroke[i].first, y - unit * stroke[i].second,
              x + unit * stroke[i + 1].first, y - unit * stroke[i + 1].second, 0.09 * size);
    blend("#000000");
  }

  std::string finish() override {
    std::string header;
    append_big_endian(header, static_cast<std::uint32_t>(width_));
    append_big_endian(header, static_cast<std::uint32_t>(height_));
    header += std::string("\x08\x02\0\0\0", 5);  // 8 bits, red green blue, no interlace
    std::string rows;
    const std::size_t row = 3 * static_cast<std::size_t>(width_);
    for (std::size_t y = 0; y < static_cast<std::size_t>(height_); ++y) {
      rows += '\0';  // not filtered
      rows.append(reinterpret_cast<const char*>(pixels_.data()) + y * row, row);
    }
    uLongf size = compressBound(rows.size());
    std::string packed(size, '\0');
    const int result = compress2(reinterpret_cast<Bytef*>(packed.data()), &size, bytes_of(rows),
                                 rows.size(), Z_BEST_COMPRESSION);
    ORTHANT_ASSERT(result == Z_OK);
    packed.resize(size);
    std::string out("\x89PNG\r\n\x1a\n", 8);
    append_chunk(out, "IHDR", header);
    append_chunk(out, "IDAT", packed);
    append_chunk(out, "IEND", "");
    return out;
  }

 private:
  /// A piece of line, in units of the canvas.
  void cover(double x1, double y1, double x2, double y2, double width) {
    const double ax = kScale * x1, ay = kScale * y1, bx = kScale * x2, by = kScale * y2;
    const double reach = 0.5 * kScale * width + 0.5;
    const auto first = [&](double a, double b) {
      return std::max(0.0, std::min(a, b) - reach - 1);
    };
    const auto last = [&](double a, double b, int end) {
      return static_cast<int>(
          std::clamp(std::max(a, b) + reach + 1, 0.0, static_cast<double>(end)));
    };
    const double dx = bx - ax, dy = by - ay, square = dx * dx + dy * dy;
    for (int y = static_cast<int>(first(ay, by)); y < last(ay, by, height_); ++y)
      for (int x = static_cast<int>(first(ax, bx)); x < last(ax, bx, width_); ++x) {
        const double px = x + 0.5 - ax, py = y + 0.5 - ay;
        const double t = square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0, 1.0) : 0;
        const double value = std::clamp(reach - std::hypot(px - t * dx, py - t * dy), 0.0, 1.0);
        if (value <= 0) continue;
        const std::size_t at = static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) +
                               static_cast<std::size_t>(x);
        if (coverage_[at] == 0) touched_.push_back(at);
        coverage_[at] = std::max(coverage_[at], static_cast<float>(value));
      }
  }

  void blend(const char* colour) {
    const long rgb = std::strtol(colour + 1, nullptr, 16);
    for (const std::size_t at : touched_) {
      for (std::size_t c = 0; c < 3; ++c) {
        unsigned char& pixel = pixels_[3 * at + c];
        const auto wanted = static_cast<double>(rgb >> (16 - 8 * c) & 0xff);
        pixel = static_cast<unsigned char>(std::lround(pixel + coverage_[at] * (wanted - pixel)));
      }
      coverage_[at] = 0;
    }
    touched_.clear();
  }

  int width_, height_;
  std::vector<unsigned char> pixels_;
  std::vector<float> coverage_;
  std::vector<std::size_t> touched_;
};

}  // namespace

std::unique_ptr<Canvas> png_canvas(double width, double height) {
  return std::make_unique<PngCanvas>(width, height);
}

}  // namespace orthant::io
