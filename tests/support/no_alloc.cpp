// SPDX-License-Identifier: Apache-2.0
// support/no_alloc.cpp: malloc of the whole test program passes through here and is counted while a
// guard lives. The functions below replace those of the C library (which stays reachable under its
// __libc_ names); a sanitizer owns malloc itself, so there its hook is used instead.
#include "support/no_alloc.hpp"

#include <execinfo.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sstream>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORTHANT_SANITIZER_OWNS_MALLOC 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define ORTHANT_SANITIZER_OWNS_MALLOC 1
#endif
#endif

namespace orthant::testing {
namespace {

constexpr int kMaxFrames = 24;

std::atomic<int> g_guards{0};
std::atomic<std::size_t> g_count{0};
std::atomic<std::size_t> g_bytes{0};
std::atomic<int> g_frame_count{0};
void* g_frames[kMaxFrames];
// backtrace() may allocate itself.
thread_local bool t_inside = false;

void record(std::size_t size) noexcept {
  if (g_guards.load(std::memory_order_relaxed) == 0 || t_inside) return;
  g_bytes.fetch_add(size);
  if (g_count.fetch_add(1) != 0) return;
  t_inside = true;
  g_frame_count = backtrace(g_frames, kMaxFrames);
  t_inside = false;
}

}  // namespace
}  // namespace orthant::testing

#if defined(ORTHANT_SANITIZER_OWNS_MALLOC)

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*,
                                                                             std::size_t),
                                                         void (*free_hook)(const volatile void*));

namespace {
const bool g_installed = [] {
  __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, std::size_t size) { orthant::testing::record(size); },
      [](const volatile void*) {});
  return true;
}();
}  // namespace

#else

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  orthant::testing::record(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  orthant::testing::record(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  orthant::testing::record(size);
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  orthant::testing::record(size);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  *result = memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}
}

#endif

namespace orthant::testing {

NoAlloc::NoAlloc() {
  // The first backtrace() of a process loads a library; do that before counting.
  void* frame = nullptr;
  (void)backtrace(&frame, 1);
  if (g_guards == 0) {
    g_count = 0;
    g_bytes = 0;
    g_frame_count = 0;
  }
  count_before_ = g_count;
  bytes_before_ = g_bytes;
  ++g_guards;
}

NoAlloc::~NoAlloc() {
  const std::size_t allocations = count();
  const std::size_t bytes = g_bytes - bytes_before_;
  --g_guards;
  if (allocations == 0) return;
  std::ostringstream frames;
  const std::unique_ptr<char*, void (*)(void*)> symbols(backtrace_symbols(g_frames, g_frame_count),
                                                        std::free);
  for (int i = 1; symbols && i < g_frame_count; ++i) frames << "\n  " << symbols.get()[i];
  ADD_FAILURE() << allocations << " allocations of " << bytes
                << " bytes where none is allowed; the first one:" << frames.str();
}

std::size_t NoAlloc::count() const { return g_count - count_before_; }

}  // namespace orthant::testing
