// SPDX-License-Identifier: Apache-2.0
// Reading and writing problem files, in bytes per second. Files are in the page cache: this
// measures parsing. The dense and sparse texts are made here, of the size of a large sample.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "orthant/base/atomic_file.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/sample_files.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::sample;
using testing::SplitMix;
using testing::TemporaryFolder;

/// Local problem with `contacts` spatial contacts, each coupled to its neighbours.
ProblemFile chain(Index contacts, MatrixStorage storage) {
  SplitMix random(7);
  ProblemFile file;
  file.kind = ProblemKind::FrictionLocal;
  StoredMatrix& W = file.M;
  W.storage = MatrixStorage::Triplet;
  W.rows = W.cols = 3 * contacts;
  for (Index i = 0; i < W.rows; ++i) {
    for (Index j = std::max(0, i - 9); j < std::min(W.rows, i + 10); ++j) {
      W.row_index.push_back(i);
      W.col_index.push_back(j);
      W.values.push_back(random.normal());
    }
  }
  W = with_storage(W, storage);
  file.q = VecX::LinSpaced(W.rows, -1, 1);
  file.mu.assign(static_cast<std::size_t>(contacts), 0.5);
  return file;
}

void parse(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(parse_problem_text(text, "bench"));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

void read(benchmark::State& state, const std::string& path) {
  if (path.empty()) {
    state.SkipWithError("the sample is not here");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(read_problem(path));
  const std::uintmax_t size = std::filesystem::file_size(path);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * size));
}

void BM_ParseDense(benchmark::State& state) {
  parse(state, problem_text(chain(300, MatrixStorage::Dense)));
}
void BM_ParseTriplets(benchmark::State& state) {
  parse(state, problem_text(chain(10000, MatrixStorage::Triplet)));
}
void BM_ParseColumns(benchmark::State& state) {
  parse(state, problem_text(chain(10000, MatrixStorage::CompressedColumns)));
}
void BM_ReadTextBlocks(benchmark::State& state) {
  read(state, sample("fclib/Capsules-i101-404.dat"));
}
void BM_ReadTextDense(benchmark::State& state) {
  read(state, sample("fclib/rockfall_14_25792.dat"));
}
void BM_ReadTextColumns(benchmark::State& state) {
  read(state, sample("fclib/fc2d_granularflowonwall_00667_00000.dat"));
}
void BM_ReadMlcp(benchmark::State& state) { read(state, sample("mlcp/diodeBridge40_mlcp.dat")); }
void BM_ReadFclib(benchmark::State& state) {
  read(state, sample("fclib/LMGC_100_PR_PerioBox-i00361-60-03000.hdf5"));
}

void BM_WriteText(benchmark::State& state) {
  const ProblemFile file = chain(10000, MatrixStorage::CompressedColumns);
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const std::string text = problem_text(file);
    benchmark::DoNotOptimize(text.data());
    bytes += static_cast<std::int64_t>(text.size());
  }
  state.SetBytesProcessed(bytes);
}

void BM_ToProblem(benchmark::State& state) {
  const ProblemFile file = chain(10000, MatrixStorage::CompressedColumns);
  for (auto _ : state) benchmark::DoNotOptimize(to_problem(file));
  state.SetItemsProcessed(state.iterations() * file.contact_count());
}

void BM_Native(benchmark::State& state) {
  const TemporaryFolder folder;
  save_problem(folder.file("p.h5"), to_problem(chain(10000, MatrixStorage::CompressedColumns)));
  read(state, folder.file("p.h5"));
}

BENCHMARK(BM_ParseDense)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ParseTriplets)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ParseColumns)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadTextBlocks)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadTextDense)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadTextColumns)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadMlcp)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ReadFclib)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_WriteText)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ToProblem)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Native)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orthant
