// SPDX-License-Identifier: Apache-2.0
// problem/contact_state.hpp: (law, λ, w) => the set a block is in. The one judge of sets, for the
// certificate of a gradient, its checker, recorded runs, sensors and the viewer.
//   z = λ − τ w~:   stick   z inside K          (w~ = 0)
//                   separate z inside the polar (λ = 0)
//                   slide    between            (λ on the mantle)
// An exact answer has the same set for every τ > 0; τ and `size` say how near a border counts.
#pragma once

#include <cstdint>
#include <string_view>

#include "orthant/base/export.hpp"
#include "orthant/math/law.hpp"

namespace ORTHANT_EXPORT orthant {

/// The set a block (or entry of a separable law) is in. The numbers are those of recorded runs.
enum class ContactState : std::uint8_t {
  Separate = 0,  ///< λ at its bound or zero
  Stick = 1,     ///< λ inside its set: w~ = 0
  Slide = 2,     ///< λ on the mantle of its cone
  Floating = 3,  ///< on the border of two of these: only one-sided derivatives exist
};
std::string_view name_of(ContactState state);

struct ContactClass {
  ContactState state = ContactState::Separate;
  double margin = 1;  ///< distance to the nearest border, relative to `size`
};

/// A cone at z, the sizes of whose terms add up to `size`; borders are `tolerance` wide.
ContactClass classify_cone(const Law& law, const double* z, double size, double tolerance);
/// One entry of a separable law.
ContactClass classify_entry(const Law& law, double z, double size, double tolerance);

/// What can be read off a contact, with or without its impulses.
struct ContactMeasure {
  double normal = 0, tangent = 0;  ///< impulses, both >= 0 [N s]
  double slip = 0;                 ///< speed of its points past each other [m/s]
  double friction = 0;
  double impulse = 1;  ///< size of the impulses around [N s]
  double speed = 1;    ///< size of the speeds around [m/s]
};
/// A contact without friction slides where it pushes.
ContactState classify(const ContactMeasure& contact, double tolerance = 1e-8);

}  // namespace orthant
