// SPDX-License-Identifier: Apache-2.0
// Growth and division: where the daughters lie, what stays as it was, what is refused.
#include "orthant/model/division.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

constexpr double kRadius = 0.25, kLength = 4;
const double kJitter = DivisionSettings{}.jitter;

BodySpec rod(const std::string& name, bool planar, const Vec3& position) {
  const double half = 0.5 * kLength - kRadius;
  BodySpec body;
  body.name = name;
  body.motion = planar ? Motion::Planar : Motion::Spatial;
  body.position = position;
  if (planar)
    body.angle = 0.3;
  else
    body.orientation = exp_rotation(Vec3(0.4, -0.7, 1.1));
  body.shapes.push_back(
      {.shape = planar ? Shape::stadium(kRadius, half) : Shape::capsule(kRadius, half)});
  body.drag = 3;
  body.length = kLength;
  return body;
}

/// Three parallel rods, one beside the other and touching.
struct Row {
  ModelBuilder builder;
  Model model;
  Parameters parameters;
  State state;

  explicit Row(bool planar, LawOfMotion law = LawOfMotion::Overdamped)
      : builder(described(planar, law)),
        model(builder.build()),
        parameters(model.default_parameters()),
        state(model.rest_state()) {}

  static ModelBuilder described(bool planar, LawOfMotion law) {
    ModelBuilder b;
    b.set_law(law);
    b.set_gravity(Vec3::Zero());
    const BodySpec first = rod("a", planar, Vec3::Zero());
    const Vec3 across = planar ? Vec3(-std::sin(first.angle), std::cos(first.angle), 0)
                               : rotate(first.orientation, Vec3(0, 1, 0));
    for (int i = 0; i < 3; ++i) {
      const Vec3 place = (2 * kRadius * i) * across;
      b.add_body(rod(std::string(1, static_cast<char>('a' + i)), planar, place));
    }
    return b;
  }
  BodyId id(const char* name) const { return model.find_body(name); }
  Divided split(std::vector<BodyId> bodies, const DivisionSettings& settings = {}) {
    return divide(builder, model, parameters, state, bodies, settings);
  }
};

/// A point of the axis of a body's only shape, from -1 (tip) to 1 (the other).
Vec3 on_axis(const Model& model, const Parameters& parameters, const State& x, BodyUid uid,
             double at) {
  const Body& body = model.body(model.find_uid(uid));
  const ShapeInstance& shape = model.shapes()[static_cast<std::size_t>(body.shape_begin)];
  const double* size = parameters.values.data() + shape.parameter_begin;
  return transform(shape_pose(body, shape, x.q.data(), parameters.values.data()),
                   Vec3(at * (size[0] + size[1]), 0, 0));
}

class InPlaneAndSpace : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Division, InPlaneAndSpace, ::testing::Bool(), [](const auto& one) {
  return std::string(one.param ? "Planar" : "Spatial");
});

TEST_P(InPlaneAndSpace, DaughtersCoverTheMother) {
  Row row(GetParam());
  row.state.v.setLinSpaced(0.1, 1.7);
  const Divided d = row.split({row.id("b")});
  ASSERT_EQ(d.map.size(), 1U);
  EXPECT_EQ(d.map[0].mother, 1U);
  EXPECT_EQ(d.map[0].daughters, (std::array<BodyUid, 2>{3, 4}));
  ASSERT_EQ(d.model.bodies().size(), 4U);
  EXPECT_THROW((void)d.model.find_uid(1), Error);
  EXPECT_EQ(d.model.body(d.model.find_uid(4)).name, "b/4");
  const auto mother = [&](double at) {
    return on_axis(row.model, row.parameters, row.state, 1, at);
  };
  const auto daughter = [&](BodyUid uid, double at) {
    return on_axis(d.model, d.parameters, d.state, uid, at);
  };
  EXPECT_LT((daughter(3, 0) - mother(-0.5)).norm(), 1e-14);
  EXPECT_LT((daughter(4, 0) - mother(0.5)).norm(), 1e-14);
  const double reach = 0.25 * kLength * kJitter;  // of a tip that is turned
  EXPECT_NEAR((daughter(3, -1) - mother(-1)).norm(), reach, 1e-8);
  EXPECT_NEAR((daughter(3, 1) - mother(0)).norm(), reach, 1e-8);
  EXPECT_NEAR((daughter(4, -1) - mother(0)).norm(), reach, 1e-8);
  EXPECT_NEAR((daughter(4, 1) - mother(1)).norm(), reach, 1e-8);
  for (const BodyUid uid : {3U, 4U}) {
    const std::string name = "b/" + std::to_string(uid);
    EXPECT_EQ(d.parameters.get("shape/" + name + ".radius"), kRadius);
    EXPECT_EQ(d.parameters.get("shape/" + name + ".half_length"), 0.25 * kLength - kRadius);
    EXPECT_EQ(d.parameters.get("body/" + name + ".length"), 0.5 * kLength);
    EXPECT_EQ(d.parameters.get("body/" + name + ".drag"), 3);
    EXPECT_DOUBLE_EQ(d.parameters.get("body/" + name + ".mass"),
                     0.5 * row.parameters.get("body/b.mass"));
  }
  validate(d.model, d.state);
  validate(d.model, d.parameters);
  // The builder describes it: what was born has its numbers from the description.
  const Model again = row.builder.build();
  EXPECT_TRUE(again.default_parameters().values == d.parameters.values);
  EXPECT_TRUE(again.rest_state().q == d.state.q);
}

// A body that turns about its centre goes on as two that fly apart by nothing at all: momentum is
// kept, and so is spin but for the caps.
TEST_P(InPlaneAndSpace, DaughtersMoveAsTheirHalvesDid) {
  Row row(GetParam(), LawOfMotion::Inertial);
  row.state.v.setLinSpaced(0.1, 1.7);
  const Body& b = row.model.body(row.id("b"));
  const auto twist = [](const Body& body, const State& x) {
    const double* v = x.v.data() + body.v_begin;
    return body.planar ? std::pair(Vec3(v[0], v[1], 0), Vec3(0, 0, v[2]))
                       : std::pair(Vec3(v[0], v[1], v[2]), Vec3(v[3], v[4], v[5]));
  };
  const auto [v, w] = twist(b, row.state);
  const Vec3 centre = body_pose(b, row.state.q.data()).x;
  const Divided d = row.split({row.id("b")});
  Vec3 momentum = Vec3::Zero();
  for (const BodyUid uid : d.map[0].daughters) {
    const Body& body = d.model.body(d.model.find_uid(uid));
    const auto [v_d, w_d] = twist(body, d.state);
    const Vec3 arm = body_pose(body, d.state.q.data()).x - centre;
    EXPECT_LT((v_d - v - w.cross(arm)).norm(), 1e-14);
    EXPECT_EQ(w_d, w);
    momentum += d.parameters[body.mass] * v_d;
  }
  EXPECT_LT((momentum - row.parameters[b.mass] * v).norm(), 1e-12 * momentum.norm());
}

TEST_P(InPlaneAndSpace, SurvivorsKeepEveryBit) {
  Row row(GetParam());
  row.state.v.setLinSpaced(0.1, 1.7);
  row.state.t = 7.25;
  row.state.step = 29;
  row.state.rng = {5, 6};
  row.parameters.values *= 1 + 1e-3;  // not what the builder was given
  const Divided d = row.split({row.id("b")});
  EXPECT_EQ(d.state.t, 7.25);
  EXPECT_EQ(d.state.step, 29);
  EXPECT_EQ(d.state.rng, (std::array<std::uint64_t, 2>{5, 6}));
  for (const char* name : {"a", "c"}) {
    const Body &old = row.model.body(row.id(name)), &now = d.model.body(d.model.find_body(name));
    EXPECT_EQ(old.uid, now.uid);
    EXPECT_TRUE(row.state.q.segment(old.q_begin, old.q_size) ==
                d.state.q.segment(now.q_begin, now.q_size));
    EXPECT_TRUE(row.state.v.segment(old.v_begin, old.v_size) ==
                d.state.v.segment(now.v_begin, now.v_size));
  }
  int kept = 0;
  for (Index i = 0; i < row.parameters.table->size(); ++i) {
    const std::string name = row.parameters.table->name(i);
    if (!d.parameters.table->contains(name)) continue;
    EXPECT_EQ(d.parameters.get(name), row.parameters.values[i]) << name;
    ++kept;
  }
  // All but those of the mother: mass, inertia, drag, length, radius, half length, place.
  EXPECT_EQ(kept, row.parameters.table->size() - (GetParam() ? 9 : 18));
}

TEST_P(InPlaneAndSpace, JitterIsAHashOfTheUid) {
  const auto turns = [&](const std::vector<const char*>& order, std::uint64_t key) {
    Row row(GetParam());
    std::vector<BodyId> bodies;
    bodies.reserve(order.size());
    for (const char* name : order) bodies.push_back(row.id(name));
    const Divided d = row.split(bodies, {.key = key});
    EXPECT_TRUE(std::is_sorted(d.map.begin(), d.map.end(),
                               [](const auto& x, const auto& y) { return x.mother < y.mother; }));
    return d.state.q;
  };
  const VecX reference = turns({"a", "b", "c"}, 1);
  EXPECT_TRUE(turns({"c", "a", "b"}, 1) == reference);
  EXPECT_TRUE(turns({"a", "b", "c"}, 1) == reference);
  bool any = false;
  for (const std::uint64_t key : {2U, 3U, 4U}) any |= turns({"a", "b", "c"}, key) != reference;
  EXPECT_TRUE(any);
}

TEST_P(InPlaneAndSpace, DaughtersOverlapByTheJitterAtMost) {
  Row row(GetParam());
  const Divided d = row.split({row.id("a"), row.id("b"), row.id("c")});
  CollisionWorkspace work;
  ContactSet contacts;
  find_contacts(d.model, d.parameters, d.state.q, {}, {.margin = 1}, work, contacts);
  EXPECT_GE(contacts.contacts.size(), 7U);  // three pairs of sisters, four of neighbours
  for (const Contact& c : contacts.contacts) EXPECT_GT(c.gap, -0.51 * kLength * kJitter);
}

TEST_P(InPlaneAndSpace, GrowthMultipliesTheLength) {
  Row row(GetParam());
  const Parameters before = row.parameters;
  const std::vector<BodyId> two = {row.id("c"), row.id("a")};
  grow(row.model, two, 1.5, row.parameters);
  EXPECT_DOUBLE_EQ(row.parameters.get("shape/a.half_length"), 0.75 * kLength - kRadius);
  EXPECT_DOUBLE_EQ(row.parameters.get("body/a.length"), 1.5 * kLength);
  EXPECT_DOUBLE_EQ(row.parameters.get("body/a.mass"), 1.5 * before.get("body/a.mass"));
  EXPECT_EQ(row.parameters.get("shape/a.radius"), kRadius);
  for (const char* name : {"shape/b.half_length", "body/b.length", "body/b.mass"})
    EXPECT_EQ(row.parameters.get(name), before.get(name));
  // A rod described at that length and mass has the same numbers.
  ModelBuilder longer;
  BodySpec spec = rod("a", GetParam(), Vec3::Zero());
  const double half = 0.75 * kLength - kRadius;
  spec.shapes[0].shape = GetParam() ? Shape::stadium(kRadius, half) : Shape::capsule(kRadius, half);
  spec.mass = row.parameters.get("body/a.mass");
  longer.add_body(spec);
  const Parameters direct = longer.build().default_parameters();
  for (const char* field :
       GetParam() ? std::vector{"inertia"} : std::vector{"inertia.xx", "inertia.yy", "inertia.zz"})
    EXPECT_DOUBLE_EQ(row.parameters.get(std::string("body/a.") + field),
                     direct.get(std::string("body/a.") + field));
  // Mass goes with length: a generation ends with the numbers it began with.
  grow(row.model, two, 1 / 0.75, row.parameters);
  const Divided d = row.split(two);
  EXPECT_DOUBLE_EQ(d.parameters.get("body/a/3.mass"), before.get("body/a.mass"));
  EXPECT_DOUBLE_EQ(d.parameters.get("body/a/3.length"), kLength);
}

TEST_P(InPlaneAndSpace, AStepAfterwardsConvergesAndKnowsTheContactsOfSurvivors) {
  Row row(GetParam());
  StepSettings settings;
  settings.h = 1e-3;
  settings.constraints = ConstraintScheme::Relcp;
  WarmStart warm;
  StepWorkspace work;
  const std::vector<BodyId> all = {row.id("a"), row.id("b"), row.id("c")};
  // Rods that push each other: pressed together by a little more than nothing.
  const Body& c = row.model.body(row.id("c"));
  const Body& a = row.model.body(row.id("a"));
  const Vec3 in = 1e-4 * (body_pose(a, row.state.q.data()).x - body_pose(c, row.state.q.data()).x);
  for (int i = 0; i < (GetParam() ? 2 : 3); ++i) row.state.q[c.q_begin + i] += in[i];
  grow(row.model, all, std::exp(settings.h), row.parameters);
  ASSERT_EQ(step(row.model, row.parameters, settings, {}, row.state, warm, work).outcome,
            Outcome::Converged);
  const auto of_pair = [](const WarmStart& w, BodyUid one, BodyUid other) {
    return std::count_if(w.contacts.begin(), w.contacts.end(), [&](const auto& e) {
      return e.key.body_a == one && e.key.body_b == other;
    });
  };
  ASSERT_GT(of_pair(warm, 1, 2), 0);
  const WarmStart before = warm;

  Divided d = row.split({row.id("a")});
  // Of the contacts known before, those of b and c have the same keys, and a's find nobody.
  CollisionWorkspace collision;
  ContactSet contacts;
  find_contacts(d.model, d.parameters, d.state.q, {},
                {.margin = 0.1, .points = ContactPoints::Deepest}, collision, contacts);
  bool found = false;
  for (const Contact& contact : contacts.contacts) {
    EXPECT_NE(contact.key.body_a, 0U);
    for (const auto& entry : before.contacts) found |= entry.key == contact.key;
  }
  EXPECT_TRUE(found);

  State cold_state = d.state;
  WarmStart cold;
  const StepReport report = step(d.model, d.parameters, settings, {}, d.state, warm, work);
  const StepReport from_cold = step(d.model, d.parameters, settings, {}, cold_state, cold, work);
  EXPECT_EQ(report.outcome, Outcome::Converged);
  EXPECT_EQ(from_cold.outcome, Outcome::Converged);
  EXPECT_LT((d.state.q - cold_state.q).norm(), 1e-6);
  for (const auto& entry : warm.contacts) EXPECT_NE(entry.key.body_a, 0U);
}

TEST_P(InPlaneAndSpace, GenerationsNameAndNumberTheirDaughters) {
  Row row(GetParam());
  grow(row.model, std::vector{row.id("a")}, 2, row.parameters);
  Divided d = row.split({row.id("a")});
  d = divide(row.builder, d.model, d.parameters, d.state, std::vector{d.model.find_uid(4)});
  EXPECT_EQ(d.map[0].daughters, (std::array<BodyUid, 2>{5, 6}));
  std::vector<std::string> names;
  std::vector<BodyUid> uids;
  for (const Body& body : d.model.bodies()) {
    names.push_back(body.name);
    uids.push_back(body.uid);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"b", "c", "a/3", "a/5", "a/6"}));
  EXPECT_EQ(uids, (std::vector<BodyUid>{1, 2, 3, 5, 6}));
}

TEST(Division, LeavesAllElseAlone) {
  ModelBuilder b;
  b.add_material({.name = "soft", .friction = 0.1});
  b.add_body(rod("", false, Vec3::Zero()));  // body0, and named so when its place is gone
  BodySpec turned = rod("turned", false, Vec3(0, 0, 3));
  turned.shapes[0].offset.p = exp_rotation(Vec3(0, 1, 0));
  turned.shapes[0].name = "hull";
  turned.shapes[0].material = "soft";
  b.add_body(turned);
  b.add_body({.name = "belt",
              .motion = Motion::Kinematic,
              .position = Vec3(0, 0, -9),
              .velocity = Vec3(1, 0, 0),
              .shapes = {{.shape = Shape::box(1, 1, 1)}}});
  b.add_body(rod("", false, Vec3(0, 9, 0)));  // body3
  b.add_joint({.name = "hinge", .kind = JointKind::Revolute, .a = "body3"});
  b.add_force(SpringSpec{.name = "spring", .a = "body3", .stiffness = 5});
  b.add_flexible({.name = "block",
                  .mesh = box_mesh(Vec3(1, 1, 1), 1, 1, 1),
                  .position = Vec3(20, 0, 0),
                  .velocity = Vec3(0, 2, 0)});
  const Model model = b.build();
  Parameters parameters = model.default_parameters();
  parameters.set("force/spring.stiffness", 6);
  parameters.set("material/soft.friction", 0.2);
  parameters.set("fe/block.young", 2e6);
  State x = model.rest_state();
  x.q.tail(24).array() += 0.5;  // nodes
  x.v.setLinSpaced(1, 2);
  const Divided d = divide(b, model, parameters, x,
                           std::vector{model.find_body("turned"), model.find_body("body0")});
  EXPECT_EQ(d.model.body(BodyId{1}).name, "body3");
  EXPECT_EQ(d.model.joints()[0].a, BodyId{1});
  EXPECT_EQ(d.model.shapes().back().name, "hull/7");
  EXPECT_EQ(d.parameters.get("force/spring.stiffness"), 6);
  EXPECT_EQ(d.parameters.get("material/soft.friction"), 0.2);
  EXPECT_EQ(d.parameters.get("fe/block.young"), 2e6);
  EXPECT_EQ(d.model.flexible_parts()[0].uid, model.flexible_parts()[0].uid);
  EXPECT_TRUE(d.state.q.tail(24) == x.q.tail(24));
  EXPECT_TRUE(d.state.v.tail(30) == x.v.tail(30));  // nodes, then the belt
  for (const double end : {-1.0, 1.0}) {
    const BodyUid uid = d.map[1].daughters[end < 0 ? 0 : 1];
    EXPECT_LT(
        (on_axis(d.model, d.parameters, d.state, uid, end) - on_axis(model, parameters, x, 1, end))
            .norm(),
        kLength * kJitter);
  }
}

TEST(Division, RefusesWithNothingChanged) {
  const auto refused = [](const std::function<void(ModelBuilder&)>& change,
                          const std::function<std::vector<BodyId>(const Model&)>& choose,
                          const std::vector<std::string>& words, bool growth = false) {
    ModelBuilder b;
    b.add_body(rod("rod", false, Vec3::Zero()));
    b.add_body(rod("other", false, Vec3(0, 5, 0)));
    change(b);
    const Model model = b.build();
    const Parameters parameters = model.default_parameters();
    const State x = model.rest_state();
    Parameters changed = parameters;
    try {
      if (growth)
        grow(model, choose(model), 2, changed);
      else
        (void)divide(b, model, parameters, x, choose(model));
      ADD_FAILURE() << "accepted; expected words: " << words.front();
    } catch (const Error& error) {
      const std::string what = error.what();
      for (const std::string& word : words)
        EXPECT_NE(what.find(word), std::string::npos) << "'" << word << "' not in: " << what;
    }
    EXPECT_TRUE(changed.values == parameters.values);
    const Model again = b.build();
    EXPECT_EQ(again.bodies().size(), model.bodies().size());
    EXPECT_TRUE(again.default_parameters().values == parameters.values);
  };
  const auto nothing = [](ModelBuilder&) {};
  const auto named = [](const char* name) {
    return [name](const Model& m) { return std::vector{m.find_body("other"), m.find_body(name)}; };
  };
  const auto add = [](BodySpec spec) {
    spec.name = "odd";
    spec.position = Vec3(0, 0, 9);
    return [spec](ModelBuilder& b) { b.add_body(spec); };
  };
  const BodySpec plain = rod("odd", false, Vec3::Zero());
  for (const bool growth : {false, true}) {
    refused(
        nothing, [](const Model&) { return std::vector{BodyId{2}}; }, {"body number 2", "2 bodies"},
        growth);
    refused(nothing, named("world"), {"body number -1"}, growth);
    refused(nothing, named("other"), {"body 'other'", "twice"}, growth);
    refused(add({.shapes = {{.shape = Shape::sphere(1)}}}), named("odd"),
            {"body 'odd'", "capsule", "sphere"}, growth);
    BodySpec spec = plain;
    spec.shapes.push_back({.shape = Shape::sphere(1)});
    refused(add(spec), named("odd"), {"body 'odd'", "one shape", "2"}, growth);
    spec = plain;
    spec.motion = Motion::Fixed;
    refused(add(spec), named("odd"), {"body 'odd'", "dynamic", "fixed"}, growth);
    spec = plain;
    spec.inertia = Mat3(Mat3::Identity());
    spec.center_of_mass = Vec3(0.5, 0, 0);
    refused(add(spec), named("odd"), {"body 'odd'", "centre of mass", "0.5"}, growth);
  }
  BodySpec spec = plain;
  spec.shapes[0].shape = Shape::capsule(1, 0.9);
  refused(add(spec), named("odd"), {"body 'odd'", "half its length", "width, 2", "1.9"});
  refused([](ModelBuilder& b) { b.add_joint({.name = "hinge", .a = "rod"}); }, named("rod"),
          {"body 'rod'", "joint 'hinge'"});
  refused([](ModelBuilder& b) { b.add_force(SpringSpec{.name = "s", .a = "other", .b = "rod"}); },
          [](const Model& m) { return std::vector{m.find_body("rod")}; },
          {"body 'rod'", "force 's'"});
  refused([](ModelBuilder& b) { b.add_actuator(BodyActuatorSpec{.name = "jet", .body = "rod"}); },
          named("rod"), {"body 'rod'", "actuator 'jet'"});
  refused(
      [](ModelBuilder& b) {
        b.add_flexible({.name = "block",
                        .mesh = box_mesh(Vec3(1, 1, 1), 1, 1, 1),
                        .attachments = {{.body = "rod", .nodes = {0}}},
                        .contact = false});
      },
      named("rod"), {"body 'rod'", "flexible part 'block'"});
  // A name that is taken is found out by the new model.
  refused(
      [](ModelBuilder& b) {
        BodySpec taken = rod("rod/3", false, Vec3(0, 0, 9));
        b.add_body(taken);
      },
      [](const Model& m) { return std::vector{m.find_body("rod")}; }, {"'rod/3'", "twice"});
}

TEST(Division, RefusesWhatDoesNotBelongTogether) {
  Row row(true);
  const std::vector<BodyId> one = {row.id("a")};
  ModelBuilder other;
  EXPECT_THROW((void)divide(other, row.model, row.parameters, row.state, one), Error);
  EXPECT_THROW((void)divide(row.builder, row.model, row.parameters, State{}, one), Error);
  EXPECT_THROW((void)divide(row.builder, row.model, Parameters{}, row.state, one), Error);
  EXPECT_THROW((void)row.split(one, {.jitter = NAN}), Error);
  Parameters none;
  EXPECT_THROW(grow(row.model, one, 2, none), Error);
  for (const double factor : {0.0, -1.0, 0.1, 1e308, static_cast<double>(INFINITY)})
    EXPECT_THROW(grow(row.model, one, factor, row.parameters), Error) << factor;
}

TEST(Uid, IsGivenOrThePlace) {
  ModelBuilder b;
  b.add_body({.name = "a", .motion = Motion::Fixed, .uid = 7});
  b.add_body({.name = "b", .motion = Motion::Fixed});
  const Model model = b.build();
  EXPECT_EQ(model.body(BodyId{0}).uid, 7U);
  EXPECT_EQ(model.body(BodyId{1}).uid, 1U);
  EXPECT_EQ(model.find_uid(7), BodyId{0});
  EXPECT_EQ(model.find_uid(1), BodyId{1});
  EXPECT_THROW((void)model.find_uid(0), Error);
}

// The order of the uids is free: contacts are sorted by it, the motion is the same.
TEST(Uid, MayRunAgainstTheOrder) {
  const auto pushed = [](bool reversed) {
    Row row(true);
    std::vector<BodySpec> specs = row.builder.bodies();
    if (reversed)
      for (std::size_t i = 0; i < specs.size(); ++i) specs[i].uid = static_cast<BodyUid>(9 - i);
    row.builder.set_bodies(specs);
    const Model model = row.builder.build();
    StepSettings settings;
    settings.h = 1e-3;
    settings.constraints = ConstraintScheme::Relcp;
    settings.solver.tolerance = 1e-12;
    State x = model.rest_state();
    x.q[3] += 0.01;
    x.q[4] -= 0.02;
    WarmStart warm;
    StepWorkspace work;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(step(model, model.default_parameters(), settings, {}, x, warm, work).outcome,
                Outcome::Converged);
    for (const auto& entry : warm.contacts) EXPECT_LT(entry.key.body_a, entry.key.body_b);
    return x.q;
  };
  EXPECT_LT((pushed(true) - pushed(false)).norm(), 1e-9);
}

}  // namespace
}  // namespace orthant
