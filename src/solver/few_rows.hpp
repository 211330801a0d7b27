// SPDX-License-Identifier: Apache-2.0
// solver/few_rows.hpp: many frictionless rows of which few push, in islands that are small: solved
// on the rows that push or would overlap, all others only looked at. Works on a problem of which
// every member of a team has a part, too.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "base/team.hpp"
#include "solver/island_lots.hpp"

namespace orthant::internal {

/// Orders the rows of a problem, whoever has them.
using RowName = std::array<std::uint64_t, 5>;

/// What a member has of a problem that is shared out: all rows of its own bodies. H, k and v_free
/// are known to all of them; v of own bodies and of those that own rows touch.
struct ProblemPart {
  Team& team;
  std::span<const unsigned char> own;  ///< by velocity block
  std::span<const RowName> names;      ///< by row, ascending
  /// v of own bodies => those of others that are near them.
  std::function<void(VecX&)> refresh;

  bool is_counted(const CanonicalProblem& p, Index row) const {  ///< here, of those who have it
    return own[static_cast<std::size_t>(p.D.entries(row)[0].block)] != 0;
  }
};

/// Rows from which on few of them are looked for; few is one in so many.
inline constexpr Index kManyRows = 2000, kFewPush = 3;

/// Rows of one kind alone: frictionless, between bodies in space.
bool may_have_few_rows(const CanonicalProblem& p);

/// From x into x, to the tolerance of the settings. False: too many rows push, or the judge is not
/// content; x is what it was. `part`: null where the problem is whole.
bool solve_few_rows(const Islands& islands, const ProblemPart* part, Solution& x,
                    SolveReport& report, Index& closed_forms);

/// As solve() with FreeMotion of a problem that is shared out and has kManyRows or more:
/// may_have_few_rows() on every member. All call it, and each has the answer of its rows and bodies
/// and the report of the whole, but for the attempts.
void solve_part(const CanonicalProblem& p, const FreeMotion& free, const SolveSettings& settings,
                const ProblemPart& part, SolveWorkspace& workspace, Solution& x,
                SolveReport& report);

/// The problem that all parts make, and the answer that they have, on every member.
struct Whole {
  CanonicalProblem problem;
  Solution x;
  std::vector<RowName> names;
};
void gather_whole(const CanonicalProblem& p, const ProblemPart& part, const Solution& x,
                  Whole& out);
/// Its answer => x of the part.
void take_from_whole(const Whole& whole, const ProblemPart& part, Solution& x);

}  // namespace orthant::internal
