// SPDX-License-Identifier: Apache-2.0
// solver/campaign_test.cpp: many random problems, each solvable by construction, through solve().
// No crash, no NaN, no `converged` that the judge denies, all solved but the seeds that are listed.
// A thousand in every run, ten thousand in the long one.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::ContactProblemSpec;
using testing::KnownProblem;
using testing::SplitMix;

struct Kind {
  const char* name;
  std::function<KnownProblem(SplitMix&)> make;
};

std::vector<Law> repeat(const Law& law, int count) {
  return std::vector<Law>(static_cast<std::size_t>(count), law);
}

/// 0 <= z ⊥ M z + q with a drawn answer.
KnownProblem lcp_from(SplitMix& rng, const MatX& M) {
  const auto n = static_cast<int>(M.rows());
  VecX z = VecX::Zero(n), w = VecX::Zero(n);
  for (int i = 0; i < n; ++i) (rng.chance(0.5) ? z : w)[i] = rng.uniform(0.05, 1);
  KnownProblem known{make_lcp(M, w - M * z), {}};
  known.answer = {VecX(0), VecX(0), z, w};
  return known;
}

MatX normal_matrix(SplitMix& rng, int rows, int columns) {
  MatX A(rows, columns);
  for (Index i = 0; i < A.size(); ++i) A.data()[i] = rng.normal();
  return A;
}

std::vector<Kind> kinds() {
  return {
      {"friction, few contacts",
       [](SplitMix& rng) {
         return random_contacts(
             rng, {.bodies = 1 + rng.index(6), .contacts = 1 + rng.index(6), .mu_max = 2});
       }},
      {"friction, rank-deficient",
       [](SplitMix& rng) {
         return random_contacts(
             rng, {.bodies = 1 + rng.index(5), .contacts = 8 + rng.index(16), .mu_max = 2});
       }},
      {"friction, planar",
       [](SplitMix& rng) {
         return random_contacts(
             rng,
             {.bodies = 2 + rng.index(8), .contacts = 2 + rng.index(20), .dim = 2, .mu_max = 2});
       }},
      {"friction, mass ratio to 1e12",
       [](SplitMix& rng) {
         return random_contacts(rng, {.bodies = 2 + rng.index(6),
                                      .contacts = 2 + rng.index(10),
                                      .mu_max = 2,
                                      .mass_ratio = rng.log_uniform(1, 1e12)});
       }},
      {"friction, joints",
       [](SplitMix& rng) {
         const int bodies = 3 + rng.index(6);
         return random_contacts(rng, {.bodies = bodies,
                                      .contacts = 2 + rng.index(8),
                                      .mu_max = 2,
                                      .joints = 1 + rng.index(bodies - 1)});
       }},
      {"friction, condition to 1e12",
       [](SplitMix& rng) {
         const int contacts = 1 + rng.index(8);
         return random_local(rng, repeat(Law::coulomb(3, rng.uniform(0, 2)), contacts),
                             3 * contacts, 0, rng.log_uniform(1, 1e12));
       }},
      {"friction, local, unsymmetric",
       [](SplitMix& rng) {
         const int contacts = 1 + rng.index(10);
         return random_local(rng, repeat(Law::coulomb(3, rng.uniform(0, 2)), contacts),
                             2 + rng.index(4 * contacts), 1e-3);
       }},
      {"convex friction",
       [](SplitMix& rng) {
         return random_contacts(rng, {.bodies = 1 + rng.index(6),
                                      .contacts = 1 + rng.index(16),
                                      .mu_max = 2,
                                      .exact = false});
       }},
      {"rolling",
       [](SplitMix& rng) {
         return random_contacts(
             rng,
             {.bodies = 1 + rng.index(5), .contacts = 1 + rng.index(8), .dim = 5, .mu_max = 1});
       }},
      {"LCP, P",
       [](SplitMix& rng) {
         const int n = 1 + rng.index(30);
         const MatX A = normal_matrix(rng, n, n), S = normal_matrix(rng, n, n);
         return lcp_from(rng,
                         A * A.transpose() / n + 0.01 * MatX::Identity(n, n) + S - S.transpose());
       }},
      {"LCP, PSD",
       [](SplitMix& rng) {
         const int n = 2 + rng.index(30);
         const MatX A = normal_matrix(rng, n, 1 + rng.index(n));
         return lcp_from(rng, A * A.transpose());
       }},
      {"LCP, copositive",
       [](SplitMix& rng) {
         const int n = 2 + rng.index(12);
         const MatX A = normal_matrix(rng, n, 2), B = normal_matrix(rng, n, n);
         return lcp_from(rng, A * A.transpose() + B.cwiseAbs() + 0.1 * MatX::Identity(n, n));
       }},
      {"MLCP with boxes",
       [](SplitMix& rng) {
         std::vector<Law> laws;
         for (int i = 0; i < 2 + rng.index(12); ++i) {
           const int which = rng.index(3);
           laws.push_back(which == 0   ? Law::free(1)
                          : which == 1 ? Law::orthant(1)
                                       : Law::box(-rng.uniform(), rng.uniform()));
         }
         const int rows = static_cast<int>(laws.size());
         return random_local(rng, std::move(laws), rows + 4);
       }},
  };
}

/// Runs `count` problems spread over the kinds and asserts the promises. `unsolved`: the seeds that
/// are known to fail; another one is a regression, and one of them that is solved leaves the list.
void campaign(int count, std::uint64_t first_seed, const std::set<std::uint64_t>& unsolved) {
  const std::vector<Kind> all = kinds();
  std::vector<int> run(all.size(), 0), solved(all.size(), 0);
  SolveWorkspace workspace;
  std::set<std::uint64_t> failed;
  for (int i = 0; i < count; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) % all.size();
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(i);
    SplitMix rng(seed);
    const KnownProblem known = all[k].make(rng);
    const CanonicalProblem& p = known.problem;
    ASSERT_LE(judge(p, known.answer).value, 1e-9) << all[k].name << ", seed " << seed;
    SolveSettings settings;
    settings.use_warm_start = false;
    Solution x;
    const SolveReport report = solve(p, settings, workspace, x);
    ASSERT_TRUE(x.v.allFinite() && x.gamma.allFinite() && x.lambda.allFinite() && x.w.allFinite())
        << all[k].name << ", seed " << seed;
    const double value = judge(p, x).value;
    if (report.outcome == Outcome::Converged) {
      EXPECT_LE(value, settings.tolerance) << all[k].name << ", seed " << seed;
    }
    ++run[k];
    if (report.outcome == Outcome::Converged) {
      ++solved[k];
    } else {
      failed.insert(seed);
      EXPECT_TRUE(unsolved.contains(seed)) << all[k].name << ", seed " << seed << ": "
                                           << name_of(report.outcome) << ", residual " << value;
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k)
    std::printf("  %-30s %d of %d\n", all[k].name, solved[k], run[k]);
  for (const std::uint64_t seed : unsolved)
    if (!failed.contains(seed))
      std::printf("  seed %llu is solved now\n", static_cast<unsigned long long>(seed));
}

// 835, three contacts in the plane, was solved by luck: three or four in ten thousand are not.
// 104577 went when proximal steps took other steps; of 30,000 others 101 were missed before, 102
// since.
TEST(Campaign, AThousandProblems) { campaign(1000, 1, {835}); }

TEST(LongCampaign, TenThousandProblems) {
  campaign(10000, 100000, {100339, 100404, 104577, 105877});
}

TEST(Campaign, SmallLcpsAgreeWithEnumeration) {
  // Any matrix: where enumeration finds nothing there is nothing, and no method may claim it.
  int solvable = 0;
  std::set<std::uint64_t> missed;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SplitMix rng(seed);
    const int n = 1 + rng.index(6);
    const CanonicalProblem p =
        make_lcp(normal_matrix(rng, n, n), VecX(normal_matrix(rng, n, 1).col(0)));
    Solution x;
    SolveSettings settings{.method = Method::Enumeration};
    const bool exists = solve(p, settings, x).outcome == Outcome::Converged;
    settings.method = Method::Automatic;
    const SolveReport report = solve(p, settings, x);
    const bool claimed = report.outcome == Outcome::Converged;
    if (claimed) {
      EXPECT_TRUE(exists) << "seed " << seed;
      EXPECT_LE(judge(p, x).value, settings.tolerance);
    }
    solvable += exists;
    if (exists && !claimed) missed.insert(seed);
  }
  EXPECT_GT(solvable, 100);
  EXPECT_EQ(missed, std::set<std::uint64_t>{});
}

}  // namespace
}  // namespace orthant
