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

std::string bash_script(const Program& program) {
  std::string names, cases;
  for (const CommandSummary& command : program.commands()) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
    std::string options;
    for (const std::string& name : command.options)
      options += fmt::format("{}--{}", options.empty() ? "" : " ", name);
    cases += fmt::format("    {}) options=\"{}\" ;;\n", command.name, options);
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

std::string fish_script(const Program& program) {
  std::string out;
  for (const CommandSummary& command : program.commands()) {
    out += fmt::format("complete -c orthant -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                       command.about);
    for (const std::string& name : command.options)
      out += fmt::format("complete -c orthant -n '__fish_seen_subcommand_from {}' -l {}\n",
                         command.name, name);
  }
  return out;
}

int print_script(const Program& program, const std::string& shell) {
  if (shell == "bash")
    fmt::print("{}", bash_script(program));
  else if (shell == "zsh")
    fmt::print("autoload -U +X bashcompinit && bashcompinit\n{}", bash_script(program));
  else if (shell == "fish")
    fmt::print("{}", fish_script(program));
  else
    throw Error("completion", "unknown shell '" + shell + "'; allowed: bash, zsh, fish");
  return kSuccess;
}

}  // namespace

void add_completion(Program& program) {
  const auto shell = std::make_shared<std::string>();
  Command command = program.command("completion", "Print a completion script for a shell");
  command.option("shell", *shell, "bash, zsh or fish").value_name("SHELL").required();
  command.footer("Example:\n  source <(orthant completion bash)\n");
  command.run([shell, &program] { return print_script(program, *shell); });
}

}  // namespace orthant::app
