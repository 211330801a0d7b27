// SPDX-License-Identifier: Apache-2.0
// base/team.cpp: the team of a thread; gathers of unknown length.
#include "base/team.hpp"

#include <algorithm>

namespace orthant {
namespace {

thread_local Team* t_team = nullptr;

}  // namespace

Team* team() noexcept { return t_team; }

TeamScope::TeamScope(Team* team) : before_(t_team) { t_team = team; }
TeamScope::~TeamScope() { t_team = before_; }

std::vector<std::byte> Team::gather(std::span<const std::byte> mine) {
  const auto n = static_cast<std::size_t>(size_), own = static_cast<std::size_t>(rank_);
  std::vector<std::size_t> sizes(n), begins(n + 1, 0);
  for (std::size_t r = 0; r <= n; ++r) begins[r] = r * sizeof(std::size_t);
  sizes[own] = mine.size();
  gather(reinterpret_cast<std::byte*>(sizes.data()), begins);
  begins[0] = 0;
  for (std::size_t r = 0; r < n; ++r) begins[r + 1] = begins[r] + sizes[r];
  std::vector<std::byte> all(begins[n]);
  std::copy(mine.begin(), mine.end(), all.begin() + static_cast<std::ptrdiff_t>(begins[own]));
  gather(all.data(), begins);
  return all;
}

bool Team::all_same(std::uint64_t number) {
  const std::vector<std::byte> all = gather(std::as_bytes(std::span(&number, 1)));
  const std::byte* at = all.data();
  for (int r = 0; r < size_; ++r) {
    std::uint64_t other = 0;
    take(at, other);
    if (other != number) return false;
  }
  return true;
}

}  // namespace orthant
