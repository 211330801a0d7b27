// SPDX-License-Identifier: Apache-2.0
// Broken text files are refused with the position, what was found and what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "orthant/base/atomic_file.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::sample;
using testing::TemporaryFolder;

std::string complaint(const std::string& text, std::optional<ProblemKind> kind = {}) {
  try {
    static_cast<void>(parse_problem_text(text, "f.dat", kind));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

struct Case {
  const char* name;
  const char* text;
  const char* message;
};

constexpr ProblemKind kLcp = ProblemKind::Lcp;
constexpr ProblemKind kMlcp = ProblemKind::Mlcp;
constexpr ProblemKind kLocal = ProblemKind::FrictionLocal;
constexpr ProblemKind kGlobal = ProblemKind::FrictionGlobal;

class BadText : public ::testing::TestWithParam<Case> {};

TEST_P(BadText, IsRefusedWithThisMessage) {
  EXPECT_EQ(complaint(GetParam().text), GetParam().message);
}

const Case kCases[] = {
    {"Empty", "", "f.dat: the file is empty, expected an LCP, MLCP or friction problem"},
    {"OnlyBlanks", " \n\t\r\n",
     "f.dat: the file is empty, expected an LCP, MLCP or friction problem"},
    {"Prose", "hello world",
     "f.dat:1:1: expected a number: an LCP begins with its size, an MLCP with two flags (0 or 1), "
     "a friction problem with the numbers per contact (2, 3 or 5)"},
    {"Negative", "-3 0 3 3",
     "f.dat:1:1: expected a number: an LCP begins with its size, an MLCP with two flags (0 or 1), "
     "a friction problem with the numbers per contact (2, 3 or 5)"},
    {"TooLargeForAnInteger", "99999999999999999999 0",
     "f.dat:1:1: expected a number: an LCP begins with its size, an MLCP with two flags (0 or 1), "
     "a friction problem with the numbers per contact (2, 3 or 5)"},
    {"LcpTruncatedInMatrix", "2 0 2 2 2 2\n1 2 3",
     "f.dat:2:1: M: 4 entries are announced, but the file has only 5 bytes left (read as an LCP)"},
    {"LcpTruncatedInVector", "2 0 2 2 2 2 1 2 3 4 5",
     "f.dat:1:21: q: 2 entries are announced, but the file has only 1 bytes left (read as an LCP)"},
    {"LcpNan", "2 0 2 2 2 2 1 2 nan 4 5 6",
     "f.dat:1:17: M[2] must be finite, found 'nan' (read as an LCP)"},
    {"LcpInf", "2 0 2 2 2 2 1 2 3 4 5 -inf",
     "f.dat:1:23: q[1] must be finite, found '-inf' (read as an LCP)"},
    {"LcpOverflow", "2 0 2 2 2 2 1 2 1e999 4 5 6",
     "f.dat:1:17: M[2] does not fit a double, found '1e999' (read as an LCP)"},
    {"LcpWordInMatrix", "2 0 2 2 2 2\n1 2\n3 x4y 5 6",
     "f.dat:3:3: M[3] must be a number, found 'x4y' (read as an LCP)"},
    {"LcpGluedNumbers", "2 0 2 2 2 2 1 2 3,4 5 6 7",
     "f.dat:1:17: M[2] must be a number, found '3,4' (read as an LCP)"},
    {"LcpNotSquare", "7 0 7 3 7 3 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 0 0 0",
     "f.dat:1:64: M must be 7 x 7, found 7 rows and 3 columns (read as an LCP)"},
    {"LcpRepeatedCountDiffers", "4 0 4 4 4 5 1",
     "f.dat:1:11: M: columns, repeated, must be an integer equal to 4, found '5' (read as an LCP)"},
    {"LcpOversize", "100000 0 100000 100000 100000 100000 1 2 3",
     "f.dat:1:38: M: 10000000000 entries are announced, but the file has only 5 bytes left (read "
     "as an LCP)"},
    {"UnknownStorage", "4 3 4 4 0",
     "f.dat:1:3: M: storage (0 dense, 1 sparse block, 2 sparse) must be an integer 0..2, found '3' "
     "(read as an LCP)"},
    {"BlocksOversize", "4 1 4 4 2000000000 2000000000 2 1 2",
     "f.dat:1:33: M: block row ends: 2000000000 entries are announced, but the file has only 3 "
     "bytes left (read as an LCP)"},
    {"BlockEndsTooShort", "4 1 4 4 1 1 1 3 4 2 1 0 1 0 0 1 2 3 4",
     "f.dat:1:15: M: block row end stop at 3, expected 4 (read as an LCP)"},
    {"BlockColumnOutside", "4 1 4 4 1 1 1 4 4 2 1 0 1 1 0 1 2 3 4",
     "f.dat:1:27: M: block column must be an integer equal to 0, found '1' (read as an LCP)"},
    {"BlockNumberWrong", "4 1 4 4 1 1 1 4 4 2 1 0 1 0 5 1 2 3 4",
     "f.dat:1:29: M: running number of the block must be an integer equal to 0, found '5' (read as "
     "an LCP)"},
    {"SparseUnknownOrigin", "4 2 4 4 3\nbanner\n",
     "f.dat:1:9: M: origin (1 triplets, 2 compressed columns) must be an integer 1..2, found '3' "
     "(read as an LCP)"},
    {"TripletRowOutside", "4 2 4 4 1\nbanner\ntriplet: 4-by-4, nzmax: 1 nnz: 1\n  4 0 : 1\n0 0 0 0",
     "f.dat:4:3: M: row must be an integer 0..3, found '4' (read as an LCP)"},
    {"TripletWithoutColon", "4 2 4 4 1\nbanner\ntriplet: 4-by-4, nzmax: 1 nnz: 1\n  3 0 1\n0 0 0 0",
     "f.dat:4:7: expected ':', found '1' (read as an LCP)"},
    {"TripletHeaderMissing", "4 2 4 4 1\nbanner\n3 3 : 1\n",
     "f.dat:3:1: expected 'triplet:', found '3' (read as an LCP)"},
    {"TripletOversize", "4 2 4 4 1\nbanner\ntriplet: 4-by-4, nzmax: 1 nnz: 1000000000\n0 0 : 1\n",
     "f.dat:4:1: M: 1000000000 entries are announced, but the file has only 8 bytes left (read as "
     "an LCP)"},
    {"ColumnsOutOfOrder",
     "4 2 4 4 2\nbanner\n4-by-4, nzmax: 1 nnz: 1, 1-norm: 1\ncol 0 : locations 0 to 0\n0 : 1\n"
     "col 2 : locations 1 to 0\ncol 1 : locations 1 to 0\ncol 3 : locations 1 to 0\n0 0 0 0",
     "f.dat:6:5: M: column must be an integer equal to 1, found '2' (read as an LCP)"},
    {"ColumnsFewerThanAnnounced",
     "1 2 1 1 2\nbanner\n1-by-1, nzmax: 9 nnz: 2, 1-norm: 1\ncol 0 : locations 0 to 0\n0 : 1\n0 0 "
     "0 0",
     "f.dat:5:5: M: the header announces 2 entries, the columns have 1 (read as an LCP)"},
    {"MlcpTruncatedInCopy", "0 1 1 1 2 3 4 5 6",
     "f.dat:1:18: the file ends before b: 1 entries expected (read as an MLCP)"},
    {"MlcpCopiesDisagree", "1 1 1 1  0 1 2  0 1  0 2 2 2 2  1 2 3 4  5 6  1 4 3 9  5 6",
     "f.dat:1:58: the two copies of the problem disagree: M(1,0) is 2 in the first and 9 in the "
     "second (read as an MLCP)"},
    {"MlcpWrongNumberOfEquations", "1 0 2 1  0 1 3  0 1  0 3 3 3 3 1 2 3 4 5 6 7 8 9 1 2 3",
     "f.dat:1:19: the blocks have 1 equations, n says 2 (read as an MLCP)"},
    {"MlcpBlockStartsDecrease", "1 0 2 2  0 3 2 4  0 1",
     "f.dat:1:14: block start must be an integer equal to 4, found '2' (read as an MLCP)"},
    {"FrictionNegative", "3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 -1 0 0 -0.5",
     "f.dat:1:40: mu[0] must be >= 0, found '-0.5' (read as a friction problem)"},
    {"FrictionNan", "3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 -1 0 0 NaN",
     "f.dat:1:40: mu[0] must be finite, found 'NaN' (read as a friction problem)"},
    {"FrictionMissing", "3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 -1 0 0",
     "f.dat:1:39: the file ends before mu: 1 entries expected (read as a friction problem)"},
    {"FrictionNotSquare", "3 1 0 3 2 3 2 1 0 0 0 1 0 -1 0 0 0.5",
     "f.dat:1:25: M must be square, found 3 rows and 2 columns (read as a friction problem)"},
    {"RollingWithoutRollingFriction",
     "5 1 0 5 5 5 5 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1 0 0 0 0 0 1 -1 0 0 0 0 0.5",
     "f.dat:1:79: the file ends before mu_r: 1 entries expected (read as a friction problem)"},
    {"GlobalTruncatedInH", "3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 0 3 3 3 3 1 0 0",
     "f.dat:1:43: H: 9 entries are announced, but the file has only 5 bytes left (read as a "
     "friction problem)"},
    {"GlobalHOfAnotherSize",
     "3 1 0 4 4 4 4 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 0 4 2 4 2 1 2 3 4 5 6 7 8",
     "f.dat:1:71: H must have 4 rows (as M) and dim x contacts = 3 columns, found 4 rows and 2 "
     "columns (read as a friction problem)"},
};

INSTANTIATE_TEST_SUITE_P(All, BadText, ::testing::ValuesIn(kCases),
                         [](const ::testing::TestParamInfo<Case>& row) { return row.param.name; });

TEST(BadTextKind, AForcedKindSpeaksOnlyOfThatKind) {
  EXPECT_EQ(complaint("3 1 0 9 9 9 9 1", kLocal),
            "f.dat:1:15: W: 81 entries are announced, but the file has only 1 bytes left");
  EXPECT_EQ(complaint("3 1000000000 0 3 3", kLocal),
            "f.dat:1:3: number of contacts must be an integer 0..715827882, found '1000000000'");
  EXPECT_EQ(complaint("0 0 1 1 5", kMlcp),
            "f.dat:1:3: both flags are 0: the file holds no problem");
  EXPECT_EQ(complaint("4 1 0 4 3 4 4", kLocal), "f.dat:1:1: dim must be 2, 3 or 5, found '4'");
  EXPECT_EQ(complaint("2 0 2 2 2 2 1 2 3 4 5 6", kMlcp),
            "f.dat:1:1: flag 'M is given' must be an integer 0..1, found '2'");
  EXPECT_EQ(complaint("hello", kLcp), "f.dat:1:1: n must be an integer >= 0, found 'hello'");
  EXPECT_EQ(complaint("2 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 1 1 1 1", kLocal),
            "f.dat:1:31: W must have dim x contacts = 2 rows, found 3 rows and 3 columns");
  EXPECT_THAT(complaint("2 0 2 2 2 2 1 2 3 4 5 6", ProblemKind::Canonical),
              ::testing::HasSubstr("HDF5"));
  EXPECT_THAT(complaint("3 1 0 3 3 3 3 1 0 0 0 1 0 0 0 1 -1 0 0 0.5", kGlobal),
              ::testing::HasSubstr("H: storage"));
}

TEST(BadTextKind, UnknownNamesGetASuggestion) {
  EXPECT_EQ(problem_kind_of("global"), kGlobal);
  try {
    static_cast<void>(problem_kind_of("mlpc"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "kind: unknown 'mlpc' (did you mean 'mlcp'?); allowed: lcp mlcp friction_local "
                 "friction_global canonical");
  }
  EXPECT_THROW(static_cast<void>(file_format_of("hdf")), Error);
}

/// Cut at any byte, a sample is refused or, where only its last number or a comment was cut, read.
TEST(TruncatedText, EveryPrefixIsRefusedOrCompleteAndNeverCrashes) {
  for (const char* name :
       {"lcp/lcp_ortiz_block.dat", "mlcp/m2n1_mlcp.dat", "fclib/GFC3D_Example00.dat",
        "fclib/rfc3d_sphere_from_grfc3d.dat", "fclib/FrictionContact3D_RR_1c.dat"}) {
    const std::string text = read_file(sample(name));
    const ProblemFile whole = parse_problem_text(text, name);
    std::size_t accepted = 0;
    for (std::size_t size = 0; size < text.size(); ++size) {
      try {
        const ProblemFile part = parse_problem_text(text.substr(0, size), name);
        EXPECT_EQ(part.kind, whole.kind) << name << " cut at " << size;
        ++accepted;
      } catch (const Error&) {
      }
    }
    // Only inside the last number, or in what follows it.
    EXPECT_LT(accepted, 100U) << name;
  }
}

TEST(UnreadableFile, IsNamed) {
  const TemporaryFolder folder;
  const auto complain = [](const std::string& path) -> std::string {
    try {
      static_cast<void>(read_problem(path));
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(complain(folder.file("no")), folder.file("no") +
                                             ": cannot be opened: No such file or "
                                             "directory");
  EXPECT_THAT(complain(folder.file("")), ::testing::HasSubstr("is a folder, expected a file"));
  write_file(folder.file("zero"), std::string(100, '\0'));
  EXPECT_THAT(complain(folder.file("zero")), ::testing::HasSubstr("neither text nor HDF5"));
}

}  // namespace
}  // namespace orthant
