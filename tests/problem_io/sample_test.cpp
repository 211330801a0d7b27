// SPDX-License-Identifier: Apache-2.0
// Every sample has the sizes its provider states, and copies of one problem in different storages
// are one problem.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "orthant/problem_io/problem_file.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::sample;

struct Row {
  const char* file;
  ProblemKind kind;
  int dim;
  Index contacts;
  Index velocities;        // -1: local
  Index nonzeros;          // of W or M, as the provider counts them: stored or, if dense, not zero
  double mu_low, mu_high;  // as printed, one digit
};

constexpr ProblemKind kLocal = ProblemKind::FrictionLocal;
constexpr ProblemKind kGlobal = ProblemKind::FrictionGlobal;

// The table of the data's own description.
const Row kFriction[] = {
    {"Box_Stacks-i0122-82-5.hdf5", kGlobal, 3, 82, 450, 450, 0.3, 0.3},
    {"BoxesStack1-i100000-32.hdf5.dat", kLocal, 3, 52, -1, 5328, 0.7, 0.7},
    {"Capsules-i100-1090.dat", kLocal, 3, 276, -1, 11214, 0.7, 0.7},
    {"Capsules-i100-889.dat", kLocal, 3, 276, -1, 11736, 0.7, 0.7},
    {"Capsules-i101-404.dat", kLocal, 3, 225, -1, 9099, 0.7, 0.7},
    {"Capsules-i122-1617.dat", kLocal, 3, 296, -1, 12420, 0.7, 0.7},
    {"Chute-ndof-768-nc-4-3.hdf5", kGlobal, 5, 4, 768, 1536, 1, 1},
    {"Confeti-ex13-4contact-Fc3D-SBM.dat", kLocal, 3, 4, -1, 144, 0.04, 0.04},
    {"Confeti-ex13-Fc3D-SBM.dat", kLocal, 3, 107, -1, 18171, 0.04, 0.04},
    {"CubeH8.hdf5", kGlobal, 3, 1, 162, 3168, 0.3, 0.3},
    {"FC2D_SliderCrankLagrangian00000.dat", kLocal, 2, 2, -1, 16, 0.01, 0.01},
    {"FC3D_Example1.dat", kLocal, 3, 3, -1, 9, 0.1, 0.1},
    {"FC3D_Example1_SBM.dat", kLocal, 3, 3, -1, 27, 0.1, 0.1},
    {"FrictionContact3D_1c.dat", kLocal, 3, 1, -1, 9, 0.1, 0.1},
    {"FrictionContact3D_RR_1c.dat", kLocal, 3, 1, -1, 9, 0.6, 0.6},
    {"FrictionContactProblem00031.dat", kLocal, 2, 11, -1, 60, 0.9, 0.9},
    {"FrictionContactProblem00071.dat", kLocal, 2, 89, -1, 1148, 0.9, 0.9},
    {"FrictionContactProblem00237.dat", kLocal, 2, 376, -1, 6624, 0.9, 0.9},
    {"FrictionContactProblem00374.dat", kLocal, 2, 28, -1, 76, 0.9, 0.9},
    {"GFC3D_Example0.dat", kGlobal, 3, 1, 9, 9, 0.1, 0.1},
    {"GFC3D_Example00.dat", kGlobal, 3, 1, 3, 3, 0.1, 0.1},
    {"GFC3D_Example0_SBM.dat", kGlobal, 3, 1, 9, 27, 0.1, 0.1},
    {"GFC3D_TwoRods1-condensed.dat", kLocal, 3, 3, -1, 81, 0.1, 0.1},
    {"GFC3D_TwoRods1.dat", kGlobal, 3, 3, 54, 1458, 0.1, 0.1},
    {"GRFC3D_Chute-ndof-768-nc-4-3.dat", kGlobal, 5, 4, 768, 1536, 1, 1},
    {"LMGC_100_PR_PerioBox-i00361-60-03000.hdf5", kLocal, 3, 60, -1, 9576, 0.3, 0.5},
    {"NESpheres_10_1.dat", kLocal, 3, 9, -1, 121, 0.8, 0.8},
    {"OneObject-i100000-499.hdf5.dat", kLocal, 3, 24, -1, 1476, 0.3, 0.3},
    {"OneObject-i1028-138.hdf5.dat", kLocal, 3, 23, -1, 1377, 0.3, 0.3},
    {"RFC3D_cube_1.dat", kLocal, 5, 2, -1, 100, 0.3, 0.3},
    {"RFC3D_sphere_1.dat", kLocal, 5, 1, -1, 9, 0.6, 0.6},
    {"RockPile_tob1.dat", kLocal, 3, 463, -1, 32697, 1, 1},
    {"Rover1039.dat", kLocal, 3, 4, -1, 144, 0.7, 0.7},
    {"Rover1040.dat", kLocal, 3, 5, -1, 225, 0.7, 0.7},
    {"Rover1041.dat", kLocal, 3, 5, -1, 225, 0.7, 0.7},
    {"Rover11035.dat", kLocal, 3, 1, -1, 9, 0.7, 0.7},
    {"Rover3865.dat", kLocal, 3, 5, -1, 225, 0.7, 0.7},
    {"Rover4144.dat", kLocal, 3, 4, -1, 144, 0.7, 0.7},
    {"Rover4396.dat", kLocal, 3, 2, -1, 36, 0.7, 0.7},
    {"Rover4493.dat", kLocal, 3, 4, -1, 144, 0.7, 0.7},
    {"Rover4516.dat", kLocal, 3, 4, -1, 144, 0.7, 0.7},
    {"Spheres-i099-356-679.hdf5", kGlobal, 3, 356, 12000, 12000, 0.7, 0.7},
    {"fc2d_granularflowonwall_00667_00000.dat", kLocal, 2, 667, -1, 3822, 0.5, 0.5},
    {"fc2d_granularflowonwall_07002_00801.dat", kLocal, 2, 7002, -1, 125806, 0.5, 0.5},
    {"gfc2d_granularflowonwall_00000_00117.dat", kGlobal, 2, 0, 900, 900, 0, 0},
    {"gfc2d_granularflowonwall_00230_00206.dat", kGlobal, 2, 230, 9000, 9000, 0.5, 0.5},
    {"rfc3d_sphere_from_grfc3d.dat", kLocal, 5, 2, -1, 100, 0.3, 0.3},
    {"rfc3d_sphere_from_grfc3d_dense.dat", kLocal, 5, 2, -1, 48, 0.3, 0.3},
    {"rockfall_14_25792.dat", kLocal, 5, 14, -1, 650, 0.7, 0.8},
};

Index provider_count(const StoredMatrix& m) {
  if (m.storage != MatrixStorage::Dense) return static_cast<Index>(m.values.size());
  return static_cast<Index>(
      std::count_if(m.values.begin(), m.values.end(), [](double x) { return x != 0; }));
}

class FrictionSample : public ::testing::TestWithParam<Row> {};

TEST_P(FrictionSample, HasTheSizesItsProviderStates) {
  const Row& row = GetParam();
  const std::string path = sample(std::string("fclib/") + row.file);
  const ProblemFile file = read_problem(path);
  EXPECT_EQ(file.kind, row.kind);
  EXPECT_EQ(file.dim, row.dim);
  EXPECT_EQ(file.contact_count(), row.contacts);
  EXPECT_EQ(file.unknown_count(), row.dim * row.contacts);
  EXPECT_EQ(provider_count(file.M), row.nonzeros);
  for (const double mu : file.mu) {
    EXPECT_GE(mu, row.mu_low - 0.05);
    EXPECT_LE(mu, row.mu_high + 0.05);
  }
  EXPECT_EQ(file.mu_r.size(), row.dim == 5 ? file.mu.size() : 0);

  const CanonicalProblem p = to_problem(file);
  EXPECT_EQ(p.velocity_count(), std::max<Index>(row.velocities, 0));
  EXPECT_EQ(p.row_count(), row.dim * row.contacts);
  EXPECT_EQ(p.block_count(), row.contacts);
  EXPECT_NO_THROW(validate(p));
}

/// The rows whose file is here.
std::vector<Row> present_rows() {
  std::vector<Row> rows;
  for (const Row& row : kFriction) {
    if (!sample(std::string("fclib/") + row.file).empty()) rows.push_back(row);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(All, FrictionSample, ::testing::ValuesIn(present_rows()),
                         [](const ::testing::TestParamInfo<Row>& row) {
                           std::string name = row.param.file;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(LcpSample, HasTheSizesItsProviderStates) {
  const std::map<std::string, Index> sizes{{"lcp_CPS_1", 2},
                                           {"lcp_CPS_3", 4},
                                           {"lcp_CPS_4", 4},
                                           {"lcp_CPS_5", 2},
                                           {"lcp_Pang_isolated_sol", 3},
                                           {"lcp_Pang_isolated_sol_perturbed", 3},
                                           {"lcp_deudeu", 2},
                                           {"lcp_deudeu_block", 2},
                                           {"lcp_exp_murty", 6},
                                           {"lcp_mmc", 26},
                                           {"lcp_ortiz", 4},
                                           {"lcp_ortiz_block", 4},
                                           {"lcp_trivial", 9},
                                           {"lcp_trivial_block", 9}};
  for (const auto& [name, n] : sizes) {
    const std::string path = sample("lcp/" + name + ".dat");
    ASSERT_FALSE(path.empty()) << name;
    const ProblemFile file = read_problem(path);
    EXPECT_EQ(file.kind, ProblemKind::Lcp) << name;
    EXPECT_EQ(file.unknown_count(), n) << name;
  }
}

TEST(MlcpSample, HasTheSizesItsProviderStates) {
  const std::map<std::string, std::pair<Index, Index>> sizes{
      {"Buck2_mlcp", {20, 12}},     {"BuckFirstStep_mlcp", {20, 12}},
      {"PD_mlcp", {3, 4}},          {"RCD_mlcp", {2, 1}},
      {"RLCD_mlcp", {6, 2}},        {"deltasigma_mlcp", {65, 156}},
      {"deudeu_mlcp", {1, 1}},      {"diodeBridge40_mlcp", {21, 40}},
      {"diodeBridge_mlcp", {3, 4}}, {"m2n1_mlcp", {1, 2}},
      {"relay3_mlcp", {4, 2}}};
  for (const auto& [name, size] : sizes) {
    const std::string path = sample("mlcp/" + name + ".dat");
    if (path.empty()) continue;
    const ProblemFile file = read_problem(path);
    EXPECT_EQ(file.kind, ProblemKind::Mlcp) << name;
    const CanonicalProblem p = to_problem(file);
    const auto equations = std::count(p.laws.begin(), p.laws.end(), Law::free());
    EXPECT_EQ(equations, size.first) << name;
    EXPECT_EQ(p.row_count() - equations, size.second) << name;
  }
}

TEST(MlcpSample, RectangularProblemIsRefusedClearly) {
  try {
    static_cast<void>(read_problem(sample("mlcp/Rectangular_mlcp.dat")));
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("M must be square with n + m = 2 rows, found 3 "
                                                   "rows and 2 columns"));
    EXPECT_THAT(error.where(), ::testing::HasSubstr("Rectangular_mlcp.dat:13:"));
  }
}

TEST(SampleStorage, DenseFilesAreColumnMajor) {
  // Murty's matrix is upper triangular with twos in the mathematical text; the file lists it column
  // by column, so the first printed "row" 1 0 0 … is the first column.
  const MatX M(to_sparse(read_problem(sample("lcp/lcp_exp_murty.dat")).M));
  EXPECT_EQ(M(0, 1), 2.0);
  EXPECT_EQ(M(1, 0), 0.0);
}

/// Largest difference of two matrices, relative to the largest entry.
double difference(const StoredMatrix& a, const StoredMatrix& b) {
  const MatX A(to_sparse(a)), B(to_sparse(b));
  if (A.rows() != B.rows() || A.cols() != B.cols()) return 1;
  return (A - B).cwiseAbs().maxCoeff() / A.cwiseAbs().maxCoeff();
}

TEST(SampleStorage, CopiesInAnotherStorageAreTheSameProblem) {
  const std::pair<const char*, const char*> copies[] = {
      {"lcp/lcp_deudeu.dat", "lcp/lcp_deudeu_block.dat"},
      {"lcp/lcp_ortiz.dat", "lcp/lcp_ortiz_block.dat"},
      {"lcp/lcp_trivial.dat", "lcp/lcp_trivial_block.dat"},
      {"fclib/FC3D_Example1.dat", "fclib/FC3D_Example1_SBM.dat"},
      {"fclib/GFC3D_Example0.dat", "fclib/GFC3D_Example0_SBM.dat"},
      {"fclib/rfc3d_sphere_from_grfc3d.dat", "fclib/rfc3d_sphere_from_grfc3d_dense.dat"},
      {"fclib/Chute-ndof-768-nc-4-3.hdf5", "fclib/GRFC3D_Chute-ndof-768-nc-4-3.dat"},
  };
  for (const auto& [first, second] : copies) {
    const ProblemFile a = read_problem(sample(first));
    const ProblemFile b = read_problem(sample(second));
    EXPECT_EQ(a.kind, b.kind) << first;
    EXPECT_NE(a.M.storage == b.M.storage && a.format == b.format, true) << first;
    // The short forms have six significant digits: up to half a unit in the sixth, 5e-6, apart.
    EXPECT_LT(difference(a.M, b.M), 5e-6) << first;
    if (a.kind == kGlobal) {
      EXPECT_LT(difference(a.H, b.H), 5e-6) << first;
      EXPECT_LT((a.w - b.w).cwiseAbs().maxCoeff(), 1e-12) << first;
    }
    EXPECT_LE((a.q - b.q).cwiseAbs().maxCoeff(), 1e-12 * a.q.cwiseAbs().maxCoeff()) << first;
    EXPECT_EQ(a.mu, b.mu) << first;
    EXPECT_EQ(a.mu_r, b.mu_r) << first;
  }
}

TEST(SampleKind, ForcingAKindOverridesTheGuess) {
  // M has one row per contact number, so the file can also be read, wrongly, as a local problem.
  const std::string path = sample("fclib/GFC3D_Example00.dat");
  EXPECT_EQ(read_problem(path).kind, kGlobal);
  EXPECT_EQ(read_problem(path, kLocal).kind, kLocal);
  EXPECT_THROW(static_cast<void>(read_problem(path, ProblemKind::Lcp)), Error);
  EXPECT_THROW(static_cast<void>(read_problem(path, ProblemKind::Canonical)), Error);
  EXPECT_THROW(static_cast<void>(read_problem(sample("fclib/CubeH8.hdf5"), kLocal)), Error);
}

TEST(SampleKind, AnEmptyGlobalProblemHasNoContacts) {
  const ProblemFile file = read_problem(sample("fclib/gfc2d_granularflowonwall_00000_00117.dat"));
  EXPECT_EQ(file.H.rows, 900);
  EXPECT_EQ(file.H.cols, 0);
  EXPECT_EQ(to_problem(file).row_count(), 0);
}

}  // namespace
}  // namespace orthant
