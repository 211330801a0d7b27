// SPDX-License-Identifier: Apache-2.0
// support/thread_team.hpp: a team whose members are threads of this process, for tests without MPI.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <span>
#include <thread>
#include <vector>

#include "base/team.hpp"

namespace orthant::testing {

class ThreadTeam {
 public:
  ThreadTeam(int size, bool fast_sums) : size_(size), fast_sums_(fast_sums), barrier_(size) {
    all_.resize(static_cast<std::size_t>(size));
    others_.resize(all_.size());
    out_.resize(all_.size());
  }

  /// work(rank) by every member at once.
  template <class Work>
  void run(Work&& work) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size_; ++rank)
      threads.emplace_back([&, rank] {
        Member member(*this, rank);
        const TeamScope scope(&member);
        work(rank);
      });
    for (std::thread& thread : threads) thread.join();
  }

  std::int64_t exchanges() const { return exchanges_; }  ///< with neighbours, of all members
  std::int64_t gathered() const { return gathered_; }    ///< bytes

 private:
  class Member : public Team {
   public:
    Member(ThreadTeam& team, int rank) : Team(rank, team.size_, team.fast_sums_), team_(team) {}

    using Team::gather;
    void gather(std::byte* all, std::span<const std::size_t> begins) override {
      const auto own = static_cast<std::size_t>(rank());
      team_.all_[own] = all;
      team_.gathered_ += static_cast<std::int64_t>(begins[own + 1] - begins[own]);
      team_.barrier_.arrive_and_wait();
      for (std::size_t r = 0; r < team_.all_.size(); ++r)
        if (r != own)
          std::copy(team_.all_[r] + begins[r], team_.all_[r] + begins[r + 1], all + begins[r]);
      team_.barrier_.arrive_and_wait();
    }
    void exchange(std::span<const int> others, std::span<const std::vector<double>> out,
                  std::span<std::vector<double>> in) override {
      const auto own = static_cast<std::size_t>(rank());
      team_.others_[own] = others;
      team_.out_[own] = out;
      team_.barrier_.arrive_and_wait();
      for (std::size_t k = 0; k < others.size(); ++k) {
        const auto from = static_cast<std::size_t>(others[k]);
        const auto& back = team_.others_[from];
        const auto at = std::find(back.begin(), back.end(), rank()) - back.begin();
        in[k] = team_.out_[from][static_cast<std::size_t>(at)];
        ++team_.exchanges_;
      }
      team_.barrier_.arrive_and_wait();
    }

   private:
    ThreadTeam& team_;
  };

  int size_;
  bool fast_sums_;
  std::barrier<> barrier_;
  std::vector<std::byte*> all_;
  std::vector<std::span<const int>> others_;
  std::vector<std::span<const std::vector<double>>> out_;
  std::atomic<std::int64_t> exchanges_{0}, gathered_{0};
};

}  // namespace orthant::testing
