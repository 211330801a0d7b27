// SPDX-License-Identifier: Apache-2.0
// python/src/bind_solver.cpp: solve(problem, settings) => (solution, report).
#include <cctype>

#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/solver/solve_fields.hpp"
#include "settings.hpp"

namespace orthant::python {

void fields(Tag<Attempt>, auto&& field) {
  field("method", &Attempt::method, "What ran.");
  field("effort", &Attempt::effort, "How long it was to try.");
  field("outcome", &Attempt::outcome, "How it ended.");
  field("island", &Attempt::island, "On which island.");
  field("iterations", &Attempt::iterations, "Of this run.");
  field("residual", &Attempt::residual, "Reached [-].");
  field("work", &Attempt::work, "Multiply-adds, counted.");
}

void fields(Tag<SolveReport>, auto&& field) {
  field("outcome", &SolveReport::outcome, "Converged, or why not.");
  field("method", &SolveReport::method, "That gave the answer (of the hardest island).");
  field("iterations", &SolveReport::iterations, "Added up over islands and attempts.");
  field("island_count", &SolveReport::island_count, "Independent parts of the problem.");
  field("residual", &SolveReport::residual, "By the judge, from the answer.");
  field("attempts", &SolveReport::attempts, "What ran, in order.");
}

namespace {

/// "interior_point" => "InteriorPoint".
std::string camel_case(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = c == '_';
  }
  return out;
}

void bind_enums(nb::module_& m) {
  nb::enum_<Outcome>(m, "Outcome", "How a solve ended.")
      .value("Converged", Outcome::Converged, "the judge's residual is within the tolerance")
      .value("IterationLimit", Outcome::IterationLimit)
      .value("WorkLimit", Outcome::WorkLimit)
      .value("Stalled", Outcome::Stalled, "no progress, tolerance not reached")
      .value("RayTermination", Outcome::RayTermination, "Lemke ended on a ray")
      .value("Infeasible", Outcome::Infeasible, "the rows contradict each other")
      .value("NotFinite", Outcome::NotFinite, "numbers overflowed");
  nb::enum_<Method> methods(m, "Method", "The methods, and what each is for.");
  for (const MethodInfo& info : kMethods)
    methods.value(camel_case(info.name).c_str(), info.method, std::string(info.what).c_str());
  nb::enum_<Effort>(m, "Effort", "How long a step of a plan tries.")
      .value("Quick", Effort::Quick, "gives up early")
      .value("Longer", Effort::Longer, "a few times that")
      .value("Full", Effort::Full, "as well as the method can")
      .value("Finish", Effort::Finish, "an accepted answer to rounding");
}

}  // namespace

void bind_solver(nb::module_& m) {
  bind_enums(m);
  bind_settings<PlanSettings>(m, "PlanSettings", "Thresholds of the automatic choice of methods.");
  bind_settings<SolveSettings>(m, "SolveSettings", "What a solve may spend, and when it may stop.");
  bind_report<Attempt>(m, "Attempt", "One method's run on one island.");
  bind_report<SolveReport>(m, "SolveReport", "What a solve did.");
  m.def(
      "solve",
      [](const CanonicalProblem& problem, const SolveSettings& given, const Solution* start,
         bool trace) {
        validate(problem);
        SolveTrace history;
        SolveSettings settings = given;
        settings.trace = trace ? &history : nullptr;
        Solution x = start != nullptr ? *start : zero_solution(problem);
        SolveReport report;
        {
          const nb::gil_scoped_release release;
          SolveWorkspace workspace;
          solve(problem, settings, workspace, x, report);
        }
        check_signals();
        nb::list points;
        for (const SolveTrace::Point& p : history.points)
          points.append(nb::make_tuple(p.method, p.iteration, p.residual));
        return nb::make_tuple(std::move(x), std::move(report), points);
      },
      nb::arg("problem"), nb::arg("settings"), nb::arg("start") = nb::none(),
      nb::arg("trace") = false,
      nb::sig("def solve(problem: CanonicalProblem, settings: SolveSettings, start: Solution | "
              "None = None, trace: bool = False) -> tuple[Solution, SolveReport, "
              "list[tuple[Method, int, float]]]"),
      "The answer, the report and, where asked for, the history (method, iteration, residual).");
  m.def(
      "explain",
      [](const CanonicalProblem& problem, const SolveSettings& given) {
        validate(problem);
        SolveTrace trace;
        trace.explain = true;
        SolveSettings settings = given;
        settings.trace = &trace;
        {
          const nb::gil_scoped_release release;
          Solution x;
          (void)solve(problem, settings, x);
        }
        check_signals();
        return explanation_of(trace.solves.front());
      },
      nb::arg("problem"), nb::arg("settings"),
      "Solves from zero and tells: traits, plan, what ran with its residual and time, why it "
      "ended.");
  m.def("why_not_applicable", &why_not_applicable, nb::arg("method"), nb::arg("problem"),
        "Empty when `method` can run on this problem, else why not.");
}

}  // namespace orthant::python
