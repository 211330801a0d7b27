// SPDX-License-Identifier: Apache-2.0
// learn/identify.cpp: rows of an unknown complementarity problem by linear programs.
#include "orthant/learn/identify.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

constexpr double kMisfit = 1e-4;    // mean of λ_i w_i over those of λ_i and w_i
constexpr double kPositive = 1e-9;  // of the largest λ: smaller ones count as zero

std::string name_at(const std::vector<std::string>& names, Index i, const char* otherwise) {
  return static_cast<std::size_t>(i) < names.size() ? names[static_cast<std::size_t>(i)]
                                                    : std::string(otherwise) + std::to_string(i);
}

void check(const LcpSamples& s, Index unknowns) {
  if (s.lambda.cols() != s.features.cols())
    throw Error("samples", std::to_string(s.lambda.cols()) + " solutions, " +
                               std::to_string(s.features.cols()) + " features");
  if (s.lambda.rows() == 0) throw Error("samples", "solutions are empty");
  if (s.lambda.cols() < unknowns)
    throw Error("samples", "too few: " + std::to_string(s.lambda.cols()) + " for " +
                               std::to_string(unknowns) + " unknowns per row");
  if (!s.lambda.allFinite() || !s.features.allFinite())
    throw Error("samples", "a number is not finite");
  if (s.lambda.minCoeff() < 0)
    throw Error("samples", "a solution is negative: " + to_text(s.lambda.minCoeff()));
}

/// One sample per row: (λ, d), each column scaled to unit length so that singular values compare.
struct Regressor {
  MatX A;
  VecX scale;
};

Regressor regressor(const MatX& columns) {
  Regressor r{columns, VecX::Ones(columns.cols())};
  for (Index j = 0; j < columns.cols(); ++j) {
    const double norm = columns.col(j).norm() / std::sqrt(static_cast<double>(columns.rows()));
    if (norm > 0) r.scale[j] = 1 / norm;
    r.A.col(j) *= r.scale[j];
  }
  return r;
}

/// min Σ_k cost_k (A x)_k + l1 |x|₁, A x >= 0, mean of A x = 1.
LinearProgramResult solve_row(const MatX& A, const VecX& cost, double l1) {
  const Index m = static_cast<Index>(A.rows()), n = static_cast<Index>(A.cols());
  const bool regularised = l1 > 0;
  LinearProgram lp;
  const Index unknowns = regularised ? 2 * n : n, rows = regularised ? m + 2 * n : m;
  lp.c = VecX::Zero(unknowns);
  lp.c.head(n) = A.transpose() * cost / static_cast<double>(m);
  lp.G = MatX::Zero(rows, unknowns);
  lp.G.topLeftCorner(m, n) = A;
  if (regularised) {  // −s <= x <= s
    lp.c.tail(n).setConstant(l1);
    lp.G.block(m, 0, n, n).setIdentity();
    lp.G.block(m, n, n, n).setIdentity();
    lp.G.block(m + n, 0, n, n) = -MatX::Identity(n, n);
    lp.G.block(m + n, n, n, n).setIdentity();
  }
  lp.h = VecX::Zero(rows);
  lp.E = MatX::Zero(1, unknowns);
  lp.E.row(0).head(n) = A.colwise().mean();
  lp.f = VecX::Ones(1);
  LinearProgramResult r = solve_linear_program(lp, 1e-8, 200);
  r.x = r.x.head(n).eval();
  return r;
}

struct NullSpace {
  MatX basis;  // columns
};

NullSpace null_space(const MatX& A, double tolerance) {
  const Eigen::JacobiSVD<MatX, Eigen::ColPivHouseholderQRPreconditioner> svd(
      A.rows() >= A.cols() ? A : MatX(A.transpose() * A), Eigen::ComputeFullV);
  const VecX& sigma = svd.singularValues();
  Index rank = 0;
  while (rank < sigma.size() && sigma[rank] > tolerance * sigma[0]) ++rank;
  return {svd.matrixV().rightCols(A.cols() - rank)};
}

/// The rows that the tight samples allow are combinations of these, each with as few entries as
/// elimination leaves it. More than one: the row is not determined.
void find_open(const MatX& tight, double tolerance, const std::vector<std::string>& names,
               IdentifiedRow& row) {
  MatX null = null_space(tight, tolerance).basis.transpose();
  row.freedom = std::max<Index>(0, static_cast<Index>(null.rows()) - 1);
  if (row.freedom == 0) return;
  for (Index k = 0; k < null.rows(); ++k) {
    Index r = 0, c = 0;
    null.bottomRows(null.rows() - k).cwiseAbs().maxCoeff(&r, &c);
    null.row(k).swap(null.row(k + r));
    null.row(k) /= null(k, c);
    for (Index i = 0; i < null.rows(); ++i)
      if (i != k) null.row(i) -= (null(i, c) * null.row(k)).eval();
  }
  for (Index k = 0; k < null.rows(); ++k) {
    std::string text;
    for (Index j = 0; j < null.cols(); ++j) {
      if (std::abs(null(k, j)) < 1e-6) continue;
      text += (text.empty() ? "" : " with ") + names[static_cast<std::size_t>(j)];
    }
    row.open.push_back(text);
  }
}

}  // namespace

IdentifiedLcp identify_lcp(const LcpSamples& samples, const IdentifyOptions& options) {
  const Index n = static_cast<Index>(samples.lambda.rows());
  const Index p = static_cast<Index>(samples.features.rows());
  const Index count = static_cast<Index>(samples.lambda.cols());
  check(samples, n + p);
  if (options.allowed.size() > 0 &&
      (options.allowed.rows() != n || options.allowed.cols() != n + p))
    throw Error("allowed", "must be " + std::to_string(n) + " x " + std::to_string(n + p));
  IdentifiedLcp out;
  out.M = MatX::Zero(n, n);
  out.W = MatX::Zero(n, p);
  out.converged = true;
  out.notes.push_back(
      "each row is known up to a positive factor only; here the mean of w over the samples is 1");
  MatX all(count, n + p);
  all << samples.lambda.transpose(), samples.features.transpose();
  const double positive = kPositive * samples.lambda.maxCoeff();
  for (Index i = 0; i < n; ++i) {
    std::vector<Index> columns, tight;
    std::vector<std::string> names;
    for (Index j = 0; j < n + p; ++j) {
      if (options.allowed.size() > 0 && !options.allowed(i, j)) continue;
      columns.push_back(j);
      names.push_back(j < n ? "M(" + name_at(samples.lambda_names, i, "lambda") + ", " +
                                  name_at(samples.lambda_names, j, "lambda") + ")"
                            : "W(" + name_at(samples.lambda_names, i, "lambda") + ", " +
                                  name_at(samples.feature_names, j - n, "d") + ")");
    }
    for (Index k = 0; k < count; ++k)
      if (samples.lambda(i, k) > positive) tight.push_back(k);
    const std::string where = "row of " + name_at(samples.lambda_names, i, "lambda");
    if (tight.empty()) throw Error(where, "is never pressed: its λ is zero in every sample");
    MatX part(count, static_cast<Index>(columns.size()));
    for (std::size_t j = 0; j < columns.size(); ++j)
      part.col(static_cast<Index>(j)) = all.col(columns[j]);
    const Regressor r = regressor(part);
    const VecX cost = samples.lambda.row(i).transpose() / samples.lambda.row(i).mean();
    const LinearProgramResult lp = solve_row(r.A, cost, options.l1);
    out.converged = out.converged && lp.converged;
    const VecX w = r.A * lp.x;
    IdentifiedRow row;
    row.complementarity = std::abs(cost.dot(w)) / count;
    row.violation = std::max(0.0, -w.minCoeff());
    row.tight = static_cast<Index>(tight.size());
    MatX T(row.tight, static_cast<Index>(columns.size()));
    for (std::size_t k = 0; k < tight.size(); ++k) T.row(static_cast<Index>(k)) = r.A.row(tight[k]);
    find_open(T, options.tolerance, names, row);
    std::string open;
    for (const std::string& o : row.open) open += (open.empty() ? "" : "; ") + o;
    if (row.freedom > 0)
      out.notes.push_back(where + ": any combination of these fits the samples: " + open);
    if (row.complementarity > kMisfit)
      out.notes.push_back(where +
                          ": no row that is not zero on all samples makes them complementary");
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const double value = lp.x[static_cast<Index>(j)] * r.scale[static_cast<Index>(j)];
      (columns[j] < n ? out.M(i, columns[j]) : out.W(i, columns[j] - n)) = value;
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

StructuredLcp identify_structured(const LcpSamples& samples, const LcpBasis& basis, double l1) {
  const Index n = static_cast<Index>(samples.lambda.rows());
  const Index p = static_cast<Index>(samples.features.rows());
  const Index count = static_cast<Index>(samples.lambda.cols());
  const auto terms = static_cast<Index>(basis.M.size());
  if (basis.M.size() != basis.W.size() || basis.M.empty())
    throw Error("basis", "needs as many matrices for M as for W, at least one");
  for (std::size_t j = 0; j < basis.M.size(); ++j) {
    if (basis.M[j].rows() != n || basis.M[j].cols() != n || basis.W[j].rows() != n ||
        basis.W[j].cols() != p)
      throw Error("basis", "term " + std::to_string(j) + " has the wrong size");
  }
  check(samples, (terms + n - 1) / n);
  // All rows of all samples, one after another: w = Σ c_j (M_j λ + W_j d).
  MatX columns(n * count, terms);
  for (Index j = 0; j < terms; ++j) {
    const MatX w = basis.M[static_cast<std::size_t>(j)] * samples.lambda +
                   basis.W[static_cast<std::size_t>(j)] * samples.features;
    columns.col(j) = Eigen::Map<const VecX>(w.data(), w.size());
  }
  const Regressor r = regressor(columns);
  const VecX lambda = Eigen::Map<const VecX>(samples.lambda.data(), samples.lambda.size());
  const LinearProgramResult lp = solve_row(r.A, lambda / lambda.mean(), l1);
  StructuredLcp out;
  out.converged = lp.converged;
  out.coefficients = lp.x.cwiseProduct(r.scale);
  out.complementarity = std::abs(lambda.dot(r.A * lp.x)) / (lambda.mean() * lambda.size());
  std::vector<Index> tight;
  for (Index k = 0; k < lambda.size(); ++k)
    if (lambda[k] > kPositive * lambda.maxCoeff()) tight.push_back(k);
  MatX T(static_cast<Index>(tight.size()), terms);
  for (std::size_t k = 0; k < tight.size(); ++k) T.row(static_cast<Index>(k)) = r.A.row(tight[k]);
  out.freedom = std::max<Index>(0, static_cast<Index>(null_space(T, 1e-8).basis.cols()) - 1);
  out.M = MatX::Zero(n, n);
  out.W = MatX::Zero(n, p);
  for (Index j = 0; j < terms; ++j) {
    out.M += out.coefficients[j] * basis.M[static_cast<std::size_t>(j)];
    out.W += out.coefficients[j] * basis.W[static_cast<std::size_t>(j)];
  }
  return out;
}

CostValue friction_loss(const LcpSamples& samples, const MatX& targets, const VecX& parameters,
                        const FrictionLossWeights& weights) {
  const Index n = static_cast<Index>(samples.lambda.rows());
  const Index p = static_cast<Index>(samples.features.rows());
  if (targets.rows() != n || targets.cols() != samples.lambda.cols() ||
      parameters.size() != n * (n + p))
    throw Error("friction loss", "sizes of samples, targets and parameters do not fit");
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const RowMajor> A(parameters.data(), n, p), G(parameters.data() + n * p, n, n);
  const MatX x = A * samples.features + G * samples.lambda;
  const MatX error = x - targets;
  CostValue out;
  out.cost = weights.prediction * error.squaredNorm() +
             weights.complementarity * samples.lambda.cwiseProduct(x).cwiseAbs().sum() +
             weights.sign * (-x).cwiseMax(0.0).sum();
  MatX by = 2 * weights.prediction * error;
  for (Index k = 0; k < x.cols(); ++k) {
    for (Index i = 0; i < n; ++i) {
      const double side = x(i, k) > 0 ? 1 : x(i, k) < 0 ? -1 : 0;
      by(i, k) += weights.complementarity * std::abs(samples.lambda(i, k)) * side -
                  weights.sign * (x(i, k) < 0 ? 1 : 0);
    }
  }
  out.gradient.resize(parameters.size());
  Eigen::Map<RowMajor>(out.gradient.data(), n, p) = by * samples.features.transpose();
  Eigen::Map<RowMajor>(out.gradient.data() + n * p, n, n) = by * samples.lambda.transpose();
  return out;
}

}  // namespace orthant
