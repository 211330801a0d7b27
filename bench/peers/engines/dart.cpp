// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/dart.cpp: DART.
// Variants: dantzig (the default boxed-LCP solver, ODE's collision detection), pgs. Of two
// bodies it takes the smaller friction, and here both have the same.
#include <dart/collision/ode/ode.hpp>
#include <dart/dart.hpp>

#include "engine.hpp"

namespace orthant::peers {

const char* const kEngineName = "dart";

namespace {

namespace dd = dart::dynamics;

class Dart : public Engine {
 public:
  Dart(const scenes::Scene& scene, std::string_view variant) : parts_(parts_of(scene)) {
    if (variant != "dantzig" && variant != "pgs")
      throw Error("variant", "dantzig or pgs, not '" + std::string(variant) + "'");
    const double* g = scene.parameters.values.data() + scene.model.gravity();
    world_->setTimeStep(scene.settings.h);
    world_->setGravity(Vec3(g[0], g[1], g[2]));
    if (variant == "pgs") {
      world_->setConstraintSolver(std::make_unique<dart::constraint::BoxedLcpConstraintSolver>(
          std::make_shared<dart::constraint::PgsBoxedLcpSolver>()));
    }
    auto* solver = world_->getConstraintSolver();
    solver->setCollisionDetector(dart::collision::OdeCollisionDetector::create());
    solver->getCollisionOption().maxNumContacts = 200000;
    for (const Part& part : parts_) add(part);
    if (chain_) world_->addSkeleton(chain_);
  }

  void step() override { world_->step(); }
  void read(State& state) override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (nodes_[i] == nullptr) continue;
      const Eigen::Isometry3d& X = nodes_[i]->getTransform();
      write_body(*parts_[i].body, X.translation(), X.linear(), nodes_[i]->getLinearVelocity(),
                 nodes_[i]->getAngularVelocity(), state);
    }
  }
  int contacts() override {
    return static_cast<int>(
        world_->getConstraintSolver()->getLastCollisionResult().getNumContacts());
  }

 private:
  static dd::ShapePtr shape_of(const Part& part) {
    const std::span<const double> size = part.shape->parameters();
    if (part.shape->kind() == ShapeKind::HalfSpace) {
      const Plane plane = plane_of(part);
      return std::make_shared<dd::PlaneShape>(plane.normal, plane.offset);
    }
    if (part.shape->kind() == ShapeKind::Sphere) return std::make_shared<dd::SphereShape>(size[0]);
    return std::make_shared<dd::BoxShape>(2 * Vec3(size[0], size[1], size[2]));
  }

  /// The node with the joint that the part has: free, along z, or a ball joint on its parent.
  dd::BodyNode* node_of(const Part& part, const dd::SkeletonPtr& skeleton) {
    if (part.ball != nullptr) {
      dd::BallJoint::Properties joint;
      joint.mName = "joint" + std::to_string(nodes_.size());
      joint.mT_ChildBodyToJoint.translation() = part.anchor - part.position;
      dd::BodyNode* parent = part.parent < 0 ? nullptr : nodes_[std::size_t(part.parent)];
      joint.mT_ParentBodyToJoint.translation() =
          parent == nullptr ? part.anchor
                            : Vec3(part.anchor - parts_[std::size_t(part.parent)].position);
      return skeleton->createJointAndBodyNodePair<dd::BallJoint>(parent, joint).second;
    }
    if (part.vertical_only) {
      dd::PrismaticJoint::Properties joint;
      joint.mAxis = Vec3::UnitZ();
      joint.mT_ParentBodyToJoint.translation() = part.position;
      return skeleton->createJointAndBodyNodePair<dd::PrismaticJoint>(nullptr, joint).second;
    }
    const auto pair = skeleton->createJointAndBodyNodePair<dd::FreeJoint>();
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() = part.position;
    X.linear() = part.rotation;
    pair.first->setTransform(X);
    pair.first->setLinearVelocity(part.velocity);
    return pair.second;
  }

  void add(const Part& part) {
    nodes_.push_back(nullptr);
    const bool moves = part.body->is_dynamic();
    dd::SkeletonPtr skeleton;
    if (part.ball != nullptr) {
      if (!chain_) chain_ = dd::Skeleton::create("chain");
      skeleton = chain_;
    } else {
      skeleton = dd::Skeleton::create(part.body->name);
    }
    dd::BodyNode* node = moves ? node_of(part, skeleton)
                               : skeleton->createJointAndBodyNodePair<dd::WeldJoint>().second;
    if (part.collides) {
      auto* shape =
          node->createShapeNodeWith<dd::CollisionAspect, dd::DynamicsAspect>(shape_of(part));
      shape->getDynamicsAspect()->setFrictionCoeff(part.friction);
      shape->getDynamicsAspect()->setRestitutionCoeff(0);
    }
    if (moves) {
      dd::Inertia inertia;
      inertia.setMass(part.mass);
      inertia.setMoment(Mat3(part.inertia.asDiagonal()));
      node->setInertia(inertia);
      nodes_.back() = node;
    } else {
      skeleton->setMobile(false);
    }
    if (part.ball == nullptr) world_->addSkeleton(skeleton);
  }

  std::vector<Part> parts_;
  std::vector<dd::BodyNode*> nodes_;
  dd::SkeletonPtr chain_;
  dart::simulation::WorldPtr world_ = dart::simulation::World::create();
};

}  // namespace

std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant) {
  return std::make_unique<Dart>(scene, variant);
}

}  // namespace orthant::peers
