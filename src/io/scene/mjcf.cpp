// SPDX-License-Identifier: Apache-2.0
// io/scene/mjcf.cpp: bodies, joints, geoms and sites of MJCF => a robot.
// A body with several joints becomes a chain of links at one place, all but the last without mass;
// two slides and a hinge across them that nothing else refers to are one planar joint.
#include "io/scene/mjcf.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr int kMaxDepth = 200;  // of bodies

}  // namespace

Quat quat_of(const Mat3& R) {
  const Eigen::Quaterniond q(R);
  return normalized(Quat{q.w(), q.x(), q.y(), q.z()});
}

Quat turn_between(const Vec3& a, const Vec3& b) {
  const Eigen::Quaterniond q = Eigen::Quaterniond::FromTwoVectors(a, b);
  return normalized(Quat{q.w(), q.x(), q.y(), q.z()});
}

double MjcfReader::angle(double x) const { return compiler_.degrees ? x * kPi / 180 : x; }

std::string MjcfReader::unique(std::set<std::string>& taken, const Element& e, const char* kind,
                               const std::string& otherwise) {
  const char* given = e.Attribute("name");
  if (given == nullptr) return unique_name(taken, otherwise);
  if (taken.insert(given).second) return given;
  xml_.problem(e, std::string(kind) + " '" + given + "' is given twice");
  return unique_name(taken, otherwise);
}

std::string MjcfReader::unique_name(std::set<std::string>& taken, const std::string& name) const {
  std::string out = name;
  for (int n = 1; taken.contains(out) || given_names_.contains(out); ++n)
    out = name + "_" + std::to_string(n);
  taken.insert(out);
  return out;
}

void MjcfReader::collect_names(const Element& e) {
  if (const char* name = e.Attribute("name")) given_names_.insert(name);
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement())
    collect_names(*c);
}

Quat MjcfReader::orientation(const Element& e) {
  if (e.Attribute("quat") != nullptr) {
    const std::vector<double> x = xml_.numbers(e, "quat", 4, 4);
    if (x.size() != 4) return {};
    const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    if (norm > 1e-9) return normalized(Quat{x[0], x[1], x[2], x[3]});
    xml_.problem(e, "'quat' must not be zero");
  } else if (e.Attribute("axisangle") != nullptr) {
    const std::vector<double> x = xml_.numbers(e, "axisangle", 4, 4);
    if (x.size() != 4) return {};
    const Vec3 axis(x[0], x[1], x[2]);
    if (axis.norm() > 1e-9) return exp_rotation(Vec3(axis.normalized() * angle(x[3])));
    xml_.problem(e, "the axis of 'axisangle' must not be zero");
  } else if (e.Attribute("euler") != nullptr) {
    const Vec3 x = xml_.vector(e, "euler", Vec3::Zero());
    Quat q;
    for (int i = 0; i < 3; ++i) {
      const char letter = compiler_.euler[static_cast<std::size_t>(i)];
      Vec3 axis = Vec3::Zero();
      axis[std::tolower(letter) - 'x'] = angle(x[i]);
      const Quat turn = exp_rotation(axis);  // small letters: axes that turn along
      q = std::islower(static_cast<unsigned char>(letter)) ? multiply(q, turn) : multiply(turn, q);
    }
    return q;
  } else if (e.Attribute("xyaxes") != nullptr) {
    const std::vector<double> a = xml_.numbers(e, "xyaxes", 6, 6);
    if (a.size() != 6) return {};
    Vec3 x(a[0], a[1], a[2]), y(a[3], a[4], a[5]);
    x.normalize();
    y -= x.dot(y) * x;
    if (x.allFinite() && y.norm() > 1e-9) {
      Mat3 R;
      R.col(0) = x;
      R.col(1) = y.normalized();
      R.col(2) = x.cross(R.col(1));
      return quat_of(R);
    }
    xml_.problem(e, "'xyaxes' must be two directions that are not parallel");
  } else if (e.Attribute("zaxis") != nullptr) {
    const Vec3 z = xml_.vector(e, "zaxis", Vec3::UnitZ());
    if (z.norm() > 1e-9) return turn_between(Vec3::UnitZ(), z.normalized());
    xml_.problem(e, "'zaxis' must not be zero");
  }
  return {};
}

Pose MjcfReader::pose(const Element& e) {
  return {xml_.vector(e, "pos", Vec3::Zero()), orientation(e)};
}

/// There may be several, of included files: what one does not say stays as it was.
void MjcfReader::read_compiler(const Element& e) {
  const std::string unit = xml_.text_or(e, "angle", compiler_.degrees ? "degree" : "radian");
  if (unit != "degree" && unit != "radian")
    xml_.problem(e, "'angle' must be degree or radian, found '" + unit + "'");
  compiler_.degrees = unit != "radian";
  if (xml_.text_or(e, "coordinate", "local") != "local")
    xml_.problem(e, "'coordinate' must be local");
  compiler_.auto_limits = xml_.flag(e, "autolimits", compiler_.auto_limits);
  const std::string order = xml_.text_or(e, "eulerseq", compiler_.euler);
  const bool good = order.size() == 3 && order.find_first_not_of("xyzXYZ") == std::string::npos;
  if (good)
    compiler_.euler = order;
  else
    xml_.problem(e, "'eulerseq' must be three letters of xyzXYZ, found '" + order + "'");
  compiler_.mesh_folder =
      xml_.text_or(e, "meshdir", xml_.text_or(e, "assetdir", compiler_.mesh_folder));
  if (e.Attribute("inertiafromgeom") != nullptr) {
    const std::string from = xml_.text(e, "inertiafromgeom");
    compiler_.inertia_from_geom = from == "true" ? 1 : from == "false" ? 0 : -1;
  }
  const std::vector<double> groups = xml_.numbers(e, "inertiagrouprange", 2, 2);
  if (groups.size() == 2) compiler_.first_group = groups[0], compiler_.last_group = groups[1];
  compiler_.balance_inertia = xml_.flag(e, "balanceinertia", compiler_.balance_inertia);
  compiler_.bound_mass = xml_.number_or(e, "boundmass", compiler_.bound_mass);
  compiler_.bound_inertia = xml_.number_or(e, "boundinertia", compiler_.bound_inertia);
  compiler_.total_mass = xml_.number_or(e, "settotalmass", compiler_.total_mass);
  xml_.ignore_unknown(e,
                      "angle coordinate autolimits eulerseq meshdir assetdir texturedir "
                      "inertiafromgeom inertiagrouprange balanceinertia boundmass boundinertia "
                      "settotalmass discardvisual fusestatic usethread strippath",
                      "");
}

void MjcfReader::read_option(const Element& e, SceneDescription& scene) {
  if (!scene.world.gravity && e.Attribute("gravity") != nullptr)
    scene.world.gravity = xml_.vector(e, "gravity", Vec3(0, 0, -9.81));
  timestep_ = xml_.number_or(e, "timestep", timestep_);
  if (!(timestep_ > 0)) xml_.problem(e, "'timestep' must be > 0, found " + to_text(timestep_));
  for (const char* fluid : {"density", "viscosity"})
    if (xml_.number_or(e, fluid, 0) != 0)
      xml_.note("the medium ('" + std::string(fluid) + "' of <option>) does not act");
  if (const Element* flag = e.FirstChildElement("flag")) {
    contacts_ = xml_.text_or(*flag, "contact", "enable") != "disable";
    if (xml_.text_or(*flag, "gravity", "enable") == "disable") scene.world.gravity = Vec3::Zero();
    xml_.ignore_unknown(*flag, "contact gravity", "");
  }
  xml_.ignore_unknown(e, "gravity timestep density viscosity", "flag");
}

void MjcfReader::read_assets(const Element& e) {
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::string tag = c->Name();
    if (tag == "mesh") {
      std::string file = xml_.text_or(*c, "file", "");
      const std::string stem = std::filesystem::path(file).stem().string();
      const std::string name = xml_.text_or(*c, "name", stem);
      if (name.empty()) xml_.problem(*c, "<mesh> needs 'name' or 'file'");
      const Vec3 scale = xml_.vector(*c, "scale", Vec3::Ones());
      if (!file.empty()) {
        const auto beside = std::filesystem::path(xml_.text_or(*c, kFolder, "")) / file;
        std::error_code error;
        if (mesh_path(*c, file, false).empty() && std::filesystem::is_regular_file(beside, error))
          file = std::filesystem::absolute(beside).string();
        mesh_files_[name] = {file, scale};
      } else {
        const std::vector<double> x = xml_.numbers(*c, "vertex", 12, 3'000'000);
        std::vector<Vec3>& points = mesh_points_[name];
        for (std::size_t i = 0; i + 2 < x.size(); i += 3)
          points.push_back(Vec3(x[i], x[i + 1], x[i + 2]).cwiseProduct(scale));
      }
      xml_.ignore_unknown(
          *c, "name file scale vertex face class content_type inertia included_from", "");
    } else if (tag == "hfield") {
      read_height_field(*c);
    } else if (tag == "material") {
      if (c->Attribute("rgba") != nullptr) colours_[xml_.text(*c, "name")] = colour_of(*c);
    } else if (tag != "texture") {
      xml_.ignore("<" + tag + "> in <asset>");
    }
  }
}

/// Heights are given from the largest y down, scaled to 0 ... 1 and then to size[2].
void MjcfReader::read_height_field(const Element& e) {
  if (e.Attribute("file") != nullptr) {
    const std::string file = xml_.text(e, "file");
    const std::string name = xml_.text_or(e, "name", std::filesystem::path(file).stem().string());
    xml_.ignore("height fields from files: <hfield name=\"" + name + "\">");
    return;
  }
  const std::string name = xml_.text(e, "name");
  const double rows = xml_.number(e, "nrow"), columns = xml_.number(e, "ncol");
  const std::vector<double> size = xml_.numbers(e, "size", 4, 4);
  const std::vector<double> z = xml_.numbers(e, "elevation", 0, 1'000'000);
  const bool whole = rows == std::floor(rows) && columns == std::floor(columns);
  if (!whole || !(rows >= 2 && columns >= 2 && rows * columns <= 1e6) ||
      (!z.empty() && static_cast<double>(z.size()) != rows * columns) || size.size() != 4 ||
      !(size[0] > 0 && size[1] > 0)) {
    xml_.problem(e,
                 "<hfield> needs 'nrow' and 'ncol' of 2 or more with at most 1e6 heights, as many "
                 "numbers in 'elevation', and 'size' of 4 with the first two > 0");
    return;
  }
  ShapeDescription& field = height_fields_[name];
  field.type = ShapeWord::HeightField;
  field.half = {size[0], size[1]};
  field.rows = static_cast<int>(rows);
  const auto n = static_cast<std::size_t>(columns);
  field.heights.assign(static_cast<std::size_t>(rows) * n, 0);
  if (!z.empty()) {
    const auto [low, high] = std::minmax_element(z.begin(), z.end());
    const double factor = *high > *low ? size[2] / (*high - *low) : 0;
    for (std::size_t i = 0; i < z.size(); ++i)
      field.heights[(static_cast<std::size_t>(rows) - 1 - i / n) * n + i % n] =
          factor * (z[i] - *low);
  }
  xml_.ignore_unknown(e, "name nrow ncol size elevation content_type", "");
}

Robot MjcfReader::read(const std::string& text, SceneDescription& scene) {
  tinyxml2::XMLElement& root = xml_.parse_mutable(text, "mujoco");
  resolve_mjcf(root, xml_.path(), context_.options.read_files, xml_);
  collect_names(root);
  const auto each = [&](const char* tag, auto&& use) {
    for (const Element* e = root.FirstChildElement(tag); e != nullptr;
         e = e->NextSiblingElement(tag))
      use(*e);
  };
  each("compiler", [&](const Element& e) { read_compiler(e); });
  each("option", [&](const Element& e) { read_option(e, scene); });
  each("asset", [&](const Element& e) { read_assets(e); });
  each("equality", [&](const Element& e) {
    for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement())
      for (const char* name : {"joint1", "joint2"}) driven_.insert(xml_.text_or(*c, name, ""));
  });
  each("actuator", [&](const Element& e) {
    for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement())
      driven_.insert(xml_.text_or(*c, "joint", ""));
  });
  each("contact", [&](const Element& e) {
    for (const Element* c = e.FirstChildElement("pair"); c != nullptr;
         c = c->NextSiblingElement("pair"))
      pairs_.emplace_back(xml_.text_or(*c, "geom1", ""), xml_.text_or(*c, "geom2", ""));
  });
  robot_.world_touches = robot_.own_groups = robot_.own_posture = true;
  RobotLink world;
  world.name = "world";
  world.world = true;
  robot_.links.push_back(world);
  links_["world"] = 0;
  link_names_.insert("world");
  if (root.FirstChildElement("worldbody") == nullptr) xml_.problem(0, "has no <worldbody>");
  each("worldbody", [&](const Element& e) { read_children(e, 0, Pose{}); });
  each("contact", [&](const Element& e) { read_contacts(e); });
  each("tendon", [&](const Element& e) { read_tendons(e); });
  each("equality", [&](const Element& e) { read_equalities(e); });
  each("keyframe", [&](const Element& e) { read_keyframes(e); });
  each("actuator", [&](const Element& e) { read_actuators(e); });
  for (const Element* e = root.FirstChildElement(); e != nullptr; e = e->NextSiblingElement()) {
    static const std::set<std::string> known = {
        "compiler", "option",  "asset",    "equality", "actuator", "worldbody", "contact",
        "tendon",   "default", "keyframe", "size",     "visual",   "statistic", "custom"};
    if (!known.contains(e->Name())) xml_.ignore("<" + std::string(e->Name()) + ">");
  }
  // Where nothing is only seen, what touches is drawn.
  for (std::size_t i = 0; i < robot_.links.size(); ++i)
    if (!decorated_.contains(static_cast<Index>(i))) robot_.links[i].visuals.clear();
  if (!options_.state.empty() && posture_.empty())
    xml_.problem(0, "has no <key> with the name '" + options_.state + "'");
  if (compiler_.total_mass > 0) {
    double sum = 0;
    for (const RobotLink& link : robot_.links)
      if (!link.world) sum += link.mass;
    for (RobotLink& link : robot_.links) {
      if (!(sum > 0) || link.world) continue;
      link.mass *= compiler_.total_mass / sum;
      link.inertia *= compiler_.total_mass / sum;
    }
  }
  xml_.throw_problems();
  set_contacts(scene);
  xml_.note("contacts, limits and equalities, soft in MuJoCo, are hard");
  return std::move(robot_);
}

/// Everything in a body (or <frame>) that is at X in the link.
void MjcfReader::read_children(const Element& e, Index link, const Pose& X) {
  const bool inertial = e.FirstChildElement("inertial") != nullptr;
  const bool weighs =
      compiler_.inertia_from_geom > 0 || (compiler_.inertia_from_geom < 0 && !inertial);
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::string tag = c->Name();
    if (tag == "body") {
      read_body(*c, link, X);
    } else if (tag == "frame") {
      read_children(*c, link, compose(X, pose(*c)));
    } else if (tag == "geom") {
      read_geom(*c, link, X, weighs);
    } else if (tag == "site") {
      RobotFrame frame;
      frame.name = unique(site_names_, *c, "site",
                          robot_.links[static_cast<std::size_t>(link)].name + "_site");
      frame.link = link;
      frame.X_LF = compose(X, pose(*c));
      robot_.frames.push_back(std::move(frame));
    } else if (tag == "inertial") {
      if (!weighs) read_inertial(*c, robot_.links[static_cast<std::size_t>(link)]);
    } else if (tag != "joint" && tag != "freejoint" && tag != "camera" && tag != "light") {
      xml_.ignore("<" + tag + "> in <" + e.Name() + ">");
    }
  }
}

void MjcfReader::read_body(const Element& e, Index parent, const Pose& X) {
  int depth = 0;
  for (Index p = parent; p != kNone; p = robot_.links[static_cast<std::size_t>(p)].parent) ++depth;
  if (depth > kMaxDepth) {
    xml_.problem(e, "bodies lie deeper than " + std::to_string(kMaxDepth));
    return;
  }
  if (xml_.flag(e, "mocap", false)) xml_.note("'mocap' bodies stand still");
  xml_.ignore_unknown(e, "name class childclass pos quat axisangle euler xyaxes zaxis mocap user",
                      "body frame geom site inertial joint freejoint camera light");
  const std::string name = unique(link_names_, e, "body", "body");
  const Index link = read_joints(e, name, parent, compose(X, pose(e)));
  links_[name] = link;
  read_children(e, link, Pose{});
  RobotLink& body = robot_.links[static_cast<std::size_t>(link)];
  if (body.mass > 0 && body.mass < compiler_.bound_mass) body.mass = compiler_.bound_mass;
  if (compiler_.bound_inertia > 0)
    for (int i = 0; i < 3; ++i)
      body.inertia(i, i) = std::max(body.inertia(i, i), compiler_.bound_inertia);
}

/// The links of a body, one for each of its joints; returns the last, which has its matter.
Index MjcfReader::read_joints(const Element& e, const std::string& body, Index parent,
                              const Pose& X) {
  std::vector<const Element*> elements;
  std::vector<RobotJoint> joints;
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
    const std::string tag = c->Name();
    if (tag != "joint" && tag != "freejoint") continue;
    elements.push_back(c);
    joints.push_back(read_joint(*c, body, elements.size()));
  }
  for (std::size_t i = 0; i < joints.size(); ++i)
    if (joints[i].motion == RobotMotion::Free && (joints.size() > 1 || parent != 0))
      xml_.problem(*elements[i], "a free joint must be the only one of a body in <worldbody>");
  const bool planar = is_planar(joints);
  if (planar) {
    joints[2].motion = RobotMotion::Planar;
    joint_order_.insert(joint_order_.end(), 3, "");
    joints = {joints[2]};
  }
  Index at = parent;
  const std::size_t count = std::max<std::size_t>(joints.size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    RobotLink link;
    const bool last = i + 1 == count;
    link.name = last ? body : body + "/" + joints[i].name;
    link.line = e.GetLineNum();
    link.parent = at;
    if (i < joints.size()) {
      link.joint = joints[i];
      const RobotJoint& j = joints[i];
      if (j.has_coordinate()) joint_order_.push_back(j.name);
      const int hidden = j.motion == RobotMotion::Free ? 7 : j.motion == RobotMotion::Ball ? 4 : 0;
      for (int k = 0; k < hidden; ++k) joint_order_.emplace_back();
    }
    // The file has the body at `usual`; our frame is where the coordinate is zero.
    RobotJoint back = link.joint;
    back.X_PL = i == 0 ? X : Pose{};
    back.start = -back.usual;
    link.joint.X_PL = link_in_parent(back);
    at = static_cast<Index>(robot_.links.size());
    robot_.links.push_back(std::move(link));
  }
  return at;
}

bool MjcfReader::is_planar(const std::vector<RobotJoint>& j) const {
  if (j.size() != 3 || j[0].motion != RobotMotion::Slide || j[1].motion != RobotMotion::Slide ||
      j[2].motion != RobotMotion::Hinge)
    return false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (j[i].lower || j[i].upper || j[i].stiffness != 0 || j[i].damping != 0 ||
        j[i].armature != 0 || j[i].dry_friction != 0 || driven_.contains(j[i].name))
      return false;
  }
  const double tolerance = 1e-9;
  return std::abs(j[0].axis.dot(j[1].axis)) < tolerance &&
         std::abs(j[0].axis.dot(j[2].axis)) < tolerance &&
         std::abs(j[1].axis.dot(j[2].axis)) < tolerance;
}

RobotJoint MjcfReader::read_joint(const Element& e, const std::string& body, std::size_t number) {
  RobotJoint joint;
  joint.line = e.GetLineNum();
  joint.name = unique(joint_names_, e, "joint", body + "_joint" + std::to_string(number));
  const std::string type =
      std::string(e.Name()) == "freejoint" ? "free" : xml_.text_or(e, "type", "hinge");
  static const std::map<std::string, RobotMotion> types = {{"hinge", RobotMotion::Hinge},
                                                           {"slide", RobotMotion::Slide},
                                                           {"ball", RobotMotion::Ball},
                                                           {"free", RobotMotion::Free}};
  const auto known = types.find(type);
  if (known == types.end())
    xml_.problem(e, "joint '" + joint.name + "': unknown type '" + type +
                        "'; allowed: hinge, slide, ball, free");
  joint.motion = known == types.end() ? RobotMotion::Hinge : known->second;
  const Vec3 axis = xml_.vector(e, "axis", Vec3::UnitZ());
  if (axis.norm() > 1e-9)
    joint.axis = axis.normalized();
  else
    xml_.problem(e, "the axis of joint '" + joint.name + "' must not be zero");
  joint.anchor = xml_.vector(e, "pos", Vec3::Zero());
  read_spring(e, joint);
  xml_.ignore_unknown(
      e,
      "name class type pos axis range limited stiffness springref ref damping frictionloss "
      "armature actuatorfrcrange actuatorfrclimited group user springdamper " +
          std::string(kSoft),
      "");
  return joint;
}

void MjcfReader::read_spring(const Element& e, RobotJoint& joint) {
  const auto amount = [&](const char* name) {
    const double x = xml_.number_or(e, name, 0);
    if (x < 0)
      xml_.problem(e, "'" + std::string(name) + "' of joint '" + joint.name +
                          "' must be >= 0, found " + to_text(x));
    return std::max(x, 0.0);
  };
  const bool hinge = joint.motion == RobotMotion::Hinge;
  const auto turn = [&](double x) { return hinge ? angle(x) : x; };
  joint.damping = xml_.number_or(e, "damping", 0);
  if (joint.damping < 0) {  // it would drive the joint
    xml_.ignore("negative damping");
    joint.damping = 0;
  }
  joint.dry_friction = amount("frictionloss");
  joint.armature = amount("armature");
  joint.stiffness = amount("stiffness");
  joint.rest = turn(xml_.number_or(e, "springref", 0));
  if (!joint.has_coordinate()) {
    if (joint.damping + joint.dry_friction + joint.armature + joint.stiffness > 0)
      xml_.ignore("damping, friction, armature and stiffness of ball and free joints");
    if (e.Attribute("range") != nullptr && joint.motion == RobotMotion::Ball)
      xml_.ignore("limits of ball joints");
    joint.damping = joint.dry_friction = joint.armature = joint.stiffness = 0;
    return;
  }
  joint.usual = turn(xml_.number_or(e, "ref", 0));
  const auto limited = [&](const char* flag, const char* range) {
    const std::string word = xml_.text_or(e, flag, "auto");
    return word == "true" ||
           (word == "auto" && compiler_.auto_limits && e.Attribute(range) != nullptr);
  };
  if (limited("limited", "range")) {
    const std::vector<double> x = xml_.numbers(e, "range", 2, 2);
    if (x.size() == 2 && x[0] < x[1]) {
      joint.lower = turn(x[0]);
      joint.upper = turn(x[1]);
    } else if (x.size() == 2) {
      xml_.problem(e, "joint '" + joint.name + "': the lower limit, " + to_text(x[0]) +
                          ", must be less than the upper one, " + to_text(x[1]));
    }
  }
  if (limited("actuatorfrclimited", "actuatorfrcrange")) {
    const std::vector<double> x = xml_.numbers(e, "actuatorfrcrange", 2, 2);
    if (x.size() == 2) joint.effort = std::max(std::abs(x[0]), std::abs(x[1]));
  }
}

void add_mjcf(const RobotDescription& options, std::size_t number, ReadContext& context,
              SceneDescription& scene, const std::string* text, bool whole) {
  const std::string path =
      text != nullptr ? options.file : context.path_of(options.where, options.file);
  std::string own;
  try {
    if (text == nullptr) own = read_regular_file(path, kMaxRobotFile);
  } catch (const Error& error) {
    throw Error(options.where.text(), error.what());
  }
  XmlReader xml(path);
  MjcfReader reader(options, context, xml);
  Robot robot = reader.read(text != nullptr ? *text : own, scene);
  auto posture = reader.posture();
  for (const auto& [name, value] : options.posture.values) posture.emplace_back(name, value);
  if (whole) scene.step.h = reader.timestep();
  add_robot(std::move(robot), posture, options, number, xml, context, scene);
}

}  // namespace orthant::io
