// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_validate.cpp: orthant validate [NAME…] [--json FILE|-] => check, error, bound,
// verdict. Exit code 0 only if all hold. With --json - the array alone goes to the standard output.
//   --random N      a campaign over random scenes instead
//   FILE.yaml       the scene of a file judged as the campaign does, by all its inputs
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/timer.hpp"
#include "report.hpp"
#include "validate/random.hpp"
#include "validate/validate.hpp"

namespace orthant::app {
namespace {

struct ValidateOptions {
  std::vector<std::string> names;
  std::string json;
  bool list = false;
  validation::CampaignSettings random = {.count = 0, .directory = "random_failures"};
};

void print_group(const validation::Group& group, std::span<const validation::Check> checks) {
  fmt::print("{}: {}\n", group.name, group.what);
  for (const validation::Check& check : checks) {
    fmt::print("  {:<48} {:>10.3e} <= {:>8.1e} {:<9} {}\n", check.name, check.measured, check.bound,
               check.unit, check.pass() ? "holds" : "FAILS");
  }
  std::fflush(stdout);
}

/// On a terminal, once the campaign has taken two seconds.
void show_progress(const Timer& timer, std::uint64_t done, std::uint64_t total) {
  constexpr double kPatience = 2;
  constexpr std::uint64_t kWidth = 30;
  if (timer.seconds() < kPatience || isatty(STDERR_FILENO) == 0) return;
  const std::uint64_t filled = kWidth * done / total;
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{}", "", filled, "", kWidth - filled, done,
             total);
  std::fflush(stderr);
}

int random_command(const ValidateOptions& options) {
  validation::CampaignSettings settings = options.random;
  const Timer timer;
  settings.progress = [&](std::uint64_t done) { show_progress(timer, done, settings.count); };
  const validation::Campaign campaign = validation::run_campaign(settings);
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
  if (options.json != "-")
    fmt::print("{} random scenes, seed {}, {:.1f} s\n{}", settings.count, settings.seed,
               timer.seconds(), campaign.table());
  write_report(options.json, campaign.json());
  return campaign.failures.empty() ? kSuccess : kNotConverged;
}

int judge_files(const std::vector<std::string>& files) {
  bool all_good = true;
  for (const std::string& file : files) {
    bool failed = false;
    fmt::print("{}", validation::judge_file(file, failed));
    all_good = all_good && !failed;
  }
  return all_good ? kSuccess : kNotConverged;
}

int validate_command(const ValidateOptions& options) {
  if (options.random.count > 0) return random_command(options);
  const auto is_file = [](const std::string& name) { return name.ends_with(".yaml"); };
  if (!options.names.empty() && std::ranges::all_of(options.names, is_file))
    return judge_files(options.names);
  if (options.list) {
    for (const validation::Group& group : validation::groups())
      fmt::print("{:<16} {}\n", group.name, group.what);
    return kSuccess;
  }
  const bool quiet = options.json == "-";
  const validation::Checks checks =
      quiet ? validation::run(options.names) : validation::run(options.names, print_group);
  std::size_t held = 0;
  for (const validation::Check& check : checks) held += check.pass();
  if (!quiet) fmt::print("{} of {} checks hold\n", held, checks.size());
  write_report(options.json, validation::to_json(checks));
  return held == checks.size() ? kSuccess : kNotConverged;
}

}  // namespace

void add_validate(Program& program) {
  const auto options = std::make_shared<ValidateOptions>();
  Command command =
      program.command("validate", "Run the physics checks: measured error against its bound");
  command
      .option("name", options->names,
              "groups of checks, none: all; or scene files, judged as by --random")
      .value_name("NAME");
  command.option("--json", options->json, "report as JSON to a file, or to standard output (-)")
      .value_name("FILE|-");
  command.flag("--list", options->list, "name the groups and end");
  command
      .option("--random", options->random.count,
              "judge N random scenes: gradients against differences, energy, exceptions")
      .value_name("N")
      .positive();
  command.option("--seed", options->random.seed, "of the random scenes; default 1").value_name("S");
  command.option("--first", options->random.first, "number of the first scene; default 0")
      .value_name("I");
  command
      .option("--threads", options->random.threads,
              "random scenes judged at once; 0, the default: as many as there are cores")
      .value_name("N");
  command
      .option("--keep", options->random.directory,
              "folder for the scenes that fail; default random_failures")
      .value_name("DIR");
  command.footer(
      "Example:\n  orthant validate incline bouncing_ball\n"
      "  orthant validate --random 100 --seed 7\n");
  command.run([options] { return validate_command(*options); });
}

}  // namespace orthant::app
