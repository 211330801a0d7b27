// SPDX-License-Identifier: Apache-2.0
// The command as a person or a script meets it: exit codes, messages, JSON, files left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/run_command.hpp"
#include "orthant/base/version.hpp"
#include "orthant/problem_io/problem_file.hpp"

namespace orthant {
namespace {

using nlohmann::json;
using testing::CommandResult;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_command;
using testing::sample;
using ::testing::StartsWith;
using testing::TemporaryFolder;

const std::string kEasy = "lcp/lcp_deudeu.dat";  // z = (4/3, 7/3), w = 0: M is positive definite
const std::string kContact = "fclib/FrictionContact3D_1c.dat";

TEST(Command, SaysItsVersionAndHelp) {
  const CommandResult version_line = run_command("--version");
  EXPECT_EQ(version_line.code, 0);
  EXPECT_EQ(version_line.out, std::string("orthant ") + version() + "\n");
  for (const char* command : {"", "solve", "info", "convert"}) {
    const CommandResult help = run_command(std::string(command) + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.out, HasSubstr("Example")) << command;
    EXPECT_EQ(help.err, "") << command;
  }
}

TEST(Command, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run_command("").code, 2);
  EXPECT_EQ(run_command("sovle x").code, 2);
  EXPECT_EQ(run_command("solve").code, 2);
  const CommandResult option = run_command("solve --metod lemke " + sample(kEasy));
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.err, HasSubstr("unknown option --metod (did you mean --method?)"));
  EXPECT_EQ(option.out, "");
}

TEST(Solve, PrintsOneLineAFile) {
  const CommandResult result = run_command("solve " + sample(kEasy) + " " + sample(kContact));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 4);  // header, two, summary
  EXPECT_THAT(result.out, HasSubstr("2 of 2 converged"));
}

TEST(Solve, JsonHasEveryFieldAndNothingElseIsPrinted) {
  const CommandResult result =
      run_command("solve --json - --solution " + sample(kEasy) + " " + sample(kContact));
  ASSERT_EQ(result.code, 0);
  const json report = json::parse(result.out);
  ASSERT_TRUE(report.is_array());
  ASSERT_EQ(report.size(), 2U);
  for (const json& object : report) {
    for (const char* field : {"file", "kind", "method", "outcome"}) {
      EXPECT_TRUE(object.at(field).is_string()) << field;
    }
    for (const char* field : {"unknowns", "iterations", "contacts", "islands", "worst_block"}) {
      EXPECT_TRUE(object.at(field).is_number_integer()) << field;
    }
    for (const char* field : {"seconds", "residual", "residual_siconos", "residual_scale_free"}) {
      EXPECT_TRUE(object.at(field).is_number()) << field;
    }
    EXPECT_TRUE(object.at("attempts").is_array());
    EXPECT_EQ(object.at("outcome"), "converged");
    EXPECT_LE(object.at("residual").get<double>(), 1e-8);
    EXPECT_GE(object.at("seconds").get<double>(), 0);
  }
  EXPECT_EQ(report[0].at("kind"), "lcp");
  EXPECT_EQ(report[0].at("unknowns"), 2);
  EXPECT_EQ(report[1].at("kind"), "friction_local");
  EXPECT_EQ(report[1].at("contacts"), 1);

  // deudeu: [2 1; 1 2] z = (5, 6)
  const auto z = report[0].at("z").get<std::vector<double>>();
  ASSERT_EQ(z.size(), 2U);
  EXPECT_NEAR(z[0], 4.0 / 3, 1e-7);
  EXPECT_NEAR(z[1], 7.0 / 3, 1e-7);
  EXPECT_EQ(report[0].at("w").size(), 2U);

  // one contact: u = W r + q must hold for what is printed
  const ProblemFile file = read_problem(sample(kContact));
  const auto r = report[1].at("r").get<std::vector<double>>();
  const auto u = report[1].at("u").get<std::vector<double>>();
  ASSERT_EQ(r.size(), 3U);
  const VecX expected = to_sparse(file.M) * Eigen::Map<const VecX>(r.data(), 3) + file.q;
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(u[i], expected[i], 1e-12);
}

TEST(Solve, WithoutSolutionTheVectorsStayOut) {
  const json report = json::parse(run_command("solve --json - " + sample(kEasy)).out);
  EXPECT_FALSE(report[0].contains("z"));
  EXPECT_FALSE(report[0].contains("w"));
}

TEST(Solve, MissedToleranceGivesOneAndSaysSo) {
  const CommandResult result =
      run_command("solve --json - " + sample("lcp/lcp_Pang_isolated_sol_perturbed.dat"));
  EXPECT_EQ(result.code, 1);
  const json report = json::parse(result.out);
  EXPECT_NE(report[0].at("outcome"), "converged");  // there is no solution
}

TEST(Solve, OneBadFileDoesNotStopTheOthers) {
  const TemporaryFolder folder;
  write_file(folder.file("bad.dat"), "3 1 0 3 3 3 3 1 0 0");
  const CommandResult result = run_command("solve --json " + folder.file("out.json") + " " +
                                           folder.file("bad.dat") + " " + sample(kEasy));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, StartsWith("orthant: " + folder.file("bad.dat") + ":1:15: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  const json report = json::parse(read_file(folder.file("out.json")));
  EXPECT_EQ(report[0].at("outcome"), "bad_input");
  EXPECT_THAT(report[0].at("error").get<std::string>(), HasSubstr("bad.dat:1:15"));
  EXPECT_EQ(report[1].at("outcome"), "converged");
  EXPECT_EQ(folder.file_count(), 2U);  // no temporary left
}

TEST(Solve, OnlyBadInputLeavesNoFile) {
  const TemporaryFolder folder;
  write_file(folder.file("bad.dat"), "garbage");
  const CommandResult result = run_command("solve --json " + folder.file("out.json") + " --trace " +
                                           folder.file("t.csv") + " " + folder.file("bad.dat"));
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(Solve, OutputThatCannotBeWrittenIsBadInput) {
  const CommandResult result = run_command("solve --json /no/such/folder/x " + sample(kEasy));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("/no/such/folder/x: cannot be written"));
}

TEST(Solve, RefusesSettingsOutsideTheirRange) {
  const std::string file = " " + sample(kEasy);
  const std::pair<const char*, const char*> cases[] = {
      {"--tol 0", "--tol: must be a positive number"},
      {"--tol nan", "--tol: must be a positive number"},
      {"--tol x", "--tol"},
      {"--max-iterations -1", "--max-iterations: must be >= 0"},
      {"--time-limit -2", "--time-limit: must be >= 0"},
      {"--friction pyramid", "--friction: unknown 'pyramid'; allowed: coulomb, cone"},
      {"--kind lpc", "unknown 'lpc' (did you mean 'lcp'?); allowed: lcp mlcp"},
      {"--method lemkee", "unknown method 'lemkee' (did you mean 'lemke'?); allowed: automatic,"},
      {"--method foo", "unknown method 'foo'; allowed: automatic, gauss_seidel, nonsmooth_newton"},
  };
  for (const auto& [options, message] : cases) {
    const CommandResult result = run_command("solve " + std::string(options) + file);
    EXPECT_EQ(result.code, 2) << options;
    EXPECT_THAT(result.err, HasSubstr(message)) << options;
    EXPECT_EQ(result.out, "") << options;
  }
}

TEST(Solve, AMethodThatDoesNotApplyIsBadInput) {
  const CommandResult result = run_command("solve --method lemke " + sample(kContact));
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("method lemke does not apply"));
}

TEST(Solve, TakesDashesInMethodNames) {
  EXPECT_EQ(run_command("solve --method gauss-seidel " + sample(kEasy)).code, 0);
}

TEST(Solve, ConeAndCoulombDifferWhereAContactSlides) {
  // W = 1, q_n = -1, sliding q_t = 10: exact friction keeps u_n = 0, the cone lifts off.
  const TemporaryFolder folder;
  write_file(folder.file("slide.dat"), "2 1 0 2 2 2 2 1 0 0 1 -1 10 0.5");
  const auto normal_velocity = [&](const std::string& friction) {
    const CommandResult result = run_command("solve --json - --solution --friction " + friction +
                                             " " + folder.file("slide.dat"));
    EXPECT_EQ(result.code, 0);
    return json::parse(result.out)[0].at("u")[0].get<double>();
  };
  EXPECT_NEAR(normal_velocity("coulomb"), 0, 1e-6);
  EXPECT_GT(normal_velocity("cone"), 1);
}

TEST(Solve, TraceHasAHeaderAndOneLineAnIteration) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_command("solve --trace " + folder.file("t.csv") + " " + sample("lcp/lcp_mmc.dat"));
  EXPECT_NE(result.code, 2);
  const std::string trace = read_file(folder.file("t.csv"));
  EXPECT_THAT(trace, StartsWith("file,method,iteration,residual\n"));
  EXPECT_GT(std::count(trace.begin(), trace.end(), '\n'), 1);
}

TEST(Info, DescribesEveryKind) {
  const CommandResult local = run_command("info " + sample("fclib/RFC3D_cube_1.dat"));
  EXPECT_EQ(local.code, 0);
  EXPECT_THAT(local.out, HasSubstr("friction_local"));
  EXPECT_THAT(local.out, HasSubstr("2 of 5 numbers"));
  EXPECT_THAT(local.out, HasSubstr("6 of 10"));  // rank, as the provider of the file states
  const CommandResult global = run_command("info " + sample("fclib/Box_Stacks-i0122-82-5.hdf5"));
  EXPECT_THAT(global.out, HasSubstr("450 in 75 blocks"));
  EXPECT_THAT(global.out, HasSubstr("175 of 246"));
  EXPECT_THAT(global.out, HasSubstr("Box_stacks"));
  EXPECT_THAT(run_command("info " + sample("mlcp/relay3_mlcp.dat")).out,
              HasSubstr("4 Free, 2 Orthant"));
  EXPECT_EQ(run_command("info " + sample("mlcp/Rectangular_mlcp.dat")).code, 2);
}

TEST(Convert, ChangesTheFormatAndNotTheProblem) {
  const TemporaryFolder folder;
  const std::string in = sample("fclib/GFC3D_TwoRods1.dat");
  ASSERT_EQ(run_command("convert " + in + " " + folder.file("a.hdf5")).code, 0);
  EXPECT_EQ(read_problem(folder.file("a.hdf5")).format, FileFormat::Fclib);
  ASSERT_EQ(run_command("convert " + in + " " + folder.file("b.h5") + " --format native").code, 0);
  EXPECT_EQ(read_problem(folder.file("b.h5")).kind, ProblemKind::Canonical);
  ASSERT_EQ(run_command("convert " + folder.file("a.hdf5") + " " + folder.file("c.dat")).code, 0);
  EXPECT_EQ(to_problem(read_problem(folder.file("c.dat"))).D, to_problem(read_problem(in)).D);

  const CommandResult lcp =
      run_command("convert --format fclib " + sample(kEasy) + " " + folder.file("d.hdf5"));
  EXPECT_EQ(lcp.code, 2);
  EXPECT_THAT(lcp.err, HasSubstr("friction problems only"));
  EXPECT_EQ(run_command("convert --format foo " + in + " " + folder.file("e")).code, 2);
  EXPECT_EQ(folder.file_count(), 3U);
}

}  // namespace
}  // namespace orthant
