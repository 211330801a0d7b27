// SPDX-License-Identifier: Apache-2.0
// Formulas: values, derivatives against differences, and what is refused.
#include "orthant/force/formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;

const FormulaPoint kAt{Vec3(0.7, -1.2, 0.4), Vec3(0.3, 0.1, -0.5), 0.25};

std::string error_of(const std::string& text) {
  try {
    (void)Formula(text, "scene.yaml:3:5");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Formula, ValuesAreThoseOfTheText) {
  const double x = 0.7, r = kAt.x.norm();
  EXPECT_DOUBLE_EQ(Formula("-x*(r - sin(r))/r^2").value(kAt), -x * (r - std::sin(r)) / (r * r));
  EXPECT_DOUBLE_EQ(Formula("-2^2 + max(y, z)*pi").value(kAt), -4 + 0.4 * M_PI);
  EXPECT_DOUBLE_EQ(Formula("vx + 10*vy + 100*vz + t").value(kAt), 0.3 + 1 - 50 + 0.25);
  // One text for all components: x is the component, everything else stays.
  for (int c = 0; c < 3; ++c) EXPECT_EQ(Formula("x*y", "", c).value(kAt), kAt.x[c] * kAt.x[1]);
}

TEST(Formula, DerivativesAreThoseOfTheValue) {
  for (const char* text :
       {"-x*(r - sin(r))/r^2", "exp(-x^2)*tanh(y*z)", "atan2(y, x) + sqrt(r)*log(1 + r)",
        "abs(y)^1.5*cos(x - t)", "min(x, y)*max(vx, vy) + tan(z)", "(1 + x^2)^vy - vx^3"}) {
    const Formula f(text);
    std::array<double, 6> gradient;
    EXPECT_DOUBLE_EQ(f.value(kAt, gradient), f.value(kAt)) << text;
    for (int i = 0; i < 6; ++i) {
      const double h = 1e-5;
      const auto moved = [&](double s) {
        FormulaPoint at = kAt;
        (i < 3 ? at.x[i] : at.v[i - 3]) += s * h;
        return f.value(at);
      };
      const double difference = (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * h);
      EXPECT_NEAR(gradient[i], difference, 1e-9) << text << ", " << i;
    }
  }
}

TEST(Formula, WhatIsRefusedSaysWhere) {
  EXPECT_THAT(error_of("-x*radius"), HasSubstr("scene.yaml:3:5"));
  EXPECT_THAT(error_of("-x*radius"), HasSubstr("unknown name 'radius'"));
  EXPECT_THAT(error_of("-x*radius"), HasSubstr("character 10"));
  EXPECT_THAT(error_of("sin(x"), HasSubstr("expected ')'"));
  EXPECT_THAT(error_of("sinn(x)"), HasSubstr("did you mean 'sin'?"));
  EXPECT_THAT(error_of("x +"), HasSubstr("ends too early"));
  EXPECT_THAT(error_of("x; y"), HasSubstr("character 2: unexpected ';'"));
  EXPECT_THAT(error_of(""), HasSubstr("ends too early"));
  EXPECT_THAT(error_of(std::string(200, '(') + "1" + std::string(200, ')')),
              HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(5000, '-') + "1"), HasSubstr("at most 4096 characters"));
  EXPECT_THAT(error_of(std::string(4000, '-') + "1"), HasSubstr("nested too deeply"));
  // As long as is allowed, and flat: no depth, so it is read.
  std::string flat = "0";
  while (flat.size() < 4000) flat += "+x";
  EXPECT_EQ(error_of(flat), "no error");
}

}  // namespace
}  // namespace orthant
