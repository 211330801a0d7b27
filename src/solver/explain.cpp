// SPDX-License-Identifier: Apache-2.0
// solver/explain.cpp: trace of a solve => a few lines per island for a person.
#include <algorithm>
#include <array>
#include <cstdio>

#include "orthant/solver/solve.hpp"

namespace orthant {
namespace {

constexpr std::size_t kShown = 12;  // islands told one by one, the most expensive first

/// Text that grows by printf.
class Text {
 public:
  template <class... Values>
  void add(const char* form, Values... values) {
    std::array<char, 400> line{};
    std::snprintf(line.data(), line.size(), form, values...);
    out_ += line.data();
  }
  void add(std::string_view text) { out_ += text; }
  const std::string& str() const { return out_; }

 private:
  std::string out_;
};

void add_traits(const ProblemTraits& t, Text& out) {
  out.add("%d blocks, %d rows", t.blocks, t.rows);
  if (t.equations > 0) out.add(" (%d equations)", t.equations);
  out.add(", %d velocities", t.velocities);
  if (t.velocity_blocks > 0) out.add(" in %d blocks", t.velocity_blocks);
  if (t.only_orthant) out.add("; orthant rows only");
  if (t.separable && !t.only_orthant && t.blocks > 0) out.add("; laws entry by entry");
  if (t.frictional) out.add(t.exact ? "; exact friction" : "; convex friction");
  if (t.rolling) out.add("; rolling");
  if (t.velocity_form) out.add("; velocity form");
  if (t.coupled_velocities) out.add("; coupled velocities");
  if (t.velocity_operator) out.add("; H is an operator");
  if (t.start_residual < std::numeric_limits<double>::infinity())
    out.add("; start at residual %.1e", t.start_residual);
}

void add_attempt(const Attempt& attempt, Text& out) {
  std::string name(name_of(attempt.method));
  if (attempt.effort != Effort::Full) (name += ':') += name_of(attempt.effort);
  out.add("      %-26s %-15s residual %8.1e  %6d iterations  %8.2e madds  %.4g ms\n", name.c_str(),
          std::string(name_of(attempt.outcome)).c_str(), attempt.residual, attempt.iterations,
          attempt.work, 1e3 * attempt.seconds);
}

void add_island(const SolveTrace::Island& island, std::size_t number, Text& out) {
  out.add("  island %zu: ", number);
  if (island.traits.rows == 0)
    out.add("no impulse is needed");
  else
    add_traits(island.traits, out);
  if (!island.plan.steps.empty()) {
    out.add("\n    plan: ");
    out.add(text_of(island.plan));
    if (island.plan.work_limit > 0) out.add(" within %.1e madds", island.plan.work_limit);
    out.add("\n");
    for (const Attempt& attempt : island.attempts) add_attempt(attempt, out);
    out.add("    ended: ");
    out.add(name_of(island.outcome));
  } else if (island.traits.rows > 0) {
    out.add("; the start is the answer");
  }
  out.add(", residual %.1e, %.4g ms\n", island.residual, 1e3 * island.seconds);
}

}  // namespace

std::string explanation_of(const SolveTrace::Solve& solve) {
  Text out;
  out.add("%zu islands", solve.islands.size() + static_cast<std::size_t>(solve.closed_forms));
  if (solve.closed_forms > 0) out.add(", %d of one block in closed form", solve.closed_forms);
  out.add("; ");
  out.add(name_of(solve.outcome));
  out.add(", residual %.1e, %.4g ms\n", solve.residual, 1e3 * solve.seconds);
  std::vector<std::size_t> order(solve.islands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return solve.islands[a].seconds > solve.islands[b].seconds;
  });
  for (std::size_t k = 0; k < std::min(order.size(), kShown); ++k)
    add_island(solve.islands[order[k]], order[k], out);
  if (order.size() > kShown) out.add("  and %zu cheaper islands\n", order.size() - kShown);
  return out.str();
}

}  // namespace orthant
