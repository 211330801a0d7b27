// SPDX-License-Identifier: Apache-2.0
// support/problem_bank.hpp: the problems every solver faces: empty, tiny, redundant, ill-scaled,
// degenerate, unsolvable. Each says what an honest solver may answer.
#pragma once

#include <string>
#include <vector>

#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "support/random_problems.hpp"

namespace orthant::testing {

struct BankCase {
  std::string name;
  CanonicalProblem problem;
  bool solvable = true;
  VecX lambda;  ///< the one answer; empty where there are many or none
};

/// A box of mass m and half-width a on a plane, four corner contacts, friction μ, pushed sideways:
/// 12 rows on 6 velocities, so λ is not unique.
inline CanonicalProblem box_on_plane(double m, double a, double mu, double push, double h = 0.01) {
  CanonicalProblem p;
  double* H = p.H.add_block(6);
  for (int i = 0; i < 3; ++i) H[i * 7] = m, H[(i + 3) * 7] = m * a * a * 2 / 3;
  p.k.setZero(6);
  p.k[2] = -9.81 * h * m;
  p.k[0] = push * h;
  for (const double sx : {-1.0, 1.0}) {
    for (const double sy : {-1.0, 1.0}) {
      const double r[3] = {sx * a, sy * a, -a};
      p.laws.push_back(Law::coulomb(3, mu));
      p.D.begin_row(3);
      double* D = p.D.add(0, 0, 6);
      // Rows n = z, t1 = x, t2 = y; torque r × direction.
      const double axes[3][3] = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}};
      for (int i = 0; i < 3; ++i) {
        const double* n = axes[i];
        for (int j = 0; j < 3; ++j) {
          D[i * 6 + j] = n[j];
          D[i * 6 + 3 + j] = r[(j + 1) % 3] * n[(j + 2) % 3] - r[(j + 2) % 3] * n[(j + 1) % 3];
        }
      }
    }
  }
  p.b.setZero(12);
  return p;
}

/// A ball of mass m on a plane under a ball of mass M: frictionless, λ = (m + M) g h, M g h.
inline CanonicalProblem two_balls(double m, double M, double h = 0.01) {
  CanonicalProblem p;
  p.H.add_block(1)[0] = m;
  p.H.add_block(1)[0] = M;
  p.k = VecX(2);
  p.k << -9.81 * h * m, -9.81 * h * M;
  p.laws.assign(2, Law::orthant());
  p.D.begin_row(1);
  p.D.add(0, 0, 1)[0] = 1;
  p.D.begin_row(1);
  p.D.add(0, 0, 1)[0] = -1;
  p.D.add(1, 1, 1)[0] = 1;
  p.b = VecX::Zero(2);
  return p;
}

inline VecX vector_of(std::initializer_list<double> values) {
  VecX x(static_cast<Index>(values.size()));
  Index i = 0;
  for (const double value : values) x[i++] = value;
  return x;
}

inline std::vector<BankCase> problem_bank() {
  std::vector<BankCase> bank;
  bank.push_back({"empty", {}, true, {}});
  {
    CanonicalProblem p;  // a body that nothing touches
    p.H.add_block(1)[0] = 2;
    p.k = vector_of({4});
    bank.push_back({"free body", p, true, {}});
  }
  bank.push_back({"one orthant entry", make_lcp(MatX::Constant(1, 1, 2.0), vector_of({-4})), true,
                  vector_of({2})});
  bank.push_back(
      {"apart", make_lcp(MatX::Identity(3, 3), vector_of({1, 0, 2})), true, VecX::Zero(3)});
  {
    MatX W = MatX::Identity(3, 3);
    FrictionData data{3, {0.5}, {}, true};
    SparseMatrix S = W.sparseView();
    bank.push_back({"one contact sticks", make_local_friction(S, vector_of({-1, 0.2, 0}), data),
                    true, vector_of({1, -0.2, 0})});
    bank.push_back({"one contact slides", make_local_friction(S, vector_of({-1, 3, 4}), data), true,
                    vector_of({1, -0.3, -0.4})});
    bank.push_back({"no friction",
                    make_local_friction(S, vector_of({-1, 3, 4}), {3, {0}, {}, true}), true,
                    vector_of({1, 0, 0})});
    data.exact = false;  // the convex cone opens while it slides
    bank.push_back(
        {"one convex contact", make_local_friction(S, vector_of({-1, 3, 4}), data), true, {}});
  }
  bank.push_back({"box rests", box_on_plane(1, 0.5, 0.5, 0.1), true, {}});
  bank.push_back({"box slides", box_on_plane(1, 0.5, 0.1, 30), true, {}});
  bank.push_back({"tiny mass", box_on_plane(1e-9, 1e-3, 0.5, 1e-10), true, {}});
  bank.push_back({"huge mass", box_on_plane(1e9, 1e2, 0.5, 1e8), true, {}});
  // λ follows from w only to a relative 1e-8 × mass ratio: the judge cannot pin it down here.
  bank.push_back({"heavy on light", two_balls(1e-4, 1e4), true, {}});
  bank.push_back({"two balls", two_balls(1, 2), true, vector_of({0.0981 * 3, 0.0981 * 2})});
  // Degenerate: both λ and w vanish.
  bank.push_back({"touching without force", make_lcp(MatX::Identity(2, 2), vector_of({0, -1})),
                  true, vector_of({0, 1})});
  {
    // The same row three times: only the sum of λ is unique.
    MatX M = MatX::Ones(3, 3);
    bank.push_back({"repeated rows", make_lcp(M, vector_of({-1, -1, -1})), true, {}});
  }
  {
    CanonicalProblem p = make_lcp(MatX::Identity(3, 3), vector_of({-5, 5, -0.5}));
    for (Law& law : p.laws) law = Law::box(-1, 2);
    bank.push_back({"boxes", p, true, vector_of({2, -1, 0.5})});
  }
  {
    // One equation and one inequality: u = 1 − v, v ≥ 0 ⊥ v + u − 3 … see the numbers.
    MatX M(2, 2);
    M << 2, 1, 1, 3;
    SparseMatrix S = M.sparseView();
    bank.push_back({"mixed", make_mlcp(S, vector_of({-1, -4}), 1), true, vector_of({-0.2, 1.4})});
  }
  {
    // 0 ≤ z ⊥ −z − 1 ≥ 0 has no solution.
    bank.push_back(
        {"unsolvable", make_lcp(MatX::Constant(1, 1, -1.0), vector_of({-1})), false, {}});
    // A point squeezed by two walls that both move in.
    MatX M(2, 2);
    M << 1, -1, -1, 1;
    bank.push_back({"squeezed", make_lcp(M, vector_of({-1, -1})), false, {}});
  }
  {
    SplitMix rng(11);
    bank.push_back({"random contacts",
                    random_contacts(rng, {.bodies = 4, .contacts = 6, .dim = 3}).problem,
                    true,
                    {}});
    bank.push_back(
        {"random planar contacts",
         random_contacts(rng, {.bodies = 4, .contacts = 6, .dim = 2, .joints = 1}).problem,
         true,
         {}});
  }
  return bank;
}

}  // namespace orthant::testing
