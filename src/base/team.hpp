// SPDX-License-Identifier: Apache-2.0
// base/team.hpp: processes that make the same calls with the same arguments, and share out the work
// of some loops: each computes its part, and all get the whole. What is not shared out every member
// does for itself, so that all of them know the same at any time.
// A part is a function of the arguments alone, whoever computes it: the same bits for any number of
// members, but for sums where fast ones are asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace orthant {

class Team {
 public:
  Team(int rank, int size, bool fast_sums) : rank_(rank), size_(size), fast_sums_(fast_sums) {}
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Sums may be added up member by member, so that they depend on their number.
  bool fast_sums() const { return fast_sums_; }
  /// Where the part of a member begins, of `count` things in a row.
  std::size_t begin(std::size_t count, int rank) const {
    return count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(size_);
  }

  /// Bytes [begins[r], begins[r + 1]) of `all` are known to member r; now to all.
  virtual void gather(std::byte* all, std::span<const std::size_t> begins) = 0;
  /// To and from each of `others` (ranks, ascending), in their order; both sides know how many.
  virtual void exchange(std::span<const int> others, std::span<const std::vector<double>> out,
                        std::span<std::vector<double>> in) = 0;

  /// What all have, one behind the other.
  std::vector<std::byte> gather(std::span<const std::byte> mine);
  bool all_same(std::uint64_t number);

  std::int64_t steps = 0;   ///< made together
  std::int64_t parted = 0;  ///< of them with the bodies shared out
  double imbalance = 0;     ///< of the last of these: the heaviest part over the mean - 1
  /// Of what this member told all of them in these steps: velocities and impulses at their ends.
  std::int64_t state_bytes = 0;

 private:
  int rank_, size_;
  bool fast_sums_;
};

/// Of this thread; null: alone.
Team* team() noexcept;

/// While it lives this thread is a member of `team`, or alone (null).
class TeamScope {
 public:
  explicit TeamScope(Team* team);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  Team* before_;
};

/// Appends the bytes of a value that has no pointers in it.
template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const auto* p = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), p, p + sizeof(T));
}
/// Reads one, and moves on.
template <class T>
void take(const std::byte*& at, T& value) {
  std::memcpy(static_cast<void*>(&value), at, sizeof(T));
  at += sizeof(T);
}

}  // namespace orthant
