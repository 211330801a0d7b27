// SPDX-License-Identifier: Apache-2.0
// io/scene/mjcf_geoms.cpp: geoms and inertias of MJCF, and which geoms touch.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "io/scene/mjcf.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr std::size_t kMaxClasses = 32;  // bits of a collision group

void add_piece(RobotLink& link, const RobotLink& piece, const Pose& X) {
  const Mat3 R = matrix_of(X.p);
  const Vec3 c = transform(X, piece.center);
  const double mass = link.mass + piece.mass;
  if (!(mass > 0)) return;
  const Vec3 center = (link.mass * link.center + piece.mass * c) / mass;
  const auto shifted = [](double m, const Vec3& d) -> Mat3 {
    return m * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
  };
  const Mat3 I = link.inertia + shifted(link.mass, link.center - center) +
                 R * piece.inertia * R.transpose() + shifted(piece.mass, c - center);
  link.inertia = 0.5 * (I + I.transpose());
  link.mass = mass;
  link.center = center;
}

}  // namespace

void MjcfReader::read_inertial(const Element& e, RobotLink& link) {
  link.mass = xml_.number(e, "mass");
  if (link.mass < 0) {
    xml_.problem(e, "mass of body '" + link.name + "' must be >= 0, found " + to_text(link.mass));
    link.mass = 0;
  }
  const Pose X = pose(e);
  link.center = X.x;
  Mat3 I = Mat3::Zero();
  if (e.Attribute("fullinertia") != nullptr) {
    const std::vector<double> x = xml_.numbers(e, "fullinertia", 6, 6);
    if (x.size() == 6) I << x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2];
  } else {
    I = xml_.vector(e, "diaginertia", Vec3::Zero()).asDiagonal();
  }
  const Mat3 R = matrix_of(X.p), turned = R * I * R.transpose();
  link.inertia = 0.5 * (turned + turned.transpose());
  xml_.ignore_unknown(e, "pos quat axisangle euler xyaxes zaxis mass diaginertia fullinertia", "");
}

/// No joint between it and the world.
bool MjcfReader::stands_still(Index link) const {
  for (; link != kNone; link = robot_.links[static_cast<std::size_t>(link)].parent) {
    const RobotLink& at = robot_.links[static_cast<std::size_t>(link)];
    if (at.parent != kNone && at.joint.motion != RobotMotion::Fixed) return false;
  }
  return true;
}

void MjcfReader::read_geom(const Element& e, Index link, const Pose& X, bool weighs) {
  ShapeDescription shape;
  shape.where = {std::make_shared<const std::string>(xml_.path()), e.GetLineNum(), 0};
  const Pose local = pose(e);
  shape.position = local.x;
  shape.orientation = local.p;
  RobotLink& body = robot_.links[static_cast<std::size_t>(link)];
  shape.name = unique(geom_names_, e, "geom", body.name + "_geom");
  Geom geom;
  const auto whole = [&](const char* name, double otherwise, double largest) {
    const double x = xml_.number_or(e, name, otherwise);
    if (x >= 0 && x <= largest && std::floor(x) == x) return static_cast<std::int64_t>(x);
    xml_.problem(e, "'" + std::string(name) + "' of <geom> must be a whole number from 0 to " +
                        to_text(largest) + ", found " + to_text(x));
    return std::int64_t{0};
  };
  geom.type = whole("contype", 1, 4294967295.0);
  geom.affinity = whole("conaffinity", 1, 4294967295.0);
  const bool named = std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& p) {
    return p.first == shape.name || p.second == shape.name;
  });
  const bool seen_only = geom.type == 0 && geom.affinity == 0 && !named;
  const double group = xml_.number_or(e, "group", 0);
  weighs = weighs && !body.world && group >= compiler_.first_group &&
           group <= compiler_.last_group && xml_.number_or(e, "mass", 1) != 0 &&
           (e.Attribute("mass") != nullptr || xml_.number_or(e, "density", 1) != 0);
  if (seen_only) decorated_.insert(link);
  if (seen_only && !weighs) return add_visual(e, shape, false, X, body);
  if (!shape_of(e, shape, seen_only)) {
    if (seen_only) add_visual(e, shape, false, X, body);
    return;
  }
  add_visual(e, shape, true, X, body);
  const Pose G = compose(X, Pose{shape.position, *shape.orientation});
  shape.position = G.x;
  shape.orientation = G.p;
  xml_.ignore_unknown(
      e,
      "name class type pos quat axisangle euler xyaxes zaxis size fromto mesh hfield mass density "
      "contype conaffinity condim friction rgba material group user priority fitscale " +
          std::string(kSoft),
      "");
  const bool ground = shape.type == ShapeWord::HalfSpace || shape.type == ShapeWord::HeightField;
  if (weighs && !ground) {
    RobotLink matter;
    weigh_geom(e, shape, matter);
    add_piece(body, matter, G);
  }
  if (ground && !stands_still(link)) {
    xml_.problem(
        e, "a plane or height field must be in <worldbody> or in a body without joints there");
    return;
  }
  geom.condim = static_cast<int>(whole("condim", 3, 6));
  const std::vector<double> friction = xml_.numbers(e, "friction", 1, 3);
  if (!friction.empty()) geom.friction = std::max(friction[0], 0.0);
  if (friction.size() > 2) geom.rolling = std::max(friction[2], 0.0);
  if (geom.condim == 4) xml_.ignore("torsional friction (condim 4)");
  if (e.Attribute("priority") != nullptr) xml_.ignore("'priority' of <geom>");
  geom.name = shape.name;
  geom.link = link;
  if (body.colour.text.empty()) body.colour = colour_of(e);
  if (seen_only) return;
  geom.shape = body.shapes.size();
  geoms_.push_back(geom);
  body.shapes.push_back(std::move(shape));
}

std::vector<double> MjcfReader::rgba_of(const Element& e) {
  if (xml_.text_or(e, "rgba", "").empty()) return {};
  return xml_.numbers(e, "rgba", 3, 4);
}

/// "#rrggbb" of 'rgba' or of the material; "" where neither says.
Colour MjcfReader::colour_of(const Element& e) {
  const std::vector<double> c = rgba_of(e);
  if (c.size() < 3) {
    const auto known = colours_.find(xml_.text_or(e, "material", ""));
    return known == colours_.end() ? Colour{} : known->second;
  }
  const auto byte = [](double v) {
    return static_cast<int>(std::lround(255 * std::clamp(v, 0.0, 1.0)));
  };
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", byte(c[0]), byte(c[1]), byte(c[2]));
  return {text};
}

/// What the viewer draws of a body that has geoms only to be seen: these, and of the others those
/// in groups that MuJoCo shows (0 to 2). `shape` is in the frame around the geom; where it has not
/// been `read` it has only a place, and a mesh need not be there.
void MjcfReader::add_visual(const Element& e, const ShapeDescription& shape, bool read,
                            const Pose& X, RobotLink& link) {
  constexpr double kShown = 2;
  const std::vector<double> rgba = rgba_of(e);
  if (xml_.number_or(e, "group", 0) > kShown || (rgba.size() == 4 && rgba[3] == 0)) return;
  VisualDescription visual;
  visual.shape = shape;
  visual.colour = colour_of(e);
  const bool mesh = xml_.text_or(e, "type", "mesh") == "mesh";
  const auto file = mesh_files_.find(xml_.text_or(e, "mesh", ""));
  if (mesh && file != mesh_files_.end()) {
    visual.shape.points.clear();
    visual.shape.file = mesh_path(e, file->second.first, false);
    visual.scale = file->second.second;
    if (visual.shape.file.empty()) return xml_.ignore("meshes to be seen that are not there");
  } else if (!read && (e.Attribute("mesh") != nullptr || !shape_of(e, visual.shape))) {
    return;
  }
  const Pose G = compose(X, Pose{visual.shape.position, *visual.shape.orientation});
  visual.shape.position = G.x;
  visual.shape.orientation = G.p;
  link.visuals.push_back(std::move(visual));
}

/// Type and sizes. With `fromto` the place is set, too, in the frame around the geom. What is only
/// seen may be flat: it has no mass then.
bool MjcfReader::shape_of(const Element& e, ShapeDescription& shape, bool seen_only) {
  const std::string type =
      xml_.text_or(e, "type", e.Attribute("mesh") != nullptr ? "mesh" : "sphere");
  if (type == "plane") {
    shape.type = ShapeWord::HalfSpace;
    return true;
  }
  if (type == "mesh") return mesh_of(e, shape, seen_only);
  const bool axial = type == "capsule" || type == "cylinder";
  static const std::set<std::string> known = {"sphere", "capsule", "cylinder", "box", "ellipsoid"};
  if (type == "hfield") {
    const auto field = height_fields_.find(xml_.text_or(e, "hfield", ""));
    if (field == height_fields_.end()) {
      xml_.ignore("geoms of type 'hfield' without heights");
      return false;
    }
    shape.type = field->second.type;
    shape.half = field->second.half;
    shape.rows = field->second.rows;
    shape.heights = field->second.heights;
    return true;
  }
  if (!known.contains(type)) {
    if (type == "sdf")
      xml_.ignore("geoms of type '" + type + "'");
    else
      xml_.problem(e, "unknown type '" + type +
                          "' of <geom>; allowed: plane, sphere, capsule, cylinder, box, ellipsoid, "
                          "mesh, hfield");
    return false;
  }
  std::vector<double> size = xml_.numbers(e, "size", 1, 3);
  if (e.Attribute("mesh") != nullptr && !fit_to_mesh(e, type, shape, size)) return false;
  if (e.Attribute("fromto") != nullptr && type != "sphere") {
    const std::vector<double> x = xml_.numbers(e, "fromto", 6, 6);
    if (x.size() != 6 || size.empty()) return false;
    const Vec3 a(x[0], x[1], x[2]), b(x[3], x[4], x[5]);
    const double length = (b - a).norm();
    if (!(length > 1e-12)) {
      xml_.problem(e, "the two points of 'fromto' must differ");
      return false;
    }
    shape.position = 0.5 * (a + b);
    shape.orientation = turn_between(Vec3::UnitZ(), Vec3((b - a) / length));
    size = axial ? std::vector<double>{size[0], 0.5 * length}
                 : std::vector<double>{size[0], size.size() > 1 ? size[1] : size[0], 0.5 * length};
  }
  const std::size_t wanted = type == "sphere" ? 1 : axial ? 2 : 3;
  bool good = size.size() >= wanted;
  for (std::size_t i = 0; good && i < wanted; ++i) good = size[i] > 0;
  if (!good) {
    xml_.problem(e, "'size' of a " + type + " must be " + std::to_string(wanted) +
                        " numbers > 0, found '" + xml_.text_or(e, "size", "") + "'");
    return false;
  }
  if (type == "sphere") {
    shape.type = ShapeWord::Sphere;
    shape.radius = size[0];
  } else if (type == "capsule") {  // along z there, along x here
    shape.type = ShapeWord::Capsule;
    shape.radius = size[0];
    shape.half_length = size[1];
    shape.orientation = multiply(*shape.orientation, exp_rotation(Vec3(0, -0.5 * kPi, 0)));
  } else if (type == "cylinder") {
    set_cylinder(shape, size[0], size[1]);
  } else if (type == "box") {
    shape.type = ShapeWord::Box;
    shape.half.assign(size.begin(), size.begin() + 3);
  } else {
    shape.type = ShapeWord::Ellipsoid;
    shape.semi_axes.assign(size.begin(), size.begin() + 3);
  }
  return true;
}

/// A primitive with a mesh has the mesh's place and the size of the box with its inertia (here:
/// that of its hull), the longest edge along z, as MuJoCo fits it.
bool MjcfReader::fit_to_mesh(const Element& e, const std::string& type, ShapeDescription& shape,
                             std::vector<double>& size) {
  ShapeDescription mesh = shape;
  if (!mesh_of(e, mesh)) return false;
  xml_.ignore("the insides of meshes that primitives are fitted to: their hulls");
  const MassProperties m = mass_properties(make_shape(mesh, "mesh"), 1.0);
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(m.inertia);
  const Vec3 I = eigen.eigenvalues().reverse();
  Mat3 R = eigen.eigenvectors().rowwise().reverse();
  if (R.determinant() < 0) R.col(0) *= -1;
  Vec3 half;
  for (int i = 0; i < 3; ++i)
    half[i] = std::sqrt(std::max(1.5 * (I.sum() - 2 * I[i]) / m.mass, 1e-24));
  const Pose X = compose(Pose{shape.position, *shape.orientation}, Pose{m.center, quat_of(R)});
  shape.position = X.x;
  shape.orientation = X.p;
  const double across = 0.5 * (half[0] + half[1]);
  if (type == "sphere")
    size = {half.mean()};
  else if (type == "capsule")
    size = {across, std::max(half[2] - 0.5 * across, 1e-3 * across)};
  else if (type == "cylinder")
    size = {across, half[2]};
  else
    size = {half[0], half[1], half[2]};
  return true;
}

std::string MjcfReader::mesh_path(const Element& e, const std::string& file, bool needed) {
  if (!context_.options.read_files) {
    if (needed) xml_.ignore("mesh '" + file + "': files are not read here");
    return {};
  }
  const std::filesystem::path folder = std::filesystem::path(xml_.path()).parent_path();
  std::string path = (folder / compiler_.mesh_folder / file).lexically_normal().string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    path = find_robot_file(xml_.path(), file, options_.packages);
  if (!path.empty() || !needed) return path;
  const std::string what = "mesh '" + file + "': there is no such file";
  if (options_.skip_meshes)
    xml_.ignore(what);
  else
    xml_.problem(e, what + " (allowed: skip_meshes: true)");
  return {};
}

bool MjcfReader::mesh_of(const Element& e, ShapeDescription& shape, bool seen_only) {
  const std::string name = xml_.text(e, "mesh");
  shape.type = ShapeWord::Hull;
  bool exact = true;
  try {
    if (const auto inside = mesh_points_.find(name); inside != mesh_points_.end()) {
      shape.points = hull_points(inside->second, name, exact);
    } else {
      const auto found = mesh_files_.find(name);
      if (found == mesh_files_.end()) {
        xml_.problem(e, "there is no <mesh> with the name '" + name + "' in <asset>");
        return false;
      }
      const auto& [file, scale] = found->second;
      const std::string path = mesh_path(e, file, true);
      if (path.empty()) return false;
      MeshHulls hulls = mesh_hulls(path, scale, false);
      hulls.list(name, xml_);
      shape.points = std::move(hulls.hulls.front());
    }
  } catch (const Error& error) {
    if (seen_only)
      xml_.ignore("the mass of meshes to be seen that have no hull");
    else
      xml_.problem(e, error.what());
    return false;
  }
  if (!exact) xml_.ignore("corners of the hull of '" + name + "' beyond what a hull may have");
  return true;
}

/// Mass, centre and inertia of a geom in its own frame.
void MjcfReader::weigh_geom(const Element& e, const ShapeDescription& shape, RobotLink& matter) {
  const double density = xml_.number_or(e, "density", 1000);
  const std::optional<double> mass = xml_.number_if(e, "mass");
  if (density < 0 || mass.value_or(0) < 0) {
    xml_.problem(e, "mass and density must be >= 0");
    return;
  }
  MassProperties m = mass_properties(make_shape(shape, "geom"), 1.0);
  const double factor = mass ? *mass / m.mass : density;
  matter.mass = factor * m.mass;
  matter.center = m.center;
  matter.inertia = factor * m.inertia;
}

/// Two geoms touch where the type of one meets the affinity of the other, either way, or where they
/// are a <pair>. Groups here must meet both ways: every kind of geom gets a bit of its own, and the
/// bits of those it touches.
void MjcfReader::set_contacts(SceneDescription& scene) {
  struct Kind {
    std::int64_t type, affinity;
    std::string name;  // of a geom in a <pair>
    bool operator==(const Kind&) const = default;
  };
  std::vector<Kind> kinds = {{1, 1, ""}};  // bit 0: everybody else's
  std::vector<std::size_t> kind_of;
  for (const Geom& g : geoms_) {
    const bool paired = std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& p) {
      return p.first == g.name || p.second == g.name;
    });
    const Kind kind{g.type, g.affinity, paired ? g.name : ""};
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    kind_of.push_back(static_cast<std::size_t>(found - kinds.begin()));
    if (found == kinds.end()) kinds.push_back(kind);
  }
  if (kinds.size() > kMaxClasses && contacts_) {
    xml_.note("more than " + std::to_string(kMaxClasses) +
              " kinds of geoms by 'contype', 'conaffinity' and <pair>: all touch");
    return;
  }
  const auto touch = [&](const Kind& a, const Kind& b) {
    if (!contacts_) return false;
    if ((a.type & b.affinity) != 0 || (b.type & a.affinity) != 0) return true;
    return std::any_of(pairs_.begin(), pairs_.end(), [&](const auto& p) {
      return (p.first == a.name && p.second == b.name) || (p.first == b.name && p.second == a.name);
    });
  };
  std::map<std::string, const Geom*> materials;
  for (std::size_t i = 0; i < geoms_.size(); ++i) {
    const Geom& g = geoms_[i];
    ShapeDescription& s = robot_.links[static_cast<std::size_t>(g.link)].shapes[g.shape];
    s.group = std::int64_t{1} << (contacts_ ? kind_of[i] : 0);
    s.mask = 0;
    for (std::size_t k = 0; k < kinds.size(); ++k)
      if (touch(kinds[kind_of[i]], kinds[k])) s.mask |= std::int64_t{1} << k;
    if (!options_.material.empty()) {
      s.material = options_.material;
      continue;
    }
    // Frictionless (condim 1) only among themselves: the larger condim of two geoms holds.
    s.material = options_.prefix + "friction " + to_text(g.friction) +
                 (g.condim == 1   ? ", slippery"
                  : g.condim == 6 ? ", rolling " + to_text(g.rolling)
                                  : "");
    materials.emplace(s.material, &g);
  }
  for (const auto& [name, g] : materials) {
    MaterialDescription m;
    m.name = name;
    m.friction = g->condim == 1 ? 0 : g->friction;
    m.rolling_friction = g->condim == 6 ? g->rolling : 0;
    m.combine = CombineRule::Max;
    scene.materials.push_back(m);
    for (const auto& [other, o] : materials) {
      if (g->condim != 1 || o->condim == 1) continue;
      MaterialPairDescription pair;
      pair.a = name;
      pair.b = other;
      pair.friction = std::max(g->friction, o->friction);
      scene.material_pairs.push_back(pair);
    }
  }
}

}  // namespace orthant::io
