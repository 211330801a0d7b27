// SPDX-License-Identifier: Apache-2.0
// problem_io/native.cpp: CanonicalProblem <=> HDF5, every value bitwise and every block in place.
// Sizes are added up and compared with the data before blocks are made, so a damaged count cannot
// ask for memory. Layout: docs/formats.md.
#include "problem_io/native.hpp"

#include "orthant/base/error.hpp"
#include "orthant/problem_io/stored_matrix.hpp"

namespace orthant::problem_io {
namespace {

constexpr Index kFormatVersion = 1;
const std::string kRoot = "/orthant_problem";

VecX to_vector(const std::vector<double>& values) {
  return Eigen::Map<const VecX>(values.data(), static_cast<Eigen::Index>(values.size()));
}

void expect(const Hdf5Reader& in, const std::string& path, bool condition, const char* rule) {
  if (!condition) in.fail(path, rule);
}

// --- laws -----------------------------------------------------------------------------------

void write_laws(Hdf5Writer& out, const std::vector<Law>& laws) {
  std::vector<std::uint8_t> kind, dim;
  std::vector<double> mu, mu_r, lo, hi;
  for (const Law& law : laws) {
    kind.push_back(static_cast<std::uint8_t>(law.kind));
    dim.push_back(law.dim);
    mu.push_back(law.mu);
    mu_r.push_back(law.mu_r);
    lo.push_back(law.lo);
    hi.push_back(law.hi);
  }
  const std::string path = kRoot + "/laws";
  out.group(path);
  out.bytes(path + "/kind", kind);
  out.bytes(path + "/dim", dim);
  out.doubles(path + "/mu", mu);
  out.doubles(path + "/mu_r", mu_r);
  out.doubles(path + "/lo", lo);
  out.doubles(path + "/hi", hi);
}

std::vector<Law> read_laws(const Hdf5Reader& in) {
  const std::string path = kRoot + "/laws";
  const auto kind = in.bytes(path + "/kind");
  const auto dim = in.bytes(path + "/dim");
  const auto mu = in.doubles(path + "/mu");
  const auto mu_r = in.doubles(path + "/mu_r");
  const auto lo = in.doubles(path + "/lo");
  const auto hi = in.doubles(path + "/hi");
  const std::size_t count = kind.size();
  expect(in, path,
         dim.size() == count && mu.size() == count && mu_r.size() == count && lo.size() == count &&
             hi.size() == count,
         "kind, dim, mu, mu_r, lo and hi must have the same length");
  std::vector<Law> laws(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (kind[i] > static_cast<std::uint8_t>(LawKind::Rolling)) {
      in.fail(path + "/kind",
              "entry " + std::to_string(i) + " must be 0..7, found " + std::to_string(kind[i]));
    }
    laws[i] = {static_cast<LawKind>(kind[i]), dim[i], mu[i], mu_r[i], lo[i], hi[i]};
  }
  return laws;
}

// --- block rows -----------------------------------------------------------------------------

void write_rows(Hdf5Writer& out, const std::string& path, const BlockRows& rows) {
  std::vector<Index> dims, counts, block, column, width;
  for (Index i = 0; i < rows.row_block_count(); ++i) {
    dims.push_back(rows.dim(i));
    counts.push_back(static_cast<Index>(rows.entries(i).size()));
    for (const BlockRows::Entry& entry : rows.entries(i)) {
      block.push_back(entry.block);
      column.push_back(entry.column);
      width.push_back(entry.width);
    }
  }
  out.group(path);
  out.indices(path + "/row_dim", dims);
  out.indices(path + "/entry_count", counts);
  out.indices(path + "/entry_block", block);
  out.indices(path + "/entry_column", column);
  out.indices(path + "/entry_width", width);
  out.doubles(path + "/values", rows.all_values().data(), rows.all_values().size());
}

BlockRows read_rows(const Hdf5Reader& in, const std::string& path) {
  const auto dims = in.indices(path + "/row_dim");
  const auto counts = in.indices(path + "/entry_count");
  const auto block = in.indices(path + "/entry_block");
  const auto column = in.indices(path + "/entry_column");
  const auto width = in.indices(path + "/entry_width");
  const auto values = in.doubles(path + "/values");
  expect(in, path, counts.size() == dims.size(), "row_dim and entry_count must have one length");
  expect(in, path, column.size() == block.size() && width.size() == block.size(),
         "entry_block, entry_column and entry_width must have one length");
  std::size_t entries = 0;
  std::size_t numbers = 0;
  std::int64_t total_rows = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    total_rows += dims[i];
    expect(in, path + "/row_dim", dims[i] >= 0 && total_rows <= INT32_MAX,
           "must be >= 0 and add up to less than 2^31");
    expect(in, path + "/entry_count",
           counts[i] >= 0 && static_cast<std::size_t>(counts[i]) <= block.size() - entries,
           "must be >= 0 and add up to the number of entries");
    for (Index e = 0; e < counts[i]; ++e, ++entries) {
      expect(in, path + "/entry_width", width[entries] >= 0, "must be >= 0");
      numbers += static_cast<std::size_t>(dims[i]) * static_cast<std::size_t>(width[entries]);
      expect(in, path + "/values", numbers <= values.size(), "has too few numbers for its blocks");
    }
  }
  expect(in, path + "/entry_count", entries == block.size(), "must add up to the entries");
  expect(in, path + "/values", numbers == values.size(), "has more numbers than its blocks need");

  BlockRows rows;
  rows.reserve(dims.size(), entries, numbers);
  const double* next = values.data();
  std::size_t entry = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    rows.begin_row(dims[i]);
    for (Index e = 0; e < counts[i]; ++e, ++entry) {
      double* to = rows.add(block[entry], column[entry], width[entry]);
      const std::size_t size = static_cast<std::size_t>(dims[i]) * width[entry];
      std::copy(next, next + size, to);
      next += size;
    }
  }
  return rows;
}

// --- H --------------------------------------------------------------------------------------

void write_velocity_matrix(Hdf5Writer& out, const VelocityMatrix& H) {
  const std::string path = kRoot + "/H";
  out.group(path);
  out.integer(path + "/kind", static_cast<Index>(H.kind()));
  out.indices(path + "/offsets", {H.offsets().begin(), H.offsets().end()});
  if (H.kind() == VelocityMatrix::Kind::Sparse) {
    const StoredMatrix m = store(H.sparse_matrix());
    out.indices(path + "/p", m.pointers);
    out.indices(path + "/i", m.row_index);
    out.doubles(path + "/x", m.values);
    return;
  }
  std::vector<double> values;
  for (Index i = 0; i < H.block_count(); ++i) {
    const Index n = H.block_size(i);
    values.insert(values.end(), H.block(i), H.block(i) + n * n);
  }
  out.doubles(path + "/x", values);
}

std::vector<Index> read_offsets(const Hdf5Reader& in, const std::string& path) {
  std::vector<Index> offsets = in.indices(path);
  expect(in, path, !offsets.empty() && offsets.front() == 0, "must begin with 0");
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    expect(in, path, offsets[i] >= offsets[i - 1], "must not decrease");
  }
  return offsets;
}

VelocityMatrix read_velocity_matrix(const Hdf5Reader& in) {
  const std::string path = kRoot + "/H";
  const std::int64_t kind = in.integer(path + "/kind", 0, 1);
  std::vector<Index> offsets = read_offsets(in, path + "/offsets");
  const std::vector<double> x = in.doubles(path + "/x");
  const Index rows = offsets.back();
  if (static_cast<VelocityMatrix::Kind>(kind) == VelocityMatrix::Kind::BlockDiagonal) {
    std::size_t total = 0;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const auto n = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
      total += n * n;
      expect(in, path + "/x", total <= x.size(), "has too few numbers for its blocks");
    }
    expect(in, path + "/x", total == x.size(), "has more numbers than its blocks need");
    VelocityMatrix H;
    const double* next = x.data();
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const Index n = offsets[i + 1] - offsets[i];
      const std::size_t size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
      std::copy(next, next + size, H.add_block(n));
      next += size;
    }
    return H;
  }
  StoredMatrix m;
  m.storage = MatrixStorage::CompressedColumns;
  m.rows = m.cols = rows;
  m.pointers = in.indices(path + "/p");
  m.row_index = in.indices(path + "/i");
  m.values = x;
  try {
    validate(m, "");
  } catch (const Error& error) {
    in.fail(path, std::string(error.what()).substr(2));
  }
  for (Index j = 0; j < rows; ++j) {
    for (Index e = m.pointers[j] + 1; e < m.pointers[j + 1]; ++e) {
      expect(in, path + "/i", m.row_index[e - 1] < m.row_index[e], "must increase in a column");
    }
  }
  // Not to_sparse(): stored zeros are part of the saved pattern.
  const Eigen::Map<const SparseMatrix> view(rows, rows, static_cast<Eigen::Index>(x.size()),
                                            m.pointers.data(), m.row_index.data(), x.data());
  return VelocityMatrix::sparse(SparseMatrix(view), std::move(offsets));
}

}  // namespace

bool has_native(const Hdf5Reader& in) { return in.has_group(kRoot); }

CanonicalProblem read_native(const Hdf5Reader& in) {
  const std::int64_t version = in.integer(kRoot + "/format_version", 0, INT32_MAX);
  if (version != kFormatVersion) {
    in.fail(kRoot + "/format_version", "is " + std::to_string(version) +
                                           ", this version of Orthant reads only " +
                                           std::to_string(kFormatVersion));
  }
  CanonicalProblem p;
  p.H = read_velocity_matrix(in);
  p.k = to_vector(in.doubles(kRoot + "/k"));
  p.C = read_rows(in, kRoot + "/C");
  p.e = to_vector(in.doubles(kRoot + "/e"));
  p.laws = read_laws(in);
  p.D = read_rows(in, kRoot + "/D");
  p.F = read_rows(in, kRoot + "/F");
  p.b = to_vector(in.doubles(kRoot + "/b"));
  try {
    validate(p, "");
  } catch (const Error& error) {
    in.fail(kRoot, std::string(error.what()).substr(2));
  }
  return p;
}

void write_native(Hdf5Writer& out, const CanonicalProblem& p) {
  if (p.H.kind() == VelocityMatrix::Kind::Operator) {
    throw Error("native format", "cannot hold a matrix H that is given only as an operator");
  }
  out.group(kRoot);
  out.integer(kRoot + "/format_version", kFormatVersion);
  write_velocity_matrix(out, p.H);
  out.doubles(kRoot + "/k", p.k);
  write_rows(out, kRoot + "/C", p.C);
  out.doubles(kRoot + "/e", p.e);
  write_laws(out, p.laws);
  write_rows(out, kRoot + "/D", p.D);
  write_rows(out, kRoot + "/F", p.F);
  out.doubles(kRoot + "/b", p.b);
}

}  // namespace orthant::problem_io
