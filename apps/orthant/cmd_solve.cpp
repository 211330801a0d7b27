// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_solve.cpp: orthant solve FILE… => one line per file, optional JSON and trace.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <vector>

#include "command.hpp"
#include "names.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/solver/solve_fields.hpp"
#include "report.hpp"
#include "solve_file.hpp"

namespace orthant::app {
namespace {

struct SolveOptions {
  std::vector<std::string> files;
  std::string kind;
  std::string method = "automatic";
  std::string friction = "coulomb";
  SolveSettings solve{.siconos_too = true};  // the table shows it beside our own residual
  int repeat = 1;
  std::string json;
  std::string trace;
  bool solution = false;
  bool explain = false;
};

/// "max_iterations" => "--max-iterations".
std::string option_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name == "tolerance" ? "--tol" : "--" + name;
}

/// Every number of a list of settings within its rule; `prefix` before the name of the option.
template <class S>
void check_settings(const S& settings, const std::string& prefix = "") {
  visit_settings(std::type_identity<S>{}, [&](const char* name, auto member, const char*,
                                              const SettingRule& rule) {
    using T = std::decay_t<decltype(settings.*member)>;
    if constexpr (std::is_arithmetic_v<T>) {
      const std::string option = option_of(prefix + name);
      const double value = static_cast<double>(settings.*member);
      const bool finite = std::isfinite(value);
      if (rule.positive && !(finite && value > 0))
        throw Error(option, fmt::format("must be a positive number, found {}", value));
      if (!finite || value < rule.lo)
        throw Error(option, fmt::format("must be >= {}, found {}", rule.lo, value));
      if (value > rule.hi)
        throw Error(option, fmt::format("must be <= {}, found {}", rule.hi, value));
    } else if constexpr (std::is_same_v<T, PlanSettings>) {
      check_settings(settings.*member, std::string(name) + ".");
    }
  });
}

/// One option for each setting of the library's own lists.
template <class S>
void add_settings(Command& command, S& settings, std::string& method, const std::string& prefix) {
  visit_settings(std::type_identity<S>{},
                 [&](const char* name, auto member, const char* what, const SettingRule&) {
                   using T = std::decay_t<decltype(settings.*member)>;
                   const std::string option = option_of(prefix + name);
                   if constexpr (std::is_same_v<T, PlanSettings>)
                     add_settings(command, settings.*member, method, std::string(name) + ".");
                   else if constexpr (std::is_same_v<T, Method>)
                     command.option(option, method, method_names()).show_default();
                   else if constexpr (std::is_same_v<S, PlanSettings>)
                     command.option(option, settings.*member, what)
                         .show_default()
                         .group("Thresholds of the automatic plan");
                   else
                     command.option(option, settings.*member, what).show_default();
                 });
}

FileSettings settings_of(const SolveOptions& options) {
  FileSettings settings;
  if (!options.kind.empty()) settings.kind = problem_kind_of(options.kind);
  if (options.friction != "coulomb" && options.friction != "cone") {
    throw Error("--friction",
                fmt::format("unknown '{}'; allowed: coulomb, cone", options.friction));
  }
  settings.exact_friction = options.friction == "coulomb";
  settings.keep_trace = !options.trace.empty();
  settings.explain = options.explain;
  settings.solve = options.solve;
  settings.solve.method = method_of(options.method);
  check_settings(settings.solve);
  if (!settings.solve.plan.empty()) (void)plan_of(settings.solve.plan);
  if (options.repeat < 1) {
    throw Error("--repeat", fmt::format("must be >= 1, found {}", options.repeat));
  }
  settings.repeat = options.repeat;
  return settings;
}

/// A line on standard error that stays below the table: only on a terminal, for several files, and
/// once the whole takes longer than a person likes to wait.
class ProgressBar {
 public:
  explicit ProgressBar(std::size_t total)
      : total_(total), on_(total > 1 && isatty(STDERR_FILENO)) {}
  ~ProgressBar() { hide(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::size_t done, const std::string& next) {
    if (!on_ || timer_.seconds() < kPatience) return;
    const std::size_t filled = kWidth * done / total_;
    fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{} {}", "", filled, "", kWidth - filled, done,
               total_, next);
    std::fflush(stderr);
    shown_ = true;
  }
  void hide() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  static constexpr double kPatience = 2.0;  // [s]
  static constexpr std::size_t kWidth = 30;
  std::size_t total_;
  bool on_;
  bool shown_ = false;
  Timer timer_;
};

/// Readable seconds: "12.3 us", "4.56 ms", "7.89 s".
std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

class Table {
 public:
  explicit Table(const std::vector<std::string>& files) {
    for (const std::string& file : files) width_ = std::max(width_, std::min(file.size(), kMax));
  }
  void header() const {
    fmt::print("{:<{}}  {:<15} {:>8}  {:<20} {:<16} {:>10} {:>10} {:>9} {:>9} {:>10}\n", "file",
               width_, "kind", "unknowns", "method", "outcome", "iterations", "time", "residual",
               "siconos", "scale-free");
  }
  void row(const SolvedFile& s) const {
    std::string name = s.path;
    if (name.size() > kMax) name = "..." + name.substr(name.size() - kMax + 3);
    const SolveReport& r = s.report;
    fmt::print("{:<{}}  {:<15} {:>8}  {:<20} {:<16} {:>10} {:>10} {:>9.1e} {:>9.1e} {:>10.1e}\n",
               name, width_, name_of(s.file.kind), s.file.unknown_count(), key_of(r.method),
               key_of(r.outcome), r.iterations, duration(s.seconds), r.residual.value,
               r.residual.siconos, r.residual.siconos_scale_free);
    std::fflush(stdout);
  }

 private:
  static constexpr std::size_t kMax = 60;
  std::size_t width_ = 4;
};

/// What `orthant solve` is asked to write, each file whole or not at all.
void write_outputs(const SolveOptions& options, const Json& objects, const std::string& trace) {
  write_report(options.json, objects.text());
  if (!options.trace.empty()) write_file(options.trace, trace);
}

void append_trace(const SolvedFile& solved, std::string& out) {
  for (const SolveTrace::Point& point : solved.trace.points) {
    out += fmt::format("{},{},{},{}\n", solved.path, key_of(point.method), point.iteration,
                       to_text(point.residual));
  }
}

int run_solve(const SolveOptions& options) {
  const FileSettings settings = settings_of(options);
  const bool print_table = options.json != "-";
  const Table table(options.files);
  ProgressBar progress(options.files.size());
  Json objects = Json::array();
  std::string trace = "file,method,iteration,residual\n";
  std::size_t solved_count = 0;
  std::size_t converged_count = 0;
  std::size_t done = 0;
  for (const std::string& path : options.files) {
    progress.show(done++, path);
    const SolvedFile solved = solve_file(path, settings);
    progress.hide();
    if (!solved.error.empty()) {
      fmt::print(stderr, "orthant: {}\n", solved.error);
    } else {
      if (solved_count++ == 0 && print_table) table.header();
      if (print_table) table.row(solved);
      if (print_table && options.explain)
        fmt::print("{}", explanation_of(solved.trace.solves.back()));
      if (solved.report.outcome == Outcome::Converged) ++converged_count;
      append_trace(solved, trace);
    }
    if (!options.json.empty()) objects.push_back(to_json(solved, options.solution));
  }
  if (print_table && options.files.size() > 1) {
    fmt::print("{} of {} converged\n", converged_count, options.files.size());
  }
  // Nothing but bad input leaves no file that looks like a result.
  if (solved_count > 0) write_outputs(options, objects, trace);
  if (solved_count < options.files.size()) return kBadInput;
  return converged_count == solved_count ? kSuccess : kNotConverged;
}

}  // namespace

void add_solve(Program& program) {
  const auto options = std::make_shared<SolveOptions>();
  Command command =
      program.command("solve", "Solve problem files; the exit code is 0 only if all converged");
  command.option("files", options->files, "LCP, MLCP or friction text, FCLIB, or native HDF5")
      .value_name("FILE")
      .required();
  command.option("--kind", options->kind,
                 "force lcp, mlcp, friction_local, friction_global or canonical; "
                 "default: inferred from the file");
  add_settings(command, options->solve, options->method, "");
  command.option("--friction", options->friction, "coulomb (exact) or cone (convex)")
      .show_default();
  command.option("--repeat", options->repeat,
                 "solve each file so many times, the fastest is timed");
  command.option("--json", options->json, "report as a JSON array; - for standard output")
      .value_name("FILE");
  command.flag("--solution", options->solution,
               "with --json: add z, w (LCP, MLCP) or r, u (friction)");
  command.flag("--explain", options->explain,
               "traits, plan, what ran with its residual and time, why it ended");
  command.option("--trace", options->trace, "residual of every iteration as CSV")
      .value_name("FILE");
  command.footer("Example:\n  orthant solve --tol 1e-10 --json report.json --solution *.dat\n");
  command.run([options] { return run_solve(*options); });
}

}  // namespace orthant::app
