// SPDX-License-Identifier: Apache-2.0
// orthant/main.cpp: arguments => command => exit code.
#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <vector>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/version.hpp"

namespace orthant::app {
namespace {

constexpr auto kCommands = {add_new,       add_check,      add_run,  add_view,    add_plot,
                            add_export,    add_solve,      add_info, add_convert, add_validate,
                            add_reproduce, add_completion, add_fit,  add_grad,    add_bench};

/// "--metod" with its value cut off; empty for anything that is no long option.
std::string_view option_name(std::string_view argument) {
  if (!argument.starts_with("--")) return {};
  return argument.substr(0, argument.find('='));
}

/// The option that was probably meant: near in letters, or one name begins the other (--tolerance).
std::string nearest_option(std::string_view name, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  std::string near = nearest_spelling(name, views.data(), views.size());
  if (!near.empty()) return near;
  for (const std::string_view option : views)
    if (name.starts_with(option) || option.starts_with(name)) return std::string(option);
  return {};
}

/// "unknown command 'solv' (did you mean solve?)".
std::string unknown_command(const CLI::App& root, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : root.get_subcommands({})) known.push_back(command->get_name());
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string near = nearest_spelling(word, views.data(), views.size());
  std::string message = fmt::format("unknown command '{}'", word);
  if (!near.empty()) message += fmt::format(" (did you mean {}?)", near);
  return message + fmt::format("; there are {}", fmt::join(known, ", "));
}

/// What the parser says, and for a misspelt command or option what was probably meant.
std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  std::string message = error.what();
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  const std::vector<std::string> rest = root.remaining(true);
  if (chosen.empty() && !rest.empty() && !rest[0].starts_with('-'))
    return fmt::format("orthant: {}\n", unknown_command(root, rest[0]));
  const CLI::App& command = chosen.empty() ? root : *chosen.front();
  for (const std::string& argument : rest) {
    const std::string_view name = option_name(argument);
    if (name.empty()) continue;
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
    }
    const std::string near = nearest_option(name, known);
    message = fmt::format("unknown option {}", name);
    if (!near.empty()) message += fmt::format(" (did you mean {}?)", near);
    break;
  }
  return fmt::format("orthant: {}\nRun 'orthant{}{} --help' for what is allowed.\n", message,
                     chosen.empty() ? "" : " ", chosen.empty() ? "" : command.get_name());
}

int main_of(int argc, char** argv) {
  CLI::App root("Hard contact, exact gradients.", "orthant");
  root.set_version_flag("--version", [] { return std::string("orthant ") + version(); });
  root.set_help_flag("-h,--help", "this text");
  root.set_help_all_flag("--help-all", "the text of every command");
  root.require_subcommand(1);
  root.footer(
      "Examples:\n"
      "  orthant new heap                        a scene to start from: heap.yaml\n"
      "  orthant run heap.yaml -o heap_run\n"
      "  orthant view heap_run\n"
      "  orthant solve problem.dat\n"
      "  orthant info problem.hdf5\n"
      "  orthant convert problem.dat problem.hdf5\n"
      "  orthant validate incline bouncing_ball\n"
      "  orthant reproduce ellipsoids\n"
      "  orthant fit cube tosses.csv --params friction,restitution --train 60 -o fit.yaml\n"
      "  orthant grad heap.yaml --loss 'position(crate).z' --check\n"
      "  orthant bench stack dominoes\n");
  Run run;
  for (const auto add : kCommands) add(root, run);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return root.exit(done);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}", explain(root, error));
    return kBadInput;
  }
  try {
    return run();
  } catch (const Error& error) {
    fmt::print(stderr, "orthant: {}\n", error.what());
    return kBadInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "orthant: not enough memory\n");
    return kBadInput;
  }
}

}  // namespace
}  // namespace orthant::app

int main(int argc, char** argv) {
  try {
    return orthant::app::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "orthant: internal error: %s\n", error.what());
    return orthant::app::kInternalError;
  }
}
