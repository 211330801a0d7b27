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
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "orthant/base/error.hpp"
#include "orthant/base/thread_scope.hpp"

namespace orthant {
namespace {

std::atomic<int> g_threads{1};
thread_local int t_threads = 0;  // of a ThreadScope; 0: none

int checked(int threads) {
  if (threads < 0) throw Error("set_thread_count", "threads must be >= 0");
  return threads == 0 ? tbb::info::default_concurrency() : threads;
}

/// The chunks of a scope keep its number of threads, whichever thread they run in.
class Inherit {
 public:
  explicit Inherit(int threads) : before_(t_threads) { t_threads = threads; }
  ~Inherit() { t_threads = before_; }
  Inherit(const Inherit&) = delete;
  Inherit& operator=(const Inherit&) = delete;

 private:
  int before_;
};

#if defined(__SANITIZE_THREAD__)

template <class Run>
void share_out(int threads, std::size_t chunks, const Run& run) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    const Inherit inherit(threads);
    for (std::size_t c = next++; c < chunks; c = next++) run(c);
  };
  std::vector<std::thread> helpers;
  const std::size_t most = std::min(static_cast<std::size_t>(threads), chunks);
  while (helpers.size() + 1 < most) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

#else

// One arena for each number of threads that was asked for, kept for the life of the process.
std::mutex g_arena_mutex;
std::map<int, std::unique_ptr<tbb::task_arena>> g_arenas;

tbb::task_arena& arena(int threads) {
  const std::scoped_lock lock(g_arena_mutex);
  std::unique_ptr<tbb::task_arena>& found = g_arenas[threads];
  if (!found) found = std::make_unique<tbb::task_arena>(threads);
  return *found;
}

template <class Run>
void share_out(int threads, std::size_t chunks, const Run& run) {
  const auto one = [&](std::size_t chunk) {
    const Inherit inherit(threads);
    run(chunk);
  };
  // Isolated: a thread that waits for a loop within a chunk must not take another chunk of the loop
  // outside meanwhile, for it holds buffers of its own.
  arena(threads).execute([&] {
    tbb::this_task_arena::isolate([&] { tbb::parallel_for(std::size_t{0}, chunks, one); });
  });
}

#endif

// --- ParallelMeter ---

constexpr int kPowers = 7;  // 1 … 64 threads

struct Meter {
  double begin = 0, parallel = 0;
  std::int64_t loops = 0;
  double path[kPowers] = {};  // of the loops alone
  std::vector<double> chunks = {}, free_at = {};
  bool inside = false;  // a loop within a chunk is part of the chunk
};
thread_local Meter* t_meter = nullptr;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Run>
void measure(Meter& meter, std::size_t chunks, const Run& run) {
  meter.inside = true;
  meter.chunks.resize(chunks);
  double last = thread_seconds();
  for (std::size_t c = 0; c < chunks; ++c) {
    run(c);
    const double now = thread_seconds();
    meter.chunks[c] = now - last;
    last = now;
  }
  meter.inside = false;
  ++meter.loops;
  for (const double seconds : meter.chunks) meter.parallel += seconds;
  for (int p = 0; p < kPowers; ++p) {
    meter.free_at.assign(std::size_t{1} << p, 0.0);  // a heap, the first that is free in front
    for (const double seconds : meter.chunks) {
      std::pop_heap(meter.free_at.begin(), meter.free_at.end(), std::greater<>());
      meter.free_at.back() += seconds;
      std::push_heap(meter.free_at.begin(), meter.free_at.end(), std::greater<>());
    }
    meter.path[p] += *std::max_element(meter.free_at.begin(), meter.free_at.end());
  }
}

}  // namespace

void set_thread_count(int threads) { g_threads = checked(threads); }

int thread_count() noexcept { return t_threads != 0 ? t_threads : g_threads.load(); }

ThreadScope::ThreadScope(int threads) : before_(t_threads) { t_threads = checked(threads); }
ThreadScope::~ThreadScope() { t_threads = before_; }
int ThreadScope::all_cores() { return tbb::info::default_concurrency(); }

ParallelMeter::ParallelMeter() {
  if (t_meter != nullptr) throw Error("ParallelMeter", "there is one in this thread already");
  t_meter = new Meter;
  t_meter->begin = thread_seconds();
}
ParallelMeter::~ParallelMeter() {
  delete t_meter;
  t_meter = nullptr;
}

ParallelMeter::Result ParallelMeter::read() {
  Meter& meter = *t_meter;
  const double now = thread_seconds();
  Result result{
      .seconds = now - meter.begin, .parallel = meter.parallel, .loops = meter.loops, .path = {}};
  for (const double path : meter.path)
    result.path.push_back(result.seconds - meter.parallel + path);
  meter = {.begin = now};
  return result;
}

namespace internal {

void parallel_chunks(std::size_t count, std::size_t grain, RangeFunction function, void* body) {
  const std::size_t chunks = chunk_count(count, grain);
  const auto run = [=](std::size_t chunk) {
    const std::size_t begin = chunk * grain;
    const std::size_t end = begin + grain < count ? begin + grain : count;
    function(body, begin, end, chunk);
  };
  if (t_meter != nullptr && !t_meter->inside && chunks > 1) return measure(*t_meter, chunks, run);
  const int threads = t_meter != nullptr ? 1 : thread_count();
  if (threads == 1 || chunks < 2) {
    for (std::size_t c = 0; c < chunks; ++c) run(c);
    return;
  }
  share_out(threads, chunks, run);
}

}  // namespace internal
}  // namespace orthant
