// SPDX-License-Identifier: Apache-2.0
// device/solve_kernel.hpp: w = N λ + r with the laws of contacts and limits, for one world.
//   contact   0 <= λ_n ⊥ w_n >= 0,   λ_t = P(λ_t − τ w_t) on the disc of radius μ λ_n    (Coulomb)
//   limit     lo <= w <= hi, λ >= 0 at lo, <= 0 at hi
// Sweeps, then Newton on the same equations (Alart and Curnier), sweeps again where Newton does not
// make the error smaller. The linearisation serves Newton and the adjoint:
//   (L_λ + L_w N) dλ = …      stick L_w = τ 1;   slide F_t = λ_t − μ λ_n z/|z|, z = λ_t − τ w_t
#pragma once

#include "device/tree_kernel.hpp"

namespace orthant::device {

/// The rows of one solve: `contacts` groups of `dim` rows, then the limits.
struct RowSet {
  int contacts, limits, dim;
  double floor;  ///< speed (length, in a projection) that errors are measured against at least
  ORTHANT_HD int count() const { return contacts * dim + limits; }
};

enum : int { kOpen = 0, kStick = 1, kSlide = 2, kAtUpper = 3 };
inline constexpr double kProximal = 1e-8;  ///< on the diagonal of redundant rows, relative
inline constexpr double kWeakPivot = 100 * kProximal;

template <int Lanes>
ORTHANT_HD double row_velocity(const World<Lanes>& w, const RowSet& set, int i) {
  const Slab<double, Lanes> row = w.x + w.m.at.N + i * w.m.rows, lambda = w.x + w.m.at.lambda;
  double t = w.x[w.m.at.b + i];
  const int n = set.count();
  for (int j = 0; j < n; ++j) t += row[j] * lambda[j];
  return t;
}

/// τ of every contact: its effective mass.
template <int Lanes>
ORTHANT_HD void scale_rows(const World<Lanes>& w, const RowSet& set) {
  for (int c = 0; c < set.contacts; ++c) {
    double trace = 0;
    for (int i = 0; i < set.dim; ++i)
      trace += w.x[w.m.at.N + (set.dim * c + i) * w.m.rows + set.dim * c + i];
    w.x[w.m.at.tau + c] = trace > 0 ? set.dim / trace : 0;
  }
}

/// One pass over all contacts and limits: the normal, then the tangents on their disc.
template <int Lanes>
ORTHANT_HD void sweep(const World<Lanes>& w, const RowSet& set) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> lambda = w.x + m.at.lambda, N = w.x + m.at.N;
  const int n = set.count();
  for (int c = 0; c < set.contacts; ++c) {
    const int r = set.dim * c;
    double v[3] = {w.x[m.at.b + r], 0, 0};
    if (set.dim == 3) v[1] = w.x[m.at.b + r + 1], v[2] = w.x[m.at.b + r + 2];
    for (int j = 0; j < n; ++j) {
      const double l = lambda[j];
      v[0] += N[r * m.rows + j] * l;
      if (set.dim == 3) {
        v[1] += N[(r + 1) * m.rows + j] * l;
        v[2] += N[(r + 2) * m.rows + j] * l;
      }
    }
    const double nn = N[r * m.rows + r];
    if (!(nn > 0)) continue;
    const double old = lambda[r];
    double next = old - v[0] / nn;
    next = next > 0 ? next : 0;
    lambda[r] = next;
    if (set.dim == 1) continue;
    const double a = N[(r + 1) * m.rows + r + 1], d = N[(r + 2) * m.rows + r + 2],
                 b = N[(r + 1) * m.rows + r + 2];
    const double half = 0.5 * (a - d);
    const double step = 1 / (0.5 * (a + d) + root(half * half + b * b));
    const double t1 = lambda[r + 1] - step * (v[1] + N[(r + 1) * m.rows + r] * (next - old));
    const double t2 = lambda[r + 2] - step * (v[2] + N[(r + 2) * m.rows + r] * (next - old));
    const double most = w.x[m.at.mu + c] * next, length = root(t1 * t1 + t2 * t2);
    const double share = length > most ? most / length : 1;
    lambda[r + 1] = t1 * share;
    lambda[r + 2] = t2 * share;
  }
  for (int l = 0; l < set.limits; ++l) {
    const int r = set.dim * set.contacts + l;
    const double d = N[r * m.rows + r];
    if (!(d > 0)) continue;
    const double rest = row_velocity(w, set, r) - d * lambda[r];
    const double lo = w.x[m.at.lo + l], hi = w.x[m.at.hi + l];
    lambda[r] = rest < lo ? (lo - rest) / d : rest > hi ? (hi - rest) / d : 0;
  }
}

/// w of all rows, the state of every block, and the largest relative error of a law. Velocities of
/// RowSet::floor and below count as nothing.
template <int Lanes>
ORTHANT_HD double judge_rows(const World<Lanes>& w, const RowSet& set) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> lambda = w.x + m.at.lambda, v = w.x + m.at.w, b = w.x + m.at.b;
  double worst = 0;
  const int n = set.count();
  for (int i = 0; i < n; ++i) v[i] = row_velocity(w, set, i);
  for (int c = 0; c < set.contacts; ++c) {
    const int r = set.dim * c;
    const double tau = w.x[m.at.tau + c], ln = lambda[r];
    const double zn = ln - tau * v[r];
    double error = zn > 0 ? tau * v[r] : ln, size = ln * ln, speed = v[r] * v[r] + b[r] * b[r];
    error *= error;
    int state = zn > 0 ? kStick : kOpen;
    if (set.dim == 3) {
      const double z1 = lambda[r + 1] - tau * v[r + 1], z2 = lambda[r + 2] - tau * v[r + 2];
      const double most = w.x[m.at.mu + c] * (ln > 0 ? ln : 0), length = root(z1 * z1 + z2 * z2);
      const double share = length > most ? most / length : 1;
      if (state == kStick && (length > most || !(w.x[m.at.mu + c] > 0))) state = kSlide;
      const double e1 = lambda[r + 1] - z1 * share, e2 = lambda[r + 2] - z2 * share;
      error += e1 * e1 + e2 * e2;
      size += lambda[r + 1] * lambda[r + 1] + lambda[r + 2] * lambda[r + 2];
      speed +=
          v[r + 1] * v[r + 1] + v[r + 2] * v[r + 2] + b[r + 1] * b[r + 1] + b[r + 2] * b[r + 2];
      const Slab<double, Lanes> law = w.x + m.at.law + 3 * c;
      law[0] = length > 0 ? z1 / length : 0;
      law[1] = length > 0 ? z2 / length : 0;
      law[2] = length > 0 ? most / length : 0;
    }
    w.i[m.at.state + c] = state;
    const double scale = root(size) + tau * (root(speed) + set.floor);
    error = scale > 0 ? root(error) / scale : 0;
    worst = error > worst || !(error == error) ? error : worst;
  }
  for (int l = 0; l < set.limits; ++l) {
    const int r = set.dim * set.contacts + l;
    const double d = w.x[m.at.N + r * m.rows + r];
    if (!(d > 0)) continue;
    const double lo = w.x[m.at.lo + l], hi = w.x[m.at.hi + l], x = lambda[r];
    const double zl = x - (v[r] - lo) / d, zh = x - (v[r] - hi) / d;  // of either bound
    const int state = zl > 0 ? kStick : zh < 0 ? kAtUpper : kOpen;
    const double to = state == kOpen ? 0 : state == kStick ? zl : zh;
    double error = x - to;
    error = error < 0 ? -error : error;
    const double speed = (v[r] < 0 ? -v[r] : v[r]) + (b[r] < 0 ? -b[r] : b[r]);
    const double scale = (x < 0 ? -x : x) + (speed + set.floor) / d;
    error = scale > 0 ? error / scale : 0;
    w.i[m.at.state + m.contacts + l] = state;
    worst = error > worst || !(error == error) ? error : worst;
  }
  return worst;
}

/// L_wᵀ y of row group c into p; L_λᵀ y into g.
template <int Lanes>
ORTHANT_HD void law_transposed(const World<Lanes>& w, const RowSet& set, int c, const double* y,
                               double* p, double* g) {
  const int state = w.i[w.m.at.state + c];
  const double tau = w.x[w.m.at.tau + c];
  for (int i = 0; i < set.dim; ++i) p[i] = g[i] = 0;
  if (state == kOpen) {
    for (int i = 0; i < set.dim; ++i) g[i] = y[i];
    return;
  }
  p[0] = tau * y[0];
  if (set.dim == 1) return;
  if (state == kStick) {
    p[1] = tau * y[1], p[2] = tau * y[2];
    return;
  }
  const Slab<double, Lanes> law = w.x + w.m.at.law + 3 * c;
  const double z1 = law[0], z2 = law[1], along = z1 * y[1] + z2 * y[2];
  const double r1 = law[2] * (y[1] - z1 * along), r2 = law[2] * (y[2] - z2 * along);
  p[1] = tau * r1, p[2] = tau * r2;
  g[0] = -w.x[w.m.at.mu + c] * along;
  g[1] = y[1] - r1, g[2] = y[2] - r2;
}

/// A = L_λ + L_w N over the rows that are not open, listed in `index`; returns how many.
template <int Lanes>
ORTHANT_HD int linearise(const World<Lanes>& w, const RowSet& set) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> N = w.x + m.at.N, A = w.x + m.at.A;
  const Slab<int, Lanes> index = w.i + m.at.index + m.contacts + m.limits;
  int n = 0;
  for (int c = 0; c < set.contacts; ++c)
    if (w.i[m.at.state + c] != kOpen)
      for (int i = 0; i < set.dim; ++i) index[n++] = set.dim * c + i;
  for (int l = 0; l < set.limits; ++l)
    if (w.i[m.at.state + m.contacts + l] != kOpen) index[n++] = set.dim * set.contacts + l;
  for (int i = 0; i < n; ++i) {
    const int r = index[i], c = r / set.dim, k = r - set.dim * c;
    const Slab<double, Lanes> a = A + i * m.rows, row = N + r * m.rows;
    if (c >= set.contacts) {
      const double scale = 1 / row[r];
      for (int j = 0; j < n; ++j) a[j] = scale * row[index[j]];
      a[i] += kProximal;
      continue;
    }
    const double tau = w.x[m.at.tau + c];
    if (k == 0 || w.i[m.at.state + c] == kStick) {
      for (int j = 0; j < n; ++j) a[j] = tau * row[index[j]];
      a[i] += kProximal;
      continue;
    }
    const Slab<double, Lanes> law = w.x + m.at.law + 3 * c, other = N + (r - k + 3 - k) * m.rows;
    const double own = law[k - 1], across = law[2 - k];
    const double same = law[2] * (1 - own * own), mixed = -law[2] * own * across;
    for (int j = 0; j < n; ++j) a[j] = tau * (same * row[index[j]] + mixed * other[index[j]]);
    a[i] += 1 - same;
    a[i - k + 3 - k] -= mixed;
    a[i - k] -= w.x[m.at.mu + c] * own;
  }
  return n;
}

/// PA = LU in place, the order of the rows in `order`; false where it is singular. `weak`: pivots
/// so small that only the proximal term keeps them from zero.
template <int Lanes>
ORTHANT_HD bool factor_rows(const World<Lanes>& w, int n, int& weak) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> A = w.x + m.at.A;
  const Slab<int, Lanes> order = w.i + m.at.index + m.contacts + m.limits + m.rows;
  for (int i = 0; i < n; ++i) order[i] = i;
  weak = 0;
  for (int k = 0; k < n; ++k) {
    int best = k;
    double most = -1;
    for (int i = k; i < n; ++i) {
      double x = A[i * m.rows + k];
      x = x < 0 ? -x : x;
      if (x > most) most = x, best = i;
    }
    if (!(most > 0)) return false;
    weak += most < kWeakPivot ? 1 : 0;
    if (best != k) {
      for (int j = 0; j < n; ++j) {
        const double t = A[k * m.rows + j];
        A[k * m.rows + j] = A[best * m.rows + j];
        A[best * m.rows + j] = t;
      }
      const int t = order[k];
      order[k] = order[best];
      order[best] = t;
    }
    const double inverse = 1 / A[k * m.rows + k];
    for (int i = k + 1; i < n; ++i) {
      const double f = A[i * m.rows + k] * inverse;
      A[i * m.rows + k] = f;
      if (f == 0) continue;
      for (int j = k + 1; j < n; ++j) A[i * m.rows + j] -= f * A[k * m.rows + j];
    }
  }
  return true;
}

/// A x = b: b in `from`, x in `to`.
template <int Lanes>
ORTHANT_HD void solve_rows(const World<Lanes>& w, int n, const Slab<double, Lanes>& from,
                           const Slab<double, Lanes>& to) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> A = w.x + m.at.A;
  const Slab<int, Lanes> order = w.i + m.at.index + m.contacts + m.limits + m.rows;
  for (int i = 0; i < n; ++i) {
    double t = from[order[i]];
    for (int j = 0; j < i; ++j) t -= A[i * m.rows + j] * to[j];
    to[i] = t;
  }
  for (int i = n - 1; i >= 0; --i) {
    double t = to[i];
    for (int j = i + 1; j < n; ++j) t -= A[i * m.rows + j] * to[j];
    to[i] = t / A[i * m.rows + i];
  }
}

/// Aᵀ x = b: `from` is overwritten.
template <int Lanes>
ORTHANT_HD void solve_rows_transposed(const World<Lanes>& w, int n, const Slab<double, Lanes>& from,
                                      const Slab<double, Lanes>& to) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> A = w.x + m.at.A;
  const Slab<int, Lanes> order = w.i + m.at.index + m.contacts + m.limits + m.rows;
  for (int i = 0; i < n; ++i) {
    const double t = from[i] / A[i * m.rows + i];
    from[i] = t;
    for (int j = i + 1; j < n; ++j) from[j] -= A[i * m.rows + j] * t;
  }
  for (int i = n - 1; i >= 0; --i) {
    const double t = from[i];
    for (int j = 0; j < i; ++j) from[j] -= A[i * m.rows + j] * t;
    to[order[i]] = t;
  }
}

/// One Newton step from the state judge_rows() left; the old impulses stay in the third part of
/// `adjoint`.
template <int Lanes>
ORTHANT_HD bool newton_step(const World<Lanes>& w, const RowSet& set) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> lambda = w.x + m.at.lambda, v = w.x + m.at.w;
  const Slab<double, Lanes> F = w.x + m.at.adjoint, d = F + m.rows, old = F + 2 * m.rows;
  const Slab<int, Lanes> index = w.i + m.at.index + m.contacts + m.limits;
  const int rows = set.count();
  for (int i = 0; i < rows; ++i) old[i] = lambda[i];
  // Open blocks let go at once: their impulse leaves the w of the others.
  bool let_go = false;
  for (int c = 0; c < set.contacts; ++c)
    if (w.i[m.at.state + c] == kOpen)
      for (int i = 0; i < set.dim; ++i) {
        let_go = let_go || lambda[set.dim * c + i] != 0;
        lambda[set.dim * c + i] = 0;
      }
  for (int l = 0; l < set.limits; ++l)
    if (w.i[m.at.state + m.contacts + l] == kOpen) {
      let_go = let_go || lambda[set.dim * set.contacts + l] != 0;
      lambda[set.dim * set.contacts + l] = 0;
    }
  if (let_go)
    for (int i = 0; i < rows; ++i) v[i] = row_velocity(w, set, i);
  const int n = linearise(w, set);
  for (int i = 0; i < n; ++i) {
    const int r = index[i], c = r / set.dim, k = r - set.dim * c;
    if (c >= set.contacts) {
      const int l = r - set.dim * set.contacts;
      const double to =
          w.i[m.at.state + m.contacts + l] == kStick ? w.x[m.at.lo + l] : w.x[m.at.hi + l];
      F[i] = (to - v[r]) / w.x[m.at.N + r * m.rows + r];
    } else if (k == 0 || w.i[m.at.state + c] == kStick) {
      F[i] = -w.x[m.at.tau + c] * v[r];
    } else {
      F[i] = w.x[m.at.mu + c] * lambda[r - k] * w.x[m.at.law + 3 * c + k - 1] - lambda[r];
    }
  }
  int weak;
  if (!factor_rows(w, n, weak)) return false;
  solve_rows(w, n, F, d);
  for (int i = 0; i < n; ++i) lambda[index[i]] += d[i];
  return true;
}

/// One more sweep, and its change of λ many times over while that makes nothing worse: where rows
/// are redundant, sweeps walk along a line on which w hardly changes, until a block lets go.
template <int Lanes>
ORTHANT_HD double leap(const World<Lanes>& w, const RowSet& set) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> lambda = w.x + m.at.lambda, old = w.x + m.at.adjoint + 2 * m.rows,
                            change = w.x + m.at.adjoint;
  const int rows = set.count();
  for (int i = 0; i < rows; ++i) old[i] = lambda[i];
  sweep(w, set);
  double error = judge_rows(w, set), most = 4096;
  for (int i = 0; i < rows; ++i) {
    change[i] = lambda[i] - old[i];
    old[i] = lambda[i];
  }
  for (int c = 0; c < set.contacts; ++c) {  // to where the first contact lets go
    const double x = lambda[set.dim * c], d = change[set.dim * c];
    if (x > 0 && d < 0 && x < -most * d) most = x / -d;
  }
  for (; most > 4; most *= 0.25) {
    for (int i = 0; i < rows; ++i) lambda[i] = old[i] + most * change[i];
    const double next = judge_rows(w, set);
    if (next < 2 * error) return next;
  }
  for (int i = 0; i < rows; ++i) lambda[i] = old[i];
  return judge_rows(w, set);
}

/// λ of the rows from the start in `lambda`; the relative error out.
template <int Lanes>
ORTHANT_HD double solve_laws(const World<Lanes>& w, const RowSet& set, WorldReport& report) {
  const BatchModel& m = w.m;
  if (set.count() == 0) return 0;
  constexpr int kFirst = 4, kNewton = 8;
  scale_rows(w, set);
  int left = w.s.sweeps, some = kFirst;
  double error = judge_rows(w, set);
  // A warm start is often the answer's active set.
  for (bool sweeping = false; error > w.s.tolerance || !(error == error);) {
    if (sweeping) {
      if (left <= 0) break;
      for (int i = 0; i < some; ++i) sweep(w, set);
      report.sweeps += some;
      left -= some;
      some = some < 32 ? 2 * some : 32;
      error = left < w.s.sweeps - 4 * kFirst ? leap(w, set) : judge_rows(w, set);
    }
    sweeping = true;
    for (int i = 0; i < kNewton && error > w.s.tolerance; ++i) {
      const bool solved = newton_step(w, set);
      ++report.newton;
      const double next = solved ? judge_rows(w, set) : 1e300;
      if (next < 0.7 * error) {
        error = next;
        continue;
      }
      const int rows = set.count();
      for (int k = 0; k < rows; ++k) w.x[m.at.lambda + k] = w.x[m.at.adjoint + 2 * m.rows + k];
      error = judge_rows(w, set);
      break;
    }
  }
  return error;
}

}  // namespace orthant::device
