// SPDX-License-Identifier: Apache-2.0
// support/sample_files.hpp: where the problems from outside are.
// A few large ones are not part of the source tree; tests use them where a copy lies beside it.
#pragma once

#include <filesystem>
#include <string>

#include "orthant/base/error.hpp"

namespace orthant::testing {

/// The source tree and the build tree of these tests, without a slash at the end.
const std::string& source_dir();
const std::string& build_dir();

/// Path of a sample ("lcp/lcp_mmc.dat"), empty where there is none.
inline std::string sample(const std::string& name) {
  namespace fs = std::filesystem;
  for (const char* folder : {"/tests/data/", "/../shared/data/"}) {
    const std::string path = source_dir() + std::string(folder) + name;
    if (fs::exists(path)) return path;
  }
  return {};
}

/// A folder of its own for a test, empty at the start, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "orthant_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw Error(name, "cannot be made");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }
  std::size_t file_count() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace orthant::testing
