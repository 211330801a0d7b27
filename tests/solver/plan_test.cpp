// SPDX-License-Identifier: Apache-2.0
// solver/plan_test.cpp: the plan as a value: text and back, what it lists, plans of one's own, and
// that the documents tell of the plans in force.
#include "orthant/solver/plan.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "orthant/base/error.hpp"
#include "orthant/solver/solve_fields.hpp"
#include "support/packing.hpp"
#include "support/problem_bank.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::BankCase;
using testing::problem_bank;

TEST(Plan, TextAndBack) {
  const Plan plan{{{Method::Polish, Effort::Quick, 0},
                   {Method::GaussSeidel, Effort::Full, 40},
                   {Method::Lemke, Effort::Longer, 7},
                   {Method::Polish, Effort::Finish, 0}},
                  0};
  EXPECT_EQ(text_of(plan), "polish:quick, gauss_seidel:40, lemke:longer:7, polish:finish");
  EXPECT_EQ(plan_of(text_of(plan)), plan);
  EXPECT_EQ(plan_of(" gauss-seidel : quick ,interior_point"),
            (Plan{{{Method::GaussSeidel, Effort::Quick, 0}, {Method::InteriorPoint}}, 0}));
}

std::string message_of(std::string_view text) {
  try {
    (void)plan_of(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, BadTextNamesTheStep) {
  EXPECT_NE(message_of("gauss_seidel, lemk").find("'lemk' (did you mean 'lemke'?)"),
            std::string::npos)
      << message_of("gauss_seidel, lemk");
  EXPECT_NE(message_of("lemke:soon").find("'soon' is neither"), std::string::npos);
  EXPECT_NE(message_of("lemke:0"), "");
  EXPECT_NE(message_of("lemke,,polish"), "");
  EXPECT_NE(message_of("automatic"), "");
}

/// Every number of the one list, out of its rule: refused by the library, with its name.
TEST(Plan, SettingsOutOfTheirRulesAreRefused) {
  const CanonicalProblem p = problem_bank().front().problem;
  const auto refused = [&](const SolveSettings& settings, const std::string& name) {
    Solution x;
    try {
      (void)solve(p, settings, x);
      ADD_FAILURE() << name << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), "solve settings." + name);
    }
  };
  const auto each = [&]<class S>(std::type_identity<S>, const std::string& group, auto&& put) {
    visit_settings(std::type_identity<S>{},
                   [&](const char* name, auto member, const char*, const SettingRule& rule) {
                     S bad;
                     using T = std::decay_t<decltype(bad.*member)>;
                     if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
                       bad.*member = static_cast<T>(rule.positive ? 0 : rule.lo - 1);
                       refused(put(bad), group + name);
                       if constexpr (std::is_same_v<T, double>) {
                         bad.*member = std::numeric_limits<double>::quiet_NaN();
                         refused(put(bad), group + name);
                       }
                     }
                   });
  };
  each(std::type_identity<SolveSettings>{}, "", [](const SolveSettings& s) { return s; });
  each(std::type_identity<PlanSettings>{}, "thresholds.", [](const PlanSettings& t) {
    SolveSettings s;
    s.thresholds = t;
    return s;
  });
}

TEST(Plan, EveryStepApplies) {
  for (const BankCase& c : problem_bank()) {
    SCOPED_TRACE(c.name);
    const Plan plan = plan_for(traits_of(c.problem));
    EXPECT_FALSE(plan.steps.empty());
    for (const PlanStep& step : plan.steps)
      EXPECT_EQ(why_not_applicable(step.method, c.problem), "") << name_of(step.method);
  }
}

TEST(Plan, EveryMethodIsInSomePlan) {
  std::set<Method> seen;
  const auto look = [&](const ProblemTraits& traits) {
    for (const PlanStep& step : plan_for(traits).steps) seen.insert(step.method);
  };
  for (const BankCase& c : problem_bank()) look(traits_of(c.problem));
  look(traits_of(testing::sphere_packing(100, 0, false)));
  look({.blocks = 100000,
        .rows = 300000,
        .velocities = 200000,
        .separable = false,
        .frictional = true,
        .planar_exact = false,
        .exact = true,
        .velocity_form = true});
  look({.blocks = 0, .rows = 6, .equations = 6, .velocities = 12});
  for (const MethodInfo& info : kMethods) {
    if (info.method == Method::Automatic) continue;
    EXPECT_TRUE(seen.count(info.method)) << info.name;
  }
}

TEST(Plan, ThresholdsMoveTheChoice) {
  ProblemTraits traits{.blocks = 60, .rows = 60, .pairs = 60};
  const Plan usual = plan_for(traits);
  const Plan without = plan_for(traits, {.small_tableau = 50, .big_tableau = 50});
  const auto has = [](const Plan& plan, Method method) {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [&](const PlanStep& step) { return step.method == method; });
  };
  EXPECT_TRUE(has(usual, Method::Lemke));
  EXPECT_FALSE(has(without, Method::Lemke));
}

TEST(Plan, OneOfOnesOwnIsFollowed) {
  const CanonicalProblem p = testing::sphere_packing(60, 0.5, true);
  Solution x;
  const SolveReport report = solve(p, {.plan = "gauss_seidel:3, interior_point:2"}, x);
  ASSERT_EQ(report.attempts.size(), 2u);
  EXPECT_EQ(report.attempts[0].method, Method::GaussSeidel);
  EXPECT_EQ(report.attempts[0].iterations, 3);
  EXPECT_EQ(report.attempts[1].method, Method::InteriorPoint);
  EXPECT_LE(report.attempts[1].iterations, 3);
  EXPECT_EQ(report.outcome, Outcome::IterationLimit);
  EXPECT_EQ(report.residual.value, judge(p, x).value);
  EXPECT_THROW((void)solve(p, {.plan = "gauss"}, x), Error);
  EXPECT_THROW((void)solve(p, {.method = Method::Polish, .plan = "polish"}, x), Error);
}

TEST(Plan, ExplanationTellsTraitsPlanAndEnd) {
  const CanonicalProblem p = testing::sphere_packing(60, 0.5, true);
  SolveTrace trace;
  trace.explain = true;
  Solution x;
  const SolveReport report = solve(p, {.trace = &trace}, x);
  ASSERT_EQ(trace.solves.size(), 1u);
  std::size_t attempts = 0;
  for (const SolveTrace::Island& island : trace.solves[0].islands) {
    attempts += island.attempts.size();
    ASSERT_LE(island.attempts.size(), island.plan.steps.size());
    for (std::size_t i = 0; i < island.attempts.size(); ++i)
      EXPECT_EQ(island.attempts[i].method, island.plan.steps[i].method);
  }
  EXPECT_EQ(attempts, report.attempts.size());
  const std::string text = explanation_of(trace.solves[0]);
  for (const char* part : {"exact friction", "plan: gauss_seidel:quick", "residual", "ended:"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

std::string document(const char* name) {
  std::ifstream in(testing::source_dir() + "/docs/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// docs/solvers.md has, word for word, the plans of these traits and every threshold.
TEST(Plan, TheDocumentTellsThePlansInForce) {
  const std::string text = document("solvers.md");
  ASSERT_FALSE(text.empty());
  struct Case {
    const char* name;
    ProblemTraits traits;
  };
  const ProblemTraits cone{.blocks = 200,
                           .rows = 600,
                           .velocities = 300,
                           .separable = false,
                           .frictional = true,
                           .planar_exact = false,
                           .exact = true};
  const ProblemTraits piled{.blocks = 1000,
                            .rows = 1000,
                            .pairs = 1000,
                            .velocities = 600,
                            .velocity_blocks = 100,
                            .only_orthant = true,
                            .velocity_form = true};
  ProblemTraits planar = piled;
  planar.velocities = 300;
  planar.planar = true;
  ProblemTraits local = cone, in_velocities = cone, coupled = cone;
  local.velocities = 0;
  in_velocities.velocity_form = true;
  ProblemTraits convex = in_velocities;
  convex.exact = false;
  coupled.coupled_velocities = true;
  const Case cases[] = {
      {"200 rows of an LCP", {.blocks = 200, .rows = 200, .pairs = 200}},
      {"1000 rows of an LCP", {.blocks = 1000, .rows = 1000, .pairs = 1000}},
      {"1000 orthant rows", piled},
      {"1000 orthant rows, bodies in the plane", planar},
      {"200 friction blocks, local", local},
      {"200 friction blocks, velocity form", in_velocities},
      {"200 convex friction blocks, velocity form", convex},
      {"200 friction blocks, coupled velocities", coupled},
  };
  for (const Case& c : cases) {
    const std::string line =
        std::string("| ") + c.name + " | `" + text_of(plan_for(c.traits)) + "` |";
    EXPECT_NE(text.find(line), std::string::npos) << "missing in docs/solvers.md:\n" << line;
  }
  visit_settings(std::type_identity<PlanSettings>{},
                 [&](const char* name, auto, const char*, const SettingRule&) {
                   EXPECT_NE(text.find("`" + std::string(name) + "`"), std::string::npos) << name;
                 });
  for (const MethodInfo& info : kMethods)
    EXPECT_NE(text.find("`" + std::string(info.name) + "`"), std::string::npos) << info.name;
}

}  // namespace
}  // namespace orthant
