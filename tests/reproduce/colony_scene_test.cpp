// SPDX-License-Identifier: Apache-2.0
// The colony as a scene file does what `orthant reproduce colony` does, generation by generation.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "orthant/base/atomic_file.hpp"
#include "orthant/io/run.hpp"
#include "orthant/io/trajectory.hpp"
#include "reproduce/reproduce.hpp"
#include "support/sample_files.hpp"

namespace orthant::reproduce {
namespace {

TEST(ColonyScene, HasTheStatisticsOfTheExperiment) {
  // The experiment counts its cells from 1, and the number decides which way a daughter turns: a
  // fixed body takes the 0.
  std::string text = read_file(testing::source_dir() + "/scenes/yaml/colony.yaml");
  const auto put = [&](const std::string& where, const std::string& with) {
    ASSERT_NE(text.find(where), std::string::npos) << where;
    text.replace(text.find(where), where.size(), with);
  };
  put("bodies:\n", "bodies:\n  - {name: origin, motion: fixed}\n");
  put("    drag: 1\n", "    angle: 0.3\n    drag: 1\n");
  put("record: {every: 25}", "record: {every: 1}");
  const testing::TemporaryFolder folder;
  SceneRun run(parse_scene(text, "colony.yaml", {.set = {"generations=4"}}), folder.file("run"));
  while (!run.done()) ASSERT_EQ(run.step().outcome, Outcome::Converged);
  run.save();
  const Trajectory t = read_trajectory(folder.file("run"));
  struct Generation {
    double steps = 0, rows = 0, solves = 0;
  };
  std::map<int, Generation> generations;
  const Signal bodies = signal_of(t, "bodies");
  for (std::size_t f = 1; f < t.time.size(); ++f) {
    Generation& g = generations[static_cast<int>(bodies.values[f]) - 1];
    ++g.steps;
    g.rows += static_cast<double>(t.constraints[f]);
    g.solves += static_cast<double>(t.solves[f]);
  }
  for (const Experiment& experiment : experiments()) {
    if (std::string(experiment.name) != "colony") continue;
    const Result result =
        experiment.run({.directory = {}, .quick = true, .size = 16, .progress = {}});
    const Table& table = result.tables[0];
    ASSERT_EQ(table.rows.size(), 5u);
    for (const auto& row : table.rows) {  // cells, steps, mean rows, rows per cell, mean solves
      const Generation& g = generations[std::stoi(row[0])];
      EXPECT_NEAR(g.steps, std::stod(row[1]), 1) << row[0];  // the last one ends by the clock
      EXPECT_NEAR(g.rows / g.steps, std::stod(row[2]), 0.01 * std::stod(row[2]) + 1e-9) << row[0];
      EXPECT_NEAR(g.solves / g.steps, std::stod(row[4]), 0.02 * std::stod(row[4])) << row[0];
    }
    return;
  }
  FAIL() << "there is no experiment 'colony'";
}

}  // namespace
}  // namespace orthant::reproduce
