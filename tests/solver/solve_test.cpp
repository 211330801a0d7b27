// SPDX-License-Identifier: Apache-2.0
// solver/solve_test.cpp: solve() on the bank: every method, islands, warm starts, same bits, no
// allocation, units.
#include "orthant/solver/solve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "orthant/base/error.hpp"
#include "support/no_alloc.hpp"
#include "support/problem_bank.hpp"

namespace orthant {
namespace {

using testing::BankCase;
using testing::NoAlloc;
using testing::problem_bank;
using testing::SplitMix;

/// The bank, and two masses that a joint ties together.
std::vector<BankCase> cases() {
  std::vector<BankCase> all = problem_bank();
  CanonicalProblem p;
  *p.H.add_block(1) = 2;
  *p.H.add_block(1) = 3;
  p.k.resize(2);
  p.k << 1.0, -4.0;
  p.C.begin_row(1);
  *p.C.add(0, 0, 1) = 1;
  *p.C.add(1, 1, 1) = -1;
  p.e = VecX::Constant(1, 0.5);
  p.b.resize(0);
  BankCase tied;
  tied.name = "two masses and a joint";
  tied.problem = p;
  all.push_back(tied);
  return all;
}

/// The part of the problems it takes that it has to solve.
double share_of(Method method) {
  return method == Method::GaussSeidel ? 0.9 : 1.0;  // one has equations without a diagonal
}

TEST(Solve, EveryMethodSolvesItsShareOfTheBankAndClaimsNoMore) {
  for (const MethodInfo& info : kMethods) {
    SCOPED_TRACE(info.name);
    int tried = 0, solved = 0;
    for (const BankCase& c : cases()) {
      if (!why_not_applicable(info.method, c.problem).empty()) continue;
      SCOPED_TRACE(c.name);
      Solution x;
      SolveSettings settings{.method = info.method, .max_iterations = 20000};
      if (info.method == Method::Polish) (void)solve(c.problem, {.tolerance = 1e-3}, x);
      SolveWorkspace work;
      if (x.lambda.size() == 0) x = zero_solution(c.problem);
      const SolveReport report = solve(c.problem, settings, work, x);
      const Residual again = judge(c.problem, x);
      const bool converged = report.outcome == Outcome::Converged;
      // Converged means that the judge, asked once more from outside, agrees; nothing else does.
      EXPECT_EQ(converged, again.value <= settings.tolerance) << describe(again, c.problem);
      EXPECT_TRUE(x.v.allFinite() && x.lambda.allFinite() && x.gamma.allFinite());
      // Pivoting methods prove that there is none; iterations that run off to infinity have small
      // relative residuals there and may be believed.
      const bool proves = info.method == Method::Automatic || info.method == Method::Enumeration ||
                          info.method == Method::Lemke;
      EXPECT_TRUE(c.solvable || !proves || !converged);
      if (c.lambda.size() > 0 && converged) {
        EXPECT_LE((x.lambda - c.lambda).norm(), 1e-7 * (1 + c.lambda.norm()));
      }
      tried += c.solvable;
      solved += c.solvable && converged;
    }
    std::printf("  %-20s %d of %d\n", std::string(info.name).c_str(), solved, tried);
    EXPECT_GT(tried, 0);
    EXPECT_GE(solved, share_of(info.method) * tried);
  }
}

TEST(Solve, AutomaticSolvesTheWholeBank) {
  for (const BankCase& c : problem_bank()) {
    Solution x;
    const SolveReport report = solve(c.problem, {}, x);
    if (c.solvable) {
      EXPECT_EQ(report.outcome, Outcome::Converged)
          << c.name << ": " << describe(report.residual, c.problem);
    } else {
      EXPECT_TRUE(report.outcome == Outcome::Infeasible ||
                  report.outcome == Outcome::RayTermination)
          << c.name << ": " << name_of(report.outcome);
    }
  }
}

TEST(Solve, AnswersRandomContacts) {
  SplitMix rng(5);
  for (int i = 0; i < 60; ++i) {
    const int dims[] = {2, 3, 5};
    testing::ContactProblemSpec spec{.bodies = 1 + rng.index(8),
                                     .contacts = 1 + rng.index(20),
                                     .dim = dims[i % 3],
                                     .joints = i % 2};
    const CanonicalProblem p = random_contacts(rng, spec).problem;
    Solution x;
    const SolveReport report = solve(p, {}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << i << ": " << describe(report.residual, p);
  }
}

/// Several problems beside one another, their blocks dealt out in turn.
CanonicalProblem side_by_side(int copies) {
  CanonicalProblem p;
  const CanonicalProblem one = testing::two_balls(1, 2);
  for (int i = 0; i < copies; ++i) {
    p.H.add_block(1)[0] = 1;
    p.H.add_block(1)[0] = 2;
  }
  p.H.add_block(1)[0] = 3;  // touched by nothing
  p.k.resize(2 * copies + 1);
  for (int i = 0; i < copies; ++i) p.k.segment(2 * i, 2) = one.k * (i + 1);
  p.k[2 * copies] = 6;
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < copies; ++i) {
      p.laws.push_back(Law::orthant());
      p.D.begin_row(1);
      if (row == 1) p.D.add(2 * i, 2 * i, 1)[0] = -1;
      if (row == 0) p.D.add(2 * i, 2 * i, 1)[0] = 1;
      if (row == 1) p.D.add(2 * i + 1, 2 * i + 1, 1)[0] = 1;
    }
  }
  p.b = VecX::Zero(2 * copies);
  return p;
}

TEST(Solve, SplitsIslandsAndPutsThemBack) {
  const int copies = 5;
  const CanonicalProblem p = side_by_side(copies);
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-12}, x);
  EXPECT_EQ(report.outcome, Outcome::Converged);
  EXPECT_EQ(report.island_count, copies);
  for (int i = 0; i < copies; ++i) {
    const double weight = 0.0981 * (i + 1);
    EXPECT_NEAR(x.lambda[i], 3 * weight, 1e-10);
    EXPECT_NEAR(x.lambda[copies + i], 2 * weight, 1e-10);
  }
  EXPECT_EQ(x.v[2 * copies], 2.0);  // 6/3: the free body
}

TEST(Solve, UnconnectedByAnExplicitZero) {
  // A stored zero block connects nothing.
  CanonicalProblem p;
  p.laws.assign(2, Law::orthant());
  for (int i = 0; i < 2; ++i) {
    p.F.begin_row(1);
    for (int j = 0; j < 2; ++j) p.F.add(j, j, 1)[0] = i == j ? 1.0 : 0.0;
  }
  p.b = testing::vector_of({-1, -2});
  Solution x;
  const SolveReport report = solve(p, {}, x);
  EXPECT_EQ(report.island_count, 2);
  EXPECT_NEAR(x.lambda[1], 2, 1e-14);
}

TEST(Solve, StartsFromTheGivenAnswer) {
  SplitMix rng(3);
  const CanonicalProblem p = random_contacts(rng, {.bodies = 6, .contacts = 12, .dim = 3}).problem;
  SolveWorkspace work;
  Solution x = zero_solution(p);
  const SolveReport cold = solve(p, {}, work, x);
  ASSERT_EQ(cold.outcome, Outcome::Converged);
  const SolveReport warm = solve(p, {}, work, x);
  EXPECT_EQ(warm.outcome, Outcome::Converged);
  EXPECT_LT(warm.iterations, cold.iterations);
  // A start of the wrong size or with a NaN is no start, and no error.
  Solution wrong = x;
  wrong.lambda = VecX::Constant(1, 7.0);
  EXPECT_EQ(solve(p, {}, work, wrong).outcome, Outcome::Converged);
  Solution bad = x;
  bad.lambda[0] = std::nan("");
  EXPECT_EQ(solve(p, {}, work, bad).outcome, Outcome::Converged);
}

TEST(Solve, GivesTheSameBitsWhateverTheWorkspaceDidBefore) {
  SplitMix rng(9);
  SolveWorkspace used;
  for (int i = 0; i < 10; ++i) {
    const CanonicalProblem p =
        random_contacts(rng, {.bodies = 2 + i, .contacts = 3 + 2 * i, .dim = i % 2 ? 2 : 3})
            .problem;
    Solution a = zero_solution(p), b = zero_solution(p);
    SolveWorkspace fresh;
    const SolveReport ra = solve(p, {}, fresh, a), rb = solve(p, {}, used, b);
    EXPECT_EQ(a.lambda, b.lambda);
    EXPECT_EQ(a.v, b.v);
    EXPECT_EQ(ra.iterations, rb.iterations);
  }
}

TEST(Solve, DoesNotAllocateOnceWarm) {
  for (const char* name :
       {"one contact slides", "box rests", "two balls", "heavy on light", "apart", "boxes"}) {
    SCOPED_TRACE(name);
    CanonicalProblem p;
    for (const BankCase& c : problem_bank()) {
      if (c.name == name) p = c.problem;
    }
    SolveWorkspace work;
    SolveReport report;
    Solution x = zero_solution(p);
    const SolveSettings settings{.method = Method::Automatic, .use_warm_start = false};
    solve(p, settings, work, x, report);
    NoAlloc guard;
    solve(p, settings, work, x, report);
  }
}

TEST(Solve, SplitsIslandsWithoutAllocatingOnceWarm) {
  const CanonicalProblem p = side_by_side(20);
  SolveWorkspace work;
  SolveReport report;
  Solution x = zero_solution(p);
  solve(p, {.use_warm_start = false}, work, x, report);
  NoAlloc guard;
  solve(p, {.use_warm_start = false}, work, x, report);
}

/// The same motion in other units: length L, mass M, time T.
CanonicalProblem in_units(const CanonicalProblem& p, double L, double M, double T) {
  CanonicalProblem q = p;
  const double impulse = M * L / T, speed = L / T;
  for (Index i = 0; i < p.H.block_count(); ++i) {
    const Index n = p.H.block_size(i);
    for (Index r = 0; r < n; ++r) {
      for (Index c = 0; c < n; ++c) {
        // Entries 3… of a spatial body are angular: v scales with L/T, ω with 1/T.
        q.H.block(i)[r * n + c] *= M * (r >= 3 ? L : 1) * (c >= 3 ? L : 1);
      }
      q.k[p.H.block_begin(i) + r] *= impulse * (r >= 3 ? L : 1);
    }
  }
  for (Index i = 0; i < p.D.row_block_count(); ++i) {
    double* d = q.D.values(i);
    for (const auto& entry : p.D.entries(i)) {
      for (Index r = 0; r < p.D.dim(i); ++r) {
        for (Index c = 0; c < entry.width; ++c) d[r * entry.width + c] *= c >= 3 ? L : 1;
      }
      d += p.D.dim(i) * entry.width;
    }
  }
  q.b *= speed;
  return q;
}

TEST(Solve, JudgeAndIterationsDoNotKnowTheUnits) {
  SplitMix rng(21);
  for (int i = 0; i < 5; ++i) {
    const CanonicalProblem p = random_contacts(rng, {.bodies = 3, .contacts = 5, .dim = 3}).problem;
    Solution x;
    const SolveReport base = solve(p, {.method = Method::GaussSeidel, .max_iterations = 50}, x);
    for (const double factor : {1e-6, 1e6}) {
      for (int unit = 0; unit < 3; ++unit) {
        const CanonicalProblem q =
            in_units(p, unit == 0 ? factor : 1, unit == 1 ? factor : 1, unit == 2 ? factor : 1);
        Solution y;
        const SolveReport other =
            solve(q, {.method = Method::GaussSeidel, .max_iterations = 50}, y);
        EXPECT_EQ(other.iterations, base.iterations) << "unit " << unit << " by " << factor;
        EXPECT_NEAR(other.residual.value, base.residual.value, 1e-6 * base.residual.value + 1e-12);
        Solution z;
        EXPECT_EQ(solve(q, {}, z).outcome, Outcome::Converged);
      }
    }
  }
}

TEST(Solve, StopsAtItsLimits) {
  SplitMix rng(2);
  const CanonicalProblem p = random_contacts(rng, {.bodies = 10, .contacts = 30, .dim = 3}).problem;
  Solution x;
  SolveReport report = solve(p, {.method = Method::GaussSeidel, .max_iterations = 1}, x);
  EXPECT_EQ(report.outcome, Outcome::IterationLimit);
  EXPECT_LE(report.iterations, 1 * report.island_count);
  report = solve(p, {.tolerance = 1e-14, .work_limit = 1}, x);
  EXPECT_EQ(report.outcome, Outcome::WorkLimit);
  report = solve(p, {.tolerance = 1e-14, .time_limit = 1e-9}, x);
  EXPECT_EQ(report.outcome, Outcome::WorkLimit);
}

TEST(Solve, RefusesWhatItCannotRun) {
  const CanonicalProblem contact = testing::box_on_plane(1, 1, 0.5, 0);
  Solution x;
  EXPECT_FALSE(why_not_applicable(Method::Lemke, contact).empty());
  EXPECT_FALSE(why_not_applicable(Method::PairBlocks, contact).empty());
  EXPECT_FALSE(why_not_applicable(Method::Enumeration, contact).empty());
  EXPECT_TRUE(why_not_applicable(Method::GaussSeidel, contact).empty());
  EXPECT_THROW((void)solve(contact, {.method = Method::Lemke}, x), Error);
  EXPECT_THROW((void)solve(contact, {.tolerance = 0}, x), Error);
  CanonicalProblem bad = contact;
  bad.b[3] = std::nan("");
  EXPECT_THROW((void)solve(bad, {}, x), Error);
  bad = contact;
  bad.laws[1].mu = -0.1;
  EXPECT_THROW((void)solve(bad, {}, x), Error);
}

TEST(Solve, KeepsAHistoryUnderTheNameOfWhatRan) {
  for (const MethodInfo& info : kMethods) {
    if (info.method == Method::Automatic) continue;
    SCOPED_TRACE(info.name);
    std::size_t points = 0;
    for (const BankCase& c : cases()) {
      if (!why_not_applicable(info.method, c.problem).empty()) continue;
      SolveTrace trace;
      Solution x;
      const SolveReport report =
          solve(c.problem, {.method = info.method, .max_iterations = 200, .trace = &trace}, x);
      for (const SolveTrace::Point& point : trace.points) EXPECT_EQ(point.method, info.method);
      if (report.outcome == Outcome::Converged && !trace.points.empty()) {
        EXPECT_LE(trace.points.back().residual, 1e-8);
      }
      points += trace.points.size();
    }
    EXPECT_GT(points, 0u);
  }
}

}  // namespace
}  // namespace orthant
