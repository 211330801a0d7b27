// SPDX-License-Identifier: Apache-2.0
// solver/proximal_newton_run.hpp: one run of proximal Newton. Private to its two sources:
// proximal_newton.cpp guesses sets and solves them, proximal_descent.cpp is the globalisation.
#pragma once

#include "solver/best_answer.hpp"
#include "solver/proximal_newton.hpp"

namespace orthant::internal {

class ProximalRun {
 public:
  ProximalRun(const CanonicalProblem& p, const ProblemScale& scale,
              const ProximalNewtonSettings& settings, const MethodLimits& limits,
              ProximalNewtonWorkspace& w, Solution& x)
      : p_(p),
        scale_(scale),
        settings_(settings),
        w_(w),
        best_(Method::NonsmoothNewton, p, scale, limits, settings.max_iterations, w.judge, x) {}

  MethodResult run();

 private:
  void prepare();
  void find_mobilities();
  void relative(const VecX& v);
  void guess(std::vector<BlockSet>& sets) const;
  void residuals();
  bool factorize();
  double errors(bool matrix);
  double natural_error() const;
  double joint_errors() const;
  double imbalance(bool matrix);
  bool exact_step(double& size);
  bool approach();
  void remember();
  void go_back();
  void newton_step();
  bool solve_sets();
  bool refine();
  bool settle(int guesses, double alpha);
  bool find_manifold();
  void begin_descent();
  bool descent_step();
  double line_search(double start);
  void descend();
  double slope(const VecX& v, const VecX& direction);
  void judge();

  const CanonicalProblem& p_;
  const ProblemScale& scale_;
  const ProximalNewtonSettings& settings_;
  ProximalNewtonWorkspace& w_;
  BestAnswer best_;
  VelocitySystem* system_ = nullptr;
  double alpha_ = settings_.proximal;
  double descent_ = settings_.descent_proximal;
  double first_error_ = 0;  // of the equations of the present sets, before the first step
  double size_ = 1;         // of the terms of the equations, scaled
};

}  // namespace orthant::internal
