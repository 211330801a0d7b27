// SPDX-License-Identifier: Apache-2.0
// solver/methods.hpp: the table of methods and the order in which `automatic` tries them.
// A new family adds its workspace to workspace.hpp, a row to the table in methods.cpp and its
// places in the chains of automatic.cpp; nothing else knows that it exists.
#pragma once

#include <span>

#include "orthant/solver/method.hpp"

namespace orthant {

/// What the choice of a method looks at.
struct ProblemTraits {
  Index blocks = 0;          ///< law blocks
  Index rows = 0;            ///< rows of the reduced problem: of C and of the laws
  Index equations = 0;       ///< of these, rows of C and of Free laws
  Index pairs = 0;           ///< complementary pairs of the laws that are an LCP
  Index velocities = 0;      ///< 0 with no row of C: a local problem
  bool separable = true;     ///< every law acts entry by entry
  bool frictional = false;   ///< some law is a friction cone
  bool planar_exact = true;  ///< every law separable or exact Coulomb with one tangent: an LCP
  bool exact = false;        ///< some law has De Saxcé's shift
  bool rolling = false;
  bool pair_rows = false;          ///< frictionless contacts of rigid bodies and nothing else
  bool velocity_operator = false;  ///< H is given by what it does, it has no entries
  bool by_body = false;            ///< rigid: sweeps and Newton steps run in body space
  bool elastic = false;            ///< H couples many velocities: to reduce it costs a solve a row
};
ProblemTraits traits_of(const CanonicalProblem& problem);

/// Quick: a first try that must give up early. Second: a few times that. Full: as well as the
/// method can.
enum class Effort : std::uint8_t { Quick, Second, Full };

struct MethodEntry {
  Method method;
  bool needs_local;  ///< takes the reduced problem
  /// Null when it can run on such a problem, else the reason.
  const char* (*why_not)(const ProblemTraits& traits);
  MethodResult (*run)(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                      const MethodLimits& limits, SolveWorkspace::Impl& work, Solution& x);
  bool goes_on = true;  ///< started from its own answer it improves it, at a tighter tolerance
  /// The same on rigid bodies in body space (work.bodies is built); null: there is none.
  MethodResult (*run_bodies)(const CanonicalProblem& p, const ProblemScale& scale, Effort effort,
                             const MethodLimits& limits, SolveWorkspace::Impl& work,
                             Solution& x) = nullptr;
};

/// The row of `method`; null for Automatic and for families that are not built in.
const MethodEntry* find_method(Method method);

/// One step of the automatic choice: run `method` when `when(traits)`.
struct ChainLink {
  Method method;
  Effort effort;
  bool (*when)(const ProblemTraits& traits);
};
std::span<const ChainLink> automatic_chain(const ProblemTraits& traits);
/// True where the chain begins with the rows of a pair as one block.
bool takes_pair_blocks(const ProblemTraits& traits);

}  // namespace orthant
