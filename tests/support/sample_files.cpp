// SPDX-License-Identifier: Apache-2.0
// support/sample_files.cpp: the only file that is compiled anew in another folder.
#include "support/sample_files.hpp"

namespace orthant::testing {

const std::string& source_dir() {
  static const std::string path = ORTHANT_SOURCE_DIR;
  return path;
}

const std::string& build_dir() {
  static const std::string path = ORTHANT_BUILD_DIR;
  return path;
}

}  // namespace orthant::testing
