// SPDX-License-Identifier: Apache-2.0
// Valid HDF5 problems with datasets changed, resized, retyped or removed: refused with an Error, or
// read and valid. Not flipped bytes: what a damaged header makes the HDF5 library itself do (it has
// been seen to take gigabytes) says nothing about our reader.
//
// The fuzzer's bytes are a recipe, not a file: random bytes would hardly ever be HDF5.
//   base, then steps of (operation, which object, value)
#include <hdf5.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/problem_io/problem_file.hpp"

// Error paths inside the HDF5 library lose a few bytes; that is not what is looked for here.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=1";
}

namespace {

using namespace orthant;

struct Base {
  std::string image;
  std::vector<std::string> objects;  // paths of groups and datasets
};
std::vector<Base> g_bases;
std::string g_path;  // the file that is mutated and read

StoredMatrix identity(Index n, MatrixStorage storage) {
  StoredMatrix m;
  m.storage = MatrixStorage::Triplet;
  m.rows = m.cols = n;
  for (Index i = 0; i < n; ++i) {
    m.row_index.push_back(i);
    m.col_index.push_back(i);
    m.values.push_back(i + 1.0);
  }
  return with_storage(m, storage);
}

ProblemFile local_problem(MatrixStorage storage, int dim) {
  ProblemFile file;
  file.kind = ProblemKind::FrictionLocal;
  file.dim = dim;
  file.M = identity(2 * dim, storage);
  file.q = VecX::Constant(2 * dim, -1);
  file.mu = {0.5, 0.7};
  if (dim == 5) file.mu_r = {0.1, 0.2};
  file.has_bilateral = true;
  file.G = {MatrixStorage::Dense, 2 * dim, 1, {}, {}, {}, {}, {}, std::vector<double>(2 * dim, 1)};
  file.R = identity(1, storage);
  file.b = VecX::Ones(1);
  file.has_info = true;
  file.title = "fuzz";
  return file;
}

ProblemFile global_problem(MatrixStorage storage, int dim) {
  ProblemFile file = local_problem(storage, dim);
  file.kind = ProblemKind::FrictionGlobal;
  file.H = identity(2 * dim, storage);
  file.w = VecX::Ones(2 * dim);
  return file;
}

herr_t collect(hid_t, const char* name, const H5O_info_t*, void* list) {
  if (std::string(name) != ".") {
    static_cast<std::vector<std::string>*>(list)->push_back("/" + std::string(name));
  }
  return 0;
}

void add_base(const ProblemFile& file, FileFormat format) {
  write_problem(g_path, file, format);
  Base base;
  base.image = read_file(g_path);
  const hid_t id = H5Fopen(g_path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  H5Ovisit(id, H5_INDEX_NAME, H5_ITER_INC, collect, &base.objects);
  H5Fclose(id);
  g_bases.push_back(std::move(base));
}

/// Reads the recipe; zeros once it has ended.
struct Recipe {
  const std::uint8_t* at;
  const std::uint8_t* end;
  std::uint32_t byte() { return at == end ? 0 : *at++; }
  std::uint32_t word() { return byte() | byte() << 8 | byte() << 16; }
};

double special(std::uint32_t which) {
  constexpr std::array kValues{0.0,
                               -1.0,
                               1e308,
                               5e-324,
                               std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity(),
                               2147483647.0,
                               -2147483648.0,
                               4294967296.0,
                               1.0,
                               2.0,
                               3.0};
  return kValues[which % kValues.size()];
}

/// A new dataset in the place of whatever was there.
void replace(hid_t file, const std::string& path, Recipe& recipe) {
  H5Ldelete(file, path.c_str(), H5P_DEFAULT);
  const std::uint32_t type_choice = recipe.byte() % 7;
  const std::array<hid_t, 7> types{H5T_STD_I32LE, H5T_IEEE_F64LE, H5T_STD_I64LE, H5T_IEEE_F32BE,
                                   H5T_STD_U8LE,  H5T_C_S1,       H5T_STD_U64BE};
  const std::uint32_t rank = recipe.byte() % 4;
  // Mostly small; now and then a size that nobody can store.
  const std::uint32_t size_choice = recipe.byte();
  const hsize_t extent = size_choice < 240 ? size_choice % 24 : hsize_t{1} << (size_choice - 200);
  const std::array<hsize_t, 3> extents{extent, 1, 2};
  const hid_t space = rank == 3
                          ? H5Screate(H5S_SCALAR)
                          : H5Screate_simple(static_cast<int>(rank) + 1, extents.data(), nullptr);
  const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
  if (extent > 1000 && rank != 3) {  // never stored, only announced
    const std::array<hsize_t, 3> chunk{64, 1, 1};
    H5Pset_chunk(plist, static_cast<int>(rank) + 1, chunk.data());
  }
  const hid_t set =
      H5Dcreate2(file, path.c_str(), types[type_choice], space, H5P_DEFAULT, plist, H5P_DEFAULT);
  if (set >= 0) {
    if (extent <= 1000 && type_choice != 5) {
      std::vector<double> values(64);
      for (double& value : values) value = special(recipe.byte());
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    H5Dclose(set);
  }
  H5Pclose(plist);
  H5Sclose(space);
}

/// Some entries of a numeric dataset that keeps its size.
void overwrite(hid_t file, const std::string& path, Recipe& recipe) {
  const hid_t set = H5Dopen2(file, path.c_str(), H5P_DEFAULT);
  if (set < 0) return;
  const hid_t type = H5Dget_type(set);
  const hid_t space = H5Dget_space(set);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const H5T_class_t kind = H5Tget_class(type);
  if ((kind == H5T_INTEGER || kind == H5T_FLOAT) && count > 0 && count < 100000) {
    std::vector<double> values(static_cast<std::size_t>(count));
    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    values[recipe.word() % values.size()] = special(recipe.byte());
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  H5Sclose(space);
  H5Tclose(type);
  H5Dclose(set);
}

void mutate(const Base& base, Recipe& recipe) {
  const hid_t file = H5Fopen(g_path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  if (file < 0) return;
  while (recipe.at != recipe.end) {
    const std::uint32_t operation = recipe.byte() % 8;
    const std::string& path = base.objects[recipe.byte() % base.objects.size()];
    if (operation == 0) {
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
    } else if (operation == 1) {
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      const hid_t id = H5Gcreate2(file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      if (id >= 0) H5Gclose(id);
    } else if (operation == 2) {  // another object under this name, perhaps a cycle
      const std::string& other = base.objects[recipe.byte() % base.objects.size()];
      H5Ldelete(file, path.c_str(), H5P_DEFAULT);
      H5Lcreate_soft(other.c_str(), file, path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    } else if (operation < 5) {
      replace(file, path, recipe);
    } else {
      overwrite(file, path, recipe);
    }
  }
  H5Fclose(file);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  // In memory where there is such a folder: thousands of files per second need no disk.
  const bool in_memory = ::access("/dev/shm", W_OK) == 0;
  g_path = std::string(in_memory ? "/dev/shm" : "/tmp") + "/orthant_fuzz_" +
           std::to_string(::getpid()) + ".h5";
  std::atexit([] { ::unlink(g_path.c_str()); });
  for (const MatrixStorage storage :
       {MatrixStorage::Triplet, MatrixStorage::CompressedColumns, MatrixStorage::CompressedRows}) {
    add_base(local_problem(storage, 3), FileFormat::Fclib);
    add_base(global_problem(storage, 2), FileFormat::Fclib);
  }
  add_base(local_problem(MatrixStorage::Triplet, 5), FileFormat::Fclib);
  add_base(global_problem(MatrixStorage::Triplet, 5), FileFormat::Fclib);
  add_base(local_problem(MatrixStorage::Triplet, 3), FileFormat::Native);
  add_base(global_problem(MatrixStorage::Triplet, 3), FileFormat::Native);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Recipe recipe{data, data + size};
  const Base& base = g_bases[recipe.byte() % g_bases.size()];
  const std::string& image = base.image;
  std::FILE* out = std::fopen(g_path.c_str(), "wb");
  if (out == nullptr || std::fwrite(image.data(), 1, image.size(), out) != image.size() ||
      std::fclose(out) != 0) {
    std::abort();
  }
  mutate(base, recipe);
  try {
    validate(to_problem(read_problem(g_path)), "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
