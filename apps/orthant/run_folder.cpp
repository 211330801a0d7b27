// SPDX-License-Identifier: Apache-2.0
// orthant/run_folder.cpp: lock, stop, clock.
#include "run_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

volatile std::sig_atomic_t stop_wanted = 0;

extern "C" void request_stop(int signal_number) {
  stop_wanted = 1;
  std::signal(signal_number, SIG_DFL);
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  fd_ = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) throw Error(folder, "cannot be written");
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd_);
    throw Error(folder, "is in use by another orthant run");
  }
}

FolderLock::~FolderLock() { ::close(fd_); }

void catch_stop() {
  struct sigaction action{};
  action.sa_handler = request_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() { return stop_wanted != 0; }

std::string clock_text(double seconds) {
  const long long s = std::llround(seconds);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace orthant::app
