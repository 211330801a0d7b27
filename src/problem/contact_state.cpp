// SPDX-License-Identifier: Apache-2.0
// problem/contact_state.cpp: which set a block is in. See contact_state.hpp.
#include "orthant/problem/contact_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/law_kernel.hpp"

namespace orthant {

std::string_view name_of(ContactState state) {
  switch (state) {
    case ContactState::Separate:
      return "separate";
    case ContactState::Stick:
      return "stick";
    case ContactState::Slide:
      return "slide";
    case ContactState::Floating:
      return "floating";
  }
  return "unknown";
}

ContactClass classify_cone(const Law& law, const double* z, double size, double tolerance) {
  const ConeGroups groups = groups_of(law);
  double length[2] = {}, polar = z[0];
  for (int g = 0, at = 1; g < 2; at += groups.size[g], ++g) {
    length[g] = norm_of(z + at, groups.size[g]);
    polar += groups.c[g] * length[g];
  }
  // Where one group slides, the other does or does not by the normal part that this leaves.
  double normal = z[0];
  if (groups.size[1] > 0 && polar > 0) {
    double projected[kMaxLawDim];
    project(law, z, projected);
    normal = projected[0];
  }
  double stick = std::numeric_limits<double>::infinity();
  bool inside = true;
  for (int g = 0; g < 2; ++g) {
    inside = inside && length[g] <= groups.c[g] * z[0];
    if (groups.c[g] > 0)  // there is no border without friction
      stick = std::min(stick, std::abs(groups.c[g] * normal - length[g]));
  }
  // To the mantle, and to the polar cone.
  ContactClass out;
  out.margin = size > 0 ? std::min({1.0, stick / size, std::abs(polar) / size}) : 0.0;
  out.state = out.margin <= tolerance ? ContactState::Floating
              : inside && z[0] >= 0   ? ContactState::Stick
              : polar <= 0            ? ContactState::Separate
                                      : ContactState::Slide;
  return out;
}

ContactClass classify_entry(const Law& law, double z, double size, double tolerance) {
  if (law.kind == LawKind::Free) return {ContactState::Stick, 1};
  if (law.kind == LawKind::Zero) return {ContactState::Separate, 1};
  const double lo = law.kind == LawKind::Box ? law.lo : 0.0;
  const double hi = law.kind == LawKind::Box ? law.hi : std::numeric_limits<double>::infinity();
  const double to_border = std::min(std::abs(z - lo), std::abs(z - hi));
  ContactClass out;
  out.margin = size > 0 ? std::min(1.0, to_border / size) : 0.0;
  out.state = out.margin <= tolerance && lo < hi ? ContactState::Floating
              : z > lo && z < hi                 ? ContactState::Stick
                                                 : ContactState::Separate;
  return out;
}

ContactState classify(const ContactMeasure& c, double tolerance) {
  if (c.normal <= tolerance * c.impulse) return ContactState::Separate;
  if (c.friction <= 0) return ContactState::Slide;
  // Friction acts against the slip: z = λ − τ w~ with w = (0, −slip), in units of the sizes.
  const double slip = c.slip / c.speed * c.impulse;
  const double z[2] = {c.normal - c.friction * slip, c.tangent + slip};
  return classify_cone(Law::coulomb(2, c.friction), z, c.normal, tolerance).state;
}

}  // namespace orthant
