// SPDX-License-Identifier: Apache-2.0
// io/scene/scene_reader.cpp: file => tree => description => LoadedScene.
#include "io/scene/scene_reader.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "io/scene/tables.hpp"
#include "orthant/base/atomic_file.hpp"

namespace orthant {
namespace io {
namespace {

constexpr std::size_t kMaxIncludes = 64;  // files, each as often as it is included
constexpr std::size_t kMaxFile = std::size_t{256} << 20;

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

/// The includes of one scene. A scene is untrusted: it reads regular files of its own folder, so
/// many of them and no more, and no message repeats what is in a file that is no scene.
class Includes {
 public:
  Includes(ReadContext& context, std::string file)
      : context_(context), top_(context.folder), open_{std::move(file)} {}

  /// `root` without its key `include`, on top of the files it names.
  YamlPtr resolve(const YamlPtr& root) {
    const YamlNode* include = root->find("include");
    if (include == nullptr) return root;
    auto rest = std::make_shared<YamlNode>(*root);
    std::erase_if(rest->entries, [](const YamlNode::Entry& e) { return e.key == "include"; });
    YamlPtr base;
    if (include->kind == YamlNode::Kind::Sequence)
      for (const YamlPtr& item : include->items) base = checked(merge(base, read(*item)), *item);
    else
      base = read(*include);
    return checked(merge(base, rest), *include);
  }

 private:
  YamlPtr read(const YamlNode& name) {
    if (name.kind != YamlNode::Kind::Scalar)
      context_.fail(name, "expected the name of a file, found " + kind_text(name));
    const std::string path = context_.path_of(name.where, name.text);
    if (std::find(open_.begin(), open_.end(), path) != open_.end())
      context_.fail(name, "'" + name.text + "' includes itself");
    if (++count_ > kMaxIncludes)
      context_.fail(name, "more than " + std::to_string(kMaxIncludes) + " files are included");
    if (!inside(path))
      context_.fail(name, "'" + name.text + "' lies outside the folder of the scene");
    std::string text;
    try {
      text = read_regular_file(path, kMaxFile);
    } catch (const Error& error) {
      context_.fail(name, error.what());
    }
    const YamlPtr tree = parse_yaml(text, path);
    if (tree->kind != YamlNode::Kind::Map)
      context_.fail(name, "'" + name.text + "' is no scene: it holds no map of fields");
    open_.push_back(path);
    const std::string folder = std::exchange(context_.folder, folder_of(path));
    YamlPtr out = resolve(tree);
    context_.folder = folder;
    open_.pop_back();
    return out;
  }

  /// Below the folder of the scene, wherever links lead.
  bool inside(const std::string& path) const {
    namespace fs = std::filesystem;
    std::error_code error;
    const auto whole = [&](const std::string& name) {
      return fs::weakly_canonical(fs::absolute(name, error), error);
    };
    const fs::path relative = whole(path).lexically_relative(whole(top_.empty() ? "." : top_));
    return !relative.empty() && *relative.begin() != "..";
  }

  static YamlPtr checked(YamlPtr tree, const YamlNode& name) {
    if (tree->weight > kMaxWeight)
      ReadContext::fail(name,
                        "the files together hold more than " + to_text(kMaxWeight) + " values");
    return tree;
  }

  ReadContext& context_;
  std::string top_;
  std::vector<std::string> open_;  // files being read, each included by the one before
  std::size_t count_ = 0;
};

/// `root` with the value at "step.h" replaced; maps on the way are made.
YamlPtr with_value(const YamlPtr& root, std::string_view path, const YamlPtr& value) {
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  auto result = root ? std::make_shared<YamlNode>(*root) : std::make_shared<YamlNode>();
  if (result->kind != YamlNode::Kind::Map) {
    *result = {};
    result->kind = YamlNode::Kind::Map;
    result->where = value->where;
  }
  const auto entry = std::find_if(result->entries.begin(), result->entries.end(),
                                  [&](const YamlNode::Entry& e) { return e.key == key; });
  const bool last = dot == std::string_view::npos;
  if (entry == result->entries.end()) {
    YamlPtr child = last ? value : with_value(nullptr, path.substr(dot + 1), value);
    result->entries.push_back({key, value->where, std::move(child)});
  } else {
    entry->value = last ? value : with_value(entry->value, path.substr(dot + 1), value);
  }
  return result;
}

/// One "key=value" of the command line.
YamlPtr with_setting(const YamlPtr& root, const std::string& setting) {
  const std::string where = "--set " + setting;
  const std::size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) throw Error(where, "expected key=value");
  const std::string key = setting.substr(0, equals);
  // Read as YAML: a list or a map is as good as a number.
  auto value = std::make_shared<YamlNode>();
  if (equals + 1 < setting.size()) *value = *parse_yaml(setting.substr(equals + 1), where);
  value->where.line = 0;  // there is one, and no need to name it
  if (key.find('.') != std::string::npos) return with_value(root, key, value);
  const YamlNode* parameters = root->find("parameters");
  std::vector<std::string_view> names;
  if (parameters != nullptr)
    for (const YamlNode::Entry& e : parameters->entries) names.push_back(e.key);
  if (std::find(names.begin(), names.end(), key) == names.end()) {
    const std::string near = nearest_spelling(key, names.data(), names.size());
    std::string what = "the scene has no parameter '" + key + "'";
    if (!near.empty()) what += " (did you mean '" + near + "'?)";
    what += names.empty() ? "; it has none at all" : "; it has ";
    for (std::size_t i = 0; i < names.size(); ++i)
      what += (i > 0 ? ", " : "") + std::string(names[i]);
    throw Error(where, what + ". Settings have a dot, as in step.h=0.001");
  }
  return with_value(root, "parameters." + key, value);
}

/// The triangles of a file in place of its name; those without area are left out and counted.
void resolve_triangles(const std::string& path, ShapeDescription& shape, ReadContext& context) {
  try {
    const MeshTriangles mesh = read_mesh_triangles(path);
    std::size_t left_out = 0;
    const Shape built = Shape::mesh(mesh.corners, mesh.triangles, path, &left_out);
    if (left_out > 0)
      context.notes.push_back(path + ": " + std::to_string(left_out) +
                              " triangles without area are left out");
    const TriangleMesh& kept = *built.topology().mesh;
    for (const Vec3& p : kept.corners) shape.points.push_back(shape.scale * p);
    for (const auto& t : kept.triangles)
      for (const Index c : t) shape.triangles.push_back(c);
  } catch (const Error& error) {
    throw Error(shape.where.text(), error.what());
  }
  shape.file.clear();
  shape.scale = 1;
}

void resolve_meshes(std::vector<BodyDescription>& bodies, ReadContext& context) {
  std::size_t triangles = 0;
  for (BodyDescription& body : bodies)
    for (ShapeDescription& shape : body.shapes) {
      if (shape.file.empty()) continue;
      if (!shape.points.empty())
        throw Error(shape.where.text(), "a " + std::string(choice_name(shape.type)) +
                                            " has either points or a file, not both");
      const std::string path = context.path_of(shape.where, shape.file);
      if (shape.type == ShapeWord::Mesh) {
        resolve_triangles(path, shape, context);
        triangles += shape.triangles.size() / 3;
        if (triangles > kMaxSceneTriangles)
          throw Error(shape.where.text(),
                      path + ": with it the meshes of the scene have " + std::to_string(triangles) +
                          " triangles; allowed: " + std::to_string(kMaxSceneTriangles));
        continue;
      }
      std::vector<Vec3> points;
      bool exact = true;
      try {
        points = hull_points(read_mesh_points(path), path, exact);
      } catch (const Error& error) {
        throw Error(shape.where.text(), error.what());
      }
      for (Vec3& p : points) p *= shape.scale;
      if (!exact)
        context.notes.push_back(path + ": its convex hull has more than " +
                                std::to_string(kMaxHullVertices) + " corners; approximated");
      shape.points = std::move(points);
      shape.file.clear();
      shape.scale = 1;
    }
}

/// Every `file: name` below, as an absolute path: the tree will be read from another folder.
YamlPtr with_absolute_files(const YamlPtr& node, const ReadContext& context) {
  if (!node || !context.options.read_files) return node;
  auto result = std::make_shared<YamlNode>(*node);
  for (YamlPtr& item : result->items) item = with_absolute_files(item, context);
  for (YamlNode::Entry& entry : result->entries) {
    entry.value = with_absolute_files(entry.value, context);
    if (entry.key == "file" && entry.value->kind == YamlNode::Kind::Scalar &&
        !entry.value->varies) {
      auto file = std::make_shared<YamlNode>(*entry.value);
      file->text = std::filesystem::absolute(context.path_of(file->where, file->text)).string();
      entry.value = std::move(file);
    }
  }
  return result;
}

}  // namespace

YamlPtr read_tree(const std::string& path, ReadContext& context) {
  context.folder = folder_of(path);
  Includes includes(context, std::filesystem::path(path).lexically_normal().string());
  return includes.resolve(parse_yaml(read_file(path, kMaxFile), path));
}

YamlPtr apply_settings(YamlPtr root, ReadContext& context) {
  if (root->kind != YamlNode::Kind::Map)
    context.fail(*root, "expected a map of the fields of a scene, found " + kind_text(*root));
  for (const std::string& setting : context.options.set) root = with_setting(root, setting);
  if (const YamlNode* parameters = root->find("parameters")) {
    if (parameters->kind != YamlNode::Kind::Map && parameters->kind != YamlNode::Kind::Null)
      context.fail(*parameters,
                   "expected a map of names and values, found " + kind_text(*parameters));
    for (const YamlNode::Entry& entry : parameters->entries) {  // may use those before it
      if (entry.value->kind != YamlNode::Kind::Scalar)
        context.fail(*entry.value, "parameter '" + entry.key +
                                       "' must be a number or text, found " +
                                       kind_text(*entry.value));
      context.variables.set(entry.key, context.text_of(*entry.value));
    }
  }
  return root;
}

SceneDescription describe(const YamlPtr& root, ReadContext& context) {
  SceneDescription scene = table_of<SceneDescription>().read(context, root);
  if (scene.run.steps && scene.run.time)
    context.fail(*root->find("run"), "give either steps or time, not both");
  for (PopulationDescription& p : scene.populations) p.body = with_absolute_files(p.body, context);
  for (std::size_t i = 0; i < scene.urdf.size(); ++i) add_urdf(scene.urdf[i], i, context, scene);
  scene.urdf.clear();
  for (std::size_t i = 0; i < scene.mjcf.size(); ++i) add_mjcf(scene.mjcf[i], i, context, scene);
  scene.mjcf.clear();
  resolve_meshes(scene.bodies, context);
  resolve_flexible(scene.flexible, context);
  if (scene.name.empty() && scene.where.file)
    scene.name = std::filesystem::path(*scene.where.file).stem().string();
  return scene;
}

std::string write_scene(const SceneDescription& scene) {
  std::string out;
  // Lists of objects one per line, everything else in a line by itself.
  const auto lines = [&](const char* key, const auto& objects) {
    if (objects.empty()) return;
    out += std::string(key) + ":\n";
    for (const auto& object : objects) {
      using T = std::remove_cvref_t<decltype(object)>;
      out += "  - " + table_of<T>().write(object) + "\n";
    }
  };
  SceneDescription head = scene;
  head.materials.clear();
  head.material_pairs.clear();
  head.bodies.clear();
  head.populations.clear();
  head.growth.clear();
  head.flexible.clear();
  head.joints.clear();
  head.frames.clear();
  head.exclusions.clear();
  head.forces.clear();
  head.actuators.clear();
  for (const auto& [key, text] : table_of<SceneDescription>().changed(head))
    out += key + ": " + text + "\n";
  lines("materials", scene.materials);
  lines("material_pairs", scene.material_pairs);
  lines("bodies", scene.bodies);
  lines("populations", scene.populations);
  lines("growth", scene.growth);
  lines("flexible", scene.flexible);
  lines("joints", scene.joints);
  lines("frames", scene.frames);
  lines("exclusions", scene.exclusions);
  lines("forces", scene.forces);
  lines("actuators", scene.actuators);
  return out;
}

}  // namespace io

namespace {

/// A robot by itself: the file, or its text under that name.
LoadedScene robot_scene(const std::string& path, const std::string* text, bool mjcf,
                        io::ReadContext& context) {
  io::SceneDescription scene;
  scene.name = std::filesystem::path(path).stem().string();
  context.folder = std::filesystem::path(path).parent_path().string();
  scene.where.file = std::make_shared<const std::string>(path);
  io::RobotDescription robot;
  robot.file = text != nullptr ? path : std::filesystem::path(path).filename().string();
  robot.where = scene.where;
  if (mjcf)
    io::add_mjcf(robot, 0, context, scene, text, true);
  else
    io::add_urdf(robot, 0, context, scene, text);
  return io::build_scene(scene, context);
}

}  // namespace

LoadedScene load_scene(const std::string& path, const SceneOptions& options) {
  io::ReadContext context{.options = options, .folder = {}};
  if (path.ends_with(".urdf")) return robot_scene(path, nullptr, false, context);
  if (path.ends_with(".xml")) return robot_scene(path, nullptr, true, context);
  const io::YamlPtr root = io::apply_settings(io::read_tree(path, context), context);
  return io::build_scene(io::describe(root, context), context);
}

LoadedScene parse_scene(const std::string& text, const std::string& name,
                        const SceneOptions& options) {
  io::ReadContext context{.options = options, .folder = "."};
  io::YamlPtr root = io::parse_yaml(text, name);
  root = io::apply_settings(io::Includes(context, name).resolve(root), context);
  return io::build_scene(io::describe(root, context), context);
}

LoadedScene parse_urdf(const std::string& text, const std::string& name,
                       const SceneOptions& options) {
  io::ReadContext context{.options = options, .folder = {}};
  return robot_scene(name, &text, false, context);
}

LoadedScene parse_mjcf(const std::string& text, const std::string& name,
                       const SceneOptions& options) {
  io::ReadContext context{.options = options, .folder = {}};
  return robot_scene(name, &text, true, context);
}

void need_plain_steps(const LoadedScene& scene, const std::string& who) {
  if (scene.growth.any())
    throw Error(scene.growth.rules[0].where,
                "bodies grow here, and " + who +
                    " works with bodies of fixed number and size; 'orthant run' plays this scene");
  if (scene.fluid.acts())
    throw Error(scene.name, "its bodies move each other through a fluid (world.viscosity), and " +
                                who + " does not go through one; 'orthant run' plays this scene");
}

double ControlTable::at(double t) const {
  if (values.empty()) return 0;
  if (times.empty() || t <= times.front()) return values.front();
  if (t >= times.back()) return values.back();
  const auto next =
      static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), t) - times.begin());
  const double share = (t - times[next - 1]) / (times[next] - times[next - 1]);
  return values[next - 1] + share * (values[next] - values[next - 1]);
}

void LoadedScene::controls_at(double t, VecX& u) const {
  u.resize(static_cast<Index>(controls.size()));
  for (std::size_t i = 0; i < controls.size(); ++i) u[static_cast<Index>(i)] = controls[i].at(t);
}

}  // namespace orthant
