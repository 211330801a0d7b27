// SPDX-License-Identifier: Apache-2.0
// distributed/ranks.cpp: MPI.
#include "distributed/ranks.hpp"

#include <mpi.h>

#include <cstdlib>

#include "orthant/base/error.hpp"

namespace orthant {

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

int MpiSession::rank() const {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int MpiSession::size() const {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
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

}  // namespace

Ranks::Ranks(DistributedCounts& counts) : counts_(counts) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

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

Bytes Ranks::gather_all(const Bytes& mine) {
  std::vector<int> sizes(static_cast<std::size_t>(size_)), begins(sizes.size());
  const auto own = static_cast<int>(mine.size());
  MPI_Allgather(&own, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::int64_t total = 0;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    if (total > 2'000'000'000) throw Error("ranks", "more than 2 GB in one gather");
    begins[r] = static_cast<int>(total);
    total += sizes[r];
  }
  if (total > 2'000'000'000) throw Error("ranks", "more than 2 GB in one gather");
  Bytes all(static_cast<std::size_t>(total));
  MPI_Allgatherv(mine.data(), own, MPI_BYTE, all.data(), sizes.data(), begins.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  ++counts_.gathers;
  counts_.gathered_bytes += own;
  return all;
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

void Ranks::exchange_known(const std::vector<int>& others, const std::vector<Bytes>& out,
                           std::vector<Bytes>& in) {
  std::vector<MPI_Request> requests;
  requests.reserve(2 * others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!in[i].empty())
      MPI_Irecv(in[i].data(), static_cast<int>(in[i].size()), MPI_BYTE, others[i], kTag,
                MPI_COMM_WORLD, &requests.emplace_back());
    if (out[i].empty()) continue;
    MPI_Isend(out[i].data(), static_cast<int>(out[i].size()), MPI_BYTE, others[i], kTag,
              MPI_COMM_WORLD, &requests.emplace_back());
    ++counts_.messages;
    counts_.bytes += static_cast<std::int64_t>(out[i].size());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace distributed
}  // namespace orthant
