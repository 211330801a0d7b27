// SPDX-License-Identifier: Apache-2.0
// Broken HDF5 files are refused with the dataset, what was found and what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "orthant/base/atomic_file.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::sample;
using testing::TemporaryFolder;

/// Two planar contacts on the unit matrix; global ones with as many velocities.
ProblemFile small(ProblemKind kind, MatrixStorage storage) {
  StoredMatrix unit;
  unit.storage = MatrixStorage::Triplet;
  unit.rows = unit.cols = 4;
  unit.row_index = unit.col_index = {0, 1, 2, 3};
  unit.values = {1, 1, 1, 1};
  ProblemFile file;
  file.kind = kind;
  file.dim = 2;
  file.M = with_storage(unit, storage);
  file.q = VecX::Constant(4, -1);
  file.mu = {0.5, 0.5};
  if (kind == ProblemKind::FrictionGlobal) {
    file.H = file.M;
    file.w = VecX::Zero(4);
  }
  return file;
}

/// An open file that is changed in place.
class Damage {
 public:
  explicit Damage(const std::string& path)
      : file_(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)) {}
  ~Damage() { H5Fclose(file_); }
  Damage(const Damage&) = delete;
  Damage& operator=(const Damage&) = delete;

  void remove(const char* path) const { H5Ldelete(file_, path, H5P_DEFAULT); }
  template <class T>
  void put(const char* path, const std::vector<T>& values) const {
    remove(path);
    const hsize_t extent = values.size();
    write(path, H5Screate_simple(1, &extent, nullptr), values.data());
  }
  void put_matrix(const char* path, const std::vector<double>& values) const {
    remove(path);
    const hsize_t extents[] = {values.size(), 1};
    write(path, H5Screate_simple(2, extents, nullptr), values.data());
  }
  /// A dataset of which nothing is stored.
  void announce(const char* path, hsize_t count) const {
    remove(path);
    const hsize_t chunk = std::min<hsize_t>(count, 1024);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 1, &chunk);
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    H5Dclose(H5Dcreate2(file_, path, H5T_IEEE_F64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(plist);
  }
  void make_group(const char* path) const {
    remove(path);
    H5Gclose(H5Gcreate2(file_, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }

 private:
  template <class T>
  void write(const char* path, hid_t space, const T* values) const {
    const hid_t type = std::is_same_v<T, double>    ? H5T_NATIVE_DOUBLE
                       : std::is_same_v<T, int64_t> ? H5T_NATIVE_INT64
                                                    : H5T_NATIVE_INT;
    const hid_t set = H5Dcreate2(file_, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Sclose(space);
  }

  hid_t file_;
};

struct Case {
  const char* name;
  ProblemKind kind;
  MatrixStorage storage;
  std::function<void(const Damage&)> damage;
  const char* message;  // after the name of the file
};

constexpr ProblemKind kLocal = ProblemKind::FrictionLocal;
constexpr ProblemKind kGlobal = ProblemKind::FrictionGlobal;
constexpr MatrixStorage kTriplet = MatrixStorage::Triplet;
constexpr MatrixStorage kColumns = MatrixStorage::CompressedColumns;
constexpr MatrixStorage kRows = MatrixStorage::CompressedRows;
using Ints = std::vector<int>;
using Doubles = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Case kCases[] = {
    {"NothingInIt", kLocal, kTriplet, [](const Damage& d) { d.remove("/fclib_local"); },
     ": holds none of the groups /fclib_local, /fclib_global, /fclib_global_rolling, "
     "/fclib_local_rolling, /orthant_problem"},
    {"NoSpaceDim", kLocal, kTriplet, [](const Damage& d) { d.remove("/fclib_local/spacedim"); },
     ":/fclib_local/spacedim: is missing"},
    {"SpaceDimFour", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/spacedim", Ints{4}); },
     ":/fclib_local/spacedim: must be 2 or 3, found 4"},
    {"SpaceDimTwice", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/spacedim", Ints{2, 2}); },
     ":/fclib_local/spacedim: must hold one integer, found 2"},
    {"SpaceDimNotAnInteger", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/spacedim", Doubles{2}); },
     ":/fclib_local/spacedim: must hold integers"},
    {"NoMatrix", kLocal, kTriplet, [](const Damage& d) { d.remove("/fclib_local/W"); },
     ":/fclib_local/W: is missing (a group with m, n, nz, p, i, x)"},
    {"DatasetIsAGroup", kLocal, kTriplet, [](const Damage& d) { d.make_group("/fclib_local/W/x"); },
     ":/fclib_local/W/x: is not a dataset"},
    {"NegativeRows", kLocal, kTriplet, [](const Damage& d) { d.put("/fclib_local/W/m", Ints{-4}); },
     ":/fclib_local/W/m: must be >= 0, found -4"},
    {"UnknownStorage", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/W/nz", Ints{-3}); },
     ":/fclib_local/W/nz: must be >= -2, found -3"},
    {"NotSquare", kLocal, kTriplet, [](const Damage& d) { d.put("/fclib_local/W/n", Ints{6}); },
     ":/fclib_local/W: must be 4 x 4, found 4 x 6"},
    {"RowOutside", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/W/i", Ints{0, 1, 2, 4}); },
     ":/fclib_local/W: row index[3] is 4, allowed is 0..3"},
    {"TooFewIndices", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/W/i", Ints{0, 1, 2}); },
     ":/fclib_local/W/i: must have at least 4 entries, found 3"},
    {"IndexTooLargeFor32Bits", kLocal, kTriplet,
     [](const Damage& d) {
       d.put("/fclib_local/W/i", std::vector<std::int64_t>{0, 1, 2, std::int64_t{1} << 32});
     },
     ":/fclib_local/W/i: entry 3 does not fit 32 bits, found 4294967296"},
    {"NanInMatrix", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/W/x", Doubles{1, kNan, 1, 1}); },
     ":/fclib_local/W: value 1 must be finite, found nan"},
    {"ValuesAreIntegers", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/W/x", Ints{1, 1, 1, 1}); },
     ":/fclib_local/W/x: must hold floating-point numbers"},
    {"TooManyDimensions", kLocal, kTriplet,
     [](const Damage& d) { d.put_matrix("/fclib_local/W/x", {1, 1, 1, 1}); },
     ":/fclib_local/W/x: must be one-dimensional, found 2 dimensions"},
    {"PointersDecrease", kLocal, kColumns,
     [](const Damage& d) { d.put("/fclib_local/W/p", Ints{0, 2, 1, 3, 4}); },
     ":/fclib_local/W: pointers must not decrease: pointer 2 is 1 after 2"},
    {"PointersBeginWrong", kLocal, kColumns,
     [](const Damage& d) { d.put("/fclib_local/W/p", Ints{1, 1, 2, 3, 4}); },
     ":/fclib_local/W: the first pointer is 1, expected 0"},
    {"PointersTooShort", kLocal, kRows,
     [](const Damage& d) { d.put("/fclib_local/W/p", Ints{0, 1, 4}); },
     ":/fclib_local/W/p: must have 5 entries, found 3"},
    {"PointersPastTheEnd", kLocal, kRows,
     [](const Damage& d) { d.put("/fclib_local/W/p", Ints{0, 1, 2, 3, 9}); },
     ":/fclib_local/W/i: must have at least 9 entries, found 4"},
    {"VectorTooShort", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/vectors/q", Doubles{1, 2, 3}); },
     ":/fclib_local/vectors/q: must have 4 entries, found 3"},
    {"InfInVector", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/vectors/q", Doubles{1, 2, HUGE_VAL, 4}); },
     ":/fclib_local/vectors/q: entry 2 must be finite, found inf"},
    {"NegativeFriction", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/vectors/mu", Doubles{0.5, -0.1}); },
     ":/fclib_local/vectors/mu: entry 1 must be >= 0, found -0.1"},
    {"FrictionOfAnotherCount", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/vectors/mu", Doubles{0.5}); },
     ":/fclib_local/vectors/mu: must have 2 entries, found 1"},
    {"ContactsDoNotDivide", kLocal, kTriplet,
     [](const Damage& d) { d.put("/fclib_local/spacedim", Ints{3}); },
     ":/fclib_local/W: must have a multiple of 3 columns, found 4"},
    {"AnnouncedAndNotStored", kLocal, kTriplet,
     [](const Damage& d) { d.announce("/fclib_local/vectors/q", 4); },
     ":/fclib_local/vectors/q: announces 4 entries, but none is stored"},
    {"GlobalWithoutH", kGlobal, kTriplet, [](const Damage& d) { d.remove("/fclib_global/H"); },
     ":/fclib_global/H: is missing (a group with m, n, nz, p, i, x)"},
    {"GlobalHOfAnotherSize", kGlobal, kTriplet,
     [](const Damage& d) { d.put("/fclib_global/H/m", Ints{5}); },
     ":/fclib_global/H: must be 4 x 4, found 5 x 4"},
    {"GlobalWithoutW", kGlobal, kTriplet,
     [](const Damage& d) { d.remove("/fclib_global/vectors/w"); },
     ":/fclib_global/vectors/w: is missing"},
    {"BilateralWithoutVector", kGlobal, kTriplet,
     [](const Damage& d) {
       d.make_group("/fclib_global/G");
       d.put("/fclib_global/G/m", Ints{4});
       d.put("/fclib_global/G/n", Ints{1});
       d.put("/fclib_global/G/nz", Ints{1});
       d.put("/fclib_global/G/p", Ints{0});
       d.put("/fclib_global/G/i", Ints{0});
       d.put("/fclib_global/G/x", Doubles{1});
     },
     ":/fclib_global/vectors/b: is missing"},
};

class BadHdf5 : public ::testing::TestWithParam<Case> {
 protected:
  BadHdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }
};

std::string complaint(const std::string& path) {
  try {
    static_cast<void>(read_problem(path));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_P(BadHdf5, IsRefusedWithThisMessage) {
  const Case& c = GetParam();
  const TemporaryFolder folder;
  const std::string path = folder.file("f.hdf5");
  write_problem(path, small(c.kind, c.storage), FileFormat::Fclib);
  ASSERT_EQ(complaint(path), "accepted");
  c.damage(Damage(path));
  EXPECT_EQ(complaint(path), path + c.message);
}

INSTANTIATE_TEST_SUITE_P(All, BadHdf5, ::testing::ValuesIn(kCases),
                         [](const ::testing::TestParamInfo<Case>& row) { return row.param.name; });

TEST(BadHdf5File, OversizeIsRefusedBeforeMemoryIsTaken) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const TemporaryFolder folder;
  const std::string path = folder.file("f.hdf5");
  write_problem(path, small(kLocal, kTriplet), FileFormat::Fclib);
  Damage(path).announce("/fclib_local/vectors/q", hsize_t{1} << 40);
  EXPECT_THAT(complaint(path), ::testing::HasSubstr("announces 1099511627776 entries, more than a "
                                                    "file of"));
}

TEST(BadHdf5File, TruncatedIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = read_file(sample("fclib/CubeH8.hdf5"));
  for (const std::size_t size :
       {std::size_t{8}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    write_file(folder.file("f"), whole.substr(0, size));
    EXPECT_EQ(
        complaint(folder.file("f")),
        folder.file("f") + ": is not a readable HDF5 file (truncated or damaged, or not HDF5)");
  }
}

TEST(BadNative, UnknownVersionsAndDamageAreRefused) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const TemporaryFolder folder;
  const std::string path = folder.file("p.h5");
  const auto damaged = [&](const std::function<void(const Damage&)>& damage) {
    write_problem(path, small(kGlobal, kTriplet), FileFormat::Native);
    damage(Damage(path));
    return complaint(path).substr(path.size());
  };
  EXPECT_EQ(damaged([](const Damage& d) { d.put("/orthant_problem/format_version", Ints{2}); }),
            ":/orthant_problem/format_version: is 2, this version of Orthant reads only 1");
  EXPECT_EQ(damaged([](const Damage& d) { d.remove("/orthant_problem/format_version"); }),
            ":/orthant_problem/format_version: is missing");
  EXPECT_EQ(damaged([](const Damage& d) { d.put("/orthant_problem/laws/kind", Ints{5, 99}); }),
            ":/orthant_problem/laws/kind: entry 1 must be 0..7, found 99");
  EXPECT_EQ(damaged([](const Damage& d) { d.put("/orthant_problem/laws/mu", Doubles{1}); }),
            ":/orthant_problem/laws: kind, dim, mu, mu_r, lo and hi must have the same length");
  EXPECT_EQ(
      damaged([](const Damage& d) { d.put("/orthant_problem/D/row_dim", Ints{2, 1000000000}); }),
      ":/orthant_problem/D/values: has too few numbers for its blocks");
  EXPECT_EQ(damaged([](const Damage& d) { d.put("/orthant_problem/H/offsets", Ints{0, 9, 2}); }),
            ":/orthant_problem/H/offsets: must not decrease");
  EXPECT_EQ(damaged([](const Damage& d) { d.put("/orthant_problem/k", Doubles{1, 2}); }),
            ":/orthant_problem: k has 2 rows, expected 4");
  EXPECT_EQ(damaged([](const Damage& d) { d.put("/orthant_problem/b", Doubles{1, 2, 3, kNan}); }),
            ":/orthant_problem: b has a value that is not finite (nan) at position 3");
}

}  // namespace
}  // namespace orthant
