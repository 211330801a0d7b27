// SPDX-License-Identifier: Apache-2.0
// io/output/stroke_font.cpp: text => strokes of a pen.
// A glyph is a list of strokes, a stroke a list of points (x, y), one digit to base 36 each; 4 is
// the base line, c the height of small letters, g that of capitals. A stroke with ~ in front is the
// quadratic spline of its points, closed where it ends as it begins: a box becomes an oval.
#include <algorithm>
#include <iterator>
#include <sstream>

#include "io/output/canvas.hpp"

namespace orthant::io {
namespace {

constexpr double kBase = 4, kGap = 3.5, kSpace = 5;

// From '!' to '~'.
constexpr const char* kGlyphs[] = {
    "0g08 0405",                           // !
    "0g0d 3g3d",                           // "
    "2g14 6g54 0c7c 0878",                 // #
    "~7e6g0g0b79741406 4h42",              // $
    "~0g4g4c0c0g ~4888844448 8g04",        // %
    "~841c1g5g5c0904548a",                 // &
    "0g0d",                                // '
    "~3h0d0531",                           // (
    "~0h3d3501",                           // )
    "3g3a 0f6b 6f0b",                      // *
    "4e46 0a8a",                           // +
    "1502",                                // ,
    "0a5a",                                // -
    "0405",                                // .
    "6h02",                                // /
    "~0g7g74040g",                         // 0
    "0d3g34",                              // 1
    "~0c0g7g7b04 0474",                    // 2
    "~0e1g7g7a3a ~3a8a841406",             // 3
    "646g0787",                            // 4
    "7g1g0b ~0b3d8d841406",                // 5
    "~6g0f08 ~0b7b74040b",                 // 6
    "0g7g24",                              // 7
    "~1g6g6a1a1g ~0a7a74040a",             // 8
    "~14757c ~0g7g79090g",                 // 9
    "0405 0b0c",                           // :
    "1502 1b1c",                           // ;
    "8d0a87",                              // <
    "0c7c 0878",                           // =
    "0d8a07",                              // >
    "~0d0g7g7c4b48 4445",                  // ?
    "~3c6c68383c ~67878g0g0474",           // @
    "044g84 1878",                         // A
    "040g ~0g7g7a0a ~0a8a8404",            // B
    "~7d6g0g046477",                       // C
    "040g ~0g8g8404",                      // D
    "7g0g0474 0a6a",                       // E
    "7g0g04 0a6a",                         // F
    "~7d6g0g047479 7949",                  // G
    "0g04 7g74 0a7a",                      // H
    "0g04",                                // I
    "~5g540407",                           // J
    "0g04 7g08 2a74",                      // K
    "0g0474",                              // L
    "040g488g84",                          // M
    "040g747g",                            // N
    "~0g8g84040g",                         // O
    "040g ~0g8g8909",                      // P
    "~0g8g84040g 5783",                    // Q
    "040g ~0g8g8909 3984",                 // R
    "~7e6g0g0b79741406",                   // S
    "0g8g 4g44",                           // T
    "0g08 ~08047478 787g",                 // U
    "0g448g",                              // V
    "0g245d84ag",                          // W
    "0g74 7g04",                           // X
    "0g4a8g 4a44",                         // Y
    "0g7g0474",                            // Z
    "3h0h0131",                            // [
    "0h62",                                // backslash
    "0h3h3101",                            // ]
    "0b3g6b",                              // ^
    "0272",                                // _
    "0g2d",                                // `
    "~0c6c64040c 6c64",                    // a
    "0g04 ~0c6c64040c",                    // b
    "~6a5c0c045466",                       // c
    "6g64 ~0c6c64040c",                    // d
    "0868 ~686c0c045466",                  // e
    "~5g2g2c 2c24 0c4c",                   // f
    "6c63 ~63600001 ~0c6c64040c",          // g
    "0g04 ~090c6c69 6964",                 // h
    "0c04 0f0g",                           // i
    "2c22 ~222000 2f2g",                   // j
    "0g04 5c07 2964",                      // k
    "0g06 ~060424",                        // l
    "0c04 ~090c5c59 5954 ~595caca9 a9a4",  // m
    "0c04 ~090c6c69 6964",                 // n
    "~0c6c64040c",                         // o
    "0c00 ~0c6c64040c",                    // p
    "6c60 ~0c6c64040c",                    // q
    "0c04 ~090c4c",                        // r
    "~6b5c0c0868641405",                   // s
    "2g26 ~262454 0c5c",                   // t
    "0c07 ~07046467 6c64",                 // u
    "0c346c",                              // v
    "0c244b648c",                          // w
    "0c64 6c04",                           // x
    "0c34 6c10",                           // y
    "0c6c0464",                            // z
    "~4h2h2b0a ~0a292141",                 // {
    "0h00",                                // |
    "~0h2h2b4a ~4a292101",                 // }
    "~082c587c",                           // ~
};
static_assert(std::size(kGlyphs) == '~' - '!' + 1);
constexpr const char* kUnknown = "0g7g74040g";

double digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/// Cuts every corner at a quarter and three quarters of its sides, three times: Chaikin's way to
/// the quadratic spline. Open ones keep their ends.
void smooth(Curve& points) {
  const bool closed = points.front() == points.back();
  for (int pass = 0; pass < 3; ++pass) {
    Curve cut;
    if (!closed) cut.push_back(points.front());
    for (std::size_t i = 0; i + 1 < points.size(); ++i)
      for (const double share : {0.25, 0.75})
        cut.emplace_back(points[i].first + share * (points[i + 1].first - points[i].first),
                         points[i].second + share * (points[i + 1].second - points[i].second));
    cut.push_back(closed ? cut.front() : points.back());
    points = std::move(cut);
  }
}

}  // namespace

std::vector<Curve> stroke_text(const std::string& text, double& width) {
  std::vector<Curve> out;
  double at = 0;
  for (const char c : text) {
    if ((c & 0xc0) == 0x80) continue;  // the rest of a UTF-8 character
    if (c == ' ') {
      at += kSpace + kGap;
      continue;
    }
    std::istringstream strokes(c >= '!' && c <= '~' ? kGlyphs[c - '!'] : kUnknown);
    double right = 0;
    for (std::string stroke; strokes >> stroke;) {
      const bool round = stroke[0] == '~';
      Curve points;
      for (std::size_t i = round ? 1 : 0; i + 1 < stroke.size(); i += 2) {
        right = std::max(right, digit(stroke[i]));
        points.emplace_back(at + digit(stroke[i]), digit(stroke[i + 1]) - kBase);
      }
      if (round) smooth(points);
      out.push_back(std::move(points));
    }
    at += right + kGap;
  }
  width = at > 0 ? at - kGap : 0;
  return out;
}

}  // namespace orthant::io
