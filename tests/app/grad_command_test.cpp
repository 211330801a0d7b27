// SPDX-License-Identifier: Apache-2.0
// orthant grad and orthant bench: closed forms of free flight, formulas against each other,
// differences, and what a wrong word gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "app/run_command.hpp"

namespace orthant {
namespace {

using nlohmann::json;
using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::TemporaryFolder;

constexpr double kT = 0.2, kMass = 2, kHeight = 3, kG = 9.81;

class Grad : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(scene_, R"(orthant: 1
materials: [{name: wood, friction: 0.3}]
bodies:
  - {name: floor, motion: fixed, shapes: {type: half_space, material: wood}}
  - {name: ball, position: [0, 0, 3], velocity: [1, 0.5, 0], mass: 2, shapes: {type: sphere, radius: 0.1}}
  - {name: block, position: [5, 0, 0.1], velocity: [2, 0, 0], shapes: {type: box, half: [0.2, 0.2, 0.1], material: wood}}
step: {h: 0.01}
run: {time: 0.2}
)");
  }
  /// Gradients by name, and the value under "".
  std::map<std::string, double> grad(const std::string& loss, const std::string& params,
                                     const std::string& more = "") {
    const CommandResult r = run_command("grad " + scene_ + " --loss '" + loss + "' --params '" +
                                        params + "' --json - " + more);
    EXPECT_EQ(r.code, 0) << r.err << r.out;
    std::map<std::string, double> out;
    const json report = json::parse(r.out).at("losses").at(0);
    for (const json& row : report.at("gradient")) out[row.at("name")] = row.at("gradient");
    out[""] = report.at("value");
    EXPECT_TRUE(report.at("certificate").at("exact").get<bool>());
    return out;
  }
  std::string complaint(const std::string& arguments) {
    const CommandResult r = run_command("grad " + scene_ + " " + arguments);
    EXPECT_EQ(r.code, 2);
    return r.err;
  }

  TemporaryFolder folder_;
  std::string scene_ = folder_.file("throw.yaml");
};

TEST_F(Grad, FreeFlightHasItsClosedForms) {
  const auto x = grad("position(ball).x", "velocity(ball).x,position(ball).x,body/ball.mass");
  EXPECT_NEAR(x.at(""), kT, 1e-12);
  EXPECT_NEAR(x.at("velocity(ball).x"), kT, 1e-12);
  EXPECT_NEAR(x.at("position(ball).x"), 1, 1e-12);
  EXPECT_NEAR(x.at("body/ball.mass"), 0, 1e-12);
  const auto z = grad("position(ball).z", "force/gravity.z,velocity(ball).z");
  EXPECT_NEAR(z.at(""), kHeight - 0.5 * kG * kT * kT, 1e-12);
  EXPECT_NEAR(z.at("force/gravity.z"), 0.5 * kT * kT, 1e-12);
  EXPECT_NEAR(z.at("velocity(ball).z"), kT, 1e-12);
}

// E = m (|v|²/2 + g z) of the ball is kept in flight; the block only adds what does not depend on
// the ball.
TEST_F(Grad, EnergyDependsOnTheMassItself) {
  const auto e = grad("energy", "body/ball.mass,position(ball).z,velocity(ball).x");
  EXPECT_NEAR(e.at("body/ball.mass"), 0.5 * 1.25 + kG * kHeight, 1e-10);
  EXPECT_NEAR(e.at("position(ball).z"), kMass * kG, 1e-10);
  EXPECT_NEAR(e.at("velocity(ball).x"), kMass * 1, 1e-10);
}

TEST_F(Grad, FormulasOfOneThingAgree) {
  const std::string by = "velocity(ball).x,velocity(ball).y,velocity(ball).z";
  const auto a = grad("distance(ball, [1, -2, 0.5])^2", by);
  const auto b = grad(
      "(position(ball).x - 1)^2 + (position(ball).y + 2) ^ 2 + (0.5 - position(ball).z)^2", by);
  const auto c = grad("distance(ball, block)", by);
  const auto d = grad(
      "sqrt((position(ball).x - position(block).x)^2 + (position(ball).y - position(block).y)^2 + "
      "(position(ball).z - position(block).z)^2)",
      by);
  for (const auto& [name, value] : a) EXPECT_NEAR(value, b.at(name), 1e-12) << name;
  for (const auto& [name, value] : c) EXPECT_NEAR(value, d.at(name), 1e-12) << name;
}

TEST_F(Grad, CheckPutsDifferencesBeside) {
  const CommandResult r =
      run_command("grad " + scene_ +
                  " --loss 'position(block).x' --params 'material/wood.friction,velocity(block).x' "
                  "--check --json -");
  ASSERT_EQ(r.code, 0) << r.err << r.out;
  const json report = json::parse(r.out);
  for (const json& row : report.at("losses").at(0).at("gradient")) {
    EXPECT_EQ(row.at("check"), "compared");
    EXPECT_GT(std::abs(row.at("gradient").get<double>()), 1e-3);
    EXPECT_NEAR(row.at("gradient").get<double>(), row.at("difference").get<double>(), 1e-6);
  }
}

TEST_F(Grad, WrongWordsGetTheNearestOnes) {
  EXPECT_THAT(complaint("--loss 'positon(ball).x'"), HasSubstr("did you mean 'position'?"));
  EXPECT_THAT(complaint("--loss 'position(bal).x'"), HasSubstr("did you mean 'ball'?"));
  EXPECT_THAT(complaint("--loss 'position(ball)'"), HasSubstr("expected .x, .y or .z"));
  EXPECT_THAT(complaint("--loss 'position(ball).x +'"), HasSubstr("ends too early"));
  EXPECT_THAT(complaint("--loss energy --params body/bal.mass"), HasSubstr("ball.mass"));
  EXPECT_THAT(complaint("--loss energy --params 'velcity(ball).x'"),
              HasSubstr("did you mean 'velocity'?"));
  EXPECT_THAT(complaint("--loss energy --params 'velocity(floor).x'"), HasSubstr("fixed"));
  EXPECT_THAT(run_command("grad --help").out, HasSubstr("Example"));
}

TEST(Bench, TellsTimeResidualContactsAndMemory) {
  const CommandResult r = run_command("bench stack chain --steps 5 --json -");
  ASSERT_EQ(r.code, 0) << r.err;
  const json report = json::parse(r.out);
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0].at("name"), "stack");
  EXPECT_EQ(report[0].at("bodies"), 10);
  EXPECT_EQ(report[0].at("steps"), 5);
  EXPECT_EQ(report[0].at("most_contacts"), 40);  // four corners a cube
  EXPECT_EQ(report[1].at("most_contacts"), 0);
  for (const json& scene : report) {
    EXPECT_GT(scene.at("ms_per_step").get<double>(), 0);
    EXPECT_GT(scene.at("memory_mb").get<double>(), 1);
    EXPECT_LE(scene.at("residual").get<double>(), 1e-10);
    EXPECT_EQ(scene.at("failed_steps"), 0);
  }
}

TEST(Bench, ListsItsScenesAndSuggests) {
  EXPECT_THAT(run_command("bench --list").out, HasSubstr("card_house"));
  EXPECT_THAT(run_command("bench --help").out, HasSubstr("Example"));
  const CommandResult wrong = run_command("bench stak");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("did you mean 'stack'?"));
}

}  // namespace
}  // namespace orthant
