// SPDX-License-Identifier: Apache-2.0
// problem_io/fclib.cpp: FCLIB (HDF5) <=> ProblemFile.
//
//   global  M v = H r + G l + f,  Gᵀ v + b = 0,  u = Hᵀ v + w
//   local   u = W r + V l + q,    Vᵀ r + R l + s = 0
//
// In triplets `i` is the row and `p` the column, whatever the comment in fclib.h says: so the
// library itself and all its files do.
#include "problem_io/fclib.hpp"

#include <array>

#include "orthant/base/error.hpp"

namespace orthant::problem_io {
namespace {

constexpr std::int64_t kMaxIndex = INT32_MAX;

struct Group {
  const char* path;
  ProblemKind kind;
  bool rolling;
};
/// The format's own library writes no rolling local problem: three spellings are accepted.
constexpr std::array<Group, 6> kGroups{{
    {"/fclib_local", ProblemKind::FrictionLocal, false},
    {"/fclib_global", ProblemKind::FrictionGlobal, false},
    {"/fclib_global_rolling", ProblemKind::FrictionGlobal, true},
    {"/fclib_local_rolling", ProblemKind::FrictionLocal, true},
    {"/fclib_rolling", ProblemKind::FrictionLocal, true},
    {"/fclib_rolling_local", ProblemKind::FrictionLocal, true},
}};

/// Cuts `values` to `count`: nzmax may leave room behind the last entry.
template <class T>
void cut(const Hdf5Reader& in, const std::string& path, std::vector<T>& values, std::size_t count) {
  if (values.size() < count) {
    in.fail(path, "must have at least " + std::to_string(count) + " entries, found " +
                      std::to_string(values.size()));
  }
  values.resize(count);
}

StoredMatrix read_matrix(const Hdf5Reader& in, const std::string& path) {
  if (!in.has_group(path)) in.fail(path, "is missing (a group with m, n, nz, p, i, x)");
  StoredMatrix m;
  m.rows = static_cast<Index>(in.integer(path + "/m", 0, kMaxIndex));
  m.cols = static_cast<Index>(in.integer(path + "/n", 0, kMaxIndex));
  const std::int64_t nz = in.integer(path + "/nz", -2, kMaxIndex);
  std::vector<Index> p = in.indices(path + "/p");
  std::vector<Index> i = in.indices(path + "/i");
  m.values = in.doubles(path + "/x");
  std::size_t count = 0;
  if (nz >= 0) {
    m.storage = MatrixStorage::Triplet;
    count = static_cast<std::size_t>(nz);
    cut(in, path + "/p", p, count);
    m.col_index = std::move(p);
  } else {
    m.storage = nz == -1 ? MatrixStorage::CompressedColumns : MatrixStorage::CompressedRows;
    const auto slots = static_cast<std::size_t>(nz == -1 ? m.cols : m.rows);
    if (p.size() != slots + 1) {
      in.fail(path + "/p", "must have " + std::to_string(slots + 1) + " entries, found " +
                               std::to_string(p.size()));
    }
    if (p.back() < 0) in.fail(path + "/p", "the last pointer must be >= 0");
    count = static_cast<std::size_t>(p.back());
    m.pointers = std::move(p);
  }
  cut(in, path + "/i", i, count);
  cut(in, path + "/x", m.values, count);
  (nz == -2 ? m.col_index : m.row_index) = std::move(i);
  try {
    validate(m, "");
  } catch (const Error& error) {
    in.fail(path, std::string(error.what()).substr(2));
  }
  return m;
}

void check_size(const Hdf5Reader& in, const std::string& path, const StoredMatrix& m, Index rows,
                Index cols) {
  if (m.rows == rows && m.cols == cols) return;
  in.fail(path, "must be " + std::to_string(rows) + " x " + std::to_string(cols) + ", found " +
                    std::to_string(m.rows) + " x " + std::to_string(m.cols));
}

VecX read_vector(const Hdf5Reader& in, const std::string& path, Index count) {
  const std::vector<double> values = in.finite(path, static_cast<std::size_t>(count));
  return Eigen::Map<const VecX>(values.data(), count);
}

std::vector<double> read_friction(const Hdf5Reader& in, const std::string& path, Index contacts) {
  std::vector<double> values = in.finite(path, static_cast<std::size_t>(contacts));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0) {
      in.fail(path, "entry " + std::to_string(i) + " must be >= 0, found " + to_text(values[i]));
    }
  }
  return values;
}

void read_info(const Hdf5Reader& in, const std::string& path, ProblemFile& file) {
  if (!in.has_group(path)) return;
  file.has_info = true;
  if (in.has(path + "/title")) file.title = in.text(path + "/title");
  if (in.has(path + "/description")) file.description = in.text(path + "/description");
  if (in.has(path + "/math_info")) file.math_info = in.text(path + "/math_info");
}

int read_dim(const Hdf5Reader& in, const Group& group) {
  const std::string path = std::string(group.path) + "/spacedim";
  const std::int64_t dim = in.integer(path, 2, 5);
  // Writers of rolling problems put the dimension of space or the numbers per contact; both mean 5.
  const bool known = group.rolling ? dim == 3 || dim == 5 : dim == 2 || dim == 3;
  if (!known) {
    in.fail(path, std::string("must be ") + (group.rolling ? "3 or 5" : "2 or 3") + ", found " +
                      std::to_string(dim));
  }
  return group.rolling ? 5 : static_cast<int>(dim);
}

Index contacts_of(const Hdf5Reader& in, const std::string& path, Index rows, int dim) {
  if (rows % dim != 0) {
    in.fail(path, "must have a multiple of " + std::to_string(dim) + " columns, found " +
                      std::to_string(rows));
  }
  return rows / dim;
}

void read_local(const Hdf5Reader& in, const std::string& group, ProblemFile& file) {
  file.M = read_matrix(in, group + "/W");
  check_size(in, group + "/W", file.M, file.M.rows, file.M.rows);
  const Index rows = file.M.rows;
  file.q = read_vector(in, group + "/vectors/q", rows);
  if (in.has(group + "/V")) {
    file.has_bilateral = true;
    file.G = read_matrix(in, group + "/V");
    check_size(in, group + "/V", file.G, rows, file.G.cols);
    file.R = read_matrix(in, group + "/R");
    check_size(in, group + "/R", file.R, file.G.cols, file.G.cols);
    file.b = read_vector(in, group + "/vectors/s", file.G.cols);
  }
  file.mu = read_friction(in, group + "/vectors/mu", contacts_of(in, group + "/W", rows, file.dim));
}

void read_global(const Hdf5Reader& in, const std::string& group, ProblemFile& file) {
  file.M = read_matrix(in, group + "/M");
  check_size(in, group + "/M", file.M, file.M.rows, file.M.rows);
  const Index velocities = file.M.rows;
  file.H = read_matrix(in, group + "/H");
  check_size(in, group + "/H", file.H, velocities, file.H.cols);
  file.q = read_vector(in, group + "/vectors/f", velocities);
  file.w = read_vector(in, group + "/vectors/w", file.H.cols);
  if (in.has(group + "/G")) {
    file.has_bilateral = true;
    file.G = read_matrix(in, group + "/G");
    check_size(in, group + "/G", file.G, velocities, file.G.cols);
    file.b = read_vector(in, group + "/vectors/b", file.G.cols);
  }
  file.mu = read_friction(in, group + "/vectors/mu",
                          contacts_of(in, group + "/H", file.H.cols, file.dim));
}

void write_matrix(Hdf5Writer& out, const std::string& path, const StoredMatrix& matrix) {
  const bool sparse =
      matrix.storage != MatrixStorage::Dense && matrix.storage != MatrixStorage::SparseBlock;
  const StoredMatrix m = sparse ? matrix : with_storage(matrix, MatrixStorage::CompressedColumns);
  const auto count = static_cast<Index>(m.values.size());
  const bool triplet = m.storage == MatrixStorage::Triplet;
  const bool columns = m.storage == MatrixStorage::CompressedColumns;
  out.group(path);
  out.integer(path + "/nzmax", count);
  out.integer(path + "/m", m.rows);
  out.integer(path + "/n", m.cols);
  out.integer(path + "/nz", triplet ? count : columns ? -1 : -2);
  out.indices(path + "/p", triplet ? m.col_index : m.pointers);
  out.indices(path + "/i", triplet || columns ? m.row_index : m.col_index);
  out.doubles(path + "/x", m.values);
}

}  // namespace

bool has_fclib(const Hdf5Reader& in) {
  for (const Group& group : kGroups) {
    if (in.has_group(group.path)) return true;
  }
  return false;
}

ProblemFile read_fclib(const Hdf5Reader& in, std::optional<ProblemKind> kind) {
  for (const Group& group : kGroups) {
    if (!in.has_group(group.path) || (kind && *kind != group.kind)) continue;
    ProblemFile file;
    file.kind = group.kind;
    file.format = FileFormat::Fclib;
    file.dim = read_dim(in, group);
    const std::string path = group.path;
    if (group.kind == ProblemKind::FrictionLocal) {
      read_local(in, path, file);
    } else {
      read_global(in, path, file);
    }
    if (file.dim == 5) {
      file.mu_r = read_friction(in, path + "/vectors/mu_r", file.contact_count());
    }
    read_info(in, path + "/info", file);
    return file;
  }
  in.fail("/", "holds no problem of kind " + std::string(kind ? name_of(*kind) : "friction"));
}

void write_fclib(Hdf5Writer& out, const ProblemFile& file) {
  const bool local = file.kind == ProblemKind::FrictionLocal;
  const std::string group =
      std::string(local ? "/fclib_local" : "/fclib_global") + (file.dim == 5 ? "_rolling" : "");
  out.group(group);
  out.integer(group + "/spacedim", file.dim);
  write_matrix(out, group + (local ? "/W" : "/M"), file.M);
  if (!local) write_matrix(out, group + "/H", file.H);
  if (file.has_bilateral) {
    write_matrix(out, group + (local ? "/V" : "/G"), file.G);
    if (local) write_matrix(out, group + "/R", file.R);
  }
  out.group(group + "/vectors");
  out.doubles(group + (local ? "/vectors/q" : "/vectors/f"), file.q);
  if (!local) out.doubles(group + "/vectors/w", file.w);
  if (file.has_bilateral) out.doubles(group + (local ? "/vectors/s" : "/vectors/b"), file.b);
  out.doubles(group + "/vectors/mu", file.mu);
  if (file.dim == 5) out.doubles(group + "/vectors/mu_r", file.mu_r);
  if (file.has_info) {
    out.group(group + "/info");
    out.text(group + "/info/title", file.title);
    out.text(group + "/info/description", file.description);
    out.text(group + "/info/math_info", file.math_info);
  }
}

}  // namespace orthant::problem_io
