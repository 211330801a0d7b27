// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_completion.cpp: orthant completion SHELL => a script for it.
// Made from the parser itself: a new command or option needs nothing here.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "command.hpp"
#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

std::string long_options(const CLI::App& command, const char* separator) {
  std::string out;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      out += fmt::format("{}--{}", out.empty() ? "" : separator, name);
  return out;
}

std::string bash_script(const CLI::App& root) {
  std::string names, cases;
  for (const CLI::App* command : root.get_subcommands({})) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", command->get_name());
    cases += fmt::format("    {}) options=\"{}\" ;;\n", command->get_name(),
                         long_options(*command, " "));
  }
  return fmt::format(R"(_orthant() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" options=""
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "{}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F _orthant orthant
)",
                     names, cases);
}

std::string fish_script(const CLI::App& root) {
  std::string out;
  for (const CLI::App* command : root.get_subcommands({})) {
    out += fmt::format("complete -c orthant -n __fish_use_subcommand -a {} -d '{}'\n",
                       command->get_name(), command->get_description());
    for (const CLI::Option* option : command->get_options())
      for (const std::string& name : option->get_lnames())
        out += fmt::format("complete -c orthant -n '__fish_seen_subcommand_from {}' -l {}\n",
                           command->get_name(), name);
  }
  return out;
}

int print_script(const CLI::App& root, const std::string& shell) {
  if (shell == "bash")
    fmt::print("{}", bash_script(root));
  else if (shell == "zsh")
    fmt::print("autoload -U +X bashcompinit && bashcompinit\n{}", bash_script(root));
  else if (shell == "fish")
    fmt::print("{}", fish_script(root));
  else
    throw Error("completion", "unknown shell '" + shell + "'; allowed: bash, zsh, fish");
  return kSuccess;
}

}  // namespace

void add_completion(CLI::App& root, Run& run) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = root.add_subcommand("completion", "Print a completion script for a shell");
  command->add_option("shell", *shell, "bash, zsh or fish")->type_name("SHELL")->required();
  command->footer("Example:\n  source <(orthant completion bash)\n");
  command->callback(
      [shell, &root, &run] { run = [shell, &root] { return print_script(root, *shell); }; });
}

}  // namespace orthant::app
