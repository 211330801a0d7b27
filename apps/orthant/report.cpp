// SPDX-License-Identifier: Apache-2.0
// orthant/report.cpp: a report => a file, whole or not at all, or standard output.
#include "report.hpp"

#include <fmt/format.h>

#include "orthant/base/atomic_file.hpp"

namespace orthant::app {

void write_report(const std::string& path, const std::string& text) {
  if (path == "-")
    fmt::print("{}", text);
  else if (!path.empty())
    write_file(path, text);
}

}  // namespace orthant::app
