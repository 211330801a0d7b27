// SPDX-License-Identifier: Apache-2.0
// orthant/solve_file.cpp: read => canonical problem => solve => judge.
#include "solve_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>

#include "names.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/process.hpp"
#include "orthant/base/timer.hpp"

namespace orthant::app {
namespace {

Json list(const VecX& x, Eigen::Index begin, Eigen::Index count) {
  return std::vector<double>(x.data() + begin, x.data() + begin + count);
}
Json list(const VecX& x) { return list(x, 0, x.size()); }

/// The vectors by the names of the file's own formulation.
void add_solution(const SolvedFile& solved, Json& out) {
  const Solution& x = solved.solution;
  const Index unknowns = solved.file.unknown_count();
  switch (solved.file.kind) {
    case ProblemKind::Lcp:
    case ProblemKind::Mlcp:
      out.set("z", list(x.lambda));
      out.set("w", list(x.w));
      break;
    case ProblemKind::FrictionLocal:
      out.set("r", list(x.lambda, 0, unknowns));
      out.set("u", list(x.w, 0, unknowns));
      if (solved.file.has_bilateral)
        out.set("l", list(x.lambda, unknowns, x.lambda.size() - unknowns));
      break;
    case ProblemKind::FrictionGlobal:
      out.set("r", list(x.lambda));
      out.set("u", list(x.w));
      out.set("v", list(x.v));
      if (solved.file.has_bilateral) out.set("l", list(x.gamma));
      break;
    case ProblemKind::Canonical:
      out.set("lambda", list(x.lambda));
      out.set("w", list(x.w));
      out.set("v", list(x.v));
      out.set("gamma", list(x.gamma));
      break;
  }
}

void solve_into(SolvedFile& solved, const FileSettings& settings) {
  solved.file = read_problem(solved.path, settings.kind);
  solved.problem = to_problem(solved.file, settings.exact_friction);
  if (settings.solve.method != Method::Automatic) {
    const std::string reason = why_not_applicable(settings.solve.method, solved.problem);
    if (!reason.empty()) {
      throw Error(solved.path, fmt::format("method {} does not apply: {}",
                                           key_of(settings.solve.method), reason));
    }
  }
  SolveSettings solve_settings = settings.solve;
  solved.seconds = solved.processor_seconds = std::numeric_limits<double>::infinity();
  for (int k = 0; k < settings.repeat; ++k) {
    // Each from nothing, its memory included.
    solved.solution = zero_solution(solved.problem);
    solved.trace = {};
    solved.trace.explain = settings.explain;
    if (settings.keep_trace || settings.explain) solve_settings.trace = &solved.trace;
    SolveWorkspace workspace;
    const double start = processor_seconds();
    const Timer timer;
    solved.report = solve(solved.problem, solve_settings, workspace, solved.solution);
    solved.seconds = std::min(solved.seconds, timer.seconds());
    solved.processor_seconds = std::min(solved.processor_seconds, processor_seconds() - start);
  }
  // The report of a solve is not taken on trust: the judge looks at the answer that is handed out.
  solved.report.residual = judge(solved.problem, solved.solution);
  if (solved.report.outcome == Outcome::Converged &&
      !(solved.report.residual.value <= settings.solve.tolerance)) {
    solved.report.outcome = Outcome::Stalled;
  }
}

}  // namespace

SolvedFile solve_file(const std::string& path, const FileSettings& settings) {
  SolvedFile solved;
  solved.path = path;
  try {
    solve_into(solved, settings);
  } catch (const Error& error) {
    solved.error = error.what();
  } catch (const std::bad_alloc&) {
    solved.error = path + ": not enough memory for this problem";
  }
  return solved;
}

Json to_json(const SolvedFile& solved, bool with_solution) {
  Json out = Json::object();
  out.set("file", solved.path);
  if (!solved.error.empty()) {
    out.set("outcome", "bad_input");
    out.set("error", solved.error);
    return out;
  }
  const SolveReport& report = solved.report;
  out.set("kind", name_of(solved.file.kind));
  out.set("unknowns", solved.file.unknown_count());
  out.set("velocities", solved.problem.velocity_count());
  out.set("contacts", solved.file.contact_count());
  if (solved.file.contact_count() > 0) out.set("dim", solved.file.dim);
  out.set("method", key_of(report.method));
  out.set("outcome", key_of(report.outcome));
  out.set("iterations", report.iterations);
  out.set("seconds", solved.seconds);
  out.set("processor_seconds", solved.processor_seconds);
  out.set("residual", report.residual.value);
  out.set("residual_siconos", report.residual.siconos);
  out.set("residual_scale_free", report.residual.siconos_scale_free);
  out.set("worst_block", report.residual.worst_block);
  out.set("islands", report.island_count);
  Json attempts = Json::array();
  for (const Attempt& attempt : report.attempts) {
    attempts.push_back({{"method", key_of(attempt.method)},
                        {"effort", name_of(attempt.effort)},
                        {"outcome", key_of(attempt.outcome)},
                        {"island", attempt.island},
                        {"iterations", attempt.iterations},
                        {"residual", attempt.residual},
                        {"work", attempt.work}});
  }
  out.set("attempts", attempts);
  if (with_solution) add_solution(solved, out);
  return out;
}

}  // namespace orthant::app
