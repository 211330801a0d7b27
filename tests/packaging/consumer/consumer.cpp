// SPDX-License-Identifier: Apache-2.0
// consumer.cpp: uses the installed library the way a stranger would; prints its version.
#include <cstdio>

#include "orthant/base/version.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/problem/special_cases.hpp"

int main() {
  // 0 <= z ⊥ 2 z − 4 >= 0 has the solution z = 2: the judge must accept it and refuse z = 1.
  orthant::MatX M(1, 1);
  M << 2.0;
  orthant::VecX q(1);
  q << -4.0;
  const orthant::CanonicalProblem problem = orthant::make_lcp(M, q);
  orthant::Solution answer = orthant::zero_solution(problem);
  answer.lambda << 2.0;
  if (!(orthant::judge(problem, answer).value <= 1e-15)) return 1;
  answer.lambda << 1.0;
  if (!(orthant::judge(problem, answer).value >= 1e-3)) return 1;
  std::puts(orthant::version());
  return 0;
}
