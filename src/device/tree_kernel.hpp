// SPDX-License-Identifier: Apache-2.0
// device/tree_kernel.hpp: the bodies and joints of one world, factorised leaf to root.
//   H v − Cᵀγ = f,   C v + Σγ = −e         Σ = 1/a on the row of a spring, damper or armature
// A body c on joint rows (C_c, C_p) to its parent p:   L Lᵀ = H_c,  B = C_c L⁻ᵀ,  L_s L_sᵀ = B Bᵀ +
// Σ, E = L_s⁻¹C_p,  H_p += EᵀE. Every block is 6 × 6, rows that a joint lacks are those of the
// identity. With the same factor a row d of contact or limit goes up as (y, s), and
//   N_ij = d_i K⁻¹ d_j = Σ y_i·y_j − Σ s_i·s_j     over the bodies on both their ways to the root.
#pragma once

#include "device/element_kernel.hpp"

namespace orthant::device {

/// Numbers of one world among those of `Lanes` worlds stored side by side.
template <class T, int Lanes>
struct Slab {
  T* p;
  ORTHANT_HD T& operator[](int i) const { return p[static_cast<std::size_t>(i) * Lanes]; }
  ORTHANT_HD Slab operator+(int i) const { return {p + static_cast<std::size_t>(i) * Lanes}; }
};

template <int Lanes>
struct World {
  const BatchModel& m;
  const Settings& s;
  const double* par;
  const double* u;  ///< controls, null: none
  Slab<double, Lanes> x;
  Slab<int, Lanes> i;
};

inline constexpr int kFactor = 114, kFactorB = 21, kFactorS = 57, kFactorE = 78;
inline constexpr int kCoordinate = 15;  ///< row (12), s, a, p of a joint

ORTHANT_HD inline constexpr int packed(int i, int j) { return i * (i + 1) / 2 + j; }

/// Lower Cholesky factor of a packed 6 × 6 matrix in place, inverses on the diagonal.
ORTHANT_HD inline bool cholesky6(double* a) {
  bool good = true;
  ORTHANT_UNROLL for (int j = 0; j < 6; ++j) {
    double d = a[packed(j, j)];
    ORTHANT_UNROLL for (int k = 0; k < j; ++k) d -= a[packed(j, k)] * a[packed(j, k)];
    good = good && d > 0;
    const double inverse = 1 / root(d);
    a[packed(j, j)] = inverse;
    ORTHANT_UNROLL for (int i = j + 1; i < 6; ++i) {
      double t = a[packed(i, j)];
      ORTHANT_UNROLL for (int k = 0; k < j; ++k) t -= a[packed(i, k)] * a[packed(j, k)];
      a[packed(i, j)] = t * inverse;
    }
  }
  return good;
}
ORTHANT_HD inline void forward6(const double* l, double* x) {
  ORTHANT_UNROLL for (int i = 0; i < 6; ++i) {
    double t = x[i];
    ORTHANT_UNROLL for (int k = 0; k < i; ++k) t -= l[packed(i, k)] * x[k];
    x[i] = t * l[packed(i, i)];
  }
}
ORTHANT_HD inline void backward6(const double* l, double* x) {
  ORTHANT_UNROLL for (int i = 5; i >= 0; --i) {
    double t = x[i];
    ORTHANT_UNROLL for (int k = i + 1; k < 6; ++k) t -= l[packed(k, i)] * x[k];
    x[i] = t * l[packed(i, i)];
  }
}
template <int Lanes, int N>
ORTHANT_HD void load(const Slab<double, Lanes>& from, double (&to)[N]) {
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) to[i] = from[i];
}
template <int Lanes, int N>
ORTHANT_HD void store(const double (&from)[N], const Slab<double, Lanes>& to) {
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) to[i] = from[i];
}

template <int Lanes>
ORTHANT_HD Pose7<double> pose_at(const World<Lanes>& w, int place) {
  if (place < 0) return {{0, 0, 0}, {1, 0, 0, 0}};
  const Slab<double, Lanes> q = w.x + w.m.at.q + place;
  return {{q[0], q[1], q[2]}, {q[3], q[4], q[5], q[6]}};
}
ORTHANT_HD inline double parameter_or(const double* par, int i) { return i < 0 ? 0.0 : par[i]; }

/// Generalised force gear u of the actuators of a joint, each cut to its range.
ORTHANT_HD inline double joint_push(const BatchModel& m, const JointData& j, const double* par,
                                    const double* u) {
  double push = 0;
  for (int k = j.actuator_begin; u != nullptr && k < j.actuator_end; ++k) {
    const ActuatorData& a = m.actuator[k];
    double x = u[a.control];
    x = x < a.lower ? a.lower : x > a.upper ? a.upper : x;
    double f = par[a.gear] * x;
    if (a.max_force >= 0) {
      const double most = par[a.max_force];
      f = f < -most ? -most : f > most ? most : f;
    }
    push += f;
  }
  return push;
}

/// M of every body into the factor, k = M v* + h f, the turn it would make alone. `v` null: M only.
template <int Lanes>
ORTHANT_HD void place_bodies(const World<Lanes>& w, const double* v) {
  const BatchModel& m = w.m;
  const double h = w.s.h;
  for (int b = 0; b < m.bodies; ++b) {
    const BodyData& body = m.body[b];
    const double mass = w.par[body.mass];
    double I[6];
    ORTHANT_UNROLL for (int i = 0; i < 6; ++i) I[i] = w.par[body.inertia + i];
    const Q4<double> p = pose_at(w, body.q).p;
    const bool isotropic = is_isotropic(I);
    double W[6] = {I[0], I[0], I[0], 0, 0, 0};  // xx, yy, zz, xy, xz, yz
    if (!isotropic) {
      const V3<double> cx = rotate(p, axis<double>(0)), cy = rotate(p, axis<double>(1)),
                       cz = rotate(p, axis<double>(2));
      const V3<double> ax = cx * I[0] + cy * I[3] + cz * I[4];
      const V3<double> ay = cx * I[3] + cy * I[1] + cz * I[5];
      const V3<double> az = cx * I[4] + cy * I[5] + cz * I[2];
      W[0] = ax.x * cx.x + ay.x * cy.x + az.x * cz.x;
      W[1] = ax.y * cx.y + ay.y * cy.y + az.y * cz.y;
      W[2] = ax.z * cx.z + ay.z * cy.z + az.z * cz.z;
      W[3] = ax.y * cx.x + ay.y * cy.x + az.y * cz.x;
      W[4] = ax.z * cx.x + ay.z * cy.x + az.z * cz.x;
      W[5] = ax.z * cx.y + ay.z * cy.y + az.z * cz.y;
    }
    const Slab<double, Lanes> H = w.x + m.at.factor + kFactor * b;
    ORTHANT_UNROLL for (int i = 0; i < 21; ++i) H[i] = 0;
    ORTHANT_UNROLL for (int i = 0; i < 3; ++i) H[packed(i, i)] = mass;
    H[packed(3, 3)] = W[0];
    H[packed(4, 4)] = W[1];
    H[packed(5, 5)] = W[2];
    H[packed(4, 3)] = W[3];
    H[packed(5, 3)] = W[4];
    H[packed(5, 4)] = W[5];
    if (v == nullptr) continue;
    const double* vb = v + 6 * b;
    const V3<double> omega{vb[3], vb[4], vb[5]};
    Coast<double> c{omega * h, omega};
    if (!isotropic && dot(omega, omega) > 0) {
      const Coast<double> r = coast<double>(I, p, omega, h);
      const double sum = dot(r.omega, r.omega) + dot(r.turn, r.turn);
      if (sum - sum == 0) c = r;  // absurd spin: explicit is finite
    }
    const V3<double> L = times(W, c.omega);
    const Slab<double, Lanes> k = w.x + m.at.k + 6 * b, turn = w.x + m.at.turn + 6 * b;
    ORTHANT_UNROLL for (int i = 0; i < 3; ++i) k[i] = mass * (vb[i] + h * w.par[m.gravity + i]);
    k[3] = L.x, k[4] = L.y, k[5] = L.z;
    turn[0] = c.turn.x, turn[1] = c.turn.y, turn[2] = c.turn.z;
    turn[3] = c.omega.x, turn[4] = c.omega.y, turn[5] = c.omega.z;
  }
}

template <int Lanes>
ORTHANT_HD void add6(const Slab<double, Lanes>& to, const V3<double>& l, const V3<double>& a,
                     double f) {
  to[0] += l.x * f, to[1] += l.y * f, to[2] += l.z * f;
  to[3] += a.x * f, to[4] += a.y * f, to[5] += a.z * f;
}
ORTHANT_HD inline double dot6(const V3<double>& l, const V3<double>& a, const double* v) {
  return l.x * v[0] + l.y * v[1] + l.z * v[2] + a.x * v[3] + a.y * v[4] + a.z * v[5];
}

/// Frames, rows, coordinate of a joint: e and the row blocks C_c, C_p (6 × 6 each, row by row) out.
/// `v`: velocities before the step, null in a projection, which has no springs.
template <int Lanes>
ORTHANT_HD void place_joint(const World<Lanes>& w, int index, const double* v, double* Cc,
                            double* Cp, double* diagonal, double& largest) {
  const BatchModel& m = w.m;
  const JointData& j = m.joint[index];
  const double h = w.s.h;
  const JointFrame<double> f = joint_frame(pose_at(w, j.qa), pose_at(w, j.qb), w.par + j.frames);
  const Slab<double, Lanes> e = w.x + m.at.e + 6 * index;
  const auto put = [&](int i, const RowT<double>& r) {
    double* a = (j.child == 0 ? Cc : Cp) + 6 * i;
    double* b = (j.child == 0 ? Cp : Cc) + 6 * i;
    a[0] = r.la.x, a[1] = r.la.y, a[2] = r.la.z, a[3] = r.aa.x, a[4] = r.aa.y, a[5] = r.aa.z;
    b[0] = r.lb.x, b[1] = r.lb.y, b[2] = r.lb.z, b[3] = r.ab.x, b[4] = r.ab.y, b[5] = r.ab.z;
  };
  for (int i = 0; i < 6; ++i) {
    e[i] = 0;
    diagonal[i] = 0;
    if (i < j.rows) {
      double psi;
      put(i, joint_row<double>(j.type, i, f, psi));
      largest = psi > largest ? psi : -psi > largest ? -psi : largest;
      e[i] = v != nullptr ? w.s.beta * psi / h : psi;
    } else {
      for (int k = 0; k < 6; ++k) Cc[6 * i + k] = Cp[6 * i + k] = 0;
      diagonal[i] = 1;
    }
  }
  if (j.has_coordinate == 0) return;
  double s;
  const RowT<double> row = coordinate_row<double>(j.type, j.middle, f, s);
  const Slab<double, Lanes> c = w.x + m.at.coordinate + kCoordinate * index;
  c[0] = row.la.x, c[1] = row.la.y, c[2] = row.la.z, c[3] = row.aa.x, c[4] = row.aa.y;
  c[5] = row.aa.z, c[6] = row.lb.x, c[7] = row.lb.y, c[8] = row.lb.z, c[9] = row.ab.x;
  c[10] = row.ab.y, c[11] = row.ab.z, c[12] = s;
  if (j.lower >= 0 && w.par[j.lower] - s > largest) largest = w.par[j.lower] - s;
  if (j.upper >= 0 && s - w.par[j.upper] > largest) largest = s - w.par[j.upper];
  if (v == nullptr) return;
  const double k = parameter_or(w.par, j.stiffness), A = parameter_or(w.par, j.armature);
  const double a = h * h * k + h * parameter_or(w.par, j.damping) + A;
  double p = h * joint_push(m, j, w.par, w.u);
  if (j.stiffness >= 0) p -= h * k * (s - w.par[j.rest]);
  if (A != 0) {
    double rate = 0;
    if (j.a >= 0) rate += dot6(row.la, row.aa, v + 6 * j.a);
    if (j.b >= 0) rate += dot6(row.lb, row.ab, v + 6 * j.b);
    p += A * rate;
  }
  c[13] = a, c[14] = p;
  if (j.a >= 0) add6(w.x + m.at.k + 6 * j.a, row.la, row.aa, p);
  if (j.b >= 0) add6(w.x + m.at.k + 6 * j.b, row.lb, row.ab, p);
  if (a > 0) {
    put(j.rows, row);
    diagonal[j.rows] = 1 / a;
  }
}

/// Joints placed and the trees factorised; largest position error of a joint out.
template <int Lanes>
ORTHANT_HD bool factorize(const World<Lanes>& w, const double* v, double& joint_error) {
  const BatchModel& m = w.m;
  bool good = true;
  joint_error = 0;
  for (int n = 0; n < m.bodies; ++n) {
    const int b = m.order[n];
    const Slab<double, Lanes> F = w.x + m.at.factor + kFactor * b;
    double l[21];
    load(F, l);
    good = cholesky6(l) && good;
    store(l, F);
    const int joint = m.body[b].joint, parent = m.body[b].parent;
    if (joint < 0) continue;
    double B[36], E[36], diagonal[6];
    place_joint(w, joint, v, B, E, diagonal, joint_error);
    for (int i = 0; i < 6; ++i) forward6(l, B + 6 * i);
    store(B, F + kFactorB);
    double S[21];
    ORTHANT_UNROLL for (int i = 0; i < 6; ++i) ORTHANT_UNROLL for (int k = 0; k <= i; ++k) {
      double t = i == k ? diagonal[i] : 0;
      ORTHANT_UNROLL for (int c = 0; c < 6; ++c) t += B[6 * i + c] * B[6 * k + c];
      S[packed(i, k)] = t;
    }
    good = cholesky6(S) && good;
    store(S, F + kFactorS);
    if (parent < 0) continue;
    ORTHANT_UNROLL for (int i = 0; i < 6; ++i) ORTHANT_UNROLL for (int c = 0; c < 6; ++c) {
      double t = E[6 * i + c];
      ORTHANT_UNROLL for (int k = 0; k < i; ++k) t -= S[packed(i, k)] * E[6 * k + c];
      E[6 * i + c] = t * S[packed(i, i)];
    }
    store(E, F + kFactorE);
    const Slab<double, Lanes> H = w.x + m.at.factor + kFactor * parent;
    ORTHANT_UNROLL for (int i = 0; i < 6; ++i) ORTHANT_UNROLL for (int k = 0; k <= i; ++k) {
      double t = 0;
      ORTHANT_UNROLL for (int r = 0; r < 6; ++r) t += E[6 * r + i] * E[6 * r + k];
      H[packed(i, k)] += t;
    }
  }
  return good;
}

/// (f, e) => v, γ. `f` is overwritten; `with_e` false: e = 0.
template <int Lanes>
ORTHANT_HD void solve_tree(const World<Lanes>& w, const Slab<double, Lanes>& f, bool with_e,
                           const Slab<double, Lanes>& v, const Slab<double, Lanes>& gamma) {
  const BatchModel& m = w.m;
  for (int n = 0; n < m.bodies; ++n) {
    const int b = m.order[n];
    const Slab<double, Lanes> F = w.x + m.at.factor + kFactor * b;
    double l[21], y[6];
    load(F, l);
    load(f + 6 * b, y);
    forward6(l, y);
    store(y, f + 6 * b);
    const int joint = m.body[b].joint, parent = m.body[b].parent;
    if (joint < 0) continue;
    double s[6];
    ORTHANT_UNROLL for (int i = 0; i < 6; ++i) {
      double t = with_e ? -w.x[m.at.e + 6 * joint + i] : 0;
      ORTHANT_UNROLL for (int c = 0; c < 6; ++c) t -= F[kFactorB + 6 * i + c] * y[c];
      s[i] = t;
    }
    load(F + kFactorS, l);
    forward6(l, s);
    store(s, w.x + m.at.s + 6 * b);
    if (parent < 0) continue;
    ORTHANT_UNROLL for (int c = 0; c < 6; ++c) {
      double t = 0;
      ORTHANT_UNROLL for (int i = 0; i < 6; ++i) t += F[kFactorE + 6 * i + c] * s[i];
      f[6 * parent + c] += t;
    }
  }
  for (int n = m.bodies - 1; n >= 0; --n) {
    const int b = m.order[n];
    const Slab<double, Lanes> F = w.x + m.at.factor + kFactor * b;
    double l[21], y[6];
    load(f + 6 * b, y);
    const int joint = m.body[b].joint, parent = m.body[b].parent;
    if (joint >= 0) {
      double g[6];
      load(w.x + m.at.s + 6 * b, g);
      if (parent >= 0) {
        double vp[6];
        load(v + 6 * parent, vp);
        ORTHANT_UNROLL for (int i = 0; i < 6; ++i) ORTHANT_UNROLL for (int c = 0; c < 6; ++c)
            g[i] -= F[kFactorE + 6 * i + c] * vp[c];
      }
      load(F + kFactorS, l);
      backward6(l, g);
      store(g, gamma + 6 * joint);
      ORTHANT_UNROLL for (int c = 0; c < 6; ++c) ORTHANT_UNROLL for (int i = 0; i < 6; ++i) y[c] +=
          F[kFactorB + 6 * i + c] * g[i];
    }
    load(F, l);
    backward6(l, y);
    store(y, v + 6 * b);
  }
}

/// Rows r .. r + D − 1 up to the root: (y, s) of every body on `path`.
template <int D, int Lanes>
ORTHANT_HD void raise_rows(const World<Lanes>& w, int r, int body1, int body2, std::uint64_t path) {
  const BatchModel& m = w.m;
  const auto slot = [&](int i, int b) { return w.x + m.at.path + ((r + i) * m.bodies + b) * 12; };
  for (int n = 0; n < m.bodies; ++n) {
    const int b = m.order[n];
    if ((path >> b & 1) == 0) continue;
    ORTHANT_UNROLL for (int i = 0; i < D; ++i) {
      const Slab<double, Lanes> row = w.x + m.at.row + 12 * (r + i) + (b == body2 ? 6 : 0);
      const bool own = b == body1 || b == body2;
      ORTHANT_UNROLL for (int c = 0; c < 6; ++c) slot(i, b)[c] = own ? row[c] : 0;
    }
  }
  for (int n = 0; n < m.bodies; ++n) {
    const int b = m.order[n];
    if ((path >> b & 1) == 0) continue;
    const Slab<double, Lanes> F = w.x + m.at.factor + kFactor * b;
    const int joint = m.body[b].joint, parent = m.body[b].parent;
    double l[21], y[D][6], s[D][6];
    load(F, l);
    ORTHANT_UNROLL for (int i = 0; i < D; ++i) {
      load(slot(i, b), y[i]);
      forward6(l, y[i]);
      store(y[i], slot(i, b));
    }
    if (joint < 0) {
      ORTHANT_UNROLL for (int i = 0; i < D; ++i) ORTHANT_UNROLL for (int c = 0; c < 6; ++c)
          slot(i, b)[6 + c] = 0;
      continue;
    }
    ORTHANT_UNROLL for (int k = 0; k < 6; ++k) {
      double row[6];
      load(F + kFactorB + 6 * k, row);
      ORTHANT_UNROLL for (int i = 0; i < D; ++i) {
        double t = 0;
        ORTHANT_UNROLL for (int c = 0; c < 6; ++c) t -= row[c] * y[i][c];
        s[i][k] = t;
      }
    }
    load(F + kFactorS, l);
    ORTHANT_UNROLL for (int i = 0; i < D; ++i) {
      forward6(l, s[i]);
      store(s[i], slot(i, b) + 6);
    }
    if (parent < 0) continue;
    ORTHANT_UNROLL for (int i = 0; i < D; ++i) ORTHANT_UNROLL for (int c = 0; c < 6; ++c) y[i][c] =
        0;
    ORTHANT_UNROLL for (int k = 0; k < 6; ++k) {
      double row[6];
      load(F + kFactorE + 6 * k, row);
      ORTHANT_UNROLL for (int i = 0; i < D; ++i) ORTHANT_UNROLL for (int c = 0; c < 6; ++c)
          y[i][c] += row[c] * s[i][k];
    }
    ORTHANT_UNROLL for (int i = 0; i < D; ++i) ORTHANT_UNROLL for (int c = 0; c < 6; ++c)
        slot(i, parent)[c] += y[i][c];
  }
}

/// N_ij of row groups of Di and Dj rows that begin at ri and rj, both triangles.
template <int Di, int Dj, int Lanes>
ORTHANT_HD void join_rows(const World<Lanes>& w, int ri, int rj, std::uint64_t path) {
  const BatchModel& m = w.m;
  double sum[Di][Dj] = {};
  for (int b = 0; path != 0 && b < m.bodies; ++b) {
    if ((path >> b & 1) == 0) continue;
    double u[Di][12];
    ORTHANT_UNROLL for (int i = 0; i < Di; ++i)
        load(w.x + m.at.path + ((ri + i) * m.bodies + b) * 12, u[i]);
    ORTHANT_UNROLL for (int j = 0; j < Dj; ++j) {
      double z[12];
      load(w.x + m.at.path + ((rj + j) * m.bodies + b) * 12, z);
      ORTHANT_UNROLL for (int i = 0; i < Di; ++i) {
        double t = 0;
        ORTHANT_UNROLL for (int c = 0; c < 6; ++c) t += u[i][c] * z[c] - u[i][6 + c] * z[6 + c];
        sum[i][j] += t;
      }
    }
  }
  ORTHANT_UNROLL for (int i = 0; i < Di; ++i) ORTHANT_UNROLL for (int j = 0; j < Dj; ++j) {
    w.x[m.at.N + (ri + i) * m.rows + rj + j] = sum[i][j];
    w.x[m.at.N + (rj + j) * m.rows + ri + i] = sum[i][j];
  }
}

}  // namespace orthant::device
