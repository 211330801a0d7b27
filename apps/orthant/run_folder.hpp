// SPDX-License-Identifier: Apache-2.0
// orthant/run_folder.hpp: what commands that fill a folder over a long time share: one process per
// folder, a stop that loses nothing, times for people.
#pragma once

#include <string>

namespace orthant::app {

/// One process per folder: held while the command runs, released by the system whatever happens.
class FolderLock {
 public:
  /// Makes the folder where it is missing. Throws Error where another process holds it.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

/// From now on ctrl-C and SIGTERM ask for a stop; the second one ends at once.
void catch_stop();
bool stop_requested();

/// 75 => "1:15", 3661 => "1:01:01".
std::string clock_text(double seconds);

}  // namespace orthant::app
