// SPDX-License-Identifier: Apache-2.0
// Scene files: what is read, what is refused and how, what is written back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

const std::string kScenes = testing::source_dir() + "/scenes/yaml/";

std::vector<std::string> yaml_files(const std::string& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

/// A scene with one ball and `rest`.
LoadedScene ball_scene(const std::string& rest, const SceneOptions& options = {}) {
  return parse_scene("orthant: 1\n" + rest, "scene.yaml", options);
}

std::string error_of(const std::string& text, const SceneOptions& options = {}) {
  try {
    (void)parse_scene(text, "scene.yaml", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Steps to the end of the scene.
State run_to_end(const LoadedScene& scene) {
  State x = scene.state;
  WarmStart warm;
  StepWorkspace work;
  VecX u;
  for (std::int64_t i = 0; i < scene.steps; ++i) {
    scene.controls_at(x.t, u);
    const StepReport report = step(scene.model, scene.parameters, scene.settings, u, x, warm, work);
    EXPECT_EQ(report.outcome, Outcome::Converged) << "step " << i;
  }
  return x;
}

TEST(SceneFiles, ResolvedSceneIsTheSameSceneToTheBit) {
  int count = 0;
  for (const std::string& path : yaml_files(kScenes)) {
    const LoadedScene first = load_scene(path);
    const LoadedScene second = parse_scene(first.resolved, "resolved.yaml");
    EXPECT_EQ(first.resolved, second.resolved) << path;
    EXPECT_EQ(first.parameters.values, second.parameters.values) << path;
    EXPECT_EQ(first.state.q, second.state.q) << path;
    EXPECT_EQ(first.state.v, second.state.v) << path;
    EXPECT_EQ(first.settings.h, second.settings.h) << path;
    EXPECT_EQ(first.steps, second.steps) << path;
    EXPECT_EQ(first.controls.size(), second.controls.size()) << path;
    ++count;
  }
  EXPECT_GE(count, 12);
}

TEST(SceneFiles, EveryReadySceneStepsAndConverges) {
  for (const std::string& path : yaml_files(kScenes)) {
    LoadedScene scene = load_scene(path);
    scene.steps = 5;
    const State end = run_to_end(scene);
    EXPECT_TRUE(end.q.allFinite()) << path;
    EXPECT_EQ(end.step, 5) << path;
  }
}

TEST(SceneFiles, BlockSlidesAsCoulombSays) {
  const double angle = 0.6, mu = 0.3, t = 1, g = 9.81;
  const LoadedScene scene =
      load_scene(kScenes + "incline.yaml", {.set = {"friction=0.3", "run.time=1", "step.h=0.005"}});
  const State end = run_to_end(scene);
  const Body& block = scene.model.body(scene.model.find_body("block"));
  const double a = g * (std::sin(angle) - mu * std::cos(angle));
  const Vec3 v(end.v[block.v_begin], end.v[block.v_begin + 1], end.v[block.v_begin + 2]);
  EXPECT_NEAR(v.norm(), a * t, 1e-7);  // constant acceleration: exact for any step
  EXPECT_NEAR(v[2] / v[0], -std::tan(angle), 1e-7);
  const LoadedScene stuck = load_scene(kScenes + "incline.yaml", {.set = {"friction=0.8"}});
  EXPECT_LT(run_to_end(stuck).v.norm(), 1e-9);  // tan(0.6) = 0.684 < 0.8
}

TEST(SceneFiles, ExpressionsAreArithmetic) {
  const LoadedScene scene = ball_scene(R"yaml(
parameters: {r: 0.25, twice: $(2 * r), word: steel}
materials: [{name: $(word), friction: $(1 / 4 + 2 ^ -2)}]
bodies:
  - name: b$(3 - 1)
    position: [$(sin(pi / 6)), "$(max(1, atan2(0, 1)) - -2)", $(-(twice + 1) * 2 ^ 3 ^ 0)]
    shapes: {type: sphere, radius: $(sqrt(twice * 0.5) / 2), material: steel}
)yaml");
  const Body& body = scene.model.body(scene.model.find_body("b2"));
  const double* q = scene.state.q.data() + body.q_begin;
  EXPECT_NEAR(q[0], 0.5, 1e-15);
  EXPECT_EQ(q[1], 3);
  EXPECT_EQ(q[2], -3);  // 2 ^ (3 ^ 0) = 2
  EXPECT_EQ(scene.parameters.get("shape/b2.radius"), 0.25);
  EXPECT_EQ(scene.parameters.get("material/steel.friction"), 0.5);
}

TEST(SceneFiles, SettingsReplaceDefaultsAndAreChecked) {
  const std::string path = kScenes + "stack.yaml";
  const LoadedScene scene = load_scene(
      path, {.set = {"cubes=3", "friction=0.25", "step.h=0.002", "world.gravity=[0, 0, -1]"}});
  EXPECT_EQ(scene.model.bodies().size(), 4u);
  EXPECT_EQ(scene.settings.h, 0.002);
  EXPECT_EQ(scene.parameters.get("material/stone.friction"), 0.25);
  EXPECT_EQ(scene.parameters.get("force/gravity.z"), -1);
  EXPECT_THROW((void)load_scene(path, {.set = {"cube=3"}}), Error);
  EXPECT_THROW((void)load_scene(path, {.set = {"step.hh=3"}}), Error);
  EXPECT_THROW((void)load_scene(path, {.set = {"cubes"}}), Error);
}

TEST(SceneFiles, IncludesComeFirstAndTheFileHasTheLastWord) {
  const TemporaryFolder folder;
  write_file(folder.file("base.yaml"),
             "orthant: 1\nstep: {h: 0.001, max_events: 3}\nbodies: [{name: first, shapes: {type: "
             "sphere, radius: 1}}]\n");
  write_file(folder.file("top.yaml"),
             "orthant: 1\ninclude: [base.yaml]\nstep: {h: 0.002}\nbodies: [{name: second, "
             "position: [5, 0, 0], shapes: {type: sphere, radius: 1}}]\n");
  const LoadedScene scene = load_scene(folder.file("top.yaml"));
  EXPECT_EQ(scene.settings.h, 0.002);
  EXPECT_EQ(scene.settings.max_events, 3);
  ASSERT_EQ(scene.model.bodies().size(), 2u);
  EXPECT_EQ(scene.model.bodies()[0].name, "first");
  write_file(folder.file("circle.yaml"), "orthant: 1\ninclude: circle.yaml\n");
  EXPECT_THROW((void)load_scene(folder.file("circle.yaml")), Error);
}

std::vector<Vec3> positions(const LoadedScene& scene) {
  std::vector<Vec3> out;
  for (const Body& body : scene.model.bodies())
    out.push_back(body_pose(body, scene.state.q.data()).x);
  return out;
}

TEST(Populations, LatticesHaveTheirNeighbours) {
  struct Case {
    const char* lattice;
    std::size_t sites;
    int neighbours;
  };
  // Sites a cell and nearest neighbours inside: textbook coordination numbers.
  for (const Case& c :
       {Case{"cubic", 1, 6}, Case{"bcc", 2, 8}, Case{"fcc", 4, 12}, Case{"hexagonal", 4, 12}}) {
    const LoadedScene scene =
        ball_scene(std::string("populations: [{type: lattice, lattice: ") + c.lattice +
                   ", name: s, count: [4, 4, 4], distance: 0.5, body: {shapes: {type: sphere, "
                   "radius: 0.1}}}]");
    const std::vector<Vec3> x = positions(scene);
    ASSERT_EQ(x.size(), 64 * c.sites) << c.lattice;
    int most = 0;
    for (const Vec3& a : x) {
      int near = 0;
      for (const Vec3& b : x) {
        const double d = (a - b).norm();
        if (&a == &b) continue;
        EXPECT_GT(d, 0.5 - 1e-12) << c.lattice;
        near += d < 0.5 + 1e-9;
      }
      most = std::max(most, near);
    }
    EXPECT_EQ(most, c.neighbours) << c.lattice;
  }
}

TEST(Populations, RandomPackingsKeepTheirDistanceAndTheirSeed) {
  const std::string text =
      "populations: [{type: random, name: s, count: 60, lower: [0, 0, 0], upper: [1, 1, 1], "
      "distance: 0.15, seed: $(seed), body: {shapes: {type: sphere, radius: 0.05}}}]\n"
      "parameters: {seed: 7}\n";
  const std::vector<Vec3> x = positions(ball_scene(text)), again = positions(ball_scene(text));
  const std::vector<Vec3> other = positions(ball_scene(text, {.set = {"seed=8"}}));
  ASSERT_EQ(x.size(), 60u);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE((x[i].array() >= 0).all() && (x[i].array() <= 1).all());
    for (std::size_t j = 0; j < i; ++j) EXPECT_GE((x[i] - x[j]).norm(), 0.15);
  }
  EXPECT_TRUE(x == again);
  EXPECT_FALSE(x == other);
  EXPECT_THAT(error_of("orthant: 1\n" + text + "", {.set = {"populations=[]"}}),
              HasSubstr("no parameter 'populations'"));
  std::string crowded = text;
  crowded.replace(crowded.find("count: 60"), 9, "count: 600");
  EXPECT_THAT(error_of("orthant: 1\n" + crowded), HasSubstr("of 600 members fit"));
}

TEST(Populations, MembersHangTogether) {
  const LoadedScene scene = load_scene(kScenes + "chain.yaml", {.set = {"links=4"}});
  ASSERT_EQ(scene.model.joints().size(), 5u);
  const auto joints = scene.model.joints();
  EXPECT_EQ(joints[0].b, scene.model.find_body("link3"));  // the one given by itself comes first
  EXPECT_EQ(joints[1].b, kWorld);
  EXPECT_EQ(joints[2].b, scene.model.find_body("link0"));
}

TEST(Controls, AreLinearBetweenTheirEntries) {
  const ControlTable table{{0, 1, 3}, {2, 4, -4}};
  EXPECT_EQ(table.at(-1), 2);
  EXPECT_EQ(table.at(0.5), 3);
  EXPECT_EQ(table.at(2), 0);
  EXPECT_EQ(table.at(9), -4);
  EXPECT_EQ((ControlTable{{}, {5}}.at(7)), 5);
}

// --- what is refused ----------------------------------------------------------------------------

/// Files in tests/io/broken say in their first line what the message must be.
TEST(BrokenScenes, SayWhatIsWrongAndWhere) {
  int count = 0;
  for (const std::string& path : yaml_files(testing::source_dir() + "/tests/io/broken")) {
    const std::string text = read_file(path);
    const std::string head = "# error: ";
    ASSERT_TRUE(text.starts_with(head)) << path;
    const std::string expected = text.substr(head.size(), text.find('\n') - head.size());
    std::string message = "no error";
    try {
      (void)parse_scene(text, "scene.yaml");
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_EQ(message, expected) << path;
    ++count;
  }
  EXPECT_GE(count, 40);
}

TEST(BrokenScenes, BombsAreRefusedAtOnce) {
  std::string bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int k = 0; k < 9; ++k) bomb += ", " + last;
    bomb += "]\n";
  }
  EXPECT_THAT(error_of("orthant: 1\n" + bomb), HasSubstr("aliases are written out"));
  EXPECT_THAT(error_of("orthant: &a [*a]\n"), HasSubstr("stands inside"));
  EXPECT_THAT(error_of("orthant: " + std::string(5000, '[')), HasSubstr("nested deeper than 64"));
  EXPECT_THAT(error_of("orthant: 1\nname: $(" + std::string(5000, '(')), HasSubstr("without its"));
  EXPECT_THAT(
      error_of("orthant: 1\nname: $(" + std::string(200, '(') + "1" + std::string(200, ')') + ")"),
      HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of("orthant: 1\nbodies: [{shapes: {type: sphere, radius: 1}}]\nforces: [{type: "
                       "field, name: f, formula: \"" +
                       std::string(200, '(') + "x" + std::string(200, ')') + "\"}]"),
              AllOf(HasSubstr("scene.yaml:3:"), HasSubstr("nested too deeply")));
  EXPECT_THAT(error_of("orthant: 1\npopulations: [{type: grid, name: s, count: [90000, 90000, "
                       "90000], body: {shapes: {type: sphere, radius: 1}}}]"),
              HasSubstr("more than 2000000 bodies"));
  EXPECT_THAT(error_of("orthant: 1\ninclude: /etc/passwd\n", {.read_files = false}),
              HasSubstr("other files are not read here"));
  EXPECT_THAT(error_of(""), HasSubstr("is empty"));
}

// A scene is untrusted: it cannot make the reader wait, read devices or files elsewhere, or grow
// without bound, and no message shows what is in a file that is no scene.
TEST(BrokenScenes, IncludesReadFewRegularFilesOfTheScenesFolder) {
  const TemporaryFolder folder;
  const auto error_with = [&](const std::string& include) {
    write_file(folder.file("in/scene.yaml"), "orthant: 1\ninclude: " + include + "\n");
    try {
      (void)load_scene(folder.file("in/scene.yaml"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  std::filesystem::create_directory(folder.file("in"));
  EXPECT_THAT(error_with("/dev/zero"), HasSubstr("outside the folder"));
  EXPECT_THAT(error_with("../secret"), HasSubstr("outside the folder"));
  write_file(folder.file("secret"), "password: 1234");
  std::filesystem::create_symlink(folder.file("secret"), folder.file("in/link.yaml"));
  EXPECT_THAT(error_with("link.yaml"), HasSubstr("outside the folder"));
  ASSERT_EQ(::mkfifo(folder.file("in/pipe").c_str(), 0600), 0);
  EXPECT_THAT(error_with("pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(error_with("."), HasSubstr("not a regular file"));
  write_file(folder.file("in/text.yaml"), "root:x:0:0:/bin/sh");
  const std::string message = error_with("text.yaml");
  EXPECT_THAT(message, HasSubstr("holds no map"));
  EXPECT_EQ(message.find("root:x"), std::string::npos) << message;
  // Each file includes the next one twice: 2^40 of them.
  for (int i = 0; i < 40; ++i) {
    const std::string next = std::to_string(i + 1) + ".yaml";
    write_file(folder.file("in/" + std::to_string(i) + ".yaml"),
               "include: [" + next + ", " + next + "]\n");
  }
  write_file(folder.file("in/40.yaml"), "name: last\n");
  EXPECT_THAT(error_with("0.yaml"), HasSubstr("more than 64 files"));
}

TEST(BrokenScenes, WordsThatMultiplyAreRefused) {
  std::string scene = "orthant: 1\nparameters:\n  a0: xxxxxxxxxx\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = "$(a" + std::to_string(i - 1) + ")";
    scene += "  a" + std::to_string(i) + ": \"" + last + last + "\"\n";
  }
  EXPECT_THAT(error_of(scene), HasSubstr("stands for more than 65536 letters"));
}

TEST(BrokenScenes, ASceneThatNeverEndsIsRefused) {
  EXPECT_THROW((void)read_file("/dev/zero", 1 << 20), Error);
}

// --- documents ----------------------------------------------------------------------------------

TEST(SceneDocuments, SchemaAndReferenceAreCurrent) {
  EXPECT_EQ(read_file(testing::source_dir() + "/docs/scene.schema.json"), scene_schema())
      << "orthant check --schema > docs/scene.schema.json";
  EXPECT_THAT(read_file(testing::source_dir() + "/docs/scene.md"), HasSubstr(scene_reference()))
      << "put the text of orthant check --reference into docs/scene.md";
}

TEST(SceneDocuments, StarterRuns) {
  const LoadedScene scene = parse_scene(starter_scene("heap"), "heap.yaml");
  EXPECT_EQ(scene.name, "heap");
  EXPECT_EQ(scene.steps, 300);
  EXPECT_EQ(scene.model.bodies().size(), 30u);
}

}  // namespace
}  // namespace orthant
