// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/ode.cpp: Open Dynamics Engine.
// Variants: quick (dWorldQuickStep, 20 iterations, the default), quick50, dantzig (dWorldStep).
// Friction is its pyramid scaled by the normal force (dContactApprox1).
#include <ode/ode.h>

#include "engine.hpp"

namespace orthant::peers {

const char* const kEngineName = "ode";

namespace {

constexpr int kContactsAPair = 16;

class Ode : public Engine {
 public:
  Ode(const scenes::Scene& scene, std::string_view variant)
      : parts_(parts_of(scene)), h_(scene.settings.h), dantzig_(variant == "dantzig") {
    if (variant != "quick" && variant != "quick50" && !dantzig_)
      throw Error("variant", "quick, quick50 or dantzig, not '" + std::string(variant) + "'");
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    world_ = dWorldCreate();
    space_ = dHashSpaceCreate(nullptr);
    dHashSpaceSetLevels(space_, -5, 3);
    contact_joints_ = dJointGroupCreate(0);
    const double* g = scene.parameters.values.data() + scene.model.gravity();
    dWorldSetGravity(world_, g[0], g[1], g[2]);
    if (variant == "quick50") dWorldSetQuickStepNumIterations(world_, 50);
    for (const Part& part : parts_) add(part);
  }

  void step() override {
    contacts_ = 0;
    dSpaceCollide(space_, this, &near);
    if (dantzig_) {
      dWorldStep(world_, h_);
    } else {
      dWorldQuickStep(world_, h_);
    }
    dJointGroupEmpty(contact_joints_);
  }

  void read(State& state) override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (bodies_[i] == nullptr) continue;
      const dReal* R = dBodyGetRotation(bodies_[i]);  // rows of four
      Mat3 rotation;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) rotation(r, c) = R[4 * r + c];
      write_body(*parts_[i].body, vector(dBodyGetPosition(bodies_[i])), rotation,
                 vector(dBodyGetLinearVel(bodies_[i])), vector(dBodyGetAngularVel(bodies_[i])),
                 state);
    }
  }
  int contacts() override { return contacts_; }

 private:
  static Vec3 vector(const dReal* x) { return {x[0], x[1], x[2]}; }

  void add(const Part& part) {
    bodies_.push_back(nullptr);
    dGeomID geom = nullptr;
    const std::span<const double> size = part.shape->parameters();
    if (part.shape->kind() == ShapeKind::HalfSpace) {
      const Plane plane = plane_of(part);
      geom = dCreatePlane(space_, plane.normal[0], plane.normal[1], plane.normal[2], plane.offset);
    } else if (part.collides) {
      geom = part.shape->kind() == ShapeKind::Sphere
                 ? dCreateSphere(space_, size[0])
                 : dCreateBox(space_, 2 * size[0], 2 * size[1], 2 * size[2]);
    }
    friction_ = std::max(friction_, part.friction);
    if (!part.body->is_dynamic()) return;
    dBodyID body = bodies_.back() = dBodyCreate(world_);
    dMass mass;
    dMassSetParameters(&mass, part.mass, 0, 0, 0, part.inertia[0], part.inertia[1], part.inertia[2],
                       0, 0, 0);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, part.position[0], part.position[1], part.position[2]);
    dMatrix3 R = {};
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) R[4 * r + c] = part.rotation(r, c);
    dBodySetRotation(body, R);
    dBodySetLinearVel(body, part.velocity[0], part.velocity[1], part.velocity[2]);
    if (geom != nullptr) dGeomSetBody(geom, body);
    if (part.vertical_only) {
      const dJointID joint = dJointCreateSlider(world_, nullptr);
      dJointAttach(joint, body, nullptr);
      dJointSetSliderAxis(joint, 0, 0, 1);
    }
    if (part.ball != nullptr) {
      const dJointID joint = dJointCreateBall(world_, nullptr);
      dJointAttach(joint, body, part.parent < 0 ? nullptr : bodies_[std::size_t(part.parent)]);
      dJointSetBallAnchor(joint, part.anchor[0], part.anchor[1], part.anchor[2]);
    }
  }

  static void near(void* self, dGeomID a, dGeomID b) {
    Ode& ode = *static_cast<Ode*>(self);
    const dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    if (body_a == nullptr && body_b == nullptr) return;
    dContact contact[kContactsAPair];
    const int count = dCollide(a, b, kContactsAPair, &contact[0].geom, sizeof(dContact));
    for (int i = 0; i < count; ++i) {
      contact[i].surface = {};
      contact[i].surface.mode = dContactApprox1;
      contact[i].surface.mu = ode.friction_;
      dJointAttach(dJointCreateContact(ode.world_, ode.contact_joints_, &contact[i]), body_a,
                   body_b);
    }
    ode.contacts_ += count;
  }

  std::vector<Part> parts_;
  double h_;
  bool dantzig_;
  dWorldID world_ = nullptr;
  dSpaceID space_ = nullptr;
  dJointGroupID contact_joints_ = nullptr;
  std::vector<dBodyID> bodies_;
  double friction_ = 0;
  int contacts_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant) {
  return std::make_unique<Ode>(scene, variant);
}

}  // namespace orthant::peers
