// SPDX-License-Identifier: Apache-2.0
// problem/residual.hpp: (problem, answer) => how wrong it is. The one judge of every solver.
//
//   ρ_c = |λ_c − Π_c(λ_c − τ_c w~_c)| / ( |λ_c| + τ_c (|D_c|(|v| + |v_free|) + |F_c||λ| + |b_c|) )
//
// block by block and free of units; τ_c = dim / trace(N_cc) is the block's effective mass. Beside
// it the work λ_c·w~_c of each block over Σ(|λ| + τ s)s, s the size of w's terms, which sees a
// light body that flies off under a heavy load where τ_c w_c is nothing beside λ_c. The same for
// the balance a body at a time and for the joints. Everything is recomputed from v, γ and λ; the
// solver's own w is not trusted. Maths: docs/notation.md, Residual.
#pragma once

#include <string>

#include "orthant/base/export.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"

namespace ORTHANT_EXPORT orthant {

/// What the judge needs to know of a problem and not of an answer. Solvers use the same steps.
struct ProblemScale {
  VecX tau;     ///< step of each row: effective mass of its block, or of the entry (separable laws)
  VecX v_free;  ///< H v_free = k
  VecX weight;  ///< |diagonal| of H; ones for an operator
};
ProblemScale scale_of(const CanonicalProblem& problem);

struct ScaleWorkspace {
  VelocitySolver inverse;  ///< out: of the problem's H
  VecX diagonal, best;
};
/// The same into memory that is already there.
void scale_of(const CanonicalProblem& problem, ScaleWorkspace& work, ProblemScale& scale);
/// The same where H has been factorised; v_free is in `scale` already.
void scale_of(const CanonicalProblem& problem, const VelocitySolver& inverse, ScaleWorkspace& work,
              ProblemScale& scale);

struct Residual {
  double value = 0;  ///< the largest of the three below: decides `converged`
  double complementarity = 0;
  double balance = 0;
  double bilateral = 0;
  Index worst_block = -1;  ///< of complementarity
  Index worst_body = -1;   ///< velocity block with the largest balance error
  Index worst_joint = -1;  ///< row block of C
  /// |r − Π(r − u~)| / max(|q|, |r|, |u|), unit step: the error Siconos reports.
  double siconos = 0;
  /// The same with step dim/trace(N_cc) a block, divided by |r|.
  double siconos_scale_free = 0;
};

Residual judge(const CanonicalProblem& problem, const ProblemScale& scale, const Solution& answer);
Residual judge(const CanonicalProblem& problem, const Solution& answer);

struct JudgeWorkspace {
  VecX w;            ///< out: D v + F λ + b of the answer judged last
  VecX error, size;  ///< of the balance, entry by entry
  VecX u, q, v;      ///< of the Siconos errors
};

/// Only `value` and its parts, not the two Siconos errors (these need a solve with H): what a
/// solver calls inside its loop. Does not allocate once the workspace has grown.
Residual judge_quick(const CanonicalProblem& problem, const ProblemScale& scale,
                     const Solution& answer, JudgeWorkspace& work);

/// The residual where it is within `tolerance`, else a part of it that is not: balance, joints,
/// laws are looked at in turn. For answers that are rarely accepted.
double judge_up_to(double tolerance, const CanonicalProblem& problem, const ProblemScale& scale,
                   const Solution& answer, JudgeWorkspace& work);

/// Siconos' error with u = w of the answer that judge_quick() judged last (work.w).
double siconos_error(const CanonicalProblem& problem, const ProblemScale& scale,
                     const Solution& answer, JudgeWorkspace& work);

/// Everything, with H already factorised and in memory that is already there.
Residual judge(const CanonicalProblem& problem, const ProblemScale& scale, const Solution& answer,
               const VelocitySolver& inverse, JudgeWorkspace& work);

/// One line for a person: the part that fails and where.
std::string describe(const Residual& residual, const CanonicalProblem& problem);

}  // namespace orthant
