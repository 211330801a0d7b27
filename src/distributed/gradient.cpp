// SPDX-License-Identifier: Apache-2.0
// distributed/gradient.cpp: stretches of a reverse walk, dealt out to ranks in turn.
//   owner of stretch s: records and factors made ahead, then  what s + 1 carried => what s carries
#include "orthant/distributed/gradient.hpp"

#include <mpi.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "gradient/reverse_walk.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/process.hpp"

namespace orthant {
namespace {

constexpr int kTag = 2;
using Bytes = std::vector<std::byte>;

/// Why a walk ended: the text of an error, empty for none.
struct Failure {
  std::string where, what;

  explicit operator bool() const { return !what.empty(); }
  void set(const std::exception& error) {
    const auto* ours = dynamic_cast<const Error*>(&error);
    where = ours != nullptr ? ours->where() : "gradient";
    what = error.what();
    if (ours != nullptr) what.erase(0, where.size() + 2);  // "where: what"
    if (what.empty()) what = "failed";
  }
};

/// What goes from stretch to stretch, in one message: lengths of the texts, the texts, the walk.
Bytes packed(const Failure& failure, internal::ReverseWalk& walk) {
  const std::size_t sizes[2] = {failure.where.size(), failure.what.size()};
  const std::string texts = failure.where + failure.what;
  Bytes out(sizeof sizes + texts.size());
  std::copy_n(reinterpret_cast<const std::byte*>(sizes), sizeof sizes, out.begin());
  std::copy_n(reinterpret_cast<const std::byte*>(texts.data()), texts.size(),
              out.begin() + sizeof sizes);
  if (failure) return out;
  const Bytes carried = walk.carried();
  out.insert(out.end(), carried.begin(), carried.end());
  return out;
}

Failure unpack(const Bytes& message, internal::ReverseWalk& walk) {
  std::size_t sizes[2];
  std::copy_n(message.begin(), sizeof sizes, reinterpret_cast<std::byte*>(sizes));
  const auto* text = reinterpret_cast<const char*>(message.data()) + sizeof sizes;
  Failure out{std::string(text, sizes[0]), std::string(text + sizes[0], sizes[1])};
  if (!out) walk.take(std::span(message).subspan(sizeof sizes + sizes[0] + sizes[1]));
  return out;
}

Bytes received(int from) {
  MPI_Status status;
  int size = 0;
  MPI_Probe(from, kTag, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_BYTE, &size);
  Bytes out(static_cast<std::size_t>(size));
  MPI_Recv(out.data(), size, MPI_BYTE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return out;
}

}  // namespace

RolloutGradient rollout_gradient_on_ranks(const RolloutTape& tape, const RolloutCotangent& loss,
                                          const StepGradientSettings& gradient,
                                          RankGradientCounts* counts) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  internal::ReverseWalk walk(tape, loss, gradient);
  RankGradientCounts count{.stretches = walk.stretches()};
  const auto owner = [&](Index stretch) {
    return static_cast<int>((count.stretches - 1 - stretch) % ranks);
  };
  Failure failure;
  Bytes message;  // on its way
  MPI_Request sending = MPI_REQUEST_NULL;
  const auto push_on = [&] {
    int done = 0;
    MPI_Test(&sending, &done, MPI_STATUS_IGNORE);
  };
  for (Index stretch = count.stretches - 1 - rank; stretch >= 0; stretch -= ranks) {
    ++count.mine;
    const auto attempt = [&](auto&& work, double& seconds) {
      const double start = processor_seconds();
      try {
        if (!failure) work();
      } catch (const std::exception& error) {
        failure.set(error);
      }
      seconds += processor_seconds() - start;
    };
    attempt([&] { walk.prepare(stretch, push_on); }, count.ahead);
    if (ranks > 1 && stretch + 1 < count.stretches) {
      // What went wrong in a later stretch comes first, as it does in one process.
      const Failure later = unpack(received(owner(stretch + 1)), walk);
      if (later) failure = later;
    }
    attempt([&] { walk.walk(stretch); }, count.walk);
    if (ranks == 1 || stretch == 0) continue;
    MPI_Wait(&sending, MPI_STATUS_IGNORE);
    message = packed(failure, walk);
    MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, owner(stretch - 1), kTag,
              MPI_COMM_WORLD, &sending);
    ++count.messages;
    count.bytes += static_cast<std::int64_t>(message.size());
  }
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  // What the first stretch left => all.
  if (rank == owner(0)) message = packed(failure, walk);
  auto size = static_cast<int>(message.size());
  MPI_Bcast(&size, 1, MPI_INT, owner(0), MPI_COMM_WORLD);
  message.resize(static_cast<std::size_t>(size));
  MPI_Bcast(message.data(), size, MPI_BYTE, owner(0), MPI_COMM_WORLD);
  failure = unpack(message, walk);
  if (counts != nullptr) *counts = count;
  if (failure) throw Error(failure.where, failure.what);
  MatX& u = walk.by_controls();  // each column is zero but where its step was walked
  MPI_Allreduce(MPI_IN_PLACE, u.data(), static_cast<int>(u.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  return walk.finish();
}

}  // namespace orthant
