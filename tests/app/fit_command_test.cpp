// SPDX-License-Identifier: Apache-2.0
// orthant fit as a person meets it: a table, a YAML file, a picture; bad input named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/run_command.hpp"

namespace orthant {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::TemporaryFolder;

const std::string kTosses = testing::source_dir() + "/tests/data/tosses/tosses.csv";

TEST(FitCommand, WritesEstimatesScoresAndAPicture) {
  const TemporaryFolder folder;
  const std::string yaml = folder.file("fit.yaml"), svg = folder.file("fit.svg");
  const CommandResult r =
      run_command("fit cube " + kTosses +
                  " --params friction=0.01:1 --method implicit --no-events --train 4 --test 4" +
                  " --compare friction=0.18,restitution=0.125 -q -o " + yaml + " --plot " + svg);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("material/wood.friction"));
  EXPECT_THAT(r.out, HasSubstr("4 held-out motions"));
  const std::string text = read_file(yaml);
  EXPECT_THAT(text, HasSubstr("kind: fit"));
  EXPECT_THAT(text, HasSubstr("\"material/wood.friction\":"));
  EXPECT_THAT(text, HasSubstr("interval95: ["));
  EXPECT_THAT(text, HasSubstr("ballistic: {median_position:"));
  EXPECT_THAT(read_file(svg), HasSubstr("</svg>"));
}

// run => export --wide => fit: the friction the run was made with comes back.
TEST(FitCommand, FindsTheParametersOfARun) {
  for (const bool planar : {false, true}) {
    const TemporaryFolder folder;
    const std::string scene = folder.file("puck.yaml"), run = folder.file("measured"),
                      csv = folder.file("puck.csv");
    write_file(scene, planar ? R"(orthant: 1
world: {planar: true}
parameters: {mu: 0.5}
materials: [{name: ice, friction: $(mu)}]
bodies:
  - {name: floor, motion: fixed, shapes: {type: half_plane, material: ice}}
  - {name: puck, position: [0, 0.1], velocity: [2, 0], shapes: {type: rectangle, half: [0.3, 0.1], material: ice}}
  - {name: wheel, position: [0, 9], angular_velocity: 8, shapes: {type: disc, radius: 0.2, material: ice}}
run: {steps: 60}
)"
                             : R"(orthant: 1
parameters: {mu: 0.5}
materials: [{name: ice, friction: $(mu)}]
bodies:
  - {name: floor, motion: fixed, shapes: {type: half_space, material: ice}}
  - {name: puck, position: [0, 0, 0.1], velocity: [2, 0.5, 0], shapes: {type: box, half: [0.3, 0.3, 0.1], material: ice}}
run: {steps: 60}
)");
    ASSERT_EQ(run_command("run " + scene + " --set mu=0.23 --quiet -o " + run).code, 0);
    const CommandResult wide = run_command("export " + run + " --csv " + csv + " --wide");
    ASSERT_EQ(wide.code, 0) << wide.err;
    EXPECT_THAT(wide.out, HasSubstr("61 rows"));
    EXPECT_THAT(read_file(csv), HasSubstr(planar ? "run,time,floor.x,floor.y,floor.theta,"
                                                 : "run,time,floor.x,floor.y,floor.z,floor.qw,"));
    const std::string yaml = folder.file("fit.yaml");
    const CommandResult r =
        run_command("fit " + scene + " " + csv + " --params friction=0.01:1 -q -o " + yaml);
    ASSERT_EQ(r.code, 0) << r.err << r.out;
    const std::string text = read_file(yaml);
    EXPECT_NEAR(std::stod(text.substr(text.find("value: ") + 7)), 0.23, 1e-5);
  }
}

TEST(FitCommand, NamesBadInput) {
  const auto said = [](const std::string& arguments) {
    const CommandResult r = run_command("fit " + arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    return r.err;
  };
  EXPECT_THAT(said("cube /nowhere.csv --params friction"), HasSubstr("/nowhere.csv"));
  EXPECT_THAT(said("cube " + kTosses + " --params material/wood.fricton"),
              HasSubstr("material/wood.friction"));
  EXPECT_THAT(said("cube " + kTosses + " --params fricton,restitution"),
              HasSubstr("no parameter ends in 'fricton' (did you mean 'friction'?)"));
  EXPECT_THAT(said("cube " + kTosses + " --params inertia.xz2"),
              HasSubstr("did you mean 'inertia.xz'"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction --compare fricton=1"),
              HasSubstr("did you mean 'friction'"));
  EXPECT_THAT(said("cube " + kTosses + " --params something_else"), HasSubstr("no such name"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction=1:0.5"), HasSubstr("bounds are empty"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction=1"), HasSubstr("NAME=LOWER:UPPER"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction --method guess"),
              HasSubstr("allowed: simulate, implicit"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction --train 20"), HasSubstr("20 of 8"));
  EXPECT_THAT(said("bouncing_bal " + kTosses + " --params friction"), HasSubstr("bouncing_ball"));
}

}  // namespace
}  // namespace orthant
