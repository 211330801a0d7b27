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

constexpr std::array kSeparable = {
    ChainLink{Method::GaussSeidel, Effort::Quick, yes},
    ChainLink{Method::ProjectedGradient, Effort::Full, huge},
    ChainLink{Method::InteriorPoint, Effort::Full, yes},
    ChainLink{Method::GaussSeidel, Effort::Full, yes},
};

constexpr std::array kFriction = {
    ChainLink{Method::GaussSeidel, Effort::Quick, yes},
    ChainLink{Method::ProjectedGradient, Effort::Full, huge},
    ChainLink{Method::NonsmoothNewton, Effort::Quick, yes},
    ChainLink{Method::InteriorPoint, Effort::Full, yes},
    ChainLink{Method::Polish, Effort::Full, yes},
    ChainLink{Method::NonsmoothNewton, Effort::Full, yes},
    ChainLink{Method::GaussSeidel, Effort::Full, yes},
};

}  // namespace

std::span<const ChainLink> automatic_chain(const ProblemTraits& traits) {
  if (traits.separable) return kSeparable;
  return kFriction;
}

}  // namespace orthant
