// SPDX-License-Identifier: Apache-2.0
// Plots: the file is a PNG by its own check sums, and the curve is where the axes say.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>

#include "orthant/base/axis.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"

namespace orthant {
namespace {

struct Picture {
  std::size_t width = 0, height = 0;
  std::string pixels;  // rows of red, green, blue

  int at(std::size_t x, std::size_t y) const {
    const auto* p = reinterpret_cast<const unsigned char*>(pixels.data()) + 3 * (y * width + x);
    return p[0] << 16 | p[1] << 8 | p[2];
  }
};

std::size_t big_endian(const std::string& text, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(text.at(at + i));
  return value;
}

/// Reads what PNG readers read; any slip fails the test.
Picture decoded(const std::string& file) {
  Picture out;
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::string packed, kinds;
  for (std::size_t at = 8; at < file.size();) {
    const std::size_t size = big_endian(file, at);
    const std::string covered = file.substr(at + 4, 4 + size), data = covered.substr(4);
    EXPECT_EQ(big_endian(file, at + 8 + size),
              crc32(0, reinterpret_cast<const Bytef*>(covered.data()),
                    static_cast<uInt>(covered.size())));
    const std::string kind = covered.substr(0, 4);
    kinds += kind + " ";
    if (kind == "IHDR") {
      out.width = big_endian(data, 0);
      out.height = big_endian(data, 4);
      EXPECT_EQ(data.substr(8), std::string("\x08\x02\0\0\0", 5));
    } else if (kind == "IDAT") {
      packed += data;
    }
    at += 12 + size;
  }
  EXPECT_EQ(kinds, "IHDR IDAT IEND ");
  std::string rows((3 * out.width + 1) * out.height, '?');
  uLongf size = rows.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  EXPECT_EQ(size, rows.size());
  for (std::size_t y = 0; y < out.height; ++y) {
    EXPECT_EQ(rows[y * (3 * out.width + 1)], '\0');  // no filter
    out.pixels += rows.substr(y * (3 * out.width + 1) + 1, 3 * out.width);
  }
  return out;
}

Trajectory ramp() {
  Trajectory t;
  for (int i = 0; i <= 100; ++i) t.time.push_back(0.01 * i);
  return t;
}

TEST(Plot, PngHasTheCurveWhereTheAxesSay) {
  const Trajectory t = ramp();
  Signal line{"height", "m", t.time}, other{"flat", "m", std::vector<double>(t.time.size(), 0.25)};
  const Picture p = decoded(plot_png(t, {line, other}, "All the letters: {Quick} [fox]? \xc3\xa4"));
  ASSERT_EQ(p.width, 1600u);
  ASSERT_EQ(p.height, 2 * (450 + 18u));  // one row of names
  // The axes: 80 to 780 across, 58 to 418 down, two pixels per unit.
  const auto x = [](double time) { return static_cast<std::size_t>(2 * (80 + 700 * time)); };
  const auto y = [](double value) {
    return static_cast<std::size_t>(2 * (418 - 360 * (value + 0.04) / 1.08));  // 4 % on both sides
  };
  for (const double time : {0.11, 0.33, 0.52, 0.93}) {
    EXPECT_EQ(p.at(x(time), y(time)), 0x1f77b4) << time;
    if (time > 0.3) {
      EXPECT_EQ(p.at(x(time), y(0.25)), 0xd62728) << time;
    }
    EXPECT_EQ(p.at(x(time), y(time) - 20), 0xffffff) << time;  // nothing beside it
  }
  EXPECT_EQ(p.at(0, 0), 0xffffff);
  int dark = 0;  // the title
  for (std::size_t column = 0; column < p.width; ++column)
    for (std::size_t row = 10; row < 50; ++row) dark += p.at(column, row) == 0;
  EXPECT_GT(dark, 500);
}

// Energies of a body at rest: equal but for the last bit. Adding a tick's step to them changed
// nothing, and the plot never ended.
TEST(Plot, ASignalThatIsConstantUpToRoundingHasTicks) {
  const Trajectory t = ramp();
  for (const double value : {9.81, 1e300, -3e-9, 0.0}) {
    Signal s{"energy", "J", std::vector<double>(t.time.size(), value)};
    s.values[7] = std::nextafter(value, 1e301);
    const std::string svg = plot_svg(t, {s}, "rest");
    EXPECT_LT(svg.size(), 20000u) << value;
    EXPECT_NE(svg.find("<polyline"), std::string::npos);
  }
}

TEST(Axis, TicksAreRoundFewAndTellApart) {
  for (const auto& [lo, hi] : {std::pair{0.0, 1.0},
                               {-1e300, 1e300},
                               {1.0, 1 + 1e-9},
                               {5.0, 5.0},
                               {1e-300, 3e-300},
                               {-7.0, 1e6},
                               {-INFINITY, INFINITY}}) {
    const Axis axis(lo, hi, 0.04);
    const std::vector<double> ticks = axis.ticks();
    EXPECT_GE(ticks.size(), 3u) << lo << " " << hi;
    EXPECT_LE(ticks.size(), 9u) << lo << " " << hi;
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      EXPECT_GE(axis.share(ticks[i]), -1e-6);
      EXPECT_LE(axis.share(ticks[i]), 1 + 1e-6);
      if (i > 0) {
        EXPECT_NE(axis.text(ticks[i]), axis.text(ticks[i - 1]));
      }
    }
  }
}

TEST(Plot, RefusesWhatHasNoPicture) {
  const Trajectory t = ramp();
  EXPECT_THROW((void)plot_png(t, {}, ""), Error);
  EXPECT_THROW((void)plot_png(t, {{"short", "", {1, 2}}}, ""), Error);
  EXPECT_THROW((void)plot_png(t, {{"none", "", std::vector<double>(101, NAN)}}, ""), Error);
}

}  // namespace
}  // namespace orthant
