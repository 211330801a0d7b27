// SPDX-License-Identifier: Apache-2.0
// base/atomic_file.hpp: a file appears whole or not at all.
// Write to temporary_path(), then commit(): flushes to disk and renames over the target. Without a
// commit (an exception on the way) the temporary is removed and the target stays as it was.
#pragma once

#include <string>
#include <string_view>

namespace orthant {

class AtomicFile {
 public:
  /// Throws Error unless the folder of `path` exists and `path` is not a folder itself.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// In the same folder, so that the rename is atomic. Created empty by the constructor.
  const std::string& temporary_path() const { return temporary_; }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
};

/// The whole of `text` as the content of `path`.
void write_file(const std::string& path, std::string_view text);

/// The content of a file. Throws Error when it is missing, unreadable or a folder.
std::string read_file(const std::string& path);

}  // namespace orthant
