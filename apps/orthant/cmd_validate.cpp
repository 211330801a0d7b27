// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_validate.cpp: orthant validate [NAME…] [--json FILE|-] => check, error, bound,
// verdict. Exit code 0 only if all hold. With --json - the array alone goes to the standard output.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "report.hpp"
#include "validate/validate.hpp"

namespace orthant::app {
namespace {

struct ValidateOptions {
  std::vector<std::string> names;
  std::string json;
  bool list = false;
};

void print_group(const validation::Group& group, std::span<const validation::Check> checks) {
  fmt::print("{}: {}\n", group.name, group.what);
  for (const validation::Check& check : checks) {
    fmt::print("  {:<48} {:>10.3e} <= {:>8.1e} {:<9} {}\n", check.name, check.measured, check.bound,
               check.unit, check.pass() ? "holds" : "FAILS");
  }
  std::fflush(stdout);
}

int validate_command(const ValidateOptions& options) {
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

void add_validate(CLI::App& root, Run& run) {
  const auto options = std::make_shared<ValidateOptions>();
  CLI::App* command =
      root.add_subcommand("validate", "Run the physics checks: measured error against its bound");
  command->add_option("name", options->names, "groups of checks; none: all");
  command->add_option("--json", options->json, "write the checks as JSON to a file, or - ");
  command->add_flag("--list", options->list, "name the groups and end");
  command->callback([&run, options] { run = [options] { return validate_command(*options); }; });
}

}  // namespace orthant::app
