// SPDX-License-Identifier: Apache-2.0
// Growth and division in scene files: played, recorded with lineage, resumed to the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"
#include "orthant/io/run.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

const std::string kColony = testing::source_dir() + "/scenes/yaml/colony.yaml";

LoadedScene colony(int generations, const std::string& every = "1") {
  return load_scene(kColony, {.set = {"generations=" + std::to_string(generations), "step.h=0.01",
                                      "record.every=" + every}});
}

void finish(SceneRun& run) {
  while (!run.done()) {
    const StepReport report = run.step();
    ASSERT_EQ(report.outcome, Outcome::Converged) << run.state().step;
    ASSERT_LE(report.deepest, 1.0001e-5);
  }
  run.save();
}

TEST(GrowthScene, OneCellBecomesEightWithTheirLineage) {
  const TemporaryFolder folder;
  SceneRun run(colony(3), folder.file("run"));
  finish(run);
  EXPECT_EQ(run.scene().model.bodies().size(), 8u);
  const Trajectory t = read_trajectory(folder.file("run"));
  ASSERT_EQ(t.body_count(), 15);
  EXPECT_EQ(t.bodies[0], "cell");
  EXPECT_EQ(t.bodies[14], "cell/14");
  EXPECT_EQ(t.mother, (std::vector<std::int32_t>{-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
  const std::size_t N = 15, last = t.time.size() - 1;
  double births = 0;
  for (std::size_t f = 0; f <= last; ++f)
    for (std::size_t b = 0; b < N; ++b) {
      const bool there = t.is_alive(f, b);
      const bool expected = t.born[b] < t.step[f] || (b == 0 && f == 0);
      EXPECT_TRUE(expected || !there) << f << ' ' << b;
      // Each is there from its birth to that of her daughters.
      bool over = false;
      for (std::size_t d = 0; d < N; ++d)
        over = over || (t.mother[d] == static_cast<std::int32_t>(b) && t.born[d] < t.step[f]);
      EXPECT_EQ(there, expected && !over) << f << ' ' << b;
      if (there) {
        EXPECT_GT(t.length[f * N + b], 1.99);
        EXPECT_LT(t.length[f * N + b], 4.05);
      }
      births += f > 0 && there && !t.is_alive(f - 1, b);
    }
  EXPECT_EQ(births, 14);
  // dl/dt = l: lengths of all cells together are exp(t) of the first.
  double total = 0;
  for (std::size_t b = 0; b < N; ++b) total += t.length[last * N + b];
  EXPECT_NEAR(total, 2 * std::exp(t.time[last]), 1e-10 * total);
  EXPECT_EQ(signal_of(t, "bodies").values.back(), 8);
  const Signal order = signal_of(t, "order");
  EXPECT_NEAR(order.values.front(), 1, 1e-12);
  EXPECT_LT(order.values.back(), 1);
  EXPECT_GT(signal_of(t, "local_order").values.back(), -1);
  EXPECT_EQ(signal_of(t, "solves").values.size(), t.time.size());
}

TEST(GrowthScene, ResumedRunEndsInTheSameBits) {
  const TemporaryFolder folder;
  SceneRun whole(colony(3, "5"), folder.file("whole"));
  finish(whole);
  // 69 and 70: before and after a division; 160: between two.
  for (const int cut : {1, 69, 70, 71, 160}) {
    const std::string path = folder.file("cut" + std::to_string(cut));
    {
      SceneRun first(colony(3, "5"), path);
      for (int i = 0; i < cut; ++i) (void)first.step();
      first.save();
    }
    SceneRun second(scene_of_run(path), path, {.resume = true});
    EXPECT_EQ(second.state().step, cut);
    finish(second);
    EXPECT_EQ(second.hash(), whole.hash()) << cut;
    EXPECT_EQ(hash_of(read_trajectory(path)), hash_of(read_trajectory(folder.file("whole"))))
        << cut;
  }
}

TEST(GrowthScene, SizesAndPeopleReachTheFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.file("run");
  SceneRun run(colony(2, "50"), path);
  finish(run);
  const Trajectory t = read_trajectory(path);
  write_csv(t, folder.file("bodies.csv"));
  const std::string csv = read_file(folder.file("bodies.csv"));
  EXPECT_THAT(csv, HasSubstr(",length,mother\n"));
  EXPECT_THAT(csv, HasSubstr(",cell/1\n"));
  EXPECT_EQ(csv.find("nan"), std::string::npos);
  EXPECT_THROW(write_wide_csv(t, "run", folder.file("wide.csv")), Error);
  const auto view = nlohmann::json::parse(view_json(t, path));
  EXPECT_EQ(view.at("bodies").size(), 7u);
  EXPECT_EQ(view.at("bodies").at(6).at("name"), "cell/6");
  EXPECT_TRUE(view.contains("alive") && view.contains("lengths"));
  write_vtk(t, path, folder.file("vtk"));
  const std::string first = read_file(folder.file("vtk/bodies_000000.vtp"));
  EXPECT_THAT(first, HasSubstr("NumberOfPoints=\"1\""));
  EXPECT_THAT(first, HasSubstr("Name=\"length\""));
  // A body that is not there has no place in a plot.
  EXPECT_TRUE(std::isnan(signal_of(t, "body/cell.x").values.back()));
  EXPECT_FALSE(std::isnan(signal_of(t, "body/cell/3.x").values.back()));
}

TEST(GrowthScene, DaughtersGrowAsTheirMotherAndOthersStay) {
  // Two rules, a population, one rod that keeps its size and a wall.
  const TemporaryFolder folder;
  SceneRun run(parse_scene(R"(orthant: 1
world: {planar: true, law: overdamped, gravity: [0, 0]}
bodies:
  - {name: wall, motion: fixed, position: [0, -3], shapes: {type: half_plane}}
  - {name: still, position: [0, 8], drag: 1, length: 2, shapes: {type: stadium, radius: 0.2, half_length: 0.8}}
populations:
  - {type: grid, name: fast, count: 2, spacing: [6, 0, 0], body: {drag: 1, length: 2, colour: "#ff0000", shapes: {type: stadium, radius: 0.2, half_length: 0.8}}}
  - {type: grid, name: slow, count: 1, position: [0, 4, 0], body: {drag: 1, length: 2, shapes: {type: stadium, radius: 0.2, half_length: 0.8}}}
growth:
  - {bodies: fast, rate: 1, divide_at: 3}
  - {bodies: [slow], rate: 0.1}
step: {h: 0.01, constraints: relcp, contact_margin: 0.4}
run: {time: 0.5}
)",
                           "scene.yaml"),
               folder.file("run"));
  finish(run);
  const Trajectory t = read_trajectory(folder.file("run"));
  ASSERT_EQ(t.body_count(), 9);
  const std::size_t N = 9, last = t.time.size() - 1;
  EXPECT_EQ(t.length[last * N + 0], 0);
  EXPECT_EQ(t.length[last * N + 1], 0);
  EXPECT_NEAR(t.length[last * N + 4], 2 * std::exp(0.05), 1e-12);
  for (std::size_t b = 5; b < 9; ++b) {
    EXPECT_TRUE(t.is_alive(last, b));
    EXPECT_NEAR(t.length[last * N + b], std::exp(0.5), 1e-12);
    EXPECT_EQ(run.scene().colours[b - 2], "#ff0000");
  }
}

TEST(GrowthScene, WhatCannotPlayItSaysSo) {
  try {
    need_plain_steps(colony(1), "a gradient");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("colony.yaml:14:5: bodies grow here, and a gradient"));
  }
}

TEST(GrowthScene, ARunLongerThanCheckedStopsWithItsPlace) {
  const TemporaryFolder folder;
  SceneRun run(parse_scene(R"(orthant: 1
world: {planar: true, law: overdamped, gravity: [0, 0]}
bodies: [{name: cell, drag: 1, length: 2, shapes: {type: stadium, radius: 0.25, half_length: 0.75}}]
growth: [{rate: -1}]
step: {h: 0.1}
run: {time: 1}
)",
                           "scene.yaml"),
               folder.file("run"), {.time = 3});
  try {
    while (!run.done()) (void)run.step();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("scene.yaml:4:10: body 'cell': its new length"));
  }
}

}  // namespace
}  // namespace orthant
