// SPDX-License-Identifier: Apache-2.0
// base/atomic_file.hpp: a file appears whole or not at all.
// Write to temporary_path(), then commit(): flushes to disk and renames over the target. Without a
// commit (an exception on the way) the temporary is removed and the target stays as it was. A file
// that is there already keeps its rights; a symbolic link stays a link, and its target is replaced.
#pragma once

#include <string>
#include <string_view>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

class AtomicFile {
 public:
  /// Throws Error unless the folder of `path` exists and `path` is a regular file or nothing yet: a
  /// folder, a device or a pipe cannot be replaced.
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

/// The whole of `text` as the content of `path`; written into a device or a pipe as it is.
void write_file(const std::string& path, std::string_view text);

/// The content of a file. Throws Error when it is missing, unreadable, a folder, or longer than
/// `limit` bytes (a device may never end).
std::string read_file(const std::string& path, std::size_t limit = std::string::npos);

/// The same for a name that comes from untrusted input: nothing but a regular file is opened, so
/// that a pipe cannot keep the reader waiting and a device cannot be read.
std::string read_regular_file(const std::string& path, std::size_t limit);

}  // namespace orthant
