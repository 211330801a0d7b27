// SPDX-License-Identifier: Apache-2.0
// solver/workspace.hpp: scratch of solve() and of every family. Nothing in it outlives a call.
#pragma once

#include "base/scratch.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/interior_point.hpp"
#include "solver/gauss_seidel.hpp"
#include "solver/islands.hpp"
#include "solver/lemke.hpp"
#include "solver/nonsmooth_newton.hpp"
#include "solver/pair_blocks.hpp"
#include "solver/polish.hpp"
#include "solver/proximal_newton.hpp"
#include "solver/velocity_descent.hpp"
#include "solver/working_set.hpp"

namespace orthant {

namespace internal {
struct IslandLots;
struct FewRowsWork;
}  // namespace internal

struct SolveWorkspace::Impl {
  // The whole problem.
  ScaleWorkspace scale_work;
  ProblemScale scale;
  JudgeWorkspace judge;
  IslandSplit split;
  Scratch<internal::IslandLots> lots;
  Scratch<internal::FewRowsWork> few_rows;

  // The island at hand.
  CanonicalProblem island;
  ProblemScale island_scale;
  Solution island_x;
  JudgeWorkspace island_judge;
  Solution best;
  CanonicalProblem rounded;  // of run_rounded() in island.cpp
  Solution found;
  VecX product, mobility;
  Plan plan, given_plan;      // in force; asked for
  bool closed_forms = false;  // of islands of one block, under a plan that is given, too

  // Its reduced form, made when the first method asks for it.
  bool local_ready = false;
  std::vector<double> rows_of;  // by velocity block
  ReduceWorkspace reduce;
  CanonicalProblem local;
  ScaleWorkspace local_scale_work;
  ProblemScale local_scale;
  Solution local_x;

  // The same in velocities, made when the first method asks for it.
  bool space_ready = false, equations_ready = false;
  internal::VelocitySpace space;
  internal::VelocityEquations equations;
  VelocitySweepWorkspace velocity_sweeps;
  internal::VelocityDescentWorkspace velocity_descent;

  // The families.
  GaussSeidelWorkspace gauss_seidel;
  InteriorPointWorkspace interior_point;
  NonsmoothNewtonWorkspace nonsmooth_newton;
  PolishWorkspace polish;
  PairBlocksWorkspace pair_blocks;
  internal::WorkingSetWorkspace working_set;
  LemkeWorkspace lemke;
  internal::ProximalNewtonWorkspace proximal_newton;
};

}  // namespace orthant
