// SPDX-License-Identifier: Apache-2.0
// io/output/csv.cpp: Trajectory => a table of text, one row a frame and body.
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"

namespace orthant {
namespace {

/// A name in quotes where it would break the row.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

void write_csv(const Trajectory& t, const std::string& path) {
  const bool moving = !t.velocity.empty();
  std::string out = "time,step,body,x,y,z,qw,qx,qy,qz";
  if (moving) out += ",vx,vy,vz,wx,wy,wz";
  out += "\n";
  const std::size_t N = t.bodies.size();
  for (std::size_t f = 0; f < t.time.size(); ++f) {
    const std::string head = to_text(t.time[f]) + "," + std::to_string(t.step[f]) + ",";
    for (std::size_t b = 0; b < N; ++b) {
      out += head + field(t.bodies[b]);
      for (std::size_t i = 0; i < 7; ++i) out += "," + to_text(t.pose[7 * (f * N + b) + i]);
      for (std::size_t i = 0; moving && i < 6; ++i)
        out += "," + to_text(t.velocity[6 * (f * N + b) + i]);
      out += "\n";
    }
  }
  write_file(path, out);
}

}  // namespace orthant
