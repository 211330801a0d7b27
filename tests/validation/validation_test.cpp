// SPDX-License-Identifier: Apache-2.0
// Every check of `orthant validate`: the quick groups one by one, the slow ones as Long….
#include "validate/validate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"

namespace orthant::validation {
namespace {

void expect_pass(const std::string& group) {
  const Checks checks = run({group});
  EXPECT_FALSE(checks.empty());
  for (const Check& check : checks)
    EXPECT_LE(check.measured, check.bound) << check.name << " [" << check.unit << "]";
}

class Quick : public ::testing::TestWithParam<const char*> {};
TEST_P(Quick, Holds) { expect_pass(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Groups, Quick,
                         ::testing::Values("projectile", "spinning_body", "incline", "thrown_block",
                                           "rolling_sphere", "bouncing_ball", "two_balls", "cradle",
                                           "elastic_gas", "tunnelling", "painleve_rod",
                                           "mass_ratio", "pendulum", "gradients", "flexible"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LongValidation, CubeStack) { expect_pass("cube_stack"); }
TEST(LongValidation, CardHouse) { expect_pass("card_house"); }
TEST(LongValidation, Arch) { expect_pass("arch"); }
TEST(LongValidation, ChainDrift) { expect_pass("chain_drift"); }
TEST(LongValidation, ChainEnergy) { expect_pass("chain_energy"); }
TEST(LongValidation, FlexibleLarge) { expect_pass("flexible_large"); }
TEST(LongValidation, GradientsLong) { expect_pass("gradients_long"); }
TEST(LongValidation, FourBar) { expect_pass("four_bar"); }

TEST(Validation, UnknownNamesAreRefusedWithASpelling) {
  try {
    (void)run({"inclined"});
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("incline"), std::string::npos);
  }
}

TEST(Validation, JsonHasOneObjectACheckAndNoNan) {
  const Check checks[] = {{"a/b", 1e-3, 1, "m"}, {"c/d", NAN, 1, "s"}};
  EXPECT_FALSE(checks[1].pass());
  EXPECT_EQ(to_json(checks),
            "[\n {\"name\": \"a/b\", \"measured\": 0.001, \"bound\": 1, \"unit\": \"m\", \"pass\": "
            "true},\n {\"name\": \"c/d\", \"measured\": null, \"bound\": 1, \"unit\": \"s\", "
            "\"pass\": false}\n]\n");
}

}  // namespace
}  // namespace orthant::validation
