// SPDX-License-Identifier: Apache-2.0
// One contact by itself: how many answers Coulomb friction leaves it, by hand.
#include "gradient/friction_answers.hpp"

#include <gtest/gtest.h>

#include "support/splitmix.hpp"

namespace orthant::internal {
namespace {

VecX vector(std::initializer_list<double> x) {
  return Eigen::Map<const VecX>(x.begin(), static_cast<Index>(x.size()));
}

TEST(FrictionAnswers, APointMassHasOne) {
  testing::SplitMix random(7);
  const auto draw = [&] { return 2 * random.uniform() - 1; };
  for (int i = 0; i < 200; ++i) {
    const double mu = 0.1 + random.uniform();
    const VecX w_free = vector({draw(), draw(), draw()});
    const double approach = -w_free[0], slip = w_free.tail(2).norm();
    VecX w = w_free;
    if (approach > 0) {
      const double left = std::max(0.0, slip - mu * approach);
      w << 0, left / slip * w_free.tail(2);
    }
    EXPECT_FALSE(has_other_answer(MatX::Identity(3, 3), w_free, Law::coulomb(3, mu), w)) << i;
  }
}

// A contact that can only move along (0.2, 1): where it would part, friction of more than 0.2 holds
// it as well.
TEST(FrictionAnswers, OneFreedomMayJam) {
  const VecX along = vector({0.2, 1}), none = VecX::Zero(2);
  const MatX N = along * along.transpose();
  EXPECT_TRUE(has_other_answer(N, along, Law::coulomb(2, 0.3), along));  // it parts, and could hold
  EXPECT_TRUE(has_other_answer(N, along, Law::coulomb(2, 0.3), none));   // and the other way round
  EXPECT_FALSE(has_other_answer(N, along, Law::coulomb(2, 0.1), along));
  EXPECT_FALSE(has_other_answer(N, -along, Law::coulomb(2, 0.3), none));  // it closes, and is held
}

// A rod that slides (Painlevé): its normal impulse turns it against the slip, so that μ = 1 holds
// it down. It may part, slide on, or stick at once. w = N λ + w₀, λ_n = −w₀_n / (N_nn − μ N_nt).
TEST(FrictionAnswers, ARodThatSlidesMayPartOrStick) {
  MatX N(2, 2);
  N << 1, 1.5, 1.5, 4;
  const VecX w_free = vector({0.1, 1});
  const double impulse = -w_free[0] / (N(0, 0) - N(0, 1));
  const VecX w = vector({0, w_free[1] + impulse * (N(1, 0) - N(1, 1))});
  ASSERT_GT(impulse, 0);
  ASSERT_GT(w[1], 0);
  EXPECT_TRUE(has_other_answer(N, w_free, Law::coulomb(2, 1), w));
  EXPECT_TRUE(has_other_answer(N, w_free, Law::coulomb(2, 1), w_free));
  EXPECT_FALSE(has_other_answer(N, w_free, Law::coulomb(2, 0.1), w_free));
}

// Beside a contact that slides N is not symmetric: what a push along the contact does to its
// distance is not what one away does to its slip. N_nn − μ N_nt decides; that the slip changes much
// opens nothing.
TEST(FrictionAnswers, AContactBesideOneThatSlides) {
  MatX N(2, 2);
  N << 0.004, -0.001, 0.06, 0.2;
  const VecX w_free = vector({0.002, 0.02});
  EXPECT_FALSE(has_other_answer(N, w_free, Law::coulomb(2, 0.3), w_free));
  N << 0.004, 0.06, -0.001, 0.2;  // a push against the slip closes it: λ_n = 0.002/0.014
  EXPECT_TRUE(has_other_answer(N, w_free, Law::coulomb(2, 0.3), w_free));
}

// One that others hold apart to rounding, as a fourth corner: its distance answers to nothing.
TEST(FrictionAnswers, RoundingOpensNothing) {
  MatX N(2, 2);
  N << -5e-16, 5e-16, 0.06, 0.13;
  const VecX w_free = vector({1e-5, 0.5});
  EXPECT_FALSE(has_other_answer(N, w_free, Law::coulomb(2, 0.35), w_free));
}

// In space, one freedom along (0.2, 1, 0) and one across, which changes nothing.
TEST(FrictionAnswers, TwoFreedomsInSpaceMayJam) {
  const VecX along = vector({0.2, 1, 0}), across = vector({0, 0, 1});
  const MatX N = along * along.transpose() + across * across.transpose();
  EXPECT_TRUE(has_other_answer(N, along, Law::coulomb(3, 0.3), along));
  EXPECT_FALSE(has_other_answer(N, along, Law::coulomb(3, 0.1), along));
}

}  // namespace
}  // namespace orthant::internal
