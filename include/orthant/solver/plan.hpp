// SPDX-License-Identifier: Apache-2.0
// solver/plan.hpp: traits of an island => the methods that run on it, in order, each with its
// effort. A plan is a value: it can be printed, compared, written by hand and handed to solve(). A
// step runs from the best answer so far; the first answer that the judge accepts ends the plan.
//
//   "polish:quick, gauss_seidel:quick, interior_point, lemke:500, polish:finish"
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/problem/problem.hpp"

namespace ORTHANT_EXPORT orthant {

enum class Method : std::uint8_t {
  Automatic,
  GaussSeidel,
  NonsmoothNewton,
  InteriorPoint,
  PairBlocks,
  Lemke,
  Polish,
  Enumeration,
};

/// The one list of methods; commands, scene files, Python and the documents read it.
struct MethodInfo {
  Method method;
  std::string_view name;
  std::string_view what;
};
inline constexpr std::array kMethods = {
    MethodInfo{Method::Automatic, "automatic", "by the plan"},
    MethodInfo{Method::GaussSeidel, "gauss_seidel", "block Gauss–Seidel, exact block solves"},
    MethodInfo{Method::NonsmoothNewton, "nonsmooth_newton", "proximal Newton, every law"},
    MethodInfo{Method::InteriorPoint, "interior_point", "predictor–corrector, cones and Coulomb"},
    MethodInfo{Method::PairBlocks, "pair_blocks", "frictionless: conjugate gradients"},
    MethodInfo{Method::Lemke, "lemke", "complementary pivoting, LCP and MLCP"},
    MethodInfo{Method::Polish, "polish", "solves the equations of a guessed active set"},
    MethodInfo{Method::Enumeration, "enumeration", "all bases, at most 16 pairs: the oracle"},
};
std::string_view name_of(Method method);
/// '-' counts as '_'; empty when there is none of that name.
std::optional<Method> method_named(std::string_view name);

/// What the choice of a plan looks at.
struct ProblemTraits {
  Index blocks = 0;      ///< law blocks
  Index rows = 0;        ///< rows of C and of the laws
  Index equations = 0;   ///< of these, rows of C and of Free laws
  Index pairs = 0;       ///< complementary pairs of the laws that are an LCP
  Index velocities = 0;  ///< 0 with no row of C: a local problem
  Index velocity_blocks = 0;
  double reduced_entries = 0;  ///< of N = [C; D] H⁻¹ [C; D]ᵀ + F, roughly; counted only where large
  bool separable = true;       ///< every law acts entry by entry
  bool frictional = false;     ///< some law is a friction cone
  bool planar_exact = true;    ///< every law separable or exact Coulomb with one tangent: an LCP
  bool exact = false;          ///< some law has De Saxcé's shift
  bool rolling = false;
  bool only_orthant = false;       ///< λ ≥ 0 ⊥ w ≥ 0, rows of two velocity blocks at most; no C, F
  bool planar = false;             ///< block-diagonal H, three velocities per block
  bool velocity_operator = false;  ///< H is given by what it does, it has no entries
  bool velocity_form = false;      ///< H block-diagonal, F couples no two blocks: N is never needed
  bool coupled_velocities = false;  ///< H couples many velocities: reducing costs a solve per row
  /// Judge's residual of the start where it is the answer of a similar problem, else infinite.
  double start_residual = std::numeric_limits<double>::infinity();
};
/// `scratch`: memory to be reused, where there is some.
ProblemTraits traits_of(const CanonicalProblem& problem, std::vector<double>* scratch = nullptr);

enum class Effort : std::uint8_t {
  Quick,   ///< a first try that gives up early
  Longer,  ///< a few times that
  Full,    ///< as well as the method can
  Finish,  ///< after an accepted answer: one or two steps more, to rounding
};
std::string_view name_of(Effort effort);

struct PlanStep {
  Method method = Method::GaussSeidel;
  Effort effort = Effort::Full;
  int max_iterations = 0;  ///< 0: by the effort
  bool operator==(const PlanStep&) const = default;
};

struct Plan {
  std::vector<PlanStep> steps;
  double work_limit = 0;  ///< counted multiply-adds of all steps; 0: none
  bool operator==(const Plan&) const = default;
};
/// "gauss_seidel:quick, interior_point, lemke:500".
std::string text_of(const Plan& plan);
/// The inverse. Throws Error naming the step that is not understood.
Plan plan_of(std::string_view text);

/// Every threshold of the choice. The figures behind each: docs/solvers.md, printed anew by `make
/// bench-plan`.
struct PlanSettings {
  // Sizes of an island.
  Index tiny_blocks = 10;   ///< up to here a sweep costs less than one small factorisation
  Index many_blocks = 100;  ///< from here on a factorisation is no longer cheap
  Index large_blocks =
      500;                  ///< from here on the work is limited, and the last resorts are left out
  Index factor_rows = 250;  ///< convex: from here on the interior point comes first
  Index factor_exact = 1500;  ///< the same for exact friction
  Index huge_rows = 60000;    ///< from here on no factorisation comes first
  Index tiny_tableau = 30;    ///< pairs and equations for which Lemke comes first, with friction
  Index small_tableau = 250;  ///< the same without
  Index big_tableau = 2000;   ///< up to here Lemke is the last resort
  Index few_pairs = 12;       ///< up to here enumeration has the last word
  Index few_rows = 600;       ///< coupled velocities: rows up to which N is formed
  double crowded_rows = 4;    ///< rows per velocity beyond which they repeat each other
  Index crowded_velocities = 120;  ///< up to here such a problem is solved in velocities
  double reduced_entries = 4e6;    ///< of N beyond which it is not formed
  // What is spent.
  double work_per_block = 6e5;  ///< multiply-adds, of large islands
  int quick_sweeps = 100;       ///< predicted at most, else they are given up
  int tiny_sweeps = 300;        ///< the same for tiny islands
  double factor_sweeps = 20;    ///< sweeps as many as so many factorisations cost, 100 to 1000
  int longer = 4;               ///< Effort::Longer over Effort::Quick
  int quick_newton = 200;       ///< factorisations
  int quick_polish = 6;         ///< factorisations
  double pivoting_work = 3e8;   ///< multiply-adds of factorisations that pivot
  // Residuals and tolerances.
  double warm_residual = 0.1;     ///< of a start whose active set may be that of the answer
  double near_residual = 1e-4;    ///< of an answer of which few blocks are in the wrong set
  double rough_tolerance = 1e-5;  ///< from here on many blocks are solved by sweeps alone
  double loose_tolerance = 1e-9;  ///< from here on orthant rows are not finished to rounding
  double finished = 1e-14;        ///< residual below which nothing is left to gain
};

/// The plan of an island, into memory that is already there.
void plan_for(const ProblemTraits& traits, const PlanSettings& settings, double tolerance,
              Plan& plan);
Plan plan_for(const ProblemTraits& traits, const PlanSettings& settings = {},
              double tolerance = 1e-8);

}  // namespace orthant
