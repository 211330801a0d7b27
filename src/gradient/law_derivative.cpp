// SPDX-License-Identifier: Apache-2.0
// gradient/law_derivative.cpp: one block of laws at an answer => an element of ∂Π_K, with a stated
// choice where two regions of the projection meet.
#include "gradient/law_derivative.hpp"

#include <algorithm>
#include <cmath>

#include "gradient/smoothing.hpp"
#include "math/law_kernel.hpp"

namespace orthant::internal {
namespace {

void set_identity(double* P, int n, double value) {
  for (int i = 0; i < n; ++i) P[i * n + i] = value;
}

/// One element of the generalised Jacobian of a cone block: P, and the row of G beyond the
/// identity.
struct ConeElement {
  double P[kMaxLawDim * kMaxLawDim] = {};
  double by_mu[kMaxLawDim] = {}, by_mu_r[kMaxLawDim] = {};
  double row[kMaxLawDim] = {};

  void take(const ProjectionDerivative& d, int n) {
    std::copy_n(d.P, n * n, P);
    std::copy_n(d.P_mu, n, by_mu);
    std::copy_n(d.P_mu_r, n, by_mu_r);
  }
};

/// Where a contact is about to slide (w_t = 0 on the mantle) it will do so against its friction:
/// the direction of w_t is that of −λ_t. The shift's own derivative knows none there.
void set_onset_direction(const Law& law, const double* z, const double* w, double negligible,
                         double* row) {
  if (!law.is_exact()) return;
  const ConeGroups groups = groups_of(law);
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g) {
    const double length = groups.size[g] > 0 ? norm_of(z + at, groups.size[g]) : 0.0;
    if (length == 0 || norm_of(w + at, groups.size[g]) > negligible) continue;
    for (int i = 0; i < groups.size[g]; ++i) row[at + i] = -groups.c[g] * z[at + i] / length;
  }
}

}  // namespace

double closed_share(KinkChoice kink, std::size_t block) {
  constexpr double kGolden = 0.6180339887498949;  // multiples of it are far from each other
  switch (kink) {
    case KinkChoice::Clamp:
      return 1;
    case KinkChoice::Separate:
      return 0;
    case KinkChoice::Average:
      return 0.5;
    case KinkChoice::Mixed:
      break;
  }
  return 0.25 + 0.5 * std::fmod(kGolden * static_cast<double>(block + 1), 1.0);
}

void separable_block(const Law& law, const double* z, const double* size,
                     const SolutionGradientSettings& s, double share, BlockDerivative& out) {
  for (int i = 0; i < law.dim; ++i) {
    const ContactClass set = classify_entry(law, z[i], size[i], s.floating_tolerance);
    const double P = set.state == ContactState::Stick      ? 1
                     : set.state == ContactState::Floating ? share
                                                           : 0;
    out.margin = std::min(out.margin, set.margin);
    if (law.kind == LawKind::Box) (z[i] <= law.lo ? out.by_lo : out.by_hi)[i] = 1 - P;
    out.P[i * law.dim + i] = out.PG[i * law.dim + i] = P;
    out.state[i] = set.state;
  }
}

void cone_block(const Law& law, const double* z, const double* w, double tau, double size,
                const SolutionGradientSettings& s, double share, BlockDerivative& out) {
  const int n = law.dim;
  const ProjectionDerivative here = projection_derivative(law, z);
  const ShiftDerivative shift = shift_derivative(law, w);
  const ContactClass set = classify_cone(law, z, size, s.floating_tolerance);
  out.margin = set.margin;
  ConeElement closed, open;
  double weight = 1;  // of the closed element
  closed.take(here, n);
  std::copy(shift.row, shift.row + n, closed.row);
  if (set.state == ContactState::Floating) {
    // The two regions that meet at z: stick | slide on the mantle, slide | separate on the polar
    // cone, stick | separate at the tip. A nudge along the normal enters each.
    weight = share;
    std::copy(shift.row, shift.row + n, open.row);
    if (norm_of(z, n) <= s.floating_tolerance * size) {
      closed = {};
      set_identity(closed.P, n, 1);
    } else {
      const double nudge = 4 * s.floating_tolerance * size * (1 + law.mu + law.mu_r);
      double nudged[kMaxLawDim];
      std::copy(z, z + n, nudged);
      nudged[0] = z[0] + nudge;
      const ProjectionDerivative above = projection_derivative(law, nudged);
      closed.take(above, n);
      // Of a contact that slides, a group on its border goes along: what holds it there are other
      // contacts, and held here as well it would contradict them.
      if (share == 1 && groups_of(law).size[1] > 0 && above.region == ConeRegion::Slide) weight = 0;
      nudged[0] = z[0] - nudge;
      open.take(projection_derivative(law, nudged), n);
      set_onset_direction(law, z, w, s.floating_tolerance * size / tau, open.row);
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      const double pc = closed.P[r * n + c], po = open.P[r * n + c];
      out.P[r * n + c] = weight * pc + (1 - weight) * po;
      out.PG[r * n + c] = weight * (pc + closed.P[r * n] * closed.row[c]) +
                          (1 - weight) * (po + open.P[r * n] * open.row[c]);
    }
    out.by_mu[r] =
        weight * closed.by_mu[r] + (1 - weight) * open.by_mu[r] - tau * out.P[r * n] * shift.g;
    out.by_mu_r[r] = weight * closed.by_mu_r[r] + (1 - weight) * open.by_mu_r[r] -
                     tau * out.P[r * n] * shift.g_r;
    out.state[r] = set.state;
  }
}

void smoothed_block(const Law& law, const double* lambda, const double* w, double tau, double kappa,
                    BlockDerivative& out, double* residual) {
  using D = Dual<7>;
  D l[3], y[3], image[3];
  const int n = law.dim;
  const auto evaluate = [&](int from, int count) {
    for (int i = 0; i < count; ++i) {
      l[i] = D::variable(lambda[from + i], i);
      y[i] = D::variable(w[from + i], 3 + i);
    }
    Law part = law;
    part.dim = Law::narrow(count);
    smooth_projection(part, D::variable(law.mu, 6), l, y, tau, kappa, image);
    for (int r = 0; r < count; ++r) {
      residual[from + r] = lambda[from + r] - image[r].v;
      for (int c = 0; c < count; ++c) {
        out.P[(from + r) * n + from + c] = image[r].d[c];
        out.PG[(from + r) * n + from + c] = -image[r].d[3 + c] / tau;
      }
      out.by_mu[from + r] = image[r].d[6];
    }
  };
  if (law.is_separable()) {
    for (int i = 0; i < n; ++i) evaluate(i, 1);
  } else {
    evaluate(0, n);
  }
}

}  // namespace orthant::internal
