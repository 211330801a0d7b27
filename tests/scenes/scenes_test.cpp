// SPDX-License-Identifier: Apache-2.0
// Every scene as built: valid, joints closed, nothing overlapping, what should touch does.
#include "scenes/scenes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/force/force.hpp"
#include "orthant/shape/contacts.hpp"

namespace orthant::scenes {
namespace {

struct Gaps {
  double smallest = std::numeric_limits<double>::infinity();
  int touching = 0;  // pairs of shapes closer than 1e-9
};

Gaps gaps_of(const Scene& s) {
  Gaps g;
  const auto pose = [&](const ShapeInstance& shape) {
    return shape_pose(s.model.body(shape.body), shape, s.state.q.data(),
                      s.parameters.values.data());
  };
  for (const ShapeInstance& a : s.model.shapes())
    for (const ShapeInstance& b : s.model.shapes()) {
      if (!(a.id < b.id) || s.model.excluded(a.id, b.id)) continue;
      const Pose X = pose(a), Y = pose(b);
      if ((X.x - Y.x).norm() > a.bounding_radius + b.bounding_radius + 1) continue;
      const double gap =
          distance(a.view(s.parameters.values.data()), X, b.view(s.parameters.values.data()), Y)
              .gap;
      g.smallest = std::min(g.smallest, gap);
      g.touching += gap < 1e-9;
    }
  return g;
}

class EveryScene : public ::testing::TestWithParam<SceneEntry> {};

TEST_P(EveryScene, IsWellBuilt) {
  const Scene s = GetParam().make();
  EXPECT_NO_THROW(validate(s.model, s.state));
  EXPECT_NO_THROW(validate(s.model, s.parameters));
  EXPECT_GT(s.model.dynamic_count(), 0);
  EXPECT_GT(s.steps, 0);
  EXPECT_FALSE(s.description.empty());
  EXPECT_LT(largest_joint_error(s.model, s.parameters, s.state.q, 0), 1e-14);
  EXPECT_GT(gaps_of(s).smallest, -1e-14);
}

INSTANTIATE_TEST_SUITE_P(Scenes, EveryScene,
                         ::testing::ValuesIn(registry().begin(), registry().end()),
                         [](const auto& scene) { return std::string(scene.param.name); });

TEST(Scenes, WhatStandsTouches) {
  EXPECT_EQ(gaps_of(stack(5)).touching, 5);
  EXPECT_EQ(gaps_of(stack(5, 1, 1e-4)).touching, 0);
  EXPECT_NEAR(gaps_of(stack(5, 1, 1e-4)).smallest, 1e-4, 1e-12);
  EXPECT_EQ(gaps_of(mass_ratio_stack(8)).touching, 8);
  EXPECT_EQ(gaps_of(arch(15)).touching, 16);  // 14 joints and two feet
  // Two cards a tent, in 3 + 2 + 1 tents: they touch each other and what is below (12 feet), and
  // each of the 3 flat cards lies on one card of each neighbouring tent.
  EXPECT_EQ(gaps_of(card_house(3)).touching, 6 + 12 + 6);
  EXPECT_EQ(gaps_of(planar_discs(10)).touching, 5 + 4 + 4 + 9);  // floor, rows, between the rows
  EXPECT_EQ(gaps_of(pyramid(4)).touching, 4 + 2 * 6);
  EXPECT_EQ(gaps_of(incline(26, 0.5, 45)).touching, 1);
}

TEST(Scenes, ParametersAreThoseOfTheComparison) {
  const Scene grains = spheres_in_a_box(20);
  EXPECT_NEAR(grains.parameters.get("body/grain0.mass"),
              1000 * 4.0 / 3 * std::numbers::pi * std::pow(0.035, 3), 1e-15);
  EXPECT_NEAR(chain(3).parameters.get("body/link1.mass"), 0.5, 1e-15);
  EXPECT_EQ(stack(3).parameters.get("body/cube2.mass"), 1000);
  EXPECT_NEAR(mass_ratio_stack(8, 10).parameters.get("body/sphere7.mass"), 1e7, 1e-6);
  EXPECT_EQ(planar_discs(5).parameters.get("body/disc4.inertia"), 0.125);
  const Scene given = spheres_in_a_box(500, 0.3, std::vector<Vec3>{Vec3(0, 0, 1), Vec3(0, 0, 2)});
  EXPECT_EQ(given.model.dynamic_count(), 2);
}

TEST(Scenes, HandleSpinsAboutItsMiddleAxis) {
  const Scene s = spinning_t();
  const double xx = s.parameters.get("body/handle.inertia.xx");
  const double yy = s.parameters.get("body/handle.inertia.yy");
  const double zz = s.parameters.get("body/handle.inertia.zz");
  EXPECT_LT(xx, yy);
  EXPECT_LT(yy, zz);
}

TEST(Scenes, UnknownNameSuggests) {
  EXPECT_NO_THROW((void)make_scene("stack"));
  try {
    (void)make_scene("stak");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'stack'"), std::string::npos);
  }
}

}  // namespace
}  // namespace orthant::scenes
