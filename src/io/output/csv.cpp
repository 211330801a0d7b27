// SPDX-License-Identifier: Apache-2.0
// io/output/csv.cpp: Trajectory => a table of text, one row per frame and body, or one per frame.
#include <cmath>
#include <numbers>
#include <span>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"

namespace orthant {
namespace {

// Columns of a body: configuration, then velocity.
constexpr const char* kSpace[] = {"x",  "y",  "z",  "qw", "qx", "qy", "qz",
                                  "vx", "vy", "vz", "wx", "wy", "wz"};
constexpr const char* kPlane[] = {"x", "y", "theta", "vx", "vy", "omega"};

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

/// The angle of a planar body, by whole turns nearest to the one before.
double theta_of(const double* pose, double before) {
  const double turn = 2 * std::numbers::pi, angle = 2 * std::atan2(pose[6], pose[3]);
  return angle + turn * std::round((before - angle) / turn);
}

}  // namespace

void write_wide_csv(const Trajectory& t, const std::string& run, const std::string& path) {
  if (t.grows())
    throw Error(path,
                "bodies come and go in this run: a row per frame cannot hold them, a row per "
                "frame and body can");
  const bool moving = !t.velocity.empty();
  const std::size_t N = t.bodies.size();
  std::string out = "run,time";
  using Names = std::span<const char* const>;
  const Names parts = t.planar ? Names(kPlane) : Names(kSpace);
  const std::size_t count = moving ? parts.size() : t.planar ? 3 : 7;
  for (const std::string& body : t.bodies)
    for (std::size_t i = 0; i < count; ++i) out += "," + field(body + "." + parts[i]);
  out += "\n";
  std::vector<double> theta(N, 0.0);
  for (std::size_t f = 0; f < t.time.size(); ++f) {
    out += field(run) + "," + to_text(t.time[f]);
    const auto add = [&](double value) { out += "," + to_text(value); };
    for (std::size_t b = 0; b < N; ++b) {
      const double* x = t.pose.data() + 7 * (f * N + b);
      const double* v = moving ? t.velocity.data() + 6 * (f * N + b) : nullptr;
      if (t.planar) {
        theta[b] = theta_of(x, theta[b]);
        for (const double value : {x[0], x[1], theta[b]}) add(value);
        if (moving)
          for (const double value : {v[0], v[1], v[5]}) add(value);
        continue;
      }
      for (std::size_t i = 0; i < 7; ++i) add(x[i]);
      for (std::size_t i = 0; moving && i < 6; ++i) add(v[i]);
    }
    out += "\n";
  }
  write_file(path, out);
}

void write_csv(const Trajectory& t, const std::string& path) {
  const bool moving = !t.velocity.empty();
  std::string out = "time,step,body,x,y,z,qw,qx,qy,qz";
  if (moving) out += ",vx,vy,vz,wx,wy,wz";
  if (t.grows()) out += ",length,mother";
  out += "\n";
  const std::size_t N = t.bodies.size();
  for (std::size_t f = 0; f < t.time.size(); ++f) {
    const std::string head = to_text(t.time[f]) + "," + std::to_string(t.step[f]) + ",";
    for (std::size_t b = 0; b < N; ++b) {
      if (!t.is_alive(f, b)) continue;
      out += head + field(t.bodies[b]);
      for (std::size_t i = 0; i < 7; ++i) out += "," + to_text(t.pose[7 * (f * N + b) + i]);
      for (std::size_t i = 0; moving && i < 6; ++i)
        out += "," + to_text(t.velocity[6 * (f * N + b) + i]);
      if (t.grows()) {
        const std::int32_t mother = t.mother[b];
        out += "," + to_text(t.length[f * N + b]) + ",";
        if (mother >= 0) out += field(t.bodies[static_cast<std::size_t>(mother)]);
      }
      out += "\n";
    }
  }
  write_file(path, out);
}

}  // namespace orthant
