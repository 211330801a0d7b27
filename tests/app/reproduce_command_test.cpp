// SPDX-License-Identifier: Apache-2.0
// orthant reproduce: a page with tables, figures and runs; a folder that is gone on with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/run_command.hpp"

namespace orthant {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_command;
using testing::TemporaryFolder;

TEST(ReproduceCommand, LeavesAPageWithTablesFiguresAndRuns) {
  const TemporaryFolder folder;
  const std::string at = folder.file("report");
  const CommandResult r = run_command("reproduce capsules warm_start --quick -o " + at);
  ASSERT_EQ(r.code, 0) << r.out << r.err;
  const std::string page = read_file(at + "/index.html");
  EXPECT_THAT(page, HasSubstr("<h2>ReLCP</h2>"));
  EXPECT_THAT(page, HasSubstr("<h2>Interior point</h2>"));
  EXPECT_THAT(page, HasSubstr("class=\"theirs\">720 / 515 / 90"));  // published, beside ours
  for (const char* link : {"capsules/capsules_overlap.svg", "capsules/single_run/view.html",
                           "capsules/single_run/paraview/shapes.pvd", "capsules/single_run.yaml"}) {
    EXPECT_THAT(page, HasSubstr(std::string("=\"") + link + "\""));
    EXPECT_TRUE(std::filesystem::is_regular_file(at + "/" + link)) << link;
  }
  const auto json = nlohmann::json::parse(read_file(at + "/capsules/result.json"));
  EXPECT_EQ(json.at("form"), "quick");
  EXPECT_GT(json.at("checks").size(), 2U);

  // The same again: nothing is made anew; one more name: the page has all.
  const CommandResult more = run_command("reproduce capsules hertz --quick -o " + at);
  ASSERT_EQ(more.code, 0) << more.out << more.err;
  EXPECT_THAT(more.out, HasSubstr("capsules: in the folder already"));
  const std::string whole = read_file(at + "/index.html");
  for (const char* name : {"capsules", "warm_start", "hertz"})
    EXPECT_THAT(whole, HasSubstr(std::string("<h3 id=\"") + name));
  // A damaged record is made again.
  write_file(at + "/capsules/result.json", "{\"name\": 3");
  const CommandResult again = run_command("reproduce capsules --quick -o " + at);
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  EXPECT_THAT(again.out, Not(HasSubstr("in the folder already")));
}

TEST(ReproduceCommand, GoesOnFromItsCheckpoint) {
  const TemporaryFolder folder;
  const std::string at = folder.file("report");
  const std::string line = "reproduce rods --quick --size 60 -o " + at;
  const CommandResult part = run_command(line + " --steps 3");
  EXPECT_THAT(part.out, HasSubstr("stopped after 3 steps"));
  EXPECT_FALSE(std::filesystem::exists(at + "/rods/result.json"));
  const CommandResult rest = run_command(line);
  EXPECT_EQ(rest.code, 0) << rest.out << rest.err;
  EXPECT_THAT(rest.out, Not(HasSubstr("stopped")));
  EXPECT_TRUE(std::filesystem::exists(at + "/rods/result.json"));
  EXPECT_THAT(run_command(line + " --again --steps 3").out, HasSubstr("stopped after 3 steps"));
}

TEST(ReproduceCommand, UnknownNamesAreRefusedBeforeAnythingRuns) {
  const CommandResult r = run_command("reproduce rods capsuls --quick");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("did you mean capsules?"));
  EXPECT_TRUE(r.out.empty()) << r.out;
}

}  // namespace
}  // namespace orthant
