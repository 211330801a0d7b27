// SPDX-License-Identifier: Apache-2.0
// reproduce/interior_point_study.cpp: step, rebuild the problem of the step, solve it again.
#include "reproduce/interior_point_study.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/process.hpp"
#include "orthant/constraint/assemble.hpp"

namespace orthant::reproduce {
namespace {

/// The problem of the step that was just recorded.
Assembly problem_of(const Model& model, const Parameters& parameters, const StepRecord& record) {
  Assembly out;
  for (const SolveRecord& solve : record.solves) {
    if (solve.kind != SolveKind::Step) continue;
    const StepInterval at{solve.q, solve.v, solve.t, solve.duration};
    if (!assemble_motion(model, parameters, at, record.u, out)) continue;
    assemble_rows(model, parameters, at, solve.contacts.contacts, solve.rows, solve.rows.beta, out,
                  solve.contacts.flexible);
    break;
  }
  return out;
}

/// An answer and the contacts its impulses belong to.
struct Last {
  Solution x;
  std::vector<Contact> contacts;
  std::vector<ContactBlock> blocks;
};

Solution start_of(Start start, const Assembly& now, const std::vector<Contact>& contacts,
                  const Last& last) {
  Solution x = zero_solution(now.problem);
  if (start == kCold || last.x.v.size() != x.v.size()) return x;
  x.v = last.x.v;
  if (start == kPartial) return x;
  if (last.x.gamma.size() == x.gamma.size()) x.gamma = last.x.gamma;
  for (std::size_t c = 0, old = 0; c < contacts.size(); ++c) {
    while (old < last.contacts.size() && last.contacts[old].key < contacts[c].key) ++old;
    if (old == last.contacts.size()) break;
    if (!(last.contacts[old].key == contacts[c].key)) continue;
    x.lambda.segment(now.blocks[c].row, now.blocks[c].dim) =
        last.x.lambda.segment(last.blocks[old].row, now.blocks[c].dim);
  }
  return x;
}

}  // namespace

Study study(const Model& model, const Parameters& parameters, State state,
            const StudySettings& settings,
            const std::function<void(double, std::string_view)>& progress) {
  StepSettings how;
  how.h = settings.h;
  how.friction = settings.friction;
  how.contact_margin = settings.contact_margin;
  how.solver.tolerance = settings.step_tolerance;
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  InteriorPointWorkspace interior_point;
  std::array<std::array<Last, kStarts>, kExits> last;
  Study out;
  for (int i = 0; i < settings.settle + settings.calls; ++i) {
    const bool counted = i >= settings.settle;
    const StepReport report =
        step(model, parameters, how, {}, state, warm, work, counted ? &record : nullptr);
    if (progress && i % 5 == 0)
      progress(static_cast<double>(i) / (settings.settle + settings.calls),
               "interior point, " + std::to_string(model.dynamic_count()) + " bodies");
    if (!counted || record.solves.empty()) continue;
    out.steps_failed += report.outcome != Outcome::Converged;
    out.fastest = std::max(out.fastest, state.v.cwiseAbs().maxCoeff());
    const Assembly now = problem_of(model, parameters, record);
    if (now.problem.row_count() == 0) continue;
    const std::vector<Contact>& contacts = record.solves.front().contacts.contacts;
    const ProblemScale scale = scale_of(now.problem);
    ++out.calls;
    out.velocities += now.problem.velocity_count();
    out.rows += now.problem.row_count() + now.problem.bilateral_count();
    for (const Exit exit : {kJudge, kThesis})
      for (int s = 0; s < (settings.all_starts ? kStarts : kPartial); ++s) {
        const bool judged = exit == kJudge, shown = judged && s == kCold;
        Solution x = start_of(static_cast<Start>(s), now, contacts, last[exit][s]);
        SolveTrace trace;
        const double before = processor_seconds();
        InteriorPointSettings method = settings.method;
        method.warm_start = s != kCold;
        method.crossover = judged;
        method.exit_gap = judged ? 0 : 1e-9;
        method.exit_error = judged ? 0 : 1e-10;
        const MethodResult result = solve_interior_point(
            now.problem, scale, method,
            {.tolerance = settings.tolerance, .trace = shown ? &trace : nullptr}, interior_point,
            x);
        out.iterations[exit][s] += result.iterations;
        out.failed[exit][s] += result.outcome != Outcome::Converged;
        if (shown) {
          out.seconds += processor_seconds() - before;
          out.history.clear();
          for (const SolveTrace::Point& point : trace.points) out.history.push_back(point.residual);
        }
        last[exit][s] = {std::move(x), contacts, now.blocks};
      }
  }
  out.velocities /= std::max(1, out.calls);
  out.rows /= std::max(1, out.calls);
  return out;
}

}  // namespace orthant::reproduce
