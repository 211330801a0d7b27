// SPDX-License-Identifier: Apache-2.0
// gradient/near_borders.cpp: numbers of rows that a change must not carry over a border, for rows
// that are near one and not on it, and for contacts that bilateral rows hold.
//   φ = z − lo, hi − z   of an entry      φ = c x − |z_g|, z_n + Σ c_g |z_g|   of a cone
// with z = λ − τ w~ and x the normal part of Π(z). Where φ changes sign the motion has a kink; how
// far an input is from that is φ over its derivative by the input.
#include <array>
#include <cmath>
#include <limits>

#include "gradient/solution_impl.hpp"
#include "math/law_kernel.hpp"

namespace orthant {

namespace {

constexpr double kNear = 1e-4;  // of the terms of a row: farther from a border it is not looked at

/// φ of a cone and its derivatives by z and the coefficients.
struct Border {
  double value = 0, by_z[kMaxLawDim] = {}, by_c[2] = {};
};

/// To the mantle by each group, and to the polar cone.
std::array<Border, 3> borders_of(const Law& law, const double* z) {
  std::array<Border, 3> out;
  const ConeGroups groups = groups_of(law);
  Border& polar = out[2];
  polar.value = z[0];
  polar.by_z[0] = 1;
  // x = Π_n(z); where that is 0, on the other side of the polar cone, z_n.
  ProjectionDerivative image = projection_derivative(law, z);
  double projected[kMaxLawDim];
  project(law, z, projected);
  if (image.region == ConeRegion::Separate) {
    projected[0] = z[0];
    image.P[0] = 1;
  }
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g) {
    const double length = groups.size[g] > 0 ? norm_of(z + at, groups.size[g]) : 0.0;
    Border& mantle = out[g];
    if (groups.size[g] == 0 || groups.c[g] == 0) {
      mantle.value = std::numeric_limits<double>::infinity();
      continue;
    }
    mantle.value = groups.c[g] * projected[0] - length;
    mantle.by_c[g] = projected[0];
    mantle.by_c[0] += groups.c[g] * image.P_mu[0];
    mantle.by_c[1] += groups.c[g] * image.P_mu_r[0];
    for (int i = 0; i < law.dim; ++i) mantle.by_z[i] = groups.c[g] * image.P[i];
    polar.value += groups.c[g] * length;
    polar.by_c[g] = length;
    for (int i = at; i < at + groups.size[g] && length > 0; ++i) {
      mantle.by_z[i] -= z[i] / length;
      polar.by_z[i] = groups.c[g] * z[i] / length;
    }
  }
  return out;
}

/// Weights of their own, so that rows of one face do not cancel.
double weight_of(std::size_t block) {
  return 1 + 0.5 * std::cos(1 + 2.4 * static_cast<double>(block));
}

}  // namespace

bool SolutionGradient::add_held(Solution& by) const {
  bool any = false;
  for (std::size_t c = 0; c < impl_->blocks.size(); ++c) {
    if (!impl_->blocks[c].held) continue;
    by.w[impl_->offset[c]] += weight_of(c);
    any = true;
  }
  return any;
}

bool SolutionGradient::add_near_borders(Solution& by, ResidualDerivative& laws) const {
  const Impl& m = *impl_;
  if (m.settings.mode != GradientMode::Exact || !(m.certificate.margin < kNear)) return false;
  bool any = false;
  const auto is_near = [&](double value, double size) {
    const double distance = std::abs(value);
    return distance > m.settings.floating_tolerance * size && distance < kNear * size;
  };
  for (std::size_t c = 0; c < m.blocks.size(); ++c) {
    if (!(m.blocks[c].margin < kNear)) continue;
    const Law& law = m.p->laws[c];
    const auto i = static_cast<Index>(c);
    const Index at = m.offset[c];
    const Impl::Terms terms = m.terms_of(c);
    const double weight = weight_of(c);
    if (law.is_separable()) {
      for (int r = 0; r < law.dim; ++r) {
        const double lo = law.kind == LawKind::Box ? law.lo : 0.0;
        const double hi =
            law.kind == LawKind::Box ? law.hi : std::numeric_limits<double>::infinity();
        const bool low = std::abs(terms.z[r] - lo) <= std::abs(terms.z[r] - hi);
        const double value = terms.z[r] - (low ? lo : hi);
        if (!is_near(value, terms.size[r])) continue;
        any = true;
        by.lambda[at + r] += weight / value;
        by.w[at + r] -= weight * m.tau[at + r] / value;
        if (law.kind == LawKind::Box) (low ? laws.lo : laws.hi)[i] -= weight / value;
      }
      continue;
    }
    const ShiftDerivative shift = shift_derivative(law, m.x.w.data() + at);
    for (const Border& border : borders_of(law, terms.z)) {
      if (!is_near(border.value, terms.total)) continue;
      any = true;
      const double factor = weight / border.value, tau = m.tau[at];
      for (int r = 0; r < law.dim; ++r) {
        by.lambda[at + r] += factor * border.by_z[r];
        by.w[at + r] -= factor * tau * (border.by_z[r] + border.by_z[0] * shift.row[r]);
      }
      laws.mu[i] += factor * (border.by_c[0] - tau * border.by_z[0] * shift.g);
      laws.mu_r[i] += factor * (border.by_c[1] - tau * border.by_z[0] * shift.g_r);
    }
  }
  return any;
}

}  // namespace orthant
