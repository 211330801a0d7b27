// SPDX-License-Identifier: Apache-2.0
// distributed/gradient.cpp: stretches of a reverse walk, dealt out to ranks in turn.
//   owner of stretch s: records and factors made ahead, then  what s + 1 carried => what s carries
#include "orthant/distributed/gradient.hpp"

#include <mpi.h>

#include <string>
#include <vector>

#include "gradient/reverse_walk.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace {

constexpr int kTag = 2;
using Bytes = std::vector<std::byte>;

/// What goes from stretch to stretch: the walk, or why it ended.
struct Relay {
  Bytes walk;
  std::string where, what;  // of an error

  void failed(const std::exception& error) {
    const auto* ours = dynamic_cast<const Error*>(&error);
    where = ours != nullptr ? ours->where() : "gradient";
    what = error.what();
    if (ours != nullptr) what.erase(0, where.size() + 2);  // "where: what"
    if (what.empty()) what = "failed";
  }

  /// The same parts one after the other, each sent by its size and its bytes.
  template <class Pass>
  void pass(Pass&& pass) {
    std::int64_t sizes[3] = {static_cast<std::int64_t>(walk.size()),
                             static_cast<std::int64_t>(where.size()),
                             static_cast<std::int64_t>(what.size())};
    pass(sizes, sizeof sizes);
    walk.resize(static_cast<std::size_t>(sizes[0]));
    where.resize(static_cast<std::size_t>(sizes[1]));
    what.resize(static_cast<std::size_t>(sizes[2]));
    pass(walk.data(), walk.size());
    pass(where.data(), where.size());
    pass(what.data(), what.size());
  }
};

}  // namespace

RolloutGradient rollout_gradient_on_ranks(const RolloutTape& tape, const RolloutCotangent& loss,
                                          const StepGradientSettings& gradient,
                                          RankGradientCounts* counts) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  internal::ReverseWalk walk(tape, loss, gradient);
  const Index stretches = walk.stretches();
  const auto owner = [&](Index stretch) {
    return static_cast<int>((stretches - 1 - stretch) % ranks);
  };
  RankGradientCounts count{.stretches = stretches};
  Relay relay;
  for (Index stretch = stretches; stretch-- > 0;) {
    if (owner(stretch) != rank) continue;
    ++count.mine;
    Relay before;  // what goes wrong here counts once the walk has come here
    try {
      walk.prepare(stretch);
    } catch (const std::exception& error) {
      relay.failed(error);
    }
    const bool here = owner(stretch + 1) == rank;  // also where there is one rank
    if (stretch + 1 < stretches && !here) {
      before.pass([&](void* data, std::size_t size) {
        MPI_Recv(data, static_cast<int>(size), MPI_BYTE, owner(stretch + 1), kTag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      });
      if (!before.what.empty())
        relay = before;
      else if (relay.what.empty())
        walk.take(before.walk);
    }
    if (relay.what.empty()) {
      try {
        walk.walk(stretch);
      } catch (const std::exception& error) {
        relay.failed(error);
      }
    }
    if (stretch == 0 || owner(stretch - 1) == rank) continue;
    relay.walk = relay.what.empty() ? walk.carried() : Bytes();
    relay.pass([&](const void* data, std::size_t size) {
      MPI_Send(data, static_cast<int>(size), MPI_BYTE, owner(stretch - 1), kTag, MPI_COMM_WORLD);
      ++count.messages;
      count.bytes += static_cast<std::int64_t>(size);
    });
  }
  // What the first stretch left => all.
  if (rank == owner(0)) relay.walk = relay.what.empty() ? walk.carried() : Bytes();
  relay.pass([&](void* data, std::size_t size) {
    MPI_Bcast(data, static_cast<int>(size), MPI_BYTE, owner(0), MPI_COMM_WORLD);
  });
  if (counts != nullptr) *counts = count;
  if (!relay.what.empty()) throw Error(relay.where, relay.what);
  walk.take(relay.walk);
  MatX& u = walk.by_controls();  // each column is zero but where its step was walked
  MPI_Allreduce(MPI_IN_PLACE, u.data(), static_cast<int>(u.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  return walk.finish();
}

}  // namespace orthant
