// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/bullet.cpp: Bullet, in double precision.
// Variants: si10 (sequential impulses, 10 iterations, the default), si50, dantzig (btMLCPSolver).
// Sleeping is off. It multiplies the friction of two bodies, so each gets the root.
#include <btBulletDynamicsCommon.h>

#include <BulletDynamics/MLCPSolvers/btDantzigSolver.h>
#include <BulletDynamics/MLCPSolvers/btMLCPSolver.h>

#include "engine.hpp"

namespace orthant::peers {

const char* const kEngineName = "bullet";

namespace {

btVector3 to_bullet(const Vec3& v) { return {v[0], v[1], v[2]}; }
Vec3 from_bullet(const btVector3& v) { return {v.x(), v.y(), v.z()}; }

class Bullet : public Engine {
 public:
  Bullet(const scenes::Scene& scene, std::string_view variant)
      : parts_(parts_of(scene)), h_(scene.settings.h) {
    if (variant != "si10" && variant != "si50" && variant != "dantzig")
      throw Error("variant", "si10, si50 or dantzig, not '" + std::string(variant) + "'");
    if (variant == "dantzig") {
      solver_ = std::make_unique<btMLCPSolver>(&pivoting_);
    } else {
      solver_ = std::make_unique<btSequentialImpulseConstraintSolver>();
    }
    world_ = std::make_unique<btDiscreteDynamicsWorld>(&dispatcher_, &broad_phase_, solver_.get(),
                                                       &configuration_);
    const double* g = scene.parameters.values.data() + scene.model.gravity();
    world_->setGravity({g[0], g[1], g[2]});
    if (variant == "si50") world_->getSolverInfo().m_numIterations = 50;
    if (variant == "dantzig") world_->getSolverInfo().m_minimumSolverBatchSize = 1;
    for (const Part& part : parts_) add(part);
  }
  ~Bullet() override {
    for (const auto& joint : joints_) world_->removeConstraint(joint.get());
    for (const auto& body : bodies_) world_->removeRigidBody(body.get());
  }

  void step() override { world_->stepSimulation(h_, 0); }
  void read(State& state) override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].body->is_dynamic()) continue;
      const btRigidBody& body = *bodies_[i];
      const btTransform& X = body.getCenterOfMassTransform();
      Mat3 rotation;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) rotation(r, c) = X.getBasis()[r][c];
      write_body(*parts_[i].body, from_bullet(X.getOrigin()), rotation,
                 from_bullet(body.getLinearVelocity()), from_bullet(body.getAngularVelocity()),
                 state);
    }
  }
  int contacts() override {
    int count = 0;
    for (int i = 0; i < dispatcher_.getNumManifolds(); ++i)
      count += dispatcher_.getManifoldByIndexInternal(i)->getNumContacts();
    return count;
  }

 private:
  void add(const Part& part) {
    const std::span<const double> size = part.shape->parameters();
    btTransform X;
    X.setOrigin(to_bullet(part.position));
    const Mat3& R = part.rotation;
    X.setBasis({R(0, 0), R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1), R(2, 2)});
    if (part.shape->kind() == ShapeKind::HalfSpace) {
      const Plane plane = plane_of(part);
      shapes_.push_back(
          std::make_unique<btStaticPlaneShape>(to_bullet(plane.normal), plane.offset));
      X.setIdentity();
    } else if (part.shape->kind() == ShapeKind::Sphere) {
      shapes_.push_back(std::make_unique<btSphereShape>(size[0]));
    } else {
      shapes_.push_back(std::make_unique<btBoxShape>(btVector3(size[0], size[1], size[2])));
    }
    btRigidBody::btRigidBodyConstructionInfo info(part.mass, nullptr, shapes_.back().get(),
                                                  to_bullet(part.inertia));
    info.m_startWorldTransform = X;
    info.m_friction = std::sqrt(part.friction);
    bodies_.push_back(std::make_unique<btRigidBody>(info));
    btRigidBody& body = *bodies_.back();
    body.setActivationState(DISABLE_DEACTIVATION);
    body.setLinearVelocity(to_bullet(part.velocity));
    if (part.vertical_only) {
      body.setLinearFactor({0, 0, 1});
      body.setAngularFactor({0, 0, 0});
    }
    if (part.collides) {
      world_->addRigidBody(&body);
    } else {
      world_->addRigidBody(&body, 0, 0);
    }
    if (part.ball == nullptr) return;
    const btVector3 here = to_bullet(part.anchor - part.position);
    if (part.parent < 0) {
      joints_.push_back(std::make_unique<btPoint2PointConstraint>(body, here));
    } else {
      const std::size_t parent = static_cast<std::size_t>(part.parent);
      joints_.push_back(std::make_unique<btPoint2PointConstraint>(
          *bodies_[parent], body, to_bullet(part.anchor - parts_[parent].position), here));
    }
    world_->addConstraint(joints_.back().get(), true);
  }

  std::vector<Part> parts_;
  double h_;
  btDefaultCollisionConfiguration configuration_;
  btCollisionDispatcher dispatcher_{&configuration_};
  btDbvtBroadphase broad_phase_;
  btDantzigSolver pivoting_;
  std::unique_ptr<btSequentialImpulseConstraintSolver> solver_;
  std::unique_ptr<btDiscreteDynamicsWorld> world_;
  std::vector<std::unique_ptr<btCollisionShape>> shapes_;
  std::vector<std::unique_ptr<btRigidBody>> bodies_;
  std::vector<std::unique_ptr<btPoint2PointConstraint>> joints_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant) {
  return std::make_unique<Bullet>(scene, variant);
}

}  // namespace orthant::peers
