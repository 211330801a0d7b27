// SPDX-License-Identifier: Apache-2.0
// io/run/hdf5_data.cpp: chunked, shuffled, deflated arrays.
// Chunks of columns are packed here and handed over whole: HDF5 gathers single numbers slowly, and
// its filters cannot leave out what is not worth packing.
#include "io/run/hdf5_data.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "problem_io/hdf5_lock.hpp"

namespace orthant::io {
namespace {

constexpr hsize_t kChunkBytes = hsize_t{1} << 20;
constexpr hsize_t kColumnBytes = hsize_t{1} << 17;  // all components of a pose fit the cache
constexpr unsigned kUnfiltered = 3;  // mask of a chunk that neither was shuffled nor deflated
constexpr hsize_t kSmall = 4096;     // bytes below which packing costs more than it saves
constexpr unsigned kDeflate = 1;     // the fastest; higher levels gain a few per cent on poses
/// Deflate cannot pack better: an array that claims more than that times the file is a lie.
constexpr std::uint64_t kMaxCompression = 1032;
constexpr double kAlwaysAllowed = 64e6;  // bytes; segments of trajectories are smaller

/// Eight bytes that mark a sum of all bytes before them, and the sum: a damaged file is refused
/// before the HDF5 library sees it, which may crash on damaged headers. Files without it (of 0.1)
/// are read.
constexpr std::string_view kMark = "OrthSum1";

/// FNV-1a over words of eight bytes, the last one filled up with zeros.
std::uint64_t sum_of(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    sum = (sum ^ word) * 0x100000001b3U;
  }
  return sum;
}

/// The path again, of a file whose sum fits, if it has one.
const std::string& checked(const std::string& path) {
  const std::string file = read_file(path);
  const std::size_t end = kMark.size() + sizeof(std::uint64_t);
  if (file.size() < end) return path;
  const std::string_view all = file, body = all.substr(0, all.size() - end);
  if (all.substr(body.size(), kMark.size()) != kMark) return path;
  std::uint64_t sum = 0;
  std::memcpy(&sum, file.data() + file.size() - sizeof sum, sizeof sum);
  if (sum != sum_of(body)) throw Error(path, "is damaged: its checksum does not fit its content");
  return path;
}

hid_t memory_access() {
  const hid_t id = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(id, std::size_t{4} << 20, 0);
  return id;
}

hsize_t product(const Shape64& dims) {
  hsize_t count = 1;
  for (const hsize_t d : dims) count *= d;
  return count;
}

/// One component of the rows of a chunk, and what is to be known before it is packed.
struct Column {
  std::vector<double> values;
  std::uint64_t bits = 0;   ///< of all numbers together; 0: all are +0
  std::size_t changed = 0;  ///< numbers that differ from those a row before

  /// A velocity that is kept changes its last bit now and then: that packs slowly, too.
  bool moves(std::size_t width) const { return 8 * changed > values.size() - width; }
};

/// Fills the columns from `count` rows of `width` times `columns.size()` numbers, in one pass: the
/// rows do not fit the cache.
void gather(const double* from, std::size_t count, std::size_t width,
            std::vector<Column>& columns) {
  const std::size_t parts = columns.size();
  for (Column& column : columns) column.bits = column.changed = 0;
  for (std::size_t i = 0; i < count * width; ++i)
    for (std::size_t c = 0; c < parts; ++c) {
      const double x = from[i * parts + c];
      columns[c].values[i] = x;
      columns[c].bits |= std::bit_cast<std::uint64_t>(x);
      columns[c].changed += i >= width && x != from[(i - width) * parts + c];
    }
  for (Column& column : columns)  // the last chunk is as long as the others
    std::fill(column.values.begin() + static_cast<std::ptrdiff_t>(count * width),
              column.values.end(), 0.0);
}

/// Bytes of equal weight together, as HDF5's shuffle filter does.
void shuffle(const std::vector<double>& from, std::vector<unsigned char>& to) {
  const std::size_t n = from.size();
  to.resize(8 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto word = std::bit_cast<std::uint64_t>(from[i]);
    for (std::size_t b = 0; b < 8; ++b) to[b * n + i] = static_cast<unsigned char>(word >> (8 * b));
  }
}

}  // namespace

H5Session::H5Session() : lock_(hdf5_mutex()) {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

H5Session::~H5Session() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

// --- writing -----------------------------------------------------------------------------------

DataWriter::DataWriter(std::string path)
    : path_(std::move(path)),
      access_(memory_access(), H5Pclose),
      file_(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access_), H5Fclose) {
  if (!file_.valid()) throw Error(path_, "cannot be written");
}

void DataWriter::fail(const std::string& name) const {
  throw Error(path_ + ":" + name, "cannot be written");
}

void DataWriter::group(const std::string& name) {
  const H5Id id(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!id.valid()) fail(name);
}

void DataWriter::write(const std::string& name, hid_t type, const void* values, Shape64 dims,
                       std::size_t size) {
  const H5Id space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  const H5Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation, false);  // the same data give the same file
  const hsize_t count = product(dims);
  if (count * size > kSmall) {
    Shape64 chunk = dims;
    const hsize_t row = std::max<hsize_t>(count / dims[0] * size, 1);
    chunk[0] = std::clamp<hsize_t>(kChunkBytes / row, 1, dims[0]);
    H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, kDeflate);
  }
  const H5Id id(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                H5Dclose);
  if (!id.valid()) fail(name);
  if (count > 0 && H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) fail(name);
}

void DataWriter::columns(const std::string& name, const std::vector<double>& values, Shape64 dims) {
  const hsize_t count = product(dims);
  if (count * sizeof(double) <= kSmall) {
    array(name, values, std::move(dims));
    return;
  }
  const hsize_t rows = dims[0], parts = dims.size() > 1 ? dims.back() : 1;
  const hsize_t width = count / rows / parts;
  Shape64 chunk = dims, offset(dims.size(), 0);
  chunk[0] = std::clamp<hsize_t>(kColumnBytes / (sizeof(double) * width), 1, rows);
  if (dims.size() > 1) chunk.back() = 1;
  const H5Id space(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose);
  const H5Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation, false);
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  H5Pset_shuffle(creation);
  H5Pset_deflate(creation, kDeflate);
  const H5Id id(
      H5Dcreate2(file_, name.c_str(), type_of(double{}), space, H5P_DEFAULT, creation, H5P_DEFAULT),
      H5Dclose);
  if (!id.valid()) fail(name);
  std::vector<Column> list(parts);
  for (Column& column : list) column.values.resize(chunk[0] * width);
  std::vector<unsigned char> bytes, packed;
  for (hsize_t row = 0; row < rows; row += chunk[0]) {
    gather(values.data() + row * width * parts, std::min(chunk[0], rows - row), width, list);
    for (hsize_t c = 0; c < parts; ++c) {
      if (list[c].bits == 0) continue;  // a chunk that is not there reads as zeros
      unsigned mask = kUnfiltered;
      const void* data = list[c].values.data();
      std::size_t size = list[c].values.size() * sizeof(double);
      if (!list[c].moves(width)) {
        shuffle(list[c].values, bytes);
        uLongf length = compressBound(bytes.size());
        packed.resize(length);
        if (compress2(packed.data(), &length, bytes.data(), bytes.size(), kDeflate) == Z_OK &&
            length < size) {
          mask = 0;
          data = packed.data();
          size = length;
        }
      }
      offset[0] = row;
      if (dims.size() > 1) offset.back() = c;
      if (H5Dwrite_chunk(id, H5P_DEFAULT, mask, offset.data(), size, data) < 0) fail(name);
    }
  }
}

void DataWriter::texts(const std::string& name, const std::vector<std::string>& values,
                       bool scalar) {
  std::size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  std::vector<char> block(width * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(block.data() + i * width, values[i].data(), values[i].size());
  const H5Id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, width);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const hsize_t count = values.size();
  const H5Id space(scalar ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose);
  const H5Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation, false);
  if (!scalar && count * width > kSmall) {
    const hsize_t chunk = std::clamp<hsize_t>(kChunkBytes / width, 1, count);
    H5Pset_chunk(creation, 1, &chunk);
    H5Pset_deflate(creation, kDeflate);
  }
  const H5Id id(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                H5Dclose);
  if (!id.valid()) fail(name);
  if (count > 0 && H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data()) < 0) fail(name);
}

void DataWriter::commit() {
  if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) throw Error(path_, "cannot be written");
  const ssize_t size = H5Fget_file_image(file_, nullptr, 0);
  if (size <= 0) throw Error(path_, "cannot be written");
  const auto count = static_cast<std::size_t>(size);
  const std::size_t whole = count + kMark.size() + sizeof(std::uint64_t);
  const auto image = std::make_unique_for_overwrite<char[]>(whole);
  if (H5Fget_file_image(file_, image.get(), count) != size) throw Error(path_, "cannot be written");
  const std::uint64_t sum = sum_of({image.get(), count});
  std::memcpy(image.get() + count, kMark.data(), kMark.size());
  std::memcpy(image.get() + whole - sizeof sum, &sum, sizeof sum);
  write_file(path_, {image.get(), whole});
}

// --- reading -----------------------------------------------------------------------------------

DataReader::DataReader(const std::string& path)
    : path_(checked(path)), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
  if (!file_.valid()) throw Error(path_, "is not a readable HDF5 file");
  hsize_t size = 0;
  H5Fget_filesize(file_, &size);
  size_ = size;
}

void DataReader::fail(const std::string& name, const std::string& what) const {
  throw Error(path_ + ":" + name, what);
}

bool DataReader::has(const std::string& name) const {
  for (std::size_t slash = name.find('/');; slash = name.find('/', slash + 1)) {
    if (H5Lexists(file_, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

Shape64 DataReader::dims(const std::string& name) const {
  if (!has(name)) fail(name, "is missing");
  const H5Id id(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (!id.valid()) fail(name, "is not a dataset");
  const H5Id space(H5Dget_space(id), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space) : -1;
  if (rank < 0 || rank > 8) fail(name, "has an unknown shape");
  Shape64 out(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space, out.data(), nullptr);
  return out;
}

template <class T>
std::vector<T> DataReader::read(const std::string& name, hid_t memory, H5T_class_t kind,
                                const Shape64& expected) const {
  const Shape64 found = dims(name);
  bool right = found.size() == expected.size();
  double count = 1;
  for (std::size_t i = 0; right && i < found.size(); ++i) {
    right = expected[i] == H5S_UNLIMITED || expected[i] == found[i];
    count *= static_cast<double>(found[i]);
  }
  if (!right) fail(name, "does not have the shape the format says");
  // Chunks of zeros are not stored at all, hence the allowance.
  if (count * sizeof(T) >
      std::max(kAlwaysAllowed, static_cast<double>(kMaxCompression) * static_cast<double>(size_)))
    fail(name, "announces more than the file can hold");
  const H5Id id(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  const H5Id type(H5Dget_type(id), H5Tclose);
  if (!type.valid() || H5Tget_class(type) != kind) fail(name, "has the wrong type");
  std::vector<T> values(static_cast<std::size_t>(count));
  if constexpr (std::is_same_v<T, double>)
    if (read_columns(name, id, found, values)) return values;
  if (!values.empty() && H5Dread(id, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    fail(name, "cannot be read (damaged data)");
  return values;
}

bool DataReader::read_columns(const std::string& name, hid_t id, const Shape64& dims,
                              std::vector<double>& values) const {
  const H5Id creation(H5Dget_create_plist(id), H5Pclose);
  if (dims.size() < 2 || dims.back() < 2 || values.empty() || !creation.valid() ||
      H5Pget_layout(creation) != H5D_CHUNKED)
    return false;
  Shape64 chunk(dims.size());
  if (H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) < 0 || chunk.back() != 1)
    return false;
  // HDF5 would scatter number by number; a whole column it copies chunk by chunk.
  const std::size_t parts = static_cast<std::size_t>(dims.back());
  std::vector<double> column(values.size() / parts);
  Shape64 begin(dims.size(), 0), extent = dims;
  extent.back() = 1;
  const hsize_t length = column.size();
  const H5Id file(H5Dget_space(id), H5Sclose),
      memory(H5Screate_simple(1, &length, nullptr), H5Sclose);
  for (std::size_t c = 0; c < parts; ++c) {
    begin.back() = c;
    if (H5Sselect_hyperslab(file, H5S_SELECT_SET, begin.data(), nullptr, extent.data(), nullptr) <
            0 ||
        H5Dread(id, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, column.data()) < 0)
      fail(name, "cannot be read (damaged data)");
    for (std::size_t i = 0; i < column.size(); ++i) values[i * parts + c] = column[i];
  }
  return true;
}

std::vector<double> DataReader::doubles(const std::string& name, const Shape64& expected) const {
  return read<double>(name, H5T_NATIVE_DOUBLE, H5T_FLOAT, expected);
}

std::vector<std::int64_t> DataReader::integers(const std::string& name,
                                               const Shape64& expected) const {
  return read<std::int64_t>(name, H5T_NATIVE_INT64, H5T_INTEGER, expected);
}

std::vector<std::string> DataReader::texts(const std::string& name) const {
  const Shape64 shape = dims(name);
  if (shape.size() > 1) fail(name, "must be a list of texts");
  const std::size_t count = shape.empty() ? 1 : static_cast<std::size_t>(shape[0]);
  const H5Id id(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  const H5Id type(H5Dget_type(id), H5Tclose);
  if (!type.valid() || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0)
    fail(name, "must hold texts of fixed length");
  const std::size_t width = H5Tget_size(type);
  if (static_cast<double>(count) * static_cast<double>(width) >
      static_cast<double>(kMaxCompression) * static_cast<double>(size_))
    fail(name, "announces more than the file can hold");
  std::vector<char> block(count * width);
  if (!block.empty() && H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, block.data()) < 0)
    fail(name, "cannot be read (damaged data)");
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    const char* begin = block.data() + i * width;
    out.emplace_back(begin, std::find(begin, begin + width, '\0'));
  }
  return out;
}

std::string DataReader::text(const std::string& name) const {
  const std::vector<std::string> all = texts(name);
  if (all.size() != 1) fail(name, "must hold one text");
  return all[0];
}

}  // namespace orthant::io
