// SPDX-License-Identifier: Apache-2.0
// reproduce/reproduce.hpp: experiments of the literature as functions: run => tables, files.
// The command prints the tables, the tests run the quick forms. To add one: write its file, declare
// it here, add it to the list in reproduce.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::reproduce {

struct Options {
  std::string directory = {};  ///< for CSV, SVG and saved states; empty: nothing is written
  bool quick = false;          ///< a small form that ends within seconds
  int size = 0;                ///< bodies, cells or rings per side; 0: as published
  bool resume = false;         ///< go on from the checkpoint in `directory`, where there is one
  std::int64_t steps = 0;      ///< end the session after so many steps; 0: when the run is over
  /// Called now and then with the share done and a word on it.
  std::function<void(double, std::string_view)> progress = {};
  // One of several ranks that make the experiment together:
  bool writes = true;               ///< false: another one writes all files
  std::function<void()> meet = {};  ///< returns once all are here: before a file is replaced
};

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// Something that must hold: |measured| <= bound.
struct Check {
  std::string name;
  double measured = 0, bound = 0;
  bool pass() const { return measured <= bound; }
};

/// A run to look at: the experiment, or a part of it, as a scene file that `orthant run` plays.
struct Scene {
  std::string name;  ///< of its folder
  std::string what;  ///< a few words
  std::string yaml;
};

struct Result {
  std::vector<Table> tables;
  std::vector<Check> checks;
  std::vector<std::string> notes;  ///< what differs from the document, and why
  std::vector<std::string> files;  ///< written
  std::vector<Scene> scenes;
  bool finished = true;  ///< false: the session ended first, a checkpoint is there
};

/// What an experiment is taken from.
enum class Source : std::uint8_t { Engine, Gradient, Relcp, Notes, InteriorPoint, Own };
struct SourceText {
  Source source;
  std::string_view title, cited;
};
std::span<const SourceText> sources();

struct Experiment {
  std::string_view name, what;
  Source source;
  double quick_seconds,
      full_seconds;  ///< of one core, expected: docs/reproduce.md says which were measured
  Result (*run)(const Options& options);
};

std::span<const Experiment> experiments();
/// Throws Error with the nearest spelling for a name that is not there.
const Experiment& find_experiment(std::string_view name);

Result run_ellipsoids(const Options& options);
Result run_compaction(const Options& options);
Result run_colony(const Options& options);
Result run_chainmail(const Options& options);
Result run_bending(const Options& options);
Result run_hertz(const Options& options);
Result run_rods(const Options& options);
Result run_roughness(const Options& options);
Result run_packing(const Options& options);
Result run_discs(const Options& options);
Result run_mass(const Options& options);
Result run_kinks(const Options& options);
Result run_notes(const Options& options);
Result run_capsules(const Options& options);
Result run_heap(const Options& options);
Result run_warm_start(const Options& options);
Result run_balls(const Options& options);
Result run_stacks(const Options& options);

/// "6.6e-03" and the like.
std::string number(double x, int digits = 3);

/// One curve of a plot.
struct Curve {
  std::string name;
  std::vector<double> x, y;
};
/// Lines with axes, ticks and a legend; logarithmic where asked (positive values only).
std::string plot_svg(std::string_view title, std::string_view x_label, std::string_view y_label,
                     std::span<const Curve> curves, bool log_x = false, bool log_y = false);
/// Columns of one length each.
std::string to_csv(std::span<const std::string> names,
                   std::span<const std::vector<double>> columns);
/// Writes directory/name and lists it; does nothing without a directory.
void write_file(const Options& options, std::string_view name, const std::string& text,
                Result& result);

}  // namespace orthant::reproduce
