// SPDX-License-Identifier: Apache-2.0
// Contacts of a model: what is listed, in which order, and what is not.
#include "orthant/collision/collision.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "collision/changed_contacts.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/no_alloc.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

BodySpec ball(const std::string& name, const Vec3& at, double radius) {
  return {.name = name, .position = at, .shapes = {{.shape = Shape::sphere(radius)}}};
}

BodySpec floor_body() {
  return {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}};
}

ContactSet contacts_of(const Model& model, std::span<const BodyMotion> motion = {}) {
  CollisionWorkspace work;
  ContactSet set;
  find_contacts(model, model.default_parameters(), model.rest_state().q, motion, {}, work, set);
  return set;
}

/// Spheres and boxes of many sizes thrown into a heap, with a floor and a wall.
Model heap(std::uint64_t seed, int count) {
  SplitMix random(seed);
  ModelBuilder builder;
  for (int i = 0; i < count; ++i) {
    const double size = random.log_uniform(0.05, 0.5);
    const Vec3 at(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(0, 2));
    const Vec3 turn(random.normal(), random.normal(), random.normal());
    BodySpec spec{
        .name = "body" + std::to_string(i), .position = at, .orientation = exp_rotation(turn)};
    spec.shapes.push_back(
        {.shape = i % 2 == 0 ? Shape::sphere(size) : Shape::box(size, 0.7 * size, 0.5 * size)});
    if (i % 5 == 0)
      spec.shapes.push_back({.shape = Shape::sphere(size), .offset = {Vec3(size, 0, 0), {}}});
    builder.add_body(spec);
    if (i == count / 2) builder.add_body(floor_body());  // half-spaces are last in no list
  }
  return builder.build();
}

TEST(Collision, PairsOfChangedBodiesAreThoseOfAllPairs) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Model model = heap(seed, 60);
    SplitMix random(seed + 100);
    std::vector<unsigned char> changed(model.bodies().size());
    for (unsigned char& c : changed) c = random.uniform() < 0.2;
    ContactSet expected = contacts_of(model), found;
    std::erase_if(expected.contacts, [&](const Contact& c) {
      const auto marked = [&](BodyId id) {
        return changed[index_of(id)] != 0 && model.body(id).is_dynamic();
      };
      return !marked(c.body_a) && !marked(c.body_b);
    });
    CollisionWorkspace work;
    find_changed_contacts(model, model.default_parameters(), model.rest_state().q, {}, {changed},
                          {}, work, found);
    ASSERT_GT(expected.contacts.size(), 5u);
    ASSERT_EQ(found.contacts.size(), expected.contacts.size());
    for (std::size_t i = 0; i < found.contacts.size(); ++i) {
      EXPECT_EQ(found.contacts[i].key, expected.contacts[i].key);
      EXPECT_EQ(found.contacts[i].gap, expected.contacts[i].gap);
    }
  }
}

TEST(Collision, ListsWhatAllPairsOfShapesGive) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Model model = heap(seed, 60);
    const Parameters parameters = model.default_parameters();
    const State state = model.rest_state();
    const ContactSet set = contacts_of(model);
    std::size_t touching = 0;
    for (const ShapeInstance& a : model.shapes()) {
      for (const ShapeInstance& b : model.shapes()) {
        if (!(a.id < b.id) || model.excluded(a.id, b.id)) continue;
        const double gap = shape_distance(model, parameters, state.q, a.id, b.id).gap;
        const double margin = 0.1 * std::min(shape_size(model, parameters, a.id),
                                             shape_size(model, parameters, b.id));
        if (std::abs(gap - margin) < 1e-9) continue;
        const bool listed =
            std::any_of(set.contacts.begin(), set.contacts.end(), [&](const Contact& c) {
              return (c.shape_a == a.id && c.shape_b == b.id) ||
                     (c.shape_a == b.id && c.shape_b == a.id);
            });
        EXPECT_EQ(listed, gap < margin) << a.name << " " << b.name << " gap " << gap;
        touching += listed;
      }
    }
    EXPECT_GT(touching, 50u);
  }
}

TEST(Collision, KeysAreSortedUniqueAndNormalsPointFromBToA) {
  const Model model = heap(3, 80);
  const ContactSet set = contacts_of(model);
  for (std::size_t i = 0; i < set.contacts.size(); ++i) {
    const Contact& c = set.contacts[i];
    if (i > 0) {
      EXPECT_LT(set.contacts[i - 1].key, c.key);
    }
    EXPECT_LT(c.key.body_a, c.key.body_b);
    EXPECT_EQ(c.key.body_a, model.body(c.body_a).uid);
    EXPECT_EQ(c.key.body_b, model.body(c.body_b).uid);
    EXPECT_NEAR(c.normal.norm(), 1, 1e-12);
    EXPECT_NEAR((c.point_a - c.point_b).dot(c.normal), c.gap, 1e-9);
  }
}

TEST(Collision, SameBitsForTwoThreadsAndAUsedWorkspace) {
  const Model model = heap(4, 300), other = heap(5, 20);
  const ContactSet one = contacts_of(model);
  CollisionWorkspace work;
  ContactSet two;
  find_contacts(other, other.default_parameters(), other.rest_state().q, {}, {}, work, two);
  set_thread_count(2);
  find_contacts(model, model.default_parameters(), model.rest_state().q, {}, {}, work, two);
  set_thread_count(1);
  ASSERT_EQ(one.contacts.size(), two.contacts.size());
  for (std::size_t i = 0; i < one.contacts.size(); ++i) {
    EXPECT_EQ(one.contacts[i].key, two.contacts[i].key);
    EXPECT_EQ(one.contacts[i].gap, two.contacts[i].gap);
    EXPECT_EQ(one.contacts[i].normal, two.contacts[i].normal);
  }
}

TEST(Collision, DoesNotAllocateWhenWarm) {
  const Model model = heap(4, 100);
  const Parameters parameters = model.default_parameters();
  const State state = model.rest_state();
  CollisionWorkspace work;
  ContactSet set;
  find_contacts(model, parameters, state.q, {}, {}, work, set);
  const testing::NoAlloc guard;
  find_contacts(model, parameters, state.q, {}, {}, work, set);
}

/// Ellipsoids, some of two, that overlap and stand apart in a periodic box.
Model cloud_of_ellipsoids(std::uint64_t seed) {
  SplitMix random(seed);
  ModelBuilder builder;
  for (int i = 0; i < 80; ++i) {
    const Vec3 at(random.uniform(-2, 2), random.uniform(-2, 2), random.uniform(-2, 2));
    const Vec3 turn(random.normal(), random.normal(), random.normal());
    BodySpec spec{
        .name = "body" + std::to_string(i), .position = at, .orientation = exp_rotation(turn)};
    spec.shapes.push_back({.shape = Shape::ellipsoid(0.6, 0.4, 0.3)});
    if (i % 4 == 0)
      spec.shapes.push_back(
          {.shape = Shape::ellipsoid(0.3, 0.2, 0.2), .offset = {Vec3(0.5, 0, 0), {}}});
    builder.add_body(spec);
  }
  return builder.build();
}

TEST(Collision, AnyUnitNormalIsAStart) {
  const Model model = cloud_of_ellipsoids(3);
  const Parameters parameters = model.default_parameters();
  const VecX q = model.rest_state().q;
  CollisionSettings settings{.margin = 0.4, .points = ContactPoints::Deepest};
  settings.periodic = {{true, true, true}, Vec3::Constant(-2.2), Vec3::Constant(2.2)};
  CollisionWorkspace work;
  ContactSet truth, set;
  find_contacts(model, parameters, q, {}, settings, work, truth);
  ASSERT_GT(truth.contacts.size(), 100u);
  SplitMix random(9);
  for (int kind = 0; kind < 4; ++kind) {  // the right ones, near ones, any, and none for some
    std::vector<LastNormal> last;
    for (const Contact& c : truth.contacts) {
      const Vec3 other(random.normal(), random.normal(), random.normal());
      const double share = kind == 0 ? 0 : kind == 1 ? 0.05 : 10;
      if (kind < 3 || random.uniform() < 0.5)
        last.push_back({c.key, (c.normal + share * other).normalized()});
    }
    settings.last = last;
    find_contacts(model, parameters, q, {}, settings, work, set);
    ASSERT_EQ(set.contacts.size(), truth.contacts.size()) << kind;
    for (std::size_t i = 0; i < set.contacts.size(); ++i) {
      EXPECT_EQ(set.contacts[i].key, truth.contacts[i].key);
      EXPECT_NEAR(set.contacts[i].gap, truth.contacts[i].gap, 1e-12) << kind << " " << i;
    }
  }
}

TEST(Collision, AFastBodyIsSeenFromAfarAndOneThatFliesPastIsNot) {
  for (const double offset : {0.0, 0.5}) {
    ModelBuilder builder;
    builder.add_body(ball("target", Vec3(0, 0, 0), 0.1));
    builder.add_body(ball("bullet", Vec3(-1, offset, 0), 0.1));
    const Model model = builder.build();
    EXPECT_TRUE(contacts_of(model).contacts.empty());
    std::vector<BodyMotion> motion(2);
    motion[1].shift[0] = motion[1].shift[1] = Vec3(2, 0, 0);  // past the target within the step
    const ContactSet set = contacts_of(model, motion);
    EXPECT_EQ(set.contacts.size(), offset == 0 ? 1u : 0u);
    motion[0] = motion[1];  // both fly along: nothing closes
    EXPECT_TRUE(contacts_of(model, motion).contacts.empty());
  }
}

TEST(Collision, FiltersAreTheModels) {
  ModelBuilder builder;
  builder.add_body(ball("a", Vec3(0, 0, 0), 0.1));
  builder.add_body(ball("b", Vec3(0.15, 0, 0), 0.1));
  EXPECT_EQ(contacts_of(builder.build()).contacts.size(), 1u);
  builder.add_joint({.kind = JointKind::Ball, .a = "a", .b = "b"});
  EXPECT_TRUE(contacts_of(builder.build()).contacts.empty());
}

}  // namespace
}  // namespace orthant
