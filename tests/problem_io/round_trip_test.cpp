// SPDX-License-Identifier: Apache-2.0
// What is written reads back bit for bit, in every format and storage.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "orthant/base/atomic_file.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::sample;
using testing::TemporaryFolder;

/// Bits, not values: -0.0 is not 0.0 here.
template <class A, class B>
bool same_bits(const A& a, const B& b) {
  return static_cast<std::size_t>(a.size()) == static_cast<std::size_t>(b.size()) &&
         (a.size() == 0 ||
          std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) ==
              0);
}

void expect_same(const StoredMatrix& a, const StoredMatrix& b) {
  EXPECT_EQ(a.storage, b.storage);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.row_ends, b.row_ends);
  EXPECT_EQ(a.col_ends, b.col_ends);
  EXPECT_EQ(a.pointers, b.pointers);
  EXPECT_EQ(a.row_index, b.row_index);
  EXPECT_EQ(a.col_index, b.col_index);
  EXPECT_TRUE(same_bits(a.values, b.values));
}

void expect_same(const ProblemFile& a, const ProblemFile& b) {
  EXPECT_EQ(a.kind, b.kind);
  expect_same(a.M, b.M);
  expect_same(a.H, b.H);
  expect_same(a.G, b.G);
  expect_same(a.R, b.R);
  EXPECT_TRUE(same_bits(a.q, b.q));
  EXPECT_TRUE(same_bits(a.w, b.w));
  EXPECT_TRUE(same_bits(a.b, b.b));
  EXPECT_TRUE(same_bits(a.mu, b.mu));
  EXPECT_TRUE(same_bits(a.mu_r, b.mu_r));
  EXPECT_EQ(a.row_block_ends, b.row_block_ends);
  EXPECT_EQ(a.row_block_is_equation, b.row_block_is_equation);
  EXPECT_EQ(a.has_bilateral, b.has_bilateral);
  if (a.kind != ProblemKind::Lcp && a.kind != ProblemKind::Mlcp) {
    EXPECT_EQ(a.dim, b.dim);
  }
}

void expect_same(const CanonicalProblem& a, const CanonicalProblem& b) {
  EXPECT_EQ(a.laws, b.laws);
  EXPECT_EQ(a.C, b.C);
  EXPECT_EQ(a.D, b.D);
  EXPECT_EQ(a.F, b.F);
  EXPECT_TRUE(same_bits(a.C.all_values(), b.C.all_values()));
  EXPECT_TRUE(same_bits(a.D.all_values(), b.D.all_values()));
  EXPECT_TRUE(same_bits(a.F.all_values(), b.F.all_values()));
  EXPECT_TRUE(same_bits(a.k, b.k));
  EXPECT_TRUE(same_bits(a.e, b.e));
  EXPECT_TRUE(same_bits(a.b, b.b));
  EXPECT_EQ(a.H.kind(), b.H.kind());
  EXPECT_TRUE(std::equal(a.H.offsets().begin(), a.H.offsets().end(), b.H.offsets().begin(),
                         b.H.offsets().end()));
  if (a.H.kind() == VelocityMatrix::Kind::Sparse) {
    expect_same(store(a.H.sparse_matrix()), store(b.H.sparse_matrix()));
  } else {
    for (Index i = 0; i < a.H.block_count(); ++i) {
      const auto size = static_cast<std::size_t>(a.H.block_size(i) * a.H.block_size(i));
      EXPECT_TRUE(same_bits(std::span(a.H.block(i), size), std::span(b.H.block(i), size)));
    }
  }
}

const char* const kSamples[] = {
    "lcp/lcp_mmc.dat",                                // dense
    "lcp/lcp_ortiz_block.dat",                        // sparse block
    "mlcp/diodeBridge40_mlcp.dat",                    // mixed
    "fclib/Confeti-ex13-4contact-Fc3D-SBM.dat",       // local, sparse block
    "fclib/FrictionContactProblem00374.dat",          // planar
    "fclib/rfc3d_sphere_from_grfc3d.dat",             // rolling, compressed columns
    "fclib/GFC3D_TwoRods1.dat",                       // global, sparse block
    "fclib/GRFC3D_Chute-ndof-768-nc-4-3.dat",         // rolling global, triplets
    "fclib/gfc2d_granularflowonwall_00000_00117.dat"  // no contact
};
const char* const kHdf5Samples[] = {"fclib/Box_Stacks-i0122-82-5.hdf5",
                                    "fclib/Chute-ndof-768-nc-4-3.hdf5", "fclib/CubeH8.hdf5",
                                    "fclib/LMGC_100_PR_PerioBox-i00361-60-03000.hdf5"};

TEST(RoundTrip, TextKeepsEveryBitAndTheStorage) {
  const TemporaryFolder folder;
  for (const char* name : kSamples) {
    SCOPED_TRACE(name);
    const ProblemFile file = read_problem(sample(name));
    write_problem(folder.file("copy.dat"), file, FileFormat::Text);
    expect_same(file, read_problem(folder.file("copy.dat")));
  }
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(RoundTrip, FclibKeepsEveryBitAndTheStorage) {
  const TemporaryFolder folder;
  for (const char* name : kHdf5Samples) {
    SCOPED_TRACE(name);
    const ProblemFile file = read_problem(sample(name));
    write_problem(folder.file("copy.hdf5"), file, FileFormat::Fclib);
    const ProblemFile copy = read_problem(folder.file("copy.hdf5"));
    expect_same(file, copy);
    EXPECT_EQ(copy.title, file.title);
    EXPECT_EQ(copy.description, file.description);
    EXPECT_EQ(copy.math_info, file.math_info);
  }
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(RoundTrip, TextToFclibAndBackIsTheSameProblem) {
  const TemporaryFolder folder;
  for (const char* name : kSamples) {
    SCOPED_TRACE(name);
    const ProblemFile file = read_problem(sample(name));
    if (file.kind == ProblemKind::Lcp || file.kind == ProblemKind::Mlcp) continue;
    write_problem(folder.file("a.hdf5"), file, FileFormat::Fclib);
    write_problem(folder.file("b.dat"), read_problem(folder.file("a.hdf5")), FileFormat::Text);
    const ProblemFile back = read_problem(folder.file("b.dat"));
    expect_same(to_problem(file), to_problem(back));
  }
}

TEST(RoundTrip, NativeKeepsEveryBit) {
  const TemporaryFolder folder;
  for (const char* const name : {kSamples[0], kSamples[2], kSamples[3], kSamples[6], kSamples[7],
                                 kHdf5Samples[0], kHdf5Samples[2]}) {
    SCOPED_TRACE(name);
    const ProblemFile file = read_problem(sample(name));
    write_problem(folder.file("p.h5"), file, FileFormat::Native);
    expect_same(to_problem(file), load_problem(folder.file("p.h5")));
    EXPECT_EQ(read_problem(folder.file("p.h5")).kind, ProblemKind::Canonical);
  }
}

/// Small, with every part and every law, and values that are easily lost on the way.
CanonicalProblem everything() {
  CanonicalProblem p;
  double* M = p.H.add_block(2);
  M[0] = 2, M[1] = -0.0, M[2] = 0.1, M[3] = 3;
  p.H.add_block(1)[0] = std::numeric_limits<double>::denorm_min();
  p.k = VecX{{1e300, -0.0, 1.0 / 3}};
  p.C.begin_row(1);
  p.C.add(1, 2, 1)[0] = -5;
  p.e = VecX{{0.25}};
  p.laws = {Law::zero(),
            Law::free(2),
            Law::orthant(2),
            Law::box(-1, 2),
            Law::box(0, HUGE_VAL),
            Law::soc(2, 0.3),
            Law::coulomb(3, 0.7),
            Law::rolling_soc(5, 0.1, 0.01),
            Law::rolling(5, 0.2, 0.02)};
  Index rows = 0;
  for (const Law& law : p.laws) {
    p.D.begin_row(law.dim);
    if (rows % 2 == 0) p.D.add(0, 0, 2)[0] = 1.0 / (rows + 3);
    p.F.begin_row(law.dim);
    p.F.add(static_cast<Index>(&law - p.laws.data()), rows, law.dim)[0] = std::nextafter(1.0, 2.0);
    rows += law.dim;
  }
  p.b = VecX::LinSpaced(rows, -1, 1);
  return p;
}

TEST(RoundTrip, NativeHoldsEveryPartOfACanonicalProblem) {
  const TemporaryFolder folder;
  CanonicalProblem p = everything();
  save_problem(folder.file("p.h5"), p);
  expect_same(p, load_problem(folder.file("p.h5")));

  SparseMatrix H(3, 3);  // with a stored zero, which is part of the pattern
  H.insert(0, 0) = 1, H.insert(1, 1) = 2, H.insert(2, 2) = 3, H.insert(0, 2) = 0;
  H.makeCompressed();
  p.H = VelocityMatrix::sparse(H, {0, 2, 3});
  save_problem(folder.file("p.h5"), p);
  expect_same(p, load_problem(folder.file("p.h5")));
  EXPECT_EQ(load_problem(folder.file("p.h5")).H.sparse_matrix().nonZeros(), 4);
}

TEST(RoundTrip, NativeRefusesWhatItCannotHold) {
  struct Identity final : VelocityOperator {
    void multiply(const VecX& v, VecX& y) const override { y = v; }
    void solve(const VecX& y, VecX& v) const override { v = y; }
  };
  const TemporaryFolder folder;
  CanonicalProblem p;
  p.H = VelocityMatrix::from_operator(std::make_shared<Identity>(), {0, 1});
  p.k = VecX::Zero(1);
  EXPECT_THROW(save_problem(folder.file("p.h5"), p), Error);
  EXPECT_EQ(folder.file_count(), 0U);
}

TEST(RoundTrip, AllStoragesAndAwkwardNumbersSurviveText) {
  ProblemFile file;
  file.kind = ProblemKind::Lcp;
  file.q = VecX{{-0.0, 5e-324}};
  StoredMatrix& M = file.M;
  M.rows = M.cols = 2;
  M.storage = MatrixStorage::Dense;
  M.values = {1.0 / 3, -0.0, 1.7976931348623157e308, 2.2250738585072014e-308};
  expect_same(file, parse_problem_text(problem_text(file), "dense"));

  M.storage = MatrixStorage::Triplet;  // repeated, unordered
  M.row_index = {1, 0, 1, 1};
  M.col_index = {1, 0, 1, 0};
  expect_same(file, parse_problem_text(problem_text(file), "triplet"));

  M.storage = MatrixStorage::CompressedColumns;
  M.pointers = {0, 4, 4};  // an empty column
  M.row_index = {1, 0, 1, 0};
  M.col_index = {};
  expect_same(file, parse_problem_text(problem_text(file), "columns"));

  M.storage = MatrixStorage::CompressedRows;  // no text form: the same values as triplets
  M.col_index = M.row_index;
  M.row_index = {};
  const ProblemFile back = parse_problem_text(problem_text(file), "rows");
  EXPECT_EQ(back.M.storage, MatrixStorage::Triplet);
  EXPECT_EQ(MatX(to_sparse(back.M)), MatX(to_sparse(file.M)));
}

TEST(Bilateral, GlobalRowsBecomeC) {
  // One mass of 2 held by G' v + b = 0 with G = 4, b = 8: v = -2.
  ProblemFile file;
  file.kind = ProblemKind::FrictionGlobal;
  file.dim = 2;
  file.M = {MatrixStorage::Dense, 2, 2, {}, {}, {}, {}, {}, {2, 0, 0, 2}};
  file.H = {MatrixStorage::Dense, 2, 2, {}, {}, {}, {}, {}, {1, 0, 0, 1}};
  file.q = VecX{{1, 2}};
  file.w = VecX::Zero(2);
  file.mu = {0.5};
  file.has_bilateral = true;
  file.G = {MatrixStorage::Dense, 2, 1, {}, {}, {}, {}, {}, {4, 0}};
  file.b = VecX{{8}};
  const CanonicalProblem p = to_problem(file);
  ASSERT_EQ(p.C.rows(), 1);
  VecX y;
  p.C.multiply(VecX{{-2, 0}}, y);
  EXPECT_EQ(y[0] + p.e[0], 0);

  const TemporaryFolder folder;
  write_problem(folder.file("g.hdf5"), file, FileFormat::Fclib);
  expect_same(p, to_problem(read_problem(folder.file("g.hdf5"))));
  EXPECT_THROW(write_problem(folder.file("g.dat"), file, FileFormat::Text), Error);
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(Bilateral, LocalRowsBecomeFreeBlocksAfterTheContacts) {
  // u = W r + V l + q, V' r + R l + s = 0, all written out by hand.
  ProblemFile file;
  file.kind = ProblemKind::FrictionLocal;
  file.dim = 2;
  file.M = {MatrixStorage::Dense, 2, 2, {}, {}, {}, {}, {}, {3, 1, 2, 4}};  // W = [3 2; 1 4]
  file.q = VecX{{-1, -2}};
  file.mu = {0.5};
  file.has_bilateral = true;
  file.G = {MatrixStorage::Dense, 2, 1, {}, {}, {}, {}, {}, {5, 6}};
  file.R = {MatrixStorage::Dense, 1, 1, {}, {}, {}, {}, {}, {7}};
  file.b = VecX{{9}};
  const CanonicalProblem p = to_problem(file);
  ASSERT_EQ(p.row_count(), 3);
  EXPECT_EQ(p.laws[1], Law::free());
  VecX y;
  p.F.multiply(VecX{{1, 10, 100}}, y);
  EXPECT_EQ(y, (VecX{{3 + 20 + 500, 1 + 40 + 600, 5 + 60 + 700}}));
  EXPECT_EQ(p.b, (VecX{{-1, -2, 9}}));

  const TemporaryFolder folder;
  write_problem(folder.file("l.hdf5"), file, FileFormat::Fclib);
  expect_same(p, to_problem(read_problem(folder.file("l.hdf5"))));
}

TEST(Mlcp, InterleavedBlocksKeepTheFilesOrder) {
  // Rows: complementary, equation, complementary. Second copy grouped: A = 5, B, C, D.
  const std::string text =
      "1 1 1 2  0 1 2 3  1 0 1  0 3 3 3 3  1 4 7  2 5 8  3 6 9  10 20 30 "
      "5  1 3 7 9  4 6  2 8  20  10 30";
  const ProblemFile file = parse_problem_text(text, "t");
  const CanonicalProblem p = to_problem(file);
  EXPECT_EQ(p.laws[0].kind, LawKind::Orthant);
  EXPECT_EQ(p.laws[1].kind, LawKind::Free);
  EXPECT_EQ(p.laws[2].kind, LawKind::Orthant);
  EXPECT_EQ(p.b, (VecX{{10, 20, 30}}));
  expect_same(file, parse_problem_text(problem_text(file), "t"));
}

TEST(Mlcp, TheSecondCopyAloneIsEnough) {
  const ProblemFile file = parse_problem_text("0 1 1 1  2 3 4 5  6 7", "t");  // A B C D a b
  const MatX M(to_sparse(file.M));
  EXPECT_EQ(M, (MatX{{2, 4}, {5, 3}}));
  EXPECT_EQ(file.q, (VecX{{6, 7}}));
}

TEST(AtomicFile, LeavesNothingBehindWithoutACommit) {
  const TemporaryFolder folder;
  write_file(folder.file("a"), "old");
  {
    const AtomicFile out(folder.file("a"));
    EXPECT_EQ(folder.file_count(), 2U);
  }
  EXPECT_EQ(folder.file_count(), 1U);
  EXPECT_EQ(read_file(folder.file("a")), "old");
  write_file(folder.file("a"), "new");
  EXPECT_EQ(read_file(folder.file("a")), "new");
  EXPECT_EQ(folder.file_count(), 1U);
  EXPECT_THROW(write_file(folder.file("no/such/folder"), "x"), Error);
  EXPECT_THROW(static_cast<void>(read_file(folder.file("missing"))), Error);
  EXPECT_THROW(static_cast<void>(read_file(folder.file(""))), Error);
}

}  // namespace
}  // namespace orthant
