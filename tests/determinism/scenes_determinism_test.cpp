// SPDX-License-Identifier: Apache-2.0
// Every scene, built in C++ or written in YAML: the same bits for one and two threads and two runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "orthant/base/parallel.hpp"
#include "orthant/io/scene.hpp"
#include "scenes/scenes.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 20;  // the falling ones have met their floor by then
constexpr int kSlowSteps = 3;
/// Names of scenes whose step takes tens of milliseconds: fewer of them show the same.
constexpr const char* kSlow[] = {"soft_beam", "sediment", "pebbles", "domino_flower"};

struct World {
  Model model;
  Parameters parameters;
  State state;
  StepSettings settings;
};

struct End {
  State state;
  WarmStart warm;
  double residual = 0;
};

End run(const World& world, int steps, int threads) {
  set_thread_count(threads);
  End end{world.state, {}, 0};
  StepWorkspace work;
  for (int i = 0; i < steps; ++i) {
    const StepReport report =
        step(world.model, world.parameters, world.settings, {}, end.state, end.warm, work);
    end.residual += report.residual;
  }
  set_thread_count(1);
  return end;
}

void expect_same_bits(const World& world, int steps) {
  const End one = run(world, steps, 1), two = run(world, steps, 2), again = run(world, steps, 2);
  for (const End& other : {two, again}) {
    EXPECT_EQ(one.state.q, other.state.q);
    EXPECT_EQ(one.state.v, other.state.v);
    EXPECT_EQ(one.residual, other.residual);
    ASSERT_EQ(one.warm.contacts.size(), other.warm.contacts.size());
    for (std::size_t c = 0; c < one.warm.contacts.size(); ++c)
      EXPECT_EQ(one.warm.contacts[c].impulse_W, other.warm.contacts[c].impulse_W);
  }
}

class BuiltScenes : public ::testing::TestWithParam<std::string> {};
TEST_P(BuiltScenes, SameBits) {
  scenes::Scene scene = scenes::make_scene(GetParam());
  expect_same_bits({scene.model, scene.parameters, scene.state, scene.settings}, kSteps);
}
std::vector<std::string> built_scenes() {
  std::vector<std::string> names;
  for (const scenes::SceneEntry& entry : scenes::registry()) names.emplace_back(entry.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, BuiltScenes, ::testing::ValuesIn(built_scenes()),
                         [](const auto& test) { return test.param; });

const fs::path kYaml = fs::path(testing::source_dir()) / "scenes" / "yaml";

class WrittenScenes : public ::testing::TestWithParam<std::string> {};
TEST_P(WrittenScenes, SameBits) {
  const LoadedScene scene = load_scene((kYaml / (GetParam() + ".yaml")).string());
  const bool slow = std::find(std::begin(kSlow), std::end(kSlow), GetParam()) != std::end(kSlow);
  expect_same_bits({scene.model, scene.parameters, scene.state, scene.settings},
                   slow ? kSlowSteps : kSteps);
}
std::vector<std::string> written_scenes() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kYaml))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, WrittenScenes, ::testing::ValuesIn(written_scenes()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace orthant
