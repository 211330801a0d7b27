// SPDX-License-Identifier: Apache-2.0
// tao/tao_orthant.cpp: the Tao type "orthant": a quadratic objective and bounds => its minimum.
//   step:  x⁺ = argmin over lo <= y <= hi of  g·(y − x) + (y − x)ᵀG(y − x)/(2α),  block by block
// The method of solver/pair_blocks.cpp with two bounds, on the vectors and matrices of PETSc. CG on
// the free rows, preconditioned by the diagonal blocks G restricted to them. A step that would
// leave the bounds is taken whole and projected in the metric G; rows at a bound that want to leave
// it come in with the next direction. Neither starts CG anew. Gradients are carried along and taken
// from the application every `refresh` iterations and before anything is called converged, so that
// an objective that is not quadratic is found out.
#include <petsc/private/taoimpl.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "orthant/tao/tao.h"
#include "tao/box_block.hpp"

static_assert(std::is_same_v<PetscScalar, double>, "needs PETSc with real double numbers");

namespace orthant::tao {
namespace {

using Small = double[kMaxBlock];

PetscLogEvent precondition_event, project_event, refresh_event;

/// Rows of this rank that belong together.
struct Group {
  PetscInt begin = 0;
  int size = 0;
  std::size_t matrix = 0;  // size x size values; of one row: none
};

/// What this rank has of the vectors.
struct Rows {
  PetscInt count = 0;
  double *x = nullptr, *g = nullptr, *d = nullptr, *Ad = nullptr, *z = nullptr;
  const double *lo = nullptr, *hi = nullptr;

  bool free(PetscInt i) const { return x[i] > lo[i] && x[i] < hi[i]; }
  /// At a bound that it wants to leave.
  bool wants(PetscInt i) const {
    return !free(i) && lo[i] < hi[i] && (x[i] <= lo[i] ? g[i] < 0 : g[i] > 0);
  }
};

/// |g|² of the free rows, and of those at a bound that want to leave it; together that of the
/// projected gradient.
struct Wishes {
  double of_free = 0, to_leave = 0;
  double total() const { return of_free + to_leave; }
};

struct ActiveSet {
  // options
  PetscReal release = 1000;
  PetscInt refresh = 50;
  PetscBool use_blocks = PETSC_TRUE;

  Vec d = nullptr, Ad = nullptr, z = nullptr;
  std::vector<Group> groups;
  std::vector<double> matrices, inverse;  // inverse: of a row that is a block of its own

  double f = 0, gd = 0, dAd = 0;  // gd, dAd: of the direction at hand
  Wishes wish;

  PetscErrorCode run(Tao tao);

 private:
  template <class Work>
  PetscErrorCode on_rows(Tao tao, Work&& work);
  template <class Change>
  void each_block(const Rows& r, double* out, Change&& change);
  PetscErrorCode sum(Tao tao, double* values, int count);
  PetscErrorCode read_blocks(Mat A);
  PetscErrorCode look(Tao tao, bool first);
  PetscErrorCode log(Tao tao, double step);
  PetscErrorCode note_wishes(Tao tao, double step);
  PetscErrorCode gradient_length(Tao tao, double& length);
  PetscErrorCode precondition(Tao tao, bool in_rows, bool in_blocks, double last, double& beta);
  PetscErrorCode along(Tao tao, double beta, double& furthest);
  PetscErrorCode products(Tao tao);
  PetscErrorCode projected_step(Tao tao, double length, double& t, bool& conjugate);
};

template <class Work>
PetscErrorCode ActiveSet::on_rows(Tao tao, Work&& work) {
  Rows r;
  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(tao->solution, &r.count));
  PetscCall(VecGetArray(tao->solution, &r.x));
  PetscCall(VecGetArray(tao->gradient, &r.g));
  PetscCall(VecGetArray(d, &r.d));
  PetscCall(VecGetArray(Ad, &r.Ad));
  PetscCall(VecGetArray(z, &r.z));
  PetscCall(VecGetArrayRead(tao->XL, &r.lo));
  PetscCall(VecGetArrayRead(tao->XU, &r.hi));
  work(r);
  PetscCall(VecRestoreArray(tao->solution, &r.x));
  PetscCall(VecRestoreArray(tao->gradient, &r.g));
  PetscCall(VecRestoreArray(d, &r.d));
  PetscCall(VecRestoreArray(Ad, &r.Ad));
  PetscCall(VecRestoreArray(z, &r.z));
  PetscCall(VecRestoreArrayRead(tao->XL, &r.lo));
  PetscCall(VecRestoreArrayRead(tao->XU, &r.hi));
  PetscFunctionReturn(0);
}

/// change(group, G, y): y = x of its rows as it comes in; out = y after it.
template <class Change>
void ActiveSet::each_block(const Rows& r, double* out, Change&& change) {
  for (const Group& group : groups) {
    Small y;
    double lone = group.size == 1 ? 1 / inverse[group.begin] : 0;
    std::copy_n(r.x + group.begin, group.size, y);
    change(group, group.size == 1 ? &lone : matrices.data() + group.matrix, y);
    std::copy_n(y, group.size, out + group.begin);
  }
}

PetscErrorCode ActiveSet::sum(Tao tao, double* values, int count) {
  PetscFunctionBegin;
  PetscCall(MPIU_Allreduce(MPI_IN_PLACE, values, count, MPIU_REAL, MPIU_SUM,
                           PetscObjectComm(reinterpret_cast<PetscObject>(tao))));
  PetscFunctionReturn(0);
}

/// The blocks that MatSetVariableBlockSizes() told, or of the block size of the matrix; larger ones
/// are cut. A matrix that gives no values has its diagonal alone, or nothing.
PetscErrorCode ActiveSet::read_blocks(Mat A) {
  PetscInt begin = 0, end = 0, told = 0, block_size = 1;
  const PetscInt* sizes = nullptr;
  PetscBool has_values = PETSC_FALSE, has_diagonal = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatGetVariableBlockSizes(A, &told, &sizes));
  PetscCall(MatGetBlockSize(A, &block_size));
  PetscCall(MatHasOperation(A, MATOP_GET_VALUES, &has_values));
  PetscCall(MatHasOperation(A, MATOP_GET_DIAGONAL, &has_diagonal));
  if (!use_blocks || !has_values) told = 0, block_size = 1;
  const PetscInt count = end - begin;
  inverse.assign(static_cast<std::size_t>(count), 1.0);
  if (has_diagonal) {
    const double* diagonal = nullptr;
    PetscCall(MatGetDiagonal(A, z));
    PetscCall(VecGetArrayRead(z, &diagonal));
    for (PetscInt i = 0; i < count; ++i)
      if (diagonal[i] > 0) inverse[i] = 1 / diagonal[i];
    PetscCall(VecRestoreArrayRead(z, &diagonal));
  }
  groups.clear();
  matrices.clear();
  for (PetscInt at = 0, k = 0; at < count; ++k) {
    for (PetscInt left = told > 0 ? sizes[k] : block_size; left > 0;) {
      const int m = static_cast<int>(std::min<PetscInt>(left, kMaxBlock));
      groups.push_back({at, m, matrices.size()});
      at += m;
      left -= m;
      if (m == 1) continue;
      PetscInt rows[kMaxBlock];
      double G[kMaxBlock * kMaxBlock];
      for (int i = 0; i < m; ++i) rows[i] = begin + at - m + i;
      PetscCall(MatGetValues(A, m, rows, m, rows, G));
      for (int i = 0; i < m; ++i) {
        // Nearly parallel rows: the blocks must stay positive.
        G[i * m + i] = G[i * m + i] > 0 ? G[i * m + i] * (1 + 1e-10) : 1.0;
        for (int j = 0; j < i; ++j)
          G[i * m + j] = G[j * m + i] = 0.5 * (G[i * m + j] + G[j * m + i]);
      }
      matrices.insert(matrices.end(), G, G + m * m);
    }
  }
  PetscFunctionReturn(0);
}

/// Objective and gradient of the application; what was carried along must be near.
PetscErrorCode ActiveSet::look(Tao tao, bool first) {
  double size = 0, error = 0, carried = f;
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(refresh_event, tao, 0, 0, 0));
  if (!first) PetscCall(VecCopy(tao->gradient, z));
  PetscCall(TaoComputeObjectiveAndGradient(tao, tao->solution, &f, tao->gradient));
  if (!first) {
    PetscCall(VecAXPY(z, -1.0, tao->gradient));
    PetscCall(VecNorm(z, NORM_2, &error));
    PetscCall(MatMult(tao->hessian, tao->solution, z));  // the size of the terms of the gradient
    PetscCall(VecNorm(z, NORM_2, &size));
    size += tao->gnorm0;
    PetscCheck(
        !(error > 1e-6 * size), PetscObjectComm(reinterpret_cast<PetscObject>(tao)),
        PETSC_ERR_ARG_INCOMP,
        "Tao type orthant is for quadratic objectives: after %" PetscInt_FMT
        " iterations the gradient differs from that of the Hessian at the start by %g of %g, "
        "the objective by %g",
        tao->niter, error, size, carried - f);
  }
  PetscCall(PetscLogEventEnd(refresh_event, tao, 0, 0, 0));
  PetscFunctionReturn(0);
}

/// Tells the Tao where the iteration is; its test sets tao->reason.
PetscErrorCode ActiveSet::log(Tao tao, double step) {
  const double norm = std::sqrt(wish.total());
  PetscFunctionBegin;
  PetscCheck(std::isfinite(f) && std::isfinite(norm),
             PetscObjectComm(reinterpret_cast<PetscObject>(tao)), PETSC_ERR_USER,
             "objective or gradient is not finite");
  PetscCall(TaoLogConvergenceHistory(tao, f, norm, 0.0, tao->niter));
  PetscCall(TaoMonitor(tao, tao->niter, f, norm, 0.0, step));
  PetscCall((*tao->ops->convergencetest)(tao, tao->cnvP));
  PetscFunctionReturn(0);
}

/// x += step d, g += step A d; counts the wishes.
PetscErrorCode ActiveSet::note_wishes(Tao tao, double step) {
  double sums[2] = {0, 0};
  PetscFunctionBegin;
  PetscCall(on_rows(tao, [&](const Rows& r) {
    for (PetscInt i = 0; i < r.count; ++i) {
      r.x[i] = std::clamp(r.x[i] + step * r.d[i], r.lo[i], r.hi[i]);
      r.g[i] += step * r.Ad[i];
      if (r.free(i))
        sums[0] += r.g[i] * r.g[i];
      else if (r.wants(i))
        sums[1] += r.g[i] * r.g[i];
    }
  }));
  PetscCall(sum(tao, sums, 2));
  f += step * (gd + 0.5 * step * dAd);
  wish = {sums[0], sums[1]};
  PetscFunctionReturn(0);
}

/// 1.8 over the largest eigenvalue of G⁻¹A, by power iterations from a start that does not depend
/// on the ranks.
PetscErrorCode ActiveSet::gradient_length(Tao tao, double& length) {
  double eigenvalue = 1;
  PetscInt begin = 0;
  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(tao->solution, &begin, nullptr));
  PetscCall(on_rows(tao, [&](const Rows& r) {
    for (PetscInt i = 0; i < r.count; ++i)
      r.d[i] = 1.0 + 0.5 * std::sin(1.0 + 12.9898 * static_cast<double>(begin + i));
  }));
  for (int k = 0; k < 8; ++k) {
    double sums[2] = {0, 0};  // dᵀGd, dᵀAd
    PetscCall(MatMult(tao->hessian, d, Ad));
    PetscCall(on_rows(tao, [&](const Rows& r) {
      for (const Group& group : groups) {
        Small c;
        if (group.size == 1)
          c[0] = r.d[group.begin] / inverse[group.begin];
        else
          block_product(matrices.data() + group.matrix, group.size, r.d + group.begin, c);
        for (int i = 0; i < group.size; ++i) {
          sums[0] += r.d[group.begin + i] * c[i];
          sums[1] += r.d[group.begin + i] * r.Ad[group.begin + i];
        }
        if (group.size == 1)
          r.d[group.begin] = r.Ad[group.begin] * inverse[group.begin];
        else
          solve_subset(matrices.data() + group.matrix, group.size, ~0u, r.Ad + group.begin,
                       r.d + group.begin);
      }
    }));
    PetscCall(sum(tao, sums, 2));
    if (!(sums[0] > 0)) break;
    const double next = sums[1] / sums[0];
    const bool settled = std::abs(next - eigenvalue) < 0.02 * next;
    eigenvalue = next;
    if (settled || !(next > 0)) break;
    PetscCall(VecScale(d, 1 / next));
  }
  length = 1.8 / (1.05 * std::max(eigenvalue, 1e-12));
  PetscFunctionReturn(0);
}

/// z = inverse of the blocks restricted to the face, times g there; 0 elsewhere. The face: free
/// rows, and those that want to leave a bound where they are let in. `last`: dᵀAd of the step
/// before, 0 for none; beta makes beta d − z conjugate to it, and gd is its slope.
PetscErrorCode ActiveSet::precondition(Tao tao, bool in_rows, bool in_blocks, double last,
                                       double& beta) {
  double sums[3] = {0, 0, 0};  // z·Ad, z·g, and d·g on the face
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(precondition_event, tao, 0, 0, 0));
  PetscCall(on_rows(tao, [&](const Rows& r) {
    for (const Group& group : groups) {
      const PetscInt at = group.begin;
      const int m = group.size;
      if (m == 1) {
        r.z[at] = r.free(at) || (in_rows && r.wants(at)) ? r.g[at] * inverse[at] : 0.0;
      } else {
        const double* G = matrices.data() + group.matrix;
        unsigned in = 0;
        bool let_in = false;
        for (int i = 0; i < m; ++i) {
          if (r.free(at + i)) in |= 1u << i;
          let_in = let_in || (in_blocks && r.wants(at + i));
        }
        if (let_in) {  // which of them comes in is up to all rows of the block
          Small c, y;
          block_product(G, m, r.x + at, c);
          for (int i = 0; i < m; ++i) c[i] -= r.g[at + i];
          std::copy_n(r.x + at, m, y);
          box_block(G, m, c, r.lo + at, r.hi + at, y);
          for (int i = 0; i < m; ++i) r.z[at + i] = r.x[at + i] - y[i];
        } else {
          solve_subset(G, m, in, r.g + at, r.z + at);
        }
      }
      for (PetscInt i = at; i < at + m; ++i) {
        sums[0] += r.z[i] * r.Ad[i];
        sums[1] += r.z[i] * r.g[i];
        if (r.z[i] != 0) sums[2] += r.d[i] * r.g[i];
      }
    }
  }));
  PetscCall(sum(tao, sums, 3));
  beta = last > 0 ? sums[0] / last : 0.0;
  gd = beta * sums[2] - sums[1];
  PetscCall(PetscLogEventEnd(precondition_event, tao, 0, 0, 0));
  PetscFunctionReturn(0);
}

/// d = beta d − z on the face, 0 elsewhere; its curvature, and how far along it no row leaves its
/// bounds.
PetscErrorCode ActiveSet::along(Tao tao, double beta, double& furthest) {
  double curve = 0, least = HUGE_VAL;
  PetscFunctionBegin;
  PetscCall(on_rows(tao, [&](const Rows& r) {
    for (PetscInt i = 0; i < r.count; ++i)
      r.d[i] = r.z[i] != 0 ? (beta != 0 ? beta * r.d[i] : 0.0) - r.z[i] : 0.0;
  }));
  PetscCall(MatMult(tao->hessian, d, Ad));
  PetscCall(on_rows(tao, [&](const Rows& r) {
    for (PetscInt i = 0; i < r.count; ++i) {
      curve += r.d[i] * r.Ad[i];
      if (r.d[i] < 0) least = std::min(least, (r.x[i] - r.lo[i]) / -r.d[i]);
      if (r.d[i] > 0) least = std::min(least, (r.hi[i] - r.x[i]) / r.d[i]);
    }
  }));
  PetscCall(sum(tao, &curve, 1));
  PetscCall(MPIU_Allreduce(&least, &furthest, 1, MPIU_REAL, MPIU_MIN,
                           PetscObjectComm(reinterpret_cast<PetscObject>(tao))));
  dAd = curve;
  PetscFunctionReturn(0);
}

/// A d, d·g and dᵀAd.
PetscErrorCode ActiveSet::products(Tao tao) {
  double sums[2] = {0, 0};
  PetscFunctionBegin;
  PetscCall(MatMult(tao->hessian, d, Ad));
  PetscCall(on_rows(tao, [&](const Rows& r) {
    for (PetscInt i = 0; i < r.count; ++i) {
      sums[0] += r.d[i] * r.g[i];
      sums[1] += r.d[i] * r.Ad[i];
    }
  }));
  PetscCall(sum(tao, sums, 2));
  gd = sums[0];
  dAd = sums[1];
  PetscFunctionReturn(0);
}

/// d = what the rows can follow of t d, if that descends; else the block gradient step of `length`,
/// to which no direction is made conjugate. t: how far to go along d.
PetscErrorCode ActiveSet::projected_step(Tao tao, double length, double& t, bool& conjugate) {
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(project_event, tao, 0, 0, 0));
  conjugate = t > 0 && std::isfinite(t);
  if (conjugate) {
    PetscCall(on_rows(tao, [&](const Rows& r) {
      each_block(r, r.z, [&](const Group& group, const double* G, double* y) {
        Small full, c;
        bool outside = false;
        for (int i = 0; i < group.size; ++i) {
          const PetscInt at = group.begin + i;
          full[i] = y[i] + t * r.d[at];
          outside = outside || full[i] < r.lo[at] || full[i] > r.hi[at];
        }
        if (outside) {
          block_product(G, group.size, full, c);
          box_block(G, group.size, c, r.lo + group.begin, r.hi + group.begin, full);
        }
        for (int i = 0; i < group.size; ++i) y[i] = full[i] - y[i];
      });
    }));
    PetscCall(VecCopy(z, d));
    PetscCall(products(tao));
    t = 1;
    conjugate = gd + 0.5 * dAd < 0;
  }
  if (!conjugate) {
    PetscCall(on_rows(tao, [&](const Rows& r) {
      each_block(r, r.d, [&](const Group& group, const double* G, double* y) {
        Small c, from;
        std::copy_n(y, group.size, from);
        block_product(G, group.size, y, c);
        for (int i = 0; i < group.size; ++i) c[i] -= length * r.g[group.begin + i];
        box_block(G, group.size, c, r.lo + group.begin, r.hi + group.begin, y);
        for (int i = 0; i < group.size; ++i) y[i] -= from[i];
      });
    }));
    PetscCall(products(tao));
    // Whole, so that rows come to their bounds for good, unless the length was too long.
    t = 1;
    if (!(gd + 0.5 * dAd < 0)) t = dAd > 0 ? std::clamp(-gd / dAd, 0.0, 1.0) : 0.0;
  }
  PetscCall(PetscLogEventEnd(project_event, tao, 0, 0, 0));
  PetscFunctionReturn(0);
}

PetscErrorCode ActiveSet::run(Tao tao) {
  double length = 1, last = 0;
  bool exact = true;  // the gradient is the application's own
  PetscFunctionBegin;
  PetscCall(TaoComputeVariableBounds(tao));
  if (!tao->XL) {
    PetscCall(VecDuplicate(tao->solution, &tao->XL));
    PetscCall(VecSet(tao->XL, PETSC_NINFINITY));
  }
  if (!tao->XU) {
    PetscCall(VecDuplicate(tao->solution, &tao->XU));
    PetscCall(VecSet(tao->XU, PETSC_INFINITY));
  }
  PetscCall(VecMedian(tao->XL, tao->solution, tao->XU, tao->solution));
  PetscCall(look(tao, true));
  PetscCall(TaoComputeHessian(tao, tao->solution, tao->hessian, tao->hessian_pre));
  PetscCall(read_blocks(tao->hessian));
  PetscCall(gradient_length(tao, length));
  PetscCall(VecSet(d, 0.0));
  PetscCall(VecSet(Ad, 0.0));
  gd = dAd = 0;
  PetscCall(note_wishes(tao, 0.0));
  tao->reason = TAO_CONTINUE_ITERATING;
  PetscCall(log(tao, 0.0));
  while (tao->reason == TAO_CONTINUE_ITERATING) {
    double beta = 0, furthest = 0;
    bool conjugate = true;
    PetscCall(precondition(tao, release * wish.to_leave > wish.of_free,
                           wish.to_leave > wish.of_free, last, beta));
    PetscCall(along(tao, beta, furthest));
    double t = dAd > 0 ? -gd / dAd : 0.0;
    if (!(t > 0 && t <= furthest)) PetscCall(projected_step(tao, length, t, conjugate));
    last = conjugate && dAd > 0 ? dAd : 0.0;
    ++tao->niter;
    PetscCall(note_wishes(tao, t));
    bool was_exact = exact && t == 0;
    exact = was_exact;
    PetscCall(log(tao, t));
    const bool ends = tao->reason > 0 || t == 0;
    if (!exact && (ends || tao->niter % refresh == 0)) {
      PetscCall(look(tao, false));
      exact = true;
      gd = dAd = 0;
      PetscCall(note_wishes(tao, 0.0));
      if (tao->reason >= 0) {
        tao->reason = TAO_CONTINUE_ITERATING;
        PetscCall((*tao->ops->convergencetest)(tao, tao->cnvP));
      }
    }
    // Nothing descends from here, with the true gradient.
    if (was_exact && tao->reason == TAO_CONTINUE_ITERATING) tao->reason = TAO_DIVERGED_LS_FAILURE;
  }
  PetscFunctionReturn(0);
}

ActiveSet& of(Tao tao) { return *static_cast<ActiveSet*>(tao->data); }

PetscErrorCode solve(Tao tao) {
  PetscFunctionBegin;
  PetscCall(of(tao).run(tao));
  PetscFunctionReturn(0);
}

PetscErrorCode set_up(Tao tao) {
  ActiveSet& set = of(tao);
  PetscFunctionBegin;
  PetscCheck(tao->hessian, PetscObjectComm(reinterpret_cast<PetscObject>(tao)), PETSC_ERR_ORDER,
             "Tao type orthant needs the matrix of the objective: call TaoSetHessian()");
  if (!tao->gradient) PetscCall(VecDuplicate(tao->solution, &tao->gradient));
  if (!set.d) PetscCall(VecDuplicate(tao->solution, &set.d));
  if (!set.Ad) PetscCall(VecDuplicate(tao->solution, &set.Ad));
  if (!set.z) PetscCall(VecDuplicate(tao->solution, &set.z));
  PetscFunctionReturn(0);
}

PetscErrorCode set_from_options(Tao tao, PetscOptionItems* PetscOptionsObject) {
  ActiveSet& set = of(tao);
  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Active-set conjugate gradients (Orthant)");
  PetscCall(PetscOptionsReal("-tao_orthant_release",
                             "rows leave their bounds once the square of what they want is above "
                             "one part in so many of that of the free rows",
                             "", set.release, &set.release, nullptr));
  PetscCall(PetscOptionsInt("-tao_orthant_refresh",
                            "iterations between two gradients of the application", "", set.refresh,
                            &set.refresh, nullptr));
  PetscCall(PetscOptionsBool("-tao_orthant_blocks",
                             "steps in the metric of the diagonal blocks of the matrix; false: of "
                             "its diagonal",
                             "", set.use_blocks, &set.use_blocks, nullptr));
  PetscOptionsHeadEnd();
  PetscCheck(set.refresh > 0 && set.release >= 0,
             PetscObjectComm(reinterpret_cast<PetscObject>(tao)), PETSC_ERR_ARG_OUTOFRANGE,
             "-tao_orthant_refresh must be positive and -tao_orthant_release not negative");
  PetscFunctionReturn(0);
}

PetscErrorCode view(Tao tao, PetscViewer viewer) {
  const ActiveSet& set = of(tao);
  PetscBool ascii = PETSC_FALSE;
  PetscFunctionBegin;
  PetscCall(
      PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &ascii));
  if (ascii)
    PetscCall(PetscViewerASCIIPrintf(viewer, "release %g, refresh %" PetscInt_FMT ", blocks %s\n",
                                     set.release, set.refresh, PetscBools[set.use_blocks]));
  PetscFunctionReturn(0);
}

PetscErrorCode destroy(Tao tao) {
  ActiveSet& set = of(tao);
  PetscFunctionBegin;
  PetscCall(VecDestroy(&set.d));
  PetscCall(VecDestroy(&set.Ad));
  PetscCall(VecDestroy(&set.z));
  delete &set;
  tao->data = nullptr;
  PetscFunctionReturn(0);
}

PetscErrorCode create(Tao tao) {
  PetscFunctionBegin;
  tao->ops->setup = set_up;
  tao->ops->solve = solve;
  tao->ops->setfromoptions = set_from_options;
  tao->ops->view = view;
  tao->ops->destroy = destroy;
  tao->data = new ActiveSet;
  if (!tao->max_it_changed) tao->max_it = 20000;
  if (!tao->max_funcs_changed) tao->max_funcs = 20000;
  PetscFunctionReturn(0);
}

}  // namespace
}  // namespace orthant::tao

PetscErrorCode TaoRegisterOrthant(void) {
  using namespace orthant::tao;
  PetscFunctionBegin;
  PetscCall(TaoRegister(TAOORTHANT, create));
  PetscCall(PetscLogEventRegister("TaoOrthantPrec", TAO_CLASSID, &precondition_event));
  PetscCall(PetscLogEventRegister("TaoOrthantProj", TAO_CLASSID, &project_event));
  PetscCall(PetscLogEventRegister("TaoOrthantLook", TAO_CLASSID, &refresh_event));
  PetscFunctionReturn(0);
}

// What PETSc calls when -dll_append loads liborthant_tao.so.
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_orthant_tao(void) {
  PetscFunctionBegin;
  PetscCall(TaoRegisterOrthant());
  PetscFunctionReturn(0);
}
