// SPDX-License-Identifier: Apache-2.0
// Derivatives of a solution: against differences at smooth points, against closed forms, with
// redundant rows, at kinks.
#include "orthant/gradient/solution.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <Eigen/SVD>
#include <cmath>

#include "math/law_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

/// Bodies with 3 velocities, orthonormal contact frames and joints; b is set so that a known pair
/// (λ, w) away from every border obeys the law.
CanonicalProblem random_problem(SplitMix& random, const std::vector<Law>& laws, int bodies,
                                int joints, Solution& x) {
  CanonicalProblem p;
  p.laws = laws;
  for (int i = 0; i < bodies; ++i) {
    double* m = p.H.add_block(3);
    for (int r = 0; r < 3; ++r) m[r * 3 + r] = random.uniform(1, 3);
    m[1] = m[3] = random.uniform(-0.3, 0.3);
  }
  const auto add_row = [&](BlockRows& rows, int dim) {
    rows.begin_row(dim);
    const int a = random.index(bodies), b = (a + 1 + random.index(bodies - 1)) % bodies;
    for (const int body : {a, b}) {
      double* d = rows.add(body, 3 * body, 3);
      for (int t = 0; t < 3 * dim; ++t) d[t] = random.uniform(-1, 1);
    }
  };
  for (int j = 0; j < joints; ++j) add_row(p.C, 1);
  std::vector<double> lambda, w;
  for (const Law& law : laws) {
    add_row(p.D, law.dim);
    const int state = random.index(3);  // stick, slide, separate
    std::vector<double> l(law.dim, 0.0), u(law.dim, 0.0);
    if (law.is_separable()) {
      for (int r = 0; r < law.dim; ++r) {
        const double s = random.uniform(0.5, 1.5);
        if (law.kind == LawKind::Free) l[r] = s;
        if (law.kind == LawKind::Zero) u[r] = s;
        if (law.kind == LawKind::Orthant) (state == 2 ? u : l)[r] = s;
        if (law.kind == LawKind::Box) {
          l[r] = state == 0 ? 0.5 * (law.lo + law.hi) : state == 1 ? law.lo : law.hi;
          u[r] = state == 0 ? 0.0 : state == 1 ? s : -s;
        }
      }
    } else {
      const int nt = law.tangent_dim(), nr = law.rolling_dim();
      const double n = random.uniform(1, 2);
      const auto fill = [&](int at, int count, double c) {
        double length = 0;
        std::vector<double> t(count);
        for (double& e : t) e = random.normal(), length += e * e;
        length = std::sqrt(length);
        const double speed = random.uniform(0.5, 1);
        for (int i = 0; i < count; ++i) {
          if (state == 0) l[at + i] = 0.5 * c * n * t[i] / length;
          if (state == 1) l[at + i] = -c * n * t[i] / length, u[at + i] = speed * t[i] / length;
          if (state == 2) u[at + i] = 0.2 * t[i] / length;
        }
        return state == 1 && !law.is_exact() ? c * speed : 0.0;
      };
      double opening = fill(1, nt, law.mu);
      if (nr > 0) opening += fill(1 + nt, nr, law.mu_r);
      l[0] = state == 2 ? 0.0 : n;
      u[0] = state == 2 ? 2.0 : opening;
    }
    lambda.insert(lambda.end(), l.begin(), l.end());
    w.insert(w.end(), u.begin(), u.end());
  }
  // Some compliance F, symmetric and small, on the diagonal blocks.
  for (std::size_t c = 0; c < laws.size(); ++c) {
    Index at = 0;
    for (std::size_t i = 0; i < c; ++i) at += laws[i].dim;
    p.F.begin_row(laws[c].dim);
    double* f = p.F.add(static_cast<Index>(c), at, laws[c].dim);
    for (int r = 0; r < laws[c].dim; ++r) f[r * laws[c].dim + r] = random.uniform(0.05, 0.2);
  }
  x = zero_solution(p);
  x.lambda = Eigen::Map<VecX>(lambda.data(), static_cast<Index>(lambda.size()));
  x.w = Eigen::Map<VecX>(w.data(), static_cast<Index>(w.size()));
  p.k.resize(3 * bodies);
  for (Index i = 0; i < p.k.size(); ++i) p.k[i] = random.uniform(-1, 1);
  p.e.resize(joints);
  for (Index i = 0; i < joints; ++i) x.gamma[i] = random.uniform(-1, 1);
  VecX impulse = p.k;
  p.D.multiply_transpose_add(1, x.lambda, impulse);
  p.C.multiply_transpose_add(1, x.gamma, impulse);
  for (int i = 0; i < bodies; ++i) {
    const Mat3 H = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(p.H.block(i));
    x.v.segment<3>(3 * i) = H.inverse() * impulse.segment<3>(3 * i);
  }
  p.b = x.w;
  p.D.multiply_add(-1, x.v, p.b);
  p.F.multiply_add(-1, x.lambda, p.b);
  p.e = VecX::Zero(joints);
  p.C.multiply_add(-1, x.v, p.e);
  return p;
}

/// A direction in the space of all data.
ProblemDerivative random_change(SplitMix& random, const CanonicalProblem& p) {
  ProblemDerivative d = zero_derivative(p);
  const auto fill = [&](auto& values) {
    for (auto& v : values) v = random.uniform(-1, 1);
  };
  for (VecX* v : {&d.k, &d.e, &d.b, &d.mu, &d.mu_r, &d.lo, &d.hi}) {
    for (Index i = 0; i < v->size(); ++i) (*v)[i] = random.uniform(-1, 1);
  }
  fill(d.C);
  fill(d.D);
  fill(d.F);
  fill(d.H);
  return d;
}

CanonicalProblem moved(const CanonicalProblem& p, const ProblemDerivative& d, double t) {
  CanonicalProblem q = p;
  q.k += t * d.k;
  q.e += t * d.e;
  q.b += t * d.b;
  for (std::size_t i = 0; i < d.C.size(); ++i) q.C.all_values()[i] += t * d.C[i];
  for (std::size_t i = 0; i < d.D.size(); ++i) q.D.all_values()[i] += t * d.D[i];
  for (std::size_t i = 0; i < d.F.size(); ++i) q.F.all_values()[i] += t * d.F[i];
  for (Index b = 0, at = 0; b < q.H.block_count(); ++b) {
    const Index n = q.H.block_size(b);
    for (Index i = 0; i < n * n; ++i, ++at) q.H.block(b)[i] += t * d.H[at];
  }
  for (std::size_t c = 0; c < q.laws.size(); ++c) {
    Law& law = q.laws[c];
    law.mu += t * d.mu[c];
    law.mu_r += t * d.mu_r[c];
    law.lo += t * d.lo[c];
    law.hi += t * d.hi[c];
  }
  return q;
}

/// Newton on the projection equation itself from a nearby answer: an independent way to the
/// solution of the moved problem, by differences of the residual in dense algebra.
Solution resolve(const CanonicalProblem& p, const VecX& tau, const Solution& start) {
  const Index nv = p.velocity_count(), nc = p.bilateral_count(), nl = p.row_count();
  VecX x(nv + nc + nl);
  x << start.v, start.gamma, start.lambda;
  const auto residual = [&](const VecX& y) {
    VecX v = y.head(nv), gamma = y.segment(nv, nc), lambda = y.tail(nl), r(y.size());
    VecX balance;
    p.H.multiply(v, balance);
    balance -= p.k;
    p.C.multiply_transpose_add(-1, gamma, balance);
    p.D.multiply_transpose_add(-1, lambda, balance);
    VecX joints = p.e, w = p.b;
    p.C.multiply_add(1, v, joints);
    p.D.multiply_add(1, v, w);
    p.F.multiply_add(1, lambda, w);
    VecX law(nl);
    Index at = 0;
    for (const Law& l : p.laws) {
      double z[kMaxLawDim] = {};
      for (int i = 0; i < l.dim; ++i) z[i] = w[at + i];
      z[0] += shift_of(l, w.data() + at);
      for (int i = 0; i < l.dim; ++i) z[i] = lambda[at + i] - tau[at + i] * z[i];
      project(l, z, z);
      for (int i = 0; i < l.dim; ++i) law[at + i] = lambda[at + i] - z[i];
      at += l.dim;
    }
    r << balance, joints, law;
    return r;
  };
  for (int k = 0; k < 30; ++k) {
    const VecX r = residual(x);
    MatX J(x.size(), x.size());
    for (Index j = 0; j < x.size(); ++j) {
      VecX up = x, down = x;
      up[j] += 1e-6;
      down[j] -= 1e-6;
      J.col(j) = (residual(up) - residual(down)) / 2e-6;
    }
    const VecX dx = J.fullPivLu().solve(-r);
    x += dx;
    if (dx.norm() < 1e-13 * (1 + x.norm())) break;
  }
  Solution out{x.head(nv), x.segment(nv, nc), x.tail(nl), p.b};
  p.D.multiply_add(1, out.v, out.w);
  p.F.multiply_add(1, out.lambda, out.w);
  return out;
}

double pairing(const Solution& a, const Solution& b) {
  return a.v.dot(b.v) + a.gamma.dot(b.gamma) + a.lambda.dot(b.lambda) + a.w.dot(b.w);
}
double pairing(const ProblemDerivative& a, const ProblemDerivative& b) {
  double s = a.k.dot(b.k) + a.e.dot(b.e) + a.b.dot(b.b) + a.mu.dot(b.mu) + a.mu_r.dot(b.mu_r) +
             a.lo.dot(b.lo) + a.hi.dot(b.hi);
  for (std::size_t i = 0; i < a.C.size(); ++i) s += a.C[i] * b.C[i];
  for (std::size_t i = 0; i < a.D.size(); ++i) s += a.D[i] * b.D[i];
  for (std::size_t i = 0; i < a.F.size(); ++i) s += a.F[i] * b.F[i];
  for (std::size_t i = 0; i < a.H.size(); ++i) s += a.H[i] * b.H[i];
  return s;
}
double distance(const Solution& a, const Solution& b) {
  return (a.v - b.v).norm() + (a.gamma - b.gamma).norm() + (a.lambda - b.lambda).norm() +
         (a.w - b.w).norm();
}

std::vector<Law> all_laws() {
  return {Law::orthant(2),
          Law::box(-0.7, 1.2),
          Law::soc(2, 0.5),
          Law::soc(3, 0.8),
          Law::coulomb(2, 0.5),
          Law::coulomb(3, 0.7),
          Law::coulomb(3, 0.3),
          Law::free(),
          Law::rolling(5, 0.6, 0.2),
          Law::zero(),
          Law::rolling_soc(5, 0.6, 0.2),
          Law::rolling(3, 0.5, 0.1)};
}

TEST(SolutionGradient, EveryLawAgreesWithDifferences) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SplitMix random(seed);
    Solution x;
    const CanonicalProblem p = random_problem(random, all_laws(), 12, 3, x);
    const ProblemScale scale = scale_of(p);
    ASSERT_LT(judge(p, scale, x).value, 1e-12);
    SolutionGradient gradient(p, scale, x);
    ASSERT_EQ(gradient.certificate().floating, 0);
    ASSERT_GT(gradient.certificate().margin, 1e-3);
    const ProblemDerivative change = random_change(random, p);
    const Solution dx = gradient.push_forward(change);
    EXPECT_LT(gradient.certificate().solve_error, 1e-10);
    const double h = 2e-6;
    const Solution up = resolve(moved(p, change, h), scale.tau, x);
    const Solution down = resolve(moved(p, change, -h), scale.tau, x);
    const Solution fd{(up.v - down.v) / (2 * h), (up.gamma - down.gamma) / (2 * h),
                      (up.lambda - down.lambda) / (2 * h), (up.w - down.w) / (2 * h)};
    const Solution zero = zero_solution(p);
    EXPECT_LT(distance(dx, fd), 1e-6 * distance(fd, zero)) << "seed " << seed;
  }
}

TEST(SolutionGradient, PullBackIsTheTransposeOfPushForward) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SplitMix random(seed);
    Solution x;
    const CanonicalProblem p = random_problem(random, all_laws(), 12, 3, x);
    SolutionGradient gradient(p, scale_of(p), x);
    const ProblemDerivative change = random_change(random, p);
    Solution by = zero_solution(p);
    for (VecX* v : {&by.v, &by.gamma, &by.lambda, &by.w}) {
      for (Index i = 0; i < v->size(); ++i) (*v)[i] = random.uniform(-1, 1);
    }
    const double forward = pairing(by, gradient.push_forward(change));
    const double backward = pairing(gradient.pull_back(by), change);
    EXPECT_NEAR(forward, backward, 1e-9 * (1 + std::abs(forward)));
  }
}

TEST(SolutionGradient, LcpAgreesWithTheClosedFormOnTheClampingSet) {
  // df_C = −N_CC⁻¹ (dN_CC f_C + dr_C), df_S = 0.
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SplitMix random(seed);
    const int n = 2 + random.index(7);
    MatX R(n, n), N;
    for (int i = 0; i < n * n; ++i) R(i / n, i % n) = random.normal();
    N = R * R.transpose();
    std::vector<int> clamping;
    VecX f = VecX::Zero(n), w = VecX::Zero(n);
    for (int i = 0; i < n; ++i) {
      const bool clamps = random.chance(0.6);
      (clamps ? f : w)[i] = random.uniform(0.1, 1);
      if (clamps) clamping.push_back(i);
    }
    const int m = static_cast<int>(clamping.size());
    if (m == 0) continue;
    MatX Ncc(m, m), dN(n, n);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < m; ++j) Ncc(i, j) = N(clamping[i], clamping[j]);
    }
    const Eigen::JacobiSVD<MatX> svd(Ncc);
    if (svd.singularValues()(0) > 1e6 * svd.singularValues()(m - 1)) continue;
    ++compared;
    const CanonicalProblem p = make_lcp(N, w - N * f);
    Solution x = zero_solution(p);
    x.lambda = f;
    SolutionGradient gradient(p, scale_of(p), x);
    ProblemDerivative change = zero_derivative(p);
    for (double& value : change.F) value = random.uniform(-1, 1);
    for (Index i = 0; i < n; ++i) change.b[i] = random.uniform(-1, 1);
    for (int i = 0; i < n * n; ++i) dN(i / n, i % n) = change.F[i];  // dense: stored row by row
    const Solution dx = gradient.push_forward(change);
    VecX rhs(m);
    for (int i = 0; i < m; ++i) rhs[i] = -(dN.row(clamping[i]).dot(f) + change.b[clamping[i]]);
    const VecX df = Ncc.fullPivLu().solve(rhs);
    VecX expected = VecX::Zero(n);
    for (int i = 0; i < m; ++i) expected[clamping[i]] = df[i];
    EXPECT_LT((dx.lambda - expected).norm(), 1e-8 * (expected.norm() + 1e-3)) << "seed " << seed;
  }
  EXPECT_GT(compared, 1800);
}

/// A box on four corners of a plane: rows (n, t, t) at each corner, four redundant contacts.
CanonicalProblem box_on_four_contacts(Solution& x) {
  CanonicalProblem p;
  double* H = p.H.add_block(6);
  for (int i = 0; i < 6; ++i) H[i * 6 + i] = i < 3 ? 2.0 : 0.4 + 0.1 * i;
  p.k = VecX::Zero(6);
  p.k[0] = 0.05;
  p.k[2] = -1;
  for (const double sx : {-1.0, 1.0}) {
    for (const double sy : {-1.0, 1.0}) {
      const Vec3 r(sx, sy, -1);
      p.laws.push_back(Law::coulomb(3, 0.5));
      p.D.begin_row(3);
      double* d = p.D.add(0, 0, 6);
      const Vec3 axes[3] = {Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY()};
      for (int i = 0; i < 3; ++i) {
        const Vec3 arm = r.cross(axes[i]);
        for (int c = 0; c < 3; ++c) d[i * 6 + c] = axes[i][c], d[i * 6 + 3 + c] = arm[c];
      }
    }
  }
  p.b = VecX::Zero(12);
  x = zero_solution(p);
  // Rest: normal impulses carry weight and the tipping moment of the push; friction holds it.
  for (int c = 0; c < 4; ++c) {
    x.lambda[3 * c] = 0.25 + (c >= 2 ? 1 : -1) * 0.0125;
    x.lambda[3 * c + 1] = -0.0125;
  }
  return p;
}

TEST(SolutionGradient, RedundantContactsGiveTheUniqueMotion) {
  Solution x;
  const CanonicalProblem p = box_on_four_contacts(x);
  const ProblemScale scale = scale_of(p);
  ASSERT_LT(judge(p, scale, x).value, 1e-12);
  SolutionGradient gradient(p, scale, x);
  // The box sticks: no force, however applied, moves it; moving the floor takes it along.
  ProblemDerivative change = zero_derivative(p);
  change.k << 0.1, -0.2, 0.3, 0.05, -0.1, 0.2;
  const Solution still = gradient.push_forward(change);
  EXPECT_LT(still.v.norm(), 1e-8);
  EXPECT_LT(gradient.certificate().solve_error, 1e-10);
  change = zero_derivative(p);
  for (int c = 0; c < 4; ++c) change.b[3 * c] = -1, change.b[3 * c + 1] = 0.5;
  const Solution carried = gradient.push_forward(change);
  EXPECT_NEAR(carried.v[2], 1, 1e-8);
  EXPECT_NEAR(carried.v[0], -0.5, 1e-8);
  // Raising one leg alone contradicts the other three: no two-sided derivative, and it says so.
  change = zero_derivative(p);
  change.b[0] = -1;
  (void)gradient.push_forward(change);
  EXPECT_GT(gradient.certificate().solve_error, 1e-3);
}

/// The point mass of two walls, normals (0, 1) and (sin p, cos p) at p = 0: one is enough, and how
/// they share the load does not show in the motion. dv_x/dp = 0, whichever answer a solver found;
/// the mean of both says 1/2.
CanonicalProblem point_on_two_walls() {
  CanonicalProblem p;
  Eigen::Map<Eigen::Matrix2d>(p.H.add_block(2)).setIdentity();
  p.k = Eigen::Vector2d(0, -1);
  for (int i = 0; i < 2; ++i) {
    p.laws.push_back(Law::orthant(1));
    p.D.begin_row(1);
    double* row = p.D.add(0, 0, 2);
    row[0] = 0;
    row[1] = 1;
  }
  p.b = VecX::Zero(2);
  return p;
}

TEST(SolutionGradient, SaysWhereTheDerivativeDependsOnWhichImpulsesWereFound) {
  const CanonicalProblem p = point_on_two_walls();
  for (const double share : {0.5, 0.3, 0.9}) {
    Solution x = zero_solution(p);
    x.v.setZero();
    x.lambda = Eigen::Vector2d(share, 1 - share);
    SolutionGradient g(p, scale_of(p), x);
    ProblemDerivative turn = zero_derivative(p);
    turn.D[2] = 1;  // d(sin p, cos p)
    const Solution dx = g.push_forward(turn);
    EXPECT_NEAR(dx.v[0], 1 - share, 1e-7);  // of this answer
    EXPECT_TRUE(g.certificate().redundant);
    EXPECT_GT(g.certificate().ambiguity, 0.1);
    // Both walls turned together stay consistent: the same for every answer.
    turn.D[0] = 1;
    EXPECT_NEAR(g.push_forward(turn).v[0], 1, 1e-7);
    EXPECT_LT(g.certificate().ambiguity, 1e-7);
  }
}

// One of the walls turns: truth 0. The answers of these
// methods share the load and say 1/2 or another number; none of them is called the derivative of
// the problem.
TEST(SolutionGradient, AnswersOfEveryMethodSayThatTheirImpulsesAreOneChoice) {
  const CanonicalProblem p = point_on_two_walls();
  int shared = 0;
  for (const Method method :
       {Method::Automatic, Method::GaussSeidel, Method::NonsmoothNewton, Method::InteriorPoint,
        Method::PairBlocks, Method::Lemke, Method::Enumeration}) {
    Solution x;
    const SolveReport report = solve(p, {.method = method, .tolerance = 1e-12}, x);
    ASSERT_EQ(report.outcome, Outcome::Converged) << static_cast<int>(method);
    SolutionGradient gradient(p, scale_of(p), x);
    ProblemDerivative turn = zero_derivative(p);
    turn.D[2] = 1;  // d(sin p, cos p)
    const double given = gradient.push_forward(turn).v[0];
    shared += std::abs(given - 0.5) < 1e-6;
    EXPECT_TRUE(std::abs(given) < 1e-9 || gradient.certificate().ambiguity > 0.1)
        << static_cast<int>(method) << " gives " << given;
  }
  EXPECT_GE(shared, 1);
}

TEST(SolutionGradient, KinksReturnTheElementAskedFor) {
  // 0 ≤ λ ⊥ λ + b ≥ 0 at b = 0: λ = max(−b, 0), one-sided slopes −1 and 0.
  const CanonicalProblem p = make_lcp(MatX::Identity(1, 1), VecX::Zero(1));
  ProblemDerivative change = zero_derivative(p);
  change.b[0] = 1;
  const auto slope = [&](KinkChoice kink) {
    SolutionGradient gradient(p, scale_of(p), zero_solution(p), {.kink = kink});
    EXPECT_EQ(gradient.certificate().states[0], ContactState::Floating);
    EXPECT_EQ(gradient.certificate().margin, 0);
    return gradient.push_forward(change).lambda[0];
  };
  EXPECT_NEAR(slope(KinkChoice::Clamp), -1, 1e-9);
  EXPECT_NEAR(slope(KinkChoice::Separate), 0, 1e-9);
  EXPECT_NEAR(slope(KinkChoice::Average), -0.5, 1e-9);
}

TEST(SolutionGradient, StickSlipThresholdHasBothSides) {
  // A unit point mass on a plane, pushed exactly at the friction limit: v_t = max(push − μ, 0).
  CanonicalProblem p;
  double* H = p.H.add_block(3);
  H[0] = H[4] = H[8] = 1;
  p.k.resize(3);
  p.k << -1.0, 0.5, 0.0;  // weight, push = μ weight
  p.laws = {Law::coulomb(3, 0.5)};
  p.D.begin_row(3);
  double* d = p.D.add(0, 0, 3);
  d[0] = d[4] = d[8] = 1;
  p.b = VecX::Zero(3);
  Solution x = zero_solution(p);
  x.lambda << 1, -0.5, 0;
  ProblemDerivative change = zero_derivative(p);
  change.k[1] = 1;
  const auto slope = [&](KinkChoice kink) {
    SolutionGradient gradient(p, scale_of(p), x, {.kink = kink});
    EXPECT_EQ(gradient.certificate().floating, 3);
    return gradient.push_forward(change).v[1];
  };
  EXPECT_NEAR(slope(KinkChoice::Clamp), 0, 1e-8);
  EXPECT_NEAR(slope(KinkChoice::Separate), 1, 1e-6);
}

TEST(SolutionGradient, BadInputIsRefused) {
  Solution x;
  const CanonicalProblem p = box_on_four_contacts(x);
  const ProblemScale scale = scale_of(p);
  SolutionGradient gradient(p, scale, x);
  Solution by;
  by.v = VecX::Constant(6, std::nan(""));
  EXPECT_THROW((void)gradient.pull_back(by), Error);
  by.v = VecX::Zero(5);
  EXPECT_THROW((void)gradient.pull_back(by), Error);
  x.lambda[0] = std::nan("");
  EXPECT_THROW(SolutionGradient(p, scale, x), Error);
}

}  // namespace
}  // namespace orthant
