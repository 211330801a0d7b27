// SPDX-License-Identifier: Apache-2.0
// The experiments of the literature in their quick forms: every check must hold.
#include <gtest/gtest.h>

#include <cmath>

#include <filesystem>
#include <fstream>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

class Quick : public ::testing::TestWithParam<Experiment> {};

TEST_P(Quick, EveryCheckHolds) {
  const Result result = GetParam().run({.directory = {}, .quick = true, .size = 0, .progress = {}});
  EXPECT_FALSE(result.tables.empty());
  EXPECT_FALSE(result.checks.empty());
  for (const Check& check : result.checks)
    EXPECT_TRUE(check.pass()) << check.name << ": " << check.measured << " > " << check.bound;
}

INSTANTIATE_TEST_SUITE_P(Experiments, Quick,
                         ::testing::ValuesIn(experiments().begin(), experiments().end()),
                         [](const auto& one) { return std::string(one.param.name); });

bool is_measure_of_speed(const std::string& column) {
  for (const char* word : {"CPU", "time", "us per", "ns per", "MB"})
    if (column.find(word) != std::string::npos) return true;
  return false;
}

/// The tables without the columns of time and memory, which differ from run to run.
std::string figures(const Result& result) {
  std::string text;
  for (const Table& table : result.tables)
    for (const auto& row : table.rows)
      for (std::size_t j = 0; j < row.size(); ++j)
        if (!is_measure_of_speed(table.columns[j])) text += row[j] + "|";
  return text;
}

class InParts : public ::testing::TestWithParam<const char*> {};

TEST_P(InParts, EndsAsInOneGoOnOneThreadAndTwo) {
  const Experiment& experiment = find_experiment(GetParam());
  const std::string folder = ::testing::TempDir() + "orthant_in_parts_" + GetParam();
  std::filesystem::remove_all(folder);
  const Result whole = experiment.run({.quick = true});
  set_thread_count(2);
  const Result two = experiment.run({.quick = true});
  set_thread_count(1);
  EXPECT_EQ(figures(two), figures(whole));
  Result part = experiment.run({.directory = folder, .quick = true, .steps = 7});
  EXPECT_NE(figures(part), figures(whole));
  part = experiment.run({.directory = folder, .quick = true, .resume = true, .steps = 6});
  part = experiment.run({.directory = folder, .quick = true, .resume = true});
  EXPECT_EQ(figures(part), figures(whole));
  // That of the compaction is the packed state, which one may want to compare from again.
  EXPECT_EQ(std::filesystem::exists(folder + "/" + GetParam() + ".checkpoint"),
            std::string_view(GetParam()) == "compaction");
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Experiments, InParts, ::testing::Values("rods", "colony", "compaction"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Reproduce, ForeignAndDamagedCheckpointsAreRefused) {
  const std::string folder = ::testing::TempDir() + "orthant_checkpoints";
  std::filesystem::remove_all(folder);
  const Experiment& rods = find_experiment("rods");
  (void)rods.run({.directory = folder, .quick = true, .size = 60, .steps = 2});
  EXPECT_THROW((void)rods.run({.directory = folder, .quick = true, .size = 61, .resume = true}),
               Error);
  std::fstream file(folder + "/rods.checkpoint", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(200);
  file.put('x');
  file.close();
  EXPECT_THROW((void)rods.run({.directory = folder, .quick = true, .size = 60, .resume = true}),
               Error);
  EXPECT_THROW((void)rods.run({.quick = true, .size = 60, .resume = true}), Error);
  std::filesystem::remove_all(folder);
}

TEST(Reproduce, PlotsOfConstantsUpToRoundingEnd) {
  const Curve rest[] = {{"rest", {0, 1}, {9.81, std::nextafter(9.81, 10)}}};
  const std::string svg = plot_svg("rest", "x", "y", rest, false, false);
  EXPECT_LT(svg.size(), 5000U);
}

TEST(Reproduce, PlotsOfNoPointAreEmpty) {
  const Curve none[] = {{"none", {}, {}}, {"no logarithm", {0, 1}, {-1, -2}}};
  for (const bool log : {false, true}) {
    const std::string svg =
        plot_svg("empty", "x", "y", std::span(none).first(log ? 2 : 1), log, log);
    EXPECT_NE(svg.find("</svg>"), std::string::npos);
    EXPECT_LT(svg.size(), 5000U);
  }
}

TEST(Reproduce, UnknownNameSuggestsTheNearest) {
  try {
    (void)find_experiment("elipsoids");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("ellipsoids"), std::string::npos);
  }
}

}  // namespace
}  // namespace orthant::reproduce
