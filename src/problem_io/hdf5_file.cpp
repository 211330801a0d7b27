// SPDX-License-Identifier: Apache-2.0
// problem_io/hdf5_file.cpp: checked reading and writing of HDF5 datasets.
#include "problem_io/hdf5_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"
#include "problem_io/hdf5_lock.hpp"

namespace orthant {

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace orthant

namespace orthant::problem_io {
namespace {

/// Deflate cannot pack better than this: a dataset larger than that times the file is a lie, and
/// memory is not taken for it.
constexpr std::uint64_t kMaxCompression = 1032;
constexpr std::size_t kMaxText = std::size_t{1} << 20;

}  // namespace

QuietHdf5::QuietHdf5() : lock_(hdf5_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietHdf5::~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

// --- reading --------------------------------------------------------------------------------

struct Hdf5Reader::Dataset {
  Handle id;
  Handle type;
  std::size_t count;
};

Hdf5Reader::Hdf5Reader(const std::string& path)
    : name_(path), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
  if (!file_.valid()) {
    throw Error(name_, "is not a readable HDF5 file (truncated or damaged, or not HDF5)");
  }
  hsize_t size = 0;
  H5Fget_filesize(file_.get(), &size);
  file_size_ = size;
}

void Hdf5Reader::fail(const std::string& path, const std::string& what) const {
  throw Error(name_ + ":" + path, what);
}

bool Hdf5Reader::has(const std::string& path) const {
  // H5Lexists needs every parent to exist: walk down.
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    if (H5Lexists(file_.get(), path.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

bool Hdf5Reader::has_group(const std::string& path) const {
  if (!has(path)) return false;
  return Handle(H5Gopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Gclose).valid();
}

Hdf5Reader::Dataset Hdf5Reader::open(const std::string& path, H5T_class_t type,
                                     const char* type_name) const {
  if (!has(path)) fail(path, "is missing");
  Handle id(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!id.valid()) fail(path, "is not a dataset");
  Handle stored(H5Dget_type(id.get()), H5Tclose);
  if (!stored.valid() || H5Tget_class(stored.get()) != type) {
    fail(path, std::string("must hold ") + type_name);
  }
  const Handle space(H5Dget_space(id.get()), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.get()) : -1;
  const H5S_class_t extent = space.valid() ? H5Sget_simple_extent_type(space.get()) : H5S_NO_CLASS;
  if (rank < 0 || rank > 1 || (extent != H5S_SIMPLE && extent != H5S_SCALAR)) {
    fail(path, "must be one-dimensional, found " + std::to_string(rank) + " dimensions");
  }
  hsize_t count = 1;
  if (rank == 1) H5Sget_simple_extent_dims(space.get(), &count, nullptr);
  const std::size_t item = std::max<std::size_t>(H5Tget_size(stored.get()), 1);
  if (count > std::numeric_limits<Index>::max() || count > kMaxCompression * file_size_ / item) {
    fail(path, "announces " + std::to_string(count) + " entries, more than a file of " +
                   std::to_string(file_size_) + " bytes can hold");
  }
  if (count > 0 && H5Dget_storage_size(id.get()) == 0) {
    fail(path, "announces " + std::to_string(count) + " entries, but none is stored");
  }
  return {std::move(id), std::move(stored), static_cast<std::size_t>(count)};
}

template <class T>
std::vector<T> Hdf5Reader::read(const std::string& path, hid_t memory_type, H5T_class_t type,
                                const char* type_name) const {
  const Dataset data = open(path, type, type_name);
  std::vector<T> values(data.count);
  if (!values.empty() &&
      H5Dread(data.id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
    fail(path, "cannot be read (damaged data)");
  }
  return values;
}

std::vector<Index> Hdf5Reader::indices(const std::string& path) const {
  // Through 64 bits: HDF5 would clip silently what does not fit.
  const auto wide = read<std::int64_t>(path, H5T_NATIVE_INT64, H5T_INTEGER, "integers");
  std::vector<Index> values(wide.size());
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (wide[i] < std::numeric_limits<Index>::min() ||
        wide[i] > std::numeric_limits<Index>::max()) {
      fail(path, "entry " + std::to_string(i) + " does not fit 32 bits, found " +
                     std::to_string(wide[i]));
    }
    values[i] = static_cast<Index>(wide[i]);
  }
  return values;
}

std::vector<double> Hdf5Reader::doubles(const std::string& path) const {
  return read<double>(path, H5T_NATIVE_DOUBLE, H5T_FLOAT, "floating-point numbers");
}

std::vector<std::uint8_t> Hdf5Reader::bytes(const std::string& path) const {
  return read<std::uint8_t>(path, H5T_NATIVE_UINT8, H5T_INTEGER, "integers");
}

std::int64_t Hdf5Reader::integer(const std::string& path, std::int64_t low,
                                 std::int64_t high) const {
  const std::vector<Index> values = indices(path);
  if (values.size() != 1) {
    fail(path, "must hold one integer, found " + std::to_string(values.size()));
  }
  if (values[0] < low || values[0] > high) {
    fail(path, "must be " +
                   (high >= INT32_MAX ? ">= " + std::to_string(low)
                                      : std::to_string(low) + ".." + std::to_string(high)) +
                   ", found " + std::to_string(values[0]));
  }
  return values[0];
}

std::vector<double> Hdf5Reader::finite(const std::string& path, std::size_t count) const {
  std::vector<double> values = doubles(path);
  if (values.size() != count) {
    fail(path,
         "must have " + std::to_string(count) + " entries, found " + std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i])) {
      fail(path, "entry " + std::to_string(i) + " must be finite, found " + to_text(values[i]));
    }
  }
  return values;
}

std::string Hdf5Reader::text(const std::string& path) const {
  const Dataset data = open(path, H5T_STRING, "text");
  if (data.count != 1) fail(path, "must hold one text, found " + std::to_string(data.count));
  std::string value;
  if (H5Tis_variable_str(data.type.get()) > 0) {
    const Handle memory(H5Tcopy(data.type.get()), H5Tclose);
    char* pointer = nullptr;
    if (H5Dread(data.id.get(), memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &pointer) < 0) {
      fail(path, "cannot be read (damaged data)");
    }
    if (pointer != nullptr) value = pointer;
    H5free_memory(pointer);
  } else {
    const std::size_t size = H5Tget_size(data.type.get());
    if (size > kMaxText) fail(path, "is longer than " + std::to_string(kMaxText) + " bytes");
    value.resize(size);
    if (H5Dread(data.id.get(), data.type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.data()) < 0) {
      fail(path, "cannot be read (damaged data)");
    }
    value.resize(std::min(value.find('\0'), value.size()));
  }
  return value;
}

// --- writing --------------------------------------------------------------------------------

Hdf5Writer::Hdf5Writer(const std::string& path, std::string name)
    : name_(std::move(name)),
      file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose) {
  if (!file_.valid()) throw Error(name_, "cannot be written");
}

void Hdf5Writer::fail(const std::string& path) const {
  throw Error(name_ + ":" + path, "cannot be written");
}

void Hdf5Writer::group(const std::string& path) {
  const Handle id(H5Gcreate2(file_.get(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                  H5Gclose);
  if (!id.valid()) fail(path);
}

void Hdf5Writer::write(const std::string& path, hid_t file_type, hid_t memory_type,
                       const void* values, std::size_t count) {
  const hsize_t extent = count;
  const Handle space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Handle id(H5Dcreate2(file_.get(), path.c_str(), file_type, space.get(), H5P_DEFAULT,
                             H5P_DEFAULT, H5P_DEFAULT),
                  H5Dclose);
  if (!id.valid()) fail(path);
  if (count > 0 && H5Dwrite(id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    fail(path);
  }
}

void Hdf5Writer::indices(const std::string& path, const std::vector<Index>& values) {
  write(path, H5T_STD_I32LE, H5T_NATIVE_INT32, values.data(), values.size());
}

void Hdf5Writer::doubles(const std::string& path, const double* values, std::size_t count) {
  write(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values, count);
}

void Hdf5Writer::bytes(const std::string& path, const std::vector<std::uint8_t>& values) {
  write(path, H5T_STD_U8LE, H5T_NATIVE_UINT8, values.data(), values.size());
}

void Hdf5Writer::text(const std::string& path, const std::string& value) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  if (H5Tset_size(type.get(), value.size() + 1) < 0) fail(path);
  const Handle id(H5Dcreate2(file_.get(), path.c_str(), type.get(), space.get(), H5P_DEFAULT,
                             H5P_DEFAULT, H5P_DEFAULT),
                  H5Dclose);
  if (!id.valid() ||
      H5Dwrite(id.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, value.c_str()) < 0) {
    fail(path);
  }
}

void Hdf5Writer::finish() {
  if (H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) < 0) throw Error(name_, "cannot be written");
}

}  // namespace orthant::problem_io
