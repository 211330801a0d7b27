// SPDX-License-Identifier: Apache-2.0
// io/run/hdf5_data.hpp: named arrays of any rank <=> an HDF5 file, whole or not at all.
// A file is put together in memory and then written, synced and renamed by base/atomic_file: HDF5
// never sees the disk, so a full one is an ordinary error and leaves what was there.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace orthant::io {

/// Closes an HDF5 identifier by its own function.
class H5Id {
 public:
  using Close = herr_t (*)(hid_t);
  H5Id(hid_t id, Close close) : id_(id), close_(close) {}
  H5Id(const H5Id&) = delete;
  H5Id& operator=(const H5Id&) = delete;
  ~H5Id() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const { return id_; }  // NOLINT: stands wherever HDF5 wants one
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

/// Holds the lock of the library and keeps it quiet.
class H5Session {
 public:
  H5Session();
  ~H5Session();
  H5Session(const H5Session&) = delete;
  H5Session& operator=(const H5Session&) = delete;

 private:
  std::scoped_lock<std::mutex> lock_;
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

using Shape64 = std::vector<hsize_t>;

class DataWriter {
 public:
  explicit DataWriter(std::string path);

  void group(const std::string& name);
  template <class T>
  void array(const std::string& name, const std::vector<T>& values, Shape64 dims) {
    write(name, type_of(T{}), values.data(), std::move(dims), sizeof(T));
  }
  template <class T>
  void array(const std::string& name, const std::vector<T>& values) {
    array(name, values, {values.size()});
  }
  /// Numbers that come in rows of (…, components): a chunk holds one component. What stands still
  /// from row to row is packed, what moves is kept as it is: packing noise costs more than a step.
  void columns(const std::string& name, const std::vector<double>& values, Shape64 dims);
  void text(const std::string& name, const std::string& value) { texts(name, {value}, true); }
  void texts(const std::string& name, const std::vector<std::string>& values, bool scalar = false);
  /// Writes the file: temporary name, sync, rename. Throws Error and leaves what was there.
  void commit();

 private:
  static hid_t type_of(double) { return H5T_IEEE_F64LE; }
  static hid_t type_of(std::int64_t) { return H5T_STD_I64LE; }
  static hid_t type_of(std::int32_t) { return H5T_STD_I32LE; }
  static hid_t type_of(std::uint32_t) { return H5T_STD_U32LE; }
  static hid_t type_of(std::uint64_t) { return H5T_STD_U64LE; }
  static hid_t type_of(std::uint8_t) { return H5T_STD_U8LE; }
  void write(const std::string& name, hid_t type, const void* values, Shape64 dims,
             std::size_t size);
  [[noreturn]] void fail(const std::string& name) const;

  H5Session session_;
  std::string path_;
  H5Id access_;
  H5Id file_;
};

class DataReader {
 public:
  explicit DataReader(const std::string& path);

  bool has(const std::string& name) const;
  Shape64 dims(const std::string& name) const;
  /// The whole array; `rank` and all dimensions but the first are checked where not 0.
  std::vector<double> doubles(const std::string& name, const Shape64& expected) const;
  std::vector<std::int64_t> integers(const std::string& name, const Shape64& expected) const;
  std::vector<std::string> texts(const std::string& name) const;
  std::string text(const std::string& name) const;
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  /// Fills `values` component by component where a chunk holds one; false: it does not.
  bool read_columns(const std::string& name, hid_t id, const Shape64& dims,
                    std::vector<double>& values) const;
  template <class T>
  std::vector<T> read(const std::string& name, hid_t memory, H5T_class_t kind,
                      const Shape64& expected) const;

  H5Session session_;
  std::string path_;
  std::uint64_t size_ = 0;
  H5Id file_;
};

}  // namespace orthant::io
