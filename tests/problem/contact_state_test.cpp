// SPDX-License-Identifier: Apache-2.0
// The one judge of sets: stick, slide, separate, and the borders between them.
#include "orthant/problem/contact_state.hpp"

#include <gtest/gtest.h>

namespace orthant {
namespace {

constexpr double kTolerance = 1e-8;

TEST(ContactState, RegionsOfACone) {
  const Law law = Law::coulomb(3, 0.5);
  const auto state = [&](double n, double t, double s) {
    const double z[3] = {n, t, s};
    return classify_cone(law, z, 1, kTolerance).state;
  };
  EXPECT_EQ(state(1, 0.2, 0.3), ContactState::Stick);
  EXPECT_EQ(state(1, 0.6, 0.3), ContactState::Slide);
  EXPECT_EQ(state(-1, 0.2, 0.1), ContactState::Separate);
  EXPECT_EQ(state(1, 0.3, 0.4), ContactState::Floating);      // on the mantle
  EXPECT_EQ(state(-0.25, 0.3, 0.4), ContactState::Floating);  // on the polar cone
  EXPECT_EQ(state(0, 0, 0), ContactState::Floating);
  const double z[3] = {1, 0.3, 0};
  EXPECT_NEAR(classify_cone(law, z, 2, kTolerance).margin, 0.1, 1e-15);
}

// Where a contact rolls it pushes with more than z_n, and sticks by that.
TEST(ContactState, GroupsOfRollingFriction) {
  const Law law = Law::rolling(3, 0.5, 0.1);  // in the plane: normal, tangent, turn
  const auto state = [](const Law& of, double n, double t, double r) {
    const double z[3] = {n, t, r};
    return classify_cone(of, z, 1, kTolerance).state;
  };
  const double turn = 1.11, normal = (1 + 0.1 * turn) / 1.01;  // λ_n of z = (1, ., 1.11)
  EXPECT_EQ(state(law, 1, 0.5 * normal, turn), ContactState::Floating);
  EXPECT_EQ(state(law, 1, 0.5, turn), ContactState::Slide);
  EXPECT_EQ(state(law, 1, 0.5, 0.01), ContactState::Floating);
  EXPECT_EQ(state(Law::rolling(3, 0, 0.1), 1, 0, 0.01), ContactState::Stick);
  EXPECT_EQ(state(Law::rolling(3, 0, 0.1), 1, 0.2, 0.01), ContactState::Slide);
  EXPECT_EQ(state(Law::rolling(3, 0, 0.1), 1, 0, 0.1), ContactState::Floating);
}

TEST(ContactState, EntriesOfSeparableLaws) {
  const auto state = [](const Law& law, double z) {
    return classify_entry(law, z, 1, kTolerance).state;
  };
  EXPECT_EQ(state(Law::orthant(), 0.1), ContactState::Stick);
  EXPECT_EQ(state(Law::orthant(), -0.1), ContactState::Separate);
  EXPECT_EQ(state(Law::orthant(), 1e-9), ContactState::Floating);
  EXPECT_EQ(state(Law::box(-1, 2), 1.5), ContactState::Stick);
  EXPECT_EQ(state(Law::box(-1, 2), 2), ContactState::Floating);
  EXPECT_EQ(state(Law::box(-1, 2), -3), ContactState::Separate);
  EXPECT_EQ(state(Law::free(), 0), ContactState::Stick);
  EXPECT_EQ(state(Law::zero(), 1), ContactState::Separate);
}

TEST(ContactState, WhatIsReadOffAContact) {
  ContactMeasure c{.normal = 2, .tangent = 0.5, .friction = 0.5, .impulse = 2, .speed = 1};
  EXPECT_EQ(classify(c), ContactState::Stick);
  c.tangent = 1;  // on the cone, and at rest
  EXPECT_EQ(classify(c), ContactState::Floating);
  c.slip = 0.01;
  EXPECT_EQ(classify(c), ContactState::Slide);
  c.friction = 0;
  EXPECT_EQ(classify(c), ContactState::Slide);
  c.normal = 0;
  EXPECT_EQ(classify(c), ContactState::Separate);
}

}  // namespace
}  // namespace orthant
