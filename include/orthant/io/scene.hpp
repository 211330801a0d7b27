// SPDX-License-Identifier: Apache-2.0
// io/scene.hpp: a scene file (YAML, URDF or MJCF) => a model, its state and settings, ready to
// step. docs/scene.md is the reference of the file; it, the JSON Schema and the error messages come
// from the same tables as the reader.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/division.hpp"
#include "orthant/model/model.hpp"
#include "orthant/step/fluid.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

/// What a run writes down.
struct RecordSettings {
  int every = 1;               ///< steps between two frames
  bool velocities = true;      ///< of the bodies
  bool contacts = true;        ///< points, normals, impulses, stick or slide
  int checkpoint_every = 500;  ///< steps between two checkpoints, at most
};

/// The control u(t) of an actuator: linear between the entries, constant outside.
struct ControlTable {
  std::vector<double> times = {};  ///< empty: `values` has one number, or none (0)
  std::vector<double> values = {};

  double at(double t) const;
};

/// What the viewer draws of a body in place of its shapes: a shape, or a mesh from a file.
struct Visual {
  Index body = 0;
  Pose X_BV = {};
  std::string colour = {};  ///< "#rrggbb" or empty: the body's
  std::optional<Shape> shape = {};
  std::string file = {};  ///< STL or OBJ; read when a run is written
  Vec3 scale = Vec3::Ones();
};

/// Rods that grow, dl/dt = rate l, and divide where they are long enough (model/division.hpp).
struct GrowthRule {
  double rate = 0;                       ///< [1/s]; negative: they shrink
  std::optional<double> divide_at = {};  ///< length from tip to tip [m]; none: they do not divide
  DivisionSettings division = {};
  std::string where = {};  ///< place in the file, for messages
};

/// What a run needs to let bodies grow. No rules: all bodies keep their sizes.
struct Growth {
  std::vector<GrowthRule> rules = {};
  std::vector<Index> rule_of = {};  ///< by body of the scene; kNone: keeps its size
  ModelBuilder builder = {};        ///< describes the model of the scene
  Index max_bodies = 0;             ///< a division beyond it is an error
  bool any() const { return !rules.empty(); }
};

struct LoadedScene {
  std::string name, description;
  Model model;
  Parameters parameters;
  State state;
  StepSettings settings;
  RecordSettings record;
  std::int64_t steps = 0;              ///< length of the run
  std::vector<ControlTable> controls;  ///< by actuator
  std::vector<std::string> colours;    ///< by body, "#rrggbb" or empty
  std::vector<Visual> visuals;         ///< by body; of robots
  Growth growth;                       ///< only SceneRun plays it
  Fluid fluid;                         ///< likewise
  std::string resolved;                ///< the scene in one file: includes, parameters, meshes in
  std::vector<std::string> notes;      ///< what was read and not used, or approximated

  /// Controls of all actuators at time t.
  void controls_at(double t, VecX& u) const;
};

/// Throws Error where bodies of the scene grow or there is a fluid: `who` knows step() alone.
void need_plain_steps(const LoadedScene& scene, const std::string& who);

struct SceneOptions {
  std::vector<std::string> set = {};  ///< "key=value": a parameter, or a setting ("step.h")
  Index max_bodies = 2'000'000;       ///< more is refused before memory is taken
  bool read_files = true;             ///< false: includes, meshes and robots are refused
};

/// Reads .yaml, .yml, .urdf or .xml (MJCF). Throws Error at file:line:column.
LoadedScene load_scene(const std::string& path, const SceneOptions& options = {});
/// The same from memory; `name` stands for the file in messages.
LoadedScene parse_scene(const std::string& text, const std::string& name,
                        const SceneOptions& options = {});

LoadedScene parse_urdf(const std::string& text, const std::string& name,
                       const SceneOptions& options = {});

/// The same for MJCF (MuJoCo's XML).
LoadedScene parse_mjcf(const std::string& text, const std::string& name,
                       const SceneOptions& options = {});

/// JSON Schema of a scene file (docs/scene.schema.json).
std::string scene_schema();
/// The tables of docs/scene.md.
std::string scene_reference();
/// A commented scene that runs.
std::string starter_scene(const std::string& name);
/// A scene with the robot of a URDF file on the floor, in a posture that servos hold.
std::string starter_robot(const std::string& name, const std::string& urdf);

}  // namespace orthant
