// SPDX-License-Identifier: Apache-2.0
// distributed/ranks.hpp: what is asked of MPI, counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/team.hpp"
#include "orthant/distributed/distributed.hpp"

namespace orthant::distributed {

using Bytes = std::vector<std::byte>;

class Ranks : public Team {
 public:
  explicit Ranks(DistributedCounts& counts, bool fast_sums = false);

  using Team::gather;
  void gather(std::byte* all, std::span<const std::size_t> begins) override;
  void exchange(std::span<const int> others, std::span<const std::vector<double>> out,
                std::span<std::vector<double>> in) override;

  void broadcast(void* data, std::size_t bytes);
  void sum(std::int64_t* values, int count);
  double largest(double value);

  /// To and from each of `others`, in their order: `in` is resized by what comes. All of them call
  /// it with each other.
  void exchange(const std::vector<int>& others, const std::vector<Bytes>& out,
                std::vector<Bytes>& in);
  /// The same where both sides know how much: empty messages are not sent.
  void exchange_known(const std::vector<int>& others, const std::vector<Bytes>& out,
                      std::vector<Bytes>& in);

 private:
  template <class T>
  void swap_known(std::span<const int> others, std::span<const std::vector<T>> out,
                  std::span<std::vector<T>> in);

  DistributedCounts& counts_;
};

}  // namespace orthant::distributed
