// SPDX-License-Identifier: Apache-2.0
// box_problems: a quadratic problem with nearly parallel rows in bounds of all kinds, by the Tao
// type of the command line; prints the iterations and by how much the conditions of its minimum
// are missed. -block N: rows per block, 0: blocks of 1 to 5; -quartic C: C Σx⁴ is added.
#include <petsctao.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "orthant/tao/tao.h"

namespace {

constexpr int kBlocks = 60;

/// In [-1, 1), from two numbers alone.
double noise(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = (a * 1000003 + b + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return 2 * static_cast<double>((z ^ (z >> 31)) >> 11) / 9007199254740992.0 - 1;
}

struct Problem {
  Mat A = nullptr;
  Vec r = nullptr;
  double quartic = 0;
};

PetscErrorCode objective(Tao, Vec x, PetscReal* f, Vec g, void* context) {
  const auto& p = *static_cast<Problem*>(context);
  double linear = 0, sum = 0;
  const double* value = nullptr;
  double* slope = nullptr;
  PetscInt n = 0;
  PetscFunctionBeginUser;
  PetscCall(MatMult(p.A, x, g));
  PetscCall(VecDot(x, g, f));
  PetscCall(VecDot(x, p.r, &linear));
  PetscCall(VecAXPY(g, 1.0, p.r));
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &value));
  PetscCall(VecGetArray(g, &slope));
  for (PetscInt i = 0; i < n; ++i) {
    sum += p.quartic * std::pow(value[i], 4);
    slope[i] += 4 * p.quartic * std::pow(value[i], 3);
  }
  PetscCall(VecRestoreArrayRead(x, &value));
  PetscCall(VecRestoreArray(g, &slope));
  PetscCall(MPIU_Allreduce(MPI_IN_PLACE, &sum, 1, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  *f = 0.5 * *f + linear + sum;
  PetscFunctionReturn(0);
}

PetscErrorCode hessian(Tao, Vec, Mat, Mat, void*) { return 0; }

PetscErrorCode run(PetscInt block) {
  PetscMPIInt ranks = 1, rank = 0;
  Problem p;
  Vec x, lo, hi, g;
  Tao tao;
  TaoConvergedReason reason;
  TaoType type;
  PetscInt iterations = 0;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetReal(nullptr, nullptr, "-quartic", &p.quartic, nullptr));

  // Rows of L: those of a block nearly the same; A = L Lᵀ.
  std::vector<PetscInt> block_of, sizes;
  PetscInt begin = 0, own = 0;
  for (int k = 0; k < kBlocks; ++k) {
    const PetscInt size = block > 0 ? block : 1 + (7 * k) % 5;
    const bool mine = k * ranks / kBlocks == rank;
    if (mine) sizes.push_back(size);
    if (k * ranks / kBlocks < rank) begin += size;
    if (mine) own += size;
    block_of.insert(block_of.end(), static_cast<std::size_t>(size), k);
  }
  const auto n = static_cast<PetscInt>(block_of.size());
  const auto entry = [&](PetscInt row, PetscInt column) {  // of L
    const PetscInt k = block_of[row];
    if (column < 8 * k || column >= 8 * (k + 2)) return 0.0;
    return noise(k, column) + 0.03 * noise(1000 + row, column);
  };
  PetscCall(MatCreate(PETSC_COMM_WORLD, &p.A));
  PetscCall(MatSetSizes(p.A, own, own, n, n));
  PetscCall(MatSetType(p.A, MATAIJ));
  PetscCall(MatSetUp(p.A));
  PetscCall(MatSetOption(p.A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = begin; i < begin + own; ++i)
    for (PetscInt j = 0; j < n; ++j) {
      if (std::abs(block_of[i] - block_of[j]) > 1) continue;
      double value = 0;
      for (PetscInt c = 0; c < 8 * (kBlocks + 2); ++c) value += entry(i, c) * entry(j, c);
      PetscCall(MatSetValue(p.A, i, j, value, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(p.A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p.A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetVariableBlockSizes(p.A, static_cast<PetscInt>(sizes.size()), sizes.data()));
  PetscCall(MatCreateVecs(p.A, &x, &p.r));
  PetscCall(VecDuplicate(x, &lo));
  PetscCall(VecDuplicate(x, &hi));
  PetscCall(VecDuplicate(x, &g));
  for (PetscInt i = begin; i < begin + own; ++i) {
    const double width = std::abs(noise(5000, i));
    const double low = i % 7 == 0 ? PETSC_NINFINITY : 0.2 * noise(6000, i);
    const double high = i % 5 == 0                  ? PETSC_INFINITY
                        : i % 11 == 0 && i % 7 != 0 ? low
                                                    : 0.2 * noise(6000, i) + width;
    PetscCall(VecSetValue(p.r, i, noise(7000, i), INSERT_VALUES));
    PetscCall(VecSetValue(lo, i, low, INSERT_VALUES));
    PetscCall(VecSetValue(hi, i, high, INSERT_VALUES));
  }
  for (Vec v : {p.r, lo, hi}) {
    PetscCall(VecAssemblyBegin(v));
    PetscCall(VecAssemblyEnd(v));
  }
  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, TAOORTHANT));
  PetscCall(TaoSetSolution(tao, x));
  PetscCall(TaoSetObjectiveAndGradient(tao, nullptr, objective, &p));
  PetscCall(TaoSetHessian(tao, p.A, p.A, hessian, nullptr));
  PetscCall(TaoSetVariableBounds(tao, lo, hi));
  PetscCall(TaoSetTolerances(tao, 1e-9, 0, 0));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));
  PetscCall(TaoGetSolutionStatus(tao, &iterations, nullptr, nullptr, nullptr, nullptr, &reason));
  PetscCall(TaoGetType(tao, &type));

  // x = Π(x − g), whatever the solver says.
  double f = 0, missed[2] = {0, 0}, sum = 0;
  PetscInt at_bounds[3] = {0, 0, 0};
  const double *xs, *gs, *los, *his;
  PetscCall(objective(tao, x, &f, g, &p));
  PetscCall(VecGetArrayRead(x, &xs));
  PetscCall(VecGetArrayRead(g, &gs));
  PetscCall(VecGetArrayRead(lo, &los));
  PetscCall(VecGetArrayRead(hi, &his));
  for (PetscInt i = 0; i < own; ++i) {
    missed[0] = std::max(missed[0], std::abs(xs[i] - std::clamp(xs[i] - gs[i], los[i], his[i])));
    ++at_bounds[xs[i] <= los[i] ? 0 : xs[i] >= his[i] ? 2 : 1];
  }
  PetscCall(VecSum(x, &sum));
  PetscCall(MPIU_Allreduce(MPI_IN_PLACE, missed, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscCall(MPIU_Allreduce(MPI_IN_PLACE, at_bounds, 3, MPIU_INT, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s %s iterations %" PetscInt_FMT
                        " missed %.3e sum %.10e low %" PetscInt_FMT " free %" PetscInt_FMT
                        " high %" PetscInt_FMT "\n",
                        type, TaoConvergedReasons[reason], iterations, missed[0], sum, at_bounds[0],
                        at_bounds[1], at_bounds[2]));
  PetscCall(VecRestoreArrayRead(x, &xs));
  PetscCall(VecRestoreArrayRead(g, &gs));
  PetscCall(VecRestoreArrayRead(lo, &los));
  PetscCall(VecRestoreArrayRead(hi, &his));
  PetscCall(TaoDestroy(&tao));
  for (Vec* v : {&x, &p.r, &lo, &hi, &g}) PetscCall(VecDestroy(v));
  PetscCall(MatDestroy(&p.A));
  PetscFunctionReturn(0);
}

}  // namespace

int main(int argc, char** argv) {
  PetscInt block = 1;
  PetscCall(PetscInitialize(&argc, &argv, nullptr, nullptr));
  PetscCall(TaoRegisterOrthant());
  PetscCall(PetscOptionsGetInt(nullptr, nullptr, "-block", &block, nullptr));
  PetscCall(run(block));
  PetscCall(PetscFinalize());
  return 0;
}
