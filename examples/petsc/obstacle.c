/* SPDX-License-Identifier: Apache-2.0 */
/* obstacle.c: a membrane over a ball, a program of PETSc's that knows nothing of Orthant.
 *
 *   min 1/2 |grad u|^2 - load u,  psi <= u <= ceiling  on [-2, 2]^2, u = given on the border
 *
 * The type of the Tao comes from the command line, and ours from the library that -dll_append names:
 *   mpicc obstacle.c $(pkg-config --cflags --libs petsc) -lm -o obstacle
 *   mpirun -n 2 ./obstacle -dll_append liborthant_tao.so -tao_type orthant -da_grid_x 129 -da_grid_y 129
 * Without a load and a ceiling the exact solution is known: where u lifts off at r = a it goes on as
 * a^2 / sqrt(1 - a^2) log(2 / r), with a^2 (log 2 - log a) = 1 - a^2. */
#include <math.h>
#include <petscdmda.h>
#include <petsctao.h>

typedef struct {
  Mat A;
  Vec r;
} Quadratic;

static PetscReal lift_off(void)
{
  PetscReal a = 0.7;
  for (int k = 0; k < 50; k++) {
    const PetscReal f = a * a * (PetscLogReal(2.0) - PetscLogReal(a)) - 1.0 + a * a;
    a -= f / (2 * a * (PetscLogReal(2.0) - PetscLogReal(a)) + a);
  }
  return a;
}

static PetscReal exact(PetscReal r)
{
  const PetscReal a = lift_off();
  return r <= a ? PetscSqrtReal(1 - r * r) : a * a / PetscSqrtReal(1 - a * a) * PetscLogReal(2.0 / r);
}

/* The ball, and the tangent cone of it from r = 0.9 on. */
static PetscReal obstacle(PetscReal r)
{
  const PetscReal r0 = 0.9, top = PetscSqrtReal(1 - r0 * r0);
  return r <= r0 ? PetscSqrtReal(1 - r * r) : top - r0 / top * (r - r0);
}

static PetscErrorCode value_and_gradient(Tao tao, Vec x, PetscReal *f, Vec g, void *context)
{
  Quadratic *q = (Quadratic *)context;
  PetscReal  linear;
  PetscFunctionBeginUser;
  PetscCall(MatMult(q->A, x, g));
  PetscCall(VecDot(x, g, f));
  PetscCall(VecDot(x, q->r, &linear));
  *f = 0.5 * *f + linear;
  PetscCall(VecAXPY(g, 1.0, q->r));
  PetscFunctionReturn(0);
}

static PetscErrorCode hessian(Tao tao, Vec x, Mat H, Mat P, void *context)
{
  PetscFunctionBeginUser; /* constant, filled once */
  PetscFunctionReturn(0);
}

/* Five points; what a point on the border gives goes into r. */
static PetscErrorCode fill(DM da, PetscReal load, Quadratic *q, Vec lower)
{
  DMDALocalInfo info;
  PetscReal   **r, **psi, h;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  h = 4.0 / (info.mx + 1);
  PetscCall(VecSet(q->r, -load * h * h));
  PetscCall(DMDAVecGetArray(da, q->r, &r));
  PetscCall(DMDAVecGetArray(da, lower, &psi));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const MatStencil row     = {.i = i, .j = j};
      const PetscInt   to[4][2] = {{i - 1, j}, {i + 1, j}, {i, j - 1}, {i, j + 1}};
      const PetscReal  four = 4.0, minus = -1.0;
      PetscCall(MatSetValuesStencil(q->A, 1, &row, 1, &row, &four, INSERT_VALUES));
      for (int k = 0; k < 4; k++) {
        const MatStencil column = {.i = to[k][0], .j = to[k][1]};
        const PetscReal  x = -2 + h * (column.i + 1), y = -2 + h * (column.j + 1);
        if (column.i < 0 || column.j < 0 || column.i >= info.mx || column.j >= info.my)
          r[j][i] -= exact(PetscSqrtReal(x * x + y * y));
        else
          PetscCall(MatSetValuesStencil(q->A, 1, &row, 1, &column, &minus, INSERT_VALUES));
      }
      psi[j][i] = obstacle(PetscSqrtReal(PetscSqr(-2 + h * (i + 1)) + PetscSqr(-2 + h * (j + 1))));
    }
  }
  PetscCall(DMDAVecRestoreArray(da, q->r, &r));
  PetscCall(DMDAVecRestoreArray(da, lower, &psi));
  PetscCall(MatAssemblyBegin(q->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(q->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Largest difference from the exact solution. */
static PetscErrorCode error_of(DM da, Vec u, PetscReal *error)
{
  DMDALocalInfo info;
  PetscReal   **value, most = 0;
  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayRead(da, u, &value));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscReal h = 4.0 / (info.mx + 1), x = -2 + h * (i + 1), y = -2 + h * (j + 1);
      most = PetscMax(most, PetscAbsReal(value[j][i] - exact(PetscSqrtReal(x * x + y * y))));
    }
  PetscCall(DMDAVecRestoreArrayRead(da, u, &value));
  PetscCall(MPIU_Allreduce(&most, error, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  DM                 da;
  Tao                tao;
  TaoType            type;
  TaoConvergedReason reason;
  Vec                u, lower, upper;
  Quadratic          q;
  PetscReal          ceiling = PETSC_INFINITY, load = 0, f, norm, error, sum;
  PetscInt           iterations;
  PetscMPIInt        ranks;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ceiling", &ceiling, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-load", &load, NULL));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 63, 63,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &q.A));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &q.r));
  PetscCall(VecDuplicate(u, &lower));
  PetscCall(VecDuplicate(u, &upper));
  PetscCall(fill(da, load, &q, lower));
  PetscCall(VecSet(upper, ceiling));
  PetscCall(VecPointwiseMin(lower, lower, upper));

  PetscCall(TaoCreate(PETSC_COMM_WORLD, &tao));
  PetscCall(TaoSetType(tao, TAOTRON));
  PetscCall(TaoSetSolution(tao, u));
  PetscCall(TaoSetObjectiveAndGradient(tao, NULL, value_and_gradient, &q));
  PetscCall(TaoSetHessian(tao, q.A, q.A, hessian, NULL));
  PetscCall(TaoSetVariableBounds(tao, lower, upper));
  PetscCall(TaoSetFromOptions(tao));
  PetscCall(TaoSolve(tao));

  PetscCall(TaoGetSolutionStatus(tao, &iterations, &f, &norm, NULL, NULL, &reason));
  PetscCall(TaoGetType(tao, &type));
  PetscCall(error_of(da, u, &error));
  PetscCall(VecSum(u, &sum));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s on %d ranks: %s after %" PetscInt_FMT " iterations, gradient %.1e, objective %.12g, sum %.12g, error %.2e\n",
                        type, ranks, TaoConvergedReasons[reason], iterations, (double)norm, (double)f, (double)sum,
                        (double)error));
  PetscCall(TaoDestroy(&tao));
  PetscCall(MatDestroy(&q.A));
  PetscCall(VecDestroy(&q.r));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&lower));
  PetscCall(VecDestroy(&upper));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}
