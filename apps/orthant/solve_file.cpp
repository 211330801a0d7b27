// SPDX-License-Identifier: Apache-2.0
// orthant/solve_file.cpp: read => canonical problem => solve => judge.
#include "solve_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "names.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/process.hpp"
#include "orthant/base/timer.hpp"

namespace orthant::app {
namespace {

nlohmann::json list(const VecX& x, Eigen::Index begin, Eigen::Index count) {
  return std::vector<double>(x.data() + begin, x.data() + begin + count);
}
nlohmann::json list(const VecX& x) { return list(x, 0, x.size()); }

/// The vectors by the names of the file's own formulation.
void add_solution(const SolvedFile& solved, nlohmann::json& out) {
  const Solution& x = solved.solution;
  const Index unknowns = solved.file.unknown_count();
  switch (solved.file.kind) {
    case ProblemKind::Lcp:
    case ProblemKind::Mlcp:
      out["z"] = list(x.lambda);
      out["w"] = list(x.w);
      break;
    case ProblemKind::FrictionLocal:
      out["r"] = list(x.lambda, 0, unknowns);
      out["u"] = list(x.w, 0, unknowns);
      if (solved.file.has_bilateral)
        out["l"] = list(x.lambda, unknowns, x.lambda.size() - unknowns);
      break;
    case ProblemKind::FrictionGlobal:
      out["r"] = list(x.lambda);
      out["u"] = list(x.w);
      out["v"] = list(x.v);
      if (solved.file.has_bilateral) out["l"] = list(x.gamma);
      break;
    case ProblemKind::Canonical:
      out["lambda"] = list(x.lambda);
      out["w"] = list(x.w);
      out["v"] = list(x.v);
      out["gamma"] = list(x.gamma);
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
    solved.trace.points.clear();
    if (settings.keep_trace) solve_settings.trace = &solved.trace;
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

nlohmann::json to_json(const SolvedFile& solved, bool with_solution) {
  nlohmann::json out;
  out["file"] = solved.path;
  if (!solved.error.empty()) {
    out["outcome"] = "bad_input";
    out["error"] = solved.error;
    return out;
  }
  const SolveReport& report = solved.report;
  out["kind"] = name_of(solved.file.kind);
  out["unknowns"] = solved.file.unknown_count();
  out["velocities"] = solved.problem.velocity_count();
  out["contacts"] = solved.file.contact_count();
  if (solved.file.contact_count() > 0) out["dim"] = solved.file.dim;
  out["method"] = key_of(report.method);
  out["outcome"] = key_of(report.outcome);
  out["iterations"] = report.iterations;
  out["seconds"] = solved.seconds;
  out["processor_seconds"] = solved.processor_seconds;
  out["residual"] = report.residual.value;
  out["residual_siconos"] = report.residual.siconos;
  out["residual_scale_free"] = report.residual.siconos_scale_free;
  out["worst_block"] = report.residual.worst_block;
  out["islands"] = report.island_count;
  nlohmann::json attempts = nlohmann::json::array();
  for (const Attempt& attempt : report.attempts) {
    attempts.push_back({{"method", key_of(attempt.method)},
                        {"outcome", key_of(attempt.outcome)},
                        {"island", attempt.island},
                        {"iterations", attempt.iterations},
                        {"residual", attempt.residual}});
  }
  out["attempts"] = std::move(attempts);
  if (with_solution) add_solution(solved, out);
  return out;
}

}  // namespace orthant::app
