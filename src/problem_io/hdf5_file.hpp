// SPDX-License-Identifier: Apache-2.0
// problem_io/hdf5_file.hpp: HDF5 datasets => checked vectors, and back.
// Existence, class, rank and size are checked before a byte is read or memory taken. The HDF5
// library is neither thread-safe nor quiet: one lock and one silencer for the life of a file.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/math/types.hpp"

namespace orthant::problem_io {

/// Any HDF5 identifier, closed by its own function.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

/// Holds the lock of the HDF5 library and keeps it from printing.
class QuietHdf5 {
 public:
  QuietHdf5();
  ~QuietHdf5();
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  std::scoped_lock<std::mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Read side. Paths are absolute ("/fclib_local/W/m").
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::string& path);

  bool has(const std::string& path) const;
  bool has_group(const std::string& path) const;

  /// One-dimensional datasets (a scalar counts as length 1).
  std::vector<Index> indices(const std::string& path) const;
  std::vector<double> doubles(const std::string& path) const;
  std::vector<std::uint8_t> bytes(const std::string& path) const;
  /// A dataset of one integer in [low, high].
  std::int64_t integer(const std::string& path, std::int64_t low, std::int64_t high) const;
  /// Fixed or variable length; bytes as they are, up to the first zero byte.
  std::string text(const std::string& path) const;

  /// Doubles, exactly `count` of them, finite.
  std::vector<double> finite(const std::string& path, std::size_t count) const;

  /// Error at a dataset of this file.
  [[noreturn]] void fail(const std::string& path, const std::string& what) const;

 private:
  struct Dataset;
  Dataset open(const std::string& path, H5T_class_t type, const char* type_name) const;
  template <class T>
  std::vector<T> read(const std::string& path, hid_t memory_type, H5T_class_t type,
                      const char* type_name) const;

  QuietHdf5 quiet_;
  std::string name_;
  std::uint64_t file_size_ = 0;
  Handle file_;
};

/// Write side, to a path that AtomicFile will rename.
class Hdf5Writer {
 public:
  /// `name` stands for the file in messages.
  Hdf5Writer(const std::string& path, std::string name);

  void group(const std::string& path);
  void indices(const std::string& path, const std::vector<Index>& values);
  void doubles(const std::string& path, const double* values, std::size_t count);
  void doubles(const std::string& path, const std::vector<double>& values) {
    doubles(path, values.data(), values.size());
  }
  void doubles(const std::string& path, const VecX& values) {
    doubles(path, values.data(), static_cast<std::size_t>(values.size()));
  }
  void bytes(const std::string& path, const std::vector<std::uint8_t>& values);
  void integer(const std::string& path, Index value) { indices(path, {value}); }
  void text(const std::string& path, const std::string& value);
  /// Flushes; the file is complete only after this returned.
  void finish();

 private:
  void write(const std::string& path, hid_t file_type, hid_t memory_type, const void* values,
             std::size_t count);
  [[noreturn]] void fail(const std::string& path) const;

  QuietHdf5 quiet_;
  std::string name_;
  Handle file_;
};

}  // namespace orthant::problem_io
