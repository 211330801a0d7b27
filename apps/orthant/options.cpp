// SPDX-License-Identifier: Apache-2.0
// orthant/options.cpp: the command line => options and the command that was chosen, by CLI11.
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string_view>

#include "command.hpp"
#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

const CLI::Validator kNotNegative(
    [](const std::string& text) {
      return text.starts_with('-') ? "must not be negative, got " + text : std::string();
    },
    "NONNEGATIVE");

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

/// "unknown command 'solv' (did you mean solve?)"; without a word "expected a command".
std::string unknown_command(const CLI::App& root, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* command : root.get_subcommands({})) known.push_back(command->get_name());
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string near = nearest_spelling(word, views.data(), views.size());
  std::string message =
      word.empty() ? "expected a command" : fmt::format("unknown command '{}'", word);
  if (!near.empty()) message += fmt::format(" (did you mean {}?)", near);
  return message + fmt::format("; there are {}", fmt::join(known, ", "));
}

/// What the parser says, and for a misspelt command or option what was probably meant.
std::string explain(const CLI::App& root, const CLI::ParseError& error) {
  std::string message = error.what();
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  const std::vector<std::string> rest = root.remaining(true);
  if (chosen.empty() && (rest.empty() || !rest[0].starts_with('-')))
    return fmt::format("orthant: {}\nRun 'orthant --help' for what they do.\n",
                       unknown_command(root, rest.empty() ? "" : rest[0]));
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

}  // namespace

Option& Option::value_name(const char* name) {
  option_->type_name(name);
  return *this;
}
Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}
Option& Option::one_value() {
  option_->allow_extra_args(false);
  return *this;
}
Option& Option::by_commas() {
  option_->delimiter(',');
  return *this;
}
Option& Option::positive() {
  option_->check(CLI::PositiveNumber.description(""));
  return *this;
}
Option& Option::not_negative() {
  option_->check(kNotNegative.description(""));
  return *this;
}
Option& Option::group(const char* title) {
  option_->group(title);
  return *this;
}

template <class T>
Option Command::option(const std::string& names, T& value, const std::string& about) {
  return Option(app_->add_option(names, value, about));
}
template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, long&, const std::string&);
template Option Command::option(const std::string&, unsigned long&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, bool&, const std::string&);
template Option Command::option(const std::string&, std::optional<long>&, const std::string&);
template Option Command::option(const std::string&, std::optional<double>&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);

void Command::flag(const std::string& names, bool& value, const std::string& about) {
  app_->add_flag(names, value, about);
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::run(Run work) {
  app_->callback([work = std::move(work), chosen = chosen_] { *chosen = work; });
}

Program::Program(const std::string& name, const std::string& about, const std::string& version,
                 const std::string& footer)
    : app_(std::make_unique<CLI::App>(about, name)) {
  app_->set_version_flag("--version", name + " " + version);
  app_->set_help_flag("-h,--help", "this text");
  app_->set_help_all_flag("--help-all", "the text of every command");
  app_->require_subcommand(1);
  app_->footer(footer);
}

Program::~Program() = default;

Command Program::command(const std::string& name, const std::string& about) {
  CLI::App* app = app_->add_subcommand(name, about);
  app->footer("");  // not the examples of the program
  return {app, &chosen_};
}

std::vector<CommandSummary> Program::commands() const {
  std::vector<CommandSummary> out;
  const CLI::App& app = *app_;
  for (const CLI::App* command : app.get_subcommands({})) {
    CommandSummary& summary = out.emplace_back();
    summary.name = command->get_name();
    summary.about = command->get_description();
    for (const CLI::Option* option : command->get_options())
      for (const std::string& long_name : option->get_lnames())
        summary.options.push_back(long_name);
  }
  return out;
}

Run Program::parse(int argc, char** argv, int& exit_code) {
  try {
    app_->parse(argc, argv);
    return chosen_;
  } catch (const CLI::Success& done) {
    exit_code = app_->exit(done);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}", explain(*app_, error));
    exit_code = kBadInput;
  }
  return {};
}

}  // namespace orthant::app
