// SPDX-License-Identifier: Apache-2.0
// io/scene/robot_starter.cpp: a URDF => a scene to start from: floor, posture, servos that hold it.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "io/scene/robot.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace io {
namespace {

namespace fs = std::filesystem;

/// An SRDF of the robot beside it, and the posture in it to stand in.
struct Standing {
  std::string srdf = {}, state = {};
};

Standing find_standing(const fs::path& urdf) {
  Standing out;
  std::error_code error;
  const std::string stem = urdf.stem().string();
  for (const fs::path& folder : {urdf.parent_path(), urdf.parent_path() / ".." / "srdf"}) {
    const fs::path file = (folder / (stem + ".srdf")).lexically_normal();
    if (fs::is_regular_file(file, error)) out.srdf = file.string();
  }
  if (out.srdf.empty()) return out;
  for (const char* state : {"standing", "stand", "half_sitting", "home", "default"}) {
    Robot robot;
    std::vector<std::pair<std::string, double>> posture;
    try {
      read_srdf(out.srdf, state, robot, posture);
    } catch (const Error&) {
      continue;  // has no such state
    }
    if (!posture.empty()) {
      out.state = state;
      return out;
    }
  }
  return {};
}

double height_of(const SceneDescription& scene) {
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
  for (const BodyDescription& body : scene.bodies)
    for (const ShapeDescription& s : body.shapes) {
      const Pose X = compose(Pose{body.position, body.orientation.value_or(Quat{})},
                             Pose{s.position, s.orientation.value_or(Quat{})});
      const Bounds box = bounds(make_shape(s, body.name), X);
      lo = std::min(lo, box.lo[2]);
      hi = std::max(hi, box.hi[2]);
    }
  return hi > lo ? hi - lo : 1;
}

/// Two digits: these numbers are to be read and changed.
std::string rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", x);
  double value = 0;
  return read_number(text, value) ? to_text(value) : text;
}

}  // namespace
}  // namespace io

std::string starter_robot(const std::string& name, const std::string& urdf) {
  using namespace io;
  const fs::path path = fs::absolute(urdf);
  const Standing standing = find_standing(path);
  RobotDescription options;
  options.file = path.string();
  options.srdf = standing.srdf;
  options.state = standing.state;
  ReadContext context{.options = {}, .folder = {}};
  SceneDescription scene;
  add_urdf(options, 0, context, scene);
  double mass = 0;
  int moved_by_root = 0;
  for (const BodyDescription& body : scene.bodies) mass += body.mass.value_or(0);
  const std::string root = scene.bodies.empty() ? "" : scene.bodies.front().name;
  for (const JointDescription& joint : scene.joints) moved_by_root += joint.b == root;
  const double k = 2 * std::max(mass, 0.1) * 9.81 * height_of(scene);
  std::string out = "# " + path.filename().string() +
                    " on the floor, held in its posture by servos: docs/robots.md.\n"
                    "orthant: 1\nname: " +
                    scalar_text(name) +
                    "\n\nbodies:\n  - {name: floor, motion: fixed, shapes: {type: half_space}}\n\n"
                    "urdf:\n  file: " +
                    scalar_text(path.string()) +
                    "\n  stand: true                 # its lowest point at z = 0\n";
  if (moved_by_root == 1)
    out += "  fixed: true                 # an arm: its base is held; false: it may fall\n";
  if (!standing.srdf.empty())
    out += "  srdf: " + scalar_text(standing.srdf) + "\n  state: " + scalar_text(standing.state) +
           "\n";
  out +=
      "  servos:                     # forces are cut at the limits in the file\n"
      "    - {stiffness: " +
      rounded(k) + ", damping: " + rounded(0.1 * k) + "}\n";
  bool any = false;
  for (const JointDescription& joint : scene.joints) {
    if (joint.kind != JointKind::Revolute && joint.kind != JointKind::Prismatic) continue;
    if (!joint.follow.joint.empty()) continue;
    if (!any) out += "  posture:                    # coordinates at the start [rad, m]\n";
    any = true;
    std::string range = joint.lower && joint.upper
                            ? "   # " + rounded(*joint.lower) + " to " + rounded(*joint.upper)
                            : "";
    out += "    " + scalar_text(joint.name) + ": " + to_text(joint.start) + range + "\n";
  }
  return out + "\nstep:\n  h: 0.005\n\nrun:\n  time: 3\n";
}

}  // namespace orthant
