/* SPDX-License-Identifier: Apache-2.0 */
/* tao/tao.h: our active-set conjugate gradients as a Tao type of PETSc, for C and C++.
 *
 *   min f(x) = 1/2 x'Ax + r'x,  lo <= x <= hi,  A symmetric and positive semidefinite
 *
 * On any communicator, with the matrix, the bounds and the options of the Tao. A program that does
 * not know of it gets it too: -dll_append liborthant_tao.so -tao_type orthant. docs/scale.md. */
#ifndef ORTHANT_TAO_TAO_H
#define ORTHANT_TAO_TAO_H

#include <petsctao.h>

#define TAOORTHANT "orthant"

/* After PetscInitialize(): makes TaoSetType(tao, TAOORTHANT) and -tao_type orthant known. */
PETSC_EXTERN PetscErrorCode TaoRegisterOrthant(void);

#endif
