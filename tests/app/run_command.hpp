// SPDX-License-Identifier: Apache-2.0
// tests/app/run_command.hpp: runs the built `orthant` and keeps what it says.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "orthant/base/atomic_file.hpp"
#include "support/sample_files.hpp"

namespace orthant::testing {

struct CommandResult {
  int code = -1;
  std::string out, err;
};

/// `arguments` as typed in a shell, after the name of the command.
inline CommandResult run_command(const std::string& arguments) {
  const TemporaryFolder folder;
  const std::string line = build_dir() + "/bin/orthant " + arguments + " >" + folder.file("out") +
                           " 2>" + folder.file("err");
  const int status = std::system(line.c_str());
  CommandResult result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.out = read_file(folder.file("out"));
  result.err = read_file(folder.file("err"));
  return result;
}

}  // namespace orthant::testing
