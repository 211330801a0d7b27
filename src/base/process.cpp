// SPDX-License-Identifier: Apache-2.0
// base/process.cpp: time and memory of this process, as the system counts them.
#include "orthant/base/process.hpp"

#include <malloc.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <string>

namespace orthant {

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return 1024 * kilobytes;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

void reset_peak_memory() {
#ifdef __GLIBC__
  malloc_trim(0);  // else what is free would be used again unseen
#endif
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace orthant
