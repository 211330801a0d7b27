// SPDX-License-Identifier: Apache-2.0
// io/scene/urdf.cpp: URDF => a robot.
// Read with tinyxml2 and not urdfdom: that one prints to the console, forgets lines, and drops
// without a word what it does not know; here everything that is not used is listed.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>

#include "io/scene/expression.hpp"
#include "io/scene/robot.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using Element = XmlReader::Element;
using Posture = std::vector<std::pair<std::string, double>>;

constexpr double kQuarter = 0.5 * std::numbers::pi;
constexpr std::size_t kMaxLinks = 100'000;

/// Files write 1.57079632679 for a quarter turn. Left as it is, the faces of a box no longer lie in
/// one plane, by 1e-13 m, and what stands on them has forces that hang on it.
double meant_angle(double angle) {
  constexpr double kWritten = 1e-11;  // of eleven digits or more
  const double quarters = std::round(angle / kQuarter) * kQuarter;
  return std::abs(angle - quarters) <= kWritten ? quarters : angle;
}

/// Roll, pitch, yaw about the fixed axes x, y, z.
Quat from_rpy(const Vec3& rpy) {
  const Quat x = exp_rotation(Vec3(meant_angle(rpy[0]), 0, 0)),
             y = exp_rotation(Vec3(0, meant_angle(rpy[1]), 0)),
             z = exp_rotation(Vec3(0, 0, meant_angle(rpy[2])));
  return multiply(z, multiply(y, x));
}

/// Every child element with that name.
template <class F>
void for_each(const Element& parent, const char* name, F&& f) {
  for (const Element* e = parent.FirstChildElement(name); e != nullptr;
       e = e->NextSiblingElement(name))
    f(*e);
}

class UrdfReader {
 public:
  UrdfReader(const RobotDescription& options, ReadContext& context, XmlReader& xml)
      : options_(options), context_(context), xml_(xml) {}

  Robot read(const std::string& text) {
    const Element& root = xml_.parse(text, "robot");
    for (const Element* e = root.FirstChildElement(); e != nullptr; e = e->NextSiblingElement()) {
      const std::string tag = e->Name();
      if (tag == "link") {
        add_link(*e);
      } else if (tag == "joint") {
        joints_.push_back(e);
      } else if (tag == "material") {
        add_material(*e);
      } else {
        xml_.ignore("<" + tag + ">");
      }
    }
    if (robot_.links.empty()) xml_.problem(0, "has no links");
    for (const Element* e : joints_) add_world(*e);
    for (const Element* e : joints_) add_joint(*e);
    find_root();
    xml_.throw_problems();
    return std::move(robot_);
  }

 private:
  Pose origin(const Element& parent) {
    const Element* e = parent.FirstChildElement("origin");
    if (e == nullptr) return {};
    const Vec3 xyz = xml_.vector(*e, "xyz", Vec3::Zero());
    return {xyz, from_rpy(xml_.vector(*e, "rpy", Vec3::Zero()))};
  }

  void add_material(const Element& e) {
    const char* name = e.Attribute("name");
    const Element* colour = e.FirstChildElement("color");
    if (name != nullptr && colour != nullptr) colours_[name] = rgba(*colour);
  }
  Colour rgba(const Element& e) {
    const std::vector<double> x = xml_.numbers(e, "rgba", 3, 4);
    if (x.size() < 3) return {};
    char text[8];
    const auto byte = [](double v) {
      return static_cast<int>(std::lround(255 * std::clamp(v, 0.0, 1.0)));
    };
    std::snprintf(text, sizeof text, "#%02x%02x%02x", byte(x[0]), byte(x[1]), byte(x[2]));
    return {text};
  }

  void add_link(const Element& e) {
    RobotLink link;
    link.name = xml_.text(e, "name");
    link.line = e.GetLineNum();
    if (link.name.empty()) return;
    if (robot_.links.size() == kMaxLinks) {
      xml_.problem(e, "has more than " + std::to_string(kMaxLinks) + " links");
      return;
    }
    if (!places_.emplace(link.name, static_cast<Index>(robot_.links.size())).second) {
      xml_.problem(e, "link '" + link.name + "' is given twice");
      return;
    }
    for_each(e, "collision", [&](const Element& c) { add_shape(c, link); });
    for_each(e, "visual", [&](const Element& v) { add_visual(v, link); });
    add_inertia(e, link);
    xml_.ignore_unknown(e, "name type", "inertial visual collision");
    robot_.links.push_back(std::move(link));
  }

  void add_inertia(const Element& e, RobotLink& link) {
    const Element* inertial = e.FirstChildElement("inertial");
    if (inertial == nullptr) return;
    const Element* mass = inertial->FirstChildElement("mass");
    const Element* inertia = inertial->FirstChildElement("inertia");
    if (mass == nullptr) return xml_.ignore("<inertial> without <mass>");
    link.mass = xml_.number(*mass, "value");
    if (link.mass < 0) {
      xml_.problem(*mass,
                   "mass of link '" + link.name + "' must be >= 0, found " + to_text(link.mass));
      link.mass = 0;
    }
    const Pose X = origin(*inertial);
    link.center = X.x;
    if (inertia == nullptr) return;  // a point mass
    Mat3 I = Mat3::Zero();
    const char* const names[3][3] = {{"ixx", "ixy", "ixz"}, {"", "iyy", "iyz"}, {"", "", "izz"}};
    for (int i = 0; i < 3; ++i)
      for (int j = i; j < 3; ++j)
        I(i, j) = I(j, i) =
            i == j ? xml_.number(*inertia, names[i][j]) : xml_.number_or(*inertia, names[i][j], 0);
    const Mat3 R = matrix_of(X.p), turned = R * I * R.transpose();
    link.inertia = 0.5 * (turned + turned.transpose());
  }

  /// Where and with what colour; meshes are read when they are drawn.
  void add_visual(const Element& v, RobotLink& link) {
    VisualDescription visual;
    if (const Element* material = v.FirstChildElement("material")) {
      if (const Element* colour = material->FirstChildElement("color"))
        visual.colour = rgba(*colour);
      else if (const auto known = colours_.find(xml_.text_or(*material, "name", ""));
               known != colours_.end())
        visual.colour = known->second;
      if (link.colour.text.empty()) link.colour = visual.colour;
    }
    const Element* e = geometry_of(v);
    if (e == nullptr) return;
    if (std::string(e->Name()) != "mesh") {
      for (const char* name : {"radius", "length"})  // many files draw nothing as a ball of size 0
        if (e->Attribute(name) != nullptr && xml_.number_or(*e, name, 1) == 0)
          return xml_.ignore("<visual> of size 0");
      if (!set_shape(v, *e, visual.shape)) return;
    } else {
      set_place(v, *e, visual.shape);
      visual.scale = xml_.vector(*e, "scale", Vec3::Ones());
      const std::string name = xml_.text(*e, "filename");
      if (context_.options.read_files && !name.empty())
        visual.shape.file = find_robot_file(xml_.path(), name, packages());
      if (visual.shape.file.empty()) {
        xml_.ignore("meshes of <visual> that are not there");
        return;
      }
    }
    link.visuals.push_back(std::move(visual));
  }

  static const Element* geometry_of(const Element& e) {
    const Element* geometry = e.FirstChildElement("geometry");
    return geometry == nullptr ? nullptr : geometry->FirstChildElement();
  }

  void add_shape(const Element& collision, RobotLink& link) {
    const Element* e = geometry_of(collision);
    if (e == nullptr) {
      xml_.problem(collision,
                   "<collision> of link '" + link.name + "' needs a <geometry> with a shape in it");
      return;
    }
    ShapeDescription shape;
    if (std::string(e->Name()) != "mesh") {
      if (set_shape(collision, *e, shape)) link.shapes.push_back(std::move(shape));
      return;
    }
    set_place(collision, *e, shape);
    for (std::vector<Vec3>& points : hulls_of(*e)) {
      shape.type = ShapeWord::Hull;
      shape.points = std::move(points);
      link.shapes.push_back(shape);
    }
  }

  void set_place(const Element& around, const Element& e, ShapeDescription& shape) {
    const Pose X = origin(around);
    shape.where = {std::make_shared<const std::string>(xml_.path()), e.GetLineNum(), 0};
    shape.position = X.x;
    shape.orientation = X.p;
    shape.material = options_.material;
  }

  /// Place, type and sizes of the geometry of a <collision> or <visual>, not of meshes.
  bool set_shape(const Element& around, const Element& geometry, ShapeDescription& shape) {
    const Element* e = &geometry;
    set_place(around, geometry, shape);
    const auto length = [&](const char* name) {
      const double x = xml_.number(*e, name);
      if (!(x > 0) && e->Attribute(name) != nullptr)
        xml_.problem(*e, "'" + std::string(name) + "' of <" + e->Name() + "> must be > 0, found " +
                             to_text(x));
      return x > 0 ? x : 1;
    };
    const std::string kind = e->Name();
    if (kind == "box") {
      const Vec3 size = xml_.vector(*e, "size", Vec3::Zero());
      if (size.minCoeff() == 0 && e->Attribute("size") != nullptr) {
        xml_.ignore("a <box> of size 0");
        return false;
      }
      if (!(size.minCoeff() > 0))
        xml_.problem(*e, "'size' of <box> must be three numbers > 0, found '" +
                             xml_.text_or(*e, "size", "") + "'");
      shape.type = ShapeWord::Box;
      shape.half = {0.5 * size[0], 0.5 * size[1], 0.5 * size[2]};
    } else if (kind == "sphere") {
      shape.type = ShapeWord::Sphere;
      shape.radius = length("radius");
    } else if (kind == "capsule") {  // along z there, along x here
      shape.type = ShapeWord::Capsule;
      shape.radius = length("radius");
      shape.half_length = 0.5 * length("length");
      shape.orientation = multiply(*shape.orientation, exp_rotation(Vec3(0, -kQuarter, 0)));
    } else if (kind == "cylinder") {
      const double radius = length("radius"), span = length("length");
      set_cylinder(shape, radius, 0.5 * span);
    } else {
      xml_.ignore("<" + kind + "> in <geometry>");
      return false;
    }
    return true;
  }

  std::vector<std::vector<Vec3>> hulls_of(const Element& e) {
    const std::string name = xml_.text(e, "filename");
    const std::string path = context_.options.read_files && !name.empty()
                                 ? find_robot_file(xml_.path(), name, packages())
                                 : std::string();
    const Vec3 scale = xml_.vector(e, "scale", Vec3::Ones());
    if (path.empty()) {
      const std::string what = "mesh '" + name + "': there is no such file";
      if (options_.skip_meshes || !context_.options.read_files)
        xml_.ignore(what);
      else
        xml_.problem(e, what + " here, above or in 'packages' (allowed: skip_meshes: true)");
      return {};
    }
    try {
      MeshHulls found = mesh_hulls(path, scale, options_.pieces);
      found.list(name, xml_);
      return std::move(found.hulls);
    } catch (const Error& error) {
      xml_.problem(e, error.what());
      return {};
    }
  }

  std::vector<std::string> packages() const {
    std::vector<std::string> out;
    for (const std::string& folder : options_.packages)
      out.push_back(context_.path_of(options_.where, folder));
    return out;
  }

  /// Joints to a link `world` that the file does not have are joints to the world.
  void add_world(const Element& joint) {
    const Element* parent = joint.FirstChildElement("parent");
    if (parent == nullptr || xml_.text_or(*parent, "link", "") != "world" ||
        places_.contains("world"))
      return;
    RobotLink link;
    link.name = "world";
    link.line = joint.GetLineNum();
    places_["world"] = static_cast<Index>(robot_.links.size());
    robot_.links.push_back(std::move(link));
  }

  void add_joint(const Element& e) {
    RobotJoint joint;
    joint.name = xml_.text(e, "name");
    joint.line = e.GetLineNum();
    const std::string type = xml_.text(e, "type");
    const Element* parent = e.FirstChildElement("parent");
    const Element* child = e.FirstChildElement("child");
    if (parent == nullptr || child == nullptr) {
      xml_.problem(e, "joint '" + joint.name + "' needs <parent> and <child>");
      return;
    }
    static const std::map<std::string, RobotMotion> types = {
        {"fixed", RobotMotion::Fixed},      {"revolute", RobotMotion::Hinge},
        {"continuous", RobotMotion::Hinge}, {"prismatic", RobotMotion::Slide},
        {"floating", RobotMotion::Free},    {"planar", RobotMotion::Planar},
        {"spherical", RobotMotion::Ball}};
    const auto known = types.find(type);
    if (known == types.end()) {
      xml_.problem(e, "joint '" + joint.name + "': unknown type '" + type +
                          "'; allowed: fixed, revolute, continuous, prismatic, floating, planar, "
                          "spherical");
      return;
    }
    joint.motion = known->second;
    joint.X_PL = origin(e);
    if (joint.has_coordinate() || joint.motion == RobotMotion::Planar) read_axis(e, joint);
    if (joint.has_coordinate()) {
      if (type != "continuous") read_range(e, joint);
      read_dynamics(e, joint);
      if (const Element* mimic = e.FirstChildElement("mimic")) {
        joint.leader = xml_.text(*mimic, "joint");
        joint.ratio = xml_.number_or(*mimic, "multiplier", 1);
        joint.offset = xml_.number_or(*mimic, "offset", 0);
      }
    }
    xml_.ignore_unknown(e, "name type", "origin parent child axis limit dynamics mimic");
    if (!joint.name.empty() && !joint_names_.emplace(joint.name, joint.line).second)
      xml_.problem(e, "joint '" + joint.name + "' is given twice");
    const Index p = place_of(*parent), c = place_of(*child);
    if (p == kNone || c == kNone) return;
    RobotLink& link = robot_.links[static_cast<std::size_t>(c)];
    if (link.parent != kNone) {
      xml_.problem(e, "link '" + link.name + "' has two parents: joints '" + link.joint.name +
                          "' and '" + joint.name + "'");
      return;
    }
    link.parent = p;
    link.joint = std::move(joint);
  }

  void read_axis(const Element& e, RobotJoint& joint) {
    const Element* axis = e.FirstChildElement("axis");
    const Vec3 a = axis == nullptr ? Vec3::UnitX() : xml_.vector(*axis, "xyz", Vec3::UnitX());
    const double length = a.norm();
    if (!(length > 1e-6)) {
      xml_.problem(axis == nullptr ? e : *axis,
                   "the axis of joint '" + joint.name + "' must not be zero");
      return;
    }
    joint.axis = a / length;
    if (std::abs(length - 1) > 1e-3) xml_.ignore("the length of axes that is not 1");
  }

  void read_range(const Element& e, RobotJoint& joint) {
    const Element* limit = e.FirstChildElement("limit");
    if (limit == nullptr) {
      xml_.note("joint '" + joint.name + "' has no <limit>: it moves without end");
      return;
    }
    if (limit->Attribute("lower") == nullptr && limit->Attribute("upper") == nullptr) {
      xml_.ignore("<limit> without 'lower' and 'upper': the joint moves without end");
      return;
    }
    const double lower = xml_.number_or(*limit, "lower", 0),
                 upper = xml_.number_or(*limit, "upper", 0);
    if (lower > upper) {
      xml_.problem(*limit, "joint '" + joint.name + "': the lower limit, " + to_text(lower) +
                               ", must be at most the upper one, " + to_text(upper));
      return;
    }
    joint.lower = lower;
    joint.upper = upper;
    if (lower == upper) {
      joint.start = lower;
      joint.X_PL = link_in_parent(joint);
      joint.motion = RobotMotion::Fixed;
      joint.lower = joint.upper = {};
      xml_.ignore("the freedom of joints whose limits are equal");
    }
  }

  void read_dynamics(const Element& e, RobotJoint& joint) {
    const auto amount = [&](const Element& at, const char* name) {
      const double x = xml_.number_or(at, name, 0);
      if (x < 0)
        xml_.problem(at, "'" + std::string(name) + "' of joint '" + joint.name +
                             "' must be >= 0, found " + to_text(x));
      return std::max(x, 0.0);
    };
    if (const Element* limit = e.FirstChildElement("limit")) {
      if (limit->Attribute("effort") != nullptr) joint.effort = amount(*limit, "effort");
      if (limit->Attribute("velocity") != nullptr) {
        joint.speed = amount(*limit, "velocity");
        xml_.ignore("'velocity' of <limit>");
      }
    }
    if (const Element* dynamics = e.FirstChildElement("dynamics")) {
      joint.damping = amount(*dynamics, "damping");
      joint.dry_friction = amount(*dynamics, "friction");
    }
  }

  Index place_of(const Element& e) {
    const std::string name = xml_.text(e, "link");
    const auto found = places_.find(name);
    if (found != places_.end()) return found->second;
    if (!name.empty()) xml_.problem(e, "there is no link '" + name + "'");
    return kNone;
  }

  void find_root() {
    std::vector<std::string> roots;
    int line = 0;
    for (RobotLink& link : robot_.links) {
      if (link.parent != kNone) continue;
      roots.push_back(link.name);
      line = link.line;
      link.world = link.name == "world";
    }
    if (roots.size() > 1)
      xml_.problem(line, "must have one root link, found " + std::to_string(roots.size()) + ": " +
                             name_list(roots));
  }

  const RobotDescription& options_;
  ReadContext& context_;
  XmlReader& xml_;
  Robot robot_;
  std::vector<const Element*> joints_;
  std::map<std::string, Index> places_;
  std::map<std::string, int> joint_names_;
  std::map<std::string, Colour> colours_;
};

/// What a posture of the SRDF says about joints the robot has, moved into their limits.
void fit_state(const Robot& robot, const Posture& state, Posture& posture) {
  for (const RobotLink& link : robot.links) {
    const RobotJoint& j = link.joint;
    for (const auto& [name, value] : state)
      if (link.parent != kNone && j.name == name && j.has_coordinate())
        posture.emplace_back(
            name, std::clamp(value, j.lower.value_or(value),
                             std::max(j.lower.value_or(value), j.upper.value_or(value))));
  }
}

}  // namespace

void set_cylinder(ShapeDescription& shape, double radius, double half_length) {
  shape.type = ShapeWord::Cylinder;
  shape.radius = radius;
  shape.half_length = half_length;
  shape.orientation =
      multiply(shape.orientation.value_or(Quat{}), exp_rotation(Vec3(0, -kQuarter, 0)));
}

void add_urdf(const RobotDescription& options, std::size_t number, ReadContext& context,
              SceneDescription& scene, const std::string* text) {
  const std::string path =
      text != nullptr ? options.file : context.path_of(options.where, options.file);
  std::string own;
  try {
    if (text == nullptr) own = read_regular_file(path, kMaxRobotFile);
  } catch (const Error& error) {
    throw Error(options.where.text(), error.what());
  }
  XmlReader xml(path);
  Robot robot = UrdfReader(options, context, xml).read(text != nullptr ? *text : own);
  Posture posture, state;
  if (!options.srdf.empty()) {
    read_srdf(context.path_of(options.where, options.srdf), options.state, robot, state);
    fit_state(robot, state, posture);
  } else if (!options.state.empty()) {
    throw Error(options.where.text(), "'state' is one of an SRDF file: give 'srdf', too");
  }
  for (const auto& [name, value] : options.posture.values) posture.emplace_back(name, value);
  add_robot(std::move(robot), posture, options, number, xml, context, scene);
}

}  // namespace orthant::io
