// SPDX-License-Identifier: Apache-2.0
// Sweeps over batches of contacts: against the judge and the other solvers, in every instruction
// set, in both precisions, and on numbers that are no problem at all.
#include "crowd/sweeps.hpp"
#include "crowd/sweeps_plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/problem/residual.hpp"
#include "support/packing.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

constexpr SweepInstructions kAll[] = {SweepInstructions::Plain, SweepInstructions::Avx2,
                                      SweepInstructions::Avx512, SweepInstructions::Best};

Vec3 random_vector(testing::SplitMix& random) {
  return {2 * random.uniform() - 1, 2 * random.uniform() - 1, 2 * random.uniform() - 1};
}

/// The canonical problem of sweeps: rows in the contact's frame, compliance in F.
CanonicalProblem canonical(const SweepProblem& s, const std::vector<Mat3>& inertia,
                           double compliance) {
  CanonicalProblem p;
  const auto bodies = static_cast<Index>(s.bodies.size());
  p.k.resize(6 * (bodies - 1));
  for (Index i = 1; i < bodies; ++i) {
    double* h = p.H.add_block(6);
    const double m = 1 / s.bodies[i].inverse_mass;
    for (int k = 0; k < 3; ++k) h[7 * k] = m;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) h[6 * (3 + r) + 3 + c] = inertia[i](r, c);
    p.k.segment<3>(6 * (i - 1)) = m * s.bodies[i].v;
    p.k.segment<3>(6 * (i - 1) + 3) = inertia[i] * s.bodies[i].omega;
  }
  std::vector<double> b;
  std::vector<Vec3> soft;
  for (const SweepContact& c : s.contacts) {
    const Vec3 helper = std::abs(c.normal.x()) < 0.7 ? Vec3::UnitX() : Vec3::UnitY();
    const Vec3 t1 = c.normal.cross(helper).normalized();
    const Vec3 axes[3] = {c.normal, t1, c.normal.cross(t1)};
    p.laws.push_back(Law::coulomb(3, c.friction));
    p.D.begin_row(3);
    Vec3 w = Vec3::Zero();
    for (const auto& [body, lever, sign] :
         {std::tuple{c.a, c.lever_a, 1.0}, std::tuple{c.b, c.lever_b, -1.0}}) {
      if (body == 0) continue;
      double* d = p.D.add(body - 1, 6 * (body - 1), 6);
      for (int r = 0; r < 3; ++r) {
        const Vec3 turn = lever.cross(axes[r]);
        for (int k = 0; k < 3; ++k) {
          d[6 * r + k] = sign * axes[r][k];
          d[6 * r + 3 + k] = sign * turn[k];
        }
        w[r] += s.bodies[body].inverse_mass + turn.dot(inertia[body].inverse() * turn);
      }
    }
    const double tangential = 0.5 * (w[1] + w[2]);
    soft.emplace_back(c.softness + compliance * w[0], compliance * tangential,
                      compliance * tangential);
    b.insert(b.end(), {c.bias, 0, 0});
  }
  p.b = Eigen::Map<VecX>(b.data(), static_cast<Index>(b.size()));
  for (std::size_t c = 0; c < soft.size(); ++c) {
    p.F.begin_row(3);
    double* f = p.F.add(static_cast<Index>(c), static_cast<Index>(3 * c), 3);
    for (int k = 0; k < 3; ++k) f[4 * k] = soft[c][k];
  }
  return p;
}

/// The answer of sweeps in the rows of canonical().
Solution answer_of(const SweepProblem& s, const CanonicalProblem& p) {
  Solution x = zero_solution(p);
  for (std::size_t i = 1; i < s.bodies.size(); ++i) {
    x.v.segment<3>(6 * (i - 1)) = s.bodies[i].v;
    x.v.segment<3>(6 * (i - 1) + 3) = s.bodies[i].omega;
  }
  for (std::size_t c = 0; c < s.contacts.size(); ++c) {
    const Vec3 n = s.contacts[c].normal;
    const Vec3 helper = std::abs(n.x()) < 0.7 ? Vec3::UnitX() : Vec3::UnitY();
    const Vec3 t1 = n.cross(helper).normalized();
    const Vec3& f = s.contacts[c].impulse;
    x.lambda.segment<3>(3 * c) = Vec3(f.dot(n), f.dot(t1), f.dot(n.cross(t1)));
  }
  return x;
}

struct Case {
  SweepProblem problem;
  std::vector<Mat3> inertia;
  void add_body(double mass, const Mat3& I, const Vec3& v, const Vec3& omega) {
    double h[36] = {};
    for (int k = 0; k < 3; ++k) h[7 * k] = mass;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c) h[6 * (3 + r) + 3 + c] = I(r, c);
    SweepBody body;
    ASSERT_TRUE(set_inertia(h, body));
    body.v = v;
    body.omega = omega;
    problem.bodies.push_back(body);
    if (inertia.empty()) inertia.push_back(Mat3::Identity());
    inertia.push_back(I);
  }
};

/// The lattice of support/packing.hpp, read back from its rows.
Case packing(int count, double mu) {
  const CanonicalProblem p = testing::sphere_packing(count, mu, true);
  Case out;
  for (int i = 0; i < count; ++i) {
    const double* h = p.H.block(i);
    out.add_body(h[0], h[21] * Mat3::Identity(), p.k.segment<3>(6 * i) / h[0], Vec3::Zero());
  }
  for (Index c = 0; c < p.block_count(); ++c) {
    SweepContact contact;
    contact.friction = mu;
    contact.bias = p.b[3 * c];
    contact.impulse.setZero();
    contact.height = static_cast<double>(c);
    const double* d = p.D.values(c);
    for (const BlockRows::Entry& entry : p.D.entries(c)) {
      const bool is_a = contact.a == 0;
      if (is_a) contact.normal = Vec3(d[0], d[1], d[2]);
      (is_a ? contact.a : contact.b) = entry.block + 1;
      (is_a ? contact.lever_a : contact.lever_b) = (is_a ? -0.035 : 0.035) * contact.normal;
      d += 18;
    }
    if (contact.b == 0) contact.lever_b.setZero();
    out.problem.contacts.push_back(contact);
  }
  return out;
}

/// Boxes of all proportions, four contacts per pair, some sliding: general blocks with coupling.
Case chain_of_boxes(int count, double mu, std::uint64_t seed) {
  testing::SplitMix random(seed);
  Case out;
  for (int i = 0; i < count; ++i) {
    const double m = 0.5 + random.uniform();
    Mat3 A = Mat3::Identity();
    for (int r = 0; r < 3; ++r) A.row(r) += 0.4 * random_vector(random).transpose();
    out.add_body(m, 0.01 * m * (A * A.transpose()), Vec3(0.3 * random_vector(random)[0], 0, -0.1),
                 0.2 * random_vector(random));
    for (int k = 0; k < 4; ++k) {
      const Vec3 corner(k & 1 ? 0.1 : -0.1, k & 2 ? 0.1 : -0.1, -0.1);
      SweepContact c;
      c.a = i + 1;
      c.b = i;
      c.normal = Vec3(0, 0, 1);
      c.lever_a = corner;
      c.lever_b = i == 0 ? Vec3::Zero() : Vec3(corner.x(), corner.y(), 0.1);
      c.friction = mu;
      c.height = i;
      c.impulse.setZero();
      out.problem.contacts.push_back(c);
    }
  }
  return out;
}

TEST(Sweeps, OfSpheresSatisfyTheJudgeOfTheCompliantLaw) {
  for (const double mu : {0.2, 0.5}) {
    for (const double compliance : {1e-2, 1e-3}) {
      SCOPED_TRACE(::testing::Message() << mu << " " << compliance);
      Case c = packing(60, mu);
      const CanonicalProblem p = canonical(c.problem, c.inertia, compliance);
      SweepWorkspace work;
      const SweepResult r = solve_sweeps(
          c.problem,
          {.max_sweeps = 20000, .tolerance = 1e-11, .speed = 0.0981, .compliance = compliance},
          work);
      EXPECT_TRUE(r.round);
      EXPECT_EQ(r.outcome, Outcome::Converged) << r.residual;
      EXPECT_LE(judge(p, answer_of(c.problem, p)).value, 1e-8);
    }
  }
}

TEST(Sweeps, ThatGoRoundInCirclesSaySo) {
  // Exact Coulomb friction is not monotone: at μ = 0.8 this lattice keeps Gauss–Seidel in a cycle.
  Case c = packing(60, 0.8);
  const CanonicalProblem p = canonical(c.problem, c.inertia, 1e-3);
  SweepWorkspace work;
  const SweepResult r = solve_sweeps(c.problem,
                                     {.max_sweeps = 20000,
                                      .tolerance = 1e-11,
                                      .speed = 0.0981,
                                      .compliance = 1e-3,
                                      .patience = 500},
                                     work);
  EXPECT_EQ(r.outcome, Outcome::Stalled);
  EXPECT_LT(r.sweeps, 20000);
  EXPECT_GT(r.residual, 1e-11);
  EXPECT_GT(judge(p, answer_of(c.problem, p)).value, 1e-8);
}

TEST(Sweeps, WithNewtonStepsReachTheCompliantLawInFewer) {
  for (const bool round : {true, false}) {
    for (const double mu : {0.3, 0.5}) {
      SCOPED_TRACE(::testing::Message() << round << " " << mu);
      Case with = round ? packing(100, mu) : chain_of_boxes(20, mu, 3), without = with;
      const CanonicalProblem p = canonical(with.problem, with.inertia, 1e-3);
      SweepSettings settings{
          .max_sweeps = 20000, .tolerance = 1e-11, .speed = 0.0981, .compliance = 1e-3};
      SweepWorkspace work;
      const SweepResult slow = solve_sweeps(without.problem, settings, work);
      settings.newton_steps = 30;
      settings.patience = 300;
      const SweepResult fast = solve_sweeps(with.problem, settings, work);
      EXPECT_EQ(fast.outcome, Outcome::Converged) << fast.residual;
      EXPECT_GT(fast.newton_steps, 0);
      EXPECT_LT(fast.sweeps, slow.sweeps);
      EXPECT_LE(judge(p, answer_of(with.problem, p)).value, 1e-8);
    }
  }
}

TEST(Sweeps, TakeBackNewtonStepsThatDoNotGain) {
  // A gain that no phase can have: the sweeps go on as if nothing had been tried.
  Case tried = packing(60, 0.5), plain = packing(60, 0.5);
  SweepSettings settings{
      .max_sweeps = 20000, .tolerance = 1e-9, .speed = 0.0981, .compliance = 1e-3};
  SweepWorkspace work;
  const SweepResult without = solve_sweeps(plain.problem, settings, work);
  settings.newton_steps = 1;
  settings.newton_gain = 1e100;
  settings.newton_sweeps = 1;
  const SweepResult with = solve_sweeps(tried.problem, settings, work);
  EXPECT_EQ(with.outcome, Outcome::Converged);
  EXPECT_EQ(with.newton_steps, 1);
  EXPECT_GT(with.sweeps, without.sweeps);
  for (std::size_t i = 0; i < plain.problem.bodies.size(); ++i)
    EXPECT_EQ(tried.problem.bodies[i].v, plain.problem.bodies[i].v) << i;
}

TEST(Sweeps, OfBoxesAgreeWithTheOtherSolvers) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const double mu : {0.0, 0.1, 0.4}) {
      SCOPED_TRACE(::testing::Message() << seed << " " << mu);
      Case c = chain_of_boxes(3, mu, seed);
      // A little compliance makes the impulses unique as well.
      const double compliance = 1e-2;
      const CanonicalProblem p = canonical(c.problem, c.inertia, compliance);
      SweepWorkspace work;
      const SweepResult r = solve_sweeps(
          c.problem,
          {.max_sweeps = 20000, .tolerance = 1e-12, .speed = 0.1, .compliance = compliance}, work);
      EXPECT_FALSE(r.round);
      EXPECT_EQ(r.outcome, Outcome::Converged) << r.residual;
      const Solution mine = answer_of(c.problem, p);
      EXPECT_LE(judge(p, mine).value, 1e-8);
      Solution x;
      ASSERT_EQ(solve(p, {.tolerance = 1e-12}, x).outcome, Outcome::Converged);
      EXPECT_LE((mine.v - x.v).cwiseAbs().maxCoeff(), 1e-8);
    }
  }
}

TEST(Sweeps, GiveTheSameBitsInEveryInstructionSet) {
  // Of the larger ones two batches are swept at a time where registers hold so many floats.
  for (const auto& [round, count] :
       {std::pair{true, 100}, {true, 900}, {false, 40}, {false, 600}}) {
    const auto make = [round = round, count = count] {
      return round ? packing(count, 0.5) : chain_of_boxes(count, 0.3, 11);
    };
    for (const bool single : {true, false}) {
      Case reference = make();
      EXPECT_EQ(reference.problem.contacts.size() >= internal::kTwinContacts, count > 100);
      SweepSettings settings{.max_sweeps = 30,
                             .tolerance = 1e-14,
                             .speed = 0.1,
                             .compliance = 1e-4,
                             .single = single,
                             .instructions = SweepInstructions::Scalar};
      SweepWorkspace work;
      (void)solve_sweeps(reference.problem, settings, work);
      for (const SweepInstructions instructions : kAll) {
        if (!available(instructions)) continue;
        SCOPED_TRACE(::testing::Message() << name_of(instructions) << count << round << single);
        Case c = make();
        settings.instructions = instructions;
        const SweepResult r = solve_sweeps(c.problem, settings, work);
        EXPECT_EQ(r.round, round);
        for (std::size_t i = 0; i < c.problem.bodies.size(); ++i) {
          ASSERT_EQ(c.problem.bodies[i].v, reference.problem.bodies[i].v) << i;
          ASSERT_EQ(c.problem.bodies[i].omega, reference.problem.bodies[i].omega) << i;
        }
        for (std::size_t i = 0; i < c.problem.contacts.size(); ++i)
          ASSERT_EQ(c.problem.contacts[i].impulse, reference.problem.contacts[i].impulse) << i;
      }
    }
  }
}

TEST(Sweeps, OfSpheresAreTheSameAsGeneralBlocks) {
  // A lever a hair off the normal takes the general kernel; the answer moves by as little.
  Case a = packing(40, 0.5), b = packing(40, 0.5);
  b.problem.contacts[0].lever_a += 1e-9 * Vec3(1, 1, 0);
  const SweepSettings settings{
      .max_sweeps = 20000, .tolerance = 1e-12, .speed = 0.0981, .compliance = 1e-2};
  SweepWorkspace work;
  ASSERT_TRUE(solve_sweeps(a.problem, settings, work).round);
  ASSERT_FALSE(solve_sweeps(b.problem, settings, work).round);
  for (std::size_t i = 0; i < a.problem.bodies.size(); ++i)
    EXPECT_LE((a.problem.bodies[i].v - b.problem.bodies[i].v).norm(), 1e-8) << i;
}

TEST(Sweeps, MomentumSavesSweeps) {
  Case plain = packing(100, 0.5), fast = packing(100, 0.5);
  SweepSettings settings{
      .max_sweeps = 20000, .tolerance = 1e-6, .speed = 0.0981, .compliance = 1e-3};
  SweepWorkspace work;
  const SweepResult with = solve_sweeps(fast.problem, settings, work);
  settings.momentum = false;
  const SweepResult without = solve_sweeps(plain.problem, settings, work);
  EXPECT_EQ(with.outcome, Outcome::Converged);
  EXPECT_LT(2 * with.sweeps, without.sweeps);
}

TEST(Sweeps, MomentumThatIsSetBackByHowMuchTheChangeGrowsSavesSweeps) {
  int anew = 0, partly = 0;
  for (const int count : {60, 100, 150, 200}) {
    Case first = packing(count, 0.5), second = first;
    SweepSettings settings{
        .max_sweeps = 20000, .tolerance = 1e-3, .speed = 0.0981, .compliance = 1e-3};
    SweepWorkspace work;
    const SweepResult restarted = solve_sweeps(first.problem, settings, work);
    settings.memory = 0.5;
    settings.set_back = 50;
    const SweepResult kept = solve_sweeps(second.problem, settings, work);
    EXPECT_EQ(restarted.outcome, Outcome::Converged) << count;
    EXPECT_EQ(kept.outcome, Outcome::Converged) << count;
    anew += restarted.sweeps;
    partly += kept.sweeps;
  }
  EXPECT_LT(partly, anew);
}

TEST(Sweeps, ThatLeaveOpenContactsOutMissNoneThatPushes) {
  // One contact with an impulse, and gaps like these seem to stay open.
  Case c = packing(80, 0.5);
  c.problem.contacts[0].impulse = 1e-9 * c.problem.contacts[0].normal;
  const CanonicalProblem p = canonical(c.problem, c.inertia, 1e-2);
  const SweepSettings settings{
      .max_sweeps = 20000, .tolerance = 1e-11, .speed = 0.0981, .compliance = 1e-2};
  SweepWorkspace work;
  const SweepResult r = solve_sweeps(c.problem, settings, work);
  EXPECT_EQ(r.outcome, Outcome::Converged) << r.residual;
  EXPECT_LE(judge(p, answer_of(c.problem, p)).value, 1e-8);
  int closed = 0;
  for (const SweepContact& contact : c.problem.contacts)
    closed += contact.bias > 0.1 * settings.speed && contact.impulse.dot(contact.normal) > 0;
  EXPECT_GT(closed, 0);
}

TEST(Sweeps, StartFromTheLastImpulses) {
  Case c = packing(60, 0.5);
  const std::vector<SweepBody> free = c.problem.bodies;
  const SweepSettings settings{
      .max_sweeps = 20000, .tolerance = 1e-9, .speed = 0.0981, .compliance = 1e-3};
  SweepWorkspace work;
  const SweepResult cold = solve_sweeps(c.problem, settings, work);
  c.problem.bodies = free;
  const SweepResult warm = solve_sweeps(c.problem, settings, work);
  EXPECT_EQ(warm.outcome, Outcome::Converged);
  EXPECT_LT(10 * warm.sweeps, cold.sweeps);
}

TEST(Sweeps, RefuseWhatIsNotFiniteAndLeaveItAlone) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity()};
  for (const double value : bad) {
    Case c = packing(20, 0.5);
    c.problem.contacts[3].bias = value;
    const Vec3 before = c.problem.bodies[5].v;
    SweepWorkspace work;
    EXPECT_EQ(solve_sweeps(c.problem, {}, work).outcome, Outcome::NotFinite);
    EXPECT_EQ(c.problem.bodies[5].v, before);
  }
  // Overflow on the way, in single precision.
  Case c = packing(20, 0.5);
  for (SweepBody& body : c.problem.bodies) body.v *= 1e300;
  const Vec3 before = c.problem.bodies[5].v;
  SweepWorkspace work;
  EXPECT_EQ(solve_sweeps(c.problem, {.single = true}, work).outcome, Outcome::NotFinite);
  EXPECT_EQ(c.problem.bodies[5].v, before);
}

TEST(Sweeps, OfBodiesThatMoveAsToldPushTheOthersOnly) {
  // A plate that rises and turns under a sphere: body 1 is told how to move.
  SweepProblem p;
  p.bodies.resize(3);
  p.bodies[1].v = Vec3(0, 0, 0.5);
  p.bodies[1].omega = Vec3(0, 0, 2);
  double h[36] = {};
  for (int k = 0; k < 3; ++k) h[7 * k] = 2, h[21 + 7 * k] = 0.1;
  ASSERT_TRUE(set_inertia(h, p.bodies[2]));
  SweepContact c;
  c.a = 2;
  c.b = 1;
  c.normal = Vec3(0, 0, 1);
  c.lever_a = Vec3(0, 0, -0.1);
  c.lever_b = Vec3(0.3, 0, 0.1);
  c.friction = 10;
  c.impulse.setZero();
  p.contacts = {c};
  SweepWorkspace work;
  EXPECT_EQ(solve_sweeps(p, {.tolerance = 1e-12}, work).outcome, Outcome::Converged);
  EXPECT_EQ(p.bodies[1].v, Vec3(0, 0, 0.5));
  EXPECT_EQ(p.bodies[1].omega, Vec3(0, 0, 2));
  // It sticks to the plate's point, which moves with ω × r = (0, 0.6, 0).
  const Vec3 at = p.bodies[2].v + p.bodies[2].omega.cross(c.lever_a);
  EXPECT_LE((at - Vec3(0, 0.6, 0.5)).norm(), 1e-12);
}

TEST(Sweeps, RefuseInertiaThatIsNotOfARigidBody) {
  double h[36] = {};
  for (int k = 0; k < 6; ++k) h[7 * k] = 1;
  SweepBody body;
  EXPECT_TRUE(set_inertia(h, body));
  h[3] = h[18] = 0.1;
  EXPECT_FALSE(set_inertia(h, body));
  h[3] = h[18] = 0;
  h[7] = 2;
  EXPECT_FALSE(set_inertia(h, body));
  h[7] = 1;
  h[21] = -1;
  EXPECT_FALSE(set_inertia(h, body));
}

}  // namespace
}  // namespace orthant
