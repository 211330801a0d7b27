// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_output.cpp: a run => orthant view, plot, export.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"

namespace orthant::app {
namespace {

struct OutputOptions {
  std::string run, output, vtk, csv, colour = "displacement";
  std::vector<std::string> signals;
  std::optional<std::int64_t> every;  // not given: chosen by `view`, else all frames
  bool no_open = false, json = false, wide = false;
};

/// Hands the page to the desktop; false where there is none.
bool open_in_browser(const std::string& path) {
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    // Where there is no browser it names all that it has tried.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(127);
    ::execlp("xdg-open", "xdg-open", path.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

PartColour colour_of(const std::string& word) {
  if (word == "displacement") return PartColour::Displacement;
  if (word == "stress") return PartColour::Stress;
  const std::string_view known[] = {"displacement", "stress"};
  const std::string near = nearest_spelling(word, known, 2);
  throw Error("--colour", fmt::format("unknown '{}'{}; allowed: displacement, stress", word,
                                      near.empty() ? "" : " (did you mean '" + near + "'?)"));
}

constexpr double kMaxPage = 200e6;  // bytes of data that a browser still opens in seconds

/// Bytes of a page with every frame: floats, four bytes in base64 for every three.
double page_bytes(const TrajectorySize& size) {
  const double frames = static_cast<double>(size.frames);
  const double numbers = frames * (13.0 * static_cast<double>(size.bodies) +
                                   4.0 * static_cast<double>(size.nodes) + 12.0) +
                         12.0 * static_cast<double>(size.contacts);
  return numbers * sizeof(float) * 4 / 3;
}

/// Which frames a page gets: those asked for, else as many as a browser opens with ease.
std::int64_t frames_of_page(const OutputOptions& options) {
  const double bytes = page_bytes(trajectory_size(options.run));
  const double every = static_cast<double>(options.every.value_or(1));
  if (bytes / every <= kMaxPage) return options.every.value_or(1);
  if (options.every) {
    fmt::print(stderr,
               "note: the page will have about {:.0f} MB; a larger --every makes it smaller\n",
               bytes / every / 1e6);
    return *options.every;
  }
  const auto chosen = static_cast<std::int64_t>(std::ceil(bytes / kMaxPage));
  fmt::print(stderr,
             "note: with all frames the page would have about {:.0f} MB; it has every {}th frame "
             "(--every 1: all)\n",
             bytes / 1e6, chosen);
  return chosen;
}

int run_view(const OutputOptions& options) {
  const PartColour colour = colour_of(options.colour);
  const Trajectory t = read_trajectory(options.run, {.every = frames_of_page(options)});
  const std::string json = view_json(t, options.run, colour);
  const bool own = options.output.empty();
  const std::string path =
      own ? options.run + (options.json ? "/view.json" : "/view.html") : options.output;
  write_file(path, options.json ? json : view_page(json));
  const std::string absolute = std::filesystem::absolute(path).string();
  const bool opened = own && !options.no_open && !options.json && open_in_browser(absolute);
  fmt::print("{}{}\n", opened ? "opened " : "", opened ? absolute : path);
  return kSuccess;
}

int run_plot(const OutputOptions& options) {
  std::vector<std::string> names = options.signals;
  if (names.empty()) names.emplace_back("energy");
  const auto [t, signals] = read_signals(options.run, names, options.every.value_or(1));
  const std::string path = options.output.empty() ? options.run + "/plot.svg" : options.output;
  if (path.ends_with(".png"))
    write_file(path, plot_png(t, signals, t.name));
  else if (path.ends_with(".svg"))
    write_file(path, plot_svg(t, signals, t.name));
  else
    throw Error(path, "plots are SVG or PNG: the name must end in .svg or .png");
  fmt::print("{}\n", path);
  return kSuccess;
}

/// "runs/heap/" => "heap"
std::string folder_name(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

int run_export(const OutputOptions& options) {
  if (options.wide && options.csv.empty())
    throw Error("--wide", "is a form of the table: give --csv FILE as well");
  if (options.vtk.empty() && options.csv.empty())
    throw Error("export", "say what to write: --vtk DIR, --csv FILE or both");
  const Trajectory t = read_trajectory(options.run, {.every = options.every.value_or(1)});
  if (!options.vtk.empty()) {
    write_vtk(t, options.run, options.vtk);
    fmt::print("{}/shapes.pvd, bodies.pvd{}{}: {} frames\n", options.vtk,
               t.has_contacts() ? ", contacts.pvd" : "", t.parts.empty() ? "" : ", parts.pvd",
               t.frame_count());
  }
  if (!options.csv.empty()) {
    if (options.wide)
      write_wide_csv(t, folder_name(options.run), options.csv);
    else
      write_csv(t, options.csv);
    fmt::print("{}: {} rows\n", options.csv, t.frame_count() * (options.wide ? 1 : t.body_count()));
  }
  return kSuccess;
}

/// What the three commands share.
Command add_command(Program& program, const char* name, const char* about,
                    const std::shared_ptr<OutputOptions>& options) {
  Command command = program.command(name, about);
  command.option("run", options->run, "folder of a run").value_name("RUN").required();
  command.option("--every", options->every, "only every n-th frame").value_name("N");
  return command;
}

}  // namespace

void add_view(Program& program) {
  const auto options = std::make_shared<OutputOptions>();
  Command command = add_command(program, "view", "Make a page of a run, and open it", options);
  command
      .option("-o,--output", options->output,
              "write this page and do not open it; default: RUN/view.html")
      .value_name("FILE");
  command
      .option("--colour", options->colour,
              "of flexible parts: displacement (default) or stress (von Mises)")
      .value_name("BY");
  command.flag("--no-open", options->no_open, "only write the page");
  command.flag("--json", options->json, "write the viewer's data instead of a page");
  command.footer("Example:\n  orthant view run\n  orthant view run -o run.html\n");
  command.run([options] { return run_view(*options); });
}

void add_plot(Program& program) {
  const auto options = std::make_shared<OutputOptions>();
  Command command = add_command(program, "plot", "Draw signals of a run over time", options);
  std::string names;
  for (const std::string_view name : signal_names()) names += std::string(name) + ", ";
  command
      .option("signals", options->signals,
              names +
                  "body/NAME.PART with PART x, y, z, qw, qx, qy, qz, vx, vy, vz, wx, wy, "
                  "wz, speed, angle; default: energy")
      .value_name("SIGNAL");
  command.option("-o,--output", options->output, "picture; default: RUN/plot.svg")
      .value_name("FILE.svg|png");
  command.footer(
      "Example:\n  orthant plot run energy kinetic -o energy.svg\n"
      "  orthant plot run body/crate.z -o height.svg\n");
  command.run([options] { return run_plot(*options); });
}

void add_export(Program& program) {
  const auto options = std::make_shared<OutputOptions>();
  Command command =
      add_command(program, "export", "Write a run for ParaView or as a table", options);
  command.option("--vtk", options->vtk, "folder for ParaView: open shapes.pvd").value_name("DIR");
  command.option("--csv", options->csv, "table: one row per frame and body").value_name("FILE");
  command.flag("--wide", options->wide, "with --csv: one row per frame, as orthant fit reads it");
  command.footer(
      "Example:\n  orthant export run --vtk run_vtk\n  orthant export run --csv run.csv\n"
      "  orthant export run --csv run.csv --wide\n");
  command.run([options] { return run_export(*options); });
}

}  // namespace orthant::app
