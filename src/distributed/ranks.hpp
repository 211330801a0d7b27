// SPDX-License-Identifier: Apache-2.0
// distributed/ranks.hpp: what is asked of MPI, counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/exact_sum.hpp"
#include "orthant/distributed/distributed.hpp"

namespace orthant::distributed {

using Bytes = std::vector<std::byte>;

class Ranks {
 public:
  explicit Ranks(DistributedCounts& counts);
  int rank() const { return rank_; }
  int size() const { return size_; }

  void broadcast(void* data, std::size_t bytes);
  void sum(std::int64_t* values, int count);
  double largest(double value);
  /// What every rank has, one after the other; same on all.
  Bytes gather_all(const Bytes& mine);

  /// To and from each of `others`, in their order: `in` is resized by what comes. All of them call
  /// it with each other.
  void exchange(const std::vector<int>& others, const std::vector<Bytes>& out,
                std::vector<Bytes>& in);
  /// The same where both sides know how much: empty messages are not sent.
  void exchange_known(const std::vector<int>& others, const std::vector<Bytes>& out,
                      std::vector<Bytes>& in);

 private:
  DistributedCounts& counts_;
  int rank_ = 0, size_ = 1;
};

/// Appends the bytes of a value that has no pointers in it.
template <class T>
void put(Bytes& bytes, const T& value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), p, p + sizeof(T));
}
/// Reads one, and moves on.
template <class T>
void take(const std::byte*& at, T& value) {
  auto* p = reinterpret_cast<std::byte*>(&value);
  for (std::size_t i = 0; i < sizeof(T); ++i) p[i] = at[i];
  at += sizeof(T);
}

}  // namespace orthant::distributed
