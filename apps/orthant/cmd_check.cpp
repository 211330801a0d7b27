// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_check.cpp: orthant check SCENE… => is it right, and what is in it; orthant new NAME.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"

namespace orthant::app {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  SceneOptions scene;
  bool schema = false, reference = false, resolved = false;
};

std::string count(std::size_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

void print_summary(const std::string& path, const LoadedScene& scene) {
  const Model& m = scene.model;
  fmt::print("{}: {}\n", path, scene.name);
  if (!scene.description.empty()) fmt::print("  {}\n", scene.description);
  fmt::print("  {} ({} moving), {}, {}, {}, {}\n", count(m.bodies().size(), "body", "bodies"),
             m.dynamic_count(), count(m.shapes().size(), "shape", "shapes"),
             count(m.joints().size(), "joint", "joints"),
             count(m.forces().size(), "force", "forces"),
             count(m.actuators().size(), "actuator", "actuators"));
  for (const FlexiblePart& part : m.flexible_parts())
    fmt::print("  flexible part {}: {}, {}\n", part.name,
               count(static_cast<std::size_t>(part.node_count), "node", "nodes"),
               count(static_cast<std::size_t>(part.element_count()), "element", "elements"));
  fmt::print("  {}, {} steps of {:g} s\n", m.planar() ? "planar" : "spatial", scene.steps,
             scene.settings.h);
  for (const std::string& note : scene.notes) fmt::print("  note: {}\n", note);
}

int run_check(const CheckOptions& options) {
  if (options.schema) std::fputs(scene_schema().c_str(), stdout);
  if (options.reference) std::fputs(scene_reference().c_str(), stdout);
  if (options.files.empty() && !options.schema && !options.reference)
    throw Error("check", "expected a scene file");
  int code = kSuccess;
  for (const std::string& path : options.files) {
    try {
      const LoadedScene scene = load_scene(path, options.scene);
      if (options.resolved)
        std::fputs(scene.resolved.c_str(), stdout);
      else
        print_summary(path, scene);
    } catch (const Error& error) {
      fmt::print(stderr, "orthant: {}\n", error.what());
      code = kBadInput;
    }
  }
  return code;
}

int run_new(const std::string& name, const std::string& urdf) {
  const std::string path = name.ends_with(".yaml") ? name : name + ".yaml";
  if (std::filesystem::exists(path)) throw Error(path, "is there already; choose another name");
  const std::string stem = std::filesystem::path(path).stem().string();
  write_file(path, urdf.empty() ? starter_scene(stem) : starter_robot(stem, urdf));
  fmt::print("wrote {}\n  orthant check {}\n  orthant run {} -o {}_run\n", path, path, path, stem);
  return kSuccess;
}

}  // namespace

void add_check(Program& program) {
  const auto options = std::make_shared<CheckOptions>();
  Command command = program.command("check", "Say whether a scene is right, and what is in it");
  command.option("files", options->files, "scenes: .yaml, .urdf or .xml (MJCF)")
      .value_name("SCENE");
  command
      .option("--set", options->scene.set,
              "key=value: a parameter of the scene, or a setting such as step.h")
      .value_name("KEY=VALUE")
      .one_value();
  command.flag("--resolved", options->resolved,
               "print the scene in one file: includes, parameters and meshes put in");
  command.flag("--schema", options->schema, "print the JSON Schema of scene files");
  command.flag("--reference", options->reference, "print the tables of docs/scene.md");
  command.footer("Example:\n  orthant check scene.yaml --set slope=0.4\n");
  command.run([options] { return run_check(*options); });
}

void add_new(Program& program) {
  const auto name = std::make_shared<std::string>(), urdf = std::make_shared<std::string>();
  Command command = program.command("new", "Write a commented scene to start from");
  command.option("--urdf", *urdf, "a robot: on the floor, held in its posture by servos")
      .value_name("FILE");
  command.option("name", *name, "of the scene; NAME.yaml is written").value_name("NAME").required();
  command.footer("Example:\n  orthant new heap\n  orthant new go2 --urdf go2.urdf\n");
  command.run([name, urdf] { return run_new(*name, *urdf); });
}

}  // namespace orthant::app
