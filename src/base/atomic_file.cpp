// SPDX-License-Identifier: Apache-2.0
// base/atomic_file.cpp: temporary name, fsync, rename. POSIX.
#include "orthant/base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw Error(path, std::string(what) + ": " + std::strerror(errno));
}

/// Closes on every way out.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Where a symbolic link leads, itself for anything else. The last name need not exist.
std::string behind_links(const std::string& path) {
  std::string at = path;
  for (int i = 0; i < 40; ++i) {  // the limit of the kernel
    char target[4096];
    const ssize_t size = ::readlink(at.c_str(), target, sizeof target);
    if (size < 0) return at;
    const std::string next(target, static_cast<std::size_t>(size));
    at = next.starts_with('/') ? next : folder_of(at) + "/" + next;
  }
  errno = ELOOP;
  fail(path, "cannot be written");
}

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(path, "cannot be written");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(behind_links(path)) {
  struct stat info{};
  const bool exists = ::stat(path_.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) throw Error(path_, "is a folder, expected a file name");
  if (exists && !S_ISREG(info.st_mode))
    throw Error(path_, "is a device or a pipe, expected a file name");
  temporary_ = path_ + ".XXXXXX.tmp";
  const Descriptor file{::mkstemps(temporary_.data(), 4)};
  if (file.fd < 0) {
    temporary_.clear();
    fail(path_, "cannot be written");
  }
  // mkstemp makes private files; a result file keeps its rights, a new one gets what any new file
  // would have.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.fd, exists ? info.st_mode & 07777 : 0666 & ~mask) != 0) {
    ::unlink(temporary_.c_str());
    fail(path_, "cannot be written");
  }
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  {
    const Descriptor file{::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0 || ::fsync(file.fd) != 0) fail(path_, "cannot be flushed to disk");
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be written");
  temporary_.clear();
  // The name is on disk only once the folder is; some file systems cannot do that, which is no
  // reason to fail.
  const Descriptor folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) static_cast<void>(::fsync(folder.fd));
}

void write_file(const std::string& path, std::string_view text) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    const Descriptor device{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (device.fd < 0) fail(path, "cannot be written");
    write_all(device.fd, text, path);
    return;
  }
  AtomicFile out(path);
  {
    const Descriptor file{::open(out.temporary_path().c_str(), O_WRONLY | O_CLOEXEC)};
    if (file.fd < 0) fail(path, "cannot be written");
    write_all(file.fd, text, path);
  }
  out.commit();
}

std::string read_regular_file(const std::string& path, std::size_t limit) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) fail(path, "cannot be opened");
  if (!S_ISREG(info.st_mode)) throw Error(path, "is not a regular file");
  return read_file(path, limit);
}

std::string read_file(const std::string& path, std::size_t limit) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(path, "cannot be opened");
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) fail(path, "cannot be read");
  if (S_ISDIR(info.st_mode)) throw Error(path, "is a folder, expected a file");
  // The size is only a hint: pipes have none, and a file may grow or shrink while it is read.
  const std::size_t hint = S_ISREG(info.st_mode) ? static_cast<std::size_t>(info.st_size) : 65536;
  if (S_ISREG(info.st_mode) && hint > limit)
    throw Error(path, "is larger than " + std::to_string(limit >> 20) + " MiB");
  std::string text(hint + 1, '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(2 * text.size());
    const ssize_t count = ::read(file.fd, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be read");
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
    if (size > limit) throw Error(path, "is larger than " + std::to_string(limit >> 20) + " MiB");
  }
  text.resize(size);
  return text;
}

}  // namespace orthant
