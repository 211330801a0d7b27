// SPDX-License-Identifier: Apache-2.0
// io/run/model_json.cpp: Model and Parameters => shapes in the frames of their bodies.
// Capsule, cylinder and cone lie along x of their shape frames, a half-space is below z = 0
// (planar: y = 0) of it.
#include "io/run/model_json.hpp"

#include <nlohmann/json.hpp>

#include "io/output/base64.hpp"
#include "io/run/drawn_meshes.hpp"
#include "io/scene/tables.hpp"
#include "orthant/shape/surface.hpp"

namespace orthant::io {
namespace {

using Json = nlohmann::ordered_json;

Json vector_json(const Vec3& x) { return {x[0], x[1], x[2]}; }
Json quat_json(const Quat& p) { return {p.w, p.x, p.y, p.z}; }

Json surface_json(const char* type, const Surface& surface) {
  return {{"type", type},
          {"vertices", base64_as<float>(surface.corners)},
          {"faces", base64_as<std::uint32_t>(surface.triangles)}};
}

Json form_json(const Shape& shape, const double* p) {
  const bool flat = shape.dim() == 2;
  Json out;
  switch (shape.kind()) {
    case ShapeKind::Sphere:
      out = {{"type", flat ? "disc" : "sphere"}, {"radius", p[0]}};
      break;
    case ShapeKind::Capsule:
      out = {{"type", flat ? "stadium" : "capsule"}, {"radius", p[0]}, {"half_length", p[1]}};
      break;
    case ShapeKind::Box:
      out = {{"type", flat ? "rectangle" : "box"}, {"half", {p[0], p[1]}}};
      if (!flat) out["half"].push_back(p[2]);
      break;
    case ShapeKind::Hull:
      if (flat) {
        const std::vector<double> corners(p, p + shape.parameter_count());
        out = {{"type", "polygon"}, {"vertices", base64_as<float>(corners)}};
        break;
      }
      [[fallthrough]];
    case ShapeKind::SuperEllipsoid:
    case ShapeKind::Mesh:
      out = surface_json(shape.kind() == ShapeKind::Mesh ? "mesh" : "hull",
                         surface_of(shape.view(p)));
      break;
    case ShapeKind::HalfSpace:
      out = {{"type", "half_space"}};
      break;
    case ShapeKind::Ellipsoid:
      out = {{"type", flat ? "ellipse" : "ellipsoid"}, {"semi_axes", {p[0], p[1]}}};
      if (!flat) out["semi_axes"].push_back(p[2]);
      break;
    case ShapeKind::Cylinder:
    case ShapeKind::Cone:
      out = {{"type", shape.kind() == ShapeKind::Cone ? "cone" : "cylinder"},
             {"radius", p[0]},
             {"half_length", p[1]}};
      break;
    case ShapeKind::Torus:
      out = {{"type", "torus"}, {"major", p[0]}, {"minor", p[1]}};
      break;
  }
  return out;
}

Json placed(Json form, const Pose& X) {
  form["position"] = vector_json(X.x);
  form["quaternion"] = quat_json(X.p);
  return form;
}

Json shape_json(const ShapeInstance& s, const double* parameters) {
  return placed(form_json(s.shape, parameters + s.parameter_begin),
                frame_pose(s.planar(), parameters + s.offset_begin));
}

Json joint_json(const Joint& joint, const double* parameters) {
  const Pose X = frame_pose(joint.planar, parameters + joint.parameter_begin);
  // The frames turn about z and slide along x.
  const Vec3 axis = joint.kind == JointKind::Prismatic ? Vec3(1, 0, 0) : Vec3(0, 0, 1);
  return {{"name", joint.name},           {"type", std::string(choice_name(joint.kind))},
          {"a", index_of(joint.a)},       {"b", index_of(joint.b)},
          {"anchor_a", vector_json(X.x)}, {"axis_a", vector_json(rotate(X.p, axis))}};
}

/// Rest shape and elements of a flexible part.
Json part_json(const FlexiblePart& part, const LoadedScene& scene) {
  std::vector<double> rest;
  for (Index i = 0; i < part.node_count; ++i) {
    const Vec3 x = node_position(part, scene.state.q, i);
    rest.insert(rest.end(), x.data(), x.data() + 3);
  }
  std::vector<std::uint32_t> elements;
  for (const auto& element : part.elements)
    for (Index c = 0; c < part.corner_count(); ++c)
      elements.push_back(static_cast<std::uint32_t>(element[static_cast<std::size_t>(c)]));
  return {{"name", part.name},
          {"dim", part.dim},
          {"node_count", part.node_count},
          {"element_count", part.element_count()},
          {"rest", base64_as<double>(rest)},
          {"elements", base64_as<std::uint32_t>(elements)}};
}

}  // namespace

std::string model_json(const LoadedScene& scene) {
  const DrawnMeshes meshes(scene.visuals);
  const Model& m = scene.model;
  const double* parameters = scene.parameters.values.data();
  Json bodies = Json::array(), joints = Json::array();
  for (std::size_t i = 0; i < m.bodies().size(); ++i) {
    const Body& body = m.bodies()[i];
    Json shapes = Json::array();
    for (Index s = body.shape_begin; s < body.shape_end; ++s)
      shapes.push_back(shape_json(m.shapes()[static_cast<std::size_t>(s)], parameters));
    Json one = {{"name", body.name}, {"fixed", body.motion == Motion::Fixed}};
    if (i < scene.colours.size() && !scene.colours[i].empty()) one["colour"] = scene.colours[i];
    one["shapes"] = std::move(shapes);
    for (std::size_t k = 0; k < scene.visuals.size(); ++k) {
      const Visual& v = scene.visuals[k];
      if (v.body != static_cast<Index>(i)) continue;
      if (!v.shape && meshes.surface(k).triangles.empty()) continue;
      Json drawn = v.shape ? form_json(*v.shape, v.shape->parameters().data())
                           : surface_json("mesh", meshes.surface(k));
      if (!v.colour.empty()) drawn["colour"] = v.colour;
      one["visuals"].push_back(placed(std::move(drawn), v.X_BV));
    }
    bodies.push_back(std::move(one));
  }
  for (const Joint& joint : m.joints()) joints.push_back(joint_json(joint, parameters));
  Json out = {{"format", "orthant-model"},  {"version", 1},          {"name", scene.name},
              {"planar", m.planar()},       {"h", scene.settings.h}, {"bodies", std::move(bodies)},
              {"joints", std::move(joints)}};
  if (!meshes.left_out().empty()) out["left_out"] = meshes.left_out();
  if (!m.flexible_parts().empty()) {
    out["parts"] = Json::array();
    for (const FlexiblePart& part : m.flexible_parts())
      out["parts"].push_back(part_json(part, scene));
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orthant::io
