// SPDX-License-Identifier: Apache-2.0
// The experiments of the literature in their quick forms: every check must hold.
#include <gtest/gtest.h>

#include "orthant/base/error.hpp"
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
