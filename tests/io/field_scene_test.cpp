// SPDX-License-Identifier: Apache-2.0
// Fields and flows of scene files, against closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/io/scene.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

State play(const LoadedScene& scene, int steps) {
  State x = scene.state;
  const RolloutReport report = rollout(scene.model, scene.parameters, scene.settings, x, steps);
  EXPECT_EQ(report.failed_steps, 0);
  return x;
}

TEST(FieldScene, AFieldIsImplicitInTheStep) {
  // ξ l x' = -k x: each implicit step divides by 1 + h k / (ξ l).
  const LoadedScene scene = parse_scene(R"(orthant: 1
world: {law: overdamped, gravity: [0, 0, 0]}
bodies: [{name: ball, position: [1, -2, 3], drag: 2, length: 0.5, shapes: {type: sphere, radius: 0.1}}]
forces: [{type: field, name: trap, formula: "-3*x"}]
step: {h: 0.1}
)",
                                        "scene.yaml");
  const State x = play(scene, 10);
  const double factor = std::pow(1 + 0.1 * 3 / (2 * 0.5), -10);
  EXPECT_NEAR(x.q[0], factor, 1e-12);
  EXPECT_NEAR(x.q[1], -2 * factor, 1e-12);
  EXPECT_NEAR(x.q[2], 3 * factor, 1e-12);
}

TEST(FieldScene, OnlyTheBodiesNamedFeelIt) {
  const LoadedScene scene = parse_scene(R"(orthant: 1
world: {planar: true, gravity: [0, 0]}
bodies:
  - {name: a, position: [1, 0], mass: 2, shapes: {type: disc, radius: 0.1}}
  - {name: b, position: [3, 0], mass: 2, shapes: {type: disc, radius: 0.1}}
forces: [{type: field, name: push, formula: ["0", "4*t"], bodies: a}]
step: {h: 0.01}
)",
                                        "scene.yaml");
  const State x = play(scene, 100);
  EXPECT_NEAR(x.v[1], 1, 1e-9);  // ∫ 4 t / 2 dt, taken at the middle of each step
  EXPECT_EQ(x.v[4], 0);
}

TEST(FieldScene, AShearFlowCarriesAndTurns) {
  for (const char* planar : {"true", "false"}) {
    const bool flat = std::string(planar) == "true";
    const LoadedScene scene = parse_scene(
        std::string("orthant: 1\nworld: {planar: ") + planar + ", law: overdamped, gravity: [0, 0" +
            (flat ? "" : ", 0") + "]}\nbodies: [{name: rod, position: [0, 2" + (flat ? "" : ", 0") +
            "], drag: 3, length: 1.5, shapes: {type: " + (flat ? "disc" : "sphere") +
            ", radius: 0.2}}]\nforces: [{type: flow, name: shear, formula: [0.7*y, 0, 0]}]\nstep: "
            "{h: 0.1}\n",
        "scene.yaml");
    const State x = play(scene, 5);
    EXPECT_NEAR(x.q[0], 5 * 0.1 * 0.7 * 2, 1e-12);
    EXPECT_NEAR(x.q[1], 2, 1e-12);
    EXPECT_NEAR(x.v[flat ? 2 : 5], -0.35, 1e-12);  // half the vorticity
  }
}

TEST(FieldScene, ASlenderBodyFollowsTheFlowWhateverItsDrag) {
  const LoadedScene scene = parse_scene(R"(orthant: 1
world: {law: overdamped, gravity: [0, 0, 0]}
bodies: [{name: rod, rotation: [0, 0, 0.4], drag: 3, length: 2, shapes: {type: capsule, radius: 0.1, half_length: 0.9}}]
forces: [{type: flow, name: wind, formula: [1, 0.5, -0.25]}]
step: {h: 0.1, drag_ratio: 2}
)",
                                        "scene.yaml");
  const State x = play(scene, 3);
  EXPECT_NEAR(x.v[0], 1, 1e-12);
  EXPECT_NEAR(x.v[1], 0.5, 1e-12);
  EXPECT_NEAR(x.v[2], -0.25, 1e-12);
}

/// Jeffery (1922): the axis of a spheroid of aspect ratio a in a shear flow γ y turns at
/// -γ (a² sin²φ + cos²φ) / (a² + 1), φ its angle from the flow.
TEST(FieldScene, StrainTurnsLongBodies) {
  const double a = 5, rate = 0.7;
  for (const bool flat : {true, false})
    for (const double angle : {0.0, 0.3, 1.2, 2.5}) {
      const LoadedScene scene = parse_scene(
          "orthant: 1\nworld: {planar: " + std::string(flat ? "true" : "false") +
              ", law: overdamped, gravity: [0, 0" + (flat ? "" : ", 0") +
              "]}\nbodies: [{name: rod, drag: 3, length: 1.5, " +
              (flat ? "angle: " + std::to_string(angle)
                    : "rotation: [0, 0, " + std::to_string(angle) + "]") +
              ", shapes: {type: " + (flat ? "disc" : "sphere") +
              ", radius: 0.2}}]\nforces: [{type: flow, name: shear, formula: [0.7*y, 0, 0], "
              "aspect: 5}]\nstep: {h: 0.1}\n",
          "scene.yaml");
      const State x = play(scene, 1);
      const double s = std::sin(angle), c = std::cos(angle);
      EXPECT_NEAR(x.v[flat ? 2 : 5], -rate * (a * a * s * s + c * c) / (a * a + 1), 1e-12);
    }
}

/// Two masses on springs of no length between them are one oscillator of the reduced mass: after
/// half a period they have changed sides. Their centre stays, to the bit where F is odd.
TEST(FieldScene, BodiesAttractEachOther) {
  const LoadedScene scene = parse_scene(R"(orthant: 1
parameters: {steps: 1000}
world: {gravity: [0, 0, 0]}
bodies:
  - {name: a, position: [-1, 0, 0], mass: 2, inertia: [1, 1, 1]}
  - {name: b, position: [1, 0, 0], mass: 2, inertia: [1, 1, 1]}
  - {name: aloof, position: [0, 5, 0], mass: 1, inertia: [1, 1, 1]}
forces: [{type: pair, name: pull, formula: -4*x, bodies: [a, b]}]
step: {h: $(pi / 2 / steps)}
)",
                                        "scene.yaml");
  const State x = play(scene, 1000);  // half of 2π √(m / 2k)
  EXPECT_NEAR(x.q[0], 1, 3e-3);       // explicit: first order
  EXPECT_EQ(x.q[0], -x.q[7]);
  EXPECT_EQ(x.q[15], 5);
}

TEST(FieldScene, TheResolvedSceneIsTheSameScene) {
  const LoadedScene scene = parse_scene(R"(orthant: 1
parameters: {strength: 2}
world: {law: overdamped, gravity: [0, 0, 0]}
bodies: [{name: ball, position: [1, 2, 3], shapes: {type: sphere, radius: 0.1}}]
forces: [{type: field, name: pull, formula: "-$(strength)*x*(r - sin(r))/r^2"}]
)",
                                        "scene.yaml");
  const LoadedScene again = parse_scene(scene.resolved, "resolved.yaml");
  EXPECT_EQ(play(scene, 20).q, play(again, 20).q);
}

}  // namespace
}  // namespace orthant
