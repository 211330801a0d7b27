// SPDX-License-Identifier: Apache-2.0
// base/parallel.cpp: parallel_for on oneTBB.
// Debian's oneTBB is not instrumented, so the thread sanitizer cannot see how it hands work over
// and takes its own tasks for races. A build with that sanitizer shares the chunks out over plain
// threads instead: what is checked there is our code between them.
#include "orthant/base/parallel.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

std::atomic<int> g_threads{1};

#if defined(__SANITIZE_THREAD__)

template <class Run>
void share_out(std::size_t chunks, const Run& run) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t c = next++; c < chunks; c = next++) run(c);
  };
  std::vector<std::thread> helpers;
  const std::size_t threads = std::min(static_cast<std::size_t>(g_threads.load()), chunks);
  while (helpers.size() + 1 < threads) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

#else

// One arena for the process, rebuilt only when the number of threads changes.
std::mutex g_arena_mutex;
std::shared_ptr<tbb::task_arena> g_arena;

std::shared_ptr<tbb::task_arena> arena() {
  const std::scoped_lock lock(g_arena_mutex);
  const int threads = g_threads.load();
  if (!g_arena || g_arena->max_concurrency() != threads) {
    g_arena = std::make_shared<tbb::task_arena>(threads);
  }
  return g_arena;
}

template <class Run>
void share_out(std::size_t chunks, const Run& run) {
  arena()->execute([&] { tbb::parallel_for(std::size_t{0}, chunks, run); });
}

#endif

}  // namespace

void set_thread_count(int threads) {
  if (threads < 0) throw Error("set_thread_count", "threads must be >= 0");
  g_threads = threads == 0 ? tbb::info::default_concurrency() : threads;
}

int thread_count() noexcept { return g_threads.load(); }

namespace internal {

void parallel_chunks(std::size_t count, std::size_t grain, RangeFunction function, void* body) {
  const std::size_t chunks = chunk_count(count, grain);
  const auto run = [=](std::size_t chunk) {
    const std::size_t begin = chunk * grain;
    const std::size_t end = begin + grain < count ? begin + grain : count;
    function(body, begin, end, chunk);
  };
  if (g_threads.load() == 1 || chunks < 2) {
    for (std::size_t c = 0; c < chunks; ++c) run(c);
    return;
  }
  share_out(chunks, run);
}

}  // namespace internal
}  // namespace orthant
