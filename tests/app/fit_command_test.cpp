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

const std::string kTosses = ORTHANT_SOURCE_DIR "/tests/data/tosses/tosses.csv";

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

TEST(FitCommand, NamesBadInput) {
  const auto said = [](const std::string& arguments) {
    const CommandResult r = run_command("fit " + arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    return r.err;
  };
  EXPECT_THAT(said("cube /nowhere.csv --params friction"), HasSubstr("/nowhere.csv"));
  EXPECT_THAT(said("cube " + kTosses + " --params material/wood.fricton"),
              HasSubstr("material/wood.friction"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction=1:0.5"), HasSubstr("bounds are empty"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction=1"), HasSubstr("NAME=LOWER:UPPER"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction --method guess"),
              HasSubstr("allowed: simulate, implicit"));
  EXPECT_THAT(said("cube " + kTosses + " --params friction --train 20"), HasSubstr("20 of 8"));
  EXPECT_THAT(said("bouncing_bal " + kTosses + " --params friction"), HasSubstr("bouncing_ball"));
}

}  // namespace
}  // namespace orthant
