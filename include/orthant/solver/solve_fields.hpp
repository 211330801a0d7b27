// SPDX-License-Identifier: Apache-2.0
// solver/solve_fields.hpp: the fields of SolveSettings, once (base/setting.hpp).
#pragma once

#include <type_traits>

#include "orthant/base/export.hpp"
#include "orthant/base/setting.hpp"
#include "orthant/solver/solve.hpp"

namespace ORTHANT_EXPORT orthant {

template <class Field>
void visit_settings(std::type_identity<PlanSettings>, Field&& field) {
  using S = PlanSettings;
  using R = SettingRule;
  const R count{.lo = 0}, positive{.positive = true}, share{.unit = "-", .positive = true};
  field("tiny_blocks", &S::tiny_blocks, "sweeps cost less than one factorisation", count);
  field("many_blocks", &S::many_blocks, "beyond, a factorisation is no longer cheap", count);
  field("large_blocks", &S::large_blocks, "beyond, the work is limited", count);
  field("factor_rows", &S::factor_rows, "beyond, the interior point first; convex", count);
  field("factor_exact", &S::factor_exact, "the same; exact friction", count);
  field("huge_rows", &S::huge_rows, "beyond, no factorisation first", count);
  field("tiny_tableau", &S::tiny_tableau, "pairs for which Lemke is first; friction", count);
  field("small_tableau", &S::small_tableau, "the same; entry by entry", count);
  field("big_tableau", &S::big_tableau, "pairs up to which Lemke is the last resort", count);
  field("few_pairs", &S::few_pairs, "up to here enumeration has the last word",
        R{.lo = 0, .hi = 16});
  field("few_rows", &S::few_rows, "coupled velocities: rows up to which N is formed", count);
  field("crowded_rows", &S::crowded_rows, "rows per velocity beyond which they repeat each other",
        positive);
  field("crowded_velocities", &S::crowded_velocities, "up to here such rows are solved by Newton",
        count);
  field("reduced_entries", &S::reduced_entries, "of N beyond which it is not formed", positive);
  field("work_per_block", &S::work_per_block, "multiply-adds, of large islands", positive);
  field("quick_sweeps", &S::quick_sweeps, "predicted at most, else given up", R{.lo = 1});
  field("tiny_sweeps", &S::tiny_sweeps, "the same; tiny islands", R{.lo = 1});
  field("factor_sweeps", &S::factor_sweeps, "factorisations whose cost quick sweeps may reach",
        positive);
  field("longer", &S::longer, "effort `longer` over `quick`", R{.lo = 1});
  field("quick_newton", &S::quick_newton, "factorisations", R{.lo = 1});
  field("quick_polish", &S::quick_polish, "factorisations", R{.lo = 1});
  field("pivoting_work", &S::pivoting_work, "multiply-adds of factorisations that pivot", positive);
  field("warm_residual", &S::warm_residual, "of a start whose active set is tried", share);
  field("near_residual", &S::near_residual, "of an answer with few blocks in the wrong set", share);
  field("rough_tolerance", &S::rough_tolerance, "from here on many blocks are swept only", share);
  field("loose_tolerance", &S::loose_tolerance, "from here on orthant rows are not finished",
        share);
  field("finished", &S::finished, "residual below which nothing is left to gain", share);
}

template <class Field>
void visit_settings(std::type_identity<SolveSettings>, Field&& field) {
  using S = SolveSettings;
  using R = SettingRule;
  field("method", &S::method, "`automatic` chooses island by island", R{});
  field("plan", &S::plan,
        "steps instead of the automatic choice, as `gauss_seidel:quick, interior_point, lemke:500`",
        R{});
  field("thresholds", &S::thresholds, "of the automatic choice", R{});
  field("tolerance", &S::tolerance, "of the block-wise residual; in a step 1e-10",
        R{.unit = "-", .positive = true});
  field("max_iterations", &S::max_iterations, "of each method; 0: the method's own", R{.lo = 0});
  field("work_limit", &S::work_limit, "counted multiply-adds; 0: none", R{.lo = 0});
  field("time_limit", &S::time_limit, "wall clock; 0: none, else results depend on the machine",
        R{.unit = "s", .lo = 0, .reproducible = false});
  field("use_warm_start", &S::use_warm_start, "start from the incoming solution", R{});
  field("siconos_too", &S::siconos_too, "go on until Siconos' error is small as well", R{});
}

}  // namespace orthant
