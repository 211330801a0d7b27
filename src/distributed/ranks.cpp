// SPDX-License-Identifier: Apache-2.0
// distributed/ranks.cpp: MPI.
#include "distributed/ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int size_of_all() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

}  // namespace

MpiSession::MpiSession() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error("MPI", "cannot be started");
}
MpiSession::~MpiSession() { MPI_Finalize(); }

bool MpiSession::launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

int MpiSession::rank() const { return rank_of_this(); }
int MpiSession::size() const { return size_of_all(); }
int MpiSession::first(bool here) const {
  const int mine = here ? rank() : size();
  int least = mine;
  MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least < size() ? least : -1;
}
void MpiSession::abort(int code) const {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

namespace distributed {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes that MPI counts in an int

}  // namespace

Ranks::Ranks(DistributedCounts& counts, bool fast_sums)
    : Team(rank_of_this(), size_of_all(), fast_sums), counts_(counts) {}

void Ranks::broadcast(void* data, std::size_t bytes) {
  ++counts_.reductions;
  MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void Ranks::sum(std::int64_t* values, int count) {
  ++counts_.reductions;
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

double Ranks::largest(double value) {
  ++counts_.reductions;
  double most = value;
  MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

void Ranks::gather(std::byte* all, std::span<const std::size_t> begins) {
  const auto own = static_cast<std::size_t>(rank());
  ++counts_.gathers;
  counts_.gathered_bytes += static_cast<std::int64_t>(begins[own + 1] - begins[own]);
  if (begins.back() <= kMost) {
    std::vector<int> sizes, at;
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      at.push_back(static_cast<int>(begins[r]));
      sizes.push_back(static_cast<int>(begins[r + 1] - begins[r]));
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, sizes.data(), at.data(), MPI_BYTE,
                   MPI_COMM_WORLD);
    return;
  }
  for (int r = 0; r < size(); ++r)
    for (std::size_t at = begins[r], end = begins[r + 1]; at < end; at += kMost)
      MPI_Bcast(all + at, static_cast<int>(std::min(kMost, end - at)), MPI_BYTE, r, MPI_COMM_WORLD);
}

void Ranks::exchange(const std::vector<int>& others, const std::vector<Bytes>& out,
                     std::vector<Bytes>& in) {
  const std::size_t n = others.size();
  std::vector<std::uint64_t> sizes(n), coming(n);
  std::vector<MPI_Request> requests(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    sizes[i] = out[i].size();
    MPI_Irecv(&coming[i], 1, MPI_UINT64_T, others[i], kTag, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(&sizes[i], 1, MPI_UINT64_T, others[i], kTag, MPI_COMM_WORLD, &requests[n + i]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  counts_.messages += static_cast<std::int64_t>(n);
  counts_.bytes += static_cast<std::int64_t>(8 * n);
  in.resize(n);
  for (std::size_t i = 0; i < n; ++i) in[i].resize(coming[i]);
  exchange_known(others, out, in);
}

template <class T>
void Ranks::swap_known(std::span<const int> others, std::span<const std::vector<T>> out,
                       std::span<std::vector<T>> in) {
  const auto bytes = [](const std::vector<T>& list) {
    return static_cast<int>(list.size() * sizeof(T));
  };
  std::vector<MPI_Request> requests;
  requests.reserve(2 * others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!in[i].empty())
      MPI_Irecv(in[i].data(), bytes(in[i]), MPI_BYTE, others[i], kTag, MPI_COMM_WORLD,
                &requests.emplace_back());
    if (out[i].empty()) continue;
    MPI_Isend(out[i].data(), bytes(out[i]), MPI_BYTE, others[i], kTag, MPI_COMM_WORLD,
              &requests.emplace_back());
    ++counts_.messages;
    counts_.bytes += bytes(out[i]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

void Ranks::exchange_known(const std::vector<int>& others, const std::vector<Bytes>& out,
                           std::vector<Bytes>& in) {
  swap_known<std::byte>(others, out, in);
}

void Ranks::exchange(std::span<const int> others, std::span<const std::vector<double>> out,
                     std::span<std::vector<double>> in) {
  swap_known<double>(others, out, in);
}

}  // namespace distributed
}  // namespace orthant
