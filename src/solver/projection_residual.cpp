// SPDX-License-Identifier: Apache-2.0
// solver/projection_residual.cpp: residual of one block, its derivative, and the block solved
// alone. See projection_residual.hpp.
#include "solver/projection_residual.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/math/law_kernel.hpp"

namespace orthant::internal {
namespace {

constexpr int kSize = kMaxLawDim * kMaxLawDim;

template <bool kDerivative>
void alart_curnier(const Law& law, const double* x, const double* y, double rho, double* R,
                   BlockJacobian* J) {
  const int n = law.dim;
  if constexpr (kDerivative) {
    std::fill(J->X, J->X + n * n, 0.0);
    std::fill(J->Y, J->Y + n * n, 0.0);
  }
  const double zn = x[0] - rho * y[0];
  if (!(zn > 0)) {  // apart: x = 0
    for (int i = 0; i < n; ++i) R[i] = x[i];
    if constexpr (kDerivative) {
      for (int i = 0; i < n; ++i) J->X[i * n + i] = 1;
    }
    return;
  }
  R[0] = rho * y[0];
  if constexpr (kDerivative) J->Y[0] = rho;
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g++]) {
    const int size = groups.size[g];
    double z[2] = {0, 0};
    for (int i = 0; i < size; ++i) z[i] = x[at + i] - rho * y[at + i];
    const double length = size > 0 ? norm_of(z, size) : 0.0, radius = groups.c[g] * zn;
    if (length <= radius) {  // sticks: y = 0
      for (int i = 0; i < size; ++i) R[at + i] = rho * y[at + i];
      if constexpr (kDerivative) {
        for (int i = 0; i < size; ++i) J->Y[(at + i) * n + at + i] = rho;
      }
      continue;
    }
    for (int i = 0; i < size; ++i) {
      const double t = z[i] / length;
      R[at + i] = x[at + i] - radius * t;
      if constexpr (kDerivative) {
        double* X = J->X + (at + i) * n;
        double* Y = J->Y + (at + i) * n;
        X[at + i] = 1;
        X[0] = -groups.c[g] * t;
        Y[0] = rho * groups.c[g] * t;
        for (int j = 0; j < size; ++j) {
          const double across = radius / length * ((i == j ? 1.0 : 0.0) - t * z[j] / length);
          X[at + j] -= across;
          Y[at + j] = rho * across;
        }
      }
    }
  }
}

void natural_map(const Law& law, const double* x, const double* y, double rho, double* R,
                 BlockJacobian* J) {
  const int n = law.dim;
  double z[kMaxLawDim] = {};
  for (int i = 0; i < n; ++i) z[i] = x[i] - rho * y[i];
  if (J != nullptr) {
    const ProjectionDerivative d = projection_derivative(law, z);
    for (int i = 0; i < n * n; ++i) {
      J->X[i] = -d.P[i];
      J->Y[i] = rho * d.P[i];
    }
    for (int i = 0; i < n; ++i) J->X[i * n + i] += 1;
  }
  project(law, z, z);
  for (int i = 0; i < n; ++i) R[i] = x[i] - z[i];
}

/// Gauss elimination with partial pivoting, n <= 5; false when singular.
bool solve_dense(int n, double* A, double* b) {
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(A[i * n + k]) > std::abs(A[pivot * n + k])) pivot = i;
    }
    if (!(std::abs(A[pivot * n + k]) > 1e-300)) return false;
    if (pivot != k) {
      for (int j = k; j < n; ++j) std::swap(A[k * n + j], A[pivot * n + j]);
      std::swap(b[k], b[pivot]);
    }
    for (int i = k + 1; i < n; ++i) {
      const double factor = A[i * n + k] / A[k * n + k];
      for (int j = k + 1; j < n; ++j) A[i * n + j] -= factor * A[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int j = k + 1; j < n; ++j) b[k] -= A[k * n + j] * b[j];
    b[k] /= A[k * n + k];
  }
  return true;
}

/// Coulomb, dim 2 or 3. Apart when the free normal velocity is not negative; else stick when that
/// impulse lies in the cone; else slide: y_t = −s x_t with s > 0 the root of μ x_n = |x_t|. In the
/// form μ x_n/|x_t| − 1 that is nearly linear in s, so Newton needs a few steps.
bool solve_coulomb(const Law& law, const double* A, const double* q, double* x) {
  const int n = law.dim, nt = n - 1;
  if (q[0] >= 0) {
    std::fill(x, x + n, 0.0);
    return true;
  }
  if (!(A[0] > 0)) return false;
  // Eliminate the normal: x_n = −(q_n + A_nt x_t)/A_nn, (S + s I) x_t = −p.
  double S[4], p[2];
  for (int i = 0; i < nt; ++i) {
    const double factor = A[(1 + i) * n] / A[0];
    p[i] = q[1 + i] - factor * q[0];
    for (int j = 0; j < nt; ++j) S[i * nt + j] = A[(1 + i) * n + 1 + j] - factor * A[1 + j];
  }
  double t[2] = {0, 0}, dt[2] = {0, 0};  // x_t and its derivative by s
  const auto tangent = [&](double s) {
    if (nt == 1) {
      const double d = S[0] + s;
      if (!(d > 0)) return false;
      t[0] = -p[0] / d;
      dt[0] = -t[0] / d;
      return true;
    }
    const double a = S[0] + s, d = S[3] + s, det = a * d - S[1] * S[2];
    if (!(det > 0)) return false;
    t[0] = -(d * p[0] - S[1] * p[1]) / det;
    t[1] = -(a * p[1] - S[2] * p[0]) / det;
    dt[0] = -(d * t[0] - S[1] * t[1]) / det;
    dt[1] = -(a * t[1] - S[2] * t[0]) / det;
    return true;
  };
  const auto normal = [&](const double* u, double q0) {
    double s = q0;
    for (int i = 0; i < nt; ++i) s += A[1 + i] * u[i];
    return -s / A[0];
  };
  const auto finish = [&]() {
    x[0] = normal(t, q[0]);
    for (int i = 0; i < nt; ++i) x[1 + i] = t[i];
    return std::isfinite(x[0]) && x[0] >= 0;
  };
  const bool regular = tangent(0);
  if (regular && norm_of(t, nt) <= law.mu * normal(t, q[0])) return finish();
  if (law.mu == 0) {
    x[0] = -q[0] / A[0];
    for (int i = 0; i < nt; ++i) x[1 + i] = 0;
    return true;
  }
  double lower = 0, upper = HUGE_VAL,
         s = regular ? 0.0 : (std::abs(S[0]) + std::abs(S[nt * nt - 1]));
  for (int step = 0; step < 60; ++step) {
    if (!tangent(s)) {
      lower = s;
      s = 2 * s + 1;
      continue;
    }
    const double length = norm_of(t, nt), xn = normal(t, q[0]);
    if (!(length > 0)) break;  // no tangential load at all
    double slope = 0;
    for (int i = 0; i < nt; ++i) slope += t[i] * dt[i] / length;
    const double h = law.mu * xn / length - 1;
    const double dh = law.mu * (normal(dt, 0) - xn * slope / length) / length;
    if (std::abs(h) <= 1e-15) break;
    (h < 0 ? lower : upper) = s;
    double next = dh > 0 ? s - h / dh : -1;
    if (!(next > lower && next < upper)) {
      next = std::isinf(upper) ? 2 * s + 1 : 0.5 * (lower + upper);
    }
    if (std::abs(next - s) <= 1e-16 * std::abs(s)) break;
    s = next;
  }
  if (!finish()) return false;
  // On the cone to the last bit: the root is only as good as its rounding.
  const double length = norm_of(x + 1, nt);
  for (int i = 0; i < nt && length > 0; ++i) x[1 + i] *= law.mu * x[0] / length;
  return true;
}

double residual_norm(const Law& law, const double* A, const double* q, const double* x, double* y,
                     double* R) {
  const int n = law.dim;
  for (int i = 0; i < n; ++i) {
    y[i] = q[i];
    for (int j = 0; j < n; ++j) y[i] += A[i * n + j] * x[j];
  }
  projection_residual(law, x, y, 1.0, R);
  return norm_of(R, n);
}

/// Any law: Newton on the block's own residual, halving the step; a projected step where it fails.
void solve_by_newton(const Law& law, const double* A, const double* q, double* x) {
  const int n = law.dim;
  double y[kMaxLawDim], R[kMaxLawDim], trial[kMaxLawDim], M[kSize], trace = 0;
  for (int i = 0; i < n; ++i) trace += std::abs(A[i * n + i]);
  BlockJacobian J;
  double size = residual_norm(law, A, q, x, y, R);
  for (int step = 0; step < 20 && size > 1e-15; ++step) {
    projection_residual(law, x, y, 1.0, R, J);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double s = J.X[i * n + j];
        for (int k = 0; k < n; ++k) s += J.Y[i * n + k] * A[k * n + j];
        M[i * n + j] = s;
      }
    }
    double d[kMaxLawDim];
    for (int i = 0; i < n; ++i) d[i] = -R[i];
    bool better = false;
    if (solve_dense(n, M, d)) {
      for (double t = 1; t > 0.01 && !better; t *= 0.5) {
        double Rt[kMaxLawDim], yt[kMaxLawDim];
        for (int i = 0; i < n; ++i) trial[i] = x[i] + t * d[i];
        const double now = residual_norm(law, A, q, trial, yt, Rt);
        if (now < (1 - 1e-4 * t) * size) {
          better = true;
          size = now;
          std::copy(trial, trial + n, x);
          std::copy(yt, yt + n, y);
        }
      }
    }
    if (better) continue;
    const double rho = trace > 0 ? 1 / trace : 1.0;  // a contraction where A is definite
    projection_residual(law, x, y, rho, R);
    for (int i = 0; i < n; ++i) x[i] -= R[i];
    size = residual_norm(law, A, q, x, y, R);
  }
}

}  // namespace

void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R) {
  if (law.is_exact()) {
    alart_curnier<false>(law, x, y, rho, R, nullptr);
  } else {
    natural_map(law, x, y, rho, R, nullptr);
  }
}

void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R,
                         BlockJacobian& J) {
  if (law.is_exact()) {
    alart_curnier<true>(law, x, y, rho, R, &J);
  } else {
    natural_map(law, x, y, rho, R, &J);
  }
}

void solve_one_block(const Law& law, const double* A, const double* q, double* x) {
  const int n = law.dim;
  if (law.kind == LawKind::Coulomb && solve_coulomb(law, A, q, x)) return;
  if (n == 1 && law.is_separable()) {
    double z = A[0] > 0 ? -q[0] / A[0] : x[0] - (A[0] * x[0] + q[0]);
    project(law, &z, x);
    return;
  }
  solve_by_newton(law, A, q, x);
}

}  // namespace orthant::internal
