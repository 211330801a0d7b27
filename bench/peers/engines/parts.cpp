// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/parts.cpp: a scene as the adapters want it, and back.
#include "engine.hpp"

namespace orthant::peers {

std::vector<Part> parts_of(const scenes::Scene& scene) {
  const Model& model = scene.model;
  const double* values = scene.parameters.values.data();
  std::vector<Part> parts;
  for (const Body& body : model.bodies()) {
    Part part;
    part.body = &body;
    const ShapeInstance& shape = model.shapes()[static_cast<std::size_t>(body.shape_begin)];
    part.shape = &shape.shape;
    const Pose X = body_pose(body, scene.state.q.data());
    part.position = X.x;
    part.rotation = matrix_of(X.p);
    part.friction = values[model.material(shape.material).friction];
    part.collides = shape.mask != 0;
    if (body.is_dynamic()) {
      part.velocity = scene.state.v.segment<3>(body.v_begin);
      part.mass = values[body.mass];
      part.inertia = Vec3(values[body.inertia], values[body.inertia + 1], values[body.inertia + 2]);
    }
    parts.push_back(part);
  }
  for (const Joint& joint : model.joints()) {
    Part& part = parts[static_cast<std::size_t>(joint.a)];
    if (joint.kind == JointKind::Prismatic) {
      part.vertical_only = true;
    } else if (joint.kind == JointKind::Ball) {
      part.ball = &joint;
      part.parent = static_cast<int>(joint.b);  // kWorld is -1
      const Pose in_body = frame_pose(false, values + joint.parameter_begin);
      part.anchor = part.position + part.rotation * in_body.x;
    } else {
      throw Error("joint '" + joint.name + "'", "the adapters know ball and prismatic joints only");
    }
  }
  return parts;
}

void write_body(const Body& body, const Vec3& position, const Mat3& rotation, const Vec3& linear,
                const Vec3& angular, State& state) {
  const Eigen::Quaterniond p(rotation);
  state.q.segment<7>(body.q_begin) << position, p.w(), p.x(), p.y(), p.z();
  state.v.segment<6>(body.v_begin) << linear, angular;
}

}  // namespace orthant::peers
