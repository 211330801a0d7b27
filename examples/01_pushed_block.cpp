// SPDX-License-Identifier: Apache-2.0
// 01_pushed_block: a 2 kg block on a floor is pushed by 15 N for 0.1 s. Friction 0.5 holds 9.81 N
// of that, so it slides at 0.1 s (15 − 9.81) N / 2 kg.
//
// Prints: converged: 0.2595 m/s
#include <cstdio>

#include "orthant/solver/solve.hpp"

int main() {
  orthant::CanonicalProblem p;
  orthant::Mat2::Map(p.H.add_block(2)) << 2.0, 0, 0, 2.0;  // mass; velocities are (along, up)
  p.k = 0.1 * orthant::Vec2(15.0, -2.0 * 9.81);            // impulse of push and weight
  p.laws = {orthant::Law::coulomb(2, 0.5)};                // one contact: normal, tangent
  p.D.begin_row(2);
  orthant::Mat2::Map(p.D.add(0, 0, 2)) << 0, 1, 1, 0;  // normal is up, tangent is along
  p.b = orthant::Vec2::Zero();                         // the gap is closed
  orthant::Solution x;
  const orthant::SolveReport report = orthant::solve(p, {}, x);
  std::printf("%s: %.4f m/s\n", orthant::name_of(report.outcome).data(), x.v[0]);
}
