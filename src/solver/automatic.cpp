// SPDX-License-Identifier: Apache-2.0
// solver/automatic.cpp: traits of an island => the methods to try, in order.
// A link runs when its method applies and its condition holds; the first answer that the judge
// accepts ends the chain. Order: the cheap tries first, then the expensive ones, each from the best
// answer so far.
#include <array>

#include "solver/methods.hpp"

namespace orthant {
namespace {

bool yes(const ProblemTraits&) { return true; }
/// Too many rows for a factorisation to come first: its cost grows faster than the problem.
bool huge(const ProblemTraits& t) { return t.rows > 60000; }
/// Sizes from which the interior point's few factorisations, on the problem with its velocities,
/// beat the many of the Newton methods on the reduced one.
bool large(const ProblemTraits& t) {
  return !huge(t) && !t.rolling && t.rows > (t.exact ? 1500 : t.frictional ? 300 : 250);
}
/// Frictionless contacts, many: the rows of one pair as one block (docs/relcp.md has the figures).
bool many_pair_rows(const ProblemTraits& t) { return t.pair_rows && t.rows > 100; }
/// Far more contacts a body than neighbours in a packing, as a plate on balls has: they repeat each
/// other, and in velocities little is left to solve. Not a packing of many bodies.
bool crowded(const ProblemTraits& t) {
  return t.by_body && t.rows > 100 && t.rows >= 4 * t.velocities && t.velocities <= 120;
}
bool not_large(const ProblemTraits& t) { return !large(t); }
/// Gauss–Seidel cannot relax an equation whose diagonal is zero, as circuits have.
bool no_equations(const ProblemTraits& t) { return t.equations == 0; }
/// Joints alone: one sparse factorisation, linear in the links of a chain, redundant rows allowed.
bool only_equations(const ProblemTraits& t) { return t.pairs == 0; }
/// Lemke's dense tableau takes about n pivots of n² each; a friction contact has three pairs.
bool small_tableau(const ProblemTraits& t) { return t.equations + t.pairs <= 250; }
bool tiny_tableau(const ProblemTraits& t) { return t.equations + t.pairs <= 30; }
bool big_tableau(const ProblemTraits& t) { return t.equations + t.pairs <= 2000; }
/// 4096 bases; the last word on tiny problems, before methods that run off to infinity where there
/// is no answer and are small there in relative terms. Not where N was formed from velocities: at
/// mass ratios of 1e12 its rounding alone makes a solvable problem look unsolvable.
bool few_pairs(const ProblemTraits& t) { return t.pairs <= 12 && t.velocities == 0; }

constexpr std::array kSeparable = {
    ChainLink{Method::InteriorPoint, Effort::Full, only_equations},
    ChainLink{Method::NonsmoothNewton, Effort::Full, crowded},
    ChainLink{Method::PairBlocks, Effort::Full, many_pair_rows},
    ChainLink{Method::GaussSeidel, Effort::Quick, no_equations},
    ChainLink{Method::ProjectedGradient, Effort::Full, huge},
    ChainLink{Method::InteriorPoint, Effort::Full, large},
    ChainLink{Method::Lemke, Effort::Full, small_tableau},
    ChainLink{Method::Enumeration, Effort::Full, few_pairs},
    ChainLink{Method::MinMapNewton, Effort::Full, yes},
    ChainLink{Method::InteriorPoint, Effort::Full, not_large},
    ChainLink{Method::Polish, Effort::Full, yes},
    ChainLink{Method::FischerNewton, Effort::Full, yes},
    ChainLink{Method::Lemke, Effort::Full, big_tableau},
    ChainLink{Method::GaussSeidel, Effort::Full, no_equations},
};

constexpr std::array kFriction = {
    ChainLink{Method::GaussSeidel, Effort::Quick, yes},
    ChainLink{Method::Lemke, Effort::Full, tiny_tableau},
    ChainLink{Method::ProjectedGradient, Effort::Full, huge},
    ChainLink{Method::InteriorPoint, Effort::Full, large},
    ChainLink{Method::Polish, Effort::Full, large},
    ChainLink{Method::NonsmoothNewton, Effort::Quick, yes},
    ChainLink{Method::InteriorPoint, Effort::Full, not_large},
    ChainLink{Method::Polish, Effort::Full, yes},
    ChainLink{Method::NonsmoothNewton, Effort::Full, yes},
    ChainLink{Method::Lemke, Effort::Full, big_tableau},
    ChainLink{Method::GaussSeidel, Effort::Full, yes},
};

/// Beyond this what the first methods leave unsolved the others do not solve either, in seconds.
bool no_large_pile(const ProblemTraits& t) { return t.blocks <= 1000; }

/// Where sweeps and Newton steps take turns; a second run of these costs less than the interior
/// point.
bool pile(const ProblemTraits& t) { return t.blocks > 100; }
bool no_pile(const ProblemTraits& t) { return !pile(t); }

/// Rigid bodies: sweeps and Newton steps are cheap and bring most piles home; the interior point is
/// for those that are jammed, and sweeps settle the contacts it leaves between two sets.
constexpr std::array kRigidFriction = {
    ChainLink{Method::GaussSeidel, Effort::Quick, yes},
    ChainLink{Method::Lemke, Effort::Full, tiny_tableau},
    ChainLink{Method::ProjectedGradient, Effort::Full, huge},
    ChainLink{Method::NonsmoothNewton, Effort::Quick, yes},
    ChainLink{Method::NonsmoothNewton, Effort::Second, pile},
    ChainLink{Method::InteriorPoint, Effort::Full, yes},
    ChainLink{Method::Polish, Effort::Second, yes},
    ChainLink{Method::GaussSeidel, Effort::Second, yes},
    ChainLink{Method::Polish, Effort::Full, yes},
    ChainLink{Method::NonsmoothNewton, Effort::Second, no_pile},
    ChainLink{Method::NonsmoothNewton, Effort::Full, no_large_pile},
    ChainLink{Method::Lemke, Effort::Full, big_tableau},
    ChainLink{Method::GaussSeidel, Effort::Full, no_large_pile},
};

/// Few enough rows to form N with one sparse solve each.
bool few_rows(const ProblemTraits& t) { return t.rows <= 600; }
bool few_separable(const ProblemTraits& t) { return t.separable && few_rows(t); }

/// Flexible parts: one factorisation an iteration with the velocities in, N only as a last resort.
constexpr std::array kElastic = {
    ChainLink{Method::InteriorPoint, Effort::Full, yes},
    ChainLink{Method::Polish, Effort::Full, yes},
    ChainLink{Method::MinMapNewton, Effort::Full, few_separable},
    ChainLink{Method::NonsmoothNewton, Effort::Full, few_rows},
    ChainLink{Method::ProjectedGradient, Effort::Full, yes},
    ChainLink{Method::GaussSeidel, Effort::Full, few_rows},
};

}  // namespace

bool takes_pair_blocks(const ProblemTraits& traits) { return many_pair_rows(traits); }

std::span<const ChainLink> automatic_chain(const ProblemTraits& traits) {
  if (traits.elastic && !traits.rolling) return kElastic;
  if (traits.separable) return kSeparable;
  if (traits.by_body) return kRigidFriction;
  return kFriction;
}

}  // namespace orthant
