// SPDX-License-Identifier: Apache-2.0
// solver/best_answer.hpp: what every method shares: it judges candidates, keeps the best one,
// writes the history, watches the limits and names the outcome.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/problem/residual.hpp"
#include "orthant/solver/method.hpp"

namespace orthant::internal {

/// What may be spent after `work` of it.
inline MethodLimits remaining(MethodLimits limits, double work) {
  if (limits.work_limit > 0) limits.work_limit = std::max(limits.work_limit - work, 1.0);
  return limits;
}

class BestAnswer {
 public:
  /// `answer` is the start, and the best answer from then on. The method counts `iterations` and
  /// `work`; `own_iterations` is its default where the limits give none.
  BestAnswer(Method method, const CanonicalProblem& p, const ProblemScale& scale,
             const MethodLimits& limits, int own_iterations, JudgeWorkspace& judge,
             Solution& answer)
      : method_(method),
        p_(p),
        scale_(scale),
        limits_(limits),
        max_iterations_(limits.iterations_or(own_iterations)),
        judge_(judge),
        answer_(answer) {}

  int iterations = 0;
  double work = 0;  ///< multiply-adds, roughly

  double residual() const { return residual_; }
  double tolerance() const { return limits_.tolerance; }
  int max_iterations() const { return max_iterations_; }
  const MethodLimits& limits() const { return limits_; }
  /// What is left for a method called from this one.
  MethodLimits rest() const { return remaining(limits_, work); }
  /// The best answer so far; the start before there is one.
  Solution& answer() { return answer_; }
  const Solution& answer() const { return answer_; }

  /// The judge on a candidate; its w is in the JudgeWorkspace.
  double judge_unrecorded(const Solution& candidate) {
    return judge_quick(p_, scale_, candidate, judge_).value;
  }
  /// The same, into the history.
  double judge(const Solution& candidate) {
    const double value = judge_unrecorded(candidate);
    limits_.record(method_, iterations, value);
    return value;
  }
  /// The best answer into the history.
  void record() const { limits_.record(method_, iterations, residual_); }
  /// The start is the best answer as long as there is no better one.
  double begin() {
    residual_ = judge(answer_);
    answer_.w = judge_.w;
    return residual_;
  }
  /// Judges, and keeps the candidate where it is the best so far.
  double consider(const Solution& candidate) {
    const double value = judge(candidate);
    if (value < residual_) keep(candidate, value);
    return value;
  }
  /// After judge(): takes the candidate whatever the one before was worth.
  void keep(const Solution& candidate, double value) {
    residual_ = value;
    answer_.v = candidate.v;
    answer_.gamma = candidate.gamma;
    answer_.lambda = candidate.lambda;
    answer_.w = judge_.w;
  }
  /// A method called from this one has ended with `candidate`.
  void adopt(const MethodResult& by, const Solution& candidate) {
    iterations += by.iterations;
    work += by.work;
    if (!(by.residual < residual_)) return;
    residual_ = by.residual;
    answer_ = candidate;
  }

  bool converged() const { return residual_ <= limits_.tolerance; }
  bool exhausted() const { return limits_.exhausted(work); }
  /// Converged, or nothing is left to spend.
  bool done() const { return converged() || iterations >= max_iterations_ || exhausted(); }

  MethodResult result(Outcome outcome) const { return {outcome, iterations, residual_, work}; }
  /// The result under the name of what ended it.
  MethodResult result() const {
    return result(converged()                     ? Outcome::Converged
                  : exhausted()                   ? Outcome::WorkLimit
                  : iterations >= max_iterations_ ? Outcome::IterationLimit
                  : std::isfinite(residual_)      ? Outcome::Stalled
                                                  : Outcome::NotFinite);
  }

 private:
  const Method method_;
  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const MethodLimits& limits_;
  const int max_iterations_;
  JudgeWorkspace& judge_;
  Solution& answer_;
  double residual_ = std::numeric_limits<double>::infinity();
};

}  // namespace orthant::internal
