// SPDX-License-Identifier: Apache-2.0
// orthant/options.hpp: commands and their options, without the parser.
// The parser (CLI11) is included by options.cpp alone: it takes longer to compile than all commands
// together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace orthant::app {

using Run = std::function<int()>;

/// One option or argument; the calls refine it and can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& value_name(const char* name);  ///< in the help: --steps N
  Option& required();
  Option& show_default();
  Option& one_value();  ///< each use takes one value: --set a=1 --set b=2
  Option& by_commas();
  Option& positive();
  Option& not_negative();
  Option& group(const char* title);  ///< in the help: under a title of its own

 private:
  CLI::Option* option_;
};

/// One command of the program, e.g. `orthant run`.
class Command {
 public:
  Command(CLI::App* app, Run* chosen) : app_(app), chosen_(chosen) {}
  /// `value` is written when the command line is read; it has to outlive that.
  /// T: std::string, int, (unsigned) long, double, bool, an optional number or
  /// std::vector<std::string>.
  template <class T>
  Option option(const std::string& names, T& value, const std::string& about);
  void flag(const std::string& names, bool& value, const std::string& about);
  void footer(const std::string& text);
  /// What is done when the command was chosen; the value returned is the exit code.
  void run(Run work);

 private:
  CLI::App* app_;
  Run* chosen_;
};

/// A command as a completion script sees it.
struct CommandSummary {
  std::string name, about;
  std::vector<std::string> options;  ///< long names without the dashes
};

class Program {
 public:
  Program(const std::string& name, const std::string& about, const std::string& version,
          const std::string& footer);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Command command(const std::string& name, const std::string& about);
  std::vector<CommandSummary> commands() const;

  /// The work of the command that was chosen; nothing where help, the version or an error has been
  /// printed, and then `exit_code` is set.
  Run parse(int argc, char** argv, int& exit_code);

 private:
  std::unique_ptr<CLI::App> app_;
  Run chosen_;
};

}  // namespace orthant::app
