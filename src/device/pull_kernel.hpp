// SPDX-License-Identifier: Apache-2.0
// device/pull_kernel.hpp: reverse mode of one step of one world by the implicit function theorem.
//   Λ = y·(H v − k − Cᵀγ − Dᵀλ) + z·(C v + e) + η·law(λ, D v + b)      stationary in (v, γ, λ) up
//   to v̄ (L_λᵀ + N L_wᵀ) η = D K⁻¹v̄,   p = L_wᵀη,   (y, −z) = K⁻¹(v̄ − Dᵀp),   x̄ = −∂Λ/∂x
// The step is made again from (q, v) and its impulses, without a search: that is the whole record.
#pragma once

#include "device/pull_element_kernel.hpp"

namespace orthant::device {

/// Distances to the borders of the laws, as the certificate counts them.
template <int Lanes>
ORTHANT_HD void certify(const World<Lanes>& w, const RowSet& set, Use use,
                        WorldCertificate& certificate) {
  const BatchModel& m = w.m;
  const auto note = [&](double distance) {
    if (distance < certificate.margin) certificate.margin = distance;
    if (distance <= kBorder) certificate.floating += 1;
  };
  const auto size_of = [](double x) { return x < 0 ? -x : x; };
  for (int c = 0; c < set.contacts; ++c) {
    const int r = set.dim * c, state = w.i[m.at.state + c];
    const double tau = w.x[m.at.tau + c], ln = w.x[m.at.lambda + r], vn = tau * w.x[m.at.w + r];
    const double scale = size_of(ln) + size_of(vn) + tau * size_of(w.x[m.at.b + r]);
    if (!(scale > 0)) continue;
    note(size_of(ln - vn) / scale);
    if (state == kOpen || set.dim == 1) continue;
    const double most = w.x[m.at.mu + c] * ln;
    if (most > 0) {
      const double z1 = w.x[m.at.lambda + r + 1] - tau * w.x[m.at.w + r + 1];
      const double z2 = w.x[m.at.lambda + r + 2] - tau * w.x[m.at.w + r + 2];
      note(size_of(root(z1 * z1 + z2 * z2) - most) / (scale + most));
    }
    if (use == Use::Step) {
      const double gap = w.x[m.at.gap + c];
      const ContactData& pair = m.contact[w.i[m.at.index + c]];
      double x[kContactNumbers];
      read_contact_numbers<double>(pair, w.par, x);
      const double w1 = shape_width(pair.shape1, x + kSize1),
                   w2 = shape_width(pair.shape2, x + kSize2);
      if (size_of(gap) <= w.s.resting * (w1 < w2 ? w1 : w2)) certificate.start_kinks += 1;
    }
  }
  for (int l = 0; l < set.limits; ++l) {
    const int r = set.dim * set.contacts + l;
    const double d = w.x[m.at.N + r * m.rows + r], x = d * w.x[m.at.lambda + r];
    const double lo = w.x[m.at.lo + l] - w.x[m.at.w + r], hi = w.x[m.at.w + r] - w.x[m.at.hi + l];
    const double scale = size_of(x) + size_of(w.x[m.at.w + r]) + size_of(w.x[m.at.b + r]);
    if (!(scale > 0)) continue;
    const double a = size_of(x + lo) / scale, b = size_of(-x + hi) / scale;
    note(a < b ? a : b);
  }
}

/// Cotangent of the solution (`by_v` of the workspace: v̄ in, overwritten) => y, z, p; then −∂Λ is
/// added to by_q, by_v (by v before) and `g`. The solve's factor, rows, λ and states are in place.
template <int Lanes>
ORTHANT_HD void pull_solve(const World<Lanes>& w, Use use, const RowSet& set, const double* v,
                           const double* flight, const Gradient& g, WorldCertificate& certificate) {
  const BatchModel& m = w.m;
  const int rows = set.count(), nv = 6 * m.bodies;
  const Slab<double, Lanes> f = w.x + m.at.y, y = w.x + m.at.weight, z = w.x + m.at.weight_gamma;
  const Slab<double, Lanes> from = w.x + m.at.adjoint, to = from + m.rows, goal = from + 2 * m.rows,
                            p = from + 3 * m.rows, eta = from + 4 * m.rows;
  for (int i = 0; i < nv; ++i) f[i] = w.x[m.at.by_v + i];
  solve_tree(w, f, false, y, z);
  for (int r = 0; r < rows; ++r) p[r] = eta[r] = 0;
  const int n = rows > 0 ? linearise(w, set) : 0;
  certify(w, set, use, certificate);
  if (n > 0) {
    const Slab<int, Lanes> index = w.i + m.at.index + m.contacts + m.limits;
    double size = 0, error = 0;
    for (int r = 0; r < rows; ++r) {
      int a, b;
      bodies_of(w, set, r, a, b);
      const double t = row_rate(w, r, a, b, y);
      goal[r] = t;
      size = t > size ? t : -t > size ? -t : size;
    }
    int weak;
    const bool good = factor_rows(w, n, weak);
    certificate.redundant += weak;
    // Redundant rows have a proximal term in the factor, which refinement takes out again.
    for (int turn = 0; good && turn < 4; ++turn) {
      error = 0;
      for (int i = 0; i < n; ++i) {
        const int r = index[i], c = r / set.dim, k = r - set.dim * c;
        double t = goal[r];
        for (int j = 0; j < rows; ++j) t -= w.x[m.at.N + r * m.rows + j] * p[j];
        if (c < set.contacts && set.dim == 3) {
          double y3[3] = {eta[3 * c], eta[3 * c + 1], eta[3 * c + 2]}, p3[3], g3[3];
          law_transposed(w, set, c, y3, p3, g3);
          t -= g3[k];
        }
        from[i] = t;
        error = t > error ? t : -t > error ? -t : error;
      }
      if (turn == 3 || !(error > 1e-14 * size)) break;
      solve_rows_transposed(w, n, from, to);
      for (int i = 0; i < n; ++i) eta[index[i]] += to[i];
      for (int c = 0; c < set.contacts; ++c) {
        double y3[3] = {0, 0, 0}, p3[3], g3[3];
        for (int i = 0; i < set.dim; ++i) y3[i] = eta[set.dim * c + i];
        law_transposed(w, set, c, y3, p3, g3);
        for (int i = 0; i < set.dim; ++i) p[set.dim * c + i] = p3[i];
      }
      for (int l = 0; l < set.limits; ++l) {
        const int r = set.dim * set.contacts + l;
        p[r] = eta[r] / w.x[m.at.N + r * m.rows + r];
      }
    }
    const double relative = !good ? 1 : size > 0 ? error / size : 0;
    if (relative > certificate.solve_error) certificate.solve_error = relative;
    for (int i = 0; i < nv; ++i) f[i] = w.x[m.at.by_v + i];
    for (int r = 0; r < rows; ++r) {
      if (p[r] == 0) continue;
      int a, b;
      bodies_of(w, set, r, a, b);
      add_row(w, r, a, b, -p[r], f);
    }
    solve_tree(w, f, false, y, z);
  }
  for (int i = 0; i < 6 * m.joints; ++i) z[i] = -z[i];
  for (int i = 0; i < nv; ++i) w.x[m.at.by_v + i] = 0;
  for (int b = 0; b < m.bodies; ++b) {
    double turn[6] = {0, 0, 0, 0, 0, 0};
    const bool flies = flight != nullptr && w.i[m.at.touched + b] == 0;
    if (flies) load(w.x + m.at.delta + 6 * b, turn);
    pull_body(w, use, b, v, flies ? turn : nullptr, g);
  }
  for (int j = 0; j < m.joints; ++j) pull_joint(w, use, j, set, v, g);
  for (int c = 0; c < set.contacts; ++c) pull_contact(w, use, c, set, g);
}

/// q⁺ = q ⊞ δ backwards: by_q of q⁺ => by_q of q, and the cotangent of δ into `delta`.
template <int Lanes>
ORTHANT_HD void pull_move(const World<Lanes>& w, const Slab<double, Lanes>& delta) {
  for (int b = 0; b < w.m.bodies; ++b) {
    const Slab<double, Lanes> by = w.x + w.m.at.by_q + 6 * b, d = delta + 6 * b;
    const V3<double> theta{d[3], d[4], d[5]}, t{by[3], by[4], by[5]};
    for (int i = 0; i < 3; ++i) d[i] = by[i];
    const Q4<double> turn = normalized(exp_rotation(theta));
    const V3<double> back = rotate(conjugate(turn), t);
    // J_lᵀ t with J_l = 1 + a [θ]× + b [θ]×²
    const double s = dot(theta, theta);
    double a, c;
    if (s < 1e-4) {
      a = 0.5 - s * (1.0 / 24 - s * (1.0 / 720));
      c = 1.0 / 6 - s * (1.0 / 120 - s * (1.0 / 5040));
    } else {
      const double angle = root(s);
      a = (1 - cosine(angle)) / s;
      c = (angle - sine(angle)) / (s * angle);
    }
    const V3<double> one = cross(theta, t), two = cross(theta, one);
    const V3<double> r = t - one * a + two * c;
    d[3] = r.x, d[4] = r.y, d[5] = r.z;
    by[3] = back.x, by[4] = back.y, by[5] = back.z;
  }
}

inline constexpr int kKeptRounds = 8;  ///< configurations of a projection that reverse mode keeps

/// (q, v, u, parameters, impulses of the step) and ḡ(q⁺, v⁺) => ḡ(q, v, u, parameters).
template <int Lanes>
ORTHANT_HD void pull_back_world(const World<Lanes>& w, const double* q, const double* v,
                                const double* warm, const double* by_q_next,
                                const double* by_v_next, double* by_q, const Gradient& g,
                                WorldCertificate& certificate) {
  const BatchModel& m = w.m;
  const int nv = 6 * m.bodies;
  certificate = {0, 0, 1, 0, 0};
  WorldReport report{};
  bool good = true;
  for (int i = 0; i < m.q_size; ++i) {
    good = good && is_finite(q[i]);
    w.x[m.at.q + i] = q[i];
  }
  for (int i = 0; i < nv; ++i)
    good = good && is_finite(v[i]) && is_finite(by_q_next[i]) && is_finite(by_v_next[i]);
  for (int i = 0; i < nv; ++i) by_q[i] = g.v[i] = 0;
  for (int i = 0; g.u != nullptr && i < m.controls; ++i) g.u[i] = 0;
  if (!good) {
    certificate.solve_error = 1;
    return;
  }
  RowSet set;
  for (int i = 0; i < nv; ++i) w.x[m.at.by_q + i] = by_q_next[i];
  if (w.s.rounds > 0) {
    // Forward once more, keeping the configuration of every round.
    solve_velocities(w, v, warm, true, set, report);
    find_displacement(w, set, v);
    const auto move = [&](int from) {
      for (int b = 0; b < m.bodies; ++b) {
        double d[6];
        load(w.x + from + 6 * b, d);
        move_body(w, b, d);
      }
    };
    move(m.at.delta);
    const double smallest = smallest_size(m, w.par);
    int rounds = 0;
    for (;; ++rounds) {
      if (rounds < kKeptRounds)
        for (int i = 0; i < m.q_size; ++i)
          w.x[m.at.rounds + rounds * m.q_size + i] = w.x[m.at.q + i];
      if (correct(w, smallest, set, report, good, false) <= 1 || rounds == w.s.rounds) break;
      move(m.at.v);
    }
    if (rounds > kKeptRounds) certificate.solve_error = 1;
    const bool idle = rounds == 0 && m.joints > 0;  // one more round would do nothing, but holds
    Gradient rest = g;
    rest.u = nullptr;
    for (int k = (idle ? 1 : rounds < kKeptRounds ? rounds : kKeptRounds) - 1; k >= 0; --k) {
      for (int i = 0; i < m.q_size; ++i) w.x[m.at.q + i] = w.x[m.at.rounds + k * m.q_size + i];
      correct(w, smallest, set, report, good, true);
      if (idle) set = {0, 0, 1, 0};
      for (int i = 0; i < nv; ++i) w.x[m.at.by_v + i] = w.x[m.at.v + i];
      pull_move(w, w.x + m.at.by_v);
      pull_solve(w, Use::Projection, set, nullptr, nullptr, rest, certificate);
    }
    for (int i = 0; i < m.q_size; ++i) w.x[m.at.q + i] = q[i];
  }
  solve_velocities(w, v, warm, true, set, report);
  find_displacement(w, set, v);
  const double h = w.s.h;
  pull_move(w, w.x + m.at.delta);
  bool flies = false;
  for (int b = 0; b < m.bodies; ++b) {
    const bool touched = w.i[m.at.touched + b] != 0;
    flies = flies || !touched;
    for (int i = 0; i < 6; ++i)
      w.x[m.at.by_v + 6 * b + i] =
          by_v_next[6 * b + i] + (touched ? h : 0.5 * h) * w.x[m.at.delta + 6 * b + i];
  }
  const double some = 0;
  pull_solve(w, Use::Step, set, v, flies ? &some : nullptr, g, certificate);
  for (int b = 0; b < m.bodies; ++b)
    for (int i = 0; i < 3; ++i)
      if (w.i[m.at.touched + b] == 0)
        w.x[m.at.by_v + 6 * b + i] += 0.5 * h * w.x[m.at.delta + 6 * b + i];
  for (int i = 0; i < nv; ++i) {
    by_q[i] = w.x[m.at.by_q + i];
    g.v[i] = w.x[m.at.by_v + i];
  }
}

}  // namespace orthant::device
