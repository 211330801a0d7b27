// SPDX-License-Identifier: Apache-2.0
// io/scene/urdf.cpp: URDF => bodies and joints of a scene.
// Read with tinyxml2 and not urdfdom: that one prints to the console, forgets lines, and drops
// without a word what it does not know; here everything that is not used is listed.
#include <tinyxml2.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "io/scene/scene_reader.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using tinyxml2::XMLElement;

struct UrdfJoint {
  std::string name, type, parent, child;
  Pose X_PJ;
  Vec3 axis = Vec3::UnitX();
  const XMLElement* element = nullptr;
  const XMLElement* mimic = nullptr;  ///< of a joint that has a coordinate
  double start = 0;                   ///< its position where all leaders are at zero

  bool slides() const { return type == "prismatic"; }
  bool has_coordinate() const { return slides() || type == "revolute" || type == "continuous"; }
};

/// Roll, pitch, yaw about the fixed axes x, y, z.
Quat from_rpy(const Vec3& rpy) {
  const Quat x = exp_rotation(Vec3(rpy[0], 0, 0)), y = exp_rotation(Vec3(0, rpy[1], 0)),
             z = exp_rotation(Vec3(0, 0, rpy[2]));
  return multiply(z, multiply(y, x));
}

class UrdfReader {
 public:
  UrdfReader(const UrdfDescription& urdf, std::size_t number, ReadContext& context,
             SceneDescription& scene, const std::string* text)
      : urdf_(urdf), context_(context), scene_(scene), text_(text) {
    path_ = text != nullptr ? urdf.file : context.path_of(urdf.where, urdf.file);
    // A bit of the collision groups for each robot; the first is everybody's default.
    bit_ = 1 + static_cast<int>(number % 31);
  }

  void read() {
    std::string text;
    try {
      text = text_ != nullptr ? *text_ : read_file(path_);
    } catch (const Error& error) {
      throw Error(urdf_.where.text(), error.what());
    }
    tinyxml2::XMLDocument document;
    if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
      throw Error(path_ + ":" + std::to_string(document.ErrorLineNum()), "is not XML");
    const XMLElement* robot = document.FirstChildElement("robot");
    if (robot == nullptr) throw Error(path_, "has no <robot>");
    for (const XMLElement* e = robot->FirstChildElement(); e != nullptr;
         e = e->NextSiblingElement()) {
      const std::string tag = e->Name();
      if (tag == "link") {
        add_link(*e);
      } else if (tag == "joint") {
        add_joint(*e);
      } else if (tag != "material") {
        ignore("<" + tag + ">");
      }
    }
    if (links_.empty()) throw Error(path_, "has no links");
    find_starts();
    place_links();
    make_bodies();
    make_joints();
    for (const auto& [what, count] : ignored_)
      context_.notes.push_back(path_ + ": ignored " + what +
                               (count > 1 ? " (" + std::to_string(count) + " times)" : ""));
  }

 private:
  [[noreturn]] void fail(const XMLElement& at, const std::string& what) const {
    throw Error(path_ + ":" + std::to_string(at.GetLineNum()), what);
  }
  void ignore(const std::string& what) { ++ignored_[what]; }

  std::string attribute(const XMLElement& e, const char* name) const {
    const char* value = e.Attribute(name);
    if (value == nullptr) fail(e, std::string("<") + e.Name() + "> needs '" + name + "'");
    return value;
  }
  double number(const XMLElement& e, const char* name) const {
    const std::string text = attribute(e, name);
    double value = 0;
    if (!read_number(trim(text), value))
      fail(e, std::string("'") + name + "' must be a number, found '" + text + "'");
    return value;
  }
  double number_or(const XMLElement& e, const char* name, double otherwise) const {
    return e.Attribute(name) == nullptr ? otherwise : number(e, name);
  }
  static std::string trim(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \t\n\r");
    if (begin == std::string::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\n\r") + 1 - begin);
  }
  Vec3 vector(const XMLElement& e, const char* name, const Vec3& otherwise) const {
    if (e.Attribute(name) == nullptr) return otherwise;
    std::istringstream words(attribute(e, name));
    Vec3 out;
    std::string word;
    for (int c = 0; c < 3; ++c)
      if (!(words >> word) || !read_number(word, out[c]))
        fail(e, std::string("'") + name + "' must be three numbers, found '" + attribute(e, name) +
                    "'");
    return out;
  }
  Pose origin(const XMLElement& parent) const {
    const XMLElement* e = parent.FirstChildElement("origin");
    if (e == nullptr) return {};
    return {vector(*e, "xyz", Vec3::Zero()), from_rpy(vector(*e, "rpy", Vec3::Zero()))};
  }

  void add_link(const XMLElement& e) {
    const std::string name = attribute(e, "name");
    if (!links_.emplace(name, &e).second) fail(e, "link '" + name + "' is given twice");
    order_.push_back(name);
  }

  void add_joint(const XMLElement& e) {
    UrdfJoint joint;
    joint.element = &e;
    joint.name = attribute(e, "name");
    joint.type = attribute(e, "type");
    const XMLElement* parent = e.FirstChildElement("parent");
    const XMLElement* child = e.FirstChildElement("child");
    if (parent == nullptr || child == nullptr)
      fail(e, "joint '" + joint.name + "' needs <parent> and <child>");
    joint.parent = attribute(*parent, "link");
    joint.child = attribute(*child, "link");
    joint.X_PJ = origin(e);
    if (const XMLElement* axis = e.FirstChildElement("axis"))
      joint.axis = vector(*axis, "xyz", Vec3::UnitX());
    for (const char* tag : {"calibration", "safety_controller"})
      if (e.FirstChildElement(tag) != nullptr) ignore(std::string("<") + tag + ">");
    const bool turns = joint.type != "fixed" && joint.type != "floating";
    if (turns && !(joint.axis.norm() > 1e-6)) fail(e, "joint '" + joint.name + "' has no axis");
    if (joint.has_coordinate()) joint.mimic = e.FirstChildElement("mimic");
    joints_.push_back(std::move(joint));
  }

  const UrdfJoint& leader_of(const UrdfJoint& joint) const {
    const std::string name = attribute(*joint.mimic, "joint");
    const auto found = std::find_if(joints_.begin(), joints_.end(),
                                    [&](const UrdfJoint& j) { return j.name == name; });
    if (found == joints_.end()) fail(*joint.mimic, "there is no joint '" + name + "' to mimic");
    if (!found->has_coordinate())
      fail(*joint.mimic, "joint '" + name + "' is " + found->type + " and cannot be mimicked");
    return *found;
  }
  double multiplier(const UrdfJoint& joint) const {
    return number_or(*joint.mimic, "multiplier", 1);
  }

  /// start = multiplier x start of the leader + offset, back to a joint that mimics none.
  void find_starts() {
    for (UrdfJoint& joint : joints_) {
      if (joint.mimic == nullptr) continue;
      double factor = 1;
      const UrdfJoint* at = &joint;
      for (std::size_t n = 0; at->mimic != nullptr; ++n, at = &leader_of(*at)) {
        if (n == joints_.size()) fail(*joint.mimic, "the <mimic> of joints go round in a circle");
        joint.start += factor * number_or(*at->mimic, "offset", 0);
        factor *= multiplier(*at);
      }
      if (!std::isfinite(joint.start)) fail(*joint.mimic, "<mimic> leads beyond all numbers");
    }
  }

  /// The child in the joint's frame at its start.
  static Pose moved(const UrdfJoint& joint) {
    if (joint.start == 0) return {};
    const Vec3 along = joint.start * joint.axis.normalized();
    return joint.slides() ? Pose{along, {}} : Pose{Vec3::Zero(), exp_rotation(along)};
  }

  /// Poses at joint positions zero, those that mimic at their start, from the root outwards.
  void place_links() {
    std::map<std::string, const UrdfJoint*> to_parent;
    for (const UrdfJoint& joint : joints_) {
      for (const std::string& link : {joint.parent, joint.child})
        if (!links_.contains(link)) fail(*joint.element, "there is no link '" + link + "'");
      if (!to_parent.emplace(joint.child, &joint).second)
        fail(*joint.element, "link '" + joint.child + "' has two parents");
    }
    for (const std::string& link : order_)
      if (!to_parent.contains(link)) roots_.insert(link);
    if (roots_.size() != 1)
      throw Error(path_, "must have one root link, found " + std::to_string(roots_.size()));
    const Pose X_WR{urdf_.position, orientation_of(urdf_.orientation, urdf_.rotation, urdf_.where)};
    poses_[*roots_.begin()] = X_WR;
    for (bool placed = true; placed;) {
      placed = false;
      for (const UrdfJoint& joint : joints_) {
        if (poses_.contains(joint.child) || !poses_.contains(joint.parent)) continue;
        poses_[joint.child] = compose(compose(poses_[joint.parent], joint.X_PJ), moved(joint));
        placed = true;
      }
    }
    if (poses_.size() != links_.size()) throw Error(path_, "the joints go round in a circle");
  }

  void make_bodies() {
    for (const std::string& name : order_) {
      const XMLElement& e = *links_[name];
      BodyDescription body;
      body.where = urdf_.where;
      body.name = urdf_.prefix + name;
      const Pose& X = poses_[name];
      body.position = X.x;
      body.orientation = X.p;
      for (const XMLElement* c = e.FirstChildElement("collision"); c != nullptr;
           c = c->NextSiblingElement("collision"))
        add_shape(*c, body);
      if (e.FirstChildElement("visual") != nullptr) ignore("<visual>");
      const bool root = roots_.contains(name);
      if (!read_inertia(e, body)) {
        // A frame without matter: fixed where it is the root, else welded with next to no mass.
        if (root) body.motion = MotionWord::Fixed;
        const bool heavy =
            std::any_of(body.shapes.begin(), body.shapes.end(), [](const auto&) { return true; });
        if (!root && !heavy) {
          body.mass = kFrameMass;
          body.inertia = Mat3(kFrameMass * 1e-4 * Mat3::Identity());
          body.center_of_mass = Vec3::Zero();
          context_.notes.push_back(path_ + ": link '" + name + "' has no <inertial>; given " +
                                   to_text(kFrameMass) + " kg");
        }
      }
      if (root && urdf_.fixed) body.motion = MotionWord::Fixed;
      scene_.bodies.push_back(std::move(body));
    }
  }

  bool read_inertia(const XMLElement& link, BodyDescription& body) {
    const XMLElement* e = link.FirstChildElement("inertial");
    if (e == nullptr) return false;
    const XMLElement* mass = e->FirstChildElement("mass");
    const XMLElement* inertia = e->FirstChildElement("inertia");
    if (mass == nullptr || inertia == nullptr) fail(*e, "<inertial> needs <mass> and <inertia>");
    const double m = number(*mass, "value");
    if (!(m > 0)) return false;  // some files write zero for "none"
    const Pose X = origin(*e);
    // Read first: a matrix that is filled by commas may not be left half full by an error.
    const double xx = number(*inertia, "ixx"), xy = number_or(*inertia, "ixy", 0);
    const double yy = number(*inertia, "iyy"), xz = number_or(*inertia, "ixz", 0);
    const double zz = number(*inertia, "izz"), yz = number_or(*inertia, "iyz", 0);
    Mat3 I;
    I << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    const Mat3 R = matrix_of(X.p);
    const Mat3 turned = R * I * R.transpose();
    body.mass = m;
    body.center_of_mass = X.x;
    body.inertia = Mat3(0.5 * (turned + turned.transpose()));
    return true;
  }

  void add_shape(const XMLElement& collision, BodyDescription& body) {
    const XMLElement* geometry = collision.FirstChildElement("geometry");
    const XMLElement* e = geometry == nullptr ? nullptr : geometry->FirstChildElement();
    if (e == nullptr) fail(collision, "<collision> needs a <geometry> with something in it");
    const Pose X = origin(collision);
    ShapeDescription shape;
    shape.where = urdf_.where;
    shape.position = X.x;
    shape.orientation = X.p;
    shape.material = urdf_.material;
    if (!urdf_.self_collision) {
      shape.group = std::int64_t{1} << bit_;
      shape.mask = 0xffffffff & ~shape.group;
    }
    const std::string kind = e->Name();
    if (kind == "box") {
      const Vec3 size = vector(*e, "size", Vec3::Zero());
      shape.type = ShapeWord::Box;
      shape.half = {0.5 * size[0], 0.5 * size[1], 0.5 * size[2]};
    } else if (kind == "sphere") {
      shape.type = ShapeWord::Sphere;
      shape.radius = number(*e, "radius");
    } else if (kind == "capsule") {  // along z there, along x here
      shape.type = ShapeWord::Capsule;
      shape.radius = number(*e, "radius");
      shape.half_length = 0.5 * number(*e, "length");
      shape.orientation = multiply(X.p, exp_rotation(Vec3(0, -kQuarter, 0)));
    } else if (kind == "cylinder") {
      add_cylinder(*e, shape);
    } else if (kind == "mesh") {
      if (!add_mesh(*e, shape)) return;
    } else {
      ignore("<" + kind + "> in <geometry>");
      return;
    }
    body.shapes.push_back(std::move(shape));
  }

  void add_cylinder(const XMLElement& e, ShapeDescription& shape) {
    const double radius = number(e, "radius"), length = number(e, "length");
    if (!(radius > 0) || !(length > 0)) fail(e, "radius and length must be > 0");
    shape.type = ShapeWord::Hull;
    for (int i = 0; i < kCylinderSides; ++i)
      for (const double z : {-0.5 * length, 0.5 * length}) {
        const double a = 4 * kQuarter * i / kCylinderSides;
        shape.points.emplace_back(radius * std::cos(a), radius * std::sin(a), z);
      }
    ignore("the roundness of <cylinder>: prisms of " + std::to_string(kCylinderSides) + " sides");
  }

  bool add_mesh(const XMLElement& e, ShapeDescription& shape) {
    const std::string name = attribute(e, "filename");
    const std::string path = context_.options.read_files ? find_mesh(name) : std::string();
    if (path.empty()) {
      ignore("mesh '" + name + "': there is no such file");
      return false;
    }
    const Vec3 scale = vector(e, "scale", Vec3::Ones());
    std::vector<Vec3> points;
    bool exact = true;
    try {
      points = hull_points(read_mesh_points(path), path, exact);
    } catch (const Error& error) {
      ignore("mesh '" + name + "': " + error.what());
      return false;
    }
    if (!exact) ignore("corners of the hull of '" + name + "' beyond what a hull may have");
    for (Vec3& p : points) p = p.cwiseProduct(scale);
    shape.type = ShapeWord::Hull;
    shape.points = std::move(points);
    return true;
  }

  /// package://robot/meshes/a.stl lies in a folder above the URDF, somewhere.
  std::string find_mesh(const std::string& name) const {
    namespace fs = std::filesystem;
    std::string rest = name;
    if (rest.starts_with("file://")) rest = rest.substr(7);
    const bool package = rest.starts_with("package://");
    if (package) rest = rest.substr(10);
    std::error_code error;
    if (!package && fs::path(rest).is_absolute())
      return fs::is_regular_file(rest, error) ? rest : "";
    const std::size_t slash = rest.find('/');
    fs::path folder = fs::absolute(path_).parent_path();
    for (int up = 0; up < 6; ++up, folder = folder.parent_path()) {
      if (fs::is_regular_file(folder / rest, error)) return (folder / rest).string();
      if (package && slash != std::string::npos &&
          fs::is_regular_file(folder / rest.substr(slash + 1), error))
        return (folder / rest.substr(slash + 1)).string();
    }
    return {};
  }

  void make_joints() {
    std::set<std::string> names;
    for (const UrdfJoint& j : joints_) {
      if (!names.insert(j.name).second) fail(*j.element, "joint '" + j.name + "' is given twice");
      JointDescription joint;
      joint.where = urdf_.where;
      joint.name = urdf_.prefix + j.name;
      joint.a = urdf_.prefix + j.child;
      joint.b = urdf_.prefix + j.parent;
      const Pose& X_WJ = poses_[j.child];
      joint.anchor = X_WJ.x;
      if (j.type != "fixed") joint.axis = rotate(X_WJ.p, Vec3(j.axis.normalized()));
      if (j.type == "fixed") {
        joint.kind = JointKind::Weld;
      } else if (j.type == "revolute" || j.type == "continuous") {
        joint.kind = JointKind::Revolute;
      } else if (j.type == "prismatic") {
        joint.kind = JointKind::Prismatic;
      } else if (j.type == "floating") {
        continue;
      } else {
        ignore("joint type '" + j.type + "' (the link is left free)");
        continue;
      }
      if (joint.kind != JointKind::Weld) read_limits(j, joint);
      kept_.emplace(j.name, scene_.joints.size());
      scene_.joints.push_back(std::move(joint));
    }
    for (const UrdfJoint& j : joints_)
      if (j.mimic != nullptr) couple(j);
  }

  /// Both coordinates are zero as placed, so no offset is left.
  void couple(const UrdfJoint& j) {
    const UrdfJoint& leader = leader_of(j);
    const double ratio = multiplier(j);
    const JointDescription& led_by = scene_.joints[kept_.at(leader.name)];
    const bool whole = !j.slides() && std::round(ratio) == ratio;
    if (!leader.slides() && !(led_by.lower && led_by.upper) && !whole) {
      ignore(
          "<mimic> of a hinge without limits in a ratio that is not whole (the joint moves by "
          "itself)");
      return;
    }
    scene_.joints[kept_.at(j.name)].follow = {led_by.name, ratio, 0};
  }

  void read_limits(const UrdfJoint& j, JointDescription& joint) {
    if (const XMLElement* limit = j.element->FirstChildElement("limit")) {
      if (j.type != "continuous") {
        const double lower = number_or(*limit, "lower", 0) - j.start,
                     upper = number_or(*limit, "upper", 0) - j.start;
        // The coordinate of a hinge is an angle in (-pi, pi); a range it cannot leave is no limit.
        const bool whole =
            joint.kind == JointKind::Revolute && (lower <= -2 * kQuarter || upper >= 2 * kQuarter);
        if (whole) {
          ignore("limits of hinges that go beyond half a turn");
        } else if (lower > upper || lower > 0 || upper < 0) {
          ignore("limits that exclude the position zero");
        } else {
          joint.lower = lower;
          joint.upper = upper;
        }
      }
      if (limit->Attribute("effort") != nullptr) ignore("'effort' of <limit>");
      if (limit->Attribute("velocity") != nullptr) ignore("'velocity' of <limit>");
    }
    if (const XMLElement* dynamics = j.element->FirstChildElement("dynamics")) {
      joint.damping = number_or(*dynamics, "damping", 0);
      joint.dry_friction = number_or(*dynamics, "friction", 0);
    }
  }

  static constexpr double kQuarter = 1.57079632679489661923;
  static constexpr double kFrameMass = 1e-3;  // [kg]
  static constexpr int kCylinderSides = 16;

  const UrdfDescription& urdf_;
  ReadContext& context_;
  SceneDescription& scene_;
  const std::string* text_;  ///< of the robot, where it does not come from a file
  std::string path_;
  int bit_ = 1;
  std::map<std::string, const XMLElement*> links_;
  std::vector<std::string> order_;
  std::vector<UrdfJoint> joints_;
  std::set<std::string> roots_;
  std::map<std::string, Pose> poses_;
  std::map<std::string, std::size_t> kept_;  ///< joints of the file by name, in the scene
  std::map<std::string, int> ignored_;
};

}  // namespace

void add_urdf(const UrdfDescription& urdf, std::size_t number, ReadContext& context,
              SceneDescription& scene, const std::string* text) {
  UrdfReader(urdf, number, context, scene, text).read();
}

}  // namespace orthant::io
