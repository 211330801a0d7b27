// SPDX-License-Identifier: Apache-2.0
// orthant/report.hpp: where the JSON of `--json FILE|-` goes, the same for every command.
#pragma once

#include <string>

namespace orthant::app {

/// `text` to the file `path`, to standard output ("-"), or nowhere (""). Throws Error.
void write_report(const std::string& path, const std::string& text);

}  // namespace orthant::app
