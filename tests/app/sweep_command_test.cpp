// SPDX-License-Identifier: Apache-2.0
// orthant sweep: a table of runs, their answers, and what is left when it is stopped or wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <vector>

#include "app/run_command.hpp"

namespace orthant {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::TemporaryFolder;

// A block thrown along a floor: it stops after v²/(2 mu g).
constexpr const char* kBlock =
    "orthant: 1\nparameters: {mu: 0.5, speed: 2}\n"
    "materials:\n  - {name: wood, friction: '$(mu)'}\n"
    "bodies:\n  - {name: floor, motion: fixed, shapes: {type: half_space, material: wood}}\n"
    "  - {name: block, position: [0, 0, 0.1], velocity: ['$(speed)', 0, 0], shapes: {type: box, "
    "half: [0.4, 0.4, 0.1], material: wood}}\n"
    "step: {h: 0.002}\nrun: {steps: 800}\nrecord: {every: 100}\n";

std::vector<std::vector<std::string>> table(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::vector<std::vector<std::string>> out;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line + ",end");
    out.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) out.back().push_back(field);
  }
  return out;
}

TEST(SweepCommand, MakesEveryRunAndWritesWhatIsObserved) {
  const TemporaryFolder folder;
  write_file(folder.file("block.yaml"), kBlock);
  const std::string line = "sweep " + folder.file("block.yaml") +
                           " --set mu=0.2:0.4:3 --set speed=1,2 --observe 'position(block).x' "
                           "--jobs 2 -o " +
                           folder.file("sweep");
  const CommandResult first = run_command(line);
  ASSERT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr("6 of 6 runs"));
  const auto rows = table(folder.file("sweep/sweep.csv"));
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[0][1], "mu");
  EXPECT_EQ(rows[0][2], "speed");
  EXPECT_EQ(rows[0][11], "position(block).x");
  const std::string mu[] = {"0.2", "0.3", "0.4"};
  for (std::size_t i = 0; i < 6; ++i) {
    const auto& row = rows[i + 1];
    EXPECT_EQ(row[0], std::to_string(i));
    EXPECT_EQ(row[1], mu[i / 2]);
    EXPECT_EQ(row[2], i % 2 == 0 ? "1" : "2");
    EXPECT_EQ(row[3], "converged");
    const double v = std::stod(row[2]);
    EXPECT_NEAR(std::stod(row[11]), v * v / (2 * std::stod(row[1]) * 9.81), 2 * v * 0.002) << i;
    EXPECT_TRUE(std::filesystem::exists(folder.file("sweep/runs/00000" + row[0]) + "/report.json"));
  }
  // The same command finds everything done and changes nothing.
  const std::string before = read_file(folder.file("sweep/sweep.csv"));
  const CommandResult again = run_command(line);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(read_file(folder.file("sweep/sweep.csv")), before);
  EXPECT_EQ(again.out.find("converged,"), std::string::npos);
  // A line that is missing is made again, to the same bits.
  std::filesystem::remove_all(folder.file("sweep/runs/000003"));
  EXPECT_EQ(run_command(line).code, 0);
  EXPECT_EQ(table(folder.file("sweep/sweep.csv"))[4][10], rows[4][10]);
  // Another sweep does not go into this folder.
  const CommandResult other = run_command("sweep " + folder.file("block.yaml") +
                                          " --set mu=0.2:0.4:2 -o " + folder.file("sweep"));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("another sweep"));
  EXPECT_EQ(read_file(folder.file("sweep/sweep.csv")).size(), before.size());
}

TEST(SweepCommand, GoesOnFromTheCheckpointOfARunThatWasStopped) {
  const TemporaryFolder folder;
  write_file(folder.file("block.yaml"), kBlock);
  const std::string line =
      "sweep " + folder.file("block.yaml") + " --set mu=0.3,0.6 -o " + folder.file("sweep");
  ASSERT_EQ(run_command(line).code, 0);
  const auto whole = table(folder.file("sweep/sweep.csv"));
  // As after kill -9 in the middle: a run without its row, at step 300 of 800.
  std::filesystem::remove_all(folder.file("sweep/runs/000001"));
  ASSERT_EQ(run_command("run " + folder.file("block.yaml") + " --set mu=0.6 --steps 300 -o " +
                        folder.file("sweep/runs/000001"))
                .code,
            0);
  ASSERT_EQ(run_command(line).code, 0);
  const auto rows = table(folder.file("sweep/sweep.csv"));
  EXPECT_EQ(rows[2][3], "800");
  EXPECT_EQ(rows[2][9], whole[2][9]);  // state_hash
}

TEST(SweepCommand, OneBadLineDoesNotStopTheOthers) {
  const TemporaryFolder folder;
  write_file(folder.file("block.yaml"), kBlock);
  const CommandResult run = run_command("sweep " + folder.file("block.yaml") +
                                        " --set mu=0.3,-1,0.6 --steps 5 -o " + folder.file("s"));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("1 failed"));
  const auto rows = table(folder.file("s/sweep.csv"));
  EXPECT_EQ(rows[1][2], "converged");
  EXPECT_EQ(rows[2][2], "failed");
  EXPECT_THAT(read_file(folder.file("s/sweep.csv")), HasSubstr("expected a number >= 0"));
  EXPECT_EQ(rows[3][2], "converged");
}

TEST(SweepCommand, SaysWhatIsWrongBeforeItWrites) {
  const TemporaryFolder folder;
  write_file(folder.file("block.yaml"), kBlock);
  const auto wrong = [&](const std::string& arguments, const char* message) {
    const CommandResult run = run_command("sweep " + folder.file("block.yaml") + " " + arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_THAT(run.err, HasSubstr(message)) << arguments;
  };
  const std::string out = " -o " + folder.file("s");
  wrong("--set mu=0.1:0.9:9", "-o");
  wrong("--set mu" + out, "name=first:last:count");
  wrong("--set mu=a:b:3" + out, "three numbers");
  wrong("--set mu=0:1:0" + out, "count must be");
  wrong("--set mu=0:1:1" + out, "both first and last");
  wrong("--set mu=1,,2" + out, "empty");
  wrong("--set mu=1 --set mu=2" + out, "twice");
  wrong("--set mu=0:1:100000 --set speed=0:1:100000" + out, "more than 1000000");
  wrong("--set nu=1,2" + out, "mu");
  wrong("--set mu=0.5 --observe 'position(blok).x'" + out, "block");
  for (const char* number : {"--steps", "--time", "--threads"})
    wrong(std::string("--set mu=0.5 ") + number + " -1" + out, number);
  EXPECT_FALSE(std::filesystem::exists(folder.file("s")));
}

}  // namespace
}  // namespace orthant
