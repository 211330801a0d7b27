// SPDX-License-Identifier: Apache-2.0
// support/random_problems.hpp: seed => problem with a known answer.
// λ and w are drawn so that they obey the laws, then b is set to fit: solvable for certain, however
// singular or badly scaled the matrix is. The answer found need not be the one drawn.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"
#include "support/splitmix.hpp"

namespace orthant::testing {

struct KnownProblem {
  CanonicalProblem problem;
  Solution answer;
};

/// A random direction in n <= 2 dimensions.
inline void random_direction(SplitMix& rng, int n, double* t) {
  const double angle = rng.uniform(0, 2 * std::numbers::pi);
  t[0] = n == 1 ? (rng.chance(0.5) ? 1.0 : -1.0) : std::cos(angle);
  if (n == 2) t[1] = std::sin(angle);
}

/// Draws λ, w (dim numbers each) that obey `law`, of about the given sizes.
inline void draw_pair(SplitMix& rng, const Law& law, double force, double speed, double* lambda,
                      double* w) {
  std::fill(lambda, lambda + law.dim, 0.0);
  std::fill(w, w + law.dim, 0.0);
  if (law.is_separable()) {
    for (int i = 0; i < law.dim; ++i) {
      const double side = rng.uniform();
      switch (law.kind) {
        case LawKind::Zero:
          w[i] = speed * rng.normal();
          break;
        case LawKind::Free:
          lambda[i] = force * rng.normal();
          break;
        case LawKind::Orthant:
          (side < 0.5 ? lambda[i] : w[i]) = (side < 0.5 ? force : speed) * rng.uniform(0.05, 1);
          break;
        default: {  // Box: at a bound that exists, or inside
          const bool low = side < 0.3 && std::isfinite(law.lo);
          const bool high = side > 0.7 && std::isfinite(law.hi);
          const double lo = std::isfinite(law.lo) ? law.lo : -force;
          const double hi = std::isfinite(law.hi) ? law.hi : force;
          lambda[i] = low ? lo : high ? hi : lo + (hi - lo) * rng.uniform();
          w[i] = low ? speed * rng.uniform(0.05, 1) : high ? -speed * rng.uniform(0.05, 1) : 0.0;
        }
      }
    }
    return;
  }
  const int size[2] = {law.tangent_dim(), law.rolling_dim()};
  const double c[2] = {law.mu, law.mu_r};
  const bool apart = rng.chance(0.3);
  if (!apart) lambda[0] = force * rng.uniform(0.05, 1);
  double shift = 0;
  for (int g = 0, at = 1; g < 2; at += size[g++]) {
    if (size[g] == 0) continue;
    double t[2];
    random_direction(rng, size[g], t);
    const bool slides = rng.chance(0.5) || c[g] == 0;
    const double s = speed * rng.uniform(0.05, 1);
    for (int i = 0; i < size[g]; ++i) {
      if (apart || slides) w[at + i] = -s * t[i];
      if (!apart) lambda[at + i] = c[g] * lambda[0] * t[i] * (slides ? 1.0 : rng.uniform(0, 0.95));
    }
    if (apart || slides) shift += c[g] * s;
  }
  // Exact laws: w_n >= 0 with equality in contact. Convex ones: w in the dual cone, on its border.
  if (apart) w[0] = speed * rng.uniform(0.05, 1);
  if (!law.is_exact()) w[0] += shift;
}

struct ContactProblemSpec {
  int bodies = 4;
  int contacts = 8;
  int dim = 3;            ///< 2: planar bodies (3 velocities); 3 or 5: spatial (6)
  double mu_max = 1;      ///< friction is uniform in [0, mu_max]
  double mass_ratio = 1;  ///< masses are spread over this ratio
  bool exact = true;      ///< Coulomb or its convex relaxation
  double world = 0.3;     ///< part of the contacts that are with the fixed world
  int joints = 0;         ///< ball joints (planar: hinges) between random bodies
};

/// Bodies touching at random points in random frames: D H⁻¹ Dᵀ has the structure and, with more
/// contacts than bodies can carry, the rank deficiency of real ones.
inline KnownProblem random_contacts(SplitMix& rng, const ContactProblemSpec& spec) {
  KnownProblem out;
  CanonicalProblem& p = out.problem;
  const int nv = spec.dim == 2 ? 3 : 6, linear = nv == 3 ? 2 : 3;
  std::vector<double> mass(static_cast<std::size_t>(spec.bodies));
  for (double& m : mass) {
    m = rng.log_uniform(1, spec.mass_ratio > 1 ? spec.mass_ratio : 1.0000001);
    double* H = p.H.add_block(nv);
    for (int i = 0; i < nv; ++i) H[i * nv + i] = i < linear ? m : 0.1 * m * rng.uniform(0.5, 2);
  }
  p.k.resize(p.H.rows());
  for (int i = 0; i < spec.bodies; ++i) {
    for (int j = 0; j < nv; ++j) p.k[i * nv + j] = mass[static_cast<std::size_t>(i)] * rng.normal();
  }
  std::vector<double> force;
  for (int c = 0; c < spec.contacts; ++c) {
    const double mu = spec.mu_max * rng.uniform(), mu_r = 0.3 * spec.mu_max * rng.uniform();
    Law law = spec.dim == 5 ? Law::rolling(5, mu, mu_r) : Law::coulomb(spec.dim, mu);
    p.laws.push_back(spec.exact ? law : law.convex());
    // A random frame: rows n, t1, t2 (planar: n, t).
    double frame[3][3] = {};
    if (spec.dim == 2) {
      double n[2];
      random_direction(rng, 2, n);
      frame[0][0] = n[0], frame[0][1] = n[1], frame[1][0] = -n[1], frame[1][1] = n[0];
    } else {
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) frame[i][j] = rng.normal();
        for (int k = 0; k < i; ++k) {
          double dot = 0;
          for (int j = 0; j < 3; ++j) dot += frame[i][j] * frame[k][j];
          for (int j = 0; j < 3; ++j) frame[i][j] -= dot * frame[k][j];
        }
        double length = 0;
        for (int j = 0; j < 3; ++j) length += frame[i][j] * frame[i][j];
        for (int j = 0; j < 3; ++j) frame[i][j] /= std::sqrt(length);
      }
    }
    const int a = rng.index(spec.bodies);
    int b = rng.chance(spec.world) || spec.bodies == 1 ? -1 : rng.index(spec.bodies - 1);
    if (b >= a) ++b;
    double lightest = mass[static_cast<std::size_t>(a)];
    if (b >= 0) lightest = std::min(lightest, mass[static_cast<std::size_t>(b)]);
    force.push_back(lightest);
    p.D.begin_row(spec.dim);
    for (const int body : {a, b}) {
      if (body < 0) continue;
      double* D = p.D.add(body, body * nv, nv);
      const double sign = body == a ? 1.0 : -1.0;
      double r[3] = {0.3 * rng.normal(), 0.3 * rng.normal(), 0.3 * rng.normal()};
      for (int i = 0; i < spec.dim; ++i) {
        double* row = D + i * nv;
        if (i >= 3) {  // rolling: relative spin about a tangent
          for (int j = 0; j < 3; ++j) row[3 + j] = sign * frame[i - 2][j];
          continue;
        }
        const double* f = frame[i];
        for (int j = 0; j < linear; ++j) row[j] = sign * f[j];
        if (nv == 3) {
          row[2] = sign * (r[0] * f[1] - r[1] * f[0]);
        } else {
          for (int j = 0; j < 3; ++j)
            row[3 + j] = sign * (r[(j + 1) % 3] * f[(j + 2) % 3] - r[(j + 2) % 3] * f[(j + 1) % 3]);
        }
      }
    }
  }
  for (int i = 0; i < spec.joints && spec.bodies > 1; ++i) {
    const int a = rng.index(spec.bodies);
    const int b = (a + 1 + rng.index(spec.bodies - 1)) % spec.bodies;
    p.C.begin_row(linear);
    for (const int body : {a, b}) {
      double* C = p.C.add(body, body * nv, nv);
      const double sign = body == a ? 1.0 : -1.0;
      const double r[3] = {0.3 * rng.normal(), 0.3 * rng.normal(), 0.3 * rng.normal()};
      for (int j = 0; j < linear; ++j) C[j * nv + j] = sign;
      if (nv == 3) {
        C[2] = -sign * r[1];
        C[nv + 2] = sign * r[0];
      } else {  // v + ω × r
        for (int j = 0; j < 3; ++j) {
          C[j * nv + 3 + (j + 1) % 3] = sign * r[(j + 2) % 3];
          C[j * nv + 3 + (j + 2) % 3] = -sign * r[(j + 1) % 3];
        }
      }
    }
  }
  const Index rows = p.D.rows();
  Solution& x = out.answer;
  x.lambda.resize(rows);
  x.w.resize(rows);
  for (int c = 0; c < spec.contacts; ++c) {
    draw_pair(rng, p.laws[static_cast<std::size_t>(c)], force[static_cast<std::size_t>(c)], 1.0,
              x.lambda.data() + p.D.row_begin(c), x.w.data() + p.D.row_begin(c));
  }
  x.gamma.resize(p.C.rows());
  for (Index i = 0; i < x.gamma.size(); ++i) x.gamma[i] = rng.normal();
  VecX impulse = p.k;
  p.C.multiply_transpose_add(1, x.gamma, impulse);
  p.D.multiply_transpose_add(1, x.lambda, impulse);
  VelocitySolver inverse;
  inverse.factorize(p.H);
  inverse.solve(impulse, x.v);
  p.e = VecX::Zero(p.C.rows());
  p.C.multiply_add(-1, x.v, p.e);
  p.b = x.w;
  p.D.multiply_add(-1, x.v, p.b);
  return out;
}

/// Local problem with the given laws and W = A Aᵀ (+ a skew part), A of `rank` columns whose sizes
/// are spread so that W has about the given condition.
inline KnownProblem random_local(SplitMix& rng, std::vector<Law> laws, int rank, double skew = 0,
                                 double condition = 1) {
  KnownProblem out;
  CanonicalProblem& p = out.problem;
  p.laws = std::move(laws);
  const std::vector<Index> offset = block_offsets(p);
  const Index n = offset.back();
  MatX A(n, rank), S(n, n);
  for (Index i = 0; i < A.size(); ++i) A.data()[i] = rng.normal();
  for (Index i = 0; i < S.size(); ++i) S.data()[i] = rng.normal();
  for (int j = 0; condition > 1 && j < rank; ++j)
    A.col(j) *= std::pow(condition, -0.5 * j / std::max(rank - 1, 1));
  const MatX W = A * A.transpose() / rank + skew * (S - S.transpose());
  for (Index i = 0; i < p.block_count(); ++i) {
    p.F.begin_row(p.laws[static_cast<std::size_t>(i)].dim);
    for (Index j = 0; j < p.block_count(); ++j) {
      const Index width = p.laws[static_cast<std::size_t>(j)].dim;
      double* f = p.F.add(j, offset[static_cast<std::size_t>(j)], width);
      for (Index r = 0; r < p.laws[static_cast<std::size_t>(i)].dim; ++r) {
        for (Index c = 0; c < width; ++c)
          f[r * width + c] =
              W(offset[static_cast<std::size_t>(i)] + r, offset[static_cast<std::size_t>(j)] + c);
      }
    }
  }
  out.answer = {VecX(0), VecX(0), VecX(n), VecX(n)};
  for (Index i = 0; i < p.block_count(); ++i) {
    const Index at = offset[static_cast<std::size_t>(i)];
    draw_pair(rng, p.laws[static_cast<std::size_t>(i)], 1, 1, out.answer.lambda.data() + at,
              out.answer.w.data() + at);
  }
  p.b = out.answer.w - W * out.answer.lambda;
  return out;
}

}  // namespace orthant::testing
