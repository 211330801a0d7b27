// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/engine.hpp: one of our scenes, run by another engine.
// An adapter reads bodies, shapes, joints and friction from the scene and gives back poses and
// velocities; every measurement is made from those (peer.cpp), never by the engine itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/error.hpp"
#include "orthant/model/model.hpp"
#include "scenes/scenes.hpp"

namespace orthant::peers {

class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  virtual void step() = 0;
  /// Processor time of the last step; `measured` is that of this process.
  virtual double step_seconds(double measured) { return measured; }
  /// Poses and velocities of the dynamic bodies; the rest of `state` stays.
  virtual void read(State& state) = 0;
  /// Contact points of the last step, by the engine's own count.
  virtual int contacts() = 0;
  /// The engine's own words on what went wrong, or the residual it reached; may be empty.
  virtual std::string note() { return {}; }
};

/// Each program defines its own. `variant`: the settings by name, see the head of the adapter;
/// throws Error with the names there are.
std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant);
extern const char* const kEngineName;

/// What the adapters need of a body: the scenes have one shape per body, centred.
struct Part {
  const Body* body = nullptr;
  const Shape* shape = nullptr;
  Vec3 position = Vec3::Zero();
  Mat3 rotation = Mat3::Identity();
  Vec3 velocity = Vec3::Zero();
  double mass = 0;
  Vec3 inertia = Vec3::Zero();  ///< diagonal, body axes
  double friction = 0;
  bool collides = true;
  bool vertical_only = false;   ///< held by a prismatic joint to the world, along z
  const Joint* ball = nullptr;  ///< joint to `parent` or to the world
  int parent = -1;              ///< place in the list, -1: the world
  Vec3 anchor = Vec3::Zero();   ///< of the ball joint, world
};
std::vector<Part> parts_of(const scenes::Scene& scene);

/// Outward normal and offset of a half-space n·x <= d.
struct Plane {
  Vec3 normal;
  double offset;
};
inline Plane plane_of(const Part& part) {
  const Vec3 n = part.rotation.col(2);
  return {n, n.dot(part.position)};
}

/// Writes one body of the state; orientation as a rotation matrix.
void write_body(const Body& body, const Vec3& position, const Mat3& rotation, const Vec3& linear,
                const Vec3& angular, State& state);

}  // namespace orthant::peers
